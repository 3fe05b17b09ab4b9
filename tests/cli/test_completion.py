"""Shell completion: what the Tab key offers, that it is light, and how it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
Complete = Callable[..., list[str]]


@pytest.fixture
def complete(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Complete:
    """``complete("gen", "--re")``: what bash is offered for the last word; the hub's cache is empty."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("_SFGEN_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", "\n".join(["sfgen", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = sfgen()
        assert (done.code, done.err) == (0, "")
        lines: list[str] = done.out.split()
        return lines

    return ask


def test_commands(complete: Complete) -> None:
    assert complete("g") == ["gen"]
    assert complete("")[:4] == ["gen", "ban", "index", "check"]
    assert "--version" in complete("--")


def test_options(complete: Complete) -> None:
    assert complete("gen", "--reg") == ["--regex", "--regex-file"]
    assert complete("gen", "'It is'", "--max-t") == ["--max-tokens"]
    assert complete("ban", "--words", "a,b", "--strat") == ["--strategy"]
    assert {"--help", "--help-all"} <= set(complete("check", "--"))
    assert complete("gen", "--max-r") == ["--max-rollbacks"]  # which the short help does not show


def test_values(complete: Complete) -> None:
    assert complete("gen", "--dtype", "b") == ["bfloat16"]
    assert complete("ban", "--strategy", "") == ["resample", "first-token", "mask", "exact"]
    assert complete("index", "--format", "j") == ["json", "jsonl"]
    assert complete("gen", "--device", "") == ["auto", "cpu", "cuda", "cuda:0", "mps"]


def test_models(complete: Complete) -> None:
    for command in ("gen", "ban", "index"):
        assert complete(command, "-m", "") == ["tiny", "uniform", "zip:"]
        assert complete(command, "--model", "u") == ["uniform"]
    assert complete("gen", "-m", "./my") == []  # a directory: the shell's own completion of files takes over


def test_files_are_left_to_the_shell(complete: Complete) -> None:
    for option in ("--regex-file", "--prompt-file", "--choices-file", "--index", "--trace", "--ban-words-file"):
        assert complete("gen", option, "dir/fi") == []
    assert complete("index", "some") == []


def test_fish_is_told_whether_there_is_something_to_offer(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SFGEN_COMPLETE", "complete_fish")
    for line, code in (("sfgen gen --dtype ", 0), ("sfgen gen --regex-file ", 1)):
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
        assert sfgen().code == code
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "sfgen gen --mod")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert sfgen().out.startswith("--model\t")


@pytest.mark.parametrize("line", ["sfgen ", "sfgen gen --", "sfgen ban --", "sfgen index --", "sfgen check --"])
def test_zsh_gets_a_short_description_of_each_that_it_can_read(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("_SFGEN_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    done = sfgen()
    assert done.code == 0
    before, _, inside = done.out.partition("_arguments '*: :((")
    assert before == ""
    for entry in inside.removesuffix("\n").removesuffix("))'").split("\n"):
        name, colon, meaning = entry.partition(":")
        assert colon
        assert name.startswith('"')
        assert name.endswith('"')
        text = meaning.removeprefix('"').removesuffix('"').replace(r"\\:", "")
        assert 3 < len(text) < 80
        assert not set(text) & set("'\"`$\\[](){}"), entry


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    done = sfgen("--show-completion", shell)
    assert (done.code, done.err) == (0, "")
    assert f"_SFGEN_COMPLETE=complete_{shell}" in done.out
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=done.out, text=True, check=False).returncode == 0
    # It can be the shell that one is in.
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    assert sfgen("--show-completion", "auto").out == done.out


def test_a_shell_that_is_not_known(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    monkeypatch.setenv("SHELL", "/bin/zsh")
    assert "complete_zsh" in sfgen("--show-completion", "auto").out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    for option in ("--show-completion", "--install-completion"):
        done = sfgen(option, "auto")
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"sfgen: cannot tell which shell this is\nName it: sfgen {option} bash|zsh|fish\n"
        )  # fmt: skip
    assert sfgen("--show-completion", "tcsh").code == 2


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_the_shell_is_named(sfgen: Sfgen, option: str) -> None:
    """No option takes a value or not, as it likes."""
    done = sfgen(option)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sfgen: Option '{option}' requires an argument.\n")


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/sfgen.sh"),
        ("zsh", ".zfunc/_sfgen"),
        ("fish", ".config/fish/completions/sfgen.fish"),
    ],
)
def test_installation(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shell: str, file: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):  # it can be repeated
        done = sfgen("--install-completion", shell)
        assert (done.code, done.out) == (0, f"{tmp_path / file}\n")
        assert done.err == f"sfgen: the completion of {shell} works from the next {shell} on\n"
    assert (tmp_path / file).read_text().strip() == sfgen("--show-completion", shell).out.strip()
    if shell == "bash":
        assert (tmp_path / ".bashrc").read_text().count("sfgen.sh") == 1


def test_a_home_that_cannot_be_written(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    done = sfgen("--install-completion", "fish")
    assert (done.code, done.out) == (1, "")
    lines = done.err.splitlines()
    assert lines[0].startswith("sfgen: cannot install the completion of fish: ")
    assert lines[1] == "This prints it, to be put somewhere else: sfgen --show-completion fish"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_imports_nothing_heavy(shell: str) -> None:
    script = (
        "import sys; from sfgen_cli.shell.ending import run; assert run([]) == 0; "
        "print([n for n in ('torch', 'transformers', 'numba', 'numpy', 'regex') if n in sys.modules], file=sys.stderr)"
    )
    environment = {
        "COMP_WORDS": "sfgen gen -m t",
        "COMP_CWORD": "3",
        "_TYPER_COMPLETE_ARGS": "sfgen gen -m t",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_SFGEN_COMPLETE": f"complete_{shell}",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "tiny" in done.stdout
    assert done.stderr == "[]\n"
