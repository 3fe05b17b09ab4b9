"""References inside a document: identifiers, anchors and JSON pointers (RFC 6901), and what each reference means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from sfgen.schema.keywords import Draft
from sfgen.schema.strict_json import escaped, unescaped

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to another schema."""

_MOST_NAMES = 6  # of names that a hint lists
_INDEX = re.compile("0|[1-9][0-9]*")


class UnresolvedError(LookupError):
    """A reference that leads nowhere.

    Args:
        reason: Why, in words.
        hint: What was perhaps meant.
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def joined_uri(base: str, reference: str) -> str:
    """Resolve a reference against a base (RFC 3986).

    Args:
        base: A URI, or empty.
        reference: A URI or a relative reference.

    Raises:
        UnresolvedError: It is not a URI.
    """
    try:
        urlsplit(reference)  # which is not looked at where there is no base
        return urljoin(base, reference)
    except ValueError as error:
        raise UnresolvedError(f"{shown_reference(reference)} is not a URI: {error}") from None


def references_of(schema: Any, draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the references of a schema: (keyword, reference).

    Args:
        schema: The schema; it need not be well-formed.
        draft: Dynamic references begin with draft 2019-09.
    """
    if isinstance(schema, dict):
        for keyword in REFERENCES[: 1 if draft <= Draft.DRAFT_07 else None]:
            if isinstance(schema.get(keyword), str):
                yield keyword, schema[keyword]


def is_reference_alone(schema: Any, draft: Draft) -> bool:
    """Tell whether only a schema's reference counts.

    Up to draft 07 the siblings of ``$ref`` are ignored.

    Args:
        schema: The schema; it need not be well-formed.
        draft: The draft by which it is read.
    """
    return draft <= Draft.DRAFT_07 and isinstance(schema, dict) and isinstance(schema.get("$ref"), str)


def dynamic_name(keyword: str, reference: str) -> str | None:
    """Name the dynamic anchor that a reference may find elsewhere.

    ``$recursiveRef`` has no name, which is the empty one here.

    Args:
        keyword: The keyword of the reference.
        reference: Its value.

    Returns:
        ``None`` where the reference always leads to the same schema.

    >>> dynamic_name("$dynamicRef", "a.json#node"), dynamic_name("$recursiveRef", "#"), dynamic_name("$ref", "#node")
    ('node', '', None)
    """
    fragment = unquote(reference.partition("#")[2])
    if keyword == "$recursiveRef":
        return ""
    return fragment if keyword == "$dynamicRef" and fragment and not fragment.startswith("/") else None


def dynamic_anchors(schema: Any, draft: Draft) -> list[str]:
    """Name the dynamic anchors of a schema; see :func:`dynamic_name`.

    Args:
        schema: The schema; it need not be well-formed.
        draft: The draft by which it is read.
    """
    if not isinstance(schema, dict):
        return []
    if draft is Draft.DRAFT_2019_09:
        return [""] if schema.get("$recursiveAnchor") is True else []
    anchor = schema.get("$dynamicAnchor") if draft is Draft.DRAFT_2020_12 else None
    return [anchor] if isinstance(anchor, str) else []


