"""Check a whole schema: each keyword has a value that its draft allows, and each reference has a schema as its target.

Notes for the user are collected, such as unknown keywords and keywords without effect, each once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from sfgen.schema.reading import openapi
from sfgen.schema.reading.document import (
    SchemaDocument,
    UnresolvedError,
    dynamic_name,
    is_reference_alone,
    references_of,
    value_at,
)
from sfgen.schema.reading.keywords import (
    ANNOTATIONS,
    ANY_DRAFT,
    DEFINITIONS,
    KINDS,
    LATEST,
    MEANINGLESS,
    TYPES,
    Draft,
    Kind,
    draft_of_uri,
    guessed_draft,
    subschemas,
)
from sfgen.schema.reading.other_documents import Bundle, OtherDocuments
from sfgen.schema.reading.strict_json import escaped, key
from sfgen.schema.reading.words import TYPES_ELSEWHERE, alternatives, first_few, meant, shown, type_of

_MOST_NAMED = 5  # of schemas, keywords or pointers in one line

_NO_ASSERTIONS = {
    *("$ref", "$schema", "$id", "id", "default", *DEFINITIONS),
    *ANNOTATIONS,
}
"""Keywords that do not restrict values by themselves."""

_ANCHORS = {
    Draft.DRAFT_2019_09: re.compile(r"[A-Za-z][-A-Za-z0-9.:_]*"),
    Draft.DRAFT_2020_12: re.compile(r"[A-Za-z_][-A-Za-z0-9._]*"),
}

_IDENTIFIER = re.compile(r"[^#]*#?")

_HINTS = {
    ("items", list): 'Since 2020-12 this is "prefixItems"; "items" applies to the items after these.',
    ("exclusiveMinimum", bool): 'Since draft 06: "exclusiveMinimum": NUMBER in place of "minimum".',
    ("exclusiveMaximum", bool): 'Since draft 06: "exclusiveMaximum": NUMBER in place of "maximum".',
    ("required", bool): 'Write the names into a list beside "properties": "required": ["name"].',
}


def well_formed(
    root: Any, name: str = "", text: str = "", documents: OtherDocuments | None = None, place: str = ""
) -> SchemaDocument:
    """Check a schema by its metaschema, and resolve its references."""
    return _Reading(SchemaDocument(root, LATEST, name, text)).document(documents or OtherDocuments(), place)


class _Reading:
    """Checks all of a schema, and makes a document of it."""

    def __init__(self, read: SchemaDocument) -> None:
        self._notes = _Notes()
        self._seen: dict[str, None] = {}
        self._read = replace(read, draft=self._draft(read.root))

    def document(self, documents: OtherDocuments, place: str) -> SchemaDocument:
        """Return the checked document, with the documents that it refers to."""
        self._look_at(self._read.root, "")
        self._follow(Bundle(self._read, documents, place))
        return replace(self._read, notes=self._notes.lines(), pointers=tuple(self._seen))

    def _draft(self, root: Any) -> Draft:
        named = root.get("$schema") if isinstance(root, dict) else None
        if not isinstance(named, str):
            return guessed_draft(root)
        draft = draft_of_uri(named)
        if draft is None:
            self._notes.add_general(f'"$schema" names {named[:80]}, which is not known: read as {LATEST.title}')
        return draft or LATEST

    def _look_at(self, schema: Any, pointer: str, *, by_reference: bool = False) -> None:
        """Check a schema and its subschemas, and record their identifiers and anchors."""
        # The metaschema does not check a value outside of schema keywords that a reference leads to, so its annotations
        # may be anything.
        draft = self._read.draft
        kinds = KINDS[draft]
        stack = [(schema, pointer)]
        while stack:
            schema, pointer = stack.pop()
            if pointer in self._seen:
                continue
            self._seen[pointer] = None
            for violation in violations(schema, draft):
                if by_reference and violation.way[:1] and violation.way[0] in ANNOTATIONS:
                    continue
                raise self._read.error(
                    violation.reason, pointer + "".join(map(escaped, violation.way)), hint=violation.hint
                )
            if not isinstance(schema, dict):
                continue
            try:
                doubled = self._read.identifiers.add(schema, pointer, draft)
            except UnresolvedError as error:
                raise self._read.error(error.reason, pointer) from None
            if doubled and draft <= Draft.DRAFT_07:  # many generated schemas have this
                self._add_note("an identifier that another schema has, too", doubled, pointer)
            elif doubled:
                reason = f'"{doubled}": another schema has the identifier {schema[doubled]} already'
                raise self._read.error(reason, f"{pointer}/{doubled}")
            self._note(schema, pointer)
            if self._is_nullable(schema):
                self._add_note(openapi.add_null(schema), "nullable", pointer)
            for way, child in reversed(list(subschemas(schema, kinds))):
                if not (kinds[str(way[0])] is Kind.SCHEMA_OR_BOOLEAN and isinstance(child, bool)):
                    stack.append((child, pointer + "".join(map(escaped, way))))

    def _is_nullable(self, schema: dict[str, Any]) -> bool:
        """Return whether a schema has OpenAPI's ``nullable``."""
        if not isinstance(schema.get("nullable"), bool) or is_reference_alone(schema, self._read.draft):
            return False
        return openapi.reads_nullable(self._read.root, self._read.draft)

    def _note(self, schema: dict[str, Any], pointer: str) -> None:
        draft = self._read.draft
        kinds, meaningless = KINDS[draft], MEANINGLESS.get(draft, {})
        for keyword in schema:
            if keyword in meaningless:
                self._add_note(f"without effect in {draft.title} ({meaningless[keyword]})", keyword, pointer)
            elif keyword == "nullable" and self._is_nullable(schema):
                pass  # has its own note
            elif keyword == "discriminator" and openapi.discriminating(schema) is not None:
                note = openapi.SELECTS if openapi.has_named_schemas(schema) else openapi.NOTHING_TO_SELECT
                self._add_note(note, keyword, pointer)
            elif keyword not in kinds and not keyword.startswith("x-"):
                near = "" if keyword in ANY_DRAFT else meant(keyword, kinds)
                suggestion = f' (did you mean "{near}"?)' if near else ""
                self._add_note(f"not a keyword of {draft.title}, ignored{suggestion}", keyword, pointer)
            elif keyword not in _NO_ASSERTIONS and is_reference_alone(schema, draft):
                self._add_note(f'without effect beside "$ref" in {draft.title}', keyword, pointer)
        named = schema.get("$schema")
        if pointer and isinstance(named, str) and draft_of_uri(named) not in (None, draft):
            self._add_note(f"another draft than {draft.title}, which is used for the whole schema", "$schema", pointer)

    def _add_note(self, note: str, keyword: str, pointer: str) -> None:
        """Add a note about a keyword of the schema at a pointer."""
        self._notes.add(note, keyword, self._read.shown_place(pointer))

    def _follow(self, bundle: Bundle) -> None:
        """Follow all reachable references; references in unused definitions are not checked."""
        draft, kinds = self._read.draft, KINDS[self._read.draft]
        same: dict[str, list[str]] = {}
        stack: list[tuple[str, Any]] = [("", self._read.root)]
        moving = set[str]()
        while stack:
            pointer, schema = stack.pop()
            if pointer not in same and isinstance(schema, dict):
                same[pointer] = []
                for keyword, reference in references_of(schema, draft):
                    target, found = self._target_of(schema, pointer, keyword, bundle)
                    stack.append((target, found))
                    same[pointer] += [target] if keyword == "$ref" else []
                    name = dynamic_name(keyword, reference)
                    moving |= set() if name is None else {name}
                for way, child in () if is_reference_alone(schema, draft) else subschemas(schema, kinds):
                    inner = pointer + "".join(map(escaped, way))
                    stack += [] if way[0] in DEFINITIONS else [(inner, child)]
                    same[pointer] += [inner] if way[0] == "allOf" else []
            if not stack:
                stack += self._by_name(moving, same)
        self._refuse_cycles(same)

    def _target_of(self, schema: dict[str, Any], pointer: str, keyword: str, bundle: Bundle) -> tuple[str, Any]:
        """Return the target of a reference; first put its document into this one."""
        if not self._read.identifiers.knows(schema[keyword], pointer):
            other = bundle.bring(schema, pointer, keyword)
            self._read = replace(self._read, files=tuple(bundle.files))
            if other is not None:
                self._look_at(*other)
        target, found = self._read.resolve(schema[keyword], pointer, keyword)
        self._look_at(found, target, by_reference=True)
        return target, found

    def _by_name(self, names: Collection[str], known: Collection[str]) -> list[tuple[str, Any]]:
        """List the schemas with some dynamic anchors that are not known yet."""
        pointers = [
            pointer
            for anchors in self._read.identifiers.dynamic.values()
            for name, pointer in anchors.items()
            if name in names and pointer not in known
        ]
        return [(pointer, value_at(self._read.root, pointer)) for pointer in pointers]

    def _refuse_cycles(self, same: Mapping[str, list[str]]) -> None:
        """Refuse cycles of references without a property or item between."""
        way = circle(same)
        if way:
            shown = " → ".join(f"#{pointer}" for pointer in [*way[:_MOST_NAMED], way[0]])
            reason = f'"$ref" leads back to itself: {shown}'
            raise self._read.error(reason, way[0], hint="Describe the value in one of these schemas.")


