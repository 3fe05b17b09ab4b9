"""``replay --html``: the data of a page against the events of its runs, and the page in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.support.command.browser import Browser
from tests.support.pages import step_of, text_of, texts_at_steps
from tests.support.running.installed import needs
from tests.support.running.tried import tried
from tests.support.traces import TRACES, Run, ban_run, long_run, old_trace, recordings_of, runs

from sfgen import Event, Finished, Result, RolledBack, TextReleased, TokenChosen
from sfgen.decoding import Candidate, Outlook
from sfgen.trace import Recording, Scene
from sfgen_cli.page.page import BEGINNING, page

Sfgen = Callable[..., Any]
EVIL = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "<!--<script>", "&lt;b&gt;", "{{run}}"]


# ---- the data --------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page, and what stands in its scripts."""

    def __init__(self, written: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.feed(written)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"]:
            self.scripts[-1] += data


def data_of(written: str) -> list[dict[str, Any]]:
    """The samples in a page."""
    found = json.loads(Elements(written).scripts[0])["samples"]
    assert isinstance(found, list)
    return found


def text_at(sample: dict[str, Any], step: int) -> str:
    """The text that the data of a page has after a step."""
    tip = node = sample["steps"]["node"][step]
    nodes, pieces = sample["tried"], []
    while node:
        pieces.append(nodes["pieces"][node])
        node = nodes["parents"][node]
    half = nodes["halves"].get(str(tip), "")
    return "".join(reversed(pieces)) + ("\ufffd" if half else "")


@tried("some")
@given(runs())
def test_any_run_makes_a_page_with_its_text_at_every_step(run: Run) -> None:
    (recording,) = recordings_of(run)
    written = page([recording])
    assert written.encode().startswith(BEGINNING)
    elements = Elements(written)
    assert elements.tags.count("script") == 2
    assert not {"img", "link", "iframe", "object"} & set(elements.tags)
    (sample,) = data_of(written)
    expected = [data.decode("utf-8", "replace") for data in texts_at_steps(recording)]
    assert [text_at(sample, step) for step in range(len(expected))] == expected
    assert {len(values) for values in sample["steps"].values()} == {len(expected)}
    for name in ("says", "state", "expected", "ban", "why"):
        assert all(0 <= number < len(sample["strings"]) for number in sample["steps"][name])
    assert [rollback["step"] for rollback in sample["rollbacks"]] == [
        step for step, kind in enumerate(sample["steps"]["kind"]) if kind == "back"
    ]


def test_the_figures_of_the_last_step_are_those_of_the_result() -> None:
    (recording,) = recordings_of(ban_run())
    result = recording.result
    assert result is not None
    (sample,) = data_of(page([recording]))
    last = {name: values[-1] for name, values in sample["steps"].items()}
    assert (last["passes"], last["saved"]) == (result.forward_passes, result.forced_tokens)
    assert last["rollbacks"] == len(result.rollbacks) > 0
    assert last["undone"] == sum(len(rollback.token_ids) for rollback in result.rollbacks)
    assert sample["end"]["text"] == result.text


def test_a_page_grows_as_its_run_does() -> None:
    """Ten times the steps make at most twelve times the page beyond what every page has."""
    sizes = [len(page(recordings_of(long_run(steps)))) for steps in (0, 200, 2000)]
    assert sizes[2] - sizes[0] < 12 * (sizes[1] - sizes[0])


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def test_the_page_is_written_and_told(sfgen: Sfgen, tmp_path: Path) -> None:
    trace, out = TRACES / "pattern.jsonl", tmp_path / "run.html"
    for _ in range(2):  # a page is replaced
        done = sfgen("replay", str(trace), "--html", str(out))
        assert (done.code, done.out, done.err) == (0, f"{out}\n", "")
    piped = sfgen("replay", str(trace), "--html", "-")
    assert piped.out == out.read_text(encoding="utf-8")
    assert [sample["number"] for sample in data_of(piped.out)] == [0, 1]
    one = sfgen("replay", str(trace), "--html", "-", "--sample", "1")
    assert [sample["number"] for sample in data_of(one.out)] == [1]


def test_only_pages_are_replaced(sfgen: Sfgen, tmp_path: Path) -> None:
    out = tmp_path / "other.html"
    out.write_text("<!doctype html>\n<p>a letter")
    done = sfgen("replay", str(TRACES / "ban.jsonl"), "--html", str(out))
    assert done.code == 1
    assert done.err.startswith(f"sfgen: {out} holds something else than a page, and is not replaced\n")
    assert out.read_text() == "<!doctype html>\n<p>a letter"


# ---- the page in a browser -------------------------------------------------------------------------------------------


LAST = "#step=99999"


@needs("chromium")
def test_every_step_shows_its_text_forwards_and_backwards(shown: Callable[..., Browser]) -> None:
    (recording,) = recordings_of(ban_run())
    expected = [data.decode() for data in texts_at_steps(recording)]
    assert len(set(expected)) > 10
    browser = shown([recording], "#step=0")
    for step, text in enumerate(expected):
        assert (step_of(browser), text_of(browser)) == (step, text)
        browser.press("ArrowRight")
    for step, text in reversed(list(enumerate(expected))):
        assert (step_of(browser), text_of(browser)) == (step, text)
        browser.press("ArrowLeft")


@needs("chromium")
@pytest.mark.parametrize("name", sorted(path.stem for path in TRACES.iterdir()))
def test_the_last_step_shows_what_the_record_says(name: str, shown: Callable[..., Browser]) -> None:
    recording = old_trace(name)[0]
    browser = shown([recording], LAST)
    whole = recording.text.removesuffix("\n") if recording.result is not None else recording.text
    ends = browser.evaluate("[...document.querySelectorAll('.end pre')].map(end => end.textContent)")
    if recording.failure is not None:
        assert recording.failure.message in browser.text(".end")
    elif name in ("thought", "odd"):  # where the tokens write more than the text
        assert ends == [whole]
    else:
        assert (text_of(browser), ends) == (whole, [])


@needs("chromium")
def test_keys_buttons_the_slider_and_tokens_go_from_step_to_step(shown: Callable[..., Browser]) -> None:
    (recording,) = recordings_of(ban_run())
    last = len(texts_at_steps(recording)) - 1
    browser = shown([recording])
    assert step_of(browser) == 1  # the beginning is what is seen first
    for key, step in [
        ("Home", 0),
        ("PageDown", 10),
        ("ArrowRight", 11),
        ("PageUp", 1),
        ("ArrowLeft", 0),
        ("End", last),
    ]:
        browser.press(key)
        assert step_of(browser) == step, key
    for button, step in [("first", 0), ("next", 1), ("last", last), ("previous", last - 1)]:
        browser.click(f"#{button}")
        assert step_of(browser) == step, button
    browser.click("#step", across=0.5)
    assert abs(step_of(browser) - last / 2) <= 2
    assert browser.text("#count") == f"step {step_of(browser)} of {last}"
    written = browser.evaluate("[...document.querySelectorAll('.token[data-step]')].map(token => token.dataset.step)")
    browser.click(".token[data-step]:nth-child(3)")
    assert step_of(browser) == int(written[2])
    assert len(browser.evaluate("[...document.querySelectorAll('.token[data-step]')].map(token => 0)")) == 3
    browser.press("r")
    backs = [step for step, kind in enumerate(data_of(page([recording]))[0]["steps"]["kind"]) if kind == "back"]
    assert step_of(browser) == backs[0]


@needs("chromium")
def test_space_plays_to_the_end_and_rests(shown: Callable[..., Browser]) -> None:
    browser = shown(recordings_of(ban_run()), "#step=0")
    browser.evaluate("document.getElementById('pace').value = '100'")
    browser.press(" ")
    assert browser.evaluate("document.getElementById('play').getAttribute('aria-label')") == "Pause"
    assert browser.evaluate("document.getElementById('said').getAttribute('aria-live')") == "off"
    browser.wait_for("document.getElementById('play').getAttribute('aria-label') === 'Play'")
    assert step_of(browser) == int(browser.evaluate("document.getElementById('step').max"))
    browser.evaluate("document.getElementById('pace').value = '2'")
    browser.press(" ")  # from the beginning again
    assert step_of(browser) == 0
    browser.press(" ")
    assert browser.evaluate("document.getElementById('play').getAttribute('aria-label')") == "Play"


@needs("chromium")
def test_what_is_generated_stays_text(shown: Callable[..., Browser]) -> None:
    tokens = [TokenChosen(place, 1, text.encode(), place, place + 1, 1, False, None, outlook=outlook(text))
              for place, text in enumerate(EVIL)]  # fmt: skip
    back = RolledBack(4, EVIL[1], (1,), EVIL[4].encode(), 4, None, 4, 1)
    whole = "".join(EVIL)
    scene = Scene(EVIL[0], EVIL[1], 9, pattern="(?:.|x)+" + re.escape(EVIL[0]), words=(EVIL[0], EVIL[1]))
    result = Result(whole, (1,) * 5, "complete", 1, 5, 0)
    events: list[Any] = [*tokens, back, tokens[4], Finished(result)]
    browser = shown([Recording(0, scene, [(0.0, event) for event in events])], LAST)
    assert text_of(browser) == whole
    assert browser.text(".prompt") == EVIL[0]
    assert browser.evaluate("document.scripts.length") == 2
    assert browser.evaluate("document.images.length") == 0
    for step in range(len(events) + 1):
        browser.evaluate(f"location.hash = '#step={step}'")
    assert browser.evaluate("document.querySelectorAll('main script, main img').length") == 0


def outlook(text: str) -> Outlook:
    best = (Candidate(1, text.encode(), False, 0.5, 0.5), Candidate(2, b"other", False, 0.25, 0.0))
    return Outlook(best, best[:1], 0.5)


@needs("chromium")
def test_no_other_script_runs(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    path.write_text(page(old_trace("ban")), encoding="utf-8")
    browser.open(path)
    browser.evaluate(
        "{ const script = document.createElement('script'); script.textContent = 'window.ran = 1';"
        " document.body.append(script); }"
    )
    assert browser.evaluate("window.ran === undefined")
    assert "Content Security Policy" in " ".join(browser.complaints)


@needs("chromium")
def test_ten_thousand_steps_can_be_used(shown: Callable[..., Browser]) -> None:
    (recording,) = recordings_of(long_run(10_000))
    browser = shown([recording], LAST)
    expected = texts_at_steps(recording)
    assert len(expected) == 10_002
    assert text_of(browser) == expected[-1].decode()
    for key, step in [("ArrowLeft", 10_000), ("PageUp", 9_990), ("Home", 0), ("ArrowRight", 1)]:
        browser.press(key)
        assert (step_of(browser), text_of(browser)) == (step, expected[step].decode())
    browser.evaluate("location.hash = '#step=5000'")
    browser.wait_for("document.getElementById('step').value === '5000'")
    assert text_of(browser) == expected[5000].decode()


@needs("chromium")
def test_several_samples_stand_side_by_side(shown: Callable[..., Browser]) -> None:
    recordings = old_trace("pattern")
    browser = shown(recordings, LAST)
    assert text_of(browser) == "".join(recording.text.removesuffix("\n") for recording in recordings)
    tops = "[...document.querySelectorAll('.sample')].map(sample => sample.getBoundingClientRect().top)"
    assert len(set(browser.evaluate(tops))) == 1
    browser.evaluate("location.hash = '#step=1'")
    browser.wait_for("document.getElementById('step').value === '1'")
    assert text_of(browser) == "cy"
    browser.click("#chosen label:nth-of-type(1) input")
    assert browser.evaluate("[...document.querySelectorAll('.sample')].map(sample => sample.hidden)") == [True, False]


@needs("chromium")
def test_rollbacks_are_a_tree_of_tried_continuations(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("ban"), LAST)
    stays = browser.evaluate(
        "[...document.querySelectorAll('.tree .stays > .branch')].map(branch => branch.textContent)"
    )
    gone = browser.evaluate("[...document.querySelectorAll('.tree .gone > .branch')].map(branch => branch.textContent)")
    assert "".join(stays).replace("↵", "\n") == old_trace("ban")[0].text.removesuffix("\n")
    assert gone == [" listen.", " talk"]
    inside = "document.querySelector('.tree > ul > .stays > ul > .gone > .branch').textContent"
    assert browser.evaluate(inside) == " listen."
    browser.click(".tree .gone .why")
    assert "took back ' listen.'" in browser.text(".said")
    assert browser.text(".text .struck") == "↶ listen."
    assert "'listen' is banned" in browser.text("#said")
    assert browser.text(".tree [aria-current]") == stays[0]
    browser.press("ArrowRight")
    assert browser.text(".candidates .note") == (
        "' listen' stays allowed: it may still become a longer word; "
        "2,085 tokens that would end it are forbidden behind it"
    )
    browser.press("Home")
    assert len(browser.evaluate("[...document.querySelectorAll('.tree .later')].map(item => 0)")) == 5


@needs("chromium")
def test_branches_within_branches(shown: Callable[..., Browser]) -> None:
    """a, then b c (back to b) d (back to a), then e: c and d are beside each other behind b, and all that beside e."""

    def token(place: int, text: str) -> TokenChosen:
        return TokenChosen(place, ord(text), text.encode(), 0, 0, 9, False, None)

    def back(place: int, texts: str) -> RolledBack:
        return RolledBack(place, "x", tuple(map(ord, texts)), texts.encode(), 0, None, place, 1)

    events: list[Event] = [
        token(0, "a"),
        token(1, "b"),
        token(2, "c"),
        back(2, "c"),
        token(2, "d"),
        back(1, "bd"),
        token(1, "e"),
    ]
    browser = shown([Recording(0, Scene("", "m", 999, words=("x",)), [(0.0, event) for event in events])])
    outline = """(function outline(list) {
      return [...list.children].map((item) => {
        const inner = [...item.children].find((child) => child.tagName === 'UL');
        return [item.querySelector('.branch').textContent, inner ? outline(inner) : []];
      });
    })(document.querySelector('.tree > ul'))"""
    assert browser.evaluate(outline) == [["a", [["b", [["c", []], ["d", []]]]]], ["e", []]]


@needs("chromium")
def test_forced_tokens_states_and_candidates_are_shown(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("schema"), "#step=4")
    forced = browser.evaluate("[...document.querySelectorAll('.token[data-step]')].map(token => token.className)")
    assert [" forced" in name for name in forced] == [True] * 4
    assert browser.text(".where") == "at$.nameexpectsa string"
    assert "position 4" in browser.text(".candidates h3")  # of the token that comes next
    assert browser.evaluate("document.querySelectorAll('.candidates .chosen').length") == 0
    browser.press("ArrowRight")
    assert browser.text(".candidates .chosen .name") == "'G'"
    assert browser.evaluate("document.querySelectorAll('.candidates table').length") == 2
    browser.press("Home")
    browser.press("ArrowRight")
    assert browser.text(".candidates").endswith("so the model was not asked.")
    browser.press("End")
    figures = browser.evaluate("[...document.querySelectorAll('.figures dd')].map(figure => figure.textContent)")
    assert figures[:4] == ["15", "6", "9", "0"]


@needs("chromium")
def test_the_mark_moves_through_the_pattern(shown: Callable[..., Browser]) -> None:
    browser = shown(old_trace("pattern")[:1], "#step=0")
    marked = """['read', 'next'].map((kind) =>
      [...document.querySelectorAll('.pattern .' + kind)].map((mark) => mark.textContent))"""
    assert browser.evaluate(marked) == [[], ["[a-z]"]]
    browser.press("End")
    assert browser.evaluate(marked) == [["\\."], []]
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")
    assert browser.evaluate(marked) == [["聊"], ["\\."]]
    assert browser.text(".where") == "states0 → 1 → 2 → 3 → 8 → 9 → 6expects\\."


@needs("chromium")
def test_a_stop_string_is_no_part_of_the_text(shown: Callable[..., Browser]) -> None:
    events: list[Any] = [
        TokenChosen(0, 1, b"yes", 0, 0, 9, False, None),
        TokenChosen(1, 2, b" ## no", 0, 0, 9, False, None),
        TextReleased("yes "),
        Finished(Result("yes ", (1, 2), "stop", 1, 2, 0)),
    ]
    browser = shown([Recording(0, Scene("", "m", 9), [(0.0, event) for event in events])], LAST)
    assert browser.text(".end pre") == "yes "
    browser.press("ArrowLeft")
    assert browser.evaluate("document.querySelectorAll('.end pre').length") == 0
