"""The command reference as Markdown, from the commands themselves.

An option that means the same in several commands stands once, in a table of options that they share; the section of a
command links to these tables and lists its own options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import typer

from sfgen_cli.app import app
from sfgen_cli.shell.help import ENVIRONMENT


@dataclass(frozen=True)
class _Entry:
    """A parameter of one or several commands.

    Attributes:
        parameters: The parameter of each command, by the name of the command.
    """

    parameters: dict[str, Any]

    @property
    def first(self) -> Any:
        return next(iter(self.parameters.values()))

    @property
    def panel(self) -> str:
        """The group of the help in which it stands, without what the help says of the group in brackets."""
        panel = getattr(self.first, "rich_help_panel", None)
        return re.sub(r" \(.*\)", "", panel) if isinstance(panel, str) else "Help"

    @property
    def is_shared(self) -> bool:
        return len(self.parameters) > 1


def command_reference() -> str:
    """Sections of all commands, of the options that they share, and of environment variables."""
    group: Any = typer.main.get_command(app)
    entries = list(_entries(group.commands))
    shared: dict[str, list[_Entry]] = {}
    for entry in entries:
        if entry.is_shared:
            shared.setdefault(entry.panel, []).append(entry)
    parts = [_command(name, command, entries, shared) for name, command in group.commands.items()]
    for panel, options in shared.items():
        parts += [f"### {_title(panel)}", "", *_table(options, with_commands=True), ""]
    parts += ["### Environment", "", "| variable | meaning |", "| --- | --- |"]
    parts += [f"| `{name}` | {_plain(meaning)} |" for name, meaning in ENVIRONMENT.items()]
    return "\n".join(parts)


def _entries(commands: dict[str, Any]) -> Iterator[_Entry]:
    """Each parameter of the commands once: the same name with the same meaning is the same parameter."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, command in commands.items():
        for parameter in command.params:
            if not getattr(parameter, "hidden", False):
                found.setdefault((_longest_name(parameter), _meaning(parameter)), {})[name] = parameter
    return (_Entry(parameters) for parameters in found.values())


def _command(name: str, command: Any, entries: Iterable[_Entry], shared: dict[str, list[_Entry]]) -> str:
    own = [entry for entry in entries if list(entry.parameters) == [name]]
    arguments = [
        _argument(parameter) if parameter.required else f"[{_argument(parameter)}]"
        for parameter in command.params
        if parameter.param_type_name == "argument"
    ]
    links = [
        f"[{panel.lower()}](#{_title(panel).lower().replace(':', '').replace(' ', '-')})"
        for panel, options in shared.items()
        if any(name in option.parameters for option in options)
    ]
    usage = " ".join(["sfgen", name, *arguments, "[OPTIONS]"])
    lines = [f"### `{usage}`", "", _plain(command.help.split("\n\n")[0]), ""]
    lines += [f"Options that it shares with other commands: {', '.join(links)}.", ""]
    return "\n".join([*lines, *_table(own, with_commands=False), ""] if own else lines)


def _title(panel: str) -> str:
    return f"Options: {panel.lower()}"


def _table(entries: Iterable[_Entry], *, with_commands: bool) -> list[str]:
    rows = [["option", *(["commands"] if with_commands else []), "meaning"]]
    rows.append(["---"] * len(rows[0]))
    for entry in entries:
        commands = [", ".join(entry.parameters)] if with_commands else []
        rows.append([_names(entry), *commands, _meaning(entry.first)])
    return [f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in row)} |" for row in rows]


def _names(entry: _Entry) -> str:
    """``-n, --samples N``; a name that not all commands have says which lack it."""
    if entry.first.param_type_name == "argument":
        return f"`{_argument(entry.first)}`"
    names = max(([*each.opts, *each.secondary_opts] for each in entry.parameters.values()), key=len)
    shown = []
    for name in names:
        lacking = [command for command, each in entry.parameters.items() if name not in _all_names(each)]
        shown.append(f"`{name}`" + (f" (not {', '.join(lacking)})" if lacking else ""))
    choices = getattr(entry.first.type, "choices", None) or ()
    value = entry.first.metavar or "|".join(str(getattr(choice, "value", choice)) for choice in choices)
    return f"{', '.join(shown)}{'' if entry.first.is_flag else f' {value}'}".strip()


def _all_names(parameter: Any) -> set[str]:
    return {*parameter.opts, *parameter.secondary_opts}


def _longest_name(parameter: Any) -> str:
    return _argument(parameter) if parameter.param_type_name == "argument" else max(parameter.opts, key=len)


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _meaning(parameter: Any) -> str:
    meaning = _plain(parameter.help or "")
    default = getattr(parameter, "default", None)
    is_option = parameter.param_type_name == "option"
    if is_option and parameter.show_default and not parameter.is_flag and default is not None:
        meaning += f" Default: `{parameter.show_default if isinstance(parameter.show_default, str) else default}`."
    if getattr(parameter, "envvar", None):
        meaning += f" Environment: `{parameter.envvar}`."
    return meaning


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Help text without Rich's markup."""
    return re.sub(r"\[bold\](.*?)\[/\]", r"`\1`", " ".join(text.split())).replace("\\[", "[").replace("\\\\", "\\")
