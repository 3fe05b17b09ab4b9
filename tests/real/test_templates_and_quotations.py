"""Templates, quotations, calls of tools and thoughts by the real model: each text has the form that it must have."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.quotations import quotations
from tests.oracles.schema_oracle import Oracle
from tests.support.real.circumstances import (
    CIRCUMSTANCES,
    PROMPTS,
    Circumstances,
    check_tokens,
    drawn,
    fewest_tokens,
    is_refused,
    written,
)
from tests.support.real.model import gguf_model, needs_file

from sfgen import Index, JsonSchema, Sampler, SfgenError, Substring, Template, generate, tools_schema
from sfgen.index import Calls, Marker

pytestmark = needs_file()

WORD = "[A-Z][a-z]{2,9}"
TEMPLATES = {
    "one hole": (f"{{{{name: regex {WORD}}}}} is here.", rf"(?P<name>{WORD}) is here\.", "Ann is here."),
    "copies": (
        f"{{{{name: regex {WORD}}}}} of {{{{city: regex {WORD}}}}}: {{{{name}}}}, {{{{name}}}}!",
        rf"(?P<name>{WORD}) of (?P<city>{WORD}): (?P=name), (?P=name)!",
        "Ann of Rome: Ann, Ann!",
    ),
    "choices and numbers": (
        "mood={{mood: choices good, bad}}; n={{n temperature 0: regex [1-9][0-9]?}}",
        r"mood=(?P<mood>good|bad); n=(?P<n>[1-9][0-9]?)",
        "mood=bad; n=1",
    ),
    "until": (
        'Why? {{why: text until "\\n" max 40}}\nEnd {{sure: choices yes, no}}',
        r"(?s)Why\? (?P<why>[^\n]{0,40})\nEnd (?P<sure>yes|no)",
        "Why? \nEnd no",
    ),
    "grammar": (
        'f({{sum: grammar root ::= [0-9] | root "+" [0-9]}})',
        r"f\((?P<sum>[0-9](\+[0-9])*)\)",
        "f(1)",
    ),
    "JSON of holes": (
        '{"name": "{{name: regex [A-Z][a-z]+}}", "tags": '
        '[{% for t in a, b %}"{{t}}{{v: regex [0-9]}}", {% endfor %}0]}',
        r'\{"name": "(?P<name>[A-Z][a-z]+)", "tags": \["a[0-9]", "b[0-9]", 0\]\}',
        '{"name": "Aa", "tags": ["a1", "b2", 0]}',
    ),
    "other scripts": ("🙂 {{t: regex [а-я]{2,5}}}、{{t}}。", "🙂 (?P<t>[а-я]{2,5})、(?P=t)。", "🙂 да、да。"),
}


@drawn("few")
@given(at=CIRCUMSTANCES)
@pytest.mark.parametrize("name", TEMPLATES)
def test_each_text_is_one_of_the_template(name: str, at: Circumstances) -> None:
    template, pattern, example = TEMPLATES[name]
    assert re.fullmatch(pattern, example)
    copied = template.count("{{name}}") + template.count("{{t}}")
    at = replace(at, room=at.room + 8 * copied)  # where text is written again the fewest tokens are an upper bound
    result = written(at, [example], template=template)
    match = re.fullmatch(pattern, result.text)
    assert match
    for group, text in match.groupdict().items():
        assert result.groups[group] == text
    if name.startswith("JSON"):
        digits = [f"{tag}{digit}" for tag, digit in zip("ab", result.groups["v"] or "", strict=True)]
        assert json.loads(result.text)["tags"] == [*digits, 0]


@drawn("some")
@given(at=CIRCUMSTANCES)
def test_a_hole_with_a_schema(at: Circumstances) -> None:
    template = "A person: {{who: schema name, age int, tags str[]}}, and {{sure: choices yes, no}}."
    result = written(at, ['A person: {"name": "", "age": 0, "tags": []}, and no.'], template=template)
    who = str(result.groups["who"])
    assert result.text == f"A person: {who}, and {result.groups['sure']}."
    schema = {
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"items": {"type": "string"}}},
        "required": ["name", "age", "tags"],
        "additionalProperties": False,
    }
    assert not Oracle(schema).fault(who)
    assert result.value == {"who": json.loads(who)}


def test_a_template_is_refused_where_no_text_fits() -> None:
    template = "{{city: choices Tegucigalpa, Ouagadougou}} or {{city}}"
    texts = ["Tegucigalpa or Tegucigalpa", "Ouagadougou or Ouagadougou"]
    fewest = fewest_tokens([texts[0], texts[1]])
    for limit in (1, fewest - 1, fewest):
        assert is_refused(limit, template=template) == (limit < fewest)


LIFE = (
    "Ada Lovelace was born in London.\n\nShe wrote “the first program”, long before there were\tcomputers;\n"
    "Charles Babbage — 日本では — had drawn one. She died at 36, and so did her father.\n"
)


@drawn("some")
@given(
    at=CIRCUMSTANCES,
    unit=st.sampled_from(["character", "word", "line"]),
    least=st.sampled_from([1, 2]),
    more=st.sampled_from([0, 1, 4, None]),
)
def test_each_text_is_a_quotation(at: Circumstances, unit: Any, least: int, more: int | None) -> None:
    most = None if more is None else least + more
    allowed = quotations(LIFE, unit, least, most)
    shortest = min(allowed, key=len).decode()
    source = Substring(LIFE, unit, least=least, most=most)
    result = written(at, [shortest], index=source)
    assert result.text.encode() in allowed
    places = source.places(result.text)
    assert places
    assert all(LIFE[place:].startswith(result.text) for place in places)


def test_a_question_is_answered_with_a_quotation() -> None:
    prompt = f"{LIFE}\nQuestion: Where was Ada born?\nAnswer: Ada was born in"
    assert "London" in generate(gguf_model(), prompt, index=Substring(LIFE, "word", most=6), max_tokens=20).text


TOOLS = [
    {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
            "required": ["city"],
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    },
    {
        "name": "search",
        "input_schema": {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}},
    },
]
PARAMETERS: dict[str, Any] = {
    "weather": TOOLS[0]["parameters"],
    "add": TOOLS[1]["function"]["parameters"],  # type: ignore[index]
    "search": TOOLS[2]["input_schema"],
}


def check_call(call: Any) -> None:
    """Check that a call is of a tool that there is, with arguments that its parameters allow."""
    assert set(call) == {"name", "arguments"}
    assert Oracle(PARAMETERS[call["name"]]).is_valid(call["arguments"])


@drawn("some")
@given(at=CIRCUMSTANCES)
def test_each_text_is_a_call_of_a_tool(at: Circumstances) -> None:
    source = Index(JsonSchema(tools_schema(TOOLS)), gguf_model().vocabulary)
    result = written(at, ['{"name": "search", "arguments": {}}'], index=source)
    check_call(json.loads(result.text))
    assert result.value == json.loads(result.text)


@drawn("few")
@given(
    prompt=st.sampled_from(PROMPTS),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    seed=st.integers(0, 999),
    marker=st.sampled_from([" ", "\n", "e", ". "]),
    limit=st.integers(1, 60),
)
def test_free_text_with_calls(prompt: str, temperature: float, seed: int, marker: str, limit: int) -> None:
    """Behind each marker a call begins, as long as it can be; none is cut."""
    source = Index(JsonSchema(tools_schema(TOOLS)), gguf_model().vocabulary)
    sampler = Sampler(temperature, seed)
    result = generate(gguf_model(), prompt, index=source, when=marker, max_tokens=limit, sampler=sampler)
    check_tokens(prompt, result, limit)
    rest, calls = result.text, []
    while marker in rest:
        _, _, rest = rest.partition(marker)
        value, end = json.JSONDecoder().raw_decode(rest)
        calls.append(value)
        rest = rest[end:]
    for call in calls:
        check_call(call)
    assert list(result.calls or ()) == calls
    spans = Calls(Marker(marker.encode()), source).spans(result.text.encode())
    assert len(spans) == len(calls)


@drawn("some")
@given(at=CIRCUMSTANCES, marker=st.sampled_from([".", "\n", "</think>", "so: "]), most=st.sampled_from([1, 5, 20]))
def test_a_thought_before_the_text(at: Circumstances, marker: str, most: int) -> None:
    result = generate(
        gguf_model(),
        at.prompt,
        choices=["yes", "no"],
        after=marker,
        after_tokens=most,
        sampler=at.sampler,
        max_tokens=3,
    )
    assert result.text in ("yes", "no")
    thought, tokens = result.thought or "", gguf_model().vocabulary.tokens
    assert marker not in thought
    spelled = b"".join(tokens[token] or b"" for token in result.token_ids).decode(errors="replace")
    # A thought is cut at its limit, if need be in the middle of a character.
    assert spelled == (result.healed or "") + thought + marker + result.text


def test_faulty_templates_are_refused() -> None:
    for template in ("{{a}}", "{{a: regex [}}", "{{a: choices}}", "{{a: text until}}", "{% for x in a %}{{x}}"):
        with pytest.raises(SfgenError):
            generate(gguf_model(), "A person: ", template=template)
    with pytest.raises(SfgenError):
        generate(gguf_model(), "A person: ", template=Path("absent.txt"))


def test_a_template_gives_its_own_prompt() -> None:
    prompt, rest = Template(
        f"Ann lives in Rome: Rome.\nBob lives in Paris: Paris.\nCarla lives in London: {{{{city: regex {WORD}}}}}."
    ).split()
    assert generate(gguf_model(), prompt, index=rest, max_tokens=12).groups == {"city": "London"}
