"""pydantic-ai over the server: outputs of a type by a call and by a schema, agents with functions, streams, errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal

import pytest
from tests.serve.conftest import Running
from tests.support.models.caller import CALL, Caller
from tests.support.models.thinking import Thinker

from sfgen.serve import Limits

pydantic = pytest.importorskip("pydantic")
pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent, NativeOutput  # noqa: E402
from pydantic_ai.exceptions import (  # noqa: E402
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.models import Model  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402

MODELS = [OpenAIChatModel, OpenAIResponsesModel]
BO = '{"name": "Bo", "kind": "elf", "friends": [1]}'


class Person(pydantic.BaseModel):  # type: ignore[misc,name-defined]
    name: str = pydantic.Field(max_length=5)
    kind: Literal["elf", "orc"]
    friends: list[int] = pydantic.Field(max_length=2)


PERSON = Person(name="Bo", kind="elf", friends=[1])


THINKER = Thinker("Rome or Oslo?</think>\n\nRome.")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of a model that calls, one that writes a person, and one that calls with a person."""
    called = f'<tool_call>\n{{"name": "final_result", "arguments": {BO}}}\n</tool_call>'
    models = {
        "caller": Caller("I look. " + CALL, later="It is sunny."),
        "writer": Caller(BO),
        "finisher": Caller(called),
        "looker": Caller(CALL, later=called),
        "thinker": THINKER,
    }
    running = Running(models, grace=0, limits=Limits(max_prompt=3000))
    yield f"{running.url}/v1"
    running.stop()


@pytest.fixture
def asking(address: str) -> Callable[..., Any]:
    """``asking("caller", ask, OpenAIChatModel, …)``: what ``ask`` returns for an agent of a model of the server."""

    def asked(
        name: str, ask: Callable[[Agent[None, Any]], Awaitable[Any]], kind: type[Any] = OpenAIChatModel, **options: Any
    ) -> Any:
        async def run() -> Any:
            provider = OpenAIProvider(base_url=address, api_key="none")
            model: Model = kind(name, provider=provider)
            settings: Any = {"temperature": 0} | options.pop("settings", {})
            async with Agent(model, model_settings=settings, **options) as agent:
                return await ask(agent)

        return asyncio.run(run())

    return asked


async def output(agent: Agent[None, Any]) -> Any:
    return (await agent.run("Hi!")).output


async def streamed(agent: Agent[None, Any]) -> list[Any]:
    """All that a stream tells, whole at each step."""
    async with agent.run_stream("Hi!") as stream:
        return [each async for each in stream.stream_output(debounce_by=None)]


def weather(city: Literal["Rome", "Oslo"]) -> str:
    """Tell the weather."""
    return f"The sun shines in {city}."


@pytest.mark.parametrize("kind", MODELS)
def test_an_output_is_the_arguments_of_a_call(asking: Callable[..., Any], kind: type[Any]) -> None:
    assert asking("finisher", output, kind, output_type=Person) == PERSON


@pytest.mark.parametrize("kind", MODELS)
def test_an_output_is_written_by_a_schema(asking: Callable[..., Any], kind: type[Any]) -> None:
    assert asking("writer", output, kind, output_type=NativeOutput(Person)) == PERSON


@pytest.mark.parametrize("kind", MODELS)
def test_an_output_is_streamed_as_it_is_written(asking: Callable[..., Any], kind: type[Any]) -> None:
    told = asking("writer", streamed, kind, output_type=NativeOutput(Person))
    assert told[-1] == PERSON


@pytest.mark.parametrize("kind", MODELS)
def test_the_arguments_of_a_call_are_streamed(asking: Callable[..., Any], kind: type[Any]) -> None:
    assert asking("finisher", streamed, kind, output_type=Person)[-1] == PERSON


