"""Oracle of counted texts: their definition in plain Python.

Independent of the engine, but for the automaton and the counts of the text.
"""

from __future__ import annotations

from sfgen.grammar.network.rules import CountedText, Leaf


def reads(text: Leaf | CountedText, data: bytes) -> bool:
    """Whether a text is in a rule of one automaton, with or without a counter; told byte by byte."""
    if isinstance(text, Leaf):
        return text.dfa.accepts(data)
    state = count = 0
    for byte in data:
        state = text.dfa.step(state, byte)
        if state < 0:
            return False
        count += bool(text.counts[state])
        if text.maximum is not None and count > text.maximum:
            return False
        if text.needs_minimum[state] and count < text.minimum:
            return False
    return bool(text.dfa.accepting[state])
