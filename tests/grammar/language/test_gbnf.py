"""Grammars in GBNF: what is read, what is refused and where, and what is written by them."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from tests.oracles.enumerated_grammars import Enumerated
from tests.oracles.recogniser import Recogniser
from tests.support.grammars.gbnf import ALPHABET, Written, gbnf_texts

import sfgen
from sfgen import Grammar, SfgenError, Vocabulary
from sfgen.errors import DeadEnd, GrammarError, LimitTooSmall, UsageError
from sfgen.grammar.language.gbnf import MAX_NESTING, read_gbnf
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.models.uniform import UniformModel

DATA = Path(__file__).resolve().parents[2] / "data" / "gbnf"
SHORT_TEXTS = ["".join(letters) for length in range(5) for letters in product(ALPHABET, repeat=length)]


DOUBLED = 'n0 ::= "x"?\n' + "".join(f"n{number} ::= n{number - 1} n{number - 1}\n" for number in range(1, 12))
"""Rules that may be empty, and begin in too many ways."""


def unless_refused(make: Callable[[Any], Any], argument: Any) -> Any:
    """What is made, or the error."""
    try:
        return make(argument)
    except SfgenError as error:
        return error


def example(name: str) -> str:
    return (DATA / f"{name}.gbnf").read_text(encoding="utf-8")


# ---- what it means -------------------------------------------------------------------------------------------------


@given(gbnf_texts())
def test_random_grammars_have_the_texts_that_they_mean(written: Written) -> None:
    grammar, recogniser = unless_refused(Grammar.from_gbnf, written.text), unless_refused(Recogniser, written.grammar)
    if isinstance(grammar, SfgenError):
        event("refused")
        assert "no text at all" in grammar.message
        assert "no text at all" in str(recogniser)
        return
    if isinstance(recogniser, SfgenError):
        event("refused by the recogniser only")
        assert "no text at all" not in recogniser.message
        texts = Enumerated(written.grammar, 4).texts
        for text in SHORT_TEXTS:
            assert grammar.accepts(text) is (text.encode() in texts) or len(text.encode()) > 4, text
        return
    event("compared")
    for text in SHORT_TEXTS:
        assert grammar.accepts(text) is recogniser.accepts(text), text
    assert recogniser.accepts(grammar.shortest()) or not set(grammar.shortest().decode()) <= set(ALPHABET)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        (r'root ::= "\n\r\t\\\"\[\]\-"', ['\n\r\t\\"[]-'], ["n"]),
        (r'root ::= "\x41\u00e9\U0001F600"', ["Aé😀"], ["Aé"]),
        (r"root ::= [a\-c]", ["a", "-", "c"], ["b", "\\"]),
        (r"root ::= [a-]", ["a", "-"], ["]"]),
        (r"root ::= [-a]", ["a", "-"], ["b"]),
        (r"root ::= [+--]", ["+", ",", "-"], ["."]),
        (r"root ::= [\]\[^]", ["]", "[", "^"], ["\\"]),
        (r"root ::= [^\n]", ["a", "é", "😀", "\r"], ["\n", "", "ab"]),
        ("root ::= .", ["\n", "\x00", "é", "\U0010ffff"], ["", "ab", "\ud800"]),
        (r"root ::= [\ud7ff-\ue000]", ["\ud7ff", "\ue000"], ["\ud800"]),
        (r"root ::= [ぁ-ゟ]", ["ぁ", "ん"], ["ア"]),
        ('root ::= "a" | | "bc"', ["a", "", "bc"], ["b"]),
        ("root ::=", [""], ["a"]),
        ('\ufeffroot ::= "a"', ["a"], [""]),
        ('root ::= root root | root "+" root | root "!" | "a" | "-" root', ["aa-a!", "a+aa"], ["a+", "!a", ""]),
        ('root ::= ""', [""], ["a"]),
        ('root ::= "ab"+', ["ab", "abab"], ["abb", ""]),
        ('root ::= "a"{2}', ["aa"], ["a", "aaa"]),
        ('root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
        ('root ::= "a"{0,2} "b"', ["b", "aab"], ["aaab"]),
        ('root ::= "a" { 1 , 2 }', ["a", "aa"], ["", "aaa"]),
        ('root ::= "a"{0} "b"', ["b"], ["ab"]),
        ('root ::= "a"{2}*', ["", "aa", "aaaa"], ["a", "aaa"]),
        ('root ::= ("a"\n"b"\n)', ["ab"], ["a"]),
        ('root ::= "a" |\n\n "b"\nx ::= "c"', ["a", "b"], ["c"]),
        ('root ::=\n  "a"', ["a"], [""]),
        ('root ::= "#" # "x"', ["#"], ["#x"]),
        ('# only\r\n\r\nroot ::= "a"\r\n# the end', ["a"], ["b"]),
        ('root ::= a\na ::= "x"\na ::= "y"', ["y"], ["x"]),
        ('root ::= "two\nlines"', ["two\nlines"], ["two lines"]),
        ('root ::= root "+" t | t\nt ::= [0-9]', ["1", "1+2+3"], ["+1", "1+"]),
        ('root ::= a "x"\na ::= root "y" | "z"', ["zx", "zxyx", "zxyxyx"], ["", "z", "zxy", "x", "zxx"]),
        ('root ::= e\ne ::= n e "x" | "y"\nn ::= "z"?', ["y", "zyx", "yxx", "zzyxx"], ["zy", "zzyx", "x"]),
        (
            'root ::= call | index | name\ncall ::= root "(" root? ")"\nindex ::= root "[" root "]"\nname ::= [a-z]+',
            ["f", "f()", "f(a[i])[j](k)", "a[b[c]]()()"],
            ["", "()", "f(", "a[]", "f()g", "a[b]]"],
        ),
        ('root ::= root root | "a"', ["a", "aaaa"], [""]),
        ('root ::= "a" root "b" | ""', ["", "aabb"], ["aab", "abb"]),
        ('root ::= "a" root | "b"', ["aab"], ["a"]),
        ("root ::= 1-a_B\n1-a_B ::= [0-9]", ["7"], ["a"]),
        ('root ::= "a" | never\nnever ::= "b" never', ["a"], ["b", "bb"]),
    ],
)
def test_each_construct(text: str, accepted: list[str], refused: list[str]) -> None:
    grammar = Grammar.from_gbnf(text)
    assert [each for each in accepted if not grammar.accepts(each)] == []
    assert [each for each in refused if grammar.accepts(each)] == []
    assert grammar.accepts(grammar.shortest())


def test_another_start() -> None:
    text = 'root ::= "a"\nother ::= "b" root'
    assert Grammar.from_gbnf(text, start="other").accepts("ba")
    assert not Grammar.from_gbnf(text, "other").accepts("a")


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ('root ::= itm\nitem ::= "a"', "calls 'itm', which is not a rule", (1, 10)),
        ('# one\nroot ::= "a"\n  | "b"', "a rule must begin with its name", (3, 3)),
        ('a ::= "b"', "there is no rule 'root'", None),
        ("", "there is no rule 'root'", None),
        (
            f'{DOUBLED}root ::= a | "y"\na ::= n11 root',
            "calls itself before it reads anything: root → a → root",
            (13, 1),
        ),
        ('root ::= "x" root', "the rule 'root' never ends, root → root", (1, 1)),
        ('root ::= a\na ::= "x" b\nb ::= "y" a', "the rule 'a' never ends, a → b → a", (2, 1)),
        (r'root ::= "\q"', r"there is no escape \q", (1, 11)),
        ('root ::= "a\\', "there is no escape", (1, 12)),
        (r'root ::= "é\x4"', r"the escape \x needs 2 hexadecimal digits", (1, 12)),
        (r'root ::= "\u12G4"', r"the escape \u needs 4", (1, 11)),
        (r"root ::= [\U00110000]", "there is no character U+110000", (1, 11)),
        (r'root ::= "\ud83d\ude00"', "U+D83D is a surrogate", (1, 11)),
        (r"root ::= [\ud800-\udfff]", "this class has no character", (1, 10)),
        ("root ::= []", "this class is empty", (1, 10)),
        ("root ::= [^]", "this class is empty", (1, 10)),
        ("root ::= [z-a]", "the range z-a goes backwards", (1, 11)),
        ("root ::= [abc", "never closed by ]", (1, 10)),
        ('root ::= "abc', 'never closed by "', (1, 10)),
        ('root ::= ("a"\nb ::= "c"', "this bracket is never closed", (1, 10)),
        ('root ::= ("a"', "this bracket is never closed", (1, 10)),
        ('root ::= "a" )', "this ) closes nothing", (1, 14)),
        ('root ::= ("a" ]', "this ] closes nothing", (1, 15)),
        ('root ::= "a"{3,2}', "at least 3 and at most 2", (1, 13)),
        ('root ::= "a"{,2}', "a number is missing", (1, 14)),
        ('root ::= "a"{1;2}', "never closed by }", (1, 13)),
        ('root ::= * "a"', "nothing before * ", (1, 10)),
        ("root ::= <think", "never closed by >", (1, 10)),
        ("root ::= !", "! is allowed before a token only", (1, 10)),
        ('root ::=\nb ::= "a"', "the rule 'b' begins inside the rule 'root'", (2, 1)),
        ("root ::= 'a'", "is not allowed here", (1, 10)),
        ('root = "a"', "::= is missing", (1, 6)),
        ('root ::= "a"' + "?" * 3000, "nested too deep", None),
        ("root ::= " + "(" * (MAX_NESTING + 1), "brackets are open", (1, 10 + MAX_NESTING)),
        ('\r\nroot ::= "a"\rx ::= ,', "',' is not allowed here", (3, 7)),
    ],
)
def test_errors_say_where(text: str, says: str, place: tuple[int, int] | None) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(text)
    error = caught.value
    assert says in error.message
    assert (error.line, error.column) == (place or (None, None))
    if place is not None:
        line, caret = error.details
        assert f"line {place[0]}, column {place[1]}" in error.message
        assert caret.strip() == "^"
        position = len(caret) - 1
        assert "…" in line or line[2:] == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[place[0] - 1]
        assert "…" in line or position == place[1] + 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('root ::= itm\nitem ::= "a"', "Did you mean 'item'?"),
        ('root ::= zzz\nitem ::= "a"', "The rules are root, item."),
        ("# nothing", "There are no rules"),
        ("root ::= <[a]>", "<[1000]>"),
        ('root ::= "a"\n| "b"', "round brackets"),
        ("root ::= 'a'", "double quotes"),
    ],
)
def test_errors_say_what_to_do(text: str, hint: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(text)
    assert hint in caught.value.hint


def chain(rules: int) -> str:
    return "root ::= r0\n" + "".join(f'r{i} ::= r{i + 1} "x" | "y"\n' for i in range(rules)) + f'r{rules} ::= "z"'


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "a"{0,1000000}',
        'root ::= "a"{99999999999999999999}',
        'root ::= (("a"{0,2000}){0,2000})',
        "\n".join(f'r{i} ::= "a"{{90000}}' for i in range(3)) + "\nroot ::= r0 r1 r2",
        chain(1000),
    ],
)
def test_too_large(text: str) -> None:
    with pytest.raises(GrammarTooLarge) as caught:
        Grammar.from_gbnf(text)
    assert caught.value.details
    assert caught.value.hint


def test_long_chains_of_rules() -> None:
    """More rules than Python's stack has frames; those that begin with each other have their limit."""
    assert Grammar.from_gbnf(chain(60)).accepts("z" + 60 * "x")
    nested = "".join(f'r{i} ::= "(" r{i + 1} ")" | "y"\n' for i in range(2000))
    assert Grammar.from_gbnf(f'root ::= r0\n{nested}r2000 ::= "z"').accepts(2000 * "(" + "z" + 2000 * ")")


