"""Models on the hub: what the cache has is not asked for, what is downloaded is announced, slips are asked back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.fake_hub import fake_hub

from sfgen import Vocabulary, load_model
from sfgen.delays import Delay, told_of_delays
from sfgen.errors import ModelError, SfgenError, VocabularyError
from sfgen.models import inventory, load_vocabulary
from sfgen.vocabulary import hub
from sfgen.vocabulary.hub import BUILT_IN
from sfgen.vocabulary.pretrained import import_transformers
from sfgen_cli.shell.ending import run

ModelDirectory = Callable[..., Path]
COMMAND = [sys.executable, "-m", "sfgen_cli"]


@pytest.fixture
def directory(model_directory: ModelDirectory, tmp_path: Path) -> Path:
    """A model that is on the hub."""
    return shutil.copytree(model_directory("llama"), tmp_path / "model")


@pytest.fixture
def asked(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a hub on this machine is asked for; its cache is empty."""
    requests: list[str] = []
    with fake_hub(directory, requests) as address:
        set_address(monkeypatch, address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield requests


def set_address(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Where this process looks for the hub."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)


def sfgen(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: where the hub is, and where its files are kept, is read at the first import."""
    return subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=120, env=os.environ,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["no-such.gguf", "org/model.gguf", "~/No.GGUF"])
def test_a_gguf_file_that_is_missing_is_not_looked_for_on_the_hub(asked: list[str], name: str) -> None:
    for load in (load_model, load_vocabulary, lambda name: load_model("uniform", tokenizer=name)):
        with pytest.raises(SfgenError, match=f"no file {name}") as caught:
            load(name)
        assert "directory" not in str(caught.value)
    with pytest.raises(ModelError) as told:
        load_model(Path(name))
    assert told.value.details == (f"Looked for the file {Path(os.path.abspath(Path(name).expanduser()))}",)
    assert asked == []


# ---- the cache -------------------------------------------------------------------------------------------------------


def test_a_vocabulary_is_downloaded_without_the_weights_and_once(asked: list[str], directory: Path) -> None:
    expected = Vocabulary.from_pretrained(directory)
    assert load_vocabulary("org/model") == expected
    assert asked
    assert not any("model.safetensors" in path for path in asked)
    asked.clear()
    assert load_vocabulary("org/model") == expected
    assert Vocabulary.from_pretrained("org/model") == expected
    assert asked == []


def test_a_model_without_a_generation_configuration_is_not_asked_for_again(asked: list[str], directory: Path) -> None:
    (directory / "generation_config.json").unlink(missing_ok=True)
    load_vocabulary("org/model")
    asked.clear()
    load_vocabulary("org/model")
    assert asked == []


def test_what_others_have_downloaded_is_whole_with_its_weights(asked: list[str], directory: Path) -> None:
    from huggingface_hub import hf_hub_download

    (directory / "generation_config.json").unlink(missing_ok=True)
    for file in sorted(directory.iterdir()):  # as the hub's own functions lay it down
        hf_hub_download("org/model", file.name)
    asked.clear()
    assert load_model("org/model").session().extend([5]).size
    assert asked == []


def test_a_part_of_a_model_is_completed(asked: list[str], directory: Path) -> None:
    from huggingface_hub import hf_hub_download

    hf_hub_download("org/model", "config.json")
    asked.clear()
    assert load_vocabulary("org/model") == Vocabulary.from_pretrained(directory)
    assert any("tokenizer.json" in path for path in asked)
    assert not any(path.endswith("/config.json") for path in asked)


def test_a_hub_that_cannot_be_reached_leaves_the_cache(
    asked: list[str], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import hf_hub_download

    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):  # but no word on the end tokens
        hf_hub_download("org/model", name)
    set_address(monkeypatch, "http://127.0.0.1:1")
    assert len(load_vocabulary("org/model")) == len(Vocabulary.from_pretrained(directory))
    with pytest.raises(ModelError, match="the weights of org/model were never downloaded, and the hub cannot be asked"):
        load_model("org/model").session()


# ---- offline ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_model, load_vocabulary, Vocabulary.from_pretrained])
def test_offline_asks_nobody(asked: list[str], load: Callable[..., object]) -> None:
    with pytest.raises((ModelError, VocabularyError), match=r"org/model is not in the hub's cache .* is not asked"):
        load("org/model", offline=True)
    assert asked == []
    load("org/model")
    asked.clear()
    load("org/model", offline=True)
    assert asked == []


def test_offline_weights_that_are_not_there(asked: list[str], directory: Path) -> None:
    model: Any = load_model("org/model")
    assert model.weights_size is None
    asked.clear()
    with pytest.raises(ModelError, match="were never downloaded, and the hub cannot be asked"):
        load_model("org/model", offline=True).session()
    assert asked == []
    model.session()
    asked.clear()
    assert load_model("org/model", offline=True).session().extend([5]).size
    assert asked == []
    assert model.weights_size == (directory / "model.safetensors").stat().st_size


def test_what_its_owner_gives_to_some_only(asked: list[str]) -> None:
    for load in (load_model, load_vocabulary):
        with pytest.raises(
            (ModelError, VocabularyError), match="org/gated: its owner gives it to those only who asked"
        ) as caught:
            load("org/gated")
        assert caught.value.hint.endswith("hf auth login")


def test_the_option_and_the_variable(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    index = ("index", "--model", "org/model", "--regex", "[ab]", "--json")
    for arguments, offline in (
        ((*index, "--offline"), "0"),
        (index, "1"),
        (("gen", "-m", "org/model", "--offline"), "0"),
    ):
        monkeypatch.setenv("HF_HUB_OFFLINE", offline)
        done = sfgen(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("sfgen: no model org/model: org/model is not in the hub's cache on this machine")
        assert done.stdout == ""
    assert asked == []


# ---- downloads -------------------------------------------------------------------------------------------------------


def test_downloads_are_told_with_their_size_before_they_begin(asked: list[str], directory: Path) -> None:
    import_transformers()  # this takes a while as well
    told: list[tuple[Delay | None, bool]] = []

    def listen(delay: Delay | None) -> None:
        told.append((delay, any("/resolve/" in path for path in asked)))

    with told_of_delays(listen):
        model = load_model("org/model")
        size = sum(file.stat().st_size for file in directory.iterdir() if file.name.endswith(".json"))
        small = Delay("downloading the tokenizer and the configuration of org/model", is_download=True, size=size)
        assert told == [(small, False), (None, True)]
        told.clear()
        asked.clear()
        model.session()
        size = (directory / "model.safetensors").stat().st_size
        large = Delay("downloading the weights of org/model", is_download=True, size=size)
        assert told == [(large, False), (None, True)]
        told.clear()
        load_model("org/model").session()
    assert told == []


def test_weights_in_pieces_are_downloaded_whole(asked: list[str], directory: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "model.safetensors")
    place = {name: f"model-{1 + number % 2}-of-2.safetensors" for number, name in enumerate(sorted(weights))}
    for file in set(place.values()):
        part = {name: weight for name, weight in weights.items() if place[name] == file}
        save_file(part, directory / file, metadata={"format": "pt"})
    (directory / "model.safetensors").unlink()
    (directory / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": place}))
    (directory / "other.safetensors").write_bytes(b"not of this model")
    told: list[Delay | None] = []
    with told_of_delays(told.append):
        assert load_model("org/model").session().extend([5]).size
    size = sum((directory / file).stat().st_size for file in set(place.values()))
    assert Delay("downloading the weights of org/model", is_download=True, size=size) in told
    assert not any("other.safetensors" in path for path in asked)
    asked.clear()
    assert load_model("org/model").session().extend([5]).size
    assert asked == []


def test_the_command_announces_a_download(asked: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ("gen", "-m", "org/model", "--regex", "[ab]", "--device", "cpu", "x")
    done = sfgen(*arguments)
    assert (done.returncode, done.stdout) in ((0, "a\n"), (0, "b\n"))
    first, second = done.stderr.splitlines()
    assert first.startswith("sfgen: downloading the tokenizer and the configuration of org/model (")
    assert second.startswith("sfgen: downloading the weights of org/model (")
    assert second.endswith("KB)")
    asked.clear()
    assert run(list(arguments)) == 0  # in this process, which has torch
    assert capfd.readouterr().err == ""
    assert asked == []


def test_quiet_announces_nothing(asked: list[str]) -> None:
    done = sfgen("index", "-q", "-m", "org/model", "--regex", "[ab]", "--json")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_download_that_breaks_off_says_so(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    with pytest.raises(VocabularyError, match=r"the download of .* of org/model failed: .*No space left") as caught:
        Vocabulary.from_pretrained("org/model")
    assert caught.value.hint == "Try again: what has come is kept."


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tinny", "tiny"), ("tny", "tiny"), ("Tiny", "tiny"), ("tiyn", "tiny"), ("tiny2", "tiny"),
        ("uniforn", "uniform"), ("UNIFORM", "uniform"), ("unifrom", "uniform"),
        ("zip", "zip:FILE"), ("ZIP:book.txt", "zip:FILE"), ("zpi:book.txt", "zip:FILE"), ("gzip:a", "zip:FILE"),
    ],
)  # fmt: skip
def test_what_is_nearly_a_name_of_ours_is_asked_back(asked: list[str], name: str, meant: str) -> None:
    for load in (load_model, load_vocabulary):
        with pytest.raises(ModelError, match=f"no model {name}: no directory {name}") as caught:
            load(name)
        assert caught.value.hint.startswith(f"Did you mean {meant}, which comes with sfgen?")
        if ":" not in name:
            assert f"org/{name}" in caught.value.hint
            assert f"./{name}" in caught.value.hint
    assert asked == []


@pytest.mark.parametrize("name", ["org/tinny", "gpt2", "phi", "titan-model", "tinyllama", "unigram-lm", "zephyr"])
def test_other_names_are_the_hub_s(asked: list[str], name: str) -> None:
    with pytest.raises(ModelError, match="no model of that name on the hub"):
        load_model(name)
    assert asked == [f"/api/models/{name}"]


def test_a_directory_may_have_any_name(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory.parent)
    directory.rename(directory.parent / "tinny")
    assert len(load_vocabulary("tinny")) == len(load_vocabulary("./tinny"))


def test_the_names_of_ours_are_those_that_the_shell_completes() -> None:
    assert tuple(inventory.BUILT_IN) == BUILT_IN
    assert hub.BUILT_IN is BUILT_IN


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "owner/" + "b" * 300, "a--b", "a..b", f"{'a' * 300}.gguf"])
def test_a_name_that_neither_a_file_nor_the_hub_can_have_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="no model"):
        load_model(name)
