"""What is written for Graphviz, read back by a strict parser of the part of its language that is used; and its SVG."""

from __future__ import annotations

import html
import re
import stat
import sys
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.browser import rendered
from tests.support.models.vocabularies import BYTES
from tests.support.patterns.automata import graphs
from tests.support.running.installed import needs
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.automata.graph import Graph, GraphEdge, GraphState, character_graph
from sfgen.automata.pictures import is_small, mimebundle, picture, svg, to_dot, to_svg
from sfgen.errors import GraphvizMissing, SfgenError

# ---- a parser ------------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)|(?P<mark>[{}\[\];,=])|(?P<id>[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*
    |-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))|"(?P<quoted>(?:[^"\\]|\\.)*)")""",
    re.VERBOSE | re.DOTALL,
)
KEYWORDS = {"node", "edge", "graph", "digraph", "subgraph", "strict"}


class Statement(NamedTuple):
    ids: tuple[str, ...]  # one, or the two ends of an edge
    attributes: dict[str, str]


def tokens(source: str) -> list[tuple[str, str]]:
    found = []
    position = 0
    while position < len(source.rstrip()):
        match = TOKEN.match(source, position)
        assert match, f"not the language of dot: {source[position : position + 40]!r}"
        kind = match.lastgroup
        assert kind
        value = match[kind]
        found.append((kind, text_of(value) if kind == "quoted" else value))
        position = match.end()
    return found


def text_of(quoted: str) -> str:
    """What dot writes for a label: the lexer takes the backslash from quotes, then escape sequences are replaced."""
    pieces = re.findall(r"\\.|[^\\]", quoted, re.DOTALL)
    assert {piece for piece in pieces if len(piece) > 1} <= {"\\\\", '\\"'}, "an escape sequence of dot"
    text = "".join(piece[-1] for piece in pieces)
    assert not re.search(r"&(?!amp;)", text), "an entity of dot"
    return html.unescape(text)


def parsed(source: str) -> list[Statement]:
    stream = iter(tokens(source))

    def expect(*wanted: str) -> str:
        kind, value = next(stream)
        assert value in wanted, (kind, value)
        assert kind == "mark" or value in KEYWORDS, (kind, value)
        return value

    expect("digraph")
    expect("{")
    statements = []
    while True:
        kind, value = next(stream)
        if (kind, value) == ("mark", "}"):
            break
        assert kind == "id"
        ids = [value]
        attributes: dict[str, str] = {}
        kind, mark = next(stream)
        if kind == "arrow":
            assert value not in KEYWORDS
            kind, value = next(stream)
            assert kind == "id"
            assert value not in KEYWORDS
            ids.append(value)
            kind, mark = next(stream)
        if (kind, mark) == ("mark", "["):
            while True:
                kind, name = next(stream)
                assert kind == "id"
                expect("=")
                kind, attribute = next(stream)
                assert kind in ("id", "quoted")
                assert attributes.setdefault(name, attribute) is attribute
                if expect(",", "]") == "]":
                    break
            kind, mark = next(stream)
        assert (kind, mark) == ("mark", ";")
        statements.append(Statement(tuple(ids), attributes))
    assert next(stream, None) is None
    return statements


def in_xml(text: str) -> str:
    """A text as an SVG can hold it: what XML does not have is written by its number."""
    return "".join(
        character
        if character in "\t\n\r" or " " <= character <= "\ud7ff" or "\ue000" <= character not in "\ufffe\uffff"
        else f"\\x{ord(character):02x}"
        if ord(character) < 256
        else f"\\u{ord(character):04x}"
        for character in text
    )


