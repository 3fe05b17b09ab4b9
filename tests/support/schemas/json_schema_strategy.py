"""``from_schema`` of hypothesis-jsonschema, which works with what hypothesis is today."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from hypothesis.internal.conjecture import utils as conjecture
from hypothesis_jsonschema import _from_schema, from_schema

__all__ = ["from_schema"]


class _ManyByMore:
    """``many`` of hypothesis as it was before 6.160: hypothesis-jsonschema 0.23 asks ``more`` of it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._many = conjecture.many(*args, **options)
        self._steps: Iterator[None] | None = None

    def more(self) -> bool:
        if self._steps is None:
            self._steps = iter(self._many.__enter__())
        if next(self._steps, self) is None:
            return True
        self._many.__exit__(None, None, None)
        return False

    def reject(self, why: str | None = None) -> None:
        self._many.reject(why)


if not hasattr(conjecture.many, "more"):
    vars(_from_schema)["cu"] = types.SimpleNamespace(**{**vars(conjecture), "many": _ManyByMore})
