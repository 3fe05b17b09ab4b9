"""What lark makes of a grammar, as plain numbers: the tables of its parser, and the terminals of its lexer.

A *gap* is the place between two terminals. A *context* is a set of terminals that the lexer looks for at a gap: those
that the parser's state knows an action for, and the ignored ones. Terminals, nonterminals, states, rules and contexts
are numbers from 0 on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

END = "$END"
"""The terminal that stands for the end of the text. It is the last one."""

NO_STATE = -1
"""In place of a state, a lexer state or a node where there is none."""


class Rule(NamedTuple):
    """One expansion of a nonterminal.

    Attributes:
        nonterminal: What it is an expansion of.
        symbols: What it expands to: terminals ``t`` as ``t``, nonterminals ``n`` as ``-1 - n``.
    """

    nonterminal: int
    symbols: tuple[int, ...]


class Terminal(NamedTuple):
    """A terminal as lark's lexer knows it.

    Attributes:
        name: Its name.
        pattern: The pattern, with its flags inside, as lark gives it to ``re``.
        is_literal: Whether it was written as a string.
        shown: What people call it: the string in quotes where it is a literal, else the name.
    """

    name: str
    pattern: str
    is_literal: bool
    shown: str


class Context(NamedTuple):
    """The terminals that are looked for at a gap.

    Attributes:
        ordered: The terminals in the order in which they are tried: the first that matches is taken, as ``re`` takes
            the first branch of an alternation.
        unless: For some of them others, in the order in which they are tried: where one of these matches the whole
            text that was taken, that one is the terminal (keywords among names).
    """

    ordered: tuple[int, ...]
    unless: dict[int, tuple[int, ...]]


class ParseTables(NamedTuple):
    """The tables of an LALR(1) parser.

    Attributes:
        terminals: Their names in the tables; the last is ``END``.
        nonterminals: Their names.
        rules: The expansions.
        actions: What to do in a state when a terminal comes, int32 ``[states, terminals]``: 0 is an error, ``s + 1``
            shifts and goes to state ``s``, ``-1 - r`` reduces rule ``r``.
        gotos: The state behind a nonterminal, int32 ``[states, nonterminals]``; ``NO_STATE`` where there is none.
        start: The state of the empty stack.
        end: The state in which the text is complete: it is reached by a reduction when ``END`` comes.
        context_of: The context of the gap behind each state, int32 ``[states]``.
        contexts: The contexts.
        ignored: The terminals that the parser never sees.
    """

    terminals: tuple[Terminal, ...]
    nonterminals: tuple[str, ...]
    rules: tuple[Rule, ...]
    actions: NDArray[np.int32]
    gotos: NDArray[np.int32]
    start: int
    end: int
    context_of: NDArray[np.int32]
    contexts: tuple[Context, ...]
    ignored: frozenset[int]


class Lexer(NamedTuple):
    """The scanners of all contexts as one automaton over bytes.

    A *lexer state* is a state of it: how far a lexeme has been read, what was promised of the text behind the last one,
    and how much was ignored since. Lexer states are deterministic as long as no terminal is handed to the parser. Where
    a lexeme may end, the lexer may *commit* a terminal. Then the text goes on with the lexer state ``starts[context,
    obligation]``, whose context is that of the parser's new state. Every lexer state can reach a commit, or may end.

    An *obligation* says which texts cannot follow: those with which lark would have read a longer lexeme, or another
    terminal. 0 is no obligation. An obligation that is broken has no lexer state.

    Attributes:
        byte_classes: uint8 ``[256]``; bytes of one class are read alike.
        step: The lexer state behind each byte class, int32 ``[lexer_states, classes]``; ``NO_STATE``: it cannot be
            read.
        starts: The lexer state at the beginning of a lexeme, int32 ``[contexts, obligations]``; ``NO_STATE`` where
            nothing can follow, or where the obligation never comes up.
        commit_starts: Where the commits of each lexer state begin, int32 ``[lexer_states + 1]``.
        commit_terminals: The terminal of each commit, int32 ``[commits]``; never an ignored one.
        commit_obligations: What it demands of the text behind it, int32 ``[commits]``.
        may_end: Whether the text may end where no lexeme is open, bool ``[lexer_states]``: ``END`` comes then.
        obligation_holds_at_end: Whether the text may end behind a commit with this obligation, bool ``[obligations]``.
    """

    byte_classes: NDArray[np.uint8]
    step: NDArray[np.int32]
    starts: NDArray[np.int32]
    commit_starts: NDArray[np.int32]
    commit_terminals: NDArray[np.int32]
    commit_obligations: NDArray[np.int32]
    may_end: NDArray[np.bool_]
    obligation_holds_at_end: NDArray[np.bool_]
