"""The values of registers, and the protocol of a kind of register.

A count and a set of names (one bit each) are integers, the *number* of the register. While a distinct call is open, the
register is the text read so far. The register of a rule that has made distinct calls contains their texts, besides its
number.

Kernels read only the number, and of names the first ``NARROW``. A token for which this is not enough is *doubtful*: it
is read again byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

FAR = 1 << 40
"""The distance where there is no way to the end."""

NARROW = 62
"""The number of names that kernels distinguish, as bits of a number. For kernels all other names are unread, and tokens
that depend on these are doubtful.
"""

REFUSED = -1
"""In place of a register, in kernels: the step is refused."""

ACCEPTS, IS_END, KEPT, KIND, LEAST, MOST, OWES, NEEDS, IS_NARROW, MEMBER = range(10)
"""The columns of the table of facts about states, for kernels: two about the network, whether a step into the state
keeps every register, five about counts, one about texts, one about names.
"""

FACTS = 10


class Seen(NamedTuple):
    """The register of a rule that has read texts of distinct calls."""

    texts: frozenset[bytes]
    number: int = 0


Register: TypeAlias = int | bytes | Seen
"""The memory of a rule: a number; in an open distinct call the text so far; after distinct calls ``Seen``."""

NO_TEXTS: frozenset[bytes] = frozenset()


def is_text(register: Register) -> TypeGuard[bytes]:
    """Return whether a register is the open text of a distinct call."""
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
    """Return the part of a register that kernels read."""
    return number_of(register) & (1 << NARROW) - 1


class FrameBelow(Protocol):
    """The part of a frame of the stack that registers use."""

    @property
    def register(self) -> Register:
        """The register of the calling rule."""


class Below(Protocol):
    """The part of the stack below a rule that registers use."""

    @property
    def frames(self) -> Sequence[FrameBelow]:
        """The frames to which the rule may return."""


class _NothingBelow:
    frames: Sequence[FrameBelow] = ()


NOTHING_BELOW: Below = _NothingBelow()
"""The stack below a rule where no distinct call is open: only the text of an open call depends on the stack."""


class Kind(Protocol):
    """A kind of register, for one network and the usable bytes."""

    def keeps(self) -> NDArray[np.bool_]:
        """Return the states into which a step keeps every register, bool ``[states]``."""

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Return the register after a step into a state; ``None`` if the step is refused."""

    def canonical(self, state: int, number: int, longest: int) -> int:
        """Return one number for all that have the same masks, if no token is longer than ``longest`` bytes."""

    def bytes_left(self, state: int, number: int) -> int:
        """Return the fewest bytes from a state to the end of its rule; ``FAR`` or more if there is no way."""

    def facts(self) -> dict[int, NDArray[np.int32]]:
        """Return columns of the table of facts for kernels, int32 ``[states]`` each."""
