"""The pairs that the embedded model learns to copy from: what the answer says stands in the prompt."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from training.corpus import KINDS, check_prompts_absent, corpus
from training.corpus.copying.calls import TOOLS
from training.corpus.copying.held_back import HELD_BACK_PAIRS
from training.corpus.copying.labels import LABELS
from training.corpus.copying.mixture import PAIRS, PROSE, free_text, pairs, repeats
from training.corpus.copying.pair import Pair
from training.corpus.copying.phrases import phrased
from training.corpus.copying.queries import HELD_BACK as HELD_BACK_QUERIES
from training.corpus.copying.queries import TEMPLATES as QUERIES
from training.corpus.copying.slots import SLOTS
from training.corpus.copying.substitutes import SUBSTITUTES, common_word, without
from training.corpus.copying.templates import HELD_BACK, TEMPLATES
from training.corpus.copying.told_facts import FACTS, HELD_BACK_TOLD
from training.corpus.copying.words import HELD_BACK_WORDS, Words, is_held_back

WORD = re.compile(r"[^\W\d_]+")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
NEGATED = re.compile(r"\b(not|no longer|single)\b")
FACT_KINDS = ("answer", "answers", "answer_sentence", "either_or", "filled_gap", "yes_or_no")
RECORDS = ("extraction", "note_record", "listing", "call")
seeds = st.integers(0, 2**32)


def leaves(value: Any) -> Iterator[Any]:
    """All strings, numbers and truth values inside a JSON value, keys left out."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def stands_in(leaf: Any, text: str) -> bool:
    """Whether a text says the value, read apart from what wrote it."""
    if isinstance(leaf, bool):
        return leaf == (NEGATED.search(text) is None)
    if isinstance(leaf, str):
        date = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", leaf)
        if date and leaf not in text:
            month, day = MONTHS[int(date[2]) - 1], int(date[3])
            return f"{day} {month} {date[1]}" in text or f"{month} {day}, {date[1]}" in text
        return leaf.lower() in text.lower() or leaf in map(str, map(as_number, WORD.findall(text)))
    written = {float(number) for number in re.findall(r"-?[0-9]+(?:\.[0-9]+)?", text)}
    return leaf in written or leaf in map(as_number, WORD.findall(text))


def as_number(word: str) -> int | None:
    return NUMBERS.index(word.lower()) if word.lower() in NUMBERS else None  # a sentence may begin with it


def is_told(answer: str, prompt: str) -> bool:
    """Whether an answer stands in its prompt; a word of it may open a sentence there."""
    return answer in prompt or answer[:1].upper() + answer[1:] in prompt


class TestAnswersStandInTheirPrompts:
    @given(kind=st.sampled_from(RECORDS), seed=seeds)
    def test_values_of_records_calls_and_lists(self, kind: str, seed: int) -> None:
        pair = PAIRS[kind][0](Random(seed))
        if pair.answer.startswith("- "):
            found: list[Any] = [line.removeprefix("- ") for line in pair.answer.splitlines()]
        else:
            value = json.loads(pair.answer)
            found = list(leaves(value.get("arguments", value.get("parameters")) if kind == "call" else value))
        truths = sum(isinstance(leaf, bool) for leaf in found)
        for leaf in found:
            if truths < 2 or not isinstance(leaf, bool):  # several people may differ in what is so
                assert stands_in(leaf, pair.prompt), (leaf, pair)

    @given(kind=st.sampled_from(("note_answer", "either_or", "filled_gap")), seed=seeds)
    def test_answers_in_words(self, kind: str, seed: int) -> None:
        pair = PAIRS[kind][0](Random(seed))
        assert is_told(pair.answer.removesuffix("."), pair.prompt)

    @given(seed=seeds)
    @example(seed=127)  # a noun opens the sentence
    def test_sentences_that_answer(self, seed: int) -> None:
        pair = PAIRS["answer"][0](Random(seed))
        assert is_told(pair.answer.removesuffix("."), pair.prompt)

    @given(seed=seeds)
    def test_answers_to_several_questions(self, seed: int) -> None:
        """Each stands among the facts, before the first question is asked."""
        pair = PAIRS["answers"][0](Random(seed))
        assert pair.answered
        told = pair.prompt[: pair.answered[0][0]]
        earlier = [pair.prompt[first:last] for first, last in pair.answered]
        for number, text in enumerate((*earlier, pair.answer)):
            assert text == text.strip()
            assert text.removesuffix(".").lower() in told.lower(), (number, pair)  # a noun may open a sentence

    @given(kind=st.sampled_from(sorted(HELD_BACK_PAIRS)), seed=seeds)
    def test_of_the_evaluation(self, kind: str, seed: int) -> None:
        pair = HELD_BACK_PAIRS[kind](Words(Random(seed), held_back=True))
        if kind in ("extraction", "call"):
            value = json.loads(pair.answer)
            assert all(stands_in(leaf, pair.prompt) for leaf in leaves(value.get("arguments", value)))
        elif kind == "answer":
            assert pair.answer in pair.prompt
        elif kind == "label":
            assert any(pair.answer in labels.texts for labels in LABELS)
        else:
            assert rows_of(pair) is not None

    def test_the_oracle_can_say_no(self) -> None:
        assert stands_in("2026-05-17", "It is on May 17, 2026.")
        assert not stands_in("2026-05-18", "It is on May 17, 2026.")
        assert stands_in(7, "seven apples")
        assert not stands_in(8, "seven apples for 7")
        assert stands_in(False, "has not paid")
        assert not stands_in(True, "has not paid")
        assert not stands_in("Ada", "Eda")
        assert not stands_in(3.5, "35")


