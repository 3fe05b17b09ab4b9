"""The first step of the pipeline: the text of a pattern becomes a syntax tree over code points.

:func:`parse` reads the dialect of Python's ``re``; :func:`settle` takes out what plain automata do not have. The tree
is what :mod:`sfgen.automata` builds its automaton from.
"""

from sfgen.regex.parse import parse
from sfgen.regex.settle import settle
from sfgen.regex.tree import (
    Alternation,
    Assertion,
    AssertionKind,
    Atomic,
    Characters,
    Concatenation,
    Empty,
    Node,
    Repeat,
)

__all__ = [
    "Alternation",
    "Assertion",
    "AssertionKind",
    "Atomic",
    "Characters",
    "Concatenation",
    "Empty",
    "Node",
    "Repeat",
    "parse",
    "settle",
]
