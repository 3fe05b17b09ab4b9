"""Stop strings: where free text ends, whatever the tokens, and what a stream may let go before it is known."""

from __future__ import annotations

import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.running.tried import tried

from sfgen import (
    BannedWords,
    Dfa,
    Finished,
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
from sfgen.errors import DeadEnd, InternalError, UsageError

LETTERS = [bytes([byte]) for byte in b" abcdefghijklmnopqrstuvwxyz.!\n"]


def write(*wishes: bytes | None, stop: list[str], prompt: str = "x", max_tokens: int = 20) -> tuple[Result, list[str]]:
    """The result of a model that wants to write ``wishes``, and what was released, piece by piece."""
    pieces = list(dict.fromkeys([*LETTERS, *(wish for wish in wishes if wish)]))
    vocabulary = Vocabulary([*pieces, None], end_token_ids=[len(pieces)])
    model = ScriptedModel(vocabulary, preferring(vocabulary, wishes, prompt_length=len(prompt)))
    events = list(stream(model, prompt, stop=stop, max_tokens=max_tokens))
    final = events[-1]
    assert isinstance(final, Finished)
    return final.result, [event.text for event in events if isinstance(event, TextReleased)]


def test_the_text_ends_before_the_stop_string() -> None:
    for wishes in ([b"one", b"\n", b"\n", b"two"], [b"one\n", b"\ntwo"], [b"one\n\ntwo"], [b"o", b"ne\n\n"]):
        result, _ = write(*wishes, stop=["\n\n"])
        assert (result.text, result.finish_reason) == ("one", "stop")


def test_without_it_nothing_changes() -> None:
    assert write(b"one\n", b"two", stop=["\n\n"])[0].text == "one\ntwo"
    assert write(b"one\n", stop=["\n\n"])[0].finish_reason == "end_token"
    assert write(b"one\n", b"x", stop=["\n\n"], max_tokens=1)[0].finish_reason == "limit"
    assert write(b"one\n\n", b"x", stop=["\n\n"], max_tokens=1)[0].finish_reason == "stop"


def test_the_tokens_are_those_that_were_chosen() -> None:
    result, _ = write(b"a", b"b.", b".c", b"d", stop=[".."])
    assert (result.text, len(result.token_ids), result.forward_passes) == ("ab", 3, 3)


def test_the_prompt_does_not_belong_to_it() -> None:
    assert write(b".", b"a", stop=[".."], prompt="x.")[0].text == ".a"
    assert write(b"a", stop=["x"], prompt="x")[0].text == "a"


def test_the_first_that_is_whole_wins_whatever_the_tokens() -> None:
    for wishes in ([b"abcd"], [b"ab", b"cd"], [b"a", b"b", b"c", b"d"]):
        assert write(*wishes, stop=["bcd", "c"])[0].text == "ab"
        assert write(*wishes, stop=["c", "bc", "d"])[0].text == "a"


def test_a_beginning_is_held_back_until_it_is_decided() -> None:
    _, released = write(b"a.", b".b", b".", b".", b".", stop=["...", "..!"])
    assert released == ["a", "..b"]
    _, released = write(b"a.", b".", b"b", stop=["...", "..!"])
    assert released == ["a", "..b"]
    _, released = write(b"a.", b".", stop=["..."])
    assert released == ["a", ".."]


def test_stop_strings_across_half_characters() -> None:
    for wishes in ([b"a\xc3", b"\xa9b"], [b"a", b"\xc3", b"\xa9"], [b"a\xc3\xa9"]):
        result, released = write(*wishes, stop=["é"])
        assert (result.text, released, result.finish_reason) == ("a", ["a"], "stop")
    # The first half may become another character.
    assert write(b"a\xc3", b"\xa8", stop=["é"])[1] == ["a", "è"]
    # Bytes that are no text before it.
    assert write(b"a\xc3", b"\xc3\xa9", stop=["é"])[0].text == "a\ufffd"
    assert write(b"a\xf0\x9f", b"\x99\x82!", stop=["🙂"])[0].text == "a"


@pytest.mark.parametrize(
    ("stop", "message"), [([""], "empty"), (["a", ""], "empty"), (["\udcff"], "not valid text"), (7, "a list of")]
)
def test_stop_strings_that_mean_nothing(stop: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        write(b"a", stop=stop)


def test_a_pattern_says_itself_where_to_end() -> None:
    vocabulary = Vocabulary([b"a", None], end_token_ids=[1])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"a"], prompt_length=1))
    index = Index(Dfa.from_regex("a+"), vocabulary)
    with pytest.raises(UsageError, match="a pattern already says where to end"):
        stream(model, "a", index=index, stop=["a"])
    assert generate(model, "a", index=index, stop=[]).text == "a"


