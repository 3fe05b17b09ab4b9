"""Jump-forward tokens: those that must come next, which need no forward pass.

Where a guide leaves no choice, the bytes up to the next choice are known. They are cut into tokens as the tokenizer
would cut them, so that the model reads familiar tokens. But a token of the tokenizer may begin in the known bytes and
extend into text that is still to be chosen. After ``{"``, with the keys ``orderId`` and ``orderName``, the bytes
``order`` are forced, but a tokenizer that has ``orderId`` as one token never writes ``order`` there. So the last tokens
are held back as far as the next text could merge with them:

    For each position in the forced bytes and each token that begins there, runs past their end and is allowed by the
    guide: if the tokenizer ends the bytes up to its end with that token, only those tokens are kept that both
    tokenizations have in common.

White space at the end is held back, too (tokenizers cut it by the text after it), and half a character. Where the text
ends with the forced bytes, nothing is held back.

Tokens that were already given never change. Where the tokenizer would have cut them otherwise, the forced bytes are cut
by themselves.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

from sfgen import arguments
from sfgen.decoding.detokenizer import whole_length
from sfgen.decoding.retokenize import Ids, Retokenizer, shared_length
from sfgen.errors import DeadEnd
from sfgen.protocols import Guide, GuideSource, Model
from sfgen.vocabulary import Vocabulary

_LOOK = 2
"""The tokens before the forced bytes that are looked at."""

TAIL = _LOOK + 3
"""The same, with room to go back to where a character begins."""

_MOST_BYTES = 512
"""The most forced bytes that are looked at together."""

MOST_SPELLINGS = 1000
"""The most tokenizations that are tried for a run; a position with more tokens than are left is held back."""

MOST_KEPT = 20_000
"""The most entries of a memo."""


@dataclass(frozen=True, slots=True)
class Forced:
    """The bytes that must follow a position."""

    data: bytes  # up to the next choice, or the first position where the text may end
    # the length of ``data`` without half a character and white space at its end, unless the text ends with it
    sure: int
    # (index, tokens) that begin before ``sure`` and end in text still to be chosen; ``None``: too many tokens
    merging: tuple[tuple[int, tuple[bytes, ...] | None], ...]


@dataclass(slots=True)
class _Memo:
    """The forced bytes and runs of a source and a model; threads that race write equal values."""

    forced: dict[Hashable, Forced | None] = field(default_factory=dict)  # by position
    runs: dict[tuple[Hashable, Ids], Ids] = field(default_factory=dict)  # by position and the tokens before

    def make_room(self) -> None:
        """Forget all entries if there are too many."""
        if len(self.forced) >= MOST_KEPT or len(self.runs) >= MOST_KEPT:
            self.forced.clear()
            self.runs.clear()


class FastForward:
    """The jump-forward tokens of a source and a model.

    Any number of texts and threads may share it. Its results are kept as long as source and model live.

    >>> from sfgen import Dfa, Index
    >>> from sfgen.models.uniform import UniformModel
    >>> from sfgen.vocabulary import Vocabulary
    >>> model = UniformModel(Vocabulary([b"\\n", b"a", b"b", b"c", b"ab", b"bc"]))
    >>> def must_follow(pattern: str) -> tuple[int, ...]:
    ...     index = Index(Dfa.from_regex(pattern), model.vocabulary)
    ...     return FastForward(index, model).tokens(index.guide(), ())
    >>> must_follow("aab"), must_follow("aab(b|c)"), must_follow("aaab|aaaa")
    ((1, 4), (1, 4), (1, 1))
    """

    def __init__(self, source: GuideSource, model: Model) -> None:
        vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        self._retokenizer = Retokenizer(model)
        self._tokens = vocabulary.tokens
        self._longest = vocabulary.trie.max_depth
        self._end_tokens = frozenset(vocabulary.end_token_ids)
        self._memo = _memo(source, model)

    def tokens(self, guide: Guide, tail: Sequence[int]) -> Ids:
        """Return the tokens that must follow, as the tokenizer writes them."""
        memo, position = self._memo, guide.position
        try:
            forced = memo.forced[position]
        except KeyError:
            memo.make_room()
            forced = memo.forced[position] = self._forced(guide)
        if forced is None:
            return ()
        key = position, self._end_of(tail, forced.data)
        run = memo.runs.get(key)
        if run is None:
            memo.make_room()
            run = memo.runs[key] = self._run(forced, key[1])
        return run[: guide.validate(run)] if run else run

    def _forced(self, guide: Guide) -> Forced | None:
        """Return the bytes that must follow the guide's position; ``None``: there are none."""
        data = guide.forced_bytes(_MOST_BYTES)
        if not data:
            return None
        ahead = guide.fork(limited=False)
        ahead.advance_bytes(data)
        if ahead.is_finished:
            return Forced(data, len(data), ())
        sure = _sure(data)
        first = max(0, sure - self._longest)
        inside = guide.fork(limited=False)
        inside.advance_bytes(data[:first])
        merging = []
        for index in range(first, sure):
            tokens = self._merging(inside, sure - index)
            if tokens:
                merging.append((index, tokens if len(tokens) <= MOST_SPELLINGS else None))
            inside.advance_bytes(data[index : index + 1])
        return Forced(data, sure, tuple(merging))

    def _merging(self, guide: Guide, length: int) -> tuple[bytes, ...]:
        """Return the allowed tokens of more than ``length`` bytes at the guide's position."""
        try:
            allowed = guide.allowed_tokens().tolist()
        except DeadEnd:  # it stands inside a token, and no token begins there
            return ()
        texts = [self._tokens[token] or b"" for token in allowed if token not in self._end_tokens]
        return tuple([text for text in dict.fromkeys(texts) if len(text) > length])

    def _end_of(self, tail: Sequence[int], data: bytes) -> Ids:
        """Return the end of ``tail`` that is text and begins with a whole character."""
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

    # ---- from bytes to tokens --------------------------------------------------------------------------------------

    def _run(self, forced: Forced, tail: Ids) -> Ids:
        """Return the tokens of forced bytes after ``tail``."""
        data = forced.data[: forced.sure]
        for start in range(len(tail) + 1) if data else ():
            tokens = self._retokenizer.after(tail[start:], data)
            if tokens is not None:
                return tokens[: self._kept(forced, tail[start:], tokens)]
        return ()

    def _kept(self, forced: Forced, tail: Ids, tokens: Ids) -> int:
        """Count the tokens of forced bytes that stay whatever follows."""
        retokenizer, candidates = self._retokenizer, []
        for index, merging in forced.merging:
            before = forced.data[:index]
            # The tokenizer writes these before a token that begins at the position.
            written = retokenizer.after(tail, before[: whole_length(before)]) if before else ()
            candidates.append((0 if written is None else shared_length(written, tokens), before, merging))
        kept, left = len(tokens), MOST_SPELLINGS
        for shared, before, merging in sorted(candidates, key=itemgetter(0)):  # those that hold back most come first
            if shared >= kept:
                break
            left -= len(merging or ())
            if left < 0 or merging is None or self._can_merge(tail, before, merging):
                kept = shared
        return kept

    def _can_merge(self, tail: Ids, before: bytes, merging: Iterable[bytes]) -> bool:
        """Return whether the tokenizer may write one of the tokens ``merging`` after ``before``."""
        return any(self._retokenizer.ends_in(tail, before + text, text) is not False for text in merging)


def _sure(data: bytes | bytearray) -> int:
    """Return the length without half a character and white space at the end."""
    length = whole_length(data)
    text = data[:length].decode("utf-8", "replace")
    return length - len(text[len(text.rstrip()) :].encode())


_memos: WeakKeyDictionary[Any, WeakKeyDictionary[Any, _Memo]] = WeakKeyDictionary()


def _memo(source: GuideSource, model: Model) -> _Memo:
    """Return the memo of a source and a model; a new one where one of them allows no weak reference."""
    try:
        return _memos.setdefault(source, WeakKeyDictionary()).setdefault(model, _Memo())
    except TypeError:
        return _Memo()
