"""Text from anywhere, written so that it stays on its line and drives no terminal.

What could drive a terminal, or make the line read otherwise than it is, is shown as an escape: control characters, line
separators, the controls that turn the direction of text around (embeddings, overrides, isolates), and the tags, which
are text that nobody sees. What real text has is left alone, though it is not seen: joiners (of emoji, and of scripts
that need them) and single direction marks, which do no more than a letter of a script from right to left does.
"""

from __future__ import annotations

import json
import re
from os import PathLike
from typing import Any

_DRIVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]")
"""What is escaped on a terminal: all that is said above, and what Unicode has given up for doing the same."""


def json_text(value: Any) -> str:
    """Write a value as JSON on one line.

    What some readers take for the end of a line, and what drives a terminal, is escaped as JSON escapes it.
    """
    return _DRIVING.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False))


def visible(text: str) -> str:
    """Escape what drives a terminal, except newline and tab.

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

    It stays on its line, drives no terminal, and turns nothing around: whoever gives a file its name says nothing else.

    >>> print(shown_name("notes\\x1b[2J\\u202etxt.exe"))
    notes\\x1b[2J\\u202etxt.exe
    """
    return on_one_line(str(name))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
