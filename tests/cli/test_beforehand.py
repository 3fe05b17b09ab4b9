"""What can be known in a moment is told, or done, before torch and transformers are imported: in real processes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command.light import Light
from tests.support.models.random_models import save

from sfgen.models.tiny import DIRECTORY

PROMPTS = "".join(json.dumps({"prompt": text}) + "\n" for text in ("One", "Two"))


@pytest.fixture(scope="module")
def light() -> Iterator[Light]:
    with Light() as run:
        yield run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save("llama", tmp_path_factory.mktemp("whole"))


@pytest.fixture
def here(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, prompts and a saved index, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFGEN_MODEL", raising=False)
    shutil.copytree(whole, tmp_path / "model")
    (tmp_path / "prompts").write_text(PROMPTS)
    (tmp_path / "damaged").write_bytes(b"\x00" * 100)
    return tmp_path


def test_the_process_without_torch_says_when_it_is_imported(light: Light, here: Path) -> None:
    done = light("gen", "-m", "model", "--regex", "a", "x")
    assert (done.returncode, done.stderr) == (99, "IMPORTED torch\n")


WRONG = [
    ("gen --index missing x", 1, "no such file: missing"),
    ("gen --index damaged x", 1, "damaged is not an index that sfgen saved"),
    ("gen --index missing --input prompts", 1, "no such file: missing"),
    ("index missing", 1, "no such file: missing"),
    ("gen --regex a( x", 1, "pattern: "),
    ("gen --regex a( --input prompts", 1, "pattern: "),
    ("gen --choices hot --ban-words hot x.", 1, "banned"),
    ("ban --pattern a( x", 1, "pattern: "),
    ("gen --chat x", 2, "the model tiny has no chat template"),
    ("gen -m model --chat x", 2, "the model model has no chat template"),
    ("gen -m model --chat --input prompts", 2, "the model model has no chat template"),
    ("gen -m nowhere/at/all x", 1, "no model nowhere/at/all: no directory nowhere/at/all"),
    ("gen -m tinny x", 1, "no model tinny: no directory tinny"),
    ("gen -m org/model --offline x", 1, "org/model is not in the hub's cache on this machine"),
    ("gen --device toaster x", 1, "no such device: toaster"),
    ("gen --input prompts --output no/such/folder", 1, "cannot write to no/such/folder: "),
    ("gen --input prompts --output prompts", 2, "--input and --output name the same file"),
    ("gen --trace no/such/trace x", 1, "no/such/trace"),
    ("gen --input none", 1, "cannot read none"),
    ("ban --words a --routes -m nowhere/at/all", 1, "no model nowhere/at/all"),
    ("index --regex a -m nowhere/at/all", 1, "no model nowhere/at/all"),
    ("index --regex a --tokenizer nowhere/at/all", 1, "no directory nowhere/at/all"),
]


@pytest.mark.parametrize(("line", "code", "says"), WRONG, ids=lambda value: str(value)[:50])
def test_what_is_wrong(light: Light, here: Path, line: str, code: int, says: str) -> None:
    done = light(*line.split())
    assert done.returncode == code, done.stderr
    assert says in done.stderr.splitlines()[0]
    assert done.stdout == ""


SPOILT: dict[str, tuple[str, str]] = {
    # name: (the files that are lost, message)
    "no config.json": ("config.json", "it has no config.json"),
    "no weights": ("model.safetensors", "it has no model.safetensors"),
    "no tokenizer": ("tokenizer*", "no tokenizer in model"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_a_model_lacks(light: Light, here: Path, name: str) -> None:
    lost, says = SPOILT[name]
    for file in (here / "model").glob(lost):
        file.unlink()
    done = light("gen", "-m", "model", "x")
    assert done.returncode == 1
    assert says in done.stderr


def test_an_index_of_which_a_bit_has_changed(light: Light, here: Path) -> None:
    assert light("index", "--regex", "(hot|cold)", "--save", "saved").returncode == 0
    data = bytearray((here / "saved").read_bytes())
    data[60] ^= 1
    (here / "saved").write_bytes(data)
    done = light("gen", "--index", "saved", "x")
    assert done.returncode == 1
    assert "saved" in done.stderr.splitlines()[0]


# ---- --resume --------------------------------------------------------------------------------------------------------


RUN = ("gen", "--regex", "[a-h]{4}", "--seed", "7", "--input", "prompts", "--output", "texts")


@pytest.fixture
def written(light: Light, here: Path) -> bytes:
    """What a whole run has written."""
    done = light(*RUN)
    assert done.stderr == "sfgen: 2 written to texts, 0 failed\n"
    return (here / "texts").read_bytes()


def test_nothing_left_to_do(light: Light, here: Path, written: bytes) -> None:
    done = light(*RUN, "--resume")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "sfgen: nothing left to write to texts, 2 there before\n"
    assert (here / "texts").read_bytes() == written
    assert light(*RUN, "--resume", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (("--seed", "8"), "its seed is 7, and now it would be 8"),
        (("--max-tokens", "9"), "its max_tokens is 256, and now it would be 9"),
        (("--regex", "[a-h]{5}"), 'its pattern is "[a-h]{4}", and now it would be "[a-h]{5}"'),
        (("--ban-words", "aa"), "its banned is none"),
    ],
    ids=str,
)
def test_resume_against_other_options(
    light: Light, here: Path, written: bytes, other: tuple[str, ...], says: str
) -> None:
    run = (RUN[0], *RUN[3:]) if other[0] == "--regex" else RUN  # a pattern is given once
    done = light(*run, *other, "--resume")
    assert done.returncode == 1
    assert done.stderr.startswith("sfgen: texts, line 1, is not of this run: ")
    assert says in done.stderr
    assert (here / "texts").read_bytes() == written


def test_resume_knows_the_pattern_of_a_saved_index(light: Light, here: Path) -> None:
    assert light("index", "--regex", "(hot|cold)", "--save", "saved").returncode == 0
    run = ("gen", "--index", "saved", "--input", "prompts", "--output", "texts")
    assert light(*run).returncode == 0
    assert light(*run, "--resume").returncode == 0
    assert json.loads((here / "texts").read_text().splitlines()[0])["job"]["pattern"] == "(hot|cold)"


# ---- what needs the embedded model alone -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "gen --regex [ab] x",
        "gen --schema name --max-tokens 20 x",
        "gen --choices hot,cold --ban-words hot --device cpu --dtype float32 x",
        "gen --stop . --max-tokens 9 --trace trace x",
        "gen --regex [ab] --input prompts --batch-size 2",
        "ban --words talk,listen --max-tokens 9 x",
        "ban --words talk --compare --json --max-tokens 9 x",
    ],
)
def test_the_embedded_model_needs_neither(light: Light, here: Path, line: str) -> None:
    done = light(*line.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "call", ["generate('tiny', 'x', index='[ab]').text", "load_model('tiny').session().extend([5])"]
)
def test_nor_does_the_library(call: str) -> None:
    script = f"import sys, sfgen; assert len(sfgen.{call}); print({{'torch', 'transformers'}} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "set()\n"


# ---- what needs a tokenizer alone ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "index --regex (hot|cold) --json",
        "index --regex (hot|cold)",
        "index --regex (hot|cold) -m model --json",
        "index --regex (hot|cold) --tokenizer model --json",
        "index --regex (hot|cold) -m uniform --json",
        "index --regex (hot|cold) -m model --save saved",
        "index --regex (hot|cold) --path hot",
        "ban --words hot --routes",
        "ban --words hot --routes -m model",
        "ban --words hot --routes --tokenizer model",
        "check --regex (hot|cold) --quiet",
        "gen -m uniform --tokenizer model --regex (hot|cold) x",
        "gen --help",
        "gen --help-all",
    ],
)
def test_what_needs_a_tokenizer_alone(light: Light, here: Path, line: str) -> None:
    done = light(*line.split(), stdin="hot\n")
    assert done.returncode == 0, done.stderr


def test_the_embedded_model_as_a_directory(light: Light, here: Path) -> None:
    """Its index is that of the name, so that one can be used for the other."""
    lines = [light("index", "--regex", "[ab]", "--json", "-m", name).stdout for name in ("tiny", str(DIRECTORY))]
    assert lines[0] == lines[1] != ""
