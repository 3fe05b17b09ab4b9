"""Read prompts from JSON Lines, tables (CSV), plain lines or a list, one at a time: they may not fit in memory.

The ending of a file's name says whether it is a table (``.csv``) and whether it is compressed (``.gz``).
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from sfgen import arguments
from sfgen.errors import InputError, UsageError
from sfgen.jobs.prompt_record import OUR_KEYS, PromptRecord, PromptTemplate, is_writable, record_of, text_record
from sfgen.parameter_text import ParameterText
from sfgen.printable import counted
from sfgen.whole_file import LONGEST_TEXT

_GZIP = ".gz"

LONGEST_LINE = LONGEST_TEXT
"""The most bytes of a line that is read as a record."""

MOST_SKIPPED = 16 * LONGEST_LINE
"""The most bytes of a line that is too long in which its end is looked for: a malicious compressed file may have
none."""

_LONGEST_CELL = 16 * 2**20  # characters
_SHOWN = 5  # columns that are shown


class PromptSource(Protocol):
    """A source of prompts."""

    @property
    def name(self) -> str:
        """The name of the source, for people."""

    def records(self) -> Iterator[PromptRecord]:
        """Yield the records, each as soon as it has been read."""


class PromptList:
    """Prompts in memory, numbered from line 1.

    >>> [record.prompt for record in PromptList(["a", {"prompt": "b", "id": 7}]).records()]
    ['a', 'b']
    """

    name = "the prompts"

    def __init__(self, prompts: Iterable[str | Mapping[str, Any]], template: PromptTemplate | None = None) -> None:
        self._template = template
        self._prompts = arguments.items("prompts", prompts, "a list of texts or of dictionaries with a prompt")

    def records(self) -> Iterator[PromptRecord]:
        """Yield the records; no more are read than are needed."""
        for number, prompt in enumerate(self._prompts, 1):
            if isinstance(prompt, str):
                yield text_record(number, prompt, self._template)
                continue
            record = record_of(number, arguments.mapping(f"prompt {number}", prompt), self._template)
            if is_writable([record.id, record.input]):
                yield record
            else:
                yield PromptRecord(number, None, fault="it has a value that cannot be written as JSON")


class PromptFile:
    """The prompts of a file: JSON Lines, plain lines or a table."""

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        *,
        plain: bool = False,
        table: bool = False,
        template: PromptTemplate | None = None,
    ) -> None:
        self.name = name
        self._stream = stream
        self._plain = plain
        self._table = table
        self._template = template
        others = [] if template is None or not plain else [key for key in template.names if key != "prompt"]
        if others:
            raise UsageError(
                ParameterText(
                    f"prompt_template has {{{others[0]}}}, and a line of text is {{prompt}} alone", "prompt_template"
                ),
                hint=ParameterText("Leave plain out, where each line is a JSON object.", "plain"),
            )

    def records(self) -> Iterator[PromptRecord]:
        """Yield the records, each as soon as its line has been read."""
        # Blank lines are not records, unless lines are prompts.
        return self._rows().records() if self._table else self._records()

    def check(self) -> None:
        """Check that a compressed file can be read."""
        if isinstance(self._stream, gzip.GzipFile):
            with self._told():
                self._stream.peek(1)

    def columns(self) -> tuple[str, ...]:
        """Return the columns of a table that are only passed on; none for any other file."""
        # To be called before the records are read.
        if not self._table:
            return ()
        found = self._rows().passed_on()
        self._stream.seek(0)
        return found

    def _rows(self) -> CsvTable:
        return CsvTable(self.name, self._lines(), self._template)

    def _records(self) -> Iterator[PromptRecord]:
        for number, data in enumerate(self._lines(), 1):
            if data is None:
                yield PromptRecord(number, None, fault=f"longer than {LONGEST_LINE:,} bytes")
                continue
            record = self._record(number, data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data)
            if record is not None:
                yield record

    def _record(self, number: int, data: bytes) -> PromptRecord | None:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            return PromptRecord(number, None, fault=f"not valid UTF-8: byte {error.start + 1} of the line")
        if self._plain:
            line = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
            return text_record(number, line, self._template)
        if not text.strip(" \t\r\n"):
            return None
        try:
            value = json.loads(text, parse_constant=_constant, parse_float=_float)
        except json.JSONDecodeError as error:
            fault = f"not valid JSON: {error.msg} at character {error.pos + 1}"
            return PromptRecord(number, None, fault=fault, is_object=False)
        except ValueError as error:  # raised by the two functions, or for a whole number of thousands of digits
            return PromptRecord(
                number, None, fault=f"JSON with a number that cannot be kept: {str(error).partition(';')[0]}"
            )
        except RecursionError:
            return PromptRecord(number, None, fault="JSON that is nested too deeply")
        return record_of(number, value, self._template)

    def record_count(self) -> int | None:
        """Count the records of a regular file; ``None`` if it can be read only once."""
        # To be called before the records are read.
        try:
            if not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
                return None
        except OSError:  # not a file descriptor that the system knows
            return None
        count = sum(1 for _ in self.records())
        self._stream.seek(0)
        return count

    def is_typed(self) -> bool:
        """Return whether the prompts are typed at a terminal."""
        return self._stream.isatty()

    def _lines(self) -> Iterator[bytes | None]:
        """Yield the lines; ``None`` for one that is too long."""
        number = 0
        with self._told():
            while line := self._stream.readline(LONGEST_LINE + 1):
                number += 1
                is_whole = line.endswith(b"\n") or len(line) <= LONGEST_LINE
                yield line if is_whole else None
                skipped = 0
                while not is_whole:
                    line = self._stream.readline(LONGEST_LINE)
                    is_whole = not line or line.endswith(b"\n")
                    skipped += len(line)
                    if skipped > MOST_SKIPPED:
                        raise InputError(
                            f"{self.name}, line {number} does not end: it is longer than {MOST_SKIPPED:,} bytes",
                            hint="Is it a file of prompts?",
                        )

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Turn an error of reading into an ``InputError``."""
        try:
            yield
        except gzip.BadGzipFile as error:
            raise InputError(f"cannot read {self.name}: it is not compressed by gzip, or damaged") from error
        except (EOFError, zlib.error) as error:
            raise InputError(f"cannot read {self.name}: its gzip data is cut off or damaged") from error
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror}") from error


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is too large")
    return number


