"""The live view's pictures of any run, at any size, and what they say."""

from __future__ import annotations

import io
import re
import threading
import unicodedata
from collections.abc import Sequence
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.style import Style
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import tried
from wcwidth import wcwidth

from sfgen import (
    BannedWords,
    Dfa,
    Event,
    Index,
    RolledBack,
    Sampler,
    TextReleased,
    ThoughtReleased,
    TokenChosen,
    Vocabulary,
    stream,
)
from sfgen.decoding import BlockClosed, BlockMoved, Candidate, Finished, Outlook, PrefixScored, Result, Watch
from sfgen.decoding.events import FinishReason
from sfgen.errors import SfgenError
from sfgen.trace.lines import Scene
from sfgen_cli.live import candidates as live_candidates
from sfgen_cli.live import sections
from sfgen_cli.live.moment import Moment, Token
from sfgen_cli.live.pattern_cursor import PatternCursor
from sfgen_cli.live.rows import STRUCK, columns, decoded, visible
from sfgen_cli.live.screen import rows_more
from sfgen_cli.live.view import STEP_KEYS, LiveView, Paced

_PARTS = ["a", " talk", "e", "…", "'", '"', "x" * 90, "[bold]", "[/]", "日本", "👍🏽", "👩\u200d👧", "שלום", "سلام",
          "\n", "\t", "\x07", "\x1b[2J", "\x9b", "\u0301", "\u0e31", "\u200b", "\u200d", "\u2028", "\u202e", "\u2066",
          "\ufe0f", "\ud800", "\U0001f1e9"]  # fmt: skip
_BYTES = [b"", b"\xff", b"\xe6", b"\x97\xa5", b"\xf0\x9f", *(part.encode("utf-8", "surrogatepass") for part in _PARTS)]

data = st.sampled_from(_BYTES)
texts = st.lists(st.sampled_from(_PARTS), max_size=4).map("".join)
shares = st.sampled_from([0.0, 1e-9, 0.001, 0.25, 0.999999, 1.0, 1.000001, float("nan")])
numbers = st.sampled_from([0, 1, 2, 7, 4096, 2**63])
candidates = st.lists(st.builds(Candidate, numbers, st.none() | data, st.booleans(), shares, shares), max_size=6).map(
    tuple
)
outlooks = st.builds(Outlook, candidates, candidates, shares)
scenes = st.builds(
    Scene,
    prompt=texts,
    model=texts,
    vocabulary_size=st.sampled_from([1, 50257]),
    pattern=st.sampled_from([None, r"(a|the)+\n?[^\]]*", "日本{2,}|\\Z", "x" * 300, "(unreadable"]),
    choices=st.none() | st.lists(texts, max_size=50).map(tuple),
    words=st.lists(texts, max_size=3).map(tuple),
    banned_patterns=st.lists(texts, max_size=1).map(tuple),
    seed=st.none() | numbers,
)


@st.composite
def runs(draw: st.DrawFn) -> list[Event]:
    """Events in an order that a run could have them, with anything in them."""
    events: list[Event] = []
    length = 0
    kinds = st.lists(
        st.sampled_from(["token"] * 6 + ["back", "closed", "moved", "scored", "released", "thought"]), max_size=25
    )
    for kind in draw(kinds):
        place = draw(st.integers(0, length))
        match kind:
            case "token":
                watch = st.builds(Watch, st.none() | st.integers(-5, 200), st.lists(texts, max_size=3).map(tuple))
                chosen = st.builds(
                    TokenChosen, st.just(length), numbers, data, numbers, numbers, numbers, st.booleans(),
                    st.none() | shares, numbers, st.none() | outlooks, st.none() | watch,
                )  # fmt: skip
                events.append(draw(chosen))
                length += 1
            case "back":
                word, tokens = draw(st.none() | texts), tuple(draw(numbers) for _ in range(length - place))
                where = draw(st.integers(place, length))
                events.append(RolledBack(place, word, tokens, draw(data), 3, draw(shares), where, draw(numbers)))
                length = place
            case "closed":
                events.append(BlockClosed(place))
            case "scored":
                found = st.builds(PrefixScored, numbers, data, shares, numbers, shares, shares, numbers)
                events.append(draw(found))
            case "moved":
                events.append(BlockMoved(place, draw(numbers)))
            case "thought":
                events.append(ThoughtReleased(draw(texts)))
            case _:
                events.append(TextReleased(draw(texts)))
    if draw(st.booleans()):
        reasons: tuple[FinishReason, ...] = ("complete", "end_token", "stop", "limit")
        reason = draw(st.sampled_from(reasons))
        events.append(Finished(Result("", (), reason, 0, draw(numbers), 0)))
    return events


