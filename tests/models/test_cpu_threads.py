"""One thread for a small model, and everybody else's number of threads as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from sfgen.models.cpu_threads import CpuThreads, threads_for
from sfgen.models.transformers_session import TransformersSession


class Reader(torch.nn.Module):
    """A model of torch that notes with how many threads it was asked; it fails on token 9."""

    def __init__(self, parameters: int = 8) -> None:
        super().__init__()
        self.embeddings = torch.nn.Embedding(10, 1)
        self.more = torch.nn.Parameter(torch.zeros(parameters, device="meta"))
        self.config: Any = type("Config", (), {"get_text_config": lambda self, decoder: self})()
        self.device, self.dtype = torch.device("cpu"), torch.float32
        self.seen: list[int] = []

    def get_input_embeddings(self) -> torch.nn.Embedding:
        return self.embeddings

    def forward(self, input_ids: torch.Tensor) -> Any:
        self.seen.append(torch.get_num_threads())
        if 9 in input_ids:
            raise RuntimeError("the ninth")
        return type("Output", (), {"logits": torch.zeros(1, 1, 10)})()


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
def test_a_small_model_reads_with_one_thread() -> None:
    model = Reader()
    session = TransformersSession(model)
    session.extend([1, 2])
    assert (model.seen, torch.get_num_threads()) == ([1], 3)
    with pytest.raises(Exception, match="the ninth"):
        session.extend([9])
    assert (model.seen, torch.get_num_threads()) == ([1, 1], 3)


@pytest.mark.usefixtures("three_threads")
def test_as_many_as_are_asked_for() -> None:
    model = Reader(10_000_000)
    TransformersSession(model, threads=2).extend([1])
    assert (model.seen, torch.get_num_threads()) == ([2], 3)
    with CpuThreads(Reader(), 2).bounded():
        assert torch.get_num_threads() == 2


def test_how_many_a_model_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1, 2, 7}, raising=False)
    assert (threads_for(10_000_000), threads_for(10_000_001)) == (1, 3)
    monkeypatch.delattr("os.sched_getaffinity")  # not on every system
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    assert threads_for(10_000_001) == 5


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("larger", ["parameters", "device"])
def test_other_models_read_with_as_many_as_there_are(larger: str) -> None:
    model = Reader(10_000_000 if larger == "parameters" else 8)
    if larger == "device":
        model.device = torch.device("cuda")
    with CpuThreads(model).bounded():
        assert torch.get_num_threads() == 3
