r"""The ban as one automaton over classes of characters, made as it is walked.

::

    words, allowed words ── Keywords ────────┐
    patterns ────────────── PatternAutomata ─┼─ Automaton: State × class of characters → Step
    characters ──────────── Classes ─────────┘      │
                                                    ├── Run         one text: a state, and where its threads began
                                                    └── StateTable  states as numbers, for all tokens at once

A *state* is all that is known of a text but for offsets: the partial matches of words and patterns (*threads*), the
matches of patterns that wait for what follows, the contexts in which patterns may begin, the kind of the last folded
character, on which boundaries depend, and whether the text has begun behind its prompt. A text that may be read in
several ways (confusables) has the threads of all of them, each with its own kind of the last character; what two ways
know alike is known once.

A *step* is the effect of a class of characters on a state: the target, the thread that each thread of the target comes
from, and the matches that are complete, with the threads that they come from. So offsets are registers (Laurikari
2000): a state has one for each thread, for where it began, and a step says how they move. Of two threads that become
one the earlier start is kept.

A step is computed once, from what the state is made of, and kept with the state. Most steps meet no thread at all, and
then a character costs two look-ups, whatever is banned. Equal states are one object while they are remembered. Beyond
:data:`MOST_STEPS` all are forgotten, and made again where texts need them: a text holds its state, and a state holds
what it is made of. So memory is bounded, and an automaton is handed to another process as the words that it is made of.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from unicodedata import combining

from sfgen.ban.characters import CAPITAL, MARK, NON_WORD, SPACED, START, Reading, Seen, Unit, case_after, reading_table
from sfgen.ban.entries import BOUNDARY, GAP, Keywords, Node, with_mark

if TYPE_CHECKING:
    from sfgen.ban.patterns import Labels, PatternAutomata, PatternState, Sources, Spans

MOST_STEPS: Final = 50_000
"""Steps that are remembered."""

_MOST_CHARACTERS: Final = 20_000
"""Characters whose classes are remembered."""

RawMatch: TypeAlias = tuple[int, bool, int, int]
"""A match as (end, whether a boundary completed it, start, number of the word): in the order of being first."""

PROMPT: Final = 0
"""Within the prompt, where no match ends."""
SEAM: Final = 1
"""Behind the prompt, but no character of the text was kept yet: what a boundary completes now lies in the prompt."""
TEXT: Final = 2

BANNED: Final = 0
ALLOWED: Final = 1
"""The two lists of words."""

Thread: TypeAlias = tuple[int, int, int, int, int, str]
"""A partial match of words: the list, the kind of the last folded character, the node, and the marks read behind it."""


class Content(NamedTuple):
    """What a state is made of."""

    phase: int
    case: int  # of the last letter, where that says how the next character is read
    spelling: int  # the family of scripts of the last folded character, where that matters
    kinds: tuple[int, ...]  # of the last folded character, in each way to read the text
    threads: tuple[Thread, ...]  # in ascending order
    patterns: PatternState | None
    # Where a token is looked for that completes what has begun: of each thread, of what begins with the next character,
    # and of each match that waits, whether it began before the token.
    is_old: tuple[tuple[bool, ...], tuple[bool, ...]] | None = None


class State:
    """All that is known of a text at one position, but for offsets; equal ones have the same future.

    Attributes:
        content: What it is made of.
        steps: The steps from it that are known, by class of characters.
        banned: The number of its threads of banned words.
        has_old: Whether a match that is not complete began before the token, where that is told.
        words: The number of its threads of words; those of patterns come behind.
    """

    __slots__ = ("_hash", "banned", "content", "has_old", "is_in_prompt", "steps", "words")

    def __init__(self, content: Content) -> None:
        self.content: Final = content
        self.is_in_prompt: Final = content.phase == PROMPT
        self.steps: Final[dict[int, Step]] = {}
        self.words: Final = len(content.threads)
        self.banned: Final = _number_of_banned(content.threads)
        threads, waiting = content.is_old or ((), ())
        self.has_old: Final = any(threads[: self.banned]) or any(threads[self.words :]) or any(waiting)
        self._hash = hash(content)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, State) and self.content == other.content)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[State], tuple[Content]]:
        return State, (self.content,)


def _number_of_banned(threads: Sequence[Thread]) -> int:
    """Count the threads of banned words; those of allowed ones come behind them."""
    if not threads or threads[-1][0] == BANNED:
        return len(threads)
    return sum(thread[0] == BANNED for thread in threads)


class Found(NamedTuple):
    """A word that a step completes."""

    number: int
    by_boundary: bool
    is_here: bool  # whether it ends with the character; else with the last one that was kept
    sources: tuple[int, ...]  # the threads that it comes from


class Step(NamedTuple):
    """The effect of a class of characters on a state."""

    target: State
    acts: bool  # whether there is more to do than to come to the target
    is_kept: bool  # whether words see the character at all
    moves: tuple[tuple[int, ...], ...]  # the sources of each thread of the target; the thread that begins is the last
    waiting: tuple[Sources, ...]  # of each match of the target that waits
    words: tuple[Found, ...]
    patterns: tuple[tuple[int, Sources], ...]


_Sources: TypeAlias = dict[Thread, set[int]]
_FoundWords: TypeAlias = set[tuple[int, int, bool, bool, tuple[int, ...]]]
"""List, number, whether a boundary completed it, whether it ends here, and the threads that it comes from."""


class Automaton:
    """The automaton of a ban; threads may share it."""

    def __init__(
        self,
        banned: Keywords | None,
        allowed: Keywords | None,
        patterns: PatternAutomata | None,
        seen: Seen,
        first_pattern: int,
    ) -> None:
        self.lists: Final = tuple((which, words) for which, words in enumerate((banned, allowed)) if words is not None)
        self.keywords: Final = (banned, allowed)
        self.patterns: Final = patterns
        self.first_pattern: Final = first_pattern
        self.first_allowed: Final = first_pattern + (len(patterns.patterns) if patterns else 0)
        self.classes: Final = Classes(seen if self.lists else None, patterns)
        self._normalize = seen.normalize and bool(self.lists)
        self._states: dict[Content, State] = {}
        self._steps = 0
        contexts = None if patterns is None else patterns.start
        self.start: Final = self.state(Content(PROMPT, START, 0, (NON_WORD,), (), contexts))

    def state(self, content: Content) -> State:
        """Return the state of a content."""
        known = self._states.get(content)
        return self._states.setdefault(content, State(content)) if known is None else known

    def begun(self, state: State, phase: int) -> State:
        """Return a state of the prompt as one behind it."""
        return self.state(state.content._replace(phase=phase))

    def watched(self, state: State, next_is_old: bool) -> State:
        """Return a state that tells which of its threads began before here, or with the next character."""
        content = state.content
        if content.is_old is not None:
            return state
        threads, waiting = (0, 0) if content.patterns is None else map(len, content.patterns[1:])
        return self.state(
            content._replace(is_old=((True,) * (state.words + threads) + (next_is_old,), (True,) * waiting))
        )

    def step(self, state: State, number: int) -> Step:
        """Return the effect of a class of characters."""
        step = state.steps.get(number)
        if step is None:
            if self._steps >= MOST_STEPS:
                self._forget()
            self._steps += 1
            step = state.steps[number] = self._step(state, number)
        return step

    def _forget(self) -> None:
        """Forget all states; texts go on from theirs."""
        for state in list(self._states.values()):
            state.steps.clear()
        self._states.clear()
        self._steps = 0
        if self.patterns is not None:
            self.patterns.forget()

    def _step(self, state: State, number: int) -> Step:
        content = state.content
        reading, labels = self.classes.members[number]
        content, units, others = self._as_read(content, reading)
        found: _FoundWords = set()
        threads: _Sources = {thread: {index} for index, thread in enumerate(content.threads)}
        new = len(threads) + (len(content.patterns.threads) if content.patterns is not None else 0)
        if units and self.lists:
            kinds, threads = self._read(content, (units, *others), new, found)
            content = content._replace(kinds=tuple(sorted(kinds)), threads=tuple(sorted(threads)))
        moves = [tuple(sorted(threads[thread])) for thread in content.threads]
        waiting: tuple[Sources, ...] = ()
        complete: tuple[tuple[int, Sources], ...] = ()
        if self.patterns is not None and content.patterns is not None:
            in_text = content.phase != PROMPT
            target, more, waiting, complete = self.patterns.step(content.patterns, number, labels, state.words, in_text)
            moves += more
            content = content._replace(patterns=target)
        words = tuple(self._found(content.phase, found))
        if content.is_old is not None:
            content, moves = _still_old(content, content.is_old, moves, waiting)
        after = self.state(content._replace(phase=TEXT) if units and content.phase == SEAM else content)
        acts = bool(new or moves or waiting or words or complete or (state.content.patterns or (0, 0, ()))[2])
        return Step(after, acts, bool(units), tuple(moves), waiting, words, complete)

    def _as_read(self, content: Content, reading: Reading) -> tuple[Content, Sequence[Unit], Sequence[Sequence[Unit]]]:
        """Return what is known of case and script behind a character, its foldings, and its other readings."""
        if not self._normalize:
            return content, reading.units, ()
        others = () if reading.is_capital_i and content.case == CAPITAL else reading.others
        spelling, kept = content.spelling, []
        for unit in reading.units:
            if unit.kind != MARK or unit.spelling == spelling:  # else a stray mark
                kept.append(unit)
                spelling = unit.spelling
        return content._replace(case=case_after(content.case, reading), spelling=spelling), kept, others

    def _read(
        self, content: Content, readings: Iterable[Sequence[Unit]], new: int, found: _FoundWords
    ) -> tuple[set[int], _Sources]:
        """Read one character in each of its readings; return the kinds and the threads behind it."""
        every_kind: set[int] = set()
        everything: _Sources = {}
        for units in readings:
            kinds = set(content.kinds)
            threads: _Sources = {thread: {index} for index, thread in enumerate(content.threads)}
            for position, unit in enumerate(units):
                threads = self._read_unit(threads, kinds, unit, position > 0, new, found)
                kinds = {kind if unit.kind == MARK else unit.kind for kind in kinds}
            every_kind |= kinds
            if not everything:  # nearly always: the first reading is the only one
                everything = threads
                continue
            for thread, sources in threads.items():
                everything.setdefault(thread, set()).update(sources)
        return every_kind, everything

    def _read_unit(
        self, threads: _Sources, kinds: set[int], unit: Unit, is_inside: bool, new: int, found: _FoundWords
    ) -> _Sources:
        """Read one folded character; ``is_inside``: another one of the same original character stands before it."""
        after: _Sources = {}
        for (which, before, *place, marks), sources in threads.items():
            words, node = self._list(which), (place[0], place[1], place[2])
            kind = before if unit.kind == MARK else unit.kind
            behind = words.behind_marks(node, marks) if marks else node
            if behind is not None and (kind != SPACED or before != SPACED):
                for number in _completed_by_boundary(words, behind):
                    found.add((which, number, True, is_inside, tuple(sources)))
            for reached, read in _next(words, node, behind, marks, unit, kind):
                self._reach(which, kind, reached, read, unit, sources, after, found)
        for before in kinds:
            kind = before if unit.kind == MARK else unit.kind
            for which, words in self.lists:
                for root in (words.free, words.bound if kind != SPACED or before != SPACED else None):
                    if root is None:
                        continue
                    if combining(unit.character):
                        self._reach(which, kind, root, unit.character, unit, (new,), after, found)
                    elif (child := words.child(root, unit.utf8)) is not None:
                        self._reach(which, kind, child, "", unit, (new,), after, found)
        return after

    def _reach(
        self,
        which: int,
        kind: int,
        node: Node,
        marks: str,
        unit: Unit,
        sources: Iterable[int],
        after: _Sources,
        found: _FoundWords,
    ) -> None:
        """Come to a node: note what is complete there, and the thread, if it can go on."""
        words = self._list(which)
        if unit.may_end and (behind := words.behind_marks(node, marks)) is not None:
            for number in words.ends(behind):
                found.add((which, number, False, True, tuple(sources)))
        if words.goes_on_with(node, marks) if marks else words.goes_on(node):
            after.setdefault((which, kind, *node, marks), set()).update(sources)

    def _found(self, phase: int, found: _FoundWords) -> Iterator[Found]:
        """Yield the completed words that count; banned ones do not within the prompt."""
        for which, number, by_boundary, is_here, sources in found:
            if which == ALLOWED:
                yield Found(self.first_allowed + number, by_boundary, is_here, sources)
            elif phase == TEXT or (phase == SEAM and is_here):
                yield Found(number, by_boundary, is_here, sources)

    def at_end(self, state: State) -> tuple[list[tuple[int, int]], tuple[tuple[int, int], ...]]:
        """Return what the end of the text completes.

        Words with the thread that they come from, and patterns with that of the matches that wait.
        """
        content = state.content
        words = []
        for index, (which, _, *place, marks) in enumerate(content.threads):
            if which == ALLOWED or content.phase == TEXT:
                keywords = self._list(which)
                behind = keywords.behind_marks((place[0], place[1], place[2]), marks)
                first = self.first_allowed if which == ALLOWED else 0
                words += [(first + number, index) for number in _completed_by_boundary(keywords, behind)]
        if self.patterns is None or content.patterns is None:
            return words, ()
        return words, self.patterns.at_end(content.patterns.waiting)

    def _list(self, which: int) -> Keywords:
        words = self.keywords[which]
        assert words is not None
        return words


def _still_old(
    content: Content,
    is_old: tuple[tuple[bool, ...], tuple[bool, ...]],
    moves: list[tuple[int, ...]],
    waiting: Sequence[Sources],
) -> tuple[Content, list[tuple[int, ...]]]:
    """Tell which threads are old that have moved so; without an old word among them no word goes on."""
    threads, waited = is_old
    bits = [any(threads[source] for source in move) for move in moves]
    waits = tuple(
        [any(waited[each] for each in group) or any(threads[each] for each in more) for group, more in waiting]
    )
    banned = _number_of_banned(content.threads)
    if not any(bits[:banned]):
        del bits[:banned], moves[:banned]
        content = content._replace(threads=content.threads[banned:])
    return content._replace(is_old=((*bits, False), waits)), moves


def _completed_by_boundary(words: Keywords, node: Node | None) -> Sequence[int]:
    """Return the numbers of the words that a boundary behind a node completes."""
    closed = None if node is None else words.child(node, BOUNDARY)
    return () if closed is None else words.ends(closed)


def _next(
    words: Keywords, node: Node, behind: Node | None, marks: str, unit: Unit, kind: int
) -> Iterator[tuple[Node, str]]:
    """Yield the nodes after a folded character, with the marks read behind them.

    ``behind`` is the node after ``marks``, if they are all that stands there in some key.
    """
    if combining(unit.character):
        yield node, with_mark(marks, unit.character)
    elif behind is not None and (child := words.child(behind, unit.utf8)) is not None:
        yield child, ""
    if kind == NON_WORD and behind is not None:
        if words.is_in_gap(behind):
            yield behind, ""
        if (gap := words.child(behind, GAP)) is not None:
            yield gap, ""


class Classes(dict[str, tuple[int, int]]):
    """A lazy table from characters to their class, and the bytes of their UTF-8.

    Exchanged for each other in any text, characters of a class leave every match where it was. It has few classes where
    little is banned, and characters are classified as texts meet them.
    """

    def __init__(self, seen: Seen | None, patterns: PatternAutomata | None) -> None:
        super().__init__()
        self._seen = seen
        self._patterns = patterns
        self._numbers: dict[Hashable, int] = {}
        self.members: Final[list[tuple[Reading, Labels]]] = []
        """Of each class what one of its characters is to words and to patterns."""
        self._table = reading_table(True, False) if seen is None else reading_table(seen.ignore_case, seen.normalize)

    def __missing__(self, character: str) -> tuple[int, int]:
        labels = () if self._patterns is None else self._patterns.labels(character)
        seen = None if self._seen is None else self._seen[character]
        number = self._numbers.get((seen, labels))
        if number is None:
            self.members.append((self._table[character], labels))
            number = self._numbers.setdefault((seen, labels), len(self.members) - 1)
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
    last: int  # the end of the last character that was kept

    @classmethod
    def of(cls, state: State) -> RunMark:
        """Return a mark of a state in the text, with offsets that mean nothing."""
        threads, waiting = (0, 0) if state.content.patterns is None else map(len, state.content.patterns[1:])
        return cls(state, (0,) * (state.words + threads), (((1, 0),),) * waiting, 1)


class Run:
    """The automaton in one text.

    Offsets are the caller's: they must grow, and what ends at 0 or before lies in the prompt and is no match.

    Attributes:
        state: The present state.
        starts: Where each of its threads began.
        waiting: Its matches that wait for what follows, in groups; of a group all become complete, or none.
        last: Where the last character ended that words see.
    """

    __slots__ = ("automaton", "last", "starts", "state", "waiting")

    def __init__(self, automaton: Automaton, position: int) -> None:
        self.automaton: Final = automaton
        self.state = automaton.start
        self.starts: tuple[int, ...] = ()
        self.waiting: tuple[Spans, ...] = ()
        self.last = position

    def begin(self) -> None:
        """Leave the prompt."""
        has_words = bool(self.automaton.lists)
        self.state = self.automaton.begun(self.state, SEAM if has_words and self.last <= 0 else TEXT)

    def read(self, text: str, position: int) -> list[tuple[int, list[RawMatch]]]:
        """Read characters from a position on, none of them a surrogate.

        It returns the matches that they complete, and the end of the character that did.
        """
        classes, state, completed = self.automaton.classes, self.state, []
        for character in text:
            number, width = classes[character]
            step = state.steps.get(number) or self.automaton.step(state, number)
            if step.acts:
                matches = self.act(step, position, position + width)
                if matches:
                    completed.append((position + width, matches))
            state = step.target
            position += width
            if step.is_kept:
                self.last = position
        self.state = state
        return completed

    def step(self, character: str, start: int, end: int) -> Sequence[RawMatch]:
        """Read one character, not a surrogate; return the matches that it completes, in no order."""
        number = self.automaton.classes[character][0]
        step = self.state.steps.get(number) or self.automaton.step(self.state, number)
        matches = self.act(step, start, end) if step.acts else ()
        self.state = step.target
        if step.is_kept:
            self.last = end
        return matches

    def act(self, step: Step, start: int, end: int) -> list[RawMatch]:
        """Move the offsets as a step says, of a character between two positions; return what it completes."""
        begun = (*self.starts, start)
        waiting = self.waiting
        matches = [
            (
                end if word.is_here else self.last,
                word.by_boundary,
                min([begun[source] for source in word.sources]),
                word.number,
            )
            for word in step.words
        ]
        if step.patterns or step.waiting or waiting:
            first = self.automaton.first_pattern
            matches += [
                (match_end, match_end < end, match_start, first + number)
                for number, sources in step.patterns
                for match_end, match_start in sources.of(begun, waiting, end)
            ]
            self.waiting = tuple([sources.of(begun, waiting, end) for sources in step.waiting])
        self.starts = tuple(
            [
                begun[sources[0]] if len(sources) == 1 else min([begun[each] for each in sources])
                for sources in step.moves
            ]
        )
        return matches

    def at_end(self) -> list[RawMatch]:
        """Return the matches that the end of the text would complete."""
        words, patterns = self.automaton.at_end(self.state)
        first = self.automaton.first_pattern
        matches = [(self.last, True, self.starts[thread], number) for number, thread in words]
        return matches + [
            (end, True, start, first + number) for number, index in patterns for end, start in self.waiting[index]
        ]

    def under_way(self, most: int) -> list[int]:
        """Return the numbers of some partially matched words and patterns, the words first that began first."""
        automaton, content = self.automaton, self.state.content
        numbers: dict[int, None] = {}
        for index in sorted(range(self.state.banned), key=self.starts.__getitem__):
            _, _, *place, marks = content.threads[index]
            words = automaton.keywords[BANNED]
            assert words is not None
            behind = words.behind_marks((place[0], place[1], place[2]), marks)
            if behind is not None:
                numbers.update(dict.fromkeys(words.longer(behind, most)))
        if content.patterns is not None:
            threads = (*content.patterns.threads, *content.patterns.waiting)
            numbers.update(dict.fromkeys(sorted(automaton.first_pattern + number for number, _ in threads)))
        return list(numbers)[:most]

    @property
    def banned_starts(self) -> tuple[int, ...]:
        """Where each partial match of a banned word or a pattern began, in an order that the state fixes."""
        state = self.state
        return self.starts if state.words == state.banned else self.starts[: state.banned] + self.starts[state.words :]

    @property
    def allowed_starts(self) -> tuple[int, ...]:
        """Where each partial match of an allowed word began, in an order that the state fixes."""
        return self.starts[self.state.banned : self.state.words]

    def mark(self) -> RunMark:
        """Return the position, for ``reset``."""
        return RunMark(self.state, self.starts, self.waiting, self.last)

    def reset(self, mark: RunMark) -> None:
        """Return to a mark, any number of times."""
        self.state, self.starts, self.waiting, self.last = mark
