"""Schemas: whether texts are valid documents by one and why not; its rules as a tree in ``sfgen index``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sfgen.printable import counted, on_one_line
from sfgen_cli.report.tables import show
from sfgen_cli.report.text_source import IndexRequest, save_for_vocabulary, with_vocabulary
from sfgen_cli.shell.output import note, stdout_is_a_terminal, write, write_json
from sfgen_cli.shell.progress import progress
from sfgen_cli.shell.usage import in_options

if TYPE_CHECKING:
    from sfgen import JsonSchema, Vocabulary
    from sfgen.schema.inspection.position import Walk
    from sfgen_cli.options.index import Looks
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sfgen.schema import read_schema
from sfgen.schema.inspection.validity import Fault, Validity
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.from_pydantic import PydanticType
from sfgen.substring.substring import Substring
from sfgen_cli.report.matching import Complaint


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """The findings about one document.

    Attributes:
        faults: What is wrong with it.
    """

    faults: list[Fault]

    @property
    def matches(self) -> bool:
        """Whether it is valid."""
        return not self.faults

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        found = [
            {
                "path": fault.path,
                "pointer": fault.pointer,
                **_places(fault, line),
                "keyword": fault.keyword or None,
                "expected": fault.expected,
            }
            for fault in self.faults
        ]
        return {"matches": self.matches, "faults": found}

    def complaints(self, line: int | None) -> list[Complaint]:
        """List what is not valid in the document, in its order.

        ``line`` is its line in the file, if it is one.
        """
        return [
            Complaint(
                _places(fault, line), f"{fault.path}: {fault.expected}" if fault.path else fault.expected, fault.details
            )
            for fault in self.faults
        ]


class Validating:
    """A schema, ready to check many documents."""

    said, said_with_bans = "are valid", "are valid and clean"
    each_line = False
    last_newline_may_go = False

    def __init__(
        self,
        schema: str | PydanticType | SchemaDocument,
        schema_dir: str | None = None,
        documents: Mapping[str, Substring] = MappingProxyType({}),
    ) -> None:
        document = read_schema(schema, schema_dir).quoting(documents)
        self.notes = document.notes
        self._validity = Validity(document)

    def matches(self, text: str) -> bool:
        """Return whether a text is a valid document, and nothing else."""
        return self._validity.is_valid(_bytes(text))

    def check(self, text: str) -> CheckedDocument:
        """Check a text, and collect what the report says of it."""
        return CheckedDocument(self._validity.errors(_bytes(text)))


def _places(fault: Fault, line: int | None) -> dict[str, int | None]:
    """The place of a fault in the file; of a document on one line of it, that line."""
    return {"line": fault.line if line is None else line, "column": fault.column}


def _bytes(text: str) -> bytes:
    """The bytes of a text in which those that are not UTF-8 are lone surrogates."""
    return text.encode("utf-8", "surrogateescape")


def run_schema(request: IndexRequest) -> None:
    """Show a schema, or save it."""
    from sfgen.schema.file import load, save

    constraint, looks, quiet = request.constraint, request.looks, request.quiet

    def read() -> JsonSchema | None:
        schema = constraint.json_schema
        if schema is not None and looks.form != "schema":
            _ = schema.network
        return schema

    looks.refuse_about_patterns(constraint.schema_option if constraint else "a saved schema", has_states=False)
    with progress(quiet=quiet) as say:
        schema, vocabulary = with_vocabulary(request, say, read=read, load=load)
        if looks.form != "schema":
            _ = schema.network
    if looks.form == "schema":
        from sfgen.schema.reading.words import as_indented_json

        write(f"{as_indented_json(schema.document.root)}\n")
        return
    name = constraint.schema_name or str(request.file)
    for line in schema.notes:
        note(f"sfgen: {on_one_line(in_options(line))}", quiet=quiet)
    if request.save:
        record = partial(_record, schema, vocabulary)
        save_for_vocabulary(request, schema, vocabulary, save, told=f"{_rules(schema)} for", record=record)
    elif looks.path is not None:
        _show_path(schema, name, looks.path, json=looks.form == "json")
    elif looks.examples is not None:
        _show_examples(schema, looks.examples, json=looks.form == "json")
    else:
        _show_rules(schema, vocabulary, name, looks, quiet=quiet)


def _show_rules(schema: JsonSchema, vocabulary: Vocabulary | None, name: str, looks: Looks, *, quiet: bool) -> None:
    """Show all rules: as a tree, as data, or as a graph."""
    from sfgen.schema.inspection import tree

    if looks.is_graph:
        from sfgen_cli.report.tables import write_graph

        graph = tree.graph(schema.compiled, name, max_rules=looks.most_states)
        table = partial(_tree_table, schema, vocabulary, name, looks.most_states)
        write_graph(graph, looks.form, quiet=quiet, instead=table)
    elif looks.form == "json":
        write_json(_record(schema, vocabulary))
    else:
        _tree_table(schema, vocabulary, name, looks.most_states)


def _tree_table(schema: JsonSchema, vocabulary: Vocabulary | None, name: str, most: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from sfgen.schema.inspection.tree import tree

    facts = {"schema": on_one_line(name), "rules": f"{len(schema.compiled.grammar.rules):,}"}
    if vocabulary is not None:
        facts["vocabulary"] = f"{len(vocabulary):,} tokens, fingerprint {vocabulary.fingerprint[:16]}"
    facts["shortest"] = on_one_line(schema.shortest().decode())
    table = Table(box=box.SIMPLE_HEAD if stdout_is_a_terminal() else None, pad_edge=False)
    table.add_column("name", no_wrap=not stdout_is_a_terminal(), overflow="fold")
    table.add_column("", no_wrap=True)
    table.add_column("expected", no_wrap=not stdout_is_a_terminal(), overflow="fold")
    branches = tree(schema.compiled)
    for branch in branches[:most]:
        needed = "" if branch.is_needed is None else "required" if branch.is_needed else "optional"
        expected = branch.expected + (", as above" if branch.is_known else "")
        table.add_row(Text("  " * branch.depth + on_one_line(branch.label)), needed, Text(on_one_line(expected)))
    more = len(branches) - most
    show(facts, table, f"… {more:,} more: --max-states shows more, --json all" if more > 0 else "")


def _record(schema: JsonSchema, vocabulary: Vocabulary | None) -> dict[str, Any]:
    """Return a schema as ``--json`` prints it. Keys stay; more may be added."""
    from sfgen.schema.inspection import tree

    fields: dict[str, Any] = {**schema.to_dict(), **tree.to_dict(schema.compiled)}
    if vocabulary is not None:
        fields["vocabulary"] = {"size": len(vocabulary), "fingerprint": vocabulary.fingerprint}
    return {**fields, "shortest": schema.shortest().decode(), "notes": list(map(in_options, schema.notes))}


def _show_examples(schema: JsonSchema, count: int, *, json: bool) -> None:
    from sfgen.schema.inspection.tree import examples

    for text in examples(schema.reader, schema.compiled, count):
        if json:
            write_json({"text": text})
        else:
            write(f"{text}\n")


def _show_path(schema: JsonSchema, name: str, text: str, *, json: bool) -> None:
    """Show where a text gets to."""
    from rich.text import Text

    from sfgen.schema.inspection.position import walk
    from sfgen_cli.report.tables import plain_or_boxed

    way = walk(schema.reader, schema.compiled, text)
    if json:
        write_json(
            {
                "schema": name,
                "text": text,
                "verdict": way.verdict,
                "stopped": way.stopped,
                "may_end": way.may_end,
                "follows": way.follows,
                "steps": [
                    {"path": stretch.path, "read": stretch.read, "expected": stretch.expected}
                    for stretch in way.stretches
                ],
            }
        )
        return
    table = plain_or_boxed(end="where", text="expected")
    table.add_column("read", no_wrap=True)
    for stretch in way.stretches:
        read = Text(repr(stretch.read) if stretch.read else "")
        table.add_row(Text(on_one_line(stretch.path)), Text(on_one_line(stretch.expected)), read)
    show({"schema": on_one_line(name), "text": repr(text), "verdict": _verdict(way)}, table)


def _verdict(way: Walk) -> str:
    """Say in words whether the text is valid."""
    must = " or ".join(filter(None, [way.follows, "the end of the text" if way.may_end else ""]))
    if way.verdict == "match":
        return "a text of the schema" + (f"; {way.follows} could follow" if way.follows else "")
    if way.stopped is None:
        return f"the start of a text of the schema; {must} must follow"
    last = way.stretches[-1]
    where = f"{way.text[way.stopped]!r}, character {way.stopped + 1}, at {last.path}"
    return f"not written by the schema: it stops at {where}; expected {on_one_line(last.expected)}: {must}"


def _rules(schema: JsonSchema) -> str:
    return counted(len(schema.compiled.grammar.rules), "rule")
