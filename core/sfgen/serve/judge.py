"""The compiling of constraints, here or in a process of its own that may take only so much memory.

The processes begin with this module.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from sfgen.compiled_form import CompiledForm, compiled_form, of_compiled_form
from sfgen.errors import SfgenError
from sfgen.index import Index
from sfgen.jobs.own_jobs import read_constraint
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.vocabulary import Vocabulary

PICKLED_DEPTH = 5_000
"""Calls in calls that a constraint may take to be pickled: the stack of a process has room for them."""


def compiled(own: OwnConstraint, vocabulary: Vocabulary) -> Index:
    """Compile a constraint as far as no text is needed for it."""
    constraint = read_constraint(own)
    constraint.shortest()  # schemas and grammars make their rules on demand: now, not between two tokens of others
    return _over(constraint, vocabulary)


def taken(form: CompiledForm, vocabulary: Vocabulary) -> Index:
    """Take a constraint that another process has compiled; what depends on the vocabulary is made here."""
    return _over(of_compiled_form(form), vocabulary)


def _over(constraint: Any, vocabulary: Vocabulary) -> Index:
    index: Index = Index(constraint, vocabulary)
    index.guide()  # what nothing can be written of is refused now
    return index


def judged(own: OwnConstraint) -> SfgenError | CompiledForm:
    """Compile a constraint in a process of a pool; return what was made, or the error."""
    limit = sys.getrecursionlimit()
    try:
        constraint = read_constraint(own)
        constraint.shortest()
        sys.setrecursionlimit(max(limit, PICKLED_DEPTH))  # what is nested, such as brackets of a grammar
        return compiled_form(constraint)
    except SfgenError as error:
        return error
    finally:
        sys.setrecursionlimit(limit)


def _addresses() -> int:
    """The bytes of this process's addresses; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def begin(most: int, nice: int) -> None:
    """Begin a process that compiles: with N bytes of memory beside those that it has, and behind others."""
    import resource

    most += _addresses()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    os.nice(nice)
