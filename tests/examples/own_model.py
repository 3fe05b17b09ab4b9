"""A model of your own: anything that scores the next token, here by which letter followed which in a text.

A model has a vocabulary, ``encode`` and ``session()``; a session reads tokens and can go back. Constraints, bans and
exact draws work with it as with any other. What it prints:

    indba splar tond indie
    o sthe staratond the atain toain s sain ararathe st s main
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import sfgen
from sfgen.protocols import Scores

TEXT = "the rain in spain stays mainly in the plain. the cat sat on the mat and ran to the barn. "
LETTERS = sorted(set(TEXT))


class Letters:
    """Reads one text: the scores depend on its last letter."""

    def __init__(self, counts: NDArray[np.float64]) -> None:
        self._counts, self._read = counts, [LETTERS.index(" ")]

    def extend(self, token_ids: Sequence[int]) -> Scores:
        self._read += token_ids
        scores: Scores = np.log(self._counts[self._read[-1]])
        return scores

    def rewind(self, length: int) -> None:
        del self._read[length + 1 :]


class Bigrams:
    """Letters by the letter before them."""

    def __init__(self, text: str) -> None:
        self.vocabulary = sfgen.Vocabulary([*(letter.encode() for letter in LETTERS), None], [len(LETTERS)])
        self.counts = np.full((len(LETTERS) + 1, len(LETTERS) + 1), 0.01)
        for before, after in pairwise(text):
            self.counts[LETTERS.index(before), LETTERS.index(after)] += 1

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def session(self) -> Letters:
        return Letters(self.counts)


model = Bigrams(TEXT)
print(sfgen.generate(model, "the ", regex="[a-z]{3,5}( [a-z]{3,5}){3}", temperature=1.0, seed=2).text)
print(sfgen.generate(model, "the ", banned=["rain", "in"], stop=".", temperature=1.0, seed=2, max_tokens=60).text)
