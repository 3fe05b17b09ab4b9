"""The automaton of a marker's first occurrence, against ``bytes.find``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen import Vocabulary
from sfgen.errors import UsageError
from sfgen.index.marker import Marker

texts = st.text("ab", max_size=9).map(str.encode)
markers = st.text("ab", min_size=1, max_size=5).map(lambda text: Marker(text.encode()))


def state_of(marker: Marker, data: bytes) -> int:
    """The longest proper beginning of the marker that a text ends with."""
    return max(size for size in range(len(marker.data)) if data.endswith(marker.data[:size]))


@given(markers, texts, texts)
def test_it_reads_up_to_the_first_marker(marker: Marker, before: bytes, data: bytes) -> None:
    before = before.replace(marker.data, b"")
    while marker.data in before:
        before = before.replace(marker.data, b"")
    assert marker.open_from(before) == len(before) - state_of(marker, before)
    found = (before + data).find(marker.data)
    state, used = marker.read(state_of(marker, before), data)
    if found < 0:
        assert (state, used) == (state_of(marker, before + data), len(data))
    else:
        assert (state, used) == (len(marker.data), found + len(marker.data) - len(before))


@given(markers, st.lists(texts.filter(bool), min_size=1, max_size=12))
def test_no_token_that_completes_it_is_missed(marker: Marker, tokens: list[bytes]) -> None:
    vocabulary = Vocabulary(tokens, [])
    for state in range(len(marker.data)):
        completing = {t for t, data in enumerate(tokens) if marker.read(state, data)[0] == len(marker.data)}
        assert completing <= set(marker.completing(state, vocabulary.trie, vocabulary))


def test_pieces() -> None:
    several = Marker(b"<a>b<c>", pieces=((b"<a>", 7), (b"b", None), (b"<c>", 9)))
    assert several.special == {7: b"<a>", 9: b"<c>"}
    assert several.longest == 3
    assert (Marker(b"ab").longest, Marker(b"ab", 3).longest, Marker(b"ab", 3).special) == (2, 1, {3: b"ab"})
    for wrong in (Marker, lambda data, **more: Marker(data, 3, **more)):
        with pytest.raises(UsageError, match="pieces"):
            wrong(b"<a>", pieces=((b"<a>" if wrong is not Marker else b"<b>", 7),))
