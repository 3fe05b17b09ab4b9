"""``sfgen gen``: text that matches a pattern."""

from __future__ import annotations

from sfgen_cli import options
from sfgen_cli.constraints import read_banned, read_constraint
from sfgen_cli.flatten import flattened
from sfgen_cli.generation import Request, run
from sfgen_cli.output import note
from sfgen_cli.prompts import pattern_hint, read_prompt


@flattened
def gen(
    prompt: options.Prompt = None,
    regex: options.Regex = None,
    regex_file: options.RegexFile = None,
    choices: options.Choices = None,
    choices_file: options.ChoicesFile = None,
    index: options.IndexFile = None,
    *,
    engine: options.Engine = None,
    generation: options.GenerationOptions,
    ban_words: options.Words = None,
    ban_words_file: options.WordsFile = None,
    ban_pattern: options.BannedPatterns = None,
) -> None:
    r"""Write text that matches a pattern, or free text.

    [bold]sfgen gen --regex '\{"name":"[A-Z]\[a-z]{2,9}","age":[1-9][0-9]\}' 'A person: ' | jq .name[/]

    [bold]sfgen gen --choices hot,cold,hotel --json 'It is very ' | jq -r .text[/]
    """
    constraint = read_constraint(regex, regex_file, choices, choices_file, index)
    text = read_prompt(prompt, generation.prompt_file, stdin_taken=str(ban_words_file) == "-")
    if not constraint and (hint := pattern_hint(text)):
        note(f"sfgen: {hint}", quiet=generation.quiet)
    run(Request(text, constraint, read_banned(ban_words, ban_words_file, ban_pattern), generation, engine))
