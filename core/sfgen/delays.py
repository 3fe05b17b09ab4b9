"""Slow operations, such as downloads and imports of large packages: listeners are told before one begins.

The library prints nothing; a program that wants to show its users what is being waited for registers a listener here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Delay:
    """A slow operation, announced before it begins.

    Attributes:
        what: The operation, as ``downloading the weights of org/model``.
        is_download: Whether it is a download.
        size: The size of what is downloaded or loaded, in bytes; ``None`` if nobody knows it.
    """

    what: str
    is_download: bool = False
    size: int | None = None


Listener = Callable[[Delay | None], None]
"""Is given a delay before it begins, and ``None`` when it is over."""

_listeners: list[Listener] = []


@contextlib.contextmanager
def told_of_delays(listener: Listener) -> Iterator[None]:
    """Call a listener with each delay before it begins.

    Args:
        listener: Called with the delay, and with ``None`` when it is over.

    Returns:
        A context; the listener is called while it is open.

    >>> with told_of_delays(print), delayed(Delay("reading a large file")):
    ...     print("It is read.")
    Delay(what='reading a large file', is_download=False, size=None)
    It is read.
    None
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def delayed(delay: Delay) -> Iterator[None]:
    """Announce the body of the ``with`` statement as slow."""
    for listener in tuple(_listeners):
        listener(delay)
    try:
        yield
    finally:
        for listener in tuple(_listeners):
            listener(None)
