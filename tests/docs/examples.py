"""Write what the examples of the documents print anew, where they print something else now.

Usage: ``python tests/docs/examples.py [FILE…]``; without a file, all documents. Each command and each block of Python
is run as a user would, with the ``sfgen`` beside the Python that runs this; read what has changed before it is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.real.model import FILE
from tests.support.sources.documents import DOCUMENTS, Example, asks_for, console_blocks, name_of, python_blocks


def main() -> int:
    """Run all, write the documents; 1 where an example fails."""
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or DOCUMENTS
    failed = [document for document in chosen if _renew(document)]
    return int(bool(failed))


def _renew(document: Path) -> bool:
    """Write a document anew; whether an example of it failed."""
    text, failed, changed = document.read_text(encoding="utf-8"), False, list[tuple[Example, str]]()
    for words, block in _blocks(text):
        if asks_for(block, FILE.name) and not FILE.is_file():
            print(f"{name_of(document)}: not run without `make real-model`: {block[0].code}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            if asks_for(block, FILE.name):
                (Path(folder) / FILE.name).symlink_to(FILE.resolve())
            for example in block:
                done = _run([*words, example.code], Path(folder))
                if done.returncode:
                    failed = True
                    print(f"{name_of(document)}: {example.code}\n{done.stderr}", file=sys.stderr)
                elif example.output is None:
                    failed = True
                    print(f"{name_of(document)}: nothing says what this prints:\n{example.code}\n{done.stdout}")
                elif not example.prints(done.stdout):
                    changed.append((example, done.stdout))
    for example, output in sorted(changed, key=lambda each: each[0].start, reverse=True):
        text = text[: example.start] + output + text[example.start + len(example.output or "") :]
        print(f"{name_of(document)}: {example.code}")
    document.write_text(text, encoding="utf-8")
    return failed


def _blocks(text: str) -> Iterator[tuple[list[str], list[Example]]]:
    """What runs a block, and its examples."""
    for block in console_blocks(text):
        yield ["bash", "-c"], block
    for example in python_blocks(text):
        yield [sys.executable, "-c"], [example]


def _run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an example in a folder where there are no models but the embedded ones."""
    nowhere = str(folder / "nowhere")
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": found, "HF_HUB_CACHE": nowhere, "OLLAMA_MODELS": nowhere, "NO_COLOR": "1"}
    for name in ("SFGEN_MODEL", "SFGEN_SEED"):
        environment.pop(name, None)
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
