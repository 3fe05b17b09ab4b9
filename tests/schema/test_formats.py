from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import random
import re
import string
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import regress
import rfc3987_syntax
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.running.tried import rounds, tried

from sfgen.automata import Dfa
from sfgen.automata.examples import examples
from sfgen.errors import UsageError
from sfgen.schema.scalars.formats import (
    BASE64_OF_ASCII,
    FORMATS,
    between,
    format_texts,
    host_names,
    is_valid_syntax,
    whole_numbers,
)

CHECKER = Draft202012Validator.FORMAT_CHECKER

CASES = json.loads((Path(__file__).parent.parent / "data" / "formats.json").read_text("utf-8"))
VALID = [(name, text) for name, cases in CASES.items() for text in cases["valid"]]
INVALID = [(name, text) for name, cases in CASES.items() for text in cases["invalid"]]


def sampled(dfa: Dfa, count: int, seed: int) -> list[str]:
    """Texts by random walks that go to an end after a while."""
    rng = random.Random(seed)
    distance = {state: 0 for state in range(len(dfa)) if dfa.accepting[state]}
    before: dict[int, set[int]] = {}
    for state, row in enumerate(dfa.transitions.tolist()):
        for target in set(row) - {-1}:
            before.setdefault(target, set()).add(state)
    for state in (queue := list(distance)):
        for source in before.get(state, ()):
            if source not in distance:
                distance[source] = distance[state] + 1
                queue.append(source)
    classes: dict[int, list[int]] = {}
    for byte, label in enumerate(dfa.byte_classes.tolist()):
        classes.setdefault(label, []).append(byte)
    texts = []
    for _ in range(count):
        state, data, free = 0, bytearray(), rng.choice([3, 10, 40, 120])
        while True:
            if dfa.accepting[state] and (len(data) >= free or rng.random() < 0.05):
                break
            row = dfa.transitions[state].tolist()
            ways = [(label, target) for label, target in enumerate(row) if target >= 0]
            if len(data) >= free:
                ways = [way for way in ways if distance[way[1]] < distance[state]]
            if not ways:
                break
            label, state = rng.choice(ways)
            data.append(rng.choice(classes[label]))
        texts.append(data.decode())
    return texts


def test_all_formats_have_cases() -> None:
    assert CASES.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_valid(name: str) -> None:
    # Earley's reader of IRIs takes its time.
    count = 40 if name.startswith("iri") else 300
    dfa = format_texts(name)
    texts = [*examples(dfa, count), *sampled(dfa, count, 1)]
    assert [text for text in texts if not dfa.accepts(text)] == []
    assert [text for text in texts if not CHECKER.conforms(text, name)] == []


@pytest.mark.parametrize(("name", "text"), VALID)
def test_real_values_are_accepted(name: str, text: str) -> None:
    assert CHECKER.conforms(text, name)
    assert format_texts(name).accepts(text)


@pytest.mark.parametrize(("name", "text"), INVALID)
def test_what_is_no_value_is_refused(name: str, text: str) -> None:
    assert not format_texts(name).accepts(text)


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_ends_in_a_newline_by_mistake(name: str) -> None:
    # Python's $ lets one through; pointers may have any character.
    accepted = format_texts(name).accepts(CASES[name]["valid"][1] + "\n")
    assert accepted == (name in {"json-pointer", "relative-json-pointer", "binary", "password", "path"})


_PIECES = [*"a:/?#@%[]. é", "%41", "\ue000", "//", "http:", "a@b", ":80", "\U0001f600", "\n"]


@tried("few")
@given(st.lists(st.sampled_from(_PIECES), max_size=8).map("".join))
def test_iris_are_judged_as_by_the_package_that_jsonschema_asks(text: str) -> None:
    for term in ("iri", "iri_reference"):
        assert is_valid_syntax(term, text) == rfc3987_syntax.is_valid_syntax(term, text)


@pytest.mark.parametrize("kind", ["Address", "Interface", "Network"])
def test_networks_as_python_reads_them(kind: str) -> None:
    for version in (4, 6):
        formats = [format_texts(f"{name}{kind.lower()}") for name in (f"ipv{version}", "ipvany") if kind != "Address"]
        read = getattr(ipaddress, f"IPv{version}{kind}")
        for text in sampled((formats or [format_texts(f"ipv{version}")])[0], rounds(300), version):
            read(text)
            assert all(one.accepts(text) for one in formats)


