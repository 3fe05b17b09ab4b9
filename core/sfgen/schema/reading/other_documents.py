"""Documents that a schema refers to: files of a directory that the user names, and the metaschemas.

No document is fetched. A document is found by its own URI (``$id``), or by its path. The directory has the URI
``file:///``, and with ``"URL=DIRECTORY"`` also that URL; paths are relative to it, so neither a schema nor a saved file
contains the location of the directory.

The documents are put into the referring document, as schemas with their own ``$id``. The result is a compound schema
document (JSON Schema 2020-12, 9.3) without outside references, for the compiler, saved files and the package jsonschema
alike. It has one draft; a document of another draft is accepted if it means the same in both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from typing import Any
from urllib.parse import quote, unquote, urljoin

from sfgen import arguments
from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.parameter_text import ParameterText
from sfgen.schema.reading.document import (
    SchemaDocument,
    SourceFile,
    UnresolvedError,
    is_reference_alone,
    joined_uri,
    shown_reference,
)
from sfgen.schema.reading.keywords import (
    ANNOTATIONS,
    ANY_DRAFT,
    KINDS,
    MEANINGLESS,
    URIS,
    Draft,
    Kind,
    draft_of_uri,
    subschemas,
)
from sfgen.schema.reading.strict_json import (
    MAX_BYTES,
    NotJsonError,
    escaped,
    file_data,
    from_python,
    json_of,
    parse,
    shown_name,
)

MAX_FILES = 10_000
"""The most files and folders of a directory."""

MAX_TOTAL_BYTES = 1 << 26
"""The most bytes of all files together, in a search for an identifier."""

ENDINGS = (".json", ".schema", ".jsonschema")
"""The endings of the names of files that can be referred to."""

_HERE = "file:///"
_URL_AND_PATH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+://[^=]*)=(.+)", re.DOTALL)

_ALIKE = (
    {Kind.SCHEMA, Kind.SCHEMA_OR_BOOLEAN},
    {Kind.NAMES, Kind.AT_LEAST_ONE_NAME},
    {Kind.LIST, Kind.ALTERNATIVES},
    {Kind.STRING, Kind.IDENTIFIER},
)
"""Kinds of values that differ between drafts without changing the meaning of a valid keyword."""

_NAMES_ONLY = {"$schema", "$id", "id", "$defs", "definitions", "$vocabulary", "default", *ANNOTATIONS}
"""Keywords that do not restrict values, and have the same meaning in all drafts, apart from identifiers."""


@dataclass(frozen=True)
class OtherDocument:
    """A document that a schema refers to.

    Attributes:
        root: Its value: any JSON.
        uri: The URI of its location.
        key: A short name, for its key in the definitions.
        name: The name in messages: that of the file.
        text: Its text; empty if there is none.
        part: The URI of the schema in it that was looked for.
    """

    root: Any
    uri: str
    key: str
    name: str
    text: str = ""
    part: str = ""

    @property
    def own_uri(self) -> str:
        """Its own URI; without one, that of its location."""
        return joined_uri(self.uri, _identifier_of(self.root))


class OtherDocuments:
    """Finds documents by their URIs."""

    def __init__(self, directory: str | PathLike[str] | None = None) -> None:
        self.directory: str | None = None
        """The path of the directory."""
        self._urls = [_HERE]
        if directory is None:
            return
        path = arguments.path("schema_dir", directory, error=InputError)
        found = _URL_AND_PATH.fullmatch(str(directory)) if isinstance(directory, str) else None
        if found:
            url, self.directory = found.groups()
            self._urls.append(url if url.endswith("/") else f"{url}/")
        else:
            self.directory = os.fspath(path)
        if not os.path.isdir(self.directory):
            reason = "it is not a directory" if os.path.exists(self.directory) else "there is no such directory"
            raise InputError(
                f"cannot read the directory of schemas {shown_name(self.directory)}: {reason}",
                hint="Name the directory of the files, such as schemas or https://example.com/schemas/=schemas.",
            )

    def place_of(self, name: str) -> str:
        """Return the URI of a file in the directory; for other files that of the directory."""
        if name and self.directory is not None:
            path, around = os.path.realpath(name), os.path.realpath(self.directory)
            if _is_inside(path, around):
                return self._uri_of(os.path.relpath(path, around).replace(os.sep, "/"))
        return self._urls[-1]

    def find(self, uri: str) -> OtherDocument | None:
        """Find the document that has a URI, or that contains a schema with it."""
        found = _metaschema(uri)
        if found is not None or self.directory is None:
            return found
        for url in self._urls:
            name = unquote(uri.removeprefix(url)) if uri.startswith(url) else ""
            if name and self._is_file(name):
                return self._read(name)
        names = self._by_identifier.get(uri, [])
        if len(names) > 1:
            raise SchemaError(
                f"{shown_name(uri)} is the identifier of {names[0]} and of {names[1]} in {shown_name(self.directory)}",
                hint="Give each file its own identifier.",
            )
        if not names:
            return None
        document = self._read(names[0])
        return document if uri == document.own_uri else replace(document, part=uri)

    def near(self, reference: str) -> str:
        """Write a hint with the document that is most similar to a reference."""
        assert self.directory is not None, "there is a directory"
        path = unquote(reference.partition("#")[0])
        name = path.rpartition("/")[2]
        if os.path.islink(os.path.join(self.directory, path.lstrip("/"))):
            return "It is a symbolic link to a file outside of the directory, which is not followed."
        by_name = {file.rpartition("/")[2]: file for file in self._files}
        near = get_close_matches(name, list(by_name), 1)
        return f"Did you mean {by_name[near[0]]}?" if near else ""

    def _uri_of(self, name: str) -> str:
        return self._urls[-1] + quote(name)

    def _is_file(self, name: str) -> bool:
        """Return whether a path is a file in the directory that can be referred to."""
        assert self.directory is not None
        if not name.endswith(ENDINGS) or "\0" in name:
            return False
        path = os.path.realpath(os.path.join(self.directory, name))
        return os.path.isfile(path) and _is_inside(path, os.path.realpath(self.directory))

    def _read(self, name: str) -> OtherDocument:
        assert self.directory is not None
        path = os.path.normpath(os.path.join(self.directory, name))
        root, text = json_of(file_data(path), shown_name(path))
        return OtherDocument(root, self._uri_of(name), name, shown_name(path), text)

    @cached_property
    def _files(self) -> tuple[str, ...]:
        """The paths of all files that can be referred to, relative to the directory."""
        return tuple(sorted(self._walk()))

    def _walk(self) -> Iterator[str]:
        assert self.directory is not None
        seen = 0
        for folder, folders, files in os.walk(self.directory):
            seen += len(folders) + len(files)
            if seen > MAX_FILES:
                raise SchemaTooLarge(
                    f"{shown_name(self.directory)} has more than {MAX_FILES:,} files and folders",
                    hint="Name a directory with schemas only.",
                )
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self.directory).replace(os.sep, "/")
                if self._is_file(name):
                    yield name

    @cached_property
    def _by_identifier(self) -> dict[str, list[str]]:
        """The paths of the files by the URIs of schemas in them, without files that are not JSON."""
        assert self.directory is not None
        found: dict[str, list[str]] = {}
        size = 0
        for name in self._files:
            data = file_data(os.path.join(self.directory, name))
            size += len(data)
            if size > MAX_TOTAL_BYTES:
                raise SchemaTooLarge(
                    f"the files of {shown_name(self.directory)} pass the limit of {MAX_TOTAL_BYTES:,} bytes together",
                    hint="Name a directory with schemas only.",
                )
            if len(data) > MAX_BYTES or not re.search(rb'"\$?id"', data):
                continue
            try:
                root = parse(data)
            except NotJsonError:
                continue
            for uri in dict.fromkeys(_identifiers(root, self._uri_of(name))):
                found.setdefault(uri, []).append(name)
        return found


def _identifier_of(root: Any) -> str:
    """Return a schema's identifier without a fragment; empty if it has none.

    >>> _identifier_of({"$id": "http://example.com/a#"}), _identifier_of({"id": "http://example.com/b"})
    ('http://example.com/a', 'http://example.com/b')
    """
    if not isinstance(root, dict):
        return ""
    found = root.get("$id", root.get("id"))
    if not isinstance(found, str) or not ("$id" in root or re.search("[:#]", found)):
        return ""
    return found.partition("#")[0]


def _identifiers(root: Any, uri: str) -> Iterator[str]:
    """Yield the URIs of a document and of the schemas in it."""
    stack = [(root, uri)]
    while stack:
        schema, base = stack.pop()
        if not isinstance(schema, dict):
            continue
        identifier = _identifier_of(schema)
        if identifier:
            try:
                base = joined_uri(base, identifier)
            except UnresolvedError:
                continue
            yield base
        stack += [(inner, base) for _, inner in subschemas(schema, ANY_DRAFT)]


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _metaschema(uri: str) -> OtherDocument | None:
    """Return the metaschema of a draft, or one of its parts."""
    if "json-schema.org/" not in uri:
        return None
    from jsonschema_specifications import REGISTRY

    found = REGISTRY.get(uri)
    return None if found is None else OtherDocument(from_python(found.contents), uri, uri, uri)


# ---- bundling --------------------------------------------------------------------------------------------------------


class Bundle:
    """Puts the documents that a schema refers to into it, on demand."""

    def __init__(self, document: SchemaDocument, documents: OtherDocuments, place: str) -> None:
        self._document = document
        self._documents = documents
        self._places = {"": place}
        self._uris: dict[str, str] = {}
        self._size = len(document.text)
        self.files: list[SourceFile] = []
        """The documents that were put in."""

    def bring(self, schema: dict[str, Any], pointer: str, keyword: str) -> tuple[Any, str] | None:
        """Put in the document of a reference; return its schema and pointer if it is new."""
        # The reference is rewritten to the document's own URI.
        reference: str = schema[keyword]
        uri, sign, fragment = reference.partition("#")
        start = max((known for known in self._places if (pointer + "/").startswith(known + "/")), key=len)
        base = self._document.identifiers.base_of(pointer)
        known, put_in = "", None
        # First relative to the base URI, by the specification; else relative to the location of the file.
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
        """Return the URI of a document that was put in; empty if it was not."""
        return uri if uri in self._document.identifiers.resources else self._uris.get(uri, "")

    def _missing(self, reference: str, pointer: str) -> Exception:
        shown = shown_reference(reference)
        directory = self._documents.directory
        if directory is None:
            return self._document.error(
                f"nothing is fetched for a reference to another document: {shown}",
                pointer,
                hint=ParameterText(
                    'Name its directory with schema_dir, or copy it into this document, under "$defs".',
                    "schema_dir",
                ),
            )
        return self._document.error(
            f"no file in {directory} has the path or $id {shown}",
            pointer,
            hint=self._documents.near(reference) or "No document is fetched: put the file there.",
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
        assert isinstance(root, dict), "a schema with a reference is an object"
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
        """Refuse a document of another draft that has another meaning in the draft of the root."""
        named = found.root.get("$schema") if isinstance(found.root, dict) else None
        own, draft = draft_of_uri(named) if isinstance(named, str) else None, self._document.draft
        other = None if own in (None, draft) else _read_otherwise(found.root, own or draft, draft)
        if other is not None:
            keyword, pointer = other
            raise file.error(
                f"the document is in {(own or draft).title}, and is referred to by one in {draft.title}, "
                f'where "{keyword}" has another meaning',
                pointer + escaped(keyword),
                hint="Write both in one draft, or name this draft in the schema that refers to it: "
                f'"$schema": "{URIS[own or draft]}".',
            )


def _named(root: Any, uri: str, draft: Draft) -> Any:
    """Give a document its own URI, without moving other parts."""
    keyword = "id" if draft is Draft.DRAFT_04 else "$id"
    if isinstance(root, bool):
        return {keyword: uri} if root else {keyword: uri, "not": {}}
    if not isinstance(root, dict):
        return root
    others = {name: value for name, value in root.items() if name not in ("$id", "id")}
    if is_reference_alone(root, draft):  # beside a $ref the identifier would be ignored
        kinds = KINDS[draft]
        others = {name: value for name, value in others.items() if name in _NAMES_ONLY or name not in kinds}
        return {keyword: uri, "allOf": [{"$ref": root["$ref"]}], **others}
    return {keyword: uri, **others}


def _read_otherwise(root: Any, own: Draft, draft: Draft) -> tuple[str, str] | None:
    """Find a keyword that has another meaning in another draft: the keyword, and its schema's pointer."""
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
    """Yield the keywords of one schema that have different meanings in two drafts."""
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
    """Return the kind of a keyword in a draft; that of ``items`` depends on the value."""
    kind = None if keyword in MEANINGLESS.get(draft, ()) else KINDS[draft].get(keyword)
    return Kind.SCHEMA if kind is Kind.SCHEMA_OR_SCHEMAS and not isinstance(value, list) else kind
