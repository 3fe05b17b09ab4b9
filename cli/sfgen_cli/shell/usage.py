"""Messages about wrong command lines: the mistake, a suggestion, and options in place of parameters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sfgen.errors import ForeignOutput, GraphvizMissing, IndexNotFound, OtherVocabulary, SfgenError, UnusableIndex
from sfgen.parameter_text import ParameterText
from sfgen_cli.shell.typer_internals import NoSuchOption, ParameterSource, UsageError

_LONGEST_QUOTED = 60
_PREFIX = "ban-"  # of the options of a ban in gen
SAME_MEANING = {
    "--max-new-tokens": "--max-tokens",
    "--max-length": "--max-tokens",
    "--n-predict": "--max-tokens",
    "--num-return-sequences": "--samples",
    "--verbose": "--live",
}
"""The names here of other programs' options."""

_TAKES_PROMPT = ("sfgen gen", "sfgen ban")

_WORDS = {
    "a valid int range": "a whole number",
    "a valid int": "a whole number",
    "a valid float range": "a number",
    "a valid float": "a number",
}


def what_was_wrong(error: UsageError) -> str:
    """Name the mistake in one line."""
    # format_message() names the option at fault; for an unknown one it lists guesses, which the hint does.
    message = error.message if isinstance(error, NoSuchOption) else error.format_message()
    param: Any = getattr(error, "param", None)
    if error.ctx and param and error.ctx.get_parameter_source(param.name) is not ParameterSource.ENVIRONMENT:
        message = message.replace(f" (env var: '{param.envvar}')", "")
    for typer_says, plain in _WORDS.items():
        message = message.replace(f"is not {typer_says}.", f"is not {plain}.")
    return re.sub(r"is not in the range x>=(\d+)\.$", r"is less than \1.", message)


def what_was_meant(error: UsageError, commands: dict[str, Any], arguments: Sequence[str]) -> str:
    """Suggest in one line what was meant."""
    name = next((argument for argument in arguments if argument in commands), "")
    path = error.ctx.command_path if error.ctx else f"sfgen {name}".strip()
    more = f"See: {path} --help"
    if (meant := _quotes_forgotten(error, path)) or (meant := _meant(error, commands, arguments, path)):
        return f"{meant} {more}" if meant.endswith(("?", ".")) else meant
    return more


def quoted(prompt: str, *, instead: str = "PROMPT") -> str:
    """Quote a prompt for a shell, if it is short and printable."""
    return shlex.quote(prompt) if len(prompt) <= _LONGEST_QUOTED and prompt.isprintable() else instead


