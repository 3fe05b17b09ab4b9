"""The page of ``replay --html`` by keys alone, by ear, and for whoever sees little; each token's probability."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from tests.support.command.browser import Browser
from tests.support.pages import check_looks, faint_texts, heard, step_of
from tests.support.running.installed import needs
from tests.support.traces import TRACES, long_run, old_trace, recordings_of

from sfgen import Event, Finished, Result, TokenChosen
from sfgen.decoding import Candidate, Outlook
from sfgen.trace import Recording, Scene

CELLS = "[...document.querySelectorAll('.cell')]"
STANDING = f"{CELLS}.map((cell) => !cell.matches('.gone'))"
FOCUS = "document.activeElement.getAttribute('aria-label')"


def told_in(name: str) -> list[tuple[str, str, float | None, float | None]]:
    """Of each token of the first sample of a trace: kind, text, probability, and what the mask took there."""
    found = []
    for line in (TRACES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["sample"] != 0 or event.get("event") != "token_chosen":
            continue
        outlook = event.get("outlook") or {"after": [], "removed": None}
        of_model = [each["after"] for each in outlook["after"] if each["token_id"] == event["token_id"]]
        share = event["probability"] if event["probability"] is not None else (of_model or [None])[0]
        kind = "forced" if event["forced"] else "chosen"
        found.append((kind, event["data"], share, outlook["removed"]))
    return found


def in_percent(share: float) -> str:
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    return f"{share:.1%}".replace("%", " %") if share >= 0.0005 else "<0.1 %"


# ---- the probability of each token -----------------------------------------------------------------------------------


@needs("chromium")
@pytest.mark.parametrize("name", ["schema", "pattern", "ban", "bias"])
def test_each_token_has_the_probability_and_the_masked_share_of_its_trace(
    name: str, shown: Callable[..., Browser]
) -> None:
    browser = shown(old_trace(name)[:1])
    expected = told_in(name)
    labels = browser.evaluate(
        f"{CELLS}.map((cell) => cell.getAttribute('aria-label').replace(', taken back later', ''))"
    )
    heights = browser.evaluate(
        f"{CELLS}.map((cell) => ['up', 'down'].map((name) => {{ "
        "const column = cell.querySelector(`.${name} span`); return column && parseFloat(column.style.height); }))"
    )
    assert len(labels) == len(expected)
    for label, columns, (kind, text, share, removed) in zip(labels, heights, expected, strict=True):
        words = {"\n": "a newline", " ": "a blank"}.get(text, "'{}'".format(text.replace("\n", "\\n")))
        if kind == "forced":
            assert label == f"{words}: jump-forward, nothing else could stand there"
            assert columns == [None, None]
        else:
            assert share is not None
            assert removed is not None
            assert label == f"{words}: probability {in_percent(share)}, the mask took {in_percent(removed)}"
            assert columns == pytest.approx([100 * share, 100 * removed], rel=1e-3, abs=1e-3)
    assert any(removed and removed > 0.5 for *_, removed in expected) or name in ("bias", "pattern")
    if name == "schema":
        assert browser.evaluate("document.querySelectorAll('.tree').length") == 0


@needs("chromium")
def test_a_run_with_rollbacks_has_the_tokens_that_were_taken_back_too(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("ban"))
    taken_back = [index for index, stands in enumerate(browser.evaluate(STANDING)) if not stands]
    expected = told_in("ban")
    assert [expected[index][1] for index in taken_back] == [" listen", ".", " talk"]
    labels = browser.evaluate(f"{CELLS}.map((cell) => cell.getAttribute('aria-label'))")
    assert [label.endswith(", taken back later") for label in labels] == [
        index in taken_back for index in range(len(labels))
    ]
    below = browser.evaluate(
        "document.querySelector('.strip').compareDocumentPosition(document.querySelector('.tree'))"
    )
    assert below == 4  # the tree of tried continuations follows


@needs("chromium")
def test_a_table_has_the_same_figures(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("schema"))
    browser.click(".strip summary")
    browser.wait_for("document.querySelector('.strip td') !== null")
    rows = browser.evaluate(
        "[...document.querySelectorAll('.strip tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert rows[0] == ["token", "probability", "the mask took", "step"]
    assert rows[1:] == [
        [
            text,
            *(
                ["jump-forward"] * 2
                if kind == "forced" or share is None or removed is None
                else [in_percent(share), in_percent(removed)]
            ),
            str(number),
        ]
        for number, (kind, text, share, removed) in enumerate(told_in("schema"), 1)
    ]


def without_probabilities(recording: Recording) -> Recording:
    """As a version of sfgen would have written it that told none."""

    def plain(event: Event) -> Event:
        return replace(event, outlook=None, probability=None) if isinstance(event, TokenChosen) else event

    return replace(recording, events=[(seconds, plain(event)) for seconds, event in recording.events])


@needs("chromium")
def test_that_a_trace_has_no_probabilities_is_told(shown: Callable[..., Browser]) -> None:
    hidden = "['.cells', '.told', '.strip details'].map((name) => !document.querySelector(name).checkVisibility())"
    for recording, note in [
        (without_probabilities(old_trace("schema")[0]), "This trace does not tell how likely its tokens were."),
        (old_trace("exact")[0], "The text was drawn as a whole: its tokens have no probabilities of their own."),
    ]:
        browser = shown([recording], "#step=99")
        assert browser.text(".strip .note") == note
        assert browser.evaluate(hidden) == [True] * 3
    forced: list[Event] = [
        TokenChosen(0, 1, b"a", 0, 1, 1, True, None),
        Finished(Result("a", (1,), "complete", 1, 0, 1)),
    ]
    browser = shown([Recording(0, Scene("", "m", 9, pattern="a"), [(0.0, event) for event in forced])])
    assert browser.evaluate(hidden) == [False] * 3  # nothing was left to be likely


@needs("chromium")
def test_a_token_that_is_none_of_the_likeliest_is_said_to_be_untold(shown: Callable[..., Browser]) -> None:
    other = Outlook((), (Candidate(2, b"b", False, 0.5, 1.0),), 0.5)
    events = [
        TokenChosen(0, 1, b"a", 0, 0, 9, False, None, outlook=other),
        TokenChosen(1, 2, b"b", 0, 0, 9, False, None, outlook=other),
    ]
    browser = shown([Recording(0, Scene("", "m", 9, pattern="ab"), [(0.0, event) for event in events])])
    labels = browser.evaluate(f"{CELLS}.map((cell) => cell.getAttribute('aria-label'))")
    assert labels[0] == "'a': its probability is not told, the mask took 50.0 %"
    assert labels[1] == "'b': probability 100 %, the mask took 50.0 %"
    assert browser.text(".cell .up") == "?"


@needs("chromium")
def test_free_text_has_nothing_of_a_mask(shown: Callable[..., Browser]) -> None:
    events = [TokenChosen(0, 1, "聊".encode()[:1], 0, 0, 9, False, 0.25), TokenChosen(1, 1, "聊".encode()[1:], 0, 0, 9, False, 0.5)]  # fmt: skip  # noqa: E501
    browser = shown([Recording(0, Scene("", "m", 9), [(0.0, event) for event in events])])
    labels = browser.evaluate(f"{CELLS}.map((cell) => cell.getAttribute('aria-label'))")
    assert labels == ["a part of a character: probability 25.0 %", "'聊': probability 50.0 %"]
    assert browser.evaluate("document.querySelectorAll('.cell .down').length") == 0
    assert "mask" not in browser.text(".strip")


# ---- by keys ---------------------------------------------------------------------------------------------------------


def chosen_cell(browser: Browser) -> int | None:
    """The cell that is selected, if one is; there is always exactly one that Tab goes to."""
    assert browser.evaluate(f"{CELLS}.filter((cell) => cell.tabIndex === 0).length") == 1
    selected = browser.evaluate(f"{CELLS}.flatMap((cell, at) => cell.ariaSelected === 'true' ? [at] : [])")
    assert len(selected) < 2
    return selected[0] if selected else None


@needs("chromium")
def test_a_click_and_the_arrow_keys_go_to_the_step_of_a_token(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("schema"))
    assert (step_of(browser), chosen_cell(browser)) == (1, 0)
    browser.click(".cell:nth-child(6)")
    assert (step_of(browser), chosen_cell(browser)) == (6, 5)
    assert browser.text(".told") == browser.evaluate(FOCUS) == f"'erald': probability {in_percent(told_in('schema')[5][2] or 0)}, the mask took {in_percent(told_in('schema')[5][3] or 0)}"  # fmt: skip  # noqa: E501
    for key, step, cell in [("ArrowRight", 7, 6), ("ArrowLeft", 6, 5), ("End", 16, 14), ("Home", 0, None)]:
        browser.press(key)
        assert (step_of(browser), chosen_cell(browser)) == (step, cell), key
        assert browser.evaluate("document.activeElement.dataset.at") == str(cell or 0)
    later = browser.evaluate(f"{CELLS}.map((cell) => cell.matches('.later'))")
    assert later == [True] * 15


@needs("chromium")
def test_tab_reaches_the_tokens_and_leaves_them(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("schema"), "#step=6")
    seen = []
    for _ in range(20):
        browser.press("Tab")
        seen.append(browser.evaluate("document.activeElement.id || document.activeElement.className.split(' ')[0]"))
        assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto")
        if seen[-1] == "pace":
            break
    assert [name for name, _ in groupby(seen)] == [
        *("", "text", "cell", "", "step", "first", "previous", "play", "next", "last", "pace")
    ]
    assert seen.count("cell") == 1


@needs("chromium")
def test_up_and_down_go_to_the_row_above_and_below(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("ban"), "#step=3")
    browser.screen(360)
    places = browser.evaluate(f"{CELLS}.map((cell) => [cell.offsetTop, cell.offsetLeft])")
    tops = sorted({top for top, _ in places})
    assert len(tops) > 2
    browser.evaluate(f"{CELLS}[2].focus()")
    browser.press("ArrowDown")
    below = [place for place in places if place[0] == tops[1]]
    cell = chosen_cell(browser)
    assert cell is not None
    assert places[cell] == min(below, key=lambda place: abs(place[1] - places[2][1]))
    browser.press("ArrowDown")
    cell = chosen_cell(browser)
    assert cell is not None
    assert places[cell][0] == tops[2]
    browser.press("ArrowUp")
    browser.press("ArrowUp")
    cell = chosen_cell(browser)
    assert cell is not None
    assert places[cell][0] == tops[0]
    browser.press("ArrowUp")  # the first row has none above
    assert step_of(browser) in (1, 2, 3)


@needs("chromium")
def test_of_a_long_run_the_tokens_around_the_step_are_drawn(shown: Callable[..., Browser]) -> None:
    (recording,) = recordings_of(long_run(3000))
    count = sum(isinstance(event, TokenChosen) for _, event in recording.events)
    browser = shown([recording])
    for key, first in [("", 0), ("End", (count - 1) // 500 * 500), ("Home", 0)]:
        if key:
            browser.press(key)
        positions = browser.evaluate(f"{CELLS}.map((cell) => Number(cell.ariaPosInSet))")
        assert positions[0] <= first + 500
        assert len(positions) <= 500
        assert positions == list(range(positions[0], positions[0] + len(positions)))
        assert set(browser.evaluate(f"{CELLS}.map((cell) => Number(cell.ariaSetSize))")) == {count}
        assert (positions[0] == 1) == (key != "End")
        chosen_cell(browser)
    assert "500 tokens are shown at a time" in browser.text(".strip .note")


@needs("chromium")
def test_it_opens_at_the_beginning(shown: Callable[..., Browser]) -> None:
    browser = shown(recordings_of(long_run(3000)))
    assert step_of(browser) == 1
    assert browser.evaluate("[scrollY, document.querySelector('.text').scrollTop, document.querySelector('.cells').scrollTop]") == [0, 0, 0]  # fmt: skip  # noqa: E501
    assert len(browser.evaluate("[...document.querySelectorAll('.token[data-step]')].map((token) => 0)")) == 1
    browser = shown(old_trace("schema"), "#step=5")  # a link to a step goes there
    assert step_of(browser) == 5


# ---- by ear ----------------------------------------------------------------------------------------------------------


@needs("chromium")
def test_each_step_is_said_in_words(shown: Callable[..., Browser]) -> None:
    """Its token, probability and masked share, or what was taken back and why; while it is played nothing is said."""
    browser = shown(old_trace("ban"), "#step=5")
    labels = browser.evaluate(f"{CELLS}.map((cell) => cell.ariaLabel)")
    assert browser.text("#said") == labels[4]
    assert "probability 83.4 %, the mask took <0.1 %" in labels[4]
    (rollback,) = [step for step, said in enumerate(browser.evaluate("timeline.panels[0].steps.kind")) if said == "back"][:1]  # fmt: skip  # noqa: E501
    browser.evaluate(f"timeline.go({rollback})")
    assert browser.text("#said").startswith("rollback: 1 took back ' listen.', 'listen' is banned, 2 tokens from position 5")  # fmt: skip  # noqa: E501
    browser.press("Home")
    assert browser.text("#said") == "before the first step"
    live = [node["live"] for role, _, node in heard(browser) if role == "status" and "live" in node]
    assert live == ["polite"]  # the count beside the slider says nothing by itself
    assert browser.evaluate("byId('count').ariaLive") == "off"


@needs("chromium")
def test_what_has_the_focus_is_not_said_twice(shown: Callable[..., Browser]) -> None:
    """A screen reader names the token that gets the focus; a rollback is said, since it is no token."""
    browser = shown(old_trace("ban"), "#step=5")
    browser.evaluate(f"{CELLS}[4].focus()")
    kinds = browser.evaluate("timeline.panels[0].steps.kind")
    for step in range(6, 12):
        browser.press("ArrowRight")
        assert browser.evaluate("document.activeElement.className").startswith("cell")
        assert (browser.text("#said") == "") == (kinds[step] == "token"), step
    assert "back" in kinds[6:12]


@needs("chromium")
def test_several_samples_are_said_one_after_the_other(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("pattern"), "#step=1")
    said = browser.text("#said")
    firsts = browser.evaluate("[...document.querySelectorAll('.cells')].map((list) => list.firstChild.ariaLabel)")
    assert said == f"Sample 0: {firsts[0]} Sample 1: {firsts[1]}"
    regions = [name for role, name, _ in heard(browser) if role == "region"]
    assert len(regions) == len(set(regions))


@needs("chromium")
def test_it_can_be_used_without_seeing_it(shown: Callable[..., Browser]) -> None:
    """Landmarks, headings in their order, and a name for whatever can be pressed."""
    browser = shown(old_trace("ban"), "#step=3")
    nodes = heard(browser)
    landmarks = [(role, name) for role, name, _ in nodes if role in ("banner", "main", "region", "navigation")]
    assert landmarks == [
        ("banner", ""),
        ("main", ""),
        *(("region", f"{name}, sample 0") for name in ("Candidates", "Probabilities", "Tried continuations")),
        ("region", "Timeline"),
    ]
    headings = [(properties["level"], name) for role, name, properties in nodes if role == "heading"]
    assert headings == [
        (1, "A run of sfgen, step by step"),
        (2, "Can we talk?"),
        (3, "Text"),
        (3, "Candidates at position 2"),
        (3, "Probability of each token"),
        (3, "Tried continuations"),
        (2, "Timeline"),
    ]
    used = ("button", "slider", "checkbox", "combobox", "article", "listbox", "option", "table", "DisclosureTriangle")
    named = [(role, name) for role, name, _ in nodes if role in used]
    assert all(name for _, name in named)
    assert {("slider", "Step"), ("button", "Step on"), ("article", "Sample 0"), ("listbox", "Probability of each token")} <= set(named)  # fmt: skip  # noqa: E501
    options = [(name, properties["selected"]) for role, name, properties in nodes if role == "option"]
    assert [name for name, is_selected in options[:17] if is_selected] == [options[2][0]]
    said = browser.text("#said")
    browser.press("ArrowRight")
    assert browser.text("#said") != said
    assert browser.evaluate("document.getElementById('step').getAttribute('aria-valuetext')") == "step 4 of 20"
    assert browser.evaluate("document.documentElement.lang") == "en"


# ---- for whoever sees little -----------------------------------------------------------------------------------------


@needs("chromium")
@pytest.mark.parametrize("name", ["ban", "schema", "pattern", "exact", "failed", "thought"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_narrow_screen_and_is_read_in_light_and_dark(
    name: str, dark: bool, shown: Callable[..., Browser]
) -> None:
    browser = shown(old_trace(name))
    browser.screen(360, 800, dark=dark, still=True)
    browser.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    for step in range(int(browser.evaluate("byId('step').max")) + 1):
        browser.evaluate(f"timeline.go({step})")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 360
        assert faint_texts(browser) == []
    check_looks(browser, "document.body", dark=dark)


@needs("chromium")
def test_no_mark_is_a_colour_alone(shown: Callable[..., Browser]) -> None:
    def style(selector: str, name: str) -> Any:
        return browser.evaluate(f"getComputedStyle(document.querySelector({json.dumps(selector)})).{name}")

    browser = shown(old_trace("ban"), "#step=6")
    assert style(".cell.gone .piece", "textDecorationLine") == "line-through"
    assert "gradient" in style(".cell .down span", "backgroundImage")
    assert style(".cell .up span", "backgroundImage") == "none"
    assert style(".token.held", "fontStyle") == "italic"
    assert style('.cell[aria-selected="true"]', "outlineStyle") == "solid"
    browser = shown(old_trace("schema"), "#step=6")
    assert browser.text(".cell.forced .up") == "»"
    assert "»: jump-forward" in browser.text(".strip .note")
    for width in (360, 1280):
        browser.screen(width)
        sizes = browser.evaluate(f"{CELLS}.map((cell) => [cell.offsetWidth, cell.offsetHeight])")
        assert all(across >= 24 and down >= 24 for across, down in sizes)
