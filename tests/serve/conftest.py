"""A server on a port of this machine, for tests of the wire, and a model that answers conversations."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from tests.support.models.random_models import save

from sfgen import load_model
from sfgen.protocols import Model
from sfgen.serve import app

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role }}]{{ message.content }}[/]\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% if mood is defined %}({{ mood }}){% endif %}{% endif %}"
)


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


@pytest.fixture(scope="session")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A Llama of random weights, with a chat template that knows a variable ``mood``."""
    folder = save("llama", tmp_path_factory.mktemp("models") / "chat")
    for file, changes in (
        ("config.json", {"max_position_embeddings": 1024}),
        ("tokenizer_config.json", {"chat_template": TEMPLATE}),
    ):
        content = json.loads((folder / file).read_text(encoding="utf-8"))
        (folder / file).write_text(json.dumps(content | changes), encoding="utf-8")
    return load_model(folder, device="cpu")


@pytest.fixture(scope="session")
def address(chat_model: Model) -> Iterator[str]:
    """The address of the API of a server of ``tiny`` and of ``chat``."""
    running = Running({"tiny": "tiny", "chat": chat_model}, grace=0)
    yield f"{running.url}/v1"
    running.stop()
