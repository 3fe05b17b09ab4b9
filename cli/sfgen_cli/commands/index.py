"""``sfgen index``: the index of a pattern over a vocabulary; look at it, export it, keep it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfgen.errors import UsageError
from sfgen_cli import options
from sfgen_cli.constraints import Constraint, at_most_one, read_constraint
from sfgen_cli.output import note, stderr_is_a_terminal, write, write_json

if TYPE_CHECKING:
    from sfgen import Index, Vocabulary

DEFAULT_FILE = Path("sfgen-index.safetensors")
_VOCABULARY = "Vocabulary (one of them; the embedded model's if none)"


def index(
    file: Annotated[
        Path | None,
        typer.Argument(help="With --save: where to write. Without: a saved index to show.", show_default=False),
    ] = None,
    regex: options.Regex = None,
    regex_file: options.RegexFile = None,
    choices: options.Choices = None,
    choices_file: options.ChoicesFile = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The vocabulary of a model; its weights are not loaded. Default: SFGEN_MODEL, else tiny.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="DIR", help="The vocabulary of a tokenizer.", rich_help_panel=_VOCABULARY)
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A JSON file: a list of token strings, or an object from token to id.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help=f"Write the index to FILE, or to {DEFAULT_FILE}, for gen --index.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that holds something else.")] = False,
    format_: Annotated[Literal["table", "json"], typer.Option("--format", help="How to show it.")] = "table",
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Name tokens by their ids instead of their text.")] = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Show which tokens each state of a pattern allows, and keep that for later runs.

    [bold]sfgen index --regex '([0-9]+)?\.[0-9]+' --json | jq '.transitions["0"] | length'[/]

    [bold]sfgen index --regex '(hot|cold|hotel)' --save && sfgen gen --index sfgen-index.safetensors 'It is very '[/]
    """
    constraint = read_constraint(regex, regex_file, choices, choices_file)
    _check_meaning(constraint, file, save=save, force=force)
    # The pattern first: a mistake in it is told before a tokenizer is loaded.
    dfa = constraint.dfa() if constraint else None
    tokens = _vocabulary(model, tokenizer, vocabulary)
    source = constraint if dfa is not None else Constraint(index_file=file)
    built = source.index(tokens, dfa)
    assert built is not None, "there is a constraint or a file"
    saved = None
    if save:
        saved = file or DEFAULT_FILE
        _build(built, quiet=quiet)
        built.save(saved, force=force)
    if json or format_ == "json":
        record = built.to_dict(ids=ids)
        write_json(record | {"saved": str(saved)} if saved else record)
    elif saved is not None:
        write(f"{saved}\n")
    else:
        from sfgen_cli.tables import index_table

        index_table(built, ids=ids)


def _check_meaning(constraint: Constraint, file: Path | None, *, save: bool, force: bool) -> None:
    if save and not constraint:
        raise UsageError("--save needs a pattern", hint="For example: sfgen index --regex '(hot|cold|hotel)' --save")
    if force and not save:
        raise UsageError("--force means something with --save only")
    if not save and constraint and file is not None:
        raise UsageError(
            f"a pattern and a saved index ({file}) cannot be shown together",
            hint="Leave one out, or add --save to write the pattern's index to the file.",
        )
    if not constraint and file is None:
        raise UsageError("no pattern and no file", hint="For example: sfgen index --regex '(hot|cold|hotel)'")


def _vocabulary(model: str | None, tokenizer: str | None, file: Path | None) -> Vocabulary:
    at_most_one({"--model": model, "--tokenizer": tokenizer, "--vocabulary": file})
    from sfgen import Vocabulary

    if tokenizer is not None:
        return Vocabulary.from_pretrained(tokenizer)
    if file is not None:
        return Vocabulary.from_file(file)
    from sfgen.models import load_vocabulary

    return load_vocabulary(model or os.environ.get("SFGEN_MODEL") or "tiny")


def _build(index: Index, *, quiet: bool) -> None:
    """Make all rows; on a terminal with a progress bar."""
    if quiet or not stderr_is_a_terminal():
        index.build()
    else:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("building the index", total=len(index.dfa))
            index.build(lambda done, _: progress.update(task, completed=done))
    note(f"sfgen: {len(index.dfa)} states over {len(index.vocabulary)} tokens", quiet=quiet)
