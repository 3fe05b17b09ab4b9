"""The documents hold together: links lead somewhere, and commands that no test can run have options that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import typer
from document_examples import commands_not_run
from document_links import anchors, links
from documents import DOCUMENTS, ROOT, name_of

from sfgen_cli.app import app

NOT_RUN = [(document, call) for document in DOCUMENTS for call in commands_not_run(document.read_text("utf-8"))]


def broken_links(document: Path, root: Path = ROOT) -> list[str]:
    """The links to other files and to headings that lead nowhere, or out of the repository."""
    found = links(document.read_text("utf-8"))
    return [link for link in found if "://" not in link and not _leads(link, document, root)]


def _leads(link: str, document: Path, root: Path) -> bool:
    path, _, anchor = unquote(link).partition("#")
    target = (document.parent / path).resolve() if path else document
    if not target.exists() or not target.is_relative_to(root):
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text("utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    assert broken_links(document) == []


def test_there_are_links_to_look_at() -> None:
    found = {link for document in DOCUMENTS for link in links(document.read_text("utf-8"))}
    assert any(link.endswith(".svg") for link in found)
    assert any(".md#" in link for link in found)
    assert any(link.startswith("#") for link in found)


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Here\n`[no link](nowhere.md)`\n")
    document = tmp_path / "a.md"
    document.write_text(
        "# One\n# One\n[a](other.md#here) [b](other.md#there) ![c](gone.svg) [d](#one-1) [e](#one-2)\n"
        "| [f](gone.md) | [g](../above.md) |\n| --- | --- |\n| [h](other.md) | [i](https://example.org) |\n"
    )
    assert broken_links(document, tmp_path) == ["other.md#there", "gone.svg", "#one-2", "gone.md", "../above.md"]


@pytest.mark.parametrize(("document", "call"), NOT_RUN, ids=[" ".join(call)[:60] for _, call in NOT_RUN])
def test_commands_that_are_not_run_can_be_read(document: Path, call: list[str]) -> None:
    group: Any = typer.main.get_command(app)
    _, name, *arguments = call
    assert name in group.commands
    context = group.commands[name].make_context(name, list(arguments))
    assert context.params