# ---- the examples --------------------------------------------------------------------------------------------------

JSON = '{"a": [1, -2.5e3, "\\u00e9 é\\n"],\n  "b": {}, "c": null}'
PROGRAM = "int main(){int x = 1;while(x<10){x = x+ f(x, 2)* -3;}// end\nreturn (x);}"
GAME = "1. e4 e5\n2. Nf3 Nc6\n3. O-O-O exd8=Q+\n"

EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "arithmetic": (["1+2=3\n", "(a1 + 2.25)*b - 7 = 10\n1=1\n"], ["", "1+=2\n", "1=1", "(1=2\n", "1.2345=1\n"]),
    "c": (["", PROGRAM, "float f(int a, char b){/* no */}"], ["int main(){", "int main(){x = ;}", "int 1(){}"]),
    "chess": ([GAME, "1. Nxd4 e4\n"], ["1. e9 e5\n", "2. e4 e5\n", GAME[:-1], "1. e4\n"]),
    "english": (["Hello, world!", "It's well-known: 42. Yes?"], ["Hello", "Hello world", " Hi.", "Hé."]),
    "japanese": (["こんにちは", "カナ 漢 、"], ["hello", "", "漢字", "こ "]),
    "json": ([JSON, "0", '""', "[]"], ["{", "01", '{"a";1}', "'a'", '"\x01"', '"\\x"', "[1,]"]),
    "list": (["- eggs\n", "- a\n- 日本\n"], ["", "- \n", "- a", "-a\n", "- a\u2028b\n"]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    text = example(name)
    grammar, recogniser = Grammar.from_gbnf(text), Recogniser(read_gbnf(text).grammar)
    accepted, refused = EXAMPLES[name]
    for each in [*accepted, *refused]:
        assert grammar.accepts(each) is (each in accepted), each
        assert recogniser.accepts(each) is (each in accepted), each


def test_sums_of_sums_are_read_in_linear_time() -> None:
    """A quarter of a million configurations, were each way to put brackets in looked at."""
    assert Grammar.from_gbnf('root ::= root root | root "+" root | "a"').accepts("+".join("a" * 10_000))


def test_nesting_without_end() -> None:
    grammar = Grammar.from_gbnf(example("json"))
    assert grammar.accepts("[" * 10_000 + "]" * 10_000)
    assert not grammar.accepts("[" * 10_000 + "]" * 9_999)


# ---- what is written ----------------------------------------------------------------------------------------------

PIECES = ["()", '":', "},", '", ', " = ", "1. ", "e4 e5\n", "int", "return", "while(", "if(", "[[", "]]", "こん"]
PIECES += ["- a", ".\n", "O-O", "aa", "ab", "+a", "a+a", "\n- "]
TOKENS = [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in PIECES), "漢".encode()[:2]]
AMBIGUOUS = {
    "sums": 'root ::= root "+" root | "a" | "aa"',
    "middle": 'root ::= "a" root "a" | "a" | "b" root',
    "both": 'root ::= x y | y x\nx ::= "a"* "b"?\ny ::= "a" y | "b" | x "a"',
}


