"""Grammars in Lark's language that lark refuses, or that the lexer cannot follow."""

from __future__ import annotations

import os

from tests.support.errors.case import Case, both, files

_IMPORTS = "start: A\n%import .words (A)\n"


def _doubled(times: int) -> str:
    """Rules that each use the next one twice: the shortest text has 2 ** times letters."""
    rules = "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(times))
    return f'start: r0\n{rules}r{times}: "a"\n'


def _file(text: str, says: str, **others: str | bytes) -> Case:
    """A grammar in a file, and others beside it."""
    return Case("index --grammar g.lark", 1, says, files(g__lark=text, **others))


LARK = [
    _file('a: "x"\n', "it has no rule 'start' to start with"),
    _file('start "a"\n', "Expecting rule or terminal definition"),
    _file("start: A\nA: /(a/\n", "a regular expression cannot be read: missing )"),
    _file('start: a "x"\n', "Rule 'a' used but not defined"),
    _file("start: A\n%import nowhere.A\n", "the grammar nowhere that it imports is nowhere"),
    _file('start: x | y\nx: "a"\ny: "a"\n', "Reduce/Reduce collision"),
    _file(_IMPORTS, "the file words.lark that it imports is missing"),
    _file(_IMPORTS, "the file words.lark that it imports is not UTF-8", words__lark=b"\xff"),
    Case(
        "gen --grammar g.lark",
        1,
        "the file words.lark that it imports is too long",
        both(files(g__lark=_IMPORTS), lambda _: os.symlink("/dev/zero", "words.lark")),
    ),
    _file("start: A\nA: /(?i)a/\n", "the terminal A cannot be read: global flags"),
    _file("start: A\nA: /a*/\n", "the terminal A can match the empty text"),
    _file("%declare _IN\nstart: _IN\n", "_IN is declared and has no definition: what an indenter makes"),
    _file("start: A\nA: /(a|b)\\1/\n", "the terminal A, /(a|b)\\1/, cannot be followed: a backreference"),
    _file('start: start "x"\n', "there is no text at all: a rule never ends at line 1, column 1"),
    _file("start: A B\nA: /a+/\nB: /a/\n", "what the lexer takes first leaves nothing"),
    _file(_doubled(18), "the shortest text has 262,144 bytes; those above 65,536 are not written out"),
    _file(_doubled(40), "the shortest text has more than 1,099,511,627,775 bytes; those above"),
    Case(
        "gen --grammar g.lark x",
        1,
        "a limit of 256 tokens is too small: the shortest text has 262,144 bytes",
        files(g__lark=_doubled(18)),
    ),
    Case(
        "index --grammar g.lark --max-blanks 0",
        1,
        "no text at all with at most 0 blanks in a row",
        files(g__lark='start: A B\nA: /a+/\nB: /a/\n%ignore " "\n'),
    ),
    _file("start: " + "[A] " * 30 + '\nA: "a"\n', "the rule start passes the limit of 30,000 alternatives"),
    _file("start: A\n" + "".join(f"A{n}: A{n + 1} A{n + 1}\n" for n in range(40)), "the terminal A0 passes the limit"),
    _file("start: A\nA: /(?>(a|bc){900000}d)/\n", "more than the limit of 1,800,000"),
    _file("start: A\nA: /(ab{1,900}c){1,900}/\n", "100,000 states for the terminals"),
    _file('start: A "x"\nA: /[ab]*a[ab]{30}/\n', "15,000 states for the lexer"),
]
