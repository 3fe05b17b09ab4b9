"""What the strategies keep, what they ask of the model, and what they tell: the machinery behind a rollback."""

from __future__ import annotations

from importlib import import_module
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.scripted import ScoreOf, ScriptedModel, preferring, random_scores
from tests.support.models.toy_models import Toy
from tests.support.running.tried import tried

from sfgen import (
    BannedWords,
    Dfa,
    Event,
    Finished,
    Index,
    Result,
    RolledBack,
    Sampler,
    TokenChosen,
    Vocabulary,
    generate,
    stream,
)
from sfgen.decoding.loop import Loop
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.decoding.sampler import Draws
from sfgen.decoding.search_tree import Node
from sfgen.errors import UsageError

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
LETTERS = [bytes([byte]) for byte in b" abcdefghijklmnopqrstuvwxyz.,?'"]
PIECES = [*LETTERS, b" talk", b" ta", b"lk", b"king", b" about", b" tal"]
VOCABULARY = Vocabulary([*PIECES, None], end_token_ids=[len(PIECES)])
TALK = BannedWords(["talk"])


def wishing(*wishes: bytes | None) -> ScriptedModel:
    return ScriptedModel(VOCABULARY, preferring(VOCABULARY, wishes, prompt_length=1))


def result_of(events: list[Event]) -> Result:
    final = events[-1]
    assert isinstance(final, Finished)
    return final.result


# ---- what is asked of the model --------------------------------------------------------------------------------------

TOYS = st.builds(
    lambda words, seed, match: Toy([b" ", b"a", b"b", b"ab", b"ba"], random_scores(6, seed), words, 8, match=match),
    words=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    match=st.sampled_from(["word", "prefix", "substring"]),
)


@given(
    toy=TOYS,
    strategy=st.sampled_from(STRATEGIES),
    sampler=st.sampled_from([Sampler(), Sampler(1.0, 3), Sampler(2.0, 4, top_k=2)]),
    hold=st.booleans(),
)
def test_no_place_is_asked_about_twice(toy: Toy, strategy: StrategyName, sampler: Sampler, hold: bool) -> None:
    events = list(
        stream(toy.model, [0], banned=toy.banned, sampler=sampler, max_tokens=8, strategy=strategy, hold=hold)
    )
    questions = [tuple(context) for session in toy.model.sessions for context in session.contexts]
    assert len(set(questions)) == len(questions)
    assert result_of(events).forward_passes == len(questions)
    # What was tried in vain is all that was asked beyond the text.
    asked = {question[1:] for question in questions}
    text = result_of(events).token_ids
    assert asked >= {text[:place] for place in range(len(text))}


def test_an_explored_branch_is_entered_again_without_a_question() -> None:
    """With ``lk`` gone, `` ta`` is still the best, and what comes after it is chosen from the answer that is there."""
    model = wishing(b" ta", b"lk", b".")
    result = generate(model, "x", banned=BannedWords(["talk"], match="substring"), max_tokens=3)
    rollback = result.rollbacks[0]
    assert (rollback.position, rollback.place, rollback.word) == (0, 1, "talk")
    ta, instead, _ = result.token_ids
    assert PIECES[ta] == b" ta"
    session = model.sessions[0]
    assert [call[0] for call in session.calls[1:]] == [ta, instead]
    assert session.rewinds == []


def test_tokens_of_a_branch_are_read_with_the_next_question() -> None:
    """Two branches in turn: what the session has to read again for the first comes with one question."""
    vocabulary = Vocabulary([b"x", b"a", b"b", b"c", b"d", None], end_token_ids=[5])
    answers = {
        (): [-9, 3, 2.9, -9, -9, -9],
        (1,): [-9, -9, 3, -9, 0, -9],  # a: b is banned, d may follow
        (2,): [-9, 3, -9, -9, 2, -9],  # b: a is banned, d may follow
        (1, 4): [-9, -9, 3, 0, -9, -9],  # ad: b is banned
        (2, 4): [-9, 3, -9, 0, -9, -9],  # bd: a is banned
    }
    model = ScriptedModel(vocabulary, lambda tokens: np.array(answers.get(tokens[1:], [3, -9, -9, -9, -9, -9.0])))
    banned = BannedWords(["ab", "ba", "adb", "bda"], match="substring")
    result = generate(model, "x", banned=banned, max_tokens=4)
    session = model.sessions[0]
    assert len({tuple(context) for context in session.contexts}) == len(session.contexts)
    assert any(len(call) > 1 for call in session.calls[1:]), session.calls
    assert result.text == "bdcx"
    # Whatever was read and taken back, the session stands behind the text.
    assert session.tokens == [0, *result.token_ids[:-1]]