def text_of(events: Sequence[Event]) -> bytes:
    """What stands after the events."""
    tokens: list[bytes] = []
    for event in events:
        if isinstance(event, TokenChosen):
            tokens.append(event.data)
        elif isinstance(event, RolledBack):
            del tokens[event.position :]
    return b"".join(tokens)


def drawn(view: LiveView, width: int, height: int, **options: str) -> str:
    """What is sent to a terminal of that size."""
    file = io.StringIO()
    console = Console(width=width, height=height, file=file, force_terminal=True, _environ={"TERM": "xterm", **options})
    console.print(view)
    return file.getvalue()


@given(scenes, runs(), st.lists(st.tuples(st.integers(20, 200), st.integers(5, 60)), min_size=1, max_size=3), st.data())
def test_any_run_fits_any_screen(scene: Scene, events: list[Event], sizes: list[tuple[int, int]], chosen: st.DataObject) -> None:  # fmt: skip  # noqa: E501
    view = LiveView(scene, hint=chosen.draw(st.sampled_from(["", STEP_KEYS])), patient=chosen.draw(st.booleans()))
    for seconds, event in enumerate(events):
        view.show(event, float(seconds))
        if seconds % 5 == 0 or seconds == len(events) - 1:
            width, height = chosen.draw(st.sampled_from(sizes))
            rows = re.sub(r"\x1b\[[0-9;]*m", "", drawn(view, width, height)).split("\n")
            assert rows.pop() == ""
            assert len(rows) < height
            for row in rows:
                assert sum(max(0, wcwidth(character)) for character in row) < width
                assert not [
                    c for c in row if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\u200e"
                ]
    assert view.moment.data == text_of(events)


@tried("some")
@given(st.lists(st.tuples(st.integers(0, 3), data), max_size=30), st.sampled_from([r"(a|the| )+[^x]*", "日本|.*?talk"]))
def test_the_mark_in_the_pattern_goes_back_too(steps: list[tuple[int, bytes]], pattern: str) -> None:
    """After any rollbacks it is where it would be if there had been none; half characters wait for their other half."""
    following, tokens = PatternCursor(pattern, patient=True), list[Token]()
    for back, piece in steps:
        del tokens[len(tokens) - back :]
        tokens.append(Token(0, piece, 0, forced=False))
        fresh = [Token(0, token.data, 0, forced=False) for token in tokens]
        assert following.rows(tokens, 80, 3) == PatternCursor(pattern, patient=True).rows(fresh, 80, 3)


def test_the_mark_in_a_pattern() -> None:
    view = LiveView(Scene("", "m", 9, pattern="ab|日[0-9]{3}"))
    for position, piece in enumerate((b"\xe6", b"\x97", b"\xa5")):
        view.show(TokenChosen(position, 0, piece, 0, 0, 1, True, None), 0)
        shown = drawn(view, 90, 30)
        assert ("\x1b[7m日" in shown) == (position == 2)
    assert "\x1b[4m[0-9]" in shown
    view.show(RolledBack(0, None, (0, 0, 0), "日".encode(), 0, None, 0, 1), 0)
    assert "\x1b[4ma\x1b[0mb|\x1b[4m日" in drawn(view, 90, 30)


