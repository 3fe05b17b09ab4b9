"""The texts that are written: by ten schemas, two grammars, a list of labels, and freely."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[3] / "data" / "real" / "speed"
KINDS = ("schemas", "grammars", "choices", "free, greedy", "free, sampled")

FREE_LIMIT = 80
"""The most tokens of a free text."""


@dataclass(frozen=True)
class Task:
    """One text to write.

    Attributes:
        name: Unique among all tasks.
        kind: One of ``KINDS``.
        prompt: With an example or more; it ends in a line break.
        limit: The most tokens of the text.
        schema: JSON Schema as text; empty: there is none. So are the next three.
        gbnf: A grammar in GBNF.
        lark: The same in Lark's notation.
        labels: The texts among which to choose.
        temperature: 0: greedy.
    """

    name: str
    kind: str
    prompt: str
    limit: int
    schema: str = ""
    gbnf: str = ""
    lark: str = ""
    labels: tuple[str, ...] = field(default=())
    temperature: float = 0.0


@cache
def all_tasks() -> dict[str, Task]:
    """Every task by its name, kinds mixed, so that prompts that begin alike do not follow each other."""
    schemas = [_by_schema(path) for path in sorted((DATA / "schemas").glob("*.json"))]
    grammars = [
        Task(
            name, "grammars", _read(f"{name}.txt"), 60, gbnf=_read(f"{name}.gbnf"), lark=_read(f"{name}.lark")
        )
        for name in ("arithmetic", "select")
    ]  # fmt: skip
    labels = tuple(_read("labels.txt").splitlines())
    choices = [
        Task(f"label {number}", "choices", _read("messages.txt").replace("{message}", message), 12, labels=labels)
        for number, message in enumerate(json.loads(_read("messages.json")), 1)
    ]
    free = [
        Task(f"{kind} {number}", kind, prompt, FREE_LIMIT, temperature=temperature)
        for kind, temperature in (("free, greedy", 0.0), ("free, sampled", 0.8))
        for number, prompt in enumerate(json.loads(_read("free.json")), 1)
    ]
    half = len(free) // 2
    columns = [schemas[:5], free[:half], choices, schemas[5:], free[half:], grammars]
    mixed = [column[row] for row in range(5) for column in columns if row < len(column)]
    return {task.name: task for task in mixed}


def _by_schema(path: Path) -> Task:
    """The task of a file: an example with its value, and the text to read."""
    data = json.loads(path.read_text(encoding="utf-8"))
    example = data["example"]
    prompt = f"Text: {example['text']}\nJSON:\n{json.dumps(example['value'])}\n\nText: {data['text']}\nJSON:\n"
    return Task(path.stem, "schemas", prompt, 200, schema=json.dumps(data["schema"]))


def _read(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


@cache
def oracle(task: Task) -> Callable[[str], bool]:
    """Return what tells valid texts: jsonschema, lark, the list; a free text is valid."""
    if task.schema:
        from ...schema_generation import SchemaTask

        return SchemaTask(task.name, task.schema, task.limit).is_met_by
    if task.lark:
        return _by_lark(task.lark)
    if task.labels:
        return lambda text: text in task.labels
    return lambda text: True


def _by_lark(grammar: str) -> Callable[[str], bool]:
    from lark import Lark
    from lark.exceptions import LarkError

    parser: Any = Lark(grammar)

    def is_valid(text: str) -> bool:
        try:
            parser.parse(text)
        except LarkError:
            return False
        return True

    return is_valid
