"""A cache beside objects, whose entries are freed with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Made = TypeVar("Made")


def kept_while_it_lives(make: Callable[[Key], Made]) -> Callable[[Key], Made]:
    """Make something of an object once; an automaton of many megabytes is not kept alive by what is known of it.

    What is made must not refer to the object. Two threads may make it twice.

    >>> from sfgen import Dfa
    >>> states = kept_while_it_lives(lambda dfa: print("counted") or len(dfa))
    >>> dfa = Dfa.from_regex("ab")
    >>> states(dfa), states(dfa)
    counted
    (3, 3)
    """
    kept = WeakKeyDictionary[Key, Made]()

    @wraps(make)
    def made_of(key: Key) -> Made:
        found = kept.get(key)
        if found is None:
            found = kept[key] = make(key)
        return found

    return made_of
