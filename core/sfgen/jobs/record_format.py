"""Choose the keys of a record that are written, and write them as JSON Lines or as rows of a table."""

from __future__ import annotations

import csv
import difflib
import io
import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.jobs.prompt_record import find_value
from sfgen.jobs.prompts import PromptFile, PromptSource, is_csv
from sfgen.parameter_text import ParameterText
from sfgen.printable import json_text

if TYPE_CHECKING:
    from sfgen.jobs.job import Job


_WIDTH = 270  # of lines that list names
_ABOUT = ("id", "line", "sample")
_MADE = ("text", "prompt", "value", "groups", "calls", "thought", "scores", "total_probability", "logprobs")
_COMPARED = ("seed", "run")

SLIM = (*_ABOUT, *_MADE, "input", "finish_reason", *_COMPARED, "error")
"""The keys that are usually written of a record, in this order."""

KNOWN = (
    *SLIM,
    *("messages", "rendered", "model", "pattern", "choices", "schema", "grammar", "template", "substring"),
    *("constraint", "banned", "word_bias", "after", "when", "stop", "engine", "fast_forward", "heal", "token_ids"),
    *("prompt_tokens", "completion_tokens", "forward_passes", "forced_tokens", "healed", "seconds", "rollbacks"),
    *("moved_blocks", "options"),
)
"""All keys that a record may have."""

_NESTED = ("input", "value", "groups", "banned", "word_bias", "options", "id")
"""Keys whose values have keys, which can be named after a dot."""

EVERYTHING = "all"


