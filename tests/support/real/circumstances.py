"""Random circumstances for texts by the real model: prompts, temperatures, token limits; and the promises of them all.

Whatever the constraint, a text is whole, within its limit, and made of its tokens; or it is refused because none fits.
Scores of the real model: how likely it finds a text, and how far two scores lie apart.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.real.model import gguf_model
from tests.support.running.tried import Amount, tried

from sfgen import Sampler, generate
from sfgen.decoding import Result
from sfgen.errors import LimitTooSmall

TALK = "We talk and listen, and then we talk and listen, and then we"
TAPESTRY = "A rich tapestry of colours. A rich tapestry of sounds. A rich"
"""Behind these prompts the model writes the same words again."""

_DOCUMENTS = ("README.md", "core/README.md", "cli/README.md", "cli/guides/*.md")


@functools.cache
def long_text() -> str:
    """The documents of this repository: prose, code and tables."""
    root = Path(__file__).parents[3]
    found = [path for document in _DOCUMENTS for path in sorted(root.glob(document))]
    return "\n".join(path.read_text(encoding="utf-8") for path in found)


@functools.cache
def long_tokens() -> tuple[int, ...]:
    """Its tokens, the begin token first."""
    return tuple(gguf_model().encode(long_text()))


def distance(scores: Any, expected: Any) -> float:
    """The root of the mean squared difference; scores of one position spread by about 4."""
    return float(np.sqrt(np.mean((scores.astype(np.float64) - expected) ** 2)))


def log_probabilities(scores: Any) -> NDArray[np.float64]:
    """Logarithms of probabilities: float64 of the shape of the scores."""
    shifted = scores.astype(np.float64) - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def scores_along(prompt: Sequence[int], tokens: Sequence[int]) -> Iterator[NDArray[np.float64]]:
    """The log-probabilities behind a prompt, and behind each of the tokens that follow it, read one by one."""
    session = gguf_model().session()
    yield log_probabilities(session.extend(list(prompt)))
    for token in tokens:
        yield log_probabilities(session.extend([token]))


def log_shares(prompt: str, text: str) -> tuple[float, float]:
    """The logarithm of the probability of a text as the tokenizer spells it, and of that with an end behind it."""
    model = gguf_model()
    known = model.encode(prompt)
    tokens = model.encode(prompt + text)[len(known) :]
    *rows, behind = scores_along(known, tokens)
    alone = sum(float(row[token]) for row, token in zip(rows, tokens, strict=True))
    return alone, alone + float(np.logaddexp.reduce(behind[list(model.vocabulary.end_token_ids)]))


PROMPTS = (
    "",
    "A person: ",
    "The capital of France is",
    "Ada Lovelace, 36, is a mathematician in London.\nJSON:",
    "def add(a, b):\n    return a",
    "Ich wohne in der Nähe von ",
    "東京は",
    "1, 2, 3, 4, ",
    '{"a": [1, 2, {"b": "',
    "Question: who wrote it?\nAnswer:\t",
    "\n\n\n",
)

ROOM = (0, 0, 1, 2, 5, 12, 40)
"""Tokens beyond the fewest that are known to do."""


@dataclass(frozen=True)
class Circumstances:
    """How a text is asked for.

    Attributes:
        prompt: The prompt.
        sampler: How tokens are chosen.
        room: The tokens beyond the fewest that are known to do.
        heal: Whether the end of the prompt is healed.
        fast_forward: Whether text that must follow takes no forward pass.
    """

    prompt: str
    sampler: Sampler
    room: int
    heal: bool | None
    fast_forward: bool


_SAMPLERS = st.builds(
    Sampler,
    st.sampled_from([0.0, 0.2, 1.0, 2.0, 10.0]),
    st.integers(0, 9999),
    top_p=st.sampled_from([None, 0.5, 0.95]),
    repetition_penalty=st.sampled_from([1.0, 1.0, 1.3]),
)

CIRCUMSTANCES = st.builds(
    Circumstances,
    st.sampled_from(PROMPTS) | st.text(min_size=1, max_size=12),
    _SAMPLERS,
    st.sampled_from(ROOM),
    st.sampled_from([None, None, True, False]),
    st.sampled_from([True, True, False]),
)


def drawn(amount: Amount) -> settings:
    """A decorator as ``tried``; a failure is told as it was found, for to look for a smaller one would take minutes."""
    return settings(tried(amount), phases=(Phase.explicit, Phase.generate))


def written(at: Circumstances, examples: Iterable[str], **constraint: Any) -> Result:
    """Write a text, and check what holds of every constraint.

    Args:
        at: The circumstances.
        examples: Texts that the constraint allows: one of them fits within the limit, so that nothing may be refused.
        constraint: The constraint, as a parameter of ``generate``.
    """
    limit = max(1, fewest_tokens(examples) + at.room)
    result = generate(
        gguf_model(),
        at.prompt,
        sampler=at.sampler,
        max_tokens=limit,
        heal=at.heal,
        fast_forward=at.fast_forward,
        **constraint,
    )
    check_tokens(at.prompt, result, limit)
    assert result.finish_reason in ("complete", "end_token")
    return result


def check_tokens(prompt: str, result: Result, limit: int) -> None:
    """Check that the tokens spell the text, and that those which write some of it are no more than the limit."""
    tokens = gguf_model().vocabulary.tokens
    pieces = [tokens[token] for token in result.token_ids]
    healed = (result.healed or "").encode()
    assert b"".join(pieces) == healed + result.text.encode()
    assert prompt.endswith(result.healed or "")
    read = counted = 0
    for piece in pieces:
        read += len(piece)
        counted += read > len(healed)
    assert counted <= limit


def is_refused(limit: int, **constraint: Any) -> bool:
    """Return whether a limit is refused, as one that is below what the shortest text needs."""
    try:
        result = generate(gguf_model(), [2, 1000], sampler=Sampler(1.0, 0), max_tokens=limit, **constraint)
    except LimitTooSmall:
        return True
    check_tokens("", result, limit)
    return False


def fewest_tokens(texts: Iterable[str]) -> int:
    """The fewest tokens that write one of the texts, by trying all ways to cut it."""
    ids, longest = gguf_model().vocabulary.ids, _longest_token()
    found = []
    for data in map(str.encode, texts):
        fewest = [0]
        for end in range(1, len(data) + 1):
            starts = range(max(0, end - longest), end)
            fewest.append(1 + min(fewest[start] for start in starts if data[start:end] in ids))
        found.append(fewest[-1])
    return min(found)


@functools.cache
def _longest_token() -> int:
    return max(map(len, gguf_model().vocabulary.ids))
