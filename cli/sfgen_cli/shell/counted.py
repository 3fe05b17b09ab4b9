"""A number of things, in words."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Write a number with the name of what is counted, in the plural unless it is 1.

    Args:
        number: How many there are.
        what: The name of one.

    >>> counted(1, "token"), counted(2_000, "forward pass")
    ('1 token', '2,000 forward passes')
    """
    plural = "es" if what.endswith("s") else "s"
    return f"{number:,} {what}{'' if number == 1 else plural}"
