"""Chains of rules, each of which names the next: what they mean, and work that grows with their length alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import sfgen

BODIES = {
    "names": "r{next}",
    "behind": '"a" r{next}',
    "inside": '"a" r{next} "c"',
    "or": '"a{this}" | r{next}',
    "optional": '("a" r{next})?',
    "repeated": '("a" r{next})*',
    "brackets": "[(] r{next} [)]",
}


def chain(body: str, length: int, *, is_reversed: bool = False) -> str:
    rules = [f"r{this} ::= {body.format(this=this, next=this + 1)}" for this in range(length)]
    rules.append(f'r{length} ::= "b"')
    return "\n".join(["root ::= r0", *(rules[::-1] if is_reversed else rules)])


def calls_of(make: Callable[[], Any]) -> int:
    """How many functions of Python are called."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        make()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_work_grows_with_the_length(body: str, is_reversed: bool) -> None:
    def calls_with(length: int) -> int:
        text = chain(body, length, is_reversed=is_reversed)
        return calls_of(lambda: sfgen.Grammar.from_gbnf(text))

    calls_with(3)  # what is imported and compiled once
    assert calls_with(600) < 2.5 * calls_with(300)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_chain_of_thousands_of_rules(is_reversed: bool) -> None:
    length = 5000
    grammars = {
        name: sfgen.Grammar.from_gbnf(chain(BODIES[name], length, is_reversed=is_reversed))
        for name in ("names", "behind", "inside", "or")
    }
    assert grammars["names"].shortest() == b"b"
    assert grammars["behind"].shortest() == b"a" * length + b"b"
    assert grammars["inside"].accepts("a" * length + "b" + "c" * length)
    assert not grammars["inside"].accepts("a" * length + "b" + "c" * (length - 1))
    assert [grammars["or"].accepts(text) for text in ("a0", "a4999", "a5000", "b")] == [True, True, False, True]


def test_a_rule_for_each_character_of_a_document() -> None:
    document = "the quick brown fox " * 50
    rules = [f'r{at} ::= "{letter}" r{at + 1}?' for at, letter in enumerate(document)]
    starts = " | ".join(f"r{at}" for at in range(len(document)))
    grammar = sfgen.Grammar.from_gbnf("\n".join([f"root ::= {starts}", *rules, f'r{len(document)} ::= "."']))
    for text in ("quick", "x the", document, "fox ."):
        assert grammar.accepts(text)
    for text in ("", "quack", "the.", document + document):
        assert not grammar.accepts(text)