@dataclass(frozen=True)
class Fields:
    """A choice of the keys that are written; ``error`` is always one of them.

    Attributes:
        names: The keys, in the order in which they are written; ``None``: all.
    """

    names: tuple[str, ...] | None = SLIM

    @classmethod
    def of(cls, given: str | Iterable[str] | None) -> Fields:
        """Read a choice of keys.

        >>> Fields.of("text, value.age").chosen({"text": "…", "value": {"age": 36}, "error": "…", "line": 1})
        {'text': '…', 'value.age': 36, 'error': '…'}
        """
        if given is None:
            return cls()
        listed = given.split(",") if isinstance(given, str) else arguments.texts("fields", given)
        names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
        if not names:
            raise UsageError(
                ParameterText("fields names no field", "fields"), hint="For example: text,value,id; or: all"
            )
        if names == (EVERYTHING,):
            return cls(None)
        for name in names:
            _check(name)
        return cls(names)

    @property
    def is_usual(self) -> bool:
        """Whether this is the usual choice."""
        return self.names == SLIM

    def has(self, name: str) -> bool:
        """Return whether a key is among the written ones."""
        return self.names is None or name in self.names

    def chosen(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the chosen keys of a record."""
        if self.names is None:
            return dict(record)
        found = {}
        for name in (*self.names, "error"):
            there, value = find_value(record, name)
            if there:
                found[name] = value
        return found


def table_columns(job: Job, passed_on: tuple[str, ...]) -> tuple[str, ...]:
    """Return the usual columns of a table: those with content."""
    constraint, scored = job.constraint, job.scored is not None
    has_calls = job.config.when is not None or constraint.in_text
    is_there = {
        "sample": job.samples > 1,
        "value": constraint.has_values and not has_calls,
        "groups": constraint.has_groups and not has_calls,
        "calls": has_calls,
        "thought": job.config.after is not None,
        "scores": scored,
        "total_probability": scored,
        "logprobs": job.config.logprobs,
        "finish_reason": not scored,
        "seed": not scored,
    }
    names: list[str] = []
    for name in SLIM:
        if name == "input" and passed_on:
            names += [f"input.{column}" for column in passed_on]
        elif is_there.get(name, True):
            names.append(name)
    return tuple(names)


def _check(name: str) -> None:
    first, dot, _ = name.partition(".")
    if name in KNOWN or (dot and first in _NESTED):
        return
    if name == EVERYTHING:
        raise UsageError(
            ParameterText("fields has all beside other names", "fields"), hint="Leave the others out, or all."
        )
    if dot and first in KNOWN:
        raise UsageError(ParameterText(f"fields has {name!r:.60}, and {first} has no keys", "fields"))
    close = difflib.get_close_matches(first, KNOWN, 1)
    meant = f"Did you mean {close[0]}? " if close else ""
    names = textwrap.wrap(f"There are {', '.join(KNOWN)}.", _WIDTH, break_on_hyphens=False)
    raise UsageError(
        ParameterText(f"fields has {name!r:.60}, which no record has", "fields"),
        details=tuple(f"  {line}" for line in names),
        hint=f"{meant}Keys inside of them are named after a dot: value.age.",
    )


_END = "\r\n"


class RecordFormat(Protocol):
    """A format in which a record is a line; quotes of a table may hold newlines.

    Attributes:
        header: The first line of a file, without its newline; empty: there is none.
        is_quoted: Whether text between two quotes may contain newlines.
    """

    @property
    def header(self) -> str:
        """The first line of a file; empty: there is none."""

    @property
    def is_quoted(self) -> bool:
        """Whether text between two quotes may contain newlines."""

    def line(self, record: Mapping[str, Any]) -> str:
        """Return the line of a record, without its newline."""

    def parsed(self, line: bytes) -> dict[str, Any]:
        """Read the record of a line; empty if it is not one."""

    def as_read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record as ``parsed`` would read it."""

    def beginning(self, record: Mapping[str, Any], names: Iterable[str]) -> bytes:
        """Return the beginning of a line, from its first keys alone."""


class JsonLines:
    """A JSON object on each line."""

    header = ""
    is_quoted = False

    def line(self, record: Mapping[str, Any]) -> str:
        """Return the line of a record, without its newline."""
        return json_text(record)

    def parsed(self, line: bytes) -> dict[str, Any]:
        """Read the record of a line; empty if not an object."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def as_read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record as ``parsed`` would read it."""
        return dict(record)

    def beginning(self, record: Mapping[str, Any], names: Iterable[str]) -> bytes:
        """Return the beginning of a line, from its first keys alone."""
        known = {name: record[name] for name in names if name in record}
        return (json_text(known)[:-1] + (", " if known else "")).encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class CsvRows:
    """A row for each record, a cell for each column (RFC 4180).

    Attributes:
        columns: The names of the columns.
    """

    columns: tuple[str, ...]

    # Lines end with a newline alone. A text is its cell unchanged, anything else is written as JSON.
    is_quoted = True

    @property
    def header(self) -> str:
        """The names of the columns, as a line."""
        return _row(self.columns)

    def line(self, record: Mapping[str, Any]) -> str:
        """Return the line of a record, without its newline."""
        return _row([_cell(record, column) for column in self.columns])

    def parsed(self, line: bytes) -> dict[str, Any]:
        """Read the cells of a line by column, without empty ones; none if it is not a row."""
        csv.field_size_limit(max(csv.field_size_limit(), len(line)))
        try:
            rows = list(csv.reader(io.StringIO(line.decode(), newline=""), strict=True))
        except (csv.Error, UnicodeDecodeError):
            return {}
        if len(rows) != 1 or len(rows[0]) != len(self.columns):
            return {}
        return {column: cell for column, cell in zip(self.columns, rows[0], strict=True) if cell}

    def as_read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record as ``parsed`` would read it."""
        return self.parsed(self.line(record).encode("utf-8", "backslashreplace"))

    def beginning(self, record: Mapping[str, Any], names: Iterable[str]) -> bytes:
        """Return the beginning of a line, from its first columns alone."""
        return _row([*(_cell(record, name) for name in names), "…"])[:-1].encode("utf-8", "backslashreplace")


def _cell(record: Mapping[str, Any], column: str) -> str:
    value = record.get(column)
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator=_END).writerow(cells)  # quotes a cell with a part of it
    return written.getvalue().removesuffix(_END)


def check_resumable(job: Job, fields: Fields) -> None:
    """Refuse to resume lines that could not be recognized."""
    needed = ["line", *(["sample"] if job.samples > 1 else []), *([] if job.scored is not None else ["seed"]), "run"]
    missing = [name for name in needed if not fields.has(name)]
    if missing:
        raise UsageError(
            ParameterText(
                f"resume compares {', '.join(needed)}, and fields leaves out {', '.join(missing)}", "resume", "fields"
            ),
            hint=ParameterText(f"Write them, too: fields={','.join(needed)!r} and others.", "fields="),
        )


def written_as(path: Path | None, job: Job, source: PromptSource, fields: Fields) -> tuple[RecordFormat, Fields]:
    """Choose the format of a file of records, and its keys."""
    columns = source.columns() if isinstance(source, PromptFile) else ()
    if path is None or not is_csv(path):
        return JsonLines(), fields
    names = table_columns(job, columns) if fields.is_usual else (fields.names or KNOWN)
    names = names if "error" in names else (*names, "error")
    return CsvRows(names), fields if fields.names is None else Fields(names)
