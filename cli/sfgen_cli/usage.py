"""What is said about a command line that cannot be read: what was wrong, and what was perhaps meant."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

# Typer carries its own copy of click, whose exceptions are not those of the package click.
from typer._click.exceptions import NoSuchOption, UsageError

_LONGEST_QUOTED = 60
_WORDS = {
    "a valid int range": "a whole number",
    "a valid int": "a whole number",
    "a valid float range": "a number",
    "a valid float": "a number",
}


def what_was_wrong(error: UsageError) -> str:
    """One line that names the mistake."""
    # format_message() names the option at fault; for an unknown one it lists guesses, which the hint does.
    message = error.message if isinstance(error, NoSuchOption) else error.format_message()
    for typer_says, plain in _WORDS.items():
        message = message.replace(f"is not {typer_says}.", f"is not {plain}.")
    return re.sub(r"is not in the range x>=(\d+)\.$", r"is less than \1.", message)


def what_was_meant(error: UsageError, commands: dict[str, Any], arguments: Sequence[str]) -> str:
    """One line that helps.

    Args:
        error: What Typer found.
        commands: All commands by their names.
        arguments: The command line.
    """
    name = next((argument for argument in arguments if argument in commands), "")
    path = error.ctx.command_path if error.ctx else f"sfgen {name}".strip()
    more = f"See: {path} --help"
    if (meant := _quotes_forgotten(error, path)) or (meant := _meant(error, commands, arguments, path)):
        return f"{meant} {more}" if meant.endswith(("?", ".")) else meant
    return more


def quoted(prompt: str, *, instead: str = "PROMPT") -> str:
    """A prompt as a shell wants it, or a word for one that is too long or too odd to be shown."""
    return shlex.quote(prompt) if len(prompt) <= _LONGEST_QUOTED and prompt.isprintable() else instead


def one_of(names: Sequence[str]) -> str:
    """Names as a question lists them.

    >>> one_of(["--top-k", "--top-p", "--min-p"])
    '--top-k, --top-p or --min-p'
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _meant(error: UsageError, commands: dict[str, Any], arguments: Sequence[str], path: str) -> str:
    prompt = _prompt_taken_for_an_option(error, arguments) if path in ("sfgen gen", "sfgen ban") else ""
    if isinstance(error, NoSuchOption) and " " not in prompt and (option := _option_meant(error, commands)):
        return option
    if prompt:
        return f"If it is the prompt, put -- before it: {path} … -- {quoted(prompt)}"
    if error.message.startswith("No such command "):
        return _command_meant(next(argument for argument in arguments if not argument.startswith("-")), commands)
    if found := re.match(r"'(.*)' is not one of ", error.message, re.DOTALL):
        choices = getattr(getattr(getattr(error, "param", None), "type", None), "choices", ())
        if near := _near(found[1].casefold(), [str(getattr(choice, "value", choice)) for choice in choices]):
            return f"Did you mean {one_of(near)}?"
    return ""


def _quotes_forgotten(error: UsageError, path: str) -> str:
    if path in ("sfgen gen", "sfgen ban") and error.message.startswith("Got unexpected extra argument"):
        return f"A prompt of several words needs quotes: {path} 'Can we talk?'"
    return ""


def _option_meant(error: NoSuchOption, commands: dict[str, Any]) -> str:
    """The option that was perhaps meant, and the commands that have the one that was written."""
    name = error.option_name
    has = [command for command, each in commands.items() if name in _options(each)]
    if error.ctx is not None and error.ctx.parent is None and has:
        return f"Name a command first: sfgen {has[0]} {name} …"
    near = _near(name, _options(error.ctx.command) if error.ctx else error.possibilities or ())
    parts = [f"Did you mean {one_of(near)}?"] if near else []
    if has:
        parts.append(f"{name} is an option of {one_of([f'sfgen {command}' for command in has])}.")
    return " ".join(parts)


def _options(command: Any) -> list[str]:
    return [
        name
        for param in command.params
        if param.param_type_name == "option" and not param.hidden
        for name in [*param.opts, *param.secondary_opts]
    ]


def _command_meant(typed: str, commands: dict[str, Any]) -> str:
    if near := _near(typed, commands) or [name for name in commands if typed.startswith(name)]:
        return f"Did you mean {one_of([f'sfgen {name}' for name in near])}?"
    if re.search(r"\s|[^\x00-\x7f]", typed):
        return f"If it is a prompt: sfgen gen {quoted(typed)}"
    return ""


def _near(typed: str, known: Iterable[str]) -> list[str]:
    """What was perhaps meant: what begins so, if that is not much, else the most similar name."""
    names = {name.lstrip("-"): name for name in known}  # two dashes that all have would make all alike
    bare = typed.lstrip("-")
    begin = [name for name in names.values() if len(bare) > 1 and name.startswith(typed)]
    return begin if 0 < len(begin) <= 3 else [names[near] for near in difflib.get_close_matches(bare, names, n=1)]


def _prompt_taken_for_an_option(error: UsageError, arguments: Sequence[str]) -> str:
    """The argument that was perhaps meant as the prompt although it begins with ``-``; empty if there is none."""
    unknown = isinstance(error, NoSuchOption)
    names = (
        [error.option_name] if isinstance(error, NoSuchOption) else getattr(getattr(error, "param", None), "opts", [])
    )
    for argument in arguments:
        if not argument.startswith("-"):
            continue
        # Of short options that were glued together, the error names one.
        glued = unknown and not argument.startswith("--") and names[0].lstrip("-") in argument
        if (glued or argument.startswith(tuple(names))) and (unknown or re.match(r"[^=]*\s", argument)):
            return argument
    return ""