def vocabulary() -> Vocabulary:
    return Vocabulary([*TOKENS, None], end_token_ids=[len(TOKENS)])


@pytest.mark.parametrize("name", [*EXAMPLES, *AMBIGUOUS])
def test_masks_along_walks(name: str) -> None:
    """Every token that the recogniser can read is allowed, and no other."""
    text = AMBIGUOUS.get(name) or example(name)
    recogniser, words = Recogniser(read_gbnf(text).grammar), vocabulary()
    index, draws = sfgen.Index(Grammar.from_gbnf(text), words), random.Random(name)
    for _ in range(3):
        guide, position = index.guide(), recogniser.start
        for _ in range(12):
            expected = [token for token, data in enumerate(TOKENS) if recogniser.read(position, data) is not None]
            ends = list(words.end_token_ids) if recogniser.accepts_at(position) else []
            assert guide.allowed_tokens().tolist() == expected + ends
            if not expected:
                break
            likely = [token for token in expected if token >= 256 or chr(token) in 'ab1"[({-= ']
            token = draws.choice(draws.choice([expected, likely or expected]))
            guide.advance(token)
            after = recogniser.read(position, TOKENS[token])
            assert after is not None
            position = after


@pytest.mark.parametrize("name", [*EXAMPLES, *AMBIGUOUS])
def test_walks_within_a_limit_end_complete(name: str) -> None:
    text = AMBIGUOUS.get(name) or example(name)
    recogniser, words = Recogniser(read_gbnf(text).grammar), vocabulary()
    index, draws = sfgen.Index(Grammar.from_gbnf(text), words), random.Random(name)
    least = index.guide().tokens_left()
    for limit in (least, least + 1, least + 5, 40):
        guide, written = index.guide(limit), list[int]()
        while (token := draws.choice(guide.allowed_tokens().tolist())) not in words.end_token_ids:
            guide.advance(token)
            written.append(token)
        assert len(written) <= limit
        assert recogniser.accepts(b"".join(TOKENS[token] for token in written))


