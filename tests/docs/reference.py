"""Write from the code the command reference of the README and the format of a trace, or check that they are fresh.

Usage: ``python tests/docs/reference.py [--check]``
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import Any

import trace_format
import typer

from sfgen_cli.app import app

README = Path(__file__).parents[2] / "README.md"
BEGIN = "<!-- command reference: written by `make docs`, do not edit -->"
END = "<!-- end of the command reference -->"


def reference() -> str:
    """The reference of all commands as Markdown."""
    group: Any = typer.main.get_command(app)
    parts = [_section(name, command) for name, command in group.commands.items()]
    return "\n".join([BEGIN, "", *parts, END])


def _section(name: str, command: Any) -> str:
    summary = _plain(command.help.split("\n\n")[0])
    arguments = " ".join(f"[{param.human_readable_name.upper()}]" for param in _shown(command, "argument"))
    rows = ["| option | meaning |", "| --- | --- |"]
    for param in [*_shown(command, "argument"), *_shown(command, "option")]:
        rows.append(f"| {_names(param)} | {_meaning(param)} |")
    return "\n".join([f"### `sfgen {name} {arguments} [OPTIONS]`", "", summary, "", *rows, ""])


def _shown(command: Any, kind: str) -> list[Any]:
    return [param for param in command.params if param.param_type_name == kind and not getattr(param, "hidden", False)]


def _names(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{param.human_readable_name.upper()}`"
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    metavar = param.metavar or ""
    return f"{names} {metavar}".strip() if not param.is_flag else names


def _meaning(param: Any) -> str:
    meaning = _plain(param.help or "")
    if param.param_type_name == "option" and param.show_default and not param.is_flag and param.default is not None:
        meaning += f" Default: `{param.default}`."
    if getattr(param, "envvar", None):
        meaning += f" Environment: `{param.envvar}`."
    return meaning.replace("|", "\\|")


def _plain(text: str) -> str:
    """Help text without Rich's markup."""
    return re.sub(r"\[bold\](.*?)\[/\]", r"`\1`", " ".join(text.split())).replace("\\[", "[").replace("\\\\", "\\")


def readme() -> str:
    """The README with the reference of today.

    Raises:
        ValueError: It has no place for it.
    """
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{README.name} has no place for the command reference: {BEGIN} … {END}")
    return before + reference() + after


def main() -> int:
    is_fresh = True
    for path, new in ((README, readme()), (trace_format.FILE, trace_format.trace_format())):
        if "--check" not in sys.argv:
            path.write_text(new, encoding="utf-8")
            continue
        old = path.read_text(encoding="utf-8")
        if new != old:
            is_fresh = False
            sys.stderr.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), path.name, "code"))
            print(f"{path.name} is stale: run make docs", file=sys.stderr)
    return 0 if is_fresh else 1


if __name__ == "__main__":
    sys.exit(main())
