"""Models that write brackets, and who judges what they wrote."""

from __future__ import annotations

import re

import numpy as np
from tests.support.guides.brackets import Brackets
from tests.support.models.generated import BEGIN, END, OTHER_END, PAD
from tests.support.models.scripted import ScoreOf, ScriptedModel

from sfgen import Index, Vocabulary
from sfgen.models.uniform import UniformModel
from sfgen.protocols import Scores

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
