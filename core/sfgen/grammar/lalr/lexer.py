"""From the terminals of a grammar to an automaton over bytes that cuts a text into terminals as lark's lexer does.

lark's lexer sees the whole text. Where a terminal matches and a preferred one may still match, only the rest of the
text decides. So a *lexer state* is a set of alternatives that differ in what they assume of the rest. Each assumption
is a lookahead obligation, which is checked while the rest is read; in the end one alternative is left: the one that
lark takes.

``make_lexer`` compiles the terminals to programs (``ordered_threads``), finds all lexer states over symbols
(``_LexerStates``), merges equal ones (``_merge``), and writes each symbol as bytes.
"""

from __future__ import annotations

import string
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.atomic import without_atomics
from sfgen.automata.by_character import CharacterMap, byte_table, distinct
from sfgen.automata.compile import by_symbol
from sfgen.automata.lookaround import Obligations, Threads, Trackers
from sfgen.automata.minimize import equal_states
from sfgen.errors import GrammarError, PatternError, PatternTooLarge
from sfgen.grammar.lalr.lark_errors import definition_of
from sfgen.grammar.lalr.ordered_threads import NO_OBLIGATIONS, OrderedMachine, OrderedPlace, OrderedThreads, Programs
from sfgen.grammar.lalr.tables import END, NO_STATE, Lexer, ParseTables, Terminal
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.grammar.shell.token_symbols import code_of, is_code
from sfgen.regex.ast import Alternation, Characters, Node, settle
from sfgen.regex.characters import union
from sfgen.regex.parse import parse

if TYPE_CHECKING:
    from sfgen.grammar.lalr.indentation import LayoutTerminals

MAX_LEXER_STATES = 15_000
"""The most lexer states over symbols, before equal ones are merged."""

MAX_LEXER_WORK = 300_000
"""The most elementary steps of their construction."""

_BLANKS = Characters(union((ord(blank), ord(blank)) for blank in string.whitespace))

_NO_CONTEXT = -1
_TOO_MANY = -1


def make_lexer(
    tables: ParseTables, max_blanks: int | None = None, text: str = "", layout: LayoutTerminals | None = None
) -> Lexer:
    """Make the lexer of all contexts.

    At most ``max_blanks`` ignored characters, all ASCII white space, stand between two terminals; ``None``: all that
    the grammar ignores. With a layout any context may follow a newline, since an indenter drops it in brackets, or adds
    terminals; these stand right behind it, and behind nothing that is ignored.
    """
    asks_for_token = [is_code(terminal.pattern) for terminal in tables.terminals]
    used = [number for number, terminal in enumerate(tables.terminals) if terminal.name != END]
    used = [number for number in used if not asks_for_token[number]]
    trees = [_tree(tables.terminals[number], text) for number in used]
    # One tree, so that all patterns share their symbols; it is never simplified.
    together, symbols = by_symbol(Alternation((*trees, _BLANKS)))
    assert isinstance(together, Alternation)
    *over_symbols, blanks = together.branches
    assert isinstance(blanks, Characters)
    characters = len(symbols.members)
    codes = list[bytes]()
    for number in np.flatnonzero(asks_for_token).tolist():  # a symbol of its own, which is no character
        symbol = characters + len(codes)
        codes.append(code_of(tables.terminals[number].pattern))
        used.append(number)
        over_symbols.append(Characters(((symbol, symbol),)))
    programs = Programs()
    starts = {
        number: programs.add(tree, number, tables.terminals[number].name)
        for number, tree in zip(used, over_symbols, strict=True)
    }
    machine = OrderedMachine(programs, characters + len(codes))
    blank_symbols = frozenset(symbol for low, high in blanks.ranges for symbol in range(low, high + 1))
    lexer_states = _LexerStates(tables, machine, starts, blank_symbols, max_blanks, layout)
    merged = _merge(lexer_states, characters + len(codes), len(tables.contexts))
    return _over_bytes(merged, symbols.numbers, codes)


def _tree(terminal: Terminal, text: str) -> Node:
    try:
        tree = settle(parse(terminal.pattern, ascii_only=False), within_text=True)
        return without_atomics(tree, terminal.pattern, within_text=True)
    except PatternError as error:
        raise GrammarError(
            f"the terminal {terminal.name}, /{terminal.pattern}/, cannot be followed: {error.reason}",
            text,
            definition_of(text, terminal.name),
            hint=error.hint,
        ) from None


