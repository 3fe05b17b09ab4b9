"""The seam between prompt and text: which tokens are taken back, and that nothing but the spelling changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import rounds, tried

import sfgen
from sfgen import BannedWords, Dfa, Finished, GenerationConfig, Index, Job, Result, Sampler, TextReleased, Vocabulary
from sfgen.decoding import TokenChosen, prepare
from sfgen.decoding.events import Event
from sfgen.decoding.healing import is_healed, seams
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import DeadEnd, GenerationError, UsageError

PIECES = [b"a", b"b", b" ", b":"]
ENDS_IN_SPACE = "a: "


class Cutter(ScriptedModel):
    """A model whose tokenizer takes the longest token that fits, from left to right."""

    def __init__(self, pieces: Sequence[bytes], seed: int, context: int | None = None) -> None:
        tokens = [*dict.fromkeys([*PIECES, *pieces]), None]
        super().__init__(Vocabulary(tokens, [len(tokens) - 1]), random_scores(len(tokens), seed))
        self.context_length = context
        self.by_length = sorted(self.vocabulary.ids, key=len, reverse=True)

    def encode(self, text: str) -> list[int]:
        data, ids = text.encode(), []
        while data:
            piece = next(piece for piece in self.by_length if data.startswith(piece))
            ids.append(self.vocabulary.ids[piece])
            data = data[len(piece) :]
        return ids


def events_of(model: Cutter, prompt: str | list[int], **named: Any) -> list[Event]:
    return list(sfgen.stream(model, prompt, **named))


def result_of(events: list[Event]) -> Result:
    assert isinstance(events[-1], Finished)
    return events[-1].result


def joined(model: Cutter, tokens: Sequence[int]) -> bytes:
    return b"".join(model.vocabulary.tokens[token] or b"" for token in tokens)


texts_of_tokens = st.lists(st.sampled_from([b"a", b"b", b" ", b":"]), min_size=2, max_size=3).map(b"".join)
vocabularies = st.lists(texts_of_tokens, max_size=6)
prompts = st.text("ab :", min_size=1, max_size=4)
patterns = st.sampled_from(["[ab]{1,3}", "(ab|ba|a b)?", "a{2}|: b", "b[ab :]{0,3}", "[a:]"])


# ---- the seam ------------------------------------------------------------------------------------------------------


@given(pieces=vocabularies, prompt=prompts)
def test_every_end_that_a_token_reaches_across_is_found(pieces: list[bytes], prompt: str) -> None:
    model = Cutter(pieces, 0)
    ids, tokens = model.encode(prompt), model.vocabulary.tokens
    expected = []
    for kept in range(1, len(ids)):
        end = joined(model, ids[kept:])
        if any(data is not None and data.startswith(end) and len(data) > len(end) for data in tokens):
            expected.append((ids[:kept], end))
    assert [(list(seam.prompt_ids), seam.healed) for seam in seams(model.vocabulary, ids, prompt.encode())] == expected


def test_what_is_not_taken_back() -> None:
    vocabulary = Vocabulary([b"a", b" ", b" b", None, b"\xc3", b"\xa9", b"\xa9a", b" b "], [2])
    assert list(seams(vocabulary, [1], b" ")) == []  # one token stays
    assert list(seams(vocabulary, [0, 3], b"a")) == []  # a special token
    assert list(seams(vocabulary, [0, 2], b"a b")) == []  # an end token
    assert list(seams(vocabulary, [0, 4, 5], "aé".encode())) == []  # half a character
    assert list(seams(vocabulary, [0, 1], b"A_")) == []  # the tokenizer writes another text
    assert [seam.healed for seam in seams(vocabulary, [0, 1], b"a ")] == [b" "]


def test_who_is_healed() -> None:
    assert is_healed(None, "a ")
    assert is_healed(None, "a\n")
    assert not is_healed(None, "a")
    assert not is_healed(None, "")
    assert is_healed(True, "a")
    assert not is_healed(False, "a ")
    assert not is_healed(None, [1])
    with pytest.raises(UsageError, match="heal") as caught:
        is_healed(True, [1])
    assert "heal" in caught.value.hint


# ---- the whole loop ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fast_forward", [True, False])
@given(pieces=vocabularies, prompt=prompts, pattern=patterns, seed=st.integers(0, 99), limit=st.integers(3, 8))
def test_the_tokens_write_the_end_of_the_prompt_and_then_the_text(
    fast_forward: bool, pieces: list[bytes], prompt: str, pattern: str, seed: int, limit: int
) -> None:
    model, sampler = Cutter(pieces, seed), Sampler(1.0, seed)
    dfa = Dfa.from_regex(pattern)
    events = events_of(
        model, prompt, index=dfa, heal=True, sampler=sampler, max_tokens=limit, fast_forward=fast_forward
    )
    result = result_of(events)
    healed = (result.healed or "").encode()
    assert dfa.accepts(result.text)
    assert joined(model, result.token_ids) == healed + result.text.encode()
    assert prompt.encode().endswith(healed)
    ids = model.encode(prompt)
    assert joined(model, ids[: result.prompt_tokens]) + healed == prompt.encode()
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == result.text
    chosen = [event for event in events if isinstance(event, TokenChosen)]
    assert b"".join(event.data for event in chosen) == result.text.encode()
    assert b"".join(event.healed for event in chosen) == healed
    assert [event.healed + event.data for event in chosen] == [model.vocabulary.tokens[t] for t in result.token_ids]
    assert sum(event.data != b"" for event in chosen) <= limit
    if healed:
        # Some longer token could have been written across the seam.
        assert any(data and data.startswith(healed) and len(data) > len(healed) for data in model.vocabulary.tokens)
    else:
        plain = result_of(
            events_of(
                model, prompt, index=dfa, heal=False, sampler=sampler, max_tokens=limit, fast_forward=fast_forward
            )
        )
        assert plain == result


@pytest.mark.parametrize("end", ["", ":", "a"])
@given(pieces=vocabularies, prompt=st.text("ab :", max_size=3), seed=st.integers(0, 99), free=st.booleans())
def test_a_prompt_that_ends_otherwise_is_taken_as_it_is(
    end: str, pieces: list[bytes], prompt: str, seed: int, free: bool
) -> None:
    """As token ids are, and as all are where it is refused."""
    assume(prompt + end)
    model = Cutter(pieces, seed)
    index = None if free else Dfa.from_regex("[ab :]{0,4}")
    named: dict[str, Any] = {"sampler": Sampler(1.0, seed), "max_tokens": 5, "index": index}
    refused = events_of(model, prompt + end, heal=False, **named)
    assert result_of(refused).healed is None
    assert events_of(model, model.encode(prompt + end), **named) == refused
    if end:
        assert events_of(model, prompt + end, **named) == refused


def leaves(
    model: Cutter, start: tuple[int, ...], room: int, healed: bytes, may_follow: Any
) -> Iterator[tuple[bytes, float]]:
    """Each text with its probability, token after token among those that may follow, by the definition."""
    waiting: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    size = len(healed)
    while waiting:
        path, probability = waiting.pop()
        data = joined(model, path)
        written = 0
        for count in range(1, len(path) + 1):
            written += len(joined(model, path[:count])) > size
        if written == room:
            yield data[size:], probability
            continue
        allowed = []
        for token, piece in enumerate(model.vocabulary.tokens):
            new = data + (piece or b"")
            is_end = piece is None
            if len(data) >= size if is_end else new.startswith(healed) or healed.startswith(new):
                allowed.append(token)
        scores = model.score((*start, *path))[allowed].astype(np.float64)
        shares: NDArray[np.float64] = np.exp(scores - scores.max())
        for token, share in zip(allowed, (shares / shares.sum()).tolist(), strict=True):
            if model.vocabulary.tokens[token] is None:
                yield data[size:], probability * share
            else:
                waiting.append(((*path, token), probability * share))


def test_free_text_has_the_distribution_of_the_joined_text() -> None:
    """Where one token takes the healed bytes, it is exactly the model's, on condition that the text begins so."""
    model = Cutter([b" a", b" b", b": ", b"ab"], 5)
    prompt, room, draws = "a ", 2, rounds(7500)
    kept = tuple(model.encode("a"))
    expected: dict[bytes, float] = {}
    for text, share in leaves(model, kept, room, b" ", None):
        expected[text] = expected.get(text, 0.0) + share
    # All texts of the model, and those of them that begin with the space.
    whole: dict[bytes, float] = {}
    for token, piece in enumerate(model.vocabulary.tokens):
        if piece is None or not piece.startswith(b" "):
            continue
        scores = model.score(kept).astype(np.float64)
        share = float(np.exp(scores[token] - np.logaddexp.reduce(scores)))
        rest = room - (len(piece) > 1)
        for text, after in leaves(model, (*kept, token), rest, b"", None):
            whole[piece[1:] + text] = whole.get(piece[1:] + text, 0.0) + share * after
    total = sum(whole.values())
    for text, share in expected.items():
        assert whole[text] / total == pytest.approx(share)
    counts: dict[bytes, int] = {}
    for seed in range(draws):
        text = sfgen.generate(model, prompt, sampler=Sampler(1.0, seed), max_tokens=room).text.encode()
        counts[text] = counts.get(text, 0) + 1
    assert counts.keys() <= expected.keys()
    distance = sum(abs(expected[text] - counts.get(text, 0) / draws) for text in expected) / 2
    assert distance < 0.08
    unhealed: dict[bytes, float] = {}
    for text, share in leaves(model, tuple(model.encode(prompt)), room, b"", None):
        unhealed[text] = unhealed.get(text, 0.0) + share
    other = sum(abs(expected.get(text, 0) - unhealed.get(text, 0)) for text in {*expected, *unhealed}) / 2
    assert other > 0.2, "healing makes a difference here"


