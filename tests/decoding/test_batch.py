"""Loops in lock-step: each writes what it writes alone, whatever becomes of the others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast, get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Finished, Index, RolledBack, Sampler, TokenChosen, Vocabulary, load_model
from sfgen.decoding import AskAgain, prepare
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.decoding.events import Ask, Event
from sfgen.decoding.loop import Loop, Steps
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall, ModelError, SfgenError
from sfgen.models.sessions import SeparateRows, last_scores
from sfgen.protocols import Answer, Int32, Scores, ScoresRows, Session


def drive_one(steps: Steps, new_session: Callable[[], Session]) -> Iterator[Event]:
    session, answer = None, None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(step, Ask):
            session = session or new_session()
            if step.keep is not None:
                session.rewind(step.keep)
            if step.positions > 1:
                answer = last_scores(session, step.token_ids, step.positions)
            elif step.rows is None or not isinstance(session, ScoresRows):
                answer = session.extend(step.token_ids)
            else:
                answer = session.extend_rows(step.token_ids, step.rows)
        elif isinstance(step, AskAgain):
            answer = session.score_again(step.rows) if isinstance(session, ScoresRows) else None
        else:
            yield step


PIECES = [b"a", b"b", b" ", b"ab", b"ba", b"aa", b".", b" a", b"bb"]
VOCABULARY = Vocabulary([*PIECES, None], end_token_ids=[len(PIECES)])
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
PATTERNS = [None, None, "[ab]{2,9}", "(a b ?)+", r"(ab|ba|\.)*", "ab ab"]
WORDS: list[tuple[str, ...]] = [(), ("bb",), ("aba", "b b"), ("aab", "ba")]
Tale = list[Event | SfgenError]


@functools.cache
def index_of(pattern: str) -> Index:
    return Index(Dfa.from_regex(pattern), VOCABULARY)


@functools.cache
def banned(words: tuple[str, ...]) -> BannedWords:
    return BannedWords(words, match="substring")


@dataclass(frozen=True)
class Text:
    """What one loop is made of."""

    prompt: tuple[int, ...]
    pattern: str | None
    words: tuple[str, ...]
    strategy: StrategyName
    seed: int | None
    max_tokens: int
    max_rollbacks: int
    logprobs: bool = False
    top_k: int | None = None
    hold: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether there is a text that the pattern, the ban and the limit allow: only then there is a loop."""
        try:
            self.loop(ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0)))
        except (BannedWordsError, LimitTooSmall):
            return False
        return True

    def loop(self, model: ScriptedModel) -> Loop:
        return prepare(
            model,
            self.prompt,
            index=index_of(self.pattern) if self.pattern else None,
            banned=banned(self.words) if self.words else None,
            sampler=Sampler(0.0) if self.seed is None else Sampler(1.0, self.seed, top_k=self.top_k),
            max_tokens=self.max_tokens,
            strategy=self.strategy,
            max_rollbacks=self.max_rollbacks,
            logprobs=self.logprobs,
            hold=self.hold,
        )


TEXTS = st.builds(
    Text,
    prompt=st.lists(st.integers(0, len(PIECES) - 1), min_size=1, max_size=4).map(tuple),
    pattern=st.sampled_from(PATTERNS),
    words=st.sampled_from(WORDS),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.sampled_from([None, 1, 2, 3]),
    max_tokens=st.integers(9, 14),
    max_rollbacks=st.sampled_from([0, 3, 100]),
    top_k=st.sampled_from([None, 2]),
    hold=st.booleans(),
).filter(lambda text: text.is_possible)


class TrueBatch:
    """One question for all rows, checked for order; the scores are those of a scripted model."""

    def __init__(self, model: ScriptedModel, rows: int) -> None:
        self.model = model
        self.read: list[list[int]] = [[] for _ in range(rows)]
        self.questions: list[dict[int, tuple[int, ...]]] = []

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        assert rows, "a question for nobody"
        self.questions.append({row: tuple(token_ids) for row, token_ids in rows.items()})
        return {row: self._answer(row, token_ids) for row, token_ids in rows.items()}

    def rewind(self, row: int, length: int) -> None:
        assert length <= len(self.read[row]), "rewound to a length that was never read"
        del self.read[row][length:]

    def _answer(self, row: int, token_ids: Sequence[int]) -> Answer:
        assert token_ids
        self.read[row] += token_ids
        try:
            return self.model.score(tuple(self.read[row]))
        except ModelError as error:
            return error


