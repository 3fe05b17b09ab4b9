"""The parts of Typer that it keeps to itself or hardly documents. Only this file names them.

Typer 0.28 carries its own copy of click, whose classes are not those of the package click. The copy and the script for
shells have names with an underscore, so pyproject.toml allows the versions of Typer that the tests have run on.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import typer.main
from typer._click import Context
from typer._click.core import ParameterSource
from typer._click.exceptions import NoArgsIsHelpError, NoSuchOption, UsageError
from typer._click.globals import get_current_context
from typer.core import TyperCommand, TyperGroup, TyperOption

__all__ = [
    "Context",
    "NoArgsIsHelpError",
    "NoSuchOption",
    "ParameterSource",
    "TyperCommand",
    "TyperGroup",
    "TyperOption",
    "UsageError",
    "command_of",
    "commands_of",
    "completion_script",
    "get_current_context",
    "install_completion",
    "prepare_completion",
]


@cache
def command_of(app: typer.Typer) -> Any:
    """Return an application as the command that it is, with all options read from signatures.

    Typer would read them anew for each run, and for each look at them.
    """
    return typer.main.get_command(app)


def commands_of(app: typer.Typer) -> dict[str, Any]:
    """Return the commands of an application by their names."""
    return getattr(command_of(app), "commands", {})


def prepare_completion() -> None:
    """Make the answers to the shells ready."""
    from typer._completion_classes import completion_init

    completion_init()


def completion_script(shell: str, *, program: str, variable: str) -> str:
    """Write the script by which a shell completes a program's words."""
    from typer._completion_shared import get_completion_script

    return get_completion_script(prog_name=program, complete_var=variable, shell=shell)


def install_completion(shell: str, *, program: str, variable: str) -> Path:
    """Put the completion script where a shell looks for it."""
    from typer._completion_shared import install

    return Path(install(shell, prog_name=program, complete_var=variable)[1])
