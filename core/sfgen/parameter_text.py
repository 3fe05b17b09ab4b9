"""Texts that name parameters, such as hints of errors: whoever calls the parameters otherwise can say it in his way."""

from __future__ import annotations

from typing import Any


class ParameterText(str):
    """A text that names parameters of the library, and lists them.

    In all else it is a ``str``. A front end with other names for the parameters can translate them.

    Attributes:
        parameters: The names in it.

    >>> hint = ParameterText("Raise max_rollbacks, or ban fewer words.", "max_rollbacks")
    >>> hint, hint.parameters
    ('Raise max_rollbacks, or ban fewer words.', ('max_rollbacks',))
    """

    # the names in it, one at least; also a function, ``to_dot()``. One that is a usual word too stands here with ``=``,
    # and is named only where a value follows.
    parameters: tuple[str, ...]

    def __new__(cls, text: str, *parameters: str) -> ParameterText:
        """A text with the names in it."""
        made = super().__new__(cls, text)
        made.parameters = parameters
        return made

    def reworded(self, text: str) -> ParameterText:
        """Return another text that names the same parameters."""
        return type(self)(text, *self.parameters)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), *self.parameters
