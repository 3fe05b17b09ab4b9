"""Grammars with indentation: lark's own indenter and parser are the oracle."""

from __future__ import annotations

import pickle
import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lark
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError
from lark.indenter import Indenter, PythonIndenter

import sfgen
from sfgen import Grammar, Vocabulary
from sfgen.compiled_form import compiled_form, of_compiled_form
from sfgen.errors import GrammarError, LimitTooSmall, UsageError
from sfgen.grammar.language.lark_language import LarkIndented
from sfgen.models.uniform import UniformModel

TREE = r"""
start: _NL? tree+
tree: NAME [":" NAME] _NL [_INDENT tree+ _DEDENT]
NAME: /[a-z]+/
_NL: /(\r?\n[\t ]*)+/
%ignore " "
%declare _INDENT _DEDENT
"""
CALLS = r"""
start: (_NEWLINE | stmt)*
stmt: call _NEWLINE | "if" call ":" suite ["else" ":" suite]
suite: _NEWLINE _INDENT stmt+ _DEDENT | call _NEWLINE
call: NAME | NAME "(" [call ("," call)*] ")" | "[" [call ("," call)*] "]"
NAME: /[a-z]+/
COMMENT: /#[^\n]*/
_NEWLINE: (/\r?\n[\t ]*/ | COMMENT)+
%ignore " "
%ignore COMMENT
%declare _INDENT _DEDENT
"""
LONG = r"""
start: line+
line: /[a-z]/ END [IN line+ OUT]
END: /(\n\t* *)+/
%declare IN OUT
"""
PIECES = [
    "a\n",
    "b",
    ":",
    "\n  ",
    "\n",
    "  ",
    " ",
    "\t",
    "\n\n",
    "if ",
    "if a:\n",
    "else",
    "else:",
    "):\n",
    "(",
    ")",
    "(\n",
    ",",
]
PIECES += [
    ",\n  ",
    "]",
    "[",
    "# c",
    "# c\n",
    "\r\n",
    "\n a",
    "    a",
    " a\n",
    "\n    if b:\n",
    "\n\t",
    "a(b,\n",
    "#\n\n  ",
]
WORDS = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in PIECES), None],
    end_token_ids=[256 + len(PIECES)],
)
OPTIONS = SimpleNamespace(
    NL_type="END", INDENT_type="IN", DEDENT_type="OUT", OPEN_PAREN_types=[], CLOSE_PAREN_types=[], tab_len=2
)


CODE = '''\
def fill(text, width=70, *, last=None):
    """Fill
  it.
    """
    # Comment

    for index in range(10):
        if index == 3 and (width > 4 or
                last):
            print(index)
        else:
            values = [1, 2,
                      index]

    return text


class Words(object):

    def __init__(self):
\tself.a = a
        pass
'''
INDENTERS: dict[str, Any] = {
    "tree": type("ByNewlines", (PythonIndenter,), {"NL_type": "_NL"})(),
    "calls": PythonIndenter(),
    "long": type("Own", (Indenter,), dict(OPTIONS.__dict__))(),
}
TEXTS = {"tree": TREE, "calls": CALLS, "long": LONG}


@cache
def grammar(name: str) -> Grammar:
    if name == "python":
        text = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text(encoding="utf-8")
        return Grammar.from_lark(text, "file_input")
    return Grammar.from_lark(TEXTS[name], indenter=OPTIONS if name == "long" else None)


@cache
def parser(name: str) -> lark.Lark:
    if name == "python":
        return lark.Lark.open_from_package(
            "lark", "python.lark", ["grammars"], parser="lalr", postlex=PythonIndenter(), start="file_input"
        )
    return lark.Lark(TEXTS[name], parser="lalr", postlex=INDENTERS[name])


def reads(name: str, text: str) -> bool:
    """Whether lark reads a text."""
    try:
        parser(name).parse(text)
    except (LarkError, AssertionError, IndexError):
        return False
    return True


TEXTS_OF_LINES = st.lists(
    st.tuples(
        st.sampled_from(["", " ", "  ", "    ", "\t", "   "]),
        st.sampled_from(
            ["a", "b:c", "if a:", "else:", "if a: b", "f(a,", "b)", "[", "]", "# c", "", "x # c", "f(\n )"]
        ),
    ),
    max_size=6,
)


@example("tree", [("", "a"), ("  ", "b:c"), (" ", "a")], "\n")
@example("tree", [("", "a"), ("  ", "b:c"), ("", "a")], "\n")
@given(st.sampled_from(sorted(TEXTS)), TEXTS_OF_LINES, st.sampled_from(["\n", "", "\r\n", "\n\n  "]))
def test_texts_are_read_as_lark_reads_them(name: str, lines: list[tuple[str, str]], end: str) -> None:
    """The reader of any blanks agrees with lark's parser, and tells where a text fails."""
    text = "\n".join(blanks + line for blanks, line in lines) + end
    made, walk = grammar(name), grammar(name).walk(text)
    assert made.accepts(text) is reads(name, text)
    assert (walk.failure is None) is reads(name, text)


