"""A server that speaks OpenAI's protocol, with constraints and bans.

It needs the extra ``serve``: ``pip install 'sfgen[serve]'``. The names below are loaded when they are first used: the
processes that compile constraints import this package, too, and need no part of the extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sfgen.errors import ModelError

if TYPE_CHECKING:
    from sfgen.serve.application import Limits, app

__all__ = ["Limits", "app"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'sfgen.serve' has no attribute {name!r}")
    try:
        import_module("sfgen.serve.run")  # with `application` it imports all that the extra brings
        return getattr(import_module("sfgen.serve.application"), name)
    except ImportError as error:
        raise ModelError(f"the server is not installed: {error}", hint="pip install 'sfgen[serve]'") from error
