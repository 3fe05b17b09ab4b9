"""The patterns of the benchmarks, from ``patterns.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

_FILE = Path(__file__).with_name("patterns.toml")


def patterns(part: str = "patterns") -> dict[str, str]:
    """The patterns of a part of the file, by name; ``patterns`` are those of the index."""
    found: dict[str, str] = tomllib.loads(_FILE.read_text(encoding="utf-8"))[part]
    return found