def of_language(name: str) -> LarkIndented:
    language = grammar(name)._language
    assert isinstance(language, LarkIndented)
    return language


@pytest.mark.parametrize("name", ["tree", "calls", "long", "python"])
@pytest.mark.parametrize("seed", range(3))
def test_masks_along_walks(name: str, seed: int) -> None:
    """Every token that can be read is allowed, and no other; each text can be completed, as lark says."""
    draws, made, reader = random.Random(seed), grammar(name), of_language(name).reader
    guide, position, text = made.guide(WORDS), reader.start, b""
    for _ in range(10):
        expected = [
            token for token in WORDS.text_token_ids.tolist() if reader.read(position, WORDS.tokens[token] or b"")
        ]
        ends = list(WORDS.end_token_ids) if reader.accepts(position) else []
        assert guide.allowed_tokens().tolist() == expected + ends, text
        assert guide.is_accepting is bool(ends)
        shortest = guide.tokens.shortest(position)  # type: ignore[attr-defined]
        try:
            whole = (text + shortest).decode()
        except UnicodeDecodeError:
            whole = ""
        assert not whole or reads(name, whole), whole
        if not expected:
            break
        likely = [token for token in expected if token >= 256]
        token = draws.choice(likely if likely and draws.random() < 0.7 else expected)
        guide.describe()
        guide.advance(token)
        text += WORDS.tokens[token] or b""
        after = reader.read(position, WORDS.tokens[token] or b"")
        assert after is not None
        position = after


@settings(max_examples=30)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 12), st.randoms(use_true_random=False))
def test_walks_within_a_limit_end_complete(name: str, more: int, draws: random.Random) -> None:
    made = grammar(name)
    least = made.guide(WORDS).tokens_left()
    guide, written = made.guide(WORDS, least + more), b""
    while True:
        allowed = [int(token) for token in guide.allowed_tokens()]
        assert allowed, written
        likely = [token for token in allowed if token >= 256]
        token = draws.choice(likely if likely and draws.random() < 0.8 else allowed)
        if token in WORDS.end_token_ids:
            break
        guide.advance(token)
        written += WORDS.tokens[token] or b""
    assert reads(name, written.decode())


def test_the_bound_of_a_far_limit_holds() -> None:
    """No token leads farther from the end than is said."""
    draws = random.Random(1)
    for name in ("tree", "calls"):
        guide: Any = grammar(name).guide(WORDS)
        for _ in range(12):
            most = max(guide.tokens._most_tokens(each) for each in guide.position)
            for token in guide.allowed_tokens().tolist()[:-1]:
                if token not in WORDS.end_token_ids:
                    after = guide._reader.read(guide.position, WORDS.tokens[token])
                    assert guide.tokens.tokens_left(after) <= most
            guide.advance(
                draws.choice([each for each in guide.allowed_tokens().tolist() if each != WORDS.end_token_ids[0]])
            )


def test_a_limit_below_the_shortest_text() -> None:
    with pytest.raises(LimitTooSmall):
        grammar("tree").guide(WORDS, 0)
    assert grammar("tree").guide(WORDS, 1).allowed_tokens().tolist() == [256, 256 + PIECES.index(" a\n")]


@pytest.mark.parametrize("name", ["tree", "calls", "python"])
def test_generated_texts_are_read_by_lark(name: str) -> None:
    index = sfgen.Index(grammar(name), WORDS)
    for seed in range(3):
        result = sfgen.generate(UniformModel(WORDS), "", index=index, max_tokens=24, sampler=sfgen.Sampler(1.0, seed))
        assert reads(name, result.text)


def test_python_as_people_write_it() -> None:
    text = CODE
    made = grammar("python")
    assert made.accepts(text)
    assert made.failure(text) is None
    reader = of_language("python").reader
    position = reader.read(reader.start, text.encode())
    assert position is not None
    assert reader.accepts(position)
    failure = made.failure("if x:\n    y = 1\n  z\n")
    assert failure is not None
    assert (failure.line, failure.column) == (3, 3)


def test_its_examples_and_shortest_text() -> None:
    for name in ("tree", "calls", "python", "long"):
        made = grammar(name)
        assert made.accepts(made.shortest())
        examples = made.examples(30)
        assert all(map(made.accepts, examples))
        assert any("\n    " in text for text in examples), examples


def test_a_copy_of_another_process() -> None:
    made = grammar("long")
    for copied in (pickle.loads(pickle.dumps(made)), of_compiled_form(compiled_form(made))):
        assert copied == made
        assert copied.accepts("a\n  b\n")
        assert copied.guide(WORDS).validate(list(b"a\n\tb\nc")) == 6


