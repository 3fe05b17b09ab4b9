"""What first requests need is loaded when a server begins, and few threads work on requests."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from sfgen import Vocabulary, load_model
from sfgen.serve import app, request_threads, warm_up
from sfgen.serve.constraints import Constraints

APP = importlib.import_module("sfgen.serve.application")

LATER = """
import asyncio, gc, json, sys

from sfgen import load_model
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.kernels import Kernel
from sfgen.serve.constraints import Constraints
from sfgen.serve.compile_worker import Ban
from sfgen.serve.warm_up import _write, warm_up

KINDS = [
    ("regex", "[0-9]{4}-[a-z]+"),
    ("choices", ["yes", "no", "perhaps"]),
    ("schema", {"properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer"}}}),
    ("grammar", 'root ::= [0-9]+ ("+" root)?'),
]
BANS = [
    Ban(("talk", "the"), (), "word", ignore_case=True, normalize=False, allow=()),
    Ban((), ("a[ab]{3}",), "substring", ignore_case=True, normalize=False, allow=()),
]
loaded, load = [], Kernel._compile_now


def told(kernel):
    loaded.append(f"{kernel!r}")
    return load(kernel)


at_the_start = gc.get_freeze_count()  # Python 3.12 freezes objects of its own


async def main():
    model, constraints = load_model("tiny"), Constraints(60, 2**20)
    try:
        if "cold" not in sys.argv:
            await warm_up(constraints, [model])
        before = gc.get_freeze_count() - at_the_start
        Kernel._compile_now = told
        for kind, value in KINDS:
            for ban in BANS:
                given = OwnConstraint(kind, json.dumps(value)), ban, vocabulary_of(model)
                index, banned, clean = await constraints.rehearsed(*given)
                _write(model, None, banned, None)
                _write(model, index, None, None)
                _write(model, index, banned, clean)
        print(json.dumps([before, sorted(set(loaded))]))
    finally:
        constraints.close()


if __name__ == "__main__":
    asyncio.run(main())
"""


def loaded_later(*options: str) -> tuple[int, list[str]]:
    """How many objects are frozen before first requests, and the kernels that these load."""
    told = subprocess.run([sys.executable, "-c", LATER, *options], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    frozen, kernels = json.loads(told.stdout)
    return frozen, kernels


def test_first_requests_load_no_kernels_and_the_collector_need_not_walk_them() -> None:
    frozen, kernels = loaded_later()
    assert not kernels
    assert frozen > 50_000, "kernels, and what made them"
    frozen, kernels = loaded_later("cold")
    assert len(kernels) > 5, "else nothing is tried here"
    assert not frozen


def test_what_goes_wrong_is_told_to_whoever_asks_for_the_same() -> None:
    class Odd:
        """A model with a vocabulary that can hardly write anything."""

        vocabulary = Vocabulary([b"\xff", None], [1])

        def encode(self, text: str) -> list[int]:
            return []

    async def main() -> None:
        constraints = Constraints(60, 2**20)
        try:
            odd: Any = Odd()
            await warm_up.warm_up(constraints, [odd])
            assert constraints.made == 0
            assert constraints.nbytes == 0
        finally:
            constraints.close()

    try:
        asyncio.run(main())
    finally:
        gc.unfreeze()


def test_a_server_that_ends_at_once_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, is_over = threading.Event(), threading.Event()

    async def forever(*given: object) -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            is_over.set()

    monkeypatch.setattr(APP, "warm_up", forever)
    application = app("tiny", grace=0)

    async def main() -> None:
        async with application.started():
            await asyncio.sleep(0)
            assert has_begun.is_set()

    asyncio.run(main())
    assert is_over.is_set()


def test_few_threads_work_on_requests() -> None:
    names, most, running, lock = set(), 0, 0, threading.Lock()

    def work() -> None:
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
            names.add(threading.current_thread().name)
        time.sleep(0.005)
        with lock:
            running -= 1

    async def main() -> None:
        await asyncio.gather(*(request_threads.in_request_thread(work) for _ in range(20)))

    asyncio.run(main())
    assert most == request_threads.THREADS
    assert len(names) == request_threads.THREADS


def test_requests_are_worked_on_by_these_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastapi.testclient import TestClient

    monkeypatch.setattr(APP, "warm_up", lambda *given: asyncio.sleep(0))
    model, names = load_model("tiny"), set()

    class Noting:
        def encode(self, text: str) -> list[int]:
            names.add(threading.current_thread().name.rpartition("_")[0])
            return list(model.encode(text))

        def __getattr__(self, name: str) -> Any:
            return getattr(model, name)

    noting: Any = Noting()
    with TestClient(app({"noting": noting}, grace=0), base_url="http://localhost") as client:
        body = {"prompt": "Once", "max_tokens": 2, "banned_strings": ["the"], "regex": "[a-z]{1,4}"}
        assert client.post("/v1/completions", json=body).status_code == 200
    assert names == {"sfgen-requests"}
