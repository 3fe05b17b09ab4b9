"""The word decoder of Clay 2024: a machine that spells one of some words, a character at a time.

It is a trie. Each word ends with ``*``, the end token: without it nobody could tell whether ``hot`` is the whole word
or the beginning of ``hotel``. As there, the end is the state -1.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfgen import arguments
from sfgen.errors import UsageError

END = -1


class FSMDecoder:
    """A decoder that reads characters while they spell a word.

    Args:
        valid_words: The words, each with ``*`` at its end.

    Attributes:
        states: (state, character) → the next state, in the order of the words.
        current_state: Where it stands; it starts in 0.

    Raises:
        UsageError: A word without ``*``, or with something behind it.

    >>> decoder = FSMDecoder(["hot*", "cold*", "hotel*"])
    >>> for char in "xhot*":
    ...     print(char, decoder.decode(char), decoder.current_state, decoder.is_valid())
    x False 0 False
    h True 1 False
    o True 2 False
    t True 3 False
    * True -1 True
    """

    def __init__(self, valid_words: Sequence[str]) -> None:
        self.valid_words = list(arguments.texts("valid_words", valid_words))
        self.states: dict[tuple[int, str], int] = {}
        self.current_state = 0
        last = 0
        for word in self.valid_words:
            if not word.endswith("*") or "*" in word[:-1]:
                raise UsageError(f"the word {word!r} must end with *, and have no other", hint="For example: hot*")
            state = 0
            for char in word:
                if (state, char) not in self.states:
                    last += char != "*"
                    self.states[state, char] = END if char == "*" else last
                state = self.states[state, char]

    def decode(self, char: str) -> bool:
        """Read a character if it can follow.

        Returns:
            Whether it could.
        """
        arguments.text("char", char)
        if (self.current_state, char) in self.states:
            self.current_state = self.states[self.current_state, char]
            return True
        return False

    def is_valid(self) -> bool:
        """Tell whether a word is complete: exactly at the end.

        The code of Clay 2024 is true before it, and false there.
        """
        return self.current_state == END
