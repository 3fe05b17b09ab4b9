"""Many clients at once, of all kinds, some of which leave or are wrong: all others have what they asked for.

The whole is run with ``SFGEN_LOAD=2000``; in CI fewer requests are sent. It prints what it has measured (``-s``).
"""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2 as httpx
import jsonschema
import pytest
from tests.serve.conftest import Running
from tests.serve.test_thoughts import WISHED
from tests.serve.wires import CHAT, COMPLETIONS, RESPONSES, TRACE, Wire, Written
from tests.support.models.caller import CALL, Caller
from tests.support.models.scripted import ScoreOf
from tests.support.models.thinking import Thinker

from sfgen.protocols import Model
from sfgen.serve import Limits
from sfgen.serve.constraints import WORKERS

REQUESTS = int(os.environ.get("SFGEN_LOAD", "200"))
AT_ONCE = 64
LEAVES, WRONG = 0.1, 0.1

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
CHOICES = [f"choice {number} of many" for number in range(60)]
ARITHMETIC = 'root ::= term (("+" | "-") term){0,4}\nterm ::= [0-9]{1,3} | "(" [0-9]{1,2} ")"'
BANNED = ["the", "and", "e s"]

Judge = Callable[[Written], object]


class Session:
    """A session of a scripted model that keeps no record of what it was asked."""

    def __init__(self, score: ScoreOf) -> None:
        self._score, self._tokens = score, list[int]()

    def extend(self, token_ids: Any) -> Any:
        self._tokens += token_ids
        return self._score(tuple(self._tokens))

    def rewind(self, length: int) -> None:
        del self._tokens[length:]


class Calling(Caller):
    """A model that calls tools."""

    def session(self) -> Any:
        return Session(self.score)


class Thinking(Thinker):
    """A model that thinks."""

    def session(self) -> Any:
        return Session(self.score)


@dataclass(frozen=True)
class Kind:
    """A kind of request, and what its texts must be.

    Attributes:
        wire: The endpoint.
        ends: The ways in which a text may end.
    """

    name: str
    body: dict[str, Any]
    is_right: Judge
    wire: Wire = COMPLETIONS
    ends: tuple[str, ...] = ("stop", "length")


def _matches(pattern: str) -> Judge:
    return lambda written: re.fullmatch(pattern, written.text, re.ASCII)


def _valid(written: Written) -> bool:
    jsonschema.validate(json.loads(written.text), SCHEMA)
    return True


def _without(words: list[str]) -> Judge:
    return lambda written: not any(word in written.text for word in words)


def _calls(*calls: tuple[str, str], text: str = "") -> Judge:
    """Judge that there are these calls, each by a name and a pattern of its input."""

    def judge(written: Written) -> bool:
        assert written.text == text
        assert [name for name, _ in written.calls] == [name for name, _ in calls]
        return all(re.fullmatch(pattern, told) for (_, told), (_, pattern) in zip(written.calls, calls, strict=True))

    return judge


def _thought(text: str) -> Judge:
    return lambda written: (written.thought.strip(), written.text) == ("Rome or Oslo?", text)


ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When was that?"}]
BEGUN = {"role": "assistant", "content": "In the year "}
CITY = {"properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"]}
FUNCTION = {"name": "weather", "description": "Tells the weather.", "parameters": CITY}
TOOLS: dict[str, Any] = {
    "model": "caller", "messages": ASKED, "temperature": 0, "max_tokens": 200,
    "tools": [{"type": "function", "function": FUNCTION}],
}  # fmt: skip
ROME = ("weather", r'\{"city": "Rome"\}')
LARK = 'start: "add " NUMBER " " NUMBER\nNUMBER: /[1-9][0-9]?/'


def _custom(syntax: str, definition: str) -> dict[str, Any]:
    """A request for a call of a custom tool whose input is bounded."""
    form = {"type": "grammar", "syntax": syntax, "definition": definition}
    tool = {"type": "custom", "name": "note", "format": form}
    return {"model": "chat", "input": "Hi!", "tools": [tool], "tool_choice": "required"}


def _format(schema: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "name": "person", "schema": schema, "strict": True}}


