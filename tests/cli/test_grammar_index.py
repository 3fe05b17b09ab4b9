"""``index --grammar``: rules, terminals and states; what may follow, where a text fails, examples, and graphs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen import Grammar

Sfgen = Callable[..., Any]
SUM = 'root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"\nother ::= "x"\n'
INDEX = ["index", "--grammar", "sum.gbnf"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a grammar in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.gbnf").write_text(SUM, encoding="utf-8")
    return tmp_path


def test_the_rules(sfgen: Sfgen) -> None:
    done = sfgen(*INDEX)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "grammar      sum.gbnf, gbnf, from root\n"
        "rules        3\n"
        "terminals    4\n"
        "states       15\n"
        "shortest     '0'\n"
        "name   kind      line  states  calls\n"
        'root   rule         1       2  term  "+"\n'
        'term   rule         2       5  [0-9]  "("  root  ")"\n'
        'other  rule         3       0  "x"\n'
        '"+"    terminal     1       2\n'
        "[0-9]  terminal     2       2\n"
        '"("    terminal     2       2\n'
        '")"    terminal     2       2\n'
    )
    assert "… 5 more: --max-states shows more" in sfgen(*INDEX, "--max-states", "2").out


def test_as_data(sfgen: Sfgen) -> None:
    record = json.loads(sfgen(*INDEX, "--json").out)
    assert {key: record[key] for key in ("grammar", "format", "start", "states", "shortest")} == {
        "grammar": SUM, "format": "gbnf", "start": "root", "states": 15, "shortest": "0"
    }  # fmt: skip
    assert record["rules"]["term"] == {"line": 2, "states": 5, "calls": ["[0-9]", '"("', "root", '")"']}
    assert record["terminals"]['"+"'] == {"line": 1, "states": 2}
    assert "vocabulary" not in record


def test_what_may_follow_in_a_state(sfgen: Sfgen) -> None:
    done = sfgen(*INDEX, "--state", "0")
    assert done.out == "state        0 of 15\nrule         root\nend          no\nnext  what may follow\n  14  term\n"
    record = json.loads(sfgen(*INDEX, "--state", "14", "--json").out)
    assert record == {"state": 14, "rules": ["root"], "may_end": True, "follows": [{"name": '"+"', "target": 0}]}
    names = set()
    for state in range(15):
        names |= {move["name"] for move in json.loads(sfgen(*INDEX, "--state", str(state), "--json").out)["follows"]}
    assert {"term", '"+"', "[0-9]", "root", r"\+"} <= names  # rules, terminals, and the characters of those


def test_the_way_of_a_text(sfgen: Sfgen) -> None:
    done = sfgen(*INDEX, "--path", "1+(2*3)")
    assert done.out == (
        "grammar      sum.gbnf\n"
        "text         '1+(2*3)'\n"
        'verdict      not a text of the grammar: it stops at line 1, column 5: expected [0-9], "+" or ")", '
        "in root › term › root › term\n"
        "read  rules                      terminal\n"
        "'1'   root › term                [0-9]\n"
        "'+'   root                       \"+\"\n"
        "'('   root › term                \"(\"\n"
        "'2'   root › term › root › term  [0-9]\n"
        "  1+(2*3)\n"
        "      ^\n"
    )
    record = json.loads(sfgen(*INDEX, "--path", "1+(2*3)", "--json").out)
    assert record["verdict"] == "stopped"
    assert (record["failure"]["position"], record["failure"]["expected"]) == (4, ["[0-9]", '"+"', '")"'])
    assert record["steps"][-1] == {"read": "2", "rules": ["root", "term", "root", "term"], "terminal": "[0-9]"}
    assert (
        'verdict      the start of a text of the grammar; [0-9] or "(" must follow\n'
        in sfgen(*INDEX, "--path", "1+").out
    )
    assert 'verdict      a text of the grammar; [0-9] or "+" could follow\n' in sfgen(*INDEX, "--path", "1").out
    assert json.loads(sfgen(*INDEX, "--path", "1", "--json").out)["failure"] is None


def test_examples_reach_every_rule(sfgen: Sfgen) -> None:
    texts = sfgen(*INDEX, "--examples", "4").out.splitlines()
    assert texts[0] == "0"
    assert len(texts) == 4
    grammar = Grammar.from_gbnf(SUM)
    reached = {rule for text in texts for stretch in grammar.walk(text).stretches for rule in stretch.open_rules}
    assert reached == {"root", "term"}
    assert [record["text"] for record in sfgen(*INDEX, "--examples", "4", "--json").records] == texts
    lines = sfgen("index", "--grammar", 'root ::= "a\\nb" | "c"', "--examples", "2").out
    assert lines == "c\n\na\nb\n"


def test_graphs_of_the_rules(sfgen: Sfgen) -> None:
    dot = sfgen(*INDEX, "--format", "dot").out
    assert 'label="root"' in dot
    assert "0 -> 1" in dot
    assert "1 -> 0" in dot
    mermaid = sfgen(*INDEX, "--format", "mermaid").out
    assert 's1["term"]' in mermaid
    done = sfgen(*INDEX, "--format", "dot", "--max-states", "1")
    assert "1 of 2 states is left out" in done.err


def test_a_saved_grammar_is_shown(sfgen: Sfgen, here: Path) -> None:
    done = sfgen(*INDEX, "--save", "saved", "--json")
    assert (json.loads(done.out)["saved"], json.loads(done.out)["vocabulary"]["size"]) == ("saved", 2048)
    (here / "sum.gbnf").unlink()
    shown = sfgen("index", "saved")
    assert shown.out.startswith("grammar      saved, gbnf, from root\n")
    assert "vocabulary   2,048 tokens" in shown.out
    assert json.loads(sfgen("index", "saved", "--path", "1+", "--json").out)["verdict"] == "start"
    assert sfgen("index", "saved", "-m", "uniform").code == 1
    for look, what in [("--against", "a"), ("--format", "jsonl")]:
        assert "a saved grammar cannot be used together" in sfgen("index", "saved", look, what).err


def test_the_start_rule(sfgen: Sfgen) -> None:
    assert sfgen(*INDEX, "--grammar-start", "other", "--examples", "3").out == "x\n"
    assert "grammar      sum.gbnf, gbnf, from other" in sfgen(*INDEX, "--grammar-start", "other").out


def test_an_indenter_is_kept_with_its_grammar(sfgen: Sfgen, here: Path) -> None:
    text = "start: line+\nline: /[a-z]/ END [IN line+ OUT]\nEND: /(\\n\\t* *)+/\n%declare IN OUT\n"
    (here / "own.lark").write_text(text, encoding="utf-8")
    own = ["--grammar", "own.lark", "--indenter", "NL_type=END INDENT_type=IN DEDENT_type=OUT tab_len=2"]
    assert sfgen("check", *own, "--text", "a\n\tb\n  c\nd\n").code == 0
    assert sfgen("check", *own, "--text", "a\n\tb\n   c\n d\n").code == 1
    assert sfgen("index", *own, "--save", "saved").code == 0
    saved = sfgen("index", "saved", "--path", "a\n\tb\n  c\n")
    assert (saved.code, saved.err) == (0, "")
    assert "not a text of the grammar" in sfgen("index", "saved", "--path", "a\n\tb\n c\n").out
    refused = sfgen("index", "--grammar", "own.lark")
    assert refused.code == 1
    assert refused.err.endswith("Name terminals of indentation (--indenter).\n")
