"""Checkpoints whose files name different end tokens, as after fine-tuning: a text may end by each of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.gguf import write_gguf

from sfgen import Dfa, Index, from_transformers, generate, load_model
from sfgen.models import load_vocabulary
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from sfgen_cli.shell.ending import run

BEGIN, END = 0, 1
PROMPTS = ["The capital of France is", "Can we talk?"]


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def copied(directory: Path) -> Path:
    """The embedded model, fine-tuned from one that ended its texts by another token."""
    shutil.copytree(DIRECTORY, directory)
    change(directory / "config.json", eos_token_id=BEGIN)
    (directory / "generation_config.json").unlink()
    return directory


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("tuned") / "model")


def test_texts_end_where_those_of_the_original_do(tuned: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    automatic: Any = AutoModelForCausalLM
    given = from_transformers(automatic.from_pretrained(tuned), AutoTokenizer.from_pretrained(tuned))
    for model in (load_model(tuned), TinyModel(tuned), given):
        assert model.vocabulary.end_token_ids == (BEGIN, END)
        assert model.vocabulary == load_vocabulary(tuned)
        for prompt in PROMPTS:
            found, expected = (generate(each, prompt, max_tokens=40) for each in (model, "tiny"))
            assert (found.text, found.finish_reason) == (expected.text, "end_token")
        free = generate(model, PROMPTS[0], index="(?s:.*)", max_tokens=40)
        assert (free.text, free.finish_reason) == (generate("tiny", PROMPTS[0]).text, "end_token")


def test_on_the_command_line(tuned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["gen"], ["ban", "--words", "zebra"]):
        assert run([*command, "--model", str(tuned), "--json", "--max-tokens", "40", PROMPTS[1]]) == 0
        record = json.loads(capsys.readouterr().out)
        assert (record["text"], record["finish_reason"]) == (generate("tiny", PROMPTS[1]).text, "end_token")


def test_in_transformers_own_generate(tuned: Path) -> None:
    """As the processors' documentation says: ``generate`` is told of all of them."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from sfgen.integrations.transformers import GuidedLogitsProcessor

    automatic: Any = AutoModelForCausalLM
    network, tokenizer = automatic.from_pretrained(tuned), AutoTokenizer.from_pretrained(tuned)
    vocabulary = load_vocabulary(tuned)
    prompt = tokenizer(PROMPTS[0], return_tensors="pt")
    (ids,) = network.generate(
        **prompt, max_new_tokens=30, do_sample=False, eos_token_id=list(vocabulary.end_token_ids),
        logits_processor=[GuidedLogitsProcessor(Index(Dfa.from_regex("[A-Z a-z.]*"), vocabulary), max_tokens=30)],
    )  # fmt: skip
    written = ids[prompt["input_ids"].shape[1] :].tolist()
    assert written[-1] in (BEGIN, END)
    text = tokenizer.decode(written, skip_special_tokens=True)
    assert text == generate("tiny", PROMPTS[0], index="[A-Z a-z.]*", max_tokens=30).text


@pytest.mark.parametrize("kind", ["eot", "eom"])
def test_in_a_gguf_file(tuned: Path, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("llama_cpp")
    directory = shutil.copytree(tuned, tmp_path / "model")
    change(directory / "tokenizer_config.json", eos_token="<|begin|>")

    def written(token: int) -> Path:
        named: dict[str, Any] = {f"tokenizer__ggml__{kind}_token_id": token}
        return write_gguf(directory, tmp_path / f"{token}.gguf", **named)

    model = load_model(written(END))
    assert model.vocabulary.end_token_ids == (BEGIN, END)
    found, expected = (generate(each, PROMPTS[0], max_tokens=40) for each in (model, "tiny"))
    assert (found.text, found.finish_reason) == (expected.text, "end_token")
    # One that the file marks as text, too: llama.cpp takes this one for the end where no other is named.
    change(directory / "tokenizer_config.json", eos_token=None)
    assert load_vocabulary(written(11)).end_token_ids == (END, 11)
