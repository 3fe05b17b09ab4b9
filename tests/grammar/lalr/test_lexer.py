"""The lexer's automaton, walked with the parser's stack, reads what lark reads: cut at other positions it would not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedInput
from tests.support.running.tried import some_of, tried

from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_package import read_lark
from sfgen.grammar.lalr.lexer import make_lexer
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables
from sfgen.grammar.network.rules import GrammarTooLarge

WHITE = " \t\n\r\f\v"


class Walk:
    """All that the automaton and the stack may be doing behind a text."""

    def __init__(self, tables: ParseTables, lexer: Lexer) -> None:
        self.tables = tables
        self.lexer = lexer
        self.stacks = StateStacks(tables)

    def ways(self, text: str) -> int:
        """In how many ways a whole text is read."""
        lexer = self.lexer
        positions = {(self.start(BOTTOM, 0), BOTTOM)}
        for byte in text.encode():
            label = lexer.byte_classes[byte]
            behind = set()
            for lexer_state, node in positions:
                for opened, below in [
                    (lexer_state, node),
                    *((self.start(n, p), n) for n, p in self.commits(lexer_state, node)),
                ]:
                    if opened != NO_STATE and lexer.step[opened, label] != NO_STATE:
                        behind.add((int(lexer.step[opened, label]), below))
            positions = behind
        return sum(
            (lexer_state != NO_STATE and bool(lexer.may_end[lexer_state]) and self.stacks.is_complete(node))
            + sum(
                bool(lexer.obligation_holds_at_end[obligation]) and self.stacks.is_complete(after)
                for after, obligation in self.commits(lexer_state, node)
            )
            for lexer_state, node in positions
        )

    def start(self, node: int, obligation: int) -> int:
        return int(self.lexer.starts[self.tables.context_of[self.stacks.states[node]], obligation])

    def commits(self, lexer_state: int, node: int) -> Iterator[tuple[int, int]]:
        if lexer_state == NO_STATE:
            return
        for number in range(self.lexer.commit_starts[lexer_state], self.lexer.commit_starts[lexer_state + 1]):
            after = self.stacks.after(node, int(self.lexer.commit_terminals[number]))
            if after != NO_STATE:
                yield after, int(self.lexer.commit_obligations[number])


def all_texts(alphabet: str, longest: int) -> Iterator[str]:
    for length in range(longest + 1):
        yield from texts_of(alphabet, length)


def texts_of(alphabet: str, length: int) -> Iterator[str]:
    return map("".join, itertools.product(alphabet, repeat=length))


def lark_reads(parser: Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    return True


def gaps(parser: Lark, text: str) -> list[str] | None:
    """What lark ignores before each terminal and behind the last; ``None`` where it does not read the text."""
    interactive = parser.parse_interactive(text)
    found, end = [], 0
    try:
        for token in interactive.iter_parse():
            found.append(text[end : token.start_pos])
            end = token.end_pos or 0
        interactive.feed_eof()
    except UnexpectedInput:
        return None
    return [*found, text[end:]]


def may_write(parser: Lark, text: str, max_blanks: int) -> bool:
    found = gaps(parser, text)
    return found is not None and all(len(gap) <= max_blanks and set(gap) <= set(WHITE) for gap in found)


GRAMMARS = {
    "keyword or name": ('start: (NAME | "if" NAME ";")+\nNAME: /[a-z]+/\n%import common.WS\n%ignore WS', "ifx ;", 6),
    "select": ('start: "s" NAME "f" NAME\nNAME: /[sfa]+/\n%ignore " "', "sfa ", 7),
    "keyword in one context only": ('start: "if" NAME | NAME "=" NAME\nNAME: /[if]+/\n%ignore " "', "if =", 7),
    "keyword of other flags": ('start: (NAME | "if"i ";")+\nNAME: /[a-z]+/\n%ignore " "', "iIf;", 6),
    "keyword and flags of both": ('start: (NAME | "if"i ";")+\nNAME: /[a-z]+/i\n%ignore " "', "iIf;", 6),
    "prefixes of each other": ('start: ("<" | "<=" | "<<" | "<<=" | "=" "a")+', "<=a", 7),
    "not the longest": ('start: (A | B | "c")+\nA: /a+/\nB: "ab"', "abc", 7),
    "lazy strings": ('start: s ("+" s)*\ns: /".*?"/\n%ignore " "', '"a+ ', 7),
    "numbers": ('start: (INT | FLOAT | ".." | ".")+\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]*(e[0-9]+)?/', "1.e", 7),
    "signed numbers": ("%import common.SIGNED_NUMBER\nstart: SIGNED_NUMBER+", "1.e-", 7),
    "comments beside operators": (
        'start: a ("/" a)*\na: "a" | "*" a\nC: "/*" /(.|\\n)*?/ "*/"\n%ignore C\n%ignore /\\s+/',
        "a/* ",
        7,
    ),
    "line comments": ("%import common.CPP_COMMENT\n%ignore CPP_COMMENT\nstart: /[a\\/]/+ /\\n/?", "a/\n", 7),
    "escapes": ("%import common.ESCAPED_STRING\nstart: (ESCAPED_STRING | A)+\nA: /a/", '"\\a', 7),
    "word boundaries": ("start: (SEL | NAME)+\nSEL.2: /\\bse\\b/i\nNAME: /[a-z]/i\n%ignore /[ .]/", "seE .", 6),
    "boundary behind": ('start: (/se\\b/ | "s" | "e" | "-")+', "se-", 7),
    "lookaheads": ('start: (A | B | "x")+\nA: /(?!if\\b)[if]+/\nB: /if(?=x|$)/', "ifx", 7),
    "conditional matches": ("start: (A | B)+\nA: /a(?!b)|ab*?(?=a)/\nB: /.(?=.)|b$/", "ab", 7),
    "a promise before a longer match": ('start: (A | B "c")+\nA.-1: /[^a]b[ab]/\nB: /b/\n%ignore / \\b/', "abc ", 6),
    "lookbehinds over lexemes": ('start: (A | B | "c")+\nA.2: /(?<=b)a/\nB.2: /(?<!ac)b/\nC: "a"\n%ignore C', "abc", 7),
    "anchors": ("start: (A | B)+\nA.2: /^a/m | /b$/\nB: /[ab\\n]/", "ab\n", 7),
    "ignored line ends": ("start: (A _NL)+\nA: /a+/\n_NL: /(\\r?\\n)+/\n%ignore /[ \\n]/", "a \n\r", 6),
    "priorities": ('start: (A | B | C)+\nA.2: "a"\nB.1: /aa?/\nC: /[ab]+/', "ab", 7),
    "ignored and used": ('start: (A " "? A)+\nA: "a"\n%ignore " "', "a ", 7),
    "ignored names that are keywords": ('start: ("if"? X)+\nX: "x"\nN: /[a-w]+/\n%ignore N', "ifax", 6),
    "names that are ignored keywords": ('start: (NAME | "x")+\nNAME: /[if]+/\nIF: "if"\n%ignore IF', "ifx", 7),
    "Unicode": ('start: (NAME | "é" | NUMBER)+\nNAME: /\\w+?b/\nNUMBER: /\\d/', "éb1٣ß", 5),
    "ignoring case beyond ASCII": ('start: ("straße"i | "k"i | /s/i)+', "sſkK", 5),
    "possessive and atomic": ("start: (A | B)+\nA: /a++b|(?>a|ab)c/\nB: /[abc]/", "abc", 7),
    "empty rules": ('start: a b "x" a\na: "a"*\nb: ("b" " ")?\n%ignore " "', "abx ", 7),
    "terminals of several texts": ('start: (A | B)+\nA: "a" | "ab" | "b"\nB: "abb" | "bb"', "ab", 7),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_reads_what_lark_reads(name: str) -> None:
    text, alphabet, longest = GRAMMARS[name]
    tables = read_lark(text).tables
    walk = Walk(tables, make_lexer(tables))
    parser = Lark(text, parser="lalr")
    read = 0
    for whole in itertools.chain(all_texts(alphabet, longest - 1), some_of(texts_of(alphabet, longest), 1000)):
        expected = lark_reads(parser, whole)
        assert walk.ways(whole) == expected, whole
        read += expected
    assert read > 1


@pytest.mark.parametrize("max_blanks", [0, 1, 2])
@pytest.mark.parametrize("name", [name for name, (text, _, _) in GRAMMARS.items() if "ignore" in text])
def test_writes_so_many_blanks(name: str, max_blanks: int) -> None:
    text, alphabet, longest = GRAMMARS[name]
    tables = read_lark(text).tables
    walk = Walk(tables, make_lexer(tables, max_blanks))
    parser = Lark(text, parser="lalr")
    for whole in all_texts(alphabet, min(longest, 5)):
        assert walk.ways(whole) == may_write(parser, whole, max_blanks), whole


def random_pattern(random: random.Random, depth: int, *, may_look: bool = True) -> str:
    """A pattern over a, b, c and blanks, with all that the lexer follows."""
    kind = random.randrange(9) if depth else 0
    if kind <= 2:
        return random.choice(["a", "b", "c", "ab", "[ab]", "[^a]", ".", r"\w"])
    one = random_pattern(random, depth - 1, may_look=may_look)
    if kind == 3:
        return one + random_pattern(random, depth - 1, may_look=may_look)
    if kind == 4:
        return f"(?:{one}|{random_pattern(random, depth - 1, may_look=may_look)})"
    if kind == 5:
        return f"(?:{one})" + random.choice(
            ["*", "+", "?", "{1,2}", "{2}", "*?", "+?", "??", "{0,2}?", "*+", "++", "?+"]
        )
    if kind == 6:
        return random.choice([f"(?:|{one})", f"(?:{one}|)", f"(?>{one})"])
    if not may_look:
        return one
    if kind == 7:
        return one + random.choice([r"\b", r"\B", "$", "^", r"\Z", "(?m:^)", "(?m:$)", "(?<=b)", "(?<!ab)", "(?<= )"])
    inner = random_pattern(random, 1, may_look=False)
    return random.choice([f"(?={inner}){one}", f"(?!{inner}){one}", f"{one}(?={inner})", f"{one}(?!{inner})"])


def random_grammar(random: random.Random) -> str:
    names = "ABCD"[: random.randint(2, 4)]
    lines = []
    for name in names:
        if random.random() < 0.3:
            written = random.choice(['"a"', '"b"', '"ab"', '"ba"', '"aa"', '"abc"', '"AB"', '"c"']) + random.choice(
                " i"
            )
        else:
            written = f"/{random_pattern(random, random.randint(0, 3))}/" + random.choice(["", "", "i", "s"])
        lines.append(f"{name}{random.choice(['', '', '.2', '.-1'])}: {written}")
    if random.random() < 0.7:
        ignored = random.choice(["/ /", "/ +/", "/ |b+/", "/c? /", r"/ \b/", r"/\b /", "/#?b* /"])
        lines += [f"WS: {ignored}", "%ignore WS"]
    shapes = ["start: ({all})+", "start: A x*\nx: B | A B", "start: A (B A)*", "start: x y\nx: A+ | B\ny: {last}*"]
    return "\n".join([random.choice(shapes).format(all="|".join(names), last=names[-1]), *lines])


@tried("some")
@given(st.randoms(use_true_random=False), st.sampled_from([None, None, 0, 1, 2]))
def test_reads_random_grammars_as_lark_does(random: random.Random, max_blanks: int | None) -> None:
    text = random_grammar(random)
    try:
        tables = read_lark(text).tables
        lexer = make_lexer(tables, max_blanks)
    except GrammarError as error:
        if "empty" not in str(error):
            raise
        assume(False)
    walk = Walk(tables, lexer)
    parser = Lark(text, parser="lalr")
    for whole in [*all_texts("abc ", 4), *("".join(random.choices("aabbc #\n", k=7)) for _ in range(50))]:
        expected = lark_reads(parser, whole) if max_blanks is None else may_write(parser, whole, max_blanks)
        assert walk.ways(whole) == expected, (text, whole)


def test_every_control_leads_on() -> None:
    tables = read_lark(GRAMMARS["comments beside operators"][0]).tables
    lexer = make_lexer(tables, 1)
    alive = lexer.may_end | (np.diff(lexer.commit_starts) > 0)
    assert alive.any()
    while True:
        more = alive | ((lexer.step != NO_STATE) & alive[lexer.step]).any(axis=1)
        if (more == alive).all():
            break
        alive = more
    assert alive.all()


def test_promise_zero_is_that_of_the_start_of_the_text() -> None:
    tables = read_lark("start: A+\nA: /\\ba/").tables
    lexer = make_lexer(tables)
    context = tables.context_of[tables.start]
    assert lexer.starts[context, 0] != NO_STATE
    assert Walk(tables, lexer).ways("a") == 1
    assert Walk(tables, lexer).ways("aa") == 0


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [(r"(a|b)\1", "backreference"), (r"(a)?(?(1)b|c)", "conditional"), (r"(?<=a(?=b))b", "inside a lookbehind")],
)
def test_refuses_by_name_what_is_not_regular(pattern: str, reason: str) -> None:
    tables = read_lark(f'start: ODD "x"\nODD: /{pattern}/').tables
    with pytest.raises(GrammarError, match=f"the terminal ODD, .*{reason}"):
        make_lexer(tables)


@pytest.mark.parametrize(
    "odd",
    ["/(ab{1,900}c){1,900}/", "/.{0,400}a.{0,400}b.{0,400}/", "/[ab]*a[ab]{30}/"],
)
def test_refuses_by_name_what_is_too_large(odd: str) -> None:
    tables = read_lark(f'start: ODD "x"\nODD: {odd}').tables
    with pytest.raises(GrammarTooLarge, match="ODD"):
        make_lexer(tables)
