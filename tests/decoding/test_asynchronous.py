"""Texts beside an event loop: the synchronous results, one text of a model at a time, and no thread that stays."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, assert_type

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import tried

import sfgen
from sfgen import SfgenError, Vocabulary
from sfgen.errors import LimitTooSmall

LETTERS = b"abc "
VOCABULARY = Vocabulary([*(bytes([letter]) for letter in LETTERS), b"ab", None], end_token_ids=[5])
TIMEOUT = 60
"""Seconds until a test that waits for what never comes fails."""


def small_model(score: Callable[[tuple[int, ...]], NDArray[np.floating]] | None = None) -> ScriptedModel:
    return ScriptedModel(VOCABULARY, score or random_scores(len(VOCABULARY), 3))


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "sfgen-text"]


def run(make: Callable[[], Any]) -> Any:
    """Run a coroutine; afterwards no thread is left."""
    result = asyncio.run(asyncio.wait_for(make(), TIMEOUT))
    assert threads() == []
    return result


class Gate:
    """A model that waits at each token until it is let through, and tells where it stands."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.asked = threading.Semaphore(0)
        self.lock = threading.Lock()
        self.now = 0
        self.most = 0

    def __call__(self, tokens: tuple[int, ...]) -> NDArray[np.floating]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.asked.release()
        assert self.permits.acquire(timeout=TIMEOUT)
        with self.lock:
            self.now -= 1
        return np.array([1, 0, 0, 0, 0, 0], dtype=np.float32)  # never the end

    async def stands(self) -> None:
        while not self.asked.acquire(blocking=False):
            await asyncio.sleep(0.001)


PARAMETERS = st.fixed_dictionaries(
    {"max_tokens": st.integers(1, 8), "temperature": st.sampled_from([0, 1]), "seed": st.integers(0, 9)},
    optional={"regex": st.sampled_from(["[ab]{1,3}", "(ab|c)*"]), "banned": st.sampled_from([["ab"], ["a", "cc"]])},
)


@given(texts=st.lists(st.tuples(st.text("abc ", max_size=4), PARAMETERS), min_size=1, max_size=4))
@tried("few")
def test_results_and_events_are_the_synchronous_ones(texts: list[tuple[str, dict[str, Any]]]) -> None:
    def outcome(make: Callable[..., Any], prompt: str, named: dict[str, Any]) -> Any:
        try:
            return make(model, prompt, **named)
        except SfgenError as error:
            return type(error), str(error)

    def events(*args: Any, **named: Any) -> list[sfgen.Event]:
        return list(sfgen.stream(*args, **named))

    model = small_model()
    expected = [(outcome(sfgen.generate, *text), outcome(events, *text)) for text in texts]

    async def each(prompt: str, named: dict[str, Any]) -> Any:
        async def result() -> Any:
            try:
                return await sfgen.agenerate(model, prompt, **named)
            except SfgenError as error:
                return type(error), str(error)

        async def streamed() -> Any:
            try:
                return [event async for event in sfgen.astream(model, prompt, **named)]
            except SfgenError as error:
                return type(error), str(error)

        return tuple(await asyncio.gather(result(), streamed()))

    async def together() -> Any:
        return await asyncio.gather(*(each(*text) for text in texts))

    assert run(together) == expected


def test_the_embedded_model_and_its_name() -> None:
    async def texts() -> list[str]:
        model = sfgen.load_model("tiny")
        made = [sfgen.agenerate(each, "Date: ", regex="[0-9]{4}-[0-9]{2}") for each in (model, "tiny", model)]
        results = await asyncio.gather(*made)
        assert_type(results, list[sfgen.Result])
        return [result.text for result in results]

    assert set(run(texts)) == {sfgen.generate("tiny", "Date: ", regex="[0-9]{4}-[0-9]{2}").text}


def test_the_event_loop_runs_on_while_the_model_computes() -> None:
    gate = Gate()

    async def text() -> str:
        task = asyncio.create_task(sfgen.agenerate(small_model(gate), "a", max_tokens=3))
        for _ in range(3):
            await gate.stands()  # the model waits for what only this coroutine can do
            gate.permits.release()
        return (await task).text

    assert run(text) == "aaa"


