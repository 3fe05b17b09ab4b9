"""``sfgen models``: the models on this machine, and what to type for each."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfgen.errors import SfgenError
from sfgen.printable import on_one_line, size_in_words
from sfgen_cli.shell.output import stdout_is_a_terminal, write, write_json

if TYPE_CHECKING:
    from sfgen.models.inventory import FoundModel

_HEADER = ("kind", "size", "what", "--model")


def models(
    folder: Annotated[
        Path,
        typer.Argument(help="Where to look for directories and files of models, one level down.", show_default=False),
    ] = Path(),
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object about each model.")] = False,
) -> None:
    """List the models on this machine, with what to type for each.

    Those that come with sfgen, and those that lie around:
        sfgen models

    Those in another folder:
        sfgen models ..

    A JSON object for each:
        sfgen models --json

    It looks at the current folder, or FOLDER, and the folders in it, at the cache of the Hugging Face hub
    (HF_HUB_CACHE, HF_HOME), and at what Ollama has downloaded (OLLAMA_MODELS). A model in the cache has its name on the
    hub, any other its path. Sizes are those of the weights. Nothing is loaded, and the hub is not asked.
    """
    from sfgen.models.inventory import built_in_models, models_here

    if not folder.is_dir():
        raise SfgenError(f"no folder {folder}", hint="The one model of a name is looked for by gen --model NAME.")
    found = [*built_in_models(), *models_here(folder)]
    if as_json:
        for model in found:
            write_json(_record(model))
        return
    rows = [_row(model) for model in found]
    table, columns = _table([_HEADER, *rows]), shutil.get_terminal_size().columns
    is_too_wide = stdout_is_a_terminal() and max(map(len, table.splitlines())) > columns
    write(_list(rows, columns) if is_too_wide else table)


def _record(model: FoundModel) -> dict[str, Any]:
    record = {"model": model.name, "kind": model.kind, "source": model.source, "size": model.size}
    return record | {key: said for key, said in (("about", model.about), ("problem", model.problem)) if said}


def _row(model: FoundModel) -> tuple[str, ...]:
    source = "" if model.source in ("sfgen", "file") else model.source
    known = ", ".join(part for part in (model.about, source) if part)
    what = ": ".join(part for part in (known, model.problem) if part)
    cells = model.kind, "" if model.size is None else size_in_words(model.size), what, shlex.quote(model.name)
    return tuple(map(on_one_line, cells))


def _table(rows: list[tuple[str, ...]]) -> str:
    """Columns side by side, the second to the right; the last as long as it is, to be copied."""
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "".join(
        f"{kind:<{widths[0]}}  {size:>{widths[1]}}  {what:<{widths[2]}}  {name}\n" for kind, size, what, name in rows
    )


def _list(rows: list[tuple[str, ...]], columns: int) -> str:
    """Each name on a line of its own, and below it what the other columns would say."""
    told = [(name, ", ".join(cell for cell in cells if cell)) for *cells, name in rows]
    indent = " " * 4
    return "".join(
        f"{name}\n{textwrap.fill(what, max(columns, 20), initial_indent=indent, subsequent_indent=indent)}\n"
        for name, what in told
    )
