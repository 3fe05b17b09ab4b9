"""Measure how much of the JSON Schema Test Suite is read, and how right it is.

Usage: ``python -m tests.bench.schema_suite [FOLDER]``, the folder that has ``draft7`` and ``draft2020-12`` in it, with
``remotes`` beside it; without, the source distribution of the package jsonschema is fetched, which has the suite. Other
documents of the suite are given as a user gives them, by ``schema_dir``. A group is one schema with some values. It is
*read* if rules can be made of its schema (or the suite, too, says that no value satisfies it), and *all right* if each
valid value is accepted, and each invalid one is not. Values are written as sfgen writes them (``1`` for ``1.0``), with
properties in any order. Formats are asserted: what the suite finds valid and a format does not is left out of the valid
ones. Writes ``schema.md`` into ``tests/docs``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfgen import JsonSchema
from sfgen.errors import SchemaError

DOCS = Path(__file__).parent.parent / "docs"
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
REMOTES = "http://localhost:1234/"
"""The URL at which the suite has other documents."""

PARTS = {"required": "*.json", "formats": "optional/format/*.json"}


@dataclass
class Tally:
    """What became of the groups of a part of the suite."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.schema_suite", description=main.__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as fetched:
        report = _report(folder or _fetch(Path(fetched)))
    (DOCS / "schema.md").write_text(report)
    sys.stdout.write(report)


def _fetch(folder: Path) -> Path:
    """The suite from the source distribution of the installed jsonschema."""
    name = f"jsonschema=={version('jsonschema')}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", name]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return next(folder.glob("*/json/tests"))


def _groups(folder: Path, draft: str, part: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((folder / draft).glob(PARTS[part])):
        for group in json.loads(path.read_text()):
            schema = group["schema"]
            if isinstance(schema, dict):
                group["schema"] = {"$schema": DRAFTS[draft]} | schema
            yield path.stem, group


def _measured(folder: Path, draft: str, part: str) -> Tally:
    tally = Tally()
    for name, group in _groups(folder, draft, part):
        tally.counts["groups"] += 1
        valid = [test for test in group["tests"] if test["valid"]]
        constraint, reason, is_empty = _read(group["schema"], f"{REMOTES}={folder.parent / 'remotes'}")
        if constraint is None and not (is_empty and not valid):
            tally.refused.append((name, group["description"], reason))
            continue
        tally.counts["read"] += 1
        is_right = True
        for test in group["tests"]:
            text = json.dumps(_in_our_form(test["data"]), ensure_ascii=False)
            accepted = constraint is not None and constraint.accepts(text)
            if test["valid"] and constraint is not None and _is_of_wrong_format(constraint, text):
                tally.counts["of wrong format"] += 1
                continue
            tally.counts["valid"] += test["valid"]
            tally.counts["accepted"] += test["valid"] and accepted
            if accepted and not test["valid"]:
                tally.wrong.append(f"{name}: {group['description']}: `{text[:80]}`")
            if test["valid"] and not accepted:
                tally.missed[name] += 1
            is_right = is_right and accepted == test["valid"]
        tally.counts["right"] += is_right
    return tally


def _in_our_form(value: Any) -> Any:
    """A value with numbers as sfgen writes them: without a fraction where they are integers."""
    if isinstance(value, dict):
        return {name: _in_our_form(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_in_our_form, value))
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _is_of_wrong_format(constraint: JsonSchema, text: str) -> bool:
    """Whether a value is invalid, as formats are asserted, for nothing else than a format."""
    faults = constraint.validate(text)
    return bool(faults) and all(fault.keyword == "format" for fault in faults)


def _read(schema: Any, schema_dir: str) -> tuple[JsonSchema | None, str, bool]:
    """A schema whose rules are made; else ``None``, the reason, and whether that is that no value satisfies it."""
    try:
        constraint = JsonSchema(
            schema, extra_properties=True, order="any", infer_types=False, numbers="any", schema_dir=schema_dir
        )
        _ = constraint.network
    except SchemaError as error:
        return None, error.reason, error.hint.startswith("No text satisfies this schema")
    return constraint, "", False


def _report(folder: Path) -> str:
    tallies = {(draft, part): _measured(folder, draft, part) for draft in DRAFTS for part in PARTS}
    lines = [
        "# The JSON Schema Test Suite",
        "",
        f"Written by `python -m tests.bench.schema_suite` with the suite of jsonschema {version('jsonschema')}. "
        "A group is one schema with some values. *Read*: rules can be made of the schema, or the suite, too, has no "
        "valid value for it. *All right*: each valid value is accepted, and each invalid one is not; with extra "
        "properties, in any order, numbers as sfgen writes them (`1` for `1.0`), formats asserted. *Of a wrong "
        "format*: what is invalid for no other reason than a format, and valid by the suite; it is not among the valid "
        "ones. *Wrongly accepted*: invalid values.",
        "",
        "| draft | part | groups | read | all right | valid values accepted | of a wrong format | wrongly accepted |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (draft, part), tally in tallies.items():
        counts = tally.counts
        read, right = counts["read"] / counts["groups"], counts["right"] / counts["groups"]
        accepted = f"{counts['accepted']:,} of {counts['valid']:,} ({counts['accepted'] / max(1, counts['valid']):.1%})"
        lines.append(
            f"| {draft} | {part} | {counts['groups']} | {counts['read']} ({read:.0%}) "
            f"| {counts['right']} ({right:.0%}) | {accepted} | {counts['of wrong format']} | {len(tally.wrong)} |"
        )
    for (draft, part), tally in tallies.items():
        if tally.wrong or tally.refused or tally.missed:
            lines += ["", f"## {draft}, {part}", ""]
        lines += [f"* wrongly accepted: {wrong}" for wrong in tally.wrong]
        if tally.missed:
            missed = ", ".join(f"{name} {count}" for name, count in tally.missed.most_common())
            lines += [f"Valid values that are never written, by file: {missed}."]
        if tally.refused:
            lines += ["", "| file | group | refused since |", "| --- | --- | --- |"]
            lines += [f"| {name} | {what} | {_cell(reason)} |" for name, what, reason in tally.refused]
    return "\n".join(lines) + "\n"


def _cell(reason: str) -> str:
    return reason.replace("|", "\\|").replace("\n", " ")[:160]


if __name__ == "__main__":
    main()