def test_texts_of_one_model_take_turns_and_those_of_two_do_not() -> None:
    gate = Gate()
    model, other = small_model(gate), small_model(gate)

    async def most(models: Sequence[ScriptedModel]) -> int:
        gate.most = 0
        tasks = [asyncio.create_task(sfgen.agenerate(each, "a", max_tokens=2)) for each in models]
        for _ in range(2 if models[0] is not models[1] else 1):
            await gate.stands()
        gate.permits.release(2 * len(models))
        assert [(await task).text for task in tasks] == ["aa"] * len(models)
        assert len({id(session) for each in models for session in each.sessions}) >= len(models)
        while gate.asked.acquire(blocking=False):
            pass
        return gate.most

    assert run(lambda: most([model, model, model])) == 1
    assert run(lambda: most([model, other])) == 2


def test_a_text_that_is_cancelled_ends_and_frees_the_model() -> None:
    gate = Gate()
    model = small_model(gate)

    async def cancelled() -> str:
        first = asyncio.create_task(sfgen.agenerate(model, "a", max_tokens=1000))
        await gate.stands()
        waiting = asyncio.create_task(sfgen.agenerate(model, "b", max_tokens=1000))
        last = asyncio.create_task(sfgen.agenerate(model, "c", max_tokens=2))
        await asyncio.sleep(0.01)
        waiting.cancel()  # before its turn
        with pytest.raises(asyncio.CancelledError):
            await waiting
        first.cancel()
        await asyncio.sleep(0.01)  # the event loop tells the task
        gate.permits.release()  # the token that it was making
        with pytest.raises(asyncio.CancelledError):
            await first
        gate.permits.release(2)
        return (await last).text

    assert run(cancelled) == "aa"
    assert sum(len(session.calls) for session in model.sessions) == 3, "one token of the first, two of the last"


def test_a_stream_that_is_left_ends() -> None:
    gate = Gate()
    model = small_model(gate)
    gate.permits.release(10)

    async def left() -> None:
        async with aclosing(sfgen.astream(model, "a", max_tokens=1000)) as events:
            async for event in events:
                if isinstance(event, sfgen.TextReleased):
                    break
            gate.permits.release(1000)  # what it may be waiting for
        assert threads() == []

    run(left)


def test_another_text_of_the_model_can_be_asked_for_in_the_loop_over_a_stream() -> None:
    async def texts() -> tuple[str, str]:
        outer, inner = "", ""
        async for event in sfgen.astream("uniform", regex="[0-9]{9}", seed=1):
            if isinstance(event, sfgen.TextReleased):
                outer += event.text
                inner += (await sfgen.agenerate("uniform", regex="[0-9]", seed=len(outer))).text
        return outer, inner

    outer, inner = run(texts)
    assert outer == sfgen.generate("uniform", regex="[0-9]{9}", seed=1).text
    assert len(inner) >= 1


def test_errors_and_faults_of_the_model_are_raised() -> None:
    def breaks(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        raise ZeroDivisionError("a fault of the model")

    model = small_model(breaks)

    async def fails() -> None:
        with pytest.raises(LimitTooSmall):
            await sfgen.agenerate(model, "a", regex="aaaa", max_tokens=2)
        for _ in range(2):  # the line goes on
            with pytest.raises(ZeroDivisionError):
                await sfgen.agenerate(model, "a", max_tokens=2)
        with pytest.raises(ZeroDivisionError):
            [event async for event in sfgen.astream(model, "a")]

    run(fails)


def test_the_thread_has_the_context_of_who_asks() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")
    seen = []

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        seen.append(user.get())
        return np.array([0, 0, 0, 0, 0, 1], dtype=np.float32)

    async def text() -> None:
        user.set("Ada")
        await sfgen.agenerate(small_model(score), "a")

    run(text)
    assert set(seen) == {"Ada"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_forked_while_a_text_is_made_waits_for_no_thread_of_the_other() -> None:
    gate = Gate()
    model = small_model(gate)

    def written() -> None:
        gate.permits.release(1000)
        text = asyncio.run(asyncio.wait_for(sfgen.agenerate(model, "c", max_tokens=2), 10)).text
        os._exit(0 if text == "aa" else 3)

    async def exit_code() -> int:
        first = asyncio.create_task(sfgen.agenerate(model, "a", max_tokens=2))
        await gate.stands()
        child = os.fork()
        if child == 0:
            thread = threading.Thread(target=written)  # the event loop of this one is that of the other process
            thread.start()
            thread.join()
            os._exit(4)
        gate.permits.release(2)
        assert (await first).text == "aa"
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert run(exit_code) == 0
