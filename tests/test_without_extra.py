"""Without the extra ``transformers``: what needs it says so, and everything else works."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.models.random_models import save

_HIDDEN = """
import sys
for name in ("torch", "transformers"):
    sys.modules[name] = None  # an import of it fails
"""


def python(code: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _HIDDEN + code],
        input=stdin, capture_output=True, text=True, check=False, cwd=folder, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    save("llama", folder / "model")
    return folder


WORKS: list[tuple[list[str], int]] = [
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
]
"""Commands, and how many characters they print at least."""
LACKS = [["--model", "model"], ["--model", "tiny", "--dtype", "bfloat16"]]
"""Options of what needs the extra."""

_COMMANDS = """
import json, os, sys
from sfgen_cli.shell.ending import run
for number, arguments in enumerate(json.loads(sys.stdin.readline())):
    for stream in (1, 2):
        os.dup2(os.open(f"{number}.{stream}", os.O_CREAT | os.O_WRONLY), stream)
    code = run(arguments)
    sys.stdout.flush()
    with open(f"{number}.code", "w") as file:
        file.write(str(code))
"""


@pytest.fixture(scope="module")
def sfgen(folder: Path) -> Callable[[list[str]], tuple[int, str, str]]:
    """``sfgen(["models"])``: the exit code of a command, its stdout and its stderr; one process runs all commands."""
    commands = [arguments for arguments, _ in WORKS] + [["gen", *more, "--regex", "a", "x"] for more in LACKS]
    done = python(_COMMANDS, folder, json.dumps(commands))
    assert done.returncode == 0, done.stderr

    def told(arguments: list[str]) -> tuple[int, str, str]:
        number = commands.index(arguments)
        code, out, err = ((folder / f"{number}.{kind}").read_text() for kind in ("code", "1", "2"))
        return int(code), out, err

    return told


@pytest.mark.parametrize(
    ("arguments", "out"), WORKS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_works(sfgen: Callable[[list[str]], tuple[int, str, str]], arguments: list[str], out: int) -> None:
    code, stdout, stderr = sfgen(arguments)
    assert (code, "Traceback" in stderr) == (0, False), stderr
    assert len(stdout) >= out


@pytest.mark.parametrize("arguments", LACKS, ids=" ".join)
def test_a_model_says_what_to_install(sfgen: Callable[[list[str]], tuple[int, str, str]], arguments: list[str]) -> None:
    code, stdout, stderr = sfgen(["gen", *arguments, "--regex", "a", "x"])
    assert (code, stdout) == (1, "")
    assert "this needs torch and transformers: " in stderr
    assert "pip install 'sfgen[transformers]'" in stderr
    assert "Traceback" not in stderr


def test_ray_says_what_to_install(folder: Path) -> None:
    (folder / "prompts").write_text('{"prompt": "a"}\n')
    hidden = "import sys\nsys.modules['ray'] = None\nfrom sfgen_cli.shell.ending import run\n"
    done = python(hidden + "sys.exit(run(['gen', '-m', 'uniform', '--input', 'prompts', '--ray', 'local']))", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Ray is not installed: " in done.stderr
    assert "pip install 'sfgen[ray]'" in done.stderr


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "pebble", "prometheus_client"])
def test_the_server_says_what_to_install(folder: Path, missing: str) -> None:
    hidden = f"import sys\nsys.modules[{missing!r}] = None\n"
    done = python(hidden + "from sfgen_cli.shell.ending import run\nsys.exit(run(['serve', '--port', '0']))", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the server is not installed: " in done.stderr
    assert "pip install 'sfgen[serve]'" in done.stderr
    done = python(hidden + "import sfgen.serve\nsfgen.serve.app", folder)
    assert "sfgen.errors.ModelError: the server is not installed: " in done.stderr


def test_the_server_on_many_machines_says_what_to_install(folder: Path) -> None:
    done = python("import sys\nsys.modules['ray'] = None\nimport sfgen.serve.ray\nsfgen.serve.ray.deployment()", folder)
    assert "sfgen.errors.ModelError: Ray Serve is not installed: " in done.stderr
    assert "pip install 'sfgen[serve-ray]'" in done.stderr


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
