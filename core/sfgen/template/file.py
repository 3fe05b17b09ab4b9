"""Save templates in files for one vocabulary, and load them.

The format is that of ``sfgen.index.saved_text``. ``template`` is the text of the template, and ``holes`` has the
schemas, grammars and documents of its holes as JSON, by name: the files that it names are not needed for loading.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.automata import Dfa
from sfgen.errors import ErrorInText, InputError, PatternError, SchemaError
from sfgen.grammar.language.file import grammar_of, options_of
from sfgen.grammar.language.grammar import Grammar
from sfgen.index.saved_text import SavedText
from sfgen.protocols import Tokens
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.words import as_json
from sfgen.substring import file as substring_file
from sfgen.substring.substring import Substring
from sfgen.template.template import Template


def save(template: Template, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a template for one vocabulary.

    The schemas and grammars of its holes are written with it.
    """
    constraints = {hole.name: hole.constraint for hole in template.holes}
    holes = {name: _facts(constraint) for name, constraint in constraints.items() if not isinstance(constraint, Dfa)}
    _FILE.save(template.text, holes, vocabulary, path, force=force)


def _facts(constraint: JsonSchema | Grammar | Substring) -> dict[str, Any]:
    if isinstance(constraint, JsonSchema):
        return {"schema": as_json(constraint.document.root)}
    if isinstance(constraint, Substring):
        return {"document": constraint.text, **substring_file.options_of(constraint)}
    return {"grammar": constraint.text, **options_of(constraint)}


def check(path: str | PathLike[str], vocabulary: Tokens) -> None:
    """Check a file as ``load`` does; its holes are not read."""
    _FILE.check(path, vocabulary)


def load(path: str | PathLike[str], vocabulary: Tokens) -> Template:
    """Read a template that was saved for the same vocabulary."""
    return _FILE.load(path, vocabulary)


def saved_template(path: str | PathLike[str]) -> Template | None:
    """Read the template in a file for any vocabulary; ``None`` if the file is something else."""
    return _FILE.saved(path)


def _template_of(text: str, holes: Mapping[str, Any]) -> Template:
    return Template.of_constraints(text, {name: _constraint(facts) for name, facts in holes.items()})


def _constraint(facts: Mapping[str, Any]) -> JsonSchema | Grammar | Substring:
    """The schema, the grammar or the document of a hole."""
    if tuple(facts) == ("schema",):
        return JsonSchema(facts["schema"])
    options = dict(facts)
    if "document" in options:
        return substring_file.substring_of(options.pop("document"), options)
    return grammar_of(options.pop("grammar"), options)


_DAMAGE = (SchemaError, ErrorInText, InputError, PatternError)  # not UsageError, which is about the template
_FILE = SavedText("template", 1, ("template", "holes"), _template_of, damage=_DAMAGE)
