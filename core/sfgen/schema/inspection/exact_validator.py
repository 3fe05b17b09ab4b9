"""The validators of the package jsonschema, corrected: exact numbers, equality without sorting, separate patterns.

The package is imported with the first validator.

If a dynamic reference can have several targets, the schema is rewritten with plain references: each resource is copied
once for each dynamic scope in which it is used. The package itself loses the scope of a resource inside another one,
and of a root without an ``$id``; and it treats a plain reference to a dynamic anchor as a dynamic one.

Patterns are searched with ``re`` where it can compile them, as the package does. Syntax that only ECMA-262 has
(``\\p{L}``, ``(?<name>...)``, ``[^]``, ``\\u{1F600}``, lookbehind of any length) is rewritten for ``regex``.
"""

from __future__ import annotations

import copy
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache, partial
from typing import Any
from urllib.parse import quote

import regex
from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.schema.reading.document import DynamicScope, SchemaDocument, references_of, value_at
from sfgen.schema.reading.keywords import Draft
from sfgen.schema.reading.strict_json import escaped, from_python, is_equal, key, unescaped
from sfgen.schema.scalars.formats import jsonschema
from sfgen.schema.scalars.strings import re_pattern
from sfgen.substring.document import SUBSTRING_OF
from sfgen.substring.substring import Substring

CLASSES = {
    Draft.DRAFT_04: "Draft4Validator",
    Draft.DRAFT_06: "Draft6Validator",
    Draft.DRAFT_07: "Draft7Validator",
    Draft.DRAFT_2019_09: "Draft201909Validator",
    Draft.DRAFT_2020_12: "Draft202012Validator",
}

_FALSE_IS_EXPLAINED = ("additionalProperties", "additionalItems", "items", "unevaluatedItems", "unevaluatedProperties")
"""Keywords whose value ``false`` has an error message of its own."""

_DYNAMIC = frozenset(("$dynamicRef", "$recursiveRef"))
"""Keywords whose target may depend on the dynamic scope."""

_OFTEN = 16
"""How often one reference is checked for one invalid value; later checks repeat the first error."""

MAX_COPIES = 1_000
"""The most copies of resources, one for each resource and scope."""

_NAMES = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")
_KEPT = 512  # patterns

