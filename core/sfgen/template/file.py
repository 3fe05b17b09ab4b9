"""Write templates to files for one vocabulary, and read them.

The file is as ``sfgen.index.saved_text`` tells. ``template`` is the text of the template, and ``holes`` the schemas,
grammars and documents of its holes as JSON, by name: the files that it names need not be there when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.automata import Dfa
from sfgen.errors import SfgenError, UsageError
from sfgen.index.saved_text import SavedText
from sfgen.language.file import grammar_of, options_of
from sfgen.language.grammar import Grammar
from sfgen.protocols import Tokens
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.words import as_json
from sfgen.substring import file as substring_file
from sfgen.substring.substring import Substring
from sfgen.template.template import Template

_FILE = SavedText("template", 1, ("template", "holes"))


def save(template: Template, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a template for one vocabulary.

    The schemas and grammars of its holes are written with it.
    """
    constraints = {hole.name: hole.constraint for hole in template.holes}
    holes = {name: _facts(constraint) for name, constraint in constraints.items() if not isinstance(constraint, Dfa)}
    _FILE.save({"template": template.text, "holes": json.dumps(holes)}, vocabulary, path, force=force)


def _facts(constraint: JsonSchema | Grammar | Substring) -> dict[str, Any]:
    if isinstance(constraint, JsonSchema):
        return {"schema": as_json(constraint.document.root)}
    if isinstance(constraint, Substring):
        return {"document": constraint.text, **substring_file.options_of(constraint)}
    return {"grammar": constraint.text, **options_of(constraint)}


def check(path: str | PathLike[str], vocabulary: Tokens) -> None:
    """Check a file as ``load`` does; its holes are not read."""
    _FILE.load(path, vocabulary)


def load(path: str | PathLike[str], vocabulary: Tokens) -> Template:
    """Read a template that was saved for the same vocabulary."""
    return _template_of(path, _FILE.load(path, vocabulary))


def saved_template(path: str | PathLike[str]) -> Template | None:
    """Read the template in a file, whatever the vocabulary; ``None`` if the file is something else."""
    metadata = _FILE.read(path)
    return None if metadata is None else _template_of(path, metadata)


def _template_of(path: str | PathLike[str], metadata: Mapping[str, str]) -> Template:
    try:
        holes = {name: _constraint(facts) for name, facts in json.loads(metadata["holes"]).items()}
        return Template.of_constraints(metadata["template"], holes)
    except UsageError:
        raise
    except (SfgenError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        raise _FILE.damaged(path, "its holes are not in order") from None


def _constraint(facts: Mapping[str, Any]) -> JsonSchema | Grammar | Substring:
    """The schema, the grammar or the document of a hole."""
    if tuple(facts) == ("schema",):
        return JsonSchema(facts["schema"])
    options = dict(facts)
    if "document" in options:
        return substring_file.substring_of(options.pop("document"), options)
    return grammar_of(options.pop("grammar"), options)
