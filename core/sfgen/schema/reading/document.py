"""A parsed schema: its content, its draft, and the targets of its references.

References are resolved by identifiers, anchors and JSON pointers (RFC 6901). The pointer of a schema is its identity
everywhere: rules are distinguished by it, and messages contain it.

The target of ``$dynamicRef`` is in the outermost resource of the dynamic scope that has a ``$dynamicAnchor`` of its
name, that of ``$recursiveRef`` is the outermost one with ``$recursiveAnchor`` (JSON Schema 2020-12, 8.2.3.2; 2019-09,
8.2.4.2). The first resource with an anchor is the target for all resources inside, so a scope is a mapping of names to
schemas to which inner resources only add names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from sfgen.errors import SchemaError
from sfgen.parameter_text import ParameterText
from sfgen.schema.reading.keywords import DEFINITIONS, Draft
from sfgen.schema.reading.strict_json import escaped, positions, unescaped
from sfgen.schema.reading.words import type_of
from sfgen.substring.document import SUBSTRING_OF
from sfgen.substring.substring import Substring

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to another schema."""

_MOST_NAMES = 6  # of names that a hint lists
_INDEX = re.compile("0|[1-9][0-9]*")


# ---- references ------------------------------------------------------------------------------------------------------


class UnresolvedError(LookupError):
    """Raised for a reference without a target."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def joined_uri(base: str, reference: str) -> str:
    """Resolve a reference against a base (RFC 3986)."""
    try:
        urlsplit(reference)  # urljoin does not parse it if there is no base
        return urljoin(base, reference)
    except ValueError as error:
        raise UnresolvedError(f"{shown_reference(reference)} is not a URI: {error}") from None


def references_of(schema: Any, draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the references of a schema: (keyword, reference)."""
    if isinstance(schema, dict):
        for keyword in REFERENCES[: 1 if draft <= Draft.DRAFT_07 else None]:
            if isinstance(schema.get(keyword), str):
                yield keyword, schema[keyword]


def is_reference_alone(schema: Any, draft: Draft) -> bool:
    """Return whether all keywords beside a schema's ``$ref`` are ignored, as up to draft 07."""
    return draft <= Draft.DRAFT_07 and isinstance(schema, dict) and isinstance(schema.get("$ref"), str)


def dynamic_name(keyword: str, reference: str) -> str | None:
    """Return the name of a reference's dynamic anchor; ``None`` if the reference is not dynamic.

    The name of ``$recursiveRef`` is empty.

    >>> dynamic_name("$dynamicRef", "a.json#node"), dynamic_name("$recursiveRef", "#"), dynamic_name("$ref", "#node")
    ('node', '', None)
    """
    fragment = unquote(reference.partition("#")[2])
    if keyword == "$recursiveRef":
        return ""
    return fragment if keyword == "$dynamicRef" and fragment and not fragment.startswith("/") else None


def _dynamic_anchors(schema: Any, draft: Draft) -> list[str]:
    """List the names of a schema's dynamic anchors; see :func:`dynamic_name`."""
    if not isinstance(schema, dict):
        return []
    if draft is Draft.DRAFT_2019_09:
        return [""] if schema.get("$recursiveAnchor") is True else []
    anchor = schema.get("$dynamicAnchor") if draft is Draft.DRAFT_2020_12 else None
    return [anchor] if isinstance(anchor, str) else []


