"""The help of a command: what it does, examples that can be copied, and its options in groups.

It is laid out here, not by Typer, so that it has no boxes, that the commands in it are never broken into lines, and
that it can be read in a narrow window. ``--help`` shows the most used options, a line for each, ``--help-all`` all of
them in groups.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sfgen_cli.shell.output import stdout_is_a_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from sfgen_cli.shell.typer_internals import Context


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
    "serve": (
        *("--model", "--host", "--port", "--api-key-file", "--no-auth", "--allow-host", "--cors"),
        *("--batch-size", "--max-waiting", "--max-tokens", "--grace", "--quiet"),
    ),
}
"""By command; arguments by the name that the help gives them. What a command does not have is left out."""

_IN_ONE_LINE = {
    "PROMPT": "The text to continue; [bold]-[/] reads stdin.",
    "--allow": "Longer words in which a banned one may stand.",
    "--chat": "Put the prompt into the model's chat template.",
    "--match": "With word, talking passes when talk is banned.",
    "--model": "tiny, uniform, zip:FILE, a directory or a hub id.",
    "--normalize": "See through confusables, accents and the like.",
    "--format": "table, json, jsonl, schema, boxes, dot, svg, …",
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
"""Short meanings of options whose help does not begin with one."""


def in_one_line(name: str, meaning: str) -> str:
    """Summarize an option in one line.

    >>> in_one_line("--regex", "Python regular expression; the whole text matches it. More.")
    'Python regular expression.'
    """
    known = _IN_ONE_LINE.get(name)
    return known or re.split(r"[.;:](?=\s|$)", " ".join(meaning.split()))[0] + "."


ENVIRONMENT = {
    "SFGEN_MODEL": "The model where [bold]--model[/] is not given.",
    "SFGEN_SEED": "The seed where [bold]--seed[/] is not given.",
    "SFGEN_API_KEY": "The key that clients of [bold]sfgen serve[/] must send.",
    "NO_COLOR": "No colours, if it is not empty. [bold]FORCE_COLOR[/]: colours in a pipe too.",
    "SFGEN_DEBUG": "Show where in the code of sfgen an internal error happened.",
}
HELP_ALL = "--help-all"
_WIDEST, _NARROWEST = 100, 24
_TWO_COLUMNS = 60  # from this width on, the meaning of an option stands beside it
_COLUMN = 29
_EXAMPLE_INDENT = "    "
_METAVARS = {"integer": "N", "int": "N", "float": "NUMBER", "path": "FILE", "text": "TEXT", "str": "TEXT"}


def examples(text: str) -> list[tuple[str, list[str]]]:
    r"""List the examples in a help text.

    They are the paragraphs with indented lines, each as its caption and its commands.

    >>> examples("It adds.\n\nTwo numbers:\n    add 1 2\n\nMore is told elsewhere.")
    [('Two numbers:', ['add 1 2'])]
    """
    return [_example(paragraph) for paragraph in text.split("\n\n") if _is_example(paragraph)]


def paragraphs(docstring: str) -> str:
    """Convert a docstring to a help text, a paragraph on each line.

    The examples keep their lines.
    """
    return "\n\n".join(
        paragraph if _is_example(paragraph) else " ".join(paragraph.splitlines())
        for paragraph in docstring.split("\n\n")
    )


def in_colour() -> bool:
    """Return whether text for stdout is coloured.

    The conventions of NO_COLOR, FORCE_COLOR and TERM decide.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stdout_is_a_terminal()


