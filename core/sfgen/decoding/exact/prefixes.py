"""The tree of prefixes, as far as it is open, and the heap that says where to go on."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.exact.noise import Float64
from sfgen.protocols import Int32

END = -1
"""Stands for the end tokens: as a child of a prefix, the text that ends there."""

MAX_PASSES = 10_000
"""Prefixes that are scored for one text, if nothing else is said."""

KEPT = 64
"""The children of a prefix that are kept at first; the others are computed anew if they are needed."""


@dataclass(frozen=True, slots=True)
class Child:
    """A prefix with one more token, or a text that ends.

    Attributes:
        token: The token, or ``END``.
        value: The largest perturbed log-probability of the texts that begin so.
        log_mass: The logarithm of their probability.
    """

    token: int
    value: float
    log_mass: float


@dataclass(frozen=True, slots=True)
class Children:
    """The best continuations of a prefix by one token.

    Attributes:
        tokens: Int32 ``[children]``.
        values: Float64 ``[children]``.
        log_masses: Float64 ``[children]``.
        is_all: Whether the prefix has no others.
    """

    tokens: Int32
    values: Float64
    log_masses: Float64
    is_all: bool = True

    def beside(self, child: Child) -> Children:
        """Return these and another child, appended."""
        return Children(
            np.append(self.tokens, np.int32(child.token)),
            np.append(self.values, child.value),
            np.append(self.log_masses, child.log_mass),
        )

    def best(self, most: int) -> Children:
        """Return the children with the largest values, in falling order.

        Args:
            most: How many; others with the value of the last are kept, too.

        >>> children = Children(np.array([7, 8, 9], dtype=np.int32), np.array([-3.0, -1.0, -2.0]), np.zeros(3))
        >>> children.best(2).tokens.tolist(), children.best(2).is_all, children.best(3).tokens.tolist()
        ([8, 9], False, [8, 9, 7])
        """
        values = self.values
        kept: NDArray[np.intp] = np.arange(values.size)
        if values.size > most:
            kept = np.flatnonzero(values >= np.partition(values, -most)[-most])
        kept = kept[np.argsort(-values[kept], kind="stable")]
        return Children(self.tokens[kept], values[kept], self.log_masses[kept], kept.size == values.size)


@dataclass(slots=True, eq=False)
class Prefix:
    """A prefix of texts whose children are known.

    Attributes:
        parent: The prefix without its last token; ``None`` at the root.
        child: The prefix as a child of ``parent``.
        length: The number of its tokens.
        children: The best of its children; the first ``taken`` were taken out.
        taken: How many were taken out.
    """

    parent: Prefix | None
    child: Child
    length: int
    children: Children
    taken: int = 0

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Its tokens, from the first."""
        tokens, prefix = list[int](), self
        while prefix.parent is not None:
            tokens.append(prefix.child.token)
            prefix = prefix.parent
        return tuple(reversed(tokens))

    @property
    def needs_more(self) -> bool:
        """Whether the next child is not kept."""
        return self.taken == len(self.children.tokens)

    @property
    def bound(self) -> float:
        """An upper bound of the next child's value.

        It is that value if the child is kept.
        """
        return float(self.children.values[self.taken - self.needs_more])

    @property
    def is_done(self) -> bool:
        """Whether all children were taken out."""
        return self.needs_more and self.children.is_all

    def take(self) -> Child:
        """Take out the next child, which must be kept."""
        number, children = self.taken, self.children
        self.taken += 1
        return Child(int(children.tokens[number]), float(children.values[number]), float(children.log_masses[number]))


class Frontier:
    """A priority queue of the open prefixes.

    The one with the best next child comes first; of equals the longest, then the first that came.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Prefix]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, prefix: Prefix) -> None:
        """Add a prefix, unless all of its children were taken out."""
        if not prefix.is_done:
            self._count += 1
            heapq.heappush(self._heap, (-prefix.bound, -prefix.length, self._count, prefix))

    def pop(self) -> Prefix:
        """Take out the first prefix."""
        return heapq.heappop(self._heap)[-1]