def _over_bytes(merged: _Merged, symbols: CharacterMap, codes: list[bytes]) -> Lexer:
    """Write each symbol as the bytes of its characters; the last ones are tokens, and are codes of one byte."""
    characters = merged.step.shape[1] - len(codes)
    try:
        table, class_of_byte = byte_table(np.ascontiguousarray(merged.step[:, :characters]), symbols, "")
    except PatternTooLarge as error:
        raise GrammarTooLarge("of all terminals", error.reason, "lexer") from None
    if codes:
        class_of_byte[list(b"".join(codes))] = table.shape[1] + np.arange(len(codes))
        behind_codes = np.full((len(table), len(codes)), NO_STATE, dtype=np.int32)
        behind_codes[: len(merged.step)] = merged.step[:, characters:]
        table = np.hstack([table, behind_codes])
    chosen, class_of_class = distinct(np.ascontiguousarray(table.T))
    inside = len(table) - len(merged.step)
    counts = [len(commits) for commits in merged.commits] + [0] * inside
    commits = np.array([commit for of_state in merged.commits for commit in of_state], dtype=np.int32)
    commits = commits.reshape(-1, 2)
    return Lexer(
        byte_classes=class_of_class[class_of_byte].astype(np.uint8),
        step=np.ascontiguousarray(table[:, chosen]),
        starts=merged.starts,
        commit_starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        commit_terminals=np.ascontiguousarray(commits[:, 0]),
        commit_obligations=np.ascontiguousarray(commits[:, 1]),
        may_end=np.append(merged.may_end, np.zeros(inside, dtype=np.bool_)),
        obligation_holds_at_end=merged.holds_at_end,
    )


