"""The byte that must follow at a position, from the byte classes that can be read there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Position = TypeVar("Position")


def only_step(
    position: Position,
    labels: Iterator[int],
    classes: bytes,
    read: Callable[[Position, bytes], Position | None],
) -> tuple[bytes, Position] | None:
    """Return the only byte that can follow, and the position after it.

    Args:
        position: The position.
        labels: The byte classes that can be read there; at most two are read.
        classes: The class of each byte.
        read: The position after some bytes.

    Returns:
        ``None`` where several bytes can follow, or none.
    """
    label = next(labels, None)
    if label is None:
        return None
    byte = classes.find(label)
    if classes.rfind(label) != byte or next(labels, None) is not None:
        return None
    after = read(position, bytes([byte]))
    return None if after is None else (bytes([byte]), after)
