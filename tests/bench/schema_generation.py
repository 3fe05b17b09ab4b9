"""Measure whole generations by JSON schemas side by side with other engines, in one run.

Usage: ``python -m tests.bench.schema_generation``. As ``generation`` does it for patterns, with the same models, rounds
and report. A valid text is one that the package jsonschema finds valid, read without names that occur twice.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from .generation import Suite, main
from .generation_engines import (
    GenerationEngine,
    LlGuidanceEngine,
    Outlines,
    PlainSfgen,
    SfgenEngine,
    Task,
    XGrammarEngine,
)
from .schema_cases import FLAG, WHOLE, Schema, array, closed
from .schema_engines import LlGuidanceSchemas, XGrammarSchemas

_DAY: dict[str, Any] = {"type": "string", "format": "date"}
_NAME: dict[str, Any] = {"type": "string", "minLength": 2, "maxLength": 20}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 150}
_MONEY: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 100_000}

SCHEMAS: dict[str, tuple[Schema, int]] = {
    "person": (closed({"name": _NAME, "age": _COUNT, "is_member": FLAG}), 64),
    "booking": (
        closed(
            {
                "booking_number": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{6}$"},
                "departure_airport": {"enum": ["Amsterdam", "Berlin", "London", "Madrid", "Paris", "Rome", "Vienna"]},
                "arrival_airport": {"enum": ["Amsterdam", "Berlin", "London", "Madrid", "Paris", "Rome", "Vienna"]},
                "departure_day": _DAY,
                "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
                "cabin_class": {"enum": ["economy", "premium economy", "business", "first"]},
                "is_confirmed": FLAG,
            }
        ),
        160,
    ),
    "shapes": (
        array(
            {
                "anyOf": [
                    closed({"kind": {"const": "circle"}, "radius": _COUNT}),
                    closed({"kind": {"const": "rectangle"}, "width": _COUNT, "height": _COUNT}),
                    closed({"kind": {"const": "label"}, "text": _NAME}),
                ]
            },
            minItems=3,
            maxItems=5,
        ),
        200,
    ),
    "order": (
        closed(
            {
                "customer": closed({"customer_name": _NAME, "customer_number": _MONEY, "is_company": FLAG}),
                "lines": array(closed({"article": _NAME, "count": _COUNT, "price": _MONEY}), minItems=1, maxItems=3),
                "delivery": closed({"street": _NAME, "city": _NAME, "deliver_until": _DAY}),
                "payment": {"enum": ["card", "transfer", "cash"]},
                "total": WHOLE | {"minimum": 0, "maximum": 999_999},
            }
        ),
        300,
    ),
}
"""By name: the schema and the most tokens. No text goes on for ever, since a random model seldom closes one."""


class SchemaTask(Task):
    """A task whose pattern is a schema, as text."""

    def is_met_by(self, text: str) -> bool:
        try:
            value = json.loads(text, object_pairs_hook=_without_twice)
        except ValueError:
            return False
        return bool(_validator(self.pattern).is_valid(value))


def _without_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


@cache
def _validator(schema: str) -> Any:
    kind: Any = import_module("jsonschema").Draft202012Validator
    return kind(json.loads(schema), format_checker=kind.FORMAT_CHECKER)


WARM_UP = SchemaTask("warm-up", json.dumps(closed({"warm": {"enum": ["up", "down"]}, "up": _COUNT})), 24)


class SfgenBySchema(SfgenEngine):
    interface = "`stream(model, prompt, index=Index(JsonSchema(schema), model.vocabulary), ...)`"
    warm_up = WARM_UP

    def index(self, task: Task) -> Any:
        from sfgen import Index, JsonSchema

        return Index(JsonSchema(json.loads(task.pattern)), self.subject.model.vocabulary)


class PlainSfgenBySchema(SfgenBySchema):
    name = PlainSfgen.name
    interface = PlainSfgen.interface
    fast_forward = PlainSfgen.fast_forward


class OutlinesBySchema(Outlines):
    interface = "`OutlinesCoreBackend(model).get_json_schema_logits_processor(schema)`"
    warm_up = WARM_UP

    def processor(self, task: Task) -> Any:
        return self.backend.get_json_schema_logits_processor(task.pattern)


class XGrammarBySchema(XGrammarEngine):
    warm_up = WARM_UP
    engine_type: ClassVar[type[XGrammarSchemas]] = XGrammarSchemas


class LlGuidanceBySchema(LlGuidanceEngine):
    warm_up = WARM_UP
    engine_type: ClassVar[type[LlGuidanceSchemas]] = LlGuidanceSchemas


ENGINES: dict[str, type[GenerationEngine]] = {
    engine.name: engine
    for engine in (SfgenBySchema, PlainSfgenBySchema, OutlinesBySchema, XGrammarBySchema, LlGuidanceBySchema)
}
"""In the order of the report."""

TASKS = [SchemaTask(name, json.dumps(schema), limit) for name, (schema, limit) in SCHEMAS.items()]

if __name__ == "__main__":
    main(
        Suite(
            "Whole generations by JSON schemas",
            "schema_generation",
            "valid by the package jsonschema with its formats, no name twice",
            TASKS,
            ENGINES,
        )
    )
