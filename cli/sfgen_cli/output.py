"""Where output goes: data to stdout, words for people to stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any


def write(text: str) -> None:
    """Write data to stdout, as UTF-8 whatever the locale says, and let go of it at once.

    On a terminal control characters are shown as escapes, so that generated text cannot drive the terminal.
    """
    if sys.stdout is None:  # closed by the caller
        return
    if sys.stdout.isatty():
        text = visible(text)
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # a replaced stdout that takes text only
        sys.stdout.write(text)
    else:
        stream.write(text.encode("utf-8", "replace"))
    sys.stdout.flush()


def write_json(value: Any) -> None:
    """Write one JSON object on one line."""
    write(json_text(value) + "\n")


def json_text(value: Any) -> str:
    """The value as JSON on one line.

    What some readers take for the end of a line, and what drives a terminal, is escaped as JSON escapes it.
    """
    line = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", line)


def visible(text: str) -> str:
    """The text with control characters, but for newline and tab, as escapes.

    >>> visible("a\\x1b[31mb\\n")
    'a\\\\x1b[31mb\\n'
    """
    return "".join(
        character if character in "\n\t" or not _drives_a_terminal(character) else _escaped(character)
        for character in text
    )


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
    """Tell a person something on stderr."""
    if not quiet and sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def complain(message: str, lines: Iterable[str]) -> None:
    """Tell a person what went wrong: one line, then what helps."""
    note("\n".join([f"sfgen: {visible(message)}", *(visible(line) for line in lines if line)]))


def _drives_a_terminal(character: str) -> bool:
    return ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