def check(graph: Graph) -> None:
    """Whether the text says what is in the graph, and no more."""
    statements = parsed(to_dot(graph))
    named = {statement.ids: statement.attributes for statement in statements}
    assert len(named) == len(statements)
    assert named[("graph",)].get("label", "") == in_xml(graph.title)
    assert named[("graph",)]["rankdir"] == "LR"
    assert named.pop(("start", str(graph.states[0].number))) == {}
    states = {ids[0]: found for ids, found in named.items() if len(ids) == 1 and ids[0].isdecimal()}
    assert states == {str(state.number): {"shape": "doublecircle"} if state.accepting else {} for state in graph.states}
    others = {ids[0] for ids in named if len(ids) == 1} - set(states)
    assert others == {"graph", "node", "edge", "start"} | ({"more"} if graph.note else set())
    edges = {ids: found for ids, found in named.items() if len(ids) == 2}
    dashed = {(str(state), "more"): {"style": "dashed"} for state in graph.continuing}
    assert edges == dashed | {
        (str(edge.source), str(edge.target)): {"label": in_xml(edge.label)} for edge in graph.edges
    }
    if graph.note:
        assert named[("more",)]["label"] == f"… {graph.note}"


# ---- the language --------------------------------------------------------------------------------------------------

NASTY = [
    '"',
    "\\",
    "\\N",
    "\\G",
    "\\l",
    "\\",
    "&lt;",
    "&#38;",
    "<b>",
    "a\\",
    '\\"',
    "//",
    "/*",
    "#",
    "];",
    "\n",
    "é",
    "א",
]
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=8))
texts = st.lists(texts, max_size=3).map("".join)


@given(graphs(texts))
def test_any_graph_is_read_back(graph: Graph) -> None:
    check(graph)


PATTERNS = [
    "a*",
    "",
    r"\p{L}+",
    '"([^"\\\\]|\\\\.)*"',
    r"[&<>\"'`#;%]+",
    r"(\\N|\\l|\\G)+",
    "[\\x00-\\x1f\\u200b\\u0301א]",
    "[é日😀]",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_graph_of_a_pattern(pattern: str) -> None:
    graph = character_graph(Dfa.from_regex(pattern))
    check(graph)
    assert Dfa.from_regex(pattern).to_dot() == to_dot(graph)


def test_what_is_left_out_is_in_the_picture() -> None:
    source = Dfa.from_regex(".{0,2000}").to_dot(max_states=3)
    check(character_graph(Dfa.from_regex(".{0,2000}"), max_states=3))
    assert 'more [shape=box, style=dashed, label="… 1,998 of 2,001 states are left out"];' in source
    assert "9 -> more [style=dashed];" in source


@pytest.mark.parametrize(
    "source", ['digraph { a [label="\\N"]; }', "digraph { a b; }", "digraph { a [x=1 }", "digraph {"]
)
def test_the_parser_of_this_test_is_strict(source: str) -> None:
    with pytest.raises((AssertionError, StopIteration)):
        parsed(source)


# ---- Graphviz itself -----------------------------------------------------------------------------------------------

CONTROLS = [*range(32), *range(0x7F, 0xA0), 0x2028, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1FFFF]


def texts_of(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    found = root.iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()).replace("\xa0", " ") for text in found]


def labelled(label: str, title: str = "") -> Graph:
    return Graph(title, (GraphState(0, False), GraphState(1, True)), (GraphEdge(0, 1, label),), (), 0)


@needs("dot")
@given(graphs(texts))
@tried("few")
def test_graphviz_draws_any_graph_as_xml(graph: Graph) -> None:
    ElementTree.fromstring(svg(to_dot(graph)))


@needs("dot")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_graphviz_draws_the_labels_as_they_are(pattern: str) -> None:
    graph = character_graph(Dfa.from_regex(pattern))
    assert {edge.label for edge in graph.edges} <= set(texts_of(svg(to_dot(graph))))


@needs("dot")
def test_control_characters_are_drawn_by_their_numbers() -> None:
    """In titles and labels, and in patterns and tokens, which come with their numbers already."""
    everything = "".join(chr(code) for code in CONTROLS if chr(code) not in "\n\r\t")
    shown = texts_of(svg(to_dot(labelled(everything, everything))))
    assert shown.count(in_xml(everything)) == 2
    for code in CONTROLS:
        if not 0xD800 <= code <= 0xDFFF:
            dfa = Dfa.from_choices([f"a{chr(code)}b"])
            ElementTree.fromstring(svg(dfa.to_dot()))
    written = [chr(code).encode() for code in CONTROLS if not 0xD800 <= code <= 0xDFFF]
    vocabulary = Vocabulary([*BYTES, *written])
    index = Index(Dfa.from_regex(r"[\x00-\x1f\x7f-\x9f\u2028\ufffe\uffff]"), vocabulary)
    for ids in (False, True):
        ElementTree.fromstring(svg(index.to_dot(tokens=True, ids=ids)))


