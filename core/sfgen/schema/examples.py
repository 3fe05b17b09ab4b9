"""Texts that a schema writes, to show what it means."""

from __future__ import annotations

import itertools

from sfgen.grammar.examples import every_text
from sfgen.schema.json_schema import JsonSchema


def examples(schema: JsonSchema, count: int) -> list[str]:
    """List different texts that a schema writes.

    The shortest comes first, then for each member and branch a shortest text that has it in it. A higher ``count``
    gives the same texts and others after them. Texts in which something is repeated that must differ are left out.

    Args:
        schema: The schema.
        count: The most texts.

    >>> schema = JsonSchema({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "null"}}})
    >>> examples(schema, 4)
    ['{}', '{"a": true}', '{"b": null}', '{"a": false}']
    """
    texts = itertools.islice(every_text(schema.compiled.grammar), count * 4 + 100)
    return list(dict.fromkeys([schema.shortest().decode(), *filter(schema.accepts, texts)]))[:count]
