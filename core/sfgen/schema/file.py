"""Save schemas in files for one vocabulary, and load them.

The format is that of ``sfgen.index.saved_text``. The field ``schema`` is the schema as JSON, with unchanged numbers;
``options`` are the writing options as JSON, with the quoted documents.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from sfgen.index.saved_text import SavedText
from sfgen.protocols import Tokens
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.words import as_json
from sfgen.substring.file import options_of, substring_of


def save(schema: JsonSchema, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Save a schema and its options for one vocabulary."""
    options = schema.to_dict()
    del options["schema"]
    if schema.documents:
        options["documents"] = {
            name: {"document": document.text, **options_of(document)} for name, document in schema.documents.items()
        }
    _FILE.save(as_json(schema.document.root), options, vocabulary, path, force=force)


def load(path: str | PathLike[str], vocabulary: Tokens) -> JsonSchema:
    """Load a schema that was saved for the same vocabulary."""
    return _FILE.load(path, vocabulary)


def saved_schema(path: str | PathLike[str]) -> JsonSchema | None:
    """Load a schema that was saved for any vocabulary; ``None`` if the file has another format."""
    return _FILE.saved(path)


def _schema_of(text: str, options: dict[str, Any]) -> JsonSchema:
    if not text.startswith("{") and text not in ("true", "false"):
        raise ValueError("no schema")  # JsonSchema would take another text for the name of a file
    for name, facts in options.get("documents", {}).items():
        options["documents"][name] = substring_of(facts.pop("document"), facts)
    return JsonSchema(text, **options)


_FILE = SavedText("schema", 1, ("schema", "options"), _schema_of)