class TableBatch(TrueBatch):
    """The same, with the scores of all rows in one table, in which tokens are chosen."""

    def extend_together(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> tuple[Sequence[int], Scores, Mapping[int, Answer]]:
        assert rows.keys() == wanted.keys()
        answers = self.extend(rows)
        scores = {row: answer for row, answer in answers.items() if not isinstance(answer, SfgenError)}
        table = np.stack([*scores.values(), np.zeros(len(VOCABULARY))])[:-1]
        return list(scores), table, {row: answer for row, answer in answers.items() if row not in scores}


BATCHES = [SeparateRows, TrueBatch, TableBatch]


def model_of(seed: int) -> ScriptedModel:
    """Random scores; some texts it cannot read, and after some its scores are no numbers."""
    random = random_scores(len(VOCABULARY), seed)

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        kind = hash((seed, tokens[-2:])) % 60  # of integers, so the same in every run
        if kind == 0:
            raise ModelError(f"cannot read {tokens}")
        return np.full(len(VOCABULARY), np.nan) if kind == 1 else random(tokens)

    return ScriptedModel(VOCABULARY, score)


def alone(text: Text, model: ScriptedModel) -> Tale:
    tale: Tale = []
    try:
        tale += drive_one(text.loop(model).run(), model.session)
    except SfgenError as error:
        tale.append(error)
    return tale


def told(pairs: Iterable[tuple[int, Event | SfgenError]], count: int) -> list[Tale]:
    tales: list[Tale] = [[] for _ in range(count)]
    for number, event in pairs:
        tales[number].append(event)
    return tales


def plain(tale: Tale) -> list[object]:
    """With errors as values that can be compared."""
    return [(type(each), str(each)) if isinstance(each, SfgenError) else each for each in tale]


LOOSENED = Text((8, 3), None, ("aa", "bb"), "resample", 2, 10, 100, top_k=2)
"""With scores of seed 456238 top-k leaves nothing, and is dropped where some tokens have not been scored yet."""


class TestEachTextIsAsAlone:
    @example(texts=[LOOSENED], seed=456238, rows=None, kind=TableBatch)
    @given(
        texts=st.lists(TEXTS, min_size=1, max_size=6),
        seed=st.integers(0, 10**6),
        rows=st.sampled_from([None, 1, 2, 3, 9]),
        kind=st.sampled_from(BATCHES),
    )
    def test_events_and_errors_are_the_same(self, texts: list[Text], seed: int, rows: int | None, kind: Any) -> None:
        expected = [alone(text, model_of(seed)) for text in texts]
        model, places = model_of(seed), rows or len(texts)
        batch = kind(model, places)
        loops = (text.loop(model) for text in texts)
        tales = told(drive_batch(loops, batch, rows), len(texts))
        assert list(map(plain, tales)) == list(map(plain, expected))
        assert all(isinstance(tale[-1], Finished | SfgenError) for tale in tales)

    def test_what_the_property_sees(self) -> None:
        """The random texts do roll back, fail in each of the ways, and end at different times."""
        random = Random(0)
        ends: list[type] = []
        rollbacks = 0
        for seed in range(300):
            text = Text(
                tuple(random.choices(range(len(PIECES)), k=2)),
                random.choice(PATTERNS),
                random.choice(WORDS),
                random.choice(STRATEGIES),
                random.choice([None, 1]),
                12,
                random.choice([0, 3, 100]),
            )
            if not text.is_possible:
                continue
            tale = alone(text, model_of(seed))
            ends.append(type(tale[-1]))
            rollbacks += sum(isinstance(each, RolledBack) for each in tale)
        assert {Finished, ModelError, GenerationError} <= set(ends)
        assert rollbacks > 20

    @tried("some")
    @given(texts=st.lists(TEXTS, min_size=1, max_size=5), seed=st.integers(0, 10**6))
    def test_one_question_a_round_for_all_that_run(self, texts: list[Text], seed: int) -> None:
        model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), seed))
        loops = [text.loop(model) for text in texts]
        batch = TrueBatch(model, len(loops))
        list(drive_batch(loops, batch))
        assert len(batch.questions) == max(loop.passes.count for loop in loops)
        for row, loop in enumerate(loops):
            assert [row in question for question in batch.questions] == [
                number < loop.passes.count for number in range(len(batch.questions))
            ]
        assert not any(batch.read), "a row that is over is rewound to nothing"