def circle(graph: Mapping[str, list[str]]) -> list[str]:
    """Find a cycle in a graph by depth-first search.

    >>> circle({"a": ["b"], "b": ["c", "d"], "c": [], "d": ["b"]})
    ['b', 'd']
    """
    done: set[str] = set()
    for start in graph:
        way: dict[str, None] = {}
        todo = [iter([start])]
        while todo:
            node = next(todo[-1], None)
            if node is None:
                todo.pop()
                if way:
                    done.add(way.popitem()[0])
            elif node in way:
                nodes = list(way)
                return nodes[nodes.index(node) :]
            elif node not in done:
                way[node] = None
                todo.append(iter(graph.get(node, ())))
    return []


# ---- the rules of the metaschemas ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Violation:
    """A violation of a metaschema.

    Attributes:
        way: The path from the schema: keyword, then index or name.
        reason: The error in words.
        hint: The text to write instead, if that is known.
    """

    way: tuple[str | int, ...]
    reason: str
    hint: str = ""


def violations(schema: Any, draft: Draft) -> Iterator[Violation]:
    """Yield the violations in a schema's own keywords.

    The subschemas are not checked.

    >>> [violation.reason for violation in violations({"type": "strin", "maxLength": -1}, Draft.DRAFT_2020_12)]
    ['"strin" is not a type', '"maxLength" must be a whole number, 0 or more, not -1']
    """
    if not isinstance(schema, dict | bool):
        yield Violation((), f"a schema must be an object, true or false, not {type_of(schema)}")
        return
    if isinstance(schema, bool):
        if draft is Draft.DRAFT_04:
            yield Violation((), f"a schema must be an object in draft 04, not {shown(schema)}")
        return
    kinds = KINDS[draft]
    for keyword, value in schema.items():
        kind = kinds.get(keyword)
        if kind is not None:
            yield from _of_keyword(keyword, value, kind, draft)
    if draft is Draft.DRAFT_04:
        for keyword, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if keyword in schema and bound not in schema:
                yield Violation((keyword,), f'"{keyword}" needs "{bound}" beside it in draft 04')


