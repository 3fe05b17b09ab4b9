"""The tokens that complete a banned match which is already under way.

Where a match is open, some of the tokens that could come next complete it, and none of them needs to be tried. They
are found in one walk over the trie of all tokens, character by character, which stops where a match is complete (then
it is whatever follows) and where nothing is left of what was open before the token.

Many characters do the same to a match: after ``talk`` all punctuation ends the word, and all letters but few go on with
it. So the characters of a vocabulary are sorted into classes for a list of words, the walk goes from sets of nodes to
sets of nodes, and the matcher is asked once for each set and class.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.ban.classes import Seen, character_classes
from sfgen.kernels import FlagsOut, Int, Int32s, Int32sOut, UInt8s, kernel

if TYPE_CHECKING:
    from sfgen.ban.ban_automata import BanAutomata
    from sfgen.ban.seam import SeamMark, SeamMatcher
    from sfgen.vocabulary.trie import TokenTrie

_MOST_QUESTIONS = 5_000
"""How often the matcher is asked in one walk; then what was found is all. Only long lists and patterns come near it."""

_MOST_ANSWERS = 32
"""How many answers are remembered for a list of words and a trie."""


def completing(matcher: SeamMatcher, trie: TokenTrie) -> NDArray[np.int32]:
    """The tokens that, read next, complete a match that is under way at the matcher's present place.

    A match counts as complete where :meth:`~sfgen.ban.matcher.Matcher.advance` reports it. Of the tokens that complete
    one which begins within them, some may be found, too. All that is found does complete a match.

    Args:
        matcher: Where the text stands. It is unchanged afterwards.
        trie: The tokens.

    Returns:
        Their ids, rising; not to be changed.
    """
    if matcher.open_from() is None:
        return np.empty(0, np.int32)
    table = table_of(trie, matcher.automata)
    state = matcher.state
    answer = table.answers.get(state)
    if answer is None:
        mark = matcher.mark()
        try:
            answer = _Walk(matcher, trie, table).tokens()
        finally:
            matcher.reset(mark)
        if len(table.answers) >= _MOST_ANSWERS:
            table.answers.clear()
        table.answers[state] = answer
    return answer


class _Characters(NamedTuple):
    """A trie of tokens, read character by character.

    Its nodes are those of the token trie that complete a character, and -1 for the root. One that cuts a half-read
    character short completes that (U+FFFD), and another if it is one by itself.

    Args:
        nodes: The nodes, ordered by their parent, int32.
        first, after: Where the children of each node of the token trie lie in ``nodes``; those of the root come last.
        symbols: The number of what each of ``nodes`` completes, int32.
        texts: What these numbers stand for.
    """

    nodes: NDArray[np.int32]
    first: NDArray[np.int32]
    after: NDArray[np.int32]
    symbols: NDArray[np.int32]
    texts: tuple[str, ...]


_Sets: TypeAlias = "dict[Hashable, tuple[SeamMark, list[NDArray[np.int32]]]]"
"""Sets of nodes in which the matcher is in the same state, and knows the same matches from before the token."""


class _Walk:
    """One walk.

    Args:
        matcher: Where the walk begins. It stands anywhere afterwards.
        trie: The tokens.
        table: What the list makes of them.
    """

    def __init__(self, matcher: SeamMatcher, trie: TokenTrie, table: _Table) -> None:
        self._matcher = matcher
        self._trie = trie
        self._table = table
        self._place = matcher.length
        self._complete: list[NDArray[np.int32]] = []  # nodes below which every token completes a match
        self._questions = 0

    def tokens(self) -> NDArray[np.int32]:
        """The tokens that complete a match, rising."""
        sets: _Sets = {}
        self._begin(sets)
        while sets and self._questions < _MOST_QUESTIONS:
            mark, nodes = sets.pop(next(iter(sets)))
            self._extend(sets, mark, np.concatenate(nodes))
        trie = self._trie
        complete = np.concatenate([np.empty(0, np.int32), *self._complete])
        tokens = np.empty(trie.vocabulary_size + 1, dtype=np.int32)
        chosen = np.zeros(trie.vocabulary_size, dtype=np.bool_)
        count = _tokens_below(complete, trie.subtree_ends, trie.token_starts, trie.token_ids, chosen, tokens)
        answer: NDArray[np.int32] = tokens[:count].copy()
        answer.flags.writeable = False
        return answer

    def _begin(self, sets: _Sets) -> None:
        """From the root, over the rest of a character that is half read."""
        mark = self._matcher.mark()
        if not mark.pending:
            self._extend(sets, mark, np.array([-1], dtype=np.int32))
            return
        for node in _children(self._trie, -1):
            self._read_half(sets, mark, node)

    def _read_half(self, sets: _Sets, mark: SeamMark, node: int) -> None:
        """Go on byte by byte until no character is half read."""
        if self._ask(mark, bytes([self._trie.bytes[node]])):
            self._complete.append(np.array([node], dtype=np.int32))
        elif self._matcher.mark().pending:
            mark = self._matcher.mark()
            if self._is_open():
                for child in _children(self._trie, node):
                    self._read_half(sets, mark, child)
        else:
            self._keep(sets, np.array([node], dtype=np.int32))

    def _extend(self, sets: _Sets, mark: SeamMark, nodes: NDArray[np.int32]) -> None:
        """Read the next character behind a set of nodes."""
        table, characters = self._table, self._table.characters
        if len(nodes) == 1 and nodes[0] < 0:
            places = table.root
            classes = table.classes[characters.symbols[places]]
        else:
            places = ranges(characters.first[nodes], characters.after[nodes])
            classes = table.classes[characters.symbols[places]]
            order = np.argsort(classes, kind="stable")
            places, classes = places[order], classes[order]
        edges = [0, *(np.flatnonzero(classes[1:] != classes[:-1]) + 1).tolist(), len(classes)]
        for edge, stop in pairwise(edges if len(classes) else ()):
            children = characters.nodes[places[edge:stop]]
            if self._ask(mark, table.members[classes[edge]]):
                self._complete.append(children)
            else:
                self._keep(sets, children)

    def _ask(self, mark: SeamMark, data: bytes) -> bool:
        self._questions += 1
        self._matcher.reset(mark)
        return self._matcher.advance(data) is not None

    def _is_open(self) -> bool:
        """Whether something is left of what was open before the token."""
        open_from = self._matcher.open_from()
        return open_from is not None and open_from < self._place

    def _keep(self, sets: _Sets, nodes: NDArray[np.int32]) -> None:
        """Keep nodes for the next character, if something is left of what was open before the token."""
        if not self._is_open():
            return
        matcher = self._matcher
        matcher.forget_from(self._place)
        key = matcher.state, matcher.origins(self._place)
        if key in sets:
            sets[key][1].append(nodes)
        else:
            sets[key] = matcher.mark(), [nodes]


def ranges(starts: NDArray[np.integer], ends: NDArray[np.integer]) -> NDArray[np.int64]:
    """All numbers of some ranges."""
    lengths = ends - starts
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


def _children(trie: TokenTrie, node: int) -> Iterator[int]:
    """The children of a node; of the root if it is -1."""
    end = len(trie) if node < 0 else int(trie.subtree_ends[node])
    child = node + 1
    while child < end:
        yield child
        child = int(trie.subtree_ends[child])


@lru_cache(maxsize=4)
def characters_of(trie: TokenTrie) -> _Characters:
    """The trie read character by character."""
    parents, symbols = np.empty(len(trie), dtype=np.int32), np.empty(len(trie), dtype=np.int32)
    began, missing, codes, low, high = np.zeros((5, trie.max_depth + 1), dtype=np.int32)
    wanted, bits, lowest, highest = _beginnings()
    _decode(trie.bytes, trie.depths, wanted, bits, lowest, highest, parents, symbols, began, missing, codes, low, high)
    nodes = np.flatnonzero(symbols >= 0).astype(np.int32)
    parents = parents[nodes]
    parents[parents < 0] = len(trie)  # the root last, which -1 is as an index, too
    order = np.argsort(parents, kind="stable")
    places = np.searchsorted(parents[order], np.arange(len(trie) + 2)).astype(np.int32)
    distinct, numbers = np.unique(symbols[nodes[order]], return_inverse=True)
    texts = tuple("\ufffd" * (symbol >> 21) + _text(symbol & _NO_CHARACTER) for symbol in distinct.tolist())
    return _Characters(nodes[order], places[:-1], places[1:], numbers.astype(np.int32).reshape(-1), texts)


_NO_CHARACTER = (1 << 21) - 1


def _text(code: int) -> str:
    return "" if code == _NO_CHARACTER else chr(code)


class _Table:
    """What a list of words makes of the vocabulary of a trie.

    Attributes:
        characters: The trie.
        classes: The class of each of its texts: those of a class do the same to every match.
        members: The bytes of one text of each class.
        root: The places of the root's children in ``characters.nodes``, ordered by their class.
        answers: What was found already, by the matcher's state.
    """

    def __init__(self, trie: TokenTrie, automata: BanAutomata) -> None:
        self.characters = characters_of(trie)
        numbers: dict[Hashable, int] = {}
        texts = self.characters.texts
        keys = _by_patterns(texts, automata) if automata.patterns else _by_words(texts, automata)
        self.classes = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)
        _, first = np.unique(self.classes, return_index=True)
        self.members = [texts[place].encode() for place in first.tolist()]
        places = np.arange(self.characters.first[-1], self.characters.after[-1])
        self.root = places[np.argsort(self.classes[self.characters.symbols[places]], kind="stable")]
        self.answers: dict[Hashable, NDArray[np.int32]] = {}


def _by_words(texts: Iterable[str], automata: BanAutomata) -> Iterator[Hashable]:
    """What words see of texts."""
    seen = Seen(automata.words + automata.allow, automata.ignore_case, automata.normalize)
    return (tuple([seen[character] for character in text]) for text in texts)


def _by_patterns(texts: Iterable[str], automata: BanAutomata) -> Iterator[Hashable]:
    """What patterns and words take their characters for."""
    labels = character_classes(automata, False).labels
    return (tuple([labels.number(ord(character)) for character in text]) for text in texts)


@lru_cache(maxsize=8)
def table_of(trie: TokenTrie, automata: BanAutomata) -> _Table:
    """The characters of the tokens in the classes that the ban tells apart; kept for the last few."""
    return _Table(trie, automata)


@kernel
def _tokens_below(
    nodes: Int32s,
    subtree_ends: Int32s,
    token_starts: Int32s,
    token_ids: Int32s,
    chosen: FlagsOut,
    tokens: Int32sOut,
) -> Int:
    """List the tokens of some nodes and of all below them, rising; return their number.

    Args:
        nodes: The nodes.
        subtree_ends: This and the next two: as in ``TokenTrie``.
        chosen: False for each id.
        tokens: Where the tokens go, with room for one more than there are ids.
    """
    for number in range(len(nodes)):
        node = nodes[number]
        for place in range(token_starts[node], token_starts[subtree_ends[node]]):
            chosen[token_ids[place]] = True
    count = np.int64(0)
    for token in range(len(chosen)):  # without a branch, that could not be foreseen
        tokens[count] = token
        count += np.int64(chosen[token])
    return count


@cache
def _beginnings() -> NDArray[np.int32]:
    """What each byte begins: how many more bytes, the bits of the code point in it, and the range of the next byte.

    A byte that begins no character wants -1 more.
    """
    table = np.full((256, 4), (-1, _NO_CHARACTER, 0x80, 0xBF), dtype=np.int32)
    leads = ((0, 0, 0x7F, 0x7F), (1, 0xC2, 0xDF, 0x1F), (2, 0xE0, 0xEF, 0x0F), (3, 0xF0, 0xF4, 0x07))
    for more, first, last, bits in leads:
        codes = np.arange(first, last + 1)
        table[codes, 0] = more
        table[codes, 1] = codes & bits
    # Neither overlong forms, nor surrogates, nor what is past the last code point.
    table[0xE0, 2] = 0xA0
    table[0xED, 3] = 0x9F
    table[0xF0, 2] = 0x90
    table[0xF4, 3] = 0x8F
    return np.ascontiguousarray(table.T)


@kernel
def _decode(
    labels: UInt8s,
    depths: Int32s,
    wanted_by: Int32s,
    bits_of: Int32s,
    lowest_after: Int32s,
    highest_after: Int32s,
    parents: Int32sOut,
    symbols: Int32sOut,
    began: Int32sOut,
    missing: Int32sOut,
    codes: Int32sOut,
    low: Int32sOut,
    high: Int32sOut,
) -> Int:
    """For each node what it completes, as ``codecs`` would decode it, and the last node above that completes anything.

    That is the number of U+FFFD and a code point, ``number << 21 | code``, or -1 for nothing. A byte that cannot go on
    with a half-read character ends it as U+FFFD and is read anew.

    Args:
        labels: This and ``depths``: as in ``TokenTrie``.
        wanted_by: This and the next three: see ``_beginnings``.
        parents: Where the last node above goes.
        symbols: Where goes what is completed.
        began: By depth: the last node that completed something.
        missing: The bytes that the half-read character wants yet.
        codes: The bits of its code point that are known.
        low: The range of its next byte.
        high: The same.

    Returns:
        The number of nodes.
    """
    began[0] = -1
    for node in range(len(labels)):
        depth = np.int64(depths[node])
        byte = np.int64(labels[node])
        above = depth - 1
        parents[node] = began[above]
        replaced = np.int64(0)
        wanted = np.int64(missing[above])
        if wanted > 0 and low[above] <= byte and byte <= high[above]:
            wanted -= 1
            code = np.int64(codes[above]) << 6 | byte & 0x3F
            low[depth] = 0x80
            high[depth] = 0xBF
        else:
            if wanted > 0:
                replaced += 1
            wanted = np.int64(wanted_by[byte])
            code = np.int64(bits_of[byte])
            low[depth] = lowest_after[byte]
            high[depth] = highest_after[byte]
            if wanted < 0:
                replaced += 1
                wanted = np.int64(0)
        missing[depth] = wanted
        codes[depth] = code
        began[depth] = began[above]
        symbols[node] = -1
        if wanted == 0 or replaced > 0:
            symbols[node] = replaced << 21 | (code if wanted == 0 else np.int64(_NO_CHARACTER))
            began[depth] = node
    return len(labels)
