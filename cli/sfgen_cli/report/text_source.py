"""A schema, grammar, template or document for ``sfgen index``: where it comes from, and where it is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sfgen_cli.options.index import DEFAULT_FILE, Looks, Vocabularies
from sfgen_cli.options.requested_constraint import RequestedConstraint
from sfgen_cli.shell import process
from sfgen_cli.shell.output import note, write_json, write_name
from sfgen_cli.shell.progress import Say

if TYPE_CHECKING:
    from sfgen import Vocabulary

Made = TypeVar("Made")
Saved = TypeVar("Saved", contravariant=True)


class Saves(Protocol[Saved]):
    """A function that writes a constraint to a file, for one vocabulary."""

    def __call__(self, made: Saved, vocabulary: Vocabulary, path: Path, /, *, force: bool) -> None:
        """Write it; a file that holds something else is replaced if ``force`` is true."""


@dataclass(frozen=True)
class IndexRequest:
    """A request to ``sfgen index`` about a schema, grammar or template.

    Attributes:
        constraint: The schema, grammar or template; empty where it is in a saved file.
        file: Where to save it, or the saved file.
        looks: What is shown, and how.
        vocabularies: What it is saved for, or what a saved one is for.
        save: Whether it is saved.
        force: Whether a file that holds something else is replaced.
        quiet: Whether only errors are told.
    """

    constraint: RequestedConstraint
    file: Path | None
    looks: Looks
    vocabularies: Vocabularies
    save: bool
    force: bool
    quiet: bool

    @property
    def place(self) -> Path:
        """The file that it is saved to."""
        return self.file or DEFAULT_FILE


def with_vocabulary(
    request: IndexRequest, say: Say, *, read: Callable[[], Made | None], load: Callable[[Path, Vocabulary], Made]
) -> tuple[Made, Vocabulary | None]:
    """Read what is shown or saved, with its vocabulary if any."""
    constraint, vocabularies = request.constraint, request.vocabularies
    say(f"reading the {constraint.kind}" if constraint else f"reading {request.file}")
    if not request.save and constraint:
        vocabularies.refuse(f"{constraint.text_option} without --save")
    made = read() if constraint else None
    if made is not None and not request.save:
        return made, None
    say(f"reading {vocabularies.name}")
    vocabulary = vocabularies.load()
    return (load(request.place, vocabulary) if made is None else made), vocabulary


def save_for_vocabulary(
    request: IndexRequest,
    made: Made,
    vocabulary: Vocabulary | None,
    save: Saves[Made],
    *,
    told: str,
    record: Callable[[], dict[str, Any]],
) -> None:
    """Save what was read, and write where."""
    assert vocabulary is not None, "it is loaded where something is saved"
    process.at_work()
    save(made, vocabulary, request.place, force=request.force)
    note(f"sfgen: {told} {len(vocabulary):,} tokens", quiet=request.quiet)
    if request.looks.form == "json":
        write_json({**record(), "saved": str(request.place)})
    else:
        write_name(request.place)
