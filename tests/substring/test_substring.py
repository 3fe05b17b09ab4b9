"""Quotations: what stands in a document, by trying every beginning and end of small ones."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.quotations import documents, quotations
from tests.support.running.tried import rounds, tried

import sfgen
from sfgen import Index, Sampler, Substring, Vocabulary
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import DeadEnd, LimitTooSmall, UsageError
from sfgen.grammar.shell.guide import GrammarGuide
from sfgen.index.distance import UNREACHABLE
from sfgen.substring.document import Unit, _sorted_suffixes

units = st.sampled_from(["character", "word", "line"])


def made(document: str, unit: Unit, least: int, most: int | None) -> tuple[Substring | None, frozenset[bytes]]:
    """The constraint, or ``None`` where there is no text but perhaps the empty one; and all texts."""
    texts = quotations(document, unit, least, most)
    if quotations(document, unit, max(least, 1), None):
        return Substring(document, unit, least, most), texts
    with pytest.raises(UsageError, match="nothing can be quoted"):
        Substring(document, unit, least, most)
    return None, texts


@given(st.binary(min_size=1, max_size=30) | st.text("ab", min_size=1, max_size=60).map(str.encode))
@tried("many")
def test_suffixes_are_sorted(data: bytes) -> None:
    order = _sorted_suffixes(np.frombuffer(data, dtype=np.uint8)).tolist()
    assert order == sorted(range(len(data)), key=lambda start: data[start:])


@given(documents, units, st.integers(0, 3), st.none() | st.integers(0, 2))
@tried("many")
def test_texts(document: str, unit: Unit, least: int, more: int | None) -> None:
    constraint, texts = made(document, unit, least, None if more is None else least + more)
    if constraint is None:
        return
    assert constraint.shortest() in texts
    assert len(constraint.shortest()) == min(map(len, texts))
    parts = {document[start:end] for start in range(len(document)) for end in range(start, len(document) + 1)}
    for text in {*parts, *(part + "x" for part in parts), "ba", "a  b"}:
        is_one = text.encode() in texts
        assert constraint.accepts(text) == constraint.accepts(text.encode()) == is_one
        check_failure(constraint, text, texts)
        places = constraint.places(text)
        assert all(document.startswith(text, place) for place in places)
        assert bool(places) == (is_one and text != "")


def check_failure(constraint: Substring, text: str, texts: frozenset[bytes]) -> None:
    failure = constraint.failure(text)
    if failure is None:
        assert text.encode() in texts
        return
    assert text.encode() not in texts
    begun = [length for length in range(len(text) + 1) if any(t.startswith(text[:length].encode()) for t in texts)]
    read = text[: failure.position]
    assert failure.position == begun[-1]
    assert failure.may_end == (read.encode() in texts)
    assert constraint.text[failure.stands_at :].startswith(read + failure.goes_on)
    further = {each.decode(errors="ignore")[len(read) :][:1] for each in texts if each.startswith(read.encode())}
    assert failure.goes_on[:1] in further


@given(documents, units, st.integers(0, 3), st.none() | st.integers(0, 2), st.data())
@tried("usual")
def test_the_tokens_of_a_walk(document: str, unit: Unit, least: int, more: int | None, data: st.DataObject) -> None:
    """Without a limit every token is allowed that begins a text; within one no walk ends without a text."""
    constraint, texts = made(document, unit, least, None if more is None else least + more)
    if constraint is None:
        return
    content = document.encode()
    pieces = data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(1, 6)), max_size=8))
    tokens = [bytes([byte]) for byte in range(256)] + [content[start:][:length] for start, length in pieces]
    vocabulary = Vocabulary([*tokens, None], [len(tokens)])
    free = constraint.guide(vocabulary)
    limited = constraint.guide(vocabulary, free.tokens_left() + data.draw(st.integers(0, 2)))
    text, left = b"", free.tokens_left()
    while True:
        begun = [token for token, piece in enumerate(tokens) if any(t.startswith(text + piece) for t in texts)]
        ends = [len(tokens)] if text in texts else []
        assert free.allowed_tokens().tolist() == begun + ends
        assert (free.is_accepting, free.is_finished) == (text in texts, text in texts and not begun)
        allowed = limited.allowed_tokens().tolist()
        assert set(allowed) <= set(begun + ends)
        assert allowed
        going_on = [token for token in allowed if token < len(tokens)]
        if not going_on:
            assert text in texts
            return
        nearer = [token for token in begun if constraint_left(free, token) < left]
        assert nearer or left == 0
        token = data.draw(st.sampled_from(going_on))
        free.advance(token)
        limited.advance(token)
        text, left = text + tokens[token], free.tokens_left()


def constraint_left(guide: GrammarGuide[Any], token: int) -> int:
    guide.advance(token)
    left = guide.tokens_left()
    guide.rollback(1)
    return left


def test_the_bound_is_good_where_many_units_are_asked_for() -> None:
    """A bound within two tokens of the fewest, in a text whose tokens are long."""
    rng = np.random.default_rng(5)
    document = " ".join("".join(rng.choice(list("abcde"), rng.integers(1, 8))) for _ in range(40))
    content = document.encode()
    tokens = [bytes([byte]) for byte in range(256)] + [content[at : at + 7] for at in range(0, len(content) - 7, 3)]
    vocabulary = Vocabulary(tokens)
    for least in range(2, 2 + rounds(40), 3):
        for most in (None, least):
            guide = Substring(document, "character", least, most).guide(vocabulary)
            fewest = min(_fewest(content[start:], tokens, least, most) for start in range(len(content) - least + 1))
            assert fewest <= guide.tokens_left() <= fewest + 2


def _fewest(text: bytes, tokens: list[bytes], least: int, most: int | None) -> int:
    last = len(text) if most is None else min(most, len(text))
    known = {0: 0}
    for at in range(last):
        if at in known:
            for token in tokens:
                if text.startswith(token, at) and at + len(token) <= last:
                    known[at + len(token)] = min(known.get(at + len(token), 10**9), known[at] + 1)
    return min(count for at, count in known.items() if at >= least)


def test_what_must_follow_is_jump_forward_text() -> None:
    vocabulary = sfgen.load_model("tiny").vocabulary
    guide = Substring("alpha beta\ngamma delta", "line").guide(vocabulary)
    assert guide.forced_bytes() == b""
    guide.advance_bytes(b"g")
    assert guide.forced_bytes() == b"amma delta"
    guide = Substring("a 😀 b").guide(vocabulary)
    guide.advance_bytes("😀".encode()[:1])
    assert (guide.forced_bytes(), guide.is_accepting) == ("😀".encode()[1:], False)
    assert Substring("xyz", least=3).guide(vocabulary).forced_bytes() == b"xyz"


def test_a_token_that_goes_beyond_the_most_is_no_way_to_the_end() -> None:
    emoji = "😀".encode()
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), emoji[1:] + b"ab", emoji[1:3]])
    guide = Substring("😀ab", most=1).guide(vocabulary)
    guide.advance_bytes(emoji[:1])
    assert (guide.tokens_left(), guide.allowed_tokens().tolist()) == (2, [emoji[1], 257])
    longer = Substring("😀ab", most=3).guide(vocabulary)
    longer.advance_bytes(emoji[:1])
    assert (longer.tokens_left(), longer.allowed_tokens().tolist()) == (1, [emoji[1], 256, 257])


def test_limits_and_dead_ends() -> None:
    vocabulary = Vocabulary([b"to", b" be", b" or", b" not", None], [4])
    document = Substring("to be or not to be", "word", least=3)
    with pytest.raises(LimitTooSmall, match="takes 3") as caught:
        document.guide(vocabulary, 2)
    assert "Allow at least 3 tokens" in caught.value.hint
    assert document.guide(vocabulary, 3).tokens_left() == 3
    with pytest.raises(DeadEnd, match="no sequence of tokens"):
        Substring("sein", "word").guide(vocabulary)
    assert Substring("to be or not", "word").guide(vocabulary).allowed_tokens().tolist() == [0]
    assert Substring("x", least=0).guide(vocabulary).allowed_tokens().tolist() == [4]


@pytest.mark.parametrize(
    ("document", "options", "said"),
    [
        ("", {}, "no characters"),
        (" \n", {"unit": "word"}, "no words"),
        ("\r\n\n", {"unit": "line"}, "no lines"),
        ("a b", {"unit": "word", "least": 3}, "only 2 words"),
        ("a\ud800", {}, "surrogate"),
        ("abc", {"least": 3, "most": 2}, "most is 2"),
        ("abc", {"unit": "sentence"}, "unit"),
        ("abc", {"least": -1}, "least"),
        (b"abc", {}, "text"),
    ],
)
def test_documents_that_cannot_be_quoted(document: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Substring(document, **options)  # type: ignore[arg-type]


def test_equal_documents_are_equal_and_travel() -> None:
    constraint = Substring("to be or not to be", "word", 2, 3)
    again = pickle.loads(pickle.dumps(constraint))
    assert again == constraint != Substring("to be or not to be", "word", 2)
    assert hash(again) == hash(constraint)
    assert again.to_dict() == constraint.to_dict()
    vocabulary = sfgen.load_model("tiny").vocabulary
    index = pickle.loads(pickle.dumps(Index(constraint, vocabulary)))
    assert index.guide().allowed_tokens().tolist() == constraint.guide(vocabulary).allowed_tokens().tolist()
    assert constraint.refusal(b"or not") is None
    assert constraint.refusal(b"or nod") is not None
    assert Index(constraint, vocabulary).refusal(b"r not") is not None
    assert constraint.guide(vocabulary).tokens_left() < UNREACHABLE


DOCUMENT = "Ada wrote the first program.\r\nShe did.\r\n\r\nCharles was the first.\r\n"


@pytest.mark.parametrize("unit", ["character", "word", "line"])
@pytest.mark.parametrize("strategy", get_args(StrategyName))
@tried("handful")
@given(st.integers(0, 99), st.sampled_from([None, "was", "first"]))
def test_whole_texts(unit: Unit, strategy: StrategyName, seed: int, ban: str | None) -> None:
    """All ways to draw, with banned words and within few tokens."""
    result = sfgen.generate(
        "tiny", "Who was she? ", index=Substring(DOCUMENT, unit, most=4), banned=None if ban is None else [ban],
        strategy=strategy, sampler=Sampler(1.0, seed), max_tokens=40,
    )  # fmt: skip
    assert result.text.encode() in quotations(DOCUMENT, unit, 1, 4)
    assert ban is None or ban not in result.text.split()
    assert result.finish_reason in ("complete", "end_token")


def test_a_path_in_place_of_the_document_is_told() -> None:
    with pytest.raises(UsageError) as caught:
        Substring(Path("doc.txt"))  # type: ignore[arg-type]
    assert (caught.value.message, caught.value.hint) == (
        "text must be a text (str), not PosixPath('doc.txt')",
        "The text of a file is Path(…).read_bytes().decode().",
    )
