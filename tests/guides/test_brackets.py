"""A constraint with a stack goes through the whole loop as it is: no file but ``brackets.py`` knows of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.guides.brackets import INDEX, PAIRS, VOCABULARY, BracketModel, Brackets, is_balanced
from tests.support.guides.languages import brackets
from tests.support.running.tried import tried
from tests.support.traces import frame

from sfgen import BannedWords, Event, Finished, Index, Result, Sampler, TextReleased, TokenChosen, generate, stream
from sfgen.ban.difference import without_banned
from sfgen.decoding import RolledBack, prepare
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import GenerationError, LimitTooSmall, SfgenError
from sfgen.trace import TraceFile, read_trace, tracing
from sfgen.trace.lines import Scene
from sfgen_cli.live.view import LiveView, svg

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
WORDS = [("ab",), ("ba", "[["), ("b]", " a", "()"), ("<bold>",), ("(", "aé"), ("</bold>",)]
SEEDS = st.integers(0, 10**6)
samplers = st.builds(Sampler, st.sampled_from([0.0, 1.0]), SEEDS)


def banned(words: tuple[str, ...]) -> BannedWords | None:
    return BannedWords(words, match="substring") if words else None


def check(result: Result, words: tuple[str, ...], max_tokens: int) -> None:
    assert is_balanced(result.text)
    assert not [word for word in words if word in result.text]
    assert b"".join(VOCABULARY.tokens[token] or b"" for token in result.token_ids).decode() == result.text
    assert len(result.token_ids) <= max_tokens
    assert result.finish_reason == "complete"


# ---- the constraint ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([*"()[]ab é</>z", *(word.decode() for word in (*PAIRS, *PAIRS.values()))])).map("".join)
)
def test_what_is_accepted(text: str) -> None:
    assert Brackets().accepts(text) == Brackets().accepts(text.encode()) == is_balanced(text)
    assert brackets().accepts(text.encode()) == is_balanced(text)
    assert (Brackets().refusal(text.encode()) is None) == is_balanced(text)


def test_the_index_of_a_constraint() -> None:
    assert INDEX.constraint == Brackets()
    assert INDEX.accepts(Brackets().shortest())
    assert INDEX.refusal(b"(a)") is None
    assert INDEX.refusal(b"(a") is not None
    assert without_banned(INDEX, BannedWords(["a"])) is None
    guide = INDEX.guide()
    guide.advance_bytes(b"([<bold>a</b")
    assert guide.describe() == "([<bold></b"
    assert guide.forced_bytes() == b"old>"
    assert guide.tokens_left() == 3  # old> ] )
    guide.advance_bytes(b"old>])")
    assert (guide.describe(), guide.is_finished) == ("closed", True)


# ---- texts ---------------------------------------------------------------------------------------------------------


@tried("some")
@given(SEEDS, samplers, st.integers(2, 40), st.booleans())
def test_texts_within_any_limit(seed: int, sampler: Sampler, max_tokens: int, fast_forward: bool) -> None:
    result = generate(
        BracketModel(seed), "a", index=INDEX, sampler=sampler, max_tokens=max_tokens, fast_forward=fast_forward
    )
    check(result, (), max_tokens)


@pytest.mark.parametrize("max_tokens", [0, 1])
def test_a_limit_that_is_too_small(max_tokens: int) -> None:
    with pytest.raises(LimitTooSmall, match="takes 2"):
        generate(BracketModel(1), "a", index=INDEX, max_tokens=max_tokens)


@pytest.mark.parametrize("strategy", STRATEGIES)
@tried("some")
@given(SEEDS, samplers, st.sampled_from(WORDS), st.integers(3, 40), st.booleans())
def test_texts_without_banned_words(
    strategy: StrategyName, seed: int, sampler: Sampler, words: tuple[str, ...], max_tokens: int, fast_forward: bool
) -> None:
    try:
        result = generate(
            BracketModel(seed), "a", index=INDEX, banned=banned(words), sampler=sampler, max_tokens=max_tokens,
            strategy=strategy, fast_forward=fast_forward, max_rollbacks=300,
        )  # fmt: skip
    except GenerationError:  # near the limit nothing clean may be left
        return
    check(result, words, max_tokens)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bans_take_tokens_back_and_mostly_find_a_text(strategy: StrategyName) -> None:
    found = rollbacks = 0
    for seed in range(40):
        words = WORDS[seed % len(WORDS)]
        try:
            result = generate(
                BracketModel(seed), "a", index=INDEX, banned=banned(words), strategy=strategy, max_tokens=30,
                max_rollbacks=300,
            )  # fmt: skip
        except GenerationError:
            continue
        check(result, words, 30)
        found += 1
        rollbacks += len(result.rollbacks)
    assert found >= 25
    assert rollbacks or strategy == "mask"


def test_forced_text_is_not_asked_for_and_the_text_is_the_same() -> None:
    """A model that hears bytes, not tokens, writes the same whether forced text is asked for or not."""
    saved = 0
    for seed in range(40):
        model = BracketModel(seed, by_text=True)
        quick = generate(model, "a", index=INDEX, max_tokens=400)
        slow = generate(model, "a", index=INDEX, max_tokens=400, fast_forward=False)
        assert quick.text == slow.text
        check(quick, (), 400)
        assert quick.forward_passes <= slow.forward_passes
        if "bold" in quick.text:
            assert quick.forced_tokens > 0
        saved += slow.forward_passes - quick.forward_passes
    assert saved > 0


@tried("few")
@given(SEEDS, st.sampled_from([(), *WORDS]), st.sampled_from(STRATEGIES))
def test_streams(seed: int, words: tuple[str, ...], strategy: StrategyName) -> None:
    released = ""
    try:
        for event in stream(
            BracketModel(seed), "a", index=INDEX, banned=banned(words), strategy=strategy, max_tokens=40
        ):
            released += event.text if isinstance(event, TextReleased) else ""
    except GenerationError:
        assert words
        return
    assert isinstance(event, Finished)
    assert event.result.text == released
    check(event.result, words, 40)


@tried("few")
@given(st.lists(st.tuples(SEEDS, st.sampled_from([(), *WORDS]), st.sampled_from(STRATEGIES)), min_size=2, max_size=4))
def test_batches(texts: list[tuple[int, tuple[str, ...], StrategyName]]) -> None:
    """Each text of a batch is the one that is written alone."""
    model = BracketModel(texts[0][0])

    def options(seed: int, words: tuple[str, ...], strategy: StrategyName) -> dict[str, Any]:
        sampler = Sampler(1.0, seed)
        return {"index": INDEX, "banned": banned(words), "sampler": sampler, "strategy": strategy, "max_tokens": 30}

    together: list[list[str]] = [[] for _ in texts]
    loops = [prepare(model, "a", **options(*text)) for text in texts]
    for number, event in drive_batch(loops, batch_of(model, 2), 2):
        together[number].append(repr(event))
    for text, events in zip(texts, together, strict=True):
        assert events == told(stream(model, "a", **options(*text)))


def told(events: Iterator[Event]) -> list[str]:
    """The events, and the error that ends them."""
    found = []
    try:
        for event in events:
            found.append(repr(event))
    except SfgenError as error:
        found.append(repr(error))
    return found


# ---- traces and views ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_trace_and_the_live_view(seed: int, strategy: StrategyName, tmp_path: Path) -> None:
    """What was written comes back, every frame is the same again, and a terminal shows the text."""
    words = WORDS[seed % 3]
    scene = Scene("a", "scripted", len(VOCABULARY), words=words)
    live, path, run = LiveView(scene), tmp_path / "run.jsonl", []
    options: dict[str, Any] = {
        "index": INDEX,
        "banned": banned(words),
        "strategy": strategy,
        "observe": True,
        "max_tokens": 60,
    }
    with TraceFile(path) as file, tracing(file, scene) as tracer:
        for number, event in enumerate(stream(BracketModel(seed), "a", sampler=Sampler(1.0, seed), **options)):
            live.show(event, number / 8)
            tracer.show(event, number / 8)
            run.append((event, frame(live)))
    (recording,) = read_trace(path).recordings
    assert (recording.scene, recording.failure) == (scene, None)
    again = LiveView(recording.scene)
    assert len(recording.events) == len(run)
    for (seconds, recorded), (event, shown) in zip(recording.events, run, strict=True):
        assert recorded == event
        again.show(recorded, seconds)
        assert frame(again) == shown
    last = run[-1][0]
    assert isinstance(last, Finished)
    result = last.result
    check(result, words, 60)
    assert recording.text == result.text + "\n"
    rows = on_a_terminal(run[-1][1])
    assert result.text[:20] in "\n".join(rows)
    assert any("done" in row for row in rows)
    assert "</svg>" in svg(live, "brackets")
    stacks = [(event.described, shown) for event, shown in run if isinstance(event, TokenChosen)]
    assert any(described and f"→ {described}" in re.sub(r"\x1b\[[0-9;]*m", "", shown) for described, shown in stacks)
    assert any(isinstance(event, TokenChosen) and event.watch for event, _ in run)


def test_the_live_view_shows_what_is_taken_back() -> None:
    words, shown = ("a)", "(a", "[b"), list[str]()
    options: dict[str, Any] = {"index": INDEX, "banned": banned(words), "observe": True, "max_tokens": 60}
    for seed in range(10):
        view = LiveView(Scene("a", "scripted", len(VOCABULARY), words=words))
        for number, event in enumerate(stream(BracketModel(seed), "a", sampler=Sampler(1.0, seed), **options)):
            view.show(event, number / 8)
            if isinstance(event, RolledBack):
                shown += on_a_terminal(frame(view))
    assert any("took back" in row and "is banned" in row for row in shown)


def on_a_terminal(text: str) -> list[str]:
    """The rows of a terminal that was sent a picture."""
    screen = pyte.Screen(90, 30)
    pyte.Stream(screen).feed(re.sub("\u200e", "", text).replace("\n", "\r\n"))
    return [row.rstrip() for row in screen.display]


# ---- inside another package's loop ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"do_sample": True}, {"num_beams": 3}])
def test_generate_of_transformers(options: dict[str, Any]) -> None:
    import torch
    from tests.support.models.generated import prompts, small_model, written

    from sfgen.integrations.transformers import GuidedLogitsProcessor

    model = small_model()
    inputs = prompts(VOCABULARY, [b"a", b"b a"])
    torch.manual_seed(1)
    processor = GuidedLogitsProcessor(Index(Brackets(), VOCABULARY), max_tokens=9)
    ids = model.generate(**inputs, max_new_tokens=9, logits_processor=[processor], **options)
    texts = written(VOCABULARY, ids, inputs["input_ids"].shape[1])
    assert len(texts) == 2
    assert all(is_balanced(text.decode()) for text in texts)
