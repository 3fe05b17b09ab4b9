"""Where output goes: data to stdout, words for people to stderr.

Data are UTF-8 and exact wherever they go but to a terminal. There what could drive the terminal, or make the line read
otherwise than it is, is shown as an escape: control characters, line separators, the controls that turn the direction
of text around (embeddings, overrides, isolates), and the tags, which are text that nobody sees. What real text has is
left alone, though it is not seen: joiners (of emoji, and of scripts that need them) and single direction marks, which
do no more than a letter of a script from right to left does.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

_DRIVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]")
"""What is escaped on a terminal: all that is said above, and what Unicode has given up for doing the same."""

_LONGEST_LINE = 300  # of what is said about an error


class CannotWrite(OSError):
    """What is written to stdout cannot be taken, as on a full disk."""


class ReaderGone(BrokenPipeError):
    """The reader of stdout has gone, of a command whose exit code is an answer; ``exit_code``: what is known of it."""

    def __init__(self, *, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


def write(text: str) -> None:
    """Write data to stdout, as UTF-8 whatever the locale says, and let go of it at once.

    On a terminal control characters are shown as escapes, so that generated text cannot drive the terminal.

    Raises:
        CannotWrite: It cannot be taken.
        BrokenPipeError: The reader has gone.
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


def write_json(value: Any) -> None:
    """Write one JSON object on one line."""
    write(json_text(value) + "\n")


def json_text(value: Any) -> str:
    """The value as JSON on one line.

    What some readers take for the end of a line, and what drives a terminal, is escaped as JSON escapes it.
    """
    return _DRIVING.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False))


def visible(text: str) -> str:
    """The text with what would drive a terminal, but for newline and tab, as escapes.

    >>> visible("a\\x1b[31mb\\n"), visible("user\\u202ename")
    ('a\\\\x1b[31mb\\n', 'user\\\\u202ename')
    """
    return _DRIVING.sub(lambda found: _escaped(found[0]), text)


def on_one_line(text: str) -> str:
    """The text with everything that is not printable, newlines too, as escapes.

    >>> on_one_line("a\\tb\\n")
    'a\\\\tb\\\\n'
    """
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def stderr_is_a_terminal() -> bool:
    """Whether a person may be watching: what moves is shown only then."""
    return sys.stderr is not None and sys.stderr.isatty()


def note(text: str, *, quiet: bool = False) -> None:
    """Tell a person something on stderr, if that can be; who does not hear it misses no data."""
    if quiet or sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _discard(2)


def complain(message: str, lines: Iterable[str]) -> None:
    """Tell a person what went wrong, then what helps; each on one line whatever the user's own words in it are."""
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


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