@tried("some")
@given(toy=TOYS, strategy=st.sampled_from(STRATEGIES), seed=st.integers(0, 99))
def test_random_numbers_are_never_used_twice(toy: Toy, strategy: StrategyName, seed: int) -> None:
    """Where a token is drawn again, the next number of its position decides."""
    numbers: list[tuple[int, float]] = []
    share = Draws.share

    def spy(draws: Draws, position: int, purpose: int = 0) -> float:
        numbers.append((position, share(draws, position, purpose)))
        return numbers[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draws, "share", spy)
        generate(toy.model, [0], banned=toy.banned, sampler=Sampler(1.0, seed), max_tokens=8, strategy=strategy)
    assert len({number for _, number in numbers}) == len(numbers)
    again = Draws(Sampler(1.0, seed))
    for position, number in sorted(numbers, key=lambda each: each[0]):
        assert share(again, position) == number


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tokens_that_were_taken_back_do_not_count(strategy: StrategyName) -> None:
    """A model that never ends fills the limit, whatever was taken back on the way."""
    rolled_back = 0
    for seed in range(30):
        toy = Toy([b" ", b"a", b"b", b"ab", b"ba"], reluctant(seed), ["ab", "aa"], 8)
        result = generate(toy.model, [0], banned=toy.banned, max_tokens=8, strategy=strategy)
        assert (len(result.token_ids), result.finish_reason) == (8, "limit")
        rolled_back += len(result.rollbacks)
    assert (rolled_back > 0) == (strategy != "mask")


def reluctant(seed: int) -> ScoreOf:
    """Random scores for five tokens, and hardly any for the end."""
    score = random_scores(6, seed)
    return lambda tokens: np.where(np.arange(6) < 5, score(tokens) * 0.2, -99)


# ---- what is kept ----------------------------------------------------------------------------------------------------


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[Loop]:
    """The loops that run, to look inside."""
    made: list[Loop] = []

    class Seen(Loop):
        def __post_init__(self) -> None:
            super().__post_init__()
            made.append(self)

    monkeypatch.setattr(import_module("sfgen.decoding.prepare"), "Loop", Seen)  # the name is also a function
    return made


def nodes_below(node: Node) -> list[Node]:
    nodes = [node]
    for each in nodes:
        nodes += each.children.values()
    return nodes


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_scores_are_freed_when_a_block_closes(loops: list[Loop], strategy: StrategyName, hold: bool) -> None:
    closed = kept = 0
    for seed in range(20):
        toy = Toy([b" ", b"a", b"b", b"ab", b"ba"], random_scores(6, seed), ["ab", "bab", "aaa"], 12)
        events = stream(
            toy.model, [0], banned=toy.banned, sampler=Sampler(2.0, seed), max_tokens=12, strategy=strategy, hold=hold
        )
        for event in events:
            loop = loops[-1]
            if isinstance(event, Finished) or not isinstance(event, TokenChosen) or loop.ban is None:
                continue
            block = nodes_below(loop.path.nodes[loop.ban.strategy.start])
            before = [
                node for root in loop.path.nodes[: loop.ban.strategy.start] for node in nodes_below(root)
            ]  # with the branches beside the path
            assert all(node.row is None and node.allowed is None for node in before if node not in block)
            if not hold:
                assert not any(node.children for node in before)
            closed += loop.ban.strategy.start > 0
            kept += sum(node.row is not None for node in block) > 1
    assert closed
    assert kept or strategy == "mask"