_PART = re.compile(
    r"""(?P<group>\(\?<(?P<name>[^\W\d][\w$]*)>)
    | \\k<(?P<back>[^\W\d][\w$]*)>
    | \\u\{(?P<code>[0-9a-fA-F]{1,6})\}
    | \\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})
    | \\c(?P<control>[A-Za-z])
    | (?P<escape>\\.)
    | (?P<anything>\[\^\])
    | (?P<nothing>\[\])
    | (?P<open>\[\^?)
    | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)

_LETTERS = "bBdDwWsSnrtfvpPxu0123456789"
"""The letters and digits that have a meaning of their own after a backslash."""


@dataclass
class _Seen:
    """The result of checking a value by a reference. Both are kept, so that their ids stay in use.

    Attributes:
        times: The number of checks that found errors.
        error: The first error; ``None``: the value is valid.
    """

    schema: Any
    value: Any
    times: int = 0
    error: Any = None


class _Run(threading.local):
    """The results of references during the check of one document."""

    def __init__(self) -> None:
        self.seen: dict[tuple[int, int], _Seen] = {}


_run = _Run()


@contextmanager
def one_run() -> Iterator[None]:
    """Cache the results of references during the check of one document."""
    before, _run.seen = _run.seen, {}
    try:
        yield
    finally:
        _run.seen = before


def _once(check: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Cache a check of references: nested schemas may reach one value in 2 ** 40 ways."""

    def reference(validator: Any, uri: str, value: Any, schema: Any) -> Iterator[Any]:
        seen = _run.seen.get((id(schema), id(value))) or _Seen(schema, value)
        if seen.times >= _OFTEN:
            yield _copied(seen.error)
        elif seen.times or (id(schema), id(value)) not in _run.seen:
            first = None
            for error in check(validator, uri, value, schema):
                first = first or _copied(error)
                yield error
            seen.error, seen.times = first, seen.times + (first is not None)
            _run.seen[id(schema), id(value)] = seen

    return reference


def _copied(error: Any) -> Any:
    """Copy an error with the errors in its context, and set their parents."""
    made, inner = type(error).create_from(error), [_copied(each) for each in error.context]
    for around, context in ((error, error.context), (made, inner)):  # create_from has changed the parents of the first
        for each in context:
            each.parent = around
    made.context = inner
    return made


def validator_of(document: SchemaDocument) -> Any:
    """Make a validator of jsonschema for a schema's draft that checks formats and fetches nothing."""
    import referencing

    _check_patterns(document)
    schemas = (value_at(document.root, pointer) for pointer in document.pointers)
    is_dynamic = any(isinstance(each, dict) and not _DYNAMIC.isdisjoint(each) for each in schemas)
    validator = _class_of(document.draft, is_dynamic)
    if document.quoted:
        validator = jsonschema().validators.extend(validator, {SUBSTRING_OF: partial(_substring_of, document.quoted)})
    return validator(
        _for_jsonschema(document), format_checker=validator.FORMAT_CHECKER, registry=referencing.Registry()
    )


@cache
def _class_of(draft: Draft, is_dynamic: bool) -> Any:
    base = getattr(jsonschema(), CLASSES[draft])
    keywords = {
        "multipleOf": _multiple_of,
        "enum": _enum,
        "const": _const,
        "uniqueItems": _unique_items,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "propertyNames": _property_names,
        "format": _format,
    }
    if not is_dynamic:
        keywords["$ref"] = _once(base.VALIDATORS["$ref"])
    known = {keyword: check for keyword, check in keywords.items() if keyword in base.VALIDATORS}
    checker = base.TYPE_CHECKER
    if draft is not Draft.DRAFT_04:  # where 1.0 is not an integer
        checker = checker.redefine("integer", _is_integer)
    return jsonschema().validators.extend(base, known, type_checker=checker)


def _for_jsonschema(document: SchemaDocument) -> Any:
    """Rewrite a schema so that jsonschema keeps our validator and reports the paths of ``false``."""
    # At a ``$schema`` inside the document it would switch to its own validator, and its error of a subschema ``false``
    # lacks the path of the value.
    root = from_python(document.root)
    pointers = set(document.pointers)
    for pointer in document.pointers:
        schema = value_at(root, pointer)
        if isinstance(schema, dict):
            schema.pop("$schema", None)
        outer, _, keyword = pointer.rpartition("/")
        if schema is False and pointer and not (outer in pointers and keyword in _FALSE_IS_EXPLAINED):
            around = value_at(root, outer)
            around[int(keyword) if isinstance(around, list) else unescaped(keyword)] = {"not": {}}
    return _Unrolling(document, root).schema() if document.repeated_anchors else root


def _check_patterns(document: SchemaDocument) -> None:
    for pointer in document.pointers:
        schema = value_at(document.root, pointer)
        if not isinstance(schema, dict):
            continue
        named = schema.get("patternProperties")
        patterns = {name: f"{pointer}/patternProperties{escaped(name)}" for name in named} if named else {}
        if isinstance(schema.get("pattern"), str):
            patterns[schema["pattern"]] = f"{pointer}/pattern"
        for pattern, place in patterns.items():
            try:
                search_of(pattern)
            except PatternUnreadableError as error:
                keyword = "pattern" if place.endswith("/pattern") else "patternProperties"
                raise document.error(
                    f'"{keyword}" is not a pattern: {error}', place, of_name=keyword != "pattern"
                ) from None


def _is_integer(checker: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return is_multiple(value, 1)
    return isinstance(value, int) and not isinstance(value, bool)


def is_multiple(value: int | Decimal, divisor: int | Decimal) -> bool:
    """Return whether a number is a whole multiple of another, exactly.

    >>> is_multiple(Decimal("19.99"), Decimal("0.01")), is_multiple(Decimal("1e9999"), 3)
    (True, False)
    """
    digits, shift = _scaled(value)
    other, other_shift = _scaled(divisor)
    shift -= other_shift
    if digits == 0:
        return True
    if shift >= 0:
        return digits * pow(10, shift, abs(other)) % other == 0
    # A number with fewer digits than a power of ten has zeros is not a multiple of it.
    return -shift <= len(str(abs(digits))) and digits % (other * 10**-shift) == 0


def _scaled(value: int | Decimal) -> tuple[int, int]:
    """Return a number as an integer and a power of ten."""
    if isinstance(value, int):
        return value, 0
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits)))
    return (-number if sign else number), int(exponent)


