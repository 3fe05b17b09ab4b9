"""Who may ask: keys, names of the host, pages of browsers; and what a client cannot reach by names."""

from __future__ import annotations

import gc
import json
import logging
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.support.models.random_models import save

from sfgen.errors import InternalError, UsageError
from sfgen.protocols import Model
from sfgen.serve import Limits, app
from sfgen.serve.engine import Engine
from sfgen.serve.replies import Choice, Stream
from sfgen.trace import Tracer

HERE = ("127.0.0.1", "localhost", "::1")
TEXT = {"prompt": "Once ", "max_tokens": 2}
PATH = "/v1/completions"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """Of a server without a key, as it is by itself."""
    with TestClient(app("tiny"), base_url="http://localhost:8317") as client:
        yield client


@pytest.fixture(scope="module")
def closed() -> Iterator[TestClient]:
    """Of a server with two keys, which pages of one origin may ask."""
    served = app("tiny", api_keys=["first-key", "second-key"], cors=["https://chat.example.org"])
    with TestClient(served, base_url="http://llm.example.org") as client:
        yield client


def error(answer: Any, status: int, code: str) -> str:
    """The message of an error in OpenAI's form."""
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    return str(answer.json()["error"]["message"])


# ---- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["first-key", "second-key"])
def test_each_key_lets_in(closed: TestClient, key: str) -> None:
    for kind in ("Bearer", "bearer"):
        answer = closed.post(PATH, json=TEXT, headers={"Authorization": f"{kind} {key}"})
        assert answer.status_code == 200
    assert closed.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [None, "", "Bearer", "Bearer ", "Bearer first", "Bearer first-key2", "Bearer FIRST-KEY",
     "Basic first-key", "first-key", "Bearer first-key second-key", "Bearer first-key,second-key",
     b"Bearer \xff\xfe", "Bearer " + "a" * 10_000],
)  # fmt: skip
@pytest.mark.parametrize("path", [PATH, "/v1/models", "/openapi.json", "/x"])
def test_without_a_key_nothing_is_told(closed: TestClient, path: str, sent: Any) -> None:
    headers = {} if sent is None else {"Authorization": sent}
    answer = closed.request("POST" if path == PATH else "GET", path, json=TEXT, headers=headers)
    assert "key" in error(answer, 401, "invalid_api_key")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_health_is_open_and_tells_more_to_those_with_a_key(closed: TestClient) -> None:
    assert closed.get("/health").json() == {"status": "ok"}
    assert closed.get("/health", headers={"Authorization": "Bearer wrong"}).json() == {"status": "ok"}
    assert "tiny" in closed.get("/health", headers={"Authorization": "Bearer first-key"}).json()["models"]


def test_a_wrong_key_costs_no_body(closed: TestClient) -> None:
    error(closed.post(PATH, content=b"[" * 2**24), 401, "invalid_api_key")


@pytest.mark.parametrize("keys", [[""], ["a", ""], ["a b"], ["é"], ["a\n"], "a-key"])
def test_a_key_that_no_client_can_send_is_refused(keys: Any) -> None:
    with pytest.raises(UsageError) as told:
        app("uniform", api_keys=keys)
    assert "a-key" not in str(told.value), "messages are kept in logs"


@pytest.mark.parametrize("hosts", ["localhost", [7]])
def test_what_is_no_list_of_hosts_is_refused(hosts: Any) -> None:
    with pytest.raises(UsageError, match="hosts"):
        app("uniform", hosts=hosts)


# ---- names of the host -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8317", "localhost.", "127.0.0.1", "127.0.0.1:8317", "[::1]:8317", "10.0.0.7:80"]
)
def test_names_and_addresses_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.post(PATH, json=TEXT, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", [PATH, "/health", "/v1/models", "/openapi.json"])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8317", "localhost.evil.example", "127.0.0.1.evil.example", "",
     "localhost@evil.example", "evil.example#localhost", "[evil]"],
)  # fmt: skip
def test_a_page_that_lets_its_name_point_here_is_refused(client: TestClient, host: str, path: str) -> None:
    answer = client.request("POST" if path == PATH else "GET", path, json=TEXT, headers={"Host": host})
    assert "allow this host" in error(answer, 403, "host_not_allowed")


