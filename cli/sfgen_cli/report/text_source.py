"""A schema or a grammar for ``sfgen index``: of the options, or of a saved file with its vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sfgen_cli.options.index import DEFAULT_FILE, Looks, Vocabularies
from sfgen_cli.options.requested import RequestedConstraint
from sfgen_cli.shell.progress import Say

if TYPE_CHECKING:
    from sfgen import Vocabulary

Made = TypeVar("Made")


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
        """Where it is saved."""
        return self.file or DEFAULT_FILE


def with_vocabulary(
    request: IndexRequest, say: Say, *, read: Callable[[], Made | None], load: Callable[[Path, Vocabulary], Made]
) -> tuple[Made, Vocabulary | None]:
    """Read what is shown or saved, with its vocabulary if any.

    Args:
        request: What is asked.
        say: Is told what is being done.
        read: Reads it from what was given; a mistake in it is told before a tokenizer is loaded.
        load: Reads it from a file that was saved for a vocabulary.

    Raises:
        SfgenError: As ``read`` and ``load``; the vocabulary cannot be read, or means nothing here.
    """
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
