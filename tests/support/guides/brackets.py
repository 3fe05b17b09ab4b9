"""A toy constraint with a real stack: brackets that close in the order in which they were opened, letters between.

No automaton has its states. It shows all that a new kind of constraint has to write: how a position reads a byte, where
a text may end, and how far that is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from tests.support.models.generated import BEGIN, END, OTHER_END, PAD
from tests.support.models.scripted import ScoreOf, ScriptedModel

from sfgen import Index, Vocabulary
from sfgen.index import BaseGuide
from sfgen.index.distance import UNREACHABLE
from sfgen.models.uniform import UniformModel
from sfgen.protocols import Scores

PAIRS = {b"(": b")", b"[": b"]", b"<bold>": b"</bold>"}
LETTERS = (b"a", b"b", b" ", "é".encode())

_KEPT = 100_000

Stack: TypeAlias = tuple[bytes, "Stack"] | None
"""The bracket that was opened last, and those that are open around it. It never changes, so positions share it."""


class Position(NamedTuple):
    """Equal positions read alike, so what was found of one is kept."""

    stack: Stack = None
    begun: bytes = b""  # of a bracket or a letter of several bytes
    is_closed: bool = False  # the first bracket is closed again, so nothing may follow

    @property
    def words(self) -> dict[bytes, Position]:
        """What may be written where nothing is begun, and where it leads."""
        return {} if self.is_closed else _words(self.stack)

    def read(self, byte: bytes) -> Position | None:
        return _after(self, byte)

    @property
    def shortest_end(self) -> bytes:
        """A shortest text that completes this one."""
        return _shortest_end(self)


@lru_cache(maxsize=_KEPT)
def _words(stack: Stack) -> dict[bytes, Position]:
    words = {opening: Position((opening, stack)) for opening in PAIRS}
    if stack is not None:
        opening, around = stack
        words |= dict.fromkeys(LETTERS, Position(stack))
        words[PAIRS[opening]] = Position(around, is_closed=around is None)
    return words


@lru_cache(maxsize=_KEPT)
def _after(position: Position, byte: bytes) -> Position | None:
    words, begun = position.words, position.begun + byte
    if begun in words:
        return words[begun]
    return position._replace(begun=begun) if any(word.startswith(begun) for word in words) else None


@lru_cache(maxsize=_KEPT)
def _shortest_end(position: Position) -> bytes:
    if position.is_closed:
        return b""
    begun = PAIRS[position.stack[0]] if position.stack and not position.begun else position.begun
    ends = [word + after.shortest_end for word, after in position.words.items() if word.startswith(begun)]
    return min(ends, key=len)[len(position.begun) :]


@dataclass(frozen=True)
class Brackets:
    """One pair of brackets, with letters and pairs of brackets in it, nested as deep as one likes."""

    def accepts(self, text: str | bytes) -> bool:
        position = _read(Position(), text.encode() if isinstance(text, str) else text)
        return position is not None and position.is_closed

    def shortest(self) -> bytes:
        return Position().shortest_end

    def to_dict(self) -> dict[str, Any]:
        return {"brackets": {opening.decode(): closing.decode() for opening, closing in PAIRS.items()}}

    def refusal(self, text: bytes) -> dict[str, str] | None:
        return None if self.accepts(text) else {"constraint": "brackets", "refused by": "the stack"}

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> BracketsGuide:
        return BracketsGuide(vocabulary, Position(), max_tokens)


class BracketsGuide(BaseGuide[Position]):
    def _read(self, position: Position, data: bytes) -> Position | None:
        return _read(position, data)

    def _accepts(self, position: Position) -> bool:
        return position.is_closed

    def _tokens_left(self, position: Position) -> int:
        """The fewest tokens that write the shortest end: a bound, as other ends may take fewer."""
        return _fewest(self.vocabulary, position.shortest_end)

    def _describe(self, position: Position) -> str:
        shown, stack = position.begun, position.stack
        while stack:
            shown, stack = stack[0] + shown, stack[1]
        return shown.decode("utf-8", "replace") or ("closed" if position.is_closed else "empty")


def _read(position: Position | None, data: bytes) -> Position | None:
    for byte in data:
        position = position and position.read(bytes([byte]))
    return position


@lru_cache(maxsize=10_000)
def _fewest(vocabulary: Vocabulary, data: bytes) -> int:
    """The fewest tokens that write ``data``."""
    tokens = [vocabulary.tokens[token] or b"" for token in vocabulary.text_token_ids]
    fewest = [0]  # for the last bytes, by their number
    for start in reversed(range(len(data))):
        ways = [fewest[len(data) - start - len(token)] + 1 for token in tokens if data.startswith(token, start)]
        fewest.append(min(ways, default=int(UNREACHABLE)))
    return min(fewest[-1], int(UNREACHABLE))


_PIECES = (
    *(bytes([byte]) for byte in b"()[]<>/abold zc"),
    *(b"<b", b"old>", b"<bold>", b"</", b"bold>", b"ab", b"))", b"(a", b" b", b"[(", b"a)", b"b ", b"a"),
    *("é".encode(), b"\xc3", b"\xa9", "aé".encode()),
)
VOCABULARY = Vocabulary([*[None] * 4, *_PIECES, *[None] * 64][:64], end_token_ids=[END, OTHER_END])
INDEX = Index(Brackets(), VOCABULARY)
assert {PAD, BEGIN}.isdisjoint(VOCABULARY.end_token_ids)


class BracketModel(ScriptedModel):
    """Scores that look random, with a tokenizer that takes the longest token."""

    def __init__(self, seed: int, *, by_text: bool = False) -> None:
        super().__init__(VOCABULARY, by_bytes(seed) if by_text else by_tokens(seed))

    def encode(self, text: str) -> list[int]:
        return UniformModel(VOCABULARY).encode(text)


def by_tokens(seed: int) -> ScoreOf:
    """Scores that depend on the tokens."""

    def score(tokens: tuple[int, ...]) -> Scores:
        scores = np.random.default_rng([seed, *tokens]).normal(0, 3, len(VOCABULARY))
        return (scores + 0.2 * len(tokens) * _CLOSES).astype(np.float32)

    return score


def by_bytes(seed: int) -> ScoreOf:
    """Scores that depend on what the tokens write, however it is cut."""

    def score(tokens: tuple[int, ...]) -> Scores:
        data = b"".join(VOCABULARY.tokens[token] or b"" for token in tokens)
        scores = np.random.default_rng([seed, *data]).normal(0, 3, len(VOCABULARY))
        return (scores + 0.2 * len(data) * _CLOSES).astype(np.float32)

    return score


_CLOSES = np.array(
    [(token or b"").endswith((b")", b"]", b"/", b"</")) for token in VOCABULARY.tokens], dtype=np.float32
)


def is_balanced(text: str) -> bool:
    """Whether a text is one pair of brackets with others and letters in it: pairs are crossed out, from the inside."""
    marks = text.replace("<bold>", "{").replace("</bold>", "}")
    if not re.fullmatch(r"[(\[{][]()[{}abé ]*[])}]", marks):
        return False
    marks = re.sub("[abé ]", "", marks)
    return _vanishes(marks) and not any(_vanishes(marks[:end]) for end in range(1, len(marks)))


def _vanishes(marks: str) -> bool:
    while (fewer := marks.replace("()", "").replace("[]", "").replace("{}", "")) != marks:
        marks = fewer
    return not marks
