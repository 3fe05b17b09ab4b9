"""What can be wrong with a trace."""

from __future__ import annotations

from sfgen.errors import SfgenError


class TraceError(SfgenError):
    """A trace that is damaged or foreign, or that cannot be read or written."""
