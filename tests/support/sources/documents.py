"""The documents: all Markdown files of the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *sorted(path for name in (".github", "cli", "core", "tests") for path in (ROOT / name).rglob("*.md")),
]


def name_of(document: Path) -> str:
    """The path of a document in the repository, as people write it."""
    return document.relative_to(ROOT).as_posix()
