"""What ``sfgen index`` writes for programs: the index as JSON, and what sets of texts have to do with one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfgen_cli.output import json_text, note, on_one_line, write, write_json

if TYPE_CHECKING:
    from sfgen import Dfa, Index
    from sfgen.automata.graph import Graph
    from sfgen.reference.fsm import FsmIndex

_WORDS = {
    "same": "the two accept the same texts",
    "contained": "every match of the pattern is one of the other, not the other way round",
    "contains": "every match of the other is one of the pattern, not the other way round",
    "overlapping": "some texts match both, some only one of them",
    "disjoint": "no text matches both",
}


def write_index(index: Index, *, ids: bool, saved: str | None = None) -> None:
    """Write an index as one JSON object on one line, a state at a time: the whole may be larger than the memory."""
    from sfgen.index.export import heading, rows

    head = heading(index) | ({} if saved is None else {"saved": saved})
    write(json_text(head).removesuffix("}") + ', "transitions": {')
    for number, row in enumerate(rows(index, ids=ids)):
        write(f"{', ' if number else ''}{json_text(str(row['state']))}: {json_text(row['tokens'])}")
    write("}}\n")


def write_rows(index: Index, *, ids: bool, states: list[int] | None = None) -> None:
    """Write states as JSON Lines, each with its tokens and where they lead."""
    from sfgen.index.export import rows

    for row in rows(index, ids=ids, states=states):
        write_json(row)


def write_fsm_index(index: FsmIndex, *, ids: bool, lines: bool) -> None:
    """Write the index over interegular's machine as ``write_index`` or, with ``lines``, ``write_rows`` does.

    The states of the machine come first; those after them are within a character that a token has begun.
    """
    from sfgen.index.export import token_names

    vocabulary = index.vocabulary
    names = [str(token) for token in range(len(vocabulary))] if ids else token_names(vocabulary)
    rows: list[dict[str, int]] = []
    states = len(index)
    while len(rows) < states:
        tokens, targets = index.transitions(len(rows))
        rows.append({names[token]: target for token, target in zip(tokens.tolist(), targets.tolist(), strict=True)})
        states = max([states, *(target + 1 for target in targets.tolist())])
    if lines:
        for state, row in enumerate(rows):
            write_json({"state": state, "final": state in index.accepting, "tokens": row})
        return
    write_json(
        {
            "pattern": index.pattern,
            "vocabulary": {"size": len(vocabulary), "fingerprint": vocabulary.fingerprint},
            "initial": index.start,
            "final": sorted(index.accepting),
            "states": states,
            "transitions": {str(state): row for state, row in enumerate(rows)},
        }
    )


def write_graph(graph: Graph, form: str) -> None:
    """Write a graph in the language of Graphviz or of Mermaid, or as the picture that Graphviz draws of it."""
    from sfgen.automata.dot import svg, to_dot
    from sfgen.automata.mermaid import to_mermaid

    if form == "mermaid":
        write(to_mermaid(graph))
    else:
        write(svg(to_dot(graph)) if form == "svg" else to_dot(graph))
    if graph.note:
        note(f"sfgen: {graph.note}; --max-states draws more")


def write_relation(dfa: Dfa, other: Dfa, *, json: bool) -> None:
    """Write what the texts of two automata have to do with one another, with texts that show it."""
    from sfgen.automata.relation import relation

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
