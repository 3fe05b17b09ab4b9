"""The two streams of output: data to stdout, words for people to stderr.

Data are UTF-8 and exact wherever they go but to a terminal. There what could drive the terminal is shown as an escape
(``sfgen.printable``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from os import PathLike
from typing import Any

from sfgen.printable import json_text, on_one_line, shown_name, visible

_LONGEST_LINE = 300  # of what is said about an error


class CannotWrite(OSError):
    """Stdout cannot take what is written, as on a full disk."""


class ReaderGone(BrokenPipeError):
    """The reader of stdout has gone.

    It is raised by a command whose exit code is an answer.

    Attributes:
        exit_code: What is known of the answer.
    """

    def __init__(self, *, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


def write(text: str) -> None:
    """Write data to stdout as UTF-8, whatever the locale, unbuffered.

    On a terminal control characters are shown as escapes, so that generated text cannot drive the terminal.
    """
    if sys.stdout is None:  # closed by the caller
        return
    if sys.stdout.isatty():
        text = visible(text)
    stream = getattr(sys.stdout, "buffer", None)
    try:
        if stream is None:  # a replaced stdout that takes text only
            sys.stdout.write(text)
        else:
            stream.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if stream is not None:
            _discard(1)
        raise CannotWrite(error.errno, error.strerror) from error


def write_shown(text: str) -> None:
    """Write what is fit to be seen already to stdout, a terminal; what its encoding does not have, by number."""
    if sys.stdout is not None:
        sys.stdout.write(text.encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding))
        sys.stdout.flush()


def write_name(path: str | PathLike[str]) -> None:
    """Write the name of a file that was written: as it is for a program, for people on a terminal."""
    write(f"{shown_name(path) if stdout_is_a_terminal() else path}\n")


def write_json(value: Any) -> None:
    """Write one JSON object on one line."""
    write(json_text(value) + "\n")


def stdout_is_a_terminal() -> bool:
    """Return whether stdout is a terminal: its text is for a person."""
    return sys.stdout is not None and sys.stdout.isatty()


def stderr_is_a_terminal() -> bool:
    """Return whether stderr is a terminal: a person may be watching."""
    return sys.stderr is not None and sys.stderr.isatty()


def note(text: str, *, quiet: bool = False, end: str = "\n") -> None:
    """Tell a person something on stderr, if possible.

    It never carries data, and drives no terminal, whatever names and texts are in it.
    """
    if quiet or sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{visible(text)}{end}")
        sys.stderr.flush()
    except OSError:
        _discard(2)


def complain(message: str, lines: Iterable[str]) -> None:
    """Tell a person what went wrong, then what helps.

    Each stands on one line whatever the user's own words in it are.
    """
    note("\n".join([f"sfgen: {_line(message)}", *(_line(line) for line in lines if line)]))


def _line(text: str) -> str:
    """The text on one line; of one that is too long the middle is left out.

    >>> _line("two\\nlines")
    'two\\\\nlines'
    """
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE * 2 // 3]} … {text[-_LONGEST_LINE // 3 :]}"
    return on_one_line(text)


def _discard(descriptor: int) -> None:
    """Send what is still to come nowhere: Python writes what is left over when it ends, and would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
