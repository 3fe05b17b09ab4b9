"""The recogniser against the texts of random grammars, written out."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.oracles.bounded_recogniser import BoundedRecogniser
from tests.oracles.enumerated_grammars import Enumerated
from tests.oracles.recogniser import Recogniser, RecogniserIndex
from tests.support.grammars.random_grammars import grammars, quoted_text
from tests.support.running.tried import tried

from sfgen import Dfa, Vocabulary
from sfgen.errors import DeadEnd, UsageError
from sfgen.grammar.network.rules import (
    EMPTY,
    NOTHING,
    Alternation,
    Call,
    Concatenation,
    CountedList,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Member,
    Repeat,
    Series,
)

LONGEST = 5


def recogniser_of(grammar: GrammarRules) -> Recogniser:
    try:
        return BoundedRecogniser(grammar)
    except UsageError as error:
        event("no text" if "no text" in error.message else "left recursion through other rules")
        assume(False)
        raise


def check(grammar: GrammarRules, recogniser: Recogniser, longest: int = LONGEST) -> None:
    """Acceptance, what is viable and how far the end is, of all short texts.

    Texts by the table: for each beginning the lengths of what completes it.
    """
    enumerated = Enumerated(grammar, longest)
    shortest: dict[bytes, int] = {}
    for text in enumerated.texts:
        for length in range(len(text) + 1):
            begun = text[:length]
            shortest[begun] = min(len(text) - length, shortest.get(begun, longest))
    waiting = [(b"", recogniser.start)]
    seen = 0
    while waiting:
        text, position = waiting.pop()
        seen += 1
        assert recogniser.accepts_at(position) is (text in enumerated.texts)
        least = recogniser.least_bytes(position)
        if text in shortest:
            assert least == shortest[text]
        else:
            assert len(text) + least > longest, text
        for byte in (*enumerated.alphabet, 0x7F):
            longer, after = text + bytes([byte]), recogniser.step(position, byte)
            if after is None:
                assert longer not in shortest
            elif len(longer) <= longest:
                waiting.append((longer, after))
    assert len(shortest) <= seen


def leaf(pattern: str) -> Leaf:
    return Leaf(Dfa.from_regex(pattern))


def row(*parts: Expression) -> Concatenation:
    return Concatenation(parts)


def any_of(*branches: Expression) -> Alternation:
    return Alternation(branches)


A, B, C, S = Call("a"), Call("b"), Call("c"), Call("s")
N, M = Call("n", distinct=True), Call("m", distinct=True)
LA, LB, LC, COMMA = Literal(b"a"), Literal(b"b"), Literal(b"c"), Literal(b",")

KNOWN: dict[str, tuple[dict[str, Expression], list[str]]] = {
    "left recursion, and a last call in it": (
        {"s": any_of(row(S, LB), row(LC, A)), "a": LA}, ["ca", "cab", "cabb", "cabbb"]
    ),
    "left recursion behind what may be empty": (
        {"s": any_of(row(A, S, LB), LC), "a": any_of(EMPTY, LA)},
        ["c", "cb", "acb", "cbb", "acbb", "aacbb", "cbbb", "acbbb", "cbbbb"]
    ),
    "left recursion of what may be empty": ({"s": any_of(row(S, S), LA, EMPTY)}, ["a" * count for count in range(6)]),
    "both sides": ({"s": any_of(row(S, COMMA, S), LA)}, ["a", "a,a", "a,a,a"]),
    "a rule that is itself": ({"s": any_of(S, LA)}, ["a"]),
    "empty rules around": ({"s": row(A, LB, A), "a": any_of(EMPTY, row(A, LA))}, [
        "a" * left + "b" + "a" * right for left in range(5) for right in range(5 - left)
    ]),
    "a branch without any text": ({"s": any_of(row(LA, A), LB), "a": row(LA, A)}, ["b"]),
    "two that differ": ({"s": row(N, COMMA, N), "n": leaf("a|b")}, ["a,b", "b,a"]),
    "two of one text": ({"s": any_of(row(LC, N, N), LA), "n": leaf("b")}, ["a"]),
    "one of two texts begins the other": ({"s": row(N, N), "n": leaf("a|ab")}, ["aab", "aba"]),
    "texts that two leaves share": (
        {"s": row(N, COMMA, M), "n": leaf("a|bb"), "m": leaf("a|ab")}, ["a,ab", "bb,a", "bb,ab"]
    ),
    "shared out the other way": ({"s": row(N, M, LC), "n": leaf("a|bb"), "m": leaf("a")}, ["bbac"]),
    "names of one text only": (
        {"s": row(A, COMMA, A), "a": row(LC, any_of(N, row(N, N))), "n": leaf("a|b")},
        ["ca,ca", "ca,cb", "cb,ca", "cb,cb"],
    ),
    "as many as there are": ({"s": row(LC, Repeat(N, 0, None)), "n": leaf("a|b")}, ["c", "ca", "cb", "cab", "cba"]),
    "items that differ": (
        {"s": CountedList(b"[", N, b",", b"]", 1, None), "n": leaf("a|b")}, ["[a]", "[b]", "[a,b]", "[b,a]"]
    ),
    "a list of lists": (
        {"s": CountedList(b"[", S, b",", b"]", 0, 2)}, ["[]", "[[]]", "[[],[]]", "[[[]]]"]
    ),
    "only what is optional": (
        {"s": Series((Member(LA, False), Member(LB, False)), COMMA, LC)},
        ["", "a", "b", "c", "a,b", "a,c", "b,c", "c,c", "a,b,c", "a,c,c", "b,c,c", "c,c,c"],
    ),
    "what must be in the middle": (
        {"s": Series((Member(LA, False), Member(LB, True), Member(LC, False)), COMMA)}, ["b", "a,b", "b,c", "a,b,c"]
    ),
    "a counted text": ({"s": quoted_text(b"", b"ab", False, 2, 3)}, [
        f'{first}{second}{third}"' for first in "ab" for second in "ab" for third in ("", "a", "b")
    ]),
    "characters are counted, and not bytes": ({"s": quoted_text(b'"', b"", True, 1, 1)}, ['"é"']),
}  # fmt: skip


@tried("many")
@given(grammars(wide=False))
def test_short_texts(grammar: GrammarRules) -> None:
    check(grammar, recogniser_of(grammar))
    after_comma = GrammarRules({**grammar.rules, "whole": row(COMMA, Call(grammar.start))}, "whole")
    check(after_comma, Recogniser(after_comma))  # then it counts how far the end of a whole rule is


@pytest.mark.parametrize("name", KNOWN)
def test_known_texts(name: str) -> None:
    rules, texts = KNOWN[name]
    longest = 7 if "list" in name else LONGEST
    check(GrammarRules(rules, "s"), Recogniser(GrammarRules(rules, "s")), longest)
    called = GrammarRules({**rules, "whole": row(S, COMMA)}, "whole")
    check(called, Recogniser(called), longest)
    assert {text.decode() for text in Enumerated(GrammarRules(rules, "s"), longest).texts} == set(texts)


def test_names_are_shared_out() -> None:
    """The shortest ending takes a name from the call that had it first, and from another in turn."""
    leaves: dict[str, Expression] = {"n": leaf("a|bb|ccc"), "m": leaf("a|bb|b{9}"), "k": leaf("a|b{7}")}
    recogniser = Recogniser(GrammarRules({"s": row(COMMA, M, N, Call("k", distinct=True)), **leaves}, "s"))
    assert recogniser.least_bytes(recogniser.start) == len(",bbccca")
    taken = recogniser.read(recogniser.start, b",a")
    assert taken is not None
    assert recogniser.least_bytes(taken) == len("bb") + 7


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"s": row(LA, S)}, "no text"),
        ({"s": NOTHING}, "no text"),
        ({"s": row(N, N), "n": leaf("a")}, "no text"),
        ({"s": row(N, M), "n": leaf("a"), "m": leaf("a")}, "no text"),
        ({"s": Repeat(LA, 2, 1)}, "no text"),
        ({"s": any_of(A, LA)}, "no rule 'a'"),
        ({"s": any_of(row(A, LB), LA), "a": any_of(row(S, LC), LC)}, "a, s call each other"),
        ({"s": any_of(LC, A), "a": any_of(row(B, LA), LA), "b": any_of(row(C, A), LB), "c": EMPTY}, "a, b call each"),
    ],
)
def test_what_it_refuses(rules: dict[str, Expression], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        Recogniser(GrammarRules(rules, "s"))
    assert caught.value.hint


def test_a_circle_that_nobody_comes_to_is_none() -> None:
    rules = {"s": any_of(LA, row(Alternation(()), A)), "a": any_of(row(B, LA), LA), "b": any_of(row(C, A), LB)}
    assert Recogniser(GrammarRules({**rules, "c": row(LC, C)}, "s")).accepts("a")
    assert (
        Recogniser(GrammarRules({**rules, "s": any_of(LA, row(LB, A)), "c": row(LC, C)}, "s")).accepts("bbaa") is False
    )


def test_large_counts() -> None:
    rules: dict[str, Expression] = {
        "s": row(A, COMMA, B),
        "a": CountedList(b"[", C, b", ", b"]", 300, 2000),
        "b": quoted_text(b'"', b"ab", True, 100, None),
        "c": leaf("a|bb"),
    }
    recogniser = Recogniser(GrammarRules(rules, "s"))
    assert recogniser.least_bytes(recogniser.start) == 2 + 300 + 2 * 299 + 1 + 102
    items, text = b", ".join([b"a"] * 300), b'"' + b"a" * 99 + "é".encode() + b'"'
    assert recogniser.accepts(b"[" + items + b"]," + text)
    assert not recogniser.accepts(b"[" + items[3:] + b"]," + text)
    assert recogniser.read(recogniser.start, b"[" + b", ".join([b"bb"] * 2000) + b", ") is None
    assert recogniser.accepts(b"[" + b", ".join([b"bb"] * 2000) + b"]," + text + b'"') is False
    inside = recogniser.read(recogniser.start, b"[" + items + b']]"'[:1] + b',"' + "é".encode() * 60)
    assert inside is not None
    assert recogniser.least_bytes(inside) == 41
    assert recogniser.step(inside, ord('"')) is None


def test_deep_texts() -> None:
    recogniser = Recogniser(GrammarRules({"s": any_of(row(Literal(b"("), S, Literal(b")")), LA)}, "s"))
    assert recogniser.accepts(b"(" * 5000 + b"a" + b")" * 5000)
    right = Recogniser(GrammarRules({"s": any_of(row(LA, S), LB)}, "s"))
    assert right.read(right.start, b"a") == right.read(right.start, b"aaaa"), "a last call leaves nothing behind"


def test_what_is_no_text() -> None:
    recogniser = Recogniser(GrammarRules({"s": leaf(".")}, "s"))
    assert recogniser.accepts("é") is recogniser.accepts("é".encode()) is True
    assert recogniser.accepts("\ud800") is False
    with pytest.raises(UsageError, match="text"):
        recogniser.accepts(7)  # type: ignore[arg-type]


@tried("some")
@given(grammars(wide=False), st.data())
def test_the_tokens_of_an_index(grammar: GrammarRules, data: st.DataObject) -> None:
    """After a walk exactly those tokens are allowed that a text goes on with."""
    recogniser = recogniser_of(grammar)
    enumerated = Enumerated(grammar, LONGEST)
    letters = st.lists(st.sampled_from(enumerated.alphabet or [0]), min_size=1, max_size=3).map(bytes)
    vocabulary = Vocabulary([*data.draw(st.lists(letters, max_size=8)), b"a", b"b", None], [1])
    index = RecogniserIndex(grammar, vocabulary)
    guide, text = index.guide(), b""
    for _ in range(4):
        read = {
            token: recogniser.read(recogniser.start, text + data)
            for token, data in enumerate(vocabulary.tokens)
            if data
        }
        may_follow = [token for token, position in read.items() if position is not None and token != 1]
        whole = [1] if recogniser.accepts(text) else []
        try:
            assert guide.allowed_tokens().tolist() == sorted([*may_follow, *whole])
        except DeadEnd:
            assert not [*may_follow, *whole]
        assert (index.refusal(text) is None) is bool(whole)
        if not may_follow:
            break
        token = data.draw(st.sampled_from(may_follow))
        guide.advance(token)
        text += vocabulary.tokens[token] or b""
