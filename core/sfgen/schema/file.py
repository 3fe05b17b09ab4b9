"""Write schemas to files for one vocabulary, and read them.

The file is as ``sfgen.index.saved_text`` tells. ``schema`` is the schema as JSON, its numbers as they were, and
``options`` how its values are written, as JSON, with the documents that they are quoted from.
"""

from __future__ import annotations

import json
from os import PathLike

from sfgen.index.saved_text import SavedText
from sfgen.protocols import Tokens
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.words import as_json
from sfgen.substring.file import options_of, substring_of

_FILE = SavedText("schema", 1, ("schema", "options"))


def save(schema: JsonSchema, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a schema and its options, for one vocabulary."""
    options = schema.to_dict()
    del options["schema"]
    if schema.documents:
        options["documents"] = {
            name: {"document": document.text, **options_of(document)} for name, document in schema.documents.items()
        }
    fields = {"schema": as_json(schema.document.root), "options": json.dumps(options)}
    _FILE.save(fields, vocabulary, path, force=force)


def load(path: str | PathLike[str], vocabulary: Tokens) -> JsonSchema:
    """Read a schema that was saved for the same vocabulary."""
    return _schema_of(path, _FILE.load(path, vocabulary))


def saved_schema(path: str | PathLike[str]) -> JsonSchema | None:
    """Read the schema in a file, whatever the vocabulary."""
    metadata = _FILE.read(path)
    return None if metadata is None else _schema_of(path, metadata)


def _schema_of(path: str | PathLike[str], metadata: dict[str, str]) -> JsonSchema:
    text = metadata["schema"]
    try:
        options = json.loads(metadata["options"])
        if not text.startswith("{") and text not in ("true", "false"):
            raise ValueError("no schema")  # a name of a file is never followed
        for name, facts in options.get("documents", {}).items():
            options["documents"][name] = substring_of(facts.pop("document"), facts)
        return JsonSchema(text, **options)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise _FILE.damaged(path, "its options are not in order") from None
