"""The parts of a sequence: a literal, free text up to a marker, and texts of a constraint.

A part knows how a place in it reads a byte, whether the part may end there and whether it may go on. Where both are
possible, its *ending* decides:

* ``anywhere``: it may end wherever its text is complete, like a part of a regular expression. All ways to read a text
  are followed.
* ``earliest``: it ends where its text is complete for the first time, as free text does at its marker.
* ``longest``: it ends where it cannot read on, like a token of a lexer; no token of the vocabulary holds its end and
  text after it. The parts after it may be empty, or begin with a byte that continues no complete text.

A place in a text of a constraint is a position of its guide, which ``machine_of`` makes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import GenerationError, UsageError
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.distance import UNREACHABLE, byte_distances
from sfgen.index.guide import NO_TOKENS, BaseGuide
from sfgen.index.marker import Marker
from sfgen.index.readers import GuideReader, PositionMasks, PositionReader, ReaderOfTwo
from sfgen.index.unconstrained import UnconstrainedGuide
from sfgen.protocols import Guide, GuideSource, Int32, Mask, Tokens
from sfgen.vocabulary import TokenTrie

Ending: TypeAlias = Literal["anywhere", "earliest", "longest"]
"""The rule by which a part ends; see the module."""


class PartReader:
    """One part of a sequence.

    Attributes:
        start: The place at its start.
        counts: Whether tokens that write some of it count to the limit. If they do not, those of the parts before it do
            not either.
        key: Distinguishes it from other parts before the same source.
        is_definite: Whether it ends in one way, whatever follows it.
    """

    start: Any
    counts: bool
    key: Hashable
    is_definite = True

    def ends(self, inside: Any) -> bool:
        """Whether the part may end."""
        raise NotImplementedError

    def goes_on(self, inside: Any) -> bool:
        """Whether the part may go on."""
        raise NotImplementedError

    def ends_in(self, data: bytes, start: int) -> list[int]:
        """The offsets, ascending, at which it may end in a finished text if it begins at an offset."""
        raise NotImplementedError

    def only_step(self, inside: Any) -> tuple[bytes, Hashable] | None:
        """The only byte with which the part can go on, and the place after it."""
        raise NotImplementedError

    def forced(self, inside: Any, most: int | None) -> bytes:
        """Bytes of the part that must follow where it does not end, at most N; there may be more."""
        raise NotImplementedError

    def after(self, inside: Any, data: bytes) -> Hashable | None:
        """The place after some bytes, all of which belong to the part; ``None`` where it does not read them."""
        raise NotImplementedError

    def leads_on(self, inside: Any) -> bool:
        """Whether what is after the part may begin here, whatever its first byte is."""
        return self.ends(inside)

    def stops(self, inside: Any) -> bool:
        """Whether the whole text may end here, though the part does not."""
        return False


class Fixed(PartReader):
    """A literal; a place is the rest of it.

    Args:
        data: Its bytes.
        counts: Whether tokens that write it count to the limit.
        token: The special token that alone writes it; ``None``: text.
    """

    token: int | None = None

    def __init__(self, data: bytes, *, counts: bool = True, token: int | None = None) -> None:
        if not arguments.data("literal", data):
            raise UsageError("the literal is empty", hint="Leave it out.")
        self.data = self.start = bytes(data)
        self.counts = arguments.flag("counts", counts)
        self.token = token if token is None else arguments.whole_number("token", token, least=0)
        self.key = self.data, counts, token

    def rest(self, inside: bytes) -> bytes:
        """The bytes that are still to come."""
        return inside

    def take(self, inside: bytes, data: bytes) -> tuple[bytes, int] | None:
        """The rest after the first bytes of ``data`` that belong to it, and their number."""
        size = min(len(inside), len(data))
        return (inside[size:], size) if inside[:size] == data[:size] else None

    def ends(self, inside: bytes) -> bool:
        """Whether nothing is left."""
        return not inside

    def goes_on(self, inside: bytes) -> bool:
        """Whether something is left."""
        return bool(inside)

    def ends_in(self, data: bytes, start: int) -> list[int]:
        """The offset at which it ends in a finished text; none where the text is another."""
        return [start + len(self.data)] if data.startswith(self.data, start) else []

    def only_step(self, inside: bytes) -> tuple[bytes, bytes] | None:
        """The next byte, if it is text."""
        return (inside[:1], inside[1:]) if self.token is None else None

    def forced(self, inside: bytes, most: int | None) -> bytes:
        """All that is still to come, if it is text."""
        return inside[:most] if self.token is None else b""

    def takes_special(self, inside: bytes) -> bool:
        """Whether its special token may stand here."""
        return self.token is not None and inside == self.data

    def after(self, inside: bytes, data: bytes) -> bytes | None:
        """The rest after some bytes of it."""
        return inside[len(data) :] if inside.startswith(data) else None


class Copy(Fixed):
    """The text of an earlier part once more; a place is the rest of it.

    Args:
        source: The earlier part, counted from the last one back: -1, -2, …
    """

    def __init__(self, source: int) -> None:
        self.source, self.counts = source, True
        self.key = source


class InFree(NamedTuple):
    """A place in free text.

    Attributes:
        state: The state of the marker.
        left: The tokens that may still be written before the marker must follow; ``None``: any number.
    """

    state: int
    left: int | None


class Free(PartReader):
    """Free text up to a marker, and the marker.

    Args:
        marker: The marker that ends it.
        max_tokens: The most tokens that begin in it; then the rest of the marker must follow. ``None``: any number.
        counts: Whether its tokens count to the limit of the sequence.
        stops: Whether the whole text may end in it, without the marker.
        title: Its name in views.
    """

    def __init__(
        self,
        marker: Marker,
        max_tokens: int | None = None,
        *,
        counts: bool = True,
        stops: bool = False,
        title: str = "free text",
    ) -> None:
        self.marker = arguments.instance("marker", marker, Marker)
        if max_tokens is not None:
            max_tokens = arguments.whole_number("max_tokens", max_tokens, least=0)
        self.start = InFree(0, max_tokens)
        self.counts, self._stops = arguments.flag("counts", counts), arguments.flag("stops", stops)
        self.title = arguments.text("title", title)
        self.key = marker, counts, stops

    def take(self, inside: InFree, data: bytes) -> tuple[InFree, int] | None:
        """The place after the first bytes of ``data`` that belong to it, up to the marker's end, and their number."""
        if inside.left == 0:
            rest = self.rest(inside)
            size = min(len(rest), len(data))
            return (InFree(inside.state + size, 0), size) if rest[:size] == data[:size] else None
        state, used = self.marker._after(inside.state, data)
        return InFree(state, inside.left), used

    def rest(self, inside: InFree) -> bytes:
        """The rest of the marker, if it goes on."""
        return self.marker.data[inside.state :]

    def ends(self, inside: InFree) -> bool:
        """Whether the marker is complete."""
        return inside.state == len(self.marker.data)

    def goes_on(self, inside: InFree) -> bool:
        """Whether the marker is incomplete."""
        return inside.state < len(self.marker.data)

    def stops(self, inside: InFree) -> bool:
        """Whether the whole text may end here."""
        return self._stops

    def only_step(self, inside: InFree) -> tuple[bytes, InFree] | None:
        """The next byte of the marker, where it must follow as text."""
        if inside.left != 0 or self.takes_special(inside):
            return None
        return self.rest(inside)[:1], InFree(inside.state + 1, 0)

    def forced(self, inside: InFree, most: int | None) -> bytes:
        """The rest of the marker, where it must follow as text."""
        return b"" if inside.left != 0 or self.takes_special(inside) else self.rest(inside)[:most]

    def after(self, inside: InFree, data: bytes) -> InFree | None:
        """The place after some bytes up to the marker's end."""
        taken = self.take(inside, data)
        return None if taken is None or taken[1] < len(data) else taken[0]

    def is_cut(self, text: bytes) -> bool:
        """Whether a finished text of it has no marker at its end."""
        return not text.endswith(self.marker.data)

    def ends_in(self, data: bytes, start: int) -> list[int]:
        """The end of the first marker in a finished text; without one the end of the text, if it may stop there."""
        found = data.find(self.marker.data, start)
        return [found + len(self.marker.data)] if found >= 0 else [len(data)] if self._stops else []

    def takes_special(self, inside: InFree) -> bool:
        """Whether the special token of the marker may stand here.

        It may not where a marker would end inside of its text.
        """
        marker = self.marker
        return marker.token is not None and marker._after(inside.state, marker.data)[1] == len(marker.data)

    def after_token(self, inside: InFree) -> InFree:
        """The place after a token that began and ended in it."""
        return inside if not inside.left else InFree(inside.state, inside.left - 1)


