"""The numbers about an index, against counting by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import DeadEnd
from sfgen.index.export import statistics

TEXTS = st.lists(st.text("abé", min_size=1, max_size=4), min_size=1, max_size=6, unique=True)
TOKENS = st.lists(st.text("abé", min_size=1, max_size=3).map(str.encode), min_size=1, max_size=8, unique=True)


@given(TEXTS, TOKENS, st.booleans())
def test_states_and_transitions_are_those_that_a_walk_over_tokens_meets(
    texts: list[str], tokens: list[bytes], with_bytes: bool
) -> None:
    if with_bytes:
        tokens = [*tokens, *(bytes([byte]) for byte in range(256) if bytes([byte]) not in tokens)]
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
    try:
        index = Index(Dfa.from_choices(texts), vocabulary)
    except DeadEnd:
        return
    seen, queue, transitions = {0}, [0], 0
    for state in queue:
        for token in index.allowed_tokens(state).tolist():
            target = index.next_state(state, token)
            if target >= 0:
                transitions += 1
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
    found = statistics(index)
    assert (found.reached, found.transitions) == (len(seen), transitions)
    assert found.states == len(index.dfa)
    assert all(index.is_accepting(state) for state in found.accepting)


@given(TEXTS)
def test_forced_runs_are_what_lies_between_two_places_with_a_choice(texts: list[str]) -> None:
    every_byte = Vocabulary([bytes([byte]) for byte in range(256)])
    dfa = Dfa.from_choices(texts)

    def following(prefix: str) -> set[str]:
        return {text[len(prefix)] if len(text) > len(prefix) else "" for text in texts if text.startswith(prefix)}

    expected = set()
    prefixes = {text[:end] for text in texts for end in range(len(text))}
    for prefix in prefixes:
        begins = not prefix or len(following(prefix[:-1])) > 1
        run = ""
        while begins and len(options := following(prefix + run)) == 1 and options != {""}:
            run += options.pop()
        expected.add(run)
    # Over the three characters here, no two begin with the same byte but are different.
    assert set(statistics(Index(dfa, every_byte)).forced_runs) == expected - {""}


def test_rows_that_are_equal_take_memory_once() -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    index = Index(Dfa.from_regex("[ab]{3}"), Vocabulary(tokens))
    arrays = index.dfa.transitions.nbytes + index.dfa.byte_classes.nbytes + index.dfa.accepting.nbytes
    assert statistics(index).nbytes == arrays + 2 * 32  # [ab] three times, and nothing at the end
