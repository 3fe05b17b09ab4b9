"""``sfgen models``: a line or a JSON object for each model on the machine."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.terminal import in_a_terminal
from tests.support.models.model_folders import CONFIG, GGUF, cached, model_directory, of_ollama
from tests.support.models.random_models import save

Sfgen = Callable[..., Any]


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path


def test_an_empty_machine(sfgen: Sfgen) -> None:
    done = sfgen("models")
    assert (done.code, done.err) == (0, "")
    header, *lines = done.out.splitlines()
    assert header.split() == ["kind", "size", "what", "--model"]
    assert [line.split()[-1] for line in lines] == ["tiny", "uniform", "zip:FILE"]
    assert "7.7 MB" in lines[0]


def test_everything_that_lies_around(sfgen: Sfgen, machine: Path) -> None:
    cached(machine / "hub", "org/model", config__json=CONFIG, model__safetensors=bytes(2_500_000))
    cached(machine / "hub", "org/broken", config__json="{")
    blob = of_ollama(machine / "ollama", "library/llama3.2:1b")
    model_directory(Path("my model"))
    Path("m.gguf").write_bytes(GGUF)
    done = sfgen("models", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.records[3:] == [
        {"model": "./m.gguf", "kind": "GGUF", "source": "file", "size": 100},
        {"model": "./my model", "kind": "transformers", "source": "file", "size": 300, "about": "llama"},
        {
            "model": "org/broken",
            "kind": "transformers",
            "source": "hub cache",
            "size": None,
            "problem": "its config.json cannot be read",
        },
        {"model": "org/model", "kind": "transformers", "source": "hub cache", "size": 2_500_000, "about": "llama"},
        {"model": str(blob), "kind": "GGUF", "source": "Ollama", "size": 100, "about": "llama3.2:1b"},
    ]
    done = sfgen("models")
    assert done.code == 0
    lines = done.out.splitlines()
    # What stands last is what a shell reads as one word, and is at the same column in all lines.
    start = lines[0].index("--model")
    assert [shlex.split(line[start:]) for line in lines[1:]] == [[record["model"]] for record in
                                                                  sfgen("models", "--json").records]  # fmt: skip
    assert "2.5 MB" in next(line for line in lines if line.endswith("org/model"))
    assert "hub cache: its config.json cannot be read" in next(line for line in lines if line.endswith("org/broken"))
    assert "llama3.2:1b, Ollama" in next(line for line in lines if line.endswith(str(blob)))


def test_a_problem_of_a_model_of_which_nothing_else_is_known_stands_alone(sfgen: Sfgen) -> None:
    Path("bad.gguf").write_bytes(b"nothing")
    row = sfgen("models").out.splitlines()[-1]
    assert re.fullmatch(r"GGUF +it is not a GGUF file +\./bad\.gguf", row)


@pytest.mark.parametrize("columns", [30, 40, 62])
def test_in_a_narrow_terminal_a_name_has_a_line_of_its_own(sfgen: Sfgen, columns: int) -> None:
    Path("bad.gguf").write_bytes(b"nothing")
    seen = in_a_terminal("models", size=(columns, 30))
    assert max(map(len, seen.raw.splitlines())) <= columns
    names = [line for line in seen.screen if not line.startswith(" ")]
    assert names == ["tiny", "uniform", "zip:FILE", "./bad.gguf"]
    text = " ".join(" ".join(seen.screen).split())
    assert text.startswith("tiny built in, 7.7 MB, comes with sfgen uniform built in, no preference")
    assert text.endswith("./bad.gguf GGUF, it is not a GGUF file")
    assert in_a_terminal("models", size=(63, 30)).raw.replace("\r\n", "\n") == sfgen("models").out


def test_a_folder(sfgen: Sfgen, machine: Path) -> None:
    model_directory(machine / "else" / "m")
    assert sfgen("models", "../else", "--json").records[3]["model"] == "../else/m"
    assert sfgen("models", "nowhere").code == 1


def test_what_a_name_says_drives_no_terminal(sfgen: Sfgen) -> None:
    model_directory(Path("a\x1b[2J\nb"))
    for line in sfgen("models").out.splitlines():
        assert line.isprintable()
    assert sfgen("models", "--json").records[3]["model"] == "./a\x1b[2J\nb"


def test_what_it_names_works(sfgen: Sfgen, machine: Path) -> None:
    save("llama", Path("random"))
    names = [record["model"] for record in sfgen("models", "--json").records]
    assert names[-1] == "./random"
    for name in names:
        if not name.startswith("zip:"):
            done = sfgen("gen", "--model", name, "--device", "cpu", "--regex", "[ab]{3}", "x")
            assert (done.code, len(done.out)) == (0, 4), done.err


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys\nfrom sfgen_cli.shell.ending import run\nassert run(['models']) == 0\n"
        "print({'numpy', 'numba', 'torch', 'transformers', 'huggingface_hub'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_the_shell_completes_names_in_the_cache(sfgen: Sfgen, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached(machine / "hub", "org/model", config__json=CONFIG, model__safetensors=b"1")
    cached(machine / "hub", "org/broken", config__json="{")
    cached(machine / "hub", "org/file", m__gguf=GGUF)
    monkeypatch.setenv("_SFGEN_COMPLETE", "complete_bash")
    for words, expected in ((["gen", "-m", "o"], ["org/model"]), (["gen", "-m", ""], ["tiny", "uniform", "zip:",
                                                                                       "org/model"])):  # fmt: skip
        monkeypatch.setenv("COMP_WORDS", "\n".join(["sfgen", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        assert sfgen().out.split() == expected