def test_a_long_pattern_is_shown_around_the_mark() -> None:
    view = LiveView(Scene("", "m", 9, pattern="".join(f"a{{{number}}}" for number in range(1, 200))))
    view.show(TokenChosen(0, 0, b"a" * 5000, 0, 0, 1, True, None), 0)
    rows = re.sub(r"\x1b\[[0-9;]*m", "", drawn(view, 90, 30)).split("\n")
    pattern = "".join(rows[1:4])
    assert "a{99}a{100}" in pattern  # 99 * 100 / 2 letters come before it
    assert "a{1}" not in pattern


def test_what_is_held_back_is_dimmed() -> None:
    view = LiveView(Scene("", "m", 9, words=("talk",)))
    words = [b"We", b" sing", b" or", b" ta", b"l"]
    for position, word in enumerate(words):
        watch = Watch(11 if position >= 3 else None, ("talk",) if position >= 3 else ())
        view.show(TokenChosen(position, position, word, 0, 0, 9, False, None, watch=watch), 0)
        if position < 2:
            view.show(BlockClosed(position + 1), 0)
    pieces = [piece for row in sections.text(view.moment, 80, 5) for piece in row][:-1]
    assert [text for text, style in pieces if "dim" not in style] == ["We", " sing"]
    assert [text for text, style in pieces if "underline" in style] == ["ta", "l"]
    assert "'tal' may become talk · 3 tokens held back" in plain_of(view)
    view.show(RolledBack(2, "talk", (2, 3, 4), b" or tal", 0, 0.25, 3, 2), 0)
    shown = plain_of(view)
    assert "We sing↶ or tal" in shown
    assert "took back ' or tal' · 'talk' is banned · 3 tokens from position 2" in shown
    assert "' ta' and 1 more forbidden at position 3" in shown
    view.show(BlockMoved(2, 40), 0)
    assert "40 tokens were too many to hold back: kept up to position 2" in plain_of(view)
    view.show(RolledBack(1, None, (1,), b" sing", 0, None, 1, 1), 0)  # what was kept is taken back after all
    view.show(TokenChosen(1, 1, b" hum", 0, 0, 9, False, None), 0)
    view.show(TokenChosen(2, 1, b" it", 0, 0, 9, False, None), 0)
    assert "2 tokens held back" in plain_of(view)


def test_text_from_right_to_left_moves_nothing_beside_it() -> None:
    """A mark of the other direction stands on both sides of it, in the text and in the names of tokens."""
    mark, word = "\u200e", "שלום"
    best = (Candidate(1, word.encode(), False, 0.5, 0.5),)
    view = LiveView(Scene("", "m", 9, pattern=f"{word}|x"))
    view.show(TokenChosen(0, 1, word.encode(), 0, 1, 2, False, None, 1, Outlook(best, best, 0)), 2)
    shown = plain_of(view)
    assert f"text     {mark}{word}▏{mark}" in shown
    assert f"pattern  {mark}{word}|x{mark}" in shown
    assert shown.count(f"'{mark}{word}{mark}'") == 3  # the step, before the mask, after the mask
    assert shown.count(word) == 5


