"""The second step of the pipeline: a syntax tree, or a list of texts, becomes a minimal automaton over bytes.

:mod:`~sfgen.automata.acyclic` turns characters into bytes, :mod:`~sfgen.automata.nfa` the tree into a nondeterministic
automaton, :mod:`~sfgen.automata.determinize` that into a deterministic one, and :mod:`~sfgen.automata.minimize` finds
its canonical form. :mod:`~sfgen.automata.sources` does the same for a list of texts. :class:`Dfa` is the result, which
the index walks.

To be looked at, :mod:`~sfgen.automata.edges` folds the bytes back to characters, which :mod:`~sfgen.automata.label`
writes down; :mod:`~sfgen.automata.graph` is what :mod:`~sfgen.automata.pictures`, :mod:`~sfgen.automata.pictures` and
:mod:`~sfgen.automata.pictures` show.
"""

from sfgen.automata.dfa import Dfa

__all__ = ["Dfa"]
