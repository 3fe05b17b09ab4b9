"""The schemas of the benchmarks, of all sizes: what services, tools and configuration files ask for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any] | bool

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
FLAG: dict[str, Any] = {"type": "boolean"}


@dataclass(frozen=True)
class Case:
    """A schema of the benchmark.

    Args:
        name: What the report calls it.
        schema: The schema; ``True`` is the grammar of JSON.
    """

    name: str
    schema: Schema


def closed(properties: dict[str, Any], required: Sequence[str] | None = None) -> dict[str, Any]:
    """An object of these properties and no others; all of them are required where nothing else is said."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def array(items: Schema, **counts: int) -> dict[str, Any]:
    """An array of such items."""
    return {"type": "array", "items": items, **counts}


def _person() -> Schema:
    return closed(
        {
            "name": {"type": "string", "minLength": 1},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "email": {"type": "string", "format": "email"},
        }
    )


def _nested() -> Schema:
    inner = closed({"label": TEXT, "count": WHOLE})
    for name in ("room", "floor", "house", "street"):
        inner = closed({name: inner})
    places = array(closed({"latitude": NUMBER, "longitude": NUMBER}))
    return closed({"address": inner, "places": places})


def _tree() -> Schema:
    node = closed({"value": WHOLE, "children": array({"$ref": "#/$defs/node"})})
    return {"$ref": "#/$defs/node", "$defs": {"node": node}}


def _linked_list() -> Schema:
    link = closed({"text": TEXT, "next": {"anyOf": [{"$ref": "#/$defs/link"}, {"type": "null"}]}})
    return {"$ref": "#/$defs/link", "$defs": {"link": link}}


def _enums() -> Schema:
    syllables = [a + b for a in "bdklmnprst" for b in "aeiou"]
    countries = [f"{first}{second}land" for first in syllables[:25] for second in syllables[25:35]]
    return closed({"color": {"enum": ["red", "green", "blue", "teal"]}, "country": {"enum": countries},
                   "version": {"const": 3}})  # fmt: skip


def _ranges() -> Schema:
    return closed(
        {
            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
            "depth": {"type": "integer", "minimum": -10994, "exclusiveMaximum": 8849},
            "share": {"type": "number", "minimum": 0, "maximum": 100},
            "price": {"type": "number", "exclusiveMinimum": 0, "maximum": 99999.99},
        }
    )


def _lengths() -> Schema:
    return closed(
        {
            "id": {"type": "string", "minLength": 8, "maxLength": 64},
            "summary": {"type": "string", "maxLength": 500},
            "body": {"type": "string", "maxLength": 3000},
        }
    )


def _patterns() -> Schema:
    return closed(
        {
            "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4,8}$"},
            "slug": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
            "version": {"type": "string", "pattern": "^v[0-9]+\\.[0-9]+\\.[0-9]+$"},
            "hash": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
        }
    )


def _formats() -> Schema:
    names = ("date", "date-time", "uuid", "ipv4", "email", "uri")
    return closed({name.replace("-", "_"): {"type": "string", "format": name} for name in names})


def _optional(count: int) -> Schema:
    kinds = (TEXT, WHOLE, FLAG, NUMBER)
    return closed({f"option_{number}": kinds[number % 4] for number in range(count)}, ())


def _api_object() -> Schema:
    """An object of 60 properties, every third of them required."""
    subjects = ("order", "customer", "payment", "delivery", "invoice", "product")
    kinds = {"id": WHOLE, "name": TEXT, "is_open": FLAG, "total": NUMBER, "tags": array(TEXT),
             "state": {"enum": ["new", "paid", "sent", "closed"]}, "created": {"type": "string", "format": "date"},
             "lines": array(closed({"article": TEXT, "count": WHOLE})), "note": {"type": ["string", "null"]},
             "owner": closed({"login": TEXT, "is_admin": FLAG}, ["login"])}  # fmt: skip
    properties = {f"{subject}_{kind}": schema for kind, schema in kinds.items() for subject in subjects}
    return closed(properties, list(properties)[::3])


def _arrays() -> Schema:
    point = {"type": "array", "prefixItems": [TEXT, NUMBER, FLAG], "items": False, "minItems": 3}
    row = array(NUMBER, minItems=3, maxItems=3)
    return closed(
        {"matrix": array(row, minItems=3, maxItems=3), "point": point, "scores": array(WHOLE, minItems=1, maxItems=500)}
    )


def _any_of() -> Schema:
    user, team = closed({"login": TEXT, "email": TEXT}), closed({"title": TEXT, "members": array(TEXT)}, ["title"])
    return array({"anyOf": [user, team, TEXT, WHOLE, {"type": "null"}]})