def test_views_name_the_open_rules() -> None:
    guide = grammar("calls").guide(WORDS)
    seen = []
    for token in (256 + PIECES.index("if a:\n"), 256 + PIECES.index("    a")):
        guide.advance(token)
        seen.append(guide.describe())
    assert seen == ["stmt: _NEWLINE", "stmt › suite: NAME"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("start: X [_INDENT X _DEDENT]\nX: /x/\n_NL: /(\\n *)+/\n%declare _INDENT _DEDENT", "is allowed after|_NL"),
        (TREE.replace("_INDENT tree+ _DEDENT", "_INDENT tree+"), "indents and dedents that are not closed"),
        (TREE.replace("_NL [_INDENT tree+ _DEDENT]", "[_INDENT tree+ _DEDENT] _NL"), "is allowed after"),
        (TREE.replace(r"(\r?\n[\t ]*)+", r"\r?\n[\t ]*"), "ends after its first line"),
        (CALLS.replace('")" |', '_NEWLINE ")" |', 1), "newline in brackets"),
        (CALLS.replace('")" |', "|", 1), "brackets that are not closed"),
        (TREE.replace("_NL", "LINE"), "declared but not defined"),
    ],
)
def test_what_cannot_be_followed_is_refused(text: str, reason: str) -> None:
    with pytest.raises(GrammarError, match=reason):
        Grammar.from_lark(text)


def test_the_indenter_belongs_to_the_grammar() -> None:
    own = Grammar.from_lark(TREE, indenter=INDENTERS["tree"])
    assert own == grammar("tree")
    assert "indenter" not in own.to_dict()
    other = Grammar.from_lark(
        TREE, indenter=type("Tabs", (Indenter,), {**PythonIndenter.__dict__, "NL_type": "_NL", "tab_len": 4})()
    )
    assert other != own
    assert other.to_dict()["indenter"]["tab_len"] == 4
    assert [each.accepts("a\n\tb\n    c\n") for each in (own, other)] == [False, True]


def test_an_indenter_is_an_object() -> None:
    with pytest.raises(UsageError, match=r"Make an object of the class: PythonIndenter\(\)"):
        Grammar.from_lark(TREE, indenter=PythonIndenter)


def test_in_a_template() -> None:
    template = sfgen.Template.of_constraints("# {{a: text}}x\n", {"a": grammar("tree")})
    assert template.accepts("# a\n  b\nx\n")
    assert not template.accepts("# a\n  b\n c\nx\n")
    guide = template.guide(WORDS)
    for byte in b"# a\n  b\nx":
        assert byte in guide.allowed_tokens()
        guide.advance(byte)


def test_with_tokens_of_the_vocabulary() -> None:
    """A thought between two special tokens, and then lines with levels."""
    text = "start: <think> THOUGHT? </think> tree+\nTHOUGHT: /[^<]+/" + TREE.replace("start: _NL? tree+\n", "")
    tokens = [*WORDS.tokens[:-1], None, None, None]
    names = {len(tokens) - 3: "<think>", len(tokens) - 2: "</think>", len(tokens) - 1: "</s>"}
    think, ended, end = names
    words = Vocabulary(tokens, end_token_ids=[end], names=names)
    made = Grammar.from_lark(text)
    guide = made.guide(words)
    assert guide.allowed_tokens().tolist() == [32, 256 + PIECES.index(" "), think]
    read = [think, *b"so\n", ended, *b"a\n  b\n", *b"  c\n", *b"d\n", end]
    assert guide.validate(read) == len(read)
    assert guide.validate([*read[:12], *b"\n c"]) == 14
    plain, position = of_language("tree").reader, None
    for number, token in enumerate(read[:-1]):
        guide.advance(token)
        if token == ended:
            position = plain.start
        elif position is not None:
            position = plain.read(position, bytes([token]))
            expected = [] if position is None else [each for each in range(256) if plain.read(position, bytes([each]))]
            if number > 6:  # before, a line is needed
                assert [each for each in guide.allowed_tokens().tolist() if each < 256] == expected
    assert made.accepts("<think>so\n</think>a\n  b\n  c\nd\n")
    assert not made.accepts("<think>so\n</think>a\n  b\n c\n")
    assert made.accepts(made.shortest())
    assert made.guide(words, 4).tokens_left() == 3
    limited, count = made.guide(words, 6), 0
    while (token := limited.allowed_tokens().tolist()[-1]) != end:
        limited.advance(token)
        count += 1
    assert count <= 6
    result = sfgen.generate(UniformModel(words), "", index=sfgen.Index(made, words), max_tokens=12)
    assert result.text.lstrip().startswith("<think>")
