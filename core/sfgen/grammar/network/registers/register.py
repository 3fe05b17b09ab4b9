"""The values of registers, and the protocol of a kind of register.

A count and a set of names (one bit each) are whole numbers, the *number* of the register. The register of an open text
of a distinct call is the text so far. A rule that has made such calls remembers their texts beside its number.

Kernels see numbers only, and of names the first ``NARROW``. A token that needs more is *doubtful*: it is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

FAR = 1 << 40
"""The distance where there is no way to the end."""

NARROW = 62
"""The names that kernels distinguish, as bits of a number; others count as free, and their tokens as doubtful."""

REFUSED = -1
"""In place of a register, in kernels: the step is dead."""

ACCEPTS, IS_END, KEPT, KIND, LEAST, MOST, OWES, NEEDS, IS_NARROW, MEMBER = range(10)
"""The columns of the facts of states, for kernels: two of the network, whether a step into the state keeps every
register, five of counts, one of texts, one of names.
"""

FACTS = 10


class Seen(NamedTuple):
    """The register of a rule that has read texts of distinct calls."""

    texts: frozenset[bytes]
    number: int = 0


Register: TypeAlias = int | bytes | Seen
"""The memory of a rule: a number; in a distinct call the text so far; in a rule that made such calls ``Seen``."""

NO_TEXTS: frozenset[bytes] = frozenset()


def is_text(register: Register) -> TypeGuard[bytes]:
    """Tell whether a register is the open text of a distinct call."""
    return isinstance(register, bytes)


def texts_read(register: Register) -> frozenset[bytes]:
    """Return the texts of distinct calls in a register."""
    return register.texts if isinstance(register, Seen) else NO_TEXTS


def texts_in(register: Register) -> int:
    """Count the texts in a register, the open one included."""
    return 0 if isinstance(register, int) else 1 if isinstance(register, bytes) else len(register.texts)


def with_text(register: Register, text: bytes) -> Seen:
    """Add the text of a distinct call to a register."""
    return Seen(texts_read(register) | {text}, number_of(register))


def number_of(register: Register) -> int:
    """Return the number in a register: a count, or names as bits; 0 without either."""
    if isinstance(register, int):
        return register
    return register.number if isinstance(register, Seen) else 0


def with_number(register: Register, number: int) -> int | Seen:
    """Replace the number in a register."""
    return Seen(register.texts, number) if isinstance(register, Seen) else number


def narrow(register: Register) -> int:
    """Return the part of a register that kernels see."""
    return number_of(register) & (1 << NARROW) - 1


class FrameBelow(Protocol):
    """The part of a frame of the stack that registers use."""

    @property
    def register(self) -> Register:
        """The register of the rule that called."""


class Below(Protocol):
    """The part of the stack below a rule that registers use."""

    @property
    def frames(self) -> Sequence[FrameBelow]:
        """The frames to which the rule may return."""


class _NothingBelow:
    frames: Sequence[FrameBelow] = ()


NOTHING_BELOW: Below = _NothingBelow()
"""Stands for the stack below a rule where no text is open: only open texts use it."""


class Kind(Protocol):
    """A kind of register, over the usable bytes of one network."""

    def keeps(self) -> NDArray[np.bool_]:
        """Tell into which states a step keeps every register, bool ``[states]``."""

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Return the register after a step into a state; ``None`` where the step is dead."""

    def canonical(self, state: int, number: int, longest: int) -> int:
        """Return the number that stands for all with the same masks, if no token has more than ``longest`` bytes."""

    def bytes_left(self, state: int, number: int) -> int:
        """Return the fewest bytes from a state to the end of its rule; ``FAR`` or more without a way."""

    def facts(self) -> dict[int, NDArray[np.int32]]:
        """Return the columns of the facts for kernels, int32 ``[states]`` each."""
