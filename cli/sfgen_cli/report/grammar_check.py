"""Whether texts are texts of a grammar, and in its own words where and why they are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfgen import Grammar
from sfgen.language.language import BETWEEN_RULES, Failure
from sfgen.printable import line_with_caret, on_one_line
from sfgen_cli.report.matching import Complaint, whole

_MOST_SHOWN = 12  # of what was expected


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """What is to be told of one text.

    Attributes:
        text: The text, in which bytes that are not UTF-8 are lone surrogates.
        failure: Where it fails; ``None``: it is a text of the grammar.
    """

    text: str
    failure: Failure | None

    @property
    def matches(self) -> bool:
        """Whether it is a text of the grammar."""
        return self.failure is None

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        return {
            "matches": self.matches,
            "failure": None if self.failure is None else failure_record(self.failure, line),
        }

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain why the grammar refuses the text, by one complaint.

        ``line`` is its line in the file, if it is one.
        """
        found = self.failure
        if found is None:
            return []
        places = {"line": found.line if line is None else line, "column": found.column}
        _, _, shown = line_with_caret(whole(self.text), found.position)
        return [Complaint(places, in_words(found), shown)]


class GrammarMatching:
    """A grammar, ready to check many texts.

    Args:
        grammar: The grammar.
    """

    said, said_with_bans = "match the grammar", "match the grammar and are clean"
    each_line = False
    last_newline_may_go = True

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def matches(self, text: str) -> bool:
        """Tell whether a text is one of the grammar, without more."""
        return self._grammar.accepts(text)

    def check(self, text: str) -> CheckedSentence:
        """Check a text, with all that is to be told of it."""
        return CheckedSentence(text, self._grammar.failure(text))


def in_words(failure: Failure) -> str:
    """Explain in one line why the grammar refuses a text.

    >>> in_words(Failure(3, 3, 1, 4, ("NUMBER", "NAME"), ("start", "value"), False, False))
    'expected NUMBER or NAME, in start › value'
    """
    expected = expected_in_words(failure)
    rules = BETWEEN_RULES.join(failure.open_rules)
    if failure.at_end:
        return f"the text ends too early: expected {expected}, in {rules}"
    return f"expected {expected}, in {rules}"


def expected_in_words(failure: Failure) -> str:
    """Name what may stand where a text fails."""
    return alternatives(failure.expected, may_end=failure.may_end)


def alternatives(expected: tuple[str, ...], *, may_end: bool) -> str:
    """Name what may stand at a position.

    Args:
        expected: Terminals and rules, as the grammar shows them.
        may_end: Whether the text may end there, too.

    >>> alternatives(("NAME", '"("'), may_end=True)
    'NAME, "(" or the end of the text'
    """
    shown = [on_one_line(name) for name in expected[:_MOST_SHOWN]]
    if len(expected) > _MOST_SHOWN:
        shown.append(f"{len(expected) - _MOST_SHOWN} more")
    if may_end:
        shown.append("the end of the text")
    if not shown:
        return "nothing at all"
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def failure_record(failure: Failure, line: int | None = None) -> dict[str, Any]:
    """Return where a text fails as data for JSON.

    Args:
        failure: The failure.
        line: The text's line in the file, if it is one.
    """
    return {
        "position": failure.position,
        "byte": failure.byte,
        "line": failure.line if line is None else line,
        "column": failure.column,
        "expected": list(failure.expected),
        "rules": list(failure.open_rules),
        "at_end": failure.at_end,
        "may_end": failure.may_end,
    }
