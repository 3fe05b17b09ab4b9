"""Calls of tools in a form: whether texts are such calls, and what ``sfgen index`` shows and saves of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sfgen import ToolCalls
from sfgen.errors import UsageError
from sfgen.printable import line_with_caret, on_one_line
from sfgen.schema.inspection.validity import Fault
from sfgen_cli.report.matching import Complaint, whole
from sfgen_cli.report.tables import show
from sfgen_cli.report.text_source import IndexRequest, save_for_vocabulary, with_vocabulary
from sfgen_cli.shell.output import stdout_is_a_terminal, write_json
from sfgen_cli.shell.progress import progress


@dataclass(frozen=True, slots=True)
class CheckedCalls:
    """The findings about one text.

    Attributes:
        text: The text, in which bytes that are not UTF-8 are lone surrogates.
        calls: Its calls; ``None`` where it has another form.
        position: How many characters could be read.
        faults: What is wrong with the calls, each with the number of its call.
    """

    text: str
    calls: list[dict[str, Any]] | None
    position: int
    faults: list[tuple[int, Fault]]

    @property
    def matches(self) -> bool:
        """Whether it is a text of valid calls."""
        return self.calls is not None and not self.faults

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        found = [{"call": number, "path": fault.path, "expected": fault.expected} for number, fault in self.faults]
        return {"matches": self.matches, "position": self.position, "calls": self.calls, "faults": found}

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain what is wrong with the text; ``line`` is its line in the file, if it is one."""
        if self.calls is not None:
            return [Complaint({"line": line, "call": at}, f"{one.path}: {one.expected}", ()) for at, one in self.faults]
        number, column, shown = line_with_caret(whole(self.text), self.position)
        words = "the text is no call in this form" if self.position < len(self.text) else "the text ends too early"
        return [Complaint({"line": number if line is None else line, "column": column}, words, shown)]


class CallsMatching:
    """Calls of tools, ready to check many texts."""

    said, said_with_bans = "are calls of the tools", "are calls of the tools and clean"
    each_line = False
    last_newline_may_go = True

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls

    def matches(self, text: str) -> bool:
        """Return whether a text has valid calls, and nothing else."""
        return self.check(text).matches

    def check(self, text: str) -> CheckedCalls:
        """Check a text, and collect what the report says of it."""
        try:
            calls = self._calls.calls(text.encode("utf-8", "surrogatepass"))
        except UsageError:
            return CheckedCalls(text, None, self._calls.read(text), [])
        if not self._calls.in_text and self._calls.options.at_most == 1 and len(calls) > 1:
            return CheckedCalls(text, None, self._calls.read(text), [])
        faults = [
            (number, fault) for number, call in enumerate(calls, 1) for fault in self._calls.schema.validate(call)
        ]
        return CheckedCalls(text, calls, len(text), faults)


def run_calls(request: IndexRequest) -> None:
    """Show calls of tools, or save them."""
    from sfgen.tools.file import load, save

    constraint, looks = request.constraint, request.looks
    what = "--tool-format" if constraint else "saved calls of tools"
    looks.refuse_about_patterns(what, has_states=False)
    if looks.at_automaton:
        raise UsageError(
            f"{looks.name} and {what} cannot be used together: only the form of the calls is shown",
            hint="Leave it out; sfgen check --tools FILE --tool-format NAME says where a text does not match.",
        )
    with progress(quiet=request.quiet) as say:
        calls, vocabulary = with_vocabulary(request, say, read=lambda: constraint.tool_calls, load=load)
    if request.save:
        record = partial(_record, calls)
        save_for_vocabulary(request, calls, vocabulary, save, told="calls of tools over", record=record)
    elif looks.form == "json":
        write_json(_record(calls))
    else:
        _table(calls)


def _record(calls: ToolCalls) -> dict[str, Any]:
    """Return calls as ``--json`` prints them. Keys stay; more may be added."""
    return {**calls.to_dict(), "shortest": calls.shortest().decode()}


def _table(calls: ToolCalls) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    facts = {"form": calls.form_name, "shortest": repr(calls.shortest().decode())}
    table = Table(box=box.SIMPLE_HEAD if stdout_is_a_terminal() else None, pad_edge=False)
    for column in ("tool", "arguments"):
        table.add_column(column, no_wrap=not stdout_is_a_terminal(), overflow="fold")
    for tool in calls.document.tools:
        names = tool.schema.get("properties", {})
        table.add_row(on_one_line(tool.name), Text(on_one_line(", ".join(names))))
    show(facts, table)
