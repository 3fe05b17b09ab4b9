"""Text for people: on its line and safe for a terminal; the line and column of a position, with a caret; sizes.

Characters that could control a terminal, or make a line read otherwise than it is, become escapes: control characters,
line separators, the controls that change the direction of text (embeddings, overrides, isolates), and the tags, which
are invisible text. Joiners (of emoji, and of scripts that need them) and single direction marks, which do no more than
a letter of a script from right to left does, stay: they occur in real text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from os import PathLike
from typing import Any

_DRIVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]")
"""Escaped on a terminal: all of the above, and deprecated characters with the same effect."""


def json_text(value: Any) -> str:
    """Write a value as JSON on one line.

    Characters that some readers take for the end of a line, and those that control a terminal, are escaped as in JSON.
    """
    return _DRIVING.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False))


def visible(text: str) -> str:
    """Escape characters that control a terminal, except newline and tab.

    >>> visible("a\\x1b[31mb\\n"), visible("user\\u202ename")
    ('a\\\\x1b[31mb\\n', 'user\\\\u202ename')
    """
    return _DRIVING.sub(lambda found: _escaped(found[0]), text)


def on_one_line(text: str) -> str:
    """Escape everything that is not printable, including newlines.

    >>> on_one_line("a\\tb\\n")
    'a\\\\tb\\\\n'
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def shown_name(name: str | PathLike[str]) -> str:
    """Write the name of a file, a folder, a model or an address for people.

    The result stays on its line, does not control the terminal, and changes no direction of text.

    >>> print(shown_name("notes\\x1b[2J\\u202etxt.exe"))
    notes\\x1b[2J\\u202etxt.exe
    """
    return on_one_line(str(name))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


_LINE_END = re.compile(r"\r\n|\r|\n")


def caret_lines(text: str, position: int | None, *, width: int = 100) -> tuple[str, ...]:
    """Show a text on one line with a caret under a position.

    Control characters are shown as escapes, and a long text is cut to a window around the caret.

    >>> print("\\n".join(caret_lines("a(?!b)", 1)))
      a(?!b)
       ^
    >>> print("\\n".join(caret_lines("a\\nb(", 3)))
      a\\nb(
          ^
    """
    from rich.cells import cell_len  # imported here: only errors need its table of widths

    shown = [
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    ]
    sizes = [cell_len(piece) for piece in shown]
    # The window begins at most half its width before the caret, and ends where it is full.
    start, before = 0, sum(sizes[:position]) if position is not None else 0
    is_long = sum(sizes) > width
    while is_long and before > width // 2:
        before -= sizes[start]
        start += 1
    end, taken = start, 0
    while end < len(shown) and taken + sizes[end] <= width:
        taken += sizes[end]
        end += 1
    left, right = "…" if start else "", "…" if end < len(shown) else ""
    line = f"  {left}{''.join(shown[start:end])}{right}"
    return (line,) if position is None else (line, " " * (2 + len(left) + before) + "^")


def line_with_caret(text: str, position: int) -> tuple[int, int, tuple[str, ...]]:
    """Return line number, column and the line with a caret under it.

    >>> line_with_caret("a\\nbc", 3)
    (2, 2, ('  bc', '   ^'))
    """
    number, column = line_and_column(text, position)
    line = _LINE_END.split(text[position - column + 1 :], maxsplit=1)[0]
    return number, column, caret_lines(line, column - 1)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column of a position, both from 1.

    >>> line_and_column("a\\nbc", 3)
    (2, 2)
    """
    before = _LINE_END.split(text[:position])
    return len(before), len(before[-1]) + 1


def line_numbers(text: str) -> Callable[[int], int]:
    """Return a function from positions in a text to lines from 1.

    Use it instead of ``line_and_column`` for many positions of one text.

    >>> line_of = line_numbers("a\\nbc\\r\\nd")
    >>> [line_of(position) for position in (0, 2, 3, 6)]
    [1, 2, 2, 3]
    """
    ends = [line_end.end() for line_end in _LINE_END.finditer(text)]
    return lambda position: bisect_right(ends, position) + 1


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def counted(number: int, what: str) -> str:
    """Write a number with the name of what is counted, in the plural unless it is 1.

    >>> counted(1, "token"), counted(2_000, "forward pass")
    ('1 token', '2,000 forward passes')
    """
    plural = "es" if what.endswith("s") else "s"
    return f"{number:,} {what}{'' if number == 1 else plural}"


def size_of(text: str) -> int:
    """Read a number of bytes as a person writes it.

    >>> size_of("512MB"), size_of("1.5 gb"), size_of("0")
    (512000000, 1500000000, 0)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMG]?)B?", text.strip(), re.IGNORECASE | re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a size: 512MB is one")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def size_in_words(size: int) -> str:
    """Format a number of bytes for people.

    >>> [size_in_words(size) for size in (812, 5_900_000, 999_999, 3_213_000_000)]
    ['812 bytes', '5.9 MB', '1.0 MB', '3.2 GB']
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size * 20 >= unit * 19:  # from 0.95 on, so that no size reads as 1000.0 of the unit below
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
