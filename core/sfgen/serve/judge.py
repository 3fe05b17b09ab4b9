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
    before = _memory()[1]
    try:
        constraint = read_constraint(own)
        constraint.shortest()
    except SfgenError as error:
        return error
    return max(0, _memory()[1] - before)


def _memory() -> tuple[int, int]:
    """The bytes of this process's addresses, and of its memory; 0 where the system does not tell."""
    try:
        addresses, resident = Path("/proc/self/statm").read_text(encoding="ascii").split()[:2]
        page = os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0, 0
    return int(addresses) * page, int(resident) * page


def limit_memory(most: int) -> None:
    """Let this process have no more bytes of memory beside those that it has."""
    import resource

    most += _memory()[0]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
