"""Every field of a request: it has an effect, or asks for nothing, or is refused by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from sfgen import generate
from sfgen.models.tiny.model import TinyModel
from sfgen.serve import app
from sfgen.serve.bodies import ChatRequest, CompletionRequest, OwnKeys, StructuredOutputs
from sfgen.serve.constraints import WithoutTokens
from sfgen.serve.engine import SlowMask
from sfgen.serve.generation_request import read_request
from sfgen.serve.unsupported_fields import HARMLESS, NEUTRAL, fault_of

Check = Callable[[dict[str, Any]], bool]
Case = tuple[dict[str, Any], Check]

PROMPT = "Once upon"


@pytest.fixture(scope="module")
def tiny() -> Iterator[TestClient]:
    with TestClient(app("tiny"), base_url="http://localhost") as client:
        yield client


def asked(client: TestClient, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/completions", json={"prompt": PROMPT, "seed": 1, "max_tokens": 12, **fields})
    assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()
    return done


def refused(client: TestClient, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/completions", json=fields)
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    return error


def text_of(done: dict[str, Any]) -> str:
    text: str = done["choices"][0]["text"]
    return text


def matches(pattern: str) -> Check:
    return lambda done: re.fullmatch(pattern, text_of(done)) is not None


def is_json(kind: type) -> Check:
    return lambda done: isinstance(json.loads(text_of(done)), kind)


def as_generated(**parameters: Any) -> Check:
    """The text is the one that the library writes."""
    given = {"temperature": 1.0, "seed": 1, "max_tokens": 12, **parameters}
    return lambda done: text_of(done) == generate("tiny", PROMPT, **given).text


def has_none_of(*texts: str) -> Check:
    return lambda done: not any(each in text_of(done) for each in texts)


def to_the_end(done: dict[str, Any]) -> bool:
    """The text is as long as the model likes, and much longer than the text of a request without a limit."""
    return done["usage"]["completion_tokens"] > 100 and as_generated(temperature=0, max_tokens=2000)(done)


SCHEMA = {"type": "array", "items": {"type": "integer", "maximum": 9, "minimum": 0}, "minItems": 2, "maxItems": 2}
LONG = {"max_tokens": 60}
NAMED = {"name": "x", "schema": SCHEMA, "strict": True}
GBNF = 'root ::= "<" [0-9]+ ">"'
TINY = TinyModel()
SPACE = TINY.encode_inside(" a")[0]
POINT = {str(TINY.encode_inside(".")[0]): 100}

COMMON: dict[str, list[Case]] = {
    "model": [({"model": "tiny"}, lambda done: done["model"] == "tiny")],
    "stream": [({"stream": False}, as_generated())],
    "stream_options": [({"stream_options": {"include_usage": True}}, as_generated())],
    "n": [({"n": 3}, lambda done: len({choice["text"] for choice in done["choices"]}) == 3)],
    "seed": [({"seed": 9}, as_generated(seed=9)), ({"seed": -1}, lambda done: True)],
    "stop": [
        ({"stop": "a"}, has_none_of("a")),
        ({"stop": ["zzz", "up"], **LONG}, as_generated(stop=["zzz", "up"], max_tokens=60)),
        ({"stop": []}, as_generated()),
    ],
    "max_tokens": [
        ({"max_tokens": 3}, as_generated(max_tokens=3)),
        ({"max_tokens": None}, as_generated(max_tokens=16)),
        ({"max_tokens": -1, "temperature": 0}, to_the_end),
        ({"max_tokens": -1, "n_predict": 3}, as_generated(max_tokens=3)),
    ],
    "n_predict": [
        ({"n_predict": 3}, as_generated(max_tokens=3)),
        ({"n_predict": 3, "max_tokens": 2}, as_generated(max_tokens=2)),
        ({"n_predict": -1, "max_tokens": 2}, as_generated(max_tokens=2)),
        ({"n_predict": -1, "max_tokens": None, "temperature": 0}, to_the_end),
    ],
    "temperature": [
        ({"temperature": 0}, as_generated(temperature=0)),
        ({"temperature": 3}, as_generated(temperature=3)),
    ],
    "top_p": [({"top_p": 0.3}, as_generated(top_p=0.3)), ({"top_p": 1}, as_generated())],
    "top_k": [({"top_k": 2}, as_generated(top_k=2)), ({"top_k": -1}, as_generated()), ({"top_k": 0}, as_generated())],
    "min_p": [({"min_p": 0.4}, as_generated(min_p=0.4))],
    "repetition_penalty": [({"repetition_penalty": 3}, as_generated(repetition_penalty=3))],
    "frequency_penalty": [({"frequency_penalty": 2}, as_generated(frequency_penalty=2))],
    "presence_penalty": [({"presence_penalty": 2}, as_generated(presence_penalty=2))],
    "logit_bias": [
        ({"logit_bias": {str(SPACE): -100}}, as_generated(logit_bias={SPACE: -100})),
        ({"logit_bias": [[SPACE, -100]]}, as_generated(logit_bias={SPACE: -100})),
        ({"logit_bias": [[SPACE, False]]}, has_none_of(" ")),
    ],
    "response_format": [
        ({"response_format": {"type": "text"}}, as_generated()),
        ({"response_format": {"type": "json_object"}, "seed": 5, "max_tokens": 80}, is_json(dict)),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}, **LONG}, is_json(list)),
        ({"response_format": {"type": "json_schema", "json_schema": NAMED}, **LONG}, is_json(list)),
    ],
    "numbers": [
        ({"numbers": "any", "json_schema": {"const": 1}, "logit_bias": POINT}, matches("1[.]00?")),
        ({"numbers": "any", "sfgen": {"schema": {"const": 1}}, "logit_bias": POINT}, matches("1[.]00?")),
        ({"numbers": "schema", "json_schema": {"const": 1}, "logit_bias": POINT}, matches("1")),
        ({"numbers": "schema"}, as_generated()),
    ],
    "structured_outputs": [
        ({"structured_outputs": {"json": SCHEMA}, **LONG}, is_json(list)),
        ({"structured_outputs": {"json": json.dumps(SCHEMA)}, **LONG}, is_json(list)),
        ({"structured_outputs": {"regex": "[0-9]{3}"}}, matches("[0-9]{3}")),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, matches("yes|no")),
        ({"structured_outputs": {"grammar": GBNF}}, matches("<[0-9]+>")),
        ({"structured_outputs": {"json_object": True}, "max_tokens": 80}, is_json(dict)),
        ({"structured_outputs": {"json_object": False}}, as_generated()),
    ],
    "guided_json": [
        ({"guided_json": SCHEMA, **LONG}, is_json(list)),
        ({"guided_json": "true", **LONG}, is_json(object)),
    ],
    "guided_regex": [({"guided_regex": "[0-9]{3}"}, matches("[0-9]{3}")), ({"guided_regex": ""}, as_generated())],
    "guided_choice": [({"guided_choice": ["yes", "no"]}, matches("yes|no"))],
    "guided_grammar": [({"guided_grammar": GBNF}, matches("<[0-9]+>"))],
    "grammar": [({"grammar": GBNF}, matches("<[0-9]+>")), ({"grammar": ""}, as_generated())],
    "grammar_string": [({"grammar_string": GBNF}, matches("<[0-9]+>"))],
    "json_schema": [
        ({"json_schema": SCHEMA, **LONG}, is_json(list)),
        ({"json_schema": json.dumps(SCHEMA), **LONG}, is_json(list)),
    ],
    "regex": [({"regex": "[0-9]{3}"}, matches("[0-9]{3}")), ({"regex": ""}, matches(""))],
    "regex_pattern": [({"regex_pattern": "[0-9]{3}"}, matches("[0-9]{3}"))],
    "ebnf": [({"ebnf": GBNF}, matches("<[0-9]+>"))],
    "banned_strings": [
        ({"banned_strings": ["e", "A"], **LONG}, has_none_of("e", "E", "a", "A")),
        ({"banned_strings": [" a"], **LONG}, has_none_of(" a", " A")),
        ({"banned_strings": []}, as_generated()),
        ({"banned_strings": ""}, as_generated()),
        ({"banned_strings": ["e"], "regex": "[d-f]{4}", "prompt": ["Once", "The"]}, matches("[df]{4}")),
        ({"banned_strings": ["ee"], "regex": "[d-e]{4}", "prompt": TINY.encode("The e"), "n": 2}, matches("[de]{4}")),
        ({"banned_strings": ["e"], "json_schema": {"enum": ["e", "d"]}}, matches('"d"')),
    ],
    "bad_words": [({"bad_words": ["e"], **LONG}, has_none_of("e", "E"))],
    "banned_tokens": [
        ({"banned_tokens": ["e"], **LONG}, has_none_of("e", "E")),
        ({"banned_tokens": [SPACE], **LONG}, lambda done: SPACE not in TINY.encode_inside(text_of(done))),
        ({"banned_tokens": f"{SPACE}, 300"}, has_none_of("  ")),
        ({"banned_tokens": [SPACE, "e"], **LONG}, has_none_of("e", "E")),
        ({"banned_tokens": ""}, as_generated()),
    ],
    "custom_token_bans": [({"custom_token_bans": [SPACE]}, lambda done: not as_generated()(done))],
    "banned_regex": [({"banned_regex": ["[aeu]"], **LONG}, has_none_of("a", "e", "u"))],
    "banned_regex_case_insensitive": [
        ({"banned_regex_case_insensitive": ["[aeu]"], **LONG}, has_none_of("a", "E", "U"))
    ],
    "token_healing": [
        ({"token_healing": True}, as_generated(heal=True)),
        ({"token_healing": False, "sfgen": {"healing": False}}, as_generated(heal=False)),
    ],
    "sfgen": [({"sfgen": {}}, as_generated())],
}  # fmt: skip

OWN: dict[str, list[Case]] = {
    "regex": [({"regex": "[0-9]{3}"}, matches("[0-9]{3}"))],
    "choices": [({"choices": ["yes", "no"]}, matches("yes|no"))],
    "schema": [({"schema": SCHEMA}, is_json(list)), ({"schema": "n int"}, is_json(dict))],
    "grammar": [({"grammar": GBNF}, matches("<[0-9]+>"))],
    "substring": [
        ({"substring": "Ada wrote it."}, lambda done: text_of(done) in "Ada wrote it."),
        ({"substring": {"text": "Ada wrote it.", "unit": "word"}}, lambda done: text_of(done) in "Ada wrote it."),
    ],
    "template": [({"template": "{{a: choices x, y}}-{{b: regex [0-9]}}"}, matches("[xy]-[0-9]"))],
    "ban": [({"ban": ["upon", "a", "time"]}, as_generated(banned=["upon", "a", "time"], max_tokens=40))],
    "match": [({"ban": ["i"], "match": "substring"}, has_none_of("i", "I"))],
    "ignore_case": [({"ban": ["i"], "match": "substring", "ignore_case": False}, has_none_of("i"))],
    "normalize": [({"ban": ["time"], "normalize": True}, has_none_of("time"))],
    "allow": [({"ban": ["a"], "allow": ["a time"]}, lambda done: True)],
    "strategy": [
        ({"strategy": strategy, "ban": ["time"]}, as_generated(banned=["time"], strategy=strategy, max_tokens=40))
        for strategy in ("resample", "mask", "first-token")
    ] + [({"strategy": "exact", "regex": "[a-z]{3}"}, matches("[a-z]{3}"))],
    "healing": [({"healing": False}, as_generated(heal=False, max_tokens=40))],
    "seed": [({"seed": 1}, as_generated(max_tokens=40))],
    "max_tokens": [({"max_tokens": 3}, as_generated(max_tokens=3))],
}  # fmt: skip

COMPLETIONS: dict[str, list[Case]] = {
    "prompt": [
        ({"prompt": ["Once upon", "The"]}, lambda done: len(done["choices"]) == 2 and as_generated()(done)),
        ({"prompt": TINY.encode(PROMPT)}, as_generated()),
        ({"prompt": [TINY.encode(PROMPT)]}, as_generated()),
    ],
    "logprobs": [({"logprobs": 3}, lambda done: len(done["choices"][0]["logprobs"]["tokens"]) == 12)],
}


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        pytest.param(*case, id=f"{name}-{number}")
        for name, cases in {**COMMON, **COMPLETIONS}.items()
        for number, case in enumerate(cases)
    ],
)
def test_a_field_is_kept_to(tiny: TestClient, fields: dict[str, Any], check: Check) -> None:
    assert check(asked(tiny, **fields))


@pytest.mark.parametrize(
    ("keys", "check"),
    [pytest.param(*case, id=f"{name}-{number}") for name, cases in OWN.items() for number, case in enumerate(cases)],
)
def test_a_key_of_ours_is_kept_to(tiny: TestClient, keys: dict[str, Any], check: Check) -> None:
    assert check(asked(tiny, max_tokens=40, sfgen=keys))


def test_the_tables_have_all_fields() -> None:
    def names(kind: Any) -> set[str]:
        return {field.alias or name for name, field in kind.model_fields.items()}

    assert names(CompletionRequest) == {*COMMON, *COMPLETIONS}
    of_chat = {"messages", "max_completion_tokens", "logprobs", "top_logprobs", "chat_template_kwargs"}
    of_functions = {"tools", "tool_choice", "parallel_tool_calls"}  # see test_tools.py
    of_thoughts = {"reasoning_effort", "reasoning_format", "separate_reasoning", "include_reasoning"}
    of_thoughts |= {"thinking_token_budget", "thinking_budget_tokens"}  # see test_thoughts.py
    assert names(ChatRequest) - {*COMMON} == of_chat | of_functions | of_thoughts  # see test_chat.py
    assert names(OwnKeys) - {*OWN} == {"messages"}
    outputs = {key for fields, _ in COMMON["structured_outputs"] for key in fields["structured_outputs"]}
    assert names(StructuredOutputs) == outputs
    known = names(CompletionRequest) | names(ChatRequest)
    of_both = of_functions | {"reasoning_effort", "reasoning_format", "separate_reasoning", "include_reasoning"}
    assert known & (HARMLESS | NEUTRAL.keys()) == of_both  # of no use to completions
    assert not HARMLESS & NEUTRAL.keys()


# ---- what is not kept to ---------------------------------------------------------------------------------------------


def test_values_that_ask_for_nothing_pass(tiny: TestClient) -> None:
    idle = {name: values[0] for name, values in NEUTRAL.items() if values}
    done = asked(tiny, **dict.fromkeys(HARMLESS, "x"), **idle, **dict.fromkeys(set(NEUTRAL) - set(idle)))
    assert as_generated()(done)


@pytest.mark.parametrize("name", [*NEUTRAL, "no_such_field", "tools"])
def test_any_other_value_is_refused_by_name(tiny: TestClient, name: str) -> None:
    error = refused(tiny, **{"prompt": PROMPT, name: 0.77})
    assert error["param"] == name
    assert name in error["message"]
    assert error["code"] == ("unknown_parameter" if name == "no_such_field" else "unsupported_value")


def test_what_a_neutral_value_is_depends_on_its_kind() -> None:
    assert fault_of("echo", 0, {}) is not None
    assert fault_of("repeat_penalty", True, {}) is not None
    assert fault_of("repeat_penalty", 1.0, {}) is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"repetition_penalty": 1.2, "rep_pen_range": 64}, "rep_pen_range"),
        ({"top_k": 5, "top_p": 0.5, "sampler_order": [6, 0]}, "sampler_order"),
        ({"stop": "a", "regex": "a+"}, "stop"),
        ({"stop": ["a", ""]}, "stop"),
        ({"regex": "a", "ebnf": GBNF}, "ebnf"),
        ({"regex": "a", "sfgen": {"choices": ["a"]}}, "sfgen.choices"),
        ({"seed": 1, "sfgen": {"seed": 2}}, "sfgen.seed"),
        ({"stop": [str(number) for number in range(2000)]}, "stop"),
        ({"sfgen": {"no": 1}}, "sfgen.no"),
        ({"sfgen": {"match": "word"}}, "sfgen.match"),
        ({"sfgen": {"strategy": "best"}}, "sfgen.strategy"),
        ({"sfgen": {"messages": [{"role": "user", "content": "x"}]}}, "sfgen.messages"),
        ({"sfgen": {"strategy": "exact"}, "logprobs": 1}, "logprobs"),
        ({"sfgen": {"strategy": "exact", "healing": True}}, "sfgen.healing"),
        ({"sfgen": {"substring": {"document": "x"}}}, "sfgen"),
        ({"sfgen": {"ban": ["  "]}}, "sfgen.ban"),
        ({"structured_outputs": {"structural_tag": "x"}}, "structured_outputs.structural_tag"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema"),
        ({"response_format": {"type": "grammar"}}, "response_format.type"),
        ({"response_format": {"type": "text", "json_schema": NAMED}}, "response_format.type"),
        ({"response_format": {"type": "text", "schema": SCHEMA}}, "response_format.type"),
        ({"response_format": {"type": "json_object", "json_schema": NAMED}}, "response_format.json_schema"),
        ({"response_format": {"type": "json_schema", "json_schema": NAMED, "schema": True}},
         "response_format.json_schema"),
        ({"response_format": {"type": "json_object"}, "guided_json": SCHEMA}, "guided_json"),  # as vLLM
        ({"numbers": "any", "regex": "1"}, "numbers"),
        ({"numbers": "any"}, "numbers"),
        ({"numbers": "all", "json_schema": True}, "numbers"),
        ({"guided_json": "name"}, "guided_json"),
        ({"guided_choice": []}, "guided_choice"),
        ({"banned_strings": [""]}, "banned_strings"),
        ({"banned_strings": ["e"], "regex": "e{2}"}, "banned_strings"),
        ({"banned_strings": ["e"], "json_schema": {"const": "e"}}, "banned_strings"),
        ({"banned_strings": ["  ", ""]}, "banned_strings"),
        ({"banned_regex": ["("]}, "banned_regex"),
        ({"banned_tokens": "the"}, "banned_tokens"),
        ({"banned_tokens": [99999]}, "banned_tokens"),
        ({"banned_tokens": [-3]}, "banned_tokens"),
        ({"banned_tokens": [1]}, "banned_tokens"),  # it ends a text
        ({"banned_tokens": [True]}, "banned_tokens[0]"),
        ({"logit_bias": {"the": 3}}, "logit_bias"),
        ({"logit_bias": {"99999": 3}}, "logit_bias"),
        ({"logit_bias": [[-1, 3]]}, "logit_bias"),
        ({"banned_strings": ["x"], "banned_regex": ["("]}, "banned_regex"),
        ({"banned_regex": [r"[\s\S]"], "prompt": "Once ", "seed": 1}, "banned_regex"),  # nothing can be written
        ({"logit_bias": {"9": 101}}, "logit_bias"),
        ({"n": 0}, "n"),
        ({"temperature": -1}, "temperature"),
        ({"logprobs": 99}, "logprobs"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [99999]}, "prompt"),
        ({"prompt": "a" * 9000}, "prompt"),
        ({"regex": "[0-9]{9}", "max_tokens": 3}, "max_tokens"),
        ({"regex": "[0-9]{9}", "sfgen": {"max_tokens": 3}}, "sfgen.max_tokens"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field(tiny: TestClient, fields: dict[str, Any], param: str) -> None:
    assert refused(tiny, **{"prompt": PROMPT, **fields})["param"] == param


@pytest.mark.parametrize(
    ("fields", "line", "column"),
    [
        ({"regex": "a(b"}, 1, 2),
        ({"guided_json": '{\n"type": "strin"}'}, 2, 9),
        ({"ebnf": 'root ::= "a"\nother ::= ['}, 2, 11),
        ({"sfgen": {"template": "ab\n{{x: regex (}}"}}, 2, 12),
    ],
)
def test_an_error_in_a_constraint_shows_the_place(
    tiny: TestClient, fields: dict[str, Any], line: int, column: int
) -> None:
    error = refused(tiny, prompt=PROMPT, **fields)
    assert (error["line"], error["column"]) == (line, column)
    assert re.search(r"^ *\^", error["message"], re.M)


LISTS = ("banned_strings", "bad_words", "banned_regex", "banned_regex_case_insensitive", "guided_choice")
OWN_LISTS = ("choices", "ban", "allow")


@pytest.mark.parametrize("path", [*LISTS, "structured_outputs.choice", *(f"sfgen.{name}" for name in OWN_LISTS)])
def test_a_text_in_place_of_a_list_is_refused(tiny: TestClient, path: str) -> None:
    """Else words between commas would be one banned text, which no text contains."""
    outer, _, inner = path.rpartition(".")
    fields = {outer: {inner: "talk,listen"}} if outer else {inner: "talk,listen"}
    error = refused(tiny, prompt="Can we talk?", max_tokens=30, temperature=0, **fields)
    assert error["param"] == path
    assert error["message"].startswith(f'{path} must be a list, not "talk,listen"')


def test_a_slow_mask_is_the_constraint_s_fault() -> None:
    for field in ("grammar", "ebnf"):
        assert read_request(CompletionRequest.model_validate({field: GBNF})).field_of(SlowMask(1)) == field


def test_the_least_limit_is_told(tiny: TestClient) -> None:
    error = refused(tiny, prompt=PROMPT, regex="[0-9]{9}", max_tokens=3)
    assert error["code"] == "limit_too_small"
    assert "at least 9" in error["message"]
    assert asked(tiny, regex="[0-9]{9}", max_tokens=9)["choices"][0]["finish_reason"] == "stop"


def test_a_prompt_that_is_too_long_has_the_code_that_clients_know(tiny: TestClient) -> None:
    assert refused(tiny, prompt="a" * 9000)["code"] == "context_length_exceeded"


def test_a_prompt_of_millions_of_characters_is_not_made_into_tokens(
    tiny: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TinyModel, "encode", lambda self, text: pytest.fail("it takes seconds"))
    for prompt in ("a b" * 10**6, ["a", "a b" * 10**6]):
        error = refused(tiny, prompt=prompt)
        assert (error["param"], error["code"]) == ("prompt", "context_length_exceeded")


def test_tokens_that_write_the_end_of_the_prompt_again_are_not_counted(tiny: TestClient) -> None:
    for prompt in ("Once ", "Once upon a ti", "Once upon"):
        healed, taken = (asked(tiny, prompt=prompt, sfgen={"healing": heal}, seed=1) for heal in (True, False))
        usage = healed["usage"]
        assert usage["prompt_tokens"] == taken["usage"]["prompt_tokens"] == len(TINY.encode(prompt))
        assert usage["completion_tokens"] == 12
        assert healed["choices"][0]["finish_reason"] == "length"


def test_more_texts_than_can_wait_are_refused(tiny: TestClient) -> None:
    assert refused(tiny, prompt=["x"] * 100, n=100)["param"] == "n"
    assert refused(tiny, prompt=["x"] * 1000)["param"] == "prompt"


@pytest.mark.parametrize("fields", [{}, {"regex": "[a-z ]{9,20}"}, {"json_schema": {"type": "string", "maxLength": 9}}])
def test_tokens_that_are_banned_by_id_are_never_written(tiny: TestClient, fields: dict[str, Any]) -> None:
    allowed = {**fields, "schema": fields.get("json_schema")}
    allowed.pop("json_schema", None)
    usual = generate("tiny", PROMPT, temperature=1.0, seed=1, max_tokens=40, **allowed)
    # All that the text begins with but single bytes, without which hardly a text can be written.
    never = {token for token in usual.token_ids if len(TINY.vocabulary.tokens[token] or b"") > 1} | {300}
    without: Any = WithoutTokens(TINY, never)
    want = generate(without, PROMPT, temperature=1.0, seed=1, max_tokens=40, **allowed)
    assert not never.intersection(want.token_ids)
    assert text_of(asked(tiny, banned_tokens=sorted(never), max_tokens=40, **fields)) == want.text != usual.text


def test_a_name_is_never_a_path(tiny: TestClient, tmp_path: Any) -> None:
    (tmp_path / "a.gbnf").write_text('root ::= "secret"')
    (tmp_path / "a.json").write_text('{"const": "secret"}')
    for kind, file in (("schema", "a.json"), ("grammar", "a.gbnf"), ("substring", "a.json")):
        for where in (f"{{{{x: {kind} {tmp_path / file}}}}}", f"{{{{x: {kind} ../{file}}}}}"):
            error = refused(tiny, prompt=PROMPT, sfgen={"template": where})
            assert "secret" not in error["message"]
    assert refused(tiny, prompt=PROMPT, grammar=str(tmp_path / "a.gbnf"))["param"] == "grammar"
    assert refused(tiny, prompt=PROMPT, sfgen={"schema": str(tmp_path / "a.json")})["param"].startswith("sfgen")


def test_a_body_that_is_no_json_is_told_so(tiny: TestClient) -> None:
    answer = tiny.post("/v1/completions", content='{"prompt": "x",}', headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_json"
    answer = tiny.post("/v1/completions", content='{"prompt": "x"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415
    answer = tiny.post("/v1/completions", json=["x"])
    assert answer.status_code == 400
    assert "JSON object" in answer.json()["error"]["message"]


def test_an_unknown_model_is_not_found(tiny: TestClient) -> None:
    answer = tiny.post("/v1/completions", json={"model": "gpt-9", "prompt": "x"})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"
    assert answer.json()["error"]["param"] == "model"
