"""``sfgen serve`` in a process of its own, and what clients send to it: whole requests, and bytes as they are."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JSON = {"Content-Type": "application/json"}


@dataclass
class Answer:
    """What a server has answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error in it, in OpenAI's form."""
        found = self.json["error"]
        assert set(found) >= {"message", "type", "param", "code"}
        assert isinstance(found, dict)
        return found


@dataclass
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    url: str

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        method: str = "",
        seconds: float = 60,
    ) -> Answer:
        """One request; a body that is not bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method or ("GET" if data is None else "POST"), path, data, {**JSON, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers.items()), answer.read())
        finally:
            connection.close()

    def complete(self, **fields: Any) -> Answer:
        """A request for a completion."""
        return self.ask("/v1/completions", {"prompt": "Once ", "max_tokens": 4, "temperature": 0, **fields})

    def text(self, **fields: Any) -> str:
        answer = self.complete(**fields)
        assert answer.status == 200, answer.body
        return str(answer.json["choices"][0]["text"])

    def connect(self, seconds: float = 30) -> socket.socket:
        """A connection to send bytes to."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)

    def raw(self, data: bytes, seconds: float = 30) -> bytes:
        """What is answered to bytes, until the server ends the connection."""
        with self.connect(seconds) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
            return read_all(connection)

    @property
    def most_memory(self) -> int:
        """The most bytes of memory that it has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def end(self, number: int = signal.SIGTERM, seconds: float = 30) -> tuple[int, str, str]:
        """The exit code, stdout and the rest of stderr after a signal."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    @contextlib.contextmanager
    def streaming(self, tokens: int = 300) -> Iterator[None]:
        """A stream of somebody else, which goes on through what is done in the context, and ends whole."""
        wish = {"prompt": "Once upon a time", "max_tokens": tokens, "seed": 3}
        alone = self.ask("/v1/completions", wish).json["choices"][0]["text"]
        told: list[str] = []
        is_over = threading.Event()

        def follow() -> None:
            while not is_over.is_set():
                told.append(text_of(self.ask("/v1/completions", {**wish, "stream": True}).body))

        thread = threading.Thread(target=follow)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
        assert set(told) == {alone}


def text_of(stream: bytes) -> str:
    """The text that the chunks of a stream make."""
    lines = [line.removeprefix("data: ") for line in stream.decode().splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]", stream[-300:]
    chunks = [json.loads(line) for line in lines[:-1]]
    return "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side ends the connection."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(2**16):
            parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def served(*arguments: str, **environment: str) -> Iterator[Served]:
    """``sfgen serve`` with these options at a free port and in its own group of processes, until the end of the
    context."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SFGEN_")} | environment
    process = subprocess.Popen(
        [sys.executable, "-m", "sfgen_cli", "serve", "--port", "0", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.match(r"sfgen: listening at (http://\S+:(\d+)) for ", line)
        assert found, line + process.stderr.read()
        yield Served(process, int(found[2]), found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(condition: Any, seconds: float = 60) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