KINDS = [
    Kind("free", {"prompt": "Once", "max_tokens": 24}, lambda written: True),
    Kind("two texts", {"prompt": "So", "regex": "[A-Z][a-z ]{3,20}[.]", "n": 2}, _matches("[A-Z][a-z ]{3,20}[.]")),
    Kind("regex", {"prompt": "Date: ", "regex": "20[0-9]{2}-[01][0-9]"}, _matches("20[0-9]{2}-[01][0-9]")),
    Kind("schema", {"prompt": "{}", "response_format": {
        "type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}}, _valid),
    Kind("choice", {"prompt": "x", "structured_outputs": {"choice": CHOICES}},
         lambda written: written.text in CHOICES),
    Kind("grammar", {"prompt": "1+1 ", "grammar": ARITHMETIC},
         _matches(r"([0-9]{1,3}|\([0-9]{1,2}\))([+-]([0-9]{1,3}|\([0-9]{1,2}\))){0,4}")),
    Kind("ban", {"prompt": "Once", "max_tokens": 40, "banned_strings": BANNED}, _without(BANNED)),
    Kind("ban of a pattern", {"prompt": "In", "max_tokens": 40, "banned_regex": ["[aeiou]{2}"]},
         lambda written: not re.search("[aeiou]{2}", written.text)),
    Kind("ban and regex", {"prompt": "x", "regex": "[a-c ]{1,30}", "banned_strings": ["ab", "c c"]},
         lambda written: _matches("[a-c ]{1,30}")(written) and _without(["ab", "c c"])(written)),
    Kind("stop and logprobs", {"prompt": "Once", "max_tokens": 30, "stop": ["e"], "logprobs": 2},
         lambda written: "e" not in written.text),
    Kind("chat", {"model": "chat", "messages": ASKED, "max_completion_tokens": 40, "banned_strings": BANNED},
         _without(BANNED), CHAT),
    Kind("chat that goes on", {"model": "chat", "messages": [*ASKED, BEGUN], "regex": "[12][0-9]{3}"},
         _matches("[12][0-9]{3}"), CHAT),
    Kind("tools", TOOLS | {"tool_choice": "auto"}, _calls(ROME, text="I look. "), CHAT, ("tool_calls",)),
    Kind("tools, required", TOOLS | {"tool_choice": "required", "parallel_tool_calls": False, "temperature": 3, "n": 2},
         _calls(("weather", r'\{"city": "(Rome|Oslo)"\}')), CHAT, ("tool_calls",)),
    Kind("thought", {"model": "thinker", "messages": ASKED, "temperature": 0, "max_tokens": 200,
         "regex": "[A-Z][a-z]+[.]"}, _thought("Rome."), CHAT),
    Kind("response", {"model": "chat", "input": "Who?", "text": _format(SCHEMA)}, _valid, RESPONSES, ("completed",)),
    Kind("response of a few tokens", {"model": "chat", "input": "Who?", "max_output_tokens": 9},
         lambda written: True, RESPONSES, ("completed", "incomplete")),
    Kind("response, function", {"model": "caller", "input": "Hi!", "temperature": 0, "max_output_tokens": 200,
         "tools": [{"type": "function"} | FUNCTION]}, _calls(ROME, text="I look. "), RESPONSES, ("completed",)),
    Kind("response, Lark", _custom("lark", LARK), _calls(("note", "add [1-9][0-9]? [1-9][0-9]?")), RESPONSES,
         ("completed",)),
    Kind("response, regex", _custom("regex", "2[0-9]{3}"), _calls(("note", "2[0-9]{3}")), RESPONSES, ("completed",)),
    Kind("response, thought", {"model": "thinker", "input": "Hi!", "temperature": 0, "max_output_tokens": 200},
         _thought("\n\nRome."), RESPONSES, ("completed",)),
    Kind("trace", {"prompt": "Once", "max_tokens": 30, "banned_strings": BANNED}, _without(BANNED), TRACE,
         ("limit", "end_token")),
    Kind("trace of a schema", {"prompt": "{}", "json_schema": SCHEMA}, _valid, TRACE, ("complete", "end_token")),
]  # fmt: skip

WRONG_BODIES: list[dict[str, Any]] = [
    {"prompt": "x", "regex": "[0-9"},
    {"prompt": "x", "json_schema": {"type": "nothing"}},
    {"prompt": "x", "grammar": "root ::= other"},
    {"prompt": "x", "temperature": -1},
    {"prompt": "x", "no_such_field": 1},
    {"prompt": "x", "regex": "[0-9]{40}", "max_tokens": 2},
    {"prompt": "x", "regex": "a", "grammar": 'root ::= "a"'},
    {"prompt": 3},
]


@dataclass
class Told:
    """What became of the requests."""

    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # to the first line of a stream


class Clients:
    """Clients of one server."""

    def __init__(self, url: str, seed: int) -> None:
        self.told = Told()
        self._random = Random(seed)
        limits = httpx.Limits(max_connections=AT_ONCE)
        self._client = httpx.AsyncClient(base_url=url, timeout=120, limits=limits, trust_env=False)

    async def ask_all(self, count: int) -> None:
        left = iter(range(count))

        async def one_after_the_other() -> None:
            for number in left:
                await self._ask(number)

        async with self._client:
            await asyncio.gather(*[one_after_the_other() for _ in range(AT_ONCE)])

    async def _ask(self, number: int) -> None:
        lot = self._random.random()
        kind = KINDS[number % len(KINDS)]
        seed = self._random.randrange(10**6)
        stream = self._random.random() < 0.7 or kind.wire.whole is None
        try:
            if lot < WRONG:
                await self._ask_wrongly(self._random.choice(WRONG_BODIES))
            elif lot < WRONG + LEAVES:
                await self._leave(kind, stream, {"seed": seed}, self._random.random() * 0.3)
            else:
                await self._stay(kind, stream, {"seed": seed})
        except Exception as error:
            self.told.faults.append(f"{kind.name}: {type(error).__name__}: {error}")

    async def _ask_wrongly(self, body: dict[str, Any]) -> None:
        answer = await self._client.post("/v1/completions", json=body)
        assert answer.status_code == 400, (body, answer.text)
        assert answer.json()["error"]["message"]
        self.told.ends["refused"] += 1

    async def _leave(self, kind: Kind, stream: bool, options: dict[str, Any], seconds: float) -> None:
        task = asyncio.create_task(self._answer(kind, stream, options))
        done, _ = await asyncio.wait({task}, timeout=seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.told.ends["ended before it left" if done else "left"] += 1

    async def _stay(self, kind: Kind, stream: bool, options: dict[str, Any]) -> None:
        texts = await self._answer(kind, stream, options)
        assert len(texts) == kind.body.get("n", 1)
        for written in texts:
            assert written.reason in kind.ends, written
            assert kind.is_right(written), written
        self.told.ends["right"] += 1

    async def _answer(self, kind: Kind, stream: bool, options: dict[str, Any]) -> list[Written]:
        body = kind.body | options
        if not stream:
            assert kind.wire.whole is not None
            answer = await self._client.post(kind.wire.path, json=body)
            assert answer.status_code == 200, answer.text
            return kind.wire.whole(answer.json())
        begun, lines = time.monotonic(), list[str]()
        async with self._client.stream("POST", kind.wire.path, json=body | {"stream": True}) as answer:
            assert answer.status_code == 200, await answer.aread()
            async for line in answer.aiter_lines():
                if not lines:
                    self.told.seconds.append(time.monotonic() - begun)
                lines.append(line)
        return kind.wire.streamed(lines)


def _memory() -> int:
    """The memory of this process in MiB, which is the server's, too."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def _left_over(server: Running) -> dict[str, Any]:
    """What a server still holds of requests: texts, rows, constraints that are compiled, and processes too many."""
    held: Any = server.application.stop.__self__  # type: ignore[attr-defined]
    constraints, engines = held._constraints, held._engines.values()
    left = {
        "load": sum(map(sum, held.loads().values())),
        "texts": sum(not text.is_over for engine in engines for text in engine._running.values()),
        "compiled": len(constraints._under_way),
        "bodies": server.application._held,
        "processes": max(0, len(multiprocessing.active_children()) - sum(WORKERS.values())),
    }
    return {name: count for name, count in left.items() if count}


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell the memory")
def test_all_others_have_what_they_asked_for(serving: Callable[..., Running], chat_model: Model) -> None:
    models = {"tiny": "tiny", "chat": chat_model, "caller": Calling("I look. " + CALL), "thinker": Thinking(WISHED)}
    server = serving(models, limits=Limits(batch_size=32, max_waiting=256))
    clients = Clients(server.url, 0)
    asyncio.run(clients.ask_all(len(KINDS) * 4))  # all constraints are compiled then
    assert not clients.told.faults
    memory, files = [_memory()], _open_files()
    for part in range(4):
        begun, clients = time.monotonic(), Clients(server.url, part + 1)
        asyncio.run(clients.ask_all(REQUESTS // 4))
        seconds, told = time.monotonic() - begun, clients.told
        memory.append(_memory())
        first = sorted(told.seconds)
        print(
            f"\n{REQUESTS // 4} requests in {seconds:.1f} s: {dict(told.ends)}, memory {memory[-1]} MiB, first line"
            f" after {first[len(first) // 2]:.2f} s (median), {first[-1]:.2f} s (most)"
        )
        assert not told.faults
        assert sum(told.ends.values()) == REQUESTS // 4
        assert told.ends["right"] > 0.6 * REQUESTS // 4
    end = time.monotonic() + 10
    while (left := _left_over(server)) or _open_files() > files + 8:
        assert time.monotonic() < end, f"something is left: {left}, {_open_files()} files instead of {files}"
        time.sleep(0.05)
    growth = memory[-1] - memory[1]
    assert growth < 64, f"the memory grows: {memory} MiB"