def page(command: Any, ctx: Context, *, whole: bool) -> str:
    """Write the help of a command, or of all commands."""
    import io

    from rich.console import Console

    colour = in_colour()
    console = Console(
        file=io.StringIO(),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        width=max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)),
        highlight=False,
        legacy_windows=False,
    )
    lines = [line for section in _sections(command, ctx, console, whole=whole) for line in [*section, None]]
    for line in lines[:-1]:
        # A command stays on one line however long it is: a terminal folds it, and it can still be copied.
        console.print("" if line is None else line, soft_wrap=True)
    file: Any = console.file
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _sections(command: Any, ctx: Context, console: Console, *, whole: bool) -> Iterator[list[Text]]:
    from rich.text import Text

    usage = f"{ctx.command_path} [OPTIONS] " + " ".join(_usage_pieces(command, ctx))
    yield _wrapped(Text.assemble(("Usage: ", "bold"), usage.strip()), console, hang=4)
    shown = [part for part in (command.help or "").split("\n\n") if part]
    prose = [part for part in shown if not _is_example(part)]
    for part in prose[:1]:
        yield _wrapped(Text.from_markup(part), console)
    if found := examples(command.help or ""):
        lines = _heading("Examples", console)
        for caption, commands in found:
            lines += _wrapped(Text.from_markup(caption), console, indent=2)
            lines += [Text("    " + line, style="cyan") for line in commands]
        yield lines
    is_short = not whole and command.name in MOST_USED
    for part in [] if is_short else prose[1:]:
        yield _wrapped(Text.from_markup(part), console)
    yield from _commands(command, ctx, console)
    yield from [_most_used(command, ctx, console)] if is_short else _parameters(command, ctx, console)
    if hasattr(command, "commands"):
        rows = [(Text(name, style="cyan"), Text.from_markup(meaning)) for name, meaning in ENVIRONMENT.items()]
        yield [*_heading("Environment", console), *_table(rows, console)]
        yield _wrapped(Text.from_markup("The help of a command: [bold]sfgen gen --help[/]"), console)


def _usage_pieces(command: Any, ctx: Context) -> Iterator[str]:
    if hasattr(command, "commands"):
        yield "COMMAND …"
    for param in command.params:
        if param.param_type_name == "argument":
            name = _argument(param)
            yield name if param.required else f"[{name}]"


def _commands(command: Any, ctx: Context, console: Console) -> Iterator[list[Text]]:
    from rich.text import Text

    groups: dict[str, list[tuple[Text, Text]]] = {}
    for name, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            summary = Text.from_markup((each.help or "").split("\n\n")[0])
            panel = getattr(each, "rich_help_panel", None)
            groups.setdefault(panel if isinstance(panel, str) else "Commands", []).append((Text(name, "cyan"), summary))
    for title, rows in groups.items():
        yield [*_heading(title, console), *_table(rows, console, column=10)]


def _parameters(command: Any, ctx: Context, console: Console) -> Iterator[list[Text]]:
    """The arguments and options, group by group in the order in which they are declared; those without one last."""
    groups: dict[str, list[tuple[Text, Text]]] = {}
    for param in command.get_params(ctx):
        if not getattr(param, "hidden", False):
            panel = getattr(param, "rich_help_panel", None)
            default = "Arguments" if param.param_type_name == "argument" else "Options"
            groups.setdefault(panel or default, []).append((_names(param, ctx), _meaning(param, ctx)))
    if (others := groups.pop("Options", None)) is not None:
        groups["Options"] = others
    for title, rows in groups.items():
        yield [*_heading(title, console), *_table(rows, console)]


def _most_used(command: Any, ctx: Context, console: Console) -> list[Text]:
    """The arguments and options that are used most, in the order of their list, a line for each."""
    from rich.text import Text

    params = {name_of(param): param for param in command.get_params(ctx) if not getattr(param, "hidden", False)}
    rows = []
    for name in (*MOST_USED[command.name], HELP_ALL, "--help"):
        if (param := params.get(name)) is not None:
            meaning = Text.from_markup(in_one_line(name, param.help or ""))
            default = param.get_default(ctx, call=False)
            if getattr(param, "show_default", False) and default is not None and not getattr(param, "is_flag", False):
                meaning.append(f" (default: {default})", style="dim")
            rows.append((_names(param, ctx), meaning))
    return [*_heading("Options used most", console), *_table(rows, console)]


def name_of(param: Any) -> str:
    """Return the long name of an argument or an option."""
    if param.param_type_name == "argument":
        return _argument(param)
    return str(next((name for name in param.opts if name.startswith("--")), param.opts[0]))


