"""What a stream writes: never taken back, never half a character, as soon as it is safe."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.oracles.banned_text import BannedText, characters
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.running.tried import tried

from sfgen import (
    BannedWords,
    BlockMoved,
    Dfa,
    Event,
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
from sfgen.ban import scan
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import DeadEnd, ModelError, UsageError

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
LETTERS = ["a", "b", " ", ".", "é", "聊"]
HALVES = [b"\xc3", b"\xa9", b"\xe8\x81", b"\x8a", b"a\xc3", b"\x8ab"]


class Reader:
    """Follows a stream as somebody who reads it does, beside the path that the events tell of."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.path: list[int] = []
        self.text = ""
        self.result: Result | None = None

    def data(self, length: int | None = None) -> bytes:
        return b"".join(self.vocabulary.tokens[token] or b"" for token in self.path[:length])

    def read(self, event: Event) -> None:
        if isinstance(event, TextReleased):
            assert event.text
            self.text += event.text
        elif isinstance(event, TokenChosen):
            self.path.append(event.token_id)
        elif isinstance(event, RolledBack):
            assert self.path[event.position :] == list(event.token_ids)
            del self.path[event.position :]
            # What was written stands before what is left.
            assert characters(self.data(), ended=False)[0].startswith(self.text)
        elif isinstance(event, Finished):
            self.result = event.result


@tried("many")
@given(
    pieces=st.lists(st.text(LETTERS, min_size=1, max_size=3), min_size=2, max_size=6, unique=True),
    halves=st.lists(st.sampled_from(HALVES), max_size=3, unique=True),
    words=st.lists(st.text(["a", "b", "é", "聊", " "], min_size=1, max_size=4), min_size=1, max_size=3),
    match=st.sampled_from(["word", "prefix", "substring"]),
    stops=st.lists(st.text(LETTERS, min_size=2, max_size=3), max_size=1),
    strategy=st.sampled_from(STRATEGIES),
    max_block=st.sampled_from([1, 2, 32]),
    temperature=st.sampled_from([0.0, 1.0, 3.0]),
    seed=st.integers(0, 10**6),
)
def test_a_stream_is_the_text_bit_by_bit(
    pieces: list[str],
    halves: list[bytes],
    words: list[str],
    match: str,
    stops: list[str],
    strategy: StrategyName,
    max_block: int,
    temperature: float,
    seed: int,
) -> None:
    words = [word for word in words if word.strip()] or ["a"]
    tokens = [piece.encode() for piece in pieces] + halves
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
    model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed))
    oracle = BannedText(words, match, tokens[0])
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    reader, parts, moved = Reader(vocabulary), list[str](), False
    try:
        for event in stream(
            model,
            [0],
            banned=banned,
            sampler=Sampler(temperature, seed),
            stop=stops,
            max_tokens=9,
            strategy=strategy,
            max_block=max_block,
        ):
            if isinstance(event, TokenChosen):
                # All that was safe was written before the next token, and under the two that roll back nothing else.
                data = reader.data()
                at_rest = oracle.open_from(data) is None and not any(
                    stop.encode().startswith(data[start:]) for stop in stops for start in range(len(data))
                )
                if at_rest:
                    assert reader.text == data.decode("utf-8", "replace")
                text, starts = characters(data, ended=False)
                if strategy == "mask" and not stops and starts[-1] == len(data) and not oracle.is_in(data):
                    assert reader.text == text
            reader.read(event)
            if isinstance(event, BlockMoved):
                moved = True
            if isinstance(event, TextReleased):
                parts.append(event.text)
                assert not oracle.is_in(reader.text.encode())  # if the run is cut off here, the reader has this
                if strategy != "mask" and not moved and not stops and event.text[-1] != "\ufffd":
                    data = reader.data()
                    is_whole = len(reader.path) == 9 or oracle.open_from(data) is not None
                    assert is_whole or reader.text == data.decode("utf-8", "replace")
    except DeadEnd:
        assert not oracle.is_in(reader.text.encode())
        return
    assert reader.result is not None
    assert reader.text == "".join(parts) == reader.result.text
    assert list(reader.result.token_ids) == reader.path


