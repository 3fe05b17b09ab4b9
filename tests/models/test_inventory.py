"""The models on a machine: in the hub's cache, in folders, of Ollama; whole ones, broken ones, and wrong names."""

from __future__ import annotations

import json
import os
import random
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.model_folders import CONFIG, GGUF, cached, model_directory, of_ollama

from sfgen import load_model
from sfgen.errors import ModelError
from sfgen.models.inventory import (
    FoundModel,
    built_in_models,
    cache_folder,
    cached_models,
    models_here,
    ollama_folders,
    ollama_models,
)
from sfgen.models.location import advice


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: nothing in the cache, nothing of Ollama, an empty current folder."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def found() -> list[FoundModel]:
    return list(models_here())


def test_an_empty_machine_has_those_that_come_with_sfgen(machine: Path) -> None:
    assert found() == []
    assert [(model.name, bool(model.size)) for model in built_in_models()] == [
        ("tiny", True),
        ("uniform", False),
        ("zip:FILE", False),
    ]
    assert not any(model.problem for model in built_in_models())


class TestTheCacheOfTheHub:
    @pytest.mark.parametrize(
        ("variables", "folder"),
        [
            ({}, "~/.cache/huggingface/hub"),
            ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
            ({"XDG_CACHE_HOME": "/x", "HF_HOME": "/h"}, "/h/hub"),
            ({"HF_HOME": "~/h"}, "~/h/hub"),
            ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
            ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "/old", "HF_HUB_CACHE": "/new"}, "/new"),
            ({"HF_HUB_CACHE": "$HOME/new"}, "~/new"),
        ],
        ids=str,
    )
    def test_is_where_huggingface_hub_has_it(
        self, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
    ) -> None:
        import subprocess
        import sys

        monkeypatch.delenv("HF_HOME")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert cache_folder() == Path(folder).expanduser()
        done = subprocess.run(
            [sys.executable, "-c", "from huggingface_hub.constants import HF_HUB_CACHE; print(HF_HUB_CACHE)"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == str(cache_folder())

    def test_a_whole_model(self, machine: Path) -> None:
        cached(machine / "hf" / "hub", "org/model", config__json=CONFIG, model__safetensors=bytes(500))
        (model,) = found()
        assert model == FoundModel("org/model", "transformers", "hub cache", 500, "llama")

    def test_a_model_in_several_files(self, machine: Path) -> None:
        index = json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors"}})
        shards = {"m-1__safetensors": b"1" * 70, "m-2__safetensors": b"2" * 30}
        files: dict[str, Any] = {"config__json": CONFIG, "model__safetensors__index__json": index, **shards}
        folder = cached(machine / "hf" / "hub", "bare", **files)
        assert [(model.name, model.size, model.problem) for model in found()] == [("bare", 100, "")]
        next(folder.glob("snapshots/*/m-2.safetensors")).unlink()
        assert [(model.size, model.problem) for model in found()] == [(None, "m-2.safetensors is missing")]

    def test_a_gguf_file_is_named_by_its_path(self, machine: Path) -> None:
        cached(machine / "hf" / "hub", "org/model-GGUF", config__json=CONFIG, m__gguf=GGUF, README__md="GGUF")
        (model,) = found()
        assert (model.kind, model.size, model.about) == ("GGUF", len(GGUF), "org/model-GGUF")
        assert Path(model.name).read_bytes() == GGUF
        assert model.name.startswith(str(machine / "hf" / "hub"))

    def test_broken_entries_are_told_and_do_not_hide_others(self, machine: Path) -> None:
        cache = machine / "hf" / "hub"
        cached(cache, "a/whole", config__json=CONFIG, model__safetensors=bytes(9))
        for blob in (cached(cache, "b/no-blobs", config__json=CONFIG) / "blobs").iterdir():
            blob.unlink()
        (cached(cache, "c/no-reference", config__json=CONFIG) / "refs" / "main").unlink()
        (cached(cache, "d/other-commit", config__json=CONFIG) / "refs" / "main").write_text("f" * 40)
        cached(cache, "e/no-weights", config__json=CONFIG, tokenizer__json="{}")
        cached(cache, "f/no-json", config__json="{", model__safetensors=b"")
        cached(cache, "g/bad-list", config__json=CONFIG, model__safetensors__index__json="{")
        cached(cache, "h/no-model", tokenizer__json="{}")
        cached(cache, "i/empty-object", config__json="[]")
        (cached(cache, "j/binary", config__json=CONFIG) / "refs" / "main").write_bytes(b"\xff\xfe")
        (cache / "models--k--a-file").write_text("")
        (cache / "models--l--nothing").mkdir()
        (cache / "models--m--blobs" / "blobs").mkdir(parents=True)
        cached(cache, "n/not-unicode", config__json=b'{"\xff": 1}')
        (cache / "datasets--o--data").mkdir()
        (cache / "version.txt").write_text("1")
        assert {model.name: model.problem for model in found()} == {
            "a/whole": "",
            "b/no-blobs": "config.json is gone",
            "c/no-reference": "its download is not complete",
            "d/other-commit": "its files are gone",
            "e/no-weights": "its weights are not there",
            "f/no-json": "its config.json cannot be read",
            "g/bad-list": next(model.problem for model in found() if model.name == "g/bad-list"),
            "j/binary": "its files are gone",
            "m/blobs": "its download is not complete",
            "n/not-unicode": "its config.json cannot be read",
        }
        assert "cannot read" in next(model.problem for model in found() if model.name == "g/bad-list")
        assert all(model.size is None for model in found() if model.problem)

    @given(st.randoms(use_true_random=False))
    def test_nothing_that_is_thrown_away_stops_it(self, source: random.Random) -> None:
        import tempfile

        with tempfile.TemporaryDirectory() as place:
            cache = Path(place)
            cached(cache, "org/model", config__json=CONFIG, model__safetensors=bytes(9))
            cached(cache, "org/spoilt", config__json=CONFIG, model__safetensors=bytes(9), m__gguf=GGUF)
            spoilt = cache / "models--org--spoilt"
            paths = sorted(path for path in spoilt.rglob("*") if path.is_file() or path.is_symlink())
            for path in source.sample(paths, source.randint(0, len(paths))):
                path.unlink()
                if source.random() < 0.4:
                    path.mkdir()
                elif source.random() < 0.4:
                    path.write_bytes(source.randbytes(9))
            names = [model.name for model in cached_models(cache)]
            assert "org/model" in names


class TestFolders:
    def test_directories_and_files_one_level_down(self, machine: Path) -> None:
        model_directory(Path("llama"))
        model_directory(Path("models/nested"))
        model_directory(Path("models/too/deep"))
        model_directory(Path(".hidden"))
        Path("a.gguf").write_bytes(GGUF)
        Path("models/blob").write_bytes(GGUF)
        Path("models/notes").write_text("GGU")
        Path("models/GGUF.txt").write_bytes(GGUF)
        os.mkfifo("pipe")
        Path("loop").symlink_to("loop")
        assert [(model.name, model.kind, model.size) for model in found()] == [
            ("./a.gguf", "GGUF", len(GGUF)),
            ("./llama", "transformers", 300),
            ("./models/blob", "GGUF", len(GGUF)),
            ("./models/nested", "transformers", 300),
        ]
        assert all(Path(model.name).exists() and not model.problem for model in found())

    def test_another_folder(self, machine: Path) -> None:
        model_directory(machine / "else" / "tiny")
        (model,) = models_here(machine / "else")
        assert model.name == str(machine / "else" / "tiny")
        assert [model.name for model in models_here(Path("../else"))] == ["../else/tiny"]

    def test_a_folder_that_is_a_model(self, machine: Path) -> None:
        model_directory(Path())
        assert [(model.name, model.size) for model in found()] == [(".", 300)]

    def test_a_model_that_is_named_like_one_of_ours(self, machine: Path) -> None:
        model_directory(Path("tiny"))
        assert [model.name for model in found()] == ["./tiny"]

    def test_several_files_are_one_model(self, machine: Path) -> None:
        for number in (1, 2, 3):
            Path(f"m-0000{number}-of-00003.gguf").write_bytes(GGUF)
        assert [(model.name, model.size) for model in found()] == [("./m-00001-of-00003.gguf", 3 * len(GGUF))]
        Path("m-00003-of-00003.gguf").unlink()
        assert [model.problem for model in found()] == ["m-00003-of-00003.gguf is missing"]

    def test_a_file_that_only_is_called_so(self, machine: Path) -> None:
        Path("empty.gguf").write_bytes(b"")
        Path("other.gguf").write_bytes(b"<html>")
        assert {model.problem for model in found()} == {"it is not a GGUF file"}


class TestOllama:
    def test_its_models_are_files(self, machine: Path) -> None:
        one = of_ollama(machine / "ollama", "library/llama3.2:1b")
        other = of_ollama(machine / "ollama", "mario/qwen:latest", GGUF + b"2")
        third = of_ollama(machine / "ollama", "me/mine:v1", GGUF + b"3", host="example.org")
        assert {(model.about, model.name, model.kind, model.size) for model in found()} == {
            ("llama3.2:1b", str(one), "GGUF", 100),
            ("mario/qwen:latest", str(other), "GGUF", 101),
            ("example.org/me/mine:v1", str(third), "GGUF", 101),
        }

    def test_broken_ones_are_told(self, machine: Path) -> None:
        folder = machine / "ollama"
        of_ollama(folder, "library/a:1").unlink()
        of_ollama(folder, "library/b:1", b"other")
        manifests = folder / "manifests" / "registry.ollama.ai" / "library"
        for name, text in [("c", "{"), ("d", "[]"), ("e", '{"layers": []}'), ("f", '{"layers": [{"digest": 1}]}')]:
            (manifests / name).mkdir()
            (manifests / name / "1").write_text(text)
        (manifests / "g" / "1").mkdir(parents=True)
        assert {model.about: model.problem for model in found()} == {
            "a:1": "its file is gone",
            "b:1": "it is not a GGUF file",
            **{f"{name}:1": "its manifest cannot be read" for name in "cdefg"},
        }

    def test_where_they_are(self, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert ollama_folders() == [machine / "ollama"]
        monkeypatch.delenv("OLLAMA_MODELS")
        assert ollama_folders()[0] == machine / ".ollama" / "models"
        assert list(ollama_models(machine / "nowhere")) == []


class TestAWrongName:
    def refused(self, name: Any) -> ModelError:
        with pytest.raises(ModelError) as caught:
            load_model(name, offline=True)
        return caught.value

    @pytest.mark.parametrize("name", ["llama3.2", "org/nothing", "nowhere/at/all", "llama3.2:1b"])
    def test_is_told_with_where_it_was_looked_for(self, machine: Path, name: str) -> None:
        error = self.refused(name)
        assert error.message.startswith(f"no model {name}: ")
        assert f"{machine / 'here' / name}" in error.details[0]
        assert str(machine / "hf" / "hub") in error.details[0]
        assert error.hint

    @pytest.mark.parametrize("name", ["llama3.2", "llama3.2:1b", "Qwen3", "me/llama:latest", "gemma3:27b-it-q4_K_M"])
    def test_of_ollama_is_told_what_to_give(self, name: str) -> None:
        assert "Ollama's" in self.refused(name).hint
        assert "name=FILE" in self.refused(name).hint

    @pytest.mark.parametrize("name", ["gpt2", "org/llama3.2", "./llama3.2", "/no/llama3:1b", "C:/llama", "x"])
    def test_of_others_is_not(self, name: str) -> None:
        assert "Ollama" not in self.refused(name).hint

    @pytest.mark.parametrize("name", ["llama3.2:1b", "llama3.2"])
    def test_that_ollama_has_leads_to_its_file(self, machine: Path, name: str) -> None:
        blob = of_ollama(machine / "ollama", "library/llama3.2:1b")
        assert f"Ollama has llama3.2:1b, in this file: name={str(blob)!r}" in self.refused(name).hint
        blob.unlink()
        assert str(blob) not in self.refused(name).hint

    def test_of_another_size_that_ollama_has_is_near(self, machine: Path) -> None:
        blob = of_ollama(machine / "ollama", "library/llama3.2:1b")
        hint = self.refused("llama3.2:3b").hint
        assert f"Did you mean llama3.2:1b ({blob})?" in hint
        assert "Ollama's" in hint

    @pytest.mark.parametrize("name", ["meta-llama/Llama-3.2-1b", "Llama-3.2-1", "LLAMA-3.2-1B", "other/Llama-3.2-1B"])
    def test_that_is_near_one_in_the_cache_is_asked_back(self, machine: Path, name: str) -> None:
        cached(
            machine / "hf" / "hub", "unsloth/Llama-3.2-1B", config__json=CONFIG, model__safetensors=bytes(9)
        )  # fmt: skip
        cached(machine / "hf" / "hub", "org/another", config__json=CONFIG, model__safetensors=bytes(9))
        assert self.refused(name).hint.startswith("Did you mean unsloth/Llama-3.2-1B?")

    def test_that_is_near_a_directory_is_asked_back(self) -> None:
        model_directory(Path("my model"))
        assert self.refused("./my_model").hint.startswith("Did you mean './my model'?")

    def test_is_not_asked_back_with_what_cannot_be_used(self, machine: Path) -> None:
        cached(machine / "hf" / "hub", "org/model", config__json="{")
        assert "Did you mean" not in self.refused("org/modal").hint

    @given(st.text(string.printable + "é\u202e", max_size=40))
    def test_may_be_anything(self, name: str) -> None:
        assert isinstance(advice(name), str)
