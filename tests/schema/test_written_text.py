from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.counted_texts import reads

from sfgen.automata import Dfa
from sfgen.errors import SchemaError
from sfgen.grammar.network.rules import Leaf
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.scalars.strings import StringLimits, string_rule
from sfgen.schema.scalars.written_text import any_text, counted_text, write, written, written_without

LETTERS = st.sampled_from(['"', "\\", "\n", "\t", "\b", "\f", "\r", "\x00", "\x0b", "\x1f", "\x7f", *"abnu01/é日😀"])
TEXTS = st.text(LETTERS | st.characters(exclude_categories=["Cs"]), max_size=12)
WRITTEN = st.text(st.sampled_from(['"', "\\", *"btnfrux/abcdefABCDEF0123456789", "\n", "\x1f", "\x7f", "é", "😀"]))

PATTERNS = [
    "",
    "[a-z]*",
    r"(?s:.*)",
    r"(?s:.{2,4})",
    r'["\\]+',
    r"[\x00-\x1f]*",
    "n|\n|u000a|\\n",
    r"[^\n\"]*(\n[^\n\"]*)?",
    "é|日本|😀*",
    r"(?u)\w+\s\d?",
    "[^u0-9]*",
]


DECODED = {pattern: Dfa.from_regex(pattern) for pattern in PATTERNS}


def text_of(string: bytes) -> str | None:
    """The value of a strict JSON string; ``None`` if it is none."""
    try:
        value = json.loads(string)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_the_written_form_of_a_text_is_accepted_as_the_text_is(pattern: str, text: str) -> None:
    decoded = DECODED[pattern]
    assert written(decoded).accepts(json.dumps(text, ensure_ascii=False)) == decoded.accepts(text)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(inside=WRITTEN)
def test_nothing_but_written_forms_is_accepted(pattern: str, inside: str) -> None:
    string = f'"{inside}"'.encode()
    if written(DECODED[pattern]).accepts(string):
        text = text_of(string)
        assert text is not None
        assert DECODED[pattern].accepts(text)
        assert write(text) == string


@pytest.mark.parametrize(
    "string",
    [
        *('"a', 'a"', "a", "", '""x', 'x""', "'a'", ' "a"', '"a" ', '"a"b"'),
        *(r'"\u0061"', r'"\/"', r'"\ud83d\ude00"', r'"\ud800"', r'"\u000a"', r'"\u001F"', r'"\u007f"', r'"\x41"'),
        *('"\n"', '"\x00"', '"\x1f"', '"\\"', r'"\a"', r'"\u00"', r'"\U0041"'),
    ],
)
def test_other_forms_are_refused(string: str) -> None:
    assert not written(any_text()).accepts(string)


@pytest.mark.parametrize("data", [b'"\xed\xa0\x80"', b'"\xff"', b'"\xc0\x80"', b'"\xc3"', b'"\xf4\x90\x80\x80"'])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    assert not written(any_text()).accepts(data)


def test_every_character_has_its_written_form() -> None:
    strings = written(any_text())
    refused = [code for code in [*range(0xD800), *range(0xE000, 0x11000)] if not strings.accepts(write(chr(code)))]
    assert refused == []


def test_delete_is_written_raw() -> None:
    assert write("\x7f") == b'"\x7f"'
    assert written(any_text()).accepts(b'"\x7f"')


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_result_is_minimal_and_made_once(pattern: str) -> None:
    strings = written(DECODED[pattern])
    assert len(strings | strings) == len(strings)
    decoded = DECODED[pattern]
    assert written(decoded) is written(decoded)


def test_nothing_stays_nothing() -> None:
    assert written(any_text() - any_text()).is_empty


def test_a_lone_surrogate_is_an_error() -> None:
    with pytest.raises(SchemaError, match="lone surrogate"):
        write("a\ud800")


@given(names=st.lists(TEXTS, max_size=5), text=TEXTS)
def test_names_except_some(names: list[str], text: str) -> None:
    rule = string_rule(StringLimits(others=tuple(dict.fromkeys(names))))
    assert isinstance(rule, Leaf)
    others = rule.dfa
    for name in [*names, text]:
        assert others.accepts(write(name)) == (name not in names)


def test_a_name_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(SchemaError, match="surrogate"):
        JsonSchema({"properties": {"\ud800": True}})


@given(text=TEXTS, minimum=st.integers(0, 8), more=st.none() | st.integers(0, 6))
def test_characters_are_counted(text: str, minimum: int, more: int | None) -> None:
    maximum = None if more is None else minimum + more
    counted = counted_text(minimum, maximum)
    assert reads(counted, write(text)) == (minimum <= len(text) and (maximum is None or len(text) <= maximum))


def test_all_lengths_share_one_automaton() -> None:
    assert counted_text(0, 3).dfa is counted_text(5, 1_000_000).dfa
    assert counted_text(0, 3).dfa.equivalent(written(any_text()))


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_all_strings_but_some_are_the_complement_of_these(texts: list[str]) -> None:
    found, wanted = written_without(texts), written(any_text() - Dfa.from_choices(texts))
    for name in ("transitions", "byte_classes", "accepting"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist()
