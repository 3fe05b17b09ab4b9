"""The text that the embedded model learns from: the same for a seed, grammatical, true to its tables, valid JSON."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried
from tests.support.sources.documents import DOCUMENTS

from training.corpus import DEMONSTRATION_PROMPTS, KINDS, check_prompts_absent, corpus
from training.corpus.grammar import Grammar
from training.corpus.held_back import HELD_BACK, held_back
from training.corpus.knowledge import ANIMALS, COUNTRIES, JOBS, THINGS
from training.corpus.plots import PLOTS
from training.corpus.surroundings import OPPOSITES

ROOT = Path(__file__).resolve().parent.parent.parent
FRESH_SEED = 1_000_000
WORD = re.compile(r"[A-Za-z]+")


def written(kind: str, count: int, seed: int = 5) -> list[str]:
    random = Random(seed)
    return [KINDS[kind][0](random) for _ in range(count)]


def found(pattern: str, kind: str, count: int = 3_000) -> list[tuple[str, ...]]:
    """The groups of all matches in texts of that kind."""
    return [match.groups() for text in written(kind, count) for match in re.finditer(pattern, text)]


def json_values(text: str) -> list[Any]:
    """All JSON values in the text from the first bracket on; nothing but white space may stand between them."""
    decoder = json.JSONDecoder()
    rest = text[min(text.index(bracket) for bracket in "[{" if bracket in text) :]
    values = []
    while rest:
        value, end = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[end:].lstrip()
    return values


@pytest.fixture(scope="module")
def training_text() -> list[str]:
    return corpus(1, 20_000)


class TestGrammar:
    def test_remembered_symbols_stay_the_same_and_differ_from_each_other(self) -> None:
        grammar = Grammar({"line": ["<a=animal> <b=animal> <A> <b>"], "animal": ["cat", "owl"]})
        lines = {grammar.write(Random(seed), "line") for seed in range(50)}
        assert lines == {"cat owl Cat owl", "owl cat Owl cat"}

    @pytest.mark.parametrize(
        ("word", "phrase"),
        [
            ("owl", "An owl, an owl"),
            ("cat", "A cat, a cat"),
            ("uncle", "An uncle, an uncle"),
            ("university", "A university, a university"),
            ("useful tool", "A useful tool, a useful tool"),
            ("honest man", "An honest man, an honest man"),
            ("house", "A house, a house"),
            ("hour", "An hour, an hour"),
        ],
    )
    def test_article_fits_the_sound_of_the_next_word(self, word: str, phrase: str) -> None:
        assert Grammar({"word": [word]}).fill(Random(0), "A(n) <word>, a(n) <word>") == phrase

    def test_given_symbols_win_over_rules(self) -> None:
        assert Grammar({"word": ["rule"]}).fill(Random(0), "<word> <Other>", word="given", other="too") == "given Too"

    def test_unknown_symbol_is_an_error(self) -> None:
        with pytest.raises(KeyError, match="nothing"):
            Grammar({"line": ["<nothing>"]}).write(Random(0), "line")

    def test_every_alternative_is_drawn(self) -> None:
        grammar = Grammar({"digit": list("0123456789")})
        assert {grammar.write(Random(seed), "digit") for seed in range(300)} == set("0123456789")


class TestCorpus:
    @tried("few")
    @given(st.integers(0, 2**64))
    def test_same_seed_same_documents(self, seed: int) -> None:
        assert corpus(seed, 20) == corpus(seed, 20)

    def test_independent_of_hash_seed(self) -> None:
        code = "from training.corpus import corpus; print(hash(1), corpus(3, 400))"
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], env={"PYTHONHASHSEED": str(n)}, capture_output=True, check=True
            )
            for n in (1, 2)
        ]
        assert runs[0].stdout == runs[1].stdout

    def test_it_is_what_the_weights_were_trained_on(self) -> None:
        """A corpus is changed when the weights are made anew, and the digest with it; a rename once changed a word."""
        digest = sha256("\0".join(corpus(0, 20_000)).encode()).hexdigest()
        assert digest[:16] == "86f86eed1969588e"

    def test_other_seed_other_documents(self) -> None:
        assert corpus(1, 50) != corpus(2, 50)

    def test_documents_hardly_repeat(self) -> None:
        texts = corpus(FRESH_SEED, 5_000)
        assert len(set(texts)) > 0.9 * len(texts)

    def test_many_words(self, training_text: list[str]) -> None:
        assert len({word.lower() for text in training_text for word in WORD.findall(text)}) > 3_500

    @pytest.mark.parametrize("kind", KINDS)
    def test_templates_are_filled_and_articles_fit(self, kind: str) -> None:
        for text in written(kind, 1_500):
            assert text == text.strip()
            assert not re.search(r"<|>|\(n\)", text)
            assert not re.search(r"\b[Aa] ([aio]\w|e(?!u)|honest|hour)", text), text
            assert not re.search(r"\b[Aa]n ([^aeiouhAEIOU\W]|uni|use)", text), text

    @pytest.mark.parametrize("prompt", DEMONSTRATION_PROMPTS)
    def test_demonstration_prompts_are_absent(self, training_text: list[str], prompt: str) -> None:
        assert not [text for text in training_text if prompt in text]

    def test_every_prompt_that_is_shown_is_among_them(self) -> None:
        """Of the documents, the demonstration and the help texts; what any English text holds is let off."""
        shown = set()
        for file in (*DOCUMENTS, ROOT / ".ci" / "demo", *(ROOT / "cli").rglob("*.py")):
            for line in file.read_text(encoding="utf-8").splitlines():
                line = re.sub(r"echo '[^']*' > ", "", line)  # a file, no prompt
                if re.search(r"sfgen (gen|ban)\b", line) and ".gguf" not in line:  # another model
                    quoted = re.findall(r"(words |schema |jq -c )?'([^']*)'", line)
                    shown |= {
                        text for other, text in quoted if not other and re.fullmatch(r"\w[^\\\[|]* [^\\\[|]*", text)
                    }
                shown |= set(re.findall(r'sfgen\.(?:generate|stream)\((?:model|"tiny"), "([^"]*)"', line))
        assert {"A person: ", "Can we talk?", "Date: "} <= shown
        assert shown - set(DEMONSTRATION_PROMPTS) <= {
            *("It is very ", "Once upon a time", "Write to ", "On Wed", "How old is Ada?", "How warm is it in Rome?"),
            *("My name is ", "In: ", "A person. ", "Ada is 36.", "Answer in one word."),
            "The price of the hammock is $9.74. What does it cost? The ",
            "Ada Lovelace, 36, is a mathematician in London.{{who: schema name, age int}}",
            'Where? "{{quote: substring life.txt unit line most 1}}" ({{sure: choices yes, no}})',
            "It is {{mood: choices good, bad}}.",
        }

    def test_training_refuses_a_demonstration_prompt(self) -> None:
        check_prompts_absent("Could we talk?")
        with pytest.raises(ValueError, match="Can we talk"):
            check_prompts_absent("Hello. Can we talk?")


class TestWhatItSays:
    def test_facts_agree_with_the_tables(self) -> None:
        capitals = {country.name: country.capital for country in COUNTRIES}
        stated = found(r"[Tt]he capital of ([A-Z][a-z]+) is ([A-Z]\w+(?: Aires)?)\.", "question")
        assert len(stated) > 20
        assert all(capitals[country] == city for country, city in stated)
        opposites = {*OPPOSITES.items(), *((second, first) for first, second in OPPOSITES.items())}
        stated = found(r"The opposite of (\w+) is (\w+)\.", "fact")
        assert len(stated) > 20
        assert opposites.issuperset(stated)
        homes = {animal.name: animal.home for animal in ANIMALS}
        stated = found(r"\bAn? (\w+) lives ([a-z ]+)\.", "question")
        assert len(stated) > 20
        assert all(homes[animal] == home for animal, home in stated)
        where = {job.name: job.where for job in JOBS}
        stated = found(r"\bAn? (\w+) works ([a-z' ]+)\.", "question")
        assert len(stated) > 20
        assert all(where[job] == place for job, place in stated)
        materials = {thing.name: thing.material for thing in THINGS}
        stated = found(r"this (\w+) made of\?\s(?:A: )?It is made of (\w+)\.", "question")
        assert len(stated) > 20
        assert all(materials[thing] == material for thing, material in stated)

    def test_sums_and_totals_are_right(self) -> None:
        numbers = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        sums = found(r"(\w+) and (\w+) make (\w+)\.", "question")
        assert len(sums) > 50
        for words in sums:
            first, second, total = (numbers.index(word.lower()) for word in words)
            assert first + second == total
        receipts = [text for text in written("price", 500) if text.startswith("Receipt")]
        assert len(receipts) > 50
        for receipt in receipts:
            *values, total_price = (round(100 * float(value)) for value in re.findall(r"\$([0-9.]+)", receipt))
            assert sum(values) == total_price

    def test_who_speaks_knows_the_own_name(self) -> None:
        stated = found(r"(?m)^(\w+): (?:My name is|I am) ([A-Z]\w+)\b", "dialogue")
        assert len(stated) > 20
        assert all(speaker == name for speaker, name in stated)

    def test_a_story_keeps_its_hero(self) -> None:
        names = [name for (name,) in found(r"(?:called|His name was|Her name was) ([A-Z][a-z]+)", "story")]
        assert len(names) > 500
        for text in written("story", 500):
            opened = re.search(r"(His|Her) name was ([A-Z][a-z]+)\. (?:([A-Z][a-z]+) )?", text)
            if opened and opened[3] in ("He", "She"):
                assert (opened[1], opened[3]) in (("His", "He"), ("Her", "She"))

    def test_some_stories_have_parts_of_several_plots(self) -> None:
        firsts = [[part[0] for part in parts] for parts in PLOTS.values()]
        assert len({len(parts) for parts in firsts}) == 1  # so that a part can take another's place
        begun = re.compile("One evening .* at (his|her) door\\.|found a letter under the door")
        mixed = [text for text in written("story", 1_000) if len(begun.findall(text)) == 1 and "packed a" in text]
        assert mixed

    def test_people_are_json(self) -> None:
        texts = written("person", 600)
        for text in texts:
            (value,) = json_values(text)
            for person in value if isinstance(value, list) else [value]:
                assert re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", person["name"])
                assert 18 <= person["age"] <= 99
        compact = [text for text in texts if re.search(r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}', text)]
        indented = [text for text in texts if re.search(r'\{\n  "name": "[A-Z][a-z]+",\n  "age": [1-9][0-9]', text)]
        assert len(compact) > 100
        assert len(indented) > 60

    def test_products_and_other_records_are_json(self) -> None:
        for text in written("product", 400):
            (product,) = json_values(text)
            assert product["price"] == round(product["price"], 2) > 0
            assert {"product", "price"} <= set(product)
            assert set(product) <= {"product", "price", "stock", "colours", "material", "available"}
        capitals = {country.name: country.capital for country in COUNTRIES}
        for text in written("record", 600):
            (record,) = json_values(text)
            assert len(record) >= 2
            if "country" in record:
                assert capitals[record["country"]] == record["capital"]

    def test_songs_are_json_in_the_documented_layout(self) -> None:
        one = r'  {\n    "title": "[^"]+",(\n    "album": "[^"]+",)?\n    "year": [12][0-9]{3}'
        one += r'(,\n    "us-chart-max": [0-9]{1,3})?(,\n    "uk-chart-max": [0-9]{1,3})?\n  }'
        for text in written("songs", 400):
            assert all(1 <= len(songs) <= 3 for songs in json_values(text))
            assert re.search(rf"(^|\n|\])\[\n{one}(,\n{one})*\n\]$", text)

    def test_addresses(self) -> None:
        address = r"https?://(www\.)?[a-z]{2,40}\.(com|org|net|edu|ai)(/[a-z./?=0-9]*)?"
        for text in written("url", 500) + written("website_question", 500):
            assert re.search(rf"{address}(?![A-Za-z])", text), text
        for text in written("email", 500):
            assert re.search(r"[a-z]+(\.[a-z]+)?@[a-z]+\.(com|org|net|edu|ai)\b", text), text

    def test_dates_exist(self) -> None:
        dates = [date for (date,) in found(r"(\d{4}-\d\d-\d\d)", "date", 1_000)]
        assert len(dates) > 150
        for date in dates:
            datetime.date.fromisoformat(date)


class TestHeldBack:
    @pytest.mark.parametrize("kind", HELD_BACK)
    def test_same_seed_same_documents(self, kind: str) -> None:
        assert held_back(kind, 3, 20) == held_back(kind, 3, 20) != held_back(kind, 4, 20)
        assert not [text for text in held_back(kind, 3, 200) if re.search("[<>]", text)]
        assert len(set(held_back(kind, 3, 100))) > 95

    @pytest.mark.parametrize("kind", HELD_BACK)
    def test_all_words_occur_in_the_corpus(self, training_text: list[str], kind: str) -> None:
        known = {word for text in training_text for word in WORD.findall(text)}
        words = [word for text in held_back(kind, 0, 200) for word in WORD.findall(text)]
        # Two-part surnames and towns are so many that some have not come up yet.
        assert {word for word in set(words) - known if word[0].islower()} == set()
        assert sum(word in known for word in words) > 0.98 * len(words)

    @pytest.mark.parametrize(
        "phrase",
        [
            " before everybody else ",
            "Because the ",
            "Once my ",
            "Could you help me to",
            "Do you want to play",
            "I am afraid of the b",
            "How was the train",
            "I heard that you",
            " lived together in",
            "I gave it to the",
            "wanted to talk to it",
            "until the morning, and",
            "who wanted to buy",
            " together and talked",
            ',"product":',
        ],
    )
    def test_their_phrases_are_in_no_training_text(self, training_text: list[str], phrase: str) -> None:
        assert not [text for text in training_text if phrase in text]