def test_a_stop_string_that_slipped_through_is_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.decoding.detokenizer.StopStrings.find", lambda *_: None)
    with pytest.raises(InternalError, match=r"contains the stop string '\.\.'"):
        write(b"a..b", stop=[".."])


# ---- against brute force ---------------------------------------------------------------------------------------------

ALPHABET = ["a", "b", "é", "\n"]
PIECES = st.lists(st.text(ALPHABET, min_size=1, max_size=4).map(str.encode), min_size=1, max_size=6)
HALVES = [b"\xc3", b"\xa9", b"a\xc3", b"\xa9b"]
STOPS = st.lists(st.text(ALPHABET, min_size=1, max_size=4), min_size=1, max_size=4)


def first_stop(data: bytes, stops: list[str]) -> int | None:
    """Byte after byte: before the longest of the stop strings that are whole first."""
    for end in range(len(data) + 1):
        whole = [stop for stop in stops if data[:end].endswith(stop.encode())]
        if whole:
            return end - max(len(stop.encode()) for stop in whole)
    return None


def undecided(data: bytes, stops: list[str]) -> int:
    """The earliest place at which a longer text could have to end, if it does not end by now."""
    return next(
        start
        for start in range(len(data) + 1)
        if start == len(data) or any(stop.encode().startswith(data[start:]) for stop in stops)
    )


def whole_characters(data: bytes) -> str:
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)


@tried("many")
@given(pieces=PIECES, more=st.lists(st.sampled_from(HALVES), max_size=3), stops=STOPS, data=st.data())
def test_any_text_ends_where_brute_force_says(
    pieces: list[bytes], more: list[bytes], stops: list[str], data: st.DataObject
) -> None:
    tokens = list(dict.fromkeys([*pieces, *more, b"x"]))
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
    wishes = data.draw(st.lists(st.sampled_from(tokens), max_size=10))
    limit = data.draw(st.integers(0, 12))
    model = ScriptedModel(vocabulary, preferring(vocabulary, wishes, prompt_length=1))
    wished = wishes[:limit]
    released, written, result = "", b"", None
    for event in stream(model, "x", stop=stops, max_tokens=limit):
        if isinstance(event, TokenChosen):
            # All that is decided was let go, and nothing else.
            if first_stop(written, stops) is None:
                assert released == whole_characters(written[: undecided(written, stops)])
            written += event.data
        elif isinstance(event, TextReleased):
            assert event.text
            released += event.text
        elif isinstance(event, Finished):
            result = event.result
    assert result is not None
    everything = b"".join(wished)
    end = first_stop(everything, stops)
    assert result.text == released == everything[:end].decode("utf-8", "replace")
    assert not any(stop in result.text for stop in stops)
    fewest = next(
        count
        for count in range(len(wished) + 1)
        if count == len(wished) or first_stop(b"".join(wished[:count]), stops) is not None
    )
    assert b"".join(vocabulary.tokens[token] or b"" for token in result.token_ids) == b"".join(wished[:fewest])
    assert (result.finish_reason == "stop") == (end is not None)


# ---- beside banned words ---------------------------------------------------------------------------------------------


def write_clean(
    *wishes: bytes | None, stop: list[str], words: list[str], match: str = "word"
) -> tuple[str, list[RolledBack]]:
    pieces = list(dict.fromkeys([*LETTERS, *(wish for wish in wishes if wish)]))
    vocabulary = Vocabulary([*pieces, None], end_token_ids=[len(pieces)])
    model = ScriptedModel(vocabulary, preferring(vocabulary, wishes, prompt_length=1))
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    released, rollbacks, text = "", [], None
    for event in stream(model, "x", banned=banned, stop=stop, max_tokens=8):
        if isinstance(event, TextReleased):
            released += event.text
        elif isinstance(event, RolledBack):
            rollbacks.append(event)
        elif isinstance(event, Finished):
            text = event.result.text
    assert text == released
    return text, rollbacks


