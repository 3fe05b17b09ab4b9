"""Names of files, folders and models that would drive a terminal: no byte of them reaches one as it is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.terminal import in_a_terminal

Sfgen = Callable[..., Any]

# It clears the screen, turns text around in three ways, and goes on as another line of sfgen's.
NAME = "a\x1b[2J\x9b8m\u202eb\u2066c\u200fd\nsfgen: all is well"
SHOWN = r"a\x1b[2J\x9b8m\u202eb\u2066c\u200fd\nsfgen: all is well"

TRACE = ["gen", "-m", "uniform", "-r", "a{3}", "--trace", "t", "x"]

# What is read from a file of this name, or written to one: N. What is in it makes no sense anywhere.
WRONG = """
gen --prompt-file N
gen --regex-file N
gen --choices-file N
gen --schema N.json
gen --schema s.json --schema-dir N
gen --pydantic N.py:Person
gen --like N
gen --tools N
gen --grammar N.gbnf
gen --grammar g.lark
gen --template N.txt
gen --template '{{a: substring N}}'
gen --substring-of N
gen --template '{{a: grammar N.gbnf}}'
gen --index N
gen --chat-file N x
gen --ban-words-file N x
gen --input N
gen -m N --offline x
gen -m N.gguf x
gen -m zip:N x
gen -m uniform --tokenizer N --offline x
gen --device N x
gen -m uniform --input p --output N/o
gen -m uniform --input p --output N
gen -m uniform --input p --output N --resume
gen -m uniform --trace N/t x
gen -m uniform --trace N x
ban --words-file N x
ban --words talk --routes -m N --offline
index N
index --index N
index -r a --vocabulary N
index -r a --save N
index -r a --save N/f
index -r a --tokenizer N --offline
check --words talk N
check --regex a N
check --schema name N
check --schema N.json --text 1
check --grammar N.gbnf --text 1
check --schema name N.jsonl
check --regex-file N --text a
check --words a N.jsonl
replay N
replay t --svg N
replay t --svg N/f
replay t --html N/f
models N
N
gen --N
gen -r a --dtype N
"""


def words(line: str) -> list[str]:
    return [word.replace("N", NAME) for word in shlex.split(line)]


def assert_fit_for_people(text: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in text), ascii(text)
    assert not any(line.startswith("sfgen: all") for line in text.splitlines())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    Path("p").write_text('{"prompt": "x"}\n')
    Path("s.json").write_text('{"$ref": "other.json"}')
    Path("g.lark").write_text(f"start: A\n%import .{NAME}.b (A)\n")


@pytest.mark.parametrize("content", [None, b"", b"hello, \x1b[2J\n", b"\xff\n", b'{"a": }\n{', b"'we talk',\na\n"])
def test_what_is_said_of_a_file(sfgen: Sfgen, content: bytes | None) -> None:
    if content is not None:
        for ending in ("", ".json", ".jsonl", ".gbnf", ".txt", ".gguf", ".py"):
            Path(NAME + ending).write_bytes(content)
    assert sfgen(*TRACE).code == 0
    said = ""
    for line in WRONG.strip().splitlines():
        done = sfgen(*words(line))
        assert_fit_for_people(done.err)
        said += done.err
    assert said.count(SHOWN) > 20


def test_what_goes_well_with_it(sfgen: Sfgen) -> None:
    Path(NAME).write_text('{"prompt": "x"}\nhello\n')
    done = sfgen("gen", "-m", "uniform", "-r", "a", "--input", NAME, "--output", f"{NAME}.out")
    assert_fit_for_people(done.err)
    assert f"sfgen: {SHOWN}, line 2: " in done.err
    assert f"1 written to {SHOWN}.out" in done.err
    assert sfgen("gen", "-m", "uniform", "-r", "a", "--input", "p", "--output", NAME, "--force").code == 0
    Path("cut").write_bytes(b"")
    assert sfgen(*TRACE).code == 0
    Path(f"{NAME}.t").write_bytes(Path("t").read_bytes()[:-20])
    done = sfgen("replay", f"{NAME}.t")
    assert_fit_for_people(done.err)
    assert done.err.count(f"{SHOWN}.t") == 2
    Path(NAME).write_text("'quoted',\n" * 9)
    done = sfgen("ban", "-m", "uniform", "--max-tokens", "3", "--words-file", NAME, "x")
    assert_fit_for_people(done.err)
    assert f"sfgen: {SHOWN}, line 1: " in done.err
    assert f"more lines of {SHOWN} are in doubt" in done.err


@pytest.mark.parametrize(
    "line",
    [
        "index -r a --save N",
        "index --schema true --save N",
        "index --grammar 'root ::= \"a\"' --save N",
        "index --template '{{a: regex b}}' --save N",
        "replay t --svg N",
        "check --words talk N.txt p",
        "check --regex a N.txt",
        "check --schema N.json N.txt",
        "index N.index",
        "models N.d",
        "gen -m uniform --schema N.json --live x",
        "gen -m zip:N.txt -r a x",
    ],
)
def test_the_terminal(sfgen: Sfgen, line: str) -> None:
    assert sfgen(*TRACE).code == 0
    assert sfgen("index", "--schema", "true", "--save", f"{NAME}.index").code == 0
    Path(f"{NAME}.txt").write_text("we talk\n")
    Path(f"{NAME}.json").write_text(json.dumps({"const": 1}))
    (Path(f"{NAME}.d") / NAME).mkdir(parents=True)
    (Path(f"{NAME}.d") / NAME / "config.json").write_text('{"model_type": "llama"}')
    seen = in_a_terminal(*words(line), size=(200, 40), NO_COLOR="1")
    for character in ("\x1b[2J", "\x9b", "\u202e", "\u2066", "\u200f"):
        assert character not in seen.raw
    assert not any(row.startswith("sfgen: all") for row in seen.screen)
