"""Requests that are broken, huge, slow or many: clear answers, bounded memory, and the streams of others go on."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.support.running.served import JSON, Answer, Served, read_all, served, until

RECEIVE_SECONDS = 2
MEGABYTE = 2**20
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served("--receive-timeout", str(RECEIVE_SECONDS), "--compile-timeout", "2") as server:
        assert server.text()  # what is made once is made
        yield server


@pytest.fixture(autouse=True)
def answers_afterwards(server: Served) -> Iterator[None]:
    """After each of these the server is as it was."""
    yield
    assert server.process.poll() is None
    assert server.text() == server.text()
    until(lambda: set(server.ask("/health").json["models"]["tiny"].values()) == {0})


def answered(data: bytes) -> Answer:
    """The one answer in what came over a connection."""
    head, _, body = data.partition(b"\r\n\r\n")
    return Answer(int(head.split()[1]), {}, body)


# ---- what is no JSON -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "is not JSON: line 1, column 1"),
        (b'{"prompt": "a",}', "is not JSON: line 1, column 1"),
        (b'{"prompt": "\xff"}', "is not UTF-8: byte 12"),
        (b'{"prompt": "a", "temperature": NaN}', "NaN"),
        (b'{"prompt": "a", "temperature": -Infinity}', "Infinity"),
        (b'{"prompt": "a", "prompt": "b"}', "'prompt' twice"),
        (b'{"sfgen": {"schema": {"type": "array", "type": "object"}}}', "'type' twice"),
        (b'{"prompt": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested deeper than 512"),
        (b'{"json_schema": ' + b'{"not":' * 10_000 + b"{}" + b"}" * 10_000 + b"}", "nested deeper than 512"),
        (b"[" * MEGABYTE, "nested deeper than 512"),
        (b'{"seed": ' + b"9" * 100_000 + b"}", "too long"),
    ],
    ids=lambda value: value[:30].decode("latin-1") if isinstance(value, bytes) else "",
)
def test_what_readers_of_json_do_not_all_understand_alike_is_refused(server: Served, body: bytes, says: str) -> None:
    answer = server.ask("/v1/completions", body)
    assert (answer.status, answer.error["code"]) == (400, "invalid_json")
    assert says in answer.error["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"1",
        b"null",
        b'"a"',
        b'{"prompt": 1e999}',
        b'{"prompt": "a", "temperature": 1e999}',
        b'{"prompt": "a", "seed": 1e30}',
        b'{"prompt": "a", "n": 1000000000}',
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "a", "regex": "\\ud800"}',
        b'{"prompt": "a", "banned_strings": ["\\ud800"]}',
        b'{"prompt": "a", "stop": "\\ud800"}',
        b'{"prompt": "a", "logit_bias": {"-1": 1}}',
        b'{"prompt": [99999999]}',
        b'{"prompt": [-1]}',
        b'{"prompt": "a", "json_schema": ' + b'{"not":' * 500 + b"{}" + b"}" * 500 + b"}",
        b'{"prompt": "a", "sfgen": ' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"prompt": "a", "regex": "' + b"(" * 5000 + b")" * 5000 + b'"}',
        b'{"prompt": "a", "grammar": "root ::= ' + b"(" * 5000 + b')"}',
    ],
    ids=lambda body: body[:50].decode(),
)
def test_a_body_that_means_nothing_is_a_mistake_of_the_client(server: Served, body: bytes) -> None:
    answer = server.ask("/v1/completions", body)
    assert answer.status == 400, answer.body
    assert answer.error["message"]


# ---- what is large ---------------------------------------------------------------------------------------------------


def test_a_body_of_100_megabytes_is_refused_by_its_length(server: Served) -> None:
    with server.streaming():
        before = server.most_memory  # a text was written, which takes memory, too
        answer = server.ask("/v1/completions", bytes(100 * MEGABYTE))
    assert (answer.status, answer.error["code"]) == (413, "body_too_large")
    assert "8,388,608 bytes" in answer.error["message"]
    assert server.most_memory < before + 60 * MEGABYTE


def test_a_body_that_does_not_tell_its_length_is_refused_where_it_passes_the_limit(server: Served) -> None:
    chunk = b"%x\r\n%b\r\n" % (MEGABYTE, b" " * MEGABYTE)
    with server.streaming(), server.connect() as connection:
        before = server.most_memory
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        for _ in range(100):
            connection.sendall(chunk)  # the server reads on, so that a client that only writes sees the answer
        connection.sendall(b"0\r\n\r\n")
        answer = answered(read_all(connection))
    assert (answer.status, answer.error["code"]) == (413, "body_too_large")
    assert server.most_memory < before + 60 * MEGABYTE


def test_a_length_that_no_machine_has_is_refused(server: Served) -> None:
    answer = answered(server.raw(HEAD + b"Content-Length: 99999999999999999\r\n\r\n"))
    assert (answer.status, answer.error["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * MEGABYTE + b"\r\n\r\n",
        b"GET /" + b"a" * MEGABYTE + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 200_000 + b"\r\n",
    ],
    ids=["a header", "the path", "many headers"],
)
def test_very_large_headers_are_refused(server: Served, head: bytes) -> None:
    answer = answered(server.raw(head))
    assert (answer.status, answer.error["code"]) == (431, "invalid_request")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),  # TLS
        b"hello\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",  # without a host
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        HEAD + b"Content-Length: x\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: b\x00c\r\n\r\n",
    ],
)
def test_what_is_not_http_is_told_so_in_the_form_of_all_errors(server: Served, data: bytes) -> None:
    answer = answered(server.raw(data))
    assert answer.status in (400, 501)
    assert answer.error["code"] == "invalid_request"


def test_garbage_behind_a_request_ends_the_connection_alone(server: Served) -> None:
    body = b'{"prompt": "a", "max_tokens": 200, "seed": 1, "stream": true}'
    data = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    assert server.raw(data + b"\x00garbage\r\n\r\n").startswith(b"HTTP/1.1 ")


def test_a_schema_that_takes_very_long_is_given_up_and_others_go_on(server: Served) -> None:
    hard = "[ab]*a[ab]{16}"
    patterns = {f"name{n}": {"type": "string", "pattern": f"^{hard}{n}$"} for n in range(99)}
    dear = {"type": "object", "required": list(patterns), "properties": patterns}
    with server.streaming():
        begun = time.monotonic()
        answer = server.ask("/v1/completions", {"prompt": "a", "json_schema": dear, "max_tokens": 4000})
        seconds = time.monotonic() - begun
    assert (answer.status, answer.error["code"]) == (400, "compile_timeout")
    assert seconds < 45


# ---- what is slow ----------------------------------------------------------------------------------------------------


def test_half_of_a_request_is_given_up(server: Served) -> None:
    begun = time.monotonic()
    answer = answered(server.raw(HEAD + b'Content-Length: 100\r\n\r\n{"prompt": "a"'))
    assert (answer.status, answer.error["code"]) == (408, "request_timeout")
    assert RECEIVE_SECONDS - 0.5 < time.monotonic() - begun < RECEIVE_SECONDS + 30


def test_half_of_a_request_whose_sender_goes_away(server: Served) -> None:
    for part in (b"", b"POST /v1/comp", HEAD, HEAD + b'Content-Length: 100\r\n\r\n{"prompt": "a"'):
        with server.connect() as connection:
            connection.sendall(part)
    with server.connect() as connection:
        connection.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"prompt": "a"')
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)


@pytest.mark.parametrize("data", [HEAD + b"Content-Length: 100000\r\n\r\n", b"GET /health HTTP/1.1\r\nHost: "])
def test_a_sender_of_a_byte_now_and_then_is_given_up(server: Served, data: bytes) -> None:
    begun = time.monotonic()
    with server.connect() as connection:
        connection.sendall(data)
        connection.settimeout(0.1)
        answer = b""
        while time.monotonic() - begun < 20:
            try:
                if not (part := connection.recv(2**16)):
                    break
                answer += part
                continue
            except TimeoutError:
                pass
            try:
                connection.sendall(b" ")
            except ConnectionError:
                break
    assert answered(answer).status == 408
    assert time.monotonic() - begun < RECEIVE_SECONDS + 30


def test_a_connection_that_asks_nothing_is_ended_without_a_word(server: Served) -> None:
    begun = time.monotonic()
    assert server.raw(b"") == b""
    assert time.monotonic() - begun < RECEIVE_SECONDS + 30


def test_a_client_that_waits_between_two_requests_is_answered(server: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.connect()
    own = connection.sock
    for _ in range(3):
        connection.request("POST", "/v1/completions", b'{"prompt": "a", "max_tokens": 1}', JSON)
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        assert connection.sock is own
        time.sleep(RECEIVE_SECONDS + 0.5)
    connection.close()


def test_a_thousand_connections_at_once_and_a_stream_goes_on(server: Served) -> None:
    before = server.most_memory
    data = HEAD + b'Content-Length: 100\r\n\r\n{"prompt": "a"'
    with server.streaming():
        connections = []
        try:
            for number in range(1000):
                connection = server.connect()
                connections.append(connection)
                connection.sendall(data[: len(data) * (number % 4) // 3])
            assert server.text()  # a client among them is served
            for number, connection in enumerate(connections):
                answer = read_all(connection)
                assert answer == b"" if number % 4 == 0 else answered(answer).status == 408
        finally:
            for connection in connections:
                connection.close()
    assert server.most_memory < before + 150 * MEGABYTE


def test_a_thousand_requests_at_once_are_answered_or_told_to_come_again(server: Served) -> None:
    statuses: list[int] = []
    body = json.dumps({"prompt": "Once ", "max_tokens": 1, "temperature": 0}).encode()
    data = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    texts = set()
    with server.streaming():
        connections = [server.connect(60) for _ in range(1000)]
        for connection in connections:
            connection.sendall(data)
        for connection in connections:
            answer = answered(read_all(connection))
            statuses.append(answer.status)
            if answer.status == 200:
                texts.add(answer.json["choices"][0]["text"])
            else:
                assert answer.error["code"] == "rate_limit_exceeded"
            connection.close()
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) > 256
    assert len(texts) == 1


def test_a_client_that_does_not_read_its_answer_holds_nobody_up(server: Served) -> None:
    body = b'{"prompt": "a", "max_tokens": 500, "n": 8, "seed": 1, "stream": true, "logprobs": 20}'
    with server.streaming(), server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        answers: list[str] = []
        threads = [threading.Thread(target=lambda: answers.append(server.text())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(set(answers)) == 1
        assert len(answers) == 4
