"""How records stand in a file: as JSON Lines, or as the rows of a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sfgen.printable import json_text

_END = "\r\n"


class RecordFormat(Protocol):
    """A format in which a record is a line.

    A line of a table may have newlines within quotes.

    Attributes:
        header: The first line of a file, without its newline; empty: there is none.
        is_quoted: Whether what stands between two quotes has no end of a line in it.
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
        """Return the beginning of a line, from its first keys alone.

        Args:
            record: The record; it may lack some of the keys.
            names: The keys that are known, in their order.
        """


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
        """Return the beginning of a line, from its first keys alone.

        Args:
            record: The record; it may lack some of the keys.
            names: The keys that are known, in their order.
        """
        known = {name: record[name] for name in names if name in record}
        return (json_text(known)[:-1] + (", " if known else "")).encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class CsvRows:
    """A row for each record, a cell for each column (RFC 4180).

    Lines end with a newline alone. A text stands in its cell as it is, anything else as JSON; a cell is empty where
    there is nothing.

    Attributes:
        columns: The names of the columns.
    """

    columns: tuple[str, ...]

    is_quoted = True

    @property
    def header(self) -> str:
        """The names of the columns, as a line."""
        return _row(self.columns)

    def line(self, record: Mapping[str, Any]) -> str:
        """Return the line of a record, without its newline."""
        return _row([_cell(record, column) for column in self.columns])

    def parsed(self, line: bytes) -> dict[str, Any]:
        """Read the cells of a line that are not empty, by column.

        They are empty if it is not a row.
        """
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
        """Return the beginning of a line, from its first columns alone.

        Args:
            record: The record; it may lack some of the columns.
            names: The columns that are known, in their order.
        """
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
