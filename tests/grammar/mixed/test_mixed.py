"""Lark grammars with schemas: what both engines read and allow together."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.divided_texts import DividedTexts
from tests.support.running.tried import tried

from sfgen import Grammar, JsonSchema, Vocabulary
from sfgen.errors import DeadEnd, GrammarError, LimitTooSmall
from sfgen.grammar.lalr.tables import NO_STATE, Lexer
from sfgen.grammar.mixed.reader import lengthened

SCHEMAS: list[Any] = [
    {"enum": [1, 12]},
    {"enum": ["a", "ab"]},
    {"type": "boolean"},
    {"type": "integer"},
    {"enum": [[], {}]},
    {"type": "array", "items": {"enum": [1]}, "minItems": 1, "maxItems": 3},
    {"type": "array", "items": {"enum": [1, 2, 11]}, "uniqueItems": True, "minItems": 2},
    {"type": "object", "properties": {"a": {"enum": [1]}, "b": {"enum": ["x"]}}, "required": ["a"]},
    {"type": "object", "properties": {"c": {"$ref": "#"}}, "additionalProperties": False},
    {"type": "string", "pattern": "^[ab]*$"},
    {"type": "string", "maxLength": 2, "pattern": "^[aé]*$"},
    {"anyOf": [{"enum": [1]}, {"type": "array", "items": {"$ref": "#"}}]},
    {"anyOf": [{"enum": ["a", "b"]}, {"type": "string", "maxLength": 1}]},
    {},
]
FRAMES = [
    'start: "a" J "b"',
    "start: J",
    "start: J J",
    "start: J+",
    'start: (J ",")* J',
    'start: "[" [start ("," start)*] "]" | J | K',
    "start: J | K",
    "start: T J\nT: /[^{]+/",
    "start: T? J T?\nT: /[ab1 ]+/",
    "start: T J T\nT: /(.|\\n)+/",
    'start: J "1"* | "12" K',
    'start: "a" start "b" | J',
    'start: x+\nx: "f" "(" J ")" | K\n%ignore " "',
    'start: NAME J\nNAME: /[a-z]+/\n%ignore " "',
    'start: J ["," K]\n%ignore /[ \\n]+/',
    'start: "<" J ">" start?',
    'start: WORD (J | WORD)*\nWORD: /[a1]+/\n%ignore " "',
    "start: A J\nA: /a+(?!1)/",
    'start: "{" J "}" | J',
    "start: <[0-2]> J <[3]>? J",
]
BYTES = b'{}[]":, 012abcxyzf<>truefalsn()'


def filled(frame: str, first: Any, second: Any) -> str:
    """A frame with two schemas, of which the second has its JSON in several lines."""
    return frame.replace("J", f"%json {json.dumps(first)}").replace("K", f"%json {json.dumps(second, indent=1)}")


def vocabulary(draw: random.Random, texts: list[bytes]) -> Vocabulary:
    """Bytes, sometimes not all, and parts of texts."""
    single = [bytes([byte]) for byte in (range(256) if draw.random() < 0.6 else sorted(set(BYTES)))]
    if len(single) < 256:
        single = [byte for byte in single if draw.random() < 0.93]
    more = set[bytes]()
    for _ in range(draw.randint(5, 40)):
        size, text = draw.randint(2, 5), draw.choice(texts)
        begin = draw.randrange(max(1, len(text) - 1))
        more.add(text[begin : begin + size] if draw.random() < 0.8 else bytes(draw.choices(b'{}[]":, 12ab', k=size)))
    tokens = [*single, *(token for token in more if len(token) > 1)]
    draw.shuffle(tokens)
    return Vocabulary([*tokens, None, tokens[0]], end_token_ids=[len(tokens)])


@given(st.sampled_from(FRAMES), st.sampled_from(SCHEMAS), st.sampled_from(SCHEMAS), st.randoms(use_true_random=False))
@tried("many")
def test_tokens_are_those_that_can_be_read_and_completed(
    frame: str, first: Any, second: Any, draw: random.Random
) -> None:
    try:
        grammar = Grammar.from_lark(filled(frame, first, second))
    except GrammarError:  # two schemas that lark cannot tell apart
        return
    words = vocabulary(draw, [each.encode() for each in grammar.examples(3)])
    most = draw.choice([None, None, draw.randint(1, 20)])
    guide: Any
    try:
        guide = grammar.guide(words, most)
    except (LimitTooSmall, DeadEnd):
        return
    text, is_open = b"", True
    while is_open and (most is not None or len(text) < 25):
        allowed = guide.allowed_tokens().tolist()
        ends = list(words.end_token_ids) if guide.is_accepting else []
        assert allowed == sorted([*(token for token in range(len(words)) if can_take(guide, token)), *ends])
        assert allowed, "a text is never cut"
        assert most is None or guide.tokens_left() <= (guide.room or 0)
        guide.describe()
        tokens = [token for token in allowed if token not in ends]
        is_open = bool(tokens) and (not guide.is_accepting or draw.random() < 0.8)
        if is_open:
            forced = guide.forced_bytes(3)
            longer = [token for token in tokens if len(words.tokens[token] or b"") > 1]
            token = draw.choice(longer if longer and draw.random() < 0.6 else tokens)
            guide.advance(token)
            read = words.tokens[token] or b""
            assert read.startswith(forced) or forced.startswith(read)
            text += read
    if guide.is_accepting:
        assert grammar.refusal(text) is None
        assert grammar.accepts(text)


def can_take(guide: Any, token: int) -> bool:
    """Whether a guide reads a token that ends nothing, byte by byte, and the text can be completed then."""
    return guide.fork()._after(token) is not None


@pytest.mark.parametrize(
    ("frame", "schemas", "letters", "longest"),
    [
        ('start: "a" J0 /1*b/', [{"enum": [1, 11]}], "a1b", 6),
        ('start: (J0 ",")* J0', [{"enum": [1, 11]}], "1,", 6),
        ("start: T J0\nT: /[ab1]+/", [{"enum": [1, 11]}], "ab1", 6),
        ('start: x+\nx: "(" x ")" | J0 | J1\n%ignore " "', [{"enum": [1]}, {"enum": [[]]}], "(1[] )", 5),
        ("start: A J0\nA: /a+(?!1)/", [{"enum": [1]}], "a1", 5),
        ('start: NAME J0 | "if" J1\nNAME: /[if]+/', [{"enum": [1]}, {"enum": [11]}], "if1", 5),
        ("start: J0 J0?", [{"type": "array", "items": {"$ref": "#"}}], "[,] ", 6),
    ],
)
def test_texts_are_those_of_some_division(frame: str, schemas: list[Any], letters: str, longest: int) -> None:
    sources = [json.dumps(schema) for schema in schemas]
    text = frame
    for number, source in enumerate(sources):
        text = text.replace(f"J{number}", f"%json {source}")
    grammar, oracle = Grammar.from_lark(text, max_blanks=longest), DividedTexts(frame, sources)
    reader: Any = grammar.reader
    accepted = 0
    for length in range(longest + 1):
        for characters in itertools.product(letters, repeat=length):
            candidate = "".join(characters)
            expected = oracle.has(candidate)
            assert grammar.accepts(candidate) == expected, candidate
            assert reader.reads(candidate) == expected, candidate
            accepted += expected
    assert accepted > 1


def test_a_schema_that_the_vocabulary_cannot_write_is_left_out() -> None:
    grammar = Grammar.from_lark('start: %json {"enum": ["é"]} | "a" %json {"enum": [12]}')
    words = Vocabulary([b'"', b"a", b"1", b"2", b"12", None], end_token_ids=[5])
    guide = grammar.guide(words, 2)
    assert guide.allowed_tokens().tolist() == [1]
    guide.advance(1)
    assert guide.allowed_tokens().tolist() == [4]
    with pytest.raises(DeadEnd):
        Grammar.from_lark('start: %json {"enum": ["é"]}').guide(words)


def test_a_schema_whose_shortest_text_the_vocabulary_cannot_write() -> None:
    grammar = Grammar.from_lark('start: %json {"enum": [1, 200]} "b"')
    words = Vocabulary([b"2", b"0", b"b", b"00", None], end_token_ids=[4])
    assert grammar.guide(words).tokens_left() == 3
    guide = grammar.guide(words, 3)
    guide.advance(0)
    assert guide.allowed_tokens().tolist() == [3]
    assert guide.describe() == "start › $: one of 1 or 200"
    with pytest.raises(LimitTooSmall, match="for example 200b"):
        grammar.guide(words, 2)


def test_masks_inside_are_those_of_the_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    words = Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b'{"a', b"xy", b'"}', b'"}<', None], end_token_ids=[260]
    )
    guide, alone = (
        Grammar.from_lark(f'start: "<" %json {json.dumps(schema)} "<"').guide(words),
        JsonSchema(schema).guide(words),
    )
    guide.advance(ord("<"))
    for byte in b'{"a": "x':
        guide.advance(byte)
        alone.advance(byte)
    differ = np.setxor1d(guide.allowed_tokens(), alone.allowed_tokens())
    assert differ.tolist() == [259]


def test_codes_are_lengthened() -> None:
    """One state reads a code, 1, or a letter, 0, and comes to states 1 and 2."""
    step = np.array([[2, 1], [NO_STATE, NO_STATE], [NO_STATE, 1]], dtype=np.int32)
    flags, nothing = np.zeros(3, dtype=np.bool_), np.empty(0, dtype=np.int32)
    starts = np.zeros(4, dtype=np.int32)
    lexer = Lexer(np.array([0] * 255 + [1], dtype=np.uint8), step, nothing, starts, nothing, nothing, flags, flags)
    longer = lengthened(lexer, {255: 3})
    none = NO_STATE
    assert longer.step.tolist() == [[2, 3], [none, none], [none, 3], [none, 4], [none, 1]]
    assert len(longer.may_end) == len(longer.commit_starts) - 1 == 5
    assert lengthened(lexer, {255: 1}).step.tolist() == step.tolist()


def test_a_mask_is_told_as_made_only_without_a_limit() -> None:
    grammar = Grammar.from_lark('start: "a" %json {"enum": [1]} "b"')
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], [256])
    limited, free = grammar.guide(vocabulary, 60), grammar.guide(vocabulary)
    limited.mask()
    assert not free.is_ready()
    free.mask()
    assert free.is_ready()


def test_no_token_is_allowed_in_a_schema_behind_which_nothing_can_be_written() -> None:
    grammar = Grammar.from_lark('start: "(" start ")" | %json {"enum": [1, 11]}')
    guide = grammar.guide(Vocabulary([b"1", b"((", None], [2]))
    guide.advance_bytes(b"(")
    assert guide.allowed_tokens().tolist() == []