_Keywords: TypeAlias = tuple[tuple[int, tuple[tuple[int, Threads], ...]], ...]
"""Of each open terminal the terminals that replace it where they match the whole lexeme, and their threads."""

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
        context: The context in which the lexer continues behind an ignored terminal; -1 where none can be ignored
            here.
        threads: The number of the open lexeme's list of threads.
        keywords: The number of the keywords that the lexeme may be.
        obligation: The number of the obligations of earlier lexemes.
        trackers: The number of the lookbehinds' states.
        blanks: The characters since the last terminal of the parser; 0 if they are not counted, -1 if there are too
            many or others than white space.
        is_fresh: Whether no lexeme is open.
    """

    context: int
    threads: int
    keywords: int
    obligation: int
    trackers: int
    blanks: int
    is_fresh: bool


class _About(NamedTuple):
    """Facts about a list of threads.

    Attributes:
        symbols: The symbols that some thread reads, as bits.
        has_ignored: Whether one belongs to an ignored terminal.
        has_others: Whether one belongs to another terminal.
        matches: The threads that match here: index and terminal.
        asked_in: The characters until each lookbehind is evaluated.
        open: The terminals.
    """

    symbols: int
    has_ignored: bool
    has_others: bool
    matches: tuple[tuple[int, int], ...]
    asked_in: tuple[int, ...]
    open: frozenset[int]


class _LexerStates:
    """Finds all lexer states from the start of the text on.

    Attributes:
        rows: The lexer state behind each symbol, for each lexer state; other symbols are refused.
        commits: Terminals and obligations of each lexer state.
        may_end: Whether the text may end without an open lexeme, for each lexer state.
        starts: The lexer state of a context and an obligation; ``NO_STATE`` where nothing can follow.
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
        self._behind_commits: _Numbered[tuple[int, int]] = _Numbered()
        self._about: dict[int, _About] = {}
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
        """Whether the text may end behind each obligation."""
        return [self._holds_at_end(obligations) for obligations, _ in self._behind_commits.all]

    @cached_property
    def _contexts_behind(self) -> dict[int, tuple[int, ...]]:
        """The contexts of the gaps behind each terminal."""
        behind: defaultdict[int, set[int]] = defaultdict(set)
        states, terminals = (self._tables.actions > 0).nonzero()
        targets = self._tables.actions[states, terminals] - 1
        for terminal, context in zip(terminals.tolist(), self._tables.context_of[targets].tolist(), strict=True):
            behind[terminal].add(context)
        if self._layout is not None:
            behind[self._layout.newline].update(range(len(self._tables.contexts)))
        return {terminal: tuple(sorted(contexts)) for terminal, contexts in behind.items()}

    @cached_property
    def _asked_at_start(self) -> tuple[int, ...]:
        """The characters from the beginning of a lexeme until each lookbehind is evaluated."""
        return self._machine.asked_in([(state, NO_OBLIGATIONS) for state in self._program.values()])

    def _find_all(self) -> None:
        nothing = self._obligations.number(NO_OBLIGATIONS)
        self._behind_commits.number((nothing, self._kept_trackers(self._machine.text_start(), nothing)))
        self._start(int(self._tables.context_of[self._tables.start]), 0)
        while len(self.rows) < len(self._states.all):
            lexer_state = len(self.rows)
            members = self._states.all[lexer_state]
            self._limit()
            row: dict[int, int] = {}
            for symbol in self._symbols(members):
                behind = frozenset(after for member in members for after in self._after(member, symbol))
                if behind:
                    row[symbol] = self._states.number(behind)
            self.rows.append(row)
            commits = tuple(sorted({commit for member in members for commit in self._commits(member)}))
            self.commits.append(commits)
            self.may_end.append(any(map(self._may_end, members)))
            for terminal, obligation in commits:
                for context in self._contexts_behind.get(terminal, ()):
                    if (context, obligation) not in self.starts:
                        self._start(context, obligation)

    def _limit(self) -> None:
        too_many = len(self._states.all) > MAX_LEXER_STATES
        if too_many or self._machine.work > MAX_LEXER_WORK:
            lists = Counter(terminal for about in self._about.values() for terminal in about.open)
            terminal = self._tables.terminals[lists.most_common(1)[0][0]]
            limit = f"{MAX_LEXER_STATES:,} states" if too_many else f"{MAX_LEXER_WORK:,} steps of construction"
            blanks = f" with {self._max_blanks} blanks in a row" if self._max_blanks and self._max_blanks > 1 else ""
            raise GrammarTooLarge(terminal.name, f"{limit} for the lexer{blanks}", "terminal")

    def _start(self, context: int, obligation: int) -> None:
        """Begin a lexeme behind a terminal of the parser."""
        obligations, trackers = self._behind_commits.all[obligation]
        fresh = self._fresh(context, obligations, self._trackers.all[trackers], 0, is_gap=True)
        self.starts[context, obligation] = self._states.number(frozenset([fresh]))

    def _fresh(
        self, context: int, obligations: int, trackers: Iterable[Threads | None], blanks: int, *, is_gap: bool = False
    ) -> int:
        """Return the alternative that begins a lexeme: at a gap, or behind what is ignored there."""
        kept = self._kept_trackers(trackers, obligations)
        key = context, kept, is_gap and self._layout is not None
        threads = self._first_threads.get(key)
        scanner = self._tables.contexts[context]
        if threads is None:
            gap = self._machine.gap(self._trackers.all[kept])
            added = () if is_gap or self._layout is None else (self._layout.indent, self._layout.dedent)
            first = gap.begin(self._program[terminal] for terminal in scanner.ordered if terminal not in added)
            threads = self._first_threads[key] = self._threads.number(first)
        open_ = self._about_threads(threads).open
        keywords = tuple(
            (terminal, tuple((other, frozenset([(self._program[other], NO_OBLIGATIONS)])) for other in others))
            for terminal, others in scanner.unless.items()
            if terminal in open_
        )
        if blanks == self._max_blanks or not self._about_threads(threads).has_ignored:
            context, blanks = _NO_CONTEXT, _TOO_MANY
        return self._alternatives.number(
            _Alternative(context, threads, self._keywords.number(keywords), obligations, kept, blanks, True)
        )

    def _kept_trackers(self, trackers: Iterable[Threads | None], obligations: int, threads: int | None = None) -> int:
        """Number the lookbehind states that a later lexeme may still ask for."""
        machine = self._machine
        if not machine.has_lookbehinds:
            return self._trackers.number(tuple(trackers))
        asked = [self._asked_at_start, machine.asked_in([(0, self._obligations.all[obligations])])]
        if threads is not None:
            asked.append(self._about_threads(threads).asked_in)
        soonest = [min(distances) for distances in zip(*asked, strict=True)]
        return self._trackers.number(machine.needed(tuple(trackers), soonest))

    def _about_threads(self, threads: int) -> _About:
        about = self._about.get(threads)
        if about is None:
            machine = self._machine
            all_threads = self._threads.all[threads]
            symbols = 0
            for state, _ in all_threads:
                symbols |= machine.symbols_of(state)
            owners = frozenset(machine.programs.terminal_at(state) for state, _ in all_threads)
            about = self._about[threads] = _About(
                symbols,
                not owners.isdisjoint(self._tables.ignored),
                not owners <= self._tables.ignored,
                tuple(
                    (index, machine.terminal_of[state])
                    for index, (state, _) in enumerate(all_threads)
                    if state in machine.terminal_of
                ),
                machine.asked_in(all_threads),
                owners,
            )
        return about

    def _symbols(self, members: frozenset[int]) -> list[int]:
        """List the symbols that some alternative reads."""
        bits = 0
        for member in members:
            bits |= self._about_threads(self._alternatives.all[member].threads).symbols
        return [symbol for symbol in range(self._machine.classes) if bits >> symbol & 1]

    def _after(self, alternative: int, symbol: int) -> tuple[int, ...]:
        """Return the alternatives behind a symbol."""
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
        obligation = self._left_of_obligation(before, position)
        if obligation == NO_STATE:
            return []
        threads = self._read(before, position)
        about = self._about_threads(threads)
        context, blanks = before.context, before.blanks
        if self._max_blanks is not None and context != _NO_CONTEXT:
            blanks = blanks + 1 if symbol in self._blanks and blanks < self._max_blanks else _TOO_MANY
        if blanks == _TOO_MANY or not about.has_ignored:
            context, blanks = _NO_CONTEXT, _TOO_MANY
        if context == _NO_CONTEXT and not about.has_others:
            return []
        trackers = self._kept_trackers(position.trackers, obligation, threads)
        keywords = self._keywords_behind(before.keywords, position, about.open)
        alternatives = [
            self._alternatives.number(_Alternative(context, threads, keywords, obligation, trackers, blanks, False))
        ]
        if context != _NO_CONTEXT:
            for index, terminal in about.matches:
                if terminal in self._tables.ignored:
                    assumed = self._assume(threads, index, obligation)
                    if assumed != NO_STATE:
                        alternatives.append(self._fresh(context, assumed, position.trackers, blanks))
        return alternatives

    def _read(self, before: _Alternative, position: OrderedPlace) -> int:
        key = before.threads, before.trackers, position.label
        read = self._threads_after.get(key)
        if read is None:
            behind = position.read_in_order(self._threads.all[before.threads])
            read = self._threads_after[key] = self._threads.number(behind)
        return read

    def _keywords_behind(self, keywords: int, position: OrderedPlace, open_: frozenset[int]) -> int:
        if not self._keywords.all[keywords]:
            return keywords
        key = keywords, position.label
        number = self._keywords_after.get(key)
        if number is None:
            behind = []
            for terminal, others in self._keywords.all[keywords]:
                left = [(other, position.read(threads)) for other, threads in others]
                behind.append((terminal, tuple((other, threads) for other, threads in left if threads)))
            left_open = tuple((terminal, others) for terminal, others in behind if others)
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
        """Return the obligations of taking a thread's match; ``NO_STATE`` where they contradict each other."""
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
        """Merge negative obligations into one; ``NO_STATE`` where two contradict each other."""
        never = frozenset(thread for negative, threads in obligations if negative for thread in threads)
        wanted = frozenset(obligation for obligation in obligations if not obligation[0])
        if any(threads <= never for _, threads in wanted):
            return NO_STATE
        return self._obligations.number(wanted | {(True, never)} if never else wanted)

    def _commits(self, alternative: int) -> tuple[tuple[int, int], ...]:
        commits = self._commits_of.get(alternative)
        if commits is None:
            commits = self._commits_of[alternative] = tuple(self._find_commits(self._alternatives.all[alternative]))
        return commits

    def _find_commits(self, alternative: _Alternative) -> list[tuple[int, int]]:
        commits = []
        keywords = dict(self._keywords.all[alternative.keywords])
        for index, terminal in self._about_threads(alternative.threads).matches:
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
            commits.append((terminal, self._behind_commits.number((assumed, self._kept_trackers(known, assumed)))))
        return commits

    def _may_end(self, alternative: int) -> bool:
        reading = self._alternatives.all[alternative]
        return reading.is_fresh and self._holds_at_end(reading.obligation)

    def _holds_at_end(self, obligations: int) -> bool:
        return all(map(self._machine.met_at_end, self._obligations.all[obligations]))


