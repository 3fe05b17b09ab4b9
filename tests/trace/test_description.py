"""What is written about the format: FORMAT.md has every key with its values, and each key says what it means."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from pathlib import Path
from typing import Any

import pytest
from tests.support.traces import write_runs

import sfgen.trace
from sfgen.decoding import Candidate, Outlook, Result, TokenLogprob, Watch
from sfgen.errors import SfgenError
from sfgen.groups import Group
from sfgen.number_ranges import Range
from sfgen.trace import Failure, Scene
from sfgen.trace.events import EVENTS
from sfgen.trace.kinds import in_json_words, kind_of
from sfgen.trace.lines import schema

_SECTIONS: dict[str, tuple[type, set[str]]] = {
    "The first line of a sample": (Scene, {"trace", "sfgen", "sample"}),
    "Outlook": (Outlook, set()),
    "Candidate": (Candidate, set()),
    "Watch": (Watch, set()),
    "Result": (Result, set()),
    "TokenLogprob": (TokenLogprob, set()),
    "Group": (Group, set()),
    "error": (Failure, set()),
    **{name: (kind, set()) for name, kind in EVENTS.items()},
}


def documented() -> dict[str, dict[str, tuple[bool, str]]]:
    """Section → key → whether it may be missing, and its type."""
    text = Path(sfgen.trace.__file__).with_name("FORMAT.md").read_text(encoding="utf-8")
    sections = re.split(r"^#{2,4} ", text, flags=re.MULTILINE)[1:]
    return {
        section.partition("\n")[0].strip("`"): {
            key: (bool(default), values)
            for key, values, default in re.findall(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\| ", section, flags=re.MULTILINE)
        }
        for section in sections
    }


def type_in_words(hint: Any) -> str:
    arguments = typing.get_args(hint)
    if type(None) in arguments:
        return f"null, or {type_in_words(arguments[0])}"
    if typing.get_origin(hint) is tuple:
        return f"a list, each {type_in_words(arguments[0])}"
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(f'`"{value}"`' for value in arguments)
    if arguments and isinstance(arguments[1], Range):
        return arguments[1].words
    plain = {str: "text", bytes: "bytes", bool: "true or false", Any: "any value"}
    if hint in plain:
        return plain[hint]
    anchor = next((name for name, kind in EVENTS.items() if kind is hint), hint.__name__.lower())
    return f"[{hint.__name__}](#{anchor})"


def test_the_description_has_every_key_and_no_other() -> None:
    sections = documented()
    assert set(sections.pop("Every other line")) == {"sample", "seconds", "event"}
    assert set(sections) == set(_SECTIONS)
    for title, (kind, more) in _SECTIONS.items():
        hints = typing.get_type_hints(kind, include_extras=True)
        expected = {
            field.name: (
                field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING,
                type_in_words(hints[field.name]),
            )
            for field in dataclasses.fields(kind)
            if field.compare  # others are how a value is made, and no part of it
        }
        described = {key: value for key, value in sections[title].items() if key not in more}
        assert set(sections[title]) >= more
        assert described == expected, title


def test_a_line_has_the_keys_that_are_described(tmp_path: Path) -> None:
    write_runs(tmp_path / "run.jsonl", [(Scene("", "tiny", 9), [], SfgenError("no more"))])
    scene, error = (json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines())
    sections = documented()
    assert list(scene) == list(sections["The first line of a sample"])
    assert list(error) == [*sections["Every other line"], *sections["error"]]


def test_every_key_says_what_it_means() -> None:
    for name, definition in schema()["$defs"].items():
        for key, value in definition.get("properties", {}).items():
            if value is not False:
                assert value["description"].endswith("."), (name, key)
                assert "``" not in value["description"]
                assert "None" not in value["description"]


def test_words_of_python_become_those_of_json() -> None:
    assert in_json_words("``None``: ``True`` or ``()`` or ``word``, None else.") == (
        "`null`: `true` or `[]` or `word`, None else."
    )


@pytest.mark.parametrize("hint", [int, float, list, dict[str, str], int | str | None, tuple[int, str], object])
def test_a_type_that_says_too_little_has_no_place_in_a_trace(hint: Any) -> None:
    with pytest.raises(TypeError, match="has no range of values"):
        kind_of(hint)
