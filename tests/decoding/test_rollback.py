"""Banned words under the loop: nothing leaks, whatever the vocabulary cuts, and what was streamed stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripted import ScriptedModel, preferring, random_scores
from sfgen import (
    BannedWords,
    Dfa,
    Index,
    Result,
    RolledBack,
    Sampler,
    TextReleased,
    TokenChosen,
    Vocabulary,
    generate,
    stream,
)
from sfgen.decoding import Finished
from sfgen.errors import DeadEnd, GenerationError

LETTERS = [bytes([byte]) for byte in b" abcdefghijklmnopqrstuvwxyz.,?'"]
PIECES = [*LETTERS, b"talk", b" talk", b"ta", b" ta", b"lk", b"king", b" about", b" it", b" help", b"listen", b" list"]
VOCABULARY = Vocabulary([*PIECES, None], end_token_ids=[len(PIECES)])


def write(*wishes: bytes | None, banned: BannedWords, prompt: str = "x", max_tokens: int = 20) -> Result:
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, wishes, prompt_length=len(prompt)))
    return generate(model, prompt, banned=banned, max_tokens=max_tokens)


TALK = BannedWords(["talk", "listen"])


@pytest.mark.parametrize(
    "cut",
    [
        [b" talk", b" about"],
        [b" ta", b"lk", b" about"],
        [b" ta", b"l", b"k", b" about"],
        [b" ", b"talk", b" about"],
        [b" ", b"t", b"a", b"l", b"k", b"."],
        [b" talk"],
        [b" ta", b"lk", None],
        [b"'", b"talk", b"'"],
    ],
)
def test_no_cutting_leaks(cut: list[bytes | None]) -> None:
    result = write(b"a", *cut, banned=TALK)
    assert result.rollbacks
    assert result.rollbacks[0].word == "talk"
    assert not re.search(r"\btalk\b", result.text)


def test_another_cutting_is_no_way_out() -> None:
    result = write(b" talk", b".", banned=TALK)
    assert result.text.startswith(" ") is False or not re.match(r" talk\b", result.text)
    assert not re.search(r"\btalk\b", result.text)


def test_the_limit_is_an_end() -> None:
    result = write(b"a", b" ta", b"lk", b"king", banned=TALK, max_tokens=3)
    assert not re.search(r"\btalk\b", result.text)
    assert result.finish_reason == "limit"
    assert len(result.token_ids) == 3


def test_longer_words_pass() -> None:
    result = write(b" talk", b"king", b" it", banned=TALK)
    assert (result.text, result.rollbacks) == (" talkking it", ())


def test_the_seam_with_the_prompt() -> None:
    result = write(b"k", b".", banned=TALK, prompt="we tal")
    assert not re.search(r"\btalk\b", "we tal" + result.text)
    assert result.rollbacks[0].position == 0


def test_what_lies_in_the_prompt_alone_is_not_undone() -> None:
    assert write(b"?", b" it", banned=TALK, prompt="we talk").text == "? it"


def test_a_word_of_a_banned_phrase_is_free() -> None:
    result = write(b" it", b" about", banned=BannedWords(["help it", "it help"]))
    assert (result.text, result.rollbacks) == (" it about", ())


def test_a_prohibition_falls_with_its_prefix() -> None:
    """After ``a`` the token ``b`` is forbidden; when ``a`` itself falls, ``b`` may stand in its place again."""
    vocabulary = Vocabulary([b"a", b"b", b"c", None], end_token_ids=[3])
    wishes = preferring(vocabulary, [b"a", b"b", b"c"], prompt_length=1)
    model = ScriptedModel(vocabulary, wishes)
    banned = BannedWords(["ab", "ac", "aa"], match="substring")
    events = list(stream(model, "c", banned=banned, max_tokens=3))
    final = events[-1]
    assert isinstance(final, Finished)
    assert not any(word in final.result.text for word in ("ab", "ac", "aa"))
    forbidden = [(event.position, event.forbidden) for event in events if isinstance(event, RolledBack)]
    assert forbidden == [(0, 0)]
    assert final.result.text == "bbc"


def test_text_before_an_open_match_is_held_when_a_rollback_could_reach_it() -> None:
    """``bc`` is over once ``ba`` follows, but ``ba`` itself falls, and a space in its place would complete ``bc``."""
    vocabulary = Vocabulary([b" ", b"bc", b"a b", b"x", None], end_token_ids=[4])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"bc", b"a b", b" ", b" "], prompt_length=1))
    banned = BannedWords(["bc", "b"])
    texts = [event.text for event in stream(model, [0], banned=banned, max_tokens=4) if isinstance(event, TextReleased)]
    assert not found("".join(texts), " ", ["b", "bc"], "word")


def test_rolling_back_reuses_the_scores() -> None:
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, [b"a", b" talk", b".", b"b"], prompt_length=1))
    result = generate(model, "x", banned=TALK, max_tokens=6)
    assert result.rollbacks[0].position == 1
    session = model.sessions[0]
    # The question at the place of the banned token was asked once; after the rollback the session is rewound to it.
    assert session.rewinds[0] == 2
    assert sum(map(len, session.calls)) - sum(len(event.token_ids) for event in result.rollbacks) <= 1 + 6


def test_everything_banned_is_an_error_not_a_leak() -> None:
    vocabulary = Vocabulary([b"a", b"aa", None], end_token_ids=[2])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"a", b"a"], prompt_length=1))
    # The end token is never banned: the empty text is what remains.
    assert generate(model, "a", banned=BannedWords(["a"], match="substring")).text == ""
    index = Index(Dfa.from_regex("a{3}"), vocabulary)
    with pytest.raises(DeadEnd, match="only banned text"):
        generate(model, "a", index=index, banned=BannedWords(["a"], match="substring"))


def test_too_many_rollbacks_is_an_error() -> None:
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, [b" talk", b"."], prompt_length=1))
    with pytest.raises(GenerationError, match="after 0 rollbacks"):
        generate(model, "x", banned=TALK, max_rollbacks=0)


def test_a_ban_beside_a_pattern() -> None:
    index = Index(Dfa.from_regex("(talk|help|list) (about|it)"), VOCABULARY)
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, [b"talk", b" it"], prompt_length=1))
    result = generate(model, " ", index=index, banned=TALK)
    assert re.fullmatch("(help|list) (about|it)", result.text)


ALPHABET = ["a", "b", "c", " ", ".", "é"]
RANDOM_PIECES = st.lists(st.text(ALPHABET, min_size=1, max_size=3), min_size=2, max_size=8, unique=True)


@settings(max_examples=400, deadline=None)
@given(
    pieces=RANDOM_PIECES,
    words=st.lists(st.text(["a", "b", "c", "é"], min_size=1, max_size=3), min_size=1, max_size=4),
    match=st.sampled_from(["word", "prefix", "substring"]),
    prompt=st.text(ALPHABET, max_size=4),
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 1.0]),
)
def test_no_leak_no_hang_no_retraction(
    pieces: list[str], words: list[str], match: str, prompt: str, seed: int, temperature: float
) -> None:
    tokens = [piece.encode() for piece in pieces] + [letter.encode() for letter in ALPHABET] + [b"\xc3", b"\xa9", None]
    vocabulary = Vocabulary(tokens, end_token_ids=[len(tokens) - 1])
    model = ScriptedModel(vocabulary, random_scores(len(tokens), seed))
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    released, result = "", None
    path, questions = list[int](), 0
    try:
        for event in stream(model, prompt or "a", banned=banned, sampler=Sampler(temperature, seed), max_tokens=12):
            if isinstance(event, TextReleased):
                released += event.text
                continue
            # What the model has read at its last question is what the text was then: a rewind leaves nothing over.
            contexts = model.sessions[0].contexts if model.sessions else []
            if len(contexts) > questions:
                assert contexts[-1] == [*model.encode(prompt or "a"), *path]
                questions = len(contexts)
            if isinstance(event, RolledBack):
                assert path[event.position :] == list(event.token_ids)
                del path[event.position :]
            elif isinstance(event, TokenChosen):
                path.append(event.token_id)
            elif isinstance(event, Finished):
                result = event.result
    except DeadEnd:
        assert not found(released, prompt or "a", words, match)
        return
    assert result is not None
    assert released == result.text
    assert not found(result.text, prompt or "a", words, match)
    assert len(result.token_ids) <= 12


def found(text: str, prompt: str, words: list[str], match: str) -> bool:
    """Whether a banned word ends in the text, told by ``re`` alone."""
    before, after = {"word": (r"\b", r"\b"), "prefix": (r"\b", ""), "substring": ("", "")}[match]
    whole = prompt + text
    return any(
        hit.end() > len(prompt)
        for word in words
        for start in range(len(whole))
        if (hit := re.compile(f"{before}{re.escape(word)}{after}", re.IGNORECASE).match(whole, start))
    )
