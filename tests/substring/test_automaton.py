"""The automaton of a small document has the same texts as the document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.quotations import documents, quotations
from tests.support.running.tried import tried

from sfgen import Substring
from sfgen.errors import PatternTooLarge
from sfgen.substring import automaton
from sfgen.substring.automaton import automaton_of
from sfgen.substring.document import Unit


@given(
    documents | st.text("ab ", min_size=1, max_size=40),
    st.sampled_from(["character", "word", "line"]),
    st.integers(0, 3),
    st.none() | st.integers(0, 2),
)
@tried("many")
def test_texts(document: str, unit: Unit, least: int, more: int | None) -> None:
    most = None if more is None else least + more
    texts = quotations(document, unit, least, most)
    if not quotations(document, unit, max(least, 1), None):
        return
    dfa = automaton_of(Substring(document, unit, least, most))
    assert all(map(dfa.accepts, texts))
    parts = (document[start:end] for start in range(len(document)) for end in range(start, len(document) + 1))
    for part in {*parts, "ba", "a  b", "\n"}:
        assert dfa.accepts(part) == (part.encode() in texts)
    assert dfa.shortest() in texts


@pytest.mark.parametrize(
    ("document", "limit"),
    [
        (Substring("a" * 20_000), "100,000,000 steps of construction"),
        (Substring(" ".join(map(str, range(12_000))), "word", 1, 40), "400,000 states"),
        (Substring("".join(map(chr, range(0x20, 0xD000)))), "1,000,000 transitions"),
    ],
)
def test_limits(document: Substring, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MAX_CELLS", 1_000_000)
    with pytest.raises(PatternTooLarge, match=f"the automaton of a document of .* characters passes {limit}"):
        automaton_of(document)
