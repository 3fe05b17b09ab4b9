"""Read a JSON file, or the text of one, with errors that name the file, the line and the column."""

from __future__ import annotations

from typing import Any

from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.schema.strict_json import JsonLimitError, NotJsonError, decoded, parse

MAX_BYTES = 1 << 22
"""How many bytes a schema's text may have."""

_LONGEST_NAME = 100  # characters of a file's name that a message has


def shown(name: str) -> str:
    """Shorten the name of a file for messages."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def file_data(name: str, hint: str = "", *, what: str = "schema", most: int = MAX_BYTES) -> bytes:
    """Read a file: at most one byte more than the limit.

    Args:
        name: The file.
        hint: The hint of the error.
        what: What is in it, for the error.
        most: The limit in bytes.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with open(name, "rb") as file:
            return file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read the {what} {shown(name)}: {reason}", hint=hint) from None


def json_of(data: str | bytes, name: str = "") -> tuple[Any, str]:
    """Read the JSON of a schema.

    Args:
        data: The text; bytes are UTF-8.
        name: The file it comes from; empty if from none.

    Returns:
        The value, and the text.

    Raises:
        SchemaError: It is not JSON.
        SchemaTooLarge: It passes a limit.
    """
    if len(data) > MAX_BYTES:
        raise SchemaTooLarge(f"its text passes the limit of {MAX_BYTES:,} bytes", origin=name)
    try:
        text = decoded(data)
        return parse(data), text
    except NotJsonError as error:
        kind = SchemaTooLarge if isinstance(error, JsonLimitError) else SchemaError
        raise kind(error.reason, details=error.details, origin=name, position=error.position) from None
