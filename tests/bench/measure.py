"""What is measured of one engine on one vocabulary, pattern by pattern."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfgen import Vocabulary

from .engines import CannotRead, Compiled, Engine
from .isolation import MemoryGrowth, Outcome, Send, run

WARM_UP = (r"(?i)(?:a|\.x|[b-dé]{2,3})*a?", r"[^\n]{1,3}a\.?", "aa|ab", "aa[^\n]*")
"""Patterns that are no item of the benchmark; all of them can be walked by two tokens ``a``."""


@dataclass(frozen=True)
class Job:
    """A pattern, with the walks through it.

    Args:
        vocabulary: The name of the vocabulary.
        walks: Tokens of matching texts.
        refused: Tokens of texts that do not match.
    """

    name: str
    pattern: str
    vocabulary: str
    walks: Sequence[Sequence[int]]
    refused: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Settings:
    """How much to measure.

    Args:
        limit: Seconds that a phase (compile, first mask; rows) may take.
        walking: Seconds after which no further step is walked.
        repeats: Runs of compile, first mask and rows, of which the fastest counts: whatever else the machine does
            only adds. Fewer where they take long.
        memory: Resident bytes after which an engine is stopped.
    """

    limit: float
    walking: float
    repeats: int
    memory: int


@dataclass
class Measurement:
    """One engine, one vocabulary, one pattern; seconds and bytes, ``None`` where there is nothing to tell.

    Args:
        failure: Why there are no times: the pattern is refused or read wrongly, or the engine broke down.
        stopped: What was stopped and why, such as "compile over 60 s"; the fields of that phase hold lower bounds.
        compile: From the pattern to the engine's object.
        first: From the pattern to the first mask.
        mask_p50: Of all masks of the walks, first visits included.
        mask_p99: Likewise.
        advance_p50: Of taking a token.
        steps: How many masks that were.
        rows: From the pattern to the rows of all states.
        rows_alone: The same without compiling.
        states: How many states have rows.
        memory: Peak of the resident memory above what was loaded before, over all phases.
    """

    engine: str
    vocabulary: str
    pattern: str
    failure: str = ""
    stopped: str = ""
    compile: float | None = None
    first: float | None = None
    mask_p50: float | None = None
    mask_p99: float | None = None
    advance_p50: float | None = None
    steps: int = 0
    rows: float | None = None
    rows_alone: float | None = None
    states: int | None = None
    memory: int | None = None


def warm_up(engine: Engine, vocabulary: Vocabulary) -> None:
    """Load kernels and touch what is touched first, on patterns of its own."""
    letter = vocabulary.tokens.index(b"a")
    if engine.is_slow:  # it has nothing to load either
        return
    for pattern in WARM_UP:
        try:
            compiled = engine.compile(pattern)
        except CannotRead:
            continue
        for _ in range(2):
            walk = compiled.start()
            for _ in range(2):
                walk.mask()
                walk.advance(letter)
            walk.mask()
        if hasattr(compiled, "build"):
            compiled.build()


def measure(engine: Engine, vocabulary: Vocabulary, job: Job, settings: Settings) -> Measurement:
    """Everything about a pattern, once, in a process of its own."""
    found = Measurement(engine.name, job.vocabulary, job.name)
    work = partial(_whole, engine, vocabulary, job, settings)
    _take(found, run(work, seconds=settings.limit, memory=settings.memory), engine)
    return found


def measure_again(engine: Engine, vocabulary: Vocabulary, job: Job, settings: Settings, rows: bool) -> dict[str, float]:
    """The single times once more: ``compile``, ``first`` and, if wanted, ``rows`` and ``rows_alone``."""
    work = partial(_again, engine, vocabulary, job, rows)
    times: dict[str, float] = run(work, seconds=settings.limit, memory=settings.memory).results.get("times", {})
    return times


def _take(found: Measurement, outcome: Outcome, engine: Engine) -> None:
    """Put what came out of the long run into a measurement."""
    results = outcome.results
    found.failure = outcome.failed or results.get("verdict", "")
    for fields in ("times", "walks", "rows", "memory"):
        for name, value in results.get(fields, {}).items():
            setattr(found, name, value)
    phase = results.get("phase", "warm-up")
    if outcome.stopped and phase != "check":  # what the check had seen by then was right
        found.stopped = f"{phase} {outcome.stopped}"
        found.memory = max(0, outcome.resident - results.get("start", outcome.resident))
        if phase == "compile":
            found.compile = found.first = outcome.seconds
        if phase == "rows" or (phase == "compile" and engine.rows_are_compiled):
            found.rows = outcome.seconds
    if found.failure:
        for name in ("compile", "first", "mask_p50", "mask_p99", "advance_p50", "rows", "rows_alone", "memory"):
            setattr(found, name, None)


def _whole(engine: Engine, vocabulary: Vocabulary, job: Job, settings: Settings, send: Send) -> None:
    """Everything once, in the order that lets first visits be first."""
    warm_up(engine, vocabulary)
    growth = MemoryGrowth() if sys.platform == "linux" else None
    if growth is not None:
        send("start", growth.start)
    send("phase", "compile")
    times, compiled, first_mask = _first(engine, job)
    send("times", times)
    send("phase", "walks")
    try:
        send("walks", _walk_all(compiled, job.walks, first_mask, settings.walking))
    except Exception as error:  # what an engine raises where it does not take a token
        send("verdict", _verdict(compiled, vocabulary, job, settings.walking) or f"breaks down: {error}")
        return
    if engine.rows_are_compiled:
        send("rows", {"rows": times["compile"]})
    elif hasattr(compiled, "build"):
        del compiled
        send("phase", "rows")
        rows, compiled = _rows(engine, job)
        send("rows", rows)
    if growth is not None:
        send("memory", {"memory": growth.peak()})
    send("phase", "check")
    send("verdict", _verdict(compiled, vocabulary, job, settings.walking))


def _again(engine: Engine, vocabulary: Vocabulary, job: Job, with_rows: bool, send: Send) -> None:
    warm_up(engine, vocabulary)
    times, compiled, _ = _first(engine, job)
    if engine.rows_are_compiled:
        times["rows"] = times["compile"]
    elif with_rows:
        del compiled
        rows, _ = _rows(engine, job)
        times |= {name: rows[name] for name in ("rows", "rows_alone")}
    send("times", times)


def _first(engine: Engine, job: Job) -> tuple[dict[str, float], Compiled, float]:
    start = time.perf_counter()
    compiled = engine.compile(job.pattern)
    ready = time.perf_counter()
    walk = compiled.start()
    asked = time.perf_counter()
    walk.mask()
    end = time.perf_counter()
    return {"compile": ready - start, "first": end - start}, compiled, end - asked


def _rows(engine: Engine, job: Job) -> tuple[dict[str, float], Compiled]:
    start = time.perf_counter()
    compiled: Any = engine.compile(job.pattern)
    ready = time.perf_counter()
    states = compiled.build()
    end = time.perf_counter()
    return {"rows": end - start, "rows_alone": end - ready, "states": states}, compiled


def _walk_all(
    compiled: Compiled, walks: Sequence[Sequence[int]], first_mask: float, seconds: float
) -> dict[str, float | int]:
    """Times of masks and of taking tokens; the first mask of the first walk was made before."""
    clock = time.perf_counter_ns
    masks = array("q")
    advances = array("q")
    deadline = clock() + int(1e9 * seconds)
    for tokens in walks:
        walk = compiled.start()
        mask, advance = walk.mask, walk.advance
        for token in tokens:
            start = clock()
            mask()
            made = clock()
            advance(token)
            end = clock()
            masks.append(made - start)
            advances.append(end - made)
            if end > deadline:
                break
        else:
            start = clock()
            mask()
            masks.append(clock() - start)
            continue
        break
    masks[0] = int(1e9 * first_mask)
    p50, p99 = np.percentile(np.array(masks), [50, 99]) / 1e9
    return {
        "mask_p50": float(p50),
        "mask_p99": float(p99),
        "advance_p50": float(np.median(np.array(advances))) / 1e9 if advances else 0.0,
        "steps": len(masks),
    }


def _verdict(compiled: Compiled, vocabulary: Vocabulary, job: Job, seconds: float) -> str:
    """How the engine reads the pattern otherwise than ``re``; empty when it does not, as far as the texts tell."""
    deadline = time.monotonic() + seconds
    end = vocabulary.end_token_ids[0]
    for tokens, matches in [*((tokens, False) for tokens in job.refused), *((tokens, True) for tokens in job.walks)]:
        walk = compiled.start()
        place = 0
        for token in (*tokens, end):
            if time.monotonic() > deadline:
                return ""
            if not walk.allows(token) or (token != end and walk.advance(token) is False):
                break
            place += 1
        text = b"".join(vocabulary.tokens[token] or b"" for token in tokens).decode(errors="replace")
        shown = repr(text if len(text) <= 60 else text[:57] + "…")
        if matches and place <= len(tokens):
            what = "the end" if place == len(tokens) else f"token {place + 1}"
            return f"reads it wrongly: refuses {what} of {shown}"
        if not matches and place > len(tokens):
            return f"reads it wrongly: accepts {shown}"
    return ""
