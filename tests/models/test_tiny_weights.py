"""The committed weights of the embedded model: their files, how well they foresee text, and the demonstrations."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench import tiny as bench
from tests.support.running.tried import rounds, some_of

import sfgen
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from sfgen.protocols import Model
from training.corpus import DEMONSTRATION_PROMPTS, corpus
from training.corpus.copying.words import Words
from training.corpus.held_back import held_back
from training.corpus.knowledge import JOBS, THINGS
from training.corpus.lexicon import CITIES, COLOURS, NAMES, THING_QUALITIES, TOWNS
from training.tokenizer import VOCABULARY_SIZE

FRESH_SEED = 1_000_000
"""Documents of this seed were neither in the tokenizer's nor in the model's training text."""
PERPLEXITY = {"fresh": 1.87, "sentence": 4.9, "small_talk": 4.8, "story": 7.2, "record": 4.3}
"""Bounds on the perplexity per token: a tenth above what the committed weights have on these very documents."""
WORD = re.compile(r"[A-Za-z]+")
PERSON = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'
LISTEN = "Where can I listen to pink floyd songs"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(DIRECTORY)


@pytest.fixture(scope="module")
def network() -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(DIRECTORY, dtype=torch.float32)  # in evaluation mode


@pytest.fixture(scope="module")
def model() -> Model:
    return sfgen.load_model("tiny", device="cpu")


@pytest.fixture(scope="module")
def known_words() -> set[str]:
    """All words of 30 000 documents in lower case."""
    return {word.lower() for text in corpus(FRESH_SEED + 1, 30_000) for word in WORD.findall(text)}


def matching(model: Model, pattern: str, prompt: str, seed: int | None = None, *, fast_forward: bool = True) -> str:
    """A text for the pattern: the greedy one, or one drawn at temperature 1."""
    index = sfgen.Index(sfgen.Dfa.from_regex(pattern), model.vocabulary)
    sampler = sfgen.Sampler(temperature=0 if seed is None else 1, seed=seed)
    return sfgen.generate(model, prompt, index=index, sampler=sampler, fast_forward=fast_forward).text


def sampled(network: Any, tokenizer: Any, prompt: str, count: int, *, temperature: float, seed: int = 0) -> list[str]:
    """Texts of up to 100 tokens after the prompt, drawn from the whole vocabulary."""
    import torch

    torch.manual_seed(seed)
    ids = torch.tensor([tokenizer.encode(prompt)])
    texts = network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=True,
        temperature=temperature,
        top_k=0,
        max_new_tokens=100,
        num_return_sequences=count,
    )
    return [str(text) for text in tokenizer.batch_decode(texts[:, ids.shape[1] :], skip_special_tokens=True)]


class TestFiles:
    def test_import_is_light(self) -> None:
        code = "import sys, sfgen.models.tiny; print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "[]\n"

    def test_names_and_sizes(self) -> None:
        names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}
        assert {path.name for path in DIRECTORY.iterdir()} == names | {"tokenizer_config.json"}
        assert sum(path.stat().st_size for path in DIRECTORY.iterdir()) <= 8_000_000

    def test_parameters_are_float16_and_at_most_four_million(self) -> None:
        data = (DIRECTORY / "model.safetensors").read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        header.pop("__metadata__", None)
        assert {entry["dtype"] for entry in header.values()} == {"F16"}
        assert 3_000_000 < sum(math.prod(entry["shape"]) for entry in header.values()) <= 4_000_000

    def test_it_is_a_llama(self) -> None:
        configuration = json.loads((DIRECTORY / "config.json").read_text())
        assert configuration["architectures"] == ["LlamaForCausalLM"]
        assert configuration["vocab_size"] == VOCABULARY_SIZE


class TestTokenizer:
    def test_special_tokens(self, tokenizer: Any) -> None:
        begin, end = tokenizer.convert_tokens_to_ids(["<|begin|>", "<|end|>"])
        assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (begin, end)
        assert tokenizer.encode("a")[0] == begin
        assert begin not in tokenizer.encode("a", add_special_tokens=False)
        configuration = json.loads((DIRECTORY / "generation_config.json").read_text())
        assert (configuration["bos_token_id"], configuration["eos_token_id"]) == (begin, end)

    @given(text=st.text().filter(lambda text: "<|" not in text))
    def test_round_trip(self, tokenizer: Any, text: str) -> None:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids[1:]) == text
        assert ids[0] == tokenizer.bos_token_id

    def test_every_byte_is_a_token(self, tokenizer: Any) -> None:
        assert sum(len(token) == 1 for token in tokenizer.get_vocab()) == 256
        assert len(tokenizer) == VOCABULARY_SIZE == 2048

    def test_a_word_is_spelled_alike_wherever_it_stands(self, tokenizer: Any, known_words: set[str]) -> None:
        texts = (tokenizer.decode([number]) for number in range(2, len(tokenizer)))
        assert not [text for text in texts if re.search(r"\w\W|\W\w", text)]
        for word in [*sorted(known_words)[::50], "Lovelace", "Zürich"]:
            alone = tokenizer.encode(word, add_special_tokens=False)
            for before, after in ((" ", ","), ('"', '"'), ("\n", " "), ("(", "s")):
                ids = tokenizer.encode(f"{before}{word} {after}", add_special_tokens=False)
                assert any(ids[start : start + len(alone)] == alone for start in range(len(ids)))

    def test_rare_words_are_cut(self, tokenizer: Any, known_words: set[str]) -> None:
        lengths = [len(tokenizer.encode(word, add_special_tokens=False)) for word in sorted(known_words)]
        assert sum(length > 1 for length in lengths) > 0.4 * len(lengths)
        assert len(tokenizer.encode("talk", add_special_tokens=False)) == 1
        assert len(tokenizer.encode("vengeance", add_special_tokens=False)) > 2


class TestPerplexity:
    @pytest.mark.parametrize("kind", PERPLEXITY)
    def test_is_as_stated(self, network: Any, tokenizer: Any, kind: str) -> None:
        import torch

        texts = corpus(FRESH_SEED, rounds(700)) if kind == "fresh" else held_back(kind, FRESH_SEED, rounds(100))
        loss, count = 0.0, 0
        with torch.no_grad():
            for text in texts:
                ids = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_token_id]])
                loss += float(network(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
                count += ids.shape[1] - 1
        perplexity = math.exp(loss / count)
        print(f"perplexity {kind} {perplexity:.3f} over {count} tokens")
        assert 0.7 * PERPLEXITY[kind] < perplexity < PERPLEXITY[kind]


class TestFreeText:
    @pytest.mark.parametrize("temperature", some_of([1.0, 0.8], 1))
    def test_its_words_are_words_of_the_corpus(
        self, network: Any, tokenizer: Any, known_words: set[str], temperature: float
    ) -> None:
        prompts, count = (
            ("", "Once upon a time", "Tell me a story", "Hello", "Can we talk?", "I think that"),
            rounds(12),
        )
        texts = [
            text for prompt in prompts for text in sampled(network, tokenizer, prompt, count, temperature=temperature)
        ]
        # The last word may have been cut off by the limit.
        words = [word.lower() for text in texts for word in WORD.findall(re.sub(r"[A-Za-z]+$", "", text))]
        known = sum(word in known_words for word in words)
        print(f"temperature {temperature}: {known} of {len(words)} words")
        assert len(words) > 130 * count
        assert known >= 0.95 * len(words)

    def test_stories_come_to_an_end(self, network: Any, tokenizer: Any) -> None:
        texts = sampled(network, tokenizer, "Once upon a time", 12, temperature=0.8)
        assert all(re.match(r",? [a-z]", text) for text in texts)
        assert sum(len(re.findall(r"[.!?]\"? [A-Z]", text)) >= 2 for text in texts) >= 10


def sentences_of(text: str, known_words: set[str]) -> bool:
    """Whether the text is whole sentences of known words."""
    whole = re.fullmatch(r"\s*([A-Z][A-Za-z', ]*[.?!]\s*)+", text) is not None
    return whole and {word.lower() for word in WORD.findall(text)} <= known_words


class TestDemonstrations:
    def test_their_prompts_are_kept_out_of_the_training_text(self) -> None:
        """That they are, is tested with the corpus."""
        used = {"Can we talk?", "A person: ", "In our shop: ", "Date: ", LISTEN, "Pink Floyd"}
        assert used <= set(DEMONSTRATION_PROMPTS)

    def test_can_we_talk(self, model: Model, known_words: set[str]) -> None:
        text = sfgen.generate(model, "Can we talk?").text
        assert re.search(r"\b(talk|listen)\b", text)
        assert sentences_of(text, known_words)

    def test_can_we_talk_without_talk_and_listen(self, model: Model, known_words: set[str]) -> None:
        result = sfgen.generate(model, "Can we talk?", banned=sfgen.BannedWords(["talk", "listen"]))
        assert len(result.rollbacks) >= 1
        assert not re.search(r"talk|listen", result.text)
        assert sentences_of(result.text, known_words)
        assert len(WORD.findall(result.text)) >= 3

    def test_a_person(self, model: Model) -> None:
        texts = [matching(model, PERSON, "A person: ", seed) for seed in (None, *range(30))]
        names = [json.loads(text)["name"] for text in texts]
        assert names[0] in NAMES
        assert sum(name in NAMES for name in names) >= 0.6 * len(names)  # the others it makes up
        assert sum(json.loads(text)["age"] >= 18 for text in texts) >= 0.9 * len(texts)
        assert len(set(names)) > 15

    @pytest.mark.parametrize(("fast_forward", "count"), [(False, 15), (True, 40)])
    def test_a_person_with_city_and_job(self, model: Model, fast_forward: bool, count: int) -> None:
        """About half of what is drawn is known, the rest is made up, with forced text and without."""
        pattern = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9],"city":"[A-Z][a-z]{2,15}","job":"[a-z]{3,15}"\}'
        seeds = (None, *range(count))
        texts = [matching(model, pattern, "A person: ", seed, fast_forward=fast_forward) for seed in seeds]
        people = [json.loads(text) for text in texts]
        cities, jobs = {*CITIES, *TOWNS}, {job.name for job in JOBS}
        assert sum(person["name"] in NAMES for person in people) >= 0.3 * len(people)
        assert sum(person["city"] in cities for person in people) >= 0.2 * len(people)
        assert sum(person["job"] in jobs for person in people) >= 0.4 * len(people)

    def test_a_product(self, model: Model) -> None:
        pattern = r'\{"product":"[a-z]{3,12} [a-z]{3,12}","price":[1-9][0-9]{0,2}\.[0-9]{1,2}\}'
        products = [json.loads(matching(model, pattern, "In our shop: ", seed)) for seed in (None, *range(15))]
        names = [product["product"].split() for product in products]
        things = {thing.name for thing in THINGS}
        assert sum(quality in COLOURS + THING_QUALITIES and thing in things for quality, thing in names) >= 14

    @pytest.mark.parametrize("prompt", ["It is very ", "Today it is ", "The soup is still "])
    def test_hot_or_cold(self, model: Model, prompt: str) -> None:
        scores = {choice.text: choice.probability for choice in sfgen.score(model, prompt, ["hot", "cold", "hotel"])}
        assert scores["hotel"] < 0.1

    def test_a_banned_word_of_several_tokens(self, model: Model, known_words: set[str]) -> None:
        free = sfgen.generate(model, "Once upon a time", max_tokens=40)
        (town,) = re.findall(r" in ([A-Z][a-z]+)\.", free.text)
        result = sfgen.generate(model, "Once upon a time", banned=sfgen.BannedWords([town]), max_tokens=40)
        assert any(len(rollback.token_ids) > 2 for rollback in result.rollbacks), (town, result.rollbacks)
        assert town not in result.text
        assert {word.lower() for word in WORD.findall(re.sub(r"[A-Za-z]+$", "", result.text))} <= known_words

    def test_where_to_listen(self, model: Model) -> None:
        pattern = r"(https://www\.|http://www\.|https://|http://)[a-zA-Z]{2,20}\.(com|ai|org|edu)"
        text = matching(model, pattern, LISTEN)
        assert re.search(r"music|song|radio|sound|record|concert|tunes|audio|melod|playlist|floyd", text), text

    def test_an_address_and_a_date(self, model: Model) -> None:
        text = matching(model, r"[a-z]{3,12}@[a-z]{3,16}\.(com|org|net)", "Write to ")
        assert re.search(r"\.(com|org|net)$", text)
        text = matching(model, r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9])", "Date: ")
        assert 1950 <= int(text[:4]) <= 2050


class TestCopying:
    """What it takes out of its prompt, whose names and words no training text holds."""

    @pytest.mark.parametrize(
        ("sentence", "record"),
        [
            (
                "Ada Lovelace, 36, is a mathematician in London.",
                {"name": "Ada Lovelace", "age": 36, "job": "mathematician", "city": "London"},
            ),
            (
                "Grace Hopper, 45, is an engineer in New York.",
                {"name": "Grace Hopper", "age": 45, "job": "engineer", "city": "New York"},
            ),
            ("Mira is 29 and works as a baker in Lyon.", {"name": "Mira", "age": 29, "job": "baker", "city": "Lyon"}),
        ],
    )
    def test_a_record_of_a_sentence(self, model: Model, sentence: str, record: dict[str, Any]) -> None:
        schema = sfgen.JsonSchema("name, age int, job, city")
        assert sfgen.generate(model, sentence, index=sfgen.Index(schema, model.vocabulary)).value == record

    @pytest.mark.parametrize(
        ("item", "least"), [("records", 0.8), ("queries", 0.9), ("calls", 0.85), ("choices", 0.75)]
    )
    def test_what_its_docstring_says(self, model: TinyModel, item: str, least: float) -> None:
        source = Words(Random(f"{item} 1"), held_back=True)
        tried = [bench.ITEMS[item](model, source) for _ in range(rounds(120))]
        assert sum(bench.is_same(found, right) for _, found, right in tried) >= least * len(tried)


class TestSongs:
    """The list of songs under the pattern of the demonstration, and under one whose every match is JSON."""

    SONG = (
        r'[^\S\r\n]{2}\{\n[^\S\r\n]{4}"title":[^\S\r\n]"[^"]+"(,\n[^\S\r\n]{4}"album":[^\S\r\n]"[^"]+")?'
        r',\n[^\S\r\n]{4}"year":[^\S\r\n][(12][0-9]{3}(,\n[^\S\r\n]{4}"us-chart-max":[^\S\r\n][0-9]{1,3})?'
        r'(,\n[^\S\r\n]{4}"uk-chart-max":[^\S\r\n][0-9]{1,3})?\n[^\S\r\n]{2}\}'
    )
    PROMPT = (
        "What were Pink Floyd's two most popular singles. Format the output like\n"
        '[\n  {\n    "title": "Get Back",\n    "album": "Let It Be",\n    "year": 1970,\n'
        '    "us-chart-max": 1,\n    "uk-chart-max": 1\n  },\n  {\n    "title": "Octopus\'s Garden",\n'
        '    "year": 1969,\n    "us-chart-max": 16,\n    "uk-chart-max": 7\n  }\n]'
    )

    def test_original_pattern(self, model: Model) -> None:
        pattern = rf"\[\n({self.SONG})(,\n{self.SONG})*\n\]"
        text = matching(model, pattern, self.PROMPT)
        assert re.fullmatch(pattern, text)
        assert all(1950 <= song["year"] <= 2020 for song in json.loads(text))

    @pytest.mark.parametrize(
        ("fast_forward", "seeds"), [(False, [None]), (False, [*range(1, 13)]), (True, [None, *range(1, 9)])]
    )
    def test_corrected_pattern_is_json_with_titles_of_known_words(
        self, model: Model, known_words: set[str], fast_forward: bool, seeds: list[int | None]
    ) -> None:
        song = self.SONG.replace("[(12]", "[12]").replace(r"[^\S\r\n]", " ").replace('[^"]+', r'[^"\\\x00-\x1f]+')
        song = song.replace("[0-9]{1,3}", "(0|[1-9][0-9]{0,2})")
        words = []
        for seed in seeds:
            text = matching(model, rf"\[\n({song})(,\n{song})*\n\]", self.PROMPT, seed, fast_forward=fast_forward)
            songs = json.loads(text)
            assert songs
            titles = [f"{song['title']} {song.get('album', '')}" for song in songs]
            words += [word.lower() for title in titles for word in WORD.findall(title)]
        assert sum(word in known_words for word in words) >= 0.8 * len(words)