@dataclass(frozen=True)
class Identifiers:
    """The identifiers and anchors of the schemas in a document.

    Attributes:
        resources: The pointer of each schema with its own URI (a resource), by the URI without a fragment.
        bases: The URI of each resource by its pointer; the document itself, ``""``, is always included.
        anchors: The pointers of schemas with an anchor, by the URI with the anchor as its fragment.
        dynamic: For each resource, by its pointer, the pointers of its dynamic anchors, by their names.
        doubled: The pointers of schemas that share a URI or an anchor, by that; it identifies none of them.
    """

    resources: dict[str, str]
    bases: dict[str, str]
    anchors: dict[str, str]
    dynamic: dict[str, dict[str, str]]
    doubled: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Identifiers:
        """Make the identifiers of a document before its schemas are added."""
        return cls({"": ""}, {"": ""}, {}, {})

    def add(self, schema: Any, pointer: str, draft: Draft) -> str | None:
        """Record a schema's identifier and anchors; return the keyword of one that another schema has, too."""
        if not isinstance(schema, dict) or is_reference_alone(schema, draft):
            return None
        keyword = "id" if draft is Draft.DRAFT_04 else "$id"
        identifier = schema.get(keyword)
        if isinstance(identifier, str):
            uri, _, fragment = identifier.partition("#")
            # Some generators write the pointer of each schema as its "$id": that is not an anchor.
            is_name = fragment and not fragment.startswith("/") and draft <= Draft.DRAFT_07
            base = joined_uri(self.base_of(pointer), uri) if uri else ""
            if uri and not (is_name and base == self.base_of(pointer)):
                is_alone = self._only(self.resources, base, pointer)
                self.bases[pointer] = base
                if not is_alone:
                    return keyword
            if is_name and not self._only(self.anchors, f"{self.base_of(pointer)}#{fragment}", pointer):
                return keyword
        for keyword in ("$anchor", "$dynamicAnchor") if draft > Draft.DRAFT_07 else ():
            anchor = schema.get(keyword)
            name = f"{self.base_of(pointer)}#{anchor}"
            if isinstance(anchor, str) and not self._only(self.anchors, name, pointer):
                return keyword
        for name in _dynamic_anchors(schema, draft):
            self.dynamic.setdefault(self.resource_of(pointer), {})[name] = pointer
        return None

    def _only(self, names: dict[str, str], name: str, pointer: str) -> bool:
        """Record a URI or anchor; return whether no other schema has it."""
        first = names.setdefault(name, pointer)
        if first == pointer:
            return True
        self.doubled.setdefault(name, [first]).append(pointer)
        return False

    def _check_alone(self, root: Any, name: str, reference: str) -> None:
        """Refuse a reference to a URI or anchor that different schemas share."""
        first, *others = self.doubled.get(name) or [""]
        if any(value_at(root, other) != value_at(root, first) for other in others):
            places = f"{first or 'the top'} or to {others[0]}"
            raise UnresolvedError(
                f"{shown_reference(reference)} may lead to {places}, which have the same identifier",
                "Refer to it by its JSON pointer, or give each schema its own identifier.",
            )

    def base_of(self, pointer: str) -> str:
        """Return the base URI of a schema's references: that of its resource."""
        return self.bases[self.resource_of(pointer)]

    def resource_of(self, pointer: str) -> str:
        """Return the pointer of a schema's resource: of itself or the nearest schema around it that has a URI."""
        while pointer not in self.bases:
            pointer = pointer.rpartition("/")[0]
        return pointer

    def knows(self, reference: str, base_pointer: str) -> bool:
        """Return whether a reference points into this document; its target may be missing."""
        base, uri = self.base_of(base_pointer), reference.partition("#")[0]
        try:
            return (joined_uri(base, uri) if uri else base) in self.resources
        except UnresolvedError:  # not a URI: there is no other document to look for
            return True

    def resolve(self, root: Any, reference: str, base_pointer: str) -> tuple[str, Any]:
        """Return the pointer and the value of a reference's target."""
        base = self.base_of(base_pointer)
        uri, _, fragment = reference.partition("#")
        target = joined_uri(base, uri) if uri else base
        if target not in self.resources:
            raise UnresolvedError(f"{shown_reference(reference)} is in another document")
        self._check_alone(root, target, reference)
        fragment, start = unquote(fragment), self.resources[target]
        if not fragment or fragment.startswith("/"):
            pointer = start + fragment
            return pointer, _at(root, pointer, reference, len(start))
        anchor = f"{target}#{fragment}"
        if anchor not in self.anchors:
            names = [name.partition("#")[2] for name in self.anchors if name.startswith(f"{target}#")]
            hint = _near(fragment, names, "#")
            if "/" in fragment:
                hint = f"A pointer begins with a slash: #/{fragment}"
            raise UnresolvedError(f"there is no anchor {shown_reference(fragment)}", hint)
        self._check_alone(root, anchor, reference)
        return self.anchors[anchor], value_at(root, self.anchors[anchor])


