"""Where a text stands in its document, against documents that are written with the place of each byte known."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sfgen.schema.telling.position import START, Expects, JsonPosition, Way

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)

Place = tuple[Way, Expects]


def places(value: Any, way: Way, comma: bytes, colon: bytes, *, ascii_only: bool) -> list[tuple[int, Place]]:
    """The bytes of a value, each with where the text stands before it is read."""

    def text_of(part: Any) -> bytes:
        return json.dumps(part, ensure_ascii=ascii_only).encode()

    def at(data: bytes, way: Way, expects: Expects) -> list[tuple[int, Place]]:
        return [(byte, (way, expects)) for byte in data]

    if isinstance(value, list):
        found = at(b"[", way, Expects.VALUE)
        for number, item in enumerate(value):
            inside = places(item, (*way, number), comma, colon, ascii_only=ascii_only)
            if number == 0:
                inside[0] = inside[0][0], ((*way, 0), Expects.FIRST)
            else:
                found += at(comma[:1], way, Expects.MORE) + at(comma[1:], (*way, number), Expects.VALUE)
            found += inside
        return found + (at(b"]", way, Expects.MORE) if value else at(b"]", (*way, 0), Expects.FIRST))
    if isinstance(value, dict):
        found = at(b"{", way, Expects.VALUE)
        for number, (name, item) in enumerate(value.items()):
            if number:
                found += at(comma[:1], way, Expects.MORE) + at(comma[1:], way, Expects.NAME)
            found += at(text_of(name), way, Expects.NAME)
            found += at(colon[:1], way, Expects.COLON) + at(colon[1:], (*way, name), Expects.VALUE)
            found += places(item, (*way, name), comma, colon, ascii_only=ascii_only)
        return found + at(b"}", way, Expects.MORE if value else Expects.NAME)
    return at(text_of(value), way, Expects.VALUE)


@given(VALUES, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_every_prefix_stands_where_the_writer_was(value: Any, compact: bool, ascii_only: bool, random: Any) -> None:
    comma, colon = (b",", b":") if compact else (b", ", b": ")
    written = places(value, (), comma, colon, ascii_only=ascii_only)
    data = bytes(byte for byte, _ in written)
    assert json.loads(data) == value
    position = START
    for number, (byte, (way, expects)) in enumerate(written):
        if position.token and not position.token.startswith(b'"') and expects is not Expects.VALUE:
            # A number or a word ends with what comes behind it.
            assert position.expects is Expects.VALUE
        elif position.expects is not Expects.FIRST or expects is Expects.FIRST:
            assert (position.way, position.expects) == (way, expects), data[:number]
        assert not position.is_whole
        position = position.read(bytes([byte]))
    in_pieces, start = START, 0
    while start < len(data):
        end = random.randint(start + 1, len(data))
        in_pieces = in_pieces.read(data[start:end])
        start = end
    assert in_pieces == position == START.read(data)
    if isinstance(value, str | list | dict):
        assert position.is_whole


def test_a_quote_in_an_escape_ends_nothing() -> None:
    position = START.read(b'{"a\\"b": "x\\\\')
    assert position.way == ('a"b',)
    assert position.read(b'"').expects is Expects.MORE
    assert START.read(b'["\\').read(b'"').expects is Expects.VALUE


def test_the_names_that_are_whole_are_known() -> None:
    assert START.read(b'{"a": 1').names == ()
    assert START.read(b'{"a": "1"').names == ("a",)
    assert START.read(b'{"a": 1, "').names == ("a",)
    assert START.read(b'{"a": {"b": 2}, "c": [').names == ()
    assert START.read(b'{"a": {"b": 2}, "c": []').names == ("a", "c")
    assert JsonPosition().names == ()
