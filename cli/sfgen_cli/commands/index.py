"""``sfgen index``: the index of a pattern over a vocabulary; look at it, export it, keep it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfgen.errors import UsageError
from sfgen_cli.options.constraint import ConstraintOptions, IndexFile
from sfgen_cli.options.generation import Quiet
from sfgen_cli.options.grammar import WrittenGrammarOptions
from sfgen_cli.options.index import DEFAULT_FILE, Looks, Vocabularies
from sfgen_cli.options.prompts import reader_of_stdin, refuse_overwriting
from sfgen_cli.options.requested_constraint import RequestedConstraint, looks_like_a_pattern_for_a_file, read_constraint
from sfgen_cli.options.schema import SchemaOptions
from sfgen_cli.shell import process
from sfgen_cli.shell.command_classes import flattened
from sfgen_cli.shell.keyboard import can_be_drawn_on
from sfgen_cli.shell.output import note, write, write_json, write_name
from sfgen_cli.shell.progress import PREPARING, progress
from sfgen_cli.shell.usage import quoted

if TYPE_CHECKING:
    from sfgen import Dfa
    from sfgen.index import DfaIndex
    from sfgen.index.export import Statistics
    from sfgen_cli.report.text_source import IndexRequest
import time

from sfgen.kernels import seconds_of_loading

_SAVED = "Saved indexes"


@flattened
def index(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="With --save: where to write. Without: a saved index to show.",
            rich_help_panel=_SAVED,
            show_default=False,
        ),
    ] = None,
    *,
    given: ConstraintOptions,
    index: IndexFile = None,
    grammar: WrittenGrammarOptions,
    writing: SchemaOptions,
    vocabularies: Vocabularies,
    save: Annotated[
        bool,
        typer.Option(
            "--save",
            help=f"Write the index to FILE, or to {DEFAULT_FILE}, for gen --index.",
            rich_help_panel=_SAVED,
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that holds something else.", rich_help_panel=_SAVED)
    ] = False,
    looks: Looks,
    quiet: Quiet = False,
) -> None:
    r"""Show the tokens of a pattern, or the rules of a schema or grammar; keep them.

    All states, and the tokens that each allows:
        sfgen index --regex '(hot|cold|hotel)'

    How many tokens the first state allows:
        sfgen index --regex '([0-9]+)?\.[0-9]+' --json | jq '.transitions["0"] | length'

    Make it once, use it often:
        sfgen index --regex '(hot|cold|hotel)' --save && sfgen gen --index sfgen-index.safetensors 'It is very '

    The way of a text through the states, or through the rules of a grammar:
        sfgen index --regex '([0-9]+)?\.[0-9]+' --path 23.37 && sfgen index --grammar 'root ::= [0-9]+' --path 42

    The rules of a JSON Schema, and texts that show them:
        sfgen index --schema 'name, tags str[]' && sfgen index --schema 'name, tags str[]' --examples 5

    A schema that is inferred from a record:
        echo '{"name": "Ada", "age": 36}' | sfgen index --like - --format schema

    A text that one pattern matches and another does not:
        sfgen index --regex '[0-9]+' --against '[0-9]{1,3}' --json | jq -r .only_pattern
    """
    files = {**given.files, "--grammar": grammar.grammar}
    reader_of_stdin(files)
    if save:
        others = {"--pydantic": given.code_file, "--vocabulary": vocabularies.vocabulary, "--model": vocabularies.model}
        refuse_overwriting({**files, **others}, {"FILE": file or DEFAULT_FILE})
    constraint = read_constraint(given, grammar, index_file=index, writing=writing)
    if save:
        refuse_overwriting({name: name for name in constraint.files_beside}, {"FILE": file or DEFAULT_FILE})
    if index is not None:
        _refuse_beside_index(file, save=save)
        constraint, file = RequestedConstraint(), index
    _check_source(constraint, file, looks, save=save, force=force)
    looks.check(save=save)
    vocabularies.check()
    from sfgen_cli.report.text_source import IndexRequest

    request = IndexRequest(constraint, file, looks, vocabularies, save, force, quiet)
    run = _run_of_texts(constraint if constraint or save else RequestedConstraint(index_file=file), looks)
    if run is not None:
        run(request)
    elif looks.engine == "fsm" and constraint.pattern is not None:
        _show_fsm(constraint.pattern, vocabularies, looks)
    else:
        _run_automaton(request)


def _run_of_texts(shown: RequestedConstraint, looks: Looks) -> Callable[[IndexRequest], None] | None:
    """Return the report on a grammar, template, document or schema; ``None`` for a pattern, which has an automaton."""
    saved = shown.index_file is not None
    if shown.grammar is not None or (saved and shown.read_grammar is not None):
        from sfgen_cli.report.grammar import run_grammar as run
    elif shown.template is not None or (saved and shown.read_template is not None):
        from sfgen_cli.report.template import run_template as run
    elif shown.substring is not None or (saved and shown.read_substring is not None):
        from sfgen_cli.report.substring import run_substring as run
    elif shown.has_form or (saved and shown.tool_calls is not None):
        from sfgen_cli.report.calls import run_calls

        if looks.form == "schema":
            raise _no_schema()
        return run_calls
    elif shown.schema is not None or (saved and shown.json_schema is not None):
        from sfgen_cli.report.schema import run_schema

        return run_schema
    elif looks.form == "schema":
        raise _no_schema()
    else:
        return None
    if looks.form == "schema":
        raise _no_schema()
    return run


def _run_automaton(request: IndexRequest) -> None:
    """Show or save the index of a pattern."""
    constraint, file, looks, vocabularies = request.constraint, request.file, request.looks, request.vocabularies
    save, quiet = request.save, request.quiet
    process.import_numpy()
    import_module("sfgen.automata")  # now, for it takes longer than what is timed
    # The pattern or the file first: a mistake in it is told before a tokenizer is loaded.
    clock = Stopwatch()
    with progress(quiet=quiet) as say:
        say("reading the pattern" if constraint else f"reading {file}")
        with clock:
            dfa = constraint.dfa() if constraint else None
            if file is not None and dfa is None:
                _check_file(file)
    table = partial(_run_automaton, replace(request, looks=replace(looks, format="table", tokens=False)))
    if dfa is not None and looks.at_automaton:
        vocabularies.refuse(looks.name)
        _show_automaton(dfa, looks, quiet=quiet, table=table)
        return
    with progress(quiet=quiet) as say:
        say(f"reading {vocabularies.name}")
        tokens = vocabularies.load()
        _ = tokens.trie  # a part of the vocabulary, and the same for all patterns
    import_module("sfgen.index.export")  # and so all that makes masks
    from sfgen import Index

    with clock:
        built = Index.load(file, tokens) if file is not None and dfa is None else Index(dfa or constraint.dfa(), tokens)
    if looks.at_automaton:
        _show_automaton(built.dfa, looks, quiet=quiet, table=table)
    elif save:
        destination = file or DEFAULT_FILE
        built.save(destination, force=request.force)
        note(f"sfgen: {len(built.dfa):,} states over {len(tokens):,} tokens", quiet=quiet)
        if looks.form == "json":
            from sfgen.index.export import heading, rows
            from sfgen_cli.report.tables import write_index

            write_index({**heading(built), "saved": str(destination)}, rows(built, ids=looks.ids))
        else:
            write_name(destination)
    else:
        _show(built, looks, clock, is_loaded=not constraint, quiet=quiet, table=table)


def _no_schema() -> UsageError:
    return UsageError(
        "--format schema needs a schema: it shows the JSON Schema",
        hint="For example: sfgen index --schema 'name, age int' --format schema",
    )


def _refuse_beside_index(file: Path | None, *, save: bool) -> None:
    if save:
        raise UsageError(
            "--index and --save cannot be used together: the index is saved already",
            hint="Copy its file; or save what it was made of: sfgen index --regex P --save",
        )
    if file is not None:
        raise UsageError(
            f"--index and a file ({file}) cannot be used together: both name a saved index", hint="Give one of them."
        )


def _check_source(constraint: RequestedConstraint, file: Path | None, looks: Looks, *, save: bool, force: bool) -> None:
    if not constraint and file is not None and looks_like_a_pattern_for_a_file(str(file)):
        pattern = quoted(str(file), instead="PATTERN")
        raise UsageError(
            f"there is no file {file}, which looks like a pattern",
            hint=f"Its index: sfgen index --regex {pattern}{' --save' if save else ''}",
        )
    if save and not constraint:
        raise UsageError("--save needs a pattern", hint="For example: sfgen index --regex '(hot|cold|hotel)' --save")
    if force and not save:
        raise UsageError("--force means something with --save only")
    if not save and constraint and file is not None:
        raise UsageError(
            f"a pattern and a saved index ({file}) cannot be shown together",
            hint="Leave one out, or add --save to write the pattern's index to the file.",
        )
    if not constraint and file is None:
        raise UsageError("no pattern and no file", hint="For example: sfgen index --regex '(hot|cold|hotel)'")
    if looks.engine == "fsm" and constraint.pattern is None:
        raise UsageError("--engine fsm needs a pattern", hint="Give it with --regex or --regex-file.")


def _check_file(file: Path) -> None:
    """Refuse a saved index that is missing or damaged: raise ``IndexFileError``."""
    from sfgen.index.file import pattern_of

    pattern_of(file)


def _show(
    built: DfaIndex, looks: Looks, clock: Stopwatch, *, is_loaded: bool, quiet: bool, table: Callable[[], None]
) -> None:
    """Show the index, or one state of it; its table in place of what is too large. It may be loaded from a file."""
    from sfgen.index.export import heading, rows
    from sfgen_cli.report import tables

    if looks.state is not None and not looks.state < len(built.dfa):
        raise UsageError(
            f"there is no state {looks.state}: the index has {len(built.dfa):,}",
            hint=f"States are numbered from 0 to {len(built.dfa) - 1}.",
        )
    if looks.is_graph:
        from sfgen.index.export import token_graph

        graph = token_graph(built, ids=looks.ids, max_states=looks.most_states)
        tables.write_graph(graph, looks.form, quiet=quiet, instead=table)
    elif looks.form == "jsonl" or (looks.form == "json" and looks.state is not None):
        states = None if looks.state is None else [looks.state]
        tables.write_rows(rows(built, ids=looks.ids, states=states))
    elif looks.form == "json":
        tables.write_index(heading(built), rows(built, ids=looks.ids))
    elif looks.state is not None:
        tables.state_table(built, looks.state, ids=looks.ids)
    else:
        with clock:
            numbers = _statistics(built, quiet=quiet)
        origin = "loaded" if is_loaded else "built"
        tables.index_table(built, numbers, origin, clock.seconds, ids=looks.ids, max_states=looks.most_states)


def _show_automaton(dfa: Dfa, looks: Looks, *, quiet: bool, table: Callable[[], None]) -> None:
    """Show what does not depend on a vocabulary; the table in place of what is too large."""
    from sfgen_cli.report import path, tables

    json = looks.form == "json"
    if looks.path is not None:
        from sfgen.automata.edges import walk

        way = walk(dfa, looks.path)
        if looks.live or looks.slow is not None:
            rest = path.DEFAULT_REST if looks.slow is None else looks.slow
            path.show_path_live(dfa, way, rest=rest)
        if json:
            write_json(path.path_record(dfa, way))
        else:
            path.path_table(dfa, way)
    elif looks.against is not None:
        from sfgen import Dfa

        tables.write_relation(dfa, Dfa.from_regex(looks.against), json=json)
    elif looks.examples is not None:
        tables.write_examples(dfa, looks.examples, json=json)
    else:
        from sfgen.automata.graph import character_graph

        graph = character_graph(dfa, max_states=looks.most_states)
        tables.write_graph(graph, looks.form, quiet=quiet, instead=table)


def _show_fsm(pattern: str, vocabularies: Vocabularies, looks: Looks) -> None:
    """Show what interegular makes of a pattern, and the index over it."""
    from sfgen.reference.fsm import FsmIndex, fsm_table, reference_fsm

    if looks.form == "table":
        vocabularies.refuse("--engine fsm --format table")
        write(fsm_table(reference_fsm(pattern)))
        return
    from sfgen_cli.report import tables

    built = FsmIndex(pattern, vocabularies.load())
    rows = tables.fsm_rows(built, ids=looks.ids)
    if looks.form == "jsonl":
        tables.write_rows(rows)
    else:
        tables.write_index(tables.fsm_heading(built, len(rows)), rows)


def _statistics(index: DfaIndex, *, quiet: bool) -> Statistics:
    """Measure the masks of all states; on a terminal with a progress bar."""
    from sfgen.index.export import statistics

    process.at_work()
    if quiet or not can_be_drawn_on():
        return statistics(index)
    from rich.progress import Progress

    from sfgen.kernels import told_of_compiling
    from sfgen_cli.live.screen import stderr_console

    with Progress(console=stderr_console(), transient=True) as bar:
        task = bar.add_task("building the index", total=len(index.dfa))

        def tell(compiling: bool) -> None:
            bar.update(task, description=PREPARING if compiling else "building the index", refresh=True)

        with told_of_compiling(tell):
            return statistics(index, lambda done, _: bar.update(task, completed=done))


class Stopwatch:
    """Adds up the time of its ``with`` statements.

    Waiting for kernels does not count: to import numba, and to read or compile the kernels that are called, takes a
    second; what they do, a thousandth.

    Attributes:
        seconds: The sum until now.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._started = 0.0

    def __enter__(self) -> Stopwatch:
        self._started = _now()
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds += _now() - self._started


def _now() -> float:
    return time.perf_counter() - seconds_of_loading()
