"""The parts of a template in segments, for templates that are neither one automaton nor one grammar.

A segment is as many regular parts in a row as there are, made one automaton, so that tokens which reach from one part
into the next are found as those of any automaton are; or a hole with a schema or a grammar; or a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfgen.automata import Dfa
from sfgen.template.composition import automaton_of
from sfgen.template.parts import Filled, Literal, Part


@dataclass(frozen=True, slots=True)
class Segment:
    """Parts in a row.

    Attributes:
        begin: The number of the first one.
        end: That of the part behind the last one.
        dfa: Their automaton; ``None``: it is one part, which is not regular.
    """

    begin: int
    end: int
    dfa: Dfa | None


def segments_of(parts: Sequence[Part]) -> tuple[Segment, ...]:
    """Divide a template into segments, in order.

    A hole that can only be empty is in none where a segment would begin.

    Raises:
        PatternTooLarge: An automaton passes a limit.
    """
    return tuple(_segments(parts))


def _segments(parts: Sequence[Part]) -> Iterator[Segment]:
    begin = 0
    while begin < len(parts):
        end = begin
        while end < len(parts) and _is_regular(parts[end]):
            end += 1
        if end == begin:
            yield Segment(begin, begin + 1, None)
            begin += 1
        elif _is_empty(parts[begin]):
            begin += 1
        else:
            dfa = automaton_of(parts[begin:end])
            assert dfa is not None, "its parts are regular"
            yield Segment(begin, end, dfa)
            begin = end


def _is_regular(part: Part) -> bool:
    return isinstance(part, Literal) or (isinstance(part, Filled) and isinstance(part.constraint, Dfa))


def _is_empty(part: Part) -> bool:
    constraint = part.constraint if isinstance(part, Filled) else None
    return isinstance(constraint, Dfa) and not (constraint.transitions >= 0).any()
