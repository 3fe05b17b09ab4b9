"""What a schema expects at a position of a document, in plain words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sfgen.grammar.rules import Alternation, AnyOrder, Call, Leaf
from sfgen.schema.compile import Compiled
from sfgen.schema.json_position import Expects, JsonPosition, Way
from sfgen.schema.outline import Part
from sfgen.schema.words import alternatives, shown
from sfgen.schema.written_text import write

_MOST_NAMES = 5  # of properties that are named


def expected_at(compiled: Compiled, there: JsonPosition, running: Collection[str] = ()) -> str:
    """Describe what may stand at a position, or comes next.

    Args:
        compiled: The rules of the schema.
        there: The position.
        running: The rules that the text is in: of several that may stand there, only these.
    """
    rules = rules_at(compiled, there.way)
    rules = [rule for rule in rules if rule in running] or rules
    match there.expects:
        case Expects.NAME:
            return _names(part for rule in rules for part in _following(compiled, rule, there))
        case Expects.COLON:
            return "a colon"
        case Expects.MORE:
            if there.is_whole:
                return "nothing more"
            has_more = any(_following(compiled, rule, there) for rule in rules)
            return "a comma or the end" if has_more or there.is_in_array else "the end"
        case _:
            return alternatives(compiled.descriptions[rule] for rule in rules)


def rules_at(compiled: Compiled, way: Way) -> list[str]:
    """Find the rules whose texts a value in a document can be.

    The branches of unions are told apart.

    Args:
        compiled: The rules of the schema.
        way: The path to the value.

    >>> from sfgen.schema.compile import compile_schema
    >>> from sfgen.schema.options import WritingOptions
    >>> from sfgen.schema.read import read_schema
    >>> compiled = compile_schema(read_schema("name, tags str[]"), WritingOptions())
    >>> [compiled.descriptions[rule] for rule in rules_at(compiled, ("tags", 7))]
    ['a string']
    """
    rules = _branches(compiled, [compiled.grammar.start])
    for step in way:
        rules = _branches(compiled, [part.rule for rule in rules for part in _leading(compiled, rule, step)])
    return rules


def _leading(compiled: Compiled, rule: str, step: str | int) -> list[Part]:
    """The parts of a rule that a name or an index leads to."""
    several = compiled.parts[rule]
    if isinstance(step, int):
        named = [part for part in several if part.label.partition(" ")[0] == f"[{step}]"]
        return named or [part for part in several if part.label.partition(" ")[0] == "[]"]
    named = [part for part in several if part.label == step and not part.name]
    return named or [part for part in several if part.name and _is_name(compiled, part.name, step)]


def _is_name(compiled: Compiled, rule: str, name: str) -> bool:
    """Whether the rule of some names has a name."""
    names = compiled.grammar.rules[rule]
    return not isinstance(names, Leaf) or names.dfa.accepts(write(name))


def _branches(compiled: Compiled, rules: Iterable[str]) -> list[str]:
    """The rules without unions: in place of each, what it is a union of."""
    found: dict[str, None] = {}
    seen, waiting = set[str](), list(rules)[::-1]
    while waiting:
        rule = waiting.pop()
        if rule in seen:
            continue
        seen.add(rule)
        if is_union(compiled, rule):
            waiting += [part.rule for part in reversed(compiled.parts[rule])]
        else:
            found[rule] = None
    return list(found)


def is_union(compiled: Compiled, rule: str) -> bool:
    """Tell whether a rule is only a choice between other rules.

    Args:
        compiled: The rules of the schema.
        rule: The name of the rule.
    """
    expression = compiled.grammar.rules[rule]
    return isinstance(expression, Alternation) and all(isinstance(branch, Call) for branch in expression.branches)


def _following(compiled: Compiled, rule: str, there: JsonPosition) -> list[Part]:
    """The properties of an object whose names may come next."""
    if isinstance(compiled.grammar.rules[rule], AnyOrder):
        parts: Sequence[Part] = [part for part in compiled.parts[rule] if part.name or part.label not in there.names]
    else:
        parts = _behind(compiled.parts[rule], there.names)
    return [part for part in parts if part.name or write(part.label).startswith(there.token)]


def _behind(parts: Sequence[Part], names: Sequence[str]) -> Sequence[Part]:
    """The properties behind the last one of these names, up to one that is needed."""
    known = [part.label for part in parts if not part.name]
    if not names:
        behind = parts
    elif names[-1] in known:
        behind = parts[known.index(names[-1]) + 1 :]
    else:
        behind = [part for part in parts if part.name]
    needed = next((number for number, part in enumerate(behind) if part.is_needed), len(behind))
    return behind[: needed + 1]


def _names(parts: Iterable[Part]) -> str:
    """What the name of a property may be."""
    several = list(parts)
    names = list(dict.fromkeys(shown(part.label) for part in several if not part.name))
    more = ["another name"] if any(part.name for part in several) else []
    if len(names) > _MOST_NAMES:
        more = [f"one of {len(names) - _MOST_NAMES} more", *more]
    words = [*names[:_MOST_NAMES], *more]
    return f"the name {alternatives(words)}" if names else "a name"
