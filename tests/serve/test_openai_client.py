"""The client of OpenAI, as people use it: created, parsed and streamed answers, structured outputs, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

from sfgen import generate
from sfgen.protocols import Model
from sfgen.serve import Limits

openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")

HI: Any = [{"role": "user", "content": "Hi!"}]


class Person(pydantic.BaseModel):  # type: ignore[misc,name-defined]
    name: str = pydantic.Field(max_length=5)
    kind: Literal["elf", "orc"]
    friends: list[int] = pydantic.Field(max_length=2)


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as made:
        yield made


def test_the_models_are_listed(client: Any) -> None:
    assert [model.id for model in client.models.list()] == ["tiny", "chat"]


def test_a_model_is_told_by_its_name(client: Any) -> None:
    assert client.models.retrieve("chat") == list(client.models.list())[1]
    with pytest.raises(openai.NotFoundError, match="there is no model 'org/other' here; there is tiny, chat"):
        client.models.retrieve("org/other")


def test_a_completion(client: Any) -> None:
    done = client.completions.create(model="tiny", prompt="Once upon", max_tokens=9, seed=4, logprobs=2, n=2)
    want = [generate("tiny", "Once upon", temperature=1.0, max_tokens=9, seed=seed).text for seed in (4, 5)]
    assert [choice.text for choice in done.choices] == want
    assert done.choices[0].finish_reason == "length"
    assert len(done.choices[0].logprobs.token_logprobs) == 9
    assert done.usage.completion_tokens == 18


def test_a_completion_of_several_prompts(client: Any) -> None:
    done = client.completions.create(model="tiny", prompt=["Once", "The"], max_tokens=5, seed=4, n=2)
    want = [
        generate("tiny", prompt, temperature=1.0, max_tokens=5, seed=seed).text
        for prompt in ("Once", "The")
        for seed in (4, 5)
    ]
    assert [choice.text for choice in sorted(done.choices, key=lambda each: each.index)] == want


def test_a_streamed_completion(client: Any) -> None:
    parts = list(
        client.completions.create(
            model="tiny", prompt="Once upon", max_tokens=30, seed=4, stream=True, extra_body={"banned_strings": ["e"]}
        )
    )
    text = "".join(part.choices[0].text for part in parts)
    assert "e" not in text
    assert len(parts) > 5
    assert parts[-1].choices[0].finish_reason == "length"


def test_an_answer(client: Any, chat_model: Model) -> None:
    done = client.chat.completions.create(model="chat", messages=HI, max_completion_tokens=9, seed=4)
    assert done.choices[0].message.content == generate(chat_model, HI, temperature=1.0, max_tokens=9, seed=4).text
    assert done.object == "chat.completion"


def test_a_streamed_answer_tells_its_usage(client: Any, chat_model: Model) -> None:
    parts = list(
        client.chat.completions.create(
            model="chat", messages=HI, max_tokens=9, seed=4, n=2, stream=True, stream_options={"include_usage": True}
        )
    )
    for index in (0, 1):
        told = [choice for part in parts for choice in part.choices if choice.index == index]
        text = "".join(choice.delta.content or "" for choice in told)
        assert text == generate(chat_model, HI, temperature=1.0, max_tokens=9, seed=4 + index).text
        assert told[-1].finish_reason == "length"
    assert parts[-1].usage.completion_tokens == 18
    assert parts[-1].choices == []


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_is_parsed(client: Any, seed: int) -> None:
    done = client.chat.completions.parse(model="chat", messages=HI, response_format=Person, seed=seed)
    person = done.choices[0].message.parsed
    assert isinstance(person, Person)
    assert done.choices[0].finish_reason == "stop"


def test_a_stream_is_parsed(client: Any) -> None:
    with client.chat.completions.stream(model="chat", messages=HI, response_format=Person, seed=3) as stream:
        kinds = [event.type for event in stream]
        person = stream.get_final_completion().choices[0].message.parsed
    assert isinstance(person, Person)
    assert "content.delta" in kinds


@pytest.mark.parametrize(
    ("extra", "pattern"),
    [
        ({"structured_outputs": {"regex": "[0-9]{3}"}}, "[0-9]{3}"),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, "yes|no"),
        ({"structured_outputs": {"grammar": 'root ::= "<" [0-9] ">"'}}, "<[0-9]>"),
        ({"guided_regex": "[0-9]{3}"}, "[0-9]{3}"),
        ({"sfgen": {"template": "{{a: regex [0-9]}}!"}}, "[0-9]!"),
    ],
)
def test_outputs_are_structured(client: Any, extra: dict[str, Any], pattern: str) -> None:
    done = client.chat.completions.create(model="chat", messages=HI, extra_body=extra)
    assert re.fullmatch(pattern, done.choices[0].message.content)


def test_errors_are_those_of_the_client(client: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="tiny", prompt="x", extra_body={"regex": "a(b"})
    assert refused.value.param == "regex"
    assert refused.value.code == "pattern_error"
    assert refused.value.type == "invalid_request_error"
    assert "^" in refused.value.message
    assert refused.value.body["column"] == 2
    with pytest.raises(openai.BadRequestError, match="no_such"):
        client.completions.create(model="tiny", prompt="x", extra_body={"no_such": 1}, stream=True)
    with pytest.raises(openai.NotFoundError, match="there is tiny, chat"):
        client.chat.completions.create(model="gpt-9", messages=HI)
    with pytest.raises(openai.BadRequestError, match=r"at least [0-9]+") as refused:
        client.chat.completions.create(model="chat", messages=HI, max_tokens=3, extra_body={"regex": "[0-9]{99}"})
    assert refused.value.param == "max_tokens"


def test_an_error_in_mid_stream_is_raised(serving: Callable[..., Any]) -> None:
    endless = {"max_tokens": 2000, "logit_bias": {"1": -100}}  # it hardly ends by itself, and not in time
    url = serving("tiny", limits=Limits(request_seconds=0.2)).url
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as hasty:
        parts = hasty.completions.create(model="tiny", prompt="Once", stream=True, **endless)
        assert next(parts).choices[0].text
        with pytest.raises(openai.APIError, match="took longer than") as raised:
            list(parts)
        assert not isinstance(raised.value, openai.APIStatusError)
        with pytest.raises(openai.InternalServerError, match="took longer than"):
            hasty.completions.create(model="tiny", prompt="Once", **endless)
        assert hasty.completions.create(model="tiny", prompt="Once", max_tokens=3).choices[0].text
