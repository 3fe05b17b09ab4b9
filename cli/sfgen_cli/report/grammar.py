"""Grammars: whether texts match one and why not; its rules, terminals and states in ``sfgen index``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sfgen import Grammar
from sfgen.grammar.language.language import BETWEEN_RULES, Failure, where
from sfgen.printable import counted, line_with_caret, on_one_line
from sfgen_cli.report.matching import Complaint, complaint_at
from sfgen_cli.report.tables import cut, plain_or_boxed, show
from sfgen_cli.report.text_source import IndexRequest, save_for_vocabulary, with_vocabulary
from sfgen_cli.shell.output import stdout_is_a_terminal, write, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from sfgen import Vocabulary

_MOST_SHOWN = 12  # of what was expected


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """The findings about one text.

    Attributes:
        text: The text, in which bytes that are not UTF-8 are lone surrogates.
        failure: Where it fails; ``None``: it is a text of the grammar.
    """

    text: str
    failure: Failure | None

    @property
    def matches(self) -> bool:
        """Whether it is a text of the grammar."""
        return self.failure is None

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        return {
            "matches": self.matches,
            "failure": None if self.failure is None else failure_record(self.failure, line),
        }

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain why the grammar refuses the text, by one complaint.

        ``line`` is its line in the file, if it is one.
        """
        if self.failure is None:
            return []
        return [complaint_at(self.failure, self.text, in_words(self.failure), line)]


class GrammarMatching:
    """A grammar, ready to check many texts."""

    said, said_with_bans = "match the grammar", "match the grammar and are clean"
    each_line = False
    last_newline_may_go = True

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def matches(self, text: str) -> bool:
        """Return whether a text matches the grammar, and nothing else."""
        return self._grammar.accepts(text)

    def check(self, text: str) -> CheckedSentence:
        """Check a text, and collect what the report says of it."""
        return CheckedSentence(text, self._grammar.failure(text))


def in_words(failure: Failure) -> str:
    """Explain in one line why the grammar refuses a text.

    >>> in_words(Failure(3, 3, 1, 4, ("NUMBER", "NAME"), ("start", "value"), False, False))
    'expected NUMBER or NAME, in start › value'
    """
    expected = expected_in_words(failure)
    rules = BETWEEN_RULES.join(failure.open_rules)
    if failure.at_end:
        return f"the text ends too early: expected {expected}, in {rules}"
    return f"expected {expected}, in {rules}"


def expected_in_words(failure: Failure) -> str:
    """Name what may stand where a text fails."""
    return alternatives(failure.expected, may_end=failure.may_end)


def alternatives(expected: tuple[str, ...], *, may_end: bool) -> str:
    """Name what may stand at a position.

    >>> alternatives(("NAME", '"("'), may_end=True)
    'NAME, "(" or the end of the text'
    """
    shown = [on_one_line(name) for name in expected[:_MOST_SHOWN]]
    if len(expected) > _MOST_SHOWN:
        shown.append(f"{len(expected) - _MOST_SHOWN} more")
    if may_end:
        shown.append("the end of the text")
    if not shown:
        return "nothing at all"
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def failure_record(failure: Failure, line: int | None = None) -> dict[str, Any]:
    """Return where a text fails as data for JSON."""
    return {
        "position": failure.position,
        "byte": failure.byte,
        "line": failure.line if line is None else line,
        "column": failure.column,
        "expected": list(failure.expected),
        "rules": list(failure.open_rules),
        "at_end": failure.at_end,
        "may_end": failure.may_end,
    }


_CALLS_SHOWN = 8


def run_grammar(request: IndexRequest) -> None:
    """Show a grammar, or save it."""
    from sfgen.grammar.language.file import load, save

    constraint, looks, quiet = request.constraint, request.looks, request.quiet
    looks.refuse_about_patterns("--grammar" if constraint else "a saved grammar", has_states=True)
    with progress(quiet=quiet) as say:
        grammar, vocabulary = with_vocabulary(request, say, read=lambda: constraint.read_grammar, load=load)
    name = str(request.file) if constraint.grammar is None else constraint.grammar.name
    json = looks.form == "json"
    if request.save:
        told = f"{counted(sum(rule.kind == 'rule' for rule in grammar.rules()), 'rule')} for"
        record = partial(_record, grammar, vocabulary)
        save_for_vocabulary(request, grammar, vocabulary, save, told=told, record=record)
    elif looks.state is not None:
        _show_state(grammar, looks.state, json=json)
    elif looks.path is not None:
        _show_path(grammar, name, looks.path, json=json)
    elif looks.examples is not None:
        _show_examples(grammar, looks.examples, json=json)
    elif looks.is_graph:
        from sfgen.grammar.language.grammar import rule_graph
        from sfgen_cli.report.tables import write_graph

        graph = rule_graph(grammar, name, max_rules=looks.most_states)
        table = partial(_rules_table, grammar, vocabulary, name, looks.most_states)
        write_graph(graph, looks.form, quiet=quiet, instead=table)
    elif json:
        write_json(_record(grammar, vocabulary))
    else:
        _rules_table(grammar, vocabulary, name, looks.most_states)


