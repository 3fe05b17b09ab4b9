"""Records in a file: JSON Lines, or one JSON document.

What a text is, is told by how it looks, which is written down here and nowhere else. It is JSON Lines, a record on each
line that is not blank, if its first line is a whole value and there are others, or if the file's name ends in
``.jsonl`` or ``.ndjson``. Else it is one document: a list is a list of records, all else one record.
"""

from __future__ import annotations

import os
from os import PathLike
from typing import Any

from sfgen.errors import InputError
from sfgen.schema.json_file import file_data
from sfgen.schema.strict_json import NotJsonError, decoded, parse
from sfgen.schema.text_positions import Position

MAX_BYTES = 1 << 24
"""How many bytes a file of records may have."""

_LINES = (".jsonl", ".ndjson")
_ENDINGS = (*_LINES, ".json")
_FORMS = "Records are JSON Lines, a value on each line, or one JSON list of them."


def is_named_as_records(text: str) -> bool:
    """Tell whether a text has the ending of a file of records.

    >>> is_named_as_records("people.jsonl"), is_named_as_records("people")
    (True, False)
    """
    return text.endswith(_ENDINGS) and "\n" not in text


def read_records(path: PathLike[str]) -> list[Any]:
    """Read the records of a file.

    Raises:
        InputError: The file cannot be read, is too long, is not JSON, or has no record.
    """
    name = os.fspath(path)
    return records_of(file_data(name, what="records", most=MAX_BYTES), name)


def records_of(data: bytes | str, name: str) -> list[Any]:
    r"""Read the records of a text.

    Args:
        data: The text; bytes are UTF-8.
        name: What people call it.

    Returns:
        The values, numbers as ``int`` or ``Decimal``.

    Raises:
        InputError: It is too long, is not JSON, or has no record.

    >>> records_of('{"a": 1}\n{"a": 2}\n', "stdin") == records_of('[{"a": 1}, {"a": 2}]', "stdin")
    True
    """
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{name} passes the limit of {MAX_BYTES:,} bytes", hint=f"Take some of the records: head -n 10000 {name}"
        )
    try:
        text = decoded(data)
    except NotJsonError as error:
        raise _not_json(error, name, error.position) from None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r")]
    if not lines:
        raise InputError(f"{name} has no record in it", hint=_FORMS)
    is_lines = name.endswith(_LINES) or (len(lines) > 1 and _is_json(lines[0][1]))
    found = [_value(line, name, number) for number, line in lines] if is_lines else _document(text, name)
    if not found:
        raise InputError(f"{name} has no record in it: the list is empty")
    return found


def _document(text: str, name: str) -> list[Any]:
    value = _value(text, name, 1)
    return value if isinstance(value, list) else [value]


def _value(text: str, name: str, line: int) -> Any:
    """The value of a text that begins on a line of the file."""
    try:
        return parse(text)
    except NotJsonError as error:
        raise _not_json(error, name, Position(error.position.line + line - 1, error.position.column)) from None


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except NotJsonError:
        return False
    return True


def _not_json(error: NotJsonError, name: str, position: Position) -> InputError:
    where = f"{name}, line {position.line}, column {position.column}"
    return InputError(f"{where}: {error.reason}", details=error.details, hint=_FORMS)