def one_of(names: Sequence[str]) -> str:
    """Join names as a question lists them.

    >>> one_of(["--top-k", "--top-p", "--min-p"])
    '--top-k, --top-p or --min-p'
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _meant(error: UsageError, commands: dict[str, Any], arguments: Sequence[str], path: str) -> str:
    if isinstance(error, NoSuchOption) and error.option_name == "--prompt" and path in _TAKES_PROMPT:
        return f"The prompt stands by itself: {path} … 'Can we talk?'"
    if isinstance(error, NoSuchOption) and (option := _option_meant(error, commands, arguments)):
        return option
    prompt = _prompt_taken_for_an_option(error, arguments) if path in _TAKES_PROMPT else ""
    if prompt:
        return f"If it is the prompt, put -- before it: {path} … -- {quoted(prompt)}"
    if error.message.startswith("No such command "):
        typed = next(argument for argument in arguments if not argument.startswith("-") and argument != "help")
        return _command_meant(typed, commands)
    if found := re.match(r"'(.*)' is not one of ", error.message, re.DOTALL):
        choices = getattr(getattr(getattr(error, "param", None), "type", None), "choices", ())
        if near := near_names(found[1].casefold(), [str(getattr(choice, "value", choice)) for choice in choices]):
            return f"Did you mean {one_of(near)}?"
    return ""


def _quotes_forgotten(error: UsageError, path: str) -> str:
    if path in _TAKES_PROMPT and error.message.startswith("Got unexpected extra argument"):
        return f"A prompt of several words needs quotes: {path} 'Can we talk?'"
    return ""


def _option_meant(error: NoSuchOption, commands: dict[str, Any], arguments: Sequence[str]) -> str:
    """The option that was perhaps meant: of this command, or of another, which is then named."""
    written = next((argument for argument in arguments if argument.startswith(error.option_name)), error.option_name)
    own = options_of(error.ctx.command) if error.ctx else {}
    if not error.option_name.startswith("--"):
        meant = one_dash_too_few(error.option_name, own) or one_dash_too_few(written, own)
        return f"Did you mean {meant}?" if meant else ""
    if " " in written.partition("=")[0]:  # a text
        return ""
    name = error.option_name
    others = {
        command: options_of(each)
        for command, each in commands.items()
        if error.ctx is None or each is not error.ctx.command
    }
    has = [command for command, options in others.items() if name in options]
    is_of_sfgen = error.ctx is not None and error.ctx.parent is None
    if has and is_of_sfgen:
        return f"Name a command first: sfgen {has[0]} {name} …"
    if has:
        return _of_a_sibling(name, has, own, error)
    if name == "--version":
        return "It is an option of sfgen itself: sfgen --version"
    if (meant := SAME_MEANING.get(name, "")) in own:
        return f"Did you mean {meant}?"
    takes_value = _takes_value(written, arguments)
    if near := near_names(name, _of_kind(own, takes_value)):
        return f"Did you mean {one_of(near)}?"
    for command, options in others.items():
        if not is_of_sfgen and (near := near_names(name, _of_kind(options, takes_value))):
            return f"Did you mean {near[0]}? {_of_a_sibling(near[0], [command], own, error)}"
    return ""


def one_dash_too_few(argument: str, options: Container[str]) -> str:
    """Return the long option that was written with one dash.

    It is empty if the argument is something else.

    >>> one_dash_too_few("-regex=a", ["--regex", "-r"]), one_dash_too_few("-r", ["--regex", "-r"])
    ('--regex', '')
    """
    name = f"-{argument.partition('=')[0]}"
    return name if len(name) > 3 and name in options else ""


def _of_a_sibling(name: str, has: Sequence[str], own: Mapping[str, bool], error: NoSuchOption) -> str:
    said = f"{name} is an option of {one_of([f'sfgen {command}' for command in has])}"
    here = f"--{_PREFIX}{name.removeprefix('--')}"
    if here in own and error.ctx is not None:
        return f"{said}; in {error.ctx.info_name} it is {here}."
    return f"{said}."


def options_of(command: Any) -> dict[str, bool]:
    """Return a command's options, and whether each takes a value."""
    return {
        name: not (param.is_flag or param.count)
        for param in command.params
        if param.param_type_name == "option" and not param.hidden
        for name in [*param.opts, *param.secondary_opts]
    }


def _of_kind(options: Mapping[str, bool], takes_value: bool | None) -> list[str]:
    return [name for name, takes in options.items() if takes_value in (None, takes)]


def _takes_value(written: str, arguments: Sequence[str]) -> bool | None:
    """Whether an unknown option was given a value; ``None`` if that is not clear: a prompt may follow it."""
    if "=" in written:
        return True
    following = [*arguments, "--"][[*arguments, written].index(written) + 1 :][:1]
    return None if following and not re.match(r"-[^0-9.]", following[0]) else False


def _command_meant(typed: str, commands: dict[str, Any]) -> str:
    if near := near_names(typed, commands) or [name for name in commands if typed.startswith(name)]:
        return f"Did you mean {one_of([f'sfgen {name}' for name in near])}?"
    if re.search(r"\s|[^\x00-\x7f]", typed):
        return f"If it is a prompt: sfgen gen {quoted(typed)}"
    return ""


def near_names(typed: str, known: Iterable[str]) -> list[str]:
    """Find the names that were perhaps meant.

    These are the few that begin so, else those that are a slip or two of the fingers away.

    >>> near_names("--versoin", ["--version", "--verse"]), near_names("--system", ["--step"])
    (['--version'], [])
    """
    names = {name.lstrip("-"): name for name in known}  # two dashes that all have would make all alike
    bare = typed.lstrip("-").replace("_", "-")
    begin = [name for short, name in names.items() if len(bare) > 1 and short.startswith(bare)]
    if 0 < len(begin) <= 3:
        return begin
    most = 1 if len(bare) < 6 else 2 if len(bare) < 12 else 3
    slips = {name: _slips(bare, short) for short, name in names.items() if abs(len(bare) - len(short)) <= most}
    fewest = min(slips.values(), default=most + 1)
    return [name for name, count in slips.items() if count == fewest <= most][:3]