class _Merged(NamedTuple):
    """Lexer states over symbols, after merging.

    Attributes:
        step: int32 ``[lexer_states, symbols]``; ``NO_STATE`` for none.
        starts: int32 ``[contexts, obligations]``; ``NO_STATE`` for none.
        commits: Terminals and obligations of each lexer state.
        may_end: bool ``[lexer_states]``.
        holds_at_end: bool ``[obligations]``.
    """

    step: NDArray[np.int32]
    starts: NDArray[np.int32]
    commits: list[tuple[tuple[int, int], ...]]
    may_end: NDArray[np.bool_]
    holds_at_end: NDArray[np.bool_]


def _merge(lexer_states: _LexerStates, symbols: int, contexts: int) -> _Merged:
    """Merge lexer states and obligations that no text tells apart; drop those that lead nowhere.

    Lexer states are the states of an automaton whose output is their commits and whether the text may end. Equal ones
    are found by partition refinement (Hopcroft, 1971). Obligations are equal if the same lexer state follows in every
    context. Merged obligations may make more states equal, so both are repeated until nothing changes.
    """
    step = np.full((len(lexer_states.rows), symbols), NO_STATE, dtype=np.int32)
    for lexer_state, row in enumerate(lexer_states.rows):
        step[lexer_state, list(row)] = list(row.values())
    holds = np.array(lexer_states.obligations_hold_at_end, dtype=np.bool_)
    starts = np.full((contexts, len(holds)), NO_STATE, dtype=np.int32)
    for (context, obligation), lexer_state in lexer_states.starts.items():
        starts[context, obligation] = lexer_state
    merged = _Merged(step, starts, lexer_states.commits, np.array(lexer_states.may_end, dtype=np.bool_), holds)
    while True:
        smaller = _round(merged)
        if smaller.starts.shape == merged.starts.shape and smaller.commits == merged.commits:
            return smaller
        merged = smaller


