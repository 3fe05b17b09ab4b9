"""Compile constraints and bans, here or in a process with bounded memory.

The processes of the pool run the functions of this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from sfgen.ban import BannedWords
from sfgen.ban.difference import clean_constraint, over
from sfgen.ban.entries import MatchMode
from sfgen.compiled_form import CompiledForm, compiled_form, of_compiled_form
from sfgen.errors import SfgenError
from sfgen.index import Index
from sfgen.jobs.own_jobs import read_constraint
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.regex.ast import Atomic, Characters, Concatenation, Look, Node, Repeat, children
from sfgen.regex.parse import parse
from sfgen.tools.tool_calls import ToolCalls
from sfgen.vocabulary import Vocabulary

PICKLED_DEPTH = 5_000
"""The depth of recursion for pickling a constraint: the stack of a process has room for it."""

CASES = 4
"""The most characters that are one letter in another case."""

MOST_POSITIONS = 12
"""The most characters of a pattern, repeats written out, that is compiled in this process."""


_KEPT_BANS = 64


@dataclass(frozen=True)
class Ban:
    """The banned words and patterns of a request; equal ones are compiled once."""

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    match: MatchMode
    ignore_case: bool
    normalize: bool
    allow: tuple[str, ...]

    def compiled(self) -> BannedWords:
        """Compile it, unless it was compiled lately."""
        return _compiled_ban(self)

    @property
    def length(self) -> int:
        """The number of its characters."""
        return sum(map(len, (*self.words, *self.patterns, *self.allow)))

    @cached_property
    def digest(self) -> bytes:
        """The digest by which equal ones are recognized."""
        return sha256(repr(self).encode("utf-8", "backslashreplace")).digest()


@lru_cache(maxsize=_KEPT_BANS)
def _compiled_ban(ban: Ban) -> BannedWords:
    return BannedWords(
        ban.words,
        ban.patterns,
        match=ban.match,
        ignore_case=ban.ignore_case,
        normalize=ban.normalize,
        allow=ban.allow,
    )


def is_cheap(own: OwnConstraint) -> bool:
    """Return whether compiling a short constraint here takes less time than asking another process."""
    if own.kind != "regex":
        return own.kind == "choices"
    try:
        return _positions(parse(own.value)) <= MOST_POSITIONS
    except SfgenError:
        return True  # it is refused at once


def is_quick(pattern: str) -> bool:
    """Return whether a banned pattern is a plain text in upper or lower case, with an automaton of the same length.

    >>> is_quick("(?i:cat, sat)"), is_quick("a[ab][ab][ab]"), is_quick("[0-9]+")
    (True, False, False)
    """
    try:
        node = parse(pattern)
    except SfgenError:
        return True  # it is refused at once
    parts = node.parts if isinstance(node, Concatenation) else (node,)
    sets = {part.ranges for part in parts if isinstance(part, Characters)}
    if not all(isinstance(part, Characters) for part in parts):
        return False
    if any(sum(last - first + 1 for first, last in ranges) > CASES for ranges in sets):
        return False
    members = [code for ranges in sets for first, last in ranges for code in range(first, last + 1)]
    return len(members) == len(set(members))  # where sets overlap, there may be exponentially many states


def _positions(node: Node) -> int:
    """Count the characters of a pattern, repeats written out; a lookaround counts as too many."""
    match node:
        case Repeat(child, minimum, maximum):
            return _positions(child) * max(1, minimum, maximum or 0)
        case Look() | Atomic():
            return MOST_POSITIONS + 1
        case _:
            return sum(map(_positions, children(node))) or 1


def compile_index(own: OwnConstraint, vocabulary: Vocabulary) -> Index:
    """Compile a constraint over a vocabulary."""
    return _index_over(_constraint_of(own), vocabulary)


def index_of_form(form: CompiledForm, vocabulary: Vocabulary) -> Index:
    """Make the index of a constraint that another process has compiled."""
    return _index_over(of_compiled_form(form), vocabulary)


def clean_index_of_form(form: CompiledForm, index: Index) -> Index | None:
    """Make the index of a constraint without banned words from the form that ``compile_without_banned`` returns."""
    is_same, clean = of_compiled_form(form)
    if is_same:
        return index
    found = cast("Index | None", over(clean, index))
    if found is not None:
        with suppress(SfgenError):  # reported later, when the limit of tokens is known
            found.guide()
    return found


def _index_over(constraint: Any, vocabulary: Vocabulary) -> Index:
    index: Index = Index(constraint, vocabulary)
    index.guide()  # refuses a constraint without a text
    return index


def compile_constraint(own: OwnConstraint, names: Collection[str] = ()) -> SfgenError | CompiledForm:
    """Compile a constraint in a process of the pool; return its compiled form, or the error.

    ``names`` are the names of the vocabulary's special tokens, which tool calls may contain.
    """
    return _form_of(lambda: _constraint_of(own, names))


def compile_ban(ban: Ban) -> SfgenError | CompiledForm:
    """Compile banned words and patterns in a process of the pool; return their compiled form, or the error."""
    return _form_of(ban.compiled)


def compile_without_banned(
    own: OwnConstraint, ban: Ban, prompt: bytes, names: Collection[str]
) -> SfgenError | CompiledForm:
    """Take banned words out of a constraint in a process of the pool; return a compiled form, or the error.

    The form has a flag for an unchanged constraint, and the changed one; ``None`` if a matcher must check the text.
    """
    return _form_of(lambda: _constraint_without_banned(own, ban, prompt, names))


def _constraint_of(own: OwnConstraint, names: Collection[str] = ()) -> Any:
    constraint = read_constraint(own)
    _complete(constraint, names)
    return constraint


def _complete(constraint: Any, names: Collection[str]) -> None:
    """Let a constraint make its parts that are made on demand, so that no other text waits for them later."""
    if isinstance(constraint, ToolCalls):
        constraint.compile_for(names)
    else:
        constraint.shortest()


def _constraint_without_banned(own: OwnConstraint, ban: Ban, prompt: bytes, names: Collection[str]) -> tuple[bool, Any]:
    constraint = read_constraint(own)
    clean: Any = clean_constraint(constraint, ban.compiled(), prompt)
    if clean is None or clean is constraint:
        return clean is not None, None
    _complete(clean, names)
    return False, clean


def _form_of(make: Callable[[], Any]) -> SfgenError | CompiledForm:
    limit = sys.getrecursionlimit()
    try:
        made = make()
        sys.setrecursionlimit(max(limit, PICKLED_DEPTH))  # for nested structures, such as brackets of a grammar
        return compiled_form(made)
    except SfgenError as error:
        return error
    except MemoryError:
        os._exit(1)  # earlier constraints may have used the memory: the next one gets a new process
    finally:
        sys.setrecursionlimit(limit)


def _addresses() -> int:
    """The size of this process's address space in bytes; 0 if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def set_up_process(most: int, nice: int) -> None:
    """Set up a process that compiles: bound its further memory, and give it a lower priority."""
    import resource

    most += _addresses()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    os.nice(nice)


def confirm_start() -> None:
    """Do nothing: its result shows that a process has started."""
