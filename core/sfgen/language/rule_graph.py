"""The rules of a grammar as a graph to be drawn: a node for each, and an edge to each that it calls."""

from __future__ import annotations

from sfgen.automata.graph import STATES_DRAWN, Graph, GraphEdge, GraphState, title_of
from sfgen.automata.label import visible
from sfgen.language.grammar import Grammar


def rule_graph(grammar: Grammar, title: str, *, max_rules: int = STATES_DRAWN) -> Graph:
    r"""Build the graph of the rules that the start needs.

    They are in the order in which they are come to; terminals are left out.

    Args:
        grammar: The grammar.
        title: What stands under it.
        max_rules: Rules that are drawn; what is further from the start is left out.

    >>> rule_graph(Grammar.from_gbnf('root ::= "(" root ")" | x\nx ::= "x"'), "pairs").labels
    ('root', 'x')
    """
    rules = {rule.name: rule for rule in grammar.rules() if rule.kind == "rule"}
    numbers = {grammar.start: 0}
    for name in (queue := [grammar.start]):
        for called in rules[name].calls:
            if called in rules and called not in numbers:
                numbers[called] = len(queue)
                queue.append(called)
    calls = [(numbers[name], numbers[called]) for name in queue for called in rules[name].calls if called in numbers]
    shown = [call for call in calls if max(call) < max_rules]
    return Graph(
        title=title_of(title),
        states=tuple(GraphState(number, False) for number in range(min(len(queue), max_rules))),
        edges=tuple(GraphEdge(source, target, "") for source, target in shown),
        continuing=tuple(dict.fromkeys(source for source, target in calls if source < max_rules <= target)),
        edges_left_out=sum(source < max_rules <= target for source, target in calls),
        states_left_out=max(0, len(queue) - max_rules),
        labels=tuple(visible(name) for name in queue[:max_rules]),
    )
