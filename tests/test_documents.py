"""The documents hold together: links lead somewhere, and commands that no test can run have options that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import typer
from tests.support.sources.documents import DOCUMENTS, ROOT, anchors, commands_not_run, links, name_of
from tests.support.sources.imports import APART, imports, modules, package_of

from sfgen_cli.app import app

NOT_RUN = [(document, call) for document in DOCUMENTS for call in commands_not_run(document.read_text("utf-8"))]
READ_IN_FIVE_MINUTES = 1500  # words
MOST_ROWS = 10
LONGEST_GUIDE = 220  # lines
GUIDES = ROOT / "cli" / "guides"
ARCHITECTURE = (ROOT / "core" / "ARCHITECTURE.md").read_text("utf-8")


def named_files(text: str) -> list[str]:
    """The paths that a text names, from the repository or from one of the two folders of sources on."""
    return sorted(set(re.findall(r"`((?:sfgen|sfgen_cli|cli|tests|core|\.ci|\.github)/[\w/.-]+)`", text)))


def table(text: str, last_head: str) -> list[list[str]]:
    """The cells of each row of the table whose last column has this head."""
    rows = text.partition(f"| {last_head} |\n")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[1:]]


SIX_ROOMS, BESIDE = (
    [re.findall(r"`(\w+)`", row[1]) for row in table(ARCHITECTURE, head)] for head in ("begin to read at", "what for")
)
"""The packages of each room of the architecture, from the first on, and of what stands beside them."""


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


def longest_table(text: str) -> int:
    """The rows of the longest table, without its head."""
    tables = re.findall(r"^\|[ :|-]+\|\n((?:\|.*\n)*)", text, re.MULTILINE)
    return max((rows.count("\n") for rows in tables), default=0)


def test_the_first_page_is_short() -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    assert len(page.split()) <= READ_IN_FIVE_MINUTES
    assert 1 < longest_table(page) <= MOST_ROWS


def test_the_rows_of_a_table_are_counted() -> None:
    assert longest_table("a\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n| 3 | |\n\n| c |\n| --- |\n| 4 |\n") == 2


def guides_not_met(folder: Path) -> list[str]:
    """The guides of a folder that its index does not name once, that do not lead back to it, or that are too long."""
    index = [link for link in links((folder / "README.md").read_text("utf-8")) if "/" not in link and "#" not in link]
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("*.md") if path.name != "README.md"}
    return [
        *(f"{name} is not in the index once" for name in sorted({*index, *texts}) if index.count(name) != 1),
        *(f"{name} has no way back" for name, text in texts.items() if "README.md" not in links(text)),
        *(f"{name} is too long" for name, text in texts.items() if len(text.splitlines()) > LONGEST_GUIDE),
    ]


def test_each_guide_is_in_the_index_and_short() -> None:
    assert guides_not_met(GUIDES) == []
    assert {*GUIDES.glob("*.md")} <= {*DOCUMENTS}


def test_a_guide_that_cannot_be_found_is_told(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("[a](a.md) [c](c.md) [c](c.md) [reference](../README.md#all)\n")
    (tmp_path / "a.md").write_text("[Guides](README.md)\n" + "\n" * LONGEST_GUIDE)
    (tmp_path / "b.md").write_text("[Guides](README.md)\n")
    (tmp_path / "c.md").write_text("[a](a.md)\n")
    assert guides_not_met(tmp_path) == [
        "b.md is not in the index once",
        "c.md is not in the index once",
        "c.md has no way back",
        "a.md is too long",
    ]


def test_the_reference_has_each_option_of_each_command_once() -> None:
    _, reference = (ROOT / "cli" / "README.md").read_text("utf-8").split("## Command reference\n")
    assert len(set(_rows(reference))) == len(_rows(reference))
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        own = _rows(reference.partition(f"### `sfgen {name} ")[2].partition("\n### ")[0])
        shared = [row for row in _rows(reference) if len(row) == 3 and name in row[1].split(", ")]
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                found = [row for row in [*own, *shared] if f"`{max(parameter.opts, key=len)}`" in row[0]]
                assert len(found) == 1, (name, parameter.opts)


def _rows(text: str) -> list[tuple[str, ...]]:
    """The cells of each row of the tables about options."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]


def test_the_graph_of_imports_is_that_of_the_sources() -> None:
    drawn = set(re.findall(r"^  (\w+) --> (\w+)$", ARCHITECTURE, re.MULTILINE))
    packages = {package for edge in drawn for package in edge}
    made = {
        (package_of(module), package_of(target))
        for module, targets in imports(modules()).items()
        for target in targets
        if {package_of(module), package_of(target)} <= packages and package_of(module) != package_of(target)
    }
    assert drawn <= made
    reached = set(drawn)
    for _ in packages:
        reached |= {(one, three) for one, two in reached for other, three in drawn if two == other}
    assert made <= reached
    assert {"regex", "automata", "index", "decoding", "models", "jobs", "sfgen_cli"} <= packages


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_file_that_a_document_names_is_there(document: Path) -> None:
    folders = {"sfgen": "core", "sfgen_cli": "cli"}
    assert [
        name
        for name in named_files(document.read_text("utf-8"))
        if not (ROOT / folders.get(name.partition("/")[0], "") / name).exists()
    ] == []


def test_the_architecture_names_files() -> None:
    found = named_files(ARCHITECTURE)
    assert len(found) > 50
    assert {name.partition("/")[0] for name in found} >= {"sfgen", "cli", "tests"}
    assert named_files("`sfgen/a.py` and `no/b.py`, `.ci/run`, `tests/c d`, `cli/…`") == [".ci/run", "sfgen/a.py"]


def test_every_package_has_one_room() -> None:
    packages = [package for room in [*SIX_ROOMS, *BESIDE] for package in room]
    there = {path.parent.name for path in (ROOT / "core" / "sfgen").glob("*/__init__.py")}
    assert sorted(packages) == sorted({*there, *APART.values(), "protocols", "sfgen_cli"})


def test_a_room_imports_the_rooms_above_it() -> None:
    number = {package: at for at, room in enumerate(SIX_ROOMS) for package in room}
    wrong = {
        (module, target)
        for module, targets in imports(modules()).items()
        for target in targets
        if number.get(package_of(module), len(number)) < number.get(package_of(target), 0)
    }
    assert not wrong


def test_each_word_of_the_glossary_is_defined_once() -> None:
    terms = [row[0] for row in table(ARCHITECTURE, "what it means")]
    assert len(terms) > 40
    assert len(terms) == len(set(terms))
    assert terms == sorted(terms, key=str.lower)
