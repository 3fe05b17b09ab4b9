"""What the Tab key does in real shells that sfgen has installed its completion for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.command.terminal import SFGEN, Terminal
from tests.support.running.installed import needs

PROMPT = "ready> "
START = {
    "bash": ("bash", "-i"),
    "zsh": ("zsh", "-i"),
    "fish": ("fish", "-i"),
}
SETTINGS = {
    "bash": (".bashrc", f"PS1='{PROMPT}'\nbind 'set bell-style none'\n"),
    "zsh": (".zshrc", f"PROMPT='{PROMPT}'\nautoload -Uz compinit; compinit -u\n"),
    "fish": (
        ".config/fish/config.fish",
        f"function fish_prompt; echo -n '{PROMPT}'; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n",
    ),
}
SHELLS = [
    pytest.param("bash", marks=pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")),
    pytest.param("zsh", marks=needs("zsh")),
    pytest.param("fish", marks=needs("fish")),
]


@dataclass(frozen=True)
class Home:
    """What --install-completion has set up for a shell, in a folder with a few files."""

    shell: str
    folder: Path
    environment: dict[str, str]


@pytest.fixture(scope="module", params=SHELLS)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Its home directory, with what --install-completion has written, which is done once."""
    name: str = request.param
    directory = tmp_path_factory.mktemp(name)
    home, folder, programs = directory / "home", directory / "folder", directory / "bin"
    for place in (home, folder / "models", programs):
        place.mkdir(parents=True)
    (folder / "words.txt").touch()
    sfgen = programs / "sfgen"
    sfgen.write_text(f'#!/bin/sh\nexec {sys.executable} -m sfgen_cli "$@"\n')
    sfgen.chmod(0o755)
    file, settings = SETTINGS[name]
    (home / file).parent.mkdir(parents=True, exist_ok=True)
    (home / file).write_text(settings)
    environment = {
        "HOME": str(home),
        "ZDOTDIR": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".data"),
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }
    subprocess.run([*SFGEN, "--install-completion", name], env={**os.environ, **environment}, check=True, timeout=60)
    return Home(name, folder, environment)


@pytest.fixture(scope="module")
def started(home: Home) -> Iterator[Terminal]:
    """The shell, which all lines are typed into."""
    settings_of_shell = [f"{variable}={value}" for variable, value in home.environment.items()]
    command = ("env", f"--chdir={home.folder}", *settings_of_shell, *START[home.shell])
    with Terminal(command=command) as terminal:
        yield terminal


@pytest.fixture
def shell(started: Terminal) -> Iterator[Terminal]:
    """The shell at its prompt, on an empty screen."""
    started.until(lambda screen: screen and screen[-1].startswith(PROMPT.strip()))
    yield started
    started.press("\x15\x0c")  # the line is taken back, and the screen cleared
    started.until(lambda screen: screen == [PROMPT.strip()])


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("sfgen ind", "sfgen index "),
        ("sfgen gen 'It is' --max-t", "sfgen gen 'It is' --max-tokens "),
        ("sfgen gen --dtype bf", "sfgen gen --dtype bfloat16 "),
        ("sfgen gen -m un", "sfgen gen -m uniform "),
        ("sfgen gen --regex-file wor", "sfgen gen --regex-file words.txt "),
        ("sfgen gen -m mod", "sfgen gen -m models/"),
    ],
)
def test_what_can_only_go_on_in_one_way_is_written(shell: Terminal, line: str, completed: str) -> None:
    shell.press(line + "\t")
    shell.until(lambda screen: any(f"{PROMPT}{completed}".rstrip() == row for row in screen))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sfgen ban --strategy ", ["resample", "first-token", "mask", "exact"]),
        ("sfgen ", ["gen", "ban", "index", "check"]),
        ("sfgen gen -m ", ["tiny", "uniform", "zip:"]),
    ],
)
def test_what_could_follow_is_offered(shell: Terminal, line: str, offered: list[str]) -> None:
    shell.press(line + "\t\t")
    shell.until(lambda screen: all(word in " ".join(screen[1:]) for word in offered))
