"""The package jsonschema, imported in a tenth of a second instead of two.

For its formats ``iri`` and ``iri-reference`` it imports a package that makes 38 parsers at once. Its grammar is
regular: here a pattern decides in its place, and the package is imported when a text has a bracket, behind which its
grammar takes fewer addresses than the RFC.
"""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from sfgen.schema.format_patterns import IRI_OF_ANY_PORT, IRI_REFERENCE_OF_ANY_PORT

_SLOW = "rfc3987_syntax"
_PATTERNS = {"iri": IRI_OF_ANY_PORT, "iri_reference": IRI_REFERENCE_OF_ANY_PORT}


@cache
def jsonschema() -> Any:
    """Import the package jsonschema, without what is slow in it."""
    if "jsonschema" in sys.modules or _SLOW in sys.modules or find_spec(_SLOW) is None:
        return importlib.import_module("jsonschema")
    stand_in: Any = ModuleType(_SLOW)
    stand_in.is_valid_syntax = is_valid_syntax
    sys.modules[_SLOW] = stand_in
    try:
        return importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]


def is_valid_syntax(term: str, value: str) -> Any:
    """Whether a text is of a rule of RFC 3987."""
    if term in _PATTERNS and "[" not in value:
        return re.fullmatch(_PATTERNS[term], value) is not None
    return importlib.import_module(_SLOW).is_valid_syntax(term, value)
