"""Texts that name parameters, such as hints of errors, for front ends that have other names for the parameters."""

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

    # At least one name; also of a function, ``to_dot()``. A name that is also a usual word is given with ``=``: in the
    # text it is a parameter only where a value follows.
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
