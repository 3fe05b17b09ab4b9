r"""Find an ECMA-262 pattern in a text, as the package jsonschema does: with Python's ``re``, where that can read it.

What only ECMA-262 has (``\p{L}``, ``(?<name>...)``, ``[^]``, ``\u{1F600}``, lookbehind of any length) is rewritten for
the package ``regex``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache

import regex

_KEPT = 512  # patterns
_PART = re.compile(
    r"""(?P<group>\(\?<(?P<name>[^\W\d][\w$]*)>)
    | \\k<(?P<back>[^\W\d][\w$]*)>
    | \\u\{(?P<code>[0-9a-fA-F]{1,6})\}
    | \\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})
    | \\c(?P<control>[A-Za-z])
    | (?P<escape>\\.)
    | (?P<anything>\[\^\])
    | (?P<nothing>\[\])
    | (?P<open>\[\^?)
    | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_LETTERS = "bBdDwWsSnrtfvpPxu0123456789"
"""What a backslash may stand before without meaning the character itself."""


class PatternUnreadableError(ValueError):
    """Neither ``re`` nor ``regex`` can read a pattern; the message says why."""


@lru_cache(maxsize=_KEPT)
def search_of(pattern: str) -> Callable[[str], object]:
    r"""Compile a pattern to a function that finds it in a text.

    It may be found anywhere; the function returns ``None`` where it is not found.

    Raises:
        PatternUnreadableError: It cannot be read.

    >>> bool(search_of(r"^\p{Lu}(?<rest>[^]*)$")("Ångström\n!")), search_of("^a$")("b")
    (True, None)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sets in sets, which ECMA-262 has as little as `re`
        try:
            return re.compile(pattern).search
        except (re.error, OverflowError, RecursionError):
            pass
        try:
            found: Callable[[str], object] = regex.compile(_for_regex(pattern), regex.V0).search
        except (regex.error, ValueError, OverflowError, RecursionError) as error:
            raise PatternUnreadableError(getattr(error, "msg", None) or str(error)) from None
    return found


def _for_regex(pattern: str) -> str:
    """The pattern in the words of ``regex``."""
    pieces: list[str] = []
    names: dict[str, str] = {}
    in_class = False
    position = 0
    while position < len(pattern):
        part = _PART.match(pattern, position)
        assert part is not None
        if in_class and part.lastgroup in ("open", "anything", "nothing", "group"):
            pieces.append("\\" + pattern[position])  # a bracket or a parenthesis for itself
            position += 1
            continue
        position = part.end()
        pieces.append(_piece(part, names))
        in_class = part["open"] is not None or (in_class and part["other"] != "]")
    return "".join(pieces)


def _piece(part: re.Match[str], names: dict[str, str]) -> str:
    """One part of a pattern in the words of ``regex``, which knows fewer names of groups."""
    if part["group"]:
        return f"(?P<{names.setdefault(part['name'], f'group{len(names)}')}>"
    if part["back"]:
        return f"(?P={names.get(part['back'], 'missing')})"
    if part["code"]:
        return _character(int(part["code"], 16))
    if part["high"]:
        return _character(0x10000 + ((int(part["high"], 16) & 0x3FF) << 10) + (int(part["low"], 16) & 0x3FF))
    if part["control"]:
        return _character(ord(part["control"]) % 32)
    if part["escape"]:
        letter = part["escape"][1]
        return regex.escape(letter) if letter.isalpha() and letter not in _LETTERS else part["escape"]
    if part["anything"]:
        return r"[\s\S]"
    return "(?!)" if part["nothing"] else part[0]


def _character(code: int) -> str:
    return f"\\U{code:08x}"