@pytest.mark.parametrize("name", [*(name for name in EXAMPLES if name != "japanese"), *AMBIGUOUS])
def test_texts_that_are_generated_are_accepted(name: str) -> None:
    text, model = AMBIGUOUS.get(name) or example(name), UniformModel()
    grammar, recogniser = Grammar.from_gbnf(text), Recogniser(read_gbnf(text).grammar)
    index = sfgen.Index(grammar, model.vocabulary)
    for seed in range(4):
        sampler = sfgen.Sampler(temperature=1, seed=seed)
        result = sfgen.generate(model, "", index=index, max_tokens=40, sampler=sampler)
        assert grammar.accepts(result.text)
        assert recogniser.accepts(result.text)


def test_a_vocabulary_that_cannot_write_any_text() -> None:
    with pytest.raises(DeadEnd):
        sfgen.Index(Grammar.from_gbnf(example("japanese")), UniformModel().vocabulary).guide()


def test_a_limit_below_the_shortest_text() -> None:
    index = sfgen.Index(Grammar.from_gbnf('root ::= "a"{5}'), Vocabulary([b"a", b"aa", None], end_token_ids=[2]))
    assert index.guide(3).tokens_left() == 3
    with pytest.raises(LimitTooSmall):
        index.guide(2)


def test_banned_words_are_watched() -> None:
    grammar, model = Grammar.from_gbnf('root ::= ("yes" | "no") " " root | "end"'), UniformModel()
    index = sfgen.Index(grammar, model.vocabulary)
    for seed in range(4):
        sampler = sfgen.Sampler(temperature=1, seed=seed)
        banned = sfgen.BannedWords(["no"])
        result = sfgen.generate(model, "", index=index, max_tokens=40, sampler=sampler, banned=banned)
        assert grammar.accepts(result.text)
        assert "no" not in result.text