def _names(param: Any, ctx: Context) -> Text:
    """``-n, --samples N``."""
    from rich.text import Text

    if param.param_type_name == "argument":
        return Text(_argument(param), style="green")
    short = [name for name in param.opts if not name.startswith("--")]
    long = [name for name in param.opts if name.startswith("--")]
    long = [name for name in long if f"--{name.removeprefix('--ban-')}" not in long]  # --ban-words beside --words
    text = Text(", ".join([*short, *long]) if short else "    " + ", ".join(long), style="cyan")
    for name in param.secondary_opts:
        text.append(f", {name}")
    if not param.is_flag:
        text.append(f" {_metavar(param, ctx)}", style="not bold green")
    return text


def _argument(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _metavar(param: Any, ctx: Context) -> str:
    choices = getattr(param.type, "choices", None)
    if param.metavar:
        return str(param.metavar)
    if choices:
        return "|".join(str(getattr(choice, "value", choice)) for choice in choices)
    name = re.sub(r"( range)?>?$", "", param.type.name.lstrip("<"))
    return _METAVARS.get(name, name.upper())


def _meaning(param: Any, ctx: Context) -> Text:
    """The help of a parameter, with its default, its smallest value and its environment variable."""
    from rich.text import Text

    text = Text.from_markup(" ".join((param.help or "").split()))
    more = []
    if (smallest := getattr(param.type, "min", None)) is not None and smallest > 0:
        more.append(f"at least {smallest}")
    default = param.get_default(ctx, call=False)
    if getattr(param, "show_default", False) and default is not None and not getattr(param, "is_flag", False):
        more.append(f"default: {default}")
    if variable := getattr(param, "envvar", None):
        more.append(f"environment: {variable}")
    if more:
        text.append(f" ({'; '.join(more)})", style="dim")
    return text


def _table(rows: list[tuple[Text, Text]], console: Console, *, column: int = _COLUMN) -> list[Text]:
    """Names and meanings: side by side, or one under the other where there is little room."""
    from rich.text import Text

    side_by_side = console.width >= _TWO_COLUMNS or column < _COLUMN
    start = column if side_by_side else 8
    lines = []
    for names, meaning in rows:
        left = Text.assemble("  ", names)
        body = meaning.wrap(console, console.width - start)
        for line in body:
            line.rstrip()
        if side_by_side and left.cell_len + 2 <= start and body:
            first = left.copy()
            first.append(" " * (start - left.cell_len))
            first.append_text(body[0])
            lines += [first, *(Text.assemble(" " * start, line) for line in body[1:])]
        else:
            lines += [*_folded(left, console, start), *(Text.assemble(" " * start, line) for line in body)]
    return lines


def _folded(names: Text, console: Console, start: int) -> list[Text]:
    """A long list of values goes on in the next line after a bar."""
    from rich.text import Text

    if names.cell_len <= console.width:
        return [names]
    lines, line = [], Text()
    for piece in names.split("|", include_separator=True):
        if line and line.cell_len + piece.cell_len > console.width:
            lines.append(line)
            line = Text(" " * start)
        line.append_text(piece)
    return [*lines, line]


def _wrapped(text: Text, console: Console, *, indent: int = 0, hang: int = 0) -> list[Text]:
    from rich.text import Text

    lines = text.wrap(console, console.width - indent - hang)
    return [Text.assemble(" " * (indent + (hang if number else 0)), line) for number, line in enumerate(lines)]


def _heading(title: str, console: Console) -> list[Text]:
    from rich.text import Text

    return _wrapped(Text(title, style="bold"), console)


def _is_example(paragraph: str) -> bool:
    return any(line.startswith(_EXAMPLE_INDENT) for line in paragraph.splitlines())


def _example(paragraph: str) -> tuple[str, list[str]]:
    lines = paragraph.splitlines()
    caption = " ".join(line for line in lines if not line.startswith(_EXAMPLE_INDENT))
    return caption, [line.removeprefix(_EXAMPLE_INDENT) for line in lines if line.startswith(_EXAMPLE_INDENT)]
