"""Graphs in the language of Graphviz, and as SVG where Graphviz is installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

from sfgen.automata.graph import Graph, GraphState
from sfgen.automata.label import number
from sfgen.automata.svg_text import NOT_IN_XML, for_any_reader
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
    title = f", label={_quoted(graph.title)}" if graph.title else ""
    lines = [
        f'graph [rankdir=LR, bgcolor=transparent, fontname=monospace, fontcolor="{_GREY}"{title}]',
        f"node [shape=circle, {style}]",
        f"edge [{style}]",
        "start [shape=point, style=invis]",
    ]
    lines += [_node(state, label) for state, label in graph.labelled]
    if graph.note:
        lines.append(f"more [shape=box, style=dashed, label={_quoted(f'… {graph.note}')}]")
    lines.append(f"start -> {graph.states[0].number}")
    lines += [f"{edge.source} -> {edge.target} [label={_quoted(edge.label)}]" for edge in graph.edges]
    lines += [f"{state} -> more [style=dashed]" for state in graph.continuing]
    return "digraph {\n" + "".join(f"  {line};\n" for line in lines) + "}\n"


def _node(state: GraphState, label: str) -> str:
    if label:
        return f"{state.number} [shape=box, label={_quoted(label)}]"
    return f"{state.number}{' [shape=doublecircle]' if state.accepting else ''}"


def _quoted(text: str) -> str:
    r"""A text as it is: a backslash would begin an escape sequence, and ``&`` a character's name, as in HTML.

    What an SVG cannot hold (it is XML) is written by its number, as in all labels.

    >>> print(_quoted(r'"\N" &lt;'), _quoted("\x01"))
    "\"\\N\" &amp;lt;" "\\x01"
    """
    text = NOT_IN_XML.sub(lambda found: number(ord(found[0])), text)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def svg(source: str, *, seconds: float = _SECONDS) -> str:
    """Render Graphviz's language as SVG with ``dot``.

    Args:
        source: The graph.
        seconds: How long it may take.

    Raises:
        GraphvizMissing: There is no ``dot``.
        SfgenError: It fails, or it takes too long.
    """
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
