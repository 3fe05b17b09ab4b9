"""The page at ``/`` in a real browser: what it shows as text is what the server's text is, step by step."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.serve.conftest import Running
from tests.support.command.browser import Browser
from tests.support.models.gated import Gated
from tests.support.models.scripted import preferring
from tests.support.models.thinking import Thinker
from tests.support.pages import check_looks, faint_texts, step_of, text_of, texts_at_steps
from tests.support.running.installed import needs
from tests.support.running.tried import tried
from tests.support.traces import Run, runs, write_runs

from sfgen import TokenChosen, Vocabulary
from sfgen.ban import split_words
from sfgen.protocols import Model
from sfgen.serve import app
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
def server() -> Iterator[Running]:
    running = Running("tiny", grace=0)
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
    browser.wait_for(
        "/^(Done|Not done)/.test(byId('outcome').textContent) || document.querySelector('.fault') !== null"
    )


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
    (choice,) = json.loads(post(server, "/v1/completions", browser.evaluate("bodyOf(settingsOf())")))["choices"]
    assert text_of(browser) == recording.result.text == choice["text"]
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
        (recording,) = parse_trace(io.BytesIO("".join(f"{json.dumps(line)}\n" for line in lines).encode())).recordings
        expected = _as_numbers(sample_data(recording))
        found = browser.evaluate(
            "(([first, ...rest]) => { const run = new Run(first); rest.forEach((line) => run.take(line));"
            f" return run.sample; }})({json.dumps(lines)})"
        )
        found = _as_numbers(found)
        assert found["tried"] == expected["tried"]
        for name in ("kind", "node", "passes", "saved", "rollbacks", "undone", "held", "open", "thought",
                     "probability", "removed"):  # fmt: skip
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
        ends = [None if end is None or end["kind"] != "finished" else (end["from"], end["to"])
                for end in (found["end"], expected["end"])]  # fmt: skip
        assert ends[0] == ends[1]
        for name in ("prompt", "banned", "after"):
            assert found[name] == expected[name]

    compare()


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    """A line of a run as a server has them: no calls behind a text, no lone surrogates, no scores of forced tokens."""

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
    return line | ({"when": None} if "trace" in line else {})


def _as_numbers(value: Any) -> Any:
    """A value of JSON as JavaScript has it: all numbers are floats, all keys are texts."""
    if isinstance(value, dict):
        return {str(key): _as_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_numbers(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@needs("chromium")
def test_a_thought_is_no_part_of_the_text(serving: Callable[..., Running], shown: Callable[..., Browser]) -> None:
    running = serving({"thinker": Thinker("Rome 🎈 or Oslo?</think>\n\nRome.")})
    browser = shown(running, prompt="Hi!", chat=1, kind="regex", constraint="Rome.|Oslo.", temperature=0)
    write(browser)
    outside = "[...document.querySelectorAll('.token.outside')].map((each) => each.textContent).join('')"
    assert browser.evaluate(outside) == "Rome 🎈 or Oslo?</think>"
    assert text_of(browser) == "Rome 🎈 or Oslo?</think>Rome."
    trace = post(running, "/v1/trace", browser.evaluate("bodyOf(settingsOf())"))
    lines = [json.loads(line) for line in trace.splitlines()]
    (recording,) = parse_trace(io.BytesIO(trace)).recordings
    found = browser.evaluate(
        "(([first, ...rest]) => { const run = new Run(first); rest.forEach((line) => run.take(line));"
        f" return run.sample; }})({json.dumps(lines)})"
    )
    expected = sample_data(recording)
    assert found["steps"]["thought"] == expected["steps"]["thought"]
    assert len(set(found["steps"]["thought"])) == 2
    assert [found["end"][name] for name in ("from", "to")] == [expected["end"][name] for name in ("from", "to")]


# ---- the form --------------------------------------------------------------------------------------------------------


@needs("chromium")
def test_a_conversation_is_asked_for_by_its_template(
    chat_model: Model, serving: Callable[..., Running], shown: Callable[..., Browser]
) -> None:
    running = serving({"chat": chat_model})
    browser = shown(running, prompt="Hi!", chat=1, kind="regex", constraint="[a-z ]{9}", seed=2)
    write(browser)
    body = browser.evaluate("bodyOf(settingsOf())")
    assert body["messages"] == [{"role": "user", "content": "Hi!"}]
    (choice,) = json.loads(post(running, "/v1/chat/completions", body))["choices"]
    assert text_of(browser) == choice["message"]["content"]


ALL = {
    "model": "tiny",
    "prompt": "a\n&b=c#d %20 +é🎈聊'\"",
    "chat": "1",
    "kind": "grammar",
    "constraint": 'root ::= "a" | "\\n"\n',
    "ban": "talk,l\\,isten",
    "match": "prefix",
    "strategy": "mask",
    "temperature": "0.5",
    "seed": "77",
    "tokens": "5",
}


@needs("chromium")
def test_a_link_holds_all_settings_and_asks_for_nothing(server: Running, shown: Callable[..., Browser]) -> None:
    browser = shown(server, **ALL)
    assert browser.evaluate("settingsOf()") == ALL
    assert [address.partition("#")[0] for address in browser.requests] == [f"{server.url}/", f"{server.url}/v1/models"]
    browser.evaluate("link()")
    assert browser.evaluate("fromFragment(location.hash.slice(1))") == ALL
    browser.evaluate("location.hash = '#kind=nobody&match=x&other=1'")
    browser.wait_for("settingsOf().prompt === ''")
    assert browser.evaluate("settingsOf()") == browser.evaluate("({...DEFAULTS, model: 'tiny'})")
    browser.write("#prompt", "typed")
    browser.wait_for("location.hash.includes('prompt=typed')")
    browser.click("form a")  # an example is a link
    browser.wait_for("settingsOf().ban === 'talk, listen'")


@needs("chromium")
def test_banned_words_are_read_as_the_command_reads_them(server: Running, shown: Callable[..., Browser]) -> None:
    browser = shown(server)

    @tried("many")
    @given(st.text(st.sampled_from(["a", "b", "*", ",", "，", "、", "\\", " "])))
    def compare(text: str) -> None:
        assert browser.evaluate(f"listed({json.dumps(text)})") == split_words(text)

    compare()


@needs("chromium")
@needs("curl")
@pytest.mark.parametrize(
    "settings",
    [
        {"prompt": 'Can\'t "we" talk?\n$HOME `x` \\', "ban": "talk,l\\,isten", "temperature": 0, "tokens": 9},
        {"prompt": "-x", "kind": "schema", "constraint": "name, age int", "seed": 4, "ban": "Al", "match": "prefix"},
        {"prompt": "", "kind": "regex", "constraint": "-(a'\"|bc)é🎈", "strategy": "exact"},
    ],
    ids=str,
)
def test_what_is_copied_writes_the_same_text(
    settings: dict[str, Any], server: Running, shown: Callable[..., Browser]
) -> None:
    browser = shown(server, **settings)
    write(browser)
    text = text_of(browser)
    assert text
    curl = subprocess.run(["bash", "-c", browser.text("#as-curl")], capture_output=True, check=True, timeout=60)
    assert json.loads(curl.stdout)["choices"][0]["text"] == text
    python = [sys.executable, "-c", browser.text("#as-python")]
    assert subprocess.run(python, capture_output=True, check=True, timeout=60).stdout.decode() == f"{text}\n"
    command = browser.text("#as-sfgen").replace("sfgen", f"{shlex.quote(sys.executable)} -m sfgen_cli", 1)
    done = subprocess.run(["bash", "-c", f"{command} </dev/null"], capture_output=True, check=True, timeout=120)
    assert done.stdout.decode() == f"{text}\n"


@needs("chromium")
@pytest.mark.parametrize(
    ("settings", "field", "message"),
    [
        ({"kind": "regex", "constraint": "[0-9"}, "constraint", "unterminated character set"),
        ({"kind": "schema", "constraint": '{"type": 3}'}, "constraint", "type"),
        ({"kind": "grammar", "constraint": "root ::= other"}, "constraint", "other"),
        ({"kind": "regex", "constraint": "a{9}b{9}", "tokens": 1}, "tokens", "token"),
        ({"prompt": "Hi!", "chat": 1}, "prompt", "no chat template"),
        ({"model": "other"}, "model", "there is no model"),
        ({"prompt": "Hi!", "strategy": "exact", "temperature": 0}, "temperature", "a temperature above 0"),
    ],
    ids=str,
)
def test_errors_are_told_where_they_belong(
    settings: dict[str, Any], field: str, message: str, server: Running, shown: Callable[..., Browser]
) -> None:
    browser = shown(server, **settings, expected=["the server responded with a status of 4"])
    write(browser)
    assert message in browser.text(".fault")
    assert browser.evaluate("document.activeElement.id") == field
    assert browser.evaluate(f"byId('{field}').getAttribute('aria-invalid')") == "true"
    assert browser.evaluate(f"byId(byId('{field}').getAttribute('aria-errormessage')).getAttribute('role')") == "alert"
    assert browser.evaluate(f"byId('{field}').checkVisibility()")
    browser.evaluate("show({ ...DEFAULTS, tokens: '3', model: 'tiny' })")
    write(browser)
    assert browser.text("#outcome").startswith("Done: ")
    assert browser.evaluate("document.querySelectorAll('[aria-invalid], .fault').length") == 0


@needs("chromium")
def test_a_server_that_is_gone_is_told(serving: Callable[..., Running], shown: Callable[..., Browser]) -> None:
    model = Gated(BYTES, preferring(BYTES, [b"a"] * 1000, prompt_length=0))
    running = serving({"slow": model})
    browser = shown(running, prompt="x", tokens=500, expected=["Failed to load", "net::ERR"])
    browser.click("#write")
    model.allow(3)
    browser.wait_for("document.querySelectorAll('.token[data-step]').length === 3")
    running.application.stop(0)
    model.open()
    browser.wait_for("byId('outcome').textContent.startsWith('Not done: ')")
    assert "the server is stopping" in browser.text("#outcome")
    assert "the server is stopping" in browser.text(".end")
    write(browser)
    assert "the server is stopping" in browser.text("#general")


# ---- who may ask -----------------------------------------------------------------------------------------------------


@needs("chromium")
def test_a_key_is_asked_for_and_is_in_no_link(closed: Running, shown: Callable[..., Browser]) -> None:
    browser = shown(closed, prompt="Once ", tokens=3, expected=["status of 401"])
    assert browser.evaluate("byId('key').checkVisibility()")
    write(browser)
    assert browser.evaluate("document.activeElement.id") == "key"
    assert "the API key is missing or wrong" in browser.text("#key-fault")
    browser.write("#key", "a-long-key")
    browser.press("Enter")
    browser.wait_for("byId('outcome').textContent.startsWith('Done: ')")
    browser.wait_for("byId('model').value === 'secret-model'")
    assert text_of(browser)
    shown_now = browser.evaluate("document.body.innerText") + browser.evaluate("location.href")
    assert "a-long-key" not in shown_now
    assert "$SFGEN_API_KEY" in browser.text("#as-curl")
    assert 'os.environ["SFGEN_API_KEY"]' in browser.text("#as-python")


def test_the_page_needs_no_key_and_tells_nothing() -> None:
    with TestClient(app({"secret-model": "uniform"}, api_keys=["a-key"]), base_url="http://llm.example.org") as client:
        answer = client.get("/")
    assert answer.status_code == 200
    assert "secret-model" not in answer.text
    assert "key" not in answer.headers
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["script-src"].startswith("'sha256-")
    assert policy["style-src"].startswith("'sha256-")
    assert (answer.headers["x-content-type-options"], answer.headers["referrer-policy"]) == ("nosniff", "no-referrer")


def test_without_a_key_the_page_is_for_names_of_this_machine() -> None:
    with TestClient(app("uniform"), base_url="http://localhost:8317") as client:
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
        assert client.post("/", json={}).status_code == 405
        assert "/" not in client.get("/openapi.json").json()["paths"]


def test_the_page_is_mounted_with_the_server() -> None:
    served = app("uniform", hosts=["testserver"])
    outer = FastAPI(lifespan=lambda _: served.started())
    outer.mount("/llm", served)
    with TestClient(outer) as client:
        assert client.get("/llm/").status_code == 200
        assert client.get("/llm").status_code == 200  # with a slash behind it, to which its addresses are relative
        assert client.get("/llm").url.path == "/llm/"


@needs("chromium")
def test_no_other_script_runs(server: Running, browser: Browser) -> None:
    browser.open(f"{server.url}/", f"#{urlencode({'prompt': EVIL, 'ban': EVIL, 'constraint': EVIL, 'kind': 'regex'})}")
    browser.evaluate(
        "{ const script = document.createElement('script'); script.textContent = 'window.ran = 1';"
        " document.body.append(script); }"
    )
    assert browser.evaluate("window.ran === undefined")
    assert "Content Security Policy" in " ".join(browser.complaints)
    assert browser.evaluate("document.images.length") == 0


# ---- everybody -------------------------------------------------------------------------------------------------------


@needs("chromium")
def test_keys_belong_to_the_field_that_has_the_focus(server: Running, shown: Callable[..., Browser]) -> None:
    browser = shown(server, prompt="Can we talk?", ban="talk, listen", temperature=0)
    browser.evaluate("byId('prompt').focus()")
    browser.press("Enter", with_control=True)
    browser.wait_for("byId('outcome').textContent.startsWith('Done: ')")
    last = step_of(browser)
    for key in ("Home", "ArrowLeft", "r", " "):
        browser.press(key)
        assert step_of(browser) == last, key
    assert " " in browser.evaluate("byId('prompt').value")
    browser.evaluate("document.activeElement.blur()")
    browser.press("ArrowLeft")
    assert step_of(browser) == last - 1
    browser.press("r")
    assert browser.evaluate("timeline.panels[0].steps.kind[timeline.step]") == "back"


@needs("chromium")
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_narrow_screen_in_light_and_dark(dark: bool, server: Running, shown: Callable[..., Browser]) -> None:
    wide = "[a-z]{300}|" + "x" * 300
    browser = shown(
        server, prompt="y" * 300, kind="regex", constraint=wide, ban="talk", tokens=2, expected=["status of 400"]
    )
    browser.screen(360, 800, dark=dark, still=True)
    write(browser)  # and an error with a long line
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    browser.evaluate("byId('tokens').value = 400")
    for details in range(browser.evaluate("document.querySelectorAll('#try details').length")):
        browser.evaluate(f"document.querySelectorAll('#try details')[{details}].open = true")
    write(browser)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert faint_texts(browser) == []
    check_looks(browser, "byId('prompt')", dark=dark)


@needs("chromium")
@pytest.mark.parametrize("still", [False, True])
def test_who_wants_no_motion_sees_the_text_as_it_comes(
    still: bool, server: Running, shown: Callable[..., Browser]
) -> None:
    browser = shown(server, prompt="Once upon a time", tokens=12)
    browser.screen(1280, still=still)
    browser.evaluate(
        "{ window.played = []; new MutationObserver(() => played.push(byId('play').ariaLabel))"
        ".observe(byId('play'), { attributeFilter: ['aria-label'] }); }"
    )
    write(browser)
    assert ("Pause" in browser.evaluate("played")) is not still
    assert str(step_of(browser)) == browser.evaluate("byId('step').max")


@needs("chromium")
@pytest.mark.parametrize("temperature", [0, 1])
def test_each_token_has_its_probability(temperature: int, server: Running, shown: Callable[..., Browser]) -> None:
    """With which it was drawn; of a greedy choice the model's own among the tokens that may stand there."""
    settings = {"prompt": "In our shop: ", "kind": "regex", "constraint": "about [0-9] (EUR|USD)", "seed": 3}
    browser = shown(server, temperature=temperature, **settings)
    write(browser)
    chosen = [event for _, event in recording_of(server, browser).events if isinstance(event, TokenChosen)]
    labels = browser.evaluate("[...document.querySelectorAll('.cell')].map((cell) => cell.ariaLabel)")
    assert len(labels) == len(chosen)
    assert any(event.forced for event in chosen)
    for label, event in zip(labels, chosen, strict=True):
        if event.forced:
            assert label.endswith(": jump-forward, nothing else could stand there")
        else:
            assert event.outlook is not None
            share = event.outlook.after[0].after if temperature == 0 else event.probability
            told = float(label.partition("probability ")[2].partition(" %")[0]) / 100
            assert told == pytest.approx(share, abs=6e-4)
            assert ", the mask took " in label


