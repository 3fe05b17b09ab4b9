"""The tables of lark's parser and the terminals of its lexer, as plain numbers.

A *gap* is the place between two terminals. A *context* is the set of terminals that the lexer tries at a gap: those for
which the parser's state has an action, and the ignored ones. Terminals, nonterminals, states, rules and contexts are
numbered from 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

END = "$END"
"""The terminal at the end of the text; it is the last one."""

NO_STATE = -1
"""Instead of the number of a parser state, a lexer state or a stack node: there is none."""


class Rule(NamedTuple):
    """One expansion of a nonterminal.

    Attributes:
        nonterminal: The nonterminal that is expanded.
        symbols: The expansion: terminal ``t`` is ``t``, nonterminal ``n`` is ``-1 - n``.
    """

    nonterminal: int
    symbols: tuple[int, ...]


class Terminal(NamedTuple):
    """A terminal of lark's lexer.

    Attributes:
        name: Its name.
        pattern: The pattern with its flags inside, as lark gives it to ``re``.
        is_literal: Whether the grammar writes it as a string.
        shown: Its name in messages: a literal in quotes, else the name.
    """

    name: str
    pattern: str
    is_literal: bool
    shown: str


class Context(NamedTuple):
    """The terminals that the lexer tries at a gap.

    Attributes:
        ordered: The terminals in their order of trial: the first that matches is taken, as ``re`` takes the first
            branch of an alternation.
        unless: Replacements of some terminals, in their order of trial: the first that matches the whole lexeme
            replaces the terminal (keywords among names).
    """

    ordered: tuple[int, ...]
    unless: dict[int, tuple[int, ...]]


class ParseTables(NamedTuple):
    """The tables of an LALR(1) parser.

    Attributes:
        terminals: The terminals; the last is ``END``.
        nonterminals: The names of the nonterminals.
        rules: The expansions.
        actions: The action of a state before a terminal, int32 ``[states, terminals]``: 0 is an error, ``s + 1``
            shifts and goes to state ``s``, ``-1 - r`` reduces rule ``r``.
        gotos: The state after a nonterminal, int32 ``[states, nonterminals]``; ``NO_STATE`` if there is none.
        start: The state of the empty stack.
        end: The state of a complete text, reached by a reduction before ``END``.
        context_of: The context of the gap after each state, int32 ``[states]``.
        contexts: The contexts.
        ignored: The terminals that the lexer drops.
        quotations: The pieces of each document for which patterns contain a placeholder.
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
    quotations: tuple[tuple[str, ...], ...] = ()


class Lexer(NamedTuple):
    """The scanners of all contexts as one automaton over bytes.

    A *lexer state* determines how far the open lexeme is read, which lookahead obligations are open, and how many
    ignored characters were read since the last terminal. Each byte leads to one lexer state until a terminal is handed
    to the parser. If a lexeme may end, the lexer may *commit* its terminal. The text then continues in
    ``starts[context, obligation]`` with the context of the parser's new state. Every lexer state reaches a commit or an
    end of the text.

    A *lookahead obligation* excludes the texts after a commit that would have made lark read a longer lexeme or another
    terminal. Obligation 0 excludes none. A text that breaks its obligation has no lexer state.

    Attributes:
        byte_classes: uint8 ``[256]``; bytes of one class lead from every lexer state to the same one.
        step: The lexer state after each byte class, int32 ``[lexer_states, classes]``; ``NO_STATE`` if the byte is
            refused.
        starts: The lexer state at the beginning of a lexeme, int32 ``[contexts, obligations]``; ``NO_STATE`` if
            nothing can follow, or if the obligation never occurs.
        commit_starts: The first commit of each lexer state, int32 ``[lexer_states + 1]``.
        commit_terminals: The terminal of each commit, int32 ``[commits]``; never an ignored one.
        commit_obligations: The obligation of each commit, int32 ``[commits]``.
        may_end: Whether the text may end without an open lexeme, bool ``[lexer_states]``: ``END`` comes then.
        obligation_holds_at_end: Whether the text may end after a commit with this obligation, bool
            ``[obligations]``.
    """

    byte_classes: NDArray[np.uint8]
    step: NDArray[np.int32]
    starts: NDArray[np.int32]
    commit_starts: NDArray[np.int32]
    commit_terminals: NDArray[np.int32]
    commit_obligations: NDArray[np.int32]
    may_end: NDArray[np.bool_]
    obligation_holds_at_end: NDArray[np.bool_]
