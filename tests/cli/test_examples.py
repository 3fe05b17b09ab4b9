"""Every example of the help texts works as typed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.support.command.typed import typed

from sfgen_cli.app import app
from sfgen_cli.shell.help import examples

Sfgen = Callable[..., Any]
GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {"sfgen": GROUP, **GROUP.commands}
EXAMPLES = [(name, line) for name, command in COMMANDS.items() for _, lines in examples(command.help) for line in lines]
# What an example writes; one that is not here writes something, and ends with 0.
WRITES = {
    "sfgen serve": (0, "listens\n"),
    "echo a-long-secret > key.txt && sfgen serve -m tiny -m uniform --batch-size 16 --api-key-file key.txt": (
        0,
        "a-long-secret listens\n",
    ),
    "sfgen gen --regex '[0-9]+ (EUR|USD)' 'In our shop: '": (0, r"[0-9]+ (EUR|USD)\n"),
    "sfgen gen --choices hot,cold,hotel 'It is very '": (0, r"(hot|cold|hotel)\n"),
    "sfgen check --regex '[a-z]{3}[0-9]' --text abc0 --text ab --text 0": (
        1,
        r"text 2: 'ab' is the start of a match: \[a-z\] must follow\n(.*\n)*text 3, character 1: '0' is not (.*\n)+",
    ),
    r"printf '2026\n20x6\n' | sfgen check --regex '[0-9]{4}'": (
        1,
        r"line 2, character 3: '20x6' is not the start of a match: expected \[0-9\]\n  20x6\n    \^\n",
    ),
    'sfgen check --schema \'name, age int\' --text \'{"name": "Ada", "age": "36"}\'': (
        1,
        r"line 1, column 24: \$\.age: must be an integer, not a string\n(.*\n)+",
    ),
    "sfgen check --grammar 'root ::= [0-9] (\"+\" [0-9])*' --text '1+2+'": (
        1,
        r"line 1, column 5: the text ends too early: expected \[0-9\], in root\n(.*\n)+",
    ),
    "sfgen gen --grammar 'root ::= [0-9] (\"+\" [0-9])*' 'In our shop: '": (0, r"[0-9](\+[0-9])*\n"),
    "echo 'Can we talk?' > notes.txt && sfgen check --words talk,listen notes.txt": (
        1,
        r"notes\.txt, line 1, column 8, byte 7: talk\n(.*\n)+",
    ),
    "sfgen ban --words talk 'Can we talk?' | sfgen check --words talk --quiet && echo clean": (0, r"clean\n"),
    "sfgen ban --words talk,listen 'Can we talk?'": (0, r"(?s)(?!.*\b([Tt]alk|[Ll]isten)\b).+"),
    "sfgen ban --words talk,listen --seed 1 --json 'Can we talk?' | jq '.rollbacks | length'": (0, r"[1-9][0-9]*\n"),
    "sfgen index --regex '[0-9]+' --against '[0-9]{1,3}' --json | jq -r .only_pattern": (0, r"[0-9]{4,}\n"),
}


def test_every_command_has_examples() -> None:
    counts = {name: len(examples(command.help)) for name, command in COMMANDS.items()}
    assert min(counts.values()) >= 2, counts
    assert {name for name in COMMANDS if not any(f"{line} ".startswith(f"sfgen {name} ") for _, line in EXAMPLES)} == {
        "sfgen"
    }
    assert set(WRITES) <= {line for _, line in EXAMPLES}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_work_as_typed(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """One after the other: a file that one writes is read by the next. A server ends when it listens, at any port."""
    lines = [line for command, line in EXAMPLES if command == name and not line.startswith("curl ")]
    if name == "serve":
        _let_servers_end(monkeypatch)
    for tool in {"bash", *re.findall(r"\| (jq)\b", " ".join(lines))}:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    for line in lines:
        done = typed(line, sfgen, tmp_path)
        out, err = done.stdout.decode(), done.stderr.decode()
        code, expected = WRITES.get(line, (0, r"(?s).*\S.*"))
        assert (line, done.returncode, "Traceback" in err) == (line, code, False), err
        assert re.fullmatch(expected, out), (line, out)


def _let_servers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``sfgen serve`` end when it listens; what it answers is in tests/serve/test_command.py."""
    from sfgen.serve import run

    async def startup(server: Any, sockets: Any = None) -> None:
        await begin(server, sockets)
        server.should_exit = True
        print(*server.application.access.keys, "listens")

    begin, listening = run.HttpServer.startup, run.listening
    monkeypatch.setattr(run.HttpServer, "startup", startup)
    monkeypatch.setattr(run, "listening", lambda host, port: listening(host, 0))


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES])
def test_an_example_means_the_same_in_zsh(line: str) -> None:
    """Zsh reads ``[``, ``=``, ``~``, ``^``, ``#`` and ``!`` where bash does not: they stand in single quotes."""
    unquoted = re.sub(r"'[^']*'", "", line)
    assert re.fullmatch(r"[\w ,./|&>-]*", unquoted), unquoted
    assert "=" not in re.sub(r"'[^']*'", "", line)


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_the_help_shows_an_example_on_one_line(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    for columns in ("40", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = sfgen(*([] if name == "sfgen" else [name]), "--help")
        assert f"    {line}\n" in shown.out
