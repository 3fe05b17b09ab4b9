"""Many texts read from one position lead where each of them leads alone."""

from __future__ import annotations

import random

import pytest

from sfgen.grammar.read import REFUSED, ReadByBytes, Reader
from sfgen.schema.json_schema import JsonSchema

SCHEMAS = (
    '{"type": "array", "items": {"enum": ["a", "ab", "b"]}, "uniqueItems": true}',
    "name, tags str[], items[] {n int}",
    '{"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "additionalProperties": {"$ref": "#/$defs/t"}}}}',
)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_text_leads_where_it_leads_alone(schema: str) -> None:
    source = JsonSchema(schema)
    reader, rng, shortest = Reader(source.network), random.Random(0), source.shortest()
    for cut in (0, len(shortest) // 2, len(shortest)):
        position = reader.read(reader.start, shortest[:cut])
        assert position is not None
        read, refused = ReadByBytes(reader, position), 0
        for _ in range(300):
            data = bytes(rng.choice(b'{}[]":, ab0') for _ in range(rng.randint(0, 5)))
            data = data if rng.random() < 0.5 else shortest[cut:][: rng.randint(0, 30)] + data
            number, alone = read.after(data), reader.read(position, data)
            refused += alone is None
            assert (None if number == REFUSED else read.positions[number]) == alone
        assert 0 < refused < 300 or cut == len(shortest)
