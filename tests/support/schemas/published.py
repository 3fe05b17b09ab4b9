"""JSON schemas that other people wrote, found in what is installed; the project itself holds none of them.

Two places: files of the installed Python distributions (check-jsonschema ships those of workflows, pipelines and
configuration files, jsonschema-specifications those of the drafts), and packages of npm that ``.ci/install-programs``
has put into ``.npm-schemas``, where it could. Each definition in a schema is a schema too, with what it refers to.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

NPM = Path(__file__).resolve().parents[3] / ".npm-schemas"
_LARGEST = 3_000_000  # bytes of a file
_PARTS = ("$defs", "definitions")
_REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")


def real_schemas(parts: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each schema with its name, which says where it is from; whole files first, in the order of the names.

    Args:
        parts: How many definitions of each file come too, drawn the same in every run.
    """
    whole = dict(sorted([*_of_distributions(), *_of_npm()]))
    yield from whole.items()
    for name, schema in whole.items():
        pointers = [(key, part) for key in _PARTS for part in schema.get(key, ()) if isinstance(schema[key], dict)]
        for key, part in random.Random(name).sample(pointers, min(parts, len(pointers))):
            alone = part_of(schema, key, part)
            if alone is not None:
                yield f"{name}#/{key}/{part}", alone


def part_of(schema: dict[str, Any], key: str, part: str) -> dict[str, Any] | None:
    """A definition as a schema of its own, with all that it refers to; ``None`` where that is not all definitions."""
    found: dict[str, Any] = {}
    waiting = [(key, part)]
    while waiting:
        place = waiting.pop()
        at = found.setdefault(place[0], {})
        if place[1] in at:
            continue
        at[place[1]] = schema[place[0]][place[1]]
        for reference in _references(at[place[1]]):
            match = re.match(r"#/(\$defs|definitions)/([^/]+)", reference)
            if match is None:
                return None
            target = match[1], match[2].replace("~1", "/").replace("~0", "~")
            if target[1] not in schema.get(target[0], ()):
                return None
            waiting.append(target)
    dialect = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    escaped = part.replace("~", "~0").replace("/", "~1")
    return {**dialect, "$ref": f"#/{key}/{escaped}", **found}


def _of_distributions() -> Iterator[tuple[str, dict[str, Any]]]:
    for distribution in distributions():
        for file in distribution.files or ():
            if file.suffix in (".json", "") and "__pycache__" not in file.parts:
                path = Path(str(distribution.locate_file(file)))
                is_vocabulary = "vocabularies" in file.parts  # of a draft, without an ending
                if (file.suffix or is_vocabulary) and path.is_file() and path.stat().st_size <= _LARGEST:
                    yield from _read(str(file), path.read_bytes())


def _of_npm() -> Iterator[tuple[str, dict[str, Any]]]:
    for archive in sorted(NPM.glob("*.tgz")):
        with tarfile.open(archive) as packed:
            for member in packed:
                data = packed.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
                if data is not None and member.size <= _LARGEST:
                    yield from _read(f"{archive.stem}/{member.name.removeprefix('package/')}", data.read())


def _read(name: str, data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema in a file, if it is one: it names a draft of JSON Schema as its own."""
    try:
        value = json.loads(data)
    except ValueError:  # no UTF-8 is one of them
        return
    if isinstance(value, dict) and re.match(r"https?://json-schema\.org/", str(value.get("$schema", ""))):
        yield name, value


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in _REFERENCES and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