@dataclass(frozen=True)
class Identifiers:
    """What the schemas of a document call themselves.

    Attributes:
        resources: The pointer of each schema that has a URI of its own, by the URI without a fragment.
        bases: The URI of each such schema by its pointer; the document itself, which is ``""``, is always there.
        anchors: The pointers of schemas with an anchor, by the URI with the anchor as its fragment.
        dynamic: For each resource, by its pointer, the pointers of the schemas in it that dynamic references find, by
            their names.
    """

    resources: dict[str, str]
    bases: dict[str, str]
    anchors: dict[str, str]
    dynamic: dict[str, dict[str, str]]

    @classmethod
    def empty(cls) -> Identifiers:
        """Make the identifiers of a document that is not yet read."""
        return cls({"": ""}, {"": ""}, {}, {})

    def add(self, schema: Any, pointer: str, draft: Draft) -> str | None:
        """Record a schema's identifier and anchors.

        Args:
            schema: The schema; it need not be well-formed.
            pointer: Where it stands.
            draft: The draft by which it is read.

        Returns:
            The keyword of a name that another schema has already; else ``None``.

        Raises:
            UnresolvedError: A name is not a URI.
        """
        if not isinstance(schema, dict) or is_reference_alone(schema, draft):
            return None
        keyword = "id" if draft is Draft.DRAFT_04 else "$id"
        identifier = schema.get(keyword)
        if isinstance(identifier, str):
            uri, _, fragment = identifier.partition("#")
            if uri:
                base = joined_uri(self.base_of(pointer), uri)
                if self.resources.setdefault(base, pointer) != pointer:
                    return keyword
                self.bases[pointer] = base
            # Some programs write the pointer of each schema as its "$id": that is no name.
            is_name = fragment and not fragment.startswith("/") and draft <= Draft.DRAFT_07
            if is_name and not self._name(pointer, fragment):
                return keyword
        for keyword in ("$anchor", "$dynamicAnchor") if draft > Draft.DRAFT_07 else ():
            anchor = schema.get(keyword)
            if isinstance(anchor, str) and not self._name(pointer, anchor):
                return keyword
        for name in dynamic_anchors(schema, draft):
            self.dynamic.setdefault(self.resource_of(pointer), {})[name] = pointer
        return None

    def _name(self, pointer: str, anchor: str) -> bool:
        return self.anchors.setdefault(f"{self.base_of(pointer)}#{anchor}", pointer) == pointer

    def base_of(self, pointer: str) -> str:
        """Return the URI against which references in a schema are resolved.

        It is that of the nearest schema around it that has one.
        """
        return self.bases[self.resource_of(pointer)]

    def resource_of(self, pointer: str) -> str:
        """Return the pointer of the nearest enclosing schema with a URI.

        It may be the schema itself.
        """
        while pointer not in self.bases:
            pointer = pointer.rpartition("/")[0]
        return pointer

    def knows(self, reference: str, base_pointer: str) -> bool:
        """Tell whether a reference points into this document.

        There may be nothing at that position.

        Args:
            reference: The value of ``$ref``.
            base_pointer: The pointer of the schema that has it.
        """
        base, uri = self.base_of(base_pointer), reference.partition("#")[0]
        try:
            return (joined_uri(base, uri) if uri else base) in self.resources
        except UnresolvedError:  # it leads nowhere at all
            return True

    def resolve(self, root: Any, reference: str, base_pointer: str) -> tuple[str, Any]:
        """Find what a reference leads to.

        Args:
            root: The document.
            reference: The value of ``$ref``.
            base_pointer: The pointer of the schema that has it.

        Returns:
            The pointer, and what is there.

        Raises:
            UnresolvedError: It leads nowhere, or out of the document.
        """
        base = self.base_of(base_pointer)
        uri, _, fragment = reference.partition("#")
        target = joined_uri(base, uri) if uri else base
        if target not in self.resources:
            raise UnresolvedError(f"{shown_reference(reference)} is in another document")
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
        return self.anchors[anchor], value_at(root, self.anchors[anchor])


def value_at(root: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer.

    Args:
        root: The whole value.
        pointer: The path, from the root on.

    Raises:
        UnresolvedError: There is nothing.

    >>> value_at({"a/b": [1, {"~": 2}]}, "/a~1b/1/~0")
    2
    """
    return _at(root, pointer, f"#{pointer}", 0)


def _at(root: Any, pointer: str, reference: str, skipped: int) -> Any:
    """What a pointer leads to; ``skipped``: how much of it is not the reference's own."""
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
    """A hint with the names most like one; with all, if they are few and none is like it."""
    near = get_close_matches(name, names, 1)
    if near:
        return f"Did you mean {prefix}{escaped(near[0])[1:]}?"
    return f"There are: {', '.join(names[:_MOST_NAMES])}." if 0 < len(names) <= _MOST_NAMES and prefix != "#/" else ""


def _elsewhere(root: Any, name: str) -> str:
    """A hint at a definition with the name that a pointer ends in, or a name much like it."""
    if not isinstance(root, dict):
        return ""
    for keyword in ("$defs", "definitions"):
        names = root.get(keyword)
        near = get_close_matches(name, list(names), 1) if isinstance(names, Mapping) else []
        if near:
            return f"Did you mean #/{keyword}{escaped(near[0])}?"
    return ""


def shown_reference(text: str) -> str:
    r"""Quote a reference or a name for a message, on one line.

    It is cut where it is long.

    >>> print(shown_reference("a\n" * 2), len(shown_reference("a" * 99)))
    "a\na\n" 83
    """
    written = json.dumps(text[:80], ensure_ascii=False)
    return written if len(text) <= 80 else f'{written[:-1]}…"'
