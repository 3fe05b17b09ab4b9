"""Without the extra ``transformers``: what needs it says so, and everything else works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from random_models import save

_HIDDEN = """
import sys
for name in ("torch", "transformers"):
    sys.modules[name] = None  # an import of it fails
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _HIDDEN + code],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=folder, timeout=300,
    )  # fmt: skip


def sfgen(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(f"from sfgen_cli.__main__ import main\nmain({list(arguments)!r})", folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    save("llama", folder / "model")
    return folder


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["gen", "--regex", "[0-9]{4}", "Year: "], 5),
        (["gen", "--schema", "name, age int", "A person: "], 1),
        (["gen", "--model", "uniform", "--choices", "hot,cold"], 1),
        (["gen", "--model", "uniform", "--tokenizer", "model", "--regex", "a"], 2),
        (["ban", "--words", "talk", "Can we talk?"], 1),
        (["ban", "--routes", "--words", "talk"], 1),
        (["index", "--regex", "a+b"], 1),
        (["index", "--regex", "a+b", "--model", "model"], 1),
        (["check", "--regex", "a+", "--text", "aa", "--json"], 1),
        (["models"], 1),
        (["--help"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_works(folder: Path, arguments: list[str], out: int) -> None:
    done = sfgen(folder, *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert len(done.stdout) >= out


@pytest.mark.parametrize("arguments", [["--model", "model"], ["--model", "tiny", "--dtype", "bfloat16"]], ids=" ".join)
def test_a_model_says_what_to_install(folder: Path, arguments: list[str]) -> None:
    done = sfgen(folder, "gen", *arguments, "--regex", "a", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "this needs torch and transformers: " in done.stderr
    assert "pip install 'sfgen[transformers]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import sfgen\nsfgen.load_model('model')", "ModelError"),
        ("import sfgen\nsfgen.from_transformers(object(), object())", "ModelError"),
        ("import sfgen.integrations.transformers", "UsageError"),
        ("from sfgen.vocabulary.pretrained import load_tokenizer\nload_tokenizer('model')", "VocabularyError"),
    ],
)
def test_the_library_says_what_to_install(folder: Path, code: str, error: str) -> None:
    done = python(code, folder)
    assert done.returncode == 1
    assert f"sfgen.errors.{error}: " in done.stderr
    assert "pip install 'sfgen[transformers]'" in done.stderr
