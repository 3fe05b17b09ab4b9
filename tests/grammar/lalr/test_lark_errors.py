"""What lark writes out of a grammar is counted beforehand, as lark does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import LarkError
from tests.support.running.tried import tried

from sfgen import Grammar
from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_errors import MAX_ALTERNATIVES, MAX_COPIES, check_expansions, definitions

LEAVES = 'x: "x"\n' + "".join(f'a{n}: "a{n}"\n' for n in range(40))


@st.composite
def parts(draw: st.DrawFn, depth: int = 0) -> str:
    """A part of a rule, each of whose leaves is another rule's name once its ``@`` is numbered."""
    kinds = ["leaf", "leaf", "?", "[]", "*", "+", "~2", "~0..2", "row", "bars"] if depth < 3 else ["leaf"]
    kind = draw(st.sampled_from(kinds))
    if kind == "leaf":
        return "@"
    inner = [draw(parts(depth=depth + 1)) for _ in range(2 if kind in ("row", "bars") else 1)]
    if kind == "[]":
        return f"[{inner[0]}]"
    if kind in ("row", "bars"):
        return f"({(' ' if kind == 'row' else ' | ').join(inner)})"
    return f"({inner[0]}){kind}"


@tried("few")
@given(st.lists(parts(), min_size=1, max_size=4))
def test_alternatives_are_those_that_lark_writes(row: list[str]) -> None:
    pieces = " ".join(row).split("@")
    rule = "".join(f"{piece}a{number} " for number, piece in enumerate(pieces[:-1])) + pieces[-1]
    text = f"start: {rule}\n  | x // [x]~9\n{LEAVES}"
    counted = definitions(text)["start"].alternatives
    if counted <= 60 and len(pieces) <= 40:
        written: dict[str, int] = {}
        try:
            rules = Lark(text, parser="earley", maybe_placeholders=False).rules
        except LarkError:  # combinations that are equal
            return
        for each in rules:
            written[each.origin.name] = written.get(each.origin.name, 0) + 1
        most = max(number for name, number in written.items() if name == "start" or name.startswith("__start"))
        assert most <= counted  # equal ones are written once
        if not any(sign in rule for sign in ("?", "[", "*", "~", "+")):
            assert counted == most


@pytest.mark.parametrize(
    ("rule", "count"),
    [
        ("a1", 1), ("a1 a2 | a3", 2), ("[a1] a2? a3*", 8), ("(a1 | a2)~3 a3", 8), ("(a1 | a2)~0..2", 7), ("a1~70", 1),
        ('"a".."c" /[a](b)\\/[/i? // [a1]\n  | a1 -> name', 3), ("(a1 | a2 | a3)+", 6), ("_list{a1, a2}? a1", 2),
        ("(a1|a2)~49", 10**9),
    ],
)  # fmt: skip
def test_alternatives_of_a_rule(rule: str, count: int) -> None:
    assert definitions(f"other: a1\n?start.2: {rule}\n\n!last: a1 [a2]\n")["start"].alternatives == count


def test_a_rule_of_too_many_combinations_is_refused_by_name() -> None:
    optional = " ".join(f"[a{number}]" for number in range(30))
    with pytest.raises(GrammarError, match=f"the rule middle passes the limit of {MAX_ALTERNATIVES:,} alternatives"):
        Grammar.from_lark(f"start: middle\nmiddle: {optional}\n{LEAVES}")
    apart = "start: " + " ".join(f"o{number}" for number in range(9)) + "\n"
    apart += "".join(f"o{number}: [a{number}]\n" for number in range(9))
    assert Grammar.from_lark(apart + LEAVES).accepts("a1a5")


def test_a_terminal_of_too_many_copies_is_refused_by_name() -> None:
    doubled = "".join(f"A{number}: A{number + 1} A{number + 1}\n" for number in range(40)) + 'A40: "a"\n'
    with pytest.raises(GrammarError, match=f"the terminal A0 passes the limit of {MAX_COPIES:,} parts copied"):
        Grammar.from_lark(f"start: A0\n{doubled}")
    check_expansions("start: A\nA: C\nC: " + '"x" ' * 20_000)
    check_expansions("start: A\nA: B\nB: A A\n")  # for lark to tell
    check_expansions("start: A (\nA: [[[ }\n")


def test_what_is_copied_often_is_counted_whatever_the_order() -> None:
    text = "start: A\nA: C B\nB: " + "C " * 200 + "\nC: " + "D " * 200 + '\nD: "d"\n'
    with pytest.raises(GrammarError, match="the terminal A passes"):
        check_expansions(text)