class ReadText(PartReader):
    """A text that a reader reads; a place is a position of the reader.

    Args:
        reader: The reader.
        ends: Where the text ends.
        whole: Another reader, if the text is the longest one of that; ``None``: the longest one of ``reader``.
        dfa: The automaton whose longest text it is; ``None``: there is none, or it is not known.
    """

    counts = True

    def __init__(
        self,
        reader: PositionReader[Any],
        ends: Ending = "anywhere",
        *,
        whole: PositionReader[Any] | None = None,
        dfa: Dfa | None = None,
    ) -> None:
        arguments.one_of("ends", ends, ("anywhere", "earliest", "longest"))
        self.ending, self.is_definite = ends, ends != "anywhere"
        self._dfa = dfa
        both = reader if whole is None else ReaderOfTwo(reader, whole)
        self.start = both.start
        self._read, self._accepts, self._is_final = both.read, both.accepts, both.is_final
        self._only_step = both.only_step
        self._whole = whole

    def after(self, inside: Any, data: bytes) -> Hashable | None:
        """The place after some bytes."""
        return self._read(inside, data)

    def ends(self, inside: Any) -> bool:
        """Whether the text is complete."""
        return self._accepts(inside)

    def goes_on(self, inside: Any) -> bool:
        """Whether it may be continued."""
        if not self._accepts(inside):
            return True
        return self.ending != "earliest" and not self._is_final(inside)

    def lets_go(self, inside: Any, byte: bytes) -> bool:
        """Whether the longest text ends before a byte."""
        if not self._accepts(inside):
            return False
        after = self._read(inside, byte) if self._whole is None else self._whole.read(inside.whole, byte)
        return after is None

    def leads_on(self, inside: Any) -> bool:
        """Whether what is after the part may begin here, whatever its first byte is."""
        return self._accepts(inside) and (self.ending != "longest" or self._is_final(inside))

    def ends_in(self, data: bytes, start: int) -> list[int]:
        """The offsets at which its text is complete; of a longest text only the last one, where it cannot go on."""
        inside, ends = self.start, [start] if self.ends(self.start) else []
        for at in range(start, len(data)):
            byte = data[at : at + 1]
            if not self.goes_on(inside) or (self.ending == "longest" and self.lets_go(inside, byte)):
                break
            inside = self.after(inside, byte)
            if inside is None:
                return ends if self.ending == "anywhere" else []
            if self.ends(inside):
                ends.append(at + 1)
        return ends if self.ending == "anywhere" else ends[-1:] if self.ends(inside) else []

    def only_step(self, inside: Any) -> tuple[bytes, Hashable] | None:
        """The only byte that the reader reads, and the place after it."""
        return self._only_step(inside)

    def may_go_on_with(self, byte: int) -> bool:
        """Whether a complete text may go on with a byte; true where the answer is not quickly known."""
        dfa = self._dfa
        return dfa is None or bool((dfa.transitions[dfa.accepting, dfa.byte_classes[byte]] >= 0).any())


