"""The package jsonschema, imported in a tenth of a second instead of two.

For its formats ``iri`` and ``iri-reference`` it imports a package that makes 38 parsers at once, which hardly any
schema needs: here that is imported when one of the two formats is first checked.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_SLOW = "rfc3987_syntax"


@cache
def jsonschema() -> Any:
    """Import the package jsonschema, without what is slow in it."""
    if "jsonschema" in sys.modules or _SLOW in sys.modules or find_spec(_SLOW) is None:
        return importlib.import_module("jsonschema")
    stand_in: Any = ModuleType(_SLOW)
    stand_in.is_valid_syntax = _is_valid_syntax
    sys.modules[_SLOW] = stand_in
    try:
        return importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]


def _is_valid_syntax(term: str, value: str) -> Any:
    return importlib.import_module(_SLOW).is_valid_syntax(term, value)