@given(
    words=st.lists(st.text("ab ", min_size=1, max_size=5), min_size=1, max_size=3),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.integers(0, 10**6),
)
def test_an_open_block_is_held(words: list[str], strategy: StrategyName, seed: int) -> None:
    """Nothing of it is written before it is over, not even what stands before the match that is under way."""
    words = [word for word in words if word.strip()] or ["ab"]
    vocabulary = Vocabulary([b" ", b"a", b"b", b"ab", b"b a", None], end_token_ids=[5])
    model = ScriptedModel(vocabulary, random_scores(6, seed))
    oracle = BannedText(words, "substring", b" ")
    banned = BannedWords(words, match="substring")
    reader, rest = Reader(vocabulary), 0
    for event in stream(
        model, [0], banned=banned, sampler=Sampler(1.0, seed), max_tokens=10, strategy=strategy, max_block=99
    ):
        reader.read(event)
        if isinstance(event, TextReleased) and len(reader.path) < 10:
            rest = len(reader.data())
            is_last = reader.result is not None
            assert strategy == "mask" or is_last or oracle.open_from(reader.data()) is None or reader.text
        if isinstance(event, RolledBack):
            assert len(reader.data()) >= rest
    assert reader.result is not None


def wishing(tokens: list[bytes], *wishes: bytes | None) -> ScriptedModel:
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
    return ScriptedModel(vocabulary, preferring(vocabulary, wishes, prompt_length=1))


def test_half_a_character_waits_for_the_other_half() -> None:
    model = wishing([b"x", b"\xe8\x81", b"\x8a", b"\xe5", b"\xa4", b"\xa9", b"a"], b"a", b"\xe8\x81", b"\x8a", b"a")
    for strategy in STRATEGIES:
        events = list(stream(model, "x", banned=BannedWords(["聊天"]), strategy=strategy))
        texts = [event.text for event in events if isinstance(event, TextReleased)]
        assert texts == (["a", "聊", "a"] if strategy == "mask" else ["a", "聊a"])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("tokens", "words", "pattern", "stop", "cut"),
    [
        ([b"we ", b"talk", b"ing", b" on"], ["talk"], [], [], "we "),
        ([b"we ", b"ta", b"lk", b"ing"], ["talk"], [], [], "we ta"),
        ([b"small ", b"talk", b"ative"], ["talk"], [], [], "small "),
        ([b"a", b"b", b"c"], [], ["ab$"], [], "a"),
        ([b"we ", b"talk", b"ed!"], ["talk"], [], ["ed?"], "we "),
        ([b"a talk", b"ing small", b" x"], ["talk", "small talk"], [], [], "a talking small"),
        (["聊".encode(), b"talk", "é".encode()], ["talk"], [], [], "聊"),
    ],
)
@pytest.mark.parametrize("failure", ["not a number", "stopped"])
def test_a_run_that_is_cut_off_has_written_no_banned_word(
    strategy: StrategyName, tokens: list[bytes], words: list[str], pattern: list[str], stop: list[str], cut: str,
    failure: str,
) -> None:  # fmt: skip
    """Whatever is a match if the text ends here waits for what follows."""
    vocabulary = Vocabulary([b"x ", *tokens, None], end_token_ids=[len(tokens) + 1])
    wish = preferring(vocabulary, tokens, prompt_length=1)
    banned = BannedWords(words, pattern)
    for length in range(1, len(tokens)):

        def score(read: tuple[int, ...], length: int = length) -> NDArray[np.floating]:
            if len(read) <= length:
                return wish(read)
            if failure == "stopped":
                raise KeyboardInterrupt
            return np.full(len(vocabulary), np.nan, dtype=np.float32)

        written = ""
        try:
            for event in stream(
                ScriptedModel(vocabulary, score), [0], banned=banned, stop=stop, strategy=strategy, max_block=1
            ):
                written += event.text if isinstance(event, TextReleased) else ""
        except (ModelError, KeyboardInterrupt):
            pass
        else:
            pytest.fail("the run was to be cut off")
        assert scan(written, banned) == []
        if strategy == "mask" and length == 2:
            assert written == cut


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_dead_end_is_not_looked_for_in_every_half_of_a_character(strategy: StrategyName) -> None:
    """After ``talk`` everything is banned, and every half of a character becomes something."""
    halves = [bytes([byte]) for byte in range(0x80, 0xF5)] + ["🙂".encode()[:3], "聊".encode()[:2]]
    tokens = [b"x ", b"we ", b"talk", b"ok", *halves]
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"we ", b"talk", b"\xf0", b"\x9f"], prompt_length=1))
    banned = BannedWords(["talk"], ["(?s)talk."])
    result = generate(model, [0], banned=banned, strategy=strategy, max_tokens=4)
    assert "talk" not in result.text
    assert result.forward_passes < 12
    # A stop string may end the text before such a half, so then it is tried.
    stopped = generate(model, [0], banned=BannedWords(patterns=["(?s)talk."]), strategy=strategy, stop=["🙂"])
    assert "talk" in stopped.text or strategy != "mask"


