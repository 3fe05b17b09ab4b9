"""Graphs as text and pictures: Graphviz's language, SVG, Mermaid, and what a notebook shows.

SVG needs Graphviz. Mermaid's flowcharts, which many viewers of Markdown draw, have no colours, so that they get the
viewer's. A notebook shows a small automaton as a picture, and any as one line.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress

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
    text = _NOT_IN_XML.sub(lambda found: number(ord(found[0])), text)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


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


_NOTEBOOK_STATES = 40


_NOTEBOOK_EDGES = 120


_NOTEBOOK_BYTE_STATES = 20_000


_NOTEBOOK_SECONDS = 5.0


def mimebundle(
    automaton: Automaton, text: str, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
) -> dict[str, str]:
    """Render the automaton in each form that a notebook can show.

    The picture is SVG where Graphviz is installed, and else a Mermaid flowchart in Markdown. It is left out where there
    is too much to be seen on it.

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
            if "image/svg+xml" not in forms:
                forms["text/markdown"] = f"```mermaid\n{to_mermaid(graph)}```\n"
    return {name: form for name, form in forms.items() if name in wanted}
