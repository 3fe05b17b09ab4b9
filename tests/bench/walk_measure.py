"""What is measured of one engine on one schema or grammar and vocabulary, each time in a process of its own.

The process is a fork of one in which the engine and the vocabulary are loaded and warmed by others, so that a schema
or grammar is always met for the first time: nothing is left from a measurement before. Every engine walks the same
tokens: those of written texts, and those of random walks in which each token is allowed by all engines.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfgen import Vocabulary

from .engines import CannotRead, Compiled, Engine, allowed
from .isolation import MemoryGrowth, Outcome, Send, run

MEMORY = 8 * 2**30
"""Resident bytes after which an engine is stopped."""
_CLOSING = b'"]},'
_CHOICES = 20
"""Of so many tokens drawn, one that closes something is taken: random tokens seldom close what they open."""


@dataclass(frozen=True)
class Walks:
    """What all engines walk through.

    Args:
        texts: The tokens of written texts, with the end token.
        random: The tokens of random walks.
    """

    texts: list[list[int]]
    random: list[list[int]] = field(default_factory=list)


@dataclass
class Measurement:
    """One engine, one vocabulary, one schema or grammar; seconds and bytes.

    Args:
        failure: Why there are no figures.
        compiles: Until the engine has its object, in each round.
        firsts: Until it has its first mask, in each round.
        masks: Of every mask of all walks, in order: the fastest of all rounds.
        memory: Peak of the resident memory above what was loaded before, in each round.
        refused: How many of the texts it refuses; its walks end there.
    """

    engine: str
    vocabulary: str
    case: str
    failure: str = ""
    compiles: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    masks: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    memory: list[int] = field(default_factory=list)
    refused: int = 0

    def take(self, outcome: Outcome, limit: float) -> None:
        """Put in what came out of a round."""
        found = outcome.results
        self.failure = found.get("failure", "") or outcome.failed
        if outcome.stopped:
            self.failure = f"> {limit:.0f} s" if outcome.stopped.endswith(" s") else outcome.stopped
        if self.failure:
            return
        self.compiles.append(found["compile"])
        self.firsts.append(found["first"])
        self.memory.append(found.get("memory", 0))
        self.refused = found["refused"]
        masks = found["masks"]
        self.masks = np.minimum(self.masks, masks) if len(self.masks) else masks


@dataclass
class Agreement:
    """Whether the masks of the other engines are sfgen's, at the steps of the random walks.

    Args:
        steps: How many masks were compared.
        same: How many of them are equal, by engine.
        more: Tokens that only the other engine allows, in all steps.
        less: Tokens that only sfgen allows.
        example: A step with a token that one allows alone.
    """

    vocabulary: str
    case: str
    steps: int = 0
    same: dict[str, int] = field(default_factory=dict)
    more: dict[str, int] = field(default_factory=dict)
    less: dict[str, int] = field(default_factory=dict)
    example: dict[str, str] = field(default_factory=dict)


def warm_up(engine: Engine, vocabulary: Vocabulary, patterns: Sequence[str]) -> None:
    """Load kernels and touch what is touched first, on schemas or grammars that are not measured."""
    for pattern in patterns:
        try:
            compiled = engine.compile(pattern)
        except CannotRead:
            continue
        rng = random.Random(0)
        walk = compiled.start()
        for _ in range(30):
            tokens = np.flatnonzero(allowed(engine, walk)[: len(vocabulary)])
            token = int(tokens[rng.randrange(len(tokens))])
            if token in vocabulary.end_token_ids or walk.advance(token) is False:
                break


def measure(
    engine: Engine,
    vocabulary: Vocabulary,
    pattern: str,
    warm: Sequence[str],
    walks: Walks,
    found: Measurement,
    limit: float,
) -> None:
    """One round; none if an earlier one failed.

    Args:
        engine: With the vocabulary loaded.
        vocabulary: The vocabulary.
        pattern: What the engine compiles.
        warm: What it compiles before, not measured.
        walks: What it walks.
        found: Where the result goes.
        limit: Seconds that it may take.
    """
    if not found.failure:
        work = partial(_measure, engine, vocabulary, pattern, warm, [*walks.texts, *walks.random])
        found.take(run(work, seconds=limit, memory=MEMORY), limit)


def _measure(
    engine: Engine,
    vocabulary: Vocabulary,
    pattern: str,
    warm: Sequence[str],
    walks: Sequence[Sequence[int]],
    send: Send,
) -> None:
    warm_up(engine, vocabulary, warm)
    growth = MemoryGrowth() if sys.platform == "linux" else None
    clock = time.perf_counter
    started = clock()
    try:
        compiled = engine.compile(pattern)
    except CannotRead as error:
        send("failure", f"refused: {error}"[:200])
        return
    ready = clock()
    walk = compiled.start()
    walk.mask()
    send("first", clock() - started)
    send("compile", ready - started)
    times, refused = _walk_all(engine, compiled, walks)
    send("masks", times)
    send("refused", refused)
    if growth is not None:
        send("memory", growth.peak())


def _walk_all(engine: Engine, compiled: Compiled, walks: Sequence[Sequence[int]]) -> tuple[NDArray[np.float64], int]:
    """Seconds of each mask, and how many of the walks are refused."""
    clock = time.perf_counter_ns
    times: list[int] = []
    refused = 0
    for tokens in walks:
        walk = compiled.start()
        for token in tokens[:-1]:
            started = clock()
            walk.mask()
            times.append(clock() - started)
            try:
                is_taken = walk.advance(token) is not False
            except Exception:  # what an engine raises where it does not take a token
                is_taken = False
            if not is_taken:
                refused += 1
                break
        else:
            started = clock()
            walk.mask()
            times.append(clock() - started)
            refused += not walk.allows(tokens[-1])
    return np.array(times) / 1e9, refused


def walk_together(
    engines: Sequence[Engine],
    vocabulary: Vocabulary,
    name: str,
    case: str,
    pattern: str,
    walks: int,
    steps: int,
    limit: float,
) -> tuple[list[list[int]], Agreement]:
    """Walk all engines side by side through tokens that all of them allow, comparing their masks.

    Args:
        engines: Those that read it, each with the vocabulary loaded.
        vocabulary: The vocabulary.
        name: Its name.
        case: The name of the schema or grammar.
        pattern: What the engines compile.
        walks: How many walks.
        steps: Masks of each walk at most.
        limit: Seconds that a walk may take.
    """
    work = partial(_walk_together, engines, vocabulary, name, case, pattern, walks, steps)
    results = run(work, seconds=limit, memory=MEMORY).results
    found = [results[key] for key in results if key != "agreement"]
    return found, results.get("agreement", Agreement(name, case))


def _walk_together(
    engines: Sequence[Engine],
    vocabulary: Vocabulary,
    name: str,
    case: str,
    pattern: str,
    walks: int,
    steps: int,
    send: Send,
) -> None:
    rng = random.Random(f"walks of {case}")
    agreement = Agreement(name, case)
    compiled = [engine.compile(pattern) for engine in engines]
    is_token = np.zeros(len(vocabulary), np.bool_)
    is_token[vocabulary.text_token_ids] = True
    is_token[list(vocabulary.end_token_ids)] = True
    closing = np.array([(token or b" ")[0] in _CLOSING for token in vocabulary.tokens])
    ends = list(vocabulary.end_token_ids)
    for number in range(walks):
        each = [one.start() for one in compiled]
        tokens: list[int] = []
        text = b""
        while True:
            masks = [
                allowed(engine, walk)[: len(vocabulary)] & is_token for engine, walk in zip(engines, each, strict=True)
            ]
            _compare(agreement, engines, masks, vocabulary, text)
            common = np.logical_and.reduce(masks)
            choices = np.flatnonzero(common)
            if not len(choices) or len(tokens) == steps:
                break
            token = _chosen(rng, common, choices, closing)
            if common[ends].any() and rng.random() < 0.5:
                token = ends[int(np.flatnonzero(common[ends])[0])]
            tokens.append(token)
            if token in ends:
                break
            text += vocabulary.tokens[token] or b""
            for walk in each:
                walk.advance(token)
        if tokens:
            send(f"walk {number}", tokens)
            send("agreement", agreement)


def _chosen(
    rng: random.Random, common: NDArray[np.bool_], choices: NDArray[np.intp], closing: NDArray[np.bool_]
) -> int:
    """A random token; now and then one that begins with a bracket, a quote or a comma."""
    ending = np.flatnonzero(common & closing)
    if len(ending) and rng.random() < 0.25:
        return int(ending[rng.randrange(len(ending))])
    return int(choices[rng.randrange(len(choices))])


def _compare(
    agreement: Agreement, engines: Sequence[Engine], masks: list[NDArray[np.bool_]], vocabulary: Vocabulary, text: bytes
) -> None:
    """Hold the masks of the other engines against that of the first, which is sfgen."""
    agreement.steps += 1
    for engine, mask in zip(engines[1:], masks[1:], strict=True):
        more, less = np.flatnonzero(mask & ~masks[0]), np.flatnonzero(masks[0] & ~mask)
        for counts, count in (
            (agreement.same, int(not len(more) and not len(less))),
            (agreement.more, len(more)),
            (agreement.less, len(less)),
        ):
            counts[engine.name] = counts.get(engine.name, 0) + count
        if len(more) and engine.name not in agreement.example:
            token = vocabulary.tokens[int(more[0])]
            agreement.example[engine.name] = f"{text[-60:]!r} and then {'the end' if token is None else repr(token)}"
