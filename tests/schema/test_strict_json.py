from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfgen.schema.reading.strict_json import (
    MAX_DEPTH,
    MAX_EXPONENT,
    MAX_NUMBER_LENGTH,
    JsonLimitError,
    NotJsonError,
    escaped,
    is_equal,
    parse,
    positions,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
BLANKS = st.sampled_from(["", " ", "\n", "\t", "\r\n  "])


def written(value: Any, blank: str = "") -> str:
    """A value as JSON, with blanks wherever they may stand."""
    if isinstance(value, Decimal):
        text = str(value)
        return f"{blank}{text}{blank}"
    if isinstance(value, list):
        return f"{blank}[{','.join(written(item, blank) for item in value) or blank}]{blank}"
    if isinstance(value, dict):
        members = (f"{blank}{json.dumps(name)}{blank}:{written(item, blank)}" for name, item in value.items())
        return f"{blank}{{{','.join(members) or blank}}}{blank}"
    return f"{blank}{json.dumps(value, ensure_ascii=bool(blank))}{blank}"


def by_the_standard_library(text: str) -> Any:
    """The value by Python's reader, made as strict as ours."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    def refuse(_: str) -> Any:
        raise ValueError("no number")

    value = json.loads(text, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=members)
    json.dumps(value, ensure_ascii=False, default=str).encode()  # lone surrogates
    return value


@given(VALUES, BLANKS)
def test_a_value_that_is_written_is_read(value: Any, blank: str) -> None:
    found = parse(written(value, blank))
    assert is_equal(found, value)
    assert found == by_the_standard_library(written(value, blank))
    assert parse(written(value, blank).encode()) == found


PIECES = ["{", "}", "[", "]", ",", ":", '"a"', '"b"', "1", "-0", "1.5e3", "01", ".5", "true", "null", "NaN", "\\", '"']
PIECES += ["\n", " ", "é", "'", '"\\u00e9"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\x"', '"\x01"', "-", "e", "Infinity"]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join) | st.text(max_size=6))
@example('{"a":1,"a":2}')
@example('["\\ud83d", "\\ude00"]')
@example("[1,]")
@example("\x0b1")
@example("１")
def test_it_reads_what_the_standard_library_reads_strictly(text: str) -> None:
    try:
        expected = by_the_standard_library(text)
    except ValueError:
        with pytest.raises(NotJsonError):
            parse(text)
        return
    assert parse(text) == expected


@given(VALUES, st.data())
def test_a_text_with_one_character_changed(value: Any, data: st.DataObject) -> None:
    text = written(value)
    place = data.draw(st.integers(0, len(text)))
    changed = text[:place] + data.draw(st.sampled_from(["", ",", "]", "}", '"', "0", "\\", "\x00"])) + text[place + 1 :]
    test_it_reads_what_the_standard_library_reads_strictly.hypothesis.inner_test(changed)  # type: ignore[attr-defined]


# ---- positions -----------------------------------------------------------------------------------------------------


def naive_positions(text: str) -> Iterator[tuple[str, int, int | None]]:
    """(pointer, offset of the value, offset of its name) by the standard library's reader of one value at an offset."""
    decoder = json.JSONDecoder(strict=False)

    def blanks(at: int) -> int:
        while text[at] in " \t\r\n":
            at += 1
        return at

    def visit(at: int, pointer: str, name_at: int | None) -> Iterator[tuple[str, int, int | None]]:
        yield pointer, at, name_at
        if text[at] not in "[{":
            return
        inner, index = blanks(at + 1), 0
        while text[inner] not in "]}":
            start, name = None, str(index)
            if text[at] == "{":
                start = inner
                name, inner = decoder.raw_decode(text, inner)
                inner = blanks(blanks(inner) + 1)
            yield from visit(inner, pointer + escaped(name), start)
            inner = blanks(decoder.raw_decode(text, inner)[1])
            inner = blanks(inner + 1) if text[inner] == "," else inner
            index += 1

    yield from visit(blanks(0), "", None)


@given(VALUES, BLANKS)
def test_positions_are_those_of_a_naive_reader(value: Any, blank: str) -> None:
    text = written(value, blank)
    where = positions(text)
    expected = list(naive_positions(text))
    assert where.values == {pointer: at for pointer, at, _ in expected}
    assert where.names == {pointer: name_at for pointer, _, name_at in expected if name_at is not None}
    for pointer, at, _ in expected:
        line, column = where.position(pointer) or (0, 0)
        assert text.split("\n")[line - 1][column - 1 :] == text[at:].split("\n")[0]


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("", 1, 1, "expected a value, and the text is empty"),
        ("[1,]", 1, 3, "nothing follows this comma but ]"),
        ('{"a": 1,\n}', 1, 8, "nothing follows this comma but }"),
        ("{'a': 1}", 1, 2, "expected a name in double quotes; strings have double quotes"),
        ('{"a" 1}', 1, 6, 'expected : after the name "a"'),
        ("[1 2]", 1, 4, "expected , or ]"),
        ("[1,\n NaN]", 2, 2, "NaN is not a number in JSON"),
        ("-Infinity", 1, 1, "-Infinity is not a number in JSON"),
        ("[True]", 1, 2, "true is written in small letters"),
        ("01", 1, 1, "a number does not begin with 0"),
        ("1.", 1, 1, "this is not a number of JSON"),
        ("1 // one", 1, 3, "something follows the end of the value"),
        ("[ // one\n1]", 1, 3, "expected a value; JSON has no comments"),
        ('"abc', 1, 1, "this string has no closing quote"),
        ('"é\\x"', 1, 3, "\\x is not an escape of JSON"),
        ('"\\u12g4"', 1, 2, "\\u needs four hex digits"),
        ('"a\tb"', 1, 3, "a control character in a string is written as an escape: \\u0009"),
        ('"\\ud800"', 1, 2, "\\ud800 is half of a surrogate pair"),
        ('"\\udc00\\ud800"', 1, 2, "\\udc00 is half of a surrogate pair"),
        ('{"a": {"b": 1, "b": 2}}', 1, 16, '"b" occurs twice in this object'),
        ("[", 1, 2, "expected a value, and the text ends"),
        (b'"\xc3\xa9"\n\xff', 2, 1, "byte 5, counted from 0, is not UTF-8"),
        ("[\udcff]", 1, 2, "half of a surrogate pair, or a byte that is not UTF-8"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str | bytes, line: int, column: int, reason: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        parse(text)
    assert (*caught.value.position, caught.value.reason) == (line, column, f"not valid JSON: {reason}")
    for row in caught.value.details[1:]:
        assert row.strip() == "^"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_has_a_limit(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    parse(opening * MAX_DEPTH + "1" + closing * MAX_DEPTH)
    for deep in (MAX_DEPTH + 1, 200_000):
        with pytest.raises(JsonLimitError, match=f"nested deeper than {MAX_DEPTH}") as caught:
            parse(opening * deep)
        assert caught.value.position.column == MAX_DEPTH * len(opening) + 1


def test_numbers_have_limits() -> None:
    assert parse("9" * MAX_NUMBER_LENGTH) == 10**MAX_NUMBER_LENGTH - 1
    assert parse(f"1e{MAX_EXPONENT}") == Decimal(10) ** MAX_EXPONENT
    for text in ("9" * (MAX_NUMBER_LENGTH + 1), f"1e{MAX_EXPONENT + 1}", f"1e-{MAX_EXPONENT + 1}"):
        with pytest.raises(JsonLimitError):
            parse(text)


def test_numbers_are_exact() -> None:
    assert parse("[19.99, 0.1, 1e400, 12345678901234567890.5, 1.0, -0]") == [
        Decimal("19.99"),
        Decimal("0.1"),
        Decimal("1e400"),
        Decimal("12345678901234567890.5"),
        1,
        0,
    ]


# ---- equality ------------------------------------------------------------------------------------------------------


@given(VALUES, VALUES)
@example(True, 1)
@example([False], [0])
@example({"a": Decimal("1.0")}, {"a": 1})
@example("a", ["a"])
@example(None, False)
def test_equality(one: Any, other: Any) -> None:
    def tagged(value: Any) -> Any:
        """Booleans apart from numbers, which Python takes for equal."""
        if isinstance(value, list):
            return [tagged(item) for item in value]
        if isinstance(value, dict):
            return {name: tagged(item) for name, item in value.items()}
        return (type(value), value) if isinstance(value, bool) else value

    assert is_equal(one, one)
    assert is_equal(one, other) == (tagged(one) == tagged(other))


def test_equality_knows_the_order_of_items_and_not_of_members() -> None:
    assert is_equal({"a": 1, "b": 2}, {"b": 2, "a": Decimal("1.00")})
    assert not is_equal([1, 2], [2, 1])
    assert not is_equal({"a": 1}, {"a": 1, "b": None})
