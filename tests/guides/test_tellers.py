"""What guides tell of a place, however a text got there: by tokens, by bytes, back again, or in a fork."""

from __future__ import annotations

import random

import pytest

from sfgen import Dfa, Grammar, Index, JsonSchema, Template, Vocabulary
from sfgen.index import BaseGuide
from sfgen.index.sequence import Chain
from sfgen.index.sequence_parts import Constrained, Fixed
from sfgen.protocols import Guide, GuideSource

TOKENS = [*(bytes([byte]) for byte in range(256)), b'ab-"', b'-"q', b"x1", b"[1][", b'{"a": ', None]
VOCABULARY = Vocabulary(TOKENS, end_token_ids=[len(TOKENS) - 1])

SCHEMA = '{"type": "object", "properties": {"a": {"enum": ["q", [1, 2]]}}, "required": ["a"]}'
LARK = 'start: "a" (%json {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1, "maxItems": 2})+ "!"'
ONE = '<{{a: regex x*}}-{{s temperature 2: schema {"enum": ["q"]}}}'
COPIES = '<{{a temperature 0.5: regex [abx]+}}-{{a}}-{{s temperature 2: schema {"enum": ["q"]}}}'


def over(constraint: JsonSchema | Grammar | Template) -> GuideSource:
    return Index(constraint, VOCABULARY)


WORD = Index(Dfa.from_regex("x+"), VOCABULARY)
SOURCES: list[tuple[str, GuideSource, bytes]] = [
    ("schema", over(JsonSchema(SCHEMA)), b'{"a": [1, 2]}'),
    ("GBNF", over(Grammar.from_gbnf('root ::= "a" b+\nb ::= "x" [0-9]')), b"ax1x2x3"),
    ("GBNF with tokens", over(Grammar.from_gbnf('root ::= "a" b+\nb ::= <[258]> | "x" [0-9]')), b"ax1x2x1"),
    ("Lark with schemas", over(Grammar.from_lark(LARK)), b"a[1][2][1, 2]!"),
    ("template of patterns", over(Template("<{{a temperature 0.5: regex x*}}{{b: regex x*y}}>")), b"<xxy>"),
    ("template with a schema", over(Template(ONE)), b'<x-"q"'),
    ("template with copies", over(Template(COPIES)), b'<ab-ab-"q"'),
    ("healed", Chain([Fixed(b"ab", counts=False), over(JsonSchema(SCHEMA))]), b'ab{"a": "q"}'),
    ("longest", Chain([Constrained(WORD, "longest"), over(JsonSchema(SCHEMA))]), b'xx{"a": "q"}'),
]


def told(guide: Guide) -> tuple[str, float | None]:
    assert isinstance(guide, BaseGuide)
    return guide.describe(), guide.temperature


@pytest.mark.parametrize(("source", "text"), [case[1:] for case in SOURCES], ids=[case[0] for case in SOURCES])
def test_a_place_is_told_alike_by_all_ways(source: GuideSource, text: bytes) -> None:
    expected, plain = [], source.guide()
    for byte in text:
        expected.append(told(plain))
        plain.advance(byte)
    expected.append(told(plain))
    assert len(set(expected)) > 1
    for seed in range(20):
        draws, guide, ends = random.Random(seed), source.guide(), [0]
        for _ in range(30):
            at = ends[-1]
            fitting = [token for token, data in enumerate(TOKENS) if data and text.startswith(data, at)]
            way = draws.choice(["token", "token", "bytes", "back", "fork"])
            if way == "token" and fitting:
                guide.advance(token := draws.choice(fitting))
                ends.append(at + len(TOKENS[token] or b""))
            elif way == "bytes" and at < len(text):
                size = draws.randint(1, 3)
                guide.advance_bytes(text[at : at + size])
                ends.append(min(at + size, len(text)))
            elif way == "back":
                count = draws.randrange(len(ends))
                guide.rollback(count)
                del ends[len(ends) - count :]
            elif way == "fork":
                before, guide = guide, guide.fork()
                assert draws.random() < 0.5 or told(before) == expected[at]
            if draws.random() < 0.5:  # it is not always asked for
                assert told(guide) == expected[ends[-1]], (text[: ends[-1]], seed)


def test_a_hole_has_its_temperature_to_the_end_and_none_behind_it() -> None:
    guide = over(Template(COPIES)).guide()
    guide.advance_bytes(b'<ab-ab-"q')
    assert told(guide) == ("s", 2)
    guide.advance_bytes(b'"')
    assert told(guide) == ("the template's text", None)
