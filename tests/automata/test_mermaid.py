"""What is written for Mermaid, read back by a strict parser of the part of its language that is used."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import graphs

from sfgen.automata import Dfa
from sfgen.automata.graph import Graph, GraphEdge, GraphState, character_graph
from sfgen.automata.pictures import to_mermaid

# A quoted text: no quote, and nothing that has a meaning in Mermaid, HTML or Markdown but by its number.
QUOTED = r'"((?:[^"#;<>&`*_\\%{}()|~$:^@\n]|#[0-9]+;)*)"'
STATE = re.compile(r'(?P<id>s[0-9]+)(?:\(\("(?P<plain>[0-9]+)"\)\)|\(\(\("(?P<double>[0-9]+)"\)\)\))')
EDGE = re.compile(rf"(?P<source>s[0-9]+) -->\|{QUOTED}\| (?P<target>s[0-9]+)")
MORE = re.compile(rf"more\[{QUOTED}\]")
STYLES = ["style more stroke-dasharray:4", "style start fill:none,stroke:none"]


def text_of(quoted: str) -> str:
    assert not re.match(r"[-+]|[0-9]+\.", quoted), "a list of Markdown"
    return re.sub("#([0-9]+);", lambda match: chr(int(match[1])), quoted)


def parsed(source: str) -> Graph:
    """The graph that a flowchart shows; the numbers in its note are read too."""
    header, *lines = source.removesuffix("\n").split("\n")
    assert header == "flowchart LR"
    assert all(line.startswith("  ") and not line[2:].startswith(" ") for line in lines)
    lines = [line[2:] for line in lines]
    assert lines[0].startswith('start[" "] --> ')
    lines[0] = lines[0].removeprefix('start[" "] --> ')
    states: list[GraphState] = []
    edges: list[GraphEdge] = []
    continuing: list[int] = []
    styles: list[str] = []
    left_out = 0
    for line in lines:
        if match := STATE.fullmatch(line):
            number = match["plain"] or match["double"]
            assert match["id"] == f"s{number}"
            assert not edges
            states.append(GraphState(int(number), match["plain"] is None))
        elif match := EDGE.fullmatch(line):
            edges.append(GraphEdge(int(match["source"][1:]), int(match["target"][1:]), text_of(match[2])))
        elif match := MORE.fullmatch(line):
            note = re.fullmatch(r"… ([0-9,]+) of ([0-9,]+) states (?:are|is) left out", text_of(match[1]))
            assert note
            left_out, every = (int(number.replace(",", "")) for number in note.groups())
            assert every == left_out + len(states)
        elif match := re.fullmatch(r"s([0-9]+) -\.-> more", line):
            continuing.append(int(match[1]))
        else:
            assert line in STYLES
            styles.append(line)
    assert styles == (STYLES if left_out else STYLES[1:])
    return Graph("", tuple(states), tuple(edges), tuple(continuing), left_out)


NASTY = ['"', "#", ";", "#35;", "#quot;", "<br>", "&lt;", "%%", "%%{init}", "`x`", "**a**", "_b_", "1. x", "- x", "+ x"]
NASTY += [
    "|",
    "-->",
    "\\n",
    "$$x$$",
    "end",
    "style a:b#c;",
    "fa:fa-x",
    "12.5",
    "(x)",
    "[a-z]",
    "{",
    "~~~",
    "é",
    "א",
    "'",
]
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8))
texts = st.lists(texts, max_size=3).map("".join)


@given(graphs(texts, titled=False))
def test_any_graph_is_read_back(graph: Graph) -> None:
    assert parsed(to_mermaid(graph)) == graph


@pytest.mark.parametrize("text", NASTY)
def test_nothing_of_a_text_has_a_meaning(text: str) -> None:
    graph = Graph("", (GraphState(0, True),), (GraphEdge(0, 0, text),))
    assert parsed(to_mermaid(graph)) == graph


@pytest.mark.parametrize(
    "pattern", ["a*", "", r"\p{L}+", '"([^"\\\\]|\\\\.)*"', r"[&<>\"'`#;%]+", "[\\x00-\\x1f\\u0301א]"]
)
def test_the_graph_of_a_pattern(pattern: str) -> None:
    graph = character_graph(Dfa.from_regex(pattern))
    found = parsed(to_mermaid(graph))
    assert (found.states, found.edges) == (graph.states, graph.edges)
    assert Dfa.from_regex(pattern).to_mermaid() == to_mermaid(graph)


def test_what_is_left_out_is_in_the_picture() -> None:
    graph = parsed(Dfa.from_regex("[a-z]{1,2000}").to_mermaid(max_states=3))
    assert (graph.states_left_out, graph.continuing) == (1998, (2,))
