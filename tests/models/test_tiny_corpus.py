"""The embedded model: the text it learns from, how it is trained, and what the committed weights can do."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfgen.models.tiny import DIRECTORY, train
from sfgen.models.tiny.corpus import DEMONSTRATION_PROMPTS, KINDS, check_prompts_absent, corpus, documents
from sfgen.models.tiny.corpus.grammar import Grammar

FRESH_SEED = 1_000_000
"""Documents of this seed were neither in the tokenizer's nor in the model's training text."""
PERPLEXITY_BOUND = 2.6
"""The committed weights have 2.33 on these 150 documents and 2.16 on 1 500 of that seed."""
WORD = re.compile(r"[A-Za-z]+")


def written(kind: str, count: int, seed: int = 5) -> list[str]:
    random = Random(seed)
    return [KINDS[kind][0](random) for _ in range(count)]


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
def one_thread() -> Iterator[None]:
    """For a model this small, threads cost more than they bring: on a busy machine seventy times more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(DIRECTORY)


@pytest.fixture(scope="module")
def model(one_thread: None) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(DIRECTORY, dtype=torch.float32)  # in evaluation mode


class TestGrammar:
    def test_remembered_symbols_stay_the_same_and_differ_from_each_other(self) -> None:
        grammar = Grammar({"line": ["<a=animal> <b=animal> <A> <b>"], "animal": ["cat", "owl"]})
        lines = {grammar.write(Random(seed), "line") for seed in range(50)}
        assert lines == {"cat owl Cat owl", "owl cat Owl cat"}

    @pytest.mark.parametrize(("word", "phrase"), [("owl", "An owl, an owl"), ("cat", "A cat, a cat")])
    def test_article_fits_the_next_word(self, word: str, phrase: str) -> None:
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
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**64))
    def test_same_seed_same_documents(self, seed: int) -> None:
        assert corpus(seed, 20) == corpus(seed, 20)

    def test_independent_of_hash_seed(self) -> None:
        code = "from sfgen.models.tiny.corpus import corpus; print(hash(1), corpus(3, 400))"
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], env={"PYTHONHASHSEED": str(n)}, capture_output=True, check=True
            )
            for n in (1, 2)
        ]
        assert runs[0].stdout == runs[1].stdout

    def test_other_seed_other_documents(self) -> None:
        assert corpus(1, 50) != corpus(2, 50)

    def test_documents_hardly_repeat(self) -> None:
        texts = corpus(FRESH_SEED, 5_000)
        assert len(set(texts)) > 0.9 * len(texts)

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_template_is_left_over(self, kind: str) -> None:
        for text in written(kind, 1_500):
            assert text == text.strip()
            assert not re.search(r"<|>|\(n\)", text)
            assert not re.search(r"\b[Aa] [aeio]\w", text), text

    @pytest.mark.parametrize("prompt", DEMONSTRATION_PROMPTS)
    def test_demonstration_prompts_are_absent(self, prompt: str) -> None:
        assert not [text for text in corpus(1, 20_000) if prompt in text]

    def test_training_refuses_a_demonstration_prompt(self) -> None:
        check_prompts_absent("Could we talk?")
        with pytest.raises(ValueError, match="Can we talk"):
            check_prompts_absent("Hello. Can we talk?")

    def test_people_are_json(self) -> None:
        texts = written("person", 600)
        for text in texts:
            (value,) = json_values(text)
            for person in value if isinstance(value, list) else [value]:
                assert re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", person["name"])
                assert 18 <= person["age"] <= 99
        compact = [text for text in texts if re.search(r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}', text)]
        indented = [text for text in texts if re.search(r'\{\n  "name": "[A-Z][a-z]+",\n  "age": [1-9][0-9]', text)]
        assert min(len(compact), len(indented)) > 100

    def test_products_are_json(self) -> None:
        for text in written("product", 400):
            (product,) = json_values(text)
            assert product["price"] == round(product["price"], 2) > 0
            assert {"product", "price"} <= set(product) <= {"product", "price", "stock", "colours", "available"}

    def test_songs_are_json_in_the_documented_layout(self) -> None:
        one = r'  {\n    "title": "[^"]+",(\n    "album": "[^"]+",)?\n    "year": [12][0-9]{3}'
        one += r'(,\n    "us-chart-max": [0-9]{1,3})?(,\n    "uk-chart-max": [0-9]{1,3})?\n  }'
        for text in written("songs", 400):
            assert all(1 <= len(songs) <= 3 for songs in json_values(text))
            assert re.search(rf"(^|\n)\[\n{one}(,\n{one})*\n\]$", text)

    def test_addresses(self) -> None:
        address = r"https?://(www\.)?[a-z]{2,20}\.(com|org|net|edu|ai)(/[a-z./?=0-9]*)?"
        for text in written("url", 500) + written("website_question", 500):
            assert re.search(rf"{address}(?![A-Za-z])", text), text
        for text in written("email", 500):
            assert re.search(r"[a-z]+(\.[a-z]+)?@[a-z]+\.(com|org|net|edu|ai)\b", text), text

    def test_dates_exist(self) -> None:
        found = [match for text in written("date", 1_000) for match in re.findall(r"\d{4}-\d\d-\d\d", text)]
        assert len(found) > 150
        for match in found:
            datetime.date.fromisoformat(match)

    def test_sums_and_totals_are_right(self) -> None:
        numbers = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        sums = [re.search(r"(\w+) and (\w+) make (\w+)\.", text) for text in written("question", 3_000)]
        found = [match for match in sums if match]
        assert len(found) > 50
        for match in found:
            first, second, total = (numbers.index(word.lower()) for word in match.groups())
            assert first + second == total
        receipts = [text for text in written("price", 500) if text.startswith("Receipt")]
        assert len(receipts) > 50
        for receipt in receipts:
            *values, total_price = (round(100 * float(value)) for value in re.findall(r"\$([0-9.]+)", receipt))
            assert sum(values) == total_price


class TestTraining:
    @given(st.text(max_size=60), st.integers(0, 1000))
    def test_pieces_make_the_text(self, text: str, seed: int) -> None:
        pieces = train.pieces(text, Random(seed))
        assert "".join(pieces) == text
        assert len(pieces) <= 2
        assert all(pieces) or not text

    def test_learning_rate_rises_then_falls(self) -> None:
        rates = [train.learning_rate(step, 1_000) for step in range(1_000)]
        top = rates.index(max(rates))
        assert rates[:top] == sorted(rates[:top])
        assert rates[top:] == sorted(rates[top:], reverse=True)
        assert max(rates) == pytest.approx(train.LEARNING_RATE)
        assert 0 < rates[-1] < 1e-2 * train.LEARNING_RATE

    def test_rows_are_whole_documents_between_begin_and_end(self, tokenizer: Any) -> None:
        begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
        source = documents(8)
        for row in itertools.islice(train.rows(tokenizer.backend_tokenizer, 8), 20):
            assert len(row) == train.ROW_LENGTH
            assert row[0] == begin
            body = tokenizer.decode(row).split("<|begin|>")[1:]
            for part in body[:-1]:
                assert part == next(source) + "<|end|>"
            assert (next(source) + "<|end|>").startswith(body[-1].rstrip("\N{REPLACEMENT CHARACTER}"))
            assert end in row or len(body) == 1

    def test_training_is_reproducible_and_loads(
        self, tmp_path: Path, one_thread: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        import torch
        from safetensors.torch import load_file
        from transformers import AutoModelForCausalLM, AutoTokenizer

        monkeypatch.setattr(train, "TOKENIZER_DOCUMENTS", 800)
        monkeypatch.setattr(train, "ROWS_PER_STEP", 1)
        monkeypatch.setattr(train, "ROW_LENGTH", 32)
        for name, seed in (("first", "3"), ("second", "3"), ("other", "4")):
            train.main(["--steps", "50", "--seed", seed, "--threads", "1", "--output", str(tmp_path / name)])
        first, second, other = (
            load_file(tmp_path / name / "model.safetensors") for name in ("first", "second", "other")
        )
        assert all(torch.equal(first[key], second[key]) for key in first)
        assert not any(torch.equal(first[key], other[key]) for key in first)
        assert {value.dtype for value in first.values()} == {torch.float16}
        loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "first").state_dict()
        assert all(torch.equal(first[key], loaded[key]) for key in first)
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "first")
        assert tokenizer.decode(tokenizer.encode("One line.")) == "<|begin|>One line."
        losses = [float(loss) for loss in re.findall(r"step 50/50 loss ([0-9.]+)", capsys.readouterr().out)]
        assert losses[0] == losses[1]
        assert all(loss < math.log(train.VOCABULARY_SIZE) for loss in losses)


