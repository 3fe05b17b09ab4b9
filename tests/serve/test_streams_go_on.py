"""While dear constraints are compiled, the streams of others go on; their gaps are measured."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import requests
from tests.serve.conftest import Running
from tests.serve.test_constraints import a_minute

from sfgen.serve import Limits


class Reader:
    """A client that reads one stream after the other, and notes when something came."""

    def __init__(self, url: str) -> None:
        self.gaps: list[float] = []
        self.faults: list[str] = []
        self._url, self._is_over = url, threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        body: Any = {"prompt": "Once upon a time", "max_tokens": 200, "stream": True}
        try:
            with requests.Session() as session:
                while not self._is_over.is_set():
                    with session.post(f"{self._url}/v1/completions", json=body, stream=True, timeout=60) as answer:
                        assert answer.status_code == 200
                        last = time.monotonic()
                        for line in answer.iter_lines(chunk_size=1):
                            if line.startswith(b"data: {") and json.loads(line[6:])["choices"][0]["text"]:
                                now = time.monotonic()
                                self.gaps.append(now - last)
                                last = now
        except Exception as error:
            self.faults.append(repr(error))

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join(60)


def ask(url: str, schema: Any) -> requests.Response:
    body: Any = {"prompt": "x", "json_schema": schema, "max_tokens": 4000}
    return requests.post(f"{url}/v1/completions", json=body, timeout=120)


def large() -> dict[str, Any]:
    """A schema of 20 000 characters that is no trouble."""
    names = [f"property_{number}" for number in range(150)]
    parts: dict[str, Any] = {name: {"enum": [f"{name} is {value}" for value in range(4)]} for name in names}
    return {"type": "object", "properties": parts, "required": names[:1]}


def test_gaps_of_a_stream(serving: Callable[..., Running]) -> None:
    server = serving("tiny", limits=Limits(compile_seconds=4))
    assert ask(server.url, {"enum": ["x" * 300]}).status_code == 200  # the workers have begun
    reader = Reader(server.url)
    try:
        time.sleep(2)
        before, reader.gaps = reader.gaps, []
        dear = ask(server.url, a_minute().value)
        during_dear, reader.gaps = reader.gaps, []
        assert dear.status_code == 400
        assert dear.json()["error"]["code"] == "compile_timeout"
        passes = ask(server.url, large())
        during_large = reader.gaps
        assert passes.status_code == 200
        assert json.loads(passes.json()["choices"][0]["text"])
    finally:
        reader.stop()
    assert not reader.faults
    for name, gaps in (("alone", before), ("beside a minute", during_dear), ("beside a large one", during_large)):
        gaps = sorted(gaps)
        print(f"\n{name}: {len(gaps)} gaps, median {1e3 * gaps[len(gaps) // 2]:.1f} ms, most {1e3 * gaps[-1]:.0f} ms")
        assert len(gaps) > 10, "it has stopped"
    assert len(during_dear) / sum(during_dear) > 0.1 * len(before) / sum(before), "far from its pace alone"