class TestAnswersAreRight:
    @given(seed=seeds)
    def test_yes_or_no(self, seed: int) -> None:
        """Of who is where: read by patterns of this test's own."""
        pair = PAIRS["yes_or_no"][0](Random(seed))
        said = dict(re.findall(r"(\S+) (?:is|went|is waiting|sits) (?:in|to) the (\w+)\.", pair.prompt))
        asked = re.search(r"(?:Is|Can) (\S+) (?:be found )?in the (\w+)\?", pair.prompt)
        if asked and asked[1] in said:
            right = said[asked[1]] == asked[2]
            assert pair.answer.lower().removesuffix(".") in (("yes", "true") if right else ("no", "false"))

    @given(seed=seeds)
    def test_queries_run(self, seed: int) -> None:
        assert rows_of(PAIRS["query"][0](Random(seed))) is not None

    @given(seed=seeds)
    def test_labels_are_known(self, seed: int) -> None:
        pair = PAIRS["label"][0](Random(seed))
        assert any(pair.answer in labels.texts for labels in LABELS)

    def test_templates_of_labels_differ(self) -> None:
        for labels in LABELS:
            texts = [text for part in (labels.texts, labels.held_back) for group in part.values() for text in group]
            twice = {text for text in texts if texts.count(text) > 1}
            assert not twice
            assert set(labels.texts) == set(labels.held_back)


def rows_of(pair: Pair) -> list[Any]:
    """What sqlite makes of a query over an empty table with the columns that the prompt names."""
    described = pair.prompt.partition("\n")[0].removeprefix("Table ")
    table, *columns = re.findall(r"\w+", described)
    listed = ", ".join(f'"{column}"' for column in columns)
    with closing(sqlite3.connect(":memory:")) as connection:  # from Python 3.13 on one that is left open is told of
        connection.execute(f'CREATE TABLE "{table}" ({listed})')
        return connection.execute(pair.answer).fetchall()


HELD_BACK_OF: dict[tuple[str, ...], list[str]] = {
    ("extraction",): [text for group in HELD_BACK.values() for text in group],
    FACT_KINDS: [text for _, group in HELD_BACK_TOLD for text in group],
    ("label",): [text for labels in LABELS for group in labels.held_back.values() for text in group],
    ("call",): [text for tool in TOOLS for text in tool.held_back],
    ("query",): [question for question, _ in HELD_BACK_QUERIES],
}
"""Kinds of pairs to the held-back templates of what they tell."""


def as_pattern(template: str) -> str:
    """A regular expression for what a template can become, and the end of its sentence."""
    parts = re.split(r"(\{[a-z]+\}|a\(n\))", template)
    made = "".join("an?" if part == "a(n)" else r"[^\n]+?" if part[:1] == "{" else re.escape(part) for part in parts)
    return made if template[-1] in ".!?" else rf"{made}(?:$|\n)"


@pytest.fixture(scope="module")
def training_text() -> list[str]:
    return [pair.prompt + pair.answer for pair in islice(pairs(Random(1)), 20_000)] + corpus(1, 5_000)


