"""Many clients at once, of twelve kinds, some of which leave or are wrong: all others have what they asked for.

The whole is run with ``SFGEN_LOAD=2000``; in CI fewer requests are sent. It prints what it has measured (``-s``).
"""

from __future__ import annotations

import asyncio
import gc
import json
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

from sfgen.protocols import Model
from sfgen.serve import Limits

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

Judge = Callable[[str], object]


@dataclass(frozen=True)
class Kind:
    """A kind of request, and what its texts must be."""

    name: str
    body: dict[str, Any]
    is_right: Judge

    @property
    def path(self) -> str:
        return "/v1/chat/completions" if "messages" in self.body else "/v1/completions"

    def text_of(self, choice: dict[str, Any]) -> str:
        """The text of a choice, or of a part of it in a stream."""
        if "messages" not in self.body:
            return str(choice["text"])
        return str((choice.get("message") or choice["delta"]).get("content") or "")


def _matches(pattern: str) -> Judge:
    return lambda text: re.fullmatch(pattern, text, re.ASCII)


def _valid(text: str) -> bool:
    jsonschema.validate(json.loads(text), SCHEMA)
    return True


def _without(words: list[str]) -> Judge:
    return lambda text: not any(word in text for word in words)


CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When was that?"}]
BEGUN = {"role": "assistant", "content": "In the year "}

