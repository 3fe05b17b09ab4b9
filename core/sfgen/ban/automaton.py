r"""The ban as one automaton over classes of characters, made as it is walked.

::

    words, allowed words ── Keywords ────────┐
    patterns ────────────── PatternAutomata ─┼─ Automaton: State × class of characters → Step
    characters ──────────── Classes ─────────┘      │
                                                    ├── Run         one text: a state, and where its threads began
                                                    └── StateTable  states as numbers, for all tokens at once

A *state* has all facts about a text except offsets: the partial matches of words and patterns (*threads*), the matches
that wait for the next characters, the contexts in which patterns may begin, the kind of the last folded character (for
boundaries), and whether the prompt has ended. A text that can be read in several ways (confusables) has the threads of
all readings, each with its own kind of the last character; equal threads of two readings are one.

A *step* is the effect of a class of characters on a state: the target, the thread that each thread of the target comes
from, and the matches that are complete, with the threads that they come from. So offsets are registers (Laurikari
2000): a state has one for each thread, for where it began, and a step says how they move. Of two threads that become
one the earlier start is kept.

A longer word that is allowed excuses a match that it covers: ``class`` excuses ``ass``, ``small talk`` excuses
``talk``. It covers a match that begins no earlier and ends no later. This needs no offsets: a thread of a banned word
has *guards*, the threads of allowed words that began no later, and a guard that becomes complete no earlier than the
match excuses it. While guards of a complete match are left, it is *pending*: neither reported nor forgotten. It is
certain, and reported, as soon as none is left. Of two matches the one that began earlier has fewer guards. So the
pending match with the fewest guards is the hardest to excuse, and only that one is remembered.

(Dropped characters are an exception: a pattern's match may end with one, after the last character that words see. Such
a match is *late*: an allowed match that ended with the last seen character does not cover it.)

A step is computed once, from the content of the state, and kept with the state. In most steps no thread is open, and
then a character costs two look-ups, however long the list is. Equal states are one object while they are remembered.
Beyond :data:`MOST_STEPS` all are forgotten, and made again where texts need them: a text holds its state, and a state
holds its content. So memory is bounded, and the compiled ban is handed to another process without the remembered states
(:mod:`sfgen.compiled_form`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from sfgen.ban.characters import CAPITAL, MARK, NON_WORD, START, Reading, Seen, Unit, case_after, reading_table
from sfgen.ban.entries import (
    ENDED,
    Entry,
    Fates,
    FoundWord,
    Guards,
    Keywords,
    Sources,
    Thread,
    add_sources,
    kinds_behind,
    read_allowed,
    read_character,
    unguarded,
)  # fmt: skip

if TYPE_CHECKING:
    from sfgen.ban.patterns import Labels, PatternAutomata, PatternSources, PatternState, Spans

MOST_STEPS: Final = 50_000
"""Steps that are remembered; one with many threads counts for several."""

_THREADS_OF_A_STEP: Final = 8

_MOST_CHARACTERS: Final = 20_000
"""Characters whose classes are remembered."""

RawMatch: TypeAlias = tuple[int, bool, int, int]
"""A match as (end, whether a boundary completed it, start, number of the word); the smallest tuple is the first
match."""

PROMPT: Final = 0
"""Within the prompt, where no match ends."""
SEAM: Final = 1
"""After the prompt, before the first kept character of the text: a match that a boundary completes lies in the
prompt."""
TEXT: Final = 2

ALWAYS: Final = 2
"""Matches may begin with any character."""
ONCE: Final = 1
"""With the next one only."""
NEVER: Final = 0


class Content(NamedTuple):
    """The content of a state."""

    phase: int
    begins: int  # whether matches may begin: ``ALWAYS``, ``ONCE`` or ``NEVER``
    case: int  # of the last letter, where that says how the next character is read
    spelling: int  # the family of scripts of the last folded character, where that matters
    kinds: tuple[int, ...]  # of the last folded character, in each way to read the text
    threads: tuple[Thread, ...]  # in ascending order
    patterns: PatternState | None
    allowed: Guards = ()  # the threads of allowed words
    pending: tuple[tuple[Guards, bool], ...] = ()  # the guards of complete matches, and whether they are late


class State:
    """The facts about a text at one position, except offsets; texts in equal states have the same future matches.

    Attributes:
        content: Its content.
        steps: The steps from it that are known, by class of characters.
        words: The number of its threads of words; the threads of patterns follow them.
        is_open: Whether a match has begun that may still be reported.
    """

    __slots__ = ("_hash", "content", "is_in_prompt", "is_open", "steps", "words")

    def __init__(self, content: Content) -> None:
        self.content: Final = content
        self.is_in_prompt: Final = content.phase == PROMPT
        self.steps: Final[dict[int, Step]] = {}
        self.words: Final = len(content.threads)
        self.is_open: Final = any(self.registers)
        self._hash = hash(content)

    @property
    def registers(self) -> tuple[int, int, int]:
        """The number of its threads, of the groups of matches that wait, and of pending matches."""
        patterns, pending = self.content.patterns, len(self.content.pending)
        if patterns is None:
            return self.words, 0, pending
        return self.words + len(patterns.threads), len(patterns.waiting), pending

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, State) and self.content == other.content)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[State], tuple[Content]]:
        return State, (self.content,)


class Found(NamedTuple):
    """Matches that a step makes certain, or pending."""

    words: tuple[FoundWord, ...]
    patterns: tuple[tuple[int, PatternSources], ...]
    pending: tuple[int, ...]  # the indices of those that were pending

    def __bool__(self) -> bool:
        return bool(self.words or self.patterns or self.pending)


_NOTHING: Final = Found((), (), ())


class Step(NamedTuple):
    """The effect of a class of characters on a state."""

    target: State
    acts: bool  # whether there is more to do than to go to the target
    is_kept: bool  # whether words see the character at all
    moves: tuple[tuple[int, ...], ...]  # the sources of each thread of the target; the thread that begins is the last
    waiting: tuple[PatternSources, ...]  # of each match of the target that waits
    pending: tuple[Found, ...]  # of each pending match of the target: the one that began first is kept
    certain: Found


_Group: TypeAlias = "tuple[list[FoundWord], list[tuple[int, PatternSources]], list[int]]"


class _Complete:
    """The matches that are complete and not excused, by the guards that are left."""

    def __init__(self) -> None:
        self._groups: dict[tuple[Guards, bool], _Group] = {}

    def group(self, guards: Guards, is_late: bool) -> _Group:
        """Return the words, patterns and pending matches that have these guards."""
        return self._groups.setdefault((guards, is_late and bool(guards)), ([], [], []))

    def parted(self) -> tuple[Found, dict[tuple[Guards, bool], Found]]:
        """Return the certain matches; and by guards, late or not, the hardest pending one to excuse."""
        if not self._groups:  # as nearly always
            return _NOTHING, {}
        found = {
            key: Found(tuple(words), tuple(patterns), tuple(pending))
            for key, (words, patterns, pending) in self._groups.items()
        }
        certain = found.pop(((), False), _NOTHING)
        pending = {}
        for late in (False, True):
            keys = [key for key in found if key[1] == late]
            if keys:
                hardest = min(keys, key=lambda key: len(key[0]))
                pending[hardest] = found[hardest]
        return certain, pending


class Automaton:
    """The automaton of a ban.

    It is immutable except for its caches, and threads may share it.

    Attributes:
        words: The banned words, as the user gave them.
        patterns: The banned patterns.
        allow: The words that excuse a match.
        ignore_case: Whether words are compared by full case folding.
        normalize: Whether words are compared by the shape of their letters.
        start: The state before the prompt.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        patterns: tuple[str, ...] = (),
        allowed: Iterable[Entry] = (),
        *,
        ignore_case: bool = True,
        normalize: bool = False,
    ) -> None:
        self.patterns: Final = patterns
        self.ignore_case: Final = ignore_case
        self.normalize: Final = normalize
        self.words, self.banned = _read(entries)
        self.allow, self.allowed = _read(allowed)
        self.of_patterns: Final = _automata_of(patterns) if patterns else None
        self.has_words: Final = bool(self.words or self.allow)
        self._begin()

    def _begin(self) -> None:
        """Make the caches, with the state before the prompt."""
        self.classes = Classes(self.seen() if self.has_words else None, self.of_patterns)
        self._states: dict[Content, State] = {}
        self._walked: list[State] = []  # those that have steps, also where only a text holds them
        self._steps = 0
        contexts = None if self.of_patterns is None else self.of_patterns.start
        self.start = self.state(Content(PROMPT, ALWAYS, START, 0, (NON_WORD,), (), contexts))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for remembered in ("classes", "start", "_states", "_walked", "_steps"):
            del state[remembered]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def name(self, number: int) -> str:
        """Return the banned word or pattern of a number; patterns are counted after the words."""
        return self.words[number] if number < len(self.words) else self.patterns[number - len(self.words)]

    def seen(self) -> Seen:
        """Return the table of characters as the words see them."""
        return Seen(self.words + self.allow, self.ignore_case, self.normalize)

    def state(self, content: Content) -> State:
        """Return the state of a content."""
        known = self._states.get(content)
        return self._states.setdefault(content, State(content)) if known is None else known

    def begun(self, state: State, phase: int) -> State:
        """Return a state within the prompt as one after the prompt."""
        return self.state(state.content._replace(phase=phase))

    def closed(self, state: State, begins: int) -> State:
        """Return a state in which no match begins any more, or only with the next character."""
        return self.state(_closed(state.content, begins))

    def step(self, state: State, number: int) -> Step:
        """Return the effect of a class of characters."""
        step = state.steps.get(number)
        if step is None:
            if self._steps >= MOST_STEPS:
                self._forget()
            step = state.steps[number] = self._step(state, number)
            self._walked.append(state)
            self._steps += 1 + len(step.moves) // _THREADS_OF_A_STEP
        return step

    def _forget(self) -> None:
        """Forget all states; texts go on from theirs."""
        walked, self._walked = self._walked, []
        for state in walked:
            state.steps.clear()
        self._states.clear()
        self._steps = 0
        if self.of_patterns is not None:
            self.of_patterns.forget()

    def _step(self, state: State, number: int) -> Step:
        reading, labels = self.classes.members[number]
        before = state.content
        case, spelling, units, others = self._as_read(before, reading)
        readings = (units, *others) if units and self.has_words else ()
        allowed: Guards = ()
        fates: Fates = unguarded
        if self.allowed is not None:
            allowed, fates = read_allowed(self.allowed, before.allowed, before.kinds, readings, bool(before.begins))
        kinds, threads, patterns = before.kinds, before.threads, before.patterns
        complete = _Complete()
        if readings:
            kinds = kinds_behind(kinds, readings)
        if readings and self.banned is not None:
            read = self._read_banned(state, self.banned, readings, fates, complete)
            threads = tuple(sorted(read))
            moves = [read[thread] for thread in threads]
        else:
            moves = [(index,) for index in range(state.words)]
        waiting: tuple[PatternSources, ...] = ()
        if self.of_patterns is not None and patterns is not None:
            in_text = before.phase != PROMPT
            step = self.of_patterns.step(patterns, number, labels, state.words, in_text, bool(units), fates)
            patterns, waiting = step.target, step.waiting
            moves += step.threads
            for pattern, guards, is_late, sources in step.complete:
                complete.group(guards, is_late)[1].append((pattern, sources))
        for index, (guards, is_late) in enumerate(before.pending):
            fate = fates(guards)
            if not fate.excuses(is_late):
                complete.group(fate.alive, is_late and not units)[2].append(index)
        certain, pending = complete.parted()
        phase = TEXT if units and before.phase == SEAM else before.phase
        content = Content(phase, before.begins, case, spelling, kinds, threads, patterns, allowed, tuple(pending))
        after = self.state(_closed(content, NEVER) if before.begins == ONCE else content)
        acts = state.is_open or after.is_open or bool(certain)
        return Step(after, acts, bool(units), tuple(moves), waiting, tuple(pending.values()), certain)

    def _as_read(self, content: Content, reading: Reading) -> tuple[int, int, Sequence[Unit], Sequence[Sequence[Unit]]]:
        """Return the case and the family of scripts after a character, its foldings, and its other readings."""
        if not (self.normalize and self.has_words):
            return content.case, content.spelling, reading.units, ()
        others = () if reading.is_capital_i and content.case == CAPITAL else reading.others
        spelling, kept = content.spelling, []
        for unit in reading.units:
            if unit.kind != MARK or unit.spelling == spelling:  # else a stray mark
                kept.append(unit)
                spelling = unit.spelling
        return case_after(content.case, reading), spelling, kept, others

    def _read_banned(
        self,
        state: State,
        words: Keywords,
        readings: Sequence[Sequence[Unit]],
        fates: Fates,
        complete: _Complete,
    ) -> Sources:
        """Read one character for the banned words; note what is complete, and return the threads after it."""
        content = state.content
        new = state.registers[0]
        begun = (new, () if self.allowed is None else None) if content.begins else None
        read, found = read_character(words, content.threads, content.kinds, readings, begun)
        for word in found:
            fate = fates(word.guards)
            in_text = content.phase == TEXT or (content.phase == SEAM and word.is_here)
            if in_text and not fate.excuses(word.is_here):
                complete.group(fate.alive, False)[0].append(word)
        if self.allowed is None:
            return read
        threads: Sources = {}
        for (kind, node, marks, guards), sources in read.items():
            add_sources(threads, (kind, node, marks, fates(guards).after), sources)
        return threads

    def at_end(self, state: State) -> Found:
        """Return the matches that the end of the text completes, and the pending ones that are not excused."""
        content = state.content
        excusing: set[Thread] = {ENDED}
        for thread in content.allowed:
            if self.allowed is not None and _completed_at_end(self.allowed, thread):
                excusing.add(thread)
        words = [
            FoundWord(number, True, False, thread[3], (index,))
            for index, thread in enumerate(content.threads if content.phase == TEXT else ())
            if self.banned is not None and excusing.isdisjoint(thread[3] or ())
            for number in _completed_at_end(self.banned, thread)
        ]
        patterns: Sequence[tuple[int, PatternSources]] = ()
        if self.of_patterns is not None and content.patterns is not None:
            patterns = self.of_patterns.at_end(content.patterns.waiting, excusing)
        pending = [index for index, (guards, late) in enumerate(content.pending) if late or excusing.isdisjoint(guards)]
        return Found(tuple(words), tuple(patterns), tuple(pending))