def _shapes() -> Schema:
    """A union that a constant tells apart."""
    circle = closed({"kind": {"const": "circle"}, "radius": NUMBER})
    box = closed({"kind": {"const": "box"}, "width": NUMBER, "height": NUMBER})
    path = closed({"kind": {"const": "path"}, "points": array(array(NUMBER, minItems=2, maxItems=2))})
    return array({"anyOf": [circle, box, path]})


def _map() -> Schema:
    return {"type": "object", "additionalProperties": closed({"count": WHOLE, "names": array(TEXT)})}


def _open() -> Schema:
    return {"type": "object", "properties": {"name": TEXT, "meta": {"type": "object", "additionalProperties": True}},
            "required": ["name"], "additionalProperties": True}  # fmt: skip


def _tools() -> Schema:
    """One of twelve tools with its arguments."""
    verbs, objects = ("find", "open", "send", "delete"), ("file", "mail", "page")
    calls = [
        closed(
            {
                "name": {"const": f"{verb}_{thing}"},
                "arguments": closed({f"{thing}_name": TEXT, "limit": WHOLE, "force": FLAG}, [f"{thing}_name"]),
            }
        )
        for verb in verbs
        for thing in objects
    ]
    return {"anyOf": calls}


def _openapi() -> Schema:
    """Schemas of schemas, as OpenAPI has them."""
    again = {"$ref": "#/$defs/schema"}
    node = closed(
        {
            "type": {"enum": ["object", "array", "string", "integer", "number", "boolean"]},
            "description": TEXT,
            "properties": {"type": "object", "additionalProperties": again},
            "items": again,
            "required": array(TEXT),
            "allOf": array(again),
        },
        ["type"],
    )
    return {"$ref": "#/$defs/schema", "$defs": {"schema": node}}


def _package() -> Schema:
    """What a file package.json holds."""
    strings = {"type": "object", "additionalProperties": TEXT}
    someone = {"anyOf": [TEXT, closed({"name": TEXT, "email": {"type": "string", "format": "email"}, "url": TEXT},
                                      ["name"])]}  # fmt: skip
    address = closed({"type": {"enum": ["git", "svn"]}, "url": TEXT, "directory": TEXT}, ["type", "url"])
    return closed(
        {
            "name": {"type": "string", "pattern": "^(@[a-z0-9-]+/)?[a-z0-9-][a-z0-9._-]*$", "maxLength": 214},
            "version": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"},
            "description": TEXT,
            "keywords": array(TEXT),
            "license": TEXT,
            "author": someone,
            "contributors": array(someone),
            "main": TEXT,
            "bin": {"anyOf": [TEXT, strings]},
            "files": array(TEXT),
            "repository": {"anyOf": [TEXT, address]},
            "scripts": strings,
            "dependencies": strings,
            "devDependencies": strings,
            "peerDependencies": strings,
            "engines": closed({"node": TEXT, "npm": TEXT}, ()),
            "private": FLAG,
            "type": {"enum": ["commonjs", "module"]},
            "workspaces": array(TEXT),
        },
        ["name", "version"],
    )


CASES: tuple[Case, ...] = (
    Case("person", _person()),
    Case("nested", _nested()),
    Case("tree", _tree()),
    Case("linked list", _linked_list()),
    Case("enums", _enums()),
    Case("ranges", _ranges()),
    Case("lengths", _lengths()),
    Case("patterns", _patterns()),
    Case("formats", _formats()),
    Case("optional 20", _optional(20)),
    Case("optional 100", _optional(100)),
    Case("object of 60", _api_object()),
    Case("arrays", _arrays()),
    Case("any of", _any_of()),
    Case("shapes", _shapes()),
    Case("map", _map()),
    Case("open", _open()),
    Case("tools", _tools()),
    Case("OpenAPI", _openapi()),
    Case("package.json", _package()),
    Case("any JSON", True),
)
"""In the order of the report: twenty schemas, and the grammar of JSON."""

_WARM_UP: list[Schema] = [
    closed({"warm": {"type": "string", "maxLength": 9}, "up": {"type": "array", "items": WHOLE, "maxItems": 40}}, ()),
    closed({"warm": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "up": {"enum": ["one", "two"]}}),
    {"type": "object", "additionalProperties": {"type": "number", "minimum": 3, "maximum": 17}},
    closed(
        {
            "warm": {"type": "number"},
            "up": {"type": "string", "pattern": "^up+[xy]{2}$"},
            "on": {"type": "string", "format": "duration"},
            "off": {"type": "integer", "multipleOf": 12},
        }
    ),
]
WARM_UP = [json.dumps(schema) for schema in _WARM_UP]
"""Schemas that are no item of the benchmark, as text."""
