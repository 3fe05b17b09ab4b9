"""The help: whole, in groups, readable in narrow windows and in pipes, and coloured only where colours are wanted."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.cells import cell_len

from sfgen_cli.app import app
from sfgen_cli.shell.help import MOST_USED, examples, name_of

Sfgen = Callable[..., Any]
GROUP: Any = typer.main.get_command(app)
COMMANDS = ["", *GROUP.commands]
ESCAPE = "\x1b["


def page(sfgen: Sfgen, command: str, option: str = "--help") -> str:
    done = sfgen(*([command] if command else []), option)
    assert (done.code, done.err) == (0, "")
    text = done.out
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("option", ["--help", "--help-all"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", [40, 80, 300])
def test_lines_fit_the_window(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, command: str, columns: int, option: str
) -> None:
    """All but the examples, which a terminal folds, so that they can be copied."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = page(sfgen, command, option)
    shown = [GROUP.commands[command]] if command else [GROUP, *GROUP.commands.values()]
    kept = {line for each in shown for _, lines in examples(each.help) for line in lines}
    rest = [line for line in text.splitlines() if line.strip() not in kept]
    own = {line for _, lines in examples(shown[0].help) for line in lines}
    assert len(text.splitlines()) - len(rest) >= len(own)
    for line in rest:
        # What cannot be broken, the name of an option with what it takes, is let off.
        assert cell_len(line) <= min(columns, 100) or " " not in line.strip().removeprefix("-"), line
    assert not re.search("[│╭╮╰╯─]", text)
    assert ESCAPE not in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("command", GROUP.commands)
