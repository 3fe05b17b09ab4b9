"""Calls in every form: what is written, read and refused, beside a plain writer of the form's text."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.running.tried import tried

from sfgen import BannedWords, Index, JsonSchema, ToolCalls, Vocabulary, tools_schema
from sfgen.errors import BannedWordsError, LimitTooSmall, SchemaError, UsageError
from sfgen.models.tool_forms import ARGUMENTS, NAME, NAMED, Arguments, Slot, ToolForm, form_of_plain, plain_form
from sfgen.protocols import Guide
from sfgen.tools.writing import specials_of

TOOLS: list[dict[str, Any]] = [
    {
        "name": "look",
        "parameters": {
            "properties": {
                "city": {"enum": ["Rome", "a b"]},
                "days": {"enum": [1, 12]},
                "deep": {"type": ["boolean", "null"]},
            },
            "required": ["days"],
        },
    },
    {"name": "look_up", "parameters": {"properties": {"x": {"const": {"a": [True, "n", None], "b": 1}}}}},
    {"name": "stop"},
]
VALUES: dict[str, dict[str, list[Any]]] = {
    "look": {"city": ["Rome", "a b"], "days": [1, 12], "deep": [True, False, None]},
    "look_up": {"x": [{"a": [True, "n", None], "b": 1}]},
    "stop": {},
}
NEEDED = {"days"}

every_form = pytest.mark.parametrize("name", NAMED)


# ---- the plain writer ------------------------------------------------------------------------------------------------


def nested(value: Any, notation: str, quotes: tuple[str, str]) -> str:
    """A value inside of others."""
    if notation == "json":
        return json.dumps(value)
    words = {"python": ("True", "False", "None"), "bare": ("true", "false", "null")}[notation]
    if value is None or isinstance(value, bool):
        return words[(True, False, None).index(value)]
    if isinstance(value, str):
        return json.dumps(value) if notation == "python" else quotes[0] + value + quotes[1]
    comma, colon = (", ", ": ") if notation == "python" else (",", ":")
    if isinstance(value, list):
        return f"[{comma.join(nested(item, notation, quotes) for item in value)}]"
    if isinstance(value, dict):
        names = {name: json.dumps(name) if notation == "python" else name for name in value}
        members = (names[name] + colon + nested(inner, notation, quotes) for name, inner in value.items())
        return f"{{{comma.join(members)}}}"
    return json.dumps(value)


def argument_text(each: Arguments, name: str, value: Any) -> str:
    if isinstance(value, str):
        told = json.dumps(value) if each.escaped else each.quotes[0] + value + each.quotes[1]
    elif value is None or isinstance(value, bool):
        told = each.unquoted + each.words[(True, False, None).index(value)]
    else:
        notation = each.objects if isinstance(value, dict) else each.lists if isinstance(value, list) else "json"
        told = each.unquoted + nested(value, notation, each.quotes)
    return f"{each.before}{name}{each.between}{told}{each.behind}"


def call_text(form: ToolForm, call: dict[str, Any], index: int) -> str:
    pieces = []
    for piece in form.call:
        if isinstance(piece, str):
            pieces.append(piece)
        elif piece is Slot.NAME:
            pieces.append(form.name_text(call["name"]))
        elif piece is Slot.ARGUMENTS and form.arguments is None:
            pieces.append(json.dumps(call["arguments"], separators=(",", ":") if form.spacing == "compact" else None))
        elif piece is Slot.ARGUMENTS:
            assert form.arguments is not None
            each = form.arguments
            pieces.append(each.separator.join(argument_text(each, *one) for one in call["arguments"].items()))
        else:
            pieces.append("123456789" if piece is Slot.ID else str(index))
    return "".join(pieces)


def text_of(form: ToolForm, calls: list[dict[str, Any]]) -> str:
    told = (call_text(form, call, index) for index, call in enumerate(calls))
    return form.before + (form.separator or "").join(told) + form.behind


@cache
def every_call() -> list[dict[str, Any]]:
    calls = []
    for name, values in VALUES.items():
        ways = [
            [(key, value) for value in options] + ([] if key in NEEDED else [None]) for key, options in values.items()
        ]
        for chosen in itertools.product(*ways):
            calls.append({"name": name, "arguments": dict(pair for pair in chosen if pair is not None)})
    return calls


# ---- the language ----------------------------------------------------------------------------------------------------


@every_form
def test_each_call_is_written_as_the_form_has_it_and_read_again(name: str) -> None:
    form = NAMED[name]
    calls = ToolCalls(TOOLS, name)
    for call in every_call():
        text = text_of(form, [call])
        assert calls.accepts(text), text
        assert calls.value(text) == call
        assert calls.refusal(text.encode()) is None
    assert calls.accepts(calls.shortest())


@every_form
def test_a_text_with_a_fault_is_none(name: str) -> None:
    form, calls, dice = NAMED[name], ToolCalls(TOOLS, name), random.Random(name)
    texts = {text_of(form, [call]) for call in every_call()}
    for text in dice.sample(sorted(texts), 12):
        for _ in range(8):
            at, letter = dice.randrange(len(text)), dice.choice('ax1}<"\n ')
            other = dice.choice([text[:at] + text[at + 1 :], text[:at] + letter + text[at:], text[:at]])
            if Slot.ID not in form.call and Slot.INDEX not in form.call:
                assert calls.accepts(other) is (other in texts), other
            elif calls.accepts(other):
                assert calls.value(other) in every_call()


@every_form
@tried("few")
@given(st.data())
def test_several_calls_in_a_row(name: str, data: st.DataObject) -> None:
    form = NAMED[name]
    if form.separator is None:
        with pytest.raises(UsageError, match="one call at most"):
            ToolCalls(TOOLS, name, at_most=2)
        return
    given_calls = data.draw(st.lists(st.sampled_from(every_call()), min_size=1, max_size=3))
    text = text_of(form, given_calls)
    for most in (None, 2, 3):
        calls = ToolCalls(TOOLS, name, at_most=most)
        assert calls.accepts(text) is (most is None or len(given_calls) <= most)
        if calls.accepts(text):
            assert calls.value(text) == given_calls
            assert calls.refusal(text.encode()) is None


# ---- tokens ----------------------------------------------------------------------------------------------------------

MARKS = ["<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<|channel|>", "<|message|>",
         "<|constrain|>", "<|start|>", "<|end|>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
         "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|tool_call|>", "<|tool_call>", "<tool_call|>", '<|"|>',
         "<|tool_call_start|>", "<|tool_call_end|>", "<|START_ACTION|>", "<|END_ACTION|>"]  # fmt: skip


def vocabulary_of(form: ToolForm, texts: list[str], *, special: bool, dice: random.Random) -> Vocabulary:
    """Tokens that write the texts in pieces, and special ones."""
    marks = list(specials_of(form, MARKS, in_text=True)) if special else []
    pieces = {"look", "_up", "city", "Rome", "days", '": ', "unused"}
    for text in texts:
        at = dice.randrange(len(text))
        pieces.add(text[at : at + dice.randrange(2, 9)])
    letters = sorted({bytes([byte]) for text in texts for byte in text.encode()})
    longer = [piece.encode() for piece in sorted(pieces) if len(piece.encode()) > 1]
    tokens: list[bytes | None] = [*letters, *longer]
    size = len(tokens)
    names = {size + number: mark for number, mark in enumerate(marks)}
    return Vocabulary([*tokens, *[None] * len(marks), None], [size + len(marks)], names=names)


def fewest(vocabulary: Vocabulary, text: str) -> int:
    """The fewest tokens that write a text, with special tokens for all of their names."""
    marks = dict.fromkeys(vocabulary.names.values())
    tokens = [token for token in vocabulary.tokens if token]
    data, names = text.encode(), [mark.encode() for mark in marks]
    best: list[float] = [0.0] + [float("inf")] * len(data)
    inside = {at for name in names for start in _found(data, name) for at in range(start + 1, start + len(name))}
    begins = {start for name in names for start in _found(data, name)}
    for at in range(len(data)):
        usable = [name for name in names if data.startswith(name, at)] if at in begins else tokens
        for token in usable:
            end = at + len(token)
            is_inside = any(place in inside or place in begins for place in range(at + 1, end))
            if data.startswith(token, at) and (token in names or not is_inside) and at not in inside:
                best[end] = min(best[end], best[at] + 1)
    return int(best[-1])


def _found(data: bytes, name: bytes) -> Iterator[int]:
    at = data.find(name)
    while at >= 0:
        yield at
        at = data.find(name, at + 1)


def written(guide: Guide, vocabulary: Vocabulary, dice: random.Random) -> tuple[str, int]:
    """A text of random tokens, and how many they are."""
    text, size = b"", 0
    while True:
        allowed = guide.allowed_tokens().tolist()
        assert allowed, text
        token = dice.choice(allowed)
        if token in vocabulary.end_token_ids:
            return text.decode(), size
        guide.advance(token)
        text += vocabulary.tokens[token] or vocabulary.names[token].encode()
        size += 1


@pytest.mark.parametrize("special", [False, True], ids=["text", "special tokens"])
@every_form
def test_random_tokens_write_calls_within_every_limit(name: str, special: bool) -> None:
    form, dice = NAMED[name], random.Random(name)
    calls = ToolCalls(TOOLS, name)
    texts = [text_of(form, [call]).replace("123456789", "000000000") for call in every_call()]
    vocabulary = vocabulary_of(form, texts, special=special, dice=dice)
    schema = Draft202012Validator(tools_schema(TOOLS))
    least = min(fewest(vocabulary, text) for text in texts)
    index = Index(calls, vocabulary)
    start = index.guide().tokens_left()  # those of a shortest text, which another tokenization may go below
    assert start >= least
    with pytest.raises(LimitTooSmall):
        index.guide(start - 1)
    for limit in (None, start, start + 1, start + 5, start + 9):
        for _ in range(2):
            text, size = written(index.guide(limit), vocabulary, dice)
            assert limit is None or size <= limit
            assert calls.accepts(text)
            call = calls.value(text)
            assert call in every_call()
            schema.validate(call)
            if Slot.ID not in form.call:
                assert text == text_of(form, [call])
    for text in dice.sample(texts, 3):
        assert _can_be_written(index.guide(), vocabulary, text.encode())


def _can_be_written(guide: Guide, vocabulary: Vocabulary, text: bytes, dead: set[int] | None = None) -> bool:
    """Whether some allowed tokens write a text; ``dead`` are the sizes of rests that cannot be written."""
    dead = set() if dead is None else dead
    if not text:
        return guide.is_accepting
    if len(text) in dead:
        return False
    for token in reversed(guide.allowed_tokens().tolist()):  # special tokens first: what is spelled is free text
        piece = vocabulary.tokens[token] or vocabulary.names.get(token, "").encode()
        if piece and text.startswith(piece):
            guide.advance(token)
            if _can_be_written(guide, vocabulary, text[len(piece) :], dead):
                return True
            guide.rollback(1)
    dead.add(len(text))
    return False


# ---- calls in free text ----------------------------------------------------------------------------------------------

IN_TEXT: list[tuple[ToolForm, str, str, dict[str, Any]]] = [
    (ToolForm(("<", NAME, ">"), separator=","), "<a>b,", "([ab>,]|<a>)*", {"at_most": None}),
    (ToolForm((NAME,), "[", ",", "]"), "[a,]", r"([a,\]]|\[a(,a)?\])*", {"at_most": 2}),
    (ToolForm(("<", NAME, ">"), lead="b,"), "<a>b,", "(<a>)?([ab>,]*b,<a>)*[ab>,]*", {}),
    (ToolForm(("<", NAME, ">"), separator=","), "<a>b,", "[ab>,]*(<a>)?", {"ends_text": True}),
    (ToolForm(("<", NAME, ">"), separator=","), "<a>b,", "[ab>,]*(<a>(,<a>)*)?", {"ends_text": True, "at_most": None}),
    (ToolForm(("<", NAME, ">"), lead="b,"), "<a>b,", "<a>|[ab>,]*(b,<a>)?", {"ends_text": True}),
]


@pytest.mark.parametrize(("form", "letters", "pattern", "options"), IN_TEXT)
def test_calls_stand_in_free_text(form: ToolForm, letters: str, pattern: str, options: dict[str, Any]) -> None:
    calls = ToolCalls([{"name": "a"}], form, in_text=True, **options)
    every = ["".join(each) for size in range(5) for each in itertools.product(letters, repeat=size)]
    for text in every:
        is_one = re.fullmatch(pattern, text) is not None
        assert calls.accepts(text) is is_one, text
        if is_one:
            assert calls.refusal(text.encode()) is None
            assert form.before or len(calls.calls(text)) == text.count("<a>")
    vocabulary = Vocabulary([*(letter.encode() for letter in letters), None], [len(letters)])
    for limit in range(5):
        texts = {text for text in every if len(text) <= limit and re.fullmatch(pattern, text)}
        assert set(every_text(Index(calls, vocabulary).guide(limit), vocabulary)) == texts


def every_text(guide: Guide, vocabulary: Vocabulary, text: str = "") -> Iterator[str]:
    """All texts that a guide with a limit can write."""
    for token in guide.allowed_tokens().tolist():
        if token in vocabulary.end_token_ids:
            yield text
            continue
        guide.advance(token)
        yield from every_text(guide, vocabulary, text + (vocabulary.tokens[token] or b"").decode())
        guide.rollback(1)


@pytest.mark.parametrize("special", [False, True], ids=["text", "special tokens"])
@every_form
def test_random_tokens_write_calls_in_free_text(name: str, special: bool) -> None:
    form, dice = NAMED[name], random.Random(name)
    calls = ToolCalls(TOOLS, name, in_text=True, at_most=None)
    texts = [form.lead + text_of(form, [call]) for call in every_call()]
    vocabulary = vocabulary_of(form, texts, special=special, dice=dice)
    guide = Index(calls, vocabulary).guide(60)
    for _ in range(3):
        text, size = written(guide.fork(), vocabulary, dice)
        assert size <= 60
        assert calls.accepts(text)
        assert all(call in every_call() for call in calls.calls(text))
    for call in dice.sample(every_call(), 2):
        text = "e " + form.lead + text_of(form, [call]) + "e"
        assert _can_be_written(Index(calls, vocabulary).guide(), vocabulary, text.encode())
        assert calls.calls(text) == [call]


# ---- what a form cannot carry, and what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(("name", "tool"), [("qwen3-coder", "a>\n"), ("functionary", "a>b"), ("ministral", "a[ARGS]"),
                                            ("qwen3-coder", " a"), ("hermes", 'a"b')])  # fmt: skip
def test_a_name_that_a_form_cannot_carry(name: str, tool: str) -> None:
    calls = ToolCalls([{"name": tool}], name)
    if name == "hermes":  # it stands in quotes
        assert calls.value(calls.shortest())["name"] == tool
        return
    with pytest.raises(UsageError, match="cannot write"):
        calls.shortest()


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="no form of calls") as caught:
        ToolCalls(TOOLS, "herms")
    assert "hermes" in caught.value.hint
    with pytest.raises(UsageError, match="no text before a call"):
        ToolCalls(TOOLS, ToolForm((NAME, "(", ARGUMENTS, ")")), in_text=True)
    with pytest.raises(UsageError, match="ends_text is for calls in free text"):
        ToolCalls(TOOLS, "hermes", ends_text=True)
    with pytest.raises(UsageError, match="at most 64"):
        ToolCalls(TOOLS, "hermes", at_most=65)
    with pytest.raises(SchemaError, match="need names, and this schema does not declare them"):
        ToolCalls([{"name": "f", "parameters": {"enum": [{"a": 1}]}}], "qwen3-coder").shortest()
    with pytest.raises(SchemaError, match="2 arguments are required"):
        ToolCalls([{"name": "f", "parameters": {"type": "object", "minProperties": 2}}], "qwen3-coder").shortest()


def test_a_string_that_stands_raw_ends_before_what_is_behind_it() -> None:
    tools = [{"name": "f", "parameters": {"properties": {"x": {"type": "string", "maxLength": 40}}}}]
    calls = ToolCalls(tools, "qwen3-coder")
    for value in ("", "a", 'say "hi"\n\\', "</param", "\n", "é\n\n"):
        text = text_of(NAMED["qwen3-coder"], [{"name": "f", "arguments": {"x": value}}])
        assert calls.accepts(text)
        assert calls.value(text) == {"name": "f", "arguments": {"x": value}}
    for value in ("a</parameter>b", "a" * 41):
        assert not calls.accepts(text_of(NAMED["qwen3-coder"], [{"name": "f", "arguments": {"x": value}}]))


def test_arguments_one_by_one_before_the_name_are_those_of_the_tool() -> None:
    form = ToolForm(("<call>", ARGUMENTS, "|", NAME, "</call>"), separator="", arguments=Arguments("<", ">", "</>"))
    tools = [
        {"name": name, "parameters": {"properties": {key: {"type": kind}}, "required": [key]}}
        for name, key, kind in (("add", "a", "integer"), ("sub", "b", "integer"), ("say", "a", "string"))
    ]
    calls = ToolCalls(tools, form, at_most=2)
    for name, key, value in (("add", "a", 1), ("sub", "b", 2), ("say", "a", "1")):
        call = {"name": name, "arguments": {key: value}}
        text = text_of(form, [call, call])
        assert calls.accepts(text)
        assert calls.value(text) == [call, call]
    assert not calls.accepts(text_of(form, [{"name": "add", "arguments": {"b": 1}}]))


def test_counted_arguments() -> None:
    limits = {"minProperties": 1, "maxProperties": 2}
    tools = [{"name": "f", "parameters": {"properties": {key: {"type": "boolean"} for key in "abc"}, **limits}}]
    calls, form = ToolCalls(tools, "glm-4.5"), NAMED["glm-4.5"]
    for size in range(4):
        for names in itertools.combinations("abc", size):
            text = text_of(form, [{"name": "f", "arguments": dict.fromkeys(names, True)}])
            assert calls.accepts(text) is (1 <= size <= 2)


def test_banned_words_are_in_no_argument() -> None:
    banned = BannedWords(["Rome", "b"], match="substring")
    for name in ("hermes", "qwen3-coder", "gemma-4", "pythonic"):
        clean = ToolCalls(TOOLS[:1], name).without_banned(banned)
        assert clean is not None
        form = NAMED[name]
        assert not clean.accepts(text_of(form, [{"name": "look", "arguments": {"city": "Rome", "days": 1}}]))
        assert clean.accepts(text_of(form, [{"name": "look", "arguments": {"days": 1}}]))
        with pytest.raises(BannedWordsError):
            ToolCalls([{"name": "f", "parameters": {"properties": {"x": {"const": "Rome"}}, "required": ["x"]}}], name)\
                .without_banned(banned)  # fmt: skip


@every_form
def test_they_are_pickled_and_told_as_plain_data(name: str) -> None:
    calls = ToolCalls(TOOLS, name)
    again = pickle.loads(pickle.dumps(calls))
    assert again == calls
    assert hash(again) == hash(calls)
    assert again != ToolCalls(TOOLS, name, require_all=True)
    told = json.loads(json.dumps(calls.to_dict()))
    assert told["tool_format"] == name
    form = NAMED[name]
    assert form_of_plain(json.loads(json.dumps(plain_form(form)))) == form


def test_the_form_json_has_the_texts_of_the_schema() -> None:
    calls, schema = ToolCalls(TOOLS, "json"), JsonSchema(tools_schema(TOOLS))
    for call in every_call():
        text = json.dumps(call)
        assert calls.accepts(text) is schema.accepts(text) is True
        assert calls.value(text) == schema.value(text)
    assert calls.shortest() == schema.shortest()
