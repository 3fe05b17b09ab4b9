"""Two replicas on a local Ray, one of which is killed while both write: nobody has half an answer for a whole one."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

import sfgen
from sfgen.errors import UsageError
from sfgen.serve import Limits

ray = pytest.importorskip("ray", reason="Ray is not installed: make ray installs it")
serve = pytest.importorskip("ray.serve", reason="Ray Serve is not installed: make ray installs it")

QUICK_START = Path(__file__).resolve().parent.parent / "data" / "ray_processes"
ASKED, ROWS, TOKENS = 20, 4, 600
BODY: dict[str, Any] = {"prompt": "Once upon a time", "max_tokens": TOKENS, "logit_bias": {"1": -100}}

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")


def replicas() -> set[int]:
    """The processes of the replicas of this machine that this one's Ray has begun."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                title = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::ServeReplica") and _session() in _environment(folder):
                found.add(int(folder.name))
    return found


def _session() -> bytes:
    return f"SFGEN_TEST_RAY={os.getpid()}".encode()


def _environment(folder: Path) -> bytes:
    try:
        return (folder / "environ").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from sfgen.serve.ray import deployment

    with pytest.MonkeyPatch.context() as patch:
        name, _, value = _session().decode().partition("=")
        patch.setenv(name, value)  # all processes of the cluster have the environment of this call
        patch.setenv("PYTHONPATH", os.pathsep.join([str(QUICK_START), *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # else replicas stand back behind all other tests
        for patience in ("RAY_raylet_start_wait_time_s", "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S"):
            patch.setenv(patience, "120")  # beside other tests
        patch.setenv("RAY_agent_register_timeout_ms", "120000")
        ray.shutdown()  # another file of this process may have begun one
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        try:
            port = _free_port()
            serve.start(http_options={"host": "127.0.0.1", "port": port})
            limits = Limits(batch_size=ROWS)
            served = deployment(
                "tiny", replicas=2, limits=limits, grace=0, ray_actor_options={"num_cpus": 0.5}, health_check_period_s=1
            )
            serve.run(served, route_prefix="/")
            yield f"http://127.0.0.1:{port}"
        finally:
            serve.shutdown()
            ray.shutdown()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def streamed(address: str, seed: int, begun: Callable[[], object] = lambda: None) -> str:
    """The text of a whole stream; ``begun`` is called when some of it is there.

    Raises:
        Exception: It is not whole.
    """
    asked = {**BODY, "seed": seed, "stream": True, "stream_options": {"include_usage": True}}
    text, lines, is_done = "", [], False
    with requests.post(f"{address}/v1/completions", json=asked, stream=True) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith(b"data: {"):
                lines.append(json.loads(line[6:]))
                assert "error" not in lines[-1], lines[-1]
                text += "".join(choice["text"] for choice in lines[-1]["choices"])
                begun()
            is_done = is_done or line == b"data: [DONE]"
    if not is_done:
        raise EOFError("a stream has no end, and no error")
    assert lines[-1]["usage"]["completion_tokens"] == TOKENS
    return text


def asked_at_once(address: str, seed: int) -> str:
    """The text of an answer that is no stream.

    Raises:
        Exception: There is none.
    """
    answer = requests.post(f"{address}/v1/completions", json={**BODY, "seed": seed})
    answer.raise_for_status()
    assert answer.json()["usage"]["completion_tokens"] == TOKENS
    return str(answer.json()["choices"][0]["text"])


def expected(seed: int) -> str:
    given: Any = {"max_tokens": TOKENS, "logit_bias": {1: -100}, "temperature": 1.0}
    return sfgen.generate("tiny", "Once upon a time", seed=seed, **given).text


def test_an_answer_is_the_library_s(address: str) -> None:
    assert asked_at_once(address, 3) == streamed(address, 3) == expected(3)
    told = requests.post(f"{address}/v1/completions", json={"prompt": "x", "json_schema": {"enum": ["yes"]}}).json()
    assert told["choices"][0]["text"] == '"yes"'
    assert requests.post(f"{address}/v1/completions", json={"prompt": "x", "regex": "[0-9"}).status_code == 400
    assert requests.get(f"{address}/health").json()["models"]["tiny"] == {"running": 0, "waiting": 0}


def test_one_of_two_is_killed_under_load(address: str) -> None:
    before = replicas()
    assert len(before) == 2
    with ThreadPoolExecutor(ASKED) as pool:
        begun, enough = set[int](), threading.Event()

        def note(seed: int) -> None:
            begun.add(seed)
            if len(begun) > ROWS // 2 + 1:  # both replicas write, as a rule
                enough.set()

        under_way = [
            pool.submit(streamed, address, seed, partial(note, seed))
            if seed % 2
            else pool.submit(asked_at_once, address, seed)
            for seed in range(ASKED)
        ]
        assert enough.wait(120)
        os.kill(min(before), signal.SIGKILL)
        errors = [each.exception() for each in under_way]
    whole = [seed for seed, error in enumerate(errors) if error is None]
    lost = {repr(error)[:60] for error in errors if error}
    print(f"\n{len(whole)} whole, {len(errors) - len(whole)} lost: {lost}")
    assert 0 < len(whole) < ASKED, errors
    for error in errors:  # a status, or a connection that breaks: no half of an answer looks like a whole one
        assert error is None or isinstance(error, requests.RequestException), error
    end = time.monotonic() + 120
    while len(replicas()) < 2 or not replicas().isdisjoint({min(before)}):
        assert time.monotonic() < end, "no other replica is begun"
        time.sleep(0.5)
    assert streamed(address, 99) == expected(99)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"replicas": 0}, "replicas"),
        ({"limits": 3}, "limits"),
        ({"api_keys": "one"}, "api_keys"),  # of which each letter would be a key
        ({"cors": "https://a.example"}, "cors"),
        ({"hosts": "a.example"}, "hosts"),
    ],
)
def test_arguments_are_checked_here(arguments: dict[str, Any], says: str) -> None:
    from sfgen.serve.ray import deployment

    with pytest.raises(UsageError, match=says):
        deployment("tiny", **arguments)
