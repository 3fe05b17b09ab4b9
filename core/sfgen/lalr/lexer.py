"""From the terminals of a grammar to an automaton over bytes that cuts texts into them as lark does."""

from __future__ import annotations

import string

import numpy as np

from sfgen.automata.atomic import without_atomics
from sfgen.automata.by_character import byte_table
from sfgen.automata.character_map import CharacterMap, distinct
from sfgen.automata.symbols import by_symbol
from sfgen.errors import GrammarError, PatternError, PatternTooLarge
from sfgen.grammar.rules import GrammarTooLarge
from sfgen.lalr.controls import Controls
from sfgen.lalr.lark_errors import definition_of
from sfgen.lalr.merge import Merged, merge
from sfgen.lalr.ordered_threads import OrderedMachine
from sfgen.lalr.programs import Programs
from sfgen.lalr.tables import END, Lexer, ParseTables, Terminal
from sfgen.regex.anchors import settle
from sfgen.regex.ast import Alternation, Characters, Node
from sfgen.regex.characters import union
from sfgen.regex.parse import parse

_BLANKS = Characters(union((ord(blank), ord(blank)) for blank in string.whitespace))


def make_lexer(tables: ParseTables, max_blanks: int | None = None, text: str = "") -> Lexer:
    """Make the scanners of all contexts.

    Args:
        tables: What lark made of the grammar.
        max_blanks: The most characters of ignored text between two terminals, before the first and behind the last; all
            of them must be ASCII white space then. ``None``: all that the grammar ignores.
        text: The grammar, for messages.

    Raises:
        GrammarError: A terminal whose pattern cannot be followed.
        GrammarTooLarge: The automaton passes a limit.
    """
    used = [number for number, terminal in enumerate(tables.terminals) if terminal.name != END]
    trees = [_tree(tables.terminals[number], text) for number in used]
    # One tree, so that the symbols are those of all; it is never simplified.
    together, symbols = by_symbol(Alternation((*trees, _BLANKS)))
    assert isinstance(together, Alternation)
    *over_symbols, blanks = together.branches
    assert isinstance(blanks, Characters)
    programs = Programs()
    starts = {
        number: programs.add(tree, number, tables.terminals[number].name)
        for number, tree in zip(used, over_symbols, strict=True)
    }
    machine = OrderedMachine(programs, len(symbols.members))
    blank_symbols = frozenset(symbol for low, high in blanks.ranges for symbol in range(low, high + 1))
    controls = Controls(tables, machine, starts, blank_symbols, max_blanks)
    return _over_bytes(merge(controls, len(symbols.members), len(tables.contexts)), symbols.numbers)


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


def _over_bytes(merged: Merged, symbols: CharacterMap) -> Lexer:
    try:
        table, class_of_byte = byte_table(merged.step, symbols, "")
    except PatternTooLarge as error:
        raise GrammarTooLarge("of all terminals", error.reason, "lexer") from None
    chosen, class_of_class = distinct(np.ascontiguousarray(table.T))
    inside = len(table) - len(merged.step)
    counts = [len(commits) for commits in merged.commits] + [0] * inside
    commits = np.array([commit for of_control in merged.commits for commit in of_control], dtype=np.int32)
    commits = commits.reshape(-1, 2)
    return Lexer(
        byte_classes=class_of_class[class_of_byte].astype(np.uint8),
        step=np.ascontiguousarray(table[:, chosen]),
        starts=merged.starts,
        commit_starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        commit_terminals=np.ascontiguousarray(commits[:, 0]),
        commit_promises=np.ascontiguousarray(commits[:, 1]),
        may_end=np.append(merged.may_end, np.zeros(inside, dtype=np.bool_)),
        promise_holds_at_end=merged.holds_at_end,
    )