def shares_of(model: Cutter, path: Sequence[int]) -> NDArray[np.float64]:
    scores = model.score(tuple(path)).astype(np.float64)
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores)))


def constrained(model: Cutter, kept: list[int], pattern: str, *, weighed: bool) -> dict[bytes, float]:
    """What is drawn where one space was healed: by masks, the space alone weighed by what may follow it.

    Args:
        model: The model.
        kept: The tokens of the prompt that stay.
        pattern: What the text must match; its texts are short.
        weighed: Whether the space is weighed.
    """
    dfa, tokens = Dfa.from_regex(pattern), model.vocabulary.tokens
    found: dict[bytes, float] = {}

    def may_follow(text: bytes, piece: bytes | None) -> bool:
        if piece is None:
            return dfa.accepts(text)
        state = 0
        for byte in text + piece:
            state = dfa.step(state, byte)
            if state < 0:
                return False
        return True

    def go_on(path: list[int], text: bytes, share: float) -> None:
        shares = shares_of(model, [*kept, *path])
        allowed = [token for token, piece in enumerate(tokens) if may_follow(text, piece)]
        if all(tokens[token] is None for token in allowed):
            found[text] = found.get(text, 0.0) + share
            return
        for token in allowed:
            after = share * shares[token] / shares[allowed].sum()
            piece = tokens[token]
            if piece is None:
                found[text] = found.get(text, 0.0) + after
            else:
                go_on([*path, token], text + piece, after)

    weights: dict[int, float] = {}
    for token, piece in enumerate(tokens):
        if piece is not None and piece.startswith(b" ") and may_follow(b"", piece[1:]):
            weights[token] = float(shares_of(model, kept)[token])
            if piece == b" " and weighed:
                behind = shares_of(model, [*kept, token])
                weights[token] *= sum(behind[each] for each, data in enumerate(tokens) if may_follow(b"", data))
    for token, weight in weights.items():
        go_on([token], (tokens[token] or b"")[1:], weight / sum(weights.values()))
    return found