def value_at(root: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer.

    >>> value_at({"a/b": [1, {"~": 2}]}, "/a~1b/1/~0")
    2
    """
    return _at(root, pointer, f"#{pointer}", 0)


def _at(root: Any, pointer: str, reference: str, skipped: int) -> Any:
    """Follow a pointer, of which the first ``skipped`` characters are not the reference's own."""
    value, passed = root, ""
    for part in pointer.split("/")[1:]:
        name = unescaped(part)
        child = _child(value, name)
        if child is _NOTHING:
            names = list(value) if isinstance(value, dict) else []
            hint = _near(name, names, f"#{passed[skipped:]}/") or _elsewhere(root, pointer.rpartition("/")[2])
            raise UnresolvedError(f"{shown_reference(reference)} leads nowhere: {_lack(value, name, passed)}", hint)
        value, passed = child, f"{passed}/{part}"
    return value


_NOTHING: Any = object()


def _child(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, _NOTHING)
    if isinstance(value, list) and _INDEX.fullmatch(name) and len(name) < 10 and int(name) < len(value):
        return value[int(name)]
    return _NOTHING


def _lack(value: Any, name: str, passed: str) -> str:
    where = passed or "the document"
    if isinstance(value, dict):
        return f"there is no {shown_reference(name)} in {where}"
    if isinstance(value, list):
        return f"the list {where} has {len(value)} items"
    return f"{where} is neither an object nor a list"


def _near(name: str, names: list[str], prefix: str) -> str:
    """Write a hint with the most similar name, or with all names if they are few."""
    near = get_close_matches(name, names, 1)
    if near:
        return f"Did you mean {prefix}{escaped(near[0])[1:]}?"
    return f"There are: {', '.join(names[:_MOST_NAMES])}." if 0 < len(names) <= _MOST_NAMES and prefix != "#/" else ""


def _elsewhere(root: Any, name: str) -> str:
    """Write a hint with a definition whose name is similar to the end of a pointer."""
    if not isinstance(root, dict):
        return ""
    for keyword in DEFINITIONS:
        names = root.get(keyword)
        near = get_close_matches(name, list(names), 1) if isinstance(names, Mapping) else []
        if near:
            return f"Did you mean #/{keyword}{escaped(near[0])}?"
    return ""


def shown_reference(text: str) -> str:
    r"""Quote a reference or a name for a message, on one line, cut if long.

    >>> print(shown_reference("a\n" * 2), len(shown_reference("a" * 99)))
    "a\na\n" 83
    """
    written = json.dumps(text[:80], ensure_ascii=False)
    return written if len(text) <= 80 else f'{written[:-1]}…"'


# ---- the dynamic scope -----------------------------------------------------------------------------------------------


class DynamicScope:
    """The targets of dynamic references. Equal scopes of one document have equal keys.

    >>> scope = DynamicScope({"": {"node": ""}, "/$defs/a": {"node": "/$defs/a", "leaf": "/$defs/a/not"}})
    >>> scope.at("/properties/b").at("/$defs/a/items").targets
    {'node': '', 'leaf': '/$defs/a/not'}
    """

    __slots__ = ("_anchors", "_inside", "key", "targets")

    def __init__(self, anchors: Mapping[str, Mapping[str, str]], targets: Mapping[str, str] | None = None) -> None:
        self._anchors = anchors
        self._inside: dict[str, DynamicScope] = {}
        self.targets: Mapping[str, str] = targets or {}
        self.key = f" in {sorted(self.targets.items())}" if self.targets else ""

    def at(self, pointer: str) -> DynamicScope:
        """Return the scope of a schema that is referenced in this scope."""
        if not self._anchors:
            return self
        while pointer not in self._anchors:
            pointer = pointer.rpartition("/")[0]
        inside = self._inside.get(pointer)
        if inside is None:
            targets = {**self._anchors[pointer], **self.targets}
            inside = self if targets == self.targets else DynamicScope(self._anchors, targets)
            self._inside[pointer] = inside
        return inside


STATIC = DynamicScope({})
"""The scope of documents where each reference has one target."""


# ---- documents -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceFile:
    """The source of a part of a document.

    Attributes:
        pointer: The pointer of the part.
        name: The file, or the URI; empty if there is none.
        text: The JSON text; empty if there is none.
    """

    pointer: str
    name: str
    text: str = field(default="", repr=False)

    def error(
        self, reason: str, pointer: str, *, hint: str = "", kind: type[SchemaError] = SchemaError, of_name: bool = False
    ) -> SchemaError:
        """Make an error about a part of the file, with line, column and caret if there is a text."""
        where = positions(self.text) if self.text else None
        offset = where.offset(pointer, of_name=of_name) if where else None
        if where is None or offset is None:
            return kind(reason, pointer, hint=hint, origin=self.name)
        position, details = where.lines.position(offset), where.lines.caret(offset)
        return kind(reason, pointer, details=details, hint=hint, origin=self.name, position=position)


@dataclass(frozen=True)
class SchemaDocument:
    """A well-formed schema.

    The value of each keyword is allowed, and each reference has a target.

    Attributes:
        root: The schema: a ``dict`` or ``bool``, numbers as ``int`` or ``Decimal``.
        draft: The draft of the whole document.
        name: The file of the schema; empty if there is none.
        text: The JSON text; empty if there is none.
        notes: Remarks for the user, a line each.
        identifiers: The identifiers and anchors of the schemas in it.
        pointers: The pointers of all schemas in it; each schema is before its subschemas.
        files: The sources of the other documents in it.
        quoted: The documents for quotations, by their names in the schema.
    """

    root: dict[str, Any] | bool
    draft: Draft
    name: str = ""
    text: str = field(default="", repr=False)
    notes: tuple[str, ...] = ()
    identifiers: Identifiers = field(default_factory=Identifiers.empty, repr=False)
    pointers: tuple[str, ...] = field(default=("",), repr=False)
    files: tuple[SourceFile, ...] = ()
    quoted: Mapping[str, Substring] = field(default_factory=dict, repr=False)

    def quoting(self, documents: Mapping[str, Substring]) -> SchemaDocument:
        """Return the same schema with documents for quotations."""
        quoted, named = {**self.quoted, **documents}, set[str]()
        for pointer, schema in self.schemas.items():
            if not isinstance(schema, dict) or SUBSTRING_OF not in schema:
                continue
            name = schema[SUBSTRING_OF]
            if not isinstance(name, str):
                reason = f'"{SUBSTRING_OF}" must be the name of a document, not {type_of(name)}'
            elif name in quoted:
                named.add(name)
                continue
            else:
                reason = f'"{SUBSTRING_OF}" names the document {name[:60]!r}, which is not given'
            hint = ParameterText("Give the document beside the schema, by its name, with documents.", "documents")
            raise self.error(reason, pointer + escaped(SUBSTRING_OF), hint=hint)
        unused = (
            f'The document {name[:60]!r} is not used: no "{SUBSTRING_OF}" names it.'
            for name in quoted
            if name not in named
        )
        return replace(self, quoted=quoted, notes=tuple(dict.fromkeys((*self.notes, *unused))))

    @cached_property
    def schemas(self) -> Mapping[str, Any]:
        """The schemas of the document by their pointers."""
        found: dict[str, Any] = {}
        for pointer in self.pointers:
            around = pointer
            while around and around not in found:
                around = around.rpartition("/")[0]
            found[pointer] = value_at(found.get(around, self.root), pointer[len(around) :])
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without cached properties

    def resolve(self, reference: str, base_pointer: str, keyword: str = "$ref") -> tuple[str, Any]:
        """Return the pointer and the schema of a reference's target."""
        pointer = base_pointer + escaped(keyword)
        try:
            target, schema = self.identifiers.resolve(self.root, reference, base_pointer)
        except UnresolvedError as error:
            raise self.error(f'"{keyword}": {error.reason}', pointer, hint=error.hint) from None
        if not isinstance(schema, dict | bool):
            reason = f'"{keyword}" must lead to a schema: at {target} there is {type_of(schema)}'
            raise self.error(reason, pointer)
        return target, schema

    def referred(self, reference: str, base_pointer: str, keyword: str, scope: DynamicScope) -> tuple[str, Any]:
        """Return the pointer and the schema of a reference's target in a dynamic scope."""
        target, schema = self.resolve(reference, base_pointer, keyword)
        name = dynamic_name(keyword, reference)
        if name is not None and name in scope.targets and name in _dynamic_anchors(schema, self.draft):
            target = scope.targets[name]
            schema = value_at(self.root, target)
        return target, schema

    @cached_property
    def repeated_anchors(self) -> frozenset[str]:
        """The dynamic anchors of more than one resource."""
        counts = Counter(name for anchors in self.identifiers.dynamic.values() for name in anchors)
        return frozenset(name for name, count in counts.items() if count > 1)

    @cached_property
    def scope(self) -> DynamicScope:
        """The dynamic scope of the root."""
        # It is static unless a dynamic reference can have several targets.
        used = {
            dynamic_name(keyword, reference)
            for schema in (self.schemas.values() if self.repeated_anchors else ())
            for keyword, reference in references_of(schema, self.draft)
        }
        moving = self.repeated_anchors & used
        if not moving:
            return STATIC
        found = self.identifiers.dynamic
        return DynamicScope(
            {
                pointer: {name: target for name, target in found.get(pointer, {}).items() if name in moving}
                for pointer in self.identifiers.bases
            }
        )

    def error(
        self, reason: str, pointer: str, *, hint: str = "", kind: type[SchemaError] = SchemaError, of_name: bool = False
    ) -> SchemaError:
        """Make an error about a part of the schema, with file, line, column and caret if it has a text."""
        file = self.file_of(pointer)
        return file.error(reason, pointer[len(file.pointer) :], hint=hint, kind=kind, of_name=of_name)

    def file_of(self, pointer: str) -> SourceFile:
        """Return the source of a part of the document."""
        found = [file for file in self.files if f"{pointer}/".startswith(f"{file.pointer}/")]
        return found[0] if found else SourceFile("", self.name, self.text)

    def shown_place(self, pointer: str) -> str:
        """Return the name of a part for messages: the pointer, and the file if it is not the root's.

        >>> SchemaDocument(True, Draft.DRAFT_07, files=(SourceFile("/$defs/a", "a.json"),)).shown_place("/$defs/a/not")
        '/not of a.json'
        """
        file = self.file_of(pointer)
        inner = pointer[len(file.pointer) :] or "the top"
        return f"{inner} of {file.name}" if file.pointer else inner
