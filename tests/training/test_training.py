"""How the embedded model is trained to copy: tokens, batches, network, checkpoints, score."""

from __future__ import annotations

import itertools
import json
import math
import re
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training import __main__ as training
from training import batches, network, optimizer, score
from training.corpus.copying.held_back import HELD_BACK_PAIRS
from training.corpus.copying.mixture import pairs
from training.corpus.copying.pair import Pair
from training.corpus.copying.words import Words
from training.tokenizer import BEGIN, END, VOCABULARY_SIZE, train_tokenizer

SENTENCE = "Ada Lovelace, 36, is a mathematician in London."


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_tokenizer(pair.prompt + pair.answer for pair in islice(pairs(Random(0)), 3_000))


def ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


class TestTokenizer:
    @given(text=st.text().filter(lambda text: "<|" not in text))
    def test_round_trip(self, tokenizer: Any, text: str) -> None:
        assert tokenizer.decode(ids(tokenizer, text)) == text
        assert tokenizer.encode(text).ids == [tokenizer.token_to_id(BEGIN), *ids(tokenizer, text)]

    @given(seed=st.integers(0, 10_000), before=st.sampled_from(' "\n:,.[{(=1'), after=st.sampled_from(' "\n,.:)]}1'))
    def test_a_word_is_spelled_alike_everywhere(self, tokenizer: Any, seed: int, before: str, after: str) -> None:
        word = Words(Random(seed)).first_name()
        assert ids(tokenizer, before + word + after) == [
            *ids(tokenizer, before),
            *ids(tokenizer, word),
            *ids(tokenizer, after),
        ]

    def test_what_stands_alone(self, tokenizer: Any) -> None:
        assert [tokenizer.decode([token]) for token in ids(tokenizer, '": 36}, ')] == [
            '"',
            ":",
            " ",
            "3",
            "6",
            "}",
            ",",
            " ",
        ]
        assert tokenizer.get_vocab_size() == VOCABULARY_SIZE
        assert sum(len(token) == 1 for token in tokenizer.get_vocab()) == 256


class TestBatches:
    def test_a_pair(self, tokenizer: Any) -> None:
        document = batches.encoded(tokenizer, Pair(SENTENCE, '{"age": 36}'), None)
        begin, end = tokenizer.token_to_id(BEGIN), tokenizer.token_to_id(END)
        given, written = ids(tokenizer, SENTENCE), ids(tokenizer, '{"age": 36}')
        assert document.tokens == [begin, *given, *written, end]
        each = batches.LEAST_ANSWER / (len(written) + 1)
        assert 1 < each < batches.MOST_WEIGHT
        assert document.weights == [0.0, *[batches.PROMPT_WEIGHT] * len(given), *[each] * (len(written) + 1)]

    def test_earlier_answers_count_as_the_last_one(self, tokenizer: Any) -> None:
        prompt = "Ann has 3. Who has 3? Ann\nWhat has she? "
        document = batches.encoded(tokenizer, Pair(prompt, "3" * 40, ((22, 25),)), None)
        assert prompt[22:25] == "Ann"
        counting = [
            tokenizer.decode([token])
            for token, weight in zip(document.tokens, document.weights, strict=True)
            if weight > batches.PROMPT_WEIGHT
        ]
        assert counting == [*(tokenizer.decode([token]) for token in ids(tokenizer, "Ann")), *"3" * 40, ""]
        assert max(document.weights) == batches.MOST_WEIGHT
        assert document.weights[-1] == 1  # of a long answer

    @given(step=st.integers(0, 10**6))
    def test_rows(self, tokenizer: Any, step: int) -> None:
        rows = batches.batch(tokenizer, seed=1, step=step, rows=2, repeated=0.3)
        begin = tokenizer.token_to_id(BEGIN)
        assert rows == batches.batch(tokenizer, seed=1, step=step, rows=2, repeated=0.3)
        assert rows != batches.batch(tokenizer, seed=1, step=step + 1, rows=2, repeated=0.3)
        for tokens, weights in zip(rows.tokens, rows.weights, strict=True):
            assert len(tokens) == len(weights) == batches.ROW_LENGTH + 1
            assert tokens[0] == begin
            assert all(weight == 0 for token, weight in zip(tokens, weights, strict=True) if token == begin)

    def test_repeated_tokens_count_the_second_time(self, tokenizer: Any) -> None:
        begin, end = tokenizer.token_to_id(BEGIN), tokenizer.token_to_id(END)
        for document in islice(batches.documents(tokenizer, Random(3), 1.0), 200):
            assert (document.tokens[0], document.tokens[-1]) == (begin, end)
            inside = list(zip(document.tokens, document.weights, strict=True))[1:-1]
            for place, (token, weight) in enumerate(inside):
                if weight:
                    before = [number for number in range(1, place) if inside[number - 1][0] == inside[place - 1][0]]
                    assert any(inside[number][0] == token for number in before)

    @given(text=st.text(max_size=60), seed=st.integers(0, 1000))
    def test_pieces_make_the_text(self, text: str, seed: int) -> None:
        found = batches.pieces(text, Random(seed))
        assert "".join(found) == text
        assert len(found) <= 2