class TestHeldBack:
    def test_words_are_in_no_training_text(self, training_text: list[str]) -> None:
        found = {word for text in training_text for word in WORD.findall(text)}
        forms = {form for word in HELD_BACK_WORDS for form in (word.lower(), word.capitalize())}
        assert found & forms == set()  # ADA-36 is a number, and no name

    @given(seed=seeds)
    def test_invented_words(self, seed: int) -> None:
        for held_back in (False, True):
            word = Words(Random(seed), held_back=held_back).word(("", "er"))
            assert is_held_back(word) == held_back
            assert 3 <= len(word) <= 12

    def test_templates(self) -> None:
        for subject, templates in HELD_BACK.items():
            assert not set(templates) & set(TEMPLATES[subject])
        assert not {question for question, _ in HELD_BACK_QUERIES} & {question for question, _ in QUERIES}
        for tool in TOOLS:
            assert tool.held_back
            assert not set(tool.held_back) & set(tool.requests)
        for place, templates in HELD_BACK_TOLD:
            assert not set(templates) & set(FACTS[place].told)

    @pytest.mark.parametrize("kinds", HELD_BACK_OF)
    def test_no_prompt_has_a_sentence_of_one(self, kinds: tuple[str, ...]) -> None:
        """However it was put together: a slot may be anything that does not end a sentence."""
        sentence = re.compile("|".join(rf"(?:^|[.!?:] |\n|- ){as_pattern(text)}" for text in HELD_BACK_OF[kinds]))
        for kind in kinds:
            random = Random(11)
            for _ in range(2_000):
                prompt = PAIRS[kind][0](random).prompt
                found = [match[0] for match in sentence.finditer(prompt)]
                assert all(re.search(r"\w[.!?;:] [A-Z]", text) for text in found), (found, prompt)

    def test_the_oracle_of_templates_can_say_no(self) -> None:
        assert re.search(as_pattern("{a} became a(n) {b}."), "Ada became an engineer.")
        assert not re.search(as_pattern("{a} became a(n) {b}."), "Ada is an engineer.")

    def test_no_demonstration_prompt(self, training_text: list[str]) -> None:
        for text in training_text:
            check_prompts_absent(text)


class TestProse:
    @pytest.mark.parametrize(
        ("text", "twice"),
        [("One day it was late. It was late, one day.", True), ("It was late. It was early.", False), ("", False)],
    )
    def test_what_repeats(self, text: str, twice: bool) -> None:
        assert repeats(text) == twice

    @pytest.mark.parametrize("kind", PROSE)
    def test_hardly_any_repeats(self, kind: str) -> None:
        random = Random(1)
        assert sum(repeats(free_text(random, kind)) for _ in range(300)) <= 9


class TestSubstitutes:
    @given(kind=st.sampled_from(PROSE), word=st.sampled_from(sorted(SUBSTITUTES)), seed=seeds)
    def test_others_stand_in_its_place_and_nothing_else_changes(self, kind: str, word: str, seed: int) -> None:
        text = KINDS[kind][0](Random(seed))
        others = f"(?:{'|'.join(SUBSTITUTES[word])})"
        expected = []
        for part in re.findall(r"[A-Za-z]+|[^A-Za-z]+", text):
            is_article = part.lower() in ("a", "an")
            if part.lower() == word or (is_article and word == "a"):
                expected.append(f"(?:{others}|{part})")  # a part of a hyphenated word or an address stays
            else:
                expected.append("an?" if is_article else re.escape(part))
        assert re.fullmatch("".join(expected), without(text, word, Random(seed)), re.IGNORECASE)

    @pytest.mark.parametrize(
        ("word", "text", "expected"),
        [
            ("old", "An old man.", {"An aged man.", "An ancient man.", "A grey man."}),
            ("that", "That's that.", {"That's this.", "That's which."}),
            ("story", "A story, an age.", {"A tale, an age.", "A legend, an age."}),
            ("a", "A cat", {"The cat", "One cat", "This cat", "Some cat", "Another cat"}),
        ],
    )
    def test_capitals_and_articles(self, word: str, text: str, expected: set[str]) -> None:
        assert {without(text, word, Random(seed)) for seed in range(60)} == expected

    def test_which_word_is_chosen(self) -> None:
        assert {common_word("The old xylophone", Random(seed)) for seed in range(20)} == {"old"}
        assert common_word("xylophone", Random(0)) is None


class TestSame:
    @given(seed=seeds)
    def test_seed_same_pairs(self, seed: int) -> None:
        assert list(islice(pairs(Random(seed)), 5)) == list(islice(pairs(Random(seed)), 5))

    def test_pairs_hardly_repeat(self) -> None:
        texts = [pair for pair in islice(pairs(Random(5)), 4_000) if pair.prompt]
        assert len(set(texts)) > 0.97 * len(texts)

    @given(seed=seeds)
    def test_phrases_name_each_slot_once(self, seed: int) -> None:
        slots = re.findall(r"\{([a-z_]+)\}", phrased(Random(seed)))
        assert len(slots) == len(set(slots)) > 1
        assert set(slots) <= set(SLOTS)

    def test_slots_are_known(self) -> None:
        named = {slot for group in TEMPLATES.values() for text in group for slot in re.findall(r"\{([a-z]+)\}", text)}
        named |= {slot for tool in TOOLS for slot in tool.arguments}
        assert named <= set(SLOTS)
        assert len(named) > 50
