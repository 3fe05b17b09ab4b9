"""Settings and fixtures that all tests share."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.support.running.files_to_processes import place, scheduling
from tests.support.running.light_session import LightSession
from tests.support.running.markers import MARKERS, is_left_out, markers_of, spread_over_parameters
from tests.support.running.tried import register_profiles

from sfgen_cli.shell.one_time_notes import DEMONSTRATION

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Of torch. For models this small, threads cost more than they bring: on a busy machine seventy times more.
os.environ.setdefault("OMP_NUM_THREADS", "1")

register_profiles()
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def nothing_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that run inside the test process read stdin beside their prompt; pytest's raises an error."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))


@dataclass(frozen=True)
class Completed:
    """The output of a command and its exit code."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def sfgen(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Completed]:
    """``sfgen("gen", "--regex", "a+", stdin="…")``: the command line inside the test process, as of a shell."""
    from sfgen_cli.shell.ending import run

    monkeypatch.delenv("SFGEN_MODEL", raising=False)
    monkeypatch.delenv("SFGEN_SEED", raising=False)

    def call(*arguments: str, stdin: bytes | str | io.TextIOBase | None = "") -> Completed:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        stream = io.TextIOWrapper(io.BytesIO(data)) if isinstance(data, bytes) else data
        monkeypatch.setattr(sys, "stdin", stream)
        capfdbinary.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Completed(code, out.decode(), err.decode())

    return call


@pytest.fixture(scope="session", autouse=True)
def told_already(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a person is told once was told; and the state of whoever runs the tests is left alone."""
    state = tmp_path_factory.mktemp("state")
    (state / "sfgen").mkdir()
    (state / "sfgen" / DEMONSTRATION).touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        yield


@pytest.fixture(scope="session")
def real_tokenizer_directory() -> Callable[[str], Path]:
    """``real_tokenizer_directory("gemma2")``: the directory of a published tokenizer; skips where it is absent.

    They lie in the folder that SFGEN_TOKENIZERS names, by default ``../shared/tokenizers`` beside the repository.
    """
    folder = Path(os.environ.get("SFGEN_TOKENIZERS") or REPOSITORY.parent / "shared" / "tokenizers")

    def find(name: str) -> Path:
        directory = folder / name
        if not (directory / "tokenizer.json").is_file():
            pytest.skip(f"no tokenizer {name} in {folder} (set SFGEN_TOKENIZERS)")
        return directory

    return find


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--quick``."""
    parser.addoption("--quick", action="store_true", help="a first sign: no process, no torch, few examples")


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers, which :func:`pytest_collection_modifyitems` sets."""
    for marker, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")
    if config.getoption("--quick"):
        settings.load_profile("quick")
        config.pluginmanager.register(LightSession(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Let the garbage lie while tests are read: what is made stays, and looking through it took a fifth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but less often, and not among the tests themselves, which are some million objects."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files of ``tests/support`` and ``tests/oracles`` unread that have neither tests nor examples.

    Tests import them, under other names.

    With ``--quick``, files in which every test would be left out are not read, either.
    """
    is_test = collection_path.name.startswith("test_") or collection_path.suffix != ".py"
    if (
        not {"support", "oracles"}.isdisjoint(collection_path.relative_to(REPOSITORY).parts)
        and not is_test
        and ">>> " not in collection_path.read_text(encoding="utf-8")
    ):
        return True
    return (config.getoption("--quick") and is_left_out(collection_path.relative_to(REPOSITORY))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set the markers, where something is chosen by them.

    With ``--quick``, tests with a marker are left out, and of each other test a few parameters are kept.
    """
    if config.getoption("--quick") or config.getoption("markexpr"):
        for item in items:
            for marker in markers_of(item):
                item.add_marker(marker)
    if config.getoption("--quick"):
        light = [item for item in items if not any(item.get_closest_marker(marker) for marker in MARKERS)]
        kept = set(spread_over_parameters(light))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    items.sort(key=lambda item: place(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to processes."""
    return scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end, on a line each, what was skipped for lack of programs and of packages, and how to get them."""
    from tests.support.running.installed import advice, missing_packages

    reports = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple)]
    for line in (advice(reasons), missing_packages(reasons)):
        if line:
            terminalreporter.write_line(line, yellow=True)
