"""Documents that cannot be quoted, and options that mean nothing beside them."""

from __future__ import annotations

from tests.support.errors.case import Case, files, patched

_DOCUMENT = files(d="to be or not\r\nto be")
_SCHEMA = files(s__json='{"x-substring-of": "d"}')
_LONG = files(s__json='{"x-substring-of": "d"}', n="a" * 20_000)
_INDEX = ["index", "--substring-of", "d"]


def _hole(what: str, says: str) -> Case:
    """A hole that cannot be filled."""
    return Case(["index", "--template", "{{q: substring " + what + "}}"], 1, says, _DOCUMENT)


SUBSTRINGS = [
    Case("gen --substring-of none.txt x", 1, "cannot read none.txt: No such file"),
    Case("gen --substring-of d x", 1, "d is not UTF-8: line 1, byte 1", files(d=b"a\xff")),
    Case("gen --substring-of d x", 2, "d: the document has no characters: nothing can be quoted from it", files(d="")),
    Case("gen --substring-of d --substring-unit word x", 2, "d: the document has no words", files(d=" \n")),
    Case("check --substring-of - --substring-unit line --text x", 2, "stdin: the document has no lines", stdin="\n\n"),
    Case([*_INDEX, "--substring-unit", "word", "--substring-least", "7"], 2, "has only 6 words", _DOCUMENT),
    Case([*_INDEX, "--substring-least", "3", "--substring-most", "2"], 2, "most is 2, and least is 3", _DOCUMENT),
    Case([*_INDEX, "--path", "to"], 2, "--path and --substring-of cannot be used together", _DOCUMENT),
    Case([*_INDEX, "--state", "0"], 2, "--state and --substring-of cannot be used together", _DOCUMENT),
    Case([*_INDEX, "--format", "dot"], 2, "--format dot and --substring-of cannot be used together", _DOCUMENT),
    Case("gen --substring-unit word x", 2, "--substring-unit needs a document: it says how one is quoted"),
    Case("gen --substring-of d --regex a x", 2, "--regex and --substring-of cannot be used together", _DOCUMENT),
    Case("gen --substring-of d --substring-least 19 --max-tokens 3 x", 1, "the shortest text takes", _DOCUMENT),
    Case("gen --substring-of d --engine naive x", 2, "--engine naive and --substring-of cannot be used", _DOCUMENT),
    Case(
        "gen --substring-of d x", 2, "the document has 19 bytes, and the limit is 9",
        lambda monkeypatch: [_DOCUMENT(monkeypatch), patched("sfgen.substring.document.MAX_BYTES", 9)(monkeypatch)],
    ),
    Case(
        "gen --substring-of d --model zip:z x", 1, "no sequence of tokens of this vocabulary writes any text of",
        files(d="漢", z="abc"),
    ),
    Case(
        [*_INDEX, "--save"], 1, "bytes in a file, and the limit is 99",
        lambda monkeypatch: [_DOCUMENT(monkeypatch), patched("sfgen.index.saved_text._LONGEST", 99)(monkeypatch)],
    ),
    Case("gen --schema s.json x", 1, 'names the document \'d\', which is not given at /x-substring-of', _SCHEMA),
    Case("gen --schema s.json x", 1, "document beside the schema, by its name, with --document NAME=FILE", _SCHEMA),
    Case("gen --document d=s.json x", 2, "--document needs a schema: its strings are quoted", _SCHEMA),
    Case("gen --schema s.json --document d x", 2, "--document d does not name a document and its file", _SCHEMA),
    Case("gen --schema s.json --document d=s.json --document d=x x", 2, "--document names d twice", _SCHEMA),
    Case("gen --schema s.json --document d=none x", 1, "cannot read none: No such file", _SCHEMA),
    Case("gen --schema s.json --document d=n x", 1, "the automaton of a document of", _LONG),
    Case(["index", "--schema", '{"x-substring-of": 1}'], 1, "must be the name of a document, not a number"),
    _hole("none.txt", "cannot read the document none.txt: No such file or directory at line 1, column 16"),
    _hole("d unit word unit line", "unit is given twice at line 1, column 18"),
    _hole("d least 30", "d: the document has only 19 characters"),
    _hole("", "this hole has no document"),
]  # fmt: skip
