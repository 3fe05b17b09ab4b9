"""How the languages of two automata lie to each other, with texts that show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfgen.automata.dfa import Dfa
from sfgen.automata.edges import Edge, WholeCharacters
from sfgen.automata.familiar import rank


@dataclass(frozen=True, slots=True)
class Relation:
    """What two languages, the left and the right one, have in common.

    Attributes:
        kind: ``"same"``; ``"contained"``: each text of the left one is one of the right one, which has more;
            ``"contains"``: the other way round; ``"overlapping"``: some texts are in both, and each has others;
            ``"disjoint"``: each has texts, and none is in both.
        only_left: A shortest text that is in the left one only; ``None`` if there is none.
        only_right: A shortest text that is in the right one only.
        both: A shortest text that is in both.
    """

    kind: Literal["same", "contained", "contains", "overlapping", "disjoint"]
    only_left: str | None
    only_right: str | None
    both: str | None


def relation(left: Dfa, right: Dfa) -> Relation:
    """Compare two languages, with shortest texts as evidence.

    Of several shortest texts the one with the more familiar characters is told.

    Args:
        left: One automaton.
        right: The other.

    Raises:
        PatternTooLarge: The automata are too large to be walked side by side.

    >>> relation(Dfa.from_regex("[a-z]+"), Dfa.from_regex("[^0-9]{2,}"))
    Relation(kind='overlapping', only_left='a', only_right='aA', both='aa')
    >>> relation(Dfa.from_choices(["hot"]), Dfa.from_regex("[a-z]+"))
    Relation(kind='contained', only_left=None, only_right='a', both='hot')
    """
    only_left, only_right, both = _shortest(left - right), _shortest(right - left), _shortest(left & right)
    kind: Literal["same", "contained", "contains", "overlapping", "disjoint"]
    if only_left is None:
        kind = "same" if only_right is None else "contained"
    elif only_right is None:
        kind = "contains"
    else:
        kind = "disjoint" if both is None else "overlapping"
    return Relation(kind, only_left, only_right, both)


def _shortest(dfa: Dfa) -> str | None:
    """A shortest text, in characters; ``None`` if there is none."""
    # Breadth-first in the order of the characters, so that each state is first reached by the first of its shortest
    # texts in that order.
    reader = WholeCharacters(dfa)
    came_by: dict[int, Edge | None] = {0: None}
    queue = [0]
    for state in queue:
        if dfa.accepting[state]:
            text = []
            while (edge := came_by[state]) is not None:
                text.append(chr(rank(edge.characters)[1]))
                state = edge.source
            return "".join(reversed(text))
        for edge in sorted(reader.edges(state), key=lambda edge: rank(edge.characters)):
            if edge.target not in came_by:
                came_by[edge.target] = edge
                queue.append(edge.target)
    return None
