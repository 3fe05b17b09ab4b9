"""Lark grammars: those in ``tests/data/lark`` with texts right and wrong, random ones, and steps of their guides."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lark
from hypothesis import assume
from hypothesis import strategies as st
from tests.oracles.lark_language import LarkLanguage
from tests.support.models.vocabularies import byte_vocabulary

from sfgen import Grammar, Vocabulary
from sfgen.errors import UsageError
from sfgen.protocols import Guide

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


def can_read(guide: Guide, data: bytes) -> bool:
    """Whether some bytes can be read one after another."""
    fork = guide.fork(limited=False)
    try:
        for byte in data:
            fork.advance_bytes(bytes([byte]))
    except UsageError:
        return False
    return True


def tried(guide: Guide, vocabulary: Vocabulary) -> list[int]:
    """The tokens whose bytes can be read one after another; and the end tokens where the text may end."""
    texts = vocabulary.text_token_ids.tolist()
    found = [token for token in texts if can_read(guide, vocabulary.tokens[token] or b"")]
    return sorted([*found, *(vocabulary.end_token_ids if guide.is_accepting else ())])


def finished(guide: Guide, vocabulary: Vocabulary) -> bytes:
    """What completes the text, by tokens of which each comes nearer to an end."""
    fork, written = guide.fork(limited=False), b""
    while (left := fork.tokens_left()) > 0:
        for token in fork.allowed_tokens().tolist():
            fork.advance(token)
            if fork.tokens_left() < left:
                written += vocabulary.tokens[token] or b""
                break
            fork.rollback(1)
        else:
            raise AssertionError(f"no token comes nearer to an end than {left} tokens")
    assert fork.is_accepting
    return written


def reads(guide: Guide, data: bytes) -> bool:
    """Whether a fork reads some bytes to the end of a text."""
    fork = guide.fork(limited=False)
    try:
        fork.advance_bytes(data)
    except UsageError:
        return False
    return fork.is_accepting


ALPHABET = "abc "
LITERALS = ['"a"', '"b"', '"ab"', '"ba"', '"aa"', '"abc"', '"c"', '"c"i', '"AB"i']
PATTERNS = [
    "/a+/", "/[ab]+/", "/ab?/", "/a|ab/", "/a*?b/", "/b+?/", "/[ab]{2}/", "/[a-c]/", "/(ab)+/", "/c[^c]*c/", "/c.*?c/",
    "/b a/", "/[^c ]+/", "/aa|a/", "/a?b/", "/(?i:A)b*/", "/a{1,2}/", "/[abc]+?c/",
]  # fmt: skip
LOOKING_AROUND = ["/a(?=b)/", "/a+(?!b)/", "/(?<!a)b/", "/(?<=b)a/", r"/\bab?\b/", "/a(?=b|$)/"]
IGNORED = ['" "', "/ +/", "/[ c]/", r"/\s/", "/c[^b]*b/", '" " | "c"']


@st.composite
def lark_grammars(draw: st.DrawFn, looking_around: bool = False) -> str:
    """The text of a grammar that lark reads, with the rule ``start``."""
    number = st.integers
    patterns = PATTERNS + (LOOKING_AROUND if looking_around else [])
    names = [f"T{index}" for index in range(draw(number(1, 4)))]
    lines = []
    for name in names:
        priority = draw(st.sampled_from(["", "", "", ".1", ".2", ".-1"]))
        lines.append(f"{name}{priority}: {draw(st.sampled_from(LITERALS) | st.sampled_from(patterns))}")
    rules = ["start", "x", "y"][: draw(number(1, 3))]
    atom = st.sampled_from([*names, *names, *names, *rules]) | st.sampled_from(LITERALS[:4])
    operator = st.sampled_from(["", "", "", "", "?", "*", "+"])

    def symbol() -> str:
        if draw(number(0, 9)) == 0:
            return f"({alternatives(2)}){draw(st.sampled_from(['?', '*', '+']))}"
        return draw(atom) + draw(operator)

    def branch(least: int) -> str:
        return " ".join(symbol() for _ in range(draw(number(least, 3))))

    def alternatives(most: int, least: int = 1) -> str:
        return " | ".join(branch(least) for _ in range(draw(number(1, most))))

    for rule in rules:
        inlined = "?" if rule != "start" and draw(st.booleans()) else ""
        lines.append(f"{inlined}{rule}: {alternatives(3, draw(number(0, 1)))}")
    for ignored in draw(st.lists(st.sampled_from(IGNORED), max_size=2)):
        lines.append(f"%ignore {ignored}")
    text = "\n".join(lines)
    try:
        LarkLanguage(text)
    except lark.exceptions.LarkError:  # conflicts of reductions, terminals that match nothing, rules written twice
        assume(False)
    return text
