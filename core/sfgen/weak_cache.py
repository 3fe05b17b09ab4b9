"""Caches beside objects, whose entries are freed with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Made = TypeVar("Made")


class kept_while_it_lives(Generic[Key, Made]):  # noqa: N801  # a decorator
    """Make something of an object once; an automaton of many megabytes is not kept alive by what is known of it.

    What is made must not refer to the object (see ``kept_with_it``). Two threads may make it twice; all get the same.

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
        """Return what is made of an object."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept.setdefault(key, self._make(key))
        return found

    def keep(self, key: Key, made: Made) -> None:
        """Keep what was made elsewhere."""
        self._kept[key] = made


def kept_with_it(make: Callable[[Key], Made]) -> Callable[[Key], Made]:
    """Make something of an object once, which may refer to the object: it is kept in the object itself.

    Objects without a dictionary of their own cannot keep anything. All threads get the same.
    """
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def made_of(key: Key) -> Made:
        kept = vars(key)
        found: Made = kept[name] if name in kept else kept.setdefault(name, make(key))
        return found

    return made_of
