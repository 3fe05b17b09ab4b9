"""Parts one after the other: how a text is divided among them while it is written, and when it is finished.

A *thread* is one way to divide the text so far: the part that is open, and a place in it. With the parts ``a*`` and
``ab``, either part may read an ``a`` after ``a``: so a *position* is a set of threads, as in a nondeterministic
automaton. Where each part ends in one way (a literal, free text up to a marker, a longest text), there is one thread.
The last part may lead back to an earlier one, as calls in free text do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.guide import BYTES, tried_step
from sfgen.index.sequence_parts import AnyPart, Copy, Fixed, Free, InFree, ReadText


class Thread(NamedTuple):
    """One way to divide a text so far.

    Attributes:
        part: The part that is open, counted from the last one back: -1, -2, …
        inside: The place in it.
        memory: The texts of parts that are copied later, by their numbers; of the open part the text so far.
    """

    part: int
    inside: Any
    memory: tuple[tuple[int, bytes], ...] = ()


Position: TypeAlias = tuple[Thread, ...]
"""All ways to divide a text so far, at least one; first the one in which the earliest part is open."""


def by_part(threads: Iterable[Thread]) -> Position:
    """Return the position of some threads, each given once."""
    return tuple(sorted(threads, key=lambda thread: thread.part))


class Span(NamedTuple):
    """A part of a finished text, with its start and its end in bytes."""

    part: AnyPart
    start: int
    end: int


class Threads:
    """Reads parts one after the other. It can be shared between threads.

    Args:
        parts: The parts; the last is a text that a reader reads, such as ``Constrained``.
        back: The number of the part that follows the last one; ``None``: none.

    Raises:
        UsageError: The last part has no reader, or an argument has another type.
    """

    def __init__(self, parts: Iterable[AnyPart], back: int | None = None) -> None:
        self.parts, self.back = tuple(parts), back
        last = self.parts[-1] if self.parts else None
        if not isinstance(last, ReadText):
            raise UsageError("a sequence needs a constraint as its last part", hint="Give a list of indexes.")
        self.last = last
        if back is not None and arguments.whole_number("back", back, least=0) >= len(self.parts):
            raise UsageError(f"back is {back}, and there are {len(self.parts)} parts", hint="They are counted from 0.")
        if back is not None and not self.parts[back].stops(self.parts[back].start):
            raise UsageError("a text could not end", hint="Go back to a part in which it may stop.")
        texts = next(number for number, part in enumerate(self.parts) if isinstance(part, ReadText))
        if any(isinstance(part, Fixed) and part.token is not None for part in self.parts[texts:]):
            raise UsageError(
                "a literal that one special token writes follows a constraint",
                hint="Let it follow literals and free text alone, or give it no token.",
            )
        counts = [part.counts for part in self.parts]
        if counts != sorted(counts):
            raise UsageError("only literals and free text at the start may not count", hint="Let the others count.")
        self.last_copy = {
            part.source: n for n, part in enumerate(self.parts, -len(self.parts)) if isinstance(part, Copy)
        }
        """The last copy of each part that is copied."""
        self.is_definite = all(part.is_definite for part in self.parts[:-1])
        self._ends_anywhere = back is None and last.ending == "anywhere"
        self._begun: dict[int, Position] = {}
        self._first: dict[int, frozenset[int]] = {}
        self.start = tuple(self._closure(self.beginning(-len(self.parts), ())))

    # ---- threads ---------------------------------------------------------------------------------------------------

    def following(self, part: int) -> int:
        """Return the part after one; 0: none."""
        return self.back - len(self.parts) if part == -1 and self.back is not None else part + 1

    def _closure(self, thread: Thread) -> Iterator[Thread]:
        """The thread itself if it can go on, and the starts of the parts after it if its part may end here."""
        while after := self.following(thread.part):
            part = self.parts[thread.part]
            if part.goes_on(thread.inside):
                yield thread
            if not part.leads_on(thread.inside):
                return
            thread = self.beginning(after, thread.memory)
        yield thread

    def beginning(self, number: int, memory: tuple[tuple[int, bytes], ...]) -> Thread:
        """Return the thread at the start of a part, after certain texts."""
        part = self.parts[number]
        if not self.last_copy:
            return Thread(number, part.start)
        kept = tuple(text for text in memory if self.last_copy[text[0]] >= number)
        inside = dict(memory)[part.source] if isinstance(part, Copy) else part.start
        return Thread(number, inside, (*kept, (number, b"")) if number in self.last_copy else kept)

    def begun_behind(self, thread: Thread) -> Position:
        """Return the position at the start of the parts after a thread's part."""
        begun = self._begun.get(thread.part)
        if begun is None:
            begun = tuple(self._closure(self.beginning(self.following(thread.part), thread.memory)))
            if not self.last_copy:
                self._begun[thread.part] = begun
        return begun

    def moved(self, thread: Thread, inside: Any, data: bytes) -> Thread:
        """Return a thread after some bytes of its part."""
        if thread.part not in self.last_copy:
            return thread._replace(inside=inside)
        number, text = thread.memory[-1]
        return Thread(thread.part, inside, (*thread.memory[:-1], (number, text + data)))

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where no text goes on so."""
        return self.read_on(position, data, is_token=False)[0]

    def read_on(self, position: Position, data: bytes, *, is_token: bool) -> tuple[Position | None, bool]:
        """Return the position after some bytes, and whether they write something in a part that counts.

        A longest text does not end inside a token that writes some of it.
        """
        at, counts, is_over = 0, False, False
        while at < len(data):
            if len(position) > 1:
                return self._read_all_ways(position, data[at:]), True
            thread = position[0]
            number, inside = thread.part, thread.inside
            part = self.parts[number]
            is_special = isinstance(part, Fixed) and part.token is not None
            if (is_token and (is_over or is_special)) or not part.goes_on(inside):
                return None, counts
            counts = counts or part.counts
            if isinstance(part, ReadText):
                if part.ending == "longest" and part.lets_go(inside, data[at : at + 1]):
                    if is_token and at:
                        return None, counts
                    position = self.begun_behind(thread)
                    continue
                used = len(data) - at if number == -1 and self._ends_anywhere else 1
                after = part.after(inside, data[at : at + used])
            else:
                taken = part.take(inside, data[at:])
                after, used = (None, 0) if taken is None else taken
            if after is None:
                return None, counts
            moved = self.moved(thread, after, data[at : at + used])
            at += used
            position = tuple(dict.fromkeys(self._closure(moved)))
            is_over = self._passed_longest(number, position[0].part)
        return position, counts

    def let_go(self, position: Position, byte: bytes) -> Position:
        """Return the position after a longest text that alone is open and ends before a byte."""
        part = self.parts[position[0].part]
        while len(position) == 1 and isinstance(part, ReadText) and part.ending == "longest":
            if not self.following(position[0].part) or not part.lets_go(position[0].inside, byte):
                break
            position = self.begun_behind(position[0])
            part = self.parts[position[0].part]
        return position

    def _passed_longest(self, before: int, after: int) -> bool:
        """Whether a longest text ended between two parts."""
        while before != after:
            part = self.parts[before]
            if isinstance(part, ReadText) and part.ending == "longest":
                return True
            before = self.following(before)
        return False

    def _read_all_ways(self, position: Position, data: bytes) -> Position | None:
        for byte in data:
            position = by_part(dict.fromkeys(each for thread in position for each in self._after(thread, BYTES[byte])))
            if not position:
                return None
        return position

    def _after(self, thread: Thread, byte: bytes) -> Iterator[Thread]:
        """The threads after one byte."""
        part = self.parts[thread.part]
        if not part.goes_on(thread.inside):
            return
        if isinstance(part, ReadText):
            if part.ending == "longest" and part.lets_go(thread.inside, byte):
                for begun in self.begun_behind(thread):
                    yield from self._after(begun, byte)
                return
            after = part.after(thread.inside, byte)
        else:
            taken = part.take(thread.inside, byte)
            after = None if taken is None else taken[0]
        if after is not None:
            yield from self._closure(self.moved(thread, after, byte))

    def reads(self, data: bytes) -> bool:
        """Return whether a whole text can be divided into the parts."""
        position = self.read(self.start, data)
        return position is not None and self.accepts(position)

    def accepts(self, position: Position) -> bool:
        """Return whether the text may end at a position."""
        if len(position) == 1:
            return self._stops(position[0])
        return any(self._stops(thread) for thread in position)

    def _stops(self, thread: Thread) -> bool:
        """Whether the whole text may end at a thread."""
        if thread.part == -1 and self._ends_anywhere:
            return self.last.ends(thread.inside)
        part, after = self.parts[thread.part], self.following(thread.part)
        if not after or part.stops(thread.inside):
            return part.stops(thread.inside) or part.ends(thread.inside)
        # The part after a longest text does not begin before it is known whether that goes on.
        return part.ends(thread.inside) and not part.leads_on(thread.inside) and self.accepts(self.begun_behind(thread))

    def is_in_last(self, position: Position) -> bool:
        """Return whether only the last part is open, which may end anywhere and leads to no other."""
        return len(position) == 1 and position[0].part == -1 and self._ends_anywhere

    def canonical(self, position: Position) -> Position:
        """Return a position without the number of tokens that free text may still have, unless it is 0."""
        thread = position[0]
        if not isinstance(thread.inside, InFree) or not thread.inside.left:
            return position
        return (thread._replace(inside=InFree(thread.inside.state, None)),)

    def is_final(self, position: Position) -> bool:
        """Return whether the text must end at a position that accepts it."""
        return all(self._is_final(thread) for thread in position)

    def _is_final(self, thread: Thread) -> bool:
        part = self.parts[thread.part]
        if not self.following(thread.part):
            return not part.goes_on(thread.inside)
        return isinstance(part, ReadText) and all(self.read((thread,), byte) is None for byte in BYTES)

    def forced(self, position: Position, most: int | None) -> tuple[bytes, Position | None] | None:
        """Return bytes that must follow a position that does not accept, at most N, and the position after them.

        More may follow after that position; ``None`` in place of it: no more. ``None``: none is known.
        """
        thread = position[0]
        if len(position) > 1 or self._may_leave(thread):
            return self.only_step(position)
        part = self.parts[thread.part]
        data = part.forced(thread.inside, most)
        inside = part.after(thread.inside, data) if data else None
        if inside is None:
            return None
        if isinstance(part, ReadText) and not part.ends(inside):
            return data, None  # it has given all bytes up to its end, or up to a choice
        return data, tuple(dict.fromkeys(self._closure(self.moved(thread, inside, data))))

    def only_step(self, position: Position) -> tuple[bytes, Position] | None:
        """Return the byte that must follow, where it is known without trying all, and the position after it."""
        steps = []
        for thread in position:
            if self._may_leave(thread):
                return tried_step(self.read, position)
            step = self.parts[thread.part].only_step(thread.inside)
            if step is None:
                return None
            steps.append(step[0])
        if len(set(steps)) != 1:
            return None
        after = self.read(position, steps[0])
        return None if after is None else (steps[0], after)

    def _may_leave(self, thread: Thread) -> bool:
        """Whether the next byte may belong to a later part in which the position has no thread."""
        part = self.parts[thread.part]
        return part.stops(thread.inside) or (
            isinstance(part, ReadText) and part.ending == "longest" and part.ends(thread.inside)
        )

    # ---- where a part begins ---------------------------------------------------------------------------------------

    def first_bytes(self, number: int) -> frozenset[int]:
        """Return the bytes with which a text of a part and those after it can begin; 0: no part."""
        if not number:
            return frozenset()
        if number not in self._first:
            copy = self.parts[number]
            part = self.parts[copy.source] if isinstance(copy, Copy) else copy
            firsts = frozenset(byte[0] for byte in BYTES if part.after(part.start, byte) is not None)
            if part.ends(part.start) or part.stops(part.start):
                firsts |= self.first_bytes(self.following(number))
            self._first[number] = firsts
        return self._first[number]

    def check_longest(self, number: int) -> None:
        """Refuse a longest text that could include the beginning of the next part.

        Raises:
            UsageError: It could.
        """
        part = self.parts[number]
        assert isinstance(part, ReadText), "it ends at its longest"
        if any(part.may_go_on_with(byte) for byte in self.first_bytes(self.following(number))):
            raise UsageError(
                "the longest text of a part may take in what follows it",
                hint="Let it end anywhere, or begin what follows with another byte.",
            )

    # ---- a finished text -------------------------------------------------------------------------------------------

    def divided(self, data: bytes, unread: AnyPart | None = None) -> list[Span] | None:
        """Divide a text, each part as long as it can be; the part ``unread`` may have any text up to its end."""
        spans, known = list[Span](), dict[tuple[int, int], list[int]]()
        begun, dead = [self.beginning(-len(self.parts), ())], set[tuple[Thread, int]]()
        waiting = [self._ends(begun[0], 0, data, unread, known)]
        while waiting:
            thread, start, end = begun[-1], spans[-1].end if spans else 0, next(waiting[-1], None)
            if end is None:
                dead.add((begun.pop(), start))
                waiting.pop()
                if spans:
                    spans.pop()
                continue
            part, after = self.parts[thread.part], self.following(thread.part)
            spans.append(Span(part, start, end))
            is_cut = isinstance(part, Free) and part.is_cut(data[start:end])
            if end == len(data) and (is_cut or not after):
                return spans
            behind = self.beginning(after, self.moved(thread, None, data[start:end]).memory) if after else None
            if behind is None or is_cut or (behind, end) in dead:
                spans.pop()
                continue
            begun.append(behind)
            waiting.append(self._ends(behind, end, data, unread, known))
        return None

    def _ends(
        self, thread: Thread, start: int, data: bytes, unread: AnyPart | None, known: dict[tuple[int, int], list[int]]
    ) -> Iterator[int]:
        """The offsets at which a part that begins at ``start`` may end, the farthest first."""
        part = self.parts[thread.part]
        if part is unread:
            return iter([len(data)])
        if isinstance(part, Copy):
            return iter([start + len(thread.inside)] if data.startswith(thread.inside, start) else [])
        if (thread.part, start) not in known:  # it may begin there after several texts that are copied
            known[thread.part, start] = part.ends_in(data, start)
        return reversed(known[thread.part, start])