@contextlib.contextmanager
def opened(file: Path, *, plain: bool = False, template: PromptTemplate | None = None) -> Iterator[PromptFile]:
    """Open a file of prompts; its ending says whether it is a table, and compressed."""
    if plain and is_csv(file):
        raise UsageError(
            f"{file} is a table, whose lines are no prompts",
            hint=ParameterText("Leave plain out: the prompts are in its column prompt.", "plain"),
        )
    try:
        stream = open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    with stream, contextlib.ExitStack() as stack:
        data: BinaryIO = stream
        if is_gzip(file):
            data = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream, mode="rb")))
        source = PromptFile(str(file), data, plain=plain, table=is_csv(file), template=template)
        source.check()
        yield source


@dataclass
class CsvTable:
    """The rows of a table as records; unknown columns are passed on."""

    name: str
    lines: Iterable[bytes | None]  # its lines, UTF-8; ``None`` for one that is too long
    # makes the prompt of the cells of a row; ``None``: the prompt is in the column ``prompt``
    template: PromptTemplate | None = None
    _number: int = field(default=0, init=False)  # the number of the line that was read last
    _is_cut: bool = field(default=False, init=False)  # a line of this row was too long
    _header: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        self._rows = csv.reader(self._decoded(), strict=True)

    def passed_on(self) -> tuple[str, ...]:
        """Return the columns that are passed on."""
        # To be called before the records are read.
        self._read_header()
        ours = OUR_KEYS if self.template is None else OUR_KEYS[1:]
        return tuple(name for name in self._header if name not in ours)

    def records(self) -> Iterator[PromptRecord]:
        """Yield the records; the ``line`` of a record is the first line of its row."""
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
            cells, columns = counted(len(row), "cell"), counted(len(self._header), "cell")
            fault = f"the row has {cells}, and the first line has {columns}"
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
        """Decode the lines; bytes that are not UTF-8 become surrogates."""
        # Its row reports them.
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


def is_gzip(file: Path) -> bool:
    """Return whether a file is compressed by gzip, by its name.

    >>> is_gzip(Path("a.jsonl.gz")), is_gzip(Path("a.jsonl"))
    (True, False)
    """
    return file.suffix.lower() == _GZIP


def is_csv(file: Path) -> bool:
    """Tell by its name whether a file is a table, even compressed.

    >>> is_csv(Path("a.CSV")), is_csv(Path("a.csv.gz")), is_csv(Path("a.jsonl"))
    (True, True, False)
    """
    return (Path(file.stem) if is_gzip(file) else file).suffix.lower() == ".csv"
