"""The rules of a schema as a tree, as a graph and as plain data, and examples of its texts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from sfgen.automata.graph import STATES_DRAWN, Graph, GraphEdge, GraphState, title_of
from sfgen.automata.label import visible
from sfgen.grammar.network.completion import shortest_text
from sfgen.grammar.network.examples import every_text
from sfgen.grammar.network.read import NetworkReader
from sfgen.schema.inspection.position import is_union
from sfgen.schema.writing.compile import Compiled
from sfgen.schema.writing.skeleton import RulePart


@dataclass(frozen=True)
class Branch:
    """A line of the tree."""

    depth: int  # the nesting depth; the whole document is at 0
    # the role in the rule above: ``$`` for the whole, the name of a property, ``[0]``, ``[]`` for all other items,
    # ``*`` for properties with other names, ``|`` for a branch of a union
    label: str
    rule: str
    expected: str  # a description of the value in words
    # whether every text of the rule above has this part; ``None`` for the whole and for branches of unions
    is_needed: bool | None
    is_known: bool = False  # whether an earlier line lists the parts of this rule


def tree(compiled: Compiled) -> list[Branch]:
    """List the rules as a tree, beginning with the whole document.

    The parts of a rule are listed only where it first occurs.

    >>> from sfgen.schema.json_schema import JsonSchema
    >>> for branch in tree(JsonSchema("name, tags str[]").compiled):
    ...     print("  " * branch.depth + branch.label, branch.expected, branch.is_needed)
    $ an object with name, tags None
      name a string True
      tags an array True
        [] a string False
    """
    found: list[Branch] = []
    spelled = set[str]()
    waiting: list[tuple[int, str, str, bool | None]] = [(0, "$", compiled.grammar.start, None)]
    while waiting:
        depth, label, rule, is_needed = waiting.pop()
        parts = compiled.parts[rule]
        is_known = rule in spelled and bool(parts)
        found.append(Branch(depth, label, rule, compiled.descriptions[rule], is_needed, is_known))
        if is_known:
            continue
        spelled.add(rule)
        has_branches = is_union(compiled, rule)
        for part in reversed(parts):
            label, is_needed = ("|", None) if has_branches else (part.label, part.is_needed)
            waiting.append((depth + 1, label, part.rule, is_needed))
    return found


def graph(compiled: Compiled, title: str, *, max_rules: int = STATES_DRAWN) -> Graph:
    """Build the graph of the rules."""
    # The label of an edge is that of the part; optional parts have ``?``.
    numbers = {compiled.grammar.start: 0}
    edges: list[tuple[int, str, str]] = []
    for rule in (queue := [compiled.grammar.start]):
        has_branches = is_union(compiled, rule)
        for part in compiled.parts[rule]:
            edges.append((numbers[rule], part.rule, "" if has_branches else _on_edge(part)))
            if part.rule not in numbers and len(queue) < max_rules:
                numbers[part.rule] = len(queue)
                queue.append(part.rule)
    shown = tuple(GraphEdge(source, numbers[rule], label) for source, rule, label in edges if rule in numbers)
    return Graph(
        title=title_of(title),
        states=tuple(GraphState(numbers[rule], False) for rule in queue),
        edges=shown,
        continuing=tuple(dict.fromkeys(source for source, rule, _ in edges if rule not in numbers)),
        states_left_out=len(_reached(compiled)) - len(queue),
        labels=tuple(visible(compiled.descriptions[rule]) for rule in queue),
    )


def to_dict(compiled: Compiled) -> dict[str, Any]:
    """Return the rules as plain data for JSON."""
    # Each rule has a description, the pointer of its schema, and its parts.
    return {
        "start": compiled.grammar.start,
        "rules": {
            rule: {
                "expected": compiled.descriptions[rule],
                "pointer": compiled.pointers[rule],
                "union": is_union(compiled, rule),
                "parts": [
                    {"label": part.label, "rule": part.rule, "required": part.is_needed, "name": part.name or None}
                    for part in compiled.parts[rule]
                ],
            }
            for rule in _reached(compiled)
        },
    }


def _reached(compiled: Compiled) -> list[str]:
    """List the rules that are reachable from the start, in order of discovery."""
    found = {compiled.grammar.start: None}
    for rule in (queue := [compiled.grammar.start]):
        for part in compiled.parts[rule]:
            if part.rule not in found:
                found[part.rule] = None
                queue.append(part.rule)
    return queue


def _on_edge(part: RulePart) -> str:
    return visible(part.label) + ("" if part.is_needed else "?")


def examples(reader: NetworkReader, compiled: Compiled, count: int) -> list[str]:
    """List different texts of a schema.

    The shortest comes first, then for each member and branch a shortest text that contains it. A higher ``count``
    gives the same texts and others after them. Texts that repeat values which must differ are left out.

    >>> from sfgen import JsonSchema
    >>> schema = JsonSchema({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "null"}}})
    >>> examples(schema.reader, schema.compiled, 4)
    ['{}', '{"a": true}', '{"b": null}', '{"a": false}']
    """
    texts = itertools.islice(every_text(compiled.grammar), count * 4 + 100)
    return list(dict.fromkeys([shortest_text(reader).decode(), *filter(reader.reads, texts)]))[:count]
