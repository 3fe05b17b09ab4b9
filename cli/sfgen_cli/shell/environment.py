"""What comes from the environment, in errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sfgen.errors import SfgenError


@contextlib.contextmanager
def from_environment(variable: str) -> Iterator[None]:
    """Let an error name the environment variable that it is about."""
    try:
        yield
    except SfgenError as error:
        error.message = f"{variable}: {error.message}"
        raise
