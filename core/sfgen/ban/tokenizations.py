"""Every sequence of tokens that spells a banned word: for display, not for matching.

The matcher reads the text, and not routes, since there are too many of them. But routes show how a tokenizer can write
a word, and make the state table of a machine that reads tokens.

The routes of ``talk`` are the ways to cut ``talk`` and `` talk`` into tokens::

    [talk] [ talk] [ tal|k] [tal|k] [ta|lk] [ ta|lk] … [t|a|l|k]

A dynamic program over the positions of a word counts its routes without making any. A walk from the word's end, over
the positions that the program found reachable, makes them one by one in their order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType

from sfgen.ban.entries import check_word, unstar
from sfgen.errors import BannedWordsError
from sfgen.vocabulary import Vocabulary

MATCHED = -1
"""The next state where a word is complete."""

_INITIAL = 0
_FALLBACK_BYTES = 128  # so many tokens in the order of their bytes are byte fallback, not an accident


@dataclass(frozen=True, slots=True)
class Route:
    """One tokenization of a word.

    Attributes:
        word: As the user gave it.
        token_ids: The tokens; their bytes joined are the word, or a space and the word.
    """

    word: str
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Spelling:
    """The bytes that a word's routes write, and where they can be cut."""

    word: str
    size: int  # in bytes
    # by position: the tokens that end there, as (position where they begin, ids)
    steps: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    lengths: tuple[int, ...]  # by position: the numbers of tokens that lead there, as bits of an integer
    count: int  # of ways to the end


class Routes:
    r"""The tokenizations of some words over a vocabulary, in order.

    Iterating makes them lazily, since a word can have millions. They are ordered by their number of tokens, then by
    their last token's id, then by the one before, and so on. A word is taken as it is written (a star that stands for a
    prefix is not part of it), with and without a space before it. Tokens of white space alone do not count (``f| |g``
    is no tokenization of ``f g``), except between the words of a phrase where no token joins white space with anything
    else. Nor does a byte-fallback token count where another token writes the same byte.

    >>> routes = Routes(Vocabulary([b"t", b"alk", b" talk", b"talk", b"ta", b"lk"]), ["talk"])
    >>> routes.count, [route.token_ids for route in routes]
    (4, [(2,), (3,), (0, 1), (4, 5)])
    >>> routes.transitions()
    {0: [(2, -1), (3, -1), (0, 1), (4, 2)], 1: [(1, -1)], 2: [(5, -1)]}
    """

    def __init__(self, vocabulary: Vocabulary, words: Iterable[str]) -> None:
        self._vocabulary = vocabulary
        written: dict[str, str] = {}  # each spelled text, and the first word with it
        for number, word in enumerate(words, 1):
            check_word(word, f"banned word {number}")
            written.setdefault(unstar(word)[0].strip(), word)
        if not written:
            raise BannedWordsError("there is no banned word", hint="Give at least one.")
        texts = [text.encode() for text in written]
        pieces = _Pieces(vocabulary, longest=1 + max(map(len, texts)))
        self._words = tuple(written.values())
        self._spellings = [
            _cut(word, space + text, pieces)
            for word, text in zip(self._words, texts, strict=True)
            for space in (b"", b" ")
        ]

    @property
    def words(self) -> tuple[str, ...]:
        """The words, each once."""
        return self._words

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The number of tokenizations of each word, without making them."""
        counts = dict.fromkeys(self._words, 0)
        for spelling in self._spellings:
            counts[spelling.word] += spelling.count
        return MappingProxyType(counts)

    @property
    def count(self) -> int:
        """The number of tokenizations, without making them."""
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Route]:
        longest = max((spelling.lengths[-1].bit_length() for spelling in self._spellings), default=0)
        for length in range(1, longest):
            yield from self._of_length(length)

    def transitions(self, max_routes: int | None = None) -> dict[int, list[tuple[int, int]]]:
        """Return the state table of the automaton of the tokenizations.

        For each state it has pairs of a token id and the next state. The tokenizations are entered in their order, at
        most ``max_routes``, and states are numbered as they first occur; state 0 is the start, and ``-1`` means that a
        word is complete. A state is a common beginning of tokenizations, so there are at most as many as tokens in all
        of them together.
        """
        return transitions(islice(self, max_routes))

    def _of_length(self, length: int) -> Iterator[Route]:
        """Yield the tokenizations of N tokens, walking from the ends of the words to their starts.

        All words are walked at once, so that the order is that of the tokens: at each step the ends of unread text are
        grouped by the token that is read next.
        """
        ends = [
            (number, spelling.size)
            for number, spelling in enumerate(self._spellings)
            if spelling.lengths[spelling.size] >> length & 1
        ]
        stack = [self._before(ends, length)]
        tokens: list[int] = []  # from the last token of the route on
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                if tokens:
                    tokens.pop()
                continue
            token, ends = following
            tokens.append(token)
            if len(tokens) < length:
                stack.append(self._before(ends, length - len(tokens)))
            else:
                ((number, _),) = ends  # a sequence of tokens writes one text
                yield Route(self._spellings[number].word, tuple(reversed(tokens)))
                tokens.pop()

    def _before(self, ends: list[tuple[int, int]], length: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield the tokens, by id, that can end at ``ends`` as the last of ``length``, with where they begin."""
        starts: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, end in ends:
            spelling = self._spellings[number]
            for start, ids in spelling.steps[end]:
                if spelling.lengths[start] >> (length - 1) & 1:
                    for token in ids:
                        starts[token].append((number, start))
        for token in sorted(starts):
            yield token, starts[token]


