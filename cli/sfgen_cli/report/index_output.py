"""What ``sfgen index`` writes for programs: the index as JSON, and what sets of texts have to do with one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from sfgen.printable import json_text, on_one_line
from sfgen_cli.shell.output import note, write, write_json

if TYPE_CHECKING:
    from sfgen import Dfa
    from sfgen.automata.graph import Graph
    from sfgen.reference.fsm import FsmIndex

Row: TypeAlias = dict[str, Any]
"""A state: its number, whether the text may end there, and its tokens with where they lead."""

_WORDS = {
    "same": "the two accept the same texts",
    "contained": "every match of the pattern is one of the other, not the other way round",
    "contains": "every match of the other is one of the pattern, not the other way round",
    "overlapping": "some texts match both, some only one of them",
    "disjoint": "no text matches both",
}


def write_index(heading: Mapping[str, Any], rows: Iterable[Row]) -> None:
    """Write an index as one JSON object on one line.

    It is written state by state: the whole may be larger than the memory.

    Args:
        heading: What it is, as ``sfgen.index.export.heading`` says it.
        rows: Its states, as ``sfgen.index.export.rows`` gives them.
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
    """Describe the index over interegular's machine, for JSON.

    Args:
        index: The index.
        states: The number of its states, those within characters included.
    """
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

    Args:
        index: The index.
        ids: Whether tokens are named by their ids.
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


def write_graph(graph: Graph, form: str, *, quiet: bool) -> None:
    """Write a graph for Graphviz or Mermaid, or Graphviz's picture of it.

    Args:
        graph: The graph.
        form: ``dot``, ``mermaid`` or ``svg``.
        quiet: Whether nothing is said of what is left out.
    """
    from sfgen.automata.pictures import svg, to_dot, to_mermaid

    if form == "mermaid":
        write(to_mermaid(graph))
    else:
        write(svg(to_dot(graph)) if form == "svg" else to_dot(graph))
    if graph.note:
        note(f"sfgen: {graph.note}; --max-states draws more", quiet=quiet)


def write_relation(dfa: Dfa, other: Dfa, *, json: bool) -> None:
    """Write how the languages of two automata relate, with example texts.

    Args:
        dfa: The automaton of the pattern.
        other: The one that it is compared with.
        json: Whether as JSON.
    """
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
    """Write matching texts, one a line.

    Args:
        dfa: The automaton.
        count: The most texts.
        json: Whether each is a JSON object.
    """
    from sfgen.automata.examples import examples

    for text in examples(dfa, count):
        if json:
            write_json({"text": text})
        else:
            write(f"{text}\n")
