"""Every error that a user can cause: one line that says what was wrong, a few that help, the exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.errors.case import Case
from tests.support.errors.cases import CASES
from tests.support.errors.out_of_reach import OUT_OF_REACH
from tests.support.errors.sites import passed, recorded, sites
from tests.support.running.installed import is_installed, needs_package

Sfgen = Callable[..., Any]
UNIFORM = ["-m", "uniform"]
# The places where the cases that were run have made an error.
MADE: dict[int, set[tuple[str, int]]] = {}


def cause(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, folder: Path, number: int) -> Any:
    """Run a case in a folder of its own."""
    case = CASES[number]
    folder.mkdir(exist_ok=True)
    with monkeypatch.context() as changed:
        changed.chdir(folder)
        changed.delenv("SFGEN_DEBUG", raising=False)
        if case.before is not None:
            case.before(changed)
        with recorded(changed) as made:
            done = sfgen(*case.arguments, stdin=case.stdin)
    MADE[number] = made
    return done


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=str(case), marks=[needs_package(case.needs)] if case.needs else [])
        for number, case in enumerate(CASES)
    ],
)
def test_an_error_says_what_was_wrong(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    case: Case = CASES[number]
    done = cause(sfgen, monkeypatch, tmp_path / "here", number)
    assert case.says in done.err
    assert done.code == case.code
    assert done.out == "" or case.writes
    assert "internal error" not in done.err
    assert "Traceback" not in done.err
    lines = done.err.removesuffix("\n").split("\n")
    assert re.match(r"sfgen: \S", lines[0])
    assert 1 <= len(lines) <= 4
    for line in lines:
        assert line.isprintable()
        assert line.strip()
        assert len(line) < 400


def test_every_error_in_the_source_is_caused_by_a_case(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever adds an error adds a case, or says why no command line leads to it."""
    for number in set(range(len(CASES))) - MADE.keys():  # where this test is run alone
        if not CASES[number].needs or is_installed(CASES[number].needs):
            cause(sfgen, monkeypatch, tmp_path / str(number), number)
    made = set().union(*MADE.values())
    listed = {(file, says) for file, says, _ in OUT_OF_REACH}

    def out_of_reach(site: Any) -> bool:
        if "models/gguf/" in site.file and not is_installed("llama_cpp"):
            return True
        if "sfgen/serve/" in site.file and not site.file.endswith(("/run.py", "/__init__.py")):
            return True  # told to clients, not on the command line: tests/serve
        return any(site.file.endswith(file) and says in site.says for file, says in listed)

    # A promise that sfgen itself broke is never the fault of a user.
    known = [site for site in sites() if site.name != "InternalError"]
    assert len(known) > 200
    missing = [str(site) for site in known if not passed(site, made) and not out_of_reach(site)]
    assert missing == [], "\n".join(missing)
    # The list has nothing in it that is not there, or that a command line does lead to.
    stale = [
        (file, says)
        for file, says in listed
        if not any(site.file.endswith(file) and says in site.says and not passed(site, made) for site in known)
    ]
    assert stale == []


def test_a_pattern_error_has_a_caret_under_the_place(sfgen: Sfgen) -> None:
    lines = sfgen("gen", "-r", r"a(b)\1", *UNIFORM).err.splitlines()
    assert lines[1:3] == [r"  a(b)\1", "      ^"]


def test_a_different_index_is_replaced_with_force_only(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "index"
    assert sfgen("index", "-r", "hot", "--save", file).code == 0
    assert sfgen("index", "-r", "cold", "--save", file).code == 1
    assert sfgen("index", "-r", "cold", "--save", "--force", file).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["gen", "--x" * 30_000],
        ["x" * 30_000],
        ["gen", "--dtype", "y" * 30_000],
        ["gen", "-n", "\x1b[2J" * 10_000],
        ["gen", "-r", "a(" + "b\n\u202e" * 10_000],
        ["gen", "--regex-file", "d/" * 15_000],
        ["gen", "-m", "a b" * 10_000],
        ["gen", "--device", "\x9b" * 30_000],
        ["ban", "--words", "\udcff" * 20_000],
        ["ban", "--regex", "a\n" * 20_000],
        ["index", "q" * 30_000],
        ["index", "-r", "a", "--save", "w\a" * 2_000],
        ["check", "-r", "a", "--words-file", "w\x7f" * 2_000],
        ["gen", "-" + "long prompt " * 3000],
        ["gen", "--ban-words", "hot" * 500, "--choices", "hot" * 500],
    ],
    ids=lambda arguments: " ".join(arguments)[:20].encode("ascii", "replace").decode(),
)
def test_what_is_very_long_or_drives_a_terminal_is_shown_cut_and_escaped(sfgen: Sfgen, arguments: list[str]) -> None:
    done = sfgen(*arguments)
    assert done.code in (1, 2)
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    lines = done.err.removesuffix("\n").split("\n")
    assert lines[0].startswith("sfgen: ")
    assert len(lines) <= 4
    for line in lines:
        assert line.isprintable()
        assert len(line) < 2000 if "\\" in line else len(line) < 400


def test_an_unexpected_fault_is_told_without_a_traceback(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("oh\nno" + "!" * 5000)

    monkeypatch.setattr("sfgen_cli.commands.gen.run", broken)
    monkeypatch.delenv("SFGEN_DEBUG", raising=False)
    done = sfgen("gen", "x")
    assert done.code == 1
    lines = done.err.splitlines()
    assert lines[0].startswith(r"sfgen: internal error: ZeroDivisionError: oh\nno!")
    assert len(lines[0]) < 400
    assert len(lines) == 2
    assert "Traceback" not in done.err
    monkeypatch.setenv("SFGEN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        sfgen("gen", "x")
