"""The requests that ``/openapi.json`` describes, tried by schemathesis: none makes the server fail."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings

from sfgen.serve import Limits, app
from sfgen.trace import parse_trace

schemathesis = pytest.importorskip("schemathesis")

PATHS = [
    ("/health", "GET"),
    ("/metrics", "GET"),
    ("/v1/models", "GET"),
    ("/v1/models/{name}", "GET"),
    ("/v1/completions", "POST"),
    ("/v1/chat/completions", "POST"),
    ("/v1/responses", "POST"),
    ("/v1/trace", "POST"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    limits = Limits(max_tokens=20, request_seconds=20)
    with TestClient(app("tiny", limits=limits), base_url="http://localhost") as started:
        yield started


@pytest.fixture(scope="module")
def described(client: TestClient) -> Any:
    """What is described, with no further fields: they are refused, as a rule, before anything else is read."""
    content = client.get("/openapi.json").json()
    for kind in content["components"]["schemas"].values():
        kind["additionalProperties"] = False
    return schemathesis.openapi.from_dict(content)


def test_all_paths_are_tried(described: Any) -> None:
    assert {(operation.ok().path, operation.ok().method.upper()) for operation in described.get_all_operations()} == {
        *PATHS
    }


@pytest.mark.parametrize(("path", "method"), PATHS)
def test_no_request_makes_the_server_fail(described: Any, client: TestClient, path: str, method: str) -> None:
    @given(case=described[path][method].as_strategy())
    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def tried(case: Any) -> None:
        body = case.body if isinstance(case.body, dict | list) else {}
        answer = client.request(method, case.formatted_path, json=body if method == "POST" else None)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) >= {"message", "type", "param", "code"}
        elif answer.headers["content-type"].startswith("text/event-stream"):
            ends = ("data: [DONE]\n\n", "response.completed", "response.incomplete")
            assert any(end in answer.text for end in ("event: error", *ends))
        elif answer.headers["content-type"] == "application/jsonl":
            assert all(each.result or each.failure for each in parse_trace(io.BytesIO(answer.content)).recordings)
        elif path == "/v1/responses":
            assert answer.json()["status"] in ("completed", "incomplete")
        elif method == "POST":
            for choice in json.loads(answer.text)["choices"]:
                assert choice["finish_reason"] in ("stop", "length", "tool_calls")

    tried()
