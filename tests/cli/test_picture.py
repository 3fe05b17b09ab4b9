"""Pictures of views: any XML parser takes them, and renderers that are no browsers show them as the terminal does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from tests.support.command.browser import rendered
from tests.support.running.installed import needs

from sfgen_cli.live.view import svg

COLUMN = 12.04  # the width of a column in the font that librsvg finds, about


TEXT = "{http://www.w3.org/2000/svg}text"
CELL = 12.2  # the width of a column in the picture's units


def rows(picture: str) -> list[list[str]]:
    """The texts of a picture, without those that hold a line's end only; with the blanks that its place stands for."""
    found = []
    for text in ElementTree.fromstring(picture).iter(TEXT):
        blanks = " " * round(float(text.get("x", "0")) / CELL) if text.get("textLength") else ""
        found.append(blanks + "".join(text.itertext()).replace("\u00a0", " "))
    return [text.split("\n") for text in found if text.strip("\n ")]


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_makes_a_picture_that_an_xml_parser_takes(view: str, title: str) -> None:
    ElementTree.fromstring(svg(Text(view), title))


@pytest.mark.parametrize("code", [*range(32), *range(0x7F, 0xA0), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1FFFE])
def test_control_characters_are_no_trouble(code: int) -> None:
    ElementTree.fromstring(svg(Text(f"a{chr(code)}b"), f"a{chr(code)}b"))


def test_blanks_are_kept_as_xml_says() -> None:
    picture = svg(Text("    x  y\n|  |"), "  a title")
    assert ElementTree.fromstring(picture).get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"
    assert ["    x  y"] in rows(picture)
    assert ["  a title"] in rows(picture)


@given(st.lists(st.sampled_from(["a", " ", "聊", "é\u0301", "\t"]), max_size=12).map("".join))
def test_readers_that_drop_blanks_show_the_same(text: str) -> None:
    """No run begins or ends with a blank; each stands where the terminal has its first character."""
    root = ElementTree.fromstring(svg(Text(text), ""))
    runs = [run for run in root.iter(TEXT) if run.get("textLength")]
    shown = text.expandtabs(8)
    assert len(runs) == bool(shown.strip())
    for run in runs:
        written = "".join(run.itertext())
        assert written == written.strip()
        before = len(shown) - len(shown.lstrip())
        assert float(run.get("x", "")) == pytest.approx(before * CELL)


@needs("rsvg-convert")
@pytest.mark.parametrize("indented", ["    x", " x", "  x  y", "│    x", "x    y"])
def test_leading_blanks_are_shown_outside_of_browsers(indented: str) -> None:
    """The last letter stands where it does if there are letters in place of the blanks.

    A run begins at its column; within a run librsvg goes on by the width of its font's letters, a little less.
    """
    begins = len(indented) - len(indented.lstrip())
    boxes = [rendered(svg(Text(text), "")) for text in (indented, indented.replace(" ", "-"))]
    assert len(boxes[0]) == len(boxes[1])
    assert boxes[0][-1].right == pytest.approx(boxes[1][-1].right + begins * (CELL - COLUMN), abs=0.2)
    assert boxes[0][-1].right > COLUMN * (len(indented) - 1)


@needs("rsvg-convert")
def test_runs_of_several_styles_stand_apart_outside_of_browsers() -> None:
    """A run that begins with a blank does not touch the one before it."""
    apart = Text.assemble(("I", "blue"), (" am", "bold red"), (" here", "blue"))
    picture = rendered(svg(apart, ""))[-3:]
    assert all(right.left - left.right > COLUMN * 0.8 for left, right in pairwise(picture))


@needs("rsvg-convert")
def test_the_picture_of_a_run_is_rendered(sfgen: Callable[..., Any], tmp_path: Path) -> None:
    trace, out = tmp_path / "run.jsonl", tmp_path / "run.svg"
    done = sfgen("gen", "-m", "uniform", "--regex", "a b", "--trace", str(trace), "A\x01 prompt")
    assert done.code == 0
    assert sfgen("replay", str(trace), "--svg", str(out)).code == 0
    assert len(rendered(out.read_text(encoding="utf-8"))) > 10
