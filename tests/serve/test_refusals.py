"""What a person reads whose request has a mistake: which field it is, what is wanted there, and what was meant."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.support.models.caller import Caller
from tests.support.running.installed import needs

from sfgen.serve import app

COMPLETIONS, CHAT, RESPONSES, TRACE = "/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/trace"
HI = [{"role": "user", "content": "Hi!"}]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    models: dict[str, Any] = {"caller": Caller("Hello."), "tiny": "tiny"}
    with TestClient(app(models), base_url="http://localhost") as started:
        yield started


def told(client: TestClient, path: str, body: Any) -> tuple[str, str | None]:
    """The message of a refusal, and the field that it names."""
    answer = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    return error["message"], error["param"]


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT, RESPONSES, TRACE])
@pytest.mark.parametrize("body", [[], "x", None, 5])
def test_a_body_that_is_not_an_object(client: TestClient, path: str, body: Any) -> None:
    assert told(client, path, body) == ("the body is not a JSON object", None)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (COMPLETIONS, {"prompt": 5}, "prompt must be a text or a list, not 5"),
        (COMPLETIONS, {"max_tokens": "five"}, 'max_tokens must be a whole number, not "five"'),
        (COMPLETIONS, {"seed": 1.5}, "seed must be a whole number, not 1.5"),
        (COMPLETIONS, {"temperature": -1}, "temperature must be at least 0, not -1"),
        (COMPLETIONS, {"top_p": 3}, "top_p must be at most 1, not 3"),
        (COMPLETIONS, {"stream": "perhaps"}, 'stream must be true or false, not "perhaps"'),
        (COMPLETIONS, {"stop": 5}, "stop must be a list or a text, not 5"),
        (COMPLETIONS, {"banned_strings": [None]}, "banned_strings[0] must be a text, not null"),
        (COMPLETIONS, {"sfgen": []}, "sfgen must be an object, not []"),
        (COMPLETIONS, {"numbers": "all"}, "numbers must be 'schema' or 'any', not \"all\""),
        (COMPLETIONS, {"prompt": {"text": "x" * 99}}, f'prompt must be a text or a list, not {{"text": "{"x" * 49}…'),
        (CHAT, {"messages": "x"}, 'messages must be a list, not "x"'),
        (CHAT, {"messages": []}, "messages is empty"),
        (CHAT, {"messages": [{"content": "x"}]}, "messages[0].role is missing"),
        (CHAT, {"messages": [{"role": "user"}]}, "messages[0].content is missing"),
        (CHAT, {"messages": HI, "tools": ["f"]}, 'tools[0] must be an object, not "f"'),
        (CHAT, {"messages": HI, "tool_choice": {"type": "function"}}, "tool_choice.function is missing"),
        (RESPONSES, {"input": ""}, "input is empty"),
        (RESPONSES, {"input": 5}, "input must be a text or a list, not 5"),
        (RESPONSES, {"input": [5]},
         "input[0]: only messages, thoughts and tool calls with their outputs are supported"),
        (
            RESPONSES,
            {"input": "x", "tools": [{"type": "custom", "name": "a b"}]},
            'tools[0].name must be a text that matches ^[a-zA-Z0-9_-]{1,128}$, not "a b"',
        ),
    ],
)  # fmt: skip
def test_a_value_of_another_type(client: TestClient, path: str, body: dict[str, Any], message: str) -> None:
    said, param = told(client, path, body)
    assert said == message
    assert param is not None
    assert message.startswith(param)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (COMPLETIONS, {"regx": "a"}, "regx is not a field that this server knows\nDid you mean regex?"),
        (COMPLETIONS, {"sfgen": {"regx": 1}}, "sfgen.regx is not a field that this server knows\nDid you mean regex?"),
        (COMPLETIONS, {"wholly_other": 1}, "wholly_other is not a field that this server knows\nLeave it out."),
        (COMPLETIONS, {"messages": HI}, f"messages is a field of {CHAT}\nAsk there, or leave it out."),
        (COMPLETIONS, {"metadat": 1}, "metadat is not a field that this server knows\nLeave it out."),
        (CHAT, {"messages": HI, "input": "x"}, f"input is a field of {RESPONSES}\nAsk there, or leave it out."),
        (CHAT, {"prompt": "x"}, f"messages is missing\nprompt is a field of {COMPLETIONS}: ask there."),
        (RESPONSES, {"messages": HI}, f"input is missing\nmessages is a field of {CHAT}: ask there."),
        (RESPONSES, {}, "input is missing"),
        (TRACE, {"input": "x"}, f"input is a field of {RESPONSES}\nAsk there, or leave it out."),
    ],
)  # fmt: skip
def test_a_field_that_is_not_known_here(client: TestClient, path: str, body: dict[str, Any], message: str) -> None:
    assert told(client, path, body)[0] == message


def test_an_address_that_is_not_there(client: TestClient) -> None:
    for answer in (client.post("/v1/embeddings", json={}), client.get("/v1/responses/resp_1")):
        assert answer.status_code == 404
        error = answer.json()["error"]
        assert error["code"] == "not_found"
        assert "there is nothing at '/v1/" in error["message"]
        assert f"{COMPLETIONS}, {CHAT}, {RESPONSES}, {TRACE}" in error["message"]


def test_another_method(client: TestClient) -> None:
    answer = client.get(COMPLETIONS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"]["message"] == f"{COMPLETIONS} takes POST, not GET"


def test_a_body_must_be_called_json(client: TestClient) -> None:
    answer = client.post(COMPLETIONS, content="{}")
    assert answer.status_code == 415
    assert answer.json()["error"]["message"].startswith("the body has no content type\n")


@needs("curl")
@pytest.mark.parametrize("path", ["/", "/health", "/v1/models"])
def test_checks_of_health_may_ask_for_the_head_alone(serving: Callable[..., Any], path: str) -> None:
    url = serving("tiny").url
    done = subprocess.run(["curl", "-sI", url + path], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.startswith("HTTP/1.1 200 OK")
    assert "content-length" in done.stdout.lower()


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_model_without_a_chat_template_is_told_so_with_tools_too(client: TestClient, choice: str) -> None:
    tools = [{"type": "function", "function": {"name": "stop"}}]
    body = {"model": "tiny", "messages": HI, "tools": tools, "tool_choice": choice}
    message, param = told(client, CHAT, body)
    assert message == "tiny has no chat template\nAsk /v1/completions, or a model that has one."
    assert param == "messages"
