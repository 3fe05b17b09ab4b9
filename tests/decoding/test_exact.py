"""Exact draws: what comes out is what the definition says, and depends on the model and the seed alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.oracles.exact_texts import Small, strings
from tests.support.models.scripted import ScoreOf, ScriptedModel, random_scores
from tests.support.models.toy_models import Leaf, Toy, fits, total_variation
from tests.support.running.tried import rounds

from sfgen import (
    GenerationConfig,
    Grammar,
    Job,
    JsonSchema,
    Sampler,
    TextReleased,
    TokenChosen,
    Vocabulary,
    generate,
    stream,
)
from sfgen.decoding import Finished, PrefixScored, batch_of, drive_batch, prepare
from sfgen.decoding.batch import drive
from sfgen.decoding.exact import Children, ExactLoop, ScoreStore, gumbel_noise, with_maximum
from sfgen.decoding.loop import Loop
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall, SfgenError, UsageError
from sfgen.jobs.loaded_job import load
from sfgen.reference import FsmIndex, NaiveIndex

DRAWS = 1500
FEWER = rounds(2500)  # of each of many cases


def scores(size: int, seed: int, spread: float = 1.0) -> ScoreOf:
    """Random scores; with a spread of 1 all tokens come up, with 6 hardly more than one does."""
    score = random_scores(size, seed)
    return lambda tokens: score(tokens) / 3 * spread


def matching(pattern: str, alphabet: str, longest: int) -> frozenset[bytes]:
    """All texts of a pattern over some characters, up to a length."""
    return frozenset(text.encode() for text in strings(alphabet, longest) if re.fullmatch(pattern, text))


def by_pattern(
    pattern: str, tokens: list[bytes], max_tokens: int, seed: int, spread: float = 1.0, **more: Any
) -> Small:
    """A small model with a pattern over the characters of its tokens."""
    alphabet = "".join(sorted({chr(byte) for token in tokens for byte in token}))
    longest = max(map(len, tokens)) * max_tokens + 1
    texts = matching(pattern, alphabet, longest)
    return Small(tokens, scores(len(tokens) + 1, seed, spread), max_tokens, pattern, texts, **more)


BRACKETS = Grammar.from_gbnf('root ::= "[" root "]" | "a" | "" ')
NESTED = frozenset(b"[" * depth + middle + b"]" * depth for depth in range(9) for middle in (b"", b"a"))
PAIR = JsonSchema({"type": "array", "items": {"enum": [1, 12]}, "maxItems": 2}, spacing="compact")
PAIRS = frozenset({b"[]", b"[1]", b"[12]", b"[1,1]", b"[1,12]", b"[12,1]", b"[12,12]"})

CASES: dict[str, Small] = {
    "words": Small([b" ", b"a", b"b"], scores(4, 7), 4, words=["ab", "b a"]),
    "peaked words": Small([b" ", b"a", b"b"], scores(4, 58, 6.0), 5, words=["bab", "a"]),
    "substrings": Small([b"a", b"b", b"ab"], scores(4, 3), 4, words=["aab", "bba"], match="substring"),
    "half characters": Small([b"a", b"\xc3", b"\xa9", b" "], scores(5, 2), 4, words=["a"]),
    "a stop string": Small([b"a", b"b", b"ba."], scores(4, 5), 4, words=["ab"], match="substring", stop=["b.", "aa"]),
    "a pattern": by_pattern("(ab|ba)*a?", [b"a", b"b", b"ab", b"bab"], 4, 1),
    "a pattern that must fit": by_pattern("a{5}|b+", [b"a", b"b", b"aa", b"aaa"], 3, 2, 2.0),
    "a pattern without some words": by_pattern("[ab ]{1,5}", [b"a", b"b", b" ", b" a"], 4, 9, 3.0, words=["ab", "a"]),
    "a schema": Small([b"[", b"]", b",", b"1", b"2", b"12", b"1,"], scores(8, 4), 5, PAIR, PAIRS),
    "a schema without a number": Small(
        [b"[", b"]", b",", b"1", b"2", b"12", b"1,"], scores(8, 6), 6, PAIR, PAIRS, words=["12"]
    ),
    "a grammar": Small([b"[", b"]", b"a", b"[[", b"]]"], scores(6, 8), 5, BRACKETS, NESTED),
    "a grammar without a word": Small([b"[", b"]", b"a", b"[["], scores(5, 11), 6, BRACKETS, NESTED, words=["a"]),
    "a nucleus": Small([b" ", b"a", b"b"], scores(4, 1, 2.0), 4, words=["ab"], top_p=0.8, temperature=0.7),
    "the likeliest two": by_pattern("[ab]{2,3}", [b"a", b"b", b"c"], 4, 3, top_k=2),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_frequencies_are_those_of_the_model_on_condition_that_the_text_is_allowed(case: Small) -> None:
    wanted = case.allowed()
    counts = Counter(case.leaf(case.draw(seed)) for seed in range(FEWER))
    assert set(counts) <= set(wanted)
    assert fits(counts, wanted) > 0.001
    # Of n draws the distance is below this nearly always (Weissman and others 2003, with Pinsker's inequality).
    noise = 0.5 * math.sqrt(len(wanted) / FEWER) + math.sqrt(math.log(1000) / (2 * FEWER))
    assert total_variation({leaf: count / FEWER for leaf, count in counts.items()}, wanted) < noise


@pytest.mark.parametrize("seed", [58, 23, 97][: rounds(3)])
def test_the_trap_that_the_other_strategies_walk_into(seed: int) -> None:
    """The model is drawn to where hardly any clean text follows."""
    toy = Toy([b" ", b"a", b"b"], scores(4, seed, 6.0), ["bab", "a"], 5)
    exact = toy.clean_texts()
    assert max(total_variation(exact, toy.by_blocks()), total_variation(exact, toy.by_masking())) > 0.45
    counts: Counter[Leaf] = Counter()
    for number in range(DRAWS):
        sampler = Sampler(1.0, number)
        result = generate(toy.model, [0], banned=toy.banned, sampler=sampler, max_tokens=5, strategy="exact")
        counts[(*result.token_ids, toy.end) if result.finish_reason == "end_token" else result.token_ids] += 1
    assert fits(counts, exact) > 0.001
    assert total_variation({leaf: count / DRAWS for leaf, count in counts.items()}, exact) < 0.05


# ---- one draw --------------------------------------------------------------------------------------------------------

PATTERNS = ("a*", "[ab]{2,4}", "(ab)+|b", "(a|ab)(b|ba)?", "a{4}|bb|aba", "(?:a|bb)*")
LETTERS = (b"a", b"b", b"ab", b"aa", b"ba", b" ")


@st.composite
def smalls(draw: st.DrawFn) -> Small:
    """Any small model; with a pattern or without."""
    tokens = [b"a", *draw(st.lists(st.sampled_from(LETTERS[1:]), min_size=1, max_size=3, unique=True))]
    limit, seed = draw(st.sampled_from([3, 2, 4, 3, 1, 0])), draw(st.integers(0, 999))
    spread = draw(st.sampled_from([0.5, 1.0, 6.0]))
    more: dict[str, Any] = {
        "words": draw(st.sampled_from([["ab"], ["a"], ["b", "aba"], ["bb a"], ["aa", "ab"], []])),
        "match": draw(st.sampled_from(["word", "substring", "prefix"])),
        "top_k": draw(st.sampled_from([None, None, 2])),
        "top_p": draw(st.sampled_from([None, None, 0.7])),
        "temperature": draw(st.sampled_from([1.0, 0.6])),
    }
    if draw(st.booleans()):
        return by_pattern(draw(st.sampled_from(PATTERNS)), tokens, limit, seed, spread, **more)
    more["stop"] = draw(st.lists(st.sampled_from(["bb", "aa", "a b"]), max_size=1))
    return Small(tokens, scores(len(tokens) + 1, seed, spread), limit, **more)


def drawn(case: Small, seed: int, **options: Any) -> Leaf | None:
    """What sfgen draws; ``None`` if it says that there is nothing."""
    try:
        return case.leaf(case.draw(seed, **options))
    except (DeadEnd, LimitTooSmall, BannedWordsError):
        return None


@given(smalls(), st.integers(0, 99))
def test_a_draw_is_the_allowed_text_with_the_largest_perturbed_probability(case: Small, seed: int) -> None:
    assert drawn(case, seed) == case.drawn(seed)


@given(smalls(), st.integers(0, 99), st.sampled_from([0, 1, 40, 200, 10**9]))
def test_no_draw_depends_on_what_is_kept(case: Small, seed: int, max_memory: int) -> None:
    expected = drawn(case, seed)
    assert drawn(case, seed, max_memory=max_memory) == expected
    with patch("sfgen.decoding.exact.KEPT", 1), patch("sfgen.decoding.exact._MORE", 2):
        assert drawn(case, seed, max_memory=max_memory) == expected


@given(smalls(), st.integers(0, 99))
def test_what_is_kept_is_within_its_bound_and_saves_passes(case: Small, seed: int) -> None:
    """Texts that share scores ask less, and are the same."""

    def run(store: ScoreStore, number: int) -> tuple[Leaf | None, int, int]:
        sampler = Sampler(case.temperature, number, top_k=case.top_k, top_p=case.top_p)
        try:
            loop = prepare(
                case.model, [0], index=case.index, banned=case.banned, stop=case.stop, sampler=sampler,
                max_tokens=case.max_tokens, strategy="exact",
            )  # fmt: skip
            assert isinstance(loop, ExactLoop)
            loop.scores = store
            last = list(drive(loop, case.model))[-1]
        except (DeadEnd, LimitTooSmall, BannedWordsError):
            return None, 0, 0
        assert isinstance(last, Finished)
        assert store.size <= store.max_memory
        return case.leaf(last.result), last.result.forward_passes, loop.passes.count

    shared, small = ScoreStore(10**6), ScoreStore(40)
    for number in range(seed, seed + 4):
        alone = run(ScoreStore(10**6), number)
        assert run(shared, number)[:2] == alone[:2]
        assert run(small, number)[:2] == alone[:2]
        assert alone[1] == alone[2]
    assert run(shared, seed)[2] == 0


@given(smalls(), st.integers(0, 99))
def test_a_ban_changes_no_draw_that_is_clean(case: Small, seed: int) -> None:
    """The noise belongs to the text, whatever is allowed: so a ban is felt only by what it bans."""
    free = drawn(replace(case, words=[]), seed)
    if free is not None and case.is_allowed(free):
        assert drawn(case, seed) == free


@given(smalls(), st.integers(0, 99), st.integers(1, 4))
def test_draws_in_a_batch_are_those_alone(case: Small, seed: int, rows: int) -> None:
    expected = [drawn(case, number) for number in range(seed, seed + 5)]

    def loops() -> Iterator[Loop]:
        for number in range(seed, seed + 5):
            sampler = Sampler(case.temperature, number, top_k=case.top_k, top_p=case.top_p)
            yield prepare(
                case.model, [0], index=case.index, banned=case.banned, stop=case.stop, sampler=sampler,
                max_tokens=case.max_tokens, strategy="exact",
            )  # fmt: skip

    found: list[Leaf | None] = [None] * 5
    try:
        for number, event in drive_batch(loops(), batch_of(case.model, rows), rows):
            if isinstance(event, Finished):
                found[number] = case.leaf(event.result)
            elif isinstance(event, SfgenError):
                assert isinstance(event, DeadEnd)
    except (DeadEnd, LimitTooSmall, BannedWordsError):
        assert found == [None] * 5
    assert found == expected


@given(smalls())
def test_without_noise_it_is_the_likeliest_allowed_text(case: Small) -> None:
    case = replace(case, temperature=1.0, top_k=None, top_p=None)
    if case.index is None:
        with pytest.raises(UsageError, match="needs a temperature above 0 for free text"):
            case.draw(None)
        return
    allowed = case.allowed()
    try:
        result = case.draw(None)
    except (DeadEnd, LimitTooSmall, BannedWordsError):
        assert not allowed
    else:
        assert allowed[case.leaf(result)] == pytest.approx(max(allowed.values()), rel=1e-6)


def test_greedy_choice_is_not_the_likeliest_text() -> None:
    """Of two end tokens the sum counts."""
    tokens = [b"a", b"b", None, None]
    answers = {(): [0.55, 0.45, 0, 0], (0,): [0.4, 0.4, 0.1, 0.1], (1,): [0.05, 0.05, 0.45, 0.45]}
    model = ScriptedModel(
        Vocabulary(tokens, end_token_ids=[2, 3]),
        lambda read: np.log(np.array(answers.get(read[1:], [0.25] * 4)) + 1e-9),
    )
    assert generate(model, [0], index="[ab]{1,2}", max_tokens=2, strategy="mask").text == "aa"
    assert generate(model, [0], index="[ab]{1,2}", max_tokens=2, strategy="exact").text == "b"


# ---- what is told ----------------------------------------------------------------------------------------------------


def test_nothing_is_released_before_the_end_and_each_pass_is_told() -> None:
    case = CASES["a pattern without some words"]
    for seed in range(20):
        sampler = Sampler(1.0, seed)
        events = list(
            stream(
                case.model, [0], index=case.index, banned=case.banned, sampler=sampler, max_tokens=case.max_tokens,
                strategy="exact",
            )
        )  # fmt: skip
        kinds = [type(event) for event in events]
        scored = [event for event in events if isinstance(event, PrefixScored)]
        chosen = [event for event in events if isinstance(event, TokenChosen)]
        last = events[-1]
        assert isinstance(last, Finished)
        text = [TextReleased] if last.result.text else []
        assert kinds == [PrefixScored] * len(scored) + [TokenChosen] * len(chosen) + text + [Finished]
        assert [event.forward_passes for event in scored] == list(range(1, len(scored) + 1))
        assert last.result.forward_passes == len(scored)
        assert tuple(event.token_id for event in chosen) == last.result.token_ids
        assert [event.position for event in chosen] == list(range(len(chosen)))
        assert not any(event.forced for event in chosen)
        for event in scored:
            assert event.known + event.unknown <= 1 + 1e-9
        assert [event.known for event in scored] == sorted(event.known for event in scored)


@given(smalls(), st.integers(0, 99))
def test_what_is_known_and_unknown_is_the_mass_of_texts(case: Small, seed: int) -> None:
    leaves = dict(case.leaves())
    allowed = sum(share for leaf, share in leaves.items() if case.is_allowed(leaf))
    sampler = Sampler(case.temperature, seed, top_k=case.top_k, top_p=case.top_p)
    try:
        for event in stream(
            case.model, [0], index=case.index, banned=case.banned, stop=case.stop, sampler=sampler,
            max_tokens=case.max_tokens, strategy="exact",
        ):  # fmt: skip
            if isinstance(event, PrefixScored):
                share = sum(share for leaf, share in leaves.items() if case.data(leaf).startswith(event.data))
                assert event.probability <= share + 1e-9
                assert event.known <= allowed + 1e-9
                assert event.known + event.unknown >= allowed - 1e-9
    except (DeadEnd, LimitTooSmall, BannedWordsError):
        assert not any(case.is_allowed(leaf) for leaf, share in leaves.items() if share)


def test_too_many_passes_end_in_an_error_that_says_what_is_unknown() -> None:
    case = CASES["peaked words"]
    passes = [(case.draw(seed).forward_passes, seed) for seed in range(200)]
    most, seed = max(passes)
    assert most > 2
    assert case.draw(seed, max_passes=most) == case.draw(seed)
    with pytest.raises(GenerationError, match=f"gave up after {most - 1} forward passes: .* is unknown") as caught:
        case.draw(seed, max_passes=most - 1)
    unknown = re.search(r"passes: ([0-9.e-]+) of", caught.value.message)
    assert unknown is not None
    assert 0 < float(unknown[1]) < 1
    assert "max_passes" in caught.value.hint


def test_whether_a_text_fails_does_not_depend_on_its_neighbours() -> None:
    """Scores that another text had asked for count, too."""
    case = CASES["peaked words"]
    config = GenerationConfig(banned=case.banned, max_tokens=5, strategy="exact", max_passes=3)

    def told(seeds: list[int]) -> dict[int, str]:
        loaded = load(Job(case.model, config))
        answers = {}
        for seed in seeds:
            loop = loaded.loop([0], Sampler(1.0, seed))  # type: ignore[arg-type]
            try:
                answers[seed] = str(list(loaded.events(loop))[-1])
            except GenerationError as error:
                answers[seed] = error.message
        return answers

    seeds = list(range(40))
    together, backwards = told(seeds), told(seeds[::-1])
    assert together == backwards
    assert any("gave up" in answer for answer in together.values())
    assert any("Finished" in answer for answer in together.values())


def test_nobody_observes_scores() -> None:
    loop = prepare(CASES["words"].model, [0], sampler=Sampler(1.0, 1), max_tokens=3, strategy="exact")
    with pytest.raises(UsageError, match="cannot be observed where a text is drawn as a whole"):
        loop.observe_scores(lambda index, scores: None)


def test_the_nucleus_may_leave_no_text() -> None:
    case = by_pattern("bbb", [b"a", b"b"], 3, 0)
    case.score = case.model.score = lambda tokens: np.array([9.0, 0.0, 0.0])
    assert case.draw(1).text == "bbb"
    case.top_k = 1
    with pytest.raises(DeadEnd, match="no allowed text within the limit of tokens has any probability"):
        case.draw(1)


@pytest.mark.parametrize("engine", [NaiveIndex, FsmIndex])
def test_engines_for_comparison_draw_the_same_texts(engine: Any) -> None:
    case = CASES["a pattern"]
    other = replace(case, index=engine(case.index, case.vocabulary))
    assert [other.draw(seed).text for seed in range(30)] == [case.draw(seed).text for seed in range(30)]


# ---- the parts -------------------------------------------------------------------------------------------------------


def test_noise_is_standard_gumbel_and_belongs_to_the_prefix() -> None:
    noise = np.concatenate([gumbel_noise(seed, [1, 2], 500) for seed in range(100)])
    assert noise.mean() == pytest.approx(0.5772, abs=0.03)
    assert noise.std() == pytest.approx(math.pi / math.sqrt(6), abs=0.03)
    assert np.unique(noise).size == noise.size
    others = [gumbel_noise(1, prefix, 3).tolist() for prefix in ((), (0,), (0, 0), (1,), (256,))]
    others += [gumbel_noise(seed, (0,), 3).tolist() for seed in (2, 12, 2**70)]
    assert len({tuple(noise) for noise in others}) == len(others)


@given(
    st.lists(st.floats(-3000, 50) | st.just(-math.inf), min_size=1, max_size=8).filter(lambda all_: max(all_) > -9999),
    st.floats(-2000, 100),
)
def test_conditioning_keeps_the_order_and_sets_the_maximum(perturbed: list[float], maximum: float) -> None:
    found = with_maximum(np.array(perturbed), max(perturbed), maximum)
    assert found.max() == maximum
    assert found[int(np.argmax(perturbed))] == maximum
    assert not np.isnan(found).any()
    in_order = np.maximum(found[np.argsort(perturbed, kind="stable")], -1e9)
    assert (np.diff(in_order) >= -1e-9).all()


def test_the_children_of_a_prefix_are_as_if_they_were_drawn_first() -> None:
    """Drawn from the root down, where the maximum of all is given, each text has Gumbel noise of its own."""
    shares = np.array([[0.5, 0.1], [0.15, 0.25]])
    roots = np.random.default_rng(0).gumbel(size=10_000)

    def below(shares: NDArray[np.float64], seed: int, prefix: tuple[int, ...], value: float) -> NDArray[np.float64]:
        perturbed = np.log(shares) + gumbel_noise(seed, prefix, shares.size)
        return with_maximum(perturbed, float(perturbed.max()), value)

    top_down = []
    for seed, root in enumerate(roots.tolist()):
        children = below(shares.sum(axis=1), seed, (), root)
        top_down.append([below(shares[token], seed, (token,), float(children[token])) for token in range(2)])
    for quantile in (0.1, 0.5, 0.9):
        expected = np.log(shares) - np.log(-np.log(quantile))
        assert np.quantile(np.array(top_down), quantile, axis=0) == pytest.approx(expected, abs=0.12)
    together = np.corrcoef(np.array(top_down).reshape(-1, 4), rowvar=False)
    assert together == pytest.approx(np.eye(4), abs=0.05)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 64))
def test_a_store_keeps_the_last_used_within_its_bound(keys: list[int], max_memory: int) -> None:
    store, used = ScoreStore(max_memory), list[int]()
    for key in keys:
        found = store.find((key,))
        assert (found is not None) == (key in used)
        if found is None:
            store.keep((key,), np.full(4, key, dtype=np.float32))
        else:
            assert found.tolist() == [key] * 4
            used.remove(key)
        used = [*used, key][-(max_memory // 16) :] if max_memory >= 16 else []
        assert store.size == 16 * len(used)


@given(st.lists(st.integers(-5, 0), min_size=1, max_size=12), st.integers(1, 12))
def test_the_best_children_come_first(values: list[int], most: int) -> None:
    tokens = np.arange(len(values), dtype=np.int32)
    best = Children(tokens, np.array(values, dtype=float), np.zeros(len(values))).best(most)
    order = sorted(range(len(values)), key=lambda token: (-values[token], token))
    assert best.tokens.tolist() == order[: best.tokens.size]
    assert best.tokens.size >= min(most, len(values))
    assert best.is_all == (best.tokens.size == len(values))
