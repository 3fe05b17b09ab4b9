"""The type that keywords are about, where a schema has no ``type``: ``{"items": …}`` is meant for arrays.

By the letter such a schema allows every other value, too. A branch of what a value may be whose keywords are all about
one type is written with values of that type alone; so all that is written stays valid. Only keywords that speak for
what is written count: none under ``not``, ``if``, ``oneOf``, ``contains`` and ``propertyNames``, nor what a reference
there leads to.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfgen.schema.conjunction import Plain
from sfgen.schema.document import SchemaDocument
from sfgen.schema.formats import FORMATS
from sfgen.schema.keywords import KINDS, SUBSTRING_OF, Draft, subschemas
from sfgen.schema.references import dynamic_name, is_reference_alone, references_of, value_at
from sfgen.schema.strict_json import escaped

_TYPES = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format", SUBSTRING_OF), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "contains"), "array"),
    **dict.fromkeys(("minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "propertyNames"), "object"),
    **dict.fromkeys(("required", "minProperties", "maxProperties"), "object"),
}
"""The type that each keyword is about."""

_NEVER = ("not", "if", "oneOf", "contains", "propertyNames")
"""Keywords under which nothing is inferred."""

_DEFINITIONS = ("$defs", "definitions")


def inferred_type(plain: Plain, hidden: frozenset[str], draft: Draft) -> tuple[str, str] | None:
    """Infer the type of a branch whose keywords are about one type alone.

    Args:
        plain: The branch.
        hidden: The pointers that :func:`hidden_pointers` has found.
        draft: The draft of the document.

    Returns:
        The type, and the pointer of a schema that tells it; ``None`` where a schema says a type or names values, and
        where keywords are about several types, or about none.
    """
    found: dict[str, str] = {}
    for one in plain:
        schema = one.schema
        if "type" in schema or "enum" in schema or "const" in schema:
            if not one.is_made:
                return None
        elif one.pointer not in hidden:
            for keyword in schema:
                kind = _TYPES.get(keyword)
                if kind is None or not (keyword == SUBSTRING_OF or one.says(keyword, draft)):
                    continue
                if keyword != "format" or schema["format"] in FORMATS:
                    found.setdefault(kind, one.pointer)
    return next(iter(found.items())) if len(found) == 1 else None


def hidden_pointers(document: SchemaDocument) -> frozenset[str]:
    """Find the schemas under keywords where nothing is inferred, references followed.

    >>> from sfgen.schema.read import read_schema
    >>> sorted(hidden_pointers(read_schema({"not": {"items": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}, "b": {}}})))
    ['/$defs/a', '/not', '/not/items']
    """
    found: dict[str, None] = {}
    for pointer in document.pointers:
        found.update((inner, None) for keyword, inner in _inside(document, pointer) if keyword in _NEVER)
    for pointer in (waiting := list(found)):
        for _, inner in (*_inside(document, pointer), *_referred(document, pointer)):
            if inner not in found:
                found[inner] = None
                waiting.append(inner)
    return frozenset(found)


def _inside(document: SchemaDocument, pointer: str) -> Iterator[tuple[str, str]]:
    """The keywords of a schema that have schemas in them, and their pointers."""
    schema = value_at(document.root, pointer)
    if isinstance(schema, dict) and not is_reference_alone(schema, document.draft):
        for way, _ in subschemas(schema, KINDS[document.draft]):
            if way[0] not in _DEFINITIONS:
                yield str(way[0]), pointer + "".join(map(escaped, way))


def _referred(document: SchemaDocument, pointer: str) -> Iterator[tuple[str, str]]:
    """The keywords by which a schema refers to others, and the pointers that they may lead to."""
    for keyword, reference in references_of(value_at(document.root, pointer), document.draft):
        yield keyword, document.resolve(reference, pointer, keyword)[0]
        name = dynamic_name(keyword, reference)
        for anchors in document.identifiers.dynamic.values() if name is not None else ():
            if name in anchors:
                yield keyword, anchors[name]
