"""What is written for Graphviz, read back by a strict parser of the part of its language that is used; and its SVG."""

from __future__ import annotations

import html
import re
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import graphs
from sfgen.automata import Dfa
from sfgen.automata.dot import svg, to_dot
from sfgen.automata.graph import Graph, character_graph
from sfgen.errors import SfgenError

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


def check(graph: Graph) -> None:
    """Whether the text says what is in the graph, and no more."""
    statements = parsed(to_dot(graph))
    named = {statement.ids: statement.attributes for statement in statements}
    assert len(named) == len(statements)
    assert named[("graph",)].get("label", "") == graph.title
    assert named[("graph",)]["rankdir"] == "LR"
    assert named.pop(("start", str(graph.states[0].number))) == {}
    states = {ids[0]: found for ids, found in named.items() if len(ids) == 1 and ids[0].isdecimal()}
    assert states == {str(state.number): {"shape": "doublecircle"} if state.accepting else {} for state in graph.states}
    others = {ids[0] for ids in named if len(ids) == 1} - set(states)
    assert others == {"graph", "node", "edge", "start"} | ({"more"} if graph.note else set())
    edges = {ids: found for ids, found in named.items() if len(ids) == 2}
    dashed = {(str(state), "more"): {"style": "dashed"} for state in graph.continuing}
    assert edges == dashed | {(str(edge.source), str(edge.target)): {"label": edge.label} for edge in graph.edges}
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
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8))
texts = st.lists(texts, max_size=3).map("".join)


@given(graphs(texts))
@settings(max_examples=200, deadline=None)
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


@given(graphs(texts))
@settings(max_examples=10, deadline=None)
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")
def test_graphviz_takes_it(graph: Graph) -> None:
    ElementTree.fromstring(svg(to_dot(graph)))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")
def test_graphviz_draws_the_labels_as_they_are(pattern: str) -> None:
    graph = character_graph(Dfa.from_regex(pattern))
    picture = ElementTree.fromstring(svg(to_dot(graph)))
    shown = {"".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {edge.label for edge in graph.edges} <= {text.replace("\xa0", " ") for text in shown}


# ---- Graphviz's program --------------------------------------------------------------------------------------------

GOOD = """
import sys
source = sys.stdin.buffer.read().decode()
assert sys.argv[1:] == ["-Tsvg"], sys.argv
print('<?xml version="1.0"?>\\n<svg><!-- é', len(source), "--></svg>")
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    return tmp_path / "dot"


def write(program: Path, code: str, interpreter: str = sys.executable) -> None:
    program.write_text(f"#!{interpreter}\n{code}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_a_picture(program: Path) -> None:
    write(program, GOOD)
    source = Dfa.from_regex("é").to_dot()
    assert f"<svg><!-- é {len(source)} --></svg>" in svg(source)


def test_without_the_program_the_pipe_is_shown(program: Path) -> None:
    with pytest.raises(SfgenError, match="Graphviz") as failure:
        svg("digraph {}")
    assert failure.value.exit_code == 1
    assert "sfgen index --regex P --format dot | dot -Tsvg > index.svg" in failure.value.hint


def test_what_a_failing_program_says_is_shown(program: Path) -> None:
    write(program, "import sys; print('Error: <stdin>: syntax error in line 3', file=sys.stderr); sys.exit(3)")
    with pytest.raises(SfgenError, match="status 3") as failure:
        svg("digraph {")
    assert failure.value.details == ("  Error: <stdin>: syntax error in line 3",)
    assert failure.value.hint


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
