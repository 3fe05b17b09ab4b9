"""All that is written for each item, and what is right of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jsonschema
from tests.support.real.model import FILE, FOLDER, gguf_model

from .generator import Item, read_items
from .remembered import RememberedModel
from .tasks import LAYOUTS, TASKS, Layout, Task, Value
from .writers import PEERS, Free, Ours, Writer

RECORDS = FOLDER / "quality.jsonl"
"""The texts so far: a run that was cut off goes on behind it, one that is to begin anew deletes it."""
CHUNK = 25
"""Items of a task before the next task's turn."""


@dataclass(frozen=True)
class Judged:
    """How much is right of a text.

    Attributes:
        valid: Whether its first JSON object is valid by the schema.
        right: Whether that is the answer.
        fields: The share of the answer's fields that it has right.
    """

    valid: bool
    right: bool
    fields: float


@dataclass(frozen=True)
class Record:
    """One text.

    Attributes:
        part: The part of the measurement.
        task: The task's name.
        item: The item's number.
        writer: The writer's name.
        text: What was written.
        judged: What is right of it.
    """

    part: str
    task: str
    item: int
    writer: str
    text: str
    judged: Judged


@dataclass(frozen=True)
class Part:
    """Some writers behind one kind of prompt.

    Attributes:
        name: For records.
        layout: How examples are written.
        seam: What stands between the prompt and the answer: the blank, or nothing.
        items: How many of each task.
        writers: Who write; ``Free`` behind the prompt without the blank, which is part of the token that it writes.
    """

    name: str
    layout: Layout
    seam: str
    items: int
    writers: tuple[Writer, ...]


DEFAULT = Ours("sfgen", "sfgen")
COMPACT = Ours("sfgen compact", 'sfgen, `spacing="compact"`', options={"spacing": "compact"})
ANY_SPACING = Ours("sfgen any spacing", 'sfgen, `spacing="any"`', options={"spacing": "any"})
ANY_ORDER = Ours("sfgen any order", 'sfgen, `order="any"`', options={"order": "any"})
NOT_HEALED = Ours("sfgen not healed", "sfgen, `heal=False`", heal=False)
THINKING = Ours("sfgen after", 'sfgen, `after="JSON: "`', thinks=True)
FREE = Free()


def parts(file: Path) -> list[Part]:
    """The measurement, the most important part first."""
    peers = tuple(peer(file) for peer in PEERS)
    return [
        Part(
            "spaced", LAYOUTS["spaced"], " ", 200, (FREE, NOT_HEALED, *peers, DEFAULT, ANY_SPACING, ANY_ORDER, COMPACT)
        ),
        Part("compact", LAYOUTS["compact"], " ", 200, (FREE, DEFAULT, ANY_SPACING, COMPACT)),
        Part("backwards", LAYOUTS["backwards"], " ", 200, (FREE, DEFAULT, ANY_ORDER)),
        Part("thought", LAYOUTS["thought"], "", 100, (FREE, THINKING)),
        Part("no blank", LAYOUTS["spaced"], "", 50, (*peers, DEFAULT)),
    ]


def judged(task: Task, item: Item, text: str) -> Judged:
    """Take the first JSON object out of a text, as who uses it would, and compare it with the answer."""
    found = first_object(text)
    valid = found is not None and jsonschema.Draft202012Validator(task.schema).is_valid(found)
    wanted, has = fields(item.answer), {} if found is None else fields(found)
    share = sum(name in has and has[name] == value for name, value in wanted.items()) / len(wanted)
    return Judged(valid, found == item.answer, share)


def first_object(text: str) -> Value | None:
    """The first JSON object of a text."""
    try:
        value: Value = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    except ValueError:  # no bracket, or no JSON behind it
        return None
    return value


def fields(value: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The members of an object, by path: ``{"/a": 1, "/b/c": 2}``."""
    found = {}
    for name, member in value.items():
        path = f"{above}/{name}"
        found.update(fields(member, path) if isinstance(member, Mapping) else {path: member})
    return found


def records(*, sketch: bool) -> Iterator[Record]:
    """Write all texts that are not written yet, and tell of all.

    Args:
        sketch: Two items of each task, and none is kept.
    """
    kept = [] if sketch or not RECORDS.exists() else [read(line) for line in RECORDS.read_text().splitlines()]
    if kept:
        print(f"{len(kept)} texts are of an earlier run: {RECORDS}", file=sys.stderr)
    yield from kept
    done = {(record.part, record.task, record.item) for record in kept}
    model = RememberedModel(gguf_model())
    for part in parts(FILE):
        count = 2 if sketch else part.items
        for first in range(0, count, CHUNK):
            for task in TASKS.values():
                for number, item in list(enumerate(read_items(task.name)[:count]))[first : first + CHUNK]:
                    if (part.name, task.name, number) in done:
                        continue
                    written = list(_written(model, part, task, number, item))
                    if not sketch:
                        with RECORDS.open("a", encoding="utf-8") as file:
                            file.writelines(json.dumps(asdict(record)) + "\n" for record in written)
                    yield from written
                print(f"{part.name}, {task.name}: {min(first + CHUNK, count)}", file=sys.stderr, flush=True)


def _written(model: RememberedModel, part: Part, task: Task, number: int, item: Item) -> Iterator[Record]:
    """One item by all."""
    model.forget()
    prompt = part.layout.prompt(task, item.text)
    for writer in part.writers:
        text = writer.write(model, prompt if writer is FREE else prompt + part.seam, task.schema)
        yield Record(part.name, task.name, number, writer.name, text, judged(task, item, text))


def read(line: str) -> Record:
    """A record from its line."""
    data = json.loads(line)
    return Record(**{**data, "judged": Judged(**data["judged"])})
