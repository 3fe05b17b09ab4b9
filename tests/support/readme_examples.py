"""The commands that the README shows, and what it says that they print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"

_BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_EXAMPLE = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A command with what it prints.

    Attributes:
        command: What bash reads.
        output: What stands below it.
        start: Where the output stands in the README: its first character.
    """

    command: str
    output: str
    start: int

    def prints(self, output: str) -> bool:
        """Whether an output is what the README says, but for spaces at ends of lines and times."""
        return lines(output) == lines(self.output)


def blocks(text: str) -> list[list[Example]]:
    """The examples of a Markdown text by its blocks; a file that one of a block writes is read by the next."""
    return [
        [Example(found[1], found[2], block.start() + found.start(2)) for found in _EXAMPLE.finditer(block[0])]
        for block in _BLOCK.finditer(text)
    ]


def lines(output: str) -> list[str]:
    """The lines without spaces at their ends, and without how long it took to build an index."""
    return [re.sub(r"^(built +in )\S+ m?s,", r"\1…,", line.rstrip()) for line in output.splitlines()]
