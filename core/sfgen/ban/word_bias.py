"""Words and phrases with a bias: less likely, not banned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, get_args

from sfgen import arguments
from sfgen.ban.ban_automata import BanAutomata
from sfgen.ban.entries import MatchMode, parse_all
from sfgen.errors import UsageError
from sfgen.parameter_text import ParameterText

LEAST = -1000
"""The lowest bias: its factor is 0 as a number."""


class WordBias:
    r"""Words and phrases, each with a bias of at most 0.

    They are found as ``BannedWords`` finds them: in the text, however the tokens cut it, read by itself and read after
    the prompt. With n occurrences of a word of bias b, a text has exp(b · n) times its weight: see
    :mod:`sfgen.decoding.word_bias` for how near the decode loop comes to that. It is immutable, and threads may share
    it.

    Args:
        biases: The bias of each word or phrase; ``talk*`` is a prefix, as in ``BannedWords``. A bias is the natural
            logarithm of a factor: with -0.69 a word is about half as likely, with -2 an eighth.
        match: As of ``BannedWords``, and so are the next two.
        ignore_case: See ``match``.
        normalize: See ``match``.

    Raises:
        UsageError: A bias above 0, or none at all; ``match`` is none of the three.
        BannedWordsError: A word that is empty, or of which nothing is left; the message says which.

    >>> WordBias({"talk": -2, "small talk": -0.5}).biases
    {'talk': -2, 'small talk': -0.5}
    """

    @arguments.with_known_names
    def __init__(
        self,
        biases: Mapping[str, float],
        match: MatchMode = "word",
        ignore_case: bool = True,
        normalize: bool = False,
    ) -> None:
        given = arguments.mapping("word_bias", biases)
        words = arguments.texts("words with a bias", tuple(given))
        if not words:
            raise UsageError(
                ParameterText("word_bias names no word", "word_bias"), hint="Give at least one, or leave it out."
            )
        self.biases: Final = {word: _checked(word, given[word]) for word in words}
        arguments.one_of("match", match, get_args(MatchMode))
        self.match: Final[MatchMode] = match
        self.ignore_case: Final = arguments.flag("ignore_case", ignore_case)
        self.normalize: Final = arguments.flag("normalize", normalize)
        entries = parse_all(words, "biased", match, ignore_case, normalize)
        self.automata: Final = BanAutomata.of(entries, (), (), ignore_case=ignore_case, normalize=normalize)

    @property
    def _key(self) -> tuple[Any, ...]:
        """The arguments that it was made of, in one form; an order of words means nothing."""
        return tuple(sorted(self.biases.items())), self.match, self.ignore_case, self.normalize

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordBias) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordBias, (self.biases, self.match, self.ignore_case, self.normalize)

    def __repr__(self) -> str:
        return f"<WordBias {', '.join(self.written)}; match={self.match!r}, ignore_case={self.ignore_case}>"

    @property
    def written(self) -> tuple[str, ...]:
        """The words with their biases, as ``talk=-2``."""
        return tuple(f"{word}={bias:g}" for word, bias in self.biases.items())

    @classmethod
    def of(cls, biases: WordBias | Mapping[str, float]) -> WordBias:
        """Return biases as they are, or make them of a dictionary.

        >>> WordBias.of({"talk": -2})
        <WordBias talk=-2; match='word', ignore_case=True>
        """
        return biases if isinstance(biases, WordBias) else cls(biases)


def _checked(word: str, bias: object) -> float:
    """A bias within its range."""
    wanted = f"a number from {LEAST:g} to 0"
    if bias == -math.inf:
        hint = "A word that must never come out is banned."
        raise arguments.refusal(f"the bias of {word!r:.60}", wanted, bias, hint=hint)
    value = arguments.number(f"the bias of {word!r:.60}", bias, wanted, least=LEAST)
    if value > 0:
        raise UsageError(
            f"the bias of {word!r:.60} is {value:g}, above 0: a word is made less likely by taking back what was "
            "written, and nothing that was taken back makes one likelier",
            hint=ParameterText("Give a number of at most 0; to make tokens likelier, give logit_bias.", "logit_bias"),
        )
    return value
