"""Whether a text is valid by a schema, as the package jsonschema says; nothing here is sfgen's but the quick import.

Numbers are read exactly, in the schema too: with floats 19.99 would be no multiple of 0.01. A name that occurs twice in
an object, NaN and infinities are faults of the text.
"""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from typing import Any

from sfgen.schema.scalars.formats import jsonschema as imported_jsonschema

jsonschema = imported_jsonschema()

_DIGITS = 10_000
"""Of a quotient: jsonschema divides, and a division of decimals needs all of its digits."""


class Oracle:
    """The judge of one schema, with all formats that jsonschema's extras bring.

    Args:
        schema: The schema; its draft is the one that it names, else 2020-12.
    """

    def __init__(self, schema: Any) -> None:
        exact = _read(json.dumps(schema))
        kind = jsonschema.validators.validator_for(exact, default=jsonschema.Draft202012Validator)
        self._validator = kind(exact, format_checker=kind.FORMAT_CHECKER)

    def fault(self, text: str) -> str:
        """Why a text is not valid; empty where it is."""
        try:
            value = _read(text)
        except ValueError as error:
            return f"not JSON: {error}"
        with localcontext(prec=_DIGITS):
            fault = jsonschema.exceptions.best_match(self._validator.iter_errors(value))
        return "" if fault is None else f"{fault.json_path}: {fault.message}"[:300]

    def is_valid(self, value: Any) -> bool:
        """Whether a value is valid."""
        return not self.fault(json.dumps(value))


def _read(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_object)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name occurs twice among {[name for name, _ in pairs]}")
    return found
