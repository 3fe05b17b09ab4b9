"""Graphs as Mermaid flowcharts, which many viewers of Markdown draw; without colours, so that they get the viewer's."""

from __future__ import annotations

from sfgen.automata.graph import Graph, GraphState

_PLAIN = frozenset(" ,[]!=/'")  # besides letters and digits; all else may mean something, to Mermaid, HTML or Markdown


def to_mermaid(graph: Graph) -> str:
    """Write the graph as a flowchart.

    >>> from sfgen.automata import Dfa
    >>> from sfgen.automata.graph import character_graph
    >>> print(to_mermaid(character_graph(Dfa.from_regex("[0-9]+"))), end="")
    flowchart LR
      start[" "] --> s0(("0"))
      s1((("1")))
      s0 -->|"[0-9]"| s1
      s1 -->|"[0-9]"| s1
      style start fill:none,stroke:none
    """
    first, *others = (_node(state, label) for state, label in graph.labelled)
    lines = [f'start[" "] --> {first}', *others]
    for edge in graph.edges:
        label = f"|{_quoted(edge.label)}|" if edge.label or not graph.labels else ""
        lines.append(f"s{edge.source} -->{label} s{edge.target}")
    if graph.note:
        lines.append(f"more[{_quoted(f'… {graph.note}')}]")
        lines += [f"s{state} -.-> more" for state in graph.continuing]
        lines.append("style more stroke-dasharray:4")
    lines.append("style start fill:none,stroke:none")
    return "flowchart LR\n" + "".join(f"  {line}\n" for line in lines)


def _node(state: GraphState, label: str) -> str:
    if label:
        return f"s{state.number}[{_quoted(label)}]"
    return f's{state.number}((("{state.number}")))' if state.accepting else f's{state.number}(("{state.number}"))'


def _quoted(text: str) -> str:
    r"""A text as it is: characters that may mean something are written by their numbers.

    >>> _quoted('[a-z]'), _quoted('- "x"; <b>'), _quoted(r"1. 0.5 \n#%%")
    ('"[a-z]"', '"#45; #34;x#34;#59; #60;b#62;"', '"1#46; 0#46;5 #92;n#35;#37;#37;"')
    """
    written = []
    before = ""
    for character in text:
        # A hyphen and a point begin no list behind a letter.
        is_plain = character in _PLAIN or character.isalnum() or not character.isascii()
        is_plain = is_plain or (character == "-" and before.isalnum()) or (character == "." and before.isalpha())
        written.append(character if is_plain else f"#{ord(character)};")
        before = character
    return '"' + "".join(written) + '"'
