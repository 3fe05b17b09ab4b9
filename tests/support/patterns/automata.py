"""Random automata and vocabularies, and by brute force what an index over them must say."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from sfgen import Dfa, Vocabulary
from sfgen.automata.determinize import Deterministic
from sfgen.automata.graph import Graph, GraphEdge, GraphState
from sfgen.automata.minimize import minimize

LETTERS = b"abc"


def arrays_of(dfa: Dfa) -> Deterministic:
    """The arrays of an automaton, as the steps of its making hand them on."""
    return Deterministic(dfa.transitions, dfa.byte_classes, dfa.accepting)


@st.composite
def automata(draw: st.DrawFn, most_states: int = 6) -> Dfa:
    """A minimal automaton over a few letters; one in some has an empty language."""
    states = draw(st.integers(1, most_states))
    target = st.integers(-1, states - 1)
    transitions = np.full((states, len(LETTERS) + 1), -1, dtype=np.int32)
    for state in range(states):
        transitions[state, 1:] = draw(st.lists(target, min_size=len(LETTERS), max_size=len(LETTERS)))
    accepting = np.array(draw(st.lists(st.booleans(), min_size=states, max_size=states)), dtype=np.bool_)
    classes = np.zeros(256, dtype=np.uint8)
    classes[list(LETTERS)] = range(1, len(LETTERS) + 1)
    return Dfa(*minimize(Deterministic(transitions, classes, accepting)))


TOKEN = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=5).map(bytes)


@st.composite
def vocabularies(draw: st.DrawFn, *, whole: bool | None = None) -> Vocabulary:
    """Tokens over the same letters, some with the same bytes, some special; the end tokens are anywhere.

    Args:
        draw: Given by hypothesis.
        whole: Whether every letter is a token by itself; by default that is left to chance.
    """
    tokens = draw(st.lists(st.none() | TOKEN, max_size=12))
    if draw(st.booleans()) if whole is None else whole:
        tokens += [bytes([letter]) for letter in LETTERS]
    tokens = draw(st.permutations(tokens))
    ends = draw(st.sets(st.integers(0, len(tokens) - 1), max_size=2)) if tokens else set[int]()
    return Vocabulary(tokens, end_token_ids=ends)


def token_edges(dfa: Dfa, vocabulary: Vocabulary) -> list[dict[int, int]]:
    """For each state the text tokens that it can read, and the state each leads to."""
    texts = {
        token: data for token, data in enumerate(vocabulary.tokens) if data and token not in vocabulary.end_token_ids
    }
    targets = [{token: dfa.walk(data, state) for token, data in texts.items()} for state in range(len(dfa))]
    return [{token: target for token, target in reached.items() if target >= 0} for reached in targets]


def token_distances(dfa: Dfa, vocabulary: Vocabulary) -> list[int | None]:
    """The fewest tokens from each state to an accepting one, by relaxing every edge until nothing changes."""
    edges = token_edges(dfa, vocabulary)
    distance: list[int | None] = [0 if accepts else None for accepts in dfa.accepting]
    changed = True
    while changed:
        changed = False
        for state, reached in enumerate(edges):
            ways = [known + 1 for target in reached.values() if (known := distance[target]) is not None]
            best = min(ways, default=None)
            if best is not None and ((here := distance[state]) is None or best < here):
                distance[state], changed = best, True
    return distance


def allowed(dfa: Dfa, vocabulary: Vocabulary, tokens_left: int | None = None) -> list[set[int]]:
    """The tokens that each state allows, if at most ``tokens_left`` tokens may follow, end tokens not counted."""
    distance = token_distances(dfa, vocabulary)
    rows = []
    for state, reached in enumerate(token_edges(dfa, vocabulary)):
        row = {
            token
            for token, target in reached.items()
            if (rest := distance[target]) is not None and (tokens_left is None or rest < tokens_left)
        }
        rows.append(row | set(vocabulary.end_token_ids) if dfa.accepting[state] else row)
    return rows


@st.composite
def graphs(draw: st.DrawFn, texts: st.SearchStrategy[str], *, titled: bool = True) -> Graph:
    """A graph with such texts on it, whole or with states left out."""
    numbers = draw(st.lists(st.integers(0, 999), min_size=1, max_size=5, unique=True))
    states = tuple(GraphState(number, draw(st.booleans())) for number in numbers)
    pairs = draw(st.sets(st.tuples(st.sampled_from(numbers), st.sampled_from(numbers)), max_size=6))
    edges = tuple(GraphEdge(source, target, draw(texts)) for source, target in sorted(pairs))
    title = draw(texts) if titled else ""
    if draw(st.booleans()):
        return Graph(title, states, edges)
    continuing = draw(st.sets(st.sampled_from(numbers), min_size=1))
    return Graph(title, states, edges, tuple(continuing), draw(st.integers(1, 5000)))