def texts_of(lengths: Sequence[int]) -> tuple[ScriptedModel, list[Loop]]:
    """A model that writes on and on, and free texts of so many tokens."""
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, [b"a"] * 99, prompt_length=1))
    return model, [prepare(model, [0], max_tokens=length) for length in lengths]


class TestRowsAndRounds:
    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_the_next_text_takes_a_row_at_once(self, rows: int) -> None:
        lengths = [2, 5, 1, 0, 3, 1, 1]
        model, loops = texts_of(lengths)
        batch = TrueBatch(model, rows)
        tales = told(drive_batch(iter(loops), batch, rows), len(loops))
        assert [len(tale[-1].result.token_ids) for tale in tales if isinstance(tale[-1], Finished)] == lengths
        running = [len(question) for question in batch.questions]
        assert sum(running) == sum(lengths)
        assert len(running) == {1: 13, 2: 7, 3: 5}[rows]

    def test_loops_are_taken_when_a_row_is_free(self) -> None:
        model, loops = texts_of([3, 1, 1])
        taken: list[int] = []

        def each() -> Iterator[Loop]:
            for number, loop in enumerate(loops):
                taken.append(number)
                yield loop

        seen = [
            (number, tuple(taken))
            for number, event in drive_batch(each(), TrueBatch(model, 2), 2)
            if isinstance(event, Finished)
        ]
        assert seen == [(1, (0, 1)), (2, (0, 1, 2)), (0, (0, 1, 2))]

    def test_who_runs_does_not_wait_for_loops_that_are_not_there_yet(self) -> None:
        model, loops = texts_of([5, 2, 3])
        running = 0

        def each() -> Iterator[Loop | None]:
            for loop in loops:
                waited = 0
                while running and waited < 3:
                    waited += 1
                    yield None
                yield loop

        batch, seen = TrueBatch(model, 2), []
        for number, event in drive_batch(each(), batch, 2):
            running = 1
            if isinstance(event, Finished):
                seen.append((number, len(event.result.token_ids)))
        assert seen == [(1, 2), (0, 5), (2, 3)]
        assert [len(question) for question in batch.questions] == [2, 2, 1, 1, 1, 1, 1, 1]

    def test_events_come_before_the_next_question(self) -> None:
        model, loops = texts_of([3, 3])
        batch = TrueBatch(model, 2)
        asked = [len(batch.questions) for _, event in drive_batch(loops, batch) if isinstance(event, TokenChosen)]
        assert asked == [1, 1, 2, 2, 3, 3]

    def test_texts_that_need_no_model_open_no_session(self) -> None:
        model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0))
        vocabulary = Vocabulary([b"a", b"b", None], end_token_ids=[2])
        model.vocabulary = vocabulary
        index = Index(Dfa.from_regex("abba"), vocabulary)
        loops = [prepare(model, [0], index=index) for _ in range(3)]
        ends = [event for _, event in drive_batch(loops, batch_of(model, 3)) if isinstance(event, Finished)]
        assert [end.result.text for end in ends] == ["abba"] * 3
        assert not model.sessions

    def test_no_loops(self) -> None:
        model, _ = texts_of([])
        assert list(drive_batch([], TrueBatch(model, 0))) == []
        assert list(drive_batch([], TrueBatch(model, 4), 4)) == []


# ---- rows that keep what they have read ------------------------------------------------------------------------------


