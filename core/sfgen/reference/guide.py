"""The guide of the reference engines, and characters that tokens cut apart.

Tokens are bytes, and patterns read characters: where a token ends within a character, its first bytes are *pending*
(``split``, ``characters_from``). ``CharacterClasses`` has one character for each class that a pattern cannot tell
apart. ``ReferenceGuide`` walks one sequence through the index of either engine.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Hashable, Iterable
from typing import Protocol, TypeVar

from sfgen import arguments
from sfgen.index import BaseGuide
from sfgen.protocols import Int32
from sfgen.regex.ast import Characters, Node, children
from sfgen.regex.characters import Ranges
from sfgen.regex.oracle import who_refuses
from sfgen.vocabulary import Vocabulary

_decoder = codecs.getincrementaldecoder("utf-8")


def split(data: bytes) -> tuple[str, bytes] | None:
    r"""Split bytes into whole characters and an unfinished one.

    >>> split("né".encode()), split(b"n\xc3"), split(b"n\xa9")
    (('né', b''), ('n', b'\xc3'), None)
    """
    decoder = _decoder()
    try:
        text, pending = decoder.decode(data), decoder.getstate()[0]
    except UnicodeDecodeError:
        return None
    # A surrogate is not text, but the decoder recognizes it only at the third byte.
    return None if pending >= b"\xed\xa0" and pending[0] == 0xED else (text, pending)


def characters_from(pending: bytes) -> tuple[int, int]:
    r"""Return the first and last character whose UTF-8 begins so.

    No surrogate is between them, except where no bytes are pending.

    >>> [hex(code) for code in characters_from(b"\xc3")], [hex(code) for code in characters_from(b"\xed")]
    (['0xc0', '0xff'], ['0xd000', '0xd7ff'])
    """
    if not pending:
        return 0, 0x10FFFF
    length = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    bits = pending[0] & (0x7F >> length)
    for byte in pending[1:]:
        bits = bits << 6 | byte & 0x3F
    missing = 6 * (length - len(pending))
    low, high = bits << missing, (bits + 1) << missing
    # Shorter spellings of a character are not allowed, nor are surrogates, nor what is beyond the last character.
    least, past = {2: (0x80, 0x800), 3: (0x800, 0x10000), 4: (0x10000, 0x110000)}[length]
    if length == 3 and low == 0xD000:
        past = 0xD800
    return max(low, least), min(high, past) - 1


class CharacterClasses:
    """The partition of all characters by some sets of characters.

    Two characters are in one class if each of the sets has both of them or neither.

    >>> classes = CharacterClasses([((97, 122),), ((48, 57), (97, 102))])
    >>> classes.representatives(ord("0"), ord("z"))
    ['0', ':', 'a', 'g']
    """

    def __init__(self, sets: Iterable[Ranges]) -> None:
        changes: dict[int, int] = {0: 0}  # where → which sets begin or end there, as bits
        for number, ranges in enumerate(dict.fromkeys(sets)):
            for first, last in ranges:
                for position in (first, last + 1):
                    changes[position] = changes.get(position, 0) ^ 1 << number
        self._starts = sorted(changes)
        self._members = []  # the sets, as bits, that have the characters from this start to the next
        members = 0
        for start in self._starts:
            members ^= changes[start]
            self._members.append(members)

    def representatives(self, first: int = 0, last: int = 0x10FFFF) -> list[str]:
        """Return the first character of each class within a range.

        Surrogates are not characters.
        """
        return [least for least, _ in self.extents(first, last)]

    def extents(self, first: int = 0, last: int = 0x10FFFF) -> list[tuple[str, str]]:
        """Return the first and last character of each class within a range.

        Surrogates are not characters.

        >>> CharacterClasses([((97, 122),), ((48, 57), (97, 102))]).extents(ord("0"), ord("z"))
        [('0', '9'), (':', '`'), ('a', 'f'), ('g', 'z')]
        """
        if first < 0xD800 <= last:
            parts = [(first, 0xD7FF), (0xE000, last)] if last >= 0xE000 else [(first, 0xD7FF)]
        else:
            parts = [(first, last)]
        extents: dict[int, tuple[str, str]] = {}
        for low, high in parts:
            position = bisect_right(self._starts, low) - 1
            while position < len(self._starts) and self._starts[position] <= high:
                end = self._starts[position + 1] - 1 if position + 1 < len(self._starts) else high
                members, here = self._members[position], (chr(max(self._starts[position], low)), chr(min(end, high)))
                extents[members] = (extents[members][0] if members in extents else here[0], here[1])
                position += 1
        return list(extents.values())


def character_sets(tree: Node) -> list[Ranges]:
    """List the sets of characters in a pattern."""
    sets, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters):
            sets.append(node.ranges)
        waiting.extend(children(node))
    return sets


State = TypeVar("State", bound=Hashable)

_MOST_FORCED = 4096


class ReferenceIndex(Protocol[State]):
    """An index that a reference guide can follow.

    A state is the index's own representation of the text so far.

    Attributes:
        pattern: The pattern of the text.
        vocabulary: The tokens.
        classes: The classes of characters that the pattern tells apart.
    """

    pattern: str
    vocabulary: Vocabulary
    classes: CharacterClasses

    @property
    def start(self) -> State:
        """The state of the empty text."""

    def allowed_tokens(self, state: State) -> Int32:
        """Return the text tokens that may follow, ascending, int32."""

    def read(self, state: State, data: bytes) -> State | None:
        """Return the state after some bytes; ``None`` if they are refused."""

    def pending(self, state: State) -> bytes:
        """Return the bytes of the unfinished character at the end."""

    def is_accepting(self, state: State) -> bool:
        """Return whether the text may end."""

    def number(self, state: State) -> int:
        """Return a number that identifies the state, for events and views."""

    def accepts(self, data: bytes) -> bool:
        """Return whether a whole text in UTF-8 is a match."""


class ReferenceGuide(BaseGuide[State]):
    """A guide of one sequence through an index without lookahead.

    A token is allowed if *some* text can follow it. So a sequence can come to a position where no token follows, or to
    the limit before the text is complete. Both are errors, and no text is ever cut.

    Args:
        index: The index.
        max_tokens: The most tokens of the text, without the end token; ``None``: any number.
    """

    limit_hint = "The engines naive and fsm do not look ahead: allow more tokens, or use the default engine."
    dead_end_hint = "The engines naive and fsm do not look ahead: use the default engine."

    def __init__(self, index: ReferenceIndex[State], max_tokens: int | None = None) -> None:
        arguments.given("index", index, "an index of sfgen.reference", "start", "read", "is_accepting", "number")
        self.index = index
        super().__init__(index.vocabulary, index.start, max_tokens)

    def _read(self, position: State, data: bytes) -> State | None:
        return self.index.read(position, data)

    def _accepts(self, position: State) -> bool:
        return self.index.is_accepting(position)

    def _text_tokens(self, position: State) -> Int32:
        return self.index.allowed_tokens(position)

    def _number(self, position: State) -> int:
        return self.index.number(position)

    def _is_final(self, position: State) -> bool:
        return self._next_character(position) is None

    def _only_step(self, position: State) -> tuple[bytes, State] | None:
        """The byte that must follow: that of the least and the greatest character, as UTF-8 is in their order."""
        characters = self._next_character(position)
        if characters is None or characters[0][:1] != characters[1][:1]:
            return None
        byte = characters[0][:1]
        after = self._read(position, byte)
        return None if after is None else (byte, after)

    def _next_character(self, position: State) -> tuple[bytes, bytes] | None:
        """The least and the greatest character that can be read next, without their bytes that are pending.

        Of characters that the pattern cannot tell apart one is tried. A byte at a time would be 256 tries.
        """
        pending = self.index.pending(position)
        begun = len(pending)
        readable = [
            (least.encode()[begun:], greatest.encode()[begun:])
            for least, greatest in self.index.classes.extents(*characters_from(pending))
            if self._read(position, least.encode()[begun:]) is not None
        ]
        return (min(least for least, _ in readable), max(greatest for _, greatest in readable)) if readable else None

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end. The engine ``naive`` may see no end of what must
        follow where in truth nothing can, as in ``a*+ab``.

        Args:
            most: The most bytes to return; ``None``: 4096.
        """
        return super().forced_bytes(_MOST_FORCED if most is None else most)


def refusal(index: ReferenceIndex[State], text: bytes) -> dict[str, str] | None:
    """Check a finished text with an index, and then with ``re``."""
    refused_by = who_refuses(index.pattern, text) if index.accepts(text) else "the index itself"
    return None if refused_by is None else {"pattern": index.pattern, "refused by": refused_by}
