"""Values of a schema, as texts to walk with; nothing here knows of any engine.

Every keyword that ``schema_cases`` uses is read, and no other. The same schema gives the same values in every run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

from .schema_cases import Schema
from .texts import PROSE, matching

_READ = {
    "$ref", "$defs", "anyOf", "const", "enum", "type", "properties", "required", "additionalProperties", "items",
    "prefixItems", "minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum",
}  # fmt: skip
_FORMATS = {
    "date": "(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
    "date-time": "20[0-9]{2}-0[1-9]-1[0-9]T(0[0-9]|1[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{3})?Z",
    "uuid": "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "ipv4": "(1[0-9]{2}|[1-9]?[0-9])(\\.(2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}",
    "email": "[a-z]{3,9}(\\.[a-z]{3,9})?@[a-z]{3,9}\\.(com|org|de)",
    "uri": "https://[a-z]{3,9}\\.(com|org)(/[a-z]{2,9}){0,3}",
}
_DEEP = 5
"""So many containers in one another, then no more than must be."""


def written(value: Any) -> str:
    """A value as sfgen writes it."""
    return json.dumps(value, ensure_ascii=False)


def texts(schema: Schema, count: int) -> list[str]:
    """Written texts of random values of a schema."""
    rng = random.Random(f"values {json.dumps(schema)}")
    return [written(_Values(schema, rng).value(schema, 0)) for _ in range(count)]


class _Values:
    """Random values of one schema."""

    def __init__(self, root: Schema, rng: random.Random) -> None:
        self.root = root
        self.rng = rng

    def value(self, schema: Schema, depth: int) -> Any:
        if schema is True:
            return self.anything(depth)
        assert isinstance(schema, dict)
        unknown = schema.keys() - _READ
        assert not unknown, f"no values are made by {unknown}"
        if "$ref" in schema:
            return self.value(self.resolved(schema["$ref"]), depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.rng.choice(schema["enum"])
        if "anyOf" in schema:
            branches = schema["anyOf"]
            return self.value(branches[-1] if depth > _DEEP else self.rng.choice(branches), depth)
        kind = schema["type"]
        makers: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "object": self.object, "array": self.array, "string": self.string, "integer": self.integer,
            "number": self.number, "boolean": lambda *_: self.rng.random() < 0.5, "null": lambda *_: None,
        }  # fmt: skip
        return makers[kind if isinstance(kind, str) else self.rng.choice(kind)](schema, depth)

    def resolved(self, reference: str) -> Schema:
        found: Any = self.root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert isinstance(found, dict | bool)
        return found

    def anything(self, depth: int) -> Any:
        kinds = ["string", "string", "integer", "number", "boolean", "null"]
        containers = ["object", "array"]
        kind = self.rng.choice(containers if depth == 0 else kinds if depth > 3 else kinds + containers)
        return self.value({"type": kind, "items": True, "additionalProperties": True}, depth)

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        share = 0.0 if depth > _DEEP else self.rng.random()
        found = {
            name: self.value(child, depth + 1)
            for name, child in schema.get("properties", {}).items()
            if name in required or self.rng.random() < share
        }
        more = schema.get("additionalProperties", False)
        if more is not False and depth <= _DEEP:
            for _ in range(self.rng.randint(0, 4)):
                name = "_".join(self.words(self.rng.randint(1, 2)))
                if name not in schema.get("properties", {}):
                    found[name] = self.value(more, depth + 1)
        return found

    def array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        first = [self.value(child, depth + 1) for child in schema.get("prefixItems", ())]
        items = schema["items"]
        if items is False:
            return first
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", least + 5), least + 40)
        count = least if depth > _DEEP else self.rng.randint(least, most)
        return first + [self.value(items, depth + 1) for _ in range(count)]

    def string(self, schema: dict[str, Any], _: int) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength", 60)
        pattern = schema.get("pattern") or _FORMATS.get(schema.get("format", ""))
        if pattern is not None:
            fitting: list[str] = [text for text in _matching(pattern) if least <= len(text) <= max(most, 60)]
            return self.rng.choice(fitting)
        length = least + int((most - least + 1) * self.rng.random() ** 3)
        start = self.rng.randrange(len(PROSE))
        text: str = (PROSE * (2 + most // len(PROSE)))[start : start + length]
        return text.replace(". ", '."\n', 1) if self.rng.random() < 0.1 else text

    def integer(self, schema: dict[str, Any], _: int) -> int:
        least = schema.get("minimum", -20 if "maximum" in schema else 0)
        most = schema.get("maximum", schema.get("exclusiveMaximum", 100_001) - 1)
        return int(least + (most - least) * self.rng.random() ** 2)

    def number(self, schema: dict[str, Any], depth: int) -> int | float:
        least, most = Decimal(schema.get("minimum", 0)), Decimal(str(schema.get("maximum", 1000)))
        value = round(least + (most - least) * Decimal(str(self.rng.random())), self.rng.randint(1, 3))
        return float(min(most, max(value, Decimal("0.5")))) if self.rng.random() < 0.8 else int(least) + 1

    def words(self, count: int) -> list[str]:
        return [word.strip(".,:;") for word in self.rng.sample(PROSE.split(), count)]


@cache
def _matching(pattern: str) -> list[str]:
    return matching(pattern.removeprefix("^").removesuffix("$"), 50)
