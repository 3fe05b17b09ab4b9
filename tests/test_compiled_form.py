"""A compiled form gives the constraint that was compiled, without compiling: same masks, same texts, same words."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import golden

from sfgen import (
    BannedWords,
    Dfa,
    Grammar,
    Index,
    JsonSchema,
    Substring,
    Template,
    ToolCalls,
    Vocabulary,
    load_model,
)
from sfgen.ban import scan
from sfgen.compiled_form import CompiledForm, Later, compiled_form, of_compiled_form
from sfgen.decoding.plain_forms import source_of
from sfgen.errors import SfgenError
from sfgen.grammar.lalr import compiled_grammar as lalr_compiled
from sfgen.grammar.language import gbnf_language
from sfgen.schema import json_schema

VOCABULARY = load_model("tiny").vocabulary

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
        "tags": {"type": "array", "items": {"enum": ["a", "bb", 3]}, "uniqueItems": True, "maxItems": 3},
        "more": {"$ref": "#"},
        "size": {"type": "number", "minimum": 0},
    },
    "required": ["name"],
}
LARK = 'start: NAME "(" [start ("," start)*] ")" | NAME\nNAME: /[a-z]+/\n%ignore " "'
TOOLS: Any = [
    {"name": "look", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "stop"},
]
MAKERS: dict[str, Callable[[], Any]] = {
    "regex": lambda: Dfa.from_regex("[0-9]{4}-[0-9]{2}(?=x)x"),
    "choices": lambda: Dfa.from_choices(["hot", "cold"]),
    "schema": lambda: JsonSchema(SCHEMA),
    "schema, any order": lambda: JsonSchema(SCHEMA, order="any"),
    "schema, extra": lambda: JsonSchema(SCHEMA, extra_properties=True, spacing="any"),
    "schema of text": lambda: JsonSchema(
        '{"type": "array", "items": {"x-substring-of": "d"}}', documents={"d": "to be"}
    ),
    "gbnf": lambda: Grammar.from_gbnf('root ::= "(" item ("," item)* ")"\nitem ::= root | [a-z]{1,3}', origin="a.gbnf"),
    "lark": lambda: Grammar.from_lark(LARK),
    "template of patterns": lambda: Template("{{name: regex [A-Z][a-z]+}} is {{age: regex [0-9]+}}."),
    "template of rules": lambda: Template.inline("{{a: schema name, age int}} and {{b: regex [0-9]+}}"),
    "template with a copy": lambda: Template("{{name: regex [A-Z][a-z]+}}: {{name}} {{a: schema tags str[]}}"),
    "quotation": lambda: Substring("to be or not to be", "word"),
    "calls": lambda: ToolCalls(TOOLS, "hermes", at_most=3),
    "calls in text": lambda: ToolCalls(TOOLS, "hermes", in_text=True, at_most=None),
    "calls of arguments one by one": lambda: ToolCalls(TOOLS, "qwen3-coder"),
}


def again(constraint: Any) -> Any:
    return of_compiled_form(compiled_form(constraint))


def refuse(*given: object, **named: object) -> Any:
    raise AssertionError("it is compiled again")


@pytest.fixture
def nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_schema, "compile_schema", refuse)
    monkeypatch.setattr(json_schema, "network_of", refuse)
    monkeypatch.setattr(gbnf_language, "network_of", refuse)
    monkeypatch.setattr(gbnf_language, "read_gbnf", refuse)
    monkeypatch.setattr("sfgen.grammar.network.distances._distances", refuse)
    monkeypatch.setattr(lalr_compiled, "make_lexer", refuse)
    monkeypatch.setattr(lalr_compiled, "read_lark", refuse)
    monkeypatch.setattr("sfgen.template.sequence.automaton_of", refuse)
    monkeypatch.setattr("sfgen.template.sequence.network_of", refuse)
    monkeypatch.setattr("sfgen.template.sequence.segments_of", refuse)
    monkeypatch.setattr("sfgen.tools.tool_calls.CallWriter", refuse)
    monkeypatch.setattr("sfgen.tools.tool_calls.network_of", refuse)
    monkeypatch.setattr("sfgen.automata.dfa.compile_pattern", refuse)
    monkeypatch.setattr("sfgen.substring.document._sorted_suffixes", refuse)


def walked(constraint: Any, *, describes: bool = True) -> list[Any]:
    """The masks and descriptions along a text, the shortest text, and who the constraint says that it is."""
    guide = Index(constraint, VOCABULARY).guide()
    told: list[Any] = [repr(constraint), constraint.shortest(), constraint.to_dict()]
    for step in range(12):
        told += [guide.mask().tobytes(), guide.describe() if describes else ""]
        allowed = guide.allowed_tokens()
        token = int(allowed[step * 7 % len(allowed)])
        if token in VOCABULARY.end_token_ids:
            break
        guide.advance(token)
    return told


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_nothing_is_compiled_again(make: Callable[[], Any], request: pytest.FixtureRequest) -> None:
    expected = walked(make(), describes=False)
    form = compiled_form(make())
    request.getfixturevalue("nothing_compiles")
    assert walked(of_compiled_form(form), describes=False) == expected


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_it_is_the_same_constraint_and_its_pickle_stays_small(make: Callable[[], Any]) -> None:
    constraint = make()
    twin = again(constraint)
    if not isinstance(constraint, Dfa):
        assert twin == constraint
        assert hash(twin) == hash(constraint)
    assert len(pickle.dumps(twin)) <= len(pickle.dumps(constraint)) + 100, "what it was made of, and no more"
    assert walked(again(twin)) == walked(constraint), "a form of what came as one"
    assert walked(pickle.loads(pickle.dumps(twin))) == walked(constraint)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_finished_texts_are_judged_alike(make: Callable[[], Any]) -> None:
    constraint = make()
    twin = again(constraint)
    text = constraint.shortest()
    for data in (text, text + b"!", b"", b"{}"):
        assert twin.accepts(data) == constraint.accepts(data)
        assert twin.refusal(data) == constraint.refusal(data)


def test_what_a_schema_tells_beside_its_masks() -> None:
    schema, twin = JsonSchema(SCHEMA), again(JsonSchema(SCHEMA))
    assert twin.notes == schema.notes
    assert twin.compiled.descriptions == schema.compiled.descriptions
    assert (twin.superset() is None) == (schema.superset() is None)
    assert [fault.path for fault in twin.validate({"name": "x"})] == ["$.name"]


def test_calls_with_special_tokens_are_compiled_for_a_vocabulary(request: pytest.FixtureRequest) -> None:
    names = {300: "<tool_call>", 301: "</tool_call>", 302: "<other>"}
    tokens = [*(bytes([byte]) for byte in range(256)), *[None] * 47]
    special = Vocabulary(tokens, end_token_ids=[256], names=names)
    calls = ToolCalls(TOOLS, "hermes", in_text=True)
    expected = Index(calls, special).guide()
    calls.compile_for(names.values())
    form = compiled_form(calls)
    request.getfixturevalue("nothing_compiles")
    guide = Index(of_compiled_form(form), special).guide()
    for token in (*b"Well: ", 300, *b'\n{"name": "look", "arguments": {'):
        assert guide.mask().tobytes() == expected.mask().tobytes()
        guide.advance(token)
        expected.advance(token)


def test_calls_of_a_compiled_form_are_read(request: pytest.FixtureRequest) -> None:
    form = compiled_form(ToolCalls(TOOLS, "qwen3-coder"))
    request.getfixturevalue("nothing_compiles")
    text = "<tool_call>\n<function=look>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>"
    assert of_compiled_form(form).calls(text) == [{"name": "look", "arguments": {"city": "Rome"}}]


def test_what_a_grammar_tells_beside_its_masks() -> None:
    for name in ("gbnf", "lark"):
        grammar = MAKERS[name]()
        twin = again(grammar)
        assert twin.rules() == grammar.rules()
        assert twin.examples(5) == grammar.examples(5)
        assert twin.failure("(") == grammar.failure("(")
        assert twin.origin == grammar.origin


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: JsonSchema({"type": "integer", "minimum": 2, "maximum": 1}),
        lambda: JsonSchema({"type": "string", "pattern": "a(b"}),
        lambda: JsonSchema({"type": "array", "items": {"enum": [1]}, "minItems": 2, "uniqueItems": True}),
    ],
)
def test_what_is_refused_is_refused_as_before(wrong: Callable[[], JsonSchema]) -> None:
    with pytest.raises(SfgenError) as expected:
        wrong().shortest()
    with pytest.raises(SfgenError) as caught:
        compiled_form(wrong())
    assert (type(caught.value), str(caught.value)) == (type(expected.value), str(expected.value))


def test_no_tokens_write_any_text_of_it() -> None:
    form = compiled_form(JsonSchema({"const": "é"}))
    few = Vocabulary([b'"', b"e", None], end_token_ids=[2])
    with pytest.raises(SfgenError) as expected:
        Index(JsonSchema({"const": "é"}), few).guide()
    with pytest.raises(SfgenError) as caught:
        Index(of_compiled_form(form), few).guide()
    assert str(caught.value) == str(expected.value)


def test_arrays_look_into_the_form() -> None:
    form = compiled_form(JsonSchema(SCHEMA))
    twin = of_compiled_form(form)
    table = np.asarray(twin.network.table)
    assert any(np.shares_memory(table, np.frombuffer(data, np.uint8)) for data in form.buffers if data)
    assert not table.flags.writeable
    assert form.nbytes > table.nbytes


def test_automata_are_in_it_once() -> None:
    pattern = JsonSchema({"type": "string", "pattern": "^([a-z]{1,40} ){1,40}$"})
    form = compiled_form(pattern)
    twin = of_compiled_form(form)
    (leaf,) = twin.network.leaves.values()
    assert any(leaf.dfa is getattr(rule, "dfa", None) for rule in twin.compiled.grammar.rules.values())
    assert form.buffers.count(leaf.dfa.transitions.tobytes()) == 2, "and as the network's table, which is equal"


def test_a_part_is_read_when_it_is_asked_for() -> None:
    twin = again(JsonSchema(SCHEMA))
    Index(twin, VOCABULARY).guide().mask()
    assert isinstance(twin._compiled, Later)
    assert twin.notes == JsonSchema(SCHEMA).notes
    assert not isinstance(twin._compiled, Later)


def test_masks_of_strings_are_shared_with_those_made_here() -> None:
    from sfgen.grammar.network.leaf_masks import leaf_masks

    here = JsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1})
    twin = again(here)
    ((_, one),) = here.network.leaves.items()
    ((_, other),) = twin.network.leaves.items()
    assert one.dfa is not other.dfa
    assert leaf_masks(one, VOCABULARY, None) is leaf_masks(other, VOCABULARY, None)


def test_another_process_compiles(tmp_path: Path) -> None:
    script = (
        "import json, pickle, sys\n"
        "from sfgen import JsonSchema\n"
        "from sfgen.compiled_form import compiled_form\n"
        "form = compiled_form(JsonSchema(json.load(sys.stdin), order='any'))\n"
        "sys.stdout.buffer.write(pickle.dumps(form))\n"
    )
    import json

    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(SCHEMA).encode(), capture_output=True, check=True
    )
    form = pickle.loads(done.stdout)
    assert isinstance(form, CompiledForm)
    assert walked(of_compiled_form(form)) == walked(JsonSchema(SCHEMA, order="any"))


BANS: dict[str, Callable[[], BannedWords]] = {
    "words": lambda: BannedWords(["talk*", "small fry", "c++", "hé"], allow=["talking head", "e"], normalize=True),
    "patterns": lambda: BannedWords([], [r"[0-9]{3}\b", r"(?i)\bse.{0,5}t", r"(?<!\w)é+"]),
    "both": lambda: BannedWords(["ass", "no talk"], ["a.?b", r"\p{Script=Han}"], "substring", allow=["class", "ab ba"]),
}
BANNED_TEXTS = (
    "12 345 ",
    "so talking heads",
    "Small... fry!",
    "in c++.",
    "the class asses",
    "ab ba",
    "set",
    "éé 漢",
    "Ｔalk",
)


def found_in(banned: BannedWords, text: str) -> list[Any]:
    """What is found in a text, and what may still be, at each character; alone and after a prompt."""
    matchers = [banned.matcher(), banned.matcher(b"no t")]
    return [
        (matcher.advance(letter.encode()), matcher.finish(), matcher.open_from(), matcher.under_way())
        for letter in text
        for matcher in matchers
    ]


@pytest.mark.parametrize("make", BANS.values(), ids=BANS)
def test_a_ban_is_not_compiled_again(make: Callable[[], BannedWords], monkeypatch: pytest.MonkeyPatch) -> None:
    banned = make()
    form = compiled_form(banned)
    before = [found_in(banned, text) for text in BANNED_TEXTS]
    marks = banned.matcher(b"no t").mark()
    assert compiled_form(banned).nbytes == form.nbytes, "what texts have met is not in it"
    with monkeypatch.context() as here:
        here.setattr("sfgen.ban.patterns.compile_bordered", refuse)
        here.setattr("sfgen.ban.words.read_entries", refuse)
        twin = of_compiled_form(form)
        assert [found_in(twin, text) for text in BANNED_TEXTS] == before
    assert (twin, hash(twin), repr(twin), len(twin)) == (banned, hash(banned), repr(banned), len(banned))
    assert [scan(text, twin, prompt="no t") for text in BANNED_TEXTS] == [
        scan(text, banned, prompt="no t") for text in BANNED_TEXTS
    ]
    matcher = twin.matcher()
    matcher.reset(marks)
    assert matcher.state == banned.matcher(b"no t").state, "marks are of both"
    again_twin = again(twin)
    assert [found_in(again_twin, text) for text in BANNED_TEXTS] == before


@pytest.mark.parametrize("make", BANS.values(), ids=BANS)
def test_a_pickle_of_a_ban_is_what_it_was_made_of(make: Callable[[], BannedWords]) -> None:
    banned, twin = make(), again(make())
    for text in BANNED_TEXTS:
        found_in(twin, text)
    assert len(pickle.dumps(twin)) == len(pickle.dumps(banned))
    assert pickle.loads(pickle.dumps(twin)) == banned


def test_the_form_of_a_pattern_is_small() -> None:
    """It knows all letters of all scripts, in runs."""
    assert compiled_form(BannedWords([], [r"(?i)\btalk\b"])).nbytes < 20_000


def test_the_form_of_a_long_list_has_each_word_twice() -> None:
    """As it was given, and folded in the order of all."""
    words = [f"number {number * number} of many" for number in range(10_000)]
    assert compiled_form(BannedWords(words)).nbytes < 3 * sum(map(len, words))


def test_another_process_compiles_a_ban() -> None:
    script = (
        "import pickle, sys\n"
        "from sfgen.ban import BannedWords\n"
        "from sfgen.compiled_form import compiled_form\n"
        "banned = BannedWords(['talk'], ['[0-9]{3}'])\n"
        "hash(banned)  # texts have other hashes here\n"
        "sys.stdout.buffer.write(pickle.dumps(compiled_form(banned)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    twin, banned = of_compiled_form(pickle.loads(done.stdout)), BannedWords(["talk"], ["[0-9]{3}"])
    assert (twin, hash(twin)) == (banned, hash(banned))
    assert found_in(twin, "we talk 123") == found_in(banned, "we talk 123")


@pytest.mark.parametrize("part", range(4))
def test_the_golden_masks_are_those_of_compiled_forms(part: int) -> None:
    wrong = []
    for name, case, steps in golden.read("masks")[part::4]:
        if "ban" in case or "after" in case or "when" in case:
            continue
        tokens = golden.vocabulary(name)
        source = source_of(golden.config_of(case).index, tokens)
        assert isinstance(source, Index)
        taken = Index(again(source.constraint), tokens)
        wrong += [(name, case, prefix, room) for prefix, room, digest in steps
                  if golden.digest_of_mask(taken, prefix, room) != digest]  # fmt: skip
    assert not wrong
