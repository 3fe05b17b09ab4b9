"""Speed, quality, bans, choices and the start with a real model, beside other libraries on the same file.

Usage: ``python -m tests.bench.real [speed] [quality] [bans] [choices] [start] [--sketch]``. Each part writes its
section of ``tests/docs/real.md`` and leaves the others as they are; ``--sketch`` measures a little of each, to try it
out, and writes nothing. The model is what ``make real`` puts into ``.real``.
"""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "real.md"
PARTS = ("speed", "quality", "bans", "choices", "start")
"""Modules beside this one, each with ``section(sketch: bool) -> str``: Markdown that begins with a heading ``## …``."""
HEAD = "# Measured with a real model\n\nWritten by `python -m tests.bench.real`; each part is one run on one machine.\n"


def merged(document: str, part: str, section: str) -> str:
    """The document with a section put in place of the one that the part has written before."""
    sections = dict(re.findall(r"<!-- (\w+) -->\n(.*?)(?=<!-- \w+ -->|\Z)", document, re.S))
    sections[part] = section.strip() + "\n"
    return HEAD + "".join(f"\n<!-- {name} -->\n{sections[name].strip()}\n" for name in PARTS if name in sections)


def main() -> None:
    """Measure, print, and write unless it is a sketch."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.real", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--sketch", action="store_true", help="a little of each, to try it out; writes no report")
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        section: str = importlib.import_module(f"{__package__}.{part}").section(arguments.sketch)
        print(section, flush=True)
        if not arguments.sketch:
            before = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
            DOCUMENT.write_text(merged(before, part, section), encoding="utf-8")


if __name__ == "__main__":
    main()
