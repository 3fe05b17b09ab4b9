"""A client that goes away frees its row at the next forward pass: over a real socket, at each moment of a request."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.serve.conftest import Running
from tests.support.models.gated import PATIENCE, Gated
from tests.support.models.scripted import preferring
from tests.support.models.thinking import Thinker

from sfgen import Vocabulary
from sfgen.serve import Limits
from sfgen.serve.constraints import Constraints

BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])


class Case:
    """A server with a model of one row that does a forward pass when the test allows it."""

    def __init__(self, serving: Callable[..., Running], model: Gated | None = None) -> None:
        self.model = model or Gated(BYTES, preferring(BYTES, [b"a"] * 10_000, prompt_length=0))
        self.server = serving({"slow": self.model}, limits=Limits(batch_size=1, max_waiting=4))

    def post(self, prompt: str, path: str = "completions", **fields: Any) -> socket.socket:
        asked = {"prompt": prompt} if path == "completions" else {"messages": [{"role": "user", "content": prompt}]}
        body = json.dumps({**asked, "max_tokens": 1000, "temperature": 0} | fields).encode()
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE)
        head = [f"POST /v1/{path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        connection.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        return connection

    def load(self) -> tuple[int, int]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        connection.request("GET", "/health")
        told = json.loads(connection.getresponse().read())["models"]["slow"]
        connection.close()
        return told["running"], told["waiting"]

    def ends(self) -> dict[str, int]:
        """How many texts have ended, by how they did."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        connection.request("GET", "/metrics")
        told = connection.getresponse().read().decode()
        connection.close()
        return {end: int(count) for end, count in re.findall(r'sfgen_texts_total{end="(\w+)",.*} (\d+)', told)}

    def until_load(self, *load: int, passes: int = 0) -> None:
        """Wait for a load; allow so many passes at each look."""
        end = time.monotonic() + PATIENCE
        while (found := self.load()) != load:
            assert time.monotonic() < end, f"{found} instead of {load}"
            self.model.allow(passes)
            time.sleep(0.01)

    def until_passes(self, count: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(self.model.passes) < count:
            assert time.monotonic() < end, f"{len(self.model.passes)} passes instead of {count}"
            time.sleep(0.005)


@pytest.fixture
def case(serving: Callable[..., Running]) -> Iterator[Case]:
    made = Case(serving)
    yield made
    made.model.open()


@contextmanager
def left(connection: socket.socket) -> Iterator[None]:
    """Close a connection, and give the server a moment to see it."""
    connection.close()
    time.sleep(0.3)
    yield


@pytest.mark.parametrize("stream", [True, False])
class TestLeaving:
    def test_while_it_is_written(self, case: Case, stream: bool) -> None:
        connection = case.post("x", stream=stream)
        case.until_load(1, 0)
        case.model.allow(3)
        case.until_passes(3)
        with left(connection):
            case.model.allow(2)
            case.until_load(0, 0)
        assert len(case.model.passes) <= 4

    def test_in_a_thought(self, serving: Callable[..., Running], stream: bool) -> None:
        thinker = Thinker("a" * 10_000)
        model = Gated(BYTES, thinker.wish)
        vars(model).update({name: getattr(thinker, name) for name in ("chat", "encode_inside", "thought")})
        case = Case(serving, model)
        connection = case.post("x", "chat/completions", stream=stream, regex="b")
        case.until_load(1, 0)
        model.allow(3)
        case.until_passes(3)
        if stream:
            told = b""
            while told.count(b"reasoning_content") < 2:
                told += connection.recv(4096)
        with left(connection):
            model.allow(2)
            case.until_load(0, 0)
        assert len(model.passes) <= 4
        model.open()

    def test_before_the_first_token(self, case: Case, stream: bool) -> None:
        connection = case.post("x", stream=stream)
        case.until_load(1, 0)
        with left(connection):
            case.model.allow(2)
            case.until_load(0, 0)
        assert len(case.model.passes) <= 1

    def test_while_it_waits(self, case: Case, stream: bool) -> None:
        first = case.post("x", stream=stream)
        case.until_load(1, 0)
        second = case.post("yy", stream=stream)
        case.until_load(1, 1)
        with left(second):
            case.until_load(1, 0)  # without any forward pass
        with left(first):
            case.model.allow(2)
            case.until_load(0, 0)
        assert not any(121 in ids for each in case.model.passes for ids in each.values())

    def test_with_several_texts(self, case: Case, stream: bool) -> None:
        connection = case.post("x", stream=stream, n=4, temperature=1)
        case.until_load(1, 3)
        with left(connection):
            case.model.allow(2)
            case.until_load(0, 0)

    def test_while_its_constraint_is_compiled(
        self, serving: Callable[..., Running], stream: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Constraints] = []

        class Noted(Constraints):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                made.append(self)

        monkeypatch.setattr(sys.modules["sfgen.serve.application"], "Constraints", Noted)
        case = Case(serving)
        hard = {f"p{number}": {"type": "string", "pattern": f"^[ab]*a[ab]{{16}}{number}$"} for number in range(99)}
        schema = {"type": "object", "required": list(hard), "properties": hard}
        connection = case.post("x", stream=stream, json_schema=schema, max_tokens=5000)
        time.sleep(0.5)
        assert len(made[0]._under_way) == 1
        with left(connection):
            assert not made[0]._under_way

    def test_many_and_nothing_is_left(self, case: Case, stream: bool) -> None:
        for _ in range(3):
            connections = [case.post("x", stream=stream) for _ in range(5)]
            case.until_load(1, 4)
            case.model.allow(2)
            for connection in connections:
                connection.close()
            case.until_load(0, 0, passes=1)


def test_nobody_waits_for_texts_beside_one_that_has_failed(case: Case) -> None:
    connection = case.post("x", n=3, temperature=1)
    case.until_load(1, 2)
    case.model.fault = ValueError("the model breaks")
    case.model.allow(1)
    assert b" 500 " in connection.recv(100)
    case.until_load(0, 0, passes=1)  # the second may have begun a pass before the request had ended
    assert case.ends() == {"error": 1, "left": 2}
    connection.close()


def test_a_full_line_says_when_to_ask_again(case: Case) -> None:
    held = [case.post("x") for _ in range(5)]
    case.until_load(1, 4)
    with _asked(case) as answer:
        assert answer.status == 429
        assert int(answer.headers["Retry-After"]) >= 1
        assert json.loads(answer.read())["error"]["code"] == "rate_limit_exceeded"
    for connection in held:
        connection.close()


@contextmanager
def _asked(case: Case) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", case.server.port, timeout=PATIENCE)
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "x"}), {"Content-Type": "application/json"})
    yield connection.getresponse()
    connection.close()
