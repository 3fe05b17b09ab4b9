"""What was found to be forced is remembered, for as long as it is of use, and by all threads."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from tests.support.models.spellers import SMALL, Ahead, Merges, QuickSpeller, forward, speller, texts_of

from sfgen import Dfa, Index
from sfgen.decoding import jump_forward as module


def test_nothing_is_encoded_twice() -> None:
    model = Merges("a|b")
    index = Index(Dfa.from_regex("xab(c|d)ab"), model.vocabulary)
    first = Ahead(index, model).tokens(0, (65,), None)
    assert model.asked
    model.asked.clear()
    assert Ahead(index, model).tokens(0, [65], 50) == first
    assert Ahead(index, model).tokens(0, [66, 67, 0, 65][-1:], None) == first
    assert model.asked == []
    Ahead(index, Merges("a|b")).tokens(0, (65,), None)
    assert model.asked == [], "another model is asked itself"


def test_what_is_remembered_keeps_nothing_alive() -> None:
    model = Merges("a|b")
    index = Index(Dfa.from_regex("xab(c|d)ab"), model.vocabulary)
    Ahead(index, model).tokens(0, (), None)
    memory = module._memos[index][model]
    assert memory.runs
    references, size = (weakref.ref(model), weakref.ref(index)), len(module._memos)
    del model, index
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert len(module._memos) < size


def test_a_model_that_cannot_be_referred_to_weakly() -> None:
    class Slots:
        __slots__ = ("encode", "session", "vocabulary")

        def __init__(self, model: Merges) -> None:
            self.vocabulary, self.encode, self.session = model.vocabulary, model.encode, model.session

    class Unhashable(Merges):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    assert len(forward(Slots(Merges("a|b")), "xab(c|d)").tokens(0, (), None)) == 2
    model = Unhashable("a|b")
    ahead = forward(model, "xab(c|d)")
    assert len(ahead.tokens(0, (), None)) == 2
    model.asked.clear()
    assert len(ahead.tokens(0, (), None)) == 2
    assert model.asked == []


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 10)
    model = Merges("a|b")
    ahead = forward(model, "ab(c|d)" * 30)
    for state in range(len(ahead.index.dfa)):
        for token in (65, 66, 67):
            ahead.tokens(state, [token], None)
            assert len(ahead.fast_forward._memo.forced) <= 10
            assert len(ahead.fast_forward._memo.runs) <= 10
    assert texts_of(model.vocabulary, ahead.tokens(0, (), None)) == [b"ab"]


def test_threads_find_the_same() -> None:
    model = QuickSpeller(SMALL / "llama3")
    index = Index(Dfa.from_regex(r'(\{"name":"(John|Paul)","order":"(é|è)[a-z]*"\}\n){3}'), model.vocabulary)
    alone = Ahead(index, speller(SMALL / "llama3"))
    places = [(state, (65, token)) for state in range(len(index.dfa)) for token in (65, 66)] * 3
    Random(1).shuffle(places)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda place: Ahead(index, model).tokens(place[0], place[1], None), places))
    assert found == [alone.tokens(state, tail, None) for state, tail in places]
    assert any(found)
