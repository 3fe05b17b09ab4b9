"""JSON Schemas inside of grammars in Lark's language, as users see them."""

from __future__ import annotations

import json
import pickle

import pytest
from tests.support.models.scripted import ScriptedModel, preferring

import sfgen
from sfgen import Grammar, JsonSchema, Vocabulary
from sfgen.compiled_form import compiled_form, of_compiled_form
from sfgen.errors import GrammarError, UsageError
from sfgen.grammar.language import file
from sfgen.grammar.language.lark_of_schemas import with_schemas
from sfgen.models.uniform import UniformModel

POINT = '{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}'
CALL = f'start: "<call>" %json {POINT} "</call>"'
WORDS = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"<call>", b'>{"x', b'": 1', b"1}<", None, None],
    end_token_ids=[260],
    names={261: "<think>"},
)


def test_its_texts() -> None:
    grammar = Grammar.from_lark(CALL)
    assert grammar.shortest() == b'<call>{"x": 0}</call>'
    assert grammar.accepts('<call>{"x": 12}</call>')
    for text in ('<call>{"x":12}</call>', '<call>{"x": 12}', '{"x": 12}', '<call>{"x": "a"}</call>', ""):
        assert not grammar.accepts(text), text
    assert grammar.examples(3) == ['<call>{"x": 0}</call>']
    assert [(rule.name, rule.line) for rule in grammar.rules()][:2] == [
        ("start", 1),
        ('%json {"type": "object", "pro…', 1),
    ]


def test_where_a_text_fails() -> None:
    grammar = Grammar.from_lark(CALL)
    found = grammar.failure('<call>{"x": a')
    assert found is not None
    assert (found.position, found.expected) == (12, ('%json {"type": "object", "pro…',))
    found = grammar.failure('<call>{"x": 1}!')
    assert found is not None
    assert (found.position, found.expected) == (14, ('"</call>"',))
    found = grammar.failure("<call>")
    assert found is not None
    assert found.expected == ('%json {"type": "object", "pro…',)
    walk = grammar.walk('<call>{"x": 1}</call>')
    assert walk.verdict == "match"
    assert [stretch.read for stretch in walk.stretches] == ["<call>", '{"x": 1}', "</call>"]


def test_where_a_guide_stands() -> None:
    guide = Grammar.from_lark(f'start: "say" call+\ncall: "(" %json {POINT} ")"').guide(WORDS)
    told = []
    for piece in (b"sa", b"y(", b'{"', b'x": ', b"1", b'})({"x": 2'):
        guide.advance_bytes(piece)
        told.append(guide.describe())
    assert told == [
        'start: "say"', 'start: "("', 'start › call › $: the name "x"', "start › call › $.x: an integer",
        "start › call › $.x: an integer", "start › call › $.x: an integer",
    ]  # fmt: skip
    guide.rollback(3)
    assert guide.describe() == 'start › call › $: the name "x"'


def test_tokens_over_the_borders() -> None:
    guide = Grammar.from_lark(CALL).guide(WORDS, 16)
    assert guide.tokens_left() == 16
    for token in (256, ord("{")):
        assert token in guide.allowed_tokens()
        guide.advance(token)
    assert guide.allowed_tokens().tolist() == [ord('"')]
    free = Grammar.from_lark(CALL).guide(WORDS)
    for byte in b"<call":
        free.advance(byte)
    assert free.allowed_tokens().tolist() == [ord(">"), 257]
    free.advance(257)
    assert free.allowed_tokens().tolist() == [ord('"'), 258]
    free.advance(258)
    assert set(free.allowed_tokens().tolist()) == {*b"0123456789}", 259}
    free.advance(259)
    assert free.forced_bytes() == b"/call>"


def test_a_copy_of_another_process(tmp_path: object) -> None:
    made = Grammar.from_lark(CALL)
    for grammar in (pickle.loads(pickle.dumps(made)), of_compiled_form(compiled_form(made)), Grammar.from_lark(CALL)):
        assert grammar == made
        assert grammar.guide(WORDS).allowed_tokens().tolist() == [ord("<"), 256]
        assert grammar.accepts('<call>{"x": 1}</call>')
        assert grammar.refusal(b'<call>{"x": 1}</call>') is None
    path = f"{tmp_path}/saved"
    file.save(made, WORDS, path)
    assert file.load(path, WORDS) == made


def test_finished_texts_are_judged_by_lark_and_jsonschema() -> None:
    grammar = Grammar.from_lark(f'start: THOUGHT %json {POINT} "."\nTHOUGHT: /[^{{]+/')
    assert grammar.refusal(b'So: {"x": 1}.') is None
    refused = grammar.refusal(b'So: {"x": 1}')
    assert refused is not None
    assert refused["refused by"] == "sfgen"
    language = grammar._language
    language._schemas = (JsonSchema({"const": 1}),)  # type: ignore[attr-defined]
    refused = grammar.refusal(b'So: {"x": 1}.')
    assert refused is not None
    assert refused["refused by"] == "jsonschema"
    other = Grammar.from_lark(f'start: THOUGHT %json {POINT} "."\nTHOUGHT: /[a-z]+/')
    assert other._language._grammar.refusal_of_parts([("So: ", "x")]) is not None  # type: ignore[attr-defined]


