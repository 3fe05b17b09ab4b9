"""Check all of a schema: each keyword has a value that its draft allows, and each reference leads to a schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from sfgen.schema import openapi
from sfgen.schema.bundle import Bundle
from sfgen.schema.document import SchemaDocument
from sfgen.schema.drafts import LATEST, draft_of_uri, guessed_draft
from sfgen.schema.keywords import ANNOTATIONS, ANY_DRAFT, KINDS, MEANINGLESS, Draft, Kind, subschemas
from sfgen.schema.metaschema import misfits
from sfgen.schema.notes import Notes
from sfgen.schema.other_documents import OtherDocuments
from sfgen.schema.references import UnresolvedError, dynamic_name, is_reference_alone, references_of, value_at
from sfgen.schema.strict_json import escaped
from sfgen.schema.words import meant

_MOST_NAMED = 5  # of schemas that one line lists
_DEFINITIONS = ("$defs", "definitions")
_NEVER_COUNT = {
    *("$ref", "$schema", "$id", "id", "default", *_DEFINITIONS),
    *ANNOTATIONS,
}
"""Keywords that say nothing about a value by themselves."""


def well_formed(
    root: Any, name: str = "", text: str = "", documents: OtherDocuments | None = None, place: str = ""
) -> SchemaDocument:
    """Check a schema by its metaschema, and resolve its references.

    Args:
        root: The schema, as the reader of JSON gives it. The documents that it refers to are put into it.
        name: The file it comes from.
        text: Its JSON text.
        documents: Where it finds other documents; the metaschemas are always there.
        place: Its URI where it has none of its own.

    Raises:
        SchemaError: It is not a schema, a reference leads nowhere, or some references form a cycle.
    """
    return _Reading(SchemaDocument(root, LATEST, name, text)).document(documents or OtherDocuments(), place)


class _Reading:
    """Looks at all of a schema, and makes a document of it."""

    def __init__(self, read: SchemaDocument) -> None:
        self._notes = Notes()
        self._seen: dict[str, None] = {}
        self._read = replace(read, draft=self._draft(read.root))

    def document(self, documents: OtherDocuments, place: str) -> SchemaDocument:
        """The document, with the others that it refers to."""
        self._look_at(self._read.root, "")
        self._follow(Bundle(self._read, documents, place))
        return replace(self._read, notes=self._notes.lines(), pointers=tuple(self._seen))

    def _draft(self, root: Any) -> Draft:
        named = root.get("$schema") if isinstance(root, dict) else None
        if not isinstance(named, str):
            return guessed_draft(root)
        draft = draft_of_uri(named)
        if draft is None:
            self._notes.say(f'"$schema" names {named[:80]}, which is not known: read as {LATEST.title}')
        return draft or LATEST

    def _look_at(self, schema: Any, pointer: str, *, by_reference: bool = False) -> None:
        """Check a schema and all in it, and take note of what they call themselves.

        What only a reference makes a schema is not checked by the metaschema: annotations may be anything there.
        """
        draft = self._read.draft
        kinds = KINDS[draft]
        stack = [(schema, pointer)]
        while stack:
            schema, pointer = stack.pop()
            if pointer in self._seen:
                continue
            self._seen[pointer] = None
            for misfit in misfits(schema, draft):
                if by_reference and misfit.way[:1] and misfit.way[0] in ANNOTATIONS:
                    continue
                raise self._read.error(misfit.reason, pointer + "".join(map(escaped, misfit.way)), hint=misfit.hint)
            if not isinstance(schema, dict):
                continue
            try:
                doubled = self._read.identifiers.add(schema, pointer, draft)
            except UnresolvedError as error:
                raise self._read.error(error.reason, pointer) from None
            if doubled:
                reason = f'"{doubled}": another schema has the name {schema[doubled]} already'
                raise self._read.error(reason, f"{pointer}/{doubled}")
            self._note(schema, pointer)
            if self._is_nullable(schema):
                self._tell(openapi.add_null(schema), "nullable", pointer)
            for way, child in reversed(list(subschemas(schema, kinds))):
                if not (kinds[str(way[0])] is Kind.SCHEMA_OR_BOOLEAN and isinstance(child, bool)):
                    stack.append((child, pointer + "".join(map(escaped, way))))

    def _is_nullable(self, schema: dict[str, Any]) -> bool:
        """Whether a schema has OpenAPI's ``nullable``."""
        if not isinstance(schema.get("nullable"), bool) or is_reference_alone(schema, self._read.draft):
            return False
        return openapi.reads_nullable(self._read.root, self._read.draft)

    def _note(self, schema: dict[str, Any], pointer: str) -> None:
        draft = self._read.draft
        kinds, meaningless = KINDS[draft], MEANINGLESS.get(draft, {})
        for keyword in schema:
            if keyword in meaningless:
                self._tell(f"without effect in {draft.title} ({meaningless[keyword]})", keyword, pointer)
            elif keyword == "nullable" and self._is_nullable(schema):
                pass  # noted where it is read
            elif keyword == "discriminator" and openapi.discriminating(schema) is not None:
                said = openapi.TELLS if openapi.tells(schema) else openapi.NOTHING_TO_TELL
                self._tell(said, keyword, pointer)
            elif keyword not in kinds and not keyword.startswith("x-"):
                near = "" if keyword in ANY_DRAFT else meant(keyword, kinds)
                asked = f' (did you mean "{near}"?)' if near else ""
                self._tell(f"not a keyword of {draft.title}, ignored{asked}", keyword, pointer)
            elif keyword not in _NEVER_COUNT and is_reference_alone(schema, draft):
                self._tell(f'without effect beside "$ref" in {draft.title}', keyword, pointer)
        named = schema.get("$schema")
        if pointer and isinstance(named, str) and draft_of_uri(named) not in (None, draft):
            self._tell(f"another draft than {draft.title}, by which all is read", "$schema", pointer)

    def _tell(self, said: str, keyword: str, pointer: str) -> None:
        """Note something of a keyword in the schema at a pointer."""
        self._notes.add(said, keyword, self._read.shown_place(pointer))

    def _follow(self, bundle: Bundle) -> None:
        """Follow the references that the schema can reach; definitions that it cannot may refer to what they like."""
        draft, kinds = self._read.draft, KINDS[self._read.draft]
        same: dict[str, list[str]] = {}
        stack: list[tuple[str, Any]] = [("", self._read.root)]
        moving = set[str]()
        while stack:
            pointer, schema = stack.pop()
            if pointer not in same and isinstance(schema, dict):
                same[pointer] = []
                for keyword, reference in references_of(schema, draft):
                    target, found = self._led_to(schema, pointer, keyword, bundle)
                    stack.append((target, found))
                    same[pointer] += [target] if keyword == "$ref" else []
                    name = dynamic_name(keyword, reference)
                    moving |= set() if name is None else {name}
                for way, child in () if is_reference_alone(schema, draft) else subschemas(schema, kinds):
                    inner = pointer + "".join(map(escaped, way))
                    stack += [] if way[0] in _DEFINITIONS else [(inner, child)]
                    same[pointer] += [inner] if way[0] == "allOf" else []
            if not stack:
                stack += self._by_name(moving, same)
        self._refuse_endless(same)

    def _led_to(self, schema: dict[str, Any], pointer: str, keyword: str, bundle: Bundle) -> tuple[str, Any]:
        """What a reference leads to; the document that it is in is put into this one."""
        if not self._read.identifiers.knows(schema[keyword], pointer):
            other = bundle.bring(schema, pointer, keyword)
            self._read = replace(self._read, files=tuple(bundle.files))
            if other is not None:
                self._look_at(*other)
        target, found = self._read.resolve(schema[keyword], pointer, keyword)
        self._look_at(found, target, by_reference=True)
        return target, found

    def _by_name(self, names: Collection[str], known: Collection[str]) -> list[tuple[str, Any]]:
        """The schemas that dynamic references by some names may lead to, and that are not known."""
        pointers = [
            pointer
            for anchors in self._read.identifiers.dynamic.values()
            for name, pointer in anchors.items()
            if name in names and pointer not in known
        ]
        return [(pointer, value_at(self._read.root, pointer)) for pointer in pointers]

    def _refuse_endless(self, same: Mapping[str, list[str]]) -> None:
        """Refuse schemas that come back to themselves without going into a part of the value.

        Args:
            same: By the pointer of each schema the schemas of the same value that must hold with it.

        Raises:
            SchemaError: There is one: to check a value would take endless time.
        """
        way = circle(same)
        if way:
            shown = " → ".join(f"#{pointer}" for pointer in [*way[:_MOST_NAMED], way[0]])
            reason = f'"$ref" goes round in a circle and says nothing: {shown}'
            raise self._read.error(reason, way[0], hint="Let one of them say what the value is.")


def circle(graph: Mapping[str, list[str]]) -> list[str]:
    """Find a cycle in a graph by depth-first search.

    Returns:
        Its nodes, in order; none if there is no cycle.

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