class Constrained(ReadText):
    """A text of a constraint over a vocabulary; a place is a position of its guide.

    Args:
        source: The constraint over a vocabulary.
        ends: Where it ends.
        whole: The constraint whose longest text it is, if ``source`` has only some of its texts; ``None``: ``source``.
            After the text, no text may follow that would extend it to a longer one that ``source`` does not allow.
    """

    def __init__(self, source: GuideSource, ends: Ending = "anywhere", *, whole: GuideSource | None = None) -> None:
        arguments.given("each of parts", source, "an index", "vocabulary", "guide", "refusal")
        if whole is not None:
            arguments.given("whole", whole, "an index", "vocabulary", "guide", "refusal")
            if ends != "longest":
                raise UsageError("whole is for a part that ends at its longest", hint="Leave whole out.")
        self.source = source
        self.machine = machine_of(source)
        self.is_alone = whole is None or whole is source
        """Whether it is a longest text of ``source`` itself."""
        longer = self.machine if whole is None or self.is_alone else machine_of(whole)
        super().__init__(
            GuideReader(self.machine),
            ends,
            whole=None if self.is_alone else GuideReader(longer),
            dfa=longer.index.dfa if isinstance(longer, DfaGuide) else None,
        )
        engine = getattr(self.machine, "tokens", None)
        self._engine: PositionMasks[Any] | None = engine if hasattr(engine, "bounded_mask") else None
        self._fits = self.machine._fits if self._engine is None else self._engine.fits
        self.key = ends, self.is_alone

    def place(self, inside: Any) -> Any:
        """The position of the guide of ``source``."""
        return inside if self.is_alone else inside.inside

    def forced(self, inside: Any, most: int | None) -> bytes:
        """The bytes that must follow in the constraint."""
        return self.guide(inside, None).forced_bytes(most)

    def rest(self, inside: Any) -> bytes:
        """A shortest text to the end; after its first byte, the answer is the rest of the same text."""
        if self._engine is not None:
            return self._engine.shortest(self.place(inside))
        assert isinstance(self.machine, DfaGuide), "only texts of automata, schemas and grammars are copied"
        dfa, state, text = self.machine.index.dfa, inside, bytearray()
        while left := int(self.bytes_left[state]):
            targets = dfa.transitions[state][dfa.byte_classes]
            nearer = (targets >= 0) & (self.bytes_left[targets] == left - 1)
            text.append(int(np.argmax(nearer)))
            state = int(targets[text[-1]])
        return bytes(text)

    @cached_property
    def bytes_left(self) -> NDArray[np.int32]:
        """The fewest bytes to the end of the text, for each state of an automaton."""
        assert isinstance(self.machine, DfaGuide), "it is the guide of an automaton"
        return byte_distances(self.machine.index.dfa)

    @cached_property
    def is_automaton(self) -> bool:
        """Whether a place in it is a state of an automaton."""
        return self.is_alone and isinstance(self.machine, DfaGuide)

    @cached_property
    def farthest(self) -> int:
        """The most bytes that a shortest rest has anywhere; a large number where that is not known."""
        return int(self.bytes_left.max()) if self.is_automaton else int(UNREACHABLE)

    def least(self, inside: Any) -> int:
        """The fewest tokens to the end of this part's text alone."""
        return self.machine._tokens_left(self.place(inside))

    def fits(self, inside: Any, room: int | None) -> bool:
        """Whether ``room`` tokens complete this part's text alone; ``None``: any number."""
        return self._fits(self.place(inside), room)

    def mask(self, inside: Any, room: int | None) -> Mask:
        """The token mask of ``source`` at a place, whose limit is not reached."""
        if self._engine is None:
            return self.machine._mask_at(self.place(inside), room)
        place = self.place(inside)
        return self._engine.mask(place) if room is None else self._engine.bounded_mask(place, room)

    def guide(self, inside: Any, room: int | None) -> BaseGuide[Any]:
        """A guide of ``source`` at a place."""
        return self.machine._at(self.place(inside), room)

    def text_tokens(self, inside: Any, room: int | None) -> Int32:
        """The text tokens that stay in the text, after which ``room`` tokens can complete it."""
        if room is not None and room <= 0:
            return NO_TOKENS
        try:
            tokens = self.guide(inside, room).allowed_tokens()
        except GenerationError:
            return NO_TOKENS
        return without(tokens, self.machine.vocabulary.end_token_ids) if self.ends(inside) else tokens

    def ends_of_tokens(self, inside: Any, trie: TokenTrie, room: int | None) -> Int32 | None:
        """The tokens of a trie that stay in the text; ``None``: not quickly found. See :meth:`text_tokens`."""
        if room is not None and room <= 0:
            return NO_TOKENS
        if isinstance(self.machine, DfaGuide) and self.is_automaton:
            return self.machine.index.tokens_behind(inside, trie, None if room is None else room - 1)
        if isinstance(self.machine, UnconstrainedGuide):
            return np.sort(trie.token_ids)
        return None


