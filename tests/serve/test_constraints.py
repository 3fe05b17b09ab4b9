"""Constraints of requests: compiled once, kept by their digest, and what is dear costs nobody else anything."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest

from sfgen import Dfa, Index, JsonSchema, Sampler, ToolCalls, Vocabulary, generate, load_model
from sfgen.ban import patterns as patterns_module
from sfgen.ban.difference import Start, without_banned
from sfgen.errors import BannedWordsError, OutOfMemory, PatternError, SfgenError
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.serve import compile_worker
from sfgen.serve import constraints as module
from sfgen.serve.compile_worker import Ban
from sfgen.serve.constraints import CompileTimeout, Constraints
from sfgen.serve.engine import Busy, Stopping

VOCABULARY = load_model("tiny").vocabulary

HARD = "[ab]*a[ab]{16}"


def own(kind: Any, value: Any) -> OwnConstraint:
    return OwnConstraint(kind, json.dumps(value))


def words(number: int) -> OwnConstraint:
    """It is large, and compiled in no time."""
    return own("choices", [f"word {number} {index}" for index in range(100)])


def a_minute() -> OwnConstraint:
    """A schema with a hundred patterns, each of which takes half a second and 50 MB."""
    return own("schema", {"type": "object", "required": [f"p{number}" for number in range(99)], "properties": {
        f"p{number}": {"type": "string", "pattern": f"^{HARD}{number}$"} for number in range(99)
    }})  # fmt: skip


def run(body: Callable[[Constraints], Coroutine[Any, Any, None]], seconds: float = 20, most: int = 2**30) -> None:
    async def whole() -> None:
        constraints = Constraints(seconds, most)
        try:
            await asyncio.wait_for(body(constraints), 300)
        finally:
            await asyncio.to_thread(constraints.close)

    asyncio.run(whole())


class TestKept:
    @pytest.mark.parametrize(
        "asked", [own("regex", "[0-9]{4}"), own("schema", "name"), words(0)], ids=["cheap", "short", "long"]
    )
    def test_many_at_once_compile_it_once(self, asked: OwnConstraint, monkeypatch: pytest.MonkeyPatch) -> None:
        async def body(constraints: Constraints) -> None:
            found = await asyncio.gather(*[constraints.of(asked, VOCABULARY) for _ in range(50)])
            assert len(set(map(id, found))) == 1
            assert await constraints.of(asked, VOCABULARY) is found[0]
            assert constraints.made == 1

        run(body)

    def test_a_refusal_is_told_to_all_and_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []
        compiled = compile_worker.compile_index

        def noted(*given: Any) -> Index:
            calls.append(given)
            return compiled(*given)

        monkeypatch.setattr(compile_worker, "compile_index", noted)

        async def body(constraints: Constraints) -> None:
            wrong = own("regex", "[0-9")  # cheap: it is compiled here
            told = await asyncio.gather(*[constraints.of(wrong, VOCABULARY) for _ in range(9)], return_exceptions=True)
            assert all(isinstance(error, PatternError) for error in told)
            with pytest.raises(PatternError):
                await constraints.of(wrong, VOCABULARY)
            assert len(calls) == 1

        run(body)

    def test_what_is_kept_of_a_refusal_holds_no_request(self) -> None:
        async def body(constraints: Constraints) -> None:
            asked = own("regex", "[0-9")
            requests = [weakref.ref(asked)]
            for _ in range(2):
                with pytest.raises(PatternError, match="unterminated"):
                    await constraints.of(asked, VOCABULARY)
                asked = replace(asked)
                requests.append(weakref.ref(asked))
            del asked
            await asyncio.sleep(0)  # the event loop holds what it has just told
            gc.collect()
            assert [request() for request in requests] == [None] * 3
            assert len(constraints._refused) == 1
            with pytest.raises(PatternError):
                await constraints.of(own("regex", "[" + "0" * 2**15), VOCABULARY)
            assert len(constraints._refused) == 1, "a large text is in the error"

        run(body)

    def test_those_used_last_in_so_many_bytes(self) -> None:
        async def body(constraints: Constraints) -> None:
            first = await constraints.of(own("regex", "a{1}"), VOCABULARY)
            for number in range(2, 60):
                await constraints.of(own("regex", f"a{{{number}}}"), VOCABULARY)
                await constraints.of(own("regex", "a{1}"), VOCABULARY)
                assert constraints.nbytes <= 2**18
            assert await constraints.of(own("regex", "a{1}"), VOCABULARY) is first
            made = constraints.made
            await constraints.of(own("regex", "a{2}"), VOCABULARY)
            assert constraints.made == made + 1, "it was not used for long"

        run(body, most=2**18)

    def test_masks_that_texts_make_count(self) -> None:
        async def body(constraints: Constraints) -> None:
            asked = own("regex", "(" + "|".join(f"{number:03}[a-z]{{40}}" for number in range(30)) + ")")
            index = await constraints.of(asked, VOCABULARY)
            before = constraints.nbytes
            assert not isinstance(index.constraint, str)
            for state in range(len(index.masks)):  # type: ignore[attr-defined]
                index.row(state)  # type: ignore[attr-defined]
            await constraints.of(asked, VOCABULARY)
            assert constraints.nbytes >= before
            assert constraints.nbytes >= index.masks_nbytes  # type: ignore[attr-defined]

        run(body)


def members(count: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {f"property {number}": {"type": "string", "maxLength": number + 1} for number in range(count)},
        "required": ["property 7"],
        "additionalProperties": False,
    }


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"const": "x"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


LARGE_ONES = {
    "regex": own("regex", "(" + "|".join(f"word {number}" for number in range(60)) + ")"),
    "choices": words(0),
    "schema": own("schema", members(20)),
    "deep schema": own("schema", nested(100)),
    "grammar": own("grammar", "root ::= " + "(" * 90 + " | ".join(f'"word {n}" root?' for n in range(20)) + ")" * 90),
    "lark": own("grammar", "start: " + " | ".join(f'"word {number}" start?' for number in range(20))),
    "template": own("template", "It is {{a: choices hot, cold}}, {{b: schema name, age int}}" + " and so on" * 30),
    "tools": own("tools", {"tools": [{"name": "f", "parameters": members(9)}], "tool_format": "hermes"}),
    "substring": own("substring", "Call me Ishmael. Some years ago, never mind how long. " * 9),
}


class TestCompiledElsewhere:
    @pytest.mark.parametrize("asked", LARGE_ONES.values(), ids=LARGE_ONES)
    def test_a_large_one_is_not_compiled_here(self, asked: OwnConstraint, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*given: object) -> Any:
            raise AssertionError("it is compiled here")

        expected = compile_worker.compile_index(asked, VOCABULARY)
        monkeypatch.setattr(compile_worker, "compile_index", refuse)
        monkeypatch.setattr(compile_worker, "read_constraint", refuse)

        async def body(constraints: Constraints) -> None:
            index = await constraints.of(asked, VOCABULARY)
            assert index.constraint.shortest() == expected.constraint.shortest()
            assert index.constraint == expected.constraint or isinstance(index.constraint, Dfa)
            guides = index.guide(), expected.guide()
            for step in range(9):
                one, other = (guide.allowed_tokens() for guide in guides)
                assert one.tolist() == other.tolist()
                if int(one[step % len(one)]) in VOCABULARY.end_token_ids:
                    break
                for guide in guides:
                    guide.advance(int(one[step % len(one)]))

        run(body)

    def test_calls_with_special_tokens_are_not_compiled_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        names = {len(VOCABULARY): "<tool_call>", len(VOCABULARY) + 1: "</tool_call>"}
        special = Vocabulary([*VOCABULARY.tokens, None, None], VOCABULARY.end_token_ids, names=names)
        told = {"tools": [{"name": "f", "parameters": members(9)}], "tool_format": "hermes"}
        asked, ban = own("tools", told), Ban(("cat",), (), "substring", True, False, ())
        expected = compile_worker.compile_index(asked, special).guide().mask().tobytes()

        def refuse(*given: object) -> Any:
            raise AssertionError("it is compiled here")

        monkeypatch.setattr("sfgen.tools.tool_calls.CallWriter", refuse)

        async def body(constraints: Constraints) -> None:
            index = await constraints.of(asked, special)
            assert index.guide().mask().tobytes() == expected
            assert isinstance(index.constraint, ToolCalls)
            text = '<tool_call>\n{"name": "f", "arguments": {"property 7": "x"}}\n</tool_call>'
            assert index.constraint.reader.calls(text) == [{"name": "f", "arguments": {"property 7": "x"}}]
            clean = await constraints.without(asked, ban, Start(ban.compiled(), b""), index)
            assert clean is not None
            assert clean is not index
            clean.guide().mask()

        run(body)

    def test_the_memory_of_its_form_counts(self) -> None:
        async def body(constraints: Constraints) -> None:
            index = await constraints.of(own("schema", members(200)), VOCABULARY)
            assert isinstance(index.constraint, JsonSchema)
            assert constraints.nbytes > 2 * index.constraint.network.table.nbytes > 2**20

        run(body)

    def test_an_error_is_told_as_here(self) -> None:
        async def body(constraints: Constraints) -> None:
            wrong = own("schema", members(20) | {"required": ["property 7", "no such property"]})
            with pytest.raises(SfgenError) as expected:
                compile_worker.compile_index(wrong, VOCABULARY)
            with pytest.raises(SfgenError) as caught:
                await constraints.of(wrong, VOCABULARY)
            assert (type(caught.value), str(caught.value)) == (type(expected.value), str(expected.value))

        run(body)

    def test_its_process_stands_back(self) -> None:
        async def body(constraints: Constraints) -> None:
            await constraints.of(words(0), VOCABULARY)
            await constraints.of(own("schema", "name"), VOCABULARY)
            assert set(constraints._workers) == {False, True}
            for pool in constraints._workers.values():
                nice = await asyncio.wrap_future(pool.schedule(os.nice, args=[0]))
                assert nice >= min(19, os.nice(0) + module.NICE)

        run(body)


SHORT_ONES = {
    "regex": (own("regex", "([a-f]{3} ){2,5}"), False),
    "blowup": (own("regex", "(a|b)*a(a|b){14}"), False),
    "look": (own("regex", "(?!a)[ab]{2}"), False),
    "alternatives": (own("regex", "abcdefgh|hgfedcba"), False),
    "small": (own("regex", r"\d{4}-\d{2}-\d{2}"), True),
    "wrong": (own("regex", "[0-9"), True),
    "choices": (own("choices", ["yes", "no"]), True),
    "schema": (own("schema", {"type": "integer"}), False),
    "grammar": (own("grammar", 'root ::= "a"'), False),
    "template": (own("template", "{{a: regex [ab]}}"), False),
}


class TestShort:
    @pytest.mark.parametrize(("asked", "is_cheap"), SHORT_ONES.values(), ids=SHORT_ONES)
    def test_what_is_compiled_here(self, asked: OwnConstraint, is_cheap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []
        compiled = compile_worker.compile_index

        def noted(*given: Any) -> Index:
            calls.append(given)
            return compiled(*given)

        expected: Any = None
        with suppress(SfgenError):
            expected = compiled(asked, VOCABULARY)
        monkeypatch.setattr(compile_worker, "compile_index", noted)

        async def body(constraints: Constraints) -> None:
            found: Any = None
            with suppress(SfgenError):
                found = await constraints.of(asked, VOCABULARY)
            assert bool(calls) == is_cheap
            assert (found is None) == (expected is None)
            if found is not None:
                assert found.constraint.shortest() == expected.constraint.shortest()

        run(body)

    def test_it_has_a_bounded_time(self) -> None:
        async def body(constraints: Constraints) -> None:
            with pytest.raises(CompileTimeout):
                await constraints.of(own("regex", "(.{0,50}x){0,40}"), VOCABULARY)

        run(body, seconds=0.05)


BAN = Ban(("talk", "no"), ("b{3}",), "substring", True, False, ())
NOTHING_THERE = Ban(("§§§",), (), "substring", True, False, ())
ALL = Ban(("a",), (), "substring", True, False, ())
BANNED = {
    "regex": (own("regex", "[a-z]{2}|talk"), BAN),
    "choices": (own("choices", ["yes", "no", "perhaps"]), BAN),
    "nothing": (own("choices", ["yes", "no", "perhaps"]), NOTHING_THERE),
    "all": (own("choices", ["cat", "bat"]), ALL),
    "schema": (own("schema", {"type": "string", "maxLength": 9}), BAN),
    "all of a schema": (own("schema", {"enum": ["a"]}), ALL),
    "grammar": (own("grammar", 'root ::= "(" root ")" | [a-c]{1,3}'), BAN),
    "template": (own("template", "{{a: regex [n-p]{2}}} or {{b: schema name}}"), BAN),
    "not UTF-8": (own("grammar", 'root ::= "a" root | "b"'), NOTHING_THERE),
    "many words": (own("schema", "name"), replace(BAN, words=tuple(f"word{number}" for number in range(300)))),
}


class TestWithoutBanned:
    """What another process makes is what would be made here."""

    @pytest.mark.parametrize(("asked", "ban"), BANNED.values(), ids=BANNED)
    @pytest.mark.parametrize("prompt", [b"Once", b"n", b"tal"])
    def test_as_here(self, asked: OwnConstraint, ban: Ban, prompt: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        index = compile_worker.compile_index(asked, VOCABULARY)
        start = Start(ban.compiled(), prompt)
        expected: Any
        try:
            expected = without_banned(index, ban.compiled(), prompt)
        except SfgenError as error:
            expected = type(error), str(error)

        def refuse(*given: object) -> Any:
            raise AssertionError("it is made here")

        monkeypatch.setattr(compile_worker, "clean_constraint", refuse)

        async def body(constraints: Constraints) -> None:
            for _ in range(2):
                found: Any
                try:
                    found = await constraints.without(asked, ban, start, index)
                except SfgenError as error:
                    found = type(error), str(error)
                if not isinstance(expected, Index) or expected is index:
                    assert found == expected
                    continue
                assert found.constraint.shortest() == expected.constraint.shortest()
                assert [*found.guide().allowed_tokens()] == [*expected.guide().allowed_tokens()]

        run(body)

    def test_once_for_equal_bans_and_starts(self) -> None:
        async def body(constraints: Constraints) -> None:
            asked = own("choices", ["yes", "no", "perhaps"])
            index = await constraints.of(asked, VOCABULARY)
            made = constraints.made
            starts = [Start(BAN.compiled(), prompt) for prompt in (b"Once", b"Once upon a", b"x tal")]
            found = await asyncio.gather(*[constraints.without(asked, BAN, start, index) for start in starts * 2])
            assert constraints.made == made + 2, "of the three two are alike"
            assert found[0] is found[1] is found[3]
            assert found[0] is not found[2]

        run(body)

    def test_a_dear_one_is_bounded(self) -> None:
        async def body(constraints: Constraints) -> None:
            asked = own("schema", {"type": "object", "properties": {f"p{n}": {"maxLength": 30} for n in range(60)}})
            index = compile_worker.compile_index(asked, VOCABULARY)
            with pytest.raises(CompileTimeout):
                await constraints.without(asked, BAN, Start(BAN.compiled(), b""), index)

        run(body, seconds=0.02)


class TestDear:
    def test_one_that_takes_a_minute(self) -> None:
        async def body(constraints: Constraints) -> None:
            begun = time.monotonic()
            dear = asyncio.create_task(constraints.of(a_minute(), VOCABULARY))
            gaps: list[float] = []
            while not dear.done():
                asked = time.monotonic()
                await constraints.of(own("regex", f"x{len(gaps)}"), VOCABULARY)  # short ones do not wait for it
                await constraints.of(words(len(gaps)), VOCABULARY)  # nor others that are compiled
                gaps.append(time.monotonic() - asked)
                await asyncio.sleep(0.05)
            assert isinstance(dear.exception(), CompileTimeout)
            assert time.monotonic() - begun < 10
            assert max(gaps[1:]) < 2
            begun = time.monotonic()
            with pytest.raises(CompileTimeout, match="takes longer than 3 seconds to compile"):
                await constraints.of(a_minute(), VOCABULARY)
            assert time.monotonic() - begun < 0.1, "the result is kept for a while"

        run(body, seconds=3)

    def test_one_that_takes_gigabytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "WORKER_BYTES", 2**27)  # two of its patterns

        async def body(constraints: Constraints) -> None:
            with pytest.raises(OutOfMemory):
                await constraints.of(a_minute(), VOCABULARY)
            assert isinstance(await constraints.of(words(1), VOCABULARY), Index), "the next one is compiled"

        run(body, seconds=200)

    def test_what_is_kept_of_one_that_takes_gigabytes_is_given_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "WORKER_BYTES", 2**27)
        patterns = [{"type": "string", "pattern": f"^{HARD}{number}$"} for number in range(4)]

        async def body(constraints: Constraints) -> None:
            await constraints.of(own("schema", "name"), VOCABULARY)
            before = await asyncio.wrap_future(constraints._workers[False].schedule(os.getpid))
            with pytest.raises(OutOfMemory):
                await constraints.of(own("schema", {"prefixItems": patterns, "minItems": 4}), VOCABULARY)
            assert before != await asyncio.wrap_future(constraints._workers[False].schedule(os.getpid))

        run(body, seconds=200)

    def test_none_is_begun_when_the_server_ends(self) -> None:
        async def body(constraints: Constraints) -> None:
            await asyncio.to_thread(constraints.close)
            with pytest.raises(Stopping):
                await constraints._in_worker(
                    False, module._Making(), compile_worker.compile_constraint, own("schema", "name")
                )
            assert not constraints._workers

        run(body)

    def test_nobody_waits_any_more(self) -> None:
        async def body(constraints: Constraints) -> None:
            await constraints.of(words(0), VOCABULARY)
            tasks = [asyncio.create_task(constraints.of(a_minute(), VOCABULARY)) for _ in range(3)]
            await asyncio.sleep(0.3)
            tasks[0].cancel()
            await asyncio.sleep(0.1)
            assert not tasks[1].done(), "two wait still"
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert not constraints._under_way
            begun = time.monotonic()
            await asyncio.gather(*[constraints.of(words(number), VOCABULARY) for number in range(1, 5)])
            assert time.monotonic() - begun < 10, "its process is free"

        run(body, seconds=60)

    def test_too_many_are_under_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_UNDER_WAY", 2)

        async def body(constraints: Constraints) -> None:
            tasks = [asyncio.create_task(constraints.of(words(number), VOCABULARY)) for number in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(Busy, match="2 constraints are waiting already"):
                await constraints.of(own("regex", "a"), VOCABULARY)
            await asyncio.gather(*tasks)
            await constraints.of(own("regex", "a"), VOCABULARY)

        run(body)

    def test_closed_while_some_wait(self) -> None:
        async def whole() -> None:
            constraints = Constraints(60, 2**30)
            task = asyncio.create_task(constraints.of(a_minute(), VOCABULARY))
            await asyncio.sleep(0.3)
            await asyncio.to_thread(constraints.close)
            with pytest.raises(SfgenError):
                await asyncio.wait_for(task, 20)
            with pytest.raises(Stopping):
                await constraints.of(words(1), VOCABULARY)

        asyncio.run(whole())


def test_a_process_that_compiles_loads_no_part_of_the_extra() -> None:
    async def body(constraints: Constraints) -> None:
        await constraints.of(own("schema", "name"), VOCABULARY)
        await constraints.banned(ban(r"[0-9]{3}\b", words=("talk",)))
        loaded = constraints._workers[False].schedule(eval, args=["sorted(__import__('sys').modules)"])
        modules = set(await asyncio.wrap_future(loaded))
        assert "sfgen.serve.compile_worker" in modules
        assert modules & {"fastapi", "starlette", "uvicorn", "pydantic", "prometheus_client"} == set()

    run(body)


def test_a_pool_is_closed_once() -> None:
    """The end of a server closes it from two threads: a pool that is joined twice closes files that are not its own."""

    class Pool:
        joined = 0

        def stop(self) -> None:
            pass

        def join(self) -> None:
            self.joined += 1
            time.sleep(0.1)

    constraints, pool = Constraints(60, 2**30), Pool()
    constraints._workers[True] = pool  # type: ignore[assignment]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: constraints.close(), range(2)))
    assert pool.joined == 1


@pytest.mark.parametrize(
    "asked",
    [
        own("schema", {"type": "array", "items": {"enum": ["x", "yy", 3]}, "minItems": 2, "maxItems": 4}),
        own("regex", "([a-f]{3} ){2,5}"),
        own("grammar", 'root ::= "(" root ")" | [a-c]{1,3}'),
    ],
    ids=["schema", "regex", "grammar"],
)
def test_threads_share_a_constraint(asked: OwnConstraint) -> None:
    """Texts of one index are prepared in several threads, while another makes its masks."""
    model = load_model("tiny")

    def text(index: Index, seed: int) -> str:
        return generate(model, "x", index=index, sampler=Sampler(1.0, seed), max_tokens=60).text

    alone, shared = (compile_worker.compile_index(asked, model.vocabulary) for _ in range(2))
    expected = [text(alone, seed) for seed in range(8)]
    start = threading.Barrier(8)

    def write(seed: int) -> str:
        start.wait()
        return text(shared, seed)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(write, range(8))) == expected


def test_a_script_that_serves_is_not_run_again_by_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "serves.py"
    script.write_text(
        "print('begun', flush=True)\n"
        "from fastapi.testclient import TestClient\n"
        "from sfgen.serve import app\n"
        "with TestClient(app('tiny'), base_url='http://localhost') as client:\n"
        "    choices = ['word %d' % number for number in range(100)]\n"
        "    body = {'prompt': 'x', 'structured_outputs': {'choice': choices}}\n"
        "    print(client.post('/v1/completions', json=body).json()['choices'][0]['text'] in choices)\n",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["begun", "True"], done.stderr


def ban(*patterns: str, words: tuple[str, ...] = ()) -> Ban:
    return Ban(words, patterns, "word", ignore_case=True, normalize=False, allow=())


class TestBans:
    def test_another_process_compiles_patterns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*given: Any) -> Any:
            raise AssertionError("it is compiled here")

        async def body(constraints: Constraints) -> None:
            asked = ban(r"[0-9]{3}\b", "(?i)secret", words=("talk", "c++"))
            with monkeypatch.context() as here:
                here.setattr(patterns_module, "compile_bordered", refuse)
                found = await asyncio.gather(*[constraints.banned(asked) for _ in range(9)])
                assert len(set(map(id, found))) == 1
                assert await constraints.banned(asked) is found[0]
            for text in (b"a 123 b", b"12 SECRETS", b"we talk", b"in C++ ", b"nothing 12"):
                assert found[0].matcher().advance(text) == asked.compiled().matcher().advance(text)

        run(body)

    def test_they_have_a_limit_of_time(self) -> None:
        async def body(constraints: Constraints) -> None:
            begun = time.monotonic()
            with pytest.raises(CompileTimeout):
                await constraints.banned(ban(*[f"{HARD}{number}" for number in range(99)]))
            assert time.monotonic() - begun < 10

        run(body, seconds=1)

    def test_a_refusal_is_that_of_the_library(self) -> None:
        async def body(constraints: Constraints) -> None:
            for pattern, error in (("[0-9", PatternError), ("[0-9]*", BannedWordsError), ("a", None)):
                with nullcontext() if error is None else pytest.raises(error):
                    await constraints.banned(ban("[a-c]{2}", pattern))

        run(body)

    @pytest.mark.parametrize("text", ["a b", "(?i:the end)", r"\.\n\n", "é"])
    def test_a_text_is_compiled_at_once(self, text: str) -> None:
        assert compile_worker.is_quick(text)

        async def body(constraints: Constraints) -> None:
            await constraints.banned(ban(text))
            assert not constraints._workers

        run(body)

    @pytest.mark.parametrize("asked", [ban(*map(str, range(999))), ban(words=tuple(map(str, range(999))))])
    def test_many_are_not(self, asked: Ban, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*given: Any) -> Any:
            raise AssertionError("it is looked at here")

        async def body(constraints: Constraints) -> None:
            with monkeypatch.context() as here:
                here.setattr(compile_worker, "is_quick", refuse)
                here.setattr(Ban, "compiled", refuse)
                found = await constraints.banned(asked)
            assert [found.matcher().advance(text) is None for text in (b"a 998 b", b"a one b")] == [False, True]

        run(body, seconds=120)

    @pytest.mark.parametrize("pattern", ["a[ab][ab][ab]", "[^a]b", "[^a]z", "ab|c", "a+", r"a\b", "(?i:a)[a-c]"])
    def test_a_pattern_is_not(self, pattern: str) -> None:
        assert not compile_worker.is_quick(pattern)


def test_the_processes_have_begun_before_the_first_who_asks() -> None:
    async def body(constraints: Constraints) -> None:
        constraints.begin()
        pools = [await constraints._pool(is_large) for is_large in (True, False)]
        before = [await asyncio.wrap_future(pool.schedule(os.getpid)) for pool in pools]
        await constraints.of(own("schema", "name"), VOCABULARY)
        assert await constraints._pool(False) is pools[1]
        assert await asyncio.wrap_future(pools[1].schedule(os.getpid)) == before[1]

    run(body)


def test_processes_that_begin_when_the_server_ends_are_ended() -> None:
    async def body(constraints: Constraints) -> None:
        constraints.begin()
        await asyncio.to_thread(constraints.close)
        with pytest.raises(Stopping):
            await constraints.of(own("schema", "name"), VOCABULARY)
        assert not constraints._workers

    run(body)


@pytest.mark.skipif(sys.platform == "win32", reason="locks have no names there")
def test_locks_of_processes_that_start_exist_when_their_pool_has_dropped_them() -> None:
    context = module._context()
    lock = weakref.ref(context.RLock())
    gc.collect()
    assert lock() is not None


def test_a_server_starts_where_no_process_can_be_started_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(resource_tracker, "ensure_running", refused)
    assert module._context() is not None


STOPPED_SOON = """
import asyncio, sys
from sfgen.serve.constraints import Constraints

async def stopped(seconds):
    constraints = Constraints(60, 2**30)
    constraints.begin()
    await asyncio.sleep(seconds)
    await asyncio.to_thread(constraints.close)

if __name__ == "__main__":
    for number in range(16):
        asyncio.run(stopped(number / 200))
"""


def test_processes_that_are_ended_while_they_start_print_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(STOPPED_SOON)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
