"""Shell completion: its answers to the shells, and its installation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfgen.errors import SfgenError, UsageError
from sfgen_cli.shell import typer_internals

DEVICES = ("auto", "cpu", "cuda", "cuda:0", "mps")
SHELLS = ("bash", "zsh", "fish")
INSTALL, SHOW = "--install-completion", "--show-completion"
_VARIABLE = "_SFGEN_COMPLETE"
_LONGEST_HELP = 60
_ZSH_FIRST_TAB = """

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _sfgen_completion "$@"
fi"""


def models(incomplete: str) -> list[tuple[str, str]]:
    """List the models that have a name and begin so.

    They are built in, or in the hub's cache; for all others the shell completes the names of files.
    """
    from sfgen.models.inventory import BUILT_IN, HUB_CACHE, cache_folder, cached_models

    cached = (model for model in cached_models(cache_folder()) if model.kind == "transformers" and not model.problem)
    named = {**BUILT_IN, **{model.name: f"{model.about}, {HUB_CACHE}" for model in cached}}
    return [(name, meaning) for name, meaning in named.items() if name.startswith(incomplete)]


def devices(incomplete: str) -> list[str]:
    """List the devices whose names begin so."""
    return [name for name in DEVICES if name.startswith(incomplete)]


def prepare() -> None:
    """Prepare the answers to a shell, if one asks.

    All other runs are spared that.
    """
    if os.environ.get(_VARIABLE):
        typer_internals.prepare_completion()


def brief(items: Iterable[Any]) -> list[Any]:
    """Shorten the descriptions of completions to plain words.

    Shells show one line of it, and some stumble over quotes.
    """
    shown = []
    for item in items:
        if item.help:
            item.help = _first_words(item.help)
        shown.append(item)
    return shown


def _first_words(text: str) -> str:
    """The first sentence, as far as it fits, without markup and without what a shell might take for its own.

    >>> _first_words("One of these [bold]texts[/]; repeatable: it's so. More.")
    'One of these texts'
    """
    plain = re.sub(r"\\(?=\[)|\[/?[a-z]*\]", "", text)
    sentence = re.split(r"[.;:](?:\s|$)", plain, maxsplit=1)[0]
    if len(sentence) > _LONGEST_HELP:
        sentence = sentence[:_LONGEST_HELP].rsplit(" ", 1)[0] + "…"
    return re.sub(r"[\"'`$\\\[\](){}]", "", sentence)


def show(shell: str) -> None:
    """Write the completion script of a shell to stdout."""
    from sfgen_cli.shell.output import write

    write(_script(_named(shell, SHOW)) + "\n")


def install(shell: str) -> None:
    """Install the completion script of a shell, and say where."""
    from sfgen_cli.shell.output import note, write_name

    name = _named(shell, INSTALL)
    try:
        path = typer_internals.install_completion(name, program="sfgen", variable=_VARIABLE)
        path.write_text(_script(name) + "\n", encoding="utf-8")
    except OSError as error:
        raise SfgenError(
            f"cannot install the completion of {name}: {error.strerror}: {error.filename}",
            hint=f"This prints it, to be put somewhere else: sfgen {SHOW} {name}",
        ) from error
    write_name(path)
    note(f"sfgen: the completion of {name} works from the next {name} on")


def _script(shell: str) -> str:
    """Typer's script. In zsh it would only be read at the first press of Tab, and not answer before the second."""
    script = typer_internals.completion_script(shell, program="sfgen", variable=_VARIABLE)
    return script + _ZSH_FIRST_TAB if shell == "zsh" else script


def _named(shell: str, option: str) -> str:
    """The shell that was named, else that of the user: the one that has started this, else that of SHELL."""
    if shell != "auto":
        return shell
    import shellingham  # type: ignore[import-untyped]  # comes with Typer

    try:
        name = str(shellingham.detect_shell()[0])
    except (shellingham.ShellDetectionFailure, OSError):
        name = ""
    if name not in SHELLS:
        name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UsageError("cannot tell which shell this is", hint=f"Name it: sfgen {option} {'|'.join(SHELLS)}")
    return name