def test_without_a_ban_nothing_is_kept(loops: list[Loop]) -> None:
    toy = Toy([b" ", b"a", b"b"], random_scores(4, 1), ["ab"], 12)
    for event in stream(toy.model, [0], sampler=Sampler(2.0, 1), max_tokens=12):
        if isinstance(event, TokenChosen) and event.position:
            assert all(node.row is None and not node.children for node in loops[-1].path.nodes[: event.position])


# ---- what is told ----------------------------------------------------------------------------------------------------


def test_events_of_resample() -> None:
    events = list(stream(wishing(b"a", b" ta", b"lk", b"."), "x", banned=TALK, max_tokens=5))
    rollback = next(event for event in events if isinstance(event, RolledBack))
    ta, lk, dot = (PIECES.index(piece) for piece in (b" ta", b"lk", b"."))
    assert (rollback.position, rollback.token_ids, rollback.data, rollback.text) == (
        1,
        (ta, lk, dot),
        b" talk.",
        " talk.",
    )
    assert (rollback.word, rollback.place, rollback.forbidden) == ("talk", 3, dot)
    # All siblings at once: punctuation, white space, the pieces that begin with a space, and the end.
    bounding = [piece for piece in PIECES if not piece[:1].isalpha()]
    assert rollback.ruled_out == len(bounding) + 1
    scores = np.linspace(1, 0, len(VOCABULARY))
    scores[ta] = 9
    assert rollback.probability == pytest.approx(float(np.exp(9) / np.exp(scores).sum()), rel=1e-4)


def test_events_of_first_token() -> None:
    events = list(stream(wishing(b"a", b" ta", b"lk", b"."), "x", banned=TALK, max_tokens=5, strategy="first-token"))
    rollback = next(event for event in events if isinstance(event, RolledBack))
    assert (rollback.position, rollback.place, rollback.ruled_out) == (1, 1, 1)
    assert rollback.forbidden == PIECES.index(b" ta") == rollback.token_ids[0]


def test_mask_tells_of_nothing_that_was_not_written() -> None:
    events = list(stream(wishing(b"a", b" ta", b"lk", b"."), "x", banned=TALK, max_tokens=5, strategy="mask"))
    result = result_of(events)
    chosen = [event for event in events if isinstance(event, TokenChosen)]
    assert [event.token_id for event in chosen] == list(result.token_ids)
    assert [event.position for event in chosen] == list(range(len(chosen)))
    assert result.text.startswith("a talk")
    assert result.rollbacks == ()
    bounding = sum(not piece[:1].isalpha() for piece in PIECES) + 1
    assert [event.allowed for event in chosen[:4]] == [len(VOCABULARY)] * 3 + [len(VOCABULARY) - bounding]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_probabilities_are_those_of_the_draw(strategy: StrategyName) -> None:
    """Before anything is known they are the model's; where tokens are ruled out, those of what is left."""
    answers = np.log([0.1, 0.3, 0.4, 0.1, 0.1])
    toy = Toy([b"x", b"a", b"b", b"c"], lambda _: answers, ["aa", "ab", "ac", "ax"], 3, match="substring")
    seen: set[tuple[int, int, float | None]] = set()
    for seed in range(60):
        for event in stream(
            toy.model, [0], banned=toy.banned, sampler=Sampler(1.0, seed), max_tokens=2, strategy=strategy
        ):
            if isinstance(event, TokenChosen) and event.probability is not None:
                seen.add((event.position, event.token_id, round(event.probability, 9)))
    shares = np.exp(answers)
    for token in range(4):
        assert (0, token, round(float(shares[token]), 9)) in seen
    # After "a" the end is all that may follow, so of its 0.3 a tenth is left.
    after_a = {"mask": (0, 1, 0.3), "first-token": (0, 2, 0.4 / 0.7), "resample": (0, 2, 0.4 / (0.7 + 0.03))}[strategy]
    assert (*after_a[:2], round(after_a[2], 9)) in seen