def continued(model: Any, tokenizer: Any, prompt: str, **options: Any) -> list[str]:
    """What the model writes after the prompt, one text per returned sequence."""
    import torch

    ids = torch.tensor([tokenizer.encode(prompt)])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
    return [str(text) for text in tokenizer.batch_decode(out[:, ids.shape[1] :], skip_special_tokens=True)]


class TestWeights:
    def test_import_is_light(self) -> None:
        code = "import sys, sfgen.models.tiny; print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "[]\n"

    def test_files_and_sizes(self) -> None:
        names = {
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        }
        assert {path.name for path in DIRECTORY.iterdir()} == names
        assert sum(path.stat().st_size for path in DIRECTORY.iterdir()) <= 6_000_000

    def test_parameters_are_float16_and_at_most_three_million(self) -> None:
        data = (DIRECTORY / "model.safetensors").read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        header.pop("__metadata__", None)
        assert {entry["dtype"] for entry in header.values()} == {"F16"}
        assert 500_000 < sum(math.prod(entry["shape"]) for entry in header.values()) <= 3_000_000

    def test_special_tokens(self, tokenizer: Any) -> None:
        begin, end = tokenizer.convert_tokens_to_ids(["<|begin|>", "<|end|>"])
        assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (begin, end)
        assert tokenizer.encode("a")[0] == begin
        assert begin not in tokenizer.encode("a", add_special_tokens=False)
        configuration = json.loads((DIRECTORY / "generation_config.json").read_text())
        assert (configuration["bos_token_id"], configuration["eos_token_id"]) == (begin, end)

    @settings(deadline=None)
    @given(text=st.text().filter(lambda text: "<|" not in text))
    def test_tokenizer_round_trip(self, tokenizer: Any, text: str) -> None:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids[1:]) == text
        assert ids[0] == tokenizer.bos_token_id

    def test_every_byte_is_a_token(self, tokenizer: Any) -> None:
        assert sum(len(token) == 1 for token in tokenizer.get_vocab()) == 256
        assert len(tokenizer) == train.VOCABULARY_SIZE

    def test_tokenizer_is_the_one_that_the_script_trains(self, tokenizer: Any) -> None:
        trained = train.train_tokenizer(0, train.TOKENIZER_DOCUMENTS)
        assert trained.get_vocab() == tokenizer.get_vocab()

    def test_some_words_need_several_tokens(self, tokenizer: Any) -> None:
        lengths = {word: len(tokenizer.encode(word, add_special_tokens=False)) for word in (" talk", " vengeance")}
        assert lengths[" talk"] == 1
        assert lengths[" vengeance"] > 2

    def test_perplexity_on_fresh_text(self, model: Any, tokenizer: Any) -> None:
        import torch

        loss, count = 0.0, 0
        with torch.no_grad():
            for text in corpus(FRESH_SEED, 150):
                ids = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_token_id]])
                loss += float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
                count += ids.shape[1] - 1
        assert math.exp(loss / count) < PERPLEXITY_BOUND

    def test_words_of_free_text_are_words_of_the_corpus(self, model: Any, tokenizer: Any) -> None:
        import torch

        known = {word.lower() for text in corpus(FRESH_SEED + 1, 30_000) for word in WORD.findall(text)}
        torch.manual_seed(0)
        options = {"do_sample": True, "temperature": 0.8, "top_k": 0, "max_new_tokens": 100, "num_return_sequences": 12}
        texts = [text for start in ("", "Once") for text in continued(model, tokenizer, start, **options)]
        # The last word may have been cut off by the limit.
        words = [word.lower() for text in texts for word in WORD.findall(re.sub(r"[A-Za-z]+$", "", text))]
        assert len(words) > 400
        assert sum(word in known for word in words) >= 0.95 * len(words)

    @pytest.mark.parametrize(
        ("prompt", "pattern"),
        [
            ("Can we talk?", r"(?s).*\b(talk|listen).*"),
            ("A person: ", r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'),
            ("It is ", r"(hot|cold)\b.*"),
            ("It is", r" (hot|cold)\b.*"),
            ("Where can I listen to pink floyd songs", r"(?s).*https?://[a-z.]+.*"),
            ("Where can I listen to Pink Floyd songs?", r"(?s).*https?://[a-z.]+.*"),
            ("[\n  {\n", r'(?s) +"title": ".*'),
        ],
    )
    def test_greedy_answers(self, model: Any, tokenizer: Any, prompt: str, pattern: str) -> None:
        (text,) = continued(model, tokenizer, prompt, do_sample=False, max_new_tokens=60)
        assert re.fullmatch(pattern, text), text

    def test_talk_and_listen_have_alternatives(self, model: Any, tokenizer: Any) -> None:
        """With every token that spells a banned word masked, what is left is still an answer in English words."""
        words = [text for word in ("talk", "listen") for text in (f" {word}", word, f" {word.capitalize()}")]
        encoded = [tokenizer.encode(word, add_special_tokens=False) for word in words]
        (text,) = continued(model, tokenizer, "Can we talk?", do_sample=False, max_new_tokens=60, bad_words_ids=encoded)
        known = {word.lower() for text in corpus(FRESH_SEED + 1, 30_000) for word in WORD.findall(text)}
        assert not re.search(r"\b(talk|listen)\b", text)
        assert len(WORD.findall(text)) >= 3
        assert {word.lower() for word in WORD.findall(text)} <= known
