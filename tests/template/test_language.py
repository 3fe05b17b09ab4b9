"""The texts of templates, and how they are divided, against ``re`` and against trying all ways."""

from __future__ import annotations

import pickle
import re
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.grammars.templates import RandomTemplate, short_texts
from tests.support.running.tried import tried

from sfgen import Template
from sfgen.template.parts import Literal, any_text
from sfgen.template.reader import TemplateReader

LONGEST = 7
seeds = st.integers(0, 2**32)


def check(template: Template, random_template: RandomTemplate) -> None:
    """All short texts: which of them the template has, and where its holes are."""
    oracle = re.compile(random_template.pattern)
    accepted = []
    for text in short_texts(LONGEST):
        expected = oracle.fullmatch(text) is not None
        assert template.accepts(text) is expected, (template, text)
        assert template.reader.reads(text.encode()) is expected
        groups = template.groups(text)
        assert (None if groups is None else [group.span for group in groups]) == random_template.divided(text)
        if expected:
            accepted.append(text)
            assert template.refusal(text.encode()) is None
    shortest = template.shortest().decode()
    assert oracle.fullmatch(shortest)
    assert not accepted or len(shortest) == len(accepted[0])


@tried("usual")
@given(seed=seeds, copies=st.booleans())
def test_every_text_of_a_template_and_no_other(seed: int, copies: bool) -> None:
    random_template = RandomTemplate(Random(seed), copies)
    template = Template(random_template.text)
    assert copies or template.dfa is not None
    check(template, random_template)


@tried("some")
@given(seed=seeds)
def test_along_all_ways_it_is_the_same(seed: int) -> None:
    random_template = RandomTemplate(Random(seed))
    with patch("sfgen.template.composition.MAX_TEXTS", 0):
        check(Template(random_template.text), random_template)


@tried("some")
@given(seed=seeds)
def test_the_rules_say_the_same_as_the_automaton(seed: int) -> None:
    random_template = RandomTemplate(Random(seed))
    template = Template(random_template.text)
    with_schema = Template(random_template.text + '{{last: schema {"const": 1}}}')
    assert with_schema.dfa is None
    for text in short_texts(5):
        assert with_schema.accepts(text + "1") is template.accepts(text)
        assert not with_schema.accepts(text)


@tried("some")
@given(seed=seeds)
def test_what_stands_before_the_first_hole_is_split_off(seed: int) -> None:
    random_template = RandomTemplate(Random(seed))
    template = Template(random_template.text)
    prompt, rest = template.split()
    assert not isinstance(rest.parts[0], Literal)
    for text in short_texts(5):
        assert rest.accepts(text) is template.accepts(prompt + text)


@tried("some")
@given(seed=seeds)
def test_templates_are_sent_to_other_processes(seed: int) -> None:
    text = RandomTemplate(Random(seed)).text
    template = Template(text)
    again = pickle.loads(pickle.dumps(template))
    assert again == template == Template(text)
    assert hash(again) == hash(template)
    assert again != Template(text + "a")
    assert [again.accepts(short) for short in short_texts(4)] == [template.accepts(short) for short in short_texts(4)]


@tried("few")
@given(until=st.text("ab", min_size=1, max_size=3), most=st.none() | st.integers(0, 4))
def test_text_ends_before_the_first_place_of_another(until: str, most: int | None) -> None:
    dfa = any_text(until, most)
    for text in short_texts(5):
        is_first = (text + until).find(until) == len(text)
        assert dfa.accepts(text) is (is_first and (most is None or len(text) <= most))
    assert dfa.accepts("é😀\n"[:most])


def test_text_counts_characters() -> None:
    template = Template('{{t: text until "\\n" max 3}}\n{{u: text}}')
    assert template.accepts("é😀x\n\n\nanything")
    assert not template.accepts("é😀xx\n")
    groups = template.groups("é😀x\nab")
    assert groups is not None
    assert [group.span for group in groups] == [(0, 3), (4, 6)]


CASES: list[tuple[str, list[str], list[str]]] = [
    ('{{p: schema {"enum": [1, "a"]}}}!', ["1!", '"a"!'], ["2!", "1"]),
    ('{{g: grammar root ::= "(" root ")" | "x"}}{{h: regex x*}}', ["xx", "((x))x"], ["(x", ""]),
    ('{{g: grammar start: "(" start ")" | "x"}}-{{a: regex a*}}{{a}}', ["x-aa", "((x))-"], ["x-a", "x"]),
    ("{{x: choices a, b}}{{y: choices a, b}}{{x}}{{y}}", ["abab", "bbbb"], ["abba", "ab"]),
    ('{{"{{"}}{{a: choices x, y\\,z}}{{"}}"}} {{"{%"}}%', ["{{x}} {%%", "{{y,z}} {%%"], ["x"]),
    ("{% for i in a, b %}\n{{i}}={{n: regex [0-9]}}\n{% endfor %}\nend", ["a=1\nb=2\nend"], ["a=1\nb=2", "a=1b=2end"]),
    ("{% for i in a %}{% for j in x, y %}{{i}}{{j}}{{n: regex 1?}};{% endfor %}{% endfor %}", ["ax;ay1;"], ["ax;"]),
]


@pytest.mark.parametrize(("text", "good", "bad"), CASES)
def test_known_texts(text: str, good: list[str], bad: list[str]) -> None:
    template = Template(text)
    assert [template.accepts(each) for each in good] == [True] * len(good)
    assert [template.accepts(each) for each in bad] == [False] * len(bad)
    assert template.accepts(template.shortest())
    assert all(template.groups(each) is None for each in bad)


def test_values_and_readings_of_schemas() -> None:
    template = Template(
        '{{a: schema {"enum": ["x\\ny"]}}}{% for i in 1, 2 %}{{b: schema {"enum": [1, 2]}}}{% endfor %}'
    )
    assert template.value('"x\\ny"12') == {"a": "x\ny", "b": [1, 2]}
    assert template.readings(b'"x\\ny"12') == ["x\ny"]
    assert Template("{{a: regex a}}").value("a") is None


def test_the_reader_tells_the_first_hole_that_may_be_open() -> None:
    reader: TemplateReader = Template("<{{a: regex x*}}{{b: regex x*y}}>").reader
    names: list[Any] = []
    for length in range(len("<xxy>") + 1):
        position = reader.read(reader.start, b"<xxy>"[:length])
        assert position is not None
        hole = reader.hole(position)
        names.append(None if hole is None else hole.name)
    assert names == [None, "a", "a", "a", None, None]


@tried("few")
@given(copies=st.integers(2, 5))
def test_ambiguous_texts_take_no_time(copies: int) -> None:
    text = "".join(f"{{{{a{number}: regex a*}}}}" for number in range(copies * 10)) + "b"
    template = Template(text)
    groups = template.groups("a" * 60 + "b")
    assert groups is not None
    assert groups[0].span == (0, 60)
    assert template.groups("a" * 60) is None
    assert template.reader.divided(b"a" * 60) is None