def test_a_rejected_end_is_taken_back_too() -> None:
    for strategy in STRATEGIES:
        result = generate(wishing(b"a", b" talk", None), "x", banned=TALK, max_tokens=9, strategy=strategy)
        assert result.text not in ("a talk",)
        assert result.text.startswith("a")
    events = list(stream(wishing(b"a", b" talk", None), "x", banned=TALK, max_tokens=9))
    rollback = next(event for event in events if isinstance(event, RolledBack))
    assert (rollback.position, rollback.place, rollback.forbidden, rollback.word) == (1, 2, None, "talk")


# ---- first-token -----------------------------------------------------------------------------------------------------


def test_first_token_forbids_the_token_that_holds_the_first_byte() -> None:
    for cut in ([b" ta", b"l", b"k", b"."], [b" ", b"t", b"a", b"lk", b"."], [b" tal", b"k", b","]):
        events = list(stream(wishing(b"a", *cut), "x", banned=TALK, max_tokens=9, strategy="first-token"))
        rollback = next(event for event in events if isinstance(event, RolledBack))
        assert rollback.position == rollback.place == (2 if cut[0] == b" " else 1)
        assert rollback.token_ids[0] == PIECES.index(cut[1] if cut[0] == b" " else cut[0])


def test_what_first_token_forbids_holds_for_its_prefix_only() -> None:
    """``b`` is forbidden after ``a``; when ``a`` itself falls, ``b`` may stand in its place and behind it."""
    vocabulary = Vocabulary([b"a", b"b", b"c", None], end_token_ids=[3])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"a", b"b", b"c"], prompt_length=1))
    banned = BannedWords(["ab", "ac", "aa"], match="substring")
    events = list(stream(model, "c", banned=banned, max_tokens=3, strategy="first-token"))
    forbidden = [(event.position, event.forbidden) for event in events if isinstance(event, RolledBack)]
    assert forbidden == [(0, 0)]
    assert result_of(events).text == "bbc"


def test_a_rule_that_leaves_nothing_is_dropped_for_its_block_only() -> None:
    """It forbids the first ``a``, and ``b`` is banned: without it ``aa`` remains. But later ``c`` falls by the rule."""
    vocabulary = Vocabulary([b"a", b"b", b"c", b"d", b"e", b"x", None], end_token_ids=[6])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"a", b"b", b"x", b"c", b"d"], prompt_length=1))
    index = Index(Dfa.from_regex("[ab]{2}x[ce][de]"), vocabulary)
    banned = BannedWords(["ab", "b", "cd"], match="substring")
    result = generate(model, "x", index=index, banned=banned, strategy="first-token")
    assert result.text == "aaxed"
    assert (3, "cd") in [(event.position, event.word) for event in result.rollbacks]


@pytest.mark.parametrize("strategy", ["resample", "mask"])
def test_a_token_that_ends_the_text_before_its_match_is_no_sibling(strategy: StrategyName) -> None:
    """`` b.`` completes ``a b``; ``;b.`` would too, but there the stop string ends the text after ``a``."""
    vocabulary = Vocabulary([b"x ", b"a", b" b.", b";b.", None], end_token_ids=[4])
    answers = {(): [-9.0, 9, -9, -9, -9], (1,): [-9, -9, 5, 4, -9]}
    model = ScriptedModel(vocabulary, lambda tokens: np.array(answers.get(tokens[1:], [0.0] * 5)))
    result = generate(model, [0], banned=BannedWords(["a b"]), stop=[";"], strategy=strategy)
    assert (result.text, result.finish_reason) == ("a", "stop")


# ---- what means nothing ----------------------------------------------------------------------------------------------


def test_a_strategy_that_is_none() -> None:
    with pytest.raises(UsageError, match="strategy is 'magic'"):
        generate(wishing(b"a"), "x", banned=TALK, strategy="magic")  # type: ignore[arg-type]
    for strategy in STRATEGIES:
        with pytest.raises(UsageError, match="max_block must be at least 1, not 0"):
            generate(wishing(b"a"), "x", banned=TALK, strategy=strategy, max_block=0)
