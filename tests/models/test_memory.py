"""How much memory there is."""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

import pytest

from sfgen.models.gguf.header import physical_memory


@pytest.mark.parametrize(("limit", "expected"), [("max\n", 4096 * 1000), ("2000\n", 2000), (None, 4096 * 1000)])
def test_that_of_the_machine_or_of_the_container(
    limit: str | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.open

    def opened(name: Any, *arguments: Any, **options: Any) -> Any:
        if "cgroup" not in str(name):
            return real(name, *arguments, **options)
        if limit is None:
            raise FileNotFoundError
        return io.StringIO(limit)

    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    monkeypatch.setattr(builtins, "open", opened)
    assert physical_memory() == expected


def test_on_a_system_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert physical_memory() is None


def test_on_this_machine() -> None:
    memory = physical_memory()
    assert memory is None or memory > 100_000_000
