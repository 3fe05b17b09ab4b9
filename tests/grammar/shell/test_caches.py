"""Caches of the shell: whose entries go when, and what tells them apart."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from sfgen import Grammar, JsonSchema, Substring, Template, Vocabulary
from sfgen.grammar.shell.read import StepReader

LAYOUT = 'start: line+\nline: "a" _NL [_INDENT line+ _DEDENT]\n_NL: /(\\n *)+/\n%declare _INDENT _DEDENT'
MAKE: dict[str, Callable[[], Any]] = {
    "schema": lambda: JsonSchema({"type": "array", "items": {"type": "string"}}),
    "gbnf": lambda: Grammar.from_gbnf('root ::= "a" root "b" | "c"'),
    "gbnf with tokens": lambda: Grammar.from_gbnf('root ::= "a" root "b" | <think>'),
    "lark": lambda: Grammar.from_lark('start: "a" start "b" | "c"'),
    "lark with tokens": lambda: Grammar.from_lark('start: "a" start "b" | <think>'),
    "lark with a schema": lambda: Grammar.from_lark('start: "a" start "b" | %json {"type": "string"}'),
    "lark with indentation": lambda: Grammar.from_lark(LAYOUT),
    "substring": lambda: Substring("to be or not to be"),
    "template": lambda: Template("a {{x: regex [a-z]+}} b {{y: regex [0-9]+}}"),
    "template with a schema": lambda: Template('{{x: schema {"type": "array"}}} b {{y: regex [0-9]+}}'),
}


def vocabulary(*names: str) -> Vocabulary:
    named = {256 + number: name for number, name in enumerate(names)}
    return Vocabulary([*(bytes([byte]) for byte in range(256)), *([None] * len(names)), None], [256 + len(names)],
                      names=named)  # fmt: skip


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_vocabularies_and_constraints_do_not_hold_each_other(make: Callable[[], Any]) -> None:
    first, second = make(), make()
    lasting, passing = vocabulary("<think>"), vocabulary("<think>", "<call>")
    for constraint in (first, second):
        for each in (lasting, passing):
            constraint.guide(each).mask()
            constraint.guide(each, 60).mask()
    held = weakref.ref(first), weakref.ref(passing), weakref.ref(passing.trie)
    del first, passing, constraint, each
    gc.collect()
    assert [each() for each in held] == [None, None, None]
    second.guide(lasting).mask()


def test_vocabularies_that_differ_in_names_only_are_told_apart() -> None:
    one, other = vocabulary("<think>", "<call>"), vocabulary("<call>", "<think>")
    assert one == other
    for grammar in (Grammar.from_gbnf("root ::= <think>"), Grammar.from_lark("start: <think>")):
        assert grammar.guide(one).allowed_tokens().tolist() == [256]
        assert grammar.guide(other).allowed_tokens().tolist() == [257]
        assert dict(grammar.written(one)) == {256: b"<think>"}
        assert dict(grammar.written(other)) == {257: b"<think>"}


class _Counting(StepReader[int]):
    start = 0

    def _read(self, position: int, kind: int) -> int | None:
        return position + 1

    def accepts(self, position: int) -> bool:
        return True

    def united(self, positions: Any) -> int:
        return int(max(positions))

    def _possible(self, position: int) -> tuple[int, ...]:
        return (0,)


class _Cleared(dict[Any, Any]):
    """Steps that another thread clears between two look-ups."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key, default)
        self.clear()
        return found


def test_another_thread_may_clear_the_steps() -> None:
    reader = _Counting(bytes(256))
    assert reader.read(0, b"ab") == 2
    reader._steps = _Cleared(reader._steps)
    assert reader.read(0, b"ab") == 2
