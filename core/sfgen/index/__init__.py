"""Automaton and vocabulary → index → guide: which tokens may come next.

``walker`` walks the token trie through the DFA; ``builder`` keeps the result for each state (``Index``); ``guide``
follows one sequence (``Guide``); ``file`` saves and loads; ``free`` is the guide of text without a pattern.
"""

from sfgen.index.builder import Index, tokens_of_row
from sfgen.index.free import FreeGuide
from sfgen.index.guide import Guide

__all__ = ["FreeGuide", "Guide", "Index", "tokens_of_row"]