def _of_keyword(keyword: str, value: Any, kind: Kind, draft: Draft) -> Iterator[Violation]:
    """Yield the violations in the value of a keyword, without those in subschemas."""
    if kind is Kind.TYPES:
        yield from _of_types(keyword, value)
        return
    if kind in (Kind.NAMES, Kind.AT_LEAST_ONE_NAME):
        yield from _of_names((keyword,), value, may_be_empty=kind is Kind.NAMES)
        return
    if kind is Kind.ANCHOR:
        is_right = isinstance(value, str) and _ANCHORS[draft].fullmatch(value) is not None
    else:
        is_right = _IS_RIGHT[kind](value) and (
            kind is not Kind.COUNT or isinstance(value, int) or draft > Draft.DRAFT_04
        )
    if not is_right:
        hint = _HINTS.get((keyword, type(value)), "")
        yield Violation((keyword,), f'"{keyword}" must be {kind.value}, not {_found(value)}', hint)
    elif kind in (Kind.DEPENDENCIES, Kind.DEPENDENT_NAMES):
        for name, names in value.items():
            if isinstance(names, list) or kind is Kind.DEPENDENT_NAMES:
                yield from _of_names((keyword, name), names, may_be_empty=draft > Draft.DRAFT_04)


def _of_types(keyword: str, value: Any) -> Iterator[Violation]:
    for index, name in enumerate(value if isinstance(value, list) else [value]):
        if isinstance(name, str) and name not in TYPES:
            near = get_close_matches(TYPES_ELSEWHERE.get(name.lower(), name), TYPES, 1)
            hint = f'Did you mean "{near[0]}"?' if near else f"The types: {alternatives(TYPES)}."
            way = (keyword, index) if isinstance(value, list) else (keyword,)
            yield Violation(way, f"{shown(name)} is not a type", hint)
            return
    is_list = isinstance(value, list) and value and all(isinstance(name, str) for name in value)
    if not (isinstance(value, str) or (is_list and _is_unique(value))):
        yield Violation((keyword,), f'"{keyword}" must be {Kind.TYPES.value}, not {_found(value)}')