def _read(entries: Iterable[Entry]) -> tuple[tuple[str, ...], Keywords | None]:
    """Return the words of entries, and their keys in order."""
    read = [(entry.word, entry.key()) for entry in entries]
    return tuple([word for word, _ in read]), Keywords([key for _, key in read]) if read else None


def _automata_of(patterns: Sequence[str]) -> PatternAutomata:
    from sfgen.ban.patterns import PatternAutomata  # which loads numpy

    return PatternAutomata(patterns)


def _completed_at_end(words: Keywords, thread: Thread) -> Sequence[int]:
    """Return the words of a thread that the end of the text completes."""
    _, node, marks, _ = thread
    return words.completed_by_boundary(words.behind_marks(node, marks))


def _closed(content: Content, begins: int) -> Content:
    """Return a content in which matches may begin only once more, or no more."""
    patterns = content.patterns
    if patterns is not None and begins == NEVER:
        patterns = patterns._replace(contexts=None)
    return content._replace(begins=begins, patterns=patterns)


class Classes(dict[str, tuple[int, int]]):
    """A lazy table from characters to their class, and the bytes of their UTF-8.

    Exchanging characters of one class in a text changes no match. Short lists have few classes, and characters are
    classified as texts meet them.
    """

    def __init__(self, seen: Seen | None, patterns: PatternAutomata | None) -> None:
        super().__init__()
        self._seen = seen
        self._patterns = patterns
        self._numbers: dict[Hashable, int] = {}
        self.members: Final[dict[int, tuple[Reading, Labels]]] = {}
        """For each class, one of its characters as words and as patterns read it."""
        self._next = count()
        self._table = reading_table(True, False) if seen is None else reading_table(seen.ignore_case, seen.normalize)

    def __missing__(self, character: str) -> tuple[int, int]:
        labels = () if self._patterns is None else self._patterns.labels(character)
        seen = None if self._seen is None else self._seen[character]
        number = self._numbers.get((seen, labels))
        if number is None:  # threads may come to it at once, and of their numbers one is used
            new = next(self._next)
            self.members[new] = self._table[character], labels
            number = self._numbers.setdefault((seen, labels), new)
        code = ord(character)
        width = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        if len(self) >= _MOST_CHARACTERS:
            self.clear()
        self[character] = number, width
        return number, width


