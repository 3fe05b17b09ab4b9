"""Automaton and vocabulary → index → guide: which tokens may come next.

``table`` lays out the automaton; ``walker`` walks the token trie through it from one state, ``shaped`` the shapes of
tokens, ``narrow`` and ``family`` walk from many; ``rows`` keeps what they find, ``token_ids`` unpacks it, and
``distance`` knows the way to the end. ``builder`` puts these together
(``Index``); ``guide`` follows one sequence (``Guide``); ``free`` is the guide of text without a pattern. ``file`` saves
and loads: ``file_header`` says what is in a file, ``whole_file`` writes it, ``open_file`` and ``stored_rows`` read it.
``statistics`` counts what is in an index, ``export`` makes data of it and ``graph`` a picture.
"""

from sfgen.index.guide import Guide
from sfgen.index.index import Index
from sfgen.index.mask_ids import tokens_of_row
from sfgen.index.unconstrained import FreeGuide

__all__ = ["FreeGuide", "Guide", "Index", "tokens_of_row"]
