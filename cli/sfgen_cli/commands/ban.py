"""``sfgen ban``: text without certain words."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Annotated

import typer

from sfgen.errors import UsageError
from sfgen_cli.options.bans import BanOptions, read_bans, read_word_bias
from sfgen_cli.options.batch import ManyOptions
from sfgen_cli.options.generation import GenerationOptions, Prompt, read_messages
from sfgen_cli.options.prompts import read_prompt, reader_of_stdin, refuse_overwriting
from sfgen_cli.options.requested_constraint import RequestedConstraint
from sfgen_cli.run.generation import run, show_prompt
from sfgen_cli.run.request import Request
from sfgen_cli.shell.command_classes import Named, flattened
from sfgen_cli.shell.one_time_notes import tell_of_demonstration

_INSTEAD = "Instead of a text"


@flattened
def ban(
    prompt: Prompt = None,
    *,
    bans: Annotated[BanOptions, Named("ban-", short=True)],
    generation: GenerationOptions,
    many: ManyOptions,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Write the free text and the text without the words, of the same seed, side by side.",
            rich_help_panel=_INSTEAD,
        ),
    ] = False,
    routes: Annotated[
        bool,
        typer.Option(
            "--routes",
            help="List the sequences of tokens that spell the words, as they are written and after a space; no prompt "
            "and no weights are needed.",
            rich_help_panel=_INSTEAD,
        ),
    ] = False,
    max_routes: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="List only N, the shortest first; the others are counted.",
            rich_help_panel=_INSTEAD,
        ),
    ] = 1000,
    regex: Annotated[str | None, typer.Option("--regex", "-r", hidden=True)] = None,
) -> None:
    r"""Write text that never contains certain words.

    Neither of two words:
        sfgen ban --words talk,listen 'Can we talk?'

    No word that begins so, and nothing in which a pattern matches:
        sfgen ban --words 'talk*' --pattern '[0-9]{3,}' 'Can we talk?'

    How often a word was taken back:
        sfgen ban --words talk,listen --seed 1 --json 'Can we talk?' | jq '.rollbacks | length'

    The tokens that spell a phrase; no model is run:
        sfgen ban --words 'small talk' --routes

    A word is found in the text, however the tokenizer cuts it. When it is complete, the text is taken back to where the
    word began, and continues in another way. Text that was written to stdout is never taken back.

    The options have the names that they have in [bold]gen[/], too: [bold]--words[/] is also [bold]--ban-words[/].
    """
    if regex is not None:
        raise _no_regex(regex, bans)
    if not bans and (routes or not generation.word_bias):
        raise UsageError("no words to ban", hint="For example: sfgen ban --words talk,listen 'Can we talk?'")
    if routes:
        _refuse_with_routes(bans, generation, compare=compare)
    asked = {"--routes": routes, "--compare": compare, "--show-prompt": generation.show_prompt}
    instead = next((name for name, is_asked in asked.items() if is_asked), "")
    if generation.show_prompt and instead != "--show-prompt":
        raise UsageError(f"{instead} and --show-prompt cannot be used together", hint="Leave one of them out.")
    files = {
        "--words-file": bans.words_file,
        "--input": many.input,
        **generation.files,
    }
    reader = reader_of_stdin(files, prompt=prompt)
    many.check(prompt, generation, instead=instead)
    written = {"--output": many.output, "--trace": generation.trace}
    if any(written.values()):
        refuse_overwriting({**files, "--model": generation.model_file}, written)
    banned = read_bans(bans, quiet=generation.quiet, has_bias=bool(generation.word_bias))
    messages = read_messages(generation)
    biases = read_word_bias(generation.word_bias, bans)
    request = Request("", RequestedConstraint(), banned, generation, messages=messages, word_bias=biases)
    if many.input is not None:
        from sfgen_cli.run.batch import run_many

        run_many(request, many)
        tell_of_demonstration(generation)
        return
    if routes and banned is not None:
        from sfgen_cli.report.path import write_routes

        write_routes(banned.words, generation, max_routes)
        return
    text = read_prompt(prompt, generation.prompt_file, reader=reader, quiet=generation.quiet)
    request = replace(request, prompt=text)
    if generation.show_prompt:
        show_prompt(request)
        return
    if compare:
        from sfgen_cli.run.compare import write_comparison

        write_comparison(request)
    else:
        run(request)
    tell_of_demonstration(generation)


def _no_regex(regex: str, bans: BanOptions) -> UsageError:
    pattern = shlex.quote(regex)
    words = shlex.quote(",".join(bans.words or ["talk"]))
    return UsageError(
        "ban has no --regex: should the text match the pattern, or never contain a match?",
        details=(
            f"  text that matches it, without the words:  sfgen gen --regex {pattern} --ban-words {words}",
            f"  text in which it matches nowhere:         sfgen ban --pattern {pattern}",
        ),
    )


def _refuse_with_routes(bans: BanOptions, generation: GenerationOptions, *, compare: bool) -> None:
    if compare:
        raise UsageError("--routes and --compare cannot be used together", hint="Give one of them.")
    if bans.pattern:
        raise UsageError(
            "--routes lists the spellings of words, and a pattern has none to list",
            hint=f"The tokens that each state of it allows: sfgen index --regex {shlex.quote(bans.pattern[0])}",
        )
    if bans.characters:
        raise UsageError("--routes lists the spellings of words, not of characters", hint="Leave --characters out.")
    shown = {
        "--live": generation.live,
        "--slow": generation.slow,
        "--step": generation.step,
        "--trace": generation.trace,
    }
    for name, given in shown.items():
        if given:
            raise UsageError(f"--routes and {name} cannot be used together", hint="Nothing is generated.")
