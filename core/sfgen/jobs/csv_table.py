"""Prompts of a table: comma-separated values (RFC 4180) whose first row has the names of the columns."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sfgen.errors import InputError
from sfgen.jobs.prompt_record import OUR_KEYS, PromptRecord, PromptTemplate, record_of

_LONGEST_CELL = 16 * 2**20  # characters
_SHOWN = 5  # columns


@dataclass
class CsvTable:
    """The rows of a table as records.

    Columns without a meaning here are passed on.

    Args:
        name: What people call it.
        lines: Its lines, UTF-8; ``None`` for one that is too long.
        template: The prompt, made of the cells of a row; ``None``: it is in the column ``prompt``.
    """

    name: str
    lines: Iterable[bytes | None]
    template: PromptTemplate | None = None
    _number: int = field(default=0, init=False)  # of the line that was read last
    _is_cut: bool = field(default=False, init=False)  # a line of this row was too long
    _header: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        self._rows = csv.reader(self._decoded(), strict=True)

    def passed_on(self) -> tuple[str, ...]:
        """Return the columns without a meaning here.

        It must be called before the records are read.

        Raises:
            InputError: There is no column of prompts, or one that a template needs; or two columns have one name.
        """
        self._read_header()
        ours = OUR_KEYS if self.template is None else OUR_KEYS[1:]
        return tuple(name for name in self._header if name not in ours)

    def records(self) -> Iterator[PromptRecord]:
        """Yield the records; blank lines are not records.

        The ``line`` of each is that in which its row begins.

        Raises:
            InputError: As ``passed_on``.
        """
        if not self._header:
            self._read_header()
        while True:
            line, self._is_cut = self._number + 1, False
            try:
                row = next(self._rows, None)
            except csv.Error as error:
                yield PromptRecord(line, None, fault=f"no row of a table: {error}")
                continue
            if row is None:
                return
            if row or self._is_cut:
                yield self._record(line, row)

    def _record(self, line: int, row: list[str]) -> PromptRecord:
        if self._is_cut:
            return PromptRecord(line, None, fault=f"longer than {_LONGEST_CELL:,} bytes")
        if any(_is_no_text(cell) for cell in row):
            return PromptRecord(line, None, fault="not valid UTF-8")
        if len(row) != len(self._header):
            fault = f"the number of cells is {len(row)}, and of columns {len(self._header)}"
            return PromptRecord(line, None, fault=fault)
        value: dict[str, Any] = dict(zip(self._header, row, strict=True))
        written = value.pop("sfgen", "")
        if written:
            try:
                value["sfgen"] = json.loads(written)
            except (ValueError, RecursionError):
                value["sfgen"] = written
        return record_of(line, value, self.template)

    def _read_header(self) -> None:
        """Read the names of the columns; none if the file is empty."""
        try:
            self._header = next(self._rows, [])
        except csv.Error as error:
            raise InputError(f"{self.name}, line 1: no row of a table: {error}") from None
        if not self._header and not self._number:
            return
        columns = ", ".join(json.dumps(name)[:40] for name in self._header[:_SHOWN])
        columns += ", …" if len(self._header) > _SHOWN else ""
        needed = ("prompt",) if self.template is None else self.template.names
        missing = next((name for name in needed if name not in self._header), None)
        if missing is not None:
            raise InputError(
                f"{self.name} has no column {missing:.60}; its first line has {columns or 'nothing'}",
                hint="The first line of a table has the names of its columns, with commas between them.",
            )
        twice = [name for name, count in Counter(self._header).items() if count > 1]
        if twice:
            raise InputError(f"{self.name} has two columns {json.dumps(twice[0])[:60]}", hint="Give one another name.")

    def _decoded(self) -> Iterator[str]:
        """The lines as text; what is no UTF-8 is left as surrogates, for the row to tell."""
        for data in self.lines:
            self._number += 1
            if data is None:
                self._is_cut = True
                yield "\n"
                continue
            data = data.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else data
            yield data.decode("utf-8", "surrogateescape")


def _is_no_text(cell: str) -> bool:
    try:
        cell.encode()
    except UnicodeEncodeError:
        return True
    return False