def test_the_bars() -> None:
    best = (
        Candidate(1, b"no", False, 0.5, 0.0),
        Candidate(2, b"yes", False, 0.25, 0.625),
        Candidate(3, None, True, 0.15, 0.375),
    )
    view = LiveView(Scene("", "m", 9, pattern="(yes)+"))
    view.show(TokenChosen(0, 2, b"yes", 0, 1, 2, False, None, 1, Outlook(best, best[1:], 0.6)), 2)
    wide, narrow = plain_of(view), plain_of(view, 40)
    assert re.search("✗  50.0 % ░{6} +'no' +▸  62.5 % █{8}▏ +'yes'", wide)
    assert re.search("▸  25.0 % █{3}▎ +'yes' + 37.5 % █{4}▉ +⟨end⟩", wide)
    assert "after the mask, which took 60.0 %" in wide
    assert narrow.index("✗  50.0 %") < narrow.index("▸  62.5 %")  # before stands above after
    assert narrow.index("before the mask") < narrow.index("after the mask") < narrow.index("▸  62.5 %")
    assert "1 token in 2.0 s, 0.5 a second · 1 forward pass, 0 saved" in wide
    view.show(TokenChosen(1, 2, b"yes", 1, 1, 1, True, None, 1), 4)
    assert "forced, 1 of 9 allowed" in plain_of(view)
    assert "2 tokens in 4.0 s, 0.5 a second · 1 forward pass, 1 saved" in plain_of(view)


def chosen(
    position: int,
    *,
    forced: bool = False,
    drawn_with: float | None = None,
    after: float | None = None,
    removed: float = 0.0,
) -> TokenChosen:
    """A token ``x``; ``after`` and ``removed`` are what the model and the mask said, if it was asked."""
    best = () if after is None else (Candidate(7, b"x", False, after / 2, after),)
    seen = None if after is None else Outlook((), best, removed)
    return TokenChosen(position, 7, b"x", 0, 0, 9, forced, drawn_with, 1, seen)


def strip_of(view: LiveView, width: int = 100) -> list[str]:
    """The rows of the strip, without edge and label."""
    rows = plain_of(view, width).split("\n")
    return [
        row.lstrip("│╭╰ ").removeprefix("tokens").strip() for row in rows if re.search("[%?-] (likely|masked) ", row)
    ]


def test_each_token_has_its_probability_and_what_the_mask_took() -> None:
    """Eighths of a row, rounded up: a greedy choice has the model's share among the allowed tokens."""
    view = LiveView(Scene("", "m", 9, pattern="x+"))
    for position, (after, removed) in enumerate([(0.05, 0.0), (0.25, 0.6), (0.5, 0.0004), (1.0, 0.001)]):
        view.show(chosen(position, after=after, removed=removed), 0)
    assert strip_of(view) == ["100 % likely ▁▂▄█", "0.1 % masked  ▅ ▁"]
    view.show(chosen(4, forced=True), 0)
    assert strip_of(view) == ["- likely ▁▂▄█»", "- masked  ▅ ▁»"]
    view.show(chosen(5, drawn_with=0.75, after=0.1, removed=1.0), 0)
    assert strip_of(view) == ["75.0 % likely ▁▂▄█»▆", "100 % masked  ▅ ▁»█"]
    view.show(RolledBack(2, None, (7,) * 4, b"xxxx", 0, None, 2, 1), 0)
    assert strip_of(view) == ["25.0 % likely ▁▂", "60.0 % masked  ▅"]
    view.show(TokenChosen(2, 8, b"y", 0, 0, 9, False, None, 1, Outlook((), (), 0.5)), 0)  # none of the likeliest
    assert strip_of(view) == ["? likely ▁▂?", "50.0 % masked  ▅▄"]


def test_free_text_has_no_row_for_a_mask() -> None:
    view = LiveView(Scene("", "m", 9))
    view.show(chosen(0, drawn_with=0.3), 0)
    assert strip_of(view) == ["30.0 % likely ▃"]


def test_that_probabilities_are_missing_is_told() -> None:
    view = LiveView(Scene("", "m", 9, pattern="x+"))
    view.show(chosen(0), 0)
    view.show(chosen(1, forced=True), 0)
    assert strip_of(view) == []
    assert "tokens   how likely these tokens were is not told" in plain_of(view)


def test_a_long_strip_ends_at_the_last_token_and_moves_on_in_blocks() -> None:
    view = LiveView(Scene("", "m", 9))
    shown = []
    for position in range(200):
        view.show(chosen(position, drawn_with=(position % 8 + 1) / 8), 0)
        (row,) = strip_of(view)
        shown.append(row.rpartition(" ")[2])
        assert "▁▂▃▄▅▆▇█"[position % 8] == shown[-1][-1]
    assert max(map(len, shown)) < 100
    assert sum(not later.startswith(before) for before, later in pairwise(shown)) == 4


