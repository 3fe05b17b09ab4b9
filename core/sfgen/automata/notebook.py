"""What a notebook shows of an automaton: a small one as a picture, all of them as one line."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from sfgen.automata.arrays import Automaton
from sfgen.automata.dot import svg, to_dot
from sfgen.automata.graph import character_graph
from sfgen.automata.mermaid import to_mermaid
from sfgen.errors import SfgenError

_MAX_STATES = 40
_MAX_EDGES = 120
_MAX_BYTE_STATES = 20_000
_SECONDS = 5.0


def mimebundle(
    automaton: Automaton, text: str, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
) -> dict[str, str]:
    """Render the automaton in each form that a notebook can show.

    The picture is SVG where Graphviz is installed, and else a Mermaid flowchart in Markdown. It is left out where there
    is too much to be seen on it.

    Args:
        automaton: The automaton.
        text: What is shown where there are no pictures.
        include: The media types that are wanted; all by default.
        exclude: Media types that are not.

    Returns:
        The forms, by media type.

    >>> from sfgen.automata import Dfa
    >>> sorted(mimebundle(Dfa.from_regex("[0-9]+"), "a number", exclude=["image/svg+xml"]))
    ['text/markdown', 'text/plain']
    """
    forms = {"text/plain": text}
    wanted = {"text/plain", "image/svg+xml", "text/markdown"} if include is None else set(include)
    wanted -= set(exclude or ())
    if len(automaton.accepting) <= _MAX_BYTE_STATES:
        graph = character_graph(automaton, max_states=_MAX_STATES)
        if not graph.states_left_out and len(graph.edges) <= _MAX_EDGES:
            if "image/svg+xml" in wanted:
                with suppress(SfgenError):  # no Graphviz, or one that does not work
                    forms["image/svg+xml"] = svg(to_dot(graph), seconds=_SECONDS)
            if "image/svg+xml" not in forms:
                forms["text/markdown"] = f"```mermaid\n{to_mermaid(graph)}```\n"
    return {name: form for name, form in forms.items() if name in wanted}
