"""The Lark grammars in ``tests/data/lark``, with texts that are right and wrong, and texts near them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from tests.oracles.lark_language import LarkLanguage
from tests.support.models.byte_tokens import byte_vocabulary

from sfgen import Grammar, Vocabulary

DATA = Path(__file__).resolve().parents[2] / "data" / "lark"


@dataclass(frozen=True)
class Example:
    """A grammar with a start rule.

    Args:
        name: The name of its file.
        start: The start rule.
        right: Texts of it.
        wrong: Texts that are not of it.
    """

    name: str
    start: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        return self.name if self.start == "start" else f"{self.name}, {self.start}"

    @property
    def grammar(self) -> str:
        """The text of the grammar."""
        return (DATA / f"{self.name}.lark").read_text(encoding="utf-8")

    @property
    def ours(self) -> Grammar:
        """As sfgen reads it."""
        return read_by_sfgen(self.grammar, self.start)

    @property
    def theirs(self) -> LarkLanguage:
        """As lark reads it."""
        return read_by_lark(self.grammar, self.start)


def _examples(path: Path) -> list[Example]:
    data = tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))
    starts = {"start": data, **data.get("starts", {})}
    return [Example(path.stem, start, tuple(texts["right"]), tuple(texts["wrong"])) for start, texts in starts.items()]


EXAMPLES = [example for path in sorted(DATA.glob("*.lark")) for example in _examples(path)]


@cache
def read_by_sfgen(grammar: str, start: str = "start", max_blanks: int = 1) -> Grammar:
    """A grammar as sfgen reads it."""
    return Grammar.from_lark(grammar, start, max_blanks=max_blanks)


@cache
def read_by_lark(grammar: str, start: str = "start", max_blanks: int = 1) -> LarkLanguage:
    """A grammar as lark reads it."""
    return LarkLanguage(grammar, start, max_blanks=max_blanks)


@st.composite
def mutants(draw: st.DrawFn, example: Example) -> str:
    """A text of an example with up to three characters removed, doubled, swapped or put in."""
    text = draw(st.sampled_from([*example.right, *example.wrong]))
    letters = sorted({letter for each in example.right for letter in each} | set(" \t\né\x00"))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        how = draw(st.sampled_from(["remove", "double", "swap", "put in"]))
        if how == "remove":
            text = text[:at] + text[at + 1 :]
        elif how == "double":
            text = text[:at] + text[at : at + 1] * 2 + text[at + 1 :]
        elif how == "swap":
            text = text[:at] + text[at : at + 2][::-1] + text[at + 2 :]
        else:
            text = text[:at] + draw(st.sampled_from(letters)) + text[at:]
    return text


@cache
def vocabulary_of(example: Example) -> Vocabulary:
    """All bytes, pieces of the right texts that cut across terminals, and the end."""
    pieces = dict[bytes, None]()
    for text in example.right:
        data = text.encode()
        for size in (2, 3, 5, 8):
            for at in range(0, len(data) - size + 1, size - 1):
                pieces[data[at : at + size]] = None
    return byte_vocabulary(*list(pieces)[:200])
