"""Automaton and vocabulary → index → guide: which tokens may come next.

``table`` lays out the automaton; ``walker`` walks the token trie through it from one state, ``narrow`` and ``family``
from many; ``rows`` keeps what they find, and ``distance`` knows the way to the end. ``builder`` puts these together
(``Index``); ``guide`` follows one sequence (``Guide``); ``file`` saves and loads; ``free`` is the guide of text without
a pattern.
"""

from sfgen.index.builder import Index, tokens_of_row
from sfgen.index.free import FreeGuide
from sfgen.index.guide import Guide

__all__ = ["FreeGuide", "Guide", "Index", "tokens_of_row"]
