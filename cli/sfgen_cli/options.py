"""The options that several commands share, each in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

_MODEL = "Model and sampling"
_OUTPUT = "Output"
_CONSTRAINT = "Constraint (one of them, or none)"
_BANS = "Bans"

Prompt = Annotated[
    str | None,
    typer.Argument(
        help="The text to continue; [bold]-[/] reads stdin, which is also read when it is piped.", show_default=False
    ),
]
PromptFile = Annotated[
    Path | None, typer.Option(help="Read the prompt from a file; one trailing newline is removed.", metavar="FILE")
]

Regex = Annotated[
    str | None,
    typer.Option("--regex", "-r", metavar="PATTERN", help="Python regular expression.", rich_help_panel=_CONSTRAINT),
]
RegexFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The pattern from a file, newlines and all.", rich_help_panel=_CONSTRAINT),
]
Choices = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help=r"One of these texts; repeatable, [bold]\,[/] is a comma.",
        rich_help_panel=_CONSTRAINT,
    ),
]
ChoicesFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="One of the lines of a file.", rich_help_panel=_CONSTRAINT),
]
IndexFile = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="FILE", help="An index saved by [bold]sfgen index --save[/].", rich_help_panel=_CONSTRAINT
    ),
]

Model = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        envvar="SFGEN_MODEL",
        help="[bold]tiny[/] (comes with sfgen), [bold]uniform[/] (no preference), a directory of a transformers model, "
        "or a hub id.",
        rich_help_panel=_MODEL,
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Tokenizer for the model [bold]uniform[/].", rich_help_panel=_MODEL),
]
Device = Annotated[
    str,
    typer.Option(help="auto, cpu, cuda, cuda:N or mps; auto takes cuda, then mps.", rich_help_panel=_MODEL),
]
Dtype = Annotated[
    Literal["auto", "float32", "bfloat16", "float16"],
    typer.Option(
        help="auto is the checkpoint's own, float32 on a CPU.",
        rich_help_panel=_MODEL,
    ),
]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Let code that comes with a model run.", rich_help_panel=_MODEL)
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        "-t",
        help="0 always takes the likeliest token. Default 0; 1 with --seed or several samples.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        envvar="SFGEN_SEED", help="Start of the random choices; sample i uses SEED + i.", rich_help_panel=_MODEL
    ),
]
Samples = Annotated[
    int, typer.Option("--samples", "-n", min=1, help="How many texts to write.", rich_help_panel=_MODEL)
]
MaxTokens = Annotated[
    int,
    typer.Option(
        min=0, help="The most tokens to write. A match is never cut: it is made to fit.", rich_help_panel=_MODEL
    ),
]

Json = Annotated[bool, typer.Option("--json", help="One JSON object on each line.", rich_help_panel=_OUTPUT)]
Echo = Annotated[bool, typer.Option("--echo", help="Put the prompt before the text.", rich_help_panel=_OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.", rich_help_panel=_OUTPUT)]
Live = Annotated[
    bool | None,
    typer.Option(
        "--live/--no-live",
        help="Show the states while they pass. Default: on when stdout and stderr are terminals.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]

Words = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help=r"Words and phrases that must not come out; repeatable, [bold]\,[/] is a comma, [bold]talk*[/] bans all "
        "words that begin so.",
        rich_help_panel=_BANS,
    ),
]
WordsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Banned words, one a line, # comments; [bold]-[/] is stdin.", rich_help_panel=_BANS
    ),
]
MaxRollbacks = Annotated[
    int, typer.Option(min=0, help="Fail after so many rollbacks, rather than leak.", rich_help_panel=_BANS)
]