@needs("dot")
def test_a_source_from_elsewhere_is_drawn_as_xml_too() -> None:
    assert texts_of(svg('digraph { a [label="x\x01\x0b\uffff"]; }')) == ["x\ufffd\ufffd\ufffd"]


@needs("dot")
def test_leading_blanks_are_in_the_picture() -> None:
    picture = svg(Dfa.from_regex("   a  b  ").to_dot())
    assert "   a  b  " in texts_of(picture)
    assert ElementTree.fromstring(picture).get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"


@needs("dot")
@needs("rsvg-convert")
@pytest.mark.parametrize("blanks", ["    x", " x", "x    x", "  x  x"])
def test_blanks_are_shown_outside_of_browsers(blanks: str) -> None:
    """Each shape ends where it does if there are letters in place of the blanks."""
    pictures = [rendered(svg(to_dot(labelled(text, text)))) for text in (blanks, blanks.replace(" ", "-"))]
    rights = [sorted(box.right for box in boxes) for boxes in pictures]
    assert rights[0] == pytest.approx(rights[1], abs=0.2)


@needs("dot")
def test_graphviz_says_what_is_wrong() -> None:
    with pytest.raises(SfgenError, match="failed with status 1") as failure:
        svg("digraph { a -> ; }")
    assert "syntax error in line 1" in failure.value.details[0]
    assert failure.value.hint


# ---- programs that fail as Graphviz hardly does ----------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    return tmp_path / "dot"


