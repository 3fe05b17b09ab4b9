"""The description of a constraint in records and traces, and the digests that identify it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfgen.automata import Dfa
    from sfgen.grammar.language.grammar import Grammar
    from sfgen.schema.json_schema import JsonSchema
    from sfgen.substring.substring import Substring
    from sfgen.template.sequence import Sequence
    from sfgen.tools.tool_calls import ToolCalls

_KEPT = 16  # hexadecimal digits of a digest


@dataclass(frozen=True)
class ConstraintFacts:
    """The description of a constraint; empty for free text.

    Attributes:
        pattern: The pattern that a text matches.
        choices: The texts of which it is one.
        schema: The schema that it fulfils.
        schema_name: The name of the schema, for people.
        grammar: The grammar of the text.
        grammar_name: The name of the grammar, for people.
        template: The template or the sequence of the text.
        template_name: The name of the template, for people.
        substring: The document that it is quoted from, with the options of the quotation.
        substring_name: The name of the document, for people.
        tool_format: The name or the digest of the form in which tool calls are written; ``schema`` is then the schema
            of the calls. ``None`` if a text is not written in such a form.
        in_text: Whether these calls stand between free text.
        digest: The digest of an automaton without a pattern, or of a user's own constraint.
        engine: The name of the engine for the pattern; ``None``: the usual one.
    """

    pattern: str | None = None
    choices: tuple[str, ...] | None = None
    schema: JsonSchema | None = None
    schema_name: str | None = None
    grammar: Grammar | None = None
    grammar_name: str | None = None
    template: Sequence | None = None
    template_name: str | None = None
    substring: Substring | None = None
    substring_name: str | None = None
    tool_format: str | None = None
    in_text: bool = False
    digest: str | None = None
    engine: str | None = None

    @classmethod
    def of(cls, index: object, *, choices: tuple[str, ...] | None = None) -> ConstraintFacts:
        """Describe the ``index`` of a configuration, or choices to score.

        >>> ConstraintFacts.of("[0-9]+").pattern
        '[0-9]+'
        """
        from sfgen.automata import Dfa
        from sfgen.grammar.language.grammar import Grammar
        from sfgen.schema.json_schema import JsonSchema
        from sfgen.substring.substring import Substring
        from sfgen.template.sequence import Sequence
        from sfgen.tools.tool_calls import ToolCalls

        constraint = getattr(index, "constraint", index)
        if constraint is None:
            return cls(choices=choices)
        if isinstance(constraint, str):
            return cls(pattern=constraint)
        if isinstance(constraint, JsonSchema):
            return cls(schema=constraint, schema_name=_schema_digest(constraint))
        if isinstance(constraint, Grammar):
            return cls(grammar=constraint, grammar_name=_grammar_digest(constraint))
        if isinstance(constraint, Sequence):
            return cls(template=constraint, template_name=_template_digest(constraint))
        if isinstance(constraint, Substring):
            return cls(substring=constraint, substring_name=constraint.digest[:_KEPT])
        if isinstance(constraint, ToolCalls):
            return cls.of_calls(constraint, _schema_digest(constraint.schema))
        if isinstance(constraint, Dfa):
            if constraint.choices is not None:
                return cls(choices=constraint.choices)
            if constraint.pattern is None:
                return cls(digest=_automaton_digest(constraint))
            return cls(pattern=constraint.pattern)
        pattern = getattr(constraint, "pattern", None)
        return cls(pattern=pattern) if isinstance(pattern, str) else cls(digest=_digest(repr(constraint)))

    @classmethod
    def of_calls(cls, calls: ToolCalls, name: str | None) -> ConstraintFacts:
        """Describe tool calls, with a name for people."""
        form = calls.to_dict()["tool_format"]
        told = form if isinstance(form, str) else _digest(json.dumps(form))
        return cls(schema=calls.schema, schema_name=name, tool_format=told, in_text=calls.in_text)

    def in_scene(self) -> dict[str, Any]:
        """Return the fields of a text's scene that describe the constraint."""
        return {
            "pattern": self.pattern,
            "choices": self.choices,
            "schema": self.schema_name,
            "schema_json": self.schema_json,
            "grammar": self.grammar_name,
            "grammar_json": self.grammar_json,
            "template": self.template_name,
            "template_json": self.template_json,
            "substring": self.substring_name,
        }

    def named(self) -> dict[str, Any]:
        """Return the keys of a record that name the constraint."""
        fields: dict[str, Any] = {}
        if self.pattern is not None:
            fields["pattern"] = self.pattern
        if self.choices is not None:
            fields["choices"] = list(self.choices)
        if self.schema_name is not None:
            fields["schema"] = self.schema_name
        if self.tool_format is not None:
            fields["tool_format"] = self.tool_format
        if self.grammar_name is not None:
            fields["grammar"] = self.grammar_name
        if self.template_name is not None:
            fields["template"] = self.template_name
        if self.substring_name is not None:
            fields["substring"] = self.substring_name
        if self.digest is not None:
            fields["constraint"] = self.digest
        return fields

    def known_again(self) -> dict[str, Any]:
        """Return the digests and options that identify a constraint without its name."""
        fields: dict[str, Any] = {}
        if self.schema is not None:
            fields["schema"] = {**self.schema.to_dict(), "schema": _schema_digest(self.schema)}
        if self.in_text:
            fields["calls_in_text"] = True
        if self.grammar is not None:
            facts = self.grammar.to_dict()
            facts.pop("files", None)
            fields["grammar"] = {**facts, "grammar": _grammar_digest(self.grammar)}
        if self.template is not None:
            fields["template"] = _template_digest(self.template)
        if self.substring is not None:
            fields |= self.substring.to_dict()
        return fields

    @property
    def has_values(self) -> bool:
        """Whether a finished text stands for a value, as JSON does."""
        return self.schema is not None or (self.template is not None and self.template.has_values)

    @cached_property
    def has_groups(self) -> bool:
        """Whether a finished text has named parts."""
        from sfgen.regex.oracle import group_names

        if self.template is not None:
            return True
        return self.pattern is not None and bool(group_names(self.pattern))

    @property
    def schema_json(self) -> str | None:
        """The schema and its options as JSON."""
        if self.schema is None:
            return None
        from sfgen.schema.reading.words import as_json

        return as_json({**self.schema.to_dict(), "schema": self.schema.document.root})

    @property
    def template_json(self) -> str | None:
        """The template, with the schemas and grammars of its holes, as JSON."""
        return None if self.template is None else json.dumps(self.template.to_dict(), ensure_ascii=False)

    @property
    def grammar_json(self) -> str | None:
        """The grammar and its options as JSON."""
        return None if self.grammar is None else json.dumps(self.grammar.to_dict(), ensure_ascii=False)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEPT]


def _schema_digest(schema: JsonSchema) -> str:
    from sfgen.schema.reading.words import as_json

    return _digest(as_json(schema.document.root))


def _grammar_digest(grammar: Grammar) -> str:
    files = grammar.to_dict().get("files", {})
    return _digest("\0".join([grammar.text, *(part for file in sorted(files.items()) for part in file)]))


def _template_digest(template: Sequence) -> str:
    return _digest(json.dumps(template.to_dict()))


def _automaton_digest(dfa: Dfa) -> str:
    arrays = (dfa.transitions, dfa.byte_classes, dfa.accepting)
    return sha256(b"".join(repr(array.shape).encode() + array.tobytes() for array in arrays)).hexdigest()[:_KEPT]