# ---- long blocks -----------------------------------------------------------------------------------------------------


def test_a_long_block_moves_to_the_earliest_open_match() -> None:
    """``x`` is open since the first byte; when ``q`` ends that, "a b" may still be under way, and the block goes on."""
    tokens = [bytes([byte]) for byte in b"abcdefgq "]
    banned = BannedWords(["abcdefg", "efab"], match="substring")
    model = wishing(tokens, *(bytes([byte]) for byte in b"abcdefaq"))
    events = list(stream(model, [8], banned=banned, max_tokens=9, max_block=6))
    moved = [event for event in events if isinstance(event, BlockMoved)]
    # At the seventh token "abcdef" is over, and "efa" has been under way since the fifth.
    assert moved == [BlockMoved(position=4, tokens=7)]
    place = events.index(moved[0])
    assert [event.text for event in events[:place] if isinstance(event, TextReleased)] == []
    released = events[place + 1]
    assert isinstance(released, TextReleased)
    assert released.text == "abcd"
    final = events[-1]
    assert isinstance(final, Finished)
    assert (final.result.text, final.result.moved_blocks) == ("abcdefaq", 1)


def test_a_moved_block_is_drawn_again_from_its_new_start() -> None:
    tokens = [bytes([byte]) for byte in b"abcdefgq "]
    banned = BannedWords(["abcdefg", "efab"], match="substring")
    model = wishing(tokens, *(bytes([byte]) for byte in b"abcdefabq"))
    events = list(stream(model, [8], banned=banned, max_tokens=10, max_block=6))
    rollbacks = [event for event in events if isinstance(event, RolledBack)]
    assert [(event.position, event.word, event.data) for event in rollbacks] == [(4, "efab", b"efab")]
    final = events[-1]
    assert isinstance(final, Finished)
    assert final.result.text.startswith("abcd")
    assert not BannedText(banned.words, "substring").is_in(final.result.text.encode())
    # Without the limit the whole block is drawn again.
    result = generate(model, [8], banned=banned, max_tokens=10)
    assert (result.rollbacks[0].position, result.rollbacks[0].data, result.moved_blocks) == (0, b"abcdefab", 0)


def test_a_moved_block_keeps_the_beginning_of_a_stop_string() -> None:
    """The second token ends the stop string that ``b`` may begin; when it falls, ``q`` in its place completes it."""
    vocabulary = Vocabulary([b"xb", b"a", b"c", b"q", None], end_token_ids=[4])
    answers = {(): [9, 0, 0, 0, 0], (0,): [0, 5, 0, 4, 0], (0, 1): [0, 0, 9, 0, 0]}
    model = ScriptedModel(vocabulary, lambda tokens: np.array(answers.get(tokens[1:], [0.0, 0, 0, 0, 9])))
    banned = BannedWords(["ac"], match="substring")
    for max_block in (1, 9):
        reader, moved = Reader(vocabulary), False
        for event in stream(model, [2], banned=banned, stop=["bq"], max_block=max_block):
            reader.read(event)
            moved = moved or isinstance(event, BlockMoved)
        assert reader.result is not None
        assert reader.text == reader.result.text == "x"
        assert moved == (max_block == 1)


@tried("many")
@given(
    words=st.lists(st.text("ab", min_size=2, max_size=6), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
    max_block=st.integers(1, 4),
    temperature=st.sampled_from([0.0, 1.0, 5.0]),
)
def test_every_move_goes_to_the_earliest_open_match(
    words: list[str], seed: int, max_block: int, temperature: float
) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"bba", b"."], end_token_ids=[])
    model = ScriptedModel(vocabulary, random_scores(5, seed))
    oracle = BannedText(words, "substring", b".")
    banned = BannedWords(words, match="substring")
    reader, moves, start = Reader(vocabulary), 0, 0
    try:
        for event in stream(
            model, [4], banned=banned, sampler=Sampler(temperature, seed), max_tokens=14, max_block=max_block
        ):
            if isinstance(event, RolledBack):
                assert event.position >= start
            if isinstance(event, BlockMoved):
                moves += 1
                opened = oracle.open_from(reader.data())
                assert opened is not None
                assert len(reader.data(event.position)) <= opened < len(reader.data(event.position + 1))
                assert event.tokens > max_block
                assert event.tokens == len(reader.path) - start
                start = event.position
            reader.read(event)
            if oracle.open_from(reader.data()) is None and not oracle.is_in(reader.data(), ended=False):
                start = len(reader.path)
            if isinstance(event, TextReleased) and reader.result is None:
                assert reader.text == reader.data(start).decode() or len(reader.path) == 14
    except DeadEnd:
        assert not oracle.is_in(reader.text.encode())
        return
    assert reader.result is not None
    assert reader.result.moved_blocks == moves
    assert not oracle.is_in(reader.result.text.encode())