def _of_names(way: tuple[str, ...], value: Any, *, may_be_empty: bool) -> Iterator[Violation]:
    kind = Kind.NAMES if may_be_empty else Kind.AT_LEAST_ONE_NAME
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value) or not (value or may_be_empty):
        hint = _HINTS.get((way[0], type(value)), "")
        yield Violation(way, f'"{way[-1]}" must be {kind.value}, not {_found(value)}', hint)
    elif not _is_unique(value):
        twice = next(name for index, name in enumerate(value) if name in value[:index])
        yield Violation(way, f'"{way[-1]}" must be {kind.value}: {shown(twice)} occurs twice')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_unique(values: list[Any]) -> bool:
    return len({key(value) for value in values}) == len(values)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _found(value: Any) -> str:
    """Describe a wrong value for a message."""
    if isinstance(value, dict | list):
        return f"an empty {'object' if isinstance(value, dict) else 'list'}" if not value else shown(value)
    return shown(value)


_IS_RIGHT: Mapping[Kind, Callable[[Any], bool]] = {
    # A value in the place of a schema is checked as a schema itself.
    Kind.SCHEMA: lambda value: not isinstance(value, list),
    Kind.SCHEMA_OR_BOOLEAN: lambda value: isinstance(value, dict | bool),
    Kind.SCHEMAS: lambda value: isinstance(value, list) and bool(value),
    Kind.SCHEMA_OR_SCHEMAS: lambda value: not isinstance(value, list) or bool(value),
    Kind.NAMED_SCHEMAS: _is_object,
    Kind.DEPENDENCIES: _is_object,
    Kind.DEPENDENT_NAMES: _is_object,
    Kind.COUNT: _is_count,
    Kind.NUMBER: _is_number,
    Kind.POSITIVE: lambda value: _is_number(value) and value > 0,
    Kind.BOOLEAN: lambda value: isinstance(value, bool),
    Kind.STRING: lambda value: isinstance(value, str),
    Kind.IDENTIFIER: lambda value: isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None,
    Kind.LIST: lambda value: isinstance(value, list),
    Kind.ALTERNATIVES: lambda value: isinstance(value, list) and bool(value) and _is_unique(value),
    Kind.BOOLEANS: lambda value: _is_object(value) and all(isinstance(item, bool) for item in value.values()),
    Kind.ANYTHING: lambda value: True,
}


# ---- notes -----------------------------------------------------------------------------------------------------------


class _Notes:
    """Collects notes, each once.

    >>> notes = _Notes()
    >>> for pointer in ("", "/items", "/not"):
    ...     notes.add("not a keyword, ignored", "titel", pointer)
    >>> notes.lines()
    ('not a keyword, ignored: "titel", at the top, /items, /not',)
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}

    def add_general(self, note: str) -> None:
        """Add a note about the whole schema."""
        self._found.setdefault(note, ({}, {}))

    def add(self, note: str, keyword: str, pointer: str) -> None:
        """Add a note about a keyword of the schema at a pointer."""
        keywords, places = self._found.setdefault(note, ({}, {}))
        keywords[f'"{keyword[:40]}"'] = None
        places[pointer or "the top"] = None

    def lines(self) -> tuple[str, ...]:
        """Return a line for each note."""
        return tuple(
            f"{note}: {first_few(keywords, _MOST_NAMED)}, at {first_few(places, _MOST_NAMED)}" if keywords else note
            for note, (keywords, places) in self._found.items()
        )
