"""The lexer: an automaton over bytes, made from a grammar's terminals, that cuts a text into terminals as lark does.

``make_lexer`` compiles the terminals to programs (``ordered_threads``), finds all lexer states over symbols
(``lexer_states``), merges equal ones (``_merge``), and writes each symbol as bytes.
"""

from __future__ import annotations

import string
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.atomic import without_atomics
from sfgen.automata.by_character import CharacterMap, byte_table, distinct
from sfgen.automata.compile import by_symbol
from sfgen.automata.minimize import equal_states
from sfgen.errors import GrammarError, PatternError, PatternTooLarge
from sfgen.grammar.lalr.lark_errors import definition_of
from sfgen.grammar.lalr.lark_quotations import (
    QuotingState,
    as_characters,
    private_pair,
    quoted_in,
    quoting_automaton,
    readable,
)
from sfgen.grammar.lalr.lexer_states import LexerStates
from sfgen.grammar.lalr.ordered_threads import OrderedMachine, Programs
from sfgen.grammar.lalr.tables import END, NO_STATE, Lexer, ParseTables, Terminal
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.grammar.shell.token_symbols import code_of, is_code
from sfgen.regex.ast import (
    Alternation,
    Anchor,
    Atomic,
    Characters,
    Concatenation,
    Look,
    Node,
    Repeat,
    contains,
    settle,
)
from sfgen.regex.characters import Ranges, union
from sfgen.regex.parse import parse

if TYPE_CHECKING:
    from sfgen.grammar.lalr.indentation import LayoutTerminals

_BLANKS = Characters(union((ord(blank), ord(blank)) for blank in string.whitespace))


def make_lexer(
    tables: ParseTables, max_blanks: int | None = None, text: str = "", layout: LayoutTerminals | None = None
) -> Lexer:
    """Make the lexer of all contexts.

    Between two terminals the lexer reads at most ``max_blanks`` ignored characters, all ASCII white space; ``None``:
    all text that the grammar ignores. With a layout any context may follow a newline, because an indenter drops a
    newline in brackets and adds terminals after others. Added terminals directly follow the newline, before any ignored
    text.
    """
    has_code = [is_code(terminal.pattern) for terminal in tables.terminals]
    used = [number for number, terminal in enumerate(tables.terminals) if terminal.name != END]
    used = [number for number in used if not has_code[number]]
    automata = [quoting_automaton(pieces) for pieces in tables.quotations]
    quoted = sorted({ord(character) for pieces in tables.quotations for character in "".join(pieces)})
    trees = [_tree(tables.terminals[number], text) for number in used]
    # One tree, so that all patterns share their symbols; it is never simplified.
    alphabet = [Characters(((code, code),)) for code in quoted]
    together, symbols = by_symbol(Alternation((*trees, *alphabet, _BLANKS)))
    assert isinstance(together, Alternation)
    over_symbols, blanks = list(together.branches[: len(trees)]), together.branches[-1]
    assert isinstance(blanks, Characters)
    characters, of_characters = len(symbols.members), symbols.map()
    codes = list[bytes]()
    for number in np.flatnonzero(has_code).tolist():  # each has an own symbol, which is not a character
        symbol = characters + len(codes)
        codes.append(code_of(tables.terminals[number].pattern))
        used.append(number)
        over_symbols.append(Characters(((symbol, symbol),)))
    quoting = _Quoting(automata, of_characters, characters + len(codes))
    over_symbols = [quoting.replaced(tree) for tree in over_symbols] if automata else over_symbols
    programs = Programs(quoting.over_symbols)
    starts = {
        number: programs.add(tree, number, tables.terminals[number].name)
        for number, tree in zip(used, over_symbols, strict=True)
    }
    machine = OrderedMachine(programs, characters + len(codes))
    blank_symbols = frozenset(symbol for low, high in blanks.ranges for symbol in range(low, high + 1))
    lexer_states = LexerStates(tables, machine, starts, blank_symbols, max_blanks, layout)
    merged = _merge(lexer_states, characters + len(codes), len(tables.contexts))
    return _over_bytes(merged, of_characters, codes)


