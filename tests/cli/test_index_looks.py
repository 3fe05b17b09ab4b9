"""What ``sfgen index`` shows: the whole, a state, a path, another pattern, examples, graphs, interegular's machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.terminal import SFGEN, Terminal, in_a_terminal, plain

from sfgen import Dfa
from sfgen.automata.graph import character_graph
from sfgen.automata.pictures import to_svg, to_text

Sfgen = Callable[..., Any]
FLOAT = r"([0-9]+)?\.[0-9]+"


def test_the_table_tells_what_the_index_is(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(["h", "o", "t", "ho", "hot", "el"]))
    lines = sfgen("index", "--choices", "hot,hotel", "--vocabulary", tmp_path / "v.json").out.splitlines()
    facts = {line[:12].strip(): line[13:] for line in lines[:7]}
    assert facts["pattern"] == "(none)"
    assert facts["vocabulary"].startswith("6 tokens, fingerprint ")
    assert facts["states"] == "6, 5 of them reached by tokens"  # not the one inside of `el`
    assert facts["transitions"] == "6"
    assert facts["end states"] == "3, 5"
    assert facts["jump-forward"] == "'hot', 'l'"
    assert re.fullmatch(r"in [0-9.e+]+ m?s, [0-9.]+ (bytes|kB)", facts["built"])
    assert [line.split() for line in lines[8:10]] == [
        ["0", "3", '"h"', "→", "1", '"ho"', "→", "2", '"hot"', "→", "3"],
        ["1", "1", '"o"', "→", "2"],
    ]


def test_a_long_table_is_cut_and_says_so(sfgen: Sfgen) -> None:
    lines = sfgen("index", "--regex", "a{50}", "--max-states", "10").out.splitlines()
    assert lines[-1].startswith("… 41 more states")
    assert len([line for line in lines if "→" in line and '"a"' in line]) == 10
    assert "…" not in sfgen("index", "--regex", "a{5}").out.splitlines()[-1]


def test_tokens_that_are_not_printable_or_not_text_are_escaped(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(["\x1b", "\n", "\\n", "é"]))
    shown = sfgen("index", "--regex", r"\x1b|\n|\\n|é", "--vocabulary", tmp_path / "v.json").out
    assert r'"\x1b" →' in shown
    assert r'"\n" →' in shown
    assert r'"\\n" →' in shown
    assert '"é" →' in shown
    assert r'"\xc3"' in sfgen("index", "--regex", "[é]", "-m", "tiny").out


def test_one_state(sfgen: Sfgen) -> None:
    record = json.loads(sfgen("index", "--regex", FLOAT, "--state", "1", "--json").out)
    assert record == {"state": 1, "final": False, "tokens": {str(digit): 2 for digit in range(10)}}
    lines = sfgen("index", "--regex", FLOAT, "--state", "1").out.splitlines()
    assert lines[2] == "characters   [0-9]"
    assert lines[-1].split() == ["2", "10", *(f'"{digit}"' for digit in range(10))]
    done = sfgen("index", "--regex", FLOAT, "--state", "3")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == ["sfgen: there is no state 3: the index has 3", "States are numbered from 0 to 2."]


def test_json_lines_have_one_state_each_and_are_the_object(sfgen: Sfgen) -> None:
    whole = json.loads(sfgen("index", "--regex", "[ab]{2}c?", "--json").out)
    rows = sfgen("index", "--regex", "[ab]{2}c?", "--format", "jsonl").records
    assert {str(row["state"]): row["tokens"] for row in rows} == whole["transitions"]
    assert [row["state"] for row in rows if row["final"]] == whole["final"]


def test_the_object_is_that_of_the_library(sfgen: Sfgen) -> None:
    from sfgen import Dfa, Index
    from sfgen.models import load_vocabulary

    index = Index(Dfa.from_regex("[ab]{2}c?"), load_vocabulary("tiny"))
    assert json.loads(sfgen("index", "--regex", "[ab]{2}c?", "--json").out) == index.to_dict()
    assert json.loads(sfgen("index", "--regex", "[ab]{2}c?", "--json", "--ids").out) == index.to_dict(ids=True)


def test_the_path_of_a_match(sfgen: Sfgen) -> None:
    record = json.loads(sfgen("index", "--regex", "[0-9]+[.][0-9]{2}", "--path", "23.37", "--json").out)
    assert (record["verdict"], record["stopped"], record["may_end"]) == ("match", None, True)
    assert record["states"] == [0, 1, 1, 2, 3, 4]
    assert [step["expected"] for step in record["steps"]] == ["[0-9]", "[0-9.]", "[0-9.]", "[0-9]", "[0-9]", None]
    lines = sfgen("index", "--regex", FLOAT, "--path", "23.37").out.splitlines()
    assert lines[2] == "verdict      a match; [0-9] could follow"
    assert [line.split()[0] for line in lines[4:]] == ["0", "0", "0", "1", "2", "2"]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("ab", "the start of a match; [a-z] must follow"),
        ("0", "not the start of a match: it stops at '0', character 1; expected [a-z]"),
        ("abc12", "not the start of a match: it stops at '2', character 5; expected the end of the text"),
        ("abc1", "a match"),
        ("ab\n", "not the start of a match: it stops at '\\n', character 3; expected [a-z]"),
    ],
)
def test_where_a_path_stops(sfgen: Sfgen, text: str, verdict: str) -> None:
    done = sfgen("index", "--regex", "[a-z]{3}[0-9]", "--path", text)
    assert done.code == 0
    assert done.out.splitlines()[2] == f"verdict      {verdict}"


def test_the_marker_moves_through_pattern_text_and_states() -> None:
    seen = in_a_terminal("index", "--regex", "[0-9]+[.][0-9]{2}", "--path", "2.37", "--live", "--slow", "20")
    assert seen.code == 0
    frames = plain(seen.raw)
    for marker in ("▏2.37", "2▏.37", "2.▏37", "2.3▏7", "2.37▏"):
        assert f"text     {marker}" in frames
    for state in range(5):
        assert f"▸     {state} " in frames
    assert "\x1b[7m[0-9]" in seen.raw  # the piece of the pattern that read the last character
    assert not [line for line in seen.screen if "▸" in line or "╭" in line]  # erased
    assert "verdict      a match" in seen.screen
    assert "\x1b[?25l" not in seen.raw or seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l")


def test_there_is_no_marker_without_a_terminal(sfgen: Sfgen) -> None:
    done = sfgen("index", "--regex", FLOAT, "--path", "2.3", "--live", "--slow", "1")
    assert done.err == ""
    assert "verdict      a match" in done.out


@pytest.mark.parametrize(
    ("other", "relation", "only_pattern", "only_against", "both"),
    [
        ("[a-c]+", "same", None, None, "a"),
        ("[abcd]+", "contained", None, "d", "a"),
        ("[ab]+", "contains", "c", None, "a"),
        ("[bcd]{2}", "overlapping", "a", "bd", "bb"),
        ("[0-9]+", "disjoint", "a", "0", None),
    ],
)
def test_against_another_pattern(
    sfgen: Sfgen, other: str, relation: str, only_pattern: str | None, only_against: str | None, both: str | None
) -> None:
    record = json.loads(sfgen("index", "--regex", "[abc]+", "--against", other, "--json").out)
    assert record == {
        "pattern": "[abc]+",
        "against": other,
        "relation": relation,
        "only_pattern": only_pattern,
        "only_against": only_against,
        "both": both,
    }
    text = sfgen("index", "--regex", "[abc]+", "--against", other).out
    assert f"relation     {relation}: " in text


def test_examples_match(sfgen: Sfgen) -> None:
    texts = sfgen("index", "--regex", FLOAT, "--examples", "5").out.splitlines()
    assert len(set(texts)) == 5
    assert all(re.fullmatch(FLOAT, text) for text in texts)
    assert len(texts[0]) == 2
    records = sfgen("index", "--regex", FLOAT, "--examples", "5", "--json").records
    assert [record["text"] for record in records] == texts
    assert sfgen("index", "--choices", "hot,cold", "--examples", "5").out.splitlines() == ["hot", "cold"]


def test_graphs_of_characters_and_of_tokens(sfgen: Sfgen) -> None:
    dot = sfgen("index", "--regex", FLOAT, "--format", "dot").out
    assert dot.startswith("digraph")
    assert 'label="[0-9]"' in dot
    tokens = sfgen("index", "--regex", FLOAT, "--format", "dot", "--tokens").out
    assert tokens.startswith("digraph")
    assert 'label="[0-9]"' not in tokens
    assert sfgen("index", "--regex", FLOAT, "--format", "mermaid").out.startswith("flowchart LR\n")
    cut = sfgen("index", "--regex", "a{50}", "--format", "dot", "--max-states", "10")
    assert "41" in cut.out
    assert cut.err == "sfgen: 41 of 51 states are left out; --max-states draws more\n"
    assert sfgen("index", "--regex", "a{50}", "--format", "dot", "--max-states", "10", "--quiet").err == ""


WORDS = ("index", "--choices", "hot,cold,hotel")


def drawing(dfa: Dfa) -> str:
    return to_text(character_graph(dfa))


def test_boxes(sfgen: Sfgen) -> None:
    done = sfgen(*WORDS, "--format", "boxes")
    assert (done.code, done.err) == (0, "")
    assert done.out == drawing(Dfa.from_choices(["hot", "cold", "hotel"]))
    tokens = sfgen(*WORDS, "--format", "boxes", "--tokens")
    assert '"hotel"' in tokens.out
    assert tokens.err == ""
    ids = sfgen(*WORDS, "--format", "boxes", "--tokens", "--ids").out
    assert ids.count("▼") == tokens.out.count("▼")
    assert '"' not in ids
    rules = sfgen("index", "--grammar", 'root ::= "(" root ")" | x\nx ::= "x"', "--format", "boxes").out
    assert "│ root " in rules
    assert "│ a string" in sfgen("index", "--schema", "name", "--format", "boxes").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--regex", "a{50}"],
            "at most 40 states and 80 edges are drawn in boxes, not 51 states and 50 edges: --max-states N draws",
        ),
        (
            ["--regex", "a{500}"],  # of which no more than 100 states are laid out, and no other edges counted
            "at most 40 states and 80 edges are drawn in boxes, not 501 states: --max-states N draws",
        ),
        (
            ["--grammar", "root ::= " + "\n".join(f"r{n}\nr{n} ::= " for n in range(50)) + '"a"'],
            "at most 40 states and 80 edges are drawn in boxes, not 51 states and 50 edges: --max-states N draws",
        ),
    ],
)
def test_what_is_too_large_for_boxes_is_a_table(sfgen: Sfgen, arguments: list[str], says: str) -> None:
    done = sfgen("index", *arguments, "--format", "boxes")
    table = sfgen("index", *arguments)
    assert done.code == 0
    assert without_times(done.out) == without_times(table.out)
    assert done.err.startswith(f"sfgen: {says}")
    assert done.err.endswith("this is the table\n")
    assert sfgen("index", *arguments, "--format", "boxes", "--quiet").err == ""
    cut = sfgen("index", *arguments, "--format", "boxes", "--max-states", "3")
    states = int(re.findall(r"not (\d+) states", says)[0])
    assert f"{states - 3} of {states} states are left out" in cut.out
    assert cut.err == f"sfgen: {states - 3} of {states} states are left out; --max-states draws more\n"


def without_times(table: str) -> str:
    return re.sub(r"in [0-9.]+ m?s", "", table)


def test_boxes_are_not_wider_than_the_terminal(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = max(map(len, sfgen(*WORDS, "--format", "boxes").out.splitlines()))
    monkeypatch.setenv("COLUMNS", str(wide))
    assert sfgen(*WORDS, "--format", "boxes").err == ""
    monkeypatch.setenv("COLUMNS", str(wide - 1))
    done = sfgen(*WORDS, "--format", "boxes")
    why = f"the drawing takes {wide} columns, and there are {wide - 1}: --format svg draws it in any width"
    assert done.err == f"sfgen: {why}; this is the table\n"
    assert done.out.startswith("pattern ")


@pytest.mark.parametrize(
    ("size", "no_color", "is_drawn"),
    [((80, 60), "", True), ((80, 24), "", False), ((8, 90), "", False), ((80, 60), "1", True)],
)
def test_a_terminal_with_room_has_boxes_and_the_table(size: tuple[int, int], no_color: str, is_drawn: bool) -> None:
    seen = in_a_terminal(*WORDS, size=size, NO_COLOR=no_color)
    wanted = drawing(Dfa.from_choices(["hot", "cold", "hotel"])).splitlines()
    start = next((row for row, line in enumerate(seen.screen) if line.strip() == "●"), None)
    assert (start is not None) == is_drawn
    if start is not None:
        assert seen.screen[start : start + len(wanted)] == wanted
        assert seen.screen[0].startswith("pattern")  # all can be seen at once
        assert any("token → next state" in line for line in seen.screen)
        boxes = seen.raw[seen.raw.rindex("●") : seen.raw.rindex("╚")]
        assert "\x1b" not in boxes


@pytest.mark.parametrize("look", [[], ["--format", "boxes"]])
def test_a_terminal_without_box_characters_has_those_of_ascii(look: list[str]) -> None:
    command = [*SFGEN, "index", "--regex", "é日", *look]
    with Terminal(command=command, size=(80, 60), stdin=None, PYTHONIOENCODING="latin-1", NO_COLOR="1") as terminal:
        seen = terminal.finish()
    assert seen.code == 0
    shown = plain(seen.raw)
    assert "+-v-+" in shown
    assert r"| \u65e5" in shown


def test_a_small_picture_needs_no_graphviz(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    dfa = Dfa.from_choices(["hot", "cold", "hotel"])
    assert sfgen(*WORDS, "--format", "svg").out == to_svg(character_graph(dfa))
    refused = sfgen("index", "--regex", "a{50}", "--format", "svg")
    assert (refused.code, refused.out) == (1, "")
    assert "SVG of more than 40 states or 80 edges (here 51 states and 50 edges) is drawn by Graphviz" in refused.err
    assert "--max-states N" in refused.err
    assert "(here 501 states) is drawn" in sfgen("index", "--regex", "a{500}", "--format", "svg").err
    assert sfgen("index", "--regex", "a{50}", "--format", "svg", "--max-states", "40").out.startswith("<svg")


def test_interegulars_own_machine(sfgen: Sfgen) -> None:
    table = sfgen("index", "--engine", "fsm", "--format", "table", "--regex", FLOAT).out
    assert "* 0    False  2 1 1 1 1 1 1 1 1 1 1" in table
    assert "frozenset({4, 5})" in table
    assert "{0: {0: 1, 2: 2}, 1: {0: 3, 2: 2}, 2: {0: 4}, 3: {0: 3, 2: 2}, 4: {0: 5}, 5: {0: 5}}" in table


def test_the_index_over_interegulars_machine_has_its_states(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(["a", ".", ".2", "1"]))
    arguments = ("index", "--engine", "fsm", "--regex", FLOAT, "--vocabulary", tmp_path / "v.json")
    record = json.loads(sfgen(*arguments, "--json").out)
    assert (record["states"], record["final"]) == (6, [4, 5])
    assert record["transitions"]["0"] == {".": 2, ".2": 4, "1": 1}
    rows = sfgen(*arguments, "--format", "jsonl").records
    assert {str(row["state"]): row["tokens"] for row in rows} == record["transitions"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--regex", "a", "--state", "0", "--path", "a"], "--state and --path cannot be used together"),
        (["--regex", "a", "--save", "--state", "0"], "--save and --state cannot be used together"),
        (["--regex", "a", "--json", "--format", "dot"], "--json and --format dot cannot be used together"),
        (["--regex", "a", "--path", "a", "--format", "jsonl"], "--path and --format jsonl cannot be used together"),
        (["--regex", "a", "--tokens"], "--tokens needs a graph"),
        (["--regex", "a", "--max-states", "3", "--json"], "--max-states cuts tables and graphs of the whole index"),
        (["--regex", "a", "--ids", "--path", "a"], "--ids names tokens, and none are shown here"),
        (["--regex", "a", "--live"], "--live and --slow show how a text walks through the states"),
        (["--regex", "a", "--path", "a", "--live", "--json"], "--live and --slow show how a text walks"),
        (["--regex", "a", "--engine", "fsm", "--path", "a"], "--engine fsm and --path cannot be used together"),
        (["--regex", "a", "--engine", "fsm", "--format", "dot"], "--engine fsm and --format dot cannot be used"),
        (["--regex", "a", "--engine", "fsm", "--format", "boxes"], "--engine fsm and --format boxes cannot be used"),
        (
            ["--regex", "a", "--format", "boxes", "--model", "tiny"],
            "--format boxes reads characters, not tokens: --model",
        ),
        (["--choices", "a", "--engine", "fsm"], "--engine fsm needs a pattern"),
        (["--regex", "a", "--path", "a", "--tokenizer", "x"], "--path reads characters, not tokens: --tokenizer"),
        (["--regex", "a", "--tokenizer", "x", "--vocabulary", "y"], "--tokenizer and --vocabulary cannot be used"),
    ],
)
def test_what_has_no_meaning_is_refused(sfgen: Sfgen, arguments: list[str], message: str) -> None:
    done = sfgen("index", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sfgen: {message}")
    assert len(done.err.splitlines()) <= 4


def test_a_pattern_to_compare_with_that_cannot_be_read(sfgen: Sfgen) -> None:
    done = sfgen("index", "--regex", "a", "--against", "b(")
    assert (done.code, done.out) == (1, "")
    assert "missing )" in done.err
