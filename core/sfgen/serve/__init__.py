"""A server that speaks OpenAI's protocol: constraints and bans for whatever client people have.

It needs the extra ``serve``: ``pip install 'sfgen[serve]'``.
"""

from sfgen.errors import ModelError

try:
    import sfgen.serve.run  # noqa: F401  # of which all that the extra brings is imported
    from sfgen.serve.app import Limits, app
except ImportError as error:
    raise ModelError(f"the server is not installed: {error}", hint="pip install 'sfgen[serve]'") from error

__all__ = ["Limits", "app"]
