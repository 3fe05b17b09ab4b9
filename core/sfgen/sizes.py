"""Sizes for people."""

from __future__ import annotations


def size_in_words(size: int) -> str:
    """A number of bytes for people.

    >>> [size_in_words(size) for size in (812, 5_900_000, 999_999, 3_213_000_000)]
    ['812 bytes', '5.9 MB', '1.0 MB', '3.2 GB']
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size * 20 >= unit * 19:  # from 0.95 on, so that nothing is 1000.0 of the unit below
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
