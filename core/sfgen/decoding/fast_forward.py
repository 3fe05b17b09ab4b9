"""Forced text: the tokens that must come next, which no model need be asked for.

Where an automaton leaves no choice, the bytes up to the next choice are known. As tokens they are written as the
tokenizer would write them, so that the model reads what it has learned to read, and that is not the end of it: a token
that a tokenizer puts there may begin in the known bytes and run on into text that is still to be chosen. After ``{"``,
with the keys ``orderId`` and ``orderName``, the bytes ``order`` are forced, but a tokenizer that has ``orderId`` as one
token never writes ``order`` there. So the last tokens are held back as far as what follows could merge with them:

    For each place in the forced bytes and each token that begins there, runs past their end and is allowed by the
    automaton: if the tokenizer ends the bytes up to its end with that token, only those tokens are kept that both
    spellings have in common.

It is held back, too, what white space is at the end (tokenizers cut it by what comes after it), and half a character.
Where the text ends with the forced bytes, nothing is held back.

Tokens that were already given never change. Where the tokenizer would have cut them otherwise, the forced bytes are cut
by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sfgen.decoding.detokenizer import whole_length
from sfgen.decoding.retokenize import Canonical, Ids
from sfgen.protocols import Model

if TYPE_CHECKING:
    from sfgen.index import Index

_LOOK = 2
"""How many tokens before the forced bytes are looked at."""

TAIL = _LOOK + 3
"""The same if the first of them would begin within a character: some more, up to where it begins."""

_MOST_BYTES = 512
"""How many forced bytes are looked at together."""

_MOST_SPELLINGS = 1000
"""How many spellings are tried for a run; a place with more tokens than are left is held back."""

_MOST_KEPT = 20_000
"""How much is remembered for an index and a model."""


@dataclass(frozen=True, slots=True)
class Forced:
    """The bytes that must follow a state.

    Args:
        data: The bytes, up to the next choice or the first accepting state.
        first: The state.
        sure: How many of the bytes are left without half a character and white space at their end; all of them where
            the text ends with them.
        merging: What could merge with text that is still to be chosen: a place in those that are left, and the tokens
            that begin there, run past their end and are allowed; ``None`` for more tokens than are ever tried.
    """

    data: bytes
    first: int
    sure: int
    merging: tuple[tuple[int, tuple[bytes, ...] | None], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens that must follow, and the state after each."""

    tokens: Ids
    states: tuple[int, ...]


@dataclass(slots=True)
class _Memo:
    """What was found for an index and a model. Threads that find the same at the same time write the same."""

    forced: dict[int, Forced | None] = field(default_factory=dict)
    runs: dict[tuple[int, Ids], Run] = field(default_factory=dict)

    def make_room(self) -> None:
        """Forget all if it is much."""
        if len(self.forced) >= _MOST_KEPT or len(self.runs) >= _MOST_KEPT:
            self.forced.clear()
            self.runs.clear()


