"""Messages that a person is told once: a file in the folder for the user's state says that it was told."""

from __future__ import annotations

import os
from pathlib import Path

from sfgen_cli.options.generation import GenerationOptions
from sfgen_cli.shell.output import note, stderr_is_a_terminal
from sfgen_cli.shell.typer_internals import ParameterSource, get_current_context

DEMONSTRATION = "told-that-tiny-is-a-demonstration"
"""The name of the file."""


def tell_of_demonstration(options: GenerationOptions) -> None:
    """Say once that ``tiny`` is a demonstration, and name another model.

    That is on a terminal, and where the model was not chosen.
    """
    if options.quiet or not stderr_is_a_terminal():
        return
    if get_current_context().get_parameter_source("model") is not ParameterSource.DEFAULT:
        return
    if _is_first_time(DEMONSTRATION):
        note(
            f"sfgen: this is by {options.model}, a small model that comes along as a demonstration (said once)\n"
            "--model takes another: a directory, a name on the hub, or a .gguf file"
        )


def _is_first_time(name: str) -> bool:
    """Whether this is asked for the first time; false where that cannot be kept: the message would come each time."""
    try:
        folder = _state_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch(exist_ok=False)
    except (OSError, RuntimeError):
        return False
    return True


def _state_folder() -> Path:
    """The folder of the XDG Base Directory Specification for the state that a program keeps between runs."""
    named = os.environ.get("XDG_STATE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".local" / "state") / "sfgen"
