"""Write what the README's commands print anew, where they print something else now.

Usage: ``python tests/docs/examples.py``. Each command is run as a user would, with the ``sfgen`` beside the Python that
runs this; read what has changed before it is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from readme_examples import README, Example, blocks


def main() -> int:
    """Run all, write the README; 1 where a command fails."""
    text, failed, changed = README.read_text(encoding="utf-8"), False, list[tuple[Example, str]]()
    for block in blocks(text):
        with tempfile.TemporaryDirectory() as folder:
            for example in block:
                done = _run(example.command, Path(folder))
                if done.returncode:
                    failed = True
                    print(f"{example.command}\n{done.stderr}", file=sys.stderr)
                elif not example.prints(done.stdout):
                    changed.append((example, done.stdout))
    for example, output in reversed(changed):
        text = text[: example.start] + output + text[example.start + len(example.output) :]
    README.write_text(text, encoding="utf-8")
    for example, _ in changed:
        print(example.command)
    return int(failed)


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Let bash read a command in a folder where there are no models but the embedded ones."""
    nowhere = str(folder / "nowhere")
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": found, "HF_HUB_CACHE": nowhere, "OLLAMA_MODELS": nowhere, "NO_COLOR": "1"}
    for name in ("SFGEN_MODEL", "SFGEN_SEED"):
        environment.pop(name, None)
    line = ["bash", "-c", f"set -o pipefail; {command}"]
    return subprocess.run(
        line, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