@pytest.mark.parametrize("height", range(4, 30))
def test_the_strip_takes_no_row_from_what_was_there_before(height: int) -> None:
    """All that is shown without it is shown with it."""
    view = LiveView(Scene("Well: ", "m", 9, pattern="(yes|no)+" * 20), hint="any key")
    view.show(chosen(0, after=0.5), 0)
    rows = plain_of(view, 60, height).split("\n")
    with_strip = [row for row in rows if re.search("[%?-] (likely|masked) ", row) is None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_candidates, "strip", lambda moment, width: [])
        without = plain_of(view, 60, height).split("\n")
    assert [row[2:] for row in with_strip] == [row[2:] for row in without]  # the edge is another one
    assert len(rows) - len(without) in (0, 2)


def test_the_strip_needs_no_colour_and_no_unicode() -> None:
    view = LiveView(Scene("", "m", 9, pattern="x+"))
    for position, after in enumerate([0.05, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0]):
        view.show(chosen(position, after=after, removed=1 - after), 0)
    view.show(chosen(8, forced=True), 0)
    coloured, plain = drawn(view, 100, 30), drawn(view, 100, 30, NO_COLOR="1")
    assert "\x1b[36m▁▂▄▄▅▆▇█" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", plain)
    for shown in (coloured, plain):
        rows = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert "likely ▁▂▄▄▅▆▇█»" in rows
        assert "masked █▆▅▄▄▃▂ »" in rows
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(width=90, height=20, file=file, force_terminal=True, _environ={"TERM": "dumb"}).print(view)
    file.flush()
    assert b"likely _.==+*%#>" in file.buffer.getvalue()


LISTEN = Outlook(
    (Candidate(1, b" listen", False, 0.6, 0.6), Candidate(2, b" help", False, 0.2, 0.2)),
    (Candidate(1, b" listen", False, 0.6, 0.6), Candidate(2, b" help", False, 0.2, 0.2)),
    0.0,
)


def test_why_a_banned_word_stays_allowed() -> None:
    """It is the likeliest after the mask, and another token is chosen: one line says why, also before it is tried."""
    view = LiveView(Scene("I am here to", "m", 9, words=("listen",)))
    view.show(TokenChosen(0, 2, b" help", 0, 0, 9, False, None, 1, LISTEN), 0)
    assert "' listen' stays allowed: it is taken back only if the banned word 'listen' ends there" in plain_of(view)
    view = LiveView(Scene("I am here to", "m", 9, words=("listen",)))
    view.show(TokenChosen(0, 1, b" listen", 0, 0, 9, False, None, 1, LISTEN), 0)
    assert "stays allowed" not in plain_of(view)  # it is chosen
    view.show(TokenChosen(1, 3, b".", 0, 0, 9, False, None, 2), 0)
    view.show(RolledBack(0, "listen", (1, 3), b" listen.", 0, 0.6, 1, 2085), 0)
    view.show(TokenChosen(0, 2, b" help", 0, 0, 9, False, None, 2, LISTEN), 0)
    shown = plain_of(view, 120)
    assert "' listen' stays allowed: it may still become a longer word" in shown
    assert "2,085 tokens that would end it are forbidden behind it" in shown
    view.show(TokenChosen(1, 2, b" listen", 0, 0, 9, False, None, 3, LISTEN), 0)  # elsewhere nothing was tried
    assert "2,085" not in plain_of(view, 120).partition("pos 1")[2].partition("undone")[0]