@pytest.mark.parametrize("name", ["base64", "base64url"])
def test_base64_is_decoded_and_is_what_is_encoded(name: str) -> None:
    decode, encode = {
        "base64": (base64.b64decode, base64.b64encode),
        "base64url": (base64.urlsafe_b64decode, base64.urlsafe_b64encode),
    }[name]
    texts, of_ascii, rng = format_texts(name), Dfa.from_regex(BASE64_OF_ASCII), random.Random(3)
    for text in sampled(texts, rounds(200), 1):
        assert encode(decode(text)).decode() == text
    for text in sampled(of_ascii, rounds(200), 1):
        assert decode(text).isascii()
        assert texts.accepts(text)
    for length in range(12):
        assert texts.accepts(encode(rng.randbytes(length)).decode())


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.lists(st.integers(0, 10**6), max_size=9))
def test_whole_numbers_in_a_range(first: int, second: int, others: list[int]) -> None:
    least, most = sorted((first, second))
    pattern = re.compile(whole_numbers(least, most))
    for number in [*others, 0, least - 1, least, least + 1, (least + most) // 2, most - 1, most, most + 1]:
        assert (pattern.fullmatch(str(number)) is not None) == (least <= number <= most)
        assert pattern.fullmatch(f"0{number}") is None


@given(*[st.dates()] * 3)
def test_texts_between_dates(first: datetime.date, second: datetime.date, other: datetime.date) -> None:
    low, high = sorted((first.isoformat(), second.isoformat()))
    found = re.fullmatch(between(low, high), other.isoformat())
    assert (found is not None) == (low <= other.isoformat() <= high)


def test_every_day_of_400_years_and_no_other() -> None:
    dates = format_texts("date")
    for year in range(1850, 2250):
        for month in range(14):
            for day in range(33):
                try:
                    datetime.date(year, month, day)
                    is_date = True
                except ValueError:
                    is_date = False
                assert dates.accepts(f"{year:04}-{month:02}-{day:02}") == is_date


def test_ipv6_as_python_reads_it() -> None:
    rng = random.Random(7)
    addresses = format_texts("ipv6")
    found = 0
    for _ in range(20_000):
        groups = [rng.choice(["", "", "0", "1", "ab", "ffff", "12345", "1.2.3.4"]) for _ in range(rng.randint(1, 9))]
        text = ":".join(groups)
        try:
            ipaddress.IPv6Address(text)
            is_address = True
        except ValueError:
            is_address = False
        found += is_address
        assert addresses.accepts(text) == is_address, text
    assert found > 100


def test_patterns_that_are_written_compile_everywhere() -> None:
    for text in sampled(format_texts("regex"), 400, 3):
        re.compile(text)
        regress.Regex(text, "u")


def test_host_names_keep_to_their_blocks() -> None:
    names = host_names(15)
    rng = random.Random(5)
    letters = string.ascii_letters + string.digits
    for _ in range(2000):
        labels = [
            "".join(rng.choices(letters, k=rng.choice([1, 5, 14, 15, 16, 31, 47, 63, 64])))
            for _ in range(rng.randint(1, 16))
        ]
        expected = all(len(label) <= 63 for label in labels) and sum(len(label) // 16 + 1 for label in labels) <= 15
        text = ".".join(labels)
        assert names.accepts(text) == expected
        assert not expected or len(text) <= 253


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_is_large(name: str) -> None:
    assert len(format_texts(name)) < 3000
    assert format_texts(name) is format_texts(name)


def test_an_unknown_format_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no format 'color'") as caught:
        format_texts("color")
    assert "date-time" in caught.value.hint


IRIS = ["https://example.org/é", "http://[", "urn:a:ß", "no scheme", "é", "", "a b", "http://☃.example/?x=é#y"]


def printed(script: str) -> str:
    return subprocess.check_output([sys.executable, "-c", script], text=True)


@pytest.mark.parametrize(
    "schema", ['{"type": "string"}', '{"format": "date"}', '{"properties": {"a": {"format": "uri"}}}']
)
def test_most_schemas_need_no_parsers(schema: str) -> None:
    script = (
        f"import sys, sfgen; schema = sfgen.JsonSchema({schema!r}); schema.refusal(b'\"2020-01-01\"'); "
        "print([name for name in ('jsonschema', 'rfc3987_syntax', 'lark') if name in sys.modules])"
    )
    assert printed(script) == "['jsonschema']\n"


CHECKED = "print(json.dumps([[checker.conforms(iri, name) for iri in IRIS] for name in ('iri', 'iri-reference')]))"
BEFORE = f"import json; IRIS = {IRIS!r}; "
THEIRS = "import jsonschema; checker = jsonschema.Draft202012Validator.FORMAT_CHECKER; "
OURS = (
    "from sfgen.schema.scalars.formats import jsonschema; checker = jsonschema().Draft202012Validator.FORMAT_CHECKER; "
)


@pytest.fixture(scope="module")
def expected() -> list[list[bool]]:
    """What jsonschema says by itself."""
    return cast(list[list[bool]], json.loads(printed(BEFORE + THEIRS + CHECKED)))


@pytest.mark.parametrize("first", ["", "import jsonschema; ", "import rfc3987_syntax; "])
def test_the_formats_are_checked_as_ever(first: str, expected: list[list[bool]]) -> None:
    """And others import the parsers whole afterwards."""
    assert [any(each) for each in expected] == [True, True]
    assert [all(each) for each in expected] == [False, False]
    whole = "; import rfc3987_syntax; print(hasattr(rfc3987_syntax, 'parse'))"
    checked, is_whole = printed(first + BEFORE + OURS + CHECKED + whole).splitlines()
    assert json.loads(checked) == expected
    assert is_whole == "True"


HIDDEN = """
import sys
from importlib import util
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == "rfc3987_syntax":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
find = util.find_spec
util.find_spec = lambda name: None if name == "rfc3987_syntax" else find(name)
"""


def test_where_they_are_not_installed_the_formats_are_unknown() -> None:
    """As in jsonschema by itself: it takes any text for one."""
    assert printed(HIDDEN + OURS + "print(checker.conforms('a b', 'iri'))") == "True\n"
