"""The options of ``sfgen index``: which vocabulary, what to look at, and how it is shown."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfgen.errors import SfgenError, UsageError
from sfgen_cli.options.requested_constraint import at_most_one
from sfgen_cli.shell import completion

if TYPE_CHECKING:
    from sfgen import Vocabulary


@contextlib.contextmanager
def from_environment(variable: str) -> Iterator[None]:
    """Let an error name the environment variable that it is about."""
    try:
        yield
    except SfgenError as error:
        error.message = f"{variable}: {error.message}"
        raise


DEFAULT_FILE = Path("sfgen-index.safetensors")
"""The file that an index is saved to if none is named."""

_STATES_SHOWN = 100
_VOCABULARY = "Vocabulary (one of them; the embedded model's if none)"
_LOOK = "What to show (the whole index if none)"
_FORM = "How to show it"


@dataclass(frozen=True)
class Vocabularies:
    """Which vocabulary; each field is an option."""

    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            autocompletion=completion.models,
            help="The vocabulary of a model; its weights are not loaded. Default: SFGEN_MODEL, else tiny.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = None
    tokenizer: Annotated[
        str | None, typer.Option(metavar="DIR", help="The vocabulary of a tokenizer.", rich_help_panel=_VOCABULARY)
    ] = None
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A JSON file: a list of token strings, or an object from token to id.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = None

    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="Never contact the hub: take what its cache on this machine has.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = False

    def check(self) -> None:
        """Refuse more than one of them: raise ``UsageError``."""
        at_most_one(self._given())

    def refuse(self, what: str) -> None:
        """Refuse these options where no tokens are shown."""
        for name, value in self._given().items():
            if value is not None:
                raise UsageError(
                    f"{what} reads characters, not tokens: {name} has no meaning there", hint="Leave it out."
                )

    def _given(self) -> dict[str, object]:
        return {"--model": self.model, "--tokenizer": self.tokenizer, "--vocabulary": self.vocabulary}

    @property
    def name(self) -> str:
        """The name in messages."""
        if self.tokenizer is not None:
            return f"the tokenizer {self.tokenizer}"
        if self.vocabulary is not None:
            return str(self.vocabulary)
        return f"the tokenizer of {self.model or os.environ.get('SFGEN_MODEL') or 'tiny'}"

    def load(self) -> Vocabulary:
        """Read it."""
        from sfgen import Vocabulary

        if self.tokenizer is not None:
            return Vocabulary.from_pretrained(self.tokenizer, offline=self.offline)
        if self.vocabulary is not None:
            return Vocabulary.from_file(self.vocabulary)
        from sfgen.models import load_vocabulary

        if self.model is None and (name := os.environ.get("SFGEN_MODEL")):
            with from_environment("SFGEN_MODEL"):
                return load_vocabulary(name, offline=self.offline)
        return load_vocabulary(self.model or "tiny", offline=self.offline)


@dataclass(frozen=True)
class Looks:
    """The options of what is shown, and how; each field is one."""

    state: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="One state, with all that it allows.", rich_help_panel=_LOOK)
    ] = None
    path: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The states that a text walks through, the characters allowed in each, where and why it stops.",
            rich_help_panel=_LOOK,
        ),
    ] = None
    against: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Compare two patterns: whether they match the same texts, or one all texts of the other, some or "
            "none; with a shortest text that tells them apart.",
            rich_help_panel=_LOOK,
        ),
    ] = None
    examples: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="N matching texts: the shortest, then some of every branch.",
            rich_help_panel=_LOOK,
        ),
    ] = None
    format: Annotated[
        Literal["table", "json", "jsonl", "schema", "boxes", "dot", "mermaid", "svg"] | None,
        typer.Option(
            help="table; json: one object; jsonl: a line for each state; schema: the JSON Schema itself, to edit and "
            "keep; boxes: the automaton, drawn in characters; dot, mermaid: its graph as text; svg: its picture, by "
            "Graphviz where that is installed. Default: table; on a terminal with boxes, if there is room for all.",
            rich_help_panel=_FORM,
            show_default=False,
        ),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.", rich_help_panel=_FORM)] = False
    ids: Annotated[
        bool,
        typer.Option("--ids", help="Name tokens by their ids instead of their text.", rich_help_panel=_FORM),
    ] = False
    tokens: Annotated[
        bool,
        typer.Option("--tokens", help="A graph of the tokens instead of the characters.", rich_help_panel=_FORM),
    ] = False
    max_states: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"The most states in a table or a graph, which says how many were left out. Default: {_STATES_SHOWN}.",
            rich_help_panel=_FORM,
            show_default=False,
        ),
    ] = None
    engine: Annotated[
        Literal["fast", "fsm"],
        typer.Option(
            help="fast: the minimal automaton; fsm: the one that the interegular package makes of the pattern, with "
            "the index of Willard and Louf's algorithms over it.",
            rich_help_panel=_FORM,
        ),
    ] = "fast"
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="With --path: move a marker through pattern, text and states.", rich_help_panel=_FORM
        ),
    ] = False
    slow: Annotated[
        int | None,
        typer.Option(
            metavar="MS",
            min=0,
            help="Let the marker rest MS milliseconds at each character. Default: 300.",
            rich_help_panel=_FORM,
            show_default=False,
        ),
    ] = None

    @property
    def form(self) -> str:
        """The format, by whichever option it was named."""
        return "json" if self.json else self.format or "table"

    @property
    def name(self) -> str:
        """The option that says what is shown, as the user wrote it."""
        return next((name for name, value in self._parts().items() if value is not None), f"--format {self.form}")

    def _parts(self) -> dict[str, object]:
        return {"--state": self.state, "--path": self.path, "--against": self.against, "--examples": self.examples}

    @property
    def at_automaton(self) -> bool:
        """Whether what is shown does not depend on a vocabulary."""
        parts = (self.path, self.against, self.examples)
        return any(part is not None for part in parts) or (self.is_graph and not self.tokens)

    @property
    def most_states(self) -> int:
        """The most states in a table or a graph."""
        return self.max_states or _STATES_SHOWN

    @property
    def is_graph(self) -> bool:
        """Whether a graph is written."""
        return self.form in ("boxes", "dot", "mermaid", "svg")

    def refuse_about_patterns(self, what: str, *, has_states: bool) -> None:
        """Refuse what means something for the automaton of a pattern only."""
        given = {
            "--state": self.state is not None and not has_states,
            "--against": self.against is not None,
            "--ids": self.ids,
            "--tokens": self.tokens,
            "--engine fsm": self.engine == "fsm",
            "--live": self.live,
            "--slow": self.slow is not None,
            "--format jsonl": self.form == "jsonl",
        }
        hints = {
            "--state": "A schema has rules: its tree shows them, and --path TEXT where a text gets to.",
            "--format jsonl": "Take --format json.",
        }
        for name, is_given in given.items():
            if is_given:
                raise UsageError(
                    f"{name} and {what} cannot be used together: it is about the states of a pattern",
                    hint=hints.get(name, "Leave it out."),
                )

    def check(self, *, save: bool) -> None:
        """Refuse options that have no meaning together."""
        parts = self._parts()
        at_most_one({"--save": save or None, **parts})
        is_part = any(value is not None for value in parts.values())
        one_look = "--save" if save else self.name if is_part else None
        if self.json and self.format not in (None, "json"):
            raise UsageError(f"--json and --format {self.format} cannot be used together", hint="Give one of them.")
        if one_look and self.form not in ("table", "json"):
            raise UsageError(
                f"{one_look} and --format {self.form} cannot be used together", hint="It is shown as table or json."
            )
        if self.tokens and not self.is_graph:
            raise UsageError("--tokens needs a graph", hint="For example: --tokens --format dot")
        if self.max_states is not None and (one_look or self.form in ("json", "jsonl", "schema")):
            raise UsageError("--max-states cuts tables and graphs of the whole index only", hint="Leave it out.")
        if self.ids and self.at_automaton:
            raise UsageError("--ids names tokens, and none are shown here", hint="Leave it out.")
        if (self.live or self.slow is not None) and (self.path is None or self.form != "table"):
            raise UsageError(
                "--live and --slow show how a text walks through the states",
                hint="For example: sfgen index --regex '[0-9]+\\.[0-9]+' --path 23.37 --live --slow 300",
            )
        if self.engine == "fsm" and (one_look or self.is_graph):
            raise UsageError(
                f"--engine fsm and {one_look or self.name} cannot be used together",
                hint="It is shown whole, as table, json or jsonl.",
            )
