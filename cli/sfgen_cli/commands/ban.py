"""``sfgen ban``: text without certain words."""

from __future__ import annotations

import shlex
from typing import Annotated, Literal

import typer

from sfgen.errors import UsageError
from sfgen_cli import options
from sfgen_cli.constraints import Constraint, read_banned
from sfgen_cli.flatten import flattened
from sfgen_cli.generation import Request, run
from sfgen_cli.prompts import read_prompt

_BANS = "Bans"


@flattened
def ban(
    prompt: options.Prompt = None,
    words: options.Words = None,
    words_file: options.WordsFile = None,
    match: Annotated[
        Literal["word", "prefix", "substring"],
        typer.Option(
            help="word: the whole word (talking passes when talk is banned); prefix: all words that begin so; "
            "substring: anywhere, inside words too.",
            rich_help_panel=_BANS,
        ),
    ] = "word",
    case_sensitive: Annotated[
        bool, typer.Option("--case-sensitive", help="Talk passes when talk is banned.", rich_help_panel=_BANS)
    ] = False,
    *,
    generation: options.GenerationOptions,
    regex: Annotated[str | None, typer.Option("--regex", "-r", hidden=True)] = None,
) -> None:
    """Write text that never contains certain words.

    [bold]sfgen ban --words talk,listen 'Can we talk?'[/]

    A word is found in the text, however the tokenizer cuts it. When one is complete, the text goes back to where it
    began and takes another way; what was written to stdout is never taken back.
    """
    if regex is not None:
        listed = ",".join(words or ["talk"])
        raise UsageError(
            "ban has no --regex: it writes free text",
            details=(
                f"  text that matches, without the words:  sfgen gen --regex {shlex.quote(regex)} --ban-words {listed}",
                "  to ban what a pattern matches is not possible yet",
            ),
        )
    if not words and words_file is None:
        raise UsageError("no words to ban", hint="For example: sfgen ban --words talk,listen 'Can we talk?'")
    text = read_prompt(prompt, generation.prompt_file, stdin_taken=str(words_file) == "-")
    banned = read_banned(words, words_file, match=match, case_sensitive=case_sensitive)
    run(Request(text, Constraint(), banned, generation))
