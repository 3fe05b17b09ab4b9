"""``/v1/trace``: the events of the same texts that the other endpoints write, in the format of a trace."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator
from numpy.typing import NDArray
from tests.support.models.gated import Gated

from sfgen import RolledBack, TextReleased, TokenChosen, Vocabulary
from sfgen.errors import ModelError
from sfgen.protocols import Model
from sfgen.serve import app
from sfgen.trace import Recording, parse_trace, schema

PATH = "/v1/trace"
BAN = {"prompt": "Can we talk?", "max_tokens": 40, "temperature": 0, "sfgen": {"ban": ["talk", "listen"]}}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(app("tiny"), base_url="http://localhost:8317") as client:
        yield client


def recordings(client: TestClient, **fields: Any) -> list[Recording]:
    answer = client.post(PATH, json=fields)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/jsonl"), answer.text
    return list(parse_trace(io.BytesIO(answer.content)).recordings)


REQUESTS: list[dict[str, Any]] = [
    BAN,
    {"prompt": "Once ", "max_tokens": 20, "seed": 4},
    {"prompt": "Once ", "max_tokens": 30, "seed": 4, "sfgen": {"ban": ["a*", "the"], "strategy": "first-token"}},
    {"prompt": "Year: ", "regex": "[12][0-9]{3}", "seed": 1},
    {"prompt": "", "sfgen": {"schema": "name, age int"}, "seed": 2, "n": 3},
    {"prompt": ["It is ", "He is "], "guided_choice": ["hot", "cold"], "n": 2, "seed": 5},
    {"prompt": "1", "sfgen": {"grammar": "root ::= [0-9] (\"+\" [0-9])*"}, "max_tokens": 9, "seed": 3},
    {"prompt": "It is ", "sfgen": {"regex": "hot|cold", "strategy": "exact"}, "seed": 7},
    {"prompt": [300, 301], "max_tokens": 5, "seed": 1, "stop": "e"},
]  # fmt: skip


def text_of(recording: Recording) -> str:
    assert recording.result is not None
    return recording.result.text


@pytest.mark.parametrize("body", REQUESTS, ids=str)
def test_the_texts_are_those_of_the_other_endpoints(client: TestClient, body: dict[str, Any]) -> None:
    choices = client.post("/v1/completions", json=body).json()["choices"]
    found = recordings(client, **body)
    assert [each.sample for each in found] == [choice["index"] for choice in choices]
    assert [text_of(each) for each in found] == [choice["text"] for choice in choices]
    for each in found:
        released = [event.text for _, event in each.events if isinstance(event, TextReleased)]
        assert "".join(released) == text_of(each)


def test_each_token_has_its_likeliest_rivals_and_what_the_mask_took(client: TestClient) -> None:
    (found,) = recordings(client, **BAN)
    tokens = [event for _, event in found.events if isinstance(event, TokenChosen)]
    assert all(token.outlook is not None and token.watch is not None for token in tokens)
    assert any(isinstance(event, RolledBack) and event.word == "talk" for _, event in found.events)
    (found,) = recordings(client, prompt="Year: ", regex="year [0-9]{2}", seed=1)
    tokens = [event for _, event in found.events if isinstance(event, TokenChosen)]
    assert b"".join(token.data for token in tokens if token.forced) == b"year "
    assert all(token.forced or (token.outlook is not None and token.outlook.removed > 0) for token in tokens)


def test_every_line_is_of_the_format_and_the_first_tells_what_is_asked_for(client: TestClient) -> None:
    judge = Draft202012Validator(schema())
    body = {"prompt": "x", "sfgen": {"schema": "name, age int", "ban": ["Ada"]}, "n": 2, "temperature": 0.5}
    lines = client.post(PATH, json=body).text.splitlines()
    for line in lines:
        judge.validate(json.loads(line))
    first, second = (json.loads(line) for line in lines if "trace" in json.loads(line))
    assert first["schema"] == "name, age int"
    assert json.loads(first["schema_json"])["schema"]["required"] == ["name", "age"]
    assert (first["prompt"], first["model"], first["words"]) == ("x", "tiny", ["Ada"])
    assert first["seed"] is not None
    assert second["seed"] not in (None, first["seed"])


def test_the_seed_that_was_drawn_writes_the_text_again(client: TestClient) -> None:
    body = {"prompt": "Once ", "max_tokens": 12}
    (found,) = recordings(client, **body)
    (again,) = recordings(client, **body, seed=found.scene.seed)
    assert text_of(again) == text_of(found)


def test_a_conversation_is_told_as_its_template_writes_it(chat_model: Model) -> None:
    body = {"messages": [{"role": "user", "content": "Hi!"}], "max_tokens": 4, "temperature": 0}
    with TestClient(app({"chat": chat_model}), base_url="http://localhost") as client:
        (found,) = recordings(client, **body)
        answer = client.post("/v1/chat/completions", json=body).json()
    assert text_of(found) == answer["choices"][0]["message"]["content"]
    assert found.scene.prompt == "Hi!"
    assert found.scene.rendered is not None
    assert found.scene.rendered.endswith("[user]Hi![/]\n[assistant]")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logprobs": 1}, "logprobs"),
        ({"logprobs": 0}, "logprobs"),
        ({"messages": [{"role": "user", "content": "a"}], "logprobs": True}, "logprobs"),
        ({"stream": False}, "stream"),
        ({"sfgen": {"regex": "[a"}}, "sfgen.regex"),
        ({"sfgen": {"ban": [""]}}, "sfgen.ban"),
        ({"sfgen": {"regex": "a{9}"}, "max_tokens": 1}, "max_tokens"),
        ({"model": "other"}, "model"),
        ({"temperature": -1}, "temperature"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0].type"),
        ({"prompt": 3}, "prompt"),
        ({"nobody": 1}, "nobody"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused_before(client: TestClient, fields: dict[str, Any], param: str) -> None:
    answer = client.post(PATH, json={"temperature": 0} | fields)
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["param"] == param


@pytest.mark.parametrize("body", [b"[1]", b"3", b"null", b'"a"', b""])
def test_what_is_no_request_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] is None


def test_a_text_that_fails_ends_with_its_error_and_the_others_go_on() -> None:
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
    wanted: NDArray[np.floating] = np.eye(257, dtype=np.float32)[ord("a")]

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        if tokens[0] == ord("x") and len(tokens) == 3:
            raise ModelError("the model has no more")
        return wanted

    application = app({"scripted": Gated(vocabulary, score, is_open=True)})
    with TestClient(application, base_url="http://localhost") as client:
        bad, good = recordings(client, prompt=["x", "y"], max_tokens=5, temperature=0)
    assert (bad.text, text_of(good)) == ("aa", "aaaaa")
    assert bad.failure is not None
    assert bad.failure.message == "the model has no more"


def test_a_prompt_of_tokens_is_told_as_their_text() -> None:
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256], names={256: "<end>"})
    wanted: NDArray[np.floating] = np.eye(257, dtype=np.float32)[ord("a")]
    with TestClient(
        app({"bytes": Gated(vocabulary, lambda _: wanted, is_open=True)}), base_url="http://localhost"
    ) as client:
        (found,) = recordings(client, prompt=[256, *"né".encode(), 0xC3], max_tokens=1, temperature=0)
    assert found.scene.prompt == "<end>né\\xc3"


def test_it_needs_the_key_and_is_not_for_pages_of_others(client: TestClient) -> None:
    refused = client.post(PATH, json=BAN, headers={"Origin": "https://evil.example"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "origin_not_allowed")
    with TestClient(app("uniform", api_keys=["a-key"]), base_url="http://localhost") as closed:
        assert closed.post(PATH, json=BAN).status_code == 401
        assert closed.post(PATH, json=BAN, headers={"Authorization": "Bearer a-key"}).status_code == 200


def test_who_keeps_the_lines_can_replay_them(client: TestClient, sfgen: Callable[..., Any], tmp_path: Path) -> None:
    answer = client.post(PATH, json=BAN)
    (tmp_path / "run.jsonl").write_bytes(answer.content)
    done = sfgen("replay", str(tmp_path / "run.jsonl"))
    text = client.post("/v1/completions", json=BAN).json()["choices"][0]["text"]
    assert (done.code, done.out) == (0, f"{text}\n")
