"""The documents, all Markdown files of the repository: their examples, links and anchors.

A block of ``console`` has commands behind ``$``, with what they print below; a block of ``python`` has what it prints
in the block of ``text`` that follows. Commands in a block of ``sh`` need a model, a GPU or a network: they are not run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *sorted(path for name in (".github", "cli", "core", "tests") for path in (ROOT / name).rglob("*.md")),
]


def name_of(document: Path) -> str:
    """The path of a document in the repository, as people write it."""
    return document.relative_to(ROOT).as_posix()


_CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_PYTHON = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
_SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
_BETWEEN = {"|", "||", "&&", ";", "&"}


@dataclass(frozen=True)
class Example:
    """A command, or some Python, with what it prints.

    Attributes:
        code: What bash or Python reads.
        output: What the document says that it prints; ``None``: nothing is said.
        start: Where the output stands in the document: its first character.
    """

    code: str
    output: str | None
    start: int

    def prints(self, output: str) -> bool:
        """Whether an output is what the document says, but for spaces at ends of lines and times."""
        return self.output is not None and lines(output) == lines(self.output)


def console_blocks(text: str) -> list[list[Example]]:
    """The commands of a document by its blocks; a file that one of a block writes is read by the next."""
    return [
        [Example(found[1], found[2], block.start() + found.start(2)) for found in _COMMAND.finditer(block[0])]
        for block in _CONSOLE.finditer(text)
    ]


def python_blocks(text: str) -> list[Example]:
    """The Python of a document, a block each."""
    return [Example(found[1], found[2], found.start(2)) for found in _PYTHON.finditer(text)]


def commands_not_run(text: str) -> Iterator[list[str]]:
    """The words of each call of sfgen in the blocks of ``sh``."""
    for block in _SHELL.finditer(text):
        for line in block[1].replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
            starts = [number + 1 for number, word in enumerate(words) if word in _BETWEEN]
            for start in [0, *starts]:
                call = words[start : next((end - 1 for end in starts if end > start), None)]
                if call[:1] == ["sfgen"]:
                    yield call


def asks_for(block: list[Example], file: str) -> bool:
    """Whether a command of a block names this file."""
    return any(file in example.code for example in block)


def lines(output: str) -> list[str]:
    """The lines without spaces at their ends, and without how long it took to build an index."""
    return [re.sub(r"^(built +in )\S+ m?s,", r"\1…,", line.rstrip()) for line in output.splitlines()]


def links(text: str) -> Iterator[str]:
    """Where the links and pictures of a text lead."""
    for token in _tokens(text):
        for each in token.children or ():
            where = each.attrGet("href") if each.type == "link_open" else each.attrGet("src")
            if where is not None:
                yield str(where)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a text.

    >>> sorted(anchors("# A text\\n## `--ban`: what, and why?\\n## A text"))
    ['--ban-what-and-why', 'a-text', 'a-text-1']
    """
    found: set[str] = set()
    for token, inline in pairwise(_tokens(text)):
        if token.type == "heading_open":
            title = "".join(each.content for each in inline.children or () if each.type in ("text", "code_inline"))
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            number = next(n for n in range(len(found) + 1) if (f"{anchor}-{n}" if n else anchor) not in found)
            found.add(f"{anchor}-{number}" if number else anchor)
    return found


def _tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)
