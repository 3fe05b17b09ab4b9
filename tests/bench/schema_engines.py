"""The engines side by side on JSON schemas, each through the fastest Python interface that it documents.

All are told to write what ``json.dumps`` writes, ``", "`` between items and ``": "`` behind names, with the properties
in the schema's order. For the grammar of JSON each takes what it has for any JSON. A schema is handed over as its text.
"""

from __future__ import annotations

import json
from typing import Any

from .engines import Engine, LlGuidance, Sfgen, XGrammar

ANY = "true"
"""The schema of the grammar of JSON, as text."""


class SfgenSchemas(Sfgen):
    interface = "`Index(JsonSchema(schema), vocabulary)`; `Guide.mask`, a shared read-only mask"

    def index(self, pattern: str) -> Any:
        from sfgen import Index, JsonSchema

        constraint = JsonSchema(json.loads(pattern))
        assert constraint.network  # made when it is first asked for: refusals come now
        return Index(constraint, self.vocabulary)


class LlGuidanceSchemas(LlGuidance):
    interface = (
        "`LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(schema, overrides=…))`, the schema `{}` for the "
        "grammar of JSON; `unsafe_compute_mask_ptr` on a numpy buffer"
    )

    is_lenient = False
    """Whether it takes ``oneOf`` for ``anyOf``, and leaves out what it does not know."""

    def grammar(self, pattern: str) -> str:
        layout = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        leave = {"coerce_one_of": True, "lenient": True} if self.is_lenient else {}
        schema = "{}" if pattern == ANY else pattern
        grammar: str = self.library.LLMatcher.grammar_from_json_schema(schema, overrides=layout | leave)
        return grammar


class XGrammarSchemas(XGrammar):
    interface = (
        "`GrammarCompiler(cache_enabled=False).compile_json_schema(schema, any_whitespace=False)`, on up to 8 threads, "
        "`compile_builtin_json_grammar` for the grammar of JSON; `GrammarMatcher.fill_next_token_bitmask`"
    )

    def compiled(self, compiler: Any, pattern: str) -> Any:
        if pattern == ANY:
            return compiler.compile_builtin_json_grammar()
        return compiler.compile_json_schema(pattern, any_whitespace=False, separators=(", ", ": "))


ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (SfgenSchemas, LlGuidanceSchemas, XGrammarSchemas)
}
"""In the order of the report."""
