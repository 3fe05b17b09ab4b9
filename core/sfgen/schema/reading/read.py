"""Read and check a schema: from a dict, a bool, JSON text, the short form, a file, or a Python type.

The form of a text is recognised by these rules:

- a text that begins with ``{`` is JSON, and so are ``true`` and ``false``;
- a text is the name of a file if such a file exists, if it ends in ``.json``, or if it has a path separator but no
  comma, brace or bar and no colon followed by a blank;
- all other texts are in the short form (``name, age int``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import SchemaError
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.from_pydantic import PydanticType
from sfgen.schema.reading.other_documents import OtherDocuments
from sfgen.schema.reading.short_form import read_short_form
from sfgen.schema.reading.strict_json import file_data, from_python, json_of, shown_name
from sfgen.schema.reading.well_formed import well_formed

_BARE_NAME = re.compile(r"\s*\{\s*[\w$-]")
_WAYS = "A schema is a file, JSON that begins with {, or names and types: 'name, age int'."  # ends the error of a file
_WAYS_HERE = "A schema is JSON that begins with {, or names and types: 'name, age int'."


def read_schema(
    source: Mapping[str, Any] | bool | str | PathLike[str] | PydanticType | SchemaDocument,
    schema_dir: str | PathLike[str] | None = None,
) -> SchemaDocument:
    """Read a schema and its other documents, and check them.

    Args:
        source: A dict, a bool, a text by the rules at the head of this module, the path of a file, or a Python type; a
            ``SchemaDocument`` is returned unchanged.
        schema_dir: The directory of the documents that it may refer to; see :mod:`.other_documents`.

    Raises:
        SchemaError: The source is not JSON, has a value that its metaschema does not allow, or a reference without a
            target. The message has the JSON pointer, and line and column if the source is a text.
        SchemaTooLarge: It passes a limit.
        InputError: A file or the directory cannot be read.

    >>> document = read_schema('{"type": "array", "items": {"$ref": "#"}}')
    >>> document.draft.title, document.resolve("#", "/items")[0]
    ('draft 2020-12', '')
    """
    if isinstance(source, SchemaDocument):
        return source
    documents = OtherDocuments(schema_dir)
    if isinstance(source, PydanticType):
        return well_formed(from_python(source.json_schema()), documents=documents, place=documents.place_of(""))
    if isinstance(source, PathLike):
        return _of_file(os.fspath(source), documents)
    if not isinstance(source, str):
        return well_formed(from_python(source), documents=documents, place=documents.place_of(""))
    if _is_json(source):
        return _of_text(source, documents)
    text = _bare(source)
    if is_file_name(text):
        return _of_file(text, documents)
    if text[:1] in ("[", '"') or text == "null":
        raise SchemaError("a schema is an object, true or false", hint=_WAYS)
    return well_formed(read_short_form(source))


def read_inline(source: Mapping[str, Any] | bool | str) -> SchemaDocument:
    """Read a schema from data; names of files and references to files are refused.

    >>> read_inline("name, age int").root["required"]
    ['name', 'age']
    """
    if not isinstance(source, str) or _is_json(source):
        return read_schema(source)
    if _is_path(_bare(source)):
        raise SchemaError("it is the name of a file, and here only the schema itself is allowed", hint=_WAYS_HERE)
    return well_formed(read_short_form(source))


def is_file_name(text: str) -> bool:
    """Return whether a text that is not JSON is the name of a file.

    >>> [is_file_name(text) for text in ("person.json", "a/b", "name, age int", "url: http://…", "name")]
    [True, True, False, False, False]
    """
    if "\n" in text or not text:
        return False
    return _is_path(text) or os.path.isfile(text)


def _is_path(text: str) -> bool:
    """Return whether a text looks like the name of a file, existing or not."""
    has_separator = any(separator in text for separator in {"/", os.sep})
    return text.endswith(".json") or (has_separator and not any(sign in text for sign in (",", "{", "|", ": ")))


def _bare(source: str) -> str:
    return source.removeprefix("\ufeff").strip(" \t\r\n")


def _is_json(source: str) -> bool:
    text = _bare(source)
    return text.startswith("{") or text in ("true", "false")


def _of_file(name: str, documents: OtherDocuments) -> SchemaDocument:
    return _of_text(file_data(name, _WAYS), documents, name)


def _of_text(data: str | bytes, documents: OtherDocuments, name: str = "") -> SchemaDocument:
    try:
        root, text = json_of(data, shown_name(name))
    except SchemaError as error:
        if isinstance(data, str) and not name and _BARE_NAME.match(data):
            error.hint = "The short form has no braces around it: 'name, age int'."
        raise
    return well_formed(root, shown_name(name), text, documents, documents.place_of(name))