def distance(one: dict[bytes, float], other: dict[bytes, float]) -> float:
    return sum(abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in {*one, *other}) / 2


@pytest.mark.parametrize("strategy", [None, "resample", "mask"])
def test_a_token_that_ends_at_the_seam_is_weighed_by_what_may_follow_it(strategy: StrategyName | None) -> None:
    """Behind the space the model wants what the pattern refuses."""
    model, pattern, draws = Cutter([b" a", b" b", b": ", b"ab"], 5), "[ab]{1,2}", rounds(2500)
    plain = model.score
    (a_behind, space), (b, colon) = model.encode(" a "), model.encode("b:")

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = plain(tokens).copy()
        if len(tokens) == 1:
            scores[[space, a_behind]] = 9, 8
        elif tokens[-1] == space:
            scores[[colon, b]] = 15, 10
        return scores

    model.score = score
    kept = model.encode("a")
    expected = constrained(model, kept, pattern, weighed=True)
    assert sum(expected.values()) == pytest.approx(1)
    assert distance(expected, constrained(model, kept, pattern, weighed=False)) > 0.2
    named: dict[str, Any] = {} if strategy is None else {"banned": ["zz"], "strategy": strategy}
    counts: dict[bytes, float] = {}
    for seed in range(draws):
        result = sfgen.generate(
            model, "a ", index=pattern, sampler=Sampler(1.0, seed), max_tokens=5, fast_forward=False, **named
        )
        assert result.healed == " "
        text = result.text.encode()
        counts[text] = counts.get(text, 0.0) + 1 / draws
    assert distance(expected, counts) < 0.08