def write(program: Path, code: str, interpreter: str = sys.executable) -> None:
    program.write_text(f"#!{interpreter}\n{code}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_without_the_program_the_pipe_is_shown(program: Path) -> None:
    with pytest.raises(SfgenError, match="Graphviz") as failure:
        svg("digraph {}")
    assert failure.value.exit_code == 1
    assert isinstance(failure.value, GraphvizMissing)
    assert "draw what to_dot() gives where there is one: dot -Tsvg" in failure.value.hint


def test_a_program_that_does_not_read_what_it_gets(program: Path) -> None:
    write(program, "import sys; sys.exit(2)")
    with pytest.raises(SfgenError, match="status 2"):
        svg("digraph {" + "a;" * 1_000_000 + "}")


def test_a_program_that_writes_something_else(program: Path) -> None:
    write(program, "print('hello')")
    with pytest.raises(SfgenError, match="wrote no SVG"):
        svg("digraph {}")


@pytest.mark.parametrize("code", ["read line\n/bin/sleep 60", "/bin/sleep 60 &\nwait", "exec /bin/sleep 60"])
def test_a_program_that_hangs_is_ended_with_what_it_started(program: Path, code: str) -> None:
    write(program, code, "/bin/sh")
    started = time.monotonic()
    with pytest.raises(SfgenError, match=r"more than 0\.5 seconds"):
        svg("digraph {}", seconds=0.5)
    assert time.monotonic() - started < 50  # and not when the sleep is over


def test_a_program_that_cannot_be_run(program: Path) -> None:
    write(program, "", "/nowhere/at/all")
    with pytest.raises(SfgenError, match="cannot be run"):
        svg("digraph {}")


SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"
SVG, MARKDOWN, TEXT = "image/svg+xml", "text/markdown", "text/plain"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are looked for; without Graphviz's ``dot`` at first."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(path: Path, script: str) -> None:
    program = path / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_without_graphviz_a_small_automaton_is_drawn_all_the_same(path: Path) -> None:
    dfa = Dfa.from_regex("[0-9]+")
    assert dfa._repr_mimebundle_() == {
        TEXT: "Dfa(pattern='[0-9]+', states=2, accepting=1)",
        SVG: to_svg(character_graph(dfa)),
    }


def test_without_graphviz_a_larger_one_is_a_flowchart(path: Path) -> None:
    dfa = all_to_all(10)
    assert not is_small(character_graph(dfa))
    assert dfa._repr_mimebundle_() == {TEXT: repr(dfa), MARKDOWN: f"```mermaid\n{dfa.to_mermaid()}```\n"}


def test_a_picture_is_graphvizs_where_it_is_installed(path: Path) -> None:
    graph = character_graph(Dfa.from_regex("[0-9]+"))
    assert picture(graph) == to_svg(graph)
    install(path, "cat > /dev/null; echo '<svg/>'")
    assert picture(graph) == '<svg xml:space="preserve"/>\n'


def test_only_graphviz_draws_what_is_large(path: Path) -> None:
    with pytest.raises(GraphvizMissing, match=r"40 states or 80 edges \(here 61 states and 60 edges\)"):
        picture(character_graph(Dfa.from_regex("[a-z]{60}")))


@needs("dot")
def test_with_graphviz_its_picture_is() -> None:
    dfa = Dfa.from_regex("[0-9]+")
    bundle = dfa._repr_mimebundle_()
    assert set(bundle) == {TEXT, SVG}
    assert bundle[TEXT] == repr(dfa)
    labels = [element.text for element in ElementTree.fromstring(bundle[SVG]).iter(f"{SVG_NAMESPACE}text")]
    assert labels.count("[0-9]") == 2


@pytest.mark.parametrize("script", ["exit 1", "echo hello", "exec /bin/sleep 60"])
def test_a_graphviz_that_does_not_work_is_as_good_as_none(
    path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfgen.automata.pictures._SECONDS", 0.3)
    install(path, script)
    dfa = Dfa.from_regex("[0-9]+")
    assert dfa._repr_mimebundle_() == {TEXT: repr(dfa), SVG: to_svg(character_graph(dfa))}


@pytest.mark.parametrize("pattern", ["[a-z]{60}", "a{30000}", "(?:[ab]|[bc]d|[cd]e|[ef]g|h[a-z]){0,30}"])
def test_nothing_large_is_drawn(path: Path, pattern: str) -> None:
    install(path, "echo '<svg></svg>'")
    assert set(Dfa.from_regex(pattern)._repr_mimebundle_()) == {TEXT}


def all_to_all(size: int) -> Dfa:
    """An automaton with an edge between each two of its states."""
    classes = np.full(256, size, dtype=np.uint8)
    classes[ord("a") : ord("a") + size] = range(size)
    table = np.full((size, size + 1), -1, dtype=np.int32)
    table[:, :size] = range(size)
    return Dfa(table, classes, np.ones(size, dtype=np.bool_))


def test_many_edges_between_few_states_are_not_drawn(path: Path) -> None:
    assert set(all_to_all(15)._repr_mimebundle_()) == {TEXT}


def test_only_what_is_asked_for(path: Path) -> None:
    dfa = Dfa.from_regex("a")
    assert set(dfa._repr_mimebundle_(include=[TEXT])) == {TEXT}
    assert set(dfa._repr_mimebundle_(include=[MARKDOWN, TEXT], exclude=[TEXT])) == {MARKDOWN}
    assert set(dfa._repr_mimebundle_(exclude=[MARKDOWN])) == {TEXT, SVG}
    assert set(dfa._repr_mimebundle_(exclude=[SVG])) == {TEXT, MARKDOWN}
    install(path, "echo '<svg></svg>'")
    assert set(dfa._repr_mimebundle_(include=[SVG])) == {SVG}
    assert set(dfa._repr_mimebundle_(exclude=[SVG])) == {TEXT, MARKDOWN}
    assert set(mimebundle(dfa, "text", include=[])) == set()


def test_a_language_without_texts_and_an_index(path: Path) -> None:
    empty = Dfa.from_regex("a") & Dfa.from_regex("b")
    assert set(empty._repr_mimebundle_()) == {TEXT, SVG}
    index = Index(Dfa.from_regex("ab"), Vocabulary([b"a", b"b"]))
    assert index._repr_mimebundle_() == {**index.dfa._repr_mimebundle_(), TEXT: repr(index)}
    assert "\n" not in repr(index)