def test_every_option_is_there_once_with_its_meaning(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = page(sfgen, command, "--help-all")
    for param in GROUP.commands[command].params:
        if param.param_type_name == "option" and not param.hidden:
            for name in [*param.opts, *param.secondary_opts]:
                if name.startswith("--ban-") and f"--{name.removeprefix('--ban-')}" in param.opts:
                    continue  # the prose tells that a short name has a long one, too
                assert re.search(rf"^  .*{re.escape(name)}\b", text, re.MULTILINE), name
            # The words of the meaning, whatever lines they were folded into.
            plain = re.sub(r"\[(bold|/bold|/)\]", "", param.help)
            assert " ".join(plain.split()) in " ".join(text.split()), param.opts
    assert "[bold]" not in text


def test_the_groups_of_options(sfgen: Sfgen) -> None:
    def titles(command: str) -> list[str]:
        return [line for line in page(sfgen, command, "--help-all").splitlines() if re.match(r"[A-Z][^.]*$", line)]

    assert titles("gen")[1:] == [
        "Examples", "Prompt", "Constraint (one of them, or none)", "Bans", "Model and sampling", "Output",
        *(["Many prompts"] if "Many prompts" in titles("gen") else []), "Options",
    ]  # fmt: skip
    assert "Bans" in titles("ban")
    assert titles("index")[1:4] == ["Examples", "Saved indexes", "Constraint (one of them, or none)"]


def test_the_order_of_the_commands(sfgen: Sfgen) -> None:
    text = page(sfgen, "")
    first = re.search(r"^Commands\n((  .*\n)+)\nMore\n((  .*\n)+)", text, re.MULTILINE)
    assert first is not None
    assert re.findall(r"^  (\w+)\b", first[1], re.MULTILINE) == ["gen", "ban", "index"]
    assert set(re.findall(r"^  (\w+)\b", first[3], re.MULTILINE)) == set(GROUP.commands) - {"gen", "ban", "index"}


def test_defaults_and_variables_are_named(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = " ".join(page(sfgen, "gen", "--help-all").split())
    assert "(default: 256)" in text
    assert "(default: tiny; environment: SFGEN_MODEL)" in text
    assert "(environment: SFGEN_SEED)" in text
    assert "talking passes when talk is banned" in " ".join(page(sfgen, "ban").split())
    for name in ("SFGEN_MODEL", "SFGEN_SEED", "NO_COLOR", "FORCE_COLOR"):
        assert name in page(sfgen, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_h_is_help(sfgen: Sfgen, command: str) -> None:
    assert page(sfgen, command, "-h") == page(sfgen, command)


def test_help_wins_over_mistakes_that_come_after_it(sfgen: Sfgen) -> None:
    assert sfgen("gen", "--help", "--regex").code in (0, 2)
    assert sfgen("gen", "--help", "extra").out == page(sfgen, "gen")


def test_no_command_shows_the_help_and_is_a_mistake(sfgen: Sfgen) -> None:
    done = sfgen()
    assert (done.code, done.err) == (2, "")
    assert done.out.removesuffix("\n") == page(sfgen, "").removesuffix("\n")


# ---- the short help -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "budget"), [*((name, 45) for name in GROUP.commands), ("", 50)])
def test_the_help_fits_a_screen(command: str, budget: int) -> None:
    """In a process of its own, in a window of 80 columns."""
    done = subprocess.run(
        [sys.executable, "-m", "sfgen_cli", *([command] if command else []), "--help"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert 15 < len(lines) <= budget
    assert max(cell_len(line) for line in lines if not re.search("(sfgen|curl) ", line)) <= 80
    assert any(line.startswith("      --help-all") for line in lines)


@pytest.mark.parametrize("command", GROUP.commands)
def test_the_options_used_most_are_said_in_a_line_each(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, _, rows = page(sfgen, command).partition("\nOptions used most\n")
    params = {name_of(param) for param in GROUP.commands[command].params if not getattr(param, "hidden", False)}
    listed = [name for name in MOST_USED[command] if name in params]
    assert len(listed) >= min(7, len(params) - 1)
    for name in listed:
        (row,) = (line for line in rows.splitlines() if re.match(rf"  (-\w, |    )?{re.escape(name)}[ ,]", line))
        assert len(row) <= 80
    assert len(rows.splitlines()) <= len(listed) + 8  # a long list of values, and defaults
    # What is not listed is there with --help-all, and for the shell and the suggestions.
    assert len(page(sfgen, command, "--help-all").splitlines()) > len(page(sfgen, command).splitlines())


def test_each_name_is_one_of_an_option() -> None:
    every = {name_of(param) for command in GROUP.commands.values() for param in command.params}
    known = {name for names in MOST_USED.values() for name in names}
    assert known <= every


def test_the_whole_help_of_the_group_is_that_of_all_commands(sfgen: Sfgen) -> None:
    whole = page(sfgen, "", "--help-all")
    for command in GROUP.commands:
        assert page(sfgen, command, "--help-all") in whole


def test_an_option_that_the_short_help_leaves_out_is_suggested(sfgen: Sfgen) -> None:
    assert "--max-rollbacks" not in page(sfgen, "gen")
    assert "Did you mean --max-rollbacks?" in sfgen("gen", "--max-rolbacks", "3").err


def test_the_holes_that_the_help_shows_are_a_template(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.gbnf").write_text('root ::= [0-9]+ "+" [0-9]+')
    params = GROUP.commands["gen"].params
    meaning = next(param.help for param in params if "--template" in param.opts)
    holes = re.findall(r"\[bold\](\{[{%].+?[%}]\})\[/\]", meaning)
    assert len(holes) == 7
    monkeypatch.setenv("COLUMNS", "1000")
    shown = " ".join(page(sfgen, "gen", "--help-all").split())
    assert all(hole in shown for hole in holes)
    template = "".join(f"{hole}\n" for hole in holes)
    done = sfgen(
        "check", "--quiet", "--template", template, "--text", 'x\ngood\n{"name": "A", "age": 3}\n1+2\nwhy\nx\nab\n'
    )
    assert (done.code, done.err) == (0, "")


# ---- colours --------------------------------------------------------------------------------------------------------


def on_a_terminal(arguments: list[str], **environment: str) -> str:
    """What a command writes to a terminal of 60 columns."""
    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "sfgen_cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        env={"PATH": os.environ["PATH"], "COLUMNS": "60", "LANG": "C.UTF-8", **environment},
    )
    os.close(slave)
    parts = []
    while True:
        try:
            parts.append(os.read(master, 65536))
        except OSError:  # what Linux says at the end
            break
        if not parts[-1]:
            break
    done.wait(timeout=60)
    os.close(master)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
    ids=str,
)
def test_colours_on_a_terminal(environment: dict[str, str], coloured: bool) -> None:
    shown = on_a_terminal(["gen", "--help"], **environment)
    assert (ESCAPE in shown) == coloured
    assert "--max-tokens" in shown
    assert ESCAPE not in on_a_terminal(["gen", "--max-tokns"], **environment)


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": ""}, False), ({"GITHUB_ACTIONS": "1"}, False),
     ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ({"FORCE_COLOR": "1", "TERM": "dumb"}, False)],
    ids=str,
)  # fmt: skip
def test_colours_in_a_pipe(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain = page(sfgen, "gen")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for arguments in (["gen", "--help"], []):
        assert (ESCAPE in sfgen(*arguments).out) == coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", page(sfgen, "gen")) == plain