AnyPart: TypeAlias = Fixed | Copy | Free | ReadText
"""One part of a sequence, of any kind."""

TokenPart: TypeAlias = Fixed | Copy | Free | Constrained
"""One part of a sequence over a vocabulary."""


def without(tokens: Int32, others: Sequence[int]) -> Int32:
    """Tokens without some others."""
    return tokens[~np.isin(tokens, others)] if len(others) else tokens


def machine_of(source: GuideSource) -> BaseGuide[Any]:
    """Return a guide at the start of a source, without a limit, which says how its positions read bytes.

    It is never moved.
    """
    guide = source.guide()
    return guide if isinstance(guide, BaseGuide) else _OtherGuide(source.vocabulary, guide)


class _OtherGuide(BaseGuide["_Standing"]):
    """A guide whose positions are guides of another kind, which are never moved."""

    def __init__(self, vocabulary: Tokens, guide: Guide) -> None:
        super().__init__(vocabulary, _Standing(guide))

    def _read(self, position: _Standing, data: bytes) -> _Standing | None:
        twin = position.guide.fork()
        try:
            twin.advance_bytes(data)
        except UsageError:
            return None
        return _Standing(twin)

    def _accepts(self, position: _Standing) -> bool:
        return position.guide.is_accepting

    def _tokens_left(self, position: _Standing) -> int:
        return position.guide.tokens_left()

    def _is_final(self, position: _Standing) -> bool:
        return position.guide.is_finished

    def _text_tokens(self, position: _Standing) -> Int32:
        try:
            return without(position.guide.allowed_tokens(), self.vocabulary.end_token_ids)
        except GenerationError:
            return NO_TOKENS

    def _describe(self, position: _Standing) -> str:
        return position.guide.describe()


class _Standing:
    """A guide that stays where it is; equal to one at an equal position."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self._position = guide.position

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Standing) and self._position == other._position

    def __hash__(self) -> int:
        return hash(self._position)
