"""The page at ``/`` in a real browser: what it shows as text is what the server's text is, step by step."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from tests.serve.conftest import Running
from tests.support.command.browser import Browser
from tests.support.models.gated import Gated
from tests.support.models.scripted import preferring
from tests.support.pages import step_of, text_of, texts_at_steps
from tests.support.running.installed import needs
from tests.support.running.tried import tried
from tests.support.traces import Run, runs, write_runs

from sfgen import Vocabulary
from sfgen.protocols import Model
from sfgen.trace import Recording, parse_trace
from sfgen_cli.page.page import sample_data

BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
EVIL = "<script>alert(1)</script></textarea><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        opened.screen(1280)
        yield opened


@pytest.fixture(scope="module")
def server(chat_model: Model) -> Iterator[Running]:
    running = Running({"tiny": "tiny", "chat": chat_model}, grace=0)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def closed() -> Iterator[Running]:
    running = Running({"secret-model": "tiny"}, api_keys=["a-long-key"], grace=0)
    yield running
    running.stop()


@pytest.fixture
def shown(browser: Browser) -> Iterator[Callable[..., Browser]]:
    """Opens the page of a server, and sees to it that it asks nobody else, and nobody complains."""
    asked: list[str] = []

    def show(running: Running, **settings: Any) -> Browser:
        asked[:] = [running.url, *settings.pop("expected", [])]
        browser.open(f"{running.url}/", f"#{urlencode(settings)}" if settings else "")
        browser.wait_for("byId('model').options.length > 0 || !byId('key-row').hidden")
        browser.evaluate("byId('pace').value = '100'")
        return browser

    yield show
    browser.evaluate("0")  # what was complained of until now has come
    expected = asked[1:]
    assert [one for one in browser.complaints if not any(each in one for each in expected)] == []
    assert {address.partition("/v1/")[0].partition("#")[0].rstrip("/") for address in browser.requests} == {asked[0]}
    browser.screen(1280)


def write(browser: Browser) -> None:
    """Ask for the text, and wait until all of it was played."""
    browser.click("#write")
    browser.wait_for("/^(Done|Not done)/.test(byId('outcome').textContent) || document.querySelector('.fault')")


def post(running: Running, path: str, body: Any) -> bytes:
    request = Request(f"{running.url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        data: bytes = answer.read()
    return data


def recording_of(running: Running, browser: Browser) -> Recording:
    """The run of the settings that the page has now."""
    (found,) = parse_trace(io.BytesIO(post(running, "/v1/trace", browser.evaluate("bodyOf(settingsOf())")))).recordings
    return found


# ---- the text --------------------------------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {"prompt": "Can we talk?", "ban": "talk, listen", "temperature": 0},
    {"prompt": "Once upon a time", "ban": "a*,the,\\,", "temperature": 1.5, "seed": 5},
    {"prompt": "Once upon a time", "ban": "e", "match": "substring", "strategy": "first-token", "tokens": 25},
    {"prompt": "Say: ", "kind": "regex", "constraint": "[聊é🎈\\n]{6}!", "seed": 3},
    {"prompt": "In our shop: ", "kind": "regex", "constraint": "about [0-9]+ (EUR|USD)", "ban": "EUR"},
    {"prompt": "Ada", "kind": "schema", "constraint": "name, age int, tags str[]", "seed": 8},
    {"prompt": "1+", "kind": "grammar", "constraint": 'root ::= [0-9] ("+" [0-9])*\n', "tokens": 9},
    {"prompt": "It is ", "kind": "regex", "constraint": "hot|cold", "strategy": "exact"},
    {"prompt": "Hello", "chat": 1, "model": "chat", "kind": "regex", "constraint": "[a-z ]{9}", "seed": 2},
    {"prompt": EVIL, "kind": "regex", "constraint": "<script>alert\\([0-9]\\)</script>"},
]


@needs("chromium")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_text_is_that_of_the_server_at_every_step(
    settings: dict[str, Any], server: Running, shown: Callable[..., Browser]
) -> None:
    browser = shown(server, **settings)
    write(browser)
    assert browser.text("#outcome").startswith("Done: ")
    recording = recording_of(server, browser)
    assert recording.result is not None
    path = "/v1/chat/completions" if "chat" in settings else "/v1/completions"
    (choice,) = json.loads(post(server, path, browser.evaluate("bodyOf(settingsOf())")))["choices"]
    final = choice["message"]["content"] if "chat" in settings else choice["text"]
    assert text_of(browser) == recording.result.text == final
    expected = [data.decode("utf-8", "ignore") for data in texts_at_steps(recording)]
    browser.press("Home")
    assert len(expected) == 1 + int(browser.evaluate("byId('step').max"))
    for step, text in enumerate(expected):
        assert (step_of(browser), text_of(browser)) == (step, text)
        browser.press("ArrowRight")
    assert len(browser.evaluate("run.sample.rollbacks")) == len(recording.result.rollbacks)
    assert browser.evaluate("document.querySelectorAll('main script, main img').length") == 0


@needs("chromium")
def test_some_of_these_were_rolled_back(server: Running, shown: Callable[..., Browser]) -> None:
    for settings in SETTINGS[:3]:
        assert recording_of(server, shown(server, **settings)).result.rollbacks  # type: ignore[union-attr]


@needs("chromium")
def test_rollbacks_are_played_as_they_happen(server: Running, shown: Callable[..., Browser]) -> None:
    """Each text that is taken back is struck out for a while where it stood, and then a branch of what was tried."""
    browser = shown(server, **SETTINGS[0])
    browser.evaluate(
        "{ window.seen = []; new MutationObserver(() => { const struck = document.querySelector('.text .struck');"
        " const text = struck && struck.textContent; if (text && text !== seen.at(-1)) seen.push(text); })"
        ".observe(byId('samples'), { childList: true, subtree: true }); }"
    )
    write(browser)
    result = recording_of(server, browser).result
    assert result is not None
    assert browser.evaluate("seen") == [f"↶{text}" for text, _ in groupby(back.text for back in result.rollbacks)]
    gone = browser.evaluate("[...document.querySelectorAll('.tree .gone > .branch')].map(branch => branch.textContent)")
    assert len(gone) == len(result.rollbacks)
    assert browser.text("#outcome").endswith(f"{len(result.rollbacks)} rollbacks")


@needs("chromium")
def test_tokens_have_their_rivals_and_jump_forward_text_is_marked(
    server: Running, shown: Callable[..., Browser]
) -> None:
    browser = shown(server, prompt="In our shop: ", kind="regex", constraint="about [0-9] (EUR|USD)")
    write(browser)
    marked = "[...document.querySelectorAll('.token.forced[data-step]')].map(token => token.textContent).join('')"
    assert browser.evaluate(marked).startswith("about ")
    browser.click(".token[data-step]:not(.forced)")
    assert browser.text(".candidates h3").startswith("Candidates at position ")
    captions = browser.evaluate("[...document.querySelectorAll('.candidates caption')].map(one => one.textContent)")
    assert captions[0] == "before the mask"
    assert captions[1].startswith("after the mask, which took ")
    assert len(browser.evaluate("[...document.querySelectorAll('.candidates .forbidden')].map(row => 0)")) > 0
    browser.click(".token.forced[data-step]")
    assert browser.text(".candidates").endswith("so the model was not asked.")


@needs("chromium")
def test_a_text_is_seen_while_it_is_written_and_can_be_stopped(
    serving: Callable[..., Running], shown: Callable[..., Browser]
) -> None:
    model = Gated(BYTES, preferring(BYTES, [b"a"] * 1000, prompt_length=0))
    running = serving({"slow": model})
    browser = shown(running, prompt="x", tokens=500, temperature=0)
    browser.click("#write")
    model.allow(4)
    browser.wait_for("document.querySelectorAll('.token[data-step]').length === 4")
    assert browser.evaluate("byId('samples').getAttribute('aria-busy')") == "true"
    assert not browser.evaluate("byId('stop').disabled")
    browser.press("ArrowLeft")  # whoever goes back stays there
    model.allow(2)
    browser.wait_for("byId('step').max === '6'")
    assert step_of(browser) == 3
    browser.press("End")  # and who goes to the end follows it
    model.allow(2)
    browser.wait_for("document.querySelectorAll('.token[data-step]').length === 8")
    browser.press("Escape")
    browser.wait_for("byId('outcome').textContent.startsWith('Not done: stopped')")
    assert browser.evaluate("byId('stop').disabled")
    assert text_of(browser) == "aaaaaaaa"
    model.open()
    until = time.monotonic() + 20
    while running.application and json.loads(urlopen(f"{running.url}/health").read())["models"]["slow"]["running"]:
        assert time.monotonic() < until, "its row is not free"
        time.sleep(0.02)
    write(browser)  # and again, to the end
    assert text_of(browser) == "a" * 500


@needs("chromium")
def test_any_run_is_shown_as_on_the_page_of_its_trace(
    server: Running, shown: Callable[..., Browser], tmp_path: Path
) -> None:
    browser, path = shown(server), tmp_path / "run.jsonl"

    @tried("some")
    @given(runs())
    def compare(run: Run) -> None:
        write_runs(path, [run])
        lines = [_plain(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if line.get("event") != "thought_released"]
        (recording,) = parse_trace(io.BytesIO("".join(f"{json.dumps(line)}\n" for line in lines).encode())).recordings
        expected = _as_numbers(sample_data(recording))
        found = browser.evaluate(
            "(([first, ...rest]) => { const run = new Run(first); rest.forEach((line) => run.take(line));"
            f" return run.sample; }})({json.dumps(lines)})"
        )
        found = _as_numbers(found)
        assert found["tried"] == expected["tried"]
        for name in ("kind", "node", "passes", "saved", "rollbacks", "undone", "held", "open", "thought"):
            assert found["steps"][name] == expected["steps"][name], name
        for one, other in zip(found["steps"]["struck"], expected["steps"]["struck"], strict=True):
            assert (one and (one[0], found["strings"][int(one[1])])) == (
                other and (other[0], expected["strings"][int(other[1])])
            )
        for name in ("step", "from", "to"):
            assert [back[name] for back in found["rollbacks"]] == [back[name] for back in expected["rollbacks"]]
        assert [(table["before"], table["after"]) for table in found["tables"]] == [
            (table["before"], table["after"]) for table in expected["tables"]
        ]
        assert (found["end"] or {}).get("text") == (
            expected["end"].get("text") if expected["end"]["kind"] == "finished" else None
        )
        assert (found["prompt"], found["banned"]) == (expected["prompt"], expected["banned"])

    compare()


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    """A line of a run as a server has them: no thought, no lone surrogates, no scores where a token was forced."""

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [plain(name, item) for item in value]
        if isinstance(value, dict):
            if set(value) == {"hex"} and name not in ("data", "healed"):
                return "?"
            return {key: plain(key, item) for key, item in value.items()}
        return value

    line = {name: plain(name, value) for name, value in line.items()}
    if line.get("forced"):
        line["outlook"] = None
    return line | ({"after": None, "when": None} if "trace" in line else {})


def _as_numbers(value: Any) -> Any:
    """A value of JSON as JavaScript has it: all numbers are floats, all keys are texts."""
    if isinstance(value, dict):
        return {str(key): _as_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_numbers(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