@pytest.mark.parametrize("strategy", ["first-token", "mask"])
def test_only_resample_has_blocks_that_move(strategy: StrategyName) -> None:
    tokens = [bytes([byte]) for byte in b"abcdefgq "]
    model = wishing(tokens, *(bytes([byte]) for byte in b"abcdefaq"))
    banned = BannedWords(["abcdefg", "efab"], match="substring")
    events = stream(model, [8], banned=banned, max_tokens=9, max_block=2, strategy=strategy)
    assert not any(isinstance(event, BlockMoved) for event in events)


# ---- the end of a stream ---------------------------------------------------------------------------------------------

DEAD = BannedWords(["ab", "ac"], match="substring")


def dead_end_model() -> ScriptedModel:
    """It wants "x", which is innocent, and then "a"; after "xa" the pattern wants "b" or "c"."""
    return wishing([b"x", b"y", b"a", b"b", b"c"], b"x", b"a", b"b")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_that_can_go_nowhere_is_an_error_and_a_text_is_not(
    strategy: StrategyName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a product nobody knows better; what is held may go back, what was streamed may not."""
    model = dead_end_model()
    index = Index(Dfa.from_regex("xa[bc]|y{3}"), model.vocabulary)
    monkeypatch.setattr("sfgen.ban.difference.without", lambda *_: None)
    reader = Reader(model.vocabulary)

    def read_all() -> None:
        for event in stream(model, "y", index=index, banned=DEAD, strategy=strategy):
            reader.read(event)

    with pytest.raises(DeadEnd, match="only banned text could follow") as caught:
        read_all()
    assert reader.text == ("xa" if strategy == "mask" else "x")
    assert caught.value.hint
    assert generate(model, "y", index=index, banned=DEAD, strategy=strategy).text == "yyy"
    held = list(stream(model, "y", index=index, banned=DEAD, strategy=strategy, hold=True))
    assert [event.text for event in held if isinstance(event, TextReleased)] == ["yyy"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_the_product_a_stream_does_not_get_there(strategy: StrategyName) -> None:
    model = dead_end_model()
    index = Index(Dfa.from_regex("xa[bc]|y{3}"), model.vocabulary)
    events = list(stream(model, "y", index=index, banned=DEAD, strategy=strategy))
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == "yyy"
    final = events[-1]
    assert isinstance(final, Finished)
    assert final.result.text == "yyy"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_end_token_is_a_way_out(strategy: StrategyName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.ban.difference.without", lambda *_: None)
    model = wishing([b"x", b"a", b"b", b"c"], b"x", b"a", b"b")
    index = Index(Dfa.from_regex("x(a[bc])?"), model.vocabulary)
    reader = Reader(model.vocabulary)
    try:
        for event in stream(model, "x", index=index, banned=DEAD, strategy=strategy):
            reader.read(event)
    except DeadEnd:  # "xa" was streamed, and no end is allowed there
        assert strategy == "mask"
        assert reader.text == "xa"
        return
    assert reader.result is not None
    assert (reader.text, reader.result.finish_reason) == ("x", "end_token")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_free_text_where_everything_is_banned(strategy: StrategyName) -> None:
    banned = BannedWords(["a", "b"], match="substring")
    for tokens in ([b"a", b"b"], [b"a", b"b", b"ab", b"ba"]):
        result = generate(wishing(tokens, b"a", b"b"), "a", banned=banned, strategy=strategy)
        assert (result.text, result.finish_reason, result.token_ids) == ("", "end_token", ())
        vocabulary = Vocabulary([*tokens, None], end_token_ids=[])  # a special token, but no end token
        model = ScriptedModel(vocabulary, random_scores(len(vocabulary), 1))
        with pytest.raises(DeadEnd, match="only banned text could follow ''"):
            generate(model, "a", banned=banned, strategy=strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_tokens_are_no_text(strategy: StrategyName) -> None:
    result = generate(wishing([b"a"], b"a"), "a", banned=BannedWords(["a"]), max_tokens=0, strategy=strategy)
    assert (result.text, result.finish_reason) == ("", "limit")


def test_what_is_refused_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="max_block must be at least 1"):
        stream(wishing([b"a"], b"a"), "a", banned=DEAD, max_block=0)
