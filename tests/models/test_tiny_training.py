"""How the embedded model is made: tokenizer, rows of tokens, learning rate, and the same weights for the same seed."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.models.tiny import DIRECTORY, train
from sfgen.models.tiny.corpus import documents


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(DIRECTORY).backend_tokenizer


@given(st.text(max_size=60), st.integers(0, 1000))
def test_pieces_make_the_text(text: str, seed: int) -> None:
    pieces = train.pieces(text, Random(seed))
    assert "".join(pieces) == text
    assert len(pieces) <= 2
    assert all(pieces) or not text


def test_one_text_in_four_is_cut() -> None:
    cut = sum(len(train.pieces("Can we speak about the weather?", Random(seed))) == 2 for seed in range(2_000))
    assert 400 < cut < 600


def test_learning_rate_rises_then_falls() -> None:
    rates = [train.learning_rate(step, 1_000) for step in range(1_000)]
    top = rates.index(max(rates))
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) == pytest.approx(train.LEARNING_RATE)
    assert 0 < rates[-1] < 1e-2 * train.LEARNING_RATE


def test_rows_are_whole_documents_between_begin_and_end(tokenizer: Any) -> None:
    begin, end = tokenizer.token_to_id(train.BEGIN), tokenizer.token_to_id(train.END)
    rows = list(itertools.islice(train.rows(tokenizer, 8), 60))
    whole: list[str] = []
    cut: list[str] = []
    for row in rows:
        assert len(row) == train.ROW_LENGTH
        assert row[0] == begin
        *parts, last = tokenizer.decode(row, skip_special_tokens=False).split(train.BEGIN)[1:]
        assert all(part.endswith(train.END) for part in parts)
        (whole if row[-1] == end else cut).append(last)
        whole += parts
    source = list(itertools.islice(documents(8), 2 * len(whole) + len(cut)))
    texts = [part.removesuffix(train.END) for part in whole]
    assert Counter(texts) <= Counter(source)
    assert len(texts) > 4 * len(rows)
    for text in cut:
        start = text.rstrip("\N{REPLACEMENT CHARACTER}")
        assert any((document + train.END).startswith(start) for document in source)
    # What does not fit waits for the next row and is not lost.
    begun = set(texts) | {document for document in source for text in cut if document.startswith(text)}
    assert sum(document in begun for document in source[:100]) >= 95


def test_rows_are_the_same_for_the_same_seed(tokenizer: Any) -> None:
    first, again, other = (list(itertools.islice(train.rows(tokenizer, seed), 10)) for seed in (8, 8, 9))
    assert first == again != other


def test_a_demonstration_prompt_stops_the_training(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "documents", lambda seed: itertools.repeat("I ask you: Can we talk?"))
    with pytest.raises(ValueError, match="demonstration prompt"):
        next(train.rows(tokenizer, 0))


def test_help_names_the_settings() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "sfgen.models.tiny.train", "--help"], capture_output=True, text=True, check=True
    )
    for option in ("--steps", "--seed", "--output", "--threads", "--bfloat16"):
        assert option in run.stdout


def test_tokenizer_is_the_one_that_the_script_trains(tokenizer: Any) -> None:
    trained = train.train_tokenizer(0, train.TOKENIZER_DOCUMENTS)
    assert trained.get_vocab() == tokenizer.get_vocab()
    text = "Once upon a time there was a lighthouse near Reykjavik: 1985-12-07, www.t-alk.org, vengeance."
    assert trained.encode(text).ids == tokenizer.encode(text).ids


def test_training_is_reproducible_and_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setattr(train, "TOKENIZER_DOCUMENTS", 800)
    monkeypatch.setattr(train, "ROWS_PER_STEP", 1)
    monkeypatch.setattr(train, "ROW_LENGTH", 32)
    for name, seed in (("first", "3"), ("second", "3"), ("other", "4")):
        train.main(["--steps", "50", "--seed", seed, "--threads", "1", "--output", str(tmp_path / name)])
    first, second, other = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "second", "other"))
    assert all(torch.equal(first[key], second[key]) for key in first)
    # The vectors of the norms start as ones whatever the seed; after so few steps float16 may not tell them apart.
    assert not any(torch.equal(first[key], other[key]) for key in first if first[key].dim() > 1)
    assert {value.dtype for value in first.values()} == {torch.float16}
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "first").state_dict()
    assert all(torch.equal(first[key], loaded[key]) for key in first)
    names = ("first", "second", "other")
    vocabularies = [(tmp_path / name / "tokenizer.json").read_text(encoding="utf-8") for name in names]
    assert vocabularies[0] == vocabularies[1] != vocabularies[2]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "first")
    assert tokenizer.decode(tokenizer.encode("One line.")) == "<|begin|>One line."
    # From there it can go on, with the same tokenizer and other text.
    further = ["--start", str(tmp_path / "first"), "--steps", "50", "--seed", "5", "--threads", "1"]
    train.main([*further, "--output", str(tmp_path / "further")])
    assert (tmp_path / "further" / "tokenizer.json").read_text(encoding="utf-8") == vocabularies[0]
    gone_on = load_file(tmp_path / "further" / "model.safetensors")
    assert not any(torch.equal(first[key], gone_on[key]) for key in first if first[key].dim() > 1)
    losses = [float(loss) for loss in re.findall(r"step 50/50 loss ([0-9.]+)", capsys.readouterr().out)]
    assert losses[0] == losses[1] != losses[2]
    assert losses[3] < losses[0] < math.log(train.VOCABULARY_SIZE)
