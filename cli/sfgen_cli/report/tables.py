"""The index of a pattern: as tables for people, boxed on a terminal and plain in a pipe, and as JSON for programs."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sfgen.printable import counted, json_text, on_one_line, visible
from sfgen_cli.shell.output import note, stdout_is_a_terminal, write, write_json, write_shown

if TYPE_CHECKING:
    from rich.table import Table

    from sfgen import Dfa
    from sfgen.automata.graph import Graph
    from sfgen.index import DfaIndex
    from sfgen.index.export import Statistics
    from sfgen.reference.fsm import FsmIndex

_TOKENS_SHOWN = 8  # of a state, in the table of all
_TOKENS_OF_ONE_STATE = 40  # that lead to the same state
_ENDS_SHOWN = 12
_RUNS_SHOWN = 6
_RUN_WIDTH = 24
_PLAIN_WIDTH = 200
_LABEL_WIDTH = 60


def index_table(
    index: DfaIndex, numbers: Statistics, origin: str, seconds: float, *, ids: bool, max_states: int
) -> None:
    """Write an index as a table: facts, then states with tokens; between them its drawing, if a terminal has room."""
    from rich.text import Text

    from sfgen.index.export import token_labels

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
        "jump-forward": cut(runs[:_RUNS_SHOWN], len(runs)) or "none",
        origin: f"in {_duration(seconds)}, {_size(numbers.nbytes)}",
    }
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
    more = len(index.dfa) - states
    what = counted(more, "more state")
    last = f"… {what}: --max-states shows more, --state N one, --json all" if more else ""
    show(facts, table, last, drawn=None if more else _small_drawing(index.dfa))


def state_table(index: DfaIndex, state: int, *, ids: bool) -> None:
    """Write a table of what may follow in one state.

    Each state that can be next has a line.
    """
    import numpy as np
    from rich.text import Text

    from sfgen.automata.edges import following
    from sfgen.automata.label import label
    from sfgen.index.export import token_labels

    names = token_labels(index.vocabulary, ids=ids)
    tokens, targets = index.transitions(state)
    characters = following(index.dfa, state)
    facts = {
        "state": f"{state} of {len(index.dfa):,}",
        "end": "the text may end here" if index.is_accepting(state) else "no",
        "characters": label(characters, width=_LABEL_WIDTH) if characters else "none",
        "tokens": f"{len(tokens):,} of {len(index.vocabulary):,}",
    }
    table = plain_or_boxed("next", "tokens", text="which")
    for target in np.unique(targets).tolist():
        leading = tokens[targets == target]
        first = [names(token) for token in leading[:_TOKENS_OF_ONE_STATE].tolist()]
        table.add_row(str(target), f"{len(leading):,}", Text(cut(first, len(leading), separator="  ")))
    show(facts, table)


def show(facts: Mapping[str, str], table: Table | None, last: str = "", *, drawn: Drawn | None = None) -> None:
    """Write facts, perhaps a table and perhaps a last line to stdout.

    On a terminal they are as wide as that is, and a drawing stands among them if all can be seen at once. In a pipe
    lines are as long as they need to be, mostly, and have no spaces at their ends.
    """
    from rich.console import Console
    from rich.text import Text

    terminal = stdout_is_a_terminal()
    console = Console(file=sys.stdout or io.StringIO(), width=None if terminal else _PLAIN_WIDTH, highlight=False)
    with console.capture() as captured:
        for name, fact in facts.items():
            console.print(Text(f"{name:<12} {fact}"))
    text = captured.get()
    with console.capture() as captured:
        if table is not None:
            console.print(table)
        if last:
            console.print(Text(last))
    rest = captured.get()
    if not terminal:
        write("".join(f"{line.rstrip()}\n" for line in (text + rest).splitlines()))
        return
    rows = (text + rest).count("\n") + (drawn.height if drawn is not None else 0) + _PROMPT
    if drawn is not None and drawn.width <= console.width and rows <= console.height:
        text += f"\n{drawn.text}"
    write_shown(text + rest)  # with the colours, and only what is fit to be seen


def plain_or_boxed(*numbers: str, end: str | None = None, text: str) -> Table:
    """Make an empty table: boxed on a terminal, plain in a pipe."""
    from rich import box
    from rich.table import Table

    terminal = stdout_is_a_terminal()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    if end is not None:
        table.add_column(end, no_wrap=True)
    table.add_column(text, no_wrap=not terminal, overflow="fold")
    return table


def cut(shown: Sequence[str], total: int, *, separator: str = ", ") -> str:
    """Join the beginning of a longer list, and count the rest.

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


Row: TypeAlias = dict[str, Any]
"""A state: its number, whether the text may end there, and its tokens with where they lead."""

_WORDS = {
    "same": "the two accept the same texts",
    "contained": "every match of the pattern is one of the other, not the other way round",
    "contains": "every match of the other is one of the pattern, not the other way round",
    "overlapping": "some texts match both, others only one of them",
    "disjoint": "no text matches both",
}