def _slips(typed: str, meant: str) -> int:
    """Count the letters left out, put in, changed or swapped with the next (Damerau 1964, Wagner and Fischer 1974).

    >>> _slips("versoin", "version"), _slips("step", "system"), _slips("", "no")
    (1, 3, 2)
    """
    before: list[int] = []
    last = list(range(len(meant) + 1))
    for row, letter in enumerate(typed, 1):
        now = [row]
        for column, other in enumerate(meant, 1):
            now.append(min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != other)))
            if row > 1 and column > 1 and (letter, typed[row - 2]) == (meant[column - 2], other):
                now[-1] = min(now[-1], before[column - 2] + 1)
        before, last = last, now
    return last[-1]


def _prompt_taken_for_an_option(error: UsageError, arguments: Sequence[str]) -> str:
    """The argument that was perhaps meant as the prompt although it begins with ``-``; empty if there is none."""
    unknown = isinstance(error, NoSuchOption)
    names = (
        [error.option_name] if isinstance(error, NoSuchOption) else getattr(getattr(error, "param", None), "opts", [])
    )
    for argument in arguments:
        if not argument.startswith("-") or re.fullmatch(r"--[a-z][a-z0-9_-]*(=.*)?", argument, re.DOTALL):
            continue
        # Of short options that were glued together, the error names one.
        glued = unknown and not argument.startswith("--") and names[0].lstrip("-") in argument
        if (glued or argument.startswith(tuple(names))) and (unknown or re.match(r"[^=]*\s", argument)):
            return argument
    return ""


_OTHER_NAMES = {
    "models_here()": "sfgen models",
    "name": "--model",
    "documents": "--document NAME=FILE",
    "in_text": "--when",
    "order": "--property-order",
    "plain": "--lines",
    "replace": "--force",
    "to_dot()": "--format dot",
    "Vocabulary.from_file": "--vocabulary FILE",
}
"""The options whose names differ from those of their parameters."""

_VALUE = r"""(?:True|(False)|('[^'\\]*'|"[^"\\]*")|([A-Z]+))"""
"""The value behind a parameter: on or off, a text as Python writes it, or a placeholder."""

_SAVES = {
    "index": "sfgen index --save --force",
    "schema": "sfgen index --schema S --save --force",
    "grammar": "sfgen index --grammar G --save --force",
    "template": "sfgen index --template T --save --force",
    "substring": "sfgen index --substring-of FILE --save --force",
}
"""The command that makes a saved index of each kind again."""


def told(error: SfgenError) -> tuple[str, list[str]]:
    """Return the message of an error, and the lines that help.

    >>> told(UnusableIndex("dates", "is cut off: its header is not whole"))[1]
    ['Make the index again with: sfgen index --save --force']
    """
    return in_options(error.message), [*error.details, hint(error)]


def hint(error: SfgenError) -> str:
    """Tell what to do about an error; empty where nothing helps."""
    match error:
        case IndexNotFound():
            return "Make one with: sfgen index --regex P --save"
        case GraphvizMissing():
            pipe = "sfgen index --regex P --format dot | dot -Tsvg > index.svg"
            return f"Install Graphviz, draw it where there is one: {pipe}; or draw less with --max-states N"
        case ForeignOutput():
            return "Name another --output, or give the --input and the options that the file was begun with."
        case OtherVocabulary(kind=kind):
            return f"Use the model that the {kind} was made for, or make the {kind} again with: {_SAVES[kind]}"
        case UnusableIndex(kind=kind):
            return f"Make the {kind} again with: {_SAVES[kind]}"
    return in_options(error.hint)


@contextmanager
def worded() -> Iterator[None]:
    """Word the errors inside for the command line.

    What records them gets these words.
    """
    try:
        yield
    except SfgenError as error:
        error.message, error.hint = in_options(error.message), hint(error)
        raise


def in_options(text: str) -> str:
    """Replace the library's parameters in a text by options.

    A text that names none stays as it is.

    >>> in_options(ParameterText("Use dtype='bfloat16', or force=True, or heal=False.", "dtype", "force", "heal"))
    'Use --dtype bfloat16, or --force, or --no-heal.'
    """
    if not isinstance(text, ParameterText):
        return text
    names = "|".join(re.sub("=$", "(?==)", re.escape(name)) for name in text.parameters)
    return re.sub(rf"(?<![\w.])({names})(?:={_VALUE})?(?!\w)", _option, text)


def _option(found: re.Match[str]) -> str:
    name, is_off, text, placeholder = found.groups()
    if is_off:
        return f"--no-{name.replace('_', '-')}"
    option = _OTHER_NAMES.get(name, f"--{name.replace('_', '-')}")
    value = placeholder if text is None else shlex.quote(text[1:-1])
    return option if value is None else f"{option} {value}"
