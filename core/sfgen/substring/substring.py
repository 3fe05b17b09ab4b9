"""A quotation as a constraint: the texts that stand in a document, in whole characters, words or lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from os import PathLike
from typing import Any

import numpy as np

from sfgen import arguments
from sfgen.errors import DeadEnd, UsageError
from sfgen.grammar.guide import GrammarGuide, KeptByVocabulary
from sfgen.substring.document import UNITS, Document, Unit
from sfgen.substring.tokens import Position, SubstringReader, SubstringTokens
from sfgen.vocabulary import Vocabulary

_SHOWN = 40  # characters of a document in a repr
_FOLLOWING = 24  # characters of the document that messages show


@dataclass(frozen=True, slots=True)
class SubstringFailure:
    """Where a text ceases to be a quotation.

    Attributes:
        position: How many characters could be read; the next one cannot stand there, or the text cannot end there.
        byte: The same in bytes.
        line: The line of that, from 1.
        column: The character of the line, from 1.
        stands_at: Where in the document the text stands as far as it could be read, in characters: the first place.
        goes_on: What follows in the document at that place; empty at its end, or where no more may be quoted.
        places: At how many places of the document the text stands as far as it could be read.
        at_end: Whether the whole text could be read, so that it is the beginning of a quotation.
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
    """The texts that stand in a document, word for word: a ``sfgen.protocols.GuidingConstraint``.

    Safe to share between threads. Equal documents with equal options are equal. A million characters are sorted in a
    second.

    Args:
        text: The document.
        unit: Of what a text is made. ``"character"``: any substring of characters (code points). ``"word"``: it begins
            and ends where a word of the document does; words are what ``str.split()`` finds. ``"line"``: it begins and
            ends where a line does that is not empty; lines end with CR or LF, and the last line end is not part of it.
        least: The fewest units; 0 allows the empty text.
        most: The most units; ``None``: any number.

    Raises:
        UsageError: The document has no such unit, or fewer than ``least``; an argument is of the wrong kind.

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
        self._document = Document.of(self._text, self._unit, self._least, self._most)
        self._tokens = KeptByVocabulary(lambda vocabulary: SubstringTokens(self.reader, vocabulary))

    def __reduce__(self) -> tuple[Any, ...]:
        return Substring, (self._text, self._unit, self._least, self._most)

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

    # ---- what it is made of ----------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The document."""
        return self._text

    @property
    def unit(self) -> Unit:
        """Of what a text is made: ``"character"``, ``"word"`` or ``"line"``."""
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
        """Where texts may begin and end."""
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
        """Tell whether a whole text is a quotation; bytes are its UTF-8."""
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
            ``None`` if it is there; else the constraint, and who refuses.
        """
        try:
            is_there = arguments.data("data", data).decode() in self._text
        except UnicodeDecodeError:
            is_there = False
        return None if is_there else {"constraint": repr(self), "refused by": "str"}

    def places(self, text: str | bytes) -> tuple[int, ...]:
        """List where in the document a text stands, in characters, ascending.

        Returns:
            Nothing where it is not a text of the constraint, or empty.

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
        found, characters, at = list[int](), 0, 0
        for start in sorted(starts[is_end].tolist()):
            characters, at = characters + len(content[at:start].decode()), start
            found.append(characters)
        return tuple(found)

    def failure(self, text: str) -> SubstringFailure | None:
        """Find where a text ceases to be a quotation.

        It is ``None`` where the text is one.

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

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> SubstringGuide:
        """Return a new guide for one sequence of tokens.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The tokens that the sequence may take, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        tokens = self._tokens.of(vocabulary)
        if not tokens.fits(self.reader.start, None):
            raise DeadEnd(
                "no sequence of tokens of this vocabulary writes any text of the document",
                hint="Use a model whose tokenizer can write the document.",
            )
        return SubstringGuide(tokens, max_tokens)


def quoted_documents(documents: object) -> dict[str, Substring]:
    """Read documents by name: texts, or the constraints of some; ``None``: there are none.

    Raises:
        UsageError: They are something else, or one has nothing that could be quoted.
    """
    found: dict[str, Substring] = {}
    for name, document in ({} if documents is None else arguments.mapping("documents", documents)).items():
        arguments.text("a name in documents", name)
        try:
            found[name] = document if isinstance(document, Substring) else Substring(document)
        except UsageError as error:
            raise UsageError(f"documents[{name!r}]: {error.message}", hint=error.hint) from None
    return found


class SubstringGuide(GrammarGuide[Position]):
    """Walks one sequence through the texts of a document.

    Args:
        tokens: The tokens of its quotations.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    tokens: SubstringTokens

    def _describe(self, position: Position) -> str:
        """Where in the document the text stands, by bytes."""
        if position.depth == 0:
            return "the beginning"
        places = position.high - position.low
        if places > 1:
            return f"{places:,} places"
        document = self.tokens.reader.document
        at = int(document.order[position.low]) + position.depth
        return f"byte {at:,} of the document"
