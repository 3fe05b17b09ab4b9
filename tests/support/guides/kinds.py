"""Every kind of guide, with a language that is known by other means: the cases of the laws of guides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from unittest.mock import patch

from hypothesis import assume
from hypothesis import strategies as st
from tests.oracles.bounded_recogniser import BoundedIndex
from tests.oracles.quotations import DOCUMENTS, quotations
from tests.support.grammars.random_grammars import KNOWN, TokenNetwork, grammars, letters_of
from tests.support.guides.brackets import Brackets
from tests.support.guides.conformance import Case
from tests.support.guides.languages import Language, brackets, finite, free_text, grammatical, regular

import sfgen
from sfgen import BannedWords, Dfa, Index, JsonSchema, Vocabulary
from sfgen.ban.difference import without_banned
from sfgen.errors import DeadEnd, UsageError
from sfgen.grammar.language.gbnf import read_gbnf
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.rules import GrammarRules
from sfgen.index import BaseGuide, Chain, Unconstrained
from sfgen.index.distance import UNREACHABLE
from sfgen.models.tool_forms import ARGUMENTS, NAME, Arguments, ToolForm
from sfgen.protocols import GuideSource, GuidingConstraint
from sfgen.reference import FsmIndex, NaiveIndex

Known = tuple[str, str, int]
"""A pattern, its characters, and the number of bytes that tells its texts apart."""

PATTERNS: list[Known] = [
    ("(ab|ba)*", "ab", 3),
    ("a{2,4}", "a", 4),
    ("[ab]*abb", "ab", 3),
    ("é+|a", "éa", 3),
    ("(é|è){1,2}x?", "éèx", 5),
    ("aab(a|b)", "ab", 4),
    ("(ab?)*é", "abé", 3),
    ("a?", "a", 2),
]
BANNED: list[tuple[str, str, int, list[str]]] = [
    ("[ab]{1,4}", "ab", 4, ["ab"]),
    ("[ab]*", "ab", 3, ["aa", "bb"]),
    ("(é|ab)*a", "abé", 4, ["éa", "b"]),
    ("a{0,3}b", "ab", 4, ["c"]),
]
CHAINS: list[list[Known]] = [
    [("a*", "a", 1), ("ab", "ab", 2)],
    [("aé", "aé", 3), ("(ab|ba)*", "ab", 3)],  # a literal first
    [("(ab)?", "ab", 2), ("(a|é)b?", "abé", 3)],
    [("[ab]?", "ab", 1), ("a{2}|b?", "ab", 2)],
    [("a?", "a", 1), ("b?", "b", 1), ("[ab]a?", "ab", 2)],
]
SCHEMAS: list[tuple[Any, bytes]] = [
    ({"enum": ["a", "aé", [], 1]}, b'"a\xc3\xa9[]1'),
    ({"type": "array", "items": {"enum": [1, 11]}, "minItems": 1, "maxItems": 3}, b"[1, ]"),
    ({"type": "string", "maxLength": 2, "pattern": "^[aé]*$"}, b'"a\xc3\xa9'),
    ({"properties": {"a": {"const": 1}, "b": {"$ref": "#"}}, "required": ["a"], "type": "object"}, b'{}"ab: 1,'),
]
"""Schemas, and the bytes of their texts. Names that must differ are looked at in tests/grammar."""

LARK: list[tuple[str, int, Known]] = [
    # A keyword among names.
    (
        'start: "if" NAME | NAME\nNAME: /[if]+/\n%ignore " "', 1,
        (" ?((?!if(?: |$))[if]+|if [if]+) ?", "if ", 4),
    ),
    ('start: A | B\nA: /a+/\nB: "ab"', 1, ("a+", "ab", 2)),  # the first terminal that matches, not the longest
    ('start: "a" ("," "a")*\n%ignore /[ \\n]+/', 2, (r"[ \n]{0,2}a(?:[ \n]{0,2},[ \n]{0,2}a)*[ \n]{0,2}", "a, \n", 4)),
    ('start: "a" ("," "a")*\n%ignore /[ ,]b/\n%ignore " "', 1, (" ?a(?: ?, ?a)* ?", "a, ", 4)),
    ("start: WORD+\nWORD: /é+|ab/", 1, ("(?:é+|ab)+", "éab", 4)),
    ('start: A B?\nA: /a+(?=b|$)/\nB: "b"', 0, ("a+b?", "ab", 2)),  # looks ahead
    ('start: x x? y\nx: "a"? "b"\ny: | "a" y', 1, ("(?:a?b){1,2}a*", "ab", 3)),  # empty rules
]  # fmt: skip
"""Lark grammars with regular texts, the most blanks, and what is written of them."""
LARK_RECURSIVE: list[tuple[str, int, tuple[str, bytes]]] = [
    (
        'start: "[" [start ("," start)*] "]" | "a"\n%ignore " "', 1,
        ('root ::= _ v _\nv ::= "[" _ (v (_ "," _ v)* _)? "]" | "a"\n_ ::= " "?', b"[], a"),
    ),
    ('start: start "+" "a" | "(" start ")" | "a"', 1, ('root ::= ("a" | "(" root ")") ("+" "a")*', b"a+()")),
    ('start: "i" start | "i" start "e" start | "x"', 1, ('root ::= "i" root ("e" root)? | "x"', b"iex")),
    ('start: "a" start "a" | "b"', 1, ('root ::= "a" root "a" | "b"', b"ab")),
]  # fmt: skip
"""Lark grammars, the most blanks, and the same in GBNF, with the bytes of their texts."""

LARK_OF_SCHEMAS: list[tuple[str, int, Known]] = [
    ('start: "a" %json {"enum": [1, 11]} B\nB: /1*b/', 1, ("a11?1*b", "a1b", 5)),  # any of its texts, not the longest
    ('start: T %json {"enum": ["a", "ab"]}\nT: /[ab]*x/', 1, ('[ab]*x"ab?"', 'abx"', 5)),
    (
        'start: (%json {"enum": [1, 12]} ",")* %json {"enum": [3]}\n%ignore " "', 1,
        (' ?(?:12? ?, ?)*3 ?', '12,3 ', 4),
    ),
    ('start: x x\nx: %json {"enum": [1]} | %json {"enum": [1, 11]}', 1, ("1{2,4}", "1", 5)),
    ('start: NAME %json {"enum": [1, 10]}\nNAME: /[1a]+/', 1, ("[1a]+10?", "1a0", 4)),
    ('start: A %json {"enum": [1, 11]}\nA: /a+(?!1)/', 1, ("a+11?", "a1", 4)),  # it looks at no schema's text
]  # fmt: skip
"""Lark grammars with schemas and regular texts."""
LARK_OF_SCHEMAS_RECURSIVE: list[tuple[str, int, tuple[str, bytes]]] = [
    (
        'start: "[" start "]" | %json {"type": "array", "items": {"$ref": "#"}, "maxItems": 1}', 1,
        ('root ::= "[" root "]" | v\nv ::= "[" v? "]"', b"[]"),
    ),
    (
        'start: "(" start ")" | %json {"enum": [1, 11]} ("+" start)?', 1,
        ('root ::= "(" root ")" | "1" "1"? ("+" root)?', b"(1+)"),
    ),
    (
        'start: (%json {"type": "array", "items": {"enum": [1]}, "minItems": 1} "," | "1")*', 1,
        ('root ::= ("[1" (", 1")* "]," | "1")*', b"[1, ]"),
    ),
]  # fmt: skip

TEMPLATES: list[tuple[str, Known]] = [
    ("a{{x: regex (ab|ba)*}}b", ("a(ab|ba)*b", "ab", 4)),
    ("{{x: regex a*}}{{y: choices ab, b}}a", ("a*a?ba", "ab", 4)),
    ("{{x: choices a, b}}{{y: regex a?}}{{x}}", ("(a|b)a?\\1", "ab", 3)),
    ("{% for i in a, b %}{{x: regex [ab]}}{{x}}{% endfor %}", ("(aa|bb)(aa|bb)", "ab", 4)),
    ("{% for i in a, b %}{{i}}{{x: regex b?}}{% endfor %}", ("ab?bb?", "ab", 4)),
    ("{{x: regex a?}}{{y: choices a, b}}{{x}}{{y}}", ("(a?)(a|b)\\1\\2", "ab", 4)),
    ("{{t: regex é?}}{{u: regex é?x}}", ("é?é?x", "éx", 5)),
]
"""Templates with regular texts."""
TEMPLATES_WITH_RULES: list[tuple[str, tuple[str, bytes]]] = [
    ('{{x: schema {"enum": [1, 11]}}}{{y: regex 1*}}', ('root ::= ("1" | "11") "1"*', b"1")),
    ('a{{x: grammar root ::= "(" root ")" | "b"}}{{y: choices b, )}}',
     ('root ::= "a" x ("b" | ")")\nx ::= "(" x ")" | "b"', b"ab()")),
    ('{{m: choices a, b}}{{x: grammar root ::= "a" root "b" | ""}}{{m}}',
     ('root ::= "a" x "a" | "b" x "b"\nx ::= "a" x "b" | ""', b"ab")),
    ('{{x: schema {"type": "array", "items": {"enum": [1]}, "minItems": 1}}},{{y: regex [1,]{0,2}}}',
     ('root ::= "[1" (", 1")* "]," [1,]{0,2}', b"1[], ")),
]  # fmt: skip
"""Templates with schemas and grammars, and the same in GBNF, with the bytes of their texts."""

TEMPLATES_WITH_COPIES: list[tuple[str, Known]] = [
    ("{{x: regex a{0,2}}}b{{x}}", ("(a{0,2})b\\1", "ab", 5)),
    ("{{x: regex [ab]{1,2}}}{{x}}", ("([ab]{1,2})\\1", "ab", 4)),
    ("b{{x: regex a{0,2}}}{{y: regex b?}}{{y}}{{x}}a", ("b(a{0,2})(b?)\\2\\1a", "ab", 8)),
    ("{{x: regex é?}}{{x}}{{x}}", ("(é?)\\1\\1", "é", 6)),
    ("{% for i in a, b %}{{x: choices a, ab}}{{x}}{% endfor %}", ("(a|ab)\\1(a|ab)\\2", "ab", 8)),
    ('{{x: grammar start: "a" | "ab"}}{{y: regex [ab]}}', ("(a|ab)[ab]", "ab", 3)),
    ('{{y: regex b?}}a{{x: grammar start: "b" start | "c"}}{{y}}{{z: regex a?}}', ("(b?)ab*c\\1a?", "abc", 5)),
]
"""Templates that are read along all ways to divide a text."""

SEQUENCES: list[tuple[list[Any], Known, bool]] = [
    (["a", sfgen.SequencePart(Dfa.from_regex("(ab|ba)*")), "b"], ("a(ab|ba)*b", "ab", 4), True),
    ([sfgen.SequencePart(Dfa.from_regex("[ab]*b"), ends="earliest"), Dfa.from_regex("a?")], ("a*ba?", "ab", 2), True),
    ([sfgen.SequencePart(Dfa.from_regex("a+"), ends="longest"), Dfa.from_regex("b?é?")], ("a+b?é?", "abé", 4), True),
    (
        [sfgen.SequencePart(JsonSchema({"enum": [1, 11]}), ends="earliest"), Dfa.from_regex("1?2?")],
        ("11?2?", "12", 3),
        False,
    ),
    (
        [sfgen.SequencePart(Dfa.from_regex("[ab]"), "x"), Dfa.from_regex("a?"), sfgen.Backreference("x")],
        ("aa?a|ba?b", "ab", 3),
        True,
    ),
]
"""Parts, a pattern of their texts, and whether limits are exact."""

_X = {"properties": {"x": {"type": "string", "pattern": "^a*$"}}}
CALLS: list[tuple[ToolForm, list[Any], dict[str, Any], Known]] = [
    (ToolForm(("<", NAME, ARGUMENTS, ">"), arguments=Arguments("", "", ";")), [{"name": "f", "parameters": _X}], {},
     ("<f(xa*;)?>", "<fxa;>", 3)),
    (ToolForm(("", NAME, ""), separator=","), [{"name": "a"}, {"name": "ab"}], {"at_most": 3},
     ("ab?(,ab?){0,2}", "ab,", 5)),
]  # fmt: skip
"""Forms, tools and options of calls, and a pattern of their texts."""

language_of = cache(regular)


class ByText(BaseGuide[bytes]):
    """A guide with the two abstract methods only: a position is the text itself. It does not look ahead."""

    def __init__(self, language: Language, vocabulary: Vocabulary, max_tokens: int | None) -> None:
        self.language = language
        super().__init__(vocabulary, b"", max_tokens)

    def _read(self, position: bytes, data: bytes) -> bytes | None:
        return None if self.language.residual(position + data) is None else position + data

    def _accepts(self, position: bytes) -> bool:
        return self.language.accepts(position)


class ByTextAhead(ByText):
    """The same, that looks ahead."""

    def _tokens_left(self, position: bytes) -> int:
        tokens = [self.vocabulary.tokens[token] or b"" for token in self.vocabulary.text_token_ids.tolist()]
        fewest = self.language.fewest(position, tokens)
        return int(UNREACHABLE) if fewest is None else fewest


@dataclass
class TextSource:
    """Makes these guides."""

    kind: type[ByText]
    language: Language
    vocabulary: Vocabulary

    def guide(self, max_tokens: int | None = None) -> ByText:
        return self.kind(self.language, self.vocabulary, max_tokens)

    def refusal(self, text: bytes) -> dict[str, str] | None:
        return None if self.language.accepts(text) else {"refused by": "the language"}


Make = Callable[[Vocabulary], GuideSource]


def of_dfa(draw: Any) -> tuple[Language, Make, bool, bool]:
    known = draw(st.sampled_from(PATTERNS))
    return language_of(*known), partial(Index, Dfa.from_regex(known[0])), True, True


def of_difference(draw: Any) -> tuple[Language, Make, bool, bool]:
    pattern, alphabet, longest, words = draw(st.sampled_from(BANNED))

    def make(vocabulary: Vocabulary) -> GuideSource:
        clean = without_banned(Index(Dfa.from_regex(pattern), vocabulary), BannedWords(words, match="substring"))
        assert clean is not None
        return clean

    return language_of(pattern, alphabet, longest, "|".join(words)), make, True, True


def of_free_text(draw: Any) -> tuple[Language, Make, bool, bool]:
    return free_text(), Unconstrained, True, True


def of_engine(engine: Any, draw: Any) -> tuple[Language, Make, bool, bool]:
    known = draw(st.sampled_from(PATTERNS))
    return language_of(*known), partial(engine, known[0]), False, True


def of_text(kind: type[ByText], draw: Any) -> tuple[Language, Make, bool, bool]:
    language = language_of(*draw(st.sampled_from(PATTERNS)))
    return language, partial(TextSource, kind, language), kind is ByTextAhead, True


def of_chain(draw: Any) -> tuple[Language, Make, bool, bool]:
    parts = draw(st.sampled_from(CHAINS))
    patterns, letters, longest = zip(*parts, strict=True)
    language = language_of("".join(f"(?:{pattern})" for pattern in patterns), "".join(letters), sum(longest))
    automata = [Dfa.from_regex(pattern) for pattern in patterns]
    return language, lambda vocabulary: Chain([Index(part, vocabulary) for part in automata]), True, False


def of_brackets(draw: Any) -> tuple[Language, Make, bool, bool]:
    return brackets(), partial(Index, Brackets()), True, False


def of_grammar(
    engine: Callable[[GrammarRules, Vocabulary], GuideSource], looks_ahead: bool, draw: Any
) -> tuple[Language, Make, bool, bool]:
    grammar = draw(st.sampled_from([*KNOWN, None, None, None, None])) or draw(grammars(names=()))
    try:
        language = grammatical(grammar, letters_of(grammar))
        network_of(grammar)
    except UsageError:  # no text, or left recursion: see tests/grammar
        assume(False)
    return language, partial(engine, grammar), looks_ahead, not looks_ahead


def of_schema(draw: Any) -> tuple[Language, Make, bool, bool]:
    schema, letters = draw(st.sampled_from(SCHEMAS))
    constraint = JsonSchema(schema)
    language = grammatical(constraint.compiled.grammar, letters)

    def make(vocabulary: Vocabulary) -> GuideSource:
        index = Index(constraint, vocabulary)
        index.guide()  # raises where nothing can be written
        return index

    return language, make, True, False


def of_template(draw: Any) -> tuple[Language, Make, bool, bool]:
    text, known = draw(st.sampled_from(TEMPLATES))
    return language_of(*known), partial(_begun, sfgen.Template(text)), True, True


def _begun(template: GuidingConstraint, vocabulary: Vocabulary) -> GuideSource:
    index = Index(template, vocabulary)
    index.guide()  # raises where nothing can be written
    return index


def of_template_with_rules(draw: Any) -> tuple[Language, Make, bool, bool]:
    text, (grammar, letters) = draw(st.sampled_from(TEMPLATES_WITH_RULES))
    make = partial(_begun, sfgen.Template(text))
    return grammatical(read_gbnf(grammar).grammar, letters), make, True, False


def of_template_with_copies(draw: Any) -> tuple[Language, Make, bool, bool]:
    text, known = draw(st.sampled_from(TEMPLATES_WITH_COPIES))
    with patch("sfgen.template.composition.MAX_TEXTS", 0):
        template = sfgen.Template(text)
        assert template.dfa is None
        assert template.network is None
    return language_of(*known), partial(_begun, template), True, False


def of_sequence(draw: Any) -> tuple[Language, Make, bool, bool]:
    parts, known, is_exact = draw(st.sampled_from(SEQUENCES))
    return language_of(*known), partial(_begun, sfgen.Sequence(parts)), True, is_exact


def of_tool_calls(draw: Any) -> tuple[Language, Make, bool, bool]:
    form, tools, options, known = draw(st.sampled_from(CALLS))
    return language_of(*known), partial(_begun, sfgen.ToolCalls(tools, form, **options)), True, False


def of_lark(cases: list[Any], draw: Any) -> tuple[Language, Make, bool, bool]:
    text, max_blanks, known = draw(st.sampled_from(cases))
    is_regular = not isinstance(known[1], bytes)
    language = language_of(*known) if is_regular else grammatical(read_gbnf(known[0]).grammar, known[1])
    grammar = sfgen.Grammar.from_lark(text, max_blanks=max_blanks)

    def make(vocabulary: Vocabulary) -> GuideSource:
        index = Index(grammar, vocabulary)
        index.guide()  # raises where nothing can be written
        return index

    return language, make, True, False


def of_substring(draw: Any) -> tuple[Language, Make, bool, bool]:
    document, unit, least, more = draw(st.sampled_from(DOCUMENTS))
    most = None if more is None else least + more
    constraint = sfgen.Substring(document, unit, least, most)
    language = finite(repr(constraint), quotations(document, unit, least, most))

    def make(vocabulary: Vocabulary) -> GuideSource:
        index = Index(constraint, vocabulary)
        index.guide()  # raises where nothing can be written
        return index

    return language, make, True, least <= 1 and most is None


def of_template_with_quotation(draw: Any) -> tuple[Language, Make, bool, bool]:
    text, around = draw(st.sampled_from([("a{{q: substring x}}", "a%s"), ("{{q: substring x}}b{{q}}", "%sb%s")]))
    document, unit, least, more = draw(st.sampled_from(DOCUMENTS))
    most = None if more is None else least + more
    quoted = {each.decode() for each in quotations(document, unit, least, most)}
    texts = frozenset(around.replace("%s", each).encode() for each in quoted)
    template = sfgen.Template.of_constraints(text, {"q": sfgen.Substring(document, unit, least, most)})
    return finite(repr((text, document))[:80], texts), partial(_begun, template), True, False


def token_network(grammar: GrammarRules, vocabulary: Vocabulary) -> TokenNetwork:
    return TokenNetwork(network_of(grammar), vocabulary)


KINDS: dict[str, Callable[[Any], tuple[Language, Make, bool, bool]]] = {
    "dfa": of_dfa,
    "difference": of_difference,
    "free text": of_free_text,
    "fsm": partial(of_engine, FsmIndex),
    "naive": partial(of_engine, NaiveIndex),
    "by text": partial(of_text, ByText),
    "by text, ahead": partial(of_text, ByTextAhead),
    "chain": of_chain,
    "brackets": of_brackets,
    "grammar": partial(of_grammar, token_network, True),
    "grammar, recogniser": partial(of_grammar, BoundedIndex, False),
    "schema": of_schema,
    "lark": partial(of_lark, [*LARK, *LARK_RECURSIVE]),
    "lark with schemas": partial(of_lark, [*LARK_OF_SCHEMAS, *LARK_OF_SCHEMAS_RECURSIVE]),
    "substring": of_substring,
    "template": of_template,
    "template with rules": of_template_with_rules,
    "template with copies": of_template_with_copies,
    "template with quotation": of_template_with_quotation,
    "sequence": of_sequence,
    "tool calls": of_tool_calls,
}


def vocabularies(draw: Any, language: Language) -> Vocabulary:
    """Few tokens of the language's bytes: some of several bytes, repeated ones, special ones, any number of ends."""
    symbols = [bytes([byte]) for byte in language.alphabet[:12]]
    part = st.lists(st.sampled_from(symbols), min_size=2, max_size=4).map(b"".join)
    if language.name == "brackets":
        part |= st.sampled_from([b"<b", b"old>", b"<bold>", b"</bold>", b"</", b"bold>", b"))", b"()", b"(a", b"a)"])
    which = draw(st.sampled_from(["every byte", "the bytes", "some", "some", "other bytes too"]))
    tokens: list[bytes | None] = list(symbols)
    if which == "every byte":
        tokens = [bytes([byte]) for byte in range(256)]
    elif which == "some":
        tokens = [symbol for symbol in symbols if draw(st.integers(0, 3))]
    elif which == "other bytes too":
        tokens += [b"\xff", b"zz", b"\x80"]
    tokens += draw(st.lists(part, max_size=5))
    tokens += draw(st.lists(st.sampled_from(tokens), max_size=2)) if tokens else []
    tokens += [None] * draw(st.integers(0, 3))
    tokens = draw(st.permutations(tokens)) if len(tokens) < 50 else [None, *tokens]
    ids = st.integers(0, max(0, len(tokens) - 1))
    ends = [token for token, data in enumerate(tokens) if data is None][: draw(st.integers(0, 3))]
    if tokens and not draw(st.integers(0, 4)):
        ends.append(draw(ids))  # an end token with bytes, which no text can be written with
    return Vocabulary(tokens, ends)


def case_of(kind: str, draw: Any) -> Case:
    """A case of a kind; a vocabulary that cannot write any text is refused by those that look ahead."""
    language, make, looks_ahead, is_exact = KINDS[kind](draw)
    vocabulary = vocabularies(draw, language)
    plain = Case(TextSource(ByText, language, vocabulary), language, vocabulary)
    try:
        source = make(vocabulary)
    except DeadEnd:
        assert looks_ahead
        assert not is_exact or plain.fewest(b"") is None
        assume(False)
    case = Case(source, language, vocabulary, looks_ahead, is_exact)
    if looks_ahead:
        assume(source.guide().tokens_left() < UNREACHABLE)
    return case
