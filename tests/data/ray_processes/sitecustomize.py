"""Spare Ray's processes a second each: jsonschema, which Ray imports, would make 38 parsers for a format of its own."""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