@pytest.mark.parametrize("kind", MODELS)
def test_a_function_is_called_and_its_answer_read(asking: Callable[..., Any], kind: type[Any]) -> None:
    async def told(agent: Agent[None, str]) -> list[str]:
        return [part.part_kind for message in (await agent.run("Hi!")).all_messages() for part in message.parts]

    assert asking("caller", told, kind, tools=[weather]) == ["user-prompt", "text", "tool-call", "tool-return", "text"]
    assert asking("caller", output, kind, tools=[weather]) == "It is sunny."


@pytest.mark.parametrize("kind", MODELS)
def test_a_function_is_called_before_an_output(asking: Callable[..., Any], kind: type[Any]) -> None:
    cities: list[str] = []

    def weather(city: Literal["Rome", "Oslo"]) -> str:
        cities.append(city)
        return "Rain."

    assert asking("looker", output, kind, output_type=Person, tools=[weather]) == PERSON
    assert cities == ["Rome"]


@pytest.mark.parametrize("kind", MODELS)
def test_a_conversation_with_a_call_is_streamed(asking: Callable[..., Any], kind: type[Any]) -> None:
    async def kinds(agent: Agent[None, str]) -> tuple[set[str], str]:
        found, last = set[str](), ""
        async with agent.run_stream_events("Hi!") as events:
            async for event in events:
                found.add(event.event_kind)
                last = getattr(getattr(event, "result", None), "output", last)
        return found, last

    found, last = asking("caller", kinds, kind, tools=[weather])
    assert {"part_delta", "function_tool_call", "function_tool_result", "agent_run_result"} <= found
    assert last == "It is sunny."


@pytest.mark.parametrize("kind", MODELS)
def test_what_openai_has_no_field_for(asking: Callable[..., Any], kind: type[Any]) -> None:
    assert re.fullmatch("[0-9]{3}", asking("writer", output, kind, settings={"extra_body": {"regex": "[0-9]{3}"}}))


@pytest.mark.parametrize("kind", MODELS)
def test_errors_are_those_of_the_client(asking: Callable[..., Any], kind: type[Any]) -> None:
    with pytest.raises(ModelNotFoundError, match="there is caller, writer"):
        asking("gpt-9", output, kind)
    with pytest.raises(ModelRequestRejectedError, match=r"at least [0-9]+"):
        asking("writer", output, kind, output_type=NativeOutput(Person), settings={"max_tokens": 3})
    with pytest.raises(ModelRequestRejectedError, match="no_such"):
        asking("writer", output, kind, settings={"extra_body": {"no_such": 1}})

    async def much(agent: Agent[None, Any]) -> Any:
        return await agent.run("Hi! " * 1000)

    with pytest.raises(ModelContextWindowExceededError, match="the most is 3000"):
        asking("writer", much, kind)


@pytest.mark.parametrize("kind", MODELS)
def test_a_thought_is_a_part_of_an_answer(asking: Callable[..., Any], kind: type[Any]) -> None:
    async def twice(agent: Agent[None, str]) -> list[Any]:
        first = await agent.run("Where?")
        await agent.run("Really?", message_history=first.all_messages())
        return list(first.all_messages()[-1].parts)

    thought, text = asking("thinker", twice, kind)
    assert (thought.part_kind, text.content) == ("thinking", "\n\nRome.")
    assert (thought.content or thought.provider_details["raw_content"][0]) == "Rome or Oslo?"
    assert "[assistant]<think>\nRome or Oslo?\n</think>\n\n\n\nRome.[/][user]Really?[/]" in THINKER.asked[-1]


def test_a_thought_is_streamed(asking: Callable[..., Any]) -> None:
    async def told(agent: Agent[None, str]) -> list[str]:
        texts = list[str]()
        async with agent.run_stream_events("Where?") as events:
            async for event in events:
                told: Any = getattr(event, "part" if event.event_kind == "part_start" else "delta", None)
                if "thinking" in (getattr(told, "part_kind", ""), getattr(told, "part_delta_kind", "")):
                    texts.append(getattr(told, "content", None) or getattr(told, "content_delta", None) or "")
        return texts

    assert "".join(asking("thinker", told)) == "Rome or Oslo?"