@st.composite
def conversations(draw: Any) -> list[Text]:
    """Texts whose prompts begin like earlier ones, some with what a model may have written."""
    texts: list[Text] = []
    for _ in range(draw(st.integers(1, 8))):
        text = draw(TEXTS)
        if texts and draw(st.booleans()):
            before = draw(st.sampled_from(texts)).prompt
            prompt = before[: draw(st.integers(1, len(before)))] + text.prompt
        else:
            prompt = tuple(draw(st.lists(st.integers(0, len(PIECES) - 1), min_size=1, max_size=20)))
        texts.append(replace(text, prompt=prompt, logprobs=draw(st.booleans())))
    return [text for text in texts if text.is_possible]


class TestRowsThatKeepWhatTheyHaveRead:
    @given(
        texts=conversations(),
        seed=st.integers(0, 10**6),
        rows=st.sampled_from([1, 2, 3, 9]),
        is_separate=st.booleans(),
        waits=st.lists(st.booleans(), max_size=20),
    )
    def test_texts_are_as_alone(
        self, texts: list[Text], seed: int, rows: int, is_separate: bool, waits: list[bool]
    ) -> None:
        """Whatever the rows have read before, whichever takes the text, and whenever it comes."""
        expected = [alone(text, model_of(seed)) for text in texts]
        model = model_of(seed)
        batch = SeparateRows(model, rows) if is_separate else TrueBatch(model, rows)
        ended = 0

        def loops() -> Iterator[Loop | None]:
            pauses = iter(waits)
            for begun, text in enumerate(texts):
                while ended < begun and next(pauses, False):
                    yield None
                yield text.loop(model)

        tales: list[Tale] = [[] for _ in texts]
        events: Iterator[tuple[int, Event | SfgenError]] = drive_batch(loops(), batch, rows, keep=True)
        for number, event in events:
            tales[number].append(event)
            ended += isinstance(event, Finished | SfgenError)
        assert list(map(plain, tales)) == list(map(plain, expected))
        if not is_separate and isinstance(batch, TrueBatch):
            asked = sum(len(ids) for question in batch.questions for ids in question.values())
            assert asked <= sum(map(tokens_read, texts, [seed] * len(texts))), "nothing is read that alone is not"

    @classmethod
    def conversing(cls, rows: int, prompts: Sequence[Sequence[int]]) -> list[tuple[int, tuple[int, ...]]]:
        """The row, and what is read, of one-token texts, one after the other; log-probabilities need no more."""
        asked = cls._conversing(rows, prompts, logprobs=False)
        assert cls._conversing(rows, prompts, logprobs=True) == asked
        return asked

    @staticmethod
    def _conversing(
        rows: int, prompts: Sequence[Sequence[int]], *, logprobs: bool, **parameters: Any
    ) -> list[tuple[int, tuple[int, ...]]]:
        model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0))
        batch = TrueBatch(model, rows)
        ended = 0

        def loops() -> Iterator[Loop | None]:
            for number, prompt in enumerate(prompts):
                while ended < number:
                    yield None
                yield prepare(model, prompt, **{"max_tokens": 1, "logprobs": logprobs, **parameters})

        events: Iterator[tuple[int, Event | SfgenError]] = drive_batch(loops(), batch, rows, keep=True)
        for _, event in events:
            ended += isinstance(event, Finished)
        return [next(iter(question.items())) for question in batch.questions]

    def test_a_turn_reads_what_is_new(self) -> None:
        turns = [[0, 1, 2, 3, 4] * count for count in range(1, 11)]
        assert self.conversing(1, turns)[1:] == [(0, (0, 1, 2, 3, 4))] * 9
        assert self.conversing(3, turns)[1:] == [(0, (0, 1, 2, 3, 4))] * 9

    def test_a_turn_with_forced_tokens_reads_what_is_new(self) -> None:
        """The scores at the end of the prompt, and at each forced token, are wanted; the rest was read before."""
        turns = [[0, 1, 2, 3, 4] * count for count in (1, 2)]
        asked = self._conversing(1, turns, logprobs=True, index=index_of(r"\.\.[ab]"), max_tokens=3)
        assert [ids for _, ids in asked] == [(0, 1, 2, 3, 4), (6,), (6,), (0, 1, 2, 3, 4), (6,), (6,)]

    def test_conversations_have_rows_of_their_own(self) -> None:
        """All begin alike, as a chat template has it; they take turns."""
        begin = [0, 0, 0, 0, 0]
        turns = [[*begin, *[speaker] * (5 * turn)] for turn in (1, 2, 3) for speaker in (1, 2, 3)]
        asked = self.conversing(3, turns)
        assert [row for row, _ in asked] == [0, 1, 2] * 3
        assert [len(ids) for _, ids in asked] == [10] * 3 + [5] * 6

    def test_of_more_conversations_than_rows_the_one_longest_silent_goes(self) -> None:
        begin = [0, 0, 0, 0, 0]
        turns = [[*begin, *[speaker] * 9] for speaker in (1, 2)]
        asked = self.conversing(2, [*turns, [*turns[0], 5], [*begin, *[3] * 9], [*turns[0], 5, 5]])
        assert [row for row, _ in asked] == [0, 1, 0, 1, 0]
        assert [len(ids) for _, ids in asked] == [14, 14, 1, 9, 1], "and what is common is not read again"

    def test_an_answer_that_is_asked_for_again(self) -> None:
        prompt = [0, 1, 2, 3, 4, 5]
        answered = [*prompt, *[1] * 20]
        assert self.conversing(2, [prompt, prompt, answered, prompt])[1:] == [(0, (5,)), (0, (1,) * 20), (0, (5,))]


