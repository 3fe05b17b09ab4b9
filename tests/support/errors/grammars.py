"""Grammars that cannot be read or kept, and options that mean nothing beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.errors.case import Before, Case, both, files
from tests.support.errors.patterns import small_tokenizer

_GOOD = 'root ::= "a" | "b"'
_INDEX = ["index", "--grammar"]


def _saved(tail: bytes = b"", end: bytes = b"", **changes: str) -> Before:
    """A saved grammar, ``f``, with other facts in its header, under a checksum that is right unless it is given."""

    def write(_: pytest.MonkeyPatch) -> None:
        from sfgen import Grammar
        from sfgen.grammar.language import file
        from sfgen.index import saved_text
        from sfgen.models import load_vocabulary

        file.save(Grammar.from_gbnf(_GOOD), load_vocabulary("tiny"), "f", force=True)
        metadata = json.loads(Path("f").read_bytes()[8:])["__metadata__"] | changes
        if "checksum" not in changes:
            metadata["checksum"] = saved_text.digest(metadata)
        content = saved_text.encode_header(metadata)
        Path("f").write_bytes(content[: len(content) - len(end)] + end + tail)

    return write


def _shown(text: str, says: str) -> Case:
    """A grammar that is refused."""
    return Case([*_INDEX, text], 1, says)


_NULLABLE = 'n0 ::= "x"?\n' + "".join(f"n{number} ::= n{number - 1} n{number - 1}\n" for number in range(1, 12))
_MANY = "".join(f'r{number} ::= r{number + 1} "x" | "y"\n' for number in range(1000))

_DOUBLED = "root ::= r0\n" + "".join(f"r{n} ::= r{n + 1} r{n + 1}\n" for n in range(60)) + 'r60 ::= "a"'

GRAMMARS = [
    Case([*_INDEX, _DOUBLED], 1, "the shortest text has more than 1,099,511,627,776 bytes; texts of more than 65,536"),
    Case(["gen", "--grammar", _DOUBLED, "x"], 1, "the shortest text has more than 1,099,511,627,776 bytes"),
    # --- options
    Case([*_INDEX, _GOOD, "--regex", "a"], 2, "--regex and --grammar cannot be used together"),
    Case([*_INDEX, _GOOD, "--schema", "true"], 2, "--schema and --grammar cannot be used together"),
    Case("check --grammar - --words-file - --text 1", 2, "--grammar and --words-file cannot both come from stdin"),
    Case("gen --grammar-start a x", 2, "--grammar-start needs a grammar: it says how one is read"),
    Case("gen --grammar-format gbnf x", 2, "--grammar-format needs a grammar: it says how one is read"),
    Case("index --max-blanks 2", 2, "--max-blanks needs a grammar: it says how one is read"),
    Case([*_INDEX, _GOOD, "--max-blanks", "2"], 2, "--max-blanks is an option of Lark grammars"),
    Case(
        [*_INDEX, 'start: "a"', "--max-blanks", "1001"], 2, "--max-blanks is at most 1000, not 1001"
    ),
    Case("gen --indenter NL_type=END x", 2, "--indenter needs a grammar: it says how one is read"),
    Case([*_INDEX, _GOOD, "--indenter", "NL_type=END"], 2, "--indenter is an option of Lark grammars"),
    Case([*_INDEX, 'start: "a"', "--indenter", "END"], 2, "--indenter has NAME=VALUE, not END"),
    Case([*_INDEX, 'start: "a"', "--indenter", "NL=END"], 2, "an indenter has no option 'NL'"),
    Case([*_INDEX, 'start: "a"', "--indenter", "tab_len=END"], 2, "tab_len must be a whole number of at least 1"),
    Case(
        [*_INDEX, "start: A IN A OUT\nA: /a/\n%declare IN OUT", "--indenter", "INDENT_type=IN DEDENT_type=OUT"],
        1, "its indentation needs the terminal _NEWLINE, which no rule uses",
    ),
    Case(["gen", "--grammar", _GOOD, "--stop", "a", "x"], 2, "--stop cannot be used with a pattern, choices, a schema"),
    Case(["gen", "--grammar", _GOOD, "--engine", "fsm", "x"], 2, "--engine fsm and --grammar cannot be used together"),
    Case(["gen", "--grammar", _GOOD, "--indent", "2", "x"], 2, "--indent needs a schema: it says how values"),
    # --- what index shows of it
    *(
        Case([*_INDEX, _GOOD, *option.split()], 2, f"{said or option} and --grammar cannot be used together")
        for option, said in [
            ("--against a", "--against"),
            ("--ids", ""),
            ("--format jsonl", ""),
            ("--tokens --format dot", "--tokens"),
            ("--path a --live", "--live"),
            ("--path a --slow 1", "--slow"),
        ]
    ),
    Case([*_INDEX, _GOOD, "--engine", "fsm"], 2, "--engine fsm needs a pattern"),
    Case([*_INDEX, _GOOD, "--format", "schema"], 2, "--format schema needs a schema: it shows the JSON Schema"),
    Case([*_INDEX, _GOOD, "--state", "99"], 2, "there is no state 99: the grammar has 6"),
    Case([*_INDEX, _GOOD, "-m", "tiny"], 2, "--grammar without --save reads characters, not tokens"),
    Case([*_INDEX, _GOOD, "f"], 2, "a pattern and a saved index (f) cannot be shown together"),
    # --- the text
    Case("gen --grammar no-such.gbnf x", 1, "cannot read no-such.gbnf: No such file"),
    Case("check --grammar no-such --text a", 2, "cannot read no-such: No such file"),
    Case("gen --grammar f.gbnf x", 1, "f.gbnf is not UTF-8: line 1, byte 0", files(f__gbnf=b"\xff")),
    Case(
        "index --grammar f.gbnf", 1, "grammar f.gbnf: ::= is missing after the name 'a' at line 2, column 3",
        files(f__gbnf=f"{_GOOD}\na = b"),
    ),
    Case([*_INDEX, _GOOD, "--grammar-start", "rot"], 1, "there is no rule 'rot'"),
    # --- schemas in Lark grammars
    _shown("start: %json true", "%json must be followed by a JSON Schema, which begins with { at line 1, column 14"),
    _shown('start: %json {"a": }', "%json must be followed by a JSON Schema, and this is not valid JSON: Expecting"),
    _shown("start: %json " + '{"not":' * 200_000, "this is not valid JSON: it is nested too deep"),
    _shown('start: "a" %json {"type": "strin"}', "%json: "),
    _shown("start: " + " | ".join(f'"{n}" %json {{"const": {n}}}' for n in range(11)), "has more than 10 schemas at"),
    _shown("start: _NL %json {} _INDENT\n_NL: /\\n */\n%declare _INDENT _DEDENT", "a grammar with indentation cannot"),
    Case([*_INDEX, ""], 1, "cannot read "),
    # --- what is written in it
    _shown('root ::= "a"\n= b', "a rule must begin with its name, not with '=' at line 2, column 1"),
    _shown("root ::= a\nb ::= c", "the rule 'root' calls 'a', which is not a rule at line 1, column 10"),
    _shown('root ::= "a" x ::= "b"', "the rule 'x' begins inside the rule 'root' at line 1, column 14"),
    _shown('root ::= ("a"\nx ::= "b"', "this bracket is never closed at line 1, column 10"),
    _shown('root ::= ("a"', "this bracket is never closed at line 1, column 10"),
    _shown("root ::= " + "(" * 101, "more than 100 brackets are open"),
    _shown('root ::= "a"' + "?" * 3000, "brackets and repetitions are nested too deep"),
    _shown("root ::= <think", "this is never closed by > at line 1, column 10"),
    Case(
        ["gen", "--grammar", "root ::= <thin>", "x"],
        1, "no single token of the vocabulary is <thin> at line 1, column 10",
    ),
    Case(["gen", "--grammar", "root ::= <[9999999]>", "x"], 1, "there is no token 9999999: the vocabulary has"),
    Case(["gen", "-m", "uniform", "--grammar", "root ::= <[65536]>", "x"], 1, "this token ends a text, so nothing"),
    _shown("root ::= *", "there is nothing before * to repeat at line 1, column 10"),
    _shown("root ::= )", "this ) closes nothing at line 1, column 10"),
    _shown("root ::= 'a'", "is not allowed here at line 1, column 10"),
    _shown('root ::= "a"{,3}', "a number is missing after { at line 1, column 14"),
    _shown('root ::= "a"{3', "this is never closed by } at line 1, column 13"),
    _shown('root ::= "a"{3,2}', "no count is at least 3 and at most 2"),
    _shown('root ::= "a"{300000}', "passes the limit of 200,000 bytes and parts at line 1, column 10"),
    _shown('root ::= "a', 'this is never closed by " at line 1, column 10'),
    _shown("root ::= [a", "this is never closed by ] at line 1, column 10"),
    _shown("root ::= []", "this class is empty at line 1, column 10"),
    _shown(r"root ::= [\ud800-\udfff]", "this class has no character at line 1, column 10"),
    _shown("root ::= [b-a]", "the range b-a goes backwards at line 1, column 11"),
    _shown(r'root ::= "\d"', "there is no escape \\d at line 1, column 11"),
    _shown(r'root ::= "\x4"', "the escape \\x needs 2 hexadecimal digits at line 1, column 11"),
    _shown(r'root ::= "\U00110000"', "there is no character U+110000 at line 1, column 11"),
    _shown(r'root ::= "\ud800"', "U+D800 is a surrogate, which no text contains at line 1, column 11"),
    # --- what it means
    _shown(f'{_NULLABLE}root ::= a | "y"\na ::= n11 root', "calls itself before it reads anything: root → a → root"),
    _shown('root ::= "a" b\nb ::= "c" root', "there is no text at all: the rule 'root' never ends, root → b → root"),
    _shown(f'root ::= r0\n{_MANY}r1000 ::= "z"', "frames of rules that begin with each other at line"),
    _shown('root ::= ("a"? [a-z]){2000}', "200,000,000 steps of construction at line 1, column 1"),
    Case(
        ["gen", "-m", "uniform", "--tokenizer", "tok", "--grammar", 'root ::= "é"', "x"],
        1, "no sequence of tokens of this vocabulary", small_tokenizer,
    ),
    Case(["gen", "--grammar", 'root ::= "a"{50}', "--max-tokens", "3", "x"], 1, "the shortest text takes"),
    # --- saved ones
    Case([*_INDEX, 'root ::= "z"', "--save", "f"], 1, "f exists and holds something else", _saved()),
    Case("gen --index f x", 1, "f was made for another vocabulary", _saved(vocabulary_fingerprint="0" * 64)),
    Case("index f", 1, "f is damaged: it is not as long as it says", _saved(tail=b" ")),
    Case("index f", 1, "f is damaged: its header is not in order", _saved(end=b"x")),
    Case("index f", 1, "f has the format sfgen-grammar-9; this sfgen reads", _saved(format="sfgen-grammar-9")),
    Case("index f", 1, "f is damaged: its options are not in order", _saved(options="[]")),
    Case("index f", 1, "grammar: this is never closed", _saved(grammar='root ::= "a')),
    Case("index f -m tiny --state 99", 2, "there is no state 99", _saved()),
]  # fmt: skip


_IMPORTS = "start: A\n%import .words (A)\n"


def _doubled(times: int) -> str:
    """Rules that each use the next one twice: the shortest text has 2 ** times letters."""
    rules = "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(times))
    return f'start: r0\n{rules}r{times}: "a"\n'


def _file(text: str, says: str, **others: str | bytes) -> Case:
    """A grammar in a file, and others beside it."""
    return Case("index --grammar g.lark", 1, says, files(g__lark=text, **others))


def _indented(start: str, says: str, newline: str = r"/(\n[\t ]*)+/") -> Case:
    """A grammar with indentation."""
    return _file(f"{start}A: /a/\n_NL: {newline}\n%declare _INDENT _DEDENT\n", says)


LARK = [
    _file('a: "x"\n', "it has no rule 'start' to start with"),
    _file('start "a"\n', "Expecting rule or terminal definition"),
    _file("start: A\nA: /(a/\n", "a regular expression cannot be read: missing )"),
    _file('start: a "x"\n', "Rule 'a' used but not defined"),
    _file("start: A\n%import nowhere.A\n", "the imported grammar nowhere was not found"),
    _file('start: x | y\nx: "a"\ny: "a"\n', "Reduce/Reduce collision"),
    _file(_IMPORTS, "the imported file words.lark is missing"),
    _file(_IMPORTS, "the imported file words.lark contains %json, which is allowed in", words__lark="a: %json {}\n"),
    _file(_IMPORTS, "the imported file words.lark is not UTF-8", words__lark=b"\xff"),
    Case(
        "gen --grammar g.lark",
        1,
        "the imported file words.lark is too long",
        both(files(g__lark=_IMPORTS), lambda _: os.symlink("/dev/zero", "words.lark")),
    ),
    _file("start: A\nA: /(?i)a/\n", "the terminal A cannot be read: global flags"),
    _file("start: A\nA: /a*/\n", "the terminal A can match the empty text"),
    _file("%declare _IN\nstart: _IN\n", "_IN is declared but not defined, and no indenter adds it"),
    _file("start: A\nA: /(a|b)\\1/\n", "the terminal A, /(a|b)\\1/, is not supported: not regular"),
    _file('start: start "x"\n', "there is no text at all: a rule never ends at line 1, column 1"),
    _file("start: A B\nA: /a+/\nB: /a/\n", "the terminals that the lexer prefers leave no text"),
    _file(_doubled(18), "the shortest text has 262,144 bytes; texts of more than 65,536 are not written out"),
    _file(_doubled(40), "the shortest text has more than 1,099,511,627,775 bytes; texts of more than"),
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
    # --- tokens
    _file("start: <think\n", "this is never closed by > at line 1, column 8"),
    _file("start: <[a]>\n", "only numbers of tokens are allowed between <[ and ]> at line 1, column 8"),
    _file("start: <[3-1]>\n", "the range 3-1 goes backwards at line 1, column 8"),
    _file("start: A\nA: <[1]> /a/\n", "the terminal A contains a token of the vocabulary at line 2, column 1"),
    _file("start: <think> a\n", "Rule 'a' used but not defined"),
    _file(f"start: {' '.join(map('<[{}]>'.format, range(11)))}\n", "has more than 10 different tokens"),
    _file('%llguidance {"allow_initial_skip": true}\nstart: /a/\n', "%llguidance has options that are not supported"),
    _file(
        "start: a\na[lazy]: /a+/\n", "options of a rule in brackets are an extension of llguidance at line 2, column 2"
    ),
    # --- quotations
    _file("start: %regex\n", "%regex is not followed by JSON: Expecting value"),
    _file("start: %regex []\n", "%regex is not followed by a JSON object at line 1, column 15"),
    _file('start: %regex {"type": "number"}\n', "%regex has no field 'type' at line 1, column 15"),
    _file(
        'start: %regex {"substring_words": 1}\n', "substring_words must be a text and not empty at line 1, column 15"
    ),
    _file(f'start: %regex {{"substring_chars": "{"a" * 2500}"}}\n', "3,000,000 steps of construction for a document"),
    _file('start: A\nA: /a$/ %regex {"substring_chars": "b"}\n', "an anchor or an atomic group beside %regex"),
    # --- indentation
    _indented(
        "start: A _NL _INDENT A _NL _DEDENT\n", "the terminal _NL ends after its first line at line 3", r"/\n[\t ]*/"
    ),
    _indented("start: A _INDENT A _NL _DEDENT\n", "_INDENT is allowed after A, where no indenter adds it"),
    _indented("start: (A _NL _INDENT A _NL)+\n", "has indents and dedents that are not closed in the same rule"),
]
