"""Tables for people: boxed on a terminal, plain in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sfgen_cli.output import visible, write

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sfgen import Index, Vocabulary
    from sfgen.index.statistics import Statistics

_TOKENS_SHOWN = 8  # of a state, in the table of all
_TOKENS_OF_ONE_STATE = 40  # that lead to the same state
_ENDS_SHOWN = 12
_RUNS_SHOWN = 6
_RUN_WIDTH = 24
_PLAIN_WIDTH = 200
_LABEL_WIDTH = 60


def index_table(index: Index, numbers: Statistics, seconds: float, *, ids: bool, max_states: int) -> None:
    """Write what an index is, and its states with their first tokens, to stdout.

    Args:
        index: The index.
        numbers: What there is in it.
        seconds: How long it took to make.
        ids: Whether tokens are named by their ids.
        max_states: The most states that get a line.
    """
    from rich.text import Text

    console = stdout_console()
    names = token_labels(index.vocabulary, ids=ids)
    states = min(len(index.dfa), max_states)
    reached = "all" if numbers.reached == numbers.states else f"{numbers.reached:,}"
    ends = list(map(str, numbers.accepting[:_ENDS_SHOWN]))
    runs = [repr(run if len(run) <= _RUN_WIDTH else run[:_RUN_WIDTH] + "…") for run in numbers.forced_runs]
    facts = {
        "pattern": "(none)" if index.dfa.pattern is None else visible(index.dfa.pattern),
        "vocabulary": f"{len(index.vocabulary):,} tokens, fingerprint {index.vocabulary.fingerprint[:16]}",
        "states": f"{numbers.states:,}, {reached} of them reached by tokens",
        "transitions": f"{numbers.transitions:,}",
        "end states": cut(ends, len(numbers.accepting)),
        "forced runs": cut(runs[:_RUNS_SHOWN], len(runs)) or "none",
        "built": f"in {_duration(seconds)}, {_size(numbers.nbytes)}",
    }
    for name, fact in facts.items():
        console.print(Text(f"{name:<12} {fact}"))
    table = plain_or_boxed("state", "tokens", end="end", text="token → next state")
    end_tokens = index.vocabulary.end_token_ids
    for state in range(states):
        count = index.allowed_count(state) - (len(end_tokens) if index.is_accepting(state) else 0)
        tokens = index.allowed_tokens(state)[: _TOKENS_SHOWN + len(end_tokens)].tolist()
        first = [f"{names(token)} → {index.next_state(state, token)}" for token in tokens if token not in end_tokens][
            :_TOKENS_SHOWN
        ]
        end = "yes" if index.is_accepting(state) else ""
        table.add_row(str(state), f"{count:,}", end, Text(cut(first, count, separator="  ")))
    print_table(table)
    if states < len(index.dfa):
        more = len(index.dfa) - states
        what = f"{more:,} more state{'' if more == 1 else 's'}"
        console.print(Text(f"… {what}: --max-states shows more, --state N one, --json all"))


def state_table(index: Index, state: int, *, ids: bool) -> None:
    """Write what may follow in one state to stdout: a line for each state that can be next."""
    import numpy as np
    from rich.text import Text

    from sfgen.automata.edges import following
    from sfgen.automata.label import label

    console = stdout_console()
    names = token_labels(index.vocabulary, ids=ids)
    tokens, targets = index.transitions(state)
    characters = following(index.dfa, state)
    console.print(Text(f"state        {state} of {len(index.dfa):,}"))
    console.print(Text(f"end          {'the text may end here' if index.is_accepting(state) else 'no'}"))
    console.print(Text(f"characters   {label(characters, width=_LABEL_WIDTH) if characters else 'none'}"))
    console.print(Text(f"tokens       {len(tokens):,} of {len(index.vocabulary):,}"))
    table = plain_or_boxed("next", "tokens", text="which")
    for target in np.unique(targets).tolist():
        leading = tokens[targets == target]
        first = [names(token) for token in leading[:_TOKENS_OF_ONE_STATE].tolist()]
        table.add_row(str(target), f"{len(leading):,}", Text(cut(first, len(leading), separator="  ")))
    print_table(table)


def stdout_console() -> Console:
    """Stdout as Rich writes to it: as wide as the terminal, wide enough for most lines in a pipe."""
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else _PLAIN_WIDTH, highlight=False)


def print_table(table: Table) -> None:
    """Write a table to stdout; in a pipe without spaces at the ends of lines."""
    console = stdout_console()
    if sys.stdout.isatty():
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def plain_or_boxed(*numbers: str, end: str | None = None, text: str) -> Table:
    """An empty table with columns of numbers, one that says where the text may end, and one of text."""
    from rich import box
    from rich.table import Table

    terminal = sys.stdout.isatty()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    if end is not None:
        table.add_column(end, no_wrap=True)
    table.add_column(text, no_wrap=not terminal, overflow="fold")
    return table


def token_labels(vocabulary: Vocabulary, *, ids: bool) -> Callable[[int], str]:
    """What a token is called in a table: its id, or its text in quotes; ``text#id`` where several have the same."""
    if ids:
        return str
    from sfgen.index.graph import quoted_names

    return quoted_names(vocabulary)


def cut(shown: Sequence[str], total: int, *, separator: str = ", ") -> str:
    """What is shown of a longer list, and how many more there are.

    >>> cut(["a", "b"], 2), cut(["a", "b"], 1002)
    ('a, b', 'a, b, … 1,000 more')
    """
    more = [f"… {total - len(shown):,} more"] if total > len(shown) else []
    return separator.join([*shown, *more])


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.1f} s"


def _size(count: int) -> str:
    """A number of bytes.

    >>> _size(900), _size(12_345), _size(60_000_000)
    ('900 bytes', '12.3 kB', '60.0 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
