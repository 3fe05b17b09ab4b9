"""The second step of the pipeline: a syntax tree, or a list of texts, becomes a minimal automaton over bytes.

:mod:`~sfgen.automata.acyclic` turns characters into bytes, :mod:`~sfgen.automata.nfa` the tree into a nondeterministic
automaton, :mod:`~sfgen.automata.determinize` that into a deterministic one, and :mod:`~sfgen.automata.minimize` finds
its canonical form. :mod:`~sfgen.automata.sources` does the same for a list of texts. :class:`Dfa` is the result, which
the index walks.

For views, :mod:`~sfgen.automata.edges` folds the bytes back to characters, and :mod:`~sfgen.automata.label` writes sets
of them down; :mod:`~sfgen.automata.graph` has the states and edges that :mod:`~sfgen.automata.pictures` draws.
"""

from sfgen.automata.dfa import Dfa

__all__ = ["Dfa"]