def transitions(routes: Iterable[Route]) -> dict[int, list[tuple[int, int]]]:
    """Build the table of :meth:`Routes.transitions` for any tokenizations.

    A tokenization that continues where another is complete adds nothing: the word is matched before.

    >>> transitions([Route("ab", (1, 2)), Route("a", (1,))])
    {0: [(1, -1)], 1: [(2, -1)]}
    """
    table: dict[int, dict[int, int]] = {_INITIAL: {}}
    states = 1
    for route in routes:
        state = _INITIAL
        for token in route.token_ids[:-1]:
            following = table[state].get(token)
            if following is None:
                following = states
                states += 1
                table[state][token] = following
                table[following] = {}
            state = following
            if state == MATCHED:
                break
        else:
            table[state][route.token_ids[-1]] = MATCHED
    return {state: list(row.items()) for state, row in table.items()}


class _Pieces:
    """The tokens that a route can have, by their bytes."""

    def __init__(self, vocabulary: Vocabulary, longest: int) -> None:
        ids: defaultdict[bytes, list[int]] = defaultdict(list)
        joins_blanks = any(token and token.strip() and token.split() != [token] for token in vocabulary.tokens)
        for token_id in vocabulary.text_token_ids.tolist():
            token = vocabulary.tokens[token_id]
            if token is not None and len(token) <= longest and not (joins_blanks and _is_blank(token)):
                ids[token].append(token_id)
        single = {token: token_ids for token, token_ids in ids.items() if len(token) == 1}
        ids.update(_without_fallback(single))
        self.ids = {token: tuple(token_ids) for token, token_ids in ids.items()}
        self.sizes = sorted(set(map(len, self.ids)))


def _is_blank(token: bytes) -> bool:
    """Return whether a token is white space alone."""
    return token.decode(errors="replace").isspace()


def _without_fallback(ids: Mapping[bytes, list[int]]) -> dict[bytes, list[int]]:
    """Drop byte-fallback tokens (``<0x74>``) of bytes that have another token.

    A vocabulary knows what tokens write, not what they are called. But byte-fallback tokens stand in the order of their
    bytes, so that their ids differ from the bytes by one number.
    """
    offsets = Counter(token_id - token[0] for token, token_ids in ids.items() for token_id in token_ids)
    ((offset, count),) = offsets.most_common(1) or [(0, 0)]
    if count < _FALLBACK_BYTES:
        return dict(ids)
    return {
        token: [token_id for token_id in token_ids if token_id - token[0] != offset] or token_ids
        for token, token_ids in ids.items()
    }


def _cut(word: str, text: bytes, pieces: _Pieces) -> _Spelling:
    """Find all ways to cut the text of a word into tokens."""
    steps: list[tuple[tuple[int, tuple[int, ...]], ...]] = [()]
    lengths = [1]  # no token leads to the start
    counts = [1]
    for end in range(1, len(text) + 1):
        here = []
        reached = count = 0
        for size in pieces.sizes:
            start = end - size
            if start < 0:
                break
            if lengths[start] and (ids := pieces.ids.get(text[start:end])) and (start or not _is_blank(text[:end])):
                here.append((start, ids))
                reached |= lengths[start] << 1
                count += counts[start] * len(ids)
        steps.append(tuple(here))
        lengths.append(reached)
        counts.append(count)
    return _Spelling(word, len(text), tuple(steps), tuple(lengths), counts[-1])
