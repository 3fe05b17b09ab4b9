"""Graphs as text and pictures: Graphviz's language, SVG, Mermaid, boxes of characters, and what a notebook shows.

SVG is drawn by Graphviz where it is installed, and else, if the graph is small, as :mod:`~sfgen.automata.drawing`
arranges it; boxes of characters always are. Mermaid's flowcharts, which many viewers of Markdown draw, have no colours,
so that they get the viewer's. A notebook shows a small automaton as a picture, and any as one line.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from sfgen.automata.drawing import Box, Drawing, Line, Link, Size, arranged
from sfgen.automata.edges import Automaton
from sfgen.automata.graph import Graph, GraphState, character_graph
from sfgen.automata.label import number
from sfgen.errors import GraphvizMissing, SfgenError
from sfgen.parameter_text import ParameterText

# One grey that can be read on white as well as on black.
_GREY = "#767676"


_SECONDS = 60.0


_SHOWN = 2  # lines of what Graphviz says: with the hint three, the most that an error has


def to_dot(graph: Graph) -> str:
    """Write the graph in Graphviz's language, to be laid out by ``dot``.

    >>> from sfgen.automata import Dfa
    >>> from sfgen.automata.graph import character_graph
    >>> print(to_dot(character_graph(Dfa.from_regex("[0-9]+"))), end="")
    digraph {
      graph [rankdir=LR, bgcolor=transparent, fontname=monospace, fontcolor="#767676", label="[0-9]+"];
      node [shape=circle, fontname=monospace, color="#767676", fontcolor="#767676"];
      edge [fontname=monospace, color="#767676", fontcolor="#767676"];
      start [shape=point, style=invis];
      0;
      1 [shape=doublecircle];
      start -> 0;
      0 -> 1 [label="[0-9]"];
      1 -> 1 [label="[0-9]"];
    }
    """
    style = f'fontname=monospace, color="{_GREY}", fontcolor="{_GREY}"'
    title = f", label={_dot_text(graph.title)}" if graph.title else ""
    lines = [
        f'graph [rankdir=LR, bgcolor=transparent, fontname=monospace, fontcolor="{_GREY}"{title}]',
        f"node [shape=circle, {style}]",
        f"edge [{style}]",
        "start [shape=point, style=invis]",
    ]
    lines += [_dot_node(state, label) for state, label in graph.labelled]
    if graph.note:
        lines.append(f"more [shape=box, style=dashed, label={_dot_text(f'… {graph.note}')}]")
    lines.append(f"start -> {graph.states[0].number}")
    lines += [f"{edge.source} -> {edge.target} [label={_dot_text(edge.label)}]" for edge in graph.edges]
    lines += [f"{state} -> more [style=dashed]" for state in graph.continuing]
    return "digraph {\n" + "".join(f"  {line};\n" for line in lines) + "}\n"


def _dot_node(state: GraphState, label: str) -> str:
    if label:
        return f"{state.number} [shape=box, label={_dot_text(label)}]"
    return f"{state.number}{' [shape=doublecircle]' if state.accepting else ''}"


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document can hold, not even by number."""


def _dot_text(text: str) -> str:
    r"""A text as it is: a backslash would begin an escape sequence, and ``&`` a character's name, as in HTML.

    What an SVG cannot hold (it is XML) is written by its number, as in all labels.

    >>> print(_dot_text(r'"\N" &lt;'), _dot_text("\x01"))
    "\"\\N\" &amp;lt;" "\\x01"
    """
    text = _in_xml(text)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def _in_xml(text: str) -> str:
    """A text with the numbers of the characters that XML does not have."""
    return _NOT_IN_XML.sub(lambda found: number(ord(found[0])), text)


