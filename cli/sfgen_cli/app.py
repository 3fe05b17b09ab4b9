"""The Typer application and its commands."""

from __future__ import annotations

import inspect
from typing import Annotated, Literal

import typer

from sfgen_cli.commands.ban import ban
from sfgen_cli.commands.check import check
from sfgen_cli.commands.gen import gen
from sfgen_cli.commands.index import index
from sfgen_cli.commands.models import models
from sfgen_cli.commands.replay import replay
from sfgen_cli.commands.serve import serve
from sfgen_cli.shell import completion
from sfgen_cli.shell.command_classes import Command, Group
from sfgen_cli.shell.help import paragraphs

_HELP = """Make a language model write only what a pattern allows, and never write certain words.

A number and nothing else:
    sfgen gen --regex '[0-9]+ (EUR|USD)' 'In our shop: '

A text without two words:
    sfgen ban --words talk,listen 'Can we talk?'

What a pattern allows, state by state:
    sfgen index --regex '(hot|cold|hotel)'
"""

app = typer.Typer(
    name="sfgen",
    cls=Group,
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    suggest_commands=False,  # the hint does
    add_completion=False,  # the options below are Typer's, but take the name of a shell
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command, panel in (
    *((gen, None), (ban, None), (index, None)),
    *((check, "More"), (replay, "More"), (models, "More"), (serve, "More")),
):
    text = paragraphs(inspect.cleandoc(command.__doc__ or ""))
    app.command(command.__name__, cls=Command, help=text, rich_help_panel=panel)(command)

_Shell = Literal["auto", "bash", "zsh", "fish"]


def _version(wanted: bool) -> None:
    if wanted:
        from sfgen import __version__

        typer.echo(f"sfgen {__version__}")
        raise typer.Exit


def _install(shell: _Shell | None) -> None:
    if shell is not None:
        completion.install(shell)
        raise typer.Exit


def _show(shell: _Shell | None) -> None:
    if shell is not None:
        completion.show(shell)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    install_completion: Annotated[
        _Shell | None,
        typer.Option(
            metavar="SHELL",
            callback=_install,
            is_eager=True,
            help="Let the Tab key complete commands, options and values in bash, zsh or fish; auto: in the present "
            "shell.",
        ),
    ] = None,
    show_completion: Annotated[
        _Shell | None,
        typer.Option(metavar="SHELL", callback=_show, is_eager=True, help="Print the script for that instead."),
    ] = None,
) -> None:
    pass
