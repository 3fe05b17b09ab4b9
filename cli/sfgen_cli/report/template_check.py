"""Whether texts are texts of a template, and where and why they are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfgen import Template
from sfgen.groups import Texts, texts_by_name
from sfgen.printable import line_with_caret
from sfgen.template.reader import Position
from sfgen_cli.report.matching import Complaint, whole

_SHOWN = 30  # characters of what the template itself has


@dataclass(frozen=True, slots=True)
class CheckedFilling:
    """What is to be told of one text.

    Attributes:
        text: The text, in which bytes that are not UTF-8 are lone surrogates.
        matches: Whether it is one of the template.
        position: How many characters could be read.
        expected: What may stand behind them: holes by their names, and what the template itself has.
        groups: The texts of the holes; ``None`` where it does not match.
    """

    text: str
    matches: bool
    position: int
    expected: tuple[str, ...]
    groups: Texts | None

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        return {
            "matches": self.matches,
            "position": self.position,
            "expected": None if self.matches else list(self.expected),
            "groups": self.groups,
        }

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain why the template refuses the text, by one complaint.

        ``line`` is its line in the file, if it is one.
        """
        if self.matches:
            return []
        number, column, shown = line_with_caret(whole(self.text), self.position)
        words = "expected " + " or ".join(self.expected)
        if self.position == len(self.text):
            words = f"the text ends too early: {words}"
        return [Complaint({"line": number if line is None else line, "column": column}, words, shown)]


class TemplateMatching:
    """A template, ready to check many texts.

    Args:
        template: The template.
    """

    said, said_with_bans = "match the template", "match the template and are clean"
    each_line = False
    last_newline_may_go = True

    def __init__(self, template: Template) -> None:
        self._template = template

    def matches(self, text: str) -> bool:
        """Tell whether a text is one of the template, without more."""
        return self._template.accepts(text)

    def check(self, text: str) -> CheckedFilling:
        """Check a text, with all that is to be told of it."""
        reader, position, read = self._template.reader, self._template.reader.start, 0
        for character in text:
            after = reader.read(position, character.encode("utf-8", "surrogatepass"))
            if after is None:
                break
            position, read = after, read + 1
        groups = self._template.groups(text) if self.matches(text) else None
        found = None if groups is None else texts_by_name(groups, text)
        return CheckedFilling(text, groups is not None, read, self._expected(position), found)

    def _expected(self, position: Position) -> tuple[str, ...]:
        reader, found = self._template.reader, list[str]()
        for thread in position:
            literal = reader.literal(thread)
            if thread.part == len(reader.parts):
                found.append("the end of the text")
            elif literal is None:
                hole = reader.hole((thread,))
                assert hole is not None, "it is no literal"
                found.append(f"{{{{{hole.name}: {hole.hole.kind} …}}}}")
            else:
                assert isinstance(thread.inside, int), "inside of a literal it counts bytes"
                rest = literal[thread.inside :].decode("utf-8", "replace")
                found.append(repr(rest if len(rest) <= _SHOWN else rest[: _SHOWN - 1] + "…"))
        return tuple(dict.fromkeys(found))
