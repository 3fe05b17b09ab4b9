"""Token symbols: symbols of a grammar that stand for tokens, not for text: ``<think>``, ``<[10]>``, ``!<think>``.

A *token symbol* stands for one whole token, whatever its text is: a special token has no text. The automata of a
grammar read bytes. So the rules contain a *code* in place of each token symbol: bytes that do not occur in UTF-8 (C0,
C1, F5 to FE), one byte if there are at most twelve symbols, several if there are more. No text contains a code.

The tokens of a symbol are found when the vocabulary is known. ``coded_vocabulary`` returns a vocabulary without the
tokens that contain such bytes, and with a token for each code. Over it both engines work as they do without token
symbols: masks after a code, distances (a code is one byte and one token, so that limits are right), the shortest text.
``SymbolPositions`` wraps an engine and translates its masks::

    engine, over the coded vocabulary     a  b  ab  </s>  | F5  F6  …
      mask of a position                  1  0  0    0    | 1   0
    tokens of the symbols                                 | <think>: 4    !<think>: 0 1 2 5
      mask over the vocabulary            1  0  0    0    and token 4

A token is read in all possible ways: as its text, and as each symbol that it belongs to. The position after it is the
union of these readings. So two spellings of one token, and a token beside its own negation, are no special cases.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import product
from typing import Generic, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from sfgen.automata.label import characters_from
from sfgen.errors import GrammarError
from sfgen.grammar.shell.guide import GrammarGuide
from sfgen.grammar.shell.masks import KeptMasks
from sfgen.grammar.shell.read import ByteReader
from sfgen.index.mask_ids import TOKEN_IDS, packed
from sfgen.index.readers import PositionMasks
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

CODE_BYTES = bytes([*range(0xF5, 0xFF), 0xC0, 0xC1])
"""Bytes that do not occur in UTF-8; FF does not either, but patterns use it as the border between characters."""

_KEPT = 16 << 20  # the most bytes of cached translated masks

Position = TypeVar("Position", bound=Hashable)


@dataclass(frozen=True, slots=True)
class TokenSymbol:
    """A symbol that stands for one token of a set, or of its complement.

    Attributes:
        spelling: The symbol as written in the grammar.
        position: The offset of its first occurrence there, in code points.
        name: The text or name of its only token; ``None`` if the tokens are given as ids.
        ids: The ids of the tokens, as ranges that include both ends.
        is_negated: Whether the symbol stands for all other tokens.
    """

    spelling: str
    position: int
    name: str | None
    ids: tuple[tuple[int, int], ...]
    is_negated: bool


class SymbolTokens:
    """The token symbols of one grammar, each with its code.

    >>> think = TokenSymbol("<think>", 9, "<think>", (), False)
    >>> SymbolTokens({think: b"\\xf5"}).spelled(b"a\\xf5b")
    b'a<think>b'
    """

    def __init__(self, codes: Mapping[TokenSymbol, bytes]) -> None:
        self.codes = codes
        self.code_size = len(next(iter(codes.values()), b" "))

    def tokens_of(self, symbol: TokenSymbol, vocabulary: Vocabulary, text: str) -> Int32:
        """Return the tokens of a symbol, ascending, int32; ``text`` is the grammar, for an error."""
        size, chosen = len(vocabulary), np.zeros(len(vocabulary), dtype=np.bool_)
        if symbol.name is not None:
            chosen[_token_named(symbol, symbol.name, vocabulary, text)] = True
        for first, last in symbol.ids:
            if last >= size:
                reason = f"there is no token {last}: the vocabulary has {size}"
                raise GrammarError(reason, text, symbol.position, hint=f"Tokens are numbered from 0 to {size - 1}.")
            chosen[first : last + 1] = True
        if symbol.is_negated:
            every = np.zeros_like(chosen)
            every[vocabulary.text_token_ids] = every[list(vocabulary.names)] = True
            chosen = every & ~chosen
        chosen[list(vocabulary.end_token_ids)] = False
        if not chosen.any():
            reason, hint = "the vocabulary has no other token", ""
            if not symbol.is_negated:
                reason = "this token ends a text, so nothing can follow it"
                hint = "An end token follows a whole text by itself: leave it out."
            raise GrammarError(reason, text, symbol.position, hint=hint)
        return np.flatnonzero(chosen).astype(np.int32)

    def written(self, vocabulary: Vocabulary, text: str) -> dict[int, bytes]:
        """Return the names of the special tokens of all symbols, by id: these tokens have no text."""
        return {
            token: vocabulary.text(token).encode()
            for symbol in self.codes
            for token in np.setdiff1d(self.tokens_of(symbol, vocabulary, text), vocabulary.text_token_ids).tolist()
        }

    def spelled(self, data: bytes) -> bytes:
        """Replace the codes in a text of the automata by the symbols as written in the grammar."""
        spelling_of = {code: symbol.spelling.encode() for symbol, code in self.codes.items()}
        every = re.compile(b"[%s]{%d}" % (re.escape(CODE_BYTES), self.code_size))
        return every.sub(lambda code: spelling_of.get(code[0], code[0]), data)

    def label(self, steps: Sequence[int]) -> str:
        """Describe the bytes of a step as characters, or as the symbol whose code they are."""
        return self._labels.get(bytes(steps)) or characters_from(steps)

    @cached_property
    def _labels(self) -> dict[bytes, str]:
        return {code: symbol.spelling for symbol, code in self.codes.items()}


def _token_named(symbol: TokenSymbol, name: str, vocabulary: Vocabulary, text: str) -> int:
    """Find the token with a name or a text."""
    special = [token for token, each in vocabulary.names.items() if each == name]
    if special:
        return min(special)
    token = vocabulary.ids.get(name.encode())
    if token is not None:
        return token
    ends = [token for token in vocabulary.end_token_ids if vocabulary.tokens[token] == name.encode()]
    if ends:
        return ends[0]
    near = get_close_matches(name, list(vocabulary.names.values()), 2)
    hint = f"Did you mean {' or '.join(near)}?" if near else 'Write "…" in quotes for a text of any tokens.'
    raise GrammarError(f"no single token of the vocabulary is {name}", text, symbol.position, hint=hint)


def codes_of(count: int) -> list[bytes]:
    """List different codes of equal length for a number of symbols.

    >>> [code.hex() for code in codes_of(2)], len(codes_of(13)[0])
    (['f5', 'f6'], 2)
    """
    size = 1
    while len(CODE_BYTES) ** size < count:
        size += 1
    return list(_codes(size)[:count])


def pattern_of(code: bytes) -> str:
    """Write a code as a pattern of lone surrogates, which no text contains.

    >>> code_of(pattern_of(bytes([0xF5]))), is_code(pattern_of(bytes([0xF5]))), is_code("a")
    (b'\\xf5', True, False)
    """
    return code.decode("utf-8", "surrogateescape")


def code_of(pattern: str) -> bytes:
    """Return the code that a pattern stands for."""
    return pattern.encode("utf-8", "surrogateescape")


def is_code(pattern: str) -> bool:
    """Return whether a pattern stands for a code."""
    return bool(pattern) and all("\udc80" <= character <= "\udcff" for character in pattern)


@lru_cache(maxsize=4)
def _codes(size: int) -> tuple[bytes, ...]:
    """List all codes of a length in bytes."""
    return tuple(bytes(code) for code in product(CODE_BYTES, repeat=size))


_coded: WeakKeyDictionary[Vocabulary, dict[int, Vocabulary]] = WeakKeyDictionary()
_lock = threading.Lock()


def coded_vocabulary(vocabulary: Vocabulary, code_size: int) -> Vocabulary:
    """Return a vocabulary without the tokens that contain code bytes, and with a token for each code at its end."""
    with _lock:
        known = _coded.setdefault(vocabulary, {})
        if code_size not in known:
            coded = _by_trie(vocabulary) if code_size == 1 else None
            known[code_size] = _by_tokens(vocabulary, code_size) if coded is None else coded
        return known[code_size]


def _by_tokens(vocabulary: Vocabulary, code_size: int) -> Vocabulary:
    taken = frozenset(CODE_BYTES)
    tokens = [None if data and not taken.isdisjoint(data) else data for data in vocabulary.tokens]
    coded = Vocabulary([*tokens, *_codes(code_size)], vocabulary.end_token_ids)
    if code_size > 1:  # a code can be written, so each of its bytes counts as writable
        usable = coded.trie.single_bytes | np.isin(np.arange(256), list(CODE_BYTES))
        coded.__dict__["trie"] = replace(coded.trie, single_bytes=usable)
    return coded


def _by_trie(vocabulary: Vocabulary) -> Vocabulary | None:
    """Replace the tokens of code bytes in the trie by the codes; ``None`` if other tokens contain such bytes."""
    trie, size = vocabulary.trie, len(vocabulary)
    nodes = trie.roots[list(CODE_BYTES)]
    is_alone = np.isin(trie.bytes, list(CODE_BYTES)).sum() == len(CODE_BYTES)
    if not is_alone or not trie.single_bytes[list(CODE_BYTES)].all():
        return None
    counts = trie.token_starts[trie.subtree_ends[nodes]] - trie.token_starts[nodes]
    if (trie.subtree_ends[nodes] != nodes + 1).any() or (counts != 1).any():
        return None
    tokens, token_ids, first_tokens = list(vocabulary.tokens), trie.token_ids.copy(), trie.first_tokens.copy()
    places, codes = trie.token_starts[nodes], np.arange(size, size + len(CODE_BYTES))
    for token in token_ids[places].tolist():
        tokens[token] = None
    token_ids[places], first_tokens[nodes] = codes, codes
    coded = object.__new__(Vocabulary)  # its tokens were checked
    coded._tokens, coded._end_token_ids, coded._names = (*tokens, *_codes(1)), vocabulary.end_token_ids, {}
    coded.__dict__["fingerprint"] = "with codes: " + vocabulary.fingerprint
    coded.__dict__["trie"] = replace(
        trie, token_ids=token_ids, first_tokens=first_tokens, vocabulary_size=size + len(CODE_BYTES)
    )
    return coded


class _Translated(NamedTuple):
    """A mask with codes, kept alive so that its id is not reused, and the mask over the vocabulary."""

    coded: Mask
    mask: Mask

    @property
    def nbytes(self) -> int:
        """The bytes of both."""
        return self.coded.nbytes + self.mask.nbytes


class SymbolPositions(Generic[Position]):
    """The tokens that each position of a grammar with token symbols allows; see ``PositionMasks``.

    Args:
        vocabulary: The tokens.
        symbols: The symbols.
        text: The text of the grammar, for errors.
        make: Makes the masks of an engine over a vocabulary.
        origin: The name of the grammar's file, for errors.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        symbols: SymbolTokens,
        text: str,
        make: Callable[[Vocabulary], PositionMasks[Position]],
        origin: str | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.symbols = symbols
        size = len(vocabulary)
        number_of = {code: size + number for number, code in enumerate(_codes(symbols.code_size))}
        try:
            self._tokens_of = {
                number_of[code]: packed(symbols.tokens_of(symbol, vocabulary, text), size)
                for symbol, code in symbols.codes.items()
            }
        except GrammarError as error:
            raise error.of_file(origin) from None
        self._coded = coded_vocabulary(vocabulary, symbols.code_size)
        self._made = make(self._coded)
        self._words = (size + 31) // 32
        self._last_word = np.uint32((1 << (size - 1) % 32 + 1) - 1)
        self._translated = KeptMasks[int, _Translated](_KEPT)

    @property
    def reader(self) -> ByteReader[Position]:
        """The reader of bytes and codes."""
        return cast("ByteReader[Position]", self._made.reader)

    def mask(self, position: Position) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""
        return self._translate(self._made.mask(position))

    def bounded_mask(self, position: Position, room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left, end tokens not counted; read-only."""
        return self._translate(self._made.bounded_mask(position, room))

    def _translate(self, coded: Mask) -> Mask:
        """Replace the codes in a mask by the tokens of their symbols."""
        known = self._translated.get(id(coded))
        if known is not None:
            return known.mask
        mask: Mask = coded[: self._words].copy()
        mask[-1] &= self._last_word
        for number, tokens in self._tokens_of.items():
            if coded.item(number >> 5) >> (number & 31) & 1:
                mask |= tokens
        mask.setflags(write=False)
        return self._translated.keep(id(coded), _Translated(coded, mask)).mask

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: Position, room: int | None) -> bool:
        """Return whether the mask of a position is cached, with ``room`` tokens left; ``None``: any number."""
        return self._made.is_made(position, room)

    def fits(self, position: Position, room: int | None) -> bool:
        """Return whether ``room`` tokens complete the text; ``None``: any number."""
        return self._made.fits(position, room)

    def tokens_left(self, position: Position) -> int:
        """Return the fewest tokens to an end, or an upper bound that falls by one with some token."""
        return self._made.tokens_left(position)

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end, with symbols as written in the grammar."""
        return self.symbols.spelled(self._made.shortest(position))

    def after(self, reader: ByteReader[Position], position: Position, token: int) -> Position | None:
        """Return the position after a token; ``None`` if it is refused."""
        if not 0 <= token < len(self.vocabulary) or token in self.vocabulary.end_token_ids:
            return None
        ways = (reader.read(position, data) for data in self._readings(token))
        after = [each for each in ways if each is not None]
        return after[0] if len(after) == 1 else reader.united(after) if after else None

    def _readings(self, token: int) -> Iterable[bytes]:
        """Yield the bytes that the automata may read for a token: its text, and the codes of its symbols."""
        tokens = self._coded.tokens
        if tokens[token] is not None:
            yield tokens[token] or b""
        for number, mask in self._tokens_of.items():
            if mask.item(token >> 5) >> (token & 31) & 1:
                yield tokens[number] or b""


class TextReading(Generic[Position]):
    """Reads a text character by character, without tokens.

    Attributes:
        position: The position after the characters read so far.
    """

    def __init__(self, reader: ByteReader[Position]) -> None:
        self.position = reader.start
        self._reader = reader

    def read(self, character: str) -> bool:
        """Read a character; return whether it is allowed here."""
        after = self._reader.read(self.position, character.encode("utf-8", "surrogatepass"))
        if after is not None:
            self.position = after
        return after is not None

    def read_byte(self, byte: int) -> bool:
        """Read a byte; return whether it is allowed here."""
        after = self._reader.read(self.position, bytes([byte]))
        self.position = self.position if after is None else after
        return after is not None

    def accepts(self) -> bool:
        """Return whether the text may end here."""
        return self._reader.accepts(self.position)


class SpelledReading(TextReading[Position]):
    """Reads a text in which token symbols are written out: a symbol with a name as that name, others as any bytes.

    While the text can be only inside of names, ``position`` does not change.
    """

    def __init__(
        self,
        reader: ByteReader[Position],
        symbols: SymbolTokens,
    ) -> None:
        super().__init__(reader)
        named = {symbol: code for symbol, code in symbols.codes.items() if symbol.name and not symbol.is_negated}
        self._names = [((symbol.name or "").encode(), code) for symbol, code in named.items()]
        self._unknown = [code for symbol, code in symbols.codes.items() if symbol not in named]
        self._here: Position | None = reader.start  # ``None``: inside of names only
        self._open: list[tuple[bytes, Position]] = []  # the rest of each open name, and the position after it
        self._after_unnamed: list[Position] = []  # the positions after symbols without a name, which may end anywhere

    def read(self, character: str) -> bool:
        """Read a character; return whether it is allowed here."""
        return all(map(self.read_byte, character.encode("utf-8", "surrogatepass")))

    def read_byte(self, byte: int) -> bool:
        """Read a byte; return whether it is allowed here."""
        reader, here = self._reader, self._here
        found, opened = list[Position](), self._open
        if here is not None:
            after = None if byte in _CODES else reader.read(here, bytes([byte]))
            found += [] if after is None else [after]
            ways = [(name, reader.read(here, code)) for name, code in self._names]
            opened = [*opened, *((name, after_name) for name, after_name in ways if after_name is not None)]
            begun = [after_name for code in self._unknown if (after_name := reader.read(here, code)) is not None]
            if begun:
                self._after_unnamed = [reader.united([*self._after_unnamed, *begun])]
        opened = [(rest[1:], after_name) for rest, after_name in opened if rest[0] == byte]
        self._open = [(rest, after_name) for rest, after_name in opened if rest]
        found += [after_name for rest, after_name in opened if not rest]
        found += self._after_unnamed
        self._here = reader.united(found) if found else None
        if self._here is not None:
            self.position = self._here
        return self._here is not None or bool(self._open)

    def accepts(self) -> bool:
        """Return whether the text may end here."""
        return self._here is not None and self._reader.accepts(self._here)


class SymbolGuide(GrammarGuide[Position]):
    """Guides one sequence through a grammar with token symbols; tellers read its tokens by ``token_read``."""

    @property
    def _by_symbols(self) -> SymbolPositions[Position]:
        return cast("SymbolPositions[Position]", self.tokens)

    def _read(self, position: Position, data: bytes) -> Position | None:
        """Read bytes that are not a whole token, and therefore no token symbol."""
        return None if not _CODES.isdisjoint(data) else super()._read(position, data)

    def _only_step(self, position: Position) -> tuple[bytes, Position] | None:
        step = super()._only_step(position)
        return None if step is None or not _CODES.isdisjoint(step[0]) else step

    def _piece_of(self, token_id: int) -> bytes:
        return _TOKEN + b"%d" % token_id

    def _after(self, token_id: int) -> Position | None:
        room = self.room
        after = None if room == 0 else self._by_symbols.after(self._by_symbols.reader, self._positions[-1], token_id)
        if after is None or not self.tokens.fits(after, None if room is None else room - 1):
            return None
        return after


_CODES = frozenset(CODE_BYTES)

_TOKEN = b"\xff"
"""The prefix of a token's id in the bytes that a teller reads; no text contains it."""


def token_read(piece: bytes) -> int | None:
    """Return the token that a piece read by a teller stands for; ``None`` if the piece is text.

    >>> token_read(_TOKEN + b"12"), token_read(b"12")
    (12, None)
    """
    return int(piece[len(_TOKEN) :]) if piece.startswith(_TOKEN) else None