def _record(grammar: Grammar, vocabulary: Vocabulary | None) -> dict[str, Any]:
    """Return a grammar as ``--json`` prints it. Keys stay; more may be added."""
    fields: dict[str, Any] = {**grammar.to_dict(), "states": grammar.states(), "rules": {}, "terminals": {}}
    for rule in grammar.rules():
        told = {"line": rule.line, "states": rule.states}
        fields[f"{rule.kind}s"][rule.name] = {**told, "calls": list(rule.calls)} if rule.kind == "rule" else told
    if vocabulary is not None:
        fields["vocabulary"] = {"size": len(vocabulary), "fingerprint": vocabulary.fingerprint}
    return {**fields, "shortest": grammar.shortest().decode()}


def _rules_table(grammar: Grammar, vocabulary: Vocabulary | None, name: str, most: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rules = grammar.rules()
    terminals = [rule for rule in rules if rule.kind == "terminal"]
    facts = {
        "grammar": f"{on_one_line(name)}, {grammar.format}, from {grammar.start}",
        "rules": f"{len(rules) - len(terminals):,}",
        "terminals": f"{len(terminals):,}",
        "states": f"{grammar.states():,}",
    }
    if grammar.max_blanks is not None:
        facts["max blanks"] = str(grammar.max_blanks)
    if vocabulary is not None:
        facts["vocabulary"] = f"{len(vocabulary):,} tokens, fingerprint {vocabulary.fingerprint[:16]}"
    facts["shortest"] = repr(grammar.shortest().decode())
    table = Table(box=box.SIMPLE_HEAD if stdout_is_a_terminal() else None, pad_edge=False)
    table.add_column("name", no_wrap=not stdout_is_a_terminal(), overflow="fold")
    table.add_column("kind", no_wrap=True)
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("states", justify="right", no_wrap=True)
    table.add_column("calls", no_wrap=not stdout_is_a_terminal(), overflow="fold")
    for rule in rules[:most]:
        calls = [on_one_line(call) for call in rule.calls[:_CALLS_SHOWN]]
        line = "" if rule.line is None else str(rule.line)
        said = Text(cut(calls, len(rule.calls), separator="  "))
        table.add_row(Text(on_one_line(rule.name)), rule.kind, line, f"{rule.states:,}", said)
    more = len(rules) - most
    show(facts, table, f"… {more:,} more: --max-states shows more, --json all" if more > 0 else "")


def _show_state(grammar: Grammar, number: int, *, json: bool) -> None:
    """Show what may follow in one state."""
    from rich.text import Text

    state = grammar.state(number)
    if json:
        follows = [{"name": move.name, "target": move.target} for move in state.moves]
        write_json({"state": number, "rules": list(state.rules), "may_end": state.may_end, "follows": follows})
        return
    facts = {
        "state": f"{number} of {grammar.states():,}",
        "rule": ", ".join(map(on_one_line, state.rules)),
        "end": "the rule may end here" if state.may_end else "no",
    }
    table = plain_or_boxed("next", text="what may follow")
    for move in state.moves:
        table.add_row("" if move.target is None else str(move.target), Text(on_one_line(move.name)))
    show(facts, table)


def _show_examples(grammar: Grammar, count: int, *, json: bool) -> None:
    """Write texts, as JSON objects, or one after the other; with an empty line between where they have lines."""
    texts = grammar.examples(count)
    if json:
        for text in texts:
            write_json({"text": text})
    else:
        between = "\n" if any("\n" in text.removesuffix("\n") for text in texts) else ""
        write(between.join(text if text.endswith("\n") else f"{text}\n" for text in texts))


def _show_path(grammar: Grammar, name: str, text: str, *, json: bool) -> None:
    """Show in which rules a text is read, and where it fails."""
    from rich.text import Text

    walk = grammar.walk(text)
    failure = walk.failure
    if json:
        steps = [
            {"read": stretch.read, "rules": list(stretch.open_rules), "terminal": stretch.terminal or None}
            for stretch in walk.stretches
        ]
        told = {"grammar": name, "text": text, "verdict": walk.verdict, "follows": list(walk.follows)}
        write_json({**told, "failure": None if failure is None else failure_record(failure), "steps": steps})
        return
    facts = {"grammar": on_one_line(name), "text": repr(text)}
    if failure is None:
        follows = f"; {alternatives(walk.follows, may_end=False)} could follow" if walk.follows else ""
        facts["verdict"] = f"a text of the grammar{follows}"
    elif failure.at_end:
        expected = alternatives(failure.expected, may_end=False)
        facts["verdict"] = f"the start of a text of the grammar; {expected} must follow"
    else:
        at = f"line {failure.line}, column {failure.column}"
        facts["verdict"] = f"not a text of the grammar: it stops at {at}: {in_words(failure)}"
    table = plain_or_boxed(end="read", text="rules")
    table.add_column("terminal", no_wrap=True)
    for stretch in walk.stretches:
        table.add_row(Text(repr(stretch.read)), Text(where(stretch.open_rules)), Text(on_one_line(stretch.terminal)))
    show(facts, table)
    if failure is not None and not failure.at_end:
        _, _, shown = line_with_caret(text, failure.position)
        write("".join(f"{line}\n" for line in shown))