class _Quoting:
    """Quotations as symbols after all others, each with an automaton over symbols."""

    def __init__(self, automata: list[tuple[QuotingState, ...]], symbol_of: CharacterMap, first: int) -> None:
        self.over_symbols = {
            first + number: [
                QuotingState({symbol_of.number(code): target for code, target in after.items()}, may_end)
                for after, may_end in automaton
            ]
            for number, automaton in enumerate(automata)
        }
        pairs = (symbol_of.number(private_pair(number)[0]) for number in range(len(automata)))
        self._symbol_of: dict[Ranges, int] = {((each, each),): first + number for number, each in enumerate(pairs)}

    def replaced(self, node: Node) -> Node:
        """Replace each pair of characters that stands for a quotation by its symbol."""
        match node:
            case Concatenation(parts):
                kept = list[Node]()
                waiting = iter(parts)
                for part in waiting:
                    symbol = self._symbol_of.get(part.ranges) if isinstance(part, Characters) else None
                    if symbol is not None:
                        next(waiting)
                    kept.append(self.replaced(part) if symbol is None else Characters(((symbol, symbol),)))
                return kept[0] if len(kept) == 1 else Concatenation(tuple(kept))
            case Alternation(branches):
                return Alternation(tuple(map(self.replaced, branches)))
            case Repeat(child) | Look(child):
                return replace(node, child=self.replaced(child))
            case _:
                return node


def _tree(terminal: Terminal, text: str) -> Node:
    try:
        tree = parse(as_characters(terminal.pattern), ascii_only=False)
        if quoted_in(terminal.pattern) and contains(tree, (Anchor, Atomic)):
            raise PatternError("an anchor or an atomic group beside %regex", terminal.pattern)
        tree = settle(tree, within_text=True)
        return without_atomics(tree, terminal.pattern, within_text=True)
    except PatternError as error:
        raise GrammarError(
            f"the terminal {terminal.name}, /{readable(terminal.pattern)}/, is not supported: {error.reason}",
            text,
            definition_of(text, terminal.name),
            hint=error.hint,
        ) from None


def _over_bytes(merged: _Merged, symbols: CharacterMap, codes: list[bytes]) -> Lexer:
    """Write each symbol as the bytes of its characters; the last symbols are codes of one byte."""
    characters = merged.step.shape[1] - len(codes)
    try:
        table, class_of_byte = byte_table(np.ascontiguousarray(merged.step[:, :characters]), symbols, "")
    except PatternTooLarge as error:
        raise GrammarTooLarge("of all terminals", error.reason, "lexer") from None
    if codes:
        class_of_byte[list(b"".join(codes))] = table.shape[1] + np.arange(len(codes))
        after_codes = np.full((len(table), len(codes)), NO_STATE, dtype=np.int32)
        after_codes[: len(merged.step)] = merged.step[:, characters:]
        table = np.hstack([table, after_codes])
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


def _merge(lexer_states: LexerStates, symbols: int, contexts: int) -> _Merged:
    """Merge lexer states and obligations that no text distinguishes; drop dead ones.

    Lexer states are the states of an automaton whose output is their commits and whether the text may end. Equal states
    are found by partition refinement (Hopcroft, 1971). Obligations are equal if the same lexer state follows in every
    context. Merged obligations may make more states equal, so both are repeated until nothing changes.

    In ``X: "ab" | "cb"`` the states after ``a`` and after ``c`` become one. If only a blank may follow ``X``, the
    obligations that no ``b`` and that no ``d`` follows it are equal.
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
    merged = _with_merged_obligations(merged)
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


def _with_merged_obligations(merged: _Merged) -> _Merged:
    """Merge equal obligations, and drop commits after which nothing can follow; obligation 0 stays first."""
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
    # Two more symbols. One leads from a lexer state to its output, and from there along a chain whose length differs
    # for each output; the other leads along a chain through which all starts are reached.
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
