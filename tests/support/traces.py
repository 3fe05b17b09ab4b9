"""Runs for the tests of traces: made up at random, event by event as a loop could tell them, or real."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from xml.etree import ElementTree

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from rich.console import Console

from sfgen import (
    BannedWords,
    BlockMoved,
    Event,
    Finished,
    Result,
    RolledBack,
    TextReleased,
    ThoughtReleased,
    TokenChosen,
    load_model,
    read_trace,
    stream,
)
from sfgen.decoding import BlockClosed, Candidate, Outlook, PrefixScored, TokenLogprob, Watch
from sfgen.errors import SfgenError
from sfgen.trace import Failure, Recording, TraceFile, tracing
from sfgen.trace.lines import Scene
from sfgen_cli.live.view import LiveView

# Not st.text(), which makes one alphabet of both, in which what is special is rare.
TEXTS = st.lists(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from('\x1b\x9b\x07\u202e\u2028\ufeff\uffff\x00"\\{聊🎈é\u0301\ud83d\udca9\udcff'),
    max_size=12,
).map("".join)
BYTES = st.one_of(st.binary(max_size=4), st.sampled_from(["talk", "聊", "\x1b[2J", "שלום"]).map(str.encode))
COUNTS = st.one_of(st.integers(0, 9), st.integers(0, 2**63 - 1))
SHARES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 5e-324, 1.0]))
LOGARITHMS = st.one_of(st.floats(-1e300, 0), st.just(-5e-324))
WORDS = st.lists(TEXTS, max_size=3).map(tuple)
NO = st.none()
PLAIN = st.text(max_size=4)

TRACES = Path(__file__).parents[1] / "data" / "traces"
"""Traces that were written by sfgen as it was once."""

Run = tuple[Scene, list[tuple[float, Event]], SfgenError | None]


@st.composite
def scenes(draw: DrawFn) -> Scene:
    return Scene(
        draw(TEXTS),
        draw(TEXTS),
        draw(st.one_of(st.integers(1, 50), st.just(2**63 - 1))),
        pattern=draw(NO | TEXTS | st.sampled_from(["[0-9]+(a|b)*", "(", "talk.{3}"])),
        choices=draw(NO | WORDS),
        words=draw(WORDS),
        banned_patterns=draw(WORDS),
        seed=draw(NO | COUNTS | st.just(10**30)),
        line=draw(NO | COUNTS),
        schema=draw(NO | TEXTS),
        schema_json=draw(NO | TEXTS),
        after=draw(NO | TEXTS.filter(bool)),
        when=draw(NO | TEXTS.filter(bool)),
    )


def candidates(size: int) -> SearchStrategy[tuple[Candidate, ...]]:
    one = st.builds(Candidate, st.integers(0, size - 1), NO | BYTES, st.booleans(), SHARES, SHARES)
    return st.lists(one, max_size=6).map(tuple)


def outlooks(size: int) -> SearchStrategy[Outlook]:
    return st.builds(Outlook, candidates(size), candidates(size), SHARES)


RESULTS = st.builds(
    Result,
    TEXTS,
    st.lists(COUNTS, max_size=4).map(tuple),
    st.sampled_from(["complete", "end_token", "stop", "limit"]),
    COUNTS,
    COUNTS,
    COUNTS,
    st.lists(
        st.builds(
            RolledBack,
            st.integers(0, 9),
            NO | TEXTS,
            st.lists(COUNTS, min_size=1, max_size=3).map(tuple),
            BYTES,
            COUNTS,
            NO | SHARES,
            st.integers(9, 20),
            COUNTS,
        ),
        max_size=2,
    ).map(tuple),
    COUNTS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PLAIN,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(PLAIN, inner, max_size=2),
        max_leaves=4,
    ),
    NO | st.lists(st.builds(TokenLogprob, NO | LOGARITHMS, LOGARITHMS), max_size=3).map(tuple),
)


@st.composite
def runs(draw: DrawFn) -> Run:
    """A run whose events can follow each other; it has an end, fails, or is killed."""
    scene = draw(scenes())
    size = scene.vocabulary_size
    states = st.one_of(st.integers(-1, 9), st.integers(-(2**63) + 1, 2**63 - 1))
    tokens: list[tuple[int, bytes]] = []
    events: list[Event] = []
    for _ in range(draw(st.integers(0, 8))):
        length = sum(len(data) for _, data in tokens)
        kind = draw(st.sampled_from(["token"] * 4 + ["back"] * 2 + ["moved", "closed", "text", "thought", "scored"]))
        if kind == "back" and tokens:
            position = draw(st.integers(0, len(tokens) - 1))
            taken = tokens[position:]
            del tokens[position:]
            ids, data = tuple(token for token, _ in taken), b"".join(data for _, data in taken)
            word, state, share = draw(NO | TEXTS), draw(states), draw(NO | SHARES)
            place = position + draw(st.integers(0, 9) | st.just(2**62))
            events.append(RolledBack(position, word, ids, data, state, share, place, draw(COUNTS)))
        elif kind == "moved":
            events.append(BlockMoved(draw(st.integers(0, len(tokens))), draw(COUNTS)))
        elif kind == "closed":
            events.append(BlockClosed(draw(st.integers(0, len(tokens)))))
        elif kind == "scored":
            known, unknown = draw(SHARES), draw(SHARES)
            events.append(
                PrefixScored(draw(COUNTS), draw(BYTES), draw(SHARES), draw(COUNTS), known, unknown, draw(COUNTS))
            )
        elif kind == "thought":
            events.append(ThoughtReleased(draw(TEXTS)))
        elif kind == "text":
            events.append(TextReleased(draw(TEXTS)))
        else:
            token, data = draw(st.integers(0, size - 1)), draw(BYTES)
            watch = st.builds(Watch, NO | st.integers(-9, length + len(data)), WORDS)
            events.append(
                TokenChosen(
                    len(tokens),
                    token,
                    data,
                    draw(states),
                    draw(states),
                    draw(st.integers(0, size)),
                    draw(st.booleans()),
                    draw(NO | SHARES),
                    draw(COUNTS),
                    draw(NO | outlooks(size)),
                    draw(NO | watch),
                )
            )
            tokens.append((token, data))
    end = draw(st.sampled_from(["finished", "failed", "killed"]))
    if end == "finished":
        events.append(Finished(draw(RESULTS)))
    error = SfgenError(draw(TEXTS), details=draw(WORDS), hint=draw(TEXTS)) if end == "failed" else None
    seconds = draw(st.lists(st.integers(0, 10**6), min_size=len(events), max_size=len(events)))
    return scene, [(time / 10**6, event) for time, event in zip(sorted(seconds), events, strict=True)], error


def recordings_of(*made: Run) -> list[Recording]:
    """What a trace of some runs would be read as."""
    return [
        Recording(number, scene, events, None if error is None else Failure(error.message))
        for number, (scene, events, error) in enumerate(made)
    ]


def old_trace(name: str) -> list[Recording]:
    """The samples of a trace in ``TRACES``."""
    return list(read_trace(TRACES / f"{name}.jsonl").recordings)


def write_runs(path: Path, written: Sequence[Run]) -> None:
    """The trace of some runs, one after the other."""
    with TraceFile(path) as file:
        for scene, events, error in written:
            with contextlib.suppress(SfgenError), tracing(file, scene) as tracer:
                for seconds, event in events:
                    tracer.show(event, seconds)
                if error is not None:
                    raise error


def ban_run() -> Run:
    """A run with rollbacks."""
    model, banned = load_model("tiny"), BannedWords(["talk", "listen"])
    events = list(stream(model, "Can we talk?", banned=banned, observe=True, max_tokens=32))
    return (
        Scene("Can we talk?", "tiny", len(model.vocabulary), words=banned.words),
        [(place / 1000, event) for place, event in enumerate(events)],
        None,
    )


def long_run(steps: int) -> Run:
    """A run of so many steps with rollbacks, forced tokens, lines and candidates, and its end."""
    random = Random(steps)
    words = [b" one", b" two", b" three", b" talk", b"\n", b" four", b" five"]
    events: list[Event] = []
    tokens: list[int] = []
    while len(events) < steps:
        if len(tokens) > 3 and random.random() < 0.1:
            position = len(tokens) - random.randint(1, 3)
            data = b"".join(words[token] for token in tokens[position:])
            events.append(RolledBack(position, "talk", tuple(tokens[position:]), data, 0, 0.3, position, 1))
            del tokens[position:]
        else:
            shares = [random.random() / 5 for _ in words]
            found = [Candidate(token, word, False, shares[token], shares[token]) for token, word in enumerate(words)]
            outlook = Outlook(tuple(found[:5]), tuple(found[2:]), 0.2)
            token, is_forced = random.randrange(len(words)), random.random() < 0.2
            events.append(TokenChosen(len(tokens), token, words[token], 0, 0, 9, is_forced, None, 1, outlook))
            tokens.append(token)
    text = b"".join(words[token] for token in tokens).decode()
    rollbacks = tuple(event for event in events if isinstance(event, RolledBack))
    events.append(Finished(Result(text, tuple(tokens), "end_token", 3, steps, 0, rollbacks)))
    scene = Scene("Can we talk?", "made up", 4096, words=("talk", "listen"))
    return scene, [(place / 100, event) for place, event in enumerate(events)], None


def frame(view: LiveView) -> str:
    """What a terminal is sent for a view."""
    console = Console(width=90, height=30, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(view)
    shown = console.file
    assert isinstance(shown, io.StringIO)
    return shown.getvalue()


def is_a_picture(text: str) -> bool:
    """Whether it is SVG that fetches nothing."""
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "@font-face" not in text
    assert "@import" not in text
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not name.endswith("href")
            assert not re.search(r"url\((?!#)", value)
    return True