def _round(merged: _Merged) -> _Merged:
    merged = _without_needless_obligations(merged)
    outputs: dict[tuple[tuple[tuple[int, int], ...], bool], int] = {}
    output = np.full(len(merged.step), -1, dtype=np.int32)
    for lexer_state, (commits, may_end) in enumerate(zip(merged.commits, merged.may_end.tolist(), strict=True)):
        if commits or may_end:
            output[lexer_state] = outputs.setdefault((commits, may_end), len(outputs))
    block_of = _blocks(merged.step, output, len(outputs), np.unique(merged.starts[merged.starts >= 0]))
    blocks = int(block_of.max(initial=-1)) + 1
    member = np.zeros(blocks, dtype=np.intp)
    member[block_of[block_of >= 0]] = np.flatnonzero(block_of >= 0)
    after = np.append(block_of, np.int32(NO_STATE))
    return _Merged(
        after[merged.step[member]],
        after[merged.starts],
        [merged.commits[lexer_state] for lexer_state in member.tolist()],
        merged.may_end[member],
        merged.holds_at_end,
    )


def _without_needless_obligations(merged: _Merged) -> _Merged:
    """Merge equal obligations, and drop commits behind which nothing can follow; obligation 0 stays first."""
    columns = np.concatenate([merged.starts, merged.holds_at_end[None].astype(np.int32)])
    _, chosen, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(chosen)  # by the first obligation of each kind
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    number_of = rank[which.reshape(-1)]
    first = chosen[order]
    starts, holds = merged.starts[:, first], merged.holds_at_end[first]
    is_possible = (starts >= 0).any(axis=0) | holds
    commits = [
        tuple(
            sorted(
                {(t, int(number_of[obligation])) for t, obligation in of_state if is_possible[number_of[obligation]]}
            )
        )
        for of_state in merged.commits
    ]
    return merged._replace(starts=starts, holds_at_end=holds, commits=commits)


def _blocks(
    step: NDArray[np.int32], output: NDArray[np.int32], outputs: int, starts: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the block of each lexer state, in their order; -1 for dead and unreachable ones."""
    lexer_states, symbols = step.shape
    # Two more symbols. One leads from a lexer state to its output, and from there along a chain whose length tells the
    # outputs apart; the other along a chain through which all starts are reached.
    chain = max(outputs, 1)
    first = 1 + len(starts)  # order of states: start, its chain, lexer states, outputs
    end = first + lexer_states
    table = np.full((end + chain, symbols + 2), -1, dtype=np.int32)
    table[0 : len(starts), symbols + 1] = np.arange(1, first)
    table[1:first, symbols] = first + starts
    table[first:end, :symbols] = np.where(step >= 0, step + first, -1)
    table[first:end, symbols] = np.where(output >= 0, output + end, -1)
    table[end + 1 :, symbols] = np.arange(end, end + chain - 1)
    accepting = np.zeros(len(table), dtype=np.bool_)
    accepting[end] = True
    _, block_of = equal_states(table, accepting)
    blocks = block_of[first:end]
    alive = np.flatnonzero(blocks >= 0)
    _, chosen, which = np.unique(blocks[alive], return_index=True, return_inverse=True)
    order = np.argsort(chosen)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    numbers = np.full(lexer_states, -1, dtype=np.int32)
    numbers[alive] = rank[which]
    return numbers
