"""The undocumented parts of Python's ``re``: parser, compiler and constants.

Only this file names them. They exist from Python 3.11 on, and may change with any version, so pyproject.toml allows
only the versions of Python that the tests have run on.
"""

from __future__ import annotations

from re import _compiler as sre_compiler  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["sre", "sre_compiler", "sre_parser"]


def skip_escape(source: Any, begun: str) -> None:
    """Read the rest of an escape outside of a class, as ``\\x41``."""
    sre_parser._escape(source, begun, sre_parser.State())