def test_beside_tokens_and_quotations() -> None:
    text = f'start: <think> %regex {{"substring_words": "to be or not"}} %json {POINT} <[256]>'
    grammar = Grammar.from_lark(text)
    assert grammar.tokens == ("<think>", "<[256]>")
    guide = grammar.guide(WORDS)
    guide.advance(261)
    for piece in (b"be ", b"or", b'{"x": 5}'):
        guide.advance_bytes(piece)
    assert guide.allowed_tokens().tolist() == [256]
    guide.advance(256)
    assert guide.is_finished
    assert grammar.refusal(b'<think>be or{"x": 5}<call>') is None
    assert grammar.accepts('<think>{"x": 5}<call>')


@pytest.mark.parametrize("seed", range(3))
def test_generated_texts(seed: int) -> None:
    grammar = Grammar.from_lark(f'start: (call | "none")+\ncall: "<call>" %json {POINT} ";"\n%ignore " "')
    result = sfgen.generate(UniformModel(WORDS), "", grammar=grammar, max_tokens=30, sampler=sfgen.Sampler(1.0, seed))
    assert grammar.accepts(result.text)


def test_a_model_writes_thoughts_and_a_call() -> None:
    text = 'I look. <call>{"x": 11}</call>'
    wishes = [bytes([byte]) for byte in text.encode()]
    model = ScriptedModel(WORDS, preferring(WORDS, wishes, 0))
    grammar = Grammar.from_lark(f'start: THOUGHT "<call>" %json {POINT} "</call>"\nTHOUGHT: /[^<]+/')
    assert sfgen.generate(model, "", grammar=grammar, max_tokens=40).text == text


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ('start: "a"\n  %json 1', "%json must be followed by a JSON Schema, which begins with {", (2, 9)),
        ('start: %json {"a": tru}', "this is not valid JSON: Expecting value", (1, 20)),
        ("start: %json [" + "1" * 5000, "%json must be followed by a JSON Schema, which begins with {", (1, 14)),
        ('start: %json {"a": ' + "1" * 5000 + "}", "a number in it has too many digits", (1, 14)),
        ('start: %json {\n  "type": "strin"}', "%json: ", (2, 11)),
        ('start: %json {\n "properties": {"a": {"minimum": "x"}}}', "/properties/a/minimum", (2, 34)),
        ('start: %json {"$ref": "other.json"}', 'Copy it into this schema, under "$defs"', (1, 23)),
        ('start: A\nA: "a" %json {}', "the terminal A contains %json", (2, 1)),
        ('start: A\nA: "a" %json {}', "Schemas are allowed in rules", (2, 1)),
        ('start: A\nA: <think> "b"\nb: %json {}', "the terminal A contains a token of the vocabulary", (2, 1)),
        ("start: %json {} b c", "rule", None),
        ('start: %json {"a": 1} ) b\nb: "c"', '%json {"a": 1}', None),
        ("start: " + " ".join(f'%json {{"const": {n}}}' for n in range(6)) + " <[1]> <[2]> <[3]> <[4]> <[5]>",
         "has more than 10 different tokens and schemas", None),
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str, reason: str, place: tuple[int, int] | None) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text)
    assert reason in str(caught.value)
    assert "\0" not in str(caught.value)
    if place is not None:
        assert (caught.value.line, caught.value.column) == place


def test_imported_files_have_no_schemas() -> None:
    with pytest.raises(GrammarError, match=r"the imported file other.lark contains %json.* at line 2, column 9"):
        Grammar.from_lark("start: a\n%import .other (a)", files={"other.lark": f"a: %json {POINT}"})
    assert Grammar.from_lark("start: a\n%import .other (a)", files={"other.lark": 'a: "b" // %json {}'}).accepts("b")


def test_schemas_are_found_where_they_stand() -> None:
    found = with_schemas(
        'start: "%json {}" /%json {}/ %json {"a": "} <b>"} // %json {}\n | %json_schema %json {"a": "} <b>"}'
    )
    assert found.sources == ('{"a": "} <b>"}',)
    assert len(found.text) == len(found.written)
    assert found.text.count("\0") == 2


def test_options_are_checked() -> None:
    with pytest.raises(UsageError):
        Grammar.from_lark(CALL, max_blanks="a")  # type: ignore[arg-type]


def test_recursion_in_both() -> None:
    tree = json.dumps({"type": "array", "items": {"$ref": "#"}})
    grammar = Grammar.from_lark(f'start: "(" start ")" | %json {tree}')
    assert grammar.accepts("((([[], [[]]])))")
    assert not grammar.accepts("((([[], [[]]]))")
