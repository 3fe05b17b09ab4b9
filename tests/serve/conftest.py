"""A server on a port of this machine, for tests of the wire."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn

from sfgen.serve import app


class Running:
    """A server in a thread.

    Attributes:
        url: Where it listens.
    """

    def __init__(self, *models: Any, **options: Any) -> None:
        self.application = app(*models, **options)
        config = uvicorn.Config(self.application, port=0, log_level="warning", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve()), daemon=True)
        self._thread.start()
        end = time.monotonic() + 60
        while not self._server.started:
            assert self._thread.is_alive(), "the server has not started"
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.01)
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive(), "the server does not end"


@pytest.fixture
def serving() -> Iterator[Callable[..., Running]]:
    """``serving("tiny", limits=Limits(batch_size=2))``: a server that listens until the test ends."""
    running: list[Running] = []

    def start(*models: Any, **options: Any) -> Running:
        running.append(Running(*models, **{"grace": 0} | options))
        return running[-1]

    yield start
    for each in running:
        each.stop()
