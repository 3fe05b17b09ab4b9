"""``check --grammar``: texts of a grammar, and where and why others are none, in its own words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
SUM = 'root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"'
CHECK = ["check", "--grammar", SUM]


def test_a_text_of_the_grammar(sfgen: Sfgen) -> None:
    done = sfgen(*CHECK, "--text", "1+(2+3)")
    assert (done.code, done.out, done.err) == (0, "", "sfgen: 1 of 1 texts match the grammar\n")


def test_where_and_why_texts_are_none(sfgen: Sfgen) -> None:
    done = sfgen(*CHECK, "--text", "1+", "--text", "1+(2", "--text", "1\n+2", "--text", "1+2")
    assert done.code == 1
    assert done.out.splitlines() == [
        'text 1, line 1, column 3: the text ends too early: expected [0-9] or "(", in root',
        "  1+",
        "    ^",
        'text 2, line 1, column 5: the text ends too early: expected [0-9], "+" or ")", in root › term › root › term',
        "  1+(2",
        "      ^",
        'text 3, line 1, column 2: expected [0-9], "+" or the end of the text, in root › term',
        "  1",
        "   ^",
    ]
    assert done.err == "sfgen: 1 of 4 texts match the grammar\n"


def test_a_file_is_one_text_and_its_last_newline_need_not_belong_to_it(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "sum.txt"
    file.write_text("1+2\n")
    assert sfgen(*CHECK, file).code == 0
    assert sfgen("check", "--grammar", f'{SUM}\nline ::= root "\\n"', "--grammar-start", "line", file).code == 0
    assert sfgen(*CHECK, "--text", "1+2\n").code == 1
    file.write_text("1+2\n\n")
    done = sfgen(*CHECK, file)
    assert (
        done.out.splitlines()[0]
        == f'{file}, line 1, column 4: expected [0-9], "+" or the end of the text, in root › term'
    )
    file.write_text("1+2\n3\n+4\n")
    assert sfgen(*CHECK, file).code == 1
    done = sfgen(*CHECK, "--lines", file)
    assert done.err == "sfgen: 2 of 3 texts match the grammar\n"
    assert done.out.splitlines()[0] == f'{file}, line 3, column 1: expected [0-9] or "(", in root'


def test_the_place_of_a_failure_in_several_lines(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "sums.txt"
    file.write_text("1+2\n3+é\n")
    done = sfgen("check", "--grammar", f'{SUM}\nlines ::= (root "\\n")*', "--grammar-start", "lines", file)
    assert done.out.splitlines() == [
        f'{file}, line 2, column 3: expected [0-9] or "(", in lines › root',
        "  3+é",
        "    ^",
    ]


def test_what_is_no_utf8(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "bytes"
    file.write_bytes(b"1+\xff")
    done = sfgen("check", "--grammar", "root ::= .*", file)
    assert (done.code, done.out.splitlines()[0]) == (
        1,
        f"{file}, line 1, column 3: expected . or the end of the text, in root",
    )


def test_the_record_of_each_text(sfgen: Sfgen) -> None:
    done = sfgen(*CHECK, "--json", "--text", "12", "--text", "(1+)")
    assert done.code == 1
    assert done.records == [
        {"file": None, "text": 1, "line": None, "matches": True, "failure": None},
        {
            "file": None,
            "text": 2,
            "line": None,
            "matches": False,
            "failure": {
                "position": 3,
                "byte": 3,
                "line": 1,
                "column": 4,
                "expected": ["[0-9]", '"("'],
                "rules": ["root", "term", "root"],
                "at_end": False,
                "may_end": False,
            },
        },
    ]


def test_quietly(sfgen: Sfgen) -> None:
    done = sfgen(*CHECK, "--quiet", "--text", "1+", "--text", "1")
    assert (done.code, done.out, done.err) == (1, "", "")
    assert sfgen(*CHECK, "--quiet", "--text", "1").code == 0


@pytest.mark.parametrize(("text", "code", "bad"), [("1+13", 1, "13"), ("1+2", 0, ""), ("13+", 1, "13")])
def test_with_banned_words(sfgen: Sfgen, text: str, code: int, bad: str) -> None:
    done = sfgen(*CHECK, "--words", "13", "--text", text)
    assert done.code == code
    assert bad in done.out
    assert f"sfgen: {1 - code} of 1 texts match the grammar and are clean\n" == done.err


def test_trouble_is_told_apart_from_texts_that_fail(sfgen: Sfgen, tmp_path: Path) -> None:
    assert sfgen(*CHECK, tmp_path / "nowhere").code == 2
    assert sfgen("check", "--grammar", "root ::= (", "--text", "1").code == 2
    done = sfgen("check", "--grammar", str(tmp_path / "no.gbnf"), "--text", "1")
    assert done.code == 2
    assert "A grammar is a file, or the text itself" in done.err
    assert sfgen(*CHECK, "--max-blanks", "1", "--text", "1").code == 2


def test_a_grammar_from_stdin(sfgen: Sfgen) -> None:
    assert sfgen("check", "--grammar", "-", "--text", "1", stdin=SUM).code == 0