def svg(source: str, *, seconds: float = _SECONDS) -> str:
    """Render Graphviz's language as SVG with ``dot``."""
    program = shutil.which("dot")
    if program is None:
        raise GraphvizMissing
    hint = ParameterText("Take the graph itself with to_dot(), or draw fewer states.", "to_dot()")
    try:
        # A session of its own, so that what it starts can be ended with it.
        process = subprocess.Popen(
            [program, "-Tsvg"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise SfgenError(f"Graphviz's {program} cannot be run: {error.strerror or error}", hint=hint) from None
    try:
        output, said = process.communicate(source.encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        raise SfgenError(f"Graphviz's {program} took more than {seconds:g} seconds", hint=hint) from None
    finally:
        _end(process)
    picture = output.decode(errors="replace")
    if process.returncode or "<svg" not in picture:
        lines = said.decode(errors="replace").strip().splitlines()[:_SHOWN]
        raise SfgenError(
            f"Graphviz's {program} failed with status {process.returncode}"
            if process.returncode
            else f"Graphviz's {program} wrote no SVG",
            details=tuple(f"  {line}" for line in lines),
            hint=hint,
        )
    return for_any_reader(picture)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()


def for_any_reader(picture: str) -> str:
    """SVG that any XML parser takes, and whose blanks every renderer shows.

    A character that XML does not have becomes U+FFFD. Without ``xml:space`` blanks at the start and end of a text are
    dropped, no-break spaces too in some renderers (librsvg).

    >>> for_any_reader("<svg><text>  a\\x01</text></svg>")
    '<svg xml:space="preserve"><text>  a\ufffd</text></svg>'
    """
    return _NOT_IN_XML.sub("\ufffd", re.sub(r"<svg\b", '<svg xml:space="preserve"', picture, count=1))


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
    first, *others = (_mermaid_node(state, label) for state, label in graph.labelled)
    lines = [f'start[" "] --> {first}', *others]
    for edge in graph.edges:
        label = f"|{_mermaid_text(edge.label)}|" if edge.label or not graph.labels else ""
        lines.append(f"s{edge.source} -->{label} s{edge.target}")
    if graph.note:
        lines.append(f"more[{_mermaid_text(f'… {graph.note}')}]")
        lines += [f"s{state} -.-> more" for state in graph.continuing]
        lines.append("style more stroke-dasharray:4")
    lines.append("style start fill:none,stroke:none")
    return "flowchart LR\n" + "".join(f"  {line}\n" for line in lines)


def _mermaid_node(state: GraphState, label: str) -> str:
    if label:
        return f"s{state.number}[{_mermaid_text(label)}]"
    return f's{state.number}((("{state.number}")))' if state.accepting else f's{state.number}(("{state.number}"))'


def _mermaid_text(text: str) -> str:
    r"""A text as it is: characters that may mean something are written by their numbers.

    >>> _mermaid_text('[a-z]'), _mermaid_text('- "x"; <b>'), _mermaid_text(r"1. 0.5 \n#%%")
    ('"[a-z]"', '"#45; #34;x#34;#59; #60;b#62;"', '"1#46; 0#46;5 #92;n#35;#37;#37;"')
    """
    written = []
    before = ""
    for character in text:
        # A hyphen and a point begin no list after a letter.
        is_plain = character in _PLAIN or character.isalnum() or not character.isascii()
        is_plain = is_plain or (character == "-" and before.isalnum()) or (character == "." and before.isalpha())
        written.append(character if is_plain else f"#{ord(character)};")
        before = character
    return '"' + "".join(written) + '"'


MOST_STATES, MOST_EDGES = 40, 80
"""What is drawn without Graphviz: more makes a drawing that nobody can follow, and takes seconds."""


def is_small(graph: Graph) -> bool:
    """Return whether a graph is drawn without Graphviz."""
    return len(graph.states) <= MOST_STATES and len(graph.edges) + len(graph.continuing) <= MOST_EDGES


class _Arrow(NamedTuple):
    """An edge of a drawing: the places of its boxes in the list of them, and its label."""

    source: int
    target: int
    label: str


class _Placed(NamedTuple):
    """A graph with its places, the boxes and lines of :mod:`~sfgen.automata.drawing` in the order of these lists.

    The first box is the mark of the start, and has no name; behind the states there may be one of what is left out.
    """

    drawing: Drawing
    names: list[str]
    ends: list[bool]  # whether the text may end there
    arrows: list[_Arrow]


def _placed(graph: Graph) -> _Placed:
    from rich.cells import cell_len  # the columns that a terminal takes for a text

    names = ["", *(_in_xml(label or str(state.number)) for state, label in graph.labelled)]
    ends = [False, *(state.accepting for state in graph.states)]
    place = {state.number: number for number, state in enumerate(graph.states, 1)}
    edges = [_Arrow(place[edge.source], place[edge.target], _in_xml(edge.label)) for edge in graph.edges]
    arrows = [_Arrow(0, 1, ""), *edges]
    if graph.note:
        arrows += [_Arrow(place[state], len(names), "") for state in graph.continuing]
        names.append(graph.note)
        ends.append(False)
    sizes = [Size(1, 1), *(Size(cell_len(name) + 4, _HEIGHT) for name in names[1:])]
    drawing = arranged(sizes, [Link(arrow.source, arrow.target, cell_len(arrow.label)) for arrow in arrows])
    return _Placed(drawing, names, ends, arrows)


_HEIGHT = 3  # of a box
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINE = {
    _UP: "│",  # where a line ends
    _DOWN: "│",
    _UP | _DOWN: "│",
    _LEFT | _RIGHT: "─",
    _DOWN | _RIGHT: "╭",
    _DOWN | _LEFT: "╮",
    _UP | _RIGHT: "╰",
    _UP | _LEFT: "╯",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}
_WAYS = {(1, 0): (_RIGHT, _LEFT), (-1, 0): (_LEFT, _RIGHT), (0, 1): (_DOWN, _UP), (0, -1): (_UP, _DOWN)}
"""By a step to the next cell: the side on which a line leaves this one, and that on which it enters the next."""
_START, _TIP = "●", "▼"
_BOX = ("┌─┐", "│ │", "└─┘", "┬")  # and where an edge leaves
_END_BOX = ("╔═╗", "║ ║", "╚═╝", "╤")
BOX_CHARACTERS = "".join([_START, _TIP, *_LINE.values(), *_BOX, *_END_BOX])
"""All that :func:`to_text` draws with."""
_IN_ASCII = str.maketrans("●▼│─┼╭╮╰╯┌┐└┘┬╔╗╚╝═║╤", "*v|-|..''+++++######+")


def to_text(graph: Graph, *, encoding: str = "utf-8") -> str:
    """Draw a graph with box characters; the start is a dot, and states in which the text may end have double lines.

    What an encoding does not have is left out: box characters give way to those of ASCII, others to their numbers.

    >>> from sfgen.automata import Dfa
    >>> from sfgen.automata.graph import character_graph
    >>> print(to_text(character_graph(Dfa.from_regex("ab*"))), end="")
      ●
      │
    ┌─▼─┐
    │ 0 │
    └─┬─┘
      │ a
      │ ╭───╮
    ╔═▼═▼═╗ │
    ║  1  ║ │
    ╚══╤══╝ │
       │ b  │
       ╰────╯
    """
    from rich.cells import cell_len

    drawing, names, ends, arrows = _placed(_encodable(graph, encoding))
    rows = [[" "] * drawing.width for _ in range(drawing.height)]
    for (column, row), sides in _sides(drawing.lines).items():
        rows[row][column] = _LINE[sides]
    for box, is_end in zip(drawing.boxes[1:], ends[1:], strict=True):
        for row, piece in enumerate((_END_BOX if is_end else _BOX)[:_HEIGHT], box.top):
            rows[row][box.left : box.left + box.width] = [piece[0], *piece[1] * (box.width - 2), piece[2]]
    for line, arrow in zip(drawing.lines, arrows, strict=True):
        (column, row), (last_column, last_row) = line.points[0], line.points[-1]
        rows[row][column] = (_END_BOX if ends[arrow.source] else _BOX)[_HEIGHT] if arrow.source else _START
        rows[last_row][last_column] = _TIP
    if _encoded(BOX_CHARACTERS, encoding) != BOX_CHARACTERS:
        rows = [[character.translate(_IN_ASCII) for character in row] for row in rows]
    texts = [(arrow.label, *line.label) for line, arrow in zip(drawing.lines, arrows, strict=True)]
    for box, name in zip(drawing.boxes, names, strict=True):
        texts.append((name, box.left + (box.width - cell_len(name)) // 2, box.top + 1))
    for text, column, row in texts:
        if width := cell_len(text):  # all of it in its first cell: a character may take two, or none
            rows[row][column : column + width] = [text, *[""] * (width - 1)]
    return "".join("".join(row).rstrip() + "\n" for row in rows)


def _encodable(graph: Graph, encoding: str) -> Graph:
    """The graph with texts that an encoding has."""
    edges = tuple(edge._replace(label=_encoded(edge.label, encoding)) for edge in graph.edges)
    return replace(graph, edges=edges, labels=tuple(_encoded(label, encoding) for label in graph.labels))


def _encoded(text: str, encoding: str) -> str:
    r"""A text in which characters that an encoding does not have are numbers.

    >>> print(_encoded("é日", "latin-1"))
    é\u65e5
    """
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _sides(lines: Iterable[Line]) -> dict[tuple[int, int], int]:
    """To which sides the lines go on from each cell."""
    found: dict[tuple[int, int], int] = {}
    for line in lines:
        for (column, row), (next_column, next_row) in pairwise(line.points):
            across, down = _sign(next_column - column), _sign(next_row - row)
            ahead, back = _WAYS[across, down]
            while (column, row) != (next_column, next_row):
                found[column, row] = found.get((column, row), 0) | ahead
                column, row = column + across, row + down
                found[column, row] = found.get((column, row), 0) | back
    return found


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


_COLUMN, _ROW = 8.4, 16.0  # of a character of 14 pixels
_MARGIN = 12.0
_CORNER = 5.0
_LIGHT, _DARK = ("#ffffff", "#1f2328", "#59636e"), ("#0d1117", "#e6edf3", "#9198a1")  # paper, text, lines
_COLOURS = """
.sfgen-graph .paper, .sfgen-graph rect {{ fill: {0} }}
.sfgen-graph text {{ fill: {1} }}
.sfgen-graph .state rect, .sfgen-graph path {{ stroke: {2} }}
.sfgen-graph polygon, .sfgen-graph circle {{ fill: {2} }}"""
_STYLE = f"""
.sfgen-graph text {{ font: 14px monospace }}
.sfgen-graph path {{ fill: none }}
.sfgen-graph .dashed path {{ stroke-dasharray: 4 3 }}{_COLOURS.format(*_LIGHT)}
@media (prefers-color-scheme: dark) {{{_COLOURS.format(*_DARK)}
}}
"""


def to_svg(graph: Graph) -> str:
    """Draw a graph as SVG without Graphviz: on the same grid as :func:`to_text`.

    It is light or dark as its reader prefers, has a background of its own, and tells all that it shows in its
    description.
    """
    from rich.cells import cell_len

    drawing, names, ends, arrows = _placed(graph)
    title = _in_xml(graph.title)
    parts = []
    for box, name, is_end in zip(drawing.boxes[1:], names[1:], ends[1:], strict=True):
        rects = _rect(box, 0) + (_rect(box, 3) if is_end else "")
        written = _text(name, box.left + (box.width - cell_len(name)) / 2, box.top + 1)
        told = f"{name}: the text may end here" if is_end else name
        parts.append(f'<g class="state"><title>{html.escape(told)}</title>{rects}{written}</g>')
    for line, arrow in zip(drawing.lines, arrows, strict=True):
        points = [_at(*point) for point in line.points]
        x, y = points[-1]
        tip = f'<polygon points="{x:g},{y:g} {x - 3.5:g},{y - 8:g} {x + 3.5:g},{y - 8:g}"/>'
        written = _text(arrow.label, *line.label) if arrow.label else ""
        kind = "dashed edge" if arrow.target > len(graph.states) else "edge" if arrow.source else "start"
        told = html.escape(_told(arrow, names))
        parts.append(f'<g class="{kind}"><title>{told}</title><path d="{_rounded(points)}"/>{tip}{written}</g>')
    x, y = _at(*drawing.lines[0].points[0])
    parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5"/>')
    columns, rows = max(drawing.width, cell_len(title)), drawing.height + (2 if title else 0)
    if title:
        parts.append(_text(title, 0, drawing.height + 1))
    width, height = f"{2 * _MARGIN + columns * _COLUMN:g}", f"{2 * _MARGIN + rows * _ROW:g}"
    may_end = ", ".join(name for name, is_end in zip(names, ends, strict=True) if is_end)
    facts = [*(_told(arrow, names) for arrow in arrows), f"The text may end in: {may_end or 'none'}"]
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sfgen-graph" role="img" width="{width}" height="{height}">',
        f"<title>{html.escape(title or 'An automaton')}</title>",
        f"<desc>{html.escape('. '.join(facts))}.</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
    ]
    return for_any_reader("\n".join([*head, *parts, "</svg>\n"]))


def _told(arrow: _Arrow, names: Sequence[str]) -> str:
    """An edge in words."""
    source, target = names[arrow.source], names[arrow.target]
    if not arrow.source:
        return f"The start is {target}"
    return f"{source} to {target}" + (f" by {arrow.label}" if arrow.label else "")


def _at(column: float, row: float) -> tuple[float, float]:
    """The middle of a cell."""
    return _MARGIN + (column + 0.5) * _COLUMN, _MARGIN + (row + 0.5) * _ROW


def _rect(box: Box, inside: float) -> str:
    (x, y), (right, bottom) = _at(box.left, box.top), _at(box.left + box.width - 1, box.top + box.height - 1)
    size = f'width="{right - x - 2 * inside:g}" height="{bottom - y - 2 * inside:g}"'
    return f'<rect x="{x + inside:g}" y="{y + inside:g}" {size} rx="3"/>'


def _text(text: str, column: float, row: int) -> str:
    """A text that begins in a cell, as wide as its cells are, in whatever font there is."""
    from rich.cells import cell_len

    x, y = _at(column - 0.5, row)
    length = f'textLength="{cell_len(text) * _COLUMN:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:g}" y="{y + 5:g}" {length}>{html.escape(text)}</text>'


def _rounded(points: Sequence[tuple[float, float]]) -> str:
    """A path through points, round at its corners."""
    path = ["M{:g},{:g}".format(*points[0])]
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        begin, end = (
            (x + max(-_CORNER, min(_CORNER, (other[0] - x) / 2)), y + max(-_CORNER, min(_CORNER, (other[1] - y) / 2)))
            for other in (before, after)
        )
        path.append("L{:g},{:g} Q{:g},{:g} {:g},{:g}".format(*begin, x, y, *end))
    return " ".join([*path, "L{:g},{:g}".format(*points[-1])])


def picture(graph: Graph) -> str:
    """Draw a graph as SVG: by Graphviz where it is installed, and else by ourselves if the graph is small."""
    if shutil.which("dot") is not None:
        return svg(to_dot(graph))
    if not is_small(graph):
        raise GraphvizMissing(f"SVG of more than {MOST_STATES} states or {MOST_EDGES} edges (here {graph.size})")
    return to_svg(graph)


_NOTEBOOK_STATES = 40


_NOTEBOOK_EDGES = 120


_NOTEBOOK_BYTE_STATES = 20_000


_NOTEBOOK_SECONDS = 5.0


def mimebundle(
    automaton: Automaton, text: str, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
) -> dict[str, str]:
    """Render the automaton in each form that a notebook can show.

    The picture is SVG; where Graphviz is not installed, and the graph is not small, a Mermaid flowchart in Markdown. It
    is left out where there is too much to be seen on it.

    >>> from sfgen.automata import Dfa
    >>> sorted(mimebundle(Dfa.from_regex("[0-9]+"), "a number", exclude=["image/svg+xml"]))
    ['text/markdown', 'text/plain']
    """
    forms = {"text/plain": text}
    wanted = {"text/plain", "image/svg+xml", "text/markdown"} if include is None else set(include)
    wanted -= set(exclude or ())
    if len(automaton.accepting) <= _NOTEBOOK_BYTE_STATES:
        graph = character_graph(automaton, max_states=_NOTEBOOK_STATES)
        if not graph.states_left_out and len(graph.edges) <= _NOTEBOOK_EDGES:
            if "image/svg+xml" in wanted:
                with suppress(SfgenError):  # no Graphviz, or one that does not work
                    forms["image/svg+xml"] = svg(to_dot(graph), seconds=_NOTEBOOK_SECONDS)
                if "image/svg+xml" not in forms and is_small(graph):
                    forms["image/svg+xml"] = to_svg(graph)
            if "image/svg+xml" not in forms:
                forms["text/markdown"] = f"```mermaid\n{to_mermaid(graph)}```\n"
    return {name: form for name, form in forms.items() if name in wanted}
