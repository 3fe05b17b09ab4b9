"""The first step of the pipeline: the text of a pattern becomes a syntax tree over code points.

:func:`parse` reads the dialect of Python's ``re``; :func:`settle` takes out the anchors, or replaces them by
lookarounds. :mod:`sfgen.automata` builds its automaton from the tree.
"""

from sfgen.regex.ast import (
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    Characters,
    Concatenation,
    Empty,
    Look,
    Node,
    Repeat,
    settle,
)
from sfgen.regex.parse import parse

__all__ = [
    "Alternation",
    "Anchor",
    "AnchorKind",
    "Atomic",
    "Characters",
    "Concatenation",
    "Empty",
    "Look",
    "Node",
    "Repeat",
    "parse",
    "settle",
]