def test_names_can_be_allowed_and_the_check_can_be_left_to_others() -> None:
    with TestClient(app("uniform", hosts=[*HERE, "Box.lan"]), base_url="http://box.lan:8317") as client:
        assert client.get("/health").status_code == 200
        error(client.get("/health", headers={"Host": "other.lan"}), 403, "host_not_allowed")
    with TestClient(app("uniform", hosts=None), base_url="http://any.example") as client:
        assert client.get("/health").status_code == 200


def test_with_a_key_the_server_may_have_any_name(closed: TestClient) -> None:
    answer = closed.get("/v1/models", headers={"Host": "any.example", "Authorization": "Bearer first-key"})
    assert answer.status_code == 200


# ---- pages of browsers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a",
     "", "application/jsonp", "text/json", "application/json, text/plain", "a+json"],
)  # fmt: skip
@pytest.mark.parametrize("path", [PATH, "/v1/chat/completions"])
def test_what_a_page_may_post_without_a_question_is_refused(client: TestClient, path: str, kind: str) -> None:
    body = b'{"prompt": "a", "messages": [{"role": "user", "content": "a"}]}'
    message = error(client.post(path, content=body, headers={"Content-Type": kind}), 415, "unsupported_media_type")
    assert "application/json" in message


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"])
def test_json_by_any_of_its_names_is_taken(client: TestClient, kind: str) -> None:
    assert client.post(PATH, content=b'{"prompt": "a"}', headers={"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "file://", "http://[", "x"]
)
@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS"])
def test_pages_of_others_are_refused_and_may_not_read_why(client: TestClient, method: str, origin: str) -> None:
    question = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    answer = client.request(method, PATH, json=TEXT, headers={"Origin": origin, **question})
    assert "CORS" in error(answer, 403, "origin_not_allowed")
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_a_page_of_the_server_itself_may_ask(client: TestClient) -> None:
    assert client.post(PATH, json=TEXT, headers={"Origin": "http://localhost:8317"}).status_code == 200


def test_pages_that_are_named_may_ask_and_no_others(closed: TestClient) -> None:
    page = {"Origin": "https://chat.example.org"}
    question = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    asked = closed.options(PATH, headers={**page, **question})  # without the key: a browser sends none here
    assert asked.status_code == 200
    assert asked.headers["Access-Control-Allow-Origin"] == "https://chat.example.org"
    allowed = closed.post(PATH, json=TEXT, headers={**page, "Authorization": "Bearer first-key"})
    assert (allowed.status_code, allowed.headers["Access-Control-Allow-Origin"]) == (200, "https://chat.example.org")
    refused = closed.post(PATH, json=TEXT, headers=page)
    assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, "https://chat.example.org")
    for origin in ("https://evil.example", "https://chat.example.org.evil.example", "null"):
        asked = closed.options(PATH, headers={"Origin": origin, **question})
        assert asked.headers.get("Access-Control-Allow-Origin") is None
        assert asked.status_code == 400


def test_without_a_key_a_named_page_may_ask() -> None:
    served = app("uniform", cors=["https://chat.example.org"])
    with TestClient(served, base_url="http://localhost:8317") as client:
        assert client.get("/v1/models", headers={"Origin": "https://chat.example.org"}).status_code == 200
        error(client.get("/v1/models", headers={"Origin": "https://evil.example"}), 403, "origin_not_allowed")


@pytest.mark.parametrize(
    "cors", [["chat.example.org"], ["https://chat.example.org/"], [""], "https://a.example", ["https://"]]
)
def test_what_is_no_origin_is_refused(cors: Any) -> None:
    with pytest.raises(UsageError, match="cors"):
        app("uniform", cors=cors)


# ---- files -----------------------------------------------------------------------------------------------------------