@needs("chromium")
def test_it_can_be_used_without_seeing_it(server: Running, shown: Callable[..., Browser]) -> None:
    """Whatever can be used has a name, in the order in which it is needed; the begin and the end are told."""
    browser = shown(server, prompt="Can we talk?", ban="talk, listen", temperature=0, kind="regex", constraint=".{5}")
    browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    write(browser)
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in browser.send("Accessibility.getFullAXTree")["nodes"]
        if not node["ignored"]
    ]
    roles = ("button", "slider", "checkbox", "combobox", "textbox", "spinbutton", "article", "group", "main", "region")
    used = [(role, name) for role, name in named if role in roles]
    assert all(name for role, name in used if role != "group"), used  # what can be opened is a group, too
    assert {"Prompt", "Pattern", "Banned words", "Write", "Text", "Text, token by token", "Step"} <= {
        name for _, name in used
    }
    order = ["#prompt", "#constraint", "#ban", "#write", "#outcome", ".text", "#as-curl", "#step"]
    found = "[...document.querySelectorAll('*')]"
    places = browser.evaluate(f"{json.dumps(order)}.map(name => {found}.indexOf(document.querySelector(name)))")
    assert places == sorted(places)
    assert browser.evaluate("byId('outcome').getAttribute('role')") == "status"
    browser.evaluate("byId('prompt').focus()")
    for _ in range(6):
        browser.press("Tab")
        assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert browser.evaluate("document.documentElement.lang") == "en"