def test_learning_rate_rises_stays_and_falls() -> None:
    rates = [optimizer.learning_rate(step, 2_000) for step in range(2_000)]
    level = max(rates)
    assert rates[: optimizer.WARM_UP_STEPS] == sorted(rates[: optimizer.WARM_UP_STEPS])
    assert rates[1_000:] == sorted(rates[1_000:], reverse=True)
    assert sum(rate == level for rate in rates) > 1_400
    assert 0 < rates[-1] < 0.01 * level


def test_learning_rate_rises_again_where_the_optimizer_knows_nothing() -> None:
    rates = [optimizer.learning_rate(step, 10_000, 3_000) for step in range(3_000, 3_300)]
    assert rates[:200] == [optimizer.learning_rate(step, 10_000) for step in range(200)]
    assert rates[0] < 0.02 * rates[-1]


def test_random_tokens_become_fewer() -> None:
    shares = [training.repeated_share(step) for step in range(0, 3_000, 100)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.4
    assert 0 < shares[-1] < 0.05


class TestNetwork:
    def test_it_computes_what_transformers_and_numpy_do(self, tokenizer: Any, tmp_path: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        from sfgen.models.tiny.model import TinyModel
        from training.network import save
        from training.transformer import Llama, Shape

        torch.manual_seed(1)
        model = Llama(Shape(tokens=VOCABULARY_SIZE, size=32, inner=48, layers=2, heads=2))
        for parameter in model.parameters():  # what float16 has
            parameter.data = parameter.data.add_(torch.randn_like(parameter), alpha=0.05).half().float()
        save({name: value.clone() for name, value in model.named_parameters()}, model.shape, tokenizer, tmp_path)
        tokens = TinyModel(tmp_path).encode(SENTENCE)
        found = model(torch.tensor([tokens]))[0].detach()
        loaded: Any = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
        assert torch.allclose(found, loaded(input_ids=torch.tensor([tokens])).logits[0], atol=1e-4)
        assert np.allclose(found.numpy(), TinyModel(tmp_path).session().extend_all(tokens), atol=1e-4)

    def test_calibrating_divides_the_scores(self, tokenizer: Any, tmp_path: Path) -> None:
        import torch

        from sfgen.models.tiny.model import TinyModel
        from training.network import save
        from training.transformer import Llama, Shape

        torch.manual_seed(2)
        model = Llama(Shape(tokens=VOCABULARY_SIZE, size=32, inner=48, layers=2, heads=2))
        save({name: value.clone() for name, value in model.named_parameters()}, model.shape, tokenizer, tmp_path)
        tokens = TinyModel(tmp_path).encode(SENTENCE)
        before = TinyModel(tmp_path).session().extend_all(tokens)
        network.divide_scores(tmp_path, 1.25)
        after = TinyModel(tmp_path).session().extend_all(tokens)
        assert np.abs(before).max() > 0.1
        assert np.allclose(before, np.asarray(after) * 1.25, atol=1e-3)

    def test_what_does_not_count_teaches_nothing(self) -> None:
        import torch

        from training.transformer import Llama, Shape, loss

        torch.manual_seed(1)
        model = Llama(Shape(tokens=50, size=16, inner=16, layers=1, heads=2))
        tokens = torch.randint(0, 50, (2, 9))
        weights = torch.ones(2, 9)
        weights[:, -1] = 0
        other = tokens.clone()
        other[:, -1] = (other[:, -1] + 1) % 50
        assert torch.equal(loss(model, tokens, weights), loss(model, other, weights))
        assert not torch.equal(loss(model, tokens, torch.ones(2, 9)), loss(model, other, torch.ones(2, 9)))


class _Sure:
    """Foresees the tokens of some texts without fail, but for some of them."""

    def __init__(self, texts: list[score.Scored], wrong: set[int]) -> None:
        self.right = {tuple(one.tokens[:-1]): one.tokens[1:] for one in texts}
        self.wrong = wrong

    def __call__(self, tokens: Any) -> Any:
        import torch

        foreseen = list(self.right[tuple(tokens[0].tolist())])
        for token in self.wrong:
            foreseen = [0 if found == token else found for found in foreseen]
        return torch.nn.functional.one_hot(torch.tensor([foreseen]), VOCABULARY_SIZE)


class TestScore:
    @pytest.mark.parametrize("kind", HELD_BACK_PAIRS)
    def test_who_foresees_all_has_all(self, tokenizer: Any, kind: str) -> None:
        texts = score.scored_pairs(tokenizer, kind, 30)
        assert score.copying_score(_Sure(texts, set()), texts) == 1
        assert all(any(one.chosen) for one in texts)

    def test_only_values_are_chosen(self, tokenizer: Any) -> None:
        texts = score.scored_pairs(tokenizer, "extraction", 50)
        for one in texts:
            chosen = [token for token, wanted in zip(one.tokens, one.chosen, strict=True) if wanted]
            answer = "{" + tokenizer.decode(one.tokens).partition("{")[2].removesuffix(END)
            values = [str(value) for value in json.loads(answer).values()]
            assert tokenizer.decode(chosen) in (
                "".join(parts)
                for parts in itertools.product(*([value, f'{value}"', f"{value},", f"{value}}}"] for value in values))
            )
        colon = tokenizer.token_to_id(":")
        braces = {tokenizer.token_to_id("{")}
        assert score.copying_score(_Sure(texts, braces), texts) == 1
        assert score.copying_score(_Sure(texts, {colon, *ids(tokenizer, "0123456789")}), texts) < 0.9


class TestTraining:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from training import transformer

        monkeypatch.setattr(training, "TOKENIZER_DOCUMENTS", 500)
        monkeypatch.setattr(batches, "ROW_LENGTH", 48)
        small = transformer.Shape(size=16, inner=16, layers=1, heads=2)
        monkeypatch.setattr(transformer, "Shape", lambda tokens: small._replace(tokens=tokens))

    def run(self, directory: Path, steps: int, *more: str) -> None:
        arguments = [
            "--directory",
            str(directory),
            "--steps",
            str(steps),
            "--rows",
            "2",
            "--every",
            "4",
            "--score",
            "1",
        ]
        training.main([*arguments, "--float32", "--temperature", "1", *more])

    def test_it_goes_on_as_if_it_had_not_stopped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch
        from safetensors.torch import load_file

        monkeypatch.setattr(training, "learning_rate", lambda step, steps, first: 1e-3)  # it depends on the steps
        self.run(tmp_path / "whole", 8)
        self.run(tmp_path / "parts", 4)
        self.run(tmp_path / "parts", 8)
        whole, parts = (load_file(tmp_path / name / "weights" / "model.safetensors") for name in ("whole", "parts"))
        assert whole.keys() == parts.keys()
        assert all(torch.equal(whole[name], parts[name]) for name in whole)
        assert {value.dtype for value in whole.values()} == {torch.float16}
        steps = [json.loads(line)["step"] for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
        assert steps == [4, 8]

    def test_it_begins_from_weights(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch
        from safetensors.torch import load_file

        self.run(tmp_path / "first", 4)
        weights = tmp_path / "first" / "weights"
        monkeypatch.setattr(training, "learning_rate", lambda step, steps, first: 0.0)  # so that they stay
        self.run(tmp_path / "second", 12, "--from-weights", str(weights), "--from-step", "4", "--stop", "8")
        self.run(tmp_path / "second", 12, "--from-weights", "nowhere", "--from-step", "0")  # there is a checkpoint
        found, right = (load_file(path / "model.safetensors") for path in (tmp_path / "second" / "weights", weights))
        assert all(torch.equal(found[name], right[name]) for name in right)
        assert (tmp_path / "second" / "tokenizer.json").read_text() == (weights / "tokenizer.json").read_text()
        steps = [json.loads(line)["step"] for line in (tmp_path / "second" / "log.jsonl").read_text().splitlines()]
        assert steps == [8, 12]
        assert torch.load(tmp_path / "second" / "checkpoint.pt")["first_step"] == 4

    def test_another_seed_gives_other_weights(self, tmp_path: Path) -> None:
        for name, seed in (("first", "1"), ("second", "2")):
            self.run(tmp_path / name, 4, "--seed", seed)
        first, second = ((tmp_path / name / "weights/model.safetensors").read_bytes() for name in ("first", "second"))
        assert first != second

    def test_it_learns(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.run(tmp_path, 300, "--every", "100", "--seed", "3")
        losses = [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
        assert losses[-1] < losses[0] < math.log(VOCABULARY_SIZE) + 0.1
        assert len(re.findall(r"step \d+ loss", capsys.readouterr().out)) == 12

    def test_it_waits_while_the_pause_file_exists(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pause = tmp_path / "pause"
        pause.write_text("")
        waited = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                pause.unlink()

        monkeypatch.setattr("time.sleep", sleep)
        training.wait(pause)
        assert len(waited) == 3
        training.wait(pause)
        training.wait(None)
        assert len(waited) == 3
