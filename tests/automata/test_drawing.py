"""Drawings of boxes, read back from their characters by what knows only what these mean; and the same as SVG."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.support.patterns.automata import automata, graphs
from tests.support.running.tried import tried

from sfgen import Dfa
from sfgen.automata.graph import Graph, GraphEdge, GraphState, character_graph
from sfgen.automata.pictures import MOST_EDGES, MOST_STATES, is_small, to_svg, to_text

# ---- a reader ------------------------------------------------------------------------------------------------------

UP, DOWN, LEFT, RIGHT = (0, -1), (0, 1), (-1, 0), (1, 0)
BENDS = {"╭": (DOWN, RIGHT), "╮": (DOWN, LEFT), "╰": (UP, RIGHT), "╯": (UP, LEFT)}
FRAMES = {False: "┌┐└┘─│┬", True: "╔╗╚╝═║╤"}
IN_ASCII = str.maketrans({"●": "*", "▼": "v", "╭": ".", "╮": ".", "╰": "'", "╯": "'", "│": "|", "─": "-", "┼": "|"}
    | dict.fromkeys("┌┐└┘┬╤", "+") | dict.fromkeys("╔╗╚╝═║", "#"))  # fmt: skip

Cell = tuple[int, int]


class Shown(NamedTuple):
    """What a drawing shows."""

    start: str
    states: dict[str, bool]  # whether the text may end there
    edges: Counter[tuple[str, str, str]]


class Frame(NamedTuple):
    name: str
    is_end: bool
    cells: frozenset[Cell]
    exits: tuple[Cell, ...]


def opposite(side: tuple[int, int]) -> tuple[int, int]:
    return -side[0], -side[1]


class Reader:
    """Reads a drawing: finds its boxes, follows its lines, and takes note of every character that it has understood."""

    def __init__(self, text: str) -> None:
        self.cells: dict[Cell, str] = {}
        for row, line in enumerate(text.split("\n")):
            column = 0
            for character in line:
                width = cell_len(character)
                if width == 0:
                    self.cells[column - 1, row] += character
                for place in range(width):
                    self.cells[column + place, row] = "" if place else character
                column += width
        self.read: Counter[tuple[Cell, bool]] = Counter()  # with whether it was read across

    def at(self, cell: Cell) -> str:
        return self.cells.get(cell, " ")

    def shown(self) -> Shown:
        frames = [self.frame(cell, is_end) for is_end in FRAMES for cell in self.found(FRAMES[is_end][0])]
        for frame, other in combinations(frames, 2):
            assert not frame.cells & other.cells
        entered = {cell: frame.name for frame in frames for cell in frame.cells if self.at(cell) == "▼"}
        assert set(entered) == set(self.found("▼"))
        (start,) = self.found("●")
        ways = [(frame.name, self.follow(cell), self.label(cell)) for frame in frames for cell in frame.exits]
        edges = Counter((name, entered.pop(last), label) for name, last, label in ways)
        first = entered.pop(self.follow(start))
        assert not entered, "an arrow to which no line leads"
        self.has_read_all({cell for frame in frames for cell in frame.cells} | {start})
        assert len({frame.name for frame in frames}) == len(frames)
        return Shown(first, {frame.name: frame.is_end for frame in frames}, edges)

    def found(self, character: str) -> list[Cell]:
        return [cell for cell, written in self.cells.items() if written == character]

    def frame(self, corner: Cell, is_end: bool) -> Frame:
        """The box with this upper left corner: whole, and three rows high."""
        _, right_top, left_bottom, right_bottom, across, down, leaving = tuple(FRAMES[is_end])
        left, top = corner
        right = left + 1
        while self.at((right, top)) in (across, "▼"):
            right += 1
        bottom = top + 2
        assert self.at((right, top)) == right_top
        assert (self.at((left, bottom)), self.at((right, bottom))) == (left_bottom, right_bottom)
        assert self.at((left, top + 1)) == self.at((right, top + 1)) == down
        inside = range(left + 1, right)
        assert {self.at((column, bottom)) for column in inside} <= {across, leaving}
        name = "".join(self.at((column, top + 1)) for column in inside).strip()
        exits = tuple((column, bottom) for column in inside if self.at((column, bottom)) == leaving)
        cells = frozenset((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))
        return Frame(name, is_end, cells, exits)

    def follow(self, cell: Cell) -> Cell:
        """Where the line ends that goes down from a cell."""
        side = DOWN
        while True:
            cell = cell[0] + side[0], cell[1] + side[1]
            character = self.at(cell)
            if character == "▼":
                assert side == DOWN
                return cell
            self.read[cell, side in (LEFT, RIGHT)] += 1
            if character in BENDS:
                assert opposite(side) in BENDS[character], f"a line that does not go on at {cell}"
                (side,) = set(BENDS[character]) - {opposite(side)}
            else:
                assert character == "┼" or character == ("─" if side in (LEFT, RIGHT) else "│"), (cell, character)

    def label(self, cell: Cell) -> str:
        """What stands beside the beginning of a line; labels in these tests have no blanks."""
        column, row = cell[0] + 2, cell[1] + 1
        label = ""
        if self.at((column - 1, row)) == " ":
            while self.at((column, row)) != " " and (self.at((column, row)) not in {*BENDS, *"│─┼"} or label):
                label += self.at((column, row))
                self.read[(column, row), False] += 1
                column += 1
        return label

    def has_read_all(self, boxes: set[Cell]) -> None:
        """Whether every character is a part of one thing."""
        for cell, character in self.cells.items():
            if cell in boxes or character == " ":
                assert not self.read[cell, True] + self.read[cell, False]
            elif character == "┼":
                assert self.read[cell, True] == self.read[cell, False] == 1
            else:
                assert self.read[cell, True] + self.read[cell, False] == 1, (cell, character)


# ---- random graphs -------------------------------------------------------------------------------------------------

LABELS = st.text(st.sampled_from('ab"[]^é日\u0301'), max_size=6).map(lambda text: text.lstrip("\u0301"))


@st.composite
def larger_graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 14))
    pairs = draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=2 * count))
    ends = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    states = tuple(GraphState(number, is_end) for number, is_end in enumerate(ends))
    return Graph("", states, tuple(GraphEdge(*pair, draw(LABELS)) for pair in sorted(pairs)))


def expected(graph: Graph) -> Shown:
    edges = Counter((str(edge.source), str(edge.target), edge.label) for edge in graph.edges)
    states = {str(state.number): state.accepting for state in graph.states}
    if graph.note:
        rest = graph.note
        states[rest] = False
        edges.update((str(state), rest, "") for state in graph.continuing)
    return Shown(str(graph.states[0].number), states, edges)


@given(automata(most_states=10))
def test_an_automaton_is_read_from_its_drawing(dfa: Dfa) -> None:
    graph = character_graph(dfa)
    assert Reader(to_text(graph)).shown() == expected(graph)


@given(graphs(LABELS, titled=False))
def test_any_graph_is_read_from_its_drawing(graph: Graph) -> None:
    assert Reader(to_text(graph)).shown() == expected(graph)


@given(larger_graphs())
def test_larger_graphs_are_read_from_their_drawings(graph: Graph) -> None:
    assert Reader(to_text(graph)).shown() == expected(graph)


@given(larger_graphs())
def test_a_drawing_in_ascii_has_the_same_places(graph: Graph) -> None:
    letters = Graph("", graph.states, tuple(edge._replace(label="x" * cell_len(edge.label)) for edge in graph.edges))
    drawn = to_text(letters, encoding="latin-1")
    assert drawn.isascii()
    assert drawn == to_text(letters).translate(IN_ASCII)


def test_names_of_rules_are_in_the_boxes() -> None:
    states = (GraphState(0, False), GraphState(1, False))
    graph = Graph("", states, (GraphEdge(0, 1, ""), GraphEdge(1, 0, "")), labels=("a list 日", "item"))
    shown = Reader(to_text(graph)).shown()
    assert shown == (
        "a list 日",
        {"a list 日": False, "item": False},
        Counter({("a list 日", "item", ""): 1, ("item", "a list 日", ""): 1}),
    )


def test_a_small_drawing_to_look_at() -> None:
    assert to_text(character_graph(Dfa.from_regex("(ab)*c|d"))).split("\n") == [
        "        ●",
        "        │",
        "    ┌───▼───┐",
        "    │   0   │",
        "    └─┬───┬─┘",
        "      │ a │ [cd]",
        "   ╭──╯   │",
        "   │ ╭────┼─╮",
        " ┌─▼─▼─┐  │ │",
        " │  1  │  │ │",
        " └──┬──┘  │ │",
        "    │ b   │ │",
        "┌───▼───┐ │ │",
        "│   3   │ │ │",
        "└─┬───┬─┘ │ │",
        "  │ c │ a │ │",
        "  │   ╰───┼─╯",
        "  ╰─────╮ │",
        "      ╔═▼═▼═╗",
        "      ║  2  ║",
        "      ╚═════╝",
        "",
    ]


def test_what_an_encoding_does_not_have_is_a_number() -> None:
    drawn = to_text(character_graph(Dfa.from_regex("é日")), encoding="latin-1")
    assert [line.strip() for line in drawn.split("\n") if line.strip(" |*")][3::4] == ["| é", r"| \u65e5"]
    assert max(map(len, drawn.split("\n"))) == len(r"+-v-+") + len(r"\u65e5") - 1
    assert "日" in to_text(character_graph(Dfa.from_regex("é日")), encoding="euc-jp")


@pytest.mark.parametrize("pattern", ["[0-9]{4}-(0[1-9]|1[0-2])", "(hot|cold|hotel)", '"([^"\\\\]|\\\\.)*"'])
def test_usual_patterns_fit_a_terminal(pattern: str) -> None:
    assert max(map(cell_len, to_text(character_graph(Dfa.from_regex(pattern))).split("\n"))) <= 60


def test_trees_are_drawn_without_crossings() -> None:
    assert "┼" not in to_text(character_graph(Dfa.from_choices(["hot", "cold", "hotel"])))


def test_what_is_small() -> None:
    states = tuple(GraphState(number, False) for number in range(MOST_STATES + 1))
    assert is_small(Graph("", states[:-1], ()))
    assert not is_small(Graph("", states, ()))
    edges = tuple(GraphEdge(number % 40, number // 40, "a") for number in range(MOST_EDGES + 1))
    assert is_small(Graph("", states[:-1], edges[:-1]))
    assert not is_small(Graph("", states[:-1], edges))
    assert not is_small(Graph("", states[:-1], edges[:-1], (0,), 9))


# ---- SVG -----------------------------------------------------------------------------------------------------------

SPACE = "{http://www.w3.org/2000/svg}"


class Area(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Area) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def area_of(rect: ElementTree.Element) -> Area:
    x, y, width, height = (float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))
    return Area(x, y, x + width, y + height)


def area_of_text(text: ElementTree.Element) -> Area:
    """Letters of 14 pixels, 11 above the base line and 3 below."""
    x, y = float(text.get("x", "")), float(text.get("y", ""))
    return Area(x, y - 11, x + float(text.get("textLength", "")), y + 3)


def corners_of(path: str) -> list[tuple[float, float]]:
    """The points of a path, those for which its round corners stand included."""
    steps = re.findall(r"[MLQ]|[-0-9.]+,[-0-9.]+", path)
    assert " ".join(steps).replace(" ", "") == path.replace(" ", "")
    return [tuple(map(float, step.split(","))) for step in steps if step not in "MLQ"]  # type: ignore[misc]


def found(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [group for group in root.iter(f"{SPACE}g") if kind in group.get("class", "").split()]


def text_in(group: ElementTree.Element, name: str) -> str:
    return "".join(element.text or "" for element in group.findall(f"{SPACE}{name}"))


def check_picture(graph: Graph) -> None:
    root = ElementTree.fromstring(to_svg(graph))
    whole = Area(0, 0, float(root.get("width", "")), float(root.get("height", "")))
    boxes = {text_in(group, "text"): area_of(group.findall(f"{SPACE}rect")[0]) for group in found(root, "state")}
    wanted = expected(graph)
    assert {
        text_in(group, "text"): len(group.findall(f"{SPACE}rect")) == 2 for group in found(root, "state")
    } == wanted.states
    texts = [area_of_text(text) for text in root.iter(f"{SPACE}text")]
    for area, other in combinations(boxes.values(), 2):
        assert not area.meets(other), "two boxes overlap"
    for area, other in combinations(texts, 2):
        assert not area.meets(other), "two texts overlap"
    labels = [area_of_text(text) for group in found(root, "edge") for text in group.findall(f"{SPACE}text")]
    for label in labels:
        assert not any(label.meets(area) for area in boxes.values()), "a label is on a box"
    for area in [*texts, *boxes.values()]:
        assert whole.left <= area.left < area.right <= whole.right
        assert whole.top <= area.top < area.bottom <= whole.bottom
    edges = Counter[tuple[str, str, str]]()
    for group in [*found(root, "edge"), *found(root, "start")]:
        points = corners_of(group.find(f"{SPACE}path").get("d", ""))  # type: ignore[union-attr]
        source, target = (
            [name for name, area in boxes.items() if area.left < x < area.right and y == (area.bottom, area.top)[end]]
            for end, (x, y) in enumerate((points[0], points[-1]))
        )
        if group.get("class") == "start":
            assert (source, target) == ([], [wanted.start])
            (mark,) = root.iter(f"{SPACE}circle")
            assert (float(mark.get("cx", "")), float(mark.get("cy", ""))) == points[0]
        else:
            edges[(*source, *target, text_in(group, "text"))] += 1  # type: ignore[index]
        for (x, y), (next_x, next_y) in pairwise(points):
            piece = Area(min(x, next_x), min(y, next_y), max(x, next_x), max(y, next_y))
            assert not any(piece.meets(area) for area in [*boxes.values(), *labels]), "a line goes through something"
    assert edges == wanted.edges


@given(larger_graphs())
@tried("some")
def test_nothing_overlaps_in_a_picture(graph: Graph) -> None:
    check_picture(graph)


@given(graphs(LABELS))
@tried("some")
def test_any_graph_has_a_picture(graph: Graph) -> None:
    check_picture(graph)


def test_a_picture_tells_what_it_shows() -> None:
    root = ElementTree.fromstring(to_svg(character_graph(Dfa.from_regex("a<+"))))
    assert root.get("role") == "img"
    assert [child.tag.removeprefix(SPACE) for child in root][:2] == ["title", "desc"]
    assert root.findtext(f"{SPACE}title") == "a<+"
    told = "The start is 0. 0 to 1 by a. 1 to 2 by <. 2 to 2 by <. The text may end in: 2."
    assert root.findtext(f"{SPACE}desc") == told
    assert [text_in(group, "title") for group in found(root, "edge")] == ["0 to 1 by a", "1 to 2 by <", "2 to 2 by <"]
    unnamed = ElementTree.fromstring(to_svg(Graph("", (GraphState(0, False),), ())))
    assert unnamed.findtext(f"{SPACE}title") == "An automaton"
    assert unnamed.findtext(f"{SPACE}desc") == "The start is 0. The text may end in: none."


def light(colour: str) -> float:
    """The relative luminance of a colour, by the guidelines of accessibility (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, other: str) -> float:
    lower, higher = sorted(map(light, (colour, other)))
    return (higher + 0.05) / (lower + 0.05)


def test_a_picture_can_be_read_in_the_light_and_in_the_dark() -> None:
    style = ElementTree.fromstring(to_svg(character_graph(Dfa.from_regex("a")))).findtext(f"{SPACE}style") or ""
    schemes = style.split("@media (prefers-color-scheme: dark)")
    assert len(schemes) == 2
    papers = []
    for scheme in schemes:
        paper = re.search(r"\.paper[^{]*\{ fill: (#[0-9a-f]{6})", scheme)
        text = re.search(r"graph text \{ fill: (#[0-9a-f]{6})", scheme)
        line = re.search(r"path \{ stroke: (#[0-9a-f]{6})", scheme)
        assert paper
        assert text
        assert line
        assert contrast(paper[1], text[1]) >= 7
        assert contrast(paper[1], line[1]) >= 4.5
        papers.append(light(paper[1]))
    assert papers[0] > 0.9 > 0.1 > papers[1]
