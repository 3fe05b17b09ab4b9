"""Models that can only encode, and random patterns in which much text is forced, with texts for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tests.support.models.vocabularies import loaded

from sfgen import Dfa, Index, Vocabulary
from sfgen.decoding import Session
from sfgen.decoding.jump_forward import FastForward
from sfgen.decoding.retokenize import Retokenizer
from sfgen.index import DfaGuide, DfaIndex

SMALL = Path(__file__).resolve().parents[2] / "data" / "tokenizers"
FAMILIES = ["gpt2", "gpt2_prefix", "llama3", "qwen", "gemma2", "llama2", "unigram"]


class Speller:
    """A model as a user would write it: what its tokenizer makes of a text, begin tokens included.

    Args:
        directory: Where the tokenizer lies.

    Attributes:
        asked: The texts that were encoded.
    """

    def __init__(self, directory: Path) -> None:
        self.tokenizer, self.vocabulary = loaded(directory)
        self.asked: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.asked.append(text)
        ids: list[int] = self.tokenizer(text)["input_ids"]
        return ids

    def session(self) -> Session:
        raise NotImplementedError


class QuickSpeller(Speller):
    """The same, with the quick way for text inside another."""

    def encode_inside(self, text: str) -> list[int]:
        self.asked.append(text)
        ids: list[int] = self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return ids


@cache
def speller(directory: Path) -> QuickSpeller:
    return QuickSpeller(directory)


class Merges:
    """A model with byte-pair encoding as it is defined: of all neighbours the pair of the lowest rank is merged first.

    Args:
        merges: The tokens that merges make, first ones first, with a bar between the two earlier tokens of each.
        specials: How many tokens that are never text come after these; the last one ends a text.
    """

    def __init__(self, *merges: str, specials: int = 1) -> None:
        pairs = [tuple(part.encode() for part in merge.split("|")) for merge in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        singles = [bytes([byte]) for byte in range(256)]
        tokens: list[bytes | None] = [*singles, *(b"".join(pair) for pair in pairs)]
        self.ids = {token: number for number, token in enumerate(tokens) if token}
        self.vocabulary = Vocabulary([*tokens, *[None] * specials], end_token_ids=[len(tokens) + specials - 1])
        self.asked: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.asked.append(text)
        parts = [bytes([byte]) for byte in text.encode()]
        while True:
            ranks = [self.ranks.get(pair, len(self.ranks)) for pair in pairwise(parts)]
            if min(ranks, default=len(self.ranks)) == len(self.ranks):
                return [self.ids[part] for part in parts]
            place = ranks.index(min(ranks))
            parts[place : place + 2] = [parts[place] + parts[place + 1]]

    def session(self) -> Session:
        raise NotImplementedError


class Ahead:
    """What must follow a state of an index, whatever came before.

    Attributes:
        fast_forward: Tells it.
    """

    def __init__(self, index: DfaIndex, model: Any) -> None:
        self.index = index
        self.fast_forward = FastForward(index, model)

    def tokens(self, state: int, tail: Sequence[int], left: int | None) -> tuple[int, ...]:
        """The tokens that must follow a state; ``left``: how many tokens may be written."""
        return self.fast_forward.tokens(guide_at(self.index, state, left), tail)


def guide_at(index: DfaIndex, state: int, left: int | None = None) -> DfaGuide:
    """A guide that stands in a state; ``left``: how many tokens it may take."""
    guide = index.guide()
    guide._positions = [state]
    guide.max_tokens = left
    guide._set_free()
    return guide


def forward(model: Any, pattern: str) -> Ahead:
    return Ahead(Index(Dfa.from_regex(pattern), model.vocabulary), model)


def texts_of(vocabulary: Vocabulary, tokens: Sequence[int]) -> list[bytes]:
    return [vocabulary.tokens[token] or b"" for token in tokens]


# ---- patterns ----------------------------------------------------------------------------------------------------

WORDS = [
    "name", "age", "orderId", "orderName", "order", "user_name", "the", "The", " the", " a", "John", "don't", "'s",
    "2024", "20", "30", "1", "12", "123", "3.14", "https://www.", "e.g.", "é", "naïve", "日本", "日本語", " мир", "😀",
    "“", "—", "  ", "    ", "\n", "\t", "\n\n", "\r\n", "==", "->", "</", "<p>", '{"', '":', '","', ": ", ", ", '": "',
    ".", ",", "!", "...", "-", "_", "/", "\\", "(", "]", "}", '"', "'", "@", "&", "a", "I", "in", "re", "un", "ing",
]  # fmt: skip
CHOICES = [
    "[a-z]+", "[A-Z][a-z]*", "[0-9]+", "[0-9]{2}", "[0-9]{1,3}", '[^"]*', '[^"\\n]{1,4}', r"\w+", r"\s", r"\s*", " *",
    " ?", ".", "[.,!?]", "[^\\n]{1,5}", "(?:true|false|null)", "[a-f]{2}", r"\S+", "[àéß日本]+", "(?:'s|'t|'re)?",
    r"\W", "[\"']",
]  # fmt: skip


def forcing_pattern(random: Random) -> str:
    """A pattern of literal text, choices between texts that may begin alike, and classes."""

    def literal() -> str:
        return "".join([re.escape(random.choice(WORDS)) for _ in range(random.choice([1, 1, 2, 3, 4]))])

    def piece(deep: bool) -> str:
        kind = random.random()
        if kind < 0.45:
            return literal()
        if kind < 0.65:
            return random.choice(CHOICES)
        if kind < 0.9:
            beginning = literal() if random.random() < 0.5 else ""
            return f"(?:{'|'.join([beginning + literal() for _ in range(random.choice([2, 2, 3]))])})"
        return f"(?:{piece(False)}{literal()}){random.choice(['?', '*', '{1,2}', '{2}'])}" if deep else literal()

    return "".join([piece(True) for _ in range(random.choice([2, 3, 4, 5, 6]))])


def text_for(random: Random, index: DfaIndex, most_tokens: int = 40) -> bytes:
    """A text that matches, of tokens at random, long ones for choice; past ``most_tokens`` by the shortest way."""
    tokens, state, data, count = index.vocabulary.tokens, 0, b"", 0
    while not index.is_final(state):
        if index.is_accepting(state) and (count >= most_tokens or random.random() < 0.15):
            break
        drawn = _drawn(random, index, state)
        if count >= most_tokens:
            drawn = [token for token in drawn if index.distance[index.next_state(state, token)] < index.distance[state]]
            drawn = drawn[:1] or [_nearer(index, state)]
        chosen = max(drawn[: random.choice([1, 1, 3])], key=lambda token: len(tokens[token] or b""))
        state, data, count = index.next_state(state, chosen), data + (tokens[chosen] or b""), count + 1
    return data


def _drawn(random: Random, index: DfaIndex, state: int) -> list[int]:
    """Some tokens that are allowed. Most are found without a mask: masks of many tokens take their time."""
    tries = [random.randrange(len(index.vocabulary)) for _ in range(60)]
    found = [token for token in tries if index.next_state(state, token) >= 0]
    if not found:
        allowed = index.transitions(state)[0].tolist()
        found = [random.choice(allowed) for _ in range(3)]
    return found


def _nearer(index: DfaIndex, state: int) -> int:
    """A token that leads nearer to an end."""
    tokens, targets = index.transitions(state)
    return int(tokens[index.distance[targets] < index.distance[state]][0])


# ---- how a whole text is cut -------------------------------------------------------------------------------------


def whole_text(canonical: Retokenizer, prompt: str, data: bytes) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The tokens of a prompt and of a text behind it, cut together; ``None`` where no token ends with the prompt."""
    before = canonical.after((), prompt.encode())
    tokens = None if before is None else canonical.after(before, data)
    return None if before is None or tokens is None else (before, tokens)


Run = tuple[int, tuple[int, ...], tuple[int, ...]]


def walk(forward: Ahead, index: DfaIndex, prompt: Sequence[int], tokens: Sequence[int]) -> Iterator[Run]:
    """Write ``tokens`` behind a prompt as a model would choose them, with a look at what is forced at each place.

    Yields:
        The place, the run that is forced there, and what the tokens say.
    """
    state, place = 0, 0
    while place < len(tokens):
        run = forward.tokens(state, [*prompt, *tokens[:place]], None)
        said = tuple(tokens[place : place + len(run)])
        if run:
            yield place, run, said
        for token in said if run == said and run else tokens[place : place + 1]:
            state = index.next_state(state, token)
            place += 1
