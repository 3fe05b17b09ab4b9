"""A server that speaks OpenAI's protocol: constraints and bans for whatever client people have.

It needs the extra ``serve``: ``pip install 'sfgen[serve]'``.
"""

from sfgen.serve.app import Limits, app

__all__ = ["Limits", "app"]
