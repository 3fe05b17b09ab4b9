"""Files that a caller has opened."""

from __future__ import annotations

import io
from typing import BinaryIO

from sfgen import arguments
from sfgen.trace.errors import TraceError


def binary_file(name: str, value: BinaryIO, wanted: str, *methods: str) -> BinaryIO:
    """Check that a file is one of bytes, and open."""
    hint = "Open a file in binary mode: open('run.jsonl', 'rb') to read, 'wb' to write."
    if isinstance(value, io.TextIOBase):
        raise arguments.refusal(name, wanted, value, hint=hint)
    arguments.given(name, value, wanted, *methods, hint=hint)
    if getattr(value, "closed", False):
        raise TraceError(f"{name} is closed: a trace is written to, or read from, a file that is open")
    return value