class RunMark(NamedTuple):
    """The position of a run."""

    state: State
    starts: tuple[int, ...]  # of the threads, in bytes
    waiting: tuple[Spans, ...]  # the matches that wait
    pending: tuple[RawMatch, ...]
    last: int  # the end of the last character that was kept

    @classmethod
    def of(cls, state: State) -> RunMark:
        """Return a mark of a state in the text, with offsets that mean nothing."""
        threads, waiting, pending = state.registers
        return cls(state, (0,) * threads, (((1, 0),),) * waiting, ((1, False, 0, 0),) * pending, 1)


class Run:
    """The automaton in one text.

    Offsets are the caller's: they must grow, and what ends at 0 or before lies in the prompt and is no match.

    Attributes:
        state: The present state.
        starts: Where each of its threads began.
        waiting: Its matches that wait for the next characters, in groups; those of a group all become complete, or
            none.
        pending: Its complete matches that may still be excused.
        last: Where the last character ended that words see.
    """

    __slots__ = ("automaton", "last", "pending", "starts", "state", "waiting")

    def __init__(self, automaton: Automaton, position: int) -> None:
        self.automaton: Final = automaton
        self.state = automaton.start
        self.starts: tuple[int, ...] = ()
        self.waiting: tuple[Spans, ...] = ()
        self.pending: tuple[RawMatch, ...] = ()
        self.last = position

    def begin(self) -> None:
        """Leave the prompt."""
        self.state = self.automaton.begun(self.state, SEAM if self.automaton.has_words and self.last <= 0 else TEXT)

    def read(self, text: str, position: int) -> list[tuple[int, list[RawMatch]]]:
        """Read characters from a position on, none of them a surrogate.

        Return the matches that have become certain, and the end of the character that made them certain.
        """
        classes, state, completed = self.automaton.classes, self.state, []
        for character in text:
            number, width = classes[character]
            step = state.steps.get(number) or self.automaton.step(state, number)
            if step.acts:
                matches = self._act(step, position, position + width)
                if matches:
                    completed.append((position + width, matches))
            state = step.target
            position += width
            if step.is_kept:
                self.last = position
        self.state = state
        return completed

    def step(self, character: str, start: int, end: int) -> Sequence[RawMatch]:
        """Read one character, not a surrogate; return the matches that have become certain, in no order."""
        number = self.automaton.classes[character][0]
        step = self.state.steps.get(number) or self.automaton.step(self.state, number)
        matches = self._act(step, start, end) if step.acts else ()
        self.state = step.target
        if step.is_kept:
            self.last = end
        return matches

    def _act(self, step: Step, start: int, end: int) -> list[RawMatch]:
        """Move the offsets as a step says; return the matches that have become certain.

        The character lies between the two positions.
        """
        begun = (*self.starts, start)
        matches = self._matches(step.certain, begun, end) if step.certain else []
        if step.pending or self.pending:
            self.pending = tuple([min(self._matches(each, begun, end), key=_hardness) for each in step.pending])
        if step.waiting or self.waiting:
            self.waiting = tuple([sources.of(begun, self.waiting, end) for sources in step.waiting])
        self.starts = tuple(
            [
                begun[sources[0]] if len(sources) == 1 else min([begun[each] for each in sources])
                for sources in step.moves
            ]
        )
        return matches

    def _matches(self, found: Found, begun: Sequence[int], end: int) -> list[RawMatch]:
        """Return matches with their offsets, before a character that ends at ``end`` is read."""
        first = len(self.automaton.words)
        return [
            *(
                (end if here else self.last, by_boundary, min([begun[source] for source in sources]), number)
                for number, by_boundary, here, _, sources in found.words
            ),
            *(
                (match_end, match_end < end, match_start, first + number)
                for number, sources in found.patterns
                for match_end, match_start in sources.of(begun, self.waiting, end)
            ),
            *(self.pending[index] for index in found.pending),
        ]

    def at_end(self) -> list[RawMatch]:
        """Return the matches that are certain if the text ends here."""
        found = self.automaton.at_end(self.state)
        return self._matches(found, self.starts, _FAR) if found else []

    def begins(self) -> list[int]:
        """Return where each match begins that may still be reported, in an order that the state fixes."""
        if not self.state.is_open:
            return []
        waiting = [start for spans in self.waiting for _, start in spans]
        return [*self.starts, *waiting, *(start for _, _, start, _ in self.pending)]

    def under_way(self, most: int) -> list[int]:
        """Return the numbers of some partially matched words and patterns, the words first that began first."""
        automaton, content = self.automaton, self.state.content
        numbers: dict[int, None] = {}
        for index in sorted(range(self.state.words), key=self.starts.__getitem__):
            _, node, marks, _ = content.threads[index]
            words = automaton.banned
            assert words is not None
            behind = words.behind_marks(node, marks)
            if behind is not None:
                numbers.update(dict.fromkeys(words.longer(behind, most)))
        if content.patterns is not None:
            patterns = {thread[0] for each in content.patterns[1:] for thread in each}
            numbers.update(dict.fromkeys(len(automaton.words) + pattern for pattern in sorted(patterns)))
        return list(numbers)[:most]

    def mark(self) -> RunMark:
        """Return the position, for ``reset``."""
        return RunMark(self.state, self.starts, self.waiting, self.pending, self.last)

    def reset(self, mark: RunMark) -> None:
        """Return to a mark, any number of times."""
        self.state, self.starts, self.waiting, self.pending, self.last = mark


_FAR: Final = 1 << 62
"""After every character."""


def _hardness(match: RawMatch) -> tuple[int, RawMatch]:
    """Order complete matches by how hard they are to excuse, the hardest first."""
    return match[2], match