# ---- keywords: (validator, value of the keyword, instance, schema) -> errors ----------------------------------------


def _multiple_of(validator: Any, divisor: Any, value: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "number") and not is_multiple(value, divisor):
        yield _error()


def _enum(validator: Any, alternatives: list[Any], value: Any, schema: Any) -> Iterator[Any]:
    if not any(is_equal(value, each) for each in alternatives):
        yield _error()


def _const(validator: Any, constant: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not is_equal(value, constant):
        yield _error()


def _unique_items(validator: Any, must: bool, value: Any, schema: Any) -> Iterator[Any]:
    if must and isinstance(value, list) and len(set(map(key, value))) < len(value):
        yield _error()


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, str) and not search_of(pattern)(value):
        yield _error()


def _substring_of(
    documents: Mapping[str, Substring], validator: Any, name: str, value: Any, schema: Any
) -> Iterator[Any]:
    if isinstance(value, str) and not documents[name].accepts(value):
        yield _error()


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    for pattern, inner in patterns.items() if isinstance(value, dict) else ():
        search = search_of(pattern)
        for name, item in value.items():
            if search(name):
                yield from validator.descend(item, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    declared = schema.get("properties", ())
    searches = [search_of(pattern) for pattern in schema.get("patternProperties", ())]
    for name, item in value.items():
        if name not in declared and not any(search(name) for search in searches):
            if inner is False:
                yield _error(path=(name,))
            else:
                yield from validator.descend(item, inner, path=name)


def _property_names(validator: Any, inner: Any, value: Any, schema: Any) -> Iterator[Any]:
    for name in value if isinstance(value, dict) else ():
        errors = list(validator.descend(name, inner))
        if errors:
            yield _error(path=(name,), context=errors)


def _format(validator: Any, name: str, value: Any, schema: Any) -> Iterator[Any]:
    try:
        validator.format_checker.check(value, name)
    except Exception:  # a FormatError, or any error of the packages that parse formats
        yield _error()


def _error(**more: Any) -> Any:
    """Make an error without a message: :mod:`.validity` writes its own."""
    from jsonschema.exceptions import ValidationError

    return ValidationError("", **more)


# ---- dynamic references ----------------------------------------------------------------------------------------------


class _Unrolling:
    """Rewrites a schema without dynamic references: it copies each resource once for each of its dynamic scopes."""

    def __init__(self, document: SchemaDocument, root: Any) -> None:
        self._document = document
        self._root = root
        self._uris: dict[tuple[str, str], str] = {}
        self._waiting: list[tuple[str, DynamicScope, str]] = []
        self._schemas: dict[str, list[str]] = {}
        for pointer in document.pointers:
            self._schemas.setdefault(document.identifiers.resource_of(pointer), []).append(pointer)

    def schema(self) -> Any:
        """Return the rewritten schema."""
        start = self._uri("", self._document.scope)
        copies: dict[str, Any] = {}
        while self._waiting:
            resource, scope, uri = self._waiting.pop()
            copies[uri] = {"$id": uri, **self._copied(resource, scope)}
        return {"$ref": start, "$defs": copies}

    def _uri(self, resource: str, scope: DynamicScope) -> str:
        """Return the URI of a resource's copy for a scope, and schedule new copies."""
        scope = scope.at(resource)
        key = resource, scope.key
        if key not in self._uris:
            if len(self._uris) == MAX_COPIES:
                raise SchemaTooLarge(
                    f"dynamic references make more than {MAX_COPIES:,} schemas", resource, hint="Use $ref instead."
                )
            self._uris[key] = f"urn:sfgen:{len(self._uris)}"
            self._waiting.append((resource, scope, self._uris[key]))
        return self._uris[key]

    def _copied(self, resource: str, scope: DynamicScope) -> dict[str, Any]:
        copied: dict[str, Any] = copy.deepcopy(value_at(self._root, resource))
        for pointer in self._schemas[resource]:
            schema = value_at(copied, pointer[len(resource) :])
            if isinstance(schema, dict):
                self._refer(schema, pointer, scope)
        for inner in self._document.identifiers.bases:
            outer, _, name = inner.rpartition("/")
            if inner and inner != resource and self._document.identifiers.resource_of(outer) == resource:
                around = value_at(copied, outer[len(resource) :])
                if outer.endswith(("/$defs", "/definitions")):
                    del around[unescaped(name)]
                else:
                    key = int(name) if isinstance(around, list) else unescaped(name)
                    around[key] = {"$ref": self._uri(inner, scope)}
        return copied

    def _refer(self, schema: dict[str, Any], pointer: str, scope: DynamicScope) -> None:
        """Point the references of a schema to the copies for its scope; remove its identifiers."""
        for keyword, reference in references_of(schema, self._document.draft):
            try:
                target, _ = self._document.referred(reference, pointer, keyword, scope)
            except SchemaError:  # only an unreachable schema can have a broken reference
                continue
            resource = self._document.identifiers.resource_of(target)
            uri = f"{self._uri(resource, scope)}#{quote(target[len(resource) :])}"
            if keyword == "$ref":
                schema[keyword] = uri
            else:
                del schema[keyword]
                schema["allOf"] = [*schema.get("allOf", []), {"$ref": uri}]
        for name in _NAMES:
            schema.pop(name, None)


# ---- patterns of ECMA-262 --------------------------------------------------------------------------------------------


class PatternUnreadableError(ValueError):
    """Raised where neither ``re`` nor ``regex`` can read a pattern."""


@lru_cache(maxsize=_KEPT)
def search_of(pattern: str) -> Callable[[str], object]:
    r"""Compile a pattern to a function that searches a text for it.

    The function returns ``None`` if the pattern does not match anywhere.

    >>> bool(search_of(r"^\p{Lu}(?<rest>[^]*)$")("Ångström\n!")), search_of("^a$")("b")
    (True, None)
    """
    read_by_re = re_pattern(pattern)
    if read_by_re is not None:
        return read_by_re.search
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about nested sets, which neither ECMA-262 nor `re` has
        try:
            found: Callable[[str], object] = regex.compile(_for_regex(pattern), regex.V0).search
        except (regex.error, ValueError, OverflowError, RecursionError) as error:
            raise PatternUnreadableError(getattr(error, "msg", None) or str(error)) from None
    return found


def _for_regex(pattern: str) -> str:
    """Rewrite a pattern for ``regex``."""
    pieces: list[str] = []
    names: dict[str, str] = {}
    in_class = False
    position = 0
    while position < len(pattern):
        part = _PART.match(pattern, position)
        assert part is not None
        if in_class and part.lastgroup in ("open", "anything", "nothing", "group"):
            pieces.append("\\" + pattern[position])  # a bracket or a parenthesis for itself
            position += 1
            continue
        position = part.end()
        pieces.append(_piece(part, names))
        in_class = part["open"] is not None or (in_class and part["other"] != "]")
    return "".join(pieces)


def _piece(part: re.Match[str], names: dict[str, str]) -> str:
    """Write one part of a pattern for ``regex``, which allows fewer names of groups."""
    if part["group"]:
        return f"(?P<{names.setdefault(part['name'], f'group{len(names)}')}>"
    if part["back"]:
        return f"(?P={names.get(part['back'], 'missing')})"
    if part["code"]:
        return _character(int(part["code"], 16))
    if part["high"]:
        return _character(0x10000 + ((int(part["high"], 16) & 0x3FF) << 10) + (int(part["low"], 16) & 0x3FF))
    if part["control"]:
        return _character(ord(part["control"]) % 32)
    if part["escape"]:
        letter = part["escape"][1]
        return regex.escape(letter) if letter.isalpha() and letter not in _LETTERS else part["escape"]
    if part["anything"]:
        return r"[\s\S]"
    return "(?!)" if part["nothing"] else part[0]


def _character(code: int) -> str:
    return f"\\U{code:08x}"
