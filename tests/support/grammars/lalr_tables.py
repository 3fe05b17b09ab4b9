"""Tables of small parsers, taken from lark, and made-up lexers for them: any automaton is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from lark import Lark
from lark.parsers.lalr_analysis import Shift

from sfgen.grammar.lalr.tables import END, NO_STATE, Context, Lexer, ParseTables, Rule, Terminal


def tables_of(grammar: str) -> ParseTables:
    """The tables that lark makes of a grammar; a context for each set of terminals."""
    lark: Any = Lark(grammar, parser="lalr", lexer="contextual")
    table = lark.parser.parser._parse_table
    names = [*sorted({s.name for rule in lark.rules for s in rule.expansion if s.is_term}), END]
    terminals = {name: number for number, name in enumerate(names)}
    nonterminals: dict[str, int] = {}
    for rule in lark.rules:
        nonterminals.setdefault(rule.origin.name, len(nonterminals))
    numbers = {rule: number for number, rule in enumerate(lark.rules)}
    rules = [
        Rule(
            nonterminals[rule.origin.name],
            tuple([terminals[s.name] if s.is_term else -1 - nonterminals[s.name] for s in rule.expansion]),
        )
        for rule in lark.rules
    ]
    actions = np.zeros((len(table.states), len(names)), dtype=np.int32)
    gotos = np.full((len(table.states), len(nonterminals)), NO_STATE, dtype=np.int32)
    for state, known in table.states.items():
        for name, (action, argument) in known.items():
            if name in nonterminals:
                gotos[state, nonterminals[name]] = argument
            elif action is Shift:
                actions[state, terminals[name]] = argument + 1
            else:
                actions[state, terminals[name]] = -1 - numbers[argument]
    contexts: dict[tuple[int, ...], int] = {}
    context_of = [contexts.setdefault(tuple(np.flatnonzero(row[:-1]).tolist()), len(contexts)) for row in actions]
    return ParseTables(
        terminals=tuple([Terminal(name, name, True, name) for name in names]),
        nonterminals=tuple(nonterminals),
        rules=tuple(rules),
        actions=actions,
        gotos=gotos,
        start=table.start_states["start"],
        end=table.end_states["start"],
        context_of=np.array(context_of, dtype=np.int32),
        contexts=tuple([Context(known, {}) for known in contexts]),
        ignored=frozenset(),
    )


def letter_lexer(tables: ParseTables, apart: Sequence[str] = (), blanks: bool = False) -> Lexer:
    """A lexer whose terminals are their names in lower letters.

    Args:
        tables: The tables.
        apart: The terminals that cannot follow each other without a blank between them: each obligations that no first
            letter of one of them follows.
        blanks: Whether there may be blanks between terminals, and at both ends.
    """
    words = [terminal.name.lower().encode() for terminal in tables.terminals[:-1]]
    kept_apart = [terminal.name in apart for terminal in tables.terminals[:-1]]
    refused = {word[0] for word, is_apart in zip(words, kept_apart, strict=True) if is_apart}
    lexer_states: dict[tuple[Any, ...], int] = {}
    steps: list[dict[int, int]] = []

    def lexer_state(*key: Any) -> int:
        if key not in lexer_states:
            lexer_states[key] = len(lexer_states)
            steps.append({})
            steps[lexer_states[key]] = dict(step(*key))
        return lexer_states[key]

    def step(kind: str, context: int, read: Any) -> Any:
        if kind == "gap":  # read: whether a obligation holds
            if blanks:
                yield ord(" "), lexer_state("gap", context, False)
            firsts: dict[int, list[int]] = {}
            for terminal in tables.contexts[context].ordered:
                if not (read and words[terminal][0] in refused):
                    firsts.setdefault(words[terminal][0], []).append(terminal)
            for byte, known in firsts.items():
                yield byte, lexer_state("word", context, (tuple(known), 1))
        else:
            known, length = read
            nexts: dict[int, list[int]] = {}
            for terminal in known:
                if len(words[terminal]) > length:
                    nexts.setdefault(words[terminal][length], []).append(terminal)
            for byte, longer in nexts.items():
                yield byte, lexer_state("word", context, (tuple(longer), length + 1))

    starts = np.array(
        [[lexer_state("gap", c, False), lexer_state("gap", c, True)] for c in range(len(tables.contexts))]
    )
    table = np.full((len(steps), 256), NO_STATE, dtype=np.int32)
    commits: list[list[tuple[int, int]]] = [[] for _ in steps]
    may_end = np.zeros(len(steps), dtype=np.bool_)
    for (kind, _, read), number in lexer_states.items():
        for byte, target in steps[number].items():
            table[number, byte] = target
        if kind == "gap":
            may_end[number] = True
        else:
            commits[number] = [(t, int(kept_apart[t])) for t in read[0] if len(words[t]) == read[1]]
    return _lexer(table, np.arange(256, dtype=np.uint8), starts, commits, may_end, np.ones(2, dtype=np.bool_))


def _lexer(
    step: Any, byte_classes: Any, starts: Any, commits: list[list[tuple[int, int]]], may_end: Any, holds: Any
) -> Lexer:
    flat = [commit for known in commits for commit in known]
    return Lexer(
        byte_classes=byte_classes,
        step=np.asarray(step, dtype=np.int32),
        starts=np.asarray(starts, dtype=np.int32),
        commit_starts=np.cumsum([0, *map(len, commits)]).astype(np.int32),
        commit_terminals=np.array([terminal for terminal, _ in flat], dtype=np.int32),
        commit_obligations=np.array([obligation for _, obligation in flat], dtype=np.int32),
        may_end=may_end,
        obligation_holds_at_end=holds,
    )


@st.composite
def random_lexers(draw: st.DrawFn, tables: ParseTables) -> Lexer:
    """Any automaton: lexemes of any kind, obligations that leave little or nothing."""
    obligations = draw(st.integers(1, 3))
    terminals = len(tables.terminals) - 1
    starts_at = len(tables.contexts) * obligations  # the lexer states from here on are no starts, and commit
    inner = draw(st.integers(max(2, terminals), 2 * terminals + 3))
    classes = draw(st.integers(1, 3))
    total = starts_at + inner
    target = st.one_of(st.just(NO_STATE), st.integers(starts_at, total - 1))
    step = [[draw(target) for _ in range(classes)] for _ in range(total)]
    starts = np.arange(starts_at).reshape(len(tables.contexts), obligations)
    starts = np.where([[draw(st.integers(0, 5)) > 0 for _ in row] for row in starts], starts, NO_STATE)
    pairs = [(terminal, obligation) for terminal in range(terminals) for obligation in range(obligations)]
    commit = st.lists(st.sampled_from(pairs), max_size=3, unique=True) if pairs else st.just([])
    commits: list[list[tuple[int, int]]] = [[] for _ in range(starts_at)]
    commits += [draw(commit) for _ in range(inner)]
    may_end = np.array([False] * starts_at + [draw(st.integers(0, 4)) == 0 for _ in range(inner)])
    holds = np.array([draw(st.booleans()) for _ in range(obligations)])
    byte_classes = np.full(256, classes - 1, dtype=np.uint8)
    byte_classes[97 : 97 + classes] = range(classes)
    return _lexer(step, byte_classes, starts, commits, may_end, holds)


@st.composite
def random_grammars(draw: st.DrawFn) -> str:
    """Grammars over a few letters, in lark's language; many of them have conflicts."""
    rules = ["start", "x", "y", "z"][: draw(st.integers(1, 4))]
    symbol = st.sampled_from([*rules, *rules[1:], "A", "B", "C", "A", "B", "C"])
    expansion = st.lists(symbol, max_size=4).map(" ".join)
    lines = [f"{rule}: " + " | ".join(draw(st.lists(expansion, min_size=1, max_size=3, unique=True))) for rule in rules]
    return "\n".join([*lines, 'A: "a"', 'B: "b"', 'C: "c"', ""])