# ---- the object ----------------------------------------------------------------------------------------------------


def test_equal_grammars_are_equal() -> None:
    text = 'root ::= "a"\nother ::= "b"'
    grammar = Grammar.from_gbnf(text)
    assert grammar == Grammar.from_gbnf(text)
    assert hash(grammar) == hash(Grammar.from_gbnf(text))
    assert grammar != Grammar.from_gbnf(text, start="other")
    assert grammar != Grammar.from_gbnf('root ::= "a"')
    assert grammar != text
    assert repr(Grammar.from_gbnf(text, start="other")) == f"Grammar.from_gbnf({text!r}, start='other')"
    assert len(repr(Grammar.from_gbnf(text + "#" * 1000))) < 100
    assert grammar.refusal(b"b") is None


def test_guides_go_their_own_ways() -> None:
    grammar = Grammar.from_gbnf('root ::= "a"+')
    words = Vocabulary([b"a", None], end_token_ids=[1])
    first, second = grammar.guide(words), grammar.guide(words)
    first.advance(0)
    assert first.allowed_tokens().tolist() == [0, 1]
    assert second.allowed_tokens().tolist() == [0]


@pytest.mark.parametrize("wrong", [None, 7, b"root ::= .", ["root"]])
def test_other_kinds_of_arguments(wrong: object) -> None:
    with pytest.raises(SfgenError, match="text must be a text"):
        Grammar.from_gbnf(wrong)  # type: ignore[arg-type]
    with pytest.raises(SfgenError, match="start must be a text"):
        Grammar.from_gbnf("root ::= .", wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="source must be"):
        Grammar(wrong)  # type: ignore[arg-type]
