"""Constraint and vocabulary → index → guide: which tokens may come next.

``index`` is what a user makes of a constraint and a vocabulary; ``guide`` has what all guides can do, and follows one
sequence; ``chain`` puts one after the other; ``unconstrained`` is free text. ``prefixed_guide`` is what guides with a
beginning of their own have in common: ``literal_guide`` has a literal before a constraint, ``thought`` free text up to
a marker. ``calls`` has texts of a constraint inside free text.

Of an automaton: ``masks`` walks the token trie through it, ``mask_store`` keeps the masks that were used last,
``mask_ids`` unpacks them, and ``distance`` knows the way to the end. ``token_automaton`` puts these together, and
``dfa_guide`` follows a sequence. ``file`` saves and loads the automaton, ``saved_text`` other constraints, both by
``atomic_write``. ``export`` shows an index as data, numbers and a picture.
"""

from sfgen.index.calls import Calls
from sfgen.index.chain import Chain
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.guide import BaseGuide
from sfgen.index.index import DfaIndex, Index, index_of
from sfgen.index.mask_ids import tokens_of_row
from sfgen.index.thought import Marker, Thought
from sfgen.index.unconstrained import Unconstrained, UnconstrainedGuide

__all__ = [
    "BaseGuide",
    "Calls",
    "Chain",
    "DfaGuide",
    "DfaIndex",
    "Index",
    "Marker",
    "Thought",
    "Unconstrained",
    "UnconstrainedGuide",
    "index_of",
    "tokens_of_row",
]