class Forward:
    """What must follow, as tokens. For any number of texts of an index and a model, also from several threads.

    What is found is remembered as long as index and model live, for the next ``Forward`` as well.

    Args:
        index: What the text must match.
        model: Whose tokens; anything with ``vocabulary`` and ``encode`` (see ``sfgen.decoding.retokenize``).

    >>> from sfgen import Dfa, Index
    >>> from sfgen.models.uniform import UniformModel
    >>> from sfgen.vocabulary import Vocabulary
    >>> model = UniformModel(Vocabulary([b"\\n", b"a", b"b", b"c", b"ab", b"bc"]))
    >>> Forward(Index(Dfa.from_regex("aab"), model.vocabulary), model).tokens(0, (), None)
    (1, 4)
    >>> Forward(Index(Dfa.from_regex("aab(b|c)"), model.vocabulary), model).tokens(0, (), None)
    (1, 4)
    >>> Forward(Index(Dfa.from_regex("aaab|aaaa"), model.vocabulary), model).tokens(0, (), None)
    (1, 1)
    """

    def __init__(self, index: Index, model: Model) -> None:
        self._index = index
        self._canonical = Canonical(model)
        self._tokens = index.vocabulary.tokens
        self._end_tokens = frozenset(index.vocabulary.end_token_ids)
        self._memo = _memo(index, model)

    def tokens(self, state: int, tail: Sequence[int], tokens_left: int | None) -> Ids:
        """The tokens that the text must go on with, as the tokenizer would write them; ``()`` where none is sure.

        Args:
            state: The state of the index.
            tail: The last tokens before, those of the prompt included; at most ``TAIL`` of them are looked at.
            tokens_left: How many tokens may be written; the text can still be completed after those that are given.
                ``None``: any number.
        """
        memo = self._memo
        try:
            forced = memo.forced[state]
        except KeyError:
            memo.make_room()
            forced = memo.forced[state] = self._forced(state)
        if forced is None:
            return ()
        key = state, self._end_of(tail, forced.data)
        run = memo.runs.get(key)
        if run is None:
            memo.make_room()
            run = memo.runs[key] = self._run(forced, key[1])
        return run.tokens if tokens_left is None else run.tokens[: self._fitting(run, tokens_left)]

    def _forced(self, state: int) -> Forced | None:
        """The bytes that must follow ``state``; ``None`` if there are none."""
        index, data, states = self._index, bytearray(), [state]
        while len(data) < _MOST_BYTES and (step := index.only_step(states[-1])) is not None:
            data.append(step[0])
            states.append(step[1])
        if not data or index.is_final(states[-1]):
            return Forced(bytes(data), state, len(data), ()) if data else None
        sure = _sure(data)
        places = range(max(0, sure - index.vocabulary.trie.max_depth), sure)
        found = [(place, self._merging(states[place], sure - place)) for place in places]
        merging = [(place, tokens if len(tokens) <= _MOST_SPELLINGS else None) for place, tokens in found if tokens]
        return Forced(bytes(data), state, sure, tuple(merging))

    def _merging(self, state: int, length: int) -> tuple[bytes, ...]:
        """The tokens that are allowed in ``state`` and have more than ``length`` bytes."""
        texts = [self._tokens[token] or b"" for token in self._index.transitions(state)[0].tolist()]
        return tuple([text for text in dict.fromkeys(texts) if len(text) > length])

    def _end_of(self, tail: Sequence[int], data: bytes) -> Ids:
        """The part of ``tail`` that is looked at; it begins with a whole character if there is one.

        A special token is no text, and nothing merges with it.
        """
        end: list[int] = []
        for token in reversed(tail[-TAIL:]):
            if len(end) >= _LOOK and data[0] & 0xC0 != 0x80:
                break
            text = self._tokens[token] if 0 <= token < len(self._tokens) and token not in self._end_tokens else None
            if text is None:
                break
            end.append(token)
            data = text
        return tuple(end[::-1])

    def _fitting(self, run: Run, tokens_left: int) -> int:
        """How many of a run's tokens leave enough for a way to the end."""
        index, count = self._index, len(run.tokens)
        if count + index.longest_way <= tokens_left:
            return count
        while count and count + int(index.distance[run.states[count - 1]]) > tokens_left:
            count -= 1
        return count

    # ---- from bytes to tokens --------------------------------------------------------------------------------------

    def _run(self, forced: Forced, tail: Ids) -> Run:
        """The tokens of some forced bytes behind ``tail``."""
        data, tokens = forced.data[: forced.sure], Ids()
        for start in range(len(tail) + 1) if data else ():
            found = self._canonical.after(tail[start:], data)
            if found is not None:
                tokens = found[: self._kept(forced, tail[start:], found)]
                break
        state, states = forced.first, list[int]()
        for token in tokens:
            state = self._index.next_state(state, token)
            if state < 0:
                break
            states.append(state)
        return Run(tokens[: len(states)], tuple(states))

    def _kept(self, forced: Forced, tail: Ids, tokens: Ids) -> int:
        """How many of the tokens of some forced bytes stay whatever follows."""
        canonical, places = self._canonical, []
        for place, merging in forced.merging:
            before = forced.data[:place]
            # The tokenizer writes these before a token that begins at the place.
            found = canonical.after(tail, before[: whole_length(before)]) if before else ()
            places.append((0 if found is None else _common(found, tokens), before, merging))
        kept, left = len(tokens), _MOST_SPELLINGS
        for shared, before, merging in sorted(places, key=itemgetter(0)):  # what holds back most comes first
            if shared >= kept:
                break
            left -= len(merging or ())
            if left < 0 or merging is None or self._can_merge(tail, before, merging):
                kept = shared
        return kept

    def _can_merge(self, tail: Ids, before: bytes, merging: Iterable[bytes]) -> bool:
        """Whether the tokenizer may write one of the tokens ``merging`` behind ``before``."""
        return any(self._canonical.ends_in(tail, before + text, text) is not False for text in merging)


def _common(one: Ids, other: Ids) -> int:
    """How many tokens two runs have in common at their start."""
    count = min(len(one), len(other))
    return next((place for place in range(count) if one[place] != other[place]), count)


def _sure(data: bytes | bytearray) -> int:
    """The length of ``data`` without a half character and white space at its end."""
    length = whole_length(data)
    text = data[:length].decode("utf-8", "replace")
    return length - len(text[len(text.rstrip()) :].encode())


_memos: WeakKeyDictionary[Any, WeakKeyDictionary[Any, _Memo]] = WeakKeyDictionary()


def _memo(index: Index, model: Model) -> _Memo:
    """What is remembered for an index and a model; a new one for a model that cannot be referred to weakly."""
    try:
        return _memos.setdefault(index, WeakKeyDictionary()).setdefault(model, _Memo())
    except TypeError:
        return _Memo()
