"""One thread for a small model, and everybody else's number of threads as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import sfgen
from sfgen.errors import UsageError
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


LARGE = 10_000_001
SIBLINGS = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def machine(root: Path, files: dict[str, str]) -> Path:
    """The files of a machine, below a folder."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.fixture
def four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1, 2, 4, 7}, raising=False)


@pytest.mark.usefixtures("four_processors")
def test_how_many_a_model_is_worth(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (threads_for(10_000_000, tmp_path), threads_for(LARGE, tmp_path)) == (1, 4)
    monkeypatch.delattr("os.sched_getaffinity")  # not on every system
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    assert threads_for(LARGE, tmp_path) == 5
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert threads_for(LARGE, tmp_path) == 1


@pytest.mark.usefixtures("four_processors")
@pytest.mark.parametrize(
    ("siblings", "cores"),
    [
        ({1: "1,5", 2: "2,6", 4: "0,4", 7: "3,7"}, 4),  # the other thread of each is not this process's
        ({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3", 4: "4-5", 7: "6-7"}, 4),
        ({1: "1-2", 2: "1-2", 4: "4-7", 7: "4-7"}, 2),
        ({1: "1-7", 2: "1-7", 4: "1-7", 7: "1-7"}, 1),
        ({1: "1-2", 2: "1-2"}, 3),  # a processor that tells nothing is a core
    ],
)
def test_threads_of_a_core_count_once(siblings: dict[int, str], cores: int, tmp_path: Path) -> None:
    root = machine(tmp_path, {SIBLINGS.format(number): f"{those}\n" for number, those in siblings.items()})
    assert threads_for(LARGE, root) == cores


@pytest.mark.usefixtures("four_processors")
@pytest.mark.parametrize(
    ("files", "threads"),
    [
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 4),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "900000 100000\n"}, 4),
        ({"proc/self/cgroup": "0::/a/b c\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"}, 3),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/cpu.max": "nonsense\n"}, 4),
        ({"proc/self/cgroup": "nonsense\n\n0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        (
            {
                "proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/x\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
    ],
)
def test_a_container_has_no_more_than_its_share(files: dict[str, str], threads: int, tmp_path: Path) -> None:
    assert threads_for(LARGE, machine(tmp_path, files)) == threads


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("larger", ["parameters", "device"])
def test_other_models_read_with_as_many_as_there_are(larger: str) -> None:
    model = Reader(10_000_000 if larger == "parameters" else 8)
    if larger == "device":
        model.device = torch.device("cuda")
    with CpuThreads(model).bounded():
        assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [1025, 10**11])
def test_more_threads_than_a_system_has_room_for_are_refused(threads: int) -> None:
    """OpenMP and llama.cpp would end the process."""
    with pytest.raises(UsageError, match="threads must be at most 1024"):
        sfgen.load_model("tiny", threads=threads)
    with pytest.raises(UsageError, match="threads must be at most 1024"):
        sfgen.ModelSpec("tiny", threads=threads)


def test_many_threads_are_not_refused() -> None:
    assert sfgen.generate(sfgen.load_model("tiny", threads=1024), "A", max_tokens=1, temperature=0).token_ids
