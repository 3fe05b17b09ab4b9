"""GGUF files on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.gguf import write_gguf
from tests.support.running.installed import needs_package

from sfgen.models.tiny import DIRECTORY

pytestmark = needs_package("llama_cpp")

Sfgen = Callable[..., Any]
PATTERN = r"[A-Z][a-z]{2,9} is [1-9][0-9] years old\."


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(DIRECTORY, tmp_path_factory.mktemp("models") / "tiny-f32")


def test_writes_as_the_model_it_was_made_of(sfgen: Sfgen, file: Path) -> None:
    found, expected = (
        sfgen("gen", "-m", model, "-r", PATTERN, "--seed", 3, "--device", "cpu", "A person: ")
        for model in (file, "tiny")
    )
    assert found.code == 0
    assert found.err == ""
    assert found.out == expected.out


def test_banned_words(sfgen: Sfgen, file: Path) -> None:
    options = ["--words", "there,was,time", "--seed", "1", "--max-tokens", "30", "--json", "Once upon a time"]
    found, expected = (sfgen("ban", "-m", model, *options).records[0] for model in (file, "tiny"))
    assert found["text"] == expected["text"]
    taken_back = [[event["text"] for event in record["rollbacks"]] for record in (found, expected)]
    assert taken_back[0] == taken_back[1] != []


def test_many_prompts(sfgen: Sfgen, file: Path, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.write_text("".join(json.dumps({"prompt": f"{number} people: "}) + "\n" for number in range(7)))
    runs = [
        sfgen("gen", "-m", model, "--input", prompts, "-r", PATTERN, "--seed", 2, "--batch-size", rows)
        for model, rows in ((file, 1), (file, 3), ("tiny", 3))
    ]
    assert [run.code for run in runs] == [0, 0, 0]
    texts = [[record["text"] for record in sorted(run.records, key=lambda each: each["line"])] for run in runs]
    assert texts[0] == texts[1] == texts[2]
    assert len(set(texts[0])) > 1


@pytest.mark.parametrize("model", ["tiny", "file"])
def test_threads(sfgen: Sfgen, file: Path, model: str) -> None:
    done = sfgen("gen", "-m", file if model == "file" else model, "--threads", "2", "--max-tokens", "5", "Once")
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_a_saved_index(sfgen: Sfgen, file: Path, tmp_path: Path) -> None:
    assert sfgen("index", "-m", file, "-r", PATTERN, "--save", tmp_path / "index").code == 0
    done = sfgen("gen", "-m", "tiny", "--index", tmp_path / "index", "A person: ")
    assert done.code == 0
    assert "years old." in done.out


def test_what_is_not_imported(file: Path) -> None:
    """torch and transformers take seconds."""
    code = (
        "import sys; from sfgen_cli.shell.ending import run; run(sys.argv[1:]); "
        "print(sorted({'torch', 'transformers'} & sys.modules.keys()), 'llama_cpp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "gen", "-m", str(file), "-r", "[ab]{3}", "x"], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "[] True"


class TestWaitingThreads:
    """OpenMP tells what it was told when it is loaded, if OMP_DISPLAY_ENV asks it to."""

    @staticmethod
    def told(*command: object, **environment: str) -> str:
        """How often threads look again before they sleep."""
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
        surroundings |= {"OMP_DISPLAY_ENV": "verbose", **environment}
        done = subprocess.run(
            [sys.executable, *map(str, command)], capture_output=True, text=True, check=True, env=surroundings
        )
        lines = [line.split("=")[1].strip(" '") for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line]
        if not lines:
            pytest.skip("this llama.cpp was built without GNU's OpenMP")
        assert len(set(lines)) == 1
        return lines[0]

    def test_the_command_lets_them_sleep_soon(self, file: Path, tmp_path: Path) -> None:
        command = "-m", "sfgen_cli", "gen", "-m", file, "-r", "[a-z]{3}", "--quiet"
        assert self.told(*command, "x") == "300"
        (tmp_path / "prompts").write_text("x\ny\n")
        assert self.told(*command, "--input", tmp_path / "prompts", "--lines", "--workers", 2) == "300"

    def test_what_the_user_says_stays(self, file: Path) -> None:
        command = "-m", "sfgen_cli", "gen", "-m", file, "-r", "[a-z]{3}", "--quiet", "x"
        assert self.told(*command, GOMP_SPINCOUNT="77") == "77"
        assert self.told(*command, OMP_WAIT_POLICY="passive") == "0"

    def test_the_library_says_nothing(self, file: Path) -> None:
        code = f"import os, sfgen; sfgen.load_model({str(file)!r}); assert 'GOMP_SPINCOUNT' not in os.environ"
        assert self.told("-c", code) == self.told("-c", "import llama_cpp") != ""
