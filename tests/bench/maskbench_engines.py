"""The engines of MaskBench, each with one schema and one walk at a time.

What a schema's text may look like differs: sfgen is measured in the forms that its users choose between, and the others
as MaskBench runs them, with any white space.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from .vocabularies import Cutter


class Refused(Exception):
    """The engine does not compile the schema."""


class MaskEngine(ABC):
    """An engine with one vocabulary loaded."""

    told: ClassVar[str]
    """How it is asked, for the report."""

    @abstractmethod
    def __init__(self, cutter: Cutter) -> None:
        """Import the library and load the vocabulary."""

    @abstractmethod
    def compile(self, schema: Any) -> None:
        """Make what walks need of a schema; ``Refused`` if it cannot be read."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a walk."""

    @abstractmethod
    def mask(self) -> None:
        """Make the mask of the tokens that may come next."""

    @abstractmethod
    def take(self, token: int) -> bool:
        """Take a token if the last mask has it."""

    @abstractmethod
    def may_end(self) -> bool:
        """Return whether the text may end."""


class SfgenAnyOrder(MaskEngine):
    """All that a schema allows: what MaskBench's values need."""

    told = '`JsonSchema(schema, order="any", spacing="any", extra_properties=True)`'
    form: ClassVar[dict[str, Any]] = {"order": "any", "spacing": "any", "extra_properties": True}

    def __init__(self, cutter: Cutter) -> None:
        self._vocabulary = cutter.vocabulary
        self._vocabulary.trie  # noqa: B018 - built once for a vocabulary

    def compile(self, schema: Any) -> None:
        from sfgen import Index, JsonSchema, SfgenError

        try:
            self._index = Index(JsonSchema(schema, **self.form), self._vocabulary)
            self._guide = self._index.guide()
        except SfgenError as error:
            raise Refused(error.message) from None

    def begin(self) -> None:
        self._guide = self._index.guide()

    def mask(self) -> None:
        self._row = self._guide.mask()

    def take(self, token: int) -> bool:
        if not _has(self._row, token):
            return False
        self._guide.advance(token)
        return True

    def may_end(self) -> bool:
        self.mask()
        return any(_has(self._row, token) for token in self._vocabulary.end_token_ids)


class SfgenSpaced(SfgenAnyOrder):
    """The schema's order, any white space."""

    told = '`JsonSchema(schema, spacing="any", extra_properties=True)`'
    form: ClassVar[dict[str, Any]] = {"spacing": "any", "extra_properties": True}


class SfgenDefault(SfgenAnyOrder):
    """What users get who choose nothing."""

    told = "`JsonSchema(schema)`"
    form: ClassVar[dict[str, Any]] = {}


class LlGuidance(MaskEngine):
    told = "`LLMatcher` of the schema as it is; `fill_next_token_bitmask`"

    def __init__(self, cutter: Cutter) -> None:
        import llguidance
        from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

        self._library, self._fill = llguidance, fill_next_token_bitmask
        ends = list(cutter.vocabulary.end_token_ids)
        self._tokenizer = llguidance.LLTokenizer(cutter.json, n_vocab=len(cutter.vocabulary), eos_token=ends)
        self._buffer = allocate_token_bitmask(1, self._tokenizer.vocab_size)
        self._row = self._buffer[0]

    def compile(self, schema: Any) -> None:
        self._first = self._library.LLMatcher(self._tokenizer, json.dumps({"grammars": [{"json_schema": schema}]}))
        if self._first.is_error():
            raise Refused(self._first.get_error())

    def begin(self) -> None:
        self._matcher = self._first.deep_copy()

    def mask(self) -> None:
        self._fill(self._matcher, self._buffer, 0)

    def take(self, token: int) -> bool:
        return _has(self._row, token) and bool(self._matcher.consume_token(token))

    def may_end(self) -> bool:
        return bool(self._matcher.is_accepting())


class XGrammar(MaskEngine):
    told = "`compile_json_schema(schema, any_whitespace=True, strict_mode=False)` on one thread, without its cache"

    def __init__(self, cutter: Cutter) -> None:
        import xgrammar

        self._library, self._ends = xgrammar, list(cutter.vocabulary.end_token_ids)
        tokenizer = xgrammar.TokenizerInfo(
            [token or b"" for token in cutter.vocabulary.tokens],
            xgrammar.VocabType.RAW,
            vocab_size=len(cutter.vocabulary),
            stop_token_ids=self._ends,
        )
        self._compiler = xgrammar.GrammarCompiler(tokenizer, max_threads=1, cache_enabled=False)
        self._tensor = xgrammar.allocate_token_bitmask(1, len(cutter.vocabulary))
        self._row = self._tensor.numpy()[0]

    def compile(self, schema: Any) -> None:
        try:
            text = json.dumps(schema)
            self._compiled = self._compiler.compile_json_schema(text, any_whitespace=True, strict_mode=False)
        except RuntimeError as error:
            raise Refused(re.sub(r"^\[[\d:]+\] \S+ ", "", str(error))) from None  # without the time of day

    def begin(self) -> None:
        self._matcher = self._library.GrammarMatcher(self._compiled)

    def mask(self) -> None:
        self._matcher.fill_next_token_bitmask(self._tensor)

    def take(self, token: int) -> bool:
        return bool(self._matcher.accept_token(token))

    def may_end(self) -> bool:
        self.mask()
        return any(_has(self._row, token) for token in self._ends)


def _has(row: np.ndarray[Any, np.dtype[Any]], token: int) -> bool:
    """Return whether a mask has a token."""
    return bool(int(row[token >> 5]) >> (token & 31) & 1)


OURS = ("any order", "any spacing", "default")
"""The forms of sfgen."""

PEER = "llguidance"
"""The engine that sfgen is held against."""

ENGINES: dict[str, type[MaskEngine]] = {
    "any order": SfgenAnyOrder,
    "any spacing": SfgenSpaced,
    "default": SfgenDefault,
    PEER: LlGuidance,
    "xgrammar": XGrammar,
}
"""By the name that the command line has for each, in the order of the report."""