def write_index(heading: Mapping[str, Any], rows: Iterable[Row]) -> None:
    """Write an index as one JSON object on one line.

    It is written state by state: the whole may be larger than the memory.
    """
    write(json_text(heading).removesuffix("}") + ', "transitions": {')
    for number, row in enumerate(rows):
        write(f"{', ' if number else ''}{json_text(str(row['state']))}: {json_text(row['tokens'])}")
    write("}}\n")


def write_rows(rows: Iterable[Row]) -> None:
    """Write states as JSON Lines: their tokens and next states."""
    for row in rows:
        write_json(row)


def fsm_heading(index: FsmIndex, states: int) -> dict[str, Any]:
    """Describe the index over interegular's machine, for JSON."""
    return {
        "pattern": index.pattern,
        "vocabulary": {"size": len(index.vocabulary), "fingerprint": index.vocabulary.fingerprint},
        "initial": index.start,
        "final": sorted(index.accepting),
        "states": states,
    }


def fsm_rows(index: FsmIndex, *, ids: bool) -> list[Row]:
    """List the states of the index over interegular's machine.

    Those of the machine come first, then those within a character that a token has begun, as they come up.
    """
    from sfgen.index.export import token_names

    names = token_names(index.vocabulary, ids=ids)
    rows: list[Row] = []
    states = len(index)
    while (state := len(rows)) < states:
        tokens, targets = index.transitions(state)
        leads = {names[token]: target for token, target in zip(tokens.tolist(), targets.tolist(), strict=True)}
        rows.append({"state": state, "final": state in index.accepting, "tokens": leads})
        states = max([states, *(target + 1 for target in leads.values())])
    return rows


class Drawn(NamedTuple):
    """A drawing in characters, and the columns and rows that it takes."""

    text: str
    width: int
    height: int


_PROMPT = 3  # rows of a screen beside a drawing: the command, a blank line, and the next prompt
_FEW_STATES = 200  # whose graph is made at once


def _drawn(graph: Graph) -> Drawn:
    from rich.cells import cell_len

    from sfgen.automata.pictures import to_text

    text = to_text(graph, encoding=sys.stdout.encoding if sys.stdout is not None else "utf-8")
    lines = text.splitlines()
    return Drawn(text, max(map(cell_len, lines)), len(lines))


def _small_drawing(dfa: Dfa) -> Drawn | None:
    """Draw a small automaton for a terminal."""
    from sfgen.automata.graph import character_graph
    from sfgen.automata.pictures import is_small

    if not stdout_is_a_terminal() or len(dfa) > _FEW_STATES:
        return None
    graph = character_graph(dfa)
    return _drawn(graph) if is_small(graph) else None


def write_graph(graph: Graph, form: str, *, quiet: bool, instead: Callable[[], None]) -> None:
    """Write a graph in a format for graphs. ``instead`` writes the table, which is shown where boxes cannot be."""
    from sfgen.automata import pictures

    if form == "boxes":
        why = _write_boxes(graph)
        if why:
            note(f"sfgen: {why}; this is the table", quiet=quiet)
            instead()
            return
    elif form == "mermaid":
        write(pictures.to_mermaid(graph))
    else:
        write(pictures.picture(graph) if form == "svg" else pictures.to_dot(graph))
    if graph.note:
        note(f"sfgen: {graph.note}; --max-states draws more", quiet=quiet)


def _write_boxes(graph: Graph) -> str:
    """Draw a graph in characters, or tell why not, and what to do."""
    from sfgen.automata.pictures import MOST_EDGES, MOST_STATES, is_small

    if not is_small(graph):
        most = f"at most {MOST_STATES} states and {MOST_EDGES} edges are drawn in boxes"
        return f"{most}, not {graph.size}: --max-states N draws the first ones"
    drawn, width = _drawn(graph), _width()
    if width is not None and drawn.width > width:
        return f"the drawing takes {drawn.width} columns, and there are {width}: --format svg draws it in any width"
    if stdout_is_a_terminal():
        write_shown(drawn.text)
    else:
        write(drawn.text)
    return ""


def _width() -> int | None:
    """The columns that lines may have; ``None``: any number, in a pipe where nobody says."""
    if stdout_is_a_terminal() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size().columns
    return None


def write_relation(dfa: Dfa, other: Dfa, *, json: bool) -> None:
    """Write how the languages of two automata relate, with example texts."""
    from sfgen.automata.examples import relation

    found = relation(dfa, other)
    texts = {"only_pattern": found.only_left, "only_against": found.only_right, "both": found.both}
    if json:
        write_json({"pattern": dfa.pattern, "against": other.pattern, "relation": found.kind, **texts})
        return
    shown = {
        "pattern": dfa.pattern,
        "against": other.pattern,
        "relation": f"{found.kind}: {_WORDS[found.kind]}",
        **{name.replace("_", " "): None if text is None else repr(text) for name, text in texts.items()},
    }
    write("".join(f"{name:<13}{on_one_line(text)}\n" for name, text in shown.items() if text is not None))


def write_examples(dfa: Dfa, count: int, *, json: bool) -> None:
    """Write matching texts, one a line."""
    from sfgen.automata.examples import examples

    for text in examples(dfa, count):
        if json:
            write_json({"text": text})
        else:
            write(f"{text}\n")
