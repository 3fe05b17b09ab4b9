"""Lark grammars of the usual kinds: sfgen's verdicts are lark's, and its guides write what lark accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracles.lark_language import LarkLanguage
from tests.support.grammars.lark import (
    EXAMPLES,
    Example,
    mutants,
    read_by_lark,
    read_by_sfgen,
    reads,
    vocabulary_of,
)
from tests.support.running.tried import tried

from sfgen import Grammar, Index, Vocabulary

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)
DEEP = 10_000


# ---- verdicts ------------------------------------------------------------------------------------------------------


@every_example
def test_right_and_wrong_texts(example: Example) -> None:
    accepted = [text for text in [*example.right, *example.wrong] if example.theirs.accepts(text)]
    assert accepted == list(example.right), "lark does not say what the file says"
    assert [text for text in [*example.right, *example.wrong] if example.ours.accepts(text)] == accepted
    assert [text for text in [*example.right, *example.wrong] if example.ours.accepts(text.encode())] == accepted


@every_example
@given(st.data())
def test_mutants(example: Example, data: st.DataObject) -> None:
    text = data.draw(mutants(example))
    expected = example.theirs.accepts(text)
    event("right" if expected else "wrong")
    assert example.ours.accepts(text) is expected


@every_example
@tried("some")
@given(st.data())
def test_guides_read_what_is_written(example: Example, data: st.DataObject) -> None:
    """And nothing else: no comments, no white space beyond the limit."""
    text = data.draw(st.sampled_from(example.right) | mutants(example))
    guide = Index(example.ours, vocabulary_of(example)).guide()
    expected = example.theirs.is_written(text)
    event("written" if expected else "not written")
    assert reads(guide, text.encode()) is expected


@every_example
def test_right_texts_that_are_written(example: Example) -> None:
    guide = Index(example.ours, vocabulary_of(example)).guide()
    written = [text for text in example.right if example.theirs.is_written(text)]
    assert len(written) >= 2
    assert [text for text in example.right if reads(guide, text.encode())] == written


@every_example
def test_the_shortest_text(example: Example) -> None:
    text = example.ours.shortest().decode()
    assert example.theirs.is_written(text)
    assert len(text) <= min(map(len, filter(example.theirs.is_written, example.right)))
    assert example.ours.refusal(text.encode()) is None


def test_what_lark_refuses_is_refused() -> None:
    """The judge of a finished text is lark itself."""
    example = EXAMPLES[0]
    for text in example.wrong:
        assert example.ours.refusal(text.encode()) is not None
    for text in example.right:
        assert example.ours.refusal(text.encode()) is None


# ---- constructs ----------------------------------------------------------------------------------------------------

CONSTRUCTS: dict[str, tuple[str, list[str], list[str]]] = {
    "a keyword before a name, blanks ignored": (
        'start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "',
        ["ifx", "if x", "ifif", "if if", " if  x "],
        ["if", "i fx", "IF x"],
    ),
    "a keyword or a name": (
        'start: "if" NAME | NAME\nNAME: /[a-z]+/\n%ignore " "',
        ["ifx", "if x", "iff", "x", "if if"],
        ["if", "x y", "ifx y"],
    ),
    "a keyword among names that go on": (
        'start: "select" NAME "from" NAME\nNAME: /[a-z]+/\n%ignore " "',
        ["select a from b", "selecta from b", "select from from from", "select afrom from b"],
        ["select afrom b", "select a fromb c", "select a from", "select aFROM b"],
    ),
    "keywords in either case": (
        'start: "select"i NAME "from"i NAME\nNAME: /[a-z]+/i\n%ignore " "',
        ["SELECT a FROM b", "sElEcT a from B", "select select from select", "select A fRom b"],
        ["select aFROM b", "select a", "selecta"],
    ),
    "a keyword in one case among names in either": (
        'start: ("if" | NAME) NAME\nNAME: /[a-z]+/i\n%ignore " "',
        ["if x", "IF x", "If if"],
        ["if", "x"],
    ),
    "a keyword in either case among names in one": (
        'start: "if"i NAME | NAME "!"\nNAME: /[a-z]+/\n%ignore " "',
        ["if x", "IF x", "If x", "IFx", "x!", "ifx!"],
        ["if!", "IF!", "Ifx!"],
    ),
    "literals that begin with each other": (
        'start: ("<" | "<=" | "<<" | "<<=" | "=")+',
        ["<", "<=", "<<=", "<<<=", "=<"],
        ["", ">"],
    ),
    "the longest literal is taken though another would do": ('start: "ab" "c" | "abc" "d"', ["abcd"], ["abc", "abcc"]),
    "the first that matches, not the longest": ('start: A | B\nA: /a+/\nB: "ab"', ["a", "aa"], ["b", "ab"]),
    "the first by priority": (
        'start: (A | B)+ "!"\nA.2: /a/\nB: /ab?/',
        ["a!", "aa!"],
        ["ab!", "!"],
    ),
    "the first by length of the pattern": ('start: (A | B) "c"\nA: /a|ab/\nB: "a"', ["ac"], ["abc"]),
    "an alternation that stops early": ('start: A "c"\nA: /a|ab/', ["ac"], ["abc"]),
    "a lazy terminal": ('start: (S "+"?)+\nS: /".*?"/', ['"a"', '"a""b"', '"a"+"b"'], ['"', '"a"b"', '"a""']),
    "a greedy terminal": ('start: S ("+" S)*\nS: /".*"/', ['"a"', '"a"+"b"', '"a"b"'], ['"a"b', '"a"+']),
    "a terminal that looks behind": (
        'start: S+\n%import common.ESCAPED_STRING -> S\n%ignore " "',
        ['"a"', r'"\""', r'"\\"', r'"\\" "\""', r'"\\""a"'],
        ['"', r'"\"', r'"\\\"', '"\n"'],
    ),
    "a terminal that looks ahead": (
        'start: (N | W)+\nN: /[0-9]+(?![a-z0-9])/\nW: /[a-z0-9]+/',
        ["12", "12a", "a12"],
        ["", "é"],
    ),
    "a terminal that looks ahead at the next one": ('start: A B?\nA: /a+(?=b|$)/\nB: "b"', ["a", "aab"], ["b", "aac"]),
    "a number before a dot": (
        'start: (INT | FLOAT) ("." NAME)?\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]*/\nNAME: /[a-z]+/',
        ["1", "1.", "1..a", "1.5.a"],
        ["1.a", ".a", "1.5."],
    ),
    "empty rules": ('start: a b c\na: "x"?\nb: | "y" b\nc:', ["", "x", "yy", "xy"], ["yx", "z"]),
    "an optional part in brackets": ('start: "a" ["b"] ["c" ["d"]]', ["a", "ab", "acd", "abc"], ["ad", "acb"]),
    "repetitions with counts": ('start: "a"~2 "b"~0..2 "c"~1..3', ["aac", "aabbccc"], ["abc", "aabbbc", "aab"]),
    "repetitions in terminals": ('start: A\nA: ("a" "b"?)~2..3 "c"*', ["aa", "ababab", "aabcc"], ["a", "aaaa", "abb"]),
    "left recursion": ('start: start "+" "a" | "a"', ["a", "a+a", "a+a+a"], ["", "+a", "a+"]),
    "right recursion": ('start: "a" "+" start | "a"', ["a", "a+a", "a+a+a"], ["", "+a", "a+"]),
    "middle recursion": ('start: "(" start ")" | "a"', ["a", "((a))"], ["(a", "a)", "()"]),
    "mutual recursion": ('start: "a" b | "c"\nb: "b" start | start "d"', ["c", "acd", "abc", "aabcd"], ["ac", "ab"]),
    "a shift before a reduction": (
        'start: "i" start | "i" start "e" start | "x"',
        ["ixex", "iixex", "iixexex"],
        ["ie", "ixexex"],
    ),
    "rules that are inlined": ('start: a\n?a: b | a "+" b\n?b: "x" | "(" a ")"', ["x", "x+(x+x)"], ["", "(x", "x+"]),
    "rules that are left out": ('start: _a+\n_a: "x" _b\n_b: "y"?', ["x", "xyx"], ["y", ""]),
    "aliases": ('start: "a" start -> more\n | "b" -> last', ["b", "aab"], ["a", "ba"]),
    "templates": (
        'start: list{word, ","} ";" list{number, ":"}\nlist{item, by}: item (by item)*\nword: "a"\nnumber: "1"',
        ["a;1", "a,a;1:1"],
        ["a:a;1", "a;", "a,;1"],
    ),
    "terminals made of terminals": (
        'start: NUMBER+\nNUMBER: SIGN? DIGIT+ ("." DIGIT+)?\nSIGN: "+" | "-"\nDIGIT: "0".."9"\n%ignore ","',
        ["1", "-1.5", "1,2", "1-2"],
        ["", "-", "1.", ".5", "- 1"],
    ),
    "imports of common": (
        'start: (CNAME | SIGNED_NUMBER)+\n%import common (CNAME, SIGNED_NUMBER, WS)\n%ignore WS',
        ["a_1", "-1.5e+3", "a -1\n\tb", "1e5x"],
        ["", "-", "é", "a.b"],
    ),
    "flags": (
        "start: A B C?\nA: /a.b/s\nB: /c d/x\nC: /e$/m",
        ["a\nbcd", "axbcd", "axbcde"],
        ["abcd", "axbc d", "axbcdee", "A\nbcd"],
    ),
    "a flag of one terminal": ('start: A B\nA: /a/i\nB: /b/', ["ab", "Ab"], ["aB", "AB"]),
    "text beyond ASCII": (
        'start: (WORD | "→" | "é"i)+\nWORD: /[^\\W\\d_]+/\n%ignore " "',
        ["é", "É→x", "日本 語", "ß", "→"],
        ["", "1", "_", "\u0301"],
    ),
    "ignored terminals that are terminals too": (
        'start: "a" (NL "b")*\nNL: /\\n/\n%ignore /[ \\n]/',
        ["a", "a\n", "a "],
        ["a b", "b"],
    ),
    "comments that are ignored": (
        'start: "a"+\n%ignore /#[^\\n]*/\n%ignore /\\s/',
        ["a#b", "a# a\na", "#\na", "a  a"],
        ["#a", "b", "a/"],
    ),
    "what is ignored begins a terminal": (
        'start: ("a" | "/" | "//x")+\n%ignore /\\/\\/[^\\n]*/\n%ignore " "',
        ["a/a", "a // b", "a//a"],
        ["//", "b", ""],
    ),
    "a terminal of blanks": ('start: "a" (SPACES "a")*\nSPACES: / +/', ["a", "a   a"], ["aa", "a ", " a"]),
    "priorities of rules do nothing": ('start: a | b\na.2: "x"\nb.1: "y"', ["x", "y"], ["xy"]),
    "an extended rule": ('%import common.WORD\nstart: a\na: "x"\n%extend a: WORD "!"', ["x", "y!", "xy!"], ["y", "x!"]),
    "an overridden rule": ('start: "a" X\n%import common.INT -> X\n%override X: "b"', ["ab"], ["a1", "a"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_each_construct(name: str) -> None:
    grammar, accepted, refused = CONSTRUCTS[name]
    ours, theirs = read_by_sfgen(grammar), read_by_lark(grammar)
    texts = [*accepted, *refused]
    assert [text for text in texts if theirs.accepts(text)] == accepted, "lark does not say what the table says"
    assert [text for text in texts if ours.accepts(text)] == accepted
    assert theirs.is_written(ours.shortest().decode())


def test_imports_from_a_file_beside(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text('word: A | "(" word ")"\nA: /[a-c]+/\n', encoding="utf-8")
    grammar = 'start: word+\n%import .words.word\n%ignore " "'
    ours, theirs = Grammar.from_lark(grammar, directory=tmp_path), LarkLanguage(grammar, directory=tmp_path)
    for text in ("abc", "(a)((b)) c", "", "(a", "d", "()"):
        assert ours.accepts(text) is theirs.accepts(text) is (text in ("abc", "(a)((b)) c"))


def test_bytes_that_are_no_text() -> None:
    ours = read_by_sfgen("start: /[^a]/+")
    assert ours.accepts("é".encode())
    for data in (b"\xc3", b"\xff", b"\xed\xa0\x80", b"b\xc3"):
        assert not ours.accepts(data)
        assert ours.refusal(data) is not None


@pytest.mark.parametrize("max_blanks", [0, 1, 3])
def test_blanks(max_blanks: int) -> None:
    """They are read without bound, and written up to the limit."""
    grammar = 'start: "a" ("," "a")*\n%ignore /\\s/\n%ignore /#[^\\n]*/'
    ours = Grammar.from_lark(grammar, max_blanks=max_blanks)
    theirs = LarkLanguage(grammar, max_blanks=max_blanks)
    guide = Index(ours, vocabulary_of(EXAMPLES[0])).guide()
    for blanks in ("", " ", "\n", "\t ", " \r\n", " \n ", "    ", " " * 50, "\u00a0", "#x\n", "\x1c"):
        for text in (f"a{blanks},a", f"a,{blanks}a", f"{blanks}a", f"a{blanks}"):
            assert ours.accepts(text) is theirs.accepts(text) is True
            assert reads(guide, text.encode()) is theirs.is_written(text), text
    assert reads(guide, b"a ,a") is (max_blanks >= 1)


# ---- depth ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grammar", "text", "wrong"),
    [
        ('start: "(" start ")" | "a"', "(" * DEEP + "a" + ")" * DEEP, "(" * DEEP + "a" + ")" * (DEEP - 1)),
        ('start: "(" start* ")"', "(" * DEEP + ")" * DEEP, "(" * DEEP + ")" * (DEEP - 1)),
        ('start: start "+" "a" | "a"', "a" + "+a" * DEEP, "a" + "+a" * DEEP + "+"),
        ('start: "a" "+" start | "a"', "a+" * DEEP + "a", "a+" * DEEP),
        ('start: "a" start "b" |', "a" * DEEP + "b" * DEEP, "a" * DEEP + "b" * (DEEP + 1)),
    ],
    ids=["middle", "lists", "left", "right", "both sides"],
)
def test_deep_texts(grammar: str, text: str, wrong: str) -> None:
    ours, theirs = read_by_sfgen(grammar), read_by_lark(grammar)
    assert ours.accepts(text) is theirs.accepts(text) is True
    assert ours.accepts(wrong) is theirs.accepts(wrong) is False
    guide = Index(ours, vocabulary_of(EXAMPLES[0])).guide()
    assert reads(guide, text.encode())
    assert not reads(guide, wrong.encode())


def test_deep_json() -> None:
    ours = next(example for example in EXAMPLES if example.name == "json").ours
    assert ours.accepts("[" * DEEP + "]" * DEEP)
    assert not ours.accepts("[" * DEEP + "]" * (DEEP - 1))
    assert ours.accepts('{"a":' * DEEP + "1" + "}" * DEEP)


@pytest.mark.parametrize("times", [15, 28, 60])
def test_a_branch_too_long_for_any_limit_is_shut_under_one(times: int) -> None:
    rules = "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(times))
    grammar = Grammar.from_lark(f'start: "a" | "b" r0\n{rules}r{times}: "a" | "(" r{times} ")"\n')
    assert grammar.shortest() == b"a"
    assert grammar.examples(3)[0] == "a"
    guide = Index(grammar, Vocabulary([b"a", b"b", b"(", b")", None], end_token_ids=[4])).guide(9)
    assert guide.allowed_tokens().tolist() == [0]
    assert guide.tokens_left() == 1


def test_the_bytes_of_a_text_that_is_not_written_out_bound_its_tokens() -> None:
    rules = "".join(f"r{n}: r{n + 1} r{n + 1}\n" for n in range(17))
    grammar = Grammar.from_lark(f'start: "b" | r0\n{rules}r17: "a" | "(" r17 ")"\n')
    guide = Index(grammar, Vocabulary([b"a", b"b", b"(", b")", b"aaaa", None], end_token_ids=[5])).guide(2**17)
    guide.advance(4)
    assert guide.tokens_left() == 2**17 - 4
    assert guide.allowed_tokens().tolist() == [0, 2, 4]