def tokens_read(text: Text, seed: int) -> int:
    """The tokens that a text reads alone, those again that it has rewound."""
    model = model_of(seed)
    alone(text, model)
    return sum(len(call) for session in model.sessions for call in session.calls)


class FakeLoop:
    """Asks as often as told, and tells when it is closed."""

    def __init__(self, questions: int, *, error: Exception | None = None) -> None:
        self.questions, self.error = questions, error
        self.is_open = False
        self.answers: list[Scores | None] = []

    def run(self) -> Generator[Ask | Event, Scores | None, Any]:
        self.is_open = True
        try:
            for number in range(self.questions):
                self.answers.append((yield Ask((number,))))
                yield TokenChosen(number, 0, b"a", 0, 0, 1, True, None)
            if self.error:
                raise self.error
        finally:
            self.is_open = False


class Failing(TrueBatch):
    """Fails at one question, as a whole or for one row."""

    def __init__(self, rows: int, at: int, row: int | None) -> None:
        super().__init__(ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0)), rows)
        self.at, self.row = at, row

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        answers = dict(super().extend(rows))
        if len(self.questions) == self.at:
            if self.row is None:
                raise ModelError("not enough memory")
            answers[self.row] = ModelError("no such token")
        return answers


def fakes(*questions: int) -> list[FakeLoop]:
    return [FakeLoop(each) for each in questions]


def run(loops: Sequence[FakeLoop], batch: TrueBatch, rows: int | None = None) -> list[Tale]:
    return told(drive_batch(cast(Sequence[Loop], loops), batch, rows), len(loops))


class TestWhatFails:
    def test_a_row_that_cannot_be_read(self) -> None:
        loops = fakes(4, 4, 4)
        tales = run(loops, Failing(3, at=2, row=1))
        assert [len(tale) for tale in tales] == [4, 2, 4]
        assert isinstance(tales[1][-1], ModelError)
        assert not any(loop.is_open for loop in loops)

    def test_a_question_that_fails_as_a_whole_ends_those_that_asked(self) -> None:
        loops = fakes(4, 1, 4, 3, 2)
        tales = run(loops, Failing(2, at=3, row=None), rows=2)
        # The first two rounds go well for 0, 1 and 2; 3 and 4 begin after the failure.
        assert [len(tale) for tale in tales] == [3, 1, 2, 3, 2]
        assert [[str(each) for each in tale if isinstance(each, SfgenError)] for tale in tales] == [
            ["not enough memory"], [], ["not enough memory"], [], [],
        ]  # fmt: skip
        assert not any(loop.is_open for loop in loops)

    def test_a_loop_that_fails(self) -> None:
        loops = fakes(2, 5, 3)
        loops[0].error = DeadEnd("nothing can follow")
        tales = run(loops, TrueBatch(ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0)), 3))
        assert [len(tale) for tale in tales] == [3, 5, 3]
        assert tales[0][-1] is loops[0].error

    def test_what_is_no_error_of_sfgen_ends_all(self) -> None:
        loops = fakes(2, 9, 9)
        loops[0].error = ZeroDivisionError()
        with pytest.raises(ZeroDivisionError):
            run(loops, Failing(3, at=99, row=None))
        assert not any(loop.is_open for loop in loops)

    def test_a_batch_that_breaks_closes_all(self) -> None:
        class Broken(TrueBatch):
            def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
                raise KeyboardInterrupt

        loops = fakes(2, 2)
        with pytest.raises(KeyboardInterrupt):
            run(loops, Broken(ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0)), 2))
        assert not any(loop.is_open for loop in loops)

    @pytest.mark.parametrize("events", [1, 2, 4])
    def test_closing_the_iterator_closes_all_loops(self, events: int) -> None:
        loops = fakes(9, 9, 9)
        pairs = drive_batch(cast(Sequence[Loop], loops), Failing(3, at=99, row=None))
        for _ in range(events):
            next(pairs)
        assert all(loop.is_open for loop in loops)
        cast(Generator[object], pairs).close()
        assert not any(loop.is_open for loop in loops)


