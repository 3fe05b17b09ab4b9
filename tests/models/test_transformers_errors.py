"""What can be wrong with a model's files: one clear line each, with a hint, and no model with made-up weights."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.support.models.fake_hub import fake_hub

from sfgen import load_model
from sfgen.errors import ModelError, SfgenError, VocabularyError
from sfgen.models.transformers_forward import is_out_of_memory
from sfgen.models.transformers_model import TransformersModel
from sfgen.vocabulary import hub

ModelDirectory = Callable[..., Path]


@pytest.fixture
def directory(model_directory: ModelDirectory, tmp_path: Path) -> Path:
    """A copy of a model, to be spoilt."""
    return shutil.copytree(model_directory("llama"), tmp_path / "model")


def configure(directory: Path, **changes: Any) -> None:
    configuration = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(configuration | changes))


def change_weights(directory: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    from safetensors.torch import load_file, save_file

    weights = change(load_file(directory / "model.safetensors"))
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})


def without(part: str) -> Callable[[Path], None]:
    return lambda directory: change_weights(
        directory, lambda weights: {name: weight for name, weight in weights.items() if part not in name}
    )


def keep_only(name: str, data: bytes = b"") -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        for file in directory.iterdir():
            file.unlink()
        (directory / name).write_bytes(data)

    return change


def replace_weights(name: str, data: bytes = b"") -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        (directory / "model.safetensors").unlink()
        if name:
            (directory / name).write_bytes(data)

    return change


def cut(file: str, length: int) -> Callable[[Path], object]:
    return lambda directory: (directory / file).write_bytes((directory / file).read_bytes()[:length])


def shard(directory: Path, *, index: str = "", lost: Sequence[int] = ()) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "model.safetensors")
    place = {name: f"model-{1 + number % 2}-of-2.safetensors" for number, name in enumerate(sorted(weights))}
    for file in set(place.values()):
        mine = {name: weight for name, weight in weights.items() if place[name] == file}
        save_file(mine, directory / file, metadata={"format": "pt"})
    (directory / "model.safetensors").unlink()
    (directory / "model.safetensors.index.json").write_text(index or json.dumps({"metadata": {}, "weight_map": place}))
    for number in lost:
        (directory / f"model-{number}-of-2.safetensors").unlink()


ADAPTER = json.dumps({"base_model_name_or_path": "org/base"}).encode()
BROKEN: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    # name: (what is done to the directory, message, hint)
    "no weights": (replace_weights(""), "it has no model.safetensors", "save_pretrained"),
    "GGUF": (replace_weights("m.gguf", b"GGUF"), "it holds a GGUF file, the format of llama.cpp", "m.gguf"),
    "GGUF alone": (keep_only("m.gguf", b"GGUF"), "no model in .* it holds a GGUF file", "Name the file itself: "),
    "adapter": (replace_weights("adapter_config.json", ADAPTER), "it holds an adapter", "Merge it into org/base"),
    "adapter alone": (
        keep_only("adapter_config.json", b"{"),
        "no model in .* it holds an adapter",
        "Merge it into the",
    ),
    "TensorFlow": (replace_weights("tf_model.h5"), "tf_model.h5 is for TensorFlow", "PyTorch"),
    "no pickle": (replace_weights("pytorch_model.bin", b"garbage" * 9), "cannot load the weights", "again"),
    "no config": (lambda directory: (directory / "config.json").unlink(), "it has no config.json", "save_pretrained"),
    "config cut": (cut("config.json", 100), "not a valid JSON file", "save_pretrained"),
    "config empty": (lambda directory: (directory / "config.json").write_text("{}"), "Should have a `model_type`", ""),
    "config of words": (lambda directory: configure(directory, hidden_size="big"), "hidden_size", "save_pretrained"),
    "new architecture": (
        lambda directory: configure(directory, model_type="novel"),
        "model type `novel` but Transformers does not recognize this architecture.\n",
        "--upgrade transformers",
    ),
    "code of its own": (
        lambda directory: configure(directory, model_type="novel", auto_map={"AutoConfig": "code.Config"}),
        "custom code",
        "trust_remote_code=True",
    ),
    "weights cut": (cut("model.safetensors", 20_000), "cannot load the weights", "copy or download"),
    "header cut": (cut("model.safetensors", 50), "cannot load the weights", "copy or download"),
    "weights empty": (cut("model.safetensors", 0), "cannot load the weights", "copy or download"),
    "weights garbage": (
        lambda directory: (directory / "model.safetensors").write_bytes(b"x" * 9_000),
        "cannot load the weights",
        "copy or download",
    ),
    "a layer missing": (without("layers.1"), "do not fit .* model.layers.1.*weight and 8 more are missing", "random"),
    "a weight missing": (without("lm_head"), "do not fit its config.json: lm_head.weight is missing", "random"),
    "other shapes": (
        lambda directory: configure(directory, intermediate_size=32),
        "do not fit its config.json: model.layers.0.mlp.down_proj.weight is 16 x 24, and should be 16 x 32",
        "random",
    ),
    "more layers": (lambda directory: configure(directory, num_hidden_layers=3), "model.layers.2.* missing", "random"),
    "shard missing": (
        lambda directory: shard(directory, lost=[2]),
        "model-2-of-2.safetensors of 2 files is missing",
        "",
    ),
    "both shards missing": (
        lambda directory: shard(directory, lost=[1, 2]),
        "model-1-of-2.safetensors and 1 more of 2 files is missing",
        "download",
    ),
    "index cut": (lambda directory: shard(directory, index='{"weight_map": {"a'), "cannot read .*index.json", ""),
    "index of another shape": (lambda directory: shard(directory, index='{"weight_map": 3}'), "cannot read", ""),
    "index that knows too little": (
        lambda directory: shard(
            directory, index='{"metadata": {}, "weight_map": {"model.norm.weight": "model-1-of-2.safetensors"}}'
        ),
        "do not fit its config.json: .* missing",
        "random",
    ),
    "quantised": (
        lambda directory: configure(
            directory, quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}
        ),
        "needs another package: .*bitsandbytes",
        "Install",
    ),
    "T5": (lambda directory: configure(directory, model_type="t5"), "t5 reads one text and writes another", "Llama"),
    "BART": (lambda directory: configure(directory, model_type="bart"), "bart reads one text and writes anot", "Llama"),
    "BERT": (lambda directory: configure(directory, model_type="bert"), "bert is an encoder", "Llama"),
    "DistilBERT": (lambda directory: configure(directory, model_type="distilbert"), "is an encoder", "Llama"),
    "ViT": (lambda directory: (directory / "config.json").write_text('{"model_type": "vit"}'), "type vit", "Llama"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_directory(directory: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    spoil, message, hint = BROKEN[name]
    spoil(directory)
    with pytest.raises(ModelError, match=message) as caught:
        load_model(directory).session()
    assert "\n" not in caught.value.message
    assert "\n" not in caught.value.hint
    assert len(caught.value.message) < 300 + len(str(directory))
    assert caught.value.hint
    assert hint in caught.value.hint
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda directory: [file.unlink() for file in directory.glob("tokenizer*")], "no tokenizer"),
        (cut("tokenizer.json", 100), "cannot be loaded"),
    ],
)
def test_a_directory_without_a_tokenizer(directory: Path, spoil: Callable[[Path], Any], message: str) -> None:
    spoil(directory)
    with pytest.raises(VocabularyError, match=message) as caught:
        load_model(directory)
    assert "\n" not in caught.value.message


def test_an_encoder_that_was_made_a_decoder_is_one(directory: Path) -> None:
    (directory / "config.json").write_text('{"model_type": "bert", "is_decoder": true, "vocab_size": 900}')
    assert TransformersModel.from_pretrained(directory).context_length == 512


def test_shards_and_tied_weights_are_whole_models(directory: Path, model_directory: ModelDirectory) -> None:
    whole = load_model(directory)
    assert isinstance(whole, TransformersModel)
    first, weights = whole.session().extend([5, 6]), whole.model.state_dict()
    shard(directory)
    sharded = load_model(directory)
    assert isinstance(sharded, TransformersModel)
    # The arithmetic depends on where in memory weights lie, in the last bits; the weights do not.
    assert np.allclose(sharded.session().extend([5, 6]), first, rtol=1e-5, atol=1e-6)
    assert sharded.model.state_dict().keys() == weights.keys()
    assert all((weight == weights[name]).all() for name, weight in sharded.model.state_dict().items())
    assert sharded.weights_size == sum(file.stat().st_size for file in directory.glob("*.safetensors"))
    assert load_model(model_directory("gpt2")).session().extend([5]).size  # its output layer is its input layer


def test_files_instead_of_directories(directory: Path) -> None:
    with pytest.raises(ModelError, match="is a file, and a model is a directory") as caught:
        load_model(directory / "model.safetensors")
    assert str(directory) in caught.value.hint
    (directory / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"model.gguf: the file is damaged or cut short"):
        load_model(directory / "model.gguf")
    (directory / "model.gguf").write_bytes(b"PK")
    with pytest.raises(ModelError, match="it is not a GGUF file: it does not begin with GGUF"):
        load_model(directory / "model.gguf")


@pytest.mark.parametrize(
    "error",
    [
        "OutOfMemoryError",
        "[enforce fail at alloc_cpu.cpp:118] data. DefaultCPUAllocator: can't allocate memory: you tried\nto",
        "",
    ],
)
@pytest.mark.parametrize("where", ["transformers.LlamaForCausalLM.from_pretrained", "torch.nn.Module.to"])
def test_weights_that_do_not_fit_into_memory(directory: Path, where: str, error: str) -> None:
    import torch

    raised: Exception = RuntimeError(error) if error else MemoryError()
    if error == "OutOfMemoryError":
        raised = torch.OutOfMemoryError("CUDA out of memory.")
    assert is_out_of_memory(raised)
    model = load_model(directory)
    with patch(where, side_effect=raised), pytest.raises(ModelError, match=r"not enough memory.* weights of") as caught:
        model.session()
    assert "bfloat16" in caught.value.hint


def test_a_device_that_fails_while_it_is_given_the_model(directory: Path) -> None:
    model = load_model(directory)
    with (
        patch("torch.nn.Module.to", side_effect=RuntimeError("CUDA error: device is busy\nmore")),
        pytest.raises(ModelError, match=r"cannot put .* on .*: CUDA error: device is busy\n"),
    ):
        model.session()


@pytest.mark.parametrize("name", ["/no/such/directory", "./missing", "../missing/", "~/missing", "a b", ""])
def test_no_such_directory(name: str) -> None:
    with pytest.raises(ModelError, match=r"no model .*: no directory") as caught:
        load_model(name)
    assert "a directory that holds a model, or a hub id" in caught.value.hint


@pytest.mark.parametrize("name", ["no-such-model", "nobody/no-such-model", "models/misspelt"])
def test_a_name_that_only_an_unreachable_hub_could_know(name: str) -> None:
    """In the tests the hub is not to be asked."""
    with pytest.raises(ModelError, match=f"{name} is not in the hub's cache on this machine, and .* is not asked"):
        load_model(name)


class TestHub:
    @pytest.mark.parametrize(
        ("name", "message", "hint"),
        [
            ("org/nowhere", "no directory org/nowhere, and no model of that name on the hub", "spelling"),
            ("org/forbidden", "the hub does not let you see org/forbidden", "Log in"),
            ("org/broken", "the hub cannot be reached", ""),
            ("org/slow", "the hub cannot be reached", ""),
        ],
    )
    def test_what_it_refuses(
        self,
        directory: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        name: str,
        message: str,
        hint: str,
    ) -> None:
        with fake_hub(directory) as address:
            monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
            monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
            monkeypatch.setattr(hub, "TIMEOUT", 0.5)
            with pytest.raises(ModelError, match=message) as caught:
                load_model(name)
        assert hint in caught.value.hint
        assert capfd.readouterr() == ("", "")


class TestCodeOfItsOwn:
    def write(self, directory: Path, code: str) -> None:
        (directory / "code.py").write_text(code)
        configure(
            directory,
            model_type="novel",
            auto_map={"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"},
        )

    def test_it_runs_when_it_is_trusted(self, directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
        self.write(
            directory,
            "from transformers import LlamaConfig, LlamaForCausalLM\n"
            "class Config(LlamaConfig):\n    model_type = 'novel'\n"
            "class Model(LlamaForCausalLM):\n    config_class = Config\n",
        )
        trusted = load_model(directory, trust_remote_code=True)
        assert type(trusted.model).__name__ == "Model"  # type: ignore[union-attr]
        assert trusted.session().extend([5]).size == len(trusted.vocabulary)

    @pytest.mark.parametrize(
        ("code", "message"),
        [("import no_such_package_at_all\n", "no_such_package_at_all"), ("1 / 0\n", "division by zero")],
    )
    def test_code_that_fails(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, message: str
    ) -> None:
        monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
        self.write(directory, code)
        with pytest.raises(SfgenError, match=message) as caught:
            load_model(directory, trust_remote_code=True)
        assert "\n" not in caught.value.message
        assert caught.value.hint
