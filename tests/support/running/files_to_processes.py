"""Which process of pytest-xdist runs which files: one file after the other to whoever is free, as ``loadfile`` does.

Some files go to the same process, and come first, since together they take longest: those that need a cluster of Ray,
which each process would begin anew (ten seconds), and those that read published tokenizers (six seconds). Who gives the
files away knows their names alone, not the fixtures of their tests, by which these have their markers.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).resolve().parents[2]
_TOGETHER = ["ray", "published", ""]
"""What files are kept together for, the first ones first; last, those that are not."""


def place(nodeid: str) -> int:
    """The key by which tests are sorted."""
    return _TOGETHER.index(_kept_together_for(nodeid.partition("::")[0]))


@cache
def _kept_together_for(file: str) -> str:
    if file.startswith("tests/integrations/test_ray"):
        return "ray"
    path = _TESTS.parent / file
    sources = [path] if path.parent == _TESTS else [path, path.with_name("conftest.py")]
    reads = any("real_tokenizer_directory" in each.read_text(encoding="utf-8") for each in sources if each.is_file())
    return "published" if reads else ""


def scheduling(config: pytest.Config, log: Any) -> Any:
    """What pytest-xdist asks for; it need not be installed for anything else."""
    from xdist.scheduler import LoadFileScheduling

    class FileScheduling(LoadFileScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return _kept_together_for(file) or file

    return FileScheduling(config, log)
