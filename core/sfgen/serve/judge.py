"""The compiling of constraints, here or in a process of its own that may take only so much memory.

The processes begin with this module.
"""

from __future__ import annotations

import os
from pathlib import Path

from sfgen.errors import SfgenError
from sfgen.index import Index
from sfgen.jobs.own_jobs import read_constraint
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.vocabulary import Vocabulary


def compiled(own: OwnConstraint, vocabulary: Vocabulary) -> Index:
    """Compile a constraint as far as no text is needed for it."""
    constraint = read_constraint(own)
    constraint.shortest()  # schemas and grammars make their rules on demand: now, not between two tokens of others
    index = Index(constraint, vocabulary)
    index.guide()  # what nothing can be written of is refused now
    return index


def judged(own: OwnConstraint) -> SfgenError | int:
    """Compile a constraint; return the bytes that it takes, or the error."""
    before = _resident()
    try:
        constraint = read_constraint(own)
        constraint.shortest()
    except SfgenError as error:
        return error
    return max(0, _resident() - before)


def _resident() -> int:
    """The memory of this process in bytes; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def limit_memory(most: int) -> None:
    """Let this process have no more bytes of memory."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (most, most))
