"""Whether a schema is met with a right answer or one clear message: what is written is valid, as jsonschema says."""

from __future__ import annotations

import json
import math
import random
import re
import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from tests.oracles.schema_oracle import Oracle
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.schemas.odd import OddSchema

from sfgen import Index, JsonSchema
from sfgen.errors import InternalError, SfgenError
from sfgen.models import load_vocabulary

_LONGEST_MESSAGE = 1000  # characters
_LONGEST_WALK = 200  # tokens more than a text takes at least
_LONGEST_TEXT = 500  # bytes of a text that is walked, or drawn
_MOST_RULES = 500  # of a grammar that texts are drawn from


_UNSAFE_NUMBER = re.compile(r"[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}")
"""A number that a float may not hold."""


_OTHER_SCHEMA = re.compile(
    r"json-schema\.org/draft/[^\"]*/(meta|schema)[^\"]*\", \"\$(vocabulary|dynamicAnchor|recursive)"
)
"""The name of a schema that jsonschema knows: it takes its own for the one of that name."""


@dataclass
class Answer:
    """What sfgen says of a schema.

    Args:
        message: Its error; empty where the schema is read.
        texts: The shortest text, where there is one.
        fault: What is wrong with an error; empty if nothing is.
    """

    message: str = ""
    texts: list[bytes] = field(default_factory=list)
    fault: str = ""


def answer(odd: OddSchema) -> Answer:
    """Read a schema, and write the shortest text by it.

    Raises:
        Exception: What is no error of sfgen: a fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes on unknown words
        try:
            return Answer(texts=[_constraint(odd).shortest()])
        except InternalError as error:
            return Answer(str(error), fault=f"an internal error: {error.message}")
        except SfgenError as error:
            return Answer(str(error), fault=_fault_of(error))


def _constraint(odd: OddSchema) -> JsonSchema:
    if isinstance(odd.source, str):
        return JsonSchema(odd.source, **odd.options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.json"
        path.write_bytes(odd.source)
        return JsonSchema(path, **odd.options)


def _walked(constraint: JsonSchema, rng: random.Random) -> bytes:
    """A text of a walk through the masks."""
    index = Index(constraint, load_vocabulary("tiny"))
    least = index.guide().tokens_left()
    guide = index.guide(least + rng.choice((0, 3, 30, _LONGEST_WALK)))
    text = b""
    while not guide.is_finished:
        tokens = guide.allowed_tokens()
        token = int(tokens[rng.randrange(len(tokens))])
        guide.advance(token)
        text += index.vocabulary.tokens[token] or b""
    return text


def _fault_of(error: SfgenError) -> str:
    message = error.message
    if not message.strip() or "\n" in message:
        return f"not one line: {message!r}"
    if len(message) > _LONGEST_MESSAGE:
        return f"a message of {len(message)} characters: {message[:100]}"
    if re.search(r"object at 0x|Traceback|<class|Error\(", message):
        return f"a message that is Python's: {message[:200]}"
    return ""


def more_texts(odd: OddSchema, seed: int = 0) -> list[bytes]:
    """Random texts of a schema that is read: of a walk through the masks of a small vocabulary, and of the rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        constraint = _constraint(odd)
        grammar = constraint.compiled.grammar
        found = []
        if len(constraint.shortest()) <= _LONGEST_TEXT:
            found.append(_walked(constraint, random.Random(seed)))
    if len(grammar.rules) <= _MOST_RULES:
        texts = RuleTexts(grammar, random.Random(seed), depth=6)
        with suppress(
            AssertionError, RecursionError, IndexError
        ):  # it found no text that differs, or none that is short
            found += [texts.draw() for _ in range(3)]
    return found


def fault_of_texts(odd: OddSchema, texts: list[bytes]) -> str | None:
    """What is wrong with texts that were written by a schema; ``None`` where jsonschema cannot tell."""
    text = odd.source if isinstance(odd.source, str) else odd.source.decode("utf-8-sig")
    try:
        if _UNSAFE_NUMBER.search(text) or _OTHER_SCHEMA.search(text):
            return None
        schema = json.loads(text)
        _check_readable(schema)
        oracle = Oracle(schema)
        for written in texts:
            fault = oracle.fault(written.decode())
            if fault:
                return f"{written[:300]!r}: {fault}"
    except (RecursionError, re.error, OverflowError, MemoryError, jsonschema.exceptions._WrappedReferencingError):
        return None
    return ""


@cache
def _different() -> re.Pattern[str]:
    return re.compile(r"\\[WDSBbpPcu]|\(\?|\\k|\$|\^\^|\[\^")


def _check_readable(schema: Any) -> None:
    """Look whether jsonschema reads a schema as it is meant.

    Raises:
        re.error: A pattern means something else in Python than in ECMA-262, for some texts.
        OverflowError: A number is beyond all floats.
    """
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            named = value.get("patternProperties")
            patterns = [value.get("pattern"), *(named if isinstance(named, dict) else ())]
            for pattern in patterns:
                if isinstance(pattern, str) and _different().search(pattern):
                    raise re.error("read otherwise by Python")
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, float) and not math.isfinite(value):
            raise OverflowError("a number above all floats")
