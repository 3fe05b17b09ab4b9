"""The engine's thread: rows are taken and given back at once, and what happens to one text does not reach another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, cast

import pytest
from tests.support.models.gated import PATIENCE, Gated
from tests.support.models.scripted import ScriptedModel, preferring, random_scores

from sfgen import Finished, Sampler, TokenChosen, Vocabulary
from sfgen.decoding import prepare
from sfgen.decoding.events import Ask, Event
from sfgen.decoding.loop import Loop
from sfgen.errors import InternalError, ModelError, SfgenError
from sfgen.protocols import Scores
from sfgen.serve.engine import Busy, Engine, RunningText, Stopping, TooManyTexts, TooSlow

VOCABULARY = Vocabulary([b"a", b"b", b" ", b"ab", None], end_token_ids=[4])


def endless(is_open: bool = False) -> Gated:
    """It writes ``a`` for ever."""
    return Gated(VOCABULARY, preferring(VOCABULARY, [b"a"] * 10_000, prompt_length=0), is_open)


@asynccontextmanager
async def engine_of(model: Any, rows: int = 2, max_waiting: int = 8) -> AsyncIterator[Engine]:
    engine = Engine(model, rows, max_waiting)
    try:
        yield engine
    finally:
        if isinstance(model, Gated):
            model.open()
        await asyncio.to_thread(engine.stop, 0)
        assert not engine._thread.is_alive()


def text_of(model: Any, tokens: int, prompt: Sequence[int] = (0,), **times: Any) -> RunningText:
    return RunningText(prepare(model, prompt, max_tokens=tokens), **times)


class Fake:
    """A loop that asks as often as told, and does something before the second question."""

    prompt_ids = (0,)

    def __init__(self, asks: int, do: Callable[[], object] = lambda: None) -> None:
        self.asks, self.do, self.is_closed = asks, do, False

    def run(self) -> Generator[Ask | Event, Scores | None, Any]:
        try:
            for number in range(self.asks):
                if number == 1:
                    self.do()
                yield Ask((number % 3,))
                yield TokenChosen(number, 0, b"a", 0, 0, 1, True, None)
            yield cast(Any, FINISHED)
        finally:
            self.is_closed = True


FINISHED = object.__new__(Finished)


def fake(loop: Fake, **times: Any) -> RunningText:
    return RunningText(cast(Loop, loop), **times)


async def end_of(text: RunningText) -> Finished | SfgenError:
    try:
        async for event in text.events():
            if isinstance(event, Finished):
                return event
    except SfgenError as error:
        return error
    raise AssertionError("a text ends with an event or an error")


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never comes to that"
        await asyncio.sleep(0.002)


def run(body: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(body, 3 * PATIENCE))


class TestRows:
    def test_a_row_that_is_free_takes_the_next_text_in_the_middle_of_others(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model) as engine:
                texts = [text_of(model, tokens) for tokens in (6, 2, 2, 2)]
                engine.put(texts)
                model.open()
                ends = await asyncio.gather(*map(end_of, texts))
                assert [len(end.result.token_ids) for end in ends if isinstance(end, Finished)] == [6, 2, 2, 2]
                assert [len(each) for each in model.passes] == [2] * 6, "no pass with a row to spare"

        run(body())

    def test_a_text_that_comes_later_joins_those_that_run(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model) as engine:
                first, second = text_of(model, 5), text_of(model, 1)
                engine.put([first])
                model.allow(2)
                await until(lambda: len(model.passes) == 2)
                engine.put([second])
                model.allow(2)
                assert isinstance(await end_of(second), Finished)
                assert len(model.passes) <= 4
                await until(lambda: engine.load == (1, 0))

        run(body())

    def test_nobody_asks_and_nothing_runs(self) -> None:
        async def body() -> None:
            model = endless(is_open=True)
            async with engine_of(model) as engine:
                engine.put([text := text_of(model, 3)])
                await end_of(text)
                await until(lambda: engine.load == (0, 0))
                before = time.process_time()
                await asyncio.sleep(0.3)
                assert time.process_time() - before < 0.1, "it waits, and does not spin"
                assert len(model.passes) == 3

        run(body())


class TestTheLine:
    def test_one_more_than_there_is_room_for_is_refused(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=2, max_waiting=3) as engine:
                engine.put([text_of(model, 2) for _ in range(5)])
                with pytest.raises(Busy, match="waiting already"):
                    engine.put([text_of(model, 2)])
                model.allow(2)
                await until(lambda: engine.load == (2, 1))
                with pytest.raises(Busy):
                    engine.put([text_of(model, 2) for _ in range(3)])  # all of them or none
                engine.put([text_of(model, 2) for _ in range(2)])

        run(body())

    def test_more_than_ever_have_room_need_not_ask_again(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=2, max_waiting=3) as engine:
                with pytest.raises(TooManyTexts, match="6 texts, and this server keeps at most 5"):
                    engine.put([text_of(model, 2) for _ in range(6)])

        run(body())

    def test_when_to_ask_again_follows_from_how_long_texts_take(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=1, max_waiting=4) as engine:
                engine.put([text := text_of(model, 1)])
                await until(lambda: engine.load == (1, 0))
                await asyncio.sleep(1.5)
                model.allow()
                await end_of(text)
                await until(lambda: engine.load == (0, 0))
                engine.put([text_of(model, 1) for _ in range(5)])
                await until(lambda: engine.load == (1, 4))
                with pytest.raises(Busy) as refused:
                    engine.put([text_of(model, 1)])
                assert 6 <= refused.value.retry_after <= 9, "four texts of 1.5 seconds, one after the other"

        run(body())


class TestWhoLeaves:
    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_a_row_is_free_at_the_next_pass(self, rows: int) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=rows) as engine:
                engine.put([text := text_of(model, 1000)])
                model.allow(3)
                await until(lambda: len(model.passes) == 3)
                text.leave()
                model.allow()
                await until(lambda: engine.load == (0, 0))
                await asyncio.sleep(0.05)
                assert len(model.passes) <= 4
                engine.put([other := text_of(model, 2)])
                model.allow(2)
                assert isinstance(await end_of(other), Finished)

        run(body())

    def test_the_row_that_is_left_is_the_one_that_the_conversation_continues_in(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=3) as engine:
                prompt = [0, 1] * 20
                engine.put([text := text_of(model, 1000, prompt)])
                model.allow(3)
                await until(lambda: len(model.passes) == 3)
                text.leave()
                model.open()
                await until(lambda: engine.load == (0, 0))
                engine.put([again := text_of(model, 1, [*prompt, 0, 0, 1])])
                await end_of(again)
                assert list(model.passes[-1].values()) == [(1,)], "all but the last token was read before"

        run(body())

    def test_the_next_turn_reads_what_is_new_where_log_probabilities_are_told(self) -> None:
        async def body() -> None:
            model = endless(is_open=True)
            async with engine_of(model) as engine:
                read: list[int] = []
                for turn in ([0, 1] * 20, [1, 1, 0], [0, 0]):
                    loop = prepare(model, [*read, *turn], max_tokens=4).observe_scores(lambda index, scores: None)
                    before = len(model.passes)
                    engine.put([text := RunningText(loop)])
                    end = await end_of(text)
                    assert isinstance(end, Finished)
                    # The last token that was written has not been read.
                    assert list(model.passes[before].values()) == [(*read[-1:], *turn)]
                    assert [len(ids) for each in model.passes[before + 1 :] for ids in each.values()] == [1] * 3
                    read += [*turn, *end.result.token_ids]

        run(body())

    def test_one_that_waits_never_begins(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=1, max_waiting=2) as engine:
                engine.put([first := text_of(model, 2)])
                await until(lambda: engine.load == (1, 0))
                engine.put(waiting := [text_of(model, 2, [1, 1]), text_of(model, 1, [2, 2])])
                waiting[0].leave()
                assert engine.load == (1, 1)
                engine.put([last := text_of(model, 1)])  # its place in the line is free at once
                model.open()
                assert isinstance(await end_of(first), Finished)
                assert isinstance(await end_of(waiting[1]), Finished)
                assert isinstance(await end_of(last), Finished)
                assert not any((1, 1) in each.values() for each in model.passes)

        run(body())

    def test_whoever_stops_to_listen_leaves(self) -> None:
        async def body() -> None:
            model = endless(is_open=True)
            async with engine_of(model) as engine:
                engine.put([text := text_of(model, 5000)])
                task = asyncio.create_task(end_of(text))
                await until(lambda: len(model.passes) > 3)
                task.cancel()
                await until(lambda: engine.load == (0, 0))
                assert len(model.passes) < 5000

        run(body())

    def test_a_closed_event_loop(self) -> None:
        model = endless()
        engine = Engine(model, 2, 4)

        async def ask() -> None:
            engine.put([text_of(model, 1000)])

        asyncio.run(ask())
        model.open()
        end = time.monotonic() + PATIENCE
        while engine.load != (0, 0) and time.monotonic() < end:
            time.sleep(0.01)
        assert len(model.passes) < 100
        assert engine.stop(PATIENCE)


class TestTime:
    def test_of_a_request_that_only_waits(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model, rows=1) as engine:
                engine.put([text_of(model, 2)])
                await until(lambda: engine.load == (1, 0))
                engine.put([text := text_of(model, 2, seconds=0.2)])
                begun = time.monotonic()
                error = await end_of(text)
                assert isinstance(error, TooSlow)
                assert "the request took longer than 0.2 seconds" in str(error)
                assert time.monotonic() - begun < 2
                assert engine.load == (1, 0)

        run(body())

    def test_of_one_that_runs(self) -> None:
        async def body() -> None:
            model = endless(is_open=True)
            async with engine_of(model) as engine:
                engine.put([text := text_of(model, 9000, seconds=0.3), other := text_of(model, 3)])
                assert isinstance(await end_of(text), TooSlow)
                assert isinstance(await end_of(other), Finished)
                await until(lambda: engine.load == (0, 0))

        run(body())

    def test_of_one_that_nobody_listens_to(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model) as engine:
                engine.put([text_of(model, 9000, seconds=0.1)])
                await asyncio.sleep(0.2)
                model.allow(2)
                await until(lambda: engine.load == (0, 0))
                assert len(model.passes) <= 2

        run(body())

    def test_of_a_mask(self) -> None:
        async def body() -> None:
            model = endless(is_open=True)
            async with engine_of(model) as engine:
                slow = Fake(9, lambda: time.sleep(0.3))
                engine.put([text := fake(slow, mask_seconds=0.2), other := text_of(model, 20, mask_seconds=5)])
                error = await end_of(text)
                assert "a token mask took longer than 0.2 seconds" in str(error)
                assert isinstance(await end_of(other), Finished)
                await until(lambda: slow.is_closed)

        run(body())


class TestFaults:
    def test_of_a_text(self) -> None:
        async def body() -> None:
            def fail() -> None:
                raise ZeroDivisionError("of a text")

            model = endless(is_open=True)
            async with engine_of(model) as engine:
                wrong = Fake(9, fail)
                engine.put([text := fake(wrong), other := text_of(model, 20)])
                error = await end_of(text)
                assert isinstance(error, InternalError)
                assert "of a text" in str(error)
                assert isinstance(await end_of(other), Finished)
                assert wrong.is_closed

        run(body())

    def test_of_a_row_is_always_told(self) -> None:
        def score(tokens: tuple[int, ...]) -> Any:
            if tokens[0] == 1 and len(tokens) > 1:
                raise ModelError("no such text")
            return preferring(VOCABULARY, [b"a"] * 99, prompt_length=0)(tokens)

        async def body() -> None:
            model = Gated(VOCABULARY, score, is_open=True)
            async with engine_of(model, rows=3, max_waiting=200) as engine:
                texts = [text_of(model, 4, [number % 2]) for number in range(100)]
                for text in texts:
                    engine.put([text])  # counts those that are over, while the thread ends some
                ends = await asyncio.gather(*map(end_of, texts))
                assert [type(end) for end in ends] == [Finished, ModelError] * 50

        run(body())

    def test_of_the_model_ends_those_that_it_was_asked_about(self) -> None:
        async def body() -> None:
            model = endless()
            async with engine_of(model) as engine:
                texts = [text_of(model, 3) for _ in range(3)]
                engine.put(texts)
                model.allow(1)
                await until(lambda: len(model.passes) == 1)
                model.fault = RuntimeError("out of registers")
                model.open()
                ends = await asyncio.gather(*map(end_of, texts))
                assert [type(end) for end in ends] == [InternalError, InternalError, Finished]
                assert "the model has failed: RuntimeError: out of registers" in str(ends[0])

        run(body())

    def test_of_the_engine_ends_those_that_come_at_the_same_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        check, failing = Engine.check, list[threading.Thread]()

        def fail(engine: Engine) -> None:
            error = SystemExit("out of registers")
            with engine._changed:
                engine._failure = error
            engine._fail(error)

        def checked(engine: Engine) -> None:
            check(engine)
            failing.append(threading.Thread(target=fail, args=[engine]))
            failing[0].start()
            failing[0].join(0.2)

        async def body() -> None:
            model = endless()
            async with engine_of(model) as engine:
                monkeypatch.setattr(Engine, "check", checked)
                try:
                    engine.put([text := text_of(model, 3)])
                finally:
                    failing[0].join()
                assert engine.load == (0, 0), "it would wait for ever"
                assert isinstance(await end_of(text), InternalError)

        run(body())

    def test_a_model_that_can_make_no_batch_refuses_each_and_does_not_spin(self) -> None:
        class NoBatch(ScriptedModel):
            tried = 0

            def batch(self, rows: int) -> Any:
                self.tried += 1
                raise RuntimeError("no memory")

        async def body() -> None:
            model = NoBatch(VOCABULARY, random_scores(len(VOCABULARY), 0))
            async with engine_of(model) as engine:
                for _ in range(2):
                    engine.put([text := text_of(model, 3)])
                    assert isinstance(await end_of(text), InternalError)
                await asyncio.sleep(0.1)
                assert model.tried == 2

        run(body())


class TestSlowSteps:
    """One text's long step, as of a mask that is made for minutes, is nobody else's."""

    def test_others_begin_go_on_and_end_meanwhile(self) -> None:
        async def body() -> None:
            model, go_on = endless(is_open=True), threading.Event()
            async with engine_of(model) as engine:
                engine.put([slow := fake(Fake(3, go_on.wait))])
                end = asyncio.create_task(end_of(slow))
                for _ in range(3):
                    engine.put([other := text_of(model, 20)])
                    assert isinstance(await end_of(other), Finished)
                assert not end.done()
                go_on.set()
                assert await end is FINISHED

        run(body())

    def test_its_client_leaves_or_its_time_is_over(self) -> None:
        async def body() -> None:
            model, go_on = endless(is_open=True), threading.Event()
            async with engine_of(model, rows=1) as engine:
                for times in ({}, {"seconds": 0.2}, {"mask_seconds": 0.2}):
                    engine.put([slow := fake(loop := Fake(3, go_on.wait), **times)])
                    end = asyncio.create_task(end_of(slow))
                    await asyncio.sleep(0.05)
                    if times:
                        assert isinstance(await end, TooSlow)
                    else:
                        slow.leave()
                    engine.put([other := text_of(model, 20)])  # in the same row
                    assert isinstance(await end_of(other), Finished)
                    assert not loop.is_closed
                    end.cancel()
                go_on.set()
                await until(lambda: loop.is_closed)

        run(body())


class TestStopping:
    def test_those_that_run_and_wait_come_to_their_end(self) -> None:
        async def body() -> None:
            model = endless()
            engine = Engine(model, 1, 4)
            texts = [text_of(model, 3) for _ in range(3)]
            engine.put(texts)
            stopped = asyncio.create_task(asyncio.to_thread(engine.stop, PATIENCE))
            await asyncio.sleep(0.05)
            with pytest.raises(Stopping):
                engine.put([text_of(model, 3)])
            model.open()
            assert all([isinstance(await end_of(text), Finished) for text in texts])
            assert await stopped

        run(body())

    def test_after_the_grace_they_are_told(self) -> None:
        async def body() -> None:
            model = endless(is_open=True)
            engine = Engine(model, 1, 4)
            texts = [text_of(model, 9000) for _ in range(3)]
            engine.put(texts)
            ends = [asyncio.create_task(end_of(text)) for text in texts]
            assert not await asyncio.to_thread(engine.stop, 0.1)
            assert [type(end) for end in await asyncio.gather(*ends)] == [Stopping] * 3
            assert not engine._thread.is_alive()

        run(body())

    def test_idle(self) -> None:
        assert Engine(endless(), 2, 4).stop(PATIENCE)


class TestAllAtOnce:
    @pytest.mark.parametrize("seed", range(3))
    def test_each_is_as_alone_whoever_leaves(self, seed: int) -> None:
        """Hundreds of texts of a conversation's kind, put at any time, left at any time."""
        random = Random(seed)
        score = random_scores(len(VOCABULARY), seed)
        prompts = [[random.randrange(3) for _ in range(random.randint(1, 30))] for _ in range(12)]
        prompts += [prompt + [random.randrange(3) for _ in range(5)] for prompt in prompts]

        def loop(model: Any, number: int) -> Loop:
            sampler = Sampler(1.0, number)
            return prepare(model, prompts[number % len(prompts)], sampler=sampler, max_tokens=1 + number % 17)

        def alone(number: int) -> str:
            model = ScriptedModel(VOCABULARY, score)
            from sfgen.decoding.batch import drive

            events = list(drive(loop(model, number), model))
            assert isinstance(events[-1], Finished)
            return events[-1].result.text

        async def body() -> None:
            model = Gated(VOCABULARY, score, is_open=True)
            async with engine_of(model, rows=4, max_waiting=1000) as engine:

                async def ask(number: int) -> tuple[int, str | None]:
                    await asyncio.sleep(random.random() / 5)
                    text = RunningText(loop(model, number))
                    engine.put([text])
                    if number % 3 == 0:
                        await asyncio.sleep(random.random() / 20)
                        text.leave()
                        return number, None
                    end = await end_of(text)
                    assert isinstance(end, Finished)
                    return number, end.result.text

                answers = await asyncio.gather(*map(ask, range(200)))
                await until(lambda: engine.load == (0, 0))
            assert all(text is None or text == alone(number) for number, text in answers)

        run(body())
