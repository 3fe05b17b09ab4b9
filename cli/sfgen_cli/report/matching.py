"""Reports on whether texts match a pattern: the place and the reason where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfgen import Dfa
from sfgen.automata.edges import Walk, Walker
from sfgen.automata.label import label
from sfgen.groups import Texts, texts_by_name
from sfgen.printable import caret_lines, line_with_caret, on_one_line
from sfgen.regex.oracle import group_names

if TYPE_CHECKING:
    from sfgen.grammar.language.language import Failure
    from sfgen.substring.substring import SubstringFailure

_QUOTED = 40  # characters of a text in a sentence
_LABEL_WIDTH = 60
_CONTEXT = 400  # characters on either side of the caret, more than a line on a screen shows
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def texts_of_lines(lines: Iterable[bytes]) -> Iterator[str]:
    r"""Yield each line as a text, without its newline.

    What is not UTF-8 in it becomes lone surrogates. A byte order mark before the first line is dropped.

    >>> list(texts_of_lines([b"\xef\xbb\xbfa\r\n", b"\n", b"b\xff"]))
    ['a\r', '', 'b\udcff']
    """
    for number, line in enumerate(lines):
        data = line.removeprefix(_BYTE_ORDER_MARK) if number == 0 else line
        yield data.removesuffix(b"\n").decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with a text.

    Attributes:
        places: Where, by the name of the number: line, column, character; those that are ``None`` are not known.
        words: What, in one line.
        shown: The text with a caret, and what else helps.
    """

    places: Mapping[str, int | None]
    words: str
    shown: Sequence[str]


def complaint_at(failure: Failure | SubstringFailure, text: str, words: str, line: int | None) -> Complaint:
    """Make the complaint about the place where a text fails; ``line`` is the text's own in its file, if it is one."""
    _, _, shown = line_with_caret(whole(text), failure.position)
    return Complaint({"line": failure.line if line is None else line, "column": failure.column}, words, shown)


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings about one text.

    Attributes:
        walk: How far it was read.
        not_utf8: The offset of the first byte that is not UTF-8; ``None`` if there is none.
        ends_in_return: Whether it would match without the carriage return at its end.
        groups: The texts of the named groups; ``None`` where they are not known. Empty: there are none.
    """

    walk: Walk
    not_utf8: int | None
    ends_in_return: bool
    groups: Texts | None

    @property
    def matches(self) -> bool:
        """Whether it matches."""
        return self.walk.verdict == "match"

    @property
    def position(self) -> int:
        """The number of characters that could be read."""
        return len(self.walk.states) - 1

    @property
    def expected(self) -> str:
        """The characters that could have come where it stopped or ends.

        They are written as in a pattern; empty if there are none.
        """
        return label(self.walk.expected, width=_LABEL_WIDTH) if self.walk.expected else ""

    def record(self, line: int | None = None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        The line makes no difference. Keys stay; more may be added.
        """
        return {
            "content": whole(self.walk.text),
            "matches": self.matches,
            "verdict": self.walk.verdict,
            "position": self.position,
            "states": list(self.walk.states),
            "expected": self.expected or None,
            "may_end": self.walk.may_end,
            "not_utf8": self.not_utf8,
            **({} if self.groups == {} else {"groups": self.groups}),
        }

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain why the text does not match, by one complaint.

        ``line`` is its line in the file, if it is one.
        """
        if self.matches:
            return []
        character = None if self.walk.stopped is None else self.position + 1
        return [Complaint({"line": line, "character": character}, self.in_words(), self.shown())]

    def in_words(self) -> str:
        """Explain in one line why the text does not match."""
        text = _quoted(self.walk.text)
        if self.walk.verdict == "start":
            return f"{text} is the start of a match: {self.expected} must follow"
        expected = [self.expected] if self.expected else []
        if self.walk.may_end:
            expected.append("the end of the text")
        return f"{text} is not the start of a match: expected {' or '.join(expected) or 'nothing at all'}"

    def shown(self) -> list[str]:
        """Show the text with a caret where it stopped.

        Other lines that help follow.
        """
        text, place = whole(self.walk.text), self.position
        start = max(0, place - _CONTEXT)
        lines = [*caret_lines(text[start : place + _CONTEXT], place - start)]
        if self.not_utf8 is not None:
            lines.append(f"  Byte {self.not_utf8} of it, counted from 0, is not UTF-8.")
        if self.ends_in_return:
            lines.append(r"  Without the carriage return (\r) at its end it matches.")
        return lines


class Matching:
    """The automaton of a pattern, ready to check many texts."""

    said, said_with_bans = "match", "match and are clean"
    each_line = True
    last_newline_may_go = False

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._walker = Walker(dfa)
        self._has_groups = bool(group_names(dfa.pattern or ""))

    def matches(self, text: str) -> bool:
        """Return whether a text matches, and nothing else."""
        return self._dfa.accepts(text)

    def check(self, text: str) -> Checked:
        """Check a text, and collect what the report says of it."""
        walk = self._walker.walk(text)
        bad = next((place for place, character in enumerate(text) if _is_surrogate(character)), None)
        not_utf8 = None if bad is None else len(text[:bad].encode())
        ends_in_return = walk.verdict != "match" and text.endswith("\r") and self._dfa.accepts(text[:-1])
        return Checked(walk, not_utf8, ends_in_return, self._groups(text, walk.verdict == "match"))

    def _groups(self, text: str, matches: bool) -> Texts | None:
        """The texts of the named groups; ``None`` where the text does not match, too."""
        if not self._has_groups:
            return {}
        groups = self._dfa.groups(text) if matches else None
        return None if groups is None else texts_by_name(groups, text)


def _quoted(text: str) -> str:
    if not text:
        return "the empty text"
    shown = on_one_line(whole(text[:_QUOTED]))
    return f"'{shown}{'…' if len(text) > _QUOTED else ''}'"


def whole(text: str) -> str:
    """Replace what was not UTF-8 in a text by U+FFFD."""
    return "".join("\ufffd" if _is_surrogate(character) else character for character in text)


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"