def test_what_is_taken_back_at_once_is_no_riddle() -> None:
    """Neither what is no banned word, nor what the mask forbids."""
    view = LiveView(Scene("We", "m", 9, words=("listen", "help me")))
    other = (Candidate(1, b" listening", False, 0.6, 0.6), Candidate(4, b" listen", False, 0.2, 0.0))
    view.show(TokenChosen(0, 2, b" help", 0, 0, 9, False, None, 1, Outlook(other, other, 0.2)), 0)
    assert "stays allowed" not in plain_of(view)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], ""),
        ([b"2"], "expects [0-9] or -"),
        ([b"2", b"-"], "expects x"),
        ([b"2", b"-", b"x"], "expects x or the end"),
    ],
)
def test_a_state_comes_with_what_is_expected_there(pieces: list[bytes], expected: str) -> None:
    view = LiveView(Scene("", "m", 9, pattern="[0-9]+-x+"))
    for position, piece in enumerate(pieces):
        view.show(TokenChosen(position, 0, piece, position, position + 1, 1, False, None), 0)
    assert [part for part in re.findall("expects [^·\n]*", plain_of(view)) if part.strip() != expected] == []
    assert (f"state {len(pieces) - 1} → {len(pieces)} · {expected}" in plain_of(view)) == bool(pieces)
    if len(pieces) == 3:
        view.show(RolledBack(1, None, (0, 0), b"-x", 1, None, 1, 1), 0)
        assert "state 1 · expects [0-9] or -" in plain_of(view)
        view.show(Finished(Result("", (), "complete", 0, 0, 0)), 0)
        assert "expects" not in plain_of(view)


def test_the_states_of_choices_come_with_what_is_expected_there() -> None:
    view = LiveView(Scene("", "m", 9, choices=("hot", "hotel", "cold")))
    for position, (piece, expected) in enumerate([(b"ho", "t"), (b"t", "e or the end")]):
        view.show(TokenChosen(position, 0, piece, position, position + 1, 1, False, None), 0)
        assert f"state {position} → {position + 1} · expects {expected} ·" in plain_of(view)


def test_after_forced_tokens_the_table_moves_on() -> None:
    """To the candidates of the next position where they are known; the old ones are shown no more."""
    old = (Candidate(1, b"old", False, 0.5, 0.5),)
    new = (Candidate(2, b"new", False, 0.5, 1.0), Candidate(3, b"other", False, 0.3, 0.0))
    following = TokenChosen(2, 2, b"new", 2, 3, 1, False, None, 2, Outlook(new, new[:1], 0.5))
    view = LiveView(Scene("", "m", 9, pattern="old-new"))
    view.show(TokenChosen(0, 1, b"old", 0, 1, 9, False, None, 1, Outlook(old, old, 0)), 0)
    assert "'old'" in plain_of(view).partition("pos 0")[2]
    view.show(TokenChosen(1, 7, b"-", 1, 2, 1, True, None, 1), 0)
    table = plain_of(view).partition("pos 1")[2]
    assert "forced: nothing else could stand here, so the model is not asked" in table
    assert "'old'" not in table
    version = view.version
    view.expect(following)
    assert view.version != version  # so that it is drawn
    table = plain_of(view).partition("pos 2")[2]
    assert "  100 %" in table
    assert "✗  30.0 %" in table
    assert "▸" not in table  # it is not chosen yet
    assert "'old'" not in table
    view.show(following, 0)
    assert "▸   100 %" in plain_of(view).partition("pos 2")[2]


def test_a_paced_view_shows_the_next_candidates_behind_a_forced_token() -> None:
    """The next step is there when it rests, and its candidates are shown though it is not."""
    new = (Candidate(2, b"new", False, 0.5, 1.0),)
    view = LiveView(Scene("", "m", 9, pattern="-new"))
    rests: list[str] = []
    paced = Paced(view, lambda: None, lambda: rests.append(plain_of(view)))
    paced.show(TokenChosen(0, 7, b"-", 0, 1, 1, True, None, 0), 0)
    paced.show(TokenChosen(1, 2, b"new", 1, 2, 1, False, None, 1, Outlook(new, new, 0.5)), 0)
    paced.show(Finished(Result("", (), "complete", 0, 0, 0)), 0)
    assert len(rests) == 3
    assert "1 token in" in rests[0]
    assert "'new'" in rests[0].partition("pos 1")[2]


