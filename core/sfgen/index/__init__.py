"""Constraint and vocabulary → index → guide: which tokens may come next.

A user makes an ``index`` from a constraint and a vocabulary. ``guide`` is the base of all guides: a guide follows one
sequence. ``unconstrained`` is free text. ``sequence`` puts parts one after the other, such as a literal or free text up
to a ``marker`` before a constraint, or calls in free text: ``sequence_parts`` has the kinds of parts, ``threads``
divides a text among them, and ``thread_tokens`` finds the tokens that may follow.

Of an automaton: ``masks`` walks the token trie through it, ``mask_store`` keeps the masks that were used last,
``mask_ids`` unpacks them, and ``distance`` has the fewest tokens to the end. ``token_automaton`` puts these together,
and ``dfa_guide`` follows a sequence. ``file`` saves and loads the automaton, ``saved_text`` other constraints, both by
``atomic_write``. ``export`` shows an index as data, numbers and a picture.
"""

from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.guide import BaseGuide
from sfgen.index.index import DfaIndex, Index, index_of
from sfgen.index.marker import Marker
from sfgen.index.mask_ids import tokens_of_row
from sfgen.index.sequence import Calls, Chain, Thought
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
