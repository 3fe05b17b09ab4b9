"""``/metrics``: what is counted of requests, texts and constraints, and who may read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from sfgen.serve import Limits, app

COMPLETIONS = "/v1/completions"


@pytest.fixture
def client() -> Iterator[TestClient]:
    limits = Limits(request_seconds=20, max_waiting=1, batch_size=1)
    with TestClient(app({"small": "tiny"}, limits=limits), base_url="http://localhost") as started:
        yield started


def counted(client: TestClient) -> dict[tuple[str, ...], float]:
    """The values by name and labels, in the order of their names."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


def test_texts_and_requests_are_counted(client: TestClient) -> None:
    before = counted(client)
    assert before[("sfgen_texts_running", "small")] == before[("sfgen_texts_waiting", "small")] == 0
    free: Any = {"prompt": "Once upon", "max_tokens": 9, "logit_bias": {"1": -100}}
    written = client.post(COMPLETIONS, json=free).json()["usage"]
    client.post(COMPLETIONS, json=free | {"stream": True})
    client.post(COMPLETIONS, json={"prompt": "x", "regex": "abc", "stream": True})
    client.post(COMPLETIONS, json={"prompt": "x", "regex": "[0-9"})
    client.post("/v1/no/such", json={})
    client.get("/health")
    after = counted(client)
    assert after[("sfgen_requests_total", COMPLETIONS, "200")] == 3
    assert after[("sfgen_requests_total", COMPLETIONS, "400")] == 1
    assert after[("sfgen_requests_total", "/health", "200")] == 1
    assert after[("sfgen_requests_total", "other", "404")] == 1
    assert after[("sfgen_texts_total", "limit", "small")] == 2
    assert after[("sfgen_texts_total", "complete", "small")] == 1
    assert after[("sfgen_tokens_total", "small")] >= written["completion_tokens"] + 1
    assert after[("sfgen_prompt_tokens_total", "small")] >= written["prompt_tokens"]
    assert after[("sfgen_forced_tokens_total", "small")] >= 1
    for name in ("first_text", "text"):
        assert after[(f"sfgen_{name}_seconds_count", "small")] == 3
    assert after[("sfgen_text_gap_seconds_count", "small")] >= 5
    assert after[("process_start_time_seconds",)] > 0


def test_rollbacks_and_constraints_are_counted(client: TestClient) -> None:
    client.post(COMPLETIONS, json={"prompt": "Once", "max_tokens": 60, "seed": 1, "banned_strings": ["the", "a"]})
    client.post(COMPLETIONS, json={"prompt": "Once", "json_schema": {"type": "boolean"}})
    client.post(COMPLETIONS, json={"prompt": "Once", "json_schema": {"type": "boolean"}})
    after = counted(client)
    assert after[("sfgen_rollbacks_total", "small")] > 0
    assert after[("sfgen_compile_seconds_count",)] == 1
    assert after[("sfgen_kept_bytes",)] > 1000


def test_texts_that_do_not_finish_are_counted(client: TestClient) -> None:
    endless: Any = {"prompt": "Once", "max_tokens": 4000, "logit_bias": {"1": -100}, "sfgen": {"strategy": "resample"}}
    with TestClient(app({"small": "tiny"}, limits=Limits(request_seconds=0.1)), base_url="http://localhost") as hasty:
        assert hasty.post(COMPLETIONS, json=endless).status_code == 504
        assert counted(hasty)[("sfgen_texts_total", "error", "small")] == 1


def test_openmetrics_where_it_is_asked_for(client: TestClient) -> None:
    answer = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert "sfgen_kept_bytes" in {family.name for family in read_openmetrics(answer.text)}  # type: ignore[no-untyped-call]


def test_a_version_that_is_not_a_number_is_not_looked_at(client: TestClient) -> None:
    for kind in ("application/openmetrics-text", "text/plain"):
        answer = client.get("/metrics", headers={"Accept": f"{kind}; version=newest"})
        assert answer.headers["content-type"].startswith("text/plain; version=")


def test_nothing_of_a_request_is_told(client: TestClient) -> None:
    client.post(COMPLETIONS, json={"prompt": "a secret", "max_tokens": 2, "user": "Ada Lovelace"})
    client.get("/secret/path")
    text = client.get("/metrics").text
    assert "secret" not in text
    assert "Ada" not in text


def test_it_needs_the_key() -> None:
    with TestClient(app("tiny", api_keys=["k3y"]), base_url="http://localhost") as closed:
        assert closed.get("/metrics").status_code == 401
        assert closed.get("/metrics", headers={"Authorization": "Bearer k3y"}).status_code == 200


def test_each_server_counts_for_itself(client: TestClient) -> None:
    client.get("/health")
    with TestClient(app("tiny"), base_url="http://localhost") as other:
        assert ("sfgen_requests_total", "/health", "200") not in counted(other)
    assert counted(client)[("sfgen_requests_total", "/health", "200")] == 1