@pytest.mark.parametrize(
    "wishes",
    [
        [b" we", b" talk", b"\n\n"],
        [b" we", b" talk\n\n"],
        [b" we", b" talk", b"\n", b"\n"],
        [b" we", b" ta", b"lk\n", b"\n"],
        [b" we ", b"talk\n\nmore"],
    ],
)
def test_the_stop_string_bounds_a_banned_word(wishes: list[bytes]) -> None:
    text, rollbacks = write_clean(*wishes, stop=["\n\n"], words=["talk"])
    assert [event.word for event in rollbacks][:1] == ["talk"]
    assert not re.search(r"\btalk\b", text)


def test_a_longer_word_that_a_stop_string_cuts_down_to_a_banned_one() -> None:
    """``talking!`` is innocent until ``ing!`` ends the text before it."""
    for wishes in ([b" talk", b"ing", b"!"], [b" talki", b"ng!"], [b" talking!"], [b" ta", b"lkin", b"g", b"!"]):
        text, rollbacks = write_clean(*wishes, stop=["ing!"], words=["talk"])
        assert [event.word for event in rollbacks][:1] == ["talk"]
        assert not re.search(r"\btalk\b", text)
    assert write_clean(b" talk", b"ing", b".", stop=["ing!"], words=["talk"]) == (" talking.", [])


def test_what_comes_after_the_end_is_not_looked_at() -> None:
    assert write_clean(b" we", b"; talk.", stop=["; "], words=["talk"]) == (" we", [])
    assert write_clean(b" we", b"; talk.", stop=["; talk"], words=["talk"], match="substring") == (" we", [])
    # Before the stop string is whole, a banned word is a banned word.
    text, rollbacks = write_clean(b" we", b"; talk", b".", b"!", stop=["; talk.!"], words=["talk"])
    assert rollbacks[0].word == "talk"
    assert not re.search(r"\btalk\b", text)


def banned_in(text: str, prompt: str, words: list[str], match: str) -> bool:
    """Whether a banned word ends in the text, told by ``re`` alone."""
    before, after = {"word": (r"\b", r"\b"), "prefix": (r"\b", ""), "substring": ("", "")}[match]
    whole = prompt + text
    return any(
        hit.end() > len(prompt)
        for word in words
        for start in range(len(whole))
        if (hit := re.compile(f"{before}{re.escape(word)}{after}", re.IGNORECASE).match(whole, start))
    )


LETTERS_OF_BANS = ["a", "b", " ", ".", "é"]


@tried("many")
@given(
    pieces=st.lists(st.text(LETTERS_OF_BANS, min_size=1, max_size=4), min_size=2, max_size=8, unique=True),
    words=st.lists(st.text(["a", "b", "é"], min_size=1, max_size=3), min_size=1, max_size=3),
    stops=st.lists(st.text(LETTERS_OF_BANS, min_size=1, max_size=3), min_size=1, max_size=3),
    match=st.sampled_from(["word", "prefix", "substring"]),
    prompt=st.text(LETTERS_OF_BANS, min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 1.0]),
)
def test_no_banned_word_no_stop_string_no_retraction(
    pieces: list[str], words: list[str], stops: list[str], match: str, prompt: str, seed: int, temperature: float
) -> None:
    tokens = [*dict.fromkeys(piece.encode() for piece in [*pieces, *LETTERS_OF_BANS]), b"\xc3", b"\xa9"]
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
    model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed))
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    released, result = "", None
    path: list[int] = []
    try:
        for event in stream(
            model, prompt, banned=banned, stop=stops, sampler=Sampler(temperature, seed), max_tokens=10
        ):
            if isinstance(event, TextReleased):
                released += event.text
            elif isinstance(event, TokenChosen):
                path.append(event.token_id)
            elif isinstance(event, RolledBack):
                assert path[event.position :] == list(event.token_ids)
                del path[event.position :]
            elif isinstance(event, Finished):
                result = event.result
    except DeadEnd:
        # Nothing clean could follow: what was let go is clean all the same.
        assert not any(stop in released for stop in stops)
        assert not banned_in(released, prompt, words, match)
        return
    assert result is not None
    assert released == result.text
    assert not banned_in(result.text, prompt, words, match)
    assert not any(stop in result.text for stop in stops)
    data = b"".join(vocabulary.tokens[token] or b"" for token in result.token_ids)
    healed = (result.healed or "").encode()
    assert data.startswith(healed)
    data = data.removeprefix(healed)
    assert list(result.token_ids) == path
    end = first_stop(data, stops)
    assert (end is not None) == (result.finish_reason == "stop")
    assert data[:end].decode("utf-8", "replace") == result.text
