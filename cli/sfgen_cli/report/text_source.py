"""A schema or a grammar for ``sfgen index``: of the options, or of a saved file with its vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sfgen_cli.options.index import DEFAULT_FILE, Vocabularies
from sfgen_cli.options.requested import RequestedConstraint
from sfgen_cli.shell.progress import Say

if TYPE_CHECKING:
    from sfgen import Vocabulary

Made = TypeVar("Made")


def with_vocabulary(
    constraint: RequestedConstraint,
    file: Path | None,
    vocabularies: Vocabularies,
    say: Say,
    *,
    read: Callable[[], Made | None],
    load: Callable[[Path, Vocabulary], Made],
    save: bool,
) -> tuple[Made, Vocabulary | None]:
    """What is shown or saved, and the vocabulary where there is one to it.

    Args:
        constraint: What was given; empty where it is in a saved file.
        file: Where to save it, or the saved file.
        vocabularies: What it is saved for, or what a saved one is for.
        say: Is told what is being done.
        read: Reads it from what was given; a mistake in it is told before a tokenizer is loaded.
        load: Reads it from a file that was saved for a vocabulary.
        save: Whether it is saved.

    Raises:
        SfgenError: As ``read`` and ``load``; the vocabulary cannot be read, or means nothing here.
    """
    say(f"reading the {constraint.kind}" if constraint else f"reading {file}")
    if not save and constraint:
        vocabularies.refuse(f"{constraint.text_option} without --save")
    made = read() if constraint else None
    if made is not None and not save:
        return made, None
    say(f"reading {vocabularies.name}")
    vocabulary = vocabularies.load()
    return (load(file or DEFAULT_FILE, vocabulary) if made is None else made), vocabulary
