"""All lexer states of a grammar, over symbols.

lark's lexer reads the whole text at once. If a terminal matches and a preferred one may still match, the rest of the
text decides between them. So a *lexer state* is a set of alternatives with different assumptions about the rest. Each
assumption is a lookahead obligation, which is checked while the rest is read. At the end one alternative is left: the
one that lark takes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from sfgen.automata.lookaround import Obligations, Threads, Trackers
from sfgen.grammar.lalr.ordered_threads import NO_OBLIGATIONS, OrderedMachine, OrderedPlace, OrderedThreads
from sfgen.grammar.lalr.tables import NO_STATE, ParseTables
from sfgen.grammar.network.rules import GrammarTooLarge

if TYPE_CHECKING:
    from sfgen.grammar.lalr.indentation import LayoutTerminals

MAX_LEXER_STATES = 15_000
"""The most lexer states over symbols, before equal ones are merged."""

MAX_LEXER_WORK = 300_000
"""The most elementary steps of their construction."""

_NO_CONTEXT = -1
_TOO_MANY = -1

_Keywords: TypeAlias = tuple[tuple[int, tuple[tuple[int, Threads], ...]], ...]
"""For each open terminal the terminals that replace it if they match the whole lexeme, and their threads."""

T = TypeVar("T", bound=Hashable)


class _Numbered(Generic[T]):
    """Numbers different values in the order in which they come."""

    def __init__(self) -> None:
        self.all: list[T] = []
        self._numbers: dict[T, int] = {}

    def number(self, thing: T) -> int:
        known = self._numbers.get(thing)
        if known is None:
            known = self._numbers[thing] = len(self.all)
            self.all.append(thing)
        return known


class _Alternative(NamedTuple):
    """One reading of the text by lark's lexer, under its assumptions.

    Attributes:
        context: The context in which the lexer continues after an ignored terminal; -1 if none can be ignored here.
        threads: The number of the open lexeme's list of threads.
        keywords: The number of the keywords that the lexeme may be.
        obligation: The number of the obligations of earlier lexemes.
        trackers: The number of the lookbehinds' states.
        blanks: The number of characters since the last terminal of the parser; 0 if they are not counted, -1 if there
            are too many, or some that are not white space.
        is_fresh: Whether no lexeme is open.
    """

    context: int
    threads: int
    keywords: int
    obligation: int
    trackers: int
    blanks: int
    is_fresh: bool


class _ThreadFacts(NamedTuple):
    """Facts about a list of threads.

    Attributes:
        symbols: The symbols that some thread reads, as bits.
        has_ignored: Whether one belongs to an ignored terminal.
        has_others: Whether one belongs to another terminal.
        matches: The threads that match here: index and terminal.
        evaluated_in: The characters until each lookbehind is evaluated.
        open: The terminals.
    """

    symbols: int
    has_ignored: bool
    has_others: bool
    matches: tuple[tuple[int, int], ...]
    evaluated_in: tuple[int, ...]
    open: frozenset[int]


class LexerStates:
    """Finds all lexer states from the start of the text on.

    Attributes:
        rows: The lexer state after each symbol, for each lexer state; other symbols are refused.
        commits: Terminals and obligations of each lexer state.
        may_end: Whether the text may end without an open lexeme, for each lexer state.
        starts: The lexer state of a context and an obligation; ``NO_STATE`` if nothing can follow.
    """

    def __init__(
        self,
        tables: ParseTables,
        machine: OrderedMachine,
        starts: dict[int, int],
        blanks: frozenset[int],
        max_blanks: int | None,
        layout: LayoutTerminals | None,
    ) -> None:
        self._tables = tables
        self._layout = layout
        added = () if layout is None else (layout.indent, layout.dedent)
        self._added = frozenset(machine.symbols_of(starts[terminal]).bit_length() - 1 for terminal in added)
        self._machine = machine
        self._program = starts
        self._blanks = blanks
        self._max_blanks = max_blanks
        self._threads: _Numbered[OrderedThreads] = _Numbered()
        self._keywords: _Numbered[_Keywords] = _Numbered()
        self._obligations: _Numbered[Obligations] = _Numbered()
        self._trackers: _Numbered[Trackers] = _Numbered()
        self._alternatives: _Numbered[_Alternative] = _Numbered()
        self._states: _Numbered[frozenset[int]] = _Numbered()
        self._after_commits: _Numbered[tuple[int, int]] = _Numbered()
        self._facts: dict[int, _ThreadFacts] = {}
        self._threads_after: dict[tuple[int, int, int], int] = {}
        self._keywords_after: dict[tuple[int, int], int] = {}
        self._obligations_after: dict[tuple[int, int, int], int] = {}
        self._first_threads: dict[tuple[int, int, bool], int] = {}
        self._assumed: dict[tuple[int, int, int], int] = {}
        self._alternatives_after: dict[tuple[int, int], tuple[int, ...]] = {}
        self._commits_of: dict[int, tuple[tuple[int, int], ...]] = {}
        self.rows: list[dict[int, int]] = []
        self.commits: list[tuple[tuple[int, int], ...]] = []
        self.may_end: list[bool] = []
        self.starts: dict[tuple[int, int], int] = {}
        self._find_all()

    @property
    def obligations_hold_at_end(self) -> list[bool]:
        """Whether the text may end after each obligation."""
        return [self._holds_at_end(obligations) for obligations, _ in self._after_commits.all]

    @cached_property
    def _contexts_after(self) -> dict[int, tuple[int, ...]]:
        """The contexts of the gaps after each terminal."""
        contexts_of: defaultdict[int, set[int]] = defaultdict(set)
        states, terminals = (self._tables.actions > 0).nonzero()
        targets = self._tables.actions[states, terminals] - 1
        for terminal, context in zip(terminals.tolist(), self._tables.context_of[targets].tolist(), strict=True):
            contexts_of[terminal].add(context)
        if self._layout is not None:
            contexts_of[self._layout.newline].update(range(len(self._tables.contexts)))
        return {terminal: tuple(sorted(contexts)) for terminal, contexts in contexts_of.items()}

    @cached_property
    def _evaluated_from_start(self) -> tuple[int, ...]:
        """The characters from the beginning of a lexeme until each lookbehind is evaluated."""
        return self._machine.evaluated_in([(state, NO_OBLIGATIONS) for state in self._program.values()])

    def _find_all(self) -> None:
        nothing = self._obligations.number(NO_OBLIGATIONS)
        self._after_commits.number((nothing, self._kept_trackers(self._machine.text_start(), nothing)))
        self._start(int(self._tables.context_of[self._tables.start]), 0)
        while len(self.rows) < len(self._states.all):
            lexer_state = len(self.rows)
            members = self._states.all[lexer_state]
            self._limit()
            row: dict[int, int] = {}
            for symbol in self._symbols(members):
                targets = frozenset(after for member in members for after in self._after(member, symbol))
                if targets:
                    row[symbol] = self._states.number(targets)
            self.rows.append(row)
            commits = tuple(sorted({commit for member in members for commit in self._commits(member)}))
            self.commits.append(commits)
            self.may_end.append(any(map(self._may_end, members)))
            for terminal, obligation in commits:
                for context in self._contexts_after.get(terminal, ()):
                    if (context, obligation) not in self.starts:
                        self._start(context, obligation)

    def _limit(self) -> None:
        too_many = len(self._states.all) > MAX_LEXER_STATES
        if too_many or self._machine.work > MAX_LEXER_WORK:
            lists = Counter(terminal for facts in self._facts.values() for terminal in facts.open)
            terminal = self._tables.terminals[lists.most_common(1)[0][0]]
            limit = f"{MAX_LEXER_STATES:,} states" if too_many else f"{MAX_LEXER_WORK:,} steps of construction"
            blanks = f" with {self._max_blanks} blanks in a row" if self._max_blanks and self._max_blanks > 1 else ""
            raise GrammarTooLarge(terminal.name, f"{limit} for the lexer{blanks}", "terminal")

    def _start(self, context: int, obligation: int) -> None:
        """Add the lexer state that begins a lexeme in a context, under an obligation."""
        obligations, trackers = self._after_commits.all[obligation]
        fresh = self._fresh(context, obligations, self._trackers.all[trackers], 0, is_gap=True)
        self.starts[context, obligation] = self._states.number(frozenset([fresh]))

    def _fresh(
        self, context: int, obligations: int, trackers: Iterable[Threads | None], blanks: int, *, is_gap: bool = False
    ) -> int:
        """Return the alternative that begins a lexeme: at a gap, or after an ignored terminal."""
        kept = self._kept_trackers(trackers, obligations)
        key = context, kept, is_gap and self._layout is not None
        threads = self._first_threads.get(key)
        scanner = self._tables.contexts[context]
        if threads is None:
            gap = self._machine.gap(self._trackers.all[kept])
            added = () if is_gap or self._layout is None else (self._layout.indent, self._layout.dedent)
            first = gap.begin(self._program[terminal] for terminal in scanner.ordered if terminal not in added)
            threads = self._first_threads[key] = self._threads.number(first)
        open_ = self._facts_of(threads).open
        keywords = tuple(
            (terminal, tuple((other, frozenset([(self._program[other], NO_OBLIGATIONS)])) for other in others))
            for terminal, others in scanner.unless.items()
            if terminal in open_
        )
        if blanks == self._max_blanks or not self._facts_of(threads).has_ignored:
            context, blanks = _NO_CONTEXT, _TOO_MANY
        return self._alternatives.number(
            _Alternative(context, threads, self._keywords.number(keywords), obligations, kept, blanks, True)
        )

    def _kept_trackers(self, trackers: Iterable[Threads | None], obligations: int, threads: int | None = None) -> int:
        """Number the lookbehind states that a later lexeme may still need."""
        machine = self._machine
        if not machine.has_lookbehinds:
            return self._trackers.number(tuple(trackers))
        fewest = [self._evaluated_from_start, machine.evaluated_in([(0, self._obligations.all[obligations])])]
        if threads is not None:
            fewest.append(self._facts_of(threads).evaluated_in)
        soonest = [min(distances) for distances in zip(*fewest, strict=True)]
        return self._trackers.number(machine.needed(tuple(trackers), soonest))

    def _facts_of(self, threads: int) -> _ThreadFacts:
        facts = self._facts.get(threads)
        if facts is None:
            machine = self._machine
            all_threads = self._threads.all[threads]
            symbols = 0
            for state, _ in all_threads:
                symbols |= machine.symbols_of(state)
            owners = frozenset(machine.programs.terminal_at(state) for state, _ in all_threads)
            facts = self._facts[threads] = _ThreadFacts(
                symbols,
                not owners.isdisjoint(self._tables.ignored),
                not owners <= self._tables.ignored,
                tuple(
                    (index, machine.terminal_of[state])
                    for index, (state, _) in enumerate(all_threads)
                    if state in machine.terminal_of
                ),
                machine.evaluated_in(all_threads),
                owners,
            )
        return facts

    def _symbols(self, members: frozenset[int]) -> list[int]:
        """List the symbols that some alternative reads."""
        bits = 0
        for member in members:
            bits |= self._facts_of(self._alternatives.all[member].threads).symbols
        return [symbol for symbol in range(self._machine.classes) if bits >> symbol & 1]

    def _after(self, alternative: int, symbol: int) -> tuple[int, ...]:
        """Return the alternatives after a symbol."""
        key = alternative, symbol
        alternatives = self._alternatives_after.get(key)
        if alternatives is None:
            self._machine.spend(1)
            alternatives = self._alternatives_after[key] = tuple(
                self._find_after(self._alternatives.all[alternative], symbol)
            )
        return alternatives

    def _find_after(self, before: _Alternative, symbol: int) -> list[int]:
        position = self._machine.position(self._trackers.all[before.trackers], symbol)
        # Indents and dedents keep the obligation of the newline before them.
        is_added = symbol in self._added
        obligation = before.obligation if is_added else self._left_of_obligation(before, position)
        if obligation == NO_STATE:
            return []
        threads = self._read(before, position)
        facts = self._facts_of(threads)
        context, blanks = before.context, before.blanks
        if self._max_blanks is not None and context != _NO_CONTEXT:
            blanks = blanks + 1 if symbol in self._blanks and blanks < self._max_blanks else _TOO_MANY
        if blanks == _TOO_MANY or not facts.has_ignored:
            context, blanks = _NO_CONTEXT, _TOO_MANY
        if context == _NO_CONTEXT and not facts.has_others:
            return []
        trackers = self._kept_trackers(position.trackers, obligation, threads)
        keywords = self._keywords_left(before.keywords, position, facts.open)
        alternatives = [
            self._alternatives.number(_Alternative(context, threads, keywords, obligation, trackers, blanks, False))
        ]
        if context != _NO_CONTEXT:
            for index, terminal in facts.matches:
                if terminal in self._tables.ignored:
                    assumed = self._assume(threads, index, obligation)
                    if assumed != NO_STATE:
                        alternatives.append(self._fresh(context, assumed, position.trackers, blanks))
        return alternatives

    def _read(self, before: _Alternative, position: OrderedPlace) -> int:
        key = before.threads, before.trackers, position.label
        read = self._threads_after.get(key)
        if read is None:
            after = position.read_in_order(self._threads.all[before.threads])
            read = self._threads_after[key] = self._threads.number(after)
        return read

    def _keywords_left(self, keywords: int, position: OrderedPlace, open_: frozenset[int]) -> int:
        if not self._keywords.all[keywords]:
            return keywords
        key = keywords, position.label
        number = self._keywords_after.get(key)
        if number is None:
            remaining = []
            for terminal, others in self._keywords.all[keywords]:
                left = [(other, position.read(threads)) for other, threads in others]
                remaining.append((terminal, tuple((other, threads) for other, threads in left if threads)))
            left_open = tuple((terminal, others) for terminal, others in remaining if others)
            number = self._keywords_after[key] = self._keywords.number(left_open)
        if all(terminal in open_ for terminal, _ in self._keywords.all[number]):
            return number
        return self._keywords.number(tuple(pair for pair in self._keywords.all[number] if pair[0] in open_))

    def _left_of_obligation(self, before: _Alternative, position: OrderedPlace) -> int:
        obligations = self._obligations.all[before.obligation]
        if not obligations:
            return before.obligation
        key = before.obligation, before.trackers, position.label
        number = self._obligations_after.get(key)
        if number is None:
            left = position.keep(obligations)
            number = self._obligations_after[key] = NO_STATE if left is None else self._simple(left)
        return number

    def _assume(self, threads: int, index: int, pending: int) -> int:
        """Return the obligations after taking a thread's match; ``NO_STATE`` if they contradict each other."""
        key = threads, index, pending
        number = self._assumed.get(key)
        if number is None:
            all_threads = self._threads.all[threads]
            assumed = self._obligations.all[pending] | all_threads[index][1]
            if index:
                assumed |= {(True, frozenset(all_threads[:index]))}
            number = self._assumed[key] = self._simple(assumed)
        return number

    def _simple(self, obligations: Obligations) -> int:
        """Merge negative obligations into one; ``NO_STATE`` if two obligations contradict each other."""
        never = frozenset(thread for negative, threads in obligations if negative for thread in threads)
        positive = frozenset(obligation for obligation in obligations if not obligation[0])
        if any(threads <= never for _, threads in positive):
            return NO_STATE
        return self._obligations.number(positive | {(True, never)} if never else positive)

    def _commits(self, alternative: int) -> tuple[tuple[int, int], ...]:
        commits = self._commits_of.get(alternative)
        if commits is None:
            commits = self._commits_of[alternative] = tuple(self._find_commits(self._alternatives.all[alternative]))
        return commits

    def _find_commits(self, alternative: _Alternative) -> list[tuple[int, int]]:
        commits = []
        keywords = dict(self._keywords.all[alternative.keywords])
        for index, terminal in self._facts_of(alternative.threads).matches:
            if terminal in self._tables.ignored:
                continue
            assumed = self._assume(alternative.threads, index, alternative.obligation)
            if assumed == NO_STATE:
                continue
            for other, threads in keywords.get(terminal, ()):
                if any(state in self._machine.ends for state, _ in threads):
                    terminal = other
                    break
            known = self._trackers.all[alternative.trackers]
            commits.append((terminal, self._after_commits.number((assumed, self._kept_trackers(known, assumed)))))
        return commits

    def _may_end(self, alternative: int) -> bool:
        reading = self._alternatives.all[alternative]
        return reading.is_fresh and self._holds_at_end(reading.obligation)

    def _holds_at_end(self, obligations: int) -> bool:
        return all(map(self._machine.met_at_end, self._obligations.all[obligations]))
