"""Read a file whole, and tell whether two names are those of one file.

No more than a given number of bytes is read: a device or a pipe may have no end.
"""

from __future__ import annotations

import contextlib
import os
import stat
from os import PathLike
from typing import Protocol

from sfgen.errors import InputError, SfgenError
from sfgen.printable import shown_name

LONGEST_TEXT = 16 * 2**20
"""The most bytes of a prompt, and of texts that are no longer: patterns, choices, grammars, conversations."""


class Readable(Protocol):
    """An open binary file."""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes."""


def read_file(
    path: str | PathLike[str], name: str = "", *, most: int = LONGEST_TEXT, error: type[SfgenError] = InputError
) -> bytes:
    """Read a file whole."""
    with open(path, "rb") as stream:
        return read_stream(stream, name or shown_name(path), most=most, error=error)


def read_stream(
    stream: Readable, name: str, *, most: int = LONGEST_TEXT, error: type[SfgenError] = InputError
) -> bytes:
    """Read an open file to its end; the rest as for ``read_file``."""
    data = stream.read(most + 1)
    if len(data) > most:
        raise error(f"{name} is longer than {most:,} bytes", hint="Give a part of it.")
    return data


def is_same_file(first: str | PathLike[str] | int, second: str | PathLike[str] | int) -> bool:
    """Return whether two names are those of one file, so that writing to one changes the other.

    They may be links, also hard ones. A device that keeps nothing, such as a terminal or ``/dev/null``,
    is the same as no other.
    """
    with contextlib.suppress(OSError, ValueError):
        one, other = os.stat(first), os.stat(second)
        return not stat.S_ISCHR(one.st_mode) and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    if isinstance(first, int) or isinstance(second, int) or "\0" in f"{first}{second}":
        return False
    return os.path.realpath(first) == os.path.realpath(second)  # one of them does not exist yet
