"""Write what the documents have from the code: command reference, graph of imports, format of a trace; or check it.

Usage: ``python tests/docs/reference.py [--check]``
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path

import trace_format
from command_reference import command_reference
from import_graph import import_graph

ROOT = Path(__file__).parents[2]
SECTIONS: dict[str, tuple[Path, Callable[[], str]]] = {
    "command reference": (ROOT / "cli" / "README.md", command_reference),
    "graph of imports": (ROOT / "core" / "ARCHITECTURE.md", import_graph),
}
"""By its name: the document that a section stands in, and what writes it."""


def main() -> int:
    """Write all, or with ``--check`` show what is stale: 1 if something is."""
    fresh = {path: _with_section(path, name, write()) for name, (path, write) in SECTIONS.items()}
    fresh[trace_format.FILE] = trace_format.trace_format()
    is_stale = False
    for path, new in fresh.items():
        if "--check" not in sys.argv:
            path.write_text(new, encoding="utf-8")
            continue
        old = path.read_text(encoding="utf-8")
        if new != old:
            is_stale = True
            name = path.relative_to(ROOT).as_posix()
            sys.stderr.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, "code"))
            print(f"{name} is stale: run make docs", file=sys.stderr)
    return int(is_stale)


def _with_section(path: Path, name: str, content: str) -> str:
    """A document with a section of today.

    Raises:
        ValueError: It has no place for the section.
    """
    begin, end = f"<!-- {name}: written by `make docs`, do not edit -->", f"<!-- end of the {name} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{path.name} has no place for the {name}: {begin} … {end}")
    return f"{before}{begin}\n\n{content.strip()}\n\n{end}{after}"


if __name__ == "__main__":
    sys.exit(main())
