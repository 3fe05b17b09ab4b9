"""The command: what it tells, how it ends, and what it refuses to begin with."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.running.installed import needs
from tests.support.running.served import Served, served, text_of, until

from sfgen_cli.shell.help import examples

Sfgen = Callable[..., Any]
LONG = {"prompt": "Once upon a time", "regex": "[a-z ,.]{1500}", "max_tokens": 700, "seed": 3}  # a second
GO_ON = "may go on for {} s; Ctrl-C again ends at once"
SECRET = "a prompt that nobody else may read"


def in_a_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Something that goes on beside, and its result in a list."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def is_busy(server: Served) -> bool:
    return bool(server.ask("/health").json["models"]["tiny"]["running"])


# ---- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "says"),
    [
        (signal.SIGTERM, 0, ""),
        (signal.SIGINT, 130, f"sfgen: N requests {GO_ON.format(30)}\nsfgen: interrupted\n"),
    ],
)
def test_a_signal_lets_running_requests_end_and_takes_no_more(number: int, code: int, says: str) -> None:
    with served() as server:
        alone = server.ask("/v1/completions", LONG).json["choices"][0]["text"]
        stream, told = in_a_thread(lambda: server.ask("/v1/completions", {**LONG, "stream": True}).body)
        whole, answers = in_a_thread(lambda: server.ask("/v1/completions", LONG).json)
        idle = server.connect()
        until(lambda: server.ask("/health").json["models"]["tiny"]["running"] == 2)
        server.process.send_signal(number)
        until(lambda: not _answers(server))
        assert idle.recv(10) == b""  # one that asks nothing is ended
        idle.close()
        stream.join()
        whole.join()
        out, err = server.process.communicate(timeout=60)
        assert (server.process.returncode, out, re.sub("[0-9]+ requests?", "N requests", err)) == (code, "", says)
    assert text_of(told[0]) == alone
    assert answers[0]["choices"][0]["text"] == alone


def test_what_has_not_ended_in_time_is_told_so() -> None:
    with served("--grace", "0.2", "--batch-size", "1") as server:
        many = {**LONG, "n": 60}  # minutes
        stream, told = in_a_thread(lambda: server.ask("/v1/completions", {**many, "stream": True}).body)
        until(lambda: is_busy(server))
        waits, answers = in_a_thread(lambda: server.ask("/v1/completions", LONG))
        until(lambda: server.ask("/health").json["models"]["tiny"]["waiting"] == 60)
        assert server.end() == (0, "", "")
        stream.join()
        waits.join()
    assert b"event: error\n" in told[0]
    assert b"stopping" in told[0].partition(b"event: error\n")[2]
    assert answers[0].status == 503
    assert "stopping" in answers[0].error["message"]


@pytest.mark.parametrize(
    ("number", "code", "says"),
    [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, f"sfgen: N requests {GO_ON.format(300)}\n")],
)
def test_a_second_signal_ends_it_at_once(number: int, code: int, says: str) -> None:
    with served("--grace", "300") as server:
        thread, _ = in_a_thread(lambda: _until_cut(server))
        until(lambda: is_busy(server))
        server.process.send_signal(number)
        until(lambda: not _answers(server))
        assert server.process.poll() is None
        status, out, err = server.end(number, 50)
        assert (status, out, re.sub("[0-9]+ requests?", "N requests", err)) == (code, "", says)
        thread.join()


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.7, 1.1])
def test_a_terminals_ctrl_c_reaches_all_processes_and_they_print_nothing(seconds: float) -> None:
    with served() as server:
        time.sleep(seconds)  # its processes start
        os.killpg(server.process.pid, signal.SIGINT)
        out, err = server.process.communicate(timeout=30)
        assert (server.process.returncode, out, err) == (130, "", "sfgen: interrupted\n")


@pytest.mark.parametrize("seconds", [0.3, 0.7])
def test_two_signals_while_its_processes_start_leave_nothing_on_stderr(seconds: float) -> None:
    with served() as server:
        time.sleep(seconds)
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == (0, "", "")


def _until_cut(server: Served) -> None:
    with pytest.raises(Exception, match=r".*"):
        server.ask("/v1/completions", {**LONG, "n": 60})


def test_a_signal_while_a_schema_is_compiled_leaves_no_process_behind() -> None:
    hard = {f"p{n}": {"type": "string", "pattern": f"^[ab]*a[ab]{{16}}{n}$"} for n in range(99)}
    wish = {"prompt": "a", "json_schema": {"type": "object", "properties": hard}}
    with served("--grace", "0.5") as server:
        idle = _descendants(server.process.pid)
        thread, answers = in_a_thread(lambda: server.ask("/v1/completions", wish))
        until(lambda: len(_descendants(server.process.pid)) > len(idle))
        children = _descendants(server.process.pid)
        code, out, _ = server.end()
        assert (code, out) == (0, "")
        thread.join()
        until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert answers[0].status in (400, 503)


def _descendants(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    own = [int(word) for word in found.stdout.split()]
    return own + [each for child in own for each in _descendants(child)]


# ---- what is told ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked() -> Iterator[tuple[str, str]]:
    """What a server has written to stdout and stderr after all kinds of requests with a prompt that is a secret."""
    with served() as server:
        chat = {"messages": [{"role": "user", "content": SECRET}], "max_tokens": 2}
        assert server.complete(prompt=SECRET).status == 200
        assert server.complete(prompt=SECRET, stream=True).status == 200
        assert server.ask("/v1/chat/completions", chat).status == 400  # tiny has no chat template
        assert server.complete(prompt=SECRET, regex="(").status == 400
        assert server.complete(prompt=SECRET, unknown=SECRET).status == 400
        assert server.ask("/v1/completions", json.dumps({"prompt": SECRET})[:-1].encode()).status == 400
        assert server.ask(f"/{SECRET.replace(' ', '+')}", {"prompt": SECRET}).status == 404
        assert server.raw(SECRET.encode() + b"\r\n\r\n")
        code, out, err = server.end()
        assert code == 0
        yield out, err


def test_prompts_are_not_logged_and_nothing_else_is(asked: tuple[str, str]) -> None:
    assert asked == ("", "")  # the address was told before


def test_prompts_are_logged_where_that_is_asked_for() -> None:
    with served("--log-prompts", SFGEN_MODEL="uniform") as server:
        assert [model["id"] for model in server.ask("/v1/models").json["data"]] == ["uniform"]
        server.complete(prompt="Two\nlines \x1b[31m")
        server.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi!"}], "max_tokens": 1})
        _, out, err = server.end()
    first, second = err.splitlines()
    assert out == ""
    assert first == r'sfgen: uniform: "Two\nlines \u001b[31m"'
    assert second.startswith("sfgen: uniform: [{")
    assert '"Hi!"' in second


def test_quiet_tells_nothing_and_a_server_without_requests_ends_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "sfgen_cli", "serve", "--quiet", "--grace", "300", "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    server = Served(process, port, "")
    until(lambda: _answers(server))
    assert server.end(seconds=60) == (0, "", "")


def _answers(server: Served) -> bool:
    try:
        return server.ask("/health").status == 200
    except OSError:
        return False


def test_names_of_models_go_before_that_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "a text").write_text("one two three one two three " * 9)
    with served("-m", "uniform", "-m", f"zip:{tmp_path}/a text", SFGEN_MODEL="/no/such") as server:
        assert [model["id"] for model in server.ask("/v1/models").json["data"]] == ["uniform", "a text"]
        assert str(tmp_path) not in server.ask("/openapi.json").body.decode()
        assert server.complete(model="a text").status == 200
        assert server.complete(model=f"zip:{tmp_path}/a text").status == 404


def test_keys_from_the_environment_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("one-key\n\n  two-key \n")
    with served("--api-key-file", str(tmp_path / "keys"), SFGEN_API_KEY="three-key") as server:
        statuses = {
            key: server.ask("/v1/models", headers={"Authorization": f"Bearer {key}", "Host": "any.example"}).status
            for key in ("one-key", "two-key", "three-key", "four-key", "")
        }
    assert statuses == {"one-key": 200, "two-key": 200, "three-key": 200, "four-key": 401, "": 401}


@pytest.fixture(scope="module")
def for_others() -> Iterator[Served]:
    with served("--host", "0.0.0.0", "--no-auth", "--allow-host", "box.example") as server:
        yield server


def test_an_address_that_others_reach(for_others: Served) -> None:
    own = socket.gethostname()
    statuses = {
        host: for_others.ask("/v1/models", headers={"Host": host}).status
        for host in ("127.0.0.1", "10.1.2.3:80", own, f"{own}.local:80", "Box.example", "evil.example")
    }
    assert statuses.pop("evil.example") == 403
    assert set(statuses.values()) == {200}


@needs("curl")
def test_the_example_of_a_request_in_the_help(for_others: Served) -> None:
    import typer

    from sfgen_cli.app import app

    group: Any = typer.main.get_command(app)
    lines = [line for _, lines in examples(group.commands["serve"].help) for line in lines]
    (line,) = (line for line in lines if line.startswith("curl "))
    assert "http://127.0.0.1:8317/" in line
    done = subprocess.run(
        ["bash", "-c", line.replace("8317", str(for_others.port))], capture_output=True, text=True, check=True
    )
    assert re.fullmatch("20[0-9]{2}", json.loads(done.stdout)["choices"][0]["text"])


# ---- what it refuses to begin with -----------------------------------------------------------------------------------


def test_help_and_mistakes_import_nothing_heavy() -> None:
    script = (
        "import sys\nfrom sfgen_cli.shell.ending import run\n"
        "for words in (['--help'], ['serve', '--help'], ['serve', '--host', '0.0.0.0'], ['serve', '--port', 'x']):\n"
        "    run(words)\n"
        "heavy = {'fastapi', 'starlette', 'uvicorn', 'pydantic', 'pebble', 'numba', 'numpy', 'torch', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_port_in_use_is_told_before_a_model_is_loaded(sfgen: Sfgen) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = sfgen("serve", "--port", str(port), "-m", "/no/such/model")
    assert (done.code, done.out) == (1, "")
    assert f"cannot listen at 127.0.0.1, port {port}: Address already in use" in done.err
    assert "another --port (0 is any free one)" in done.err
