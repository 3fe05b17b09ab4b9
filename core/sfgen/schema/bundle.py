"""Other documents put into the one that refers to them, as schemas with an ``$id`` of their own.

What comes out refers to nothing outside: a compound schema document (JSON Schema 2020-12, 9.3), which the rules, a
saved file and the package jsonschema all read alike. It is read by one draft. A document in another draft is taken
where it says the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from sfgen.errors import SchemaTooLarge
from sfgen.parameter_text import ParameterText
from sfgen.schema.document import SchemaDocument, SourceFile
from sfgen.schema.drafts import URIS, draft_of_uri
from sfgen.schema.json_file import MAX_BYTES
from sfgen.schema.keywords import ANNOTATIONS, KINDS, MEANINGLESS, Draft, Kind, subschemas
from sfgen.schema.other_documents import OtherDocument, OtherDocuments
from sfgen.schema.references import UnresolvedError, is_reference_alone, shown_reference
from sfgen.schema.strict_json import escaped

_ALIKE = (
    {Kind.SCHEMA, Kind.SCHEMA_OR_BOOLEAN},
    {Kind.NAMES, Kind.AT_LEAST_ONE_NAME},
    {Kind.LIST, Kind.ALTERNATIVES},
    {Kind.STRING, Kind.IDENTIFIER},
)
"""Kinds of values by which a schema that satisfies both means the same."""

_NAMES_ONLY = {"$schema", "$id", "id", "$defs", "definitions", "$vocabulary", "default", *ANNOTATIONS}
"""Keywords that say nothing of a value, and that no draft reads otherwise but for what they call a schema."""


class Bundle:
    """The other documents of a schema, put into it on demand.

    Args:
        document: The schema; its root is changed.
        documents: Where others are found.
        place: The URI against which the root is read.
    """

    def __init__(self, document: SchemaDocument, documents: OtherDocuments, place: str) -> None:
        self._document = document
        self._documents = documents
        self._places = {"": place}
        self._uris: dict[str, str] = {}
        self._size = len(document.text)
        self.files: list[SourceFile] = []
        """The documents that were put in."""

    def bring(self, schema: dict[str, Any], pointer: str, keyword: str) -> tuple[Any, str] | None:
        """Put in the document that a reference leads to.

        The reference then says the URI that the document has there.

        Args:
            schema: The schema with the reference.
            pointer: Where it stands.
            keyword: The keyword of the reference.

        Returns:
            The schema that was put in, and its pointer; ``None`` if it was there already.

        Raises:
            SchemaError: There is no such document, or it is not a schema in this draft.
            SchemaTooLarge: A limit is passed.
            InputError: A file cannot be read.
        """
        reference: str = schema[keyword]
        uri, sign, fragment = reference.partition("#")
        start = max((known for known in self._places if (pointer + "/").startswith(known + "/")), key=len)
        base = self._document.identifiers.base_of(pointer)
        known, put_in = "", None
        # As the specification has it; else by the path from the file, which a document with an identifier may lie at.
        for wanted in (urljoin(urljoin(self._places[start], base), uri), urljoin(self._places[start], uri)):
            known = self._known(wanted)
            if known:
                break
            found = self._documents.find(wanted)
            if found is not None:
                whole = self._own_uri(found)
                known = found.part or whole
                self._uris |= {found.uri: whole, wanted: known}
                if whole not in self._document.identifiers.resources:
                    put_in = self._put_in(found, whole, pointer + escaped(keyword))
                break
        if not known:
            raise self._missing(reference, pointer + escaped(keyword))
        schema[keyword] = known + sign + fragment
        return put_in

    def _own_uri(self, found: OtherDocument) -> str:
        try:
            return found.own_uri
        except UnresolvedError as error:
            raise SourceFile("", found.name, found.text).error(error.reason, "") from None

    def _known(self, uri: str) -> str:
        """The URI in this document of what was sought by another one; empty if it is not there."""
        return uri if uri in self._document.identifiers.resources else self._uris.get(uri, "")

    def _missing(self, reference: str, pointer: str) -> Exception:
        shown = shown_reference(reference)
        directory = self._documents.directory
        if directory is None:
            return self._document.error(
                f"{shown} is in another document, and nothing is fetched",
                pointer,
                hint=ParameterText(
                    'Name the directory that has it with schema_dir, or copy it into this document, under "$defs".',
                    "schema_dir",
                ),
            )
        return self._document.error(
            f"{shown} is in another document, and no file in {directory} has this path or $id",
            pointer,
            hint=self._documents.near(reference) or "Nothing is fetched: put the file there.",
        )

    def _put_in(self, found: OtherDocument, uri: str, referrer: str) -> tuple[Any, str]:
        self._size += len(found.text)
        if self._size > MAX_BYTES:
            raise SchemaTooLarge(
                f"with {found.name} the schema and all that it refers to pass the limit of {MAX_BYTES:,} bytes",
                hint="Refer to smaller documents.",
            )
        draft = self._document.draft
        where = "definitions" if draft <= Draft.DRAFT_07 else "$defs"
        root = self._document.root
        assert isinstance(root, dict), "what has a reference is an object"
        others = root.setdefault(where, {})
        key, number = found.key, 2
        while key in others:
            key, number = f"{found.key} {number}", number + 1
        pointer = escaped(where) + escaped(key)
        file = SourceFile(pointer, found.name, found.text)
        self.files.append(file)
        self._places[pointer] = found.uri
        if isinstance(found.root, dict | bool):
            self._check_draft(found, file, referrer)
        schema = others[key] = _named(found.root, uri, draft)
        return schema, pointer

    def _check_draft(self, found: OtherDocument, file: SourceFile, referrer: str) -> None:
        """Refuse a document of another draft that says something else in that of the root."""
        named = found.root.get("$schema") if isinstance(found.root, dict) else None
        own, draft = draft_of_uri(named) if isinstance(named, str) else None, self._document.draft
        other = None if own in (None, draft) else _read_otherwise(found.root, own or draft, draft)
        if other is not None:
            keyword, pointer = other
            raise file.error(
                f"the document is in {(own or draft).title}, and is referred to by one in {draft.title}, "
                f'which reads "{keyword}" otherwise',
                pointer + escaped(keyword),
                hint="Write both in one draft, or name this one in the schema that refers to it: "
                f'"$schema": "{URIS[own or draft]}".',
            )


def _named(root: Any, uri: str, draft: Draft) -> Any:
    """A document as a schema with a URI of its own, all else where it was as far as there can be any beside it."""
    keyword = "id" if draft is Draft.DRAFT_04 else "$id"
    if isinstance(root, bool):
        return {keyword: uri} if root else {keyword: uri, "not": {}}
    if not isinstance(root, dict):
        return root
    others = {name: value for name, value in root.items() if name not in ("$id", "id")}
    if is_reference_alone(root, draft):  # beside which a name would not count
        kinds = KINDS[draft]
        others = {name: value for name, value in others.items() if name in _NAMES_ONLY or name not in kinds}
        return {keyword: uri, "allOf": [{"$ref": root["$ref"]}], **others}
    return {keyword: uri, **others}


def _read_otherwise(root: Any, own: Draft, draft: Draft) -> tuple[str, str] | None:
    """A keyword of a document that says something else in another draft, and the pointer of the schema that has it."""
    stack = [("", root)]
    while stack:
        pointer, schema = stack.pop()
        if not isinstance(schema, dict):
            continue
        keyword = next(_differing(schema, own, draft, is_root=not pointer), None)
        if keyword is not None:
            return keyword, pointer
        stack += [(pointer + "".join(map(escaped, way)), inner) for way, inner in subschemas(schema, KINDS[own])]
    return None


def _differing(schema: dict[str, Any], own: Draft, draft: Draft, *, is_root: bool) -> Iterator[str]:
    """The keywords of one schema that two drafts read otherwise."""
    for keyword, value in schema.items():
        kinds = {_kind(keyword, value, own), _kind(keyword, value, draft)}
        if keyword in ("$id", "id"):
            is_name = KINDS[own].get(keyword) is not None and isinstance(value, str)
            if is_name and not is_root and (keyword not in KINDS[draft] or "#" in value):
                yield keyword
        elif keyword not in _NAMES_ONLY and len(kinds) > 1 and not any(kinds <= alike for alike in _ALIKE):
            yield keyword
    if (
        "$ref" in schema
        and (own <= Draft.DRAFT_07) is not (draft <= Draft.DRAFT_07)
        and schema.keys() - _NAMES_ONLY - {"$ref"}
    ):
        yield "$ref"


def _kind(keyword: str, value: Any, draft: Draft) -> Kind | None:
    """What a draft takes a keyword for; ``items`` means one thing or the other by what it has."""
    kind = None if keyword in MEANINGLESS.get(draft, ()) else KINDS[draft].get(keyword)
    return Kind.SCHEMA if kind is Kind.SCHEMA_OR_SCHEMAS and not isinstance(value, list) else kind
