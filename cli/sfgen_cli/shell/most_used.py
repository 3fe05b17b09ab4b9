"""The options that ``--help`` shows, and what it says of each in one line; ``--help-all`` shows all, in full."""

from __future__ import annotations

import re

_SAMPLING = ("--temperature", "--seed", "--samples", "--max-tokens")
_OUTPUT = ("--json", "--live", "--trace", "--input", "--output", "--quiet")

MOST_USED = {
    "gen": (
        *(
            "PROMPT",
            "--schema",
            "--pydantic",
            "--like",
            "--tools",
            "--grammar",
            "--template",
            "--regex",
            "--choices",
            "--index",
            "--ban-words",
            "--model",
            "--chat",
            *_SAMPLING,
        ),
        *_OUTPUT,
    ),
    "ban": (
        *("PROMPT", "--words", "--words-file", "--pattern", "--match", "--normalize", "--allow", "--routes"),
        *("--model", "--chat", *_SAMPLING, *_OUTPUT),
    ),
    "index": (
        *("FILE", "--save", "--regex", "--choices", "--schema", "--pydantic", "--like", "--tools", "--grammar"),
        *("--model", "--tokenizer", "--vocabulary"),
        *("--state", "--path", "--against", "--examples", "--format", "--json", "--quiet"),
    ),
    "check": (
        *("FILE…", "--text", "--regex", "--schema", "--pydantic", "--like", "--tools", "--grammar"),
        *("--template", "--substring-of", "--choices"),
        *("--words", "--words-file", "--pattern", "--match", "--json", "--quiet"),
    ),
    "models": ("FOLDER", "--json"),
    "replay": ("FILE", "--sample", "--slow", "--step", "--svg", "--html", "--at", "--quiet"),
}
"""By command; arguments by the name that the help gives them. What a command does not have is left out."""

_IN_ONE_LINE = {
    "PROMPT": "The text to continue; [bold]-[/] reads stdin.",
    "--allow": "Longer words in which a banned one may stand.",
    "--chat": "Put the prompt into the model's chat template.",
    "--match": "With word, talking passes when talk is banned.",
    "--model": "tiny, uniform, zip:FILE, a directory or a hub id.",
    "--normalize": "See through confusables, accents and the like.",
    "--format": "table, json, jsonl, schema, dot, mermaid or svg.",
    "--input": "Many prompts, as JSON Lines.",
    "--schema": "JSON Schema: a file, JSON, or 'name, age int'.",
    "--pydantic": "The schema of a class; the module's code runs.",
    "--like": "JSON like the records in a file.",
    "--tools": "A call of one of the tools in a file.",
    "--grammar": "A context-free grammar: GBNF, or for Lark.",
    "--template": "Text with holes, as {{name: regex .+}}.",
    "--substring-of": "A text that stands in this file, word for word.",
    "--output": "Where the records of --input go.",
    "--trace": "Keep every step, for [bold]sfgen replay FILE[/].",
    "--text": "A text itself, in place of a file.",
    "--temperature": "0 always takes the likeliest token.",
    "--against": "Compare two patterns, and tell them apart.",
    "--path": "The states that a text walks through.",
    "--routes": "List the tokens that spell the words.",
    "--pattern": "A pattern that must match nowhere in the text.",
    "--words-file": "Banned words, one a line; [bold]-[/] is stdin.",
}
"""Where the first words of the whole meaning do not do."""


def in_one_line(name: str, meaning: str) -> str:
    """Summarize an option in one line.

    Args:
        name: The option.
        meaning: Its whole help.

    >>> in_one_line("--regex", "Python regular expression; the whole text matches it. More.")
    'Python regular expression.'
    """
    known = _IN_ONE_LINE.get(name)
    return known or re.split(r"[.;:](?=\s|$)", " ".join(meaning.split()))[0] + "."