SECRET = "correct horse battery staple"


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the folder that the server runs in."""
    monkeypatch.chdir(tmp_path)
    for name in ("secret", "secret.json", "secret.lark", "secret.gbnf"):
        (tmp_path / name).write_text(f'"{SECRET}"')
    return tmp_path / "secret.json"


@pytest.mark.parametrize(
    "name", ["{}", "./secret", "../secret", "file://{}", "zip:{}", "zip:secret", "", "tiny/../tiny", "."]
)
@pytest.mark.parametrize("path", [PATH, "/v1/chat/completions"])
def test_a_model_is_one_of_those_there_are(client: TestClient, secret: Path, name: str, path: str) -> None:
    body = {"messages": [{"role": "user", "content": "a"}]} if "chat" in path else TEXT
    answer = client.post(path, json={**body, "model": name.format(secret)})
    error(answer, 404, "model_not_found")
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "fields",
    [
        {"json_schema": {"$ref": "{}"}},
        {"json_schema": {"$ref": "file://{}"}},
        {"json_schema": {"$ref": "secret.json"}},
        {"json_schema": {"$id": "file://{}", "$ref": "secret.json"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"$ref": "./secret.json"}}}},
        {"guided_json": "{}"},
        {"guided_json": "secret.json"},
        {"structured_outputs": {"json": "secret.json"}},
        {"guided_grammar": "secret.lark"},
        {"grammar": "{}"},
        {"grammar": '%import .secret (A)\nstart: A'},
        {"grammar": '%import secret.A\nstart: A'},
        {"grammar": '%import ..secret.A\nstart: A'},
        {"sfgen": {"schema": "secret.json"}},
        {"sfgen": {"grammar": "secret.gbnf"}},
        {"sfgen": {"substring": 7}},
        {"sfgen": {"template": "secret"}},
        {"sfgen": {"schema_dir": "."}},
        {"sfgen": {"index": "secret"}},
        {"sfgen": {"pydantic": "secret.py:A"}},
        {"lora": "secret"},
        {"grammar_file": "secret"},
        {"chat_template": "{% include 'secret' %}"},
    ],
    ids=str,
)  # fmt: skip
def test_names_in_a_request_are_never_those_of_files(client: TestClient, secret: Path, fields: dict[str, Any]) -> None:
    answer = client.post(PATH, content=_with(fields, secret), headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert SECRET not in answer.text


def test_a_text_that_looks_like_the_name_of_a_file_is_a_text(client: TestClient, secret: Path) -> None:
    for kind in ("regex", "guided_choice", "sfgen"):
        value: Any = {"regex": "secret", "guided_choice": ["secret"], "sfgen": {"substring": "secret"}}[kind]
        answer = client.post(PATH, json={**TEXT, "max_tokens": 20, kind: value})
        assert answer.status_code == 200
        assert answer.json()["choices"][0]["text"] in "secret"


def _with(fields: dict[str, Any], path: Path) -> bytes:
    return json.dumps({**TEXT, **fields}).replace("{}", str(path)).encode()


@pytest.mark.parametrize(
    "path",
    ["/v1/models/../../etc/passwd", "/etc/passwd", "/v1/%2e%2e/secret.json", "//etc/passwd", "/v1/models/secret"],
)
def test_no_path_leads_to_a_file(client: TestClient, secret: Path, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}


def test_errors_name_no_path_of_a_model(tmp_path: Path) -> None:
    folder = save("llama", tmp_path / "model")
    with TestClient(app(folder), base_url="http://localhost") as client:
        for fields in ({"prompt": "a " * 500}, {"prompt": [1, 2], "max_tokens": 10**6}, {"prompt": "a" * 9**6}):
            answer = client.post(PATH, json={"model": "model", **fields})
            assert answer.status_code in (200, 400)
            assert str(tmp_path) not in answer.text
        answer = client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hi!"}]})
    assert "model has no chat template" in error(answer, 400, "invalid_value")
    assert str(tmp_path) not in answer.text


# ---- faults, and another application ---------------------------------------------------------------------------------


def test_a_fault_of_the_server_is_an_error_in_openais_form_without_what_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of the prompt Once")

    monkeypatch.setattr(sys.modules["sfgen.serve.application"], "read_request", broken)
    with TestClient(app("uniform"), base_url="http://localhost") as client:
        answer = client.post(PATH, json=TEXT)
    error(answer, 500, "internal_error")
    assert "Once" not in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PATH, {"prompt": "Once", "stream": True}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Once"}], "stream": True}),
        ("/v1/responses", {"input": "Once", "stream": True}),
        ("/v1/trace", {"prompt": "Once"}),
    ],
)
def test_a_fault_in_a_stream_ends_it_and_tells_nothing_of_the_prompt(
    path: str, body: Any, chat_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> Any:
        raise ZeroDivisionError("of the prompt Once")

    monkeypatch.setattr(Choice, "chunks", broken)
    monkeypatch.setattr(Tracer, "show", broken)
    logged: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.getLogger("sfgen.serve"), "handle", logged.append)
    monkeypatch.delenv("SFGEN_DEBUG", raising=False)
    with TestClient(app({"chat": chat_model}), base_url="http://localhost") as client:
        answer = client.post(path, json=body)
    assert "ZeroDivisionError" in answer.text
    assert "of the prompt" not in answer.text
    assert [logging.Formatter().format(record) for record in logged] == ["internal error: ZeroDivisionError"]


def test_mounted_in_another_application() -> None:
    served = app("tiny", hosts=["testserver"], limits=Limits(batch_size=2))
    outer = FastAPI(lifespan=lambda _: served.started())
    outer.mount("/llm", served)
    with TestClient(outer) as client:
        assert client.get("/llm/health").json()["status"] == "ok"
        assert client.post(f"/llm{PATH}", json=TEXT).status_code == 200
        assert client.post(f"/llm{PATH}", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    closed = app("tiny", api_keys=["a-key"])
    outer = FastAPI(lifespan=lambda _: closed.started())
    outer.mount("/llm", closed)
    with TestClient(outer) as client:
        assert client.get("/llm/health").json() == {"status": "ok"}
        error(client.get("/llm/v1/models"), 401, "invalid_api_key")


# ---- bodies ----------------------------------------------------------------------------------------------------------


def test_a_body_is_read_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def noted(body: bytes) -> Any:
        read.append(bytes(body))
        return json.loads(body)

    monkeypatch.setattr("sfgen.serve.guards.json_of", noted)
    monkeypatch.setattr("starlette.requests.Request.json", None)
    assert client.post(PATH, json=TEXT).status_code == 200
    assert [json.loads(body) for body in read] == [TEXT]


def test_a_body_is_not_kept_for_its_stream(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    class Value(dict[str, Any]):
        """What can be looked for when it has gone."""

    bodies: list[weakref.ref[Value]] = []
    is_kept: list[bool] = []
    sent = Stream.__call__

    def read(body: bytes) -> Value:
        value = Value(json.loads(body))
        bodies.append(weakref.ref(value))
        return value

    async def noted(self: Stream, *given: Any) -> None:
        gc.collect()
        is_kept.extend(body() is not None for body in bodies)
        await sent(self, *given)

    monkeypatch.setattr("sfgen.serve.guards.json_of", read)
    monkeypatch.setattr(Stream, "__call__", noted)
    assert client.post(PATH, json=TEXT | {"stream": True}).status_code == 200
    assert is_kept == [False]


# ---- health ----------------------------------------------------------------------------------------------------------


def test_an_engine_that_has_failed_is_no_health(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(engine: Engine) -> None:
        raise SystemExit("out of registers")

    monkeypatch.setattr(Engine, "_write", fail)
    served = app("tiny")
    with TestClient(served, base_url="http://localhost") as client:
        served.check()
        assert client.get("/health").status_code == 200
        assert client.post(PATH, json=TEXT).status_code == 500
        assert client.get("/health").status_code == 500
        assert "registers" not in client.get("/health").text
        with pytest.raises(InternalError, match="out of registers"):
            served.check()
