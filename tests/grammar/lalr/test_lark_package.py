"""What lark makes of grammars, as tables; and what it refuses, with line, column and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_package import LarkGrammar, read_lark
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import END, NO_STATE

CALCULATOR = r"""
?start: sum
?sum: product | sum "+" product -> add | sum "-" product -> sub
?product: atom | product "*" atom -> mul
?atom: NUMBER -> number | "-" atom | "(" sum ")" | call{"f"} | list{sum}
call{name}: name "(" _separated{sum, ","} ")"
list{item}: "[" [_separated{item, ";"}] "]"
_separated{x, sep}: x (sep x)*
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
"""


def terminals_of(parser: Lark, text: str) -> Iterator[str]:
    for token in parser.parse_interactive(text).iter_parse():
        yield token.type


def stack_reads(grammar: LarkGrammar, names: list[str]) -> bool:
    """Whether the tables read terminals, whatever the lexer."""
    stacks = StateStacks(grammar.tables)
    numbers = {terminal.name: number for number, terminal in enumerate(grammar.tables.terminals)}
    node = BOTTOM
    for name in names:
        node = stacks.after(node, numbers[name])
        if node == NO_STATE:
            return False
    return stacks.is_complete(node)


@pytest.mark.parametrize("text", ["1", "1+2*-3", "(1)", "f(1, 2+3)", "[]", "[1;2;[3]]", "f((1))*[2]"])
def test_the_tables_read_what_lark_reads(text: str) -> None:
    grammar = read_lark(CALCULATOR)
    names = list(terminals_of(Lark(CALCULATOR, parser="lalr"), text))
    assert grammar.parse(text)
    assert stack_reads(grammar, names)
    for number in range(len(names)):
        without = names[:number] + names[number + 1 :]
        assert stack_reads(grammar, without) == lark_takes(without), without
        assert stack_reads(grammar, names[:number]) == lark_takes(names[:number])


def lark_takes(names: list[str]) -> bool:
    from lark import Token

    parser = Lark(CALCULATOR, parser="lalr").parse_interactive()
    try:
        for name in names:
            parser.feed_token(Token(name, ""))
        parser.feed_eof()
    except UnexpectedInput:
        return False
    return True


def test_what_lark_refuses_has_a_reason_and_a_position() -> None:
    grammar = read_lark(CALCULATOR)
    assert grammar.refusal("1 + 2") is None
    found = grammar.refusal("1 + )")
    assert found is not None
    assert found.position == 4
    assert "Unexpected token" in found.reason
    assert "\n" not in found.reason


def test_the_end_is_the_last_terminal_and_literals_are_shown_as_written() -> None:
    tables = read_lark('start: "select"i NAME\nNAME: /[a-z]/').tables
    assert tables.terminals[-1].name == END
    assert [(terminal.name, terminal.shown, terminal.is_literal) for terminal in tables.terminals[:-1]] == [
        ("NAME", "NAME", False),
        ("SELECT", '"select"i', True),
    ]


def test_keywords_are_where_lark_has_them() -> None:
    tables = read_lark('start: "if" NAME | NAME\nNAME: /[a-z]+/').tables
    names = [terminal.name for terminal in tables.terminals]
    first = tables.contexts[tables.context_of[tables.start]]
    assert [names[number] for number in first.ordered] == ["NAME"]
    assert {names[t]: [names[o] for o in others] for t, others in first.unless.items()} == {"NAME": ["IF"]}
    assert {len(context.unless) for context in tables.contexts} == {0, 1}


def test_tables_do_not_depend_on_the_run() -> None:
    script = (
        "import hashlib, pickle\n"
        "from sfgen.grammar.lalr.lark_package import read_lark\n"
        f"tables = read_lark({CALCULATOR!r}).tables\n"
        "print(hashlib.sha256(repr([x.tolist() if hasattr(x, 'tolist') else x for x in tables]).encode()).hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


class TestImports:
    """Files beside the grammar, and no others."""

    def test_files_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "words.lark").write_text("%import .deep.more (B)\nA: /a+/\npair: A B\n", encoding="utf-8")
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "more.lark").write_text('%import .last (X)\nB: X "é"\n', encoding="utf-8")
        (tmp_path / "deep" / "last.lark").write_text('X: "x"\n', encoding="utf-8")
        text = "%import .words (pair, A)\nstart: pair+"
        grammar = read_lark(text, directory=tmp_path)
        assert grammar.parse("axéaaxé")
        assert sorted(grammar.imported) == ["deep/last.lark", "deep/more.lark", "words.lark"]
        again = read_lark(text, files=grammar.imported)
        assert again.tables.terminals == grammar.tables.terminals
        assert (again.tables.actions == grammar.tables.actions).all()

    def test_without_a_dot_they_are_larks_own(self, tmp_path: Path) -> None:
        (tmp_path / "common.lark").write_text('INT: "one"\n', encoding="utf-8")
        assert read_lark("%import common.INT\nstart: INT", directory=tmp_path).parse("12")
        assert read_lark("%import .common.INT\nstart: INT", directory=tmp_path).parse("one")

    @pytest.mark.parametrize(
        ("text", "reason", "line"),
        [
            ("start: A\n%import .other (A)", "the imported file other.lark is missing: it is not in", 2),
            ("start: A\n%import .sub.other.A", "the imported file sub/other.lark is missing", 2),
            (
                "%import common.INT\nstart: A INT\n%import nowhere.A",
                "the imported grammar nowhere was not found",
                3,
            ),
            ("start: A\n%import no.where.A", r"the imported grammar no\.where was not found", 2),
        ],
    )
    def test_missing(self, text: str, reason: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for name in ("other.lark", "nowhere.lark"):  # where lark would look if it were asked
            (elsewhere / name).write_text('A: "a"\n', encoding="utf-8")
        (tmp_path / "grammars").mkdir()
        monkeypatch.chdir(elsewhere)
        with pytest.raises(GrammarError, match=reason) as caught:
            read_lark(text, directory=tmp_path / "grammars")
        assert caught.value.line == line

    def test_without_a_folder(self) -> None:
        with pytest.raises(GrammarError, match=r"other\.lark is missing: the grammar has no folder"):
            read_lark("start: A\n%import .other (A)")


REFUSED = {
    "unknown rule": ('start: a "x"\n', "Rule 'a' used but not defined", (1, 8), "Define it"),
    "undefined terminal": ('start: "x" A\n', "'A' used but not defined", (1, 12), "Define it"),
    "undefined in a terminal": ('start: A\nA: B "b"\n', "Terminal used but not defined: B", (2, 4), "Define it"),
    "no such start": ('a: "x"\nb: "y" a\n', "it has no rule 'start' to start with", None, "Its rules are a, b."),
    "nothing": ("", "it has no rule 'start'", None, "start: NAME"),
    "reduce and reduce": ('start: x | y\nx: "a"\ny: "a"\n', "Reduce/Reduce collision", (2, 1), "priority"),
    "empty text": ("start: A\n  A: /a*/\n", "the terminal A can match the empty text", (2, 3), "one character"),
    "unreadable": ("start: A\nA: /(a/\n", "a regular expression cannot be read: missing \\)", (2, 5), "Python's re"),
    "flags in the middle": (
        "start: A\nA: /(?i)a/\n",
        "the terminal A cannot be read: global flags",
        (2, 1),
        "follow it",
    ),
    "a property": ("start: A\nA: /\\p{L}/\n", "the terminal A cannot be read: bad escape", (2, 1), "Python's re"),
    "declared": ("%declare _IN\nstart: _IN\n", "_IN is declared but not defined, and no ind", (1, 10), "Define"),
    "declared and ignored": (
        '%declare X\n%ignore X\nstart: "a"\n',
        "X is declared but not defined",
        (1, 10),
        "Def",
    ),
    "syntax": ('start "a"\n', "Expecting rule or terminal definition", (1, 7), "documentation"),
    "an open string": ('start: x\nx: "a\n', "Unexpected input", (2, 4), "documentation"),
    "twice": ('start: "a"\nstart: "b"\n', "Rule 'start' defined more than once", (1, 1), ""),
    "a rule in a terminal": ('start: A\nA: b\nb: "x"\n', "Rules aren't allowed inside terminals", None, "a rule"),
    "recursion in a terminal": ('start: A\nA: A "a"\n', "Recursion in terminal 'A'", (1, 8), "as a rule"),
    "template": ('start: t{"a"}\n', "Template 't' used but not defined", (1, 8), "Define it"),
    "ignored and undefined": ('%ignore X\nstart: "a"\n', "marked to ignore but were not defined", None, "Define it"),
    "range": ('start: "a"~3..1\n', "Bad Range", None, ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, reason, position, hint = REFUSED[name]
    with pytest.raises(GrammarError, match=reason) as caught:
        read_lark(text)
    assert (caught.value.line, caught.value.column) == (position or (None, None))
    assert hint in caught.value.hint
    assert caught.value.hint


def test_nothing_is_logged_about_terminals_that_collide(capfd: pytest.CaptureFixture[str]) -> None:
    read_lark("start: (A | B)+\nA: /[ab]+/\nB: /[bc]+/")
    assert capfd.readouterr() == ("", "")
