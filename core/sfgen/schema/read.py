"""Read a schema: from a dict, a bool, JSON text, the short form, a file, or a Python type; and check that it is one.

A text is told by how it looks, which is written down here and nowhere else:

- what begins with ``{`` is JSON, and so are ``true`` and ``false``;
- what is the name of an existing file, ends in ``.json``, or has a path separator but no comma and no colon with a
  blank behind it, is the name of a file;
- all else is the short form (``name, age int``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.schema.document import SchemaDocument
from sfgen.schema.from_python import from_python
from sfgen.schema.pydantic_type import PydanticType
from sfgen.schema.short_form import read_short_form
from sfgen.schema.strict_json import JsonLimitError, NotJsonError, decoded, parse
from sfgen.schema.well_formed import well_formed

MAX_BYTES = 1 << 22
"""How many bytes a schema's text may have."""

_MOST_NAMED = 5  # of keywords that one note lists
_WAYS = "A schema is a file, JSON that begins with {, or names and types: 'name, age int'."  # ends the error of a file


def read_schema(
    source: Mapping[str, Any] | bool | str | PathLike[str] | PydanticType | SchemaDocument,
) -> SchemaDocument:
    """Read a schema and check that it is well-formed.

    Args:
        source: A dict, a bool, a text as the head of this module tells, the path of a file, or a Python type; what was
            read before stays as it is.

    Raises:
        SchemaError: It is no schema: not JSON, a value that its metaschema does not allow, or a reference that leads
            nowhere. The message names the part by its JSON pointer, and by line and column where it came as text.
        SchemaTooLarge: It passes a limit.
        InputError: The file cannot be read.

    >>> document = read_schema('{"type": "array", "items": {"$ref": "#"}}')
    >>> document.draft.title, document.resolve("#", "/items")[0]
    ('draft 2020-12', '')
    """
    if isinstance(source, PydanticType):
        return well_formed(from_python(source.json_schema()))
    if isinstance(source, SchemaDocument):
        return source
    if isinstance(source, PathLike):
        return _of_file(os.fspath(source))
    if not isinstance(source, str):
        return well_formed(from_python(source))
    text = source.removeprefix("\ufeff").strip(" \t\r\n")
    if text.startswith("{") or text in ("true", "false"):
        return _of_text(source)
    if is_file_name(text):
        return _of_file(text)
    if text[:1] in ("[", '"') or text == "null":
        raise SchemaError("a schema is an object, true or false", hint=_WAYS)
    return well_formed(read_short_form(source))


def is_file_name(text: str) -> bool:
    """Whether a text that is not JSON names a file.

    >>> [is_file_name(text) for text in ("person.json", "a/b", "name, age int", "url: http://…", "name")]
    [True, True, False, False, False]
    """
    if "\n" in text or not text:
        return False
    has_separator = any(separator in text for separator in {"/", os.sep})
    is_path = has_separator and "," not in text and ": " not in text
    return is_path or text.endswith(".json") or os.path.isfile(text)


def _of_file(name: str) -> SchemaDocument:
    shown = name if len(name) <= 100 else f"{name[:100]}…"
    try:
        with open(name, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read the schema {shown}: {reason}", hint=_WAYS) from None
    return _of_text(data, shown)


def _of_text(data: str | bytes, name: str = "") -> SchemaDocument:
    if len(data) > MAX_BYTES:
        where = f"{name}: " if name else ""
        raise SchemaTooLarge(f"{where}its text passes the limit of {MAX_BYTES:,} bytes")
    try:
        text = decoded(data)
        root = parse(text)
    except NotJsonError as error:
        where = ", ".join([*([name] if name else []), "line {}, column {}".format(*error.position)])
        kind = SchemaTooLarge if isinstance(error, JsonLimitError) else SchemaError
        raise kind(f"{where}: {error.reason}", details=error.details) from None
    return well_formed(root, name, text)
