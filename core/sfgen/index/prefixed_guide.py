"""The base of guides with a beginning of their own: once it is written, the guide of a constraint goes on alone.

So the masks of that guide, and all that is kept of them, stay as they are without the beginning.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.guide import Steps
from sfgen.index.mask_ids import packed
from sfgen.protocols import Guide, Int32, Mask
from sfgen.vocabulary import Vocabulary

Mark = TypeVar("Mark")


class PrefixedGuide(Steps, Generic[Mark]):
    """A guide through a beginning, and then through a constraint."""

    def __init__(self, vocabulary: Vocabulary, start: Mark) -> None:
        self.vocabulary = vocabulary
        self._marks = [start]  # in the beginning, before the first step and after each one
        self._behind: Guide | None = None  # once the beginning is written
        self._steps_behind = 0
        self._bytes_count = False  # bytes are of a token that counts to the limit, if they reach behind the beginning

    # ---- what a guide knows of its beginning -----------------------------------------------------------------------

    @property
    @abstractmethod
    def _begin(self) -> Guide:
        """The guide at the start of the constraint; never moved."""

    @abstractmethod
    def _position_inside(self) -> Hashable:
        """The position in the beginning."""

    @abstractmethod
    def _tokens_inside(self) -> Int32:
        """The tokens that may follow in the beginning, ascending."""

    @abstractmethod
    def _forced_inside(self, most: int | None) -> bytes:
        """The bytes that must follow in the beginning, at most ``most``."""

    @abstractmethod
    def _after_token(self, token_id: int) -> tuple[Mark, Guide | None]:
        """Where a token leads to in the beginning; with a guide that goes on, if it ends there."""

    @abstractmethod
    def _after_bytes(self, data: bytes) -> tuple[Mark, Guide | None]:
        """As :meth:`_after_token`, of bytes that are part of no token."""

    @abstractmethod
    def _drop_limit(self) -> None:
        """Forget the limit."""

    # ---- where the guide stands ------------------------------------------------------------------------------------

    @property
    def state(self) -> int:
        """The state of the constraint's guide; its start inside the beginning."""
        return (self._behind or self._begin).state

    @property
    def position(self) -> Hashable:
        """The present position; what may follow depends on it alone."""
        return self._position_inside() if self._behind is None else self._behind.position

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""
        return self._behind is not None and self._behind.is_accepting

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow."""
        return self._behind is not None and self._behind.is_finished

    def describe(self) -> str:
        """Describe the position of the constraint's guide."""
        return (self._behind or self._begin).describe()

    @property
    def temperature(self) -> float | None:
        """The temperature of the constraint's guide; ``None``: the generation's."""
        return getattr(self._behind, "temperature", None)

    def tokens_left(self) -> int:
        """Return the fewest tokens to an end, or an upper bound.

        Those of the beginning are not counted.
        """
        return (self._behind or self._begin).tokens_left()

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        if self._behind is not None:
            return self._behind.mask()
        return packed(self.allowed_tokens(), len(self.vocabulary))

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32; read-only."""
        return self._tokens_inside() if self._behind is None else self._behind.allowed_tokens()

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end.
        """
        if most is not None:
            arguments.whole_number("most", most, least=0)
        return self._forced_inside(most) if self._behind is None else self._behind.forced_bytes(most)

    def is_ready(self) -> bool:
        """Tell whether the mask here is made.

        In the beginning it is always ready: each mask is made when it is needed.
        """
        return self._behind is None or self._behind.is_ready()

    def allows_several(self) -> bool | None:
        """Tell whether two tokens or more may follow.

        ``None``: only the mask can tell.
        """
        return None if self._behind is None else self._behind.allows_several()

    # ---- steps -----------------------------------------------------------------------------------------------------

    def advance(self, token_id: int) -> None:
        """Read a token."""
        if self._behind is not None:
            self._behind.advance(token_id)
            self._steps_behind += 1
            return
        self._step(*self._after_token(arguments.whole_number("token_id", token_id)))

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token."""
        if self._behind is not None:
            self._behind.advance_bytes(data)
            self._steps_behind += 1
            return
        self._step(*self._after_bytes(arguments.data("data", data)))

    def _step(self, mark: Mark, behind: Guide | None) -> None:
        self._marks.append(mark)
        self._behind = behind

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps."""
        count = arguments.whole_number("count", count)
        taken = len(self._marks) - 1 + self._steps_behind
        if not 0 <= count <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        behind = min(count, self._steps_behind)
        if self._behind is not None:
            self._behind.rollback(behind)
            self._steps_behind -= behind
        if count > behind:
            del self._marks[behind - count :]
            self._behind = None

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent guide at the same position."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._marks = self._marks.copy()
        if not arguments.flag("limited", limited):
            twin._drop_limit()
        if self._behind is not None:
            twin._behind = self._behind.fork(limited=limited)
        return twin


class KeptTokens:
    """The tokens that may follow in beginnings before one source, int32 ``[k]``; the last few are kept."""

    _MOST = 128

    def __init__(self) -> None:
        self._found: dict[Hashable, Int32] = {}

    @classmethod
    def of(cls, source: Any) -> KeptTokens:
        """Return what is kept for a source as long as it lives; nothing if it cannot be referred to weakly."""
        try:
            return _kept.setdefault(source, cls())
        except TypeError:
            return cls()

    def find(self, key: Hashable, make: Callable[[], NDArray[np.integer]]) -> Int32:
        """Return the tokens of a key, read-only and shared; make them the first time."""
        found = self._found.get(key)
        if found is None:
            found = make().astype(np.int32)
            found.setflags(write=False)
            if len(self._found) >= self._MOST:
                self._found.clear()
            self._found[key] = found
        return found


_kept: WeakKeyDictionary[Any, KeptTokens] = WeakKeyDictionary()
