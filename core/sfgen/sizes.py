"""Sizes for people."""

from __future__ import annotations

import re

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def size_of(text: str) -> int:
    """Read a number of bytes as a person writes it.

    Raises:
        ValueError: The text is not a size.

    >>> size_of("512MB"), size_of("1.5 gb"), size_of("0")
    (512000000, 1500000000, 0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMG]?)B?", text.strip(), re.IGNORECASE | re.ASCII)
    if found is None:
        raise ValueError(f"{text!r} is not a size: 512MB is one")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def size_in_words(size: int) -> str:
    """Format a number of bytes for people.

    >>> [size_in_words(size) for size in (812, 5_900_000, 999_999, 3_213_000_000)]
    ['812 bytes', '5.9 MB', '1.0 MB', '3.2 GB']
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size * 20 >= unit * 19:  # from 0.95 on, so that nothing is 1000.0 of the unit below
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
