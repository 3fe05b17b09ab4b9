"""The engines naive, fsm and fast on random patterns: the same tokens at every step, and the same text for a seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.models.scripted import ScoreOf, ScriptedModel, random_scores
from tests.support.patterns.random_patterns import PlainPattern, RandomPattern, compiled, every_byte
from tests.support.running.tried import some_of

from sfgen import Dfa, Index, Result, Sampler, Vocabulary, generate
from sfgen.decoding import Guide, GuideSource, Model
from sfgen.decoding.sampler import Draws
from sfgen.errors import GenerationError, PatternError, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.reference import FsmIndex, NaiveIndex
from sfgen.regex import Atomic, Look, parse, settle
from sfgen.regex.ast import contains

LONG_FOR_INTEREGULAR = {126}  # it takes minutes
SEEDS = some_of(range(250), 150)
"""Most of them draw a pattern."""
FEWER = SEEDS[: len(SEEDS) * 3 // 5]


@pytest.fixture(autouse=True)
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.reference.interegular_machine._MOST_SYMBOLS", 3_000)  # more takes interegular a second


def plain_patterns(seeds: Iterable[int]) -> Iterator[tuple[int, str, Dfa, FsmIndex | None, Vocabulary]]:
    """Seeds, patterns without lookarounds, and vocabularies; the index of fsm where interegular reads the pattern."""
    for seed in seeds:
        found = plain_pattern(seed)
        if found is not None:
            yield seed, *found


@cache
def plain_pattern(seed: int) -> tuple[str, Dfa, FsmIndex | None, Vocabulary] | None:
    """What one seed draws, once for all tests; ``None``: no pattern, or one that takes long."""
    random = Random(seed)
    pattern = PlainPattern(random).text
    try:
        compiled(pattern)
        dfa = Dfa.from_regex(pattern)
    except (re.error, PatternError):
        return None
    if len(pattern) > 70 or seed in LONG_FOR_INTEREGULAR:
        return None
    vocabulary = every_byte(dfa, random)
    try:
        return pattern, dfa, FsmIndex(pattern, vocabulary), vocabulary
    except PatternError as error:
        if not re.search("interegular|characters in sets", error.reason):
            raise
        return pattern, dfa, None, vocabulary


def assert_same_place(guides: list[Guide], where: object) -> list[int]:
    """All guides allow the same tokens: these."""
    first, *others = [guide.allowed_tokens() for guide in guides]
    assert first.dtype == np.int32
    for guide, allowed in zip(guides[1:], others, strict=True):
        assert allowed.dtype == np.int32
        assert allowed.tolist() == first.tolist(), (where, type(guide.index))  # type: ignore[attr-defined]
        assert guide.is_accepting == guides[0].is_accepting, where
    allowed_ids: list[int] = first.tolist()
    return allowed_ids


def test_masks_agree_at_every_step() -> None:
    kept: Counter[bool] = Counter()
    places = within = 0
    for seed, pattern, dfa, fsm, vocabulary in plain_patterns(SEEDS):
        random = Random(seed)
        naive = NaiveIndex(pattern, vocabulary)
        kept[fsm is not None] += 1
        for _ in range(2):
            guides: list[Guide] = [Index(dfa, vocabulary).guide(), naive.guide()]
            if fsm is not None:
                guides.append(fsm.guide())
            taken: list[bytes] = []
            while len(taken) < 7:
                allowed = assert_same_place(guides, (pattern, taken))
                places += 1
                token = random.choice(allowed)
                data = vocabulary.tokens[token] or b""
                if random.random() < 0.7:  # else mostly single bytes would be drawn
                    token = max(random.choices(allowed, k=8), key=lambda token: len(vocabulary.tokens[token] or b""))
                for guide in guides:
                    guide.advance(token)
                if token in vocabulary.end_token_ids:
                    assert all(guide.is_finished for guide in guides)
                    break
                data = vocabulary.tokens[token] or b""
                taken.append(data)
                within += not is_text(b"".join(taken))
                assert all(guide.is_finished == guides[0].is_finished for guide in guides[1:]), (pattern, taken)
                if random.random() < 0.1:
                    back = random.randint(1, len(taken))
                    del taken[-back:]
                    for guide in guides:
                        guide.rollback(back)
                if guides[0].is_finished:
                    break
    print(f"{places} places, {within} of them within a character; interegular reads {kept}")
    assert places > 6 * len(SEEDS)
    assert within > 0.6 * len(SEEDS)
    assert kept[True] > 0.8 * kept.total()


def is_text(data: bytes) -> bool:
    try:
        return bool(data.decode()) or not data
    except UnicodeDecodeError:
        return False


def ending_soon(vocabulary: Vocabulary, seed: int) -> ScoreOf:
    """Random scores under which the end gets likelier from token to token."""
    score = random_scores(len(vocabulary), seed)

    def ending(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = score(tokens)
        scores[list(vocabulary.end_token_ids)] += len(tokens)
        return scores

    return ending


def test_the_same_seed_writes_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = 0
    share = Draws.share

    def counted(self: Draws, position: int, purpose: int = 0) -> float:
        nonlocal drawn
        drawn += 1
        return share(self, position, purpose)

    monkeypatch.setattr(Draws, "share", counted)
    compared = draws = kept = of = 0
    for seed, pattern, dfa, fsm, vocabulary in plain_patterns(FEWER):
        index = Index(dfa, vocabulary)
        of += 1
        kept += fsm is not None
        engines: list[GuideSource] = [index, NaiveIndex(pattern, vocabulary), *([fsm] if fsm is not None else [])]
        scripted, uniform = ScriptedModel(vocabulary, ending_soon(vocabulary, seed)), UniformModel(vocabulary)
        tries: list[tuple[Model, Sampler]] = [
            (scripted, Sampler(1.0, seed)),
            (scripted, Sampler()),
            (uniform, Sampler(0.7, seed)),
        ]
        for model, sampler in tries:
            results: list[tuple[Result, int]] = []
            for engine in engines:
                drawn = 0
                try:
                    result = generate(model, [0], index=engine, sampler=sampler, max_tokens=30, fast_forward=False)
                except GenerationError as error:
                    if "limit of 30 tokens" not in error.message:
                        raise
                    continue
                assert re.fullmatch(pattern, result.text, re.ASCII), pattern
                results.append((result, drawn))
            if len(results[0][0].token_ids) + index.longest_way > 30:
                continue  # near the limit, the engine that looks ahead chooses among fewer
            assert len(results) == len(engines)
            assert all(each == results[0] for each in results[1:]), (pattern, results)
            compared += 1
            draws += results[0][1]
    print(f"{compared} texts compared, {draws} draws; interegular reads {kept} of {of}")
    assert compared > 5 / 3 * len(FEWER)
    assert draws > 2 * len(FEWER)
    assert kept > 0.8 * of


def test_forced_text_is_the_same() -> None:
    """What must follow is written without the model, by every engine alike, so that each asks it equally often."""
    compared = forced = 0
    for seed, pattern, dfa, fsm, vocabulary in plain_patterns(FEWER):
        index, model = Index(dfa, vocabulary), ScriptedModel(vocabulary, ending_soon(vocabulary, seed))
        engines: list[GuideSource] = [index, NaiveIndex(pattern, vocabulary), *([fsm] if fsm is not None else [])]
        results: list[Result] = []
        for engine in engines:
            try:
                results.append(generate(model, [0], index=engine, sampler=Sampler(1.0, seed), max_tokens=30))
            except GenerationError as error:
                if "limit of 30 tokens" not in error.message:
                    raise
        if len(results[0].token_ids) + index.longest_way > 30:
            continue  # near the limit, the engine that looks ahead chooses among fewer
        assert len(results) == len(engines)
        assert all(each == results[0] for each in results[1:]), (pattern, results)
        compared += 1
        forced += results[0].forced_tokens
    print(f"{compared} texts compared, {forced} forced tokens")
    assert compared > 0.6 * len(FEWER)
    assert forced > 0.6 * len(FEWER)


def test_positions_between_tokens_agree() -> None:
    """Every byte is tried: what may follow, what must, and where nothing can."""
    positions = within = must = 0
    for seed, pattern, dfa, fsm, vocabulary in plain_patterns(FEWER):
        random = Random(seed)
        naive = NaiveIndex(pattern, vocabulary)
        guides: list[Guide] = [Index(dfa, vocabulary).guide(), naive.guide(), *([fsm.guide()] if fsm else [])]
        text = b""
        while len(text) < 8:
            following = {tuple(byte for byte in range(256) if reads(guide, bytes([byte]))) for guide in guides}
            assert len(following) == 1, (pattern, text)
            assert len({(guide.is_accepting, guide.is_finished) for guide in guides}) == 1, (pattern, text)
            (forced,) = {guide.forced_bytes(9) for guide in guides}
            (may_follow,) = following
            assert bool(forced) is (len(may_follow) == 1 and not guides[0].is_accepting)
            positions, within, must = positions + 1, within + (bool(text) and not is_text(text)), must + bool(forced)
            if not may_follow:
                break
            byte = bytes([random.choice(may_follow)])
            text += byte
            for guide in guides:
                guide.advance_bytes(byte)
    print(f"{positions} positions, {within} within a character, {must} where a byte must follow")
    assert positions > 10 / 3 * len(FEWER)
    assert within > len(FEWER) / 3
    assert must > 5 / 6 * len(FEWER)


def reads(guide: Guide, data: bytes) -> bool:
    try:
        guide.advance_bytes(data)
    except UsageError:
        return False
    guide.rollback(1)
    return True


def test_what_must_follow_comes_to_an_end_where_nothing_can() -> None:
    """``regex``'s partial match takes any number of ``a`` for the beginning of a match."""
    guide = NaiveIndex("a*+ab", Vocabulary([b"a", b"b"])).guide()
    guide.advance(0)
    assert set(guide.forced_bytes(20)) <= set(b"a")
    assert len(guide.forced_bytes()) <= 4096


