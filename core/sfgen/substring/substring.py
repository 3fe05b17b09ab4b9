"""A quotation as a constraint: the texts of a document, in whole characters, words or lines.

``Substring`` is the constraint; ``SubstringReader`` reads its texts byte by byte, ``SubstringTokens`` makes its token
masks by a walk of the token trie along the sorted suffixes, a ``GrammarGuide`` walks one sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from sfgen import arguments
from sfgen.errors import DeadEnd, UsageError
from sfgen.grammar.shell.guide import GrammarGuide, KeptByVocabulary
from sfgen.grammar.shell.masks import KeptMasks, allow
from sfgen.index.distance import UNREACHABLE
from sfgen.index.mask_ids import TOKEN_IDS
from sfgen.protocols import Int32, Mask
from sfgen.substring.document import (
    UNITS,
    Document,
    Unit,
    allow_tokens,
    interval_after,
    may_end,
    only_byte,
    spell,
    tokens_left,
)
from sfgen.vocabulary import Vocabulary

_SHOWN = 40  # characters of a document in a repr


_FOLLOWING = 24  # characters of the document that messages show


@dataclass(frozen=True, slots=True)
class SubstringFailure:
    """The position at which a text ceases to be a quotation.

    Attributes:
        position: The number of characters that could be read; the next one is not allowed, or the text cannot end
            there.
        byte: The position in bytes.
        line: The line of the position, from 1.
        column: The character of the line, from 1.
        stands_at: The first occurrence in the document, in characters, of the text that could be read.
        goes_on: The text after it in the document; empty at the end, or if no more may be quoted.
        places: The number of such occurrences.
        at_end: Whether the whole text could be read, so that it is an incomplete quotation.
        may_end: Whether the text might have ended there.
    """

    position: int
    byte: int
    line: int
    column: int
    stands_at: int
    goes_on: str
    places: int
    at_end: bool
    may_end: bool


class Substring:
    """The verbatim quotations of a document: a ``sfgen.protocols.GuidingConstraint``.

    Safe to share between threads. Equal documents with equal options are equal. A million characters are sorted in a
    second.

    Args:
        text: The document.
        unit: The unit of a text. ``"character"``: any substring of characters (code points). ``"word"``: whole words of
            the document, as divided by ``str.split()``. ``"line"``: whole lines, from and to one that is not empty;
            lines end with CR or LF, and the last line end is not part of it.
        least: The fewest units; 0 allows the empty text.
        most: The most units; ``None``: any number.

    Raises:
        UsageError: The document has no such unit, or fewer than ``least``; an argument has a wrong type.

    >>> quote = Substring("to be or not to be", unit="word", least=2)
    >>> quote.accepts("or not"), quote.accepts("o be"), quote.accepts("not")
    (True, False, False)
    """

    @arguments.with_known_names
    def __init__(self, text: str, unit: Unit = "character", least: int = 1, most: int | None = None) -> None:
        hint = "The text of a file is Path(…).read_bytes().decode()." if isinstance(text, PathLike) else ""
        self._text = arguments.text("text", text, hint=hint)
        arguments.one_of("unit", unit, UNITS)
        self._unit: Unit = unit
        self._least = arguments.whole_number("least", least, 0)
        self._most = None if most is None else arguments.whole_number("most", most, 0)
        if self._most is not None and self._most < self._least:
            raise UsageError(
                f"most is {self._most}, and least is {self._least}: no text has that length",
                hint="Give a larger most, or a smaller least.",
            )
        self._set(Document.of(self._text, self._unit, self._least, self._most))

    def _set(self, document: Document) -> None:
        self._document = document
        self._tokens = KeptByVocabulary[SubstringTokens]()

    def __reduce__(self) -> tuple[Any, ...]:
        return Substring, (self._text, self._unit, self._least, self._most)

    def __compiled__(self) -> tuple[Any, ...]:
        return Substring._of_compiled, (*self.__reduce__()[1], self._document)

    @classmethod
    def _of_compiled(cls, text: str, unit: Unit, least: int, most: int | None, document: Document) -> Substring:
        """Return the quotation of a compiled form."""
        made = cls.__new__(cls)
        made._text, made._unit, made._least, made._most = text, unit, least, most
        made._set(document)
        return made

    def __repr__(self) -> str:
        """One line, with the beginning of the document.

        >>> Substring("to be or not to be", "word", most=3)
        Substring('to be or not to be', unit='word', most=3)
        """
        shown = self._text if len(self._text) <= _SHOWN else self._text[: _SHOWN - 1] + "…"
        options = "" if self._unit == "character" else f", unit={self._unit!r}"
        options += "" if self._least == 1 else f", least={self._least}"
        options += "" if self._most is None else f", most={self._most}"
        return f"Substring({shown!r}{options})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Substring) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self._text, self._unit, self._least, self._most

    # ---- its parts -------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The document."""
        return self._text

    @property
    def unit(self) -> Unit:
        """The unit of a text: ``"character"``, ``"word"`` or ``"line"``."""
        return self._unit

    @property
    def least(self) -> int:
        """The fewest units."""
        return self._least

    @property
    def most(self) -> int | None:
        """The most units; ``None``: any number."""
        return self._most

    @property
    def units(self) -> int:
        """The units of the whole document."""
        return len(self._document.ends)

    @property
    def document(self) -> Document:
        """The document as sorted suffixes, with the offsets of possible starts."""
        return self._document

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the document's UTF-8, in hexadecimal digits."""
        return sha256(self._text.encode()).hexdigest()

    @cached_property
    def reader(self) -> SubstringReader:
        """Reads texts, byte by byte."""
        return SubstringReader(self._document)

    def to_dict(self) -> dict[str, Any]:
        """Return the constraint as plain data for JSON.

        The document is named by its digest.

        >>> Substring("a b", "word").to_dict()["substring"]["units"]
        2
        """
        return {
            "substring": {
                "sha256": self.digest,
                "characters": len(self._text),
                "units": self.units,
                "unit": self._unit,
                "least": self._least,
                "most": self._most,
            }
        }

    # ---- its texts -------------------------------------------------------------------------------------------------

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is a quotation; bytes are its UTF-8."""
        data = arguments.utf8("text", text)
        position = None if data is None else self.reader.read(self.reader.start, data)
        return position is not None and self.reader.accepts(position)

    def shortest(self) -> bytes:
        """Find a shortest text; of several the one with the smaller bytes.

        >>> Substring("long short longer", "word").shortest()
        b'long'
        """
        return self.reader.shortest(self.reader.start)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Search a finished text in the document, with Python's own search.

        Returns:
            ``None`` if it is there; else the constraint, and the judge that refuses.
        """
        try:
            is_there = arguments.data("data", data).decode() in self._text
        except UnicodeDecodeError:
            is_there = False
        return None if is_there else {"constraint": repr(self), "refused by": "str"}

    def places(self, text: str | bytes) -> tuple[int, ...]:
        """List the positions of a text in the document, in characters, ascending.

        Returns:
            The positions; none if the text is empty or not of the constraint.

        >>> Substring("to be or not to be", "word").places("be")
        (3, 16)
        """
        data = arguments.utf8("text", text)
        if data is None or not data or not self.accepts(data):
            return ()
        position = self.reader.read(self.reader.start, data)
        assert position is not None, "it is accepted"
        document, content = self._document, self._document.data.tobytes()
        starts = document.order[position.low : position.high].astype(np.int64)
        ends = starts + len(data)
        is_end = (ends <= document.stops[position.low : position.high]) & (
            document.ends[np.maximum(document.counts[np.minimum(ends, len(content))], 1) - 1] == ends
        )
        places, characters, at = list[int](), 0, 0
        for start in sorted(starts[is_end].tolist()):
            characters, at = characters + len(content[at:start].decode()), start
            places.append(characters)
        return tuple(places)

    def failure(self, text: str) -> SubstringFailure | None:
        """Find where a text ceases to be a quotation.

        ``None`` if the text is one.

        >>> found = Substring("to be or not to be").failure("to bee")
        >>> found.position, found.stands_at, found.goes_on
        (5, 0, ' or not to be')
        """
        reader, position, read = self.reader, self.reader.start, 0
        for character in arguments.text("text", text):
            after = reader.read(position, character.encode("utf-8", "surrogatepass"))
            if after is None:
                break
            position, read = after, read + 1
        may_end = reader.accepts(position)
        if read == len(text) and may_end:
            return None
        document = self._document
        starts, stops = document.order[position.low : position.high], document.stops[position.low : position.high]
        is_there = starts.astype(np.int64) + position.depth <= stops
        first = int(np.where(is_there, starts, len(document.data)).argmin())
        start, stop = int(starts[first]), int(stops[first])
        content = document.data.tobytes()
        goes_on = content[start + position.depth : min(stop, start + position.depth + 4 * _FOLLOWING)]
        before = text[:read]
        line_begin = before.rfind("\n") + 1
        return SubstringFailure(
            position=read,
            byte=position.depth,
            line=before.count("\n") + 1,
            column=read - line_begin + 1,
            stands_at=len(content[:start].decode()),
            goes_on=goes_on.decode("utf-8", "ignore")[:_FOLLOWING],
            places=int(is_there.sum()),
            at_end=read == len(text),
            may_end=may_end,
        )

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> GrammarGuide[Position]:
        """Return a new guide for one sequence of tokens.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The tokens that the sequence may take, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        tokens = self._tokens.of(vocabulary, lambda each: SubstringTokens(self.reader, each))
        if not tokens.fits(self.reader.start, None):
            raise DeadEnd(
                "no sequence of tokens of this vocabulary writes any text of the document",
                hint="Use a model whose tokenizer can write the document.",
            )
        return GrammarGuide(tokens, max_tokens, tokens.described)


def quoted_documents(documents: object) -> dict[str, Substring]:
    """Read documents by name: texts, or the constraints of some; ``None``: there are none."""
    constraints: dict[str, Substring] = {}
    for name, document in ({} if documents is None else arguments.mapping("documents", documents)).items():
        arguments.text("a name in documents", name)
        try:
            constraints[name] = document if isinstance(document, Substring) else Substring(document)
        except UsageError as error:
            raise UsageError(f"documents[{name!r}]: {error.message}", hint=error.hint) from None
    return constraints


_FEW = 64
"""The most suffixes whose mask takes microseconds: a walk visits few nodes, and the mask is not kept."""


_KEPT = 32 << 20
"""The most bytes of masks that are kept."""


_NONE: Int32 = np.empty(0, dtype=np.int32)


_NO_WAYS = (_NONE, _NONE, _NONE, np.empty(0, dtype=np.int64), _NONE, _NONE, _NONE)


class Position(NamedTuple):
    """A position of a quotation: an interval of the sorted suffixes, those that begin with the text so far.

    Attributes:
        low: The first of the sorted suffixes that begin with the text.
        high: The index after the last of them.
        depth: The length of the text in bytes.
    """

    low: int
    high: int
    depth: int


class SubstringReader:
    """Reads quotations: a ``sfgen.index.readers.PositionReader``. It can be shared between threads."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.start = Position(0, len(document.order), 0)
        self._places: tuple[Any, ...] = (document.data, document.order, document.stops)

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` if no quotation continues with them."""
        low, high = interval_after(*position, np.frombuffer(data, dtype=np.uint8), *self._places)
        return Position(low, high, position.depth + len(data)) if low < high else None

    def accepts(self, position: Position) -> bool:
        """Return whether the quotation may end at a position."""
        document = self.document
        return bool(may_end(*position, document.least, document.order, document.stops, document.counts))

    def is_final(self, position: Position) -> bool:
        """Return whether no more of the document can follow."""
        return bool(only_byte(*position, *self._places) == -2)

    def only_step(self, position: Position) -> tuple[bytes, Position] | None:
        """Return the only byte that can follow, and the position after it."""
        byte = only_byte(*position, *self._places)
        if byte < 0:
            return None
        data = bytes([byte])
        after = self.read(position, data)
        return None if after is None else (data, after)

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end; of several the one with the smaller bytes."""
        document = self.document
        starts = document.order[position.low : position.high].astype(np.int64)
        stops = document.stops[position.low : position.high]
        if position.depth == 0 and document.least == 0:
            return b""
        units = np.maximum(document.counts[starts] + max(document.least, 1), 1) - 1
        at = starts + position.depth
        here = document.counts[np.minimum(at, len(document.data))]
        is_end = (position.depth > 0) & (document.ends[np.maximum(here, 1) - 1] == at)
        ends = document.ends[np.minimum(np.maximum(units, here - is_end), len(document.ends) - 1)]
        lengths = np.where((at <= stops) & (ends >= at), ends - at, np.int64(UNREACHABLE))
        first = int(lengths.argmin())
        return document.data[at[first] : at[first] + lengths[first]].tobytes()


class SubstringTokens:
    """The tokens of quotations: a ``sfgen.index.readers.PositionMasks``. It can be shared between threads."""

    def __init__(self, reader: SubstringReader, vocabulary: Vocabulary) -> None:
        self.reader = reader
        self.vocabulary = vocabulary
        document, trie = reader.document, vocabulary.trie
        # If every byte of the document is a token by itself, no position is a dead end.
        self._steps_byte_by_byte = bool(trie.single_bytes[np.unique(document.data)].all())
        self._masks = KeptMasks[Position, Mask](_KEPT)

    @cached_property
    def _ways(self) -> tuple[Any, ...]:
        """The arrays with the fewest tokens; see ``sfgen.substring.document.tokens_left``."""
        document, trie = self.reader.document, self.vocabulary.trie
        fewest, landings, to_unit, following, jumps, steps = np.empty((6, len(document.counts)), dtype=np.int32)
        spell(
            document.data, document.counts, document.ends, fewest, landings, to_unit, following, jumps, steps,
            trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots,
        )  # fmt: skip
        by_units = np.concatenate([[0], np.cumsum(to_unit[document.ends[:-1]], dtype=np.int64)])
        return fewest, landings, to_unit, by_units, following, jumps, steps

    def mask(self, position: Position) -> Mask:
        """Return the token mask of a position, end tokens included; read-only."""
        mask = self._masks.get(position)
        if mask is None:
            mask = self._make(position, None if self._steps_byte_by_byte else int(UNREACHABLE))
            if position.high - position.low > _FEW:
                mask = self._masks.keep(position, mask)
        return mask

    def bounded_mask(self, position: Position, room: int) -> Mask:
        """Return the token mask of a position after which at most ``room`` tokens may follow."""
        return self._make(position, room)

    def _make(self, position: Position, room: int | None) -> Mask:
        vocabulary, document = self.vocabulary, self.reader.document
        trie = vocabulary.trie
        mask = np.zeros((len(vocabulary) + 31) // 32, dtype=np.uint32)
        if room != 0:
            lows, highs = np.empty((2, trie.max_depth + 1), dtype=np.int32)
            arguments: tuple[Any, ...] = (
                *position, -1 if room is None else room, mask, lows, highs, document.least, document.data,
                document.order, document.stops, document.counts, document.ends,
                *(_NO_WAYS if room is None else self._ways),
                trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids,
            )  # fmt: skip
            allow_tokens(*arguments)
        if self.reader.accepts(position):
            allow(mask, vocabulary.end_token_ids)
        mask.setflags(write=False)
        return mask

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: Position, room: int | None) -> bool:
        """Return whether the mask of a position is made or takes microseconds, with a limit or without."""
        return position.high - position.low <= _FEW or position in self._masks

    def fits(self, position: Position, room: int | None) -> bool:
        """Return whether the quotation can be completed with ``room`` tokens; ``None``: any number."""
        if room is None:
            room = int(UNREACHABLE) - 1
            return self._steps_byte_by_byte or self._least(position, room) <= room
        return self._least(position, room) <= room

    def tokens_left(self, position: Position) -> int:
        """Return the fewest tokens to an end, or an upper bound that some token decreases by one."""
        return self._least(position, 0)

    def _least(self, position: Position, enough: int) -> int:
        document = self.reader.document
        least: int = tokens_left(
            *position, enough, document.least, document.order, document.stops, document.counts, document.ends,
            *self._ways,
        )  # fmt: skip
        return least

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end."""
        return self.reader.shortest(position)

    def described(self, position: Position) -> str:
        """Describe the positions of a text in the document, in bytes."""
        if position.depth == 0:
            return "the beginning"
        places = position.high - position.low
        if places > 1:
            return f"{places:,} places"
        at = int(self.reader.document.order[position.low]) + position.depth
        return f"byte {at:,} of the document"
