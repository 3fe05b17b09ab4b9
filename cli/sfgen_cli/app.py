"""The Typer application and its commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from sfgen_cli.commands.ban import ban
from sfgen_cli.commands.check import check
from sfgen_cli.commands.gen import gen
from sfgen_cli.commands.index import index

app = typer.Typer(
    name="sfgen",
    help="Make a language model write only what a pattern allows, and never write certain words.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _help(command: Callable[..., None]) -> str:
    """The docstring with each paragraph on one line: Typer would keep the line breaks of the source."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.splitlines()) for paragraph in paragraphs)


for command, panel in ((gen, None), (ban, None), (index, None), (check, "More")):
    app.command(command.__name__, help=_help(command), rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        from sfgen import __version__

        typer.echo(f"sfgen {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
