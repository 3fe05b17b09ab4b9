"""Caches of values made from objects; an entry is freed with its object."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Made = TypeVar("Made")


class kept_while_it_lives(Generic[Key, Made]):  # noqa: N801  # a decorator
    """Make a value from an object once, without keeping the object, which may have many megabytes, alive.

    The value must not refer to the object (see ``kept_with_it``). Two threads may make it twice; all get the same.

    >>> from sfgen import Dfa
    >>> states = kept_while_it_lives(lambda dfa: print("counted") or len(dfa))
    >>> dfa = Dfa.from_regex("ab")
    >>> states(dfa), states(dfa)
    counted
    (3, 3)
    """

    def __init__(self, make: Callable[[Key], Made]) -> None:
        self._make = make
        self._kept = WeakKeyDictionary[Key, Made]()
        update_wrapper(self, make)

    def __call__(self, key: Key) -> Made:
        """Return the value of an object."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept.setdefault(key, self._make(key))
        return found

    def keep(self, key: Key, made: Made) -> None:
        """Keep a value that was made elsewhere."""
        self._kept[key] = made


def kept_with_it(make: Callable[[Key], Made]) -> Callable[[Key], Made]:
    """Make a value from an object once and keep it in the object; it may refer to the object.

    Objects without a dictionary of their own cannot keep anything. All threads get the same.
    """
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def made_of(key: Key) -> Made:
        kept = vars(key)
        found: Made = kept[name] if name in kept else kept.setdefault(name, make(key))
        return found

    return made_of