class TestSeparateRows:
    def test_a_session_for_each_row_when_it_is_first_asked(self) -> None:
        model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 5))
        batch = SeparateRows(model, 3)
        answers = batch.extend({2: [1, 2], 0: [3]})
        assert len(model.sessions) == 2
        for row, tokens in {2: (1, 2), 0: (3,)}.items():
            np.testing.assert_array_equal(cast(Scores, answers[row]), model.score(tokens))

    def test_a_row_rewound_to_nothing_begins_anew(self) -> None:
        model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 5))
        batch = SeparateRows(model, 2)
        batch.extend({0: [1, 2], 1: [4]})
        batch.rewind(0, 0)
        batch.rewind(1, 1)
        answers = batch.extend({0: [7], 1: [5]})
        np.testing.assert_array_equal(cast(Scores, answers[0]), model.score((7,)))
        np.testing.assert_array_equal(cast(Scores, answers[1]), model.score((4, 5)))
        assert len(model.sessions) == 3, "the session of row 0 is let go, with what it keeps"

    def test_an_error_is_that_of_its_row(self) -> None:
        def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
            if 8 in tokens:
                raise ModelError("no token 8")
            return np.zeros(len(VOCABULARY))

        answers = SeparateRows(ScriptedModel(VOCABULARY, score), 2).extend({0: [8], 1: [7]})
        assert isinstance(answers[0], ModelError)
        assert not isinstance(answers[1], SfgenError)

    def test_sessions_that_cannot_be_opened(self) -> None:
        class NoWeights(ScriptedModel):
            def session(self) -> Any:
                raise ModelError("no weights")

        model = NoWeights(VOCABULARY, random_scores(len(VOCABULARY), 0))
        loops = [prepare(model, [0], max_tokens=length) for length in (0, 2, 3)]
        tales = told(drive_batch(loops, batch_of(model, 3)), 3)
        assert [type(tale[-1]) for tale in tales] == [Finished, ModelError, ModelError]


class TestTheBatchOfAModel:
    def test_its_own(self) -> None:
        class Model(ScriptedModel):
            def batch(self, rows: int) -> TrueBatch:
                return TrueBatch(self, rows)

        batch = batch_of(Model(VOCABULARY, random_scores(len(VOCABULARY), 0)), 5)
        assert isinstance(batch, TrueBatch)
        assert len(batch.read) == 5

    def test_any_other(self) -> None:
        assert isinstance(batch_of(ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 0)), 5), SeparateRows)


def test_a_loop_that_asks_for_scores_alone_gets_them_from_a_table() -> None:
    """As that of choices which are scored: it chooses no token."""
    model, got = load_model("tiny"), list[Any]()

    class Asking:
        def run(self) -> Generator[Ask | str, Any, None]:
            got.append((yield Ask((1, 2, 3))))
            yield "done"

    told = list(drive_batch([Asking(), Asking()], batch_of(model, 2)))
    assert [event for _, event in told] == ["done", "done"]
    for scores in got:
        np.testing.assert_allclose(scores, model.session().extend([1, 2, 3]), rtol=1e-4, atol=1e-4)