def test_at_60_columns_before_stands_above_after() -> None:
    best = (Candidate(1, b"yes", False, 0.5, 0.5),)
    view = LiveView(Scene("", "m", 9, pattern="(yes)+"))
    view.show(TokenChosen(0, 1, b"yes", 0, 1, 2, False, None, 1, Outlook(best, best, 0.5)), 2)
    rows = plain_of(view, 60).split("\n")
    (before,) = [number for number, row in enumerate(rows) if "before the mask" in row]
    (after,) = [number for number, row in enumerate(rows) if "after the mask" in row]
    assert before < after


@pytest.mark.parametrize("height", range(4, 30))
def test_the_important_stays_where_there_is_little_room(height: int) -> None:
    best = (Candidate(1, b"yes", False, 0.5, 0.5),)
    view = LiveView(Scene("Well: ", "m", 9, pattern="(yes)+"), hint="any key")
    view.show(TokenChosen(0, 2, b"yes", 0, 1, 2, False, None, 1, Outlook(best, best, 0)), 2)
    shown = plain_of(view, 100, height)
    wanted = [
        "any key",
        "yes",
        "state 0 → 1",
        "1 token in",
        "after the mask",
        "(yes)+",
        "states   0 → 1",
        "m · 9 tokens",
    ]
    heights = [4, 4, 4, 5, 7, 8, 9, 10]  # from which on each is there
    for what, least in zip(wanted, heights, strict=True):
        # Bars are left out where there would be only their heading; a smaller thing may stand there then.
        assert (what in shown) == (height >= least) or (height, what) == (6, "(yes)+"), what


def test_each_state_is_told_without_colour() -> None:
    held = [f"{style} {sections.HELD}" for style in (*sections.CHOSEN, sections.FORCED)]
    styles = [*sections.CHOSEN, sections.FORCED, *held, f"{held[0]} {sections.OPEN}", STRUCK]
    looks = [str(Style.parse(style).without_color) for style in styles]
    assert len(set(looks)) == len(looks)


def test_a_terminal_without_unicode() -> None:
    view = LiveView(Scene("", "日", 9, pattern="日"))
    view.show(TokenChosen(0, 2, "日".encode(), 0, 1, 2, False, None), 2)
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(width=90, height=20, file=file, force_terminal=True, _environ={"TERM": "xterm"}).print(view)
    file.flush()
    assert rb"\u65e5" in file.buffer.getvalue()


def test_a_frame_does_not_jump() -> None:
    """What was a row longer once keeps its row while the size stays."""
    view = LiveView(Scene("", "m", 9, words=("x",)))
    for position in range(30):
        view.show(TokenChosen(position, 2, b" word", 0, 1, 2, False, None), 2)

    def row_below_the_text(width: int) -> int:
        return [row[2:6] for row in plain_of(view, width).split("\n")].index("step")

    before = row_below_the_text(60)
    view.show(RolledBack(1, None, (2,) * 29, b"", 0, None, 1, 1), 2)
    assert row_below_the_text(60) == before
    assert row_below_the_text(61) < before


