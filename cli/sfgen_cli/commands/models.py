"""``sfgen models``: the models on this machine, and what to type for each."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfgen.errors import SfgenError
from sfgen.printable import on_one_line, size_in_words
from sfgen_cli.shell.output import write, write_json

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
    write(_table([_HEADER, *map(_row, found)]))


def _record(model: FoundModel) -> dict[str, Any]:
    record = {"model": model.name, "kind": model.kind, "source": model.source, "size": model.size}
    return record | {key: said for key, said in (("about", model.about), ("problem", model.problem)) if said}


def _row(model: FoundModel) -> tuple[str, ...]:
    source = "" if model.source in ("sfgen", "file") else model.source
    what = ", ".join(part for part in (model.about, source) if part)
    if model.problem:
        what += f": {model.problem}"
    return model.kind, "" if model.size is None else size_in_words(model.size), what, shlex.quote(model.name)


def _table(rows: list[tuple[str, ...]]) -> str:
    """Columns side by side, the second to the right; the last as long as it is, to be copied."""
    rows = [tuple(on_one_line(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "".join(
        f"{kind:<{widths[0]}}  {size:>{widths[1]}}  {what:<{widths[2]}}  {name}\n" for kind, size, what, name in rows
    )
