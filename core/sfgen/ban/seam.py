"""The seam between a prompt and the text after it: the text is read in two ways, and must be clean in both.

Some readers see the text alone: it goes through a pipe, or follows the special tokens of a chat. Others see the prompt
before it. After ``hello``, the text ``talk`` is a whole word for the former, and a part of a word for the latter. After
``ta``, the text ``lk`` completes a word for the latter only. So a text is read *by itself* and *after its prompt*, and
a match in either way is a match.

A few characters after the seam both readings are nearly always in equal states. From there on one of them is enough.

A special token of a prompt is not text, but it is a boundary: it counts as the character U+FFFC (object replacement),
which is not a letter, a mark or white space. In generated text a special token writes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sfgen import arguments
from sfgen.ban.detection import Certain, Mark, Match, Matcher

if TYPE_CHECKING:
    from sfgen.ban.automaton import Automaton, RawMatch
    from sfgen.vocabulary import Vocabulary

SPECIAL: Final = "\ufffc".encode()
"""The text for which a special token of a prompt counts."""


def read_prompt(vocabulary: Vocabulary, token_ids: Sequence[int]) -> bytes:
    r"""Return the text of a prompt's tokens.

    Special tokens, end tokens and ids without a token are boundaries.

    Args:
        vocabulary: The tokens.
        token_ids: The prompt.

    Raises:
        UsageError: An argument has another type.

    >>> from sfgen import Vocabulary
    >>> read_prompt(Vocabulary([b"we", b" ta", None], end_token_ids=[2]), [2, 0, 2, 2, 1]).decode()
    '\ufffcwe\ufffc ta'
    """
    from sfgen.vocabulary import Vocabulary  # which loads numpy

    arguments.instance("vocabulary", vocabulary, Vocabulary)
    token_ids = arguments.token_ids("token_ids", token_ids)
    tokens, ends = vocabulary.tokens, frozenset(vocabulary.end_token_ids)
    pieces: list[bytes] = []
    for token in token_ids:
        text = tokens[token] if 0 <= token < len(tokens) and token not in ends else None
        if text is not None:
            pieces.append(text)
        elif not pieces or pieces[-1] is not SPECIAL:  # several in a row, as padding is, are one boundary
            pieces.append(SPECIAL)
    return b"".join(pieces)


class SeamMark(NamedTuple):
    """The state of a seam matcher at one moment.

    Args:
        after: The state of the reading after the prompt.
        alone: The state of the reading of the text by itself; ``None`` where that is the same.
    """

    after: Mark
    alone: Mark | None

    @property
    def pending(self) -> bytes:
        """The half of a character at the end of the text.

        A character that the prompt had begun belongs to one reading only.
        """
        return max(self.after.pending, self.alone.pending if self.alone else b"", key=len)


class SeamMatcher:
    """A matcher of one text, read by itself and after its prompt.

    It belongs to one text. Its methods are those of :class:`~sfgen.ban.detection.Matcher`, for both readings at once: a
    match is one of either.

    Args:
        automata: The compiled ban: ``BannedWords(...).automata``.
        prompt: The bytes before the generated text. A word in the prompt alone is not reported.

    >>> from sfgen.ban import BannedWords
    >>> words = BannedWords(["talk"])
    >>> words.matcher(b"we ta").advance(b"lk."), words.matcher(b"small").advance(b"talk.")
    (Match(word='talk', start=-2, end=2), Match(word='talk', start=0, end=4))
    """

    def __init__(self, automata: Automaton, prompt: bytes = b"") -> None:
        self.automata = automata
        self._after = Matcher(automata, prompt)
        self._alone = Matcher(automata)
        self._differ = bool(prompt)
        self._compare()

    def _compare(self) -> None:
        """Notice when both readings agree: in equal states, they find the same from now on.

        But a partial match may have begun earlier in the text alone: a mark at its start is a part of the letter before
        it where there is a prompt.
        """
        after, alone = self._after, self._alone
        self._differ = self._differ and (
            after.state != alone.state
            or any(mine > other for mine, other in zip(after.starts(), alone.starts(), strict=True))
        )

    def advance(self, data: bytes) -> Match | None:
        """Read the bytes of one token and return the first match completed."""
        certain = self._after.first_certain(data)
        if self._differ:
            certain = _first(certain, self._alone.first_certain(data))
            self._compare()
        return None if certain is None else self._after.named(certain.match)

    def all_certain(self, data: bytes) -> list[RawMatch]:
        """Read as :meth:`advance`; return the raw matches of both readings.

        Some of them come twice.
        """
        matches = self._after.all_certain(data)
        if self._differ:
            matches += self._alone.all_certain(data)
            self._compare()
        return matches

    def all_at_end(self) -> list[RawMatch]:
        """Return the raw matches that the end of the text would complete.

        Some of them come twice.

        The matcher is unchanged afterwards.
        """
        return [match for reading in self._readings for match in reading.all_at_end()]

    def begin_text(self) -> None:
        """Begin a text, after a thought, that is also read by itself."""
        self._alone = Matcher(self.automata, start=self.length)
        self._differ = True
        self._compare()

    def finish(self) -> Match | None:
        """Return the banned match that the end of the text would complete.

        The matcher is unchanged afterwards.
        """
        matches = [match for reading in self._readings if (match := reading.first_at_end()) is not None]
        return self._after.named(min(matches)) if matches else None

    def mark(self) -> SeamMark:
        """Return the state, for ``reset``."""
        return SeamMark(self._after.mark(), self._alone.mark() if self._differ else None)

    def reset(self, mark: SeamMark) -> None:
        """Return to a mark, any number of times.

        Args:
            mark: A mark of this matcher, or of another one of the same ban.

        Raises:
            UsageError: It is not a mark.
        """
        if mark.__class__ is not SeamMark:
            raise arguments.refusal("mark", "what mark() returned", mark)
        self._after.reset(mark.after)
        self._differ = mark.alone is not None
        if mark.alone is not None:
            self._alone.reset(mark.alone)

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``."""
        starts = [start for reading in self._readings if (start := reading.open_from()) is not None]
        return min(starts, default=None)

    def under_way(self) -> tuple[str, ...]:
        """List some of the partially matched words and patterns.

        They are named as the user gave them.
        """
        return tuple(dict.fromkeys(word for reading in self._readings for word in reading.under_way()))

    @property
    def length(self) -> int:
        """The number of bytes read after the prompt."""
        return self._after.length

    @property
    def state(self) -> Hashable:
        """The state without offsets; see :attr:`Matcher.state`."""
        after = self._after.state
        alone = self._alone.state if self._differ else after
        return after, (None if alone == after else alone)

    def close(self) -> None:
        """Begin no more matches: matches that are open later are open here.

        A half-read character may still begin one.
        """
        for reading in self._readings:
            reading.close()

    @property
    def _readings(self) -> Sequence[Matcher]:
        return (self._after, self._alone) if self._differ else (self._after,)


def _first(one: Certain | None, other: Certain | None) -> Certain | None:
    """Return the match that was certain first."""
    return min((certain for certain in (one, other) if certain is not None), default=None)