@tried("few")
@given(st.integers(0, 10_000), st.sampled_from(["resample", "first-token", "mask"]), st.booleans())
def test_the_view_of_a_real_run(seed: int, strategy: str, guided: bool) -> None:
    """Its text is the result's, nothing of what was released is dimmed, and nothing is held back at the end."""
    vocabulary = Vocabulary([b"a", b"b", b"ab", b" ", b"\xc3", b"\xa9", b"ba ", None], end_token_ids=[7])
    model = ScriptedModel(vocabulary, random_scores(8, seed))
    index = Index(Dfa.from_regex("[abé ]{3,9}"), vocabulary) if guided else None
    view = LiveView(Scene("a", "m", 8, pattern="[abé ]{3,9}" if guided else None, words=("ab", "b")))
    released = ""
    try:
        for seconds, event in zip(
            count(),
            stream(model, "a", index=index, banned=BannedWords(["ab", "b"]), sampler=Sampler(1.0, seed), max_tokens=9,
                   strategy=strategy, observe=True),  # type: ignore[arg-type]
        ):  # fmt: skip
            view.show(event, float(seconds))
            drawn(view, 30 + seed % 80, 12)
            released += event.text if isinstance(event, TextReleased) else ""
            assert view.moment.data.decode("utf-8", "replace").startswith(released) or isinstance(event, Finished)
            assert view.moment.held_from >= len(released.encode()) - 2 * released.count("\ufffd")
            if isinstance(event, Finished):
                assert view.moment.data.decode("utf-8", "replace") == event.result.text
                assert view.moment.forward_passes == event.result.forward_passes
                assert view.moment.forced == event.result.forced_tokens
                assert view.moment.rollbacks == len(event.result.rollbacks)
    except SfgenError:
        pass  # nothing clean was left


def test_one_thread_may_draw_while_another_one_shows() -> None:
    view = LiveView(Scene("x", "m", 9, pattern="(abc|[a-z])*", words=("x",)))
    ended, failed = threading.Event(), list[BaseException]()

    def draw() -> None:
        try:
            while not ended.is_set():
                drawn(view, 80, 20)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=draw)
    thread.start()
    generator = np.random.default_rng(1)
    length = 0
    for _ in range(3000):
        view.show(TokenChosen(length, 1, b"abc", length, length + 1, 3, False, None), 1)
        length += 1
        if length > 5 and generator.random() < 0.2:
            length -= 4
            view.show(RolledBack(length, "x", (1,) * 4, b"abc" * 4, 0, None, length, 1), 1)
    ended.set()
    thread.join()
    assert not failed
    assert view.moment.data == b"abc" * length


def test_what_is_told_of_a_moment_is_cheap_to_know() -> None:
    """The text is not copied at each event."""
    moment = Moment(Scene("", "m", 9))
    for position in range(5):
        moment.take(TokenChosen(position, 1, b"ab", 0, 0, 3, position % 2 == 0, None), float(position))
    assert [token.offset for token in moment.tokens] == [0, 2, 4, 6, 8]
    assert (moment.forced, moment.length, moment.offset(2), moment.offset(9)) == (3, 10, 4, 10)
    moment.take(RolledBack(1, None, (1,) * 4, b"ab" * 4, 0, None, 1, 1), 3.0)
    assert (moment.forced, moment.length, moment.data, moment.seconds) == (1, 2, b"ab", 4.0)


def test_rows_that_a_terminal_breaks_anew() -> None:
    """Of four rows, at 10 columns: 3, 10, 11 and 31 columns make 1, 1, 2 and 4 rows."""
    assert rows_more([3, 10, 11, 31, 0], 10) == 4
    assert rows_more([3, 9], 10) == 0


@given(st.lists(data, max_size=8))
def test_what_is_shown_can_be_read_back(parts: list[bytes]) -> None:
    """Escapes and all, no piece vanishes, and the columns are counted as a terminal counts them, or higher."""
    pieces = visible(decoded([(part, str(number)) for number, part in enumerate(parts)]))
    shown = "".join(text for text, _ in pieces)
    assert columns(shown.replace("\n", "")) >= sum(wcwidth(character) for character in shown if character != "\n")
    plain = [part for part in b"".join(parts).decode("utf-8", "ignore") if part.isascii() and part.isprintable()]
    rest = iter(shown)
    assert all(character in rest for character in plain)


def plain_of(view: LiveView, width: int = 100, height: int = 30) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", drawn(view, width, height))