@given(
    pieces=st.lists(st.text("ab ", min_size=1, max_size=4).map(str.encode), max_size=5),
    end=st.text("ab ", min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
@tried("few")
def test_free_text_begins_as_the_model_would_write_the_end_of_the_prompt(
    pieces: list[bytes], end: str, seed: int
) -> None:
    """A token that ends inside it counts by the probability that the rest follows: that of all its spellings."""
    model = Cutter(pieces, seed)
    events = events_of(model, ":" + end, sampler=Sampler(1.0, seed), max_tokens=1, heal=True)
    result = result_of(events)
    assume(result.healed is not None)

    def share(path: tuple[int, ...], rest: bytes) -> float:
        """The probability that the model writes the rest, with whatever behind it."""
        if not rest:
            return 1.0
        shares = shares_of(model, path)
        return sum(
            float(shares[token]) * share((*path, token), rest[len(piece) :])
            for token, piece in enumerate(model.vocabulary.tokens)
            if piece is not None and (piece.startswith(rest) or rest.startswith(piece))
        )

    path, rest = tuple(model.encode(":" + end)[: result.prompt_tokens]), (result.healed or "").encode()
    for event in events:
        if isinstance(event, TokenChosen):
            behind, left = (*path, event.token_id), rest[len(joined(model, [event.token_id])) :]
            if rest:
                probability = shares_of(model, path)[event.token_id] * share(behind, left) / share(path, rest)
                assert event.probability == pytest.approx(float(probability), rel=1e-2)
            path, rest = behind, left


def with_unlikely(model: Cutter, lengths: Iterable[int]) -> Cutter:
    """The model, to which runs of ``a`` of these lengths are unlikely."""
    plain, unlikely = model.score, [model.vocabulary.ids[b"a" * length] for length in lengths]

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = plain(tokens).copy()
        scores[unlikely] -= 30
        return scores

    model.score = score
    return model


@pytest.mark.parametrize("pattern", [None, "[ab:]{1,6}", "a{2}"])
@pytest.mark.parametrize("seed", range(3))
def test_an_end_that_can_be_cut_in_thousands_of_ways_takes_a_bounded_time(pattern: str | None, seed: int) -> None:
    """Whatever is not weighed, the tokens write the end of the prompt and then the text."""
    model = with_unlikely(Cutter([b"a" * length for length in range(2, 16)], seed), range(13, 16))
    result = sfgen.generate(model, ":" + "a" * 12, index=pattern, sampler=Sampler(1.0, 0), max_tokens=4, heal=True)
    assert result.healed == "a" * 12
    assert joined(model, result.token_ids).decode() == "a" * 12 + result.text
    assert result.forward_passes < 100


@pytest.mark.parametrize("pattern", [None, "[ab:]{1,6}"])
def test_an_end_of_many_tokens_takes_a_bounded_time(pattern: str | None) -> None:
    """A model that writes the end in the smallest pieces comes to one place after the other that can be weighed."""
    model = with_unlikely(Cutter([b"a" * length for length in range(2, 40)], 0), range(3, 40))
    result = sfgen.generate(model, ":" + "a" * 31, index=pattern, sampler=Sampler(1.0, 0), max_tokens=4, heal=True)
    assert result.healed == "a" * 31
    assert joined(model, result.token_ids).decode() == "a" * 31 + result.text
    assert len(result.token_ids) > 15
    assert result.forward_passes < 128 + 31 + 4


@given(pieces=vocabularies, prompt=prompts, pattern=patterns, seed=st.integers(0, 99))
def test_nothing_is_asked_twice_and_who_observes_changes_nothing(
    pieces: list[bytes], prompt: str, pattern: str, seed: int
) -> None:
    model = Cutter(pieces, seed)
    named: dict[str, Any] = {"index": pattern, "heal": True, "sampler": Sampler(1.0, seed), "max_tokens": 9}
    plain = result_of(events_of(model, prompt, **named))
    assert result_of(events_of(model, prompt, observe=True, **named)) == plain
    contexts = [tuple(read) for read in model.sessions[0].contexts]
    assert len(contexts) == len(set(contexts)) == plain.forward_passes


@given(pieces=vocabularies, prompt=prompts, pattern=patterns)
def test_forced_text_is_spelled_as_the_tokenizer_spells_prompt_and_text(
    pieces: list[bytes], prompt: str, pattern: str
) -> None:
    """Where one text only may follow, and its end is sure, prompt and text have the tokenizer's own tokens."""
    text = Dfa.from_regex(pattern).shortest().decode()
    assume(text)
    model = Cutter(pieces, 1)
    result = sfgen.generate(model, prompt, index=Dfa.from_choices([text]), heal=True, max_tokens=20)
    assert result.text == text
    if result.healed is not None:
        kept = tuple(model.encode(prompt)[: result.prompt_tokens])
        whole = tuple(model.encode(prompt + text))
        if whole[: len(kept)] == kept:
            assert (*kept, *result.token_ids) == whole


# ---- bans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", get_args(StrategyName))
@pytest.mark.parametrize("free", [True, False])
@tried("usual")
@given(
    pieces=vocabularies,
    prompt=prompts,
    words=st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=2),
    seed=st.integers(0, 99),
)
def test_no_banned_word_slips_through_the_seam(
    strategy: StrategyName, free: bool, pieces: list[bytes], prompt: str, words: list[str], seed: int
) -> None:
    model, banned = Cutter(pieces, seed), BannedWords(words)
    index = None if free else Dfa.from_regex("[ab :]{0,4}")
    released, path = "", []
    try:
        for event in sfgen.stream(
            model, prompt, banned=banned, index=index, heal=True, strategy=strategy, sampler=Sampler(1.0, seed),
            max_tokens=5, observe=True,
        ):  # fmt: skip
            if isinstance(event, TextReleased):
                released += event.text
            elif isinstance(event, TokenChosen):
                path.append(event)
                text = b"".join(each.data for each in path)
                if event.watch is not None and event.watch.open_from is not None:
                    assert -len(prompt) <= event.watch.open_from <= len(text)
            elif isinstance(event, sfgen.RolledBack):
                assert event.data == b"".join(each.data for each in path[event.position :])
                del path[event.position :]
            elif isinstance(event, Finished):
                assert event.result.text == released
    except (DeadEnd, GenerationError):
        pass
    assert not list(sfgen.ban.scan(released.encode(), banned, prompt=prompt.encode()))


def _same(scores: NDArray[np.float32], tokens: tuple[int, ...]) -> NDArray[np.float32]:
    return scores


def test_a_word_across_the_seam() -> None:
    """The prompt has its beginning; one token would write the end of it behind the healed space."""
    model = Cutter([b" b"], 0)
    model.score = partial(_same, np.array([0, 1, 0, 0, 9, 2], dtype=np.float32))  # wants " b"
    healed = sfgen.generate(model, "a ", max_tokens=1)
    assert (healed.text, healed.healed, healed.token_ids) == ("b", " ", (4,))
    clean = sfgen.generate(model, "a ", max_tokens=1, banned=["a b"])
    assert clean.text != "b"
    assert clean.healed == " "
    assert clean.rollbacks[0].word == "a b"
    assert clean.rollbacks[0].data == b"b"


def test_a_token_across_the_seam_is_not_read_as_if_it_began_there() -> None:
    """Behind ``ba`` the token ``ab`` writes ``b``: that is no ``aab``."""
    model = Cutter([b"ab", b"a:"], 0)
    model.score = partial(_same, np.array([0, 0, 0, 0, 8, 9, 0], dtype=np.float32))
    banned = BannedWords(["aab", "a:"], match="substring")
    result = sfgen.generate(model, "ba", heal=True, banned=banned, max_tokens=1)
    assert (result.text, result.token_ids) == ("b", (4,))
    assert [event.word for event in result.rollbacks] == ["a:"]


# ---- limits, and where there is no way -----------------------------------------------------------------------------


def test_what_counts_to_the_limit() -> None:
    model = Cutter([b" a"], 0)
    for first in (2, 4):  # the space alone, or with the letter
        scores = np.array([5, 0, 9 if first == 2 else 0, 0, 9 if first == 4 else 0, -9], dtype=np.float32)
        model.score = partial(_same, scores)
        result = sfgen.generate(model, "a ", index="a{1,9}", max_tokens=3, fast_forward=False)
        assert len(result.text) == 3
        assert result.token_ids[0] == first
        free = sfgen.generate(model, "a ", max_tokens=3, banned=["b"])
        assert sum(token != 2 for token in free.token_ids) <= 3
    assert sfgen.generate(model, "a ", max_tokens=0).healed is None


def test_where_there_is_no_way_it_is_not_healed() -> None:
    assert sfgen.generate(Cutter([b" a"], 0), "a ", index="b", max_tokens=3).healed is None  # no token reaches across
    assert sfgen.generate(Cutter([], 0), "a ", max_tokens=3).healed is None
    assert sfgen.generate(Cutter([b" a"], 0, context=2), "a ", max_tokens=3).healed == " "
    longer = Cutter([b": ", b": a"], 0, context=2)  # the model may write ":" and " " where it had one token
    assert sfgen.generate(longer, ENDS_IN_SPACE, max_tokens=3).healed is None
    longer.context_length = 3
    assert sfgen.generate(longer, ENDS_IN_SPACE, max_tokens=3).healed == ": "


@given(pieces=vocabularies, prompt=prompts, seed=st.integers(0, 9), context=st.integers(1, 8))
def test_the_context_is_never_passed(pieces: list[bytes], prompt: str, seed: int, context: int) -> None:
    model = Cutter(pieces, seed, context)
    assume(len(model.encode(prompt)) <= context)
    result = sfgen.generate(model, prompt, heal=True, sampler=Sampler(1.0, seed), max_tokens=9)
    assert result.prompt_tokens + len(result.token_ids) <= context + 1  # the last token is not read
    assert all(len(read) <= context for session in model.sessions for read in session.contexts)


# ---- jobs ----------------------------------------------------------------------------------------------------------


def test_records_say_what_was_healed() -> None:
    job = Job(Cutter([b" a", b" b"], 3), GenerationConfig(sampler=Sampler(1.0, seed=3), max_tokens=4), samples=2)
    records = list(sfgen.job_records(job, ["a ", "a", "b "], batch_size=2))
    assert [record["healed"] for record in records] == [" ", " ", None, None, " ", " "]
    one_by_one = list(sfgen.job_records(job, ["a ", "a", "b "], batch_size=1))
    assert [record["token_ids"] for record in records] == [record["token_ids"] for record in one_by_one]
    for record in records:
        data = joined(Cutter([b" a", b" b"], 3), record["token_ids"])
        assert data == ((record["healed"] or "") + record["text"]).encode()


def test_a_chat_is_not_healed() -> None:
    with pytest.raises(UsageError, match="chat and heal"):
        Job("tiny", GenerationConfig(heal=True), chat=True)
    assert Job("tiny", GenerationConfig(heal=False), chat=True).chat


def test_masks_of_the_index_stay_as_they_are() -> None:
    model = Cutter([b" a", b" b", b"ab"], 0)
    healed, plain = (Index(Dfa.from_regex("[ab]{1,3}"), model.vocabulary) for _ in range(2))
    loop = prepare(model, "a ", index=healed)
    for _ in itertools.islice(loop.run(), 1):
        pass
    assert [healed.row(state).tolist() for state in range(3)] == [plain.row(state).tolist() for state in range(3)]


def test_an_exact_draw_takes_the_prompt_as_it_is() -> None:
    model = Cutter([b" a", b" b"], 3)
    drawn = sfgen.generate(model, "a ", index="[ab]", strategy="exact", sampler=Sampler(1.0, 1), max_tokens=3)
    assert drawn.healed is None
    with pytest.raises(UsageError, match="heal and the exact strategy"):
        GenerationConfig(strategy="exact", heal=True)
    with pytest.raises(UsageError, match="choices and heal"):
        Job("tiny", GenerationConfig(heal=True), choices=["a", "b"])
