"""What a constraint makes once for each vocabulary, and keeps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sfgen import arguments
from sfgen.vocabulary import Vocabulary

Made = TypeVar("Made")


class KeptByVocabulary(Generic[Made]):
    """Makes something of a vocabulary on demand, and caches it.

    It can be shared between threads.

    Args:
        make: Makes it.

    >>> sizes = KeptByVocabulary(len)
    >>> sizes.of(Vocabulary([b"a", b"b"]))
    2
    """

    def __init__(self, make: Callable[[Vocabulary], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._kept: WeakKeyDictionary[Vocabulary, Made] = WeakKeyDictionary()

    def of(self, vocabulary: Vocabulary) -> Made:
        """Return what was made of a vocabulary; make it the first time.

        Raises:
            UsageError: It is not a vocabulary.
        """
        arguments.instance("vocabulary", vocabulary, Vocabulary, hint="A model has one: model.vocabulary.")
        with self._lock:
            if vocabulary not in self._kept:
                self._kept[vocabulary] = self._make(vocabulary)
            return self._kept[vocabulary]