KINDS = [
    Kind("free", {"prompt": "Once", "max_tokens": 24}, lambda text: True),
    Kind("two texts", {"prompt": "So", "regex": "[A-Z][a-z ]{3,20}[.]", "n": 2}, _matches("[A-Z][a-z ]{3,20}[.]")),
    Kind("regex", {"prompt": "Date: ", "regex": "20[0-9]{2}-[01][0-9]"}, _matches("20[0-9]{2}-[01][0-9]")),
    Kind("schema", {"prompt": "{}", "response_format": {
        "type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}}, _valid),
    Kind("choice", {"prompt": "x", "structured_outputs": {"choice": CHOICES}}, lambda text: text in CHOICES),
    Kind("grammar", {"prompt": "1+1 ", "grammar": ARITHMETIC},
         _matches(r"([0-9]{1,3}|\([0-9]{1,2}\))([+-]([0-9]{1,3}|\([0-9]{1,2}\))){0,4}")),
    Kind("ban", {"prompt": "Once", "max_tokens": 40, "banned_strings": BANNED}, _without(BANNED)),
    Kind("ban of a pattern", {"prompt": "In", "max_tokens": 40, "banned_regex": ["[aeiou]{2}"]},
         lambda text: not re.search("[aeiou]{2}", text)),
    Kind("ban and regex", {"prompt": "x", "regex": "[a-c ]{1,30}", "banned_strings": ["ab", "c c"]},
         lambda text: re.fullmatch("[a-c ]{1,30}", text) and "ab" not in text and "c c" not in text),
    Kind("stop and logprobs", {"prompt": "Once", "max_tokens": 30, "stop": ["e"], "logprobs": 2},
         lambda text: "e" not in text),
    Kind("chat", {"model": "chat", "messages": CHAT, "max_completion_tokens": 40, "banned_strings": BANNED},
         _without(BANNED)),
    Kind("chat that goes on", {"model": "chat", "messages": [*CHAT, BEGUN], "regex": "[12][0-9]{3}"},
         _matches("[12][0-9]{3}")),
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
    seconds: list[float] = field(default_factory=list)  # to the first text
    tokens: int = 0


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
        seed, stream = self._random.randrange(10**6), self._random.random() < 0.7
        try:
            if lot < WRONG:
                await self._ask_wrongly(self._random.choice(WRONG_BODIES))
            elif lot < WRONG + LEAVES:
                await self._leave(kind, {"seed": seed, "stream": stream}, self._random.random() * 0.3)
            elif stream:
                await self._stream(kind, seed)
            else:
                await self._whole(kind, seed)
        except Exception as error:
            self.told.faults.append(f"{kind.name}: {type(error).__name__}: {error}")

    async def _ask_wrongly(self, body: dict[str, Any]) -> None:
        answer = await self._client.post("/v1/completions", json=body)
        assert answer.status_code == 400, (body, answer.text)
        assert answer.json()["error"]["message"]
        self.told.ends["refused"] += 1

    async def _leave(self, kind: Kind, options: dict[str, Any], seconds: float) -> None:
        task = asyncio.create_task(self._client.post(kind.path, json=kind.body | options))
        done, _ = await asyncio.wait({task}, timeout=seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.told.ends["ended before it left" if done else "left"] += 1

    async def _whole(self, kind: Kind, seed: int) -> None:
        answer = await self._client.post(kind.path, json=kind.body | {"seed": seed})
        assert answer.status_code == 200, answer.text
        for choice in answer.json()["choices"]:
            self._judge(kind, kind.text_of(choice), choice["finish_reason"])
        self.told.ends["right"] += 1
        self.told.tokens += answer.json()["usage"]["completion_tokens"]

    async def _stream(self, kind: Kind, seed: int) -> None:
        texts, reasons, begun, is_done = [""] * kind.body.get("n", 1), {}, time.monotonic(), False
        first, body = None, kind.body | {"seed": seed, "stream": True}
        async with self._client.stream("POST", kind.path, json=body) as answer:
            assert answer.status_code == 200, await answer.aread()
            async for line in answer.aiter_lines():
                assert not line.startswith("event: error"), line
                if line == "data: [DONE]":
                    is_done = True
                elif line.startswith("data: "):
                    choice = json.loads(line[6:])["choices"][0]
                    text = kind.text_of(choice)
                    if text and first is None:
                        first = time.monotonic() - begun
                    texts[choice["index"]] += text
                    if choice["finish_reason"] is not None:
                        reasons[choice["index"]] = choice["finish_reason"]
        assert is_done, "a stream without its end"
        self.told.seconds += [] if first is None else [first]
        for number, text in enumerate(texts):
            self._judge(kind, text, reasons.get(number))
        self.told.ends["right"] += 1

    def _judge(self, kind: Kind, text: str, reason: str | None) -> None:
        assert reason in ("stop", "length"), reason
        assert kind.is_right(text), text


def _memory() -> int:
    """The memory of this process in MiB, which is the server's, too."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell the memory")
def test_all_others_have_what_they_asked_for(serving: Callable[..., Running], chat_model: Model) -> None:
    server = serving({"tiny": "tiny", "chat": chat_model}, limits=Limits(batch_size=32, max_waiting=256))
    asyncio.run(Clients(server.url, 0).ask_all(len(KINDS) * 4))  # all constraints are compiled then
    memory = [_memory()]
    for part in range(4):
        begun, clients = time.monotonic(), Clients(server.url, part + 1)
        asyncio.run(clients.ask_all(REQUESTS // 4))
        seconds, told = time.monotonic() - begun, clients.told
        memory.append(_memory())
        first = sorted(told.seconds)
        print(
            f"\n{REQUESTS // 4} requests in {seconds:.1f} s: {dict(told.ends)}, memory {memory[-1]} MiB, first text"
            f" after {first[len(first) // 2]:.2f} s (median), {first[-1]:.2f} s (most)"
        )
        assert not told.faults
        assert sum(told.ends.values()) == REQUESTS // 4
        assert told.ends["right"] > 0.6 * REQUESTS // 4
    end = time.monotonic() + 10
    loads: dict[str, dict[str, int]] = {"any": {}}
    while any(load != {"running": 0, "waiting": 0} for load in loads.values()):
        assert time.monotonic() < end, f"something is left in a batch: {loads}"
        loads = httpx.get(f"{server.url}/health", trust_env=False).json()["models"]
    growth = memory[-1] - memory[1]
    assert growth < 64, f"the memory grows: {memory} MiB"