def test_patterns_with_lookarounds_under_naive() -> None:
    """What ``regex``'s partial match takes too much may be a dead end; it never misses a match, nor writes another."""
    patterns = finished = failed = exact = wide = 0
    for seed in range(125):
        random = Random(seed)
        drawn = RandomPattern(random, atomic=0.05)
        try:
            compiled(drawn.text)
            dfa = Dfa.from_regex(drawn.text)
        except (re.error, PatternError):
            continue
        if not contains(settle(parse(drawn.text)), (Look, Atomic)):
            continue
        patterns += 1
        vocabulary = every_byte(dfa, random, pieces=20)
        index = NaiveIndex(drawn.text, vocabulary)
        fast, naive = Index(dfa, vocabulary).guide(), index.guide()
        for _ in range(5):
            if fast.is_finished:
                break
            allowed = fast.allowed_tokens().tolist()
            assert set(allowed) <= set(naive.allowed_tokens().tolist()), drawn.text
            assert fast.is_accepting == naive.is_accepting
            exact += len(allowed) == len(naive.allowed_tokens())
            wide += len(allowed) < len(naive.allowed_tokens())
            token = random.choice(allowed)
            if token in vocabulary.end_token_ids:
                break
            fast.advance(token)
            naive.advance(token)
        try:
            text = generate(UniformModel(vocabulary), index=index, sampler=Sampler(1.0, seed), max_tokens=12).text
            assert compiled(drawn.text).fullmatch(text), drawn.text
            finished += 1
        except GenerationError:
            failed += 1
    print(f"{patterns} patterns, {exact} masks the same, {wide} too wide; {finished} texts, {failed} errors")
    assert patterns > 40
    assert exact > 4 * wide > 0
    assert finished > failed > 0
