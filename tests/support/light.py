"""The command in a process that must do without torch and transformers."""

from __future__ import annotations

import os
import subprocess
import sys

_PROGRAM = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            sys.stderr.write(f"IMPORTED {name}\\n")
            sys.exit(99)
sys.meta_path.insert(0, Refuse())
from sfgen_cli.__main__ import main
main(sys.argv[1:])
"""


def light(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command. It ends at once, with the code 99, where it imports one of the two."""
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], input=stdin, capture_output=True, text=True, check=False,
        timeout=120, env={**os.environ, **environment},
    )  # fmt: skip
