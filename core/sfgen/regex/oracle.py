"""The answers of ``re`` itself: whether a text matches, and its groups.

Everywhere else sfgen reads a pattern by an automaton of its own. ``re`` checks each finished text, so that a fault of
that automaton comes to light before the text is given out. ``re`` backtracks, and may take years for a text that
matches (``(a+)+b|a+c`` and forty times ``a`` before ``c``), and meanwhile no other thread runs. So ``re`` is asked with
a time limit. Where no limit can be set, it is asked only about patterns that cannot take long.
"""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import regex
from sfgen.errors import SfgenError
from sfgen.groups import Group
from sfgen.regex.characters import property_ranges
from sfgen.regex.parse import re_tree, replace_properties
from sfgen.regex.python_re import sre, sre_compiler
from sfgen.regex.scan import scan

Tree: TypeAlias = Any
"""A pattern as ``re``'s own parser gives it."""

Answer = TypeVar("Answer")

_MOST_STEPS = 1_000_000  # of a question without a time limit: some ten milliseconds at worst
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_CHARACTERS = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.AT)


def fullmatch(pattern: str, text: str, *, seconds: float = 0.25) -> bool | None:
    r"""Ask ``re.fullmatch(pattern, text, re.ASCII)``; without the flag under ``(?u)``.

    Unicode properties (``\p{L}``), which ``re`` does not know, are the sets of the ``regex`` package. ``None``: ``re``
    cannot read the pattern, or does not come to an end in time.

    >>> fullmatch("[0-9]+", "2026"), fullmatch("[0-9]+", "20x6"), fullmatch(r"\p{Lu}+", "ÄÖ")
    (True, False, True)
    >>> fullmatch("(a+)+b|a+c", "a" * 40 + "c", seconds=0.01) is None
    True
    """
    read = read_pattern(pattern)
    if read is None:
        return None
    oracle, tree = read
    return in_time(lambda: oracle.fullmatch(text) is not None, seconds, lambda: ways(tree, len(text)) * (len(text) + 1))


def group_names(pattern: str) -> tuple[str, ...]:
    """Name a pattern's groups in order; none where it is unreadable.

    >>> group_names("(?P<name>[A-Z][a-z]+) is (?P<age>[0-9]+)|(?P<none>)")
    ('name', 'age', 'none')
    """
    if "(?P<" not in pattern:
        return ()
    try:
        text, _ = _without_properties(pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(re_tree(text).state.groupdict)
    except (re.error, regex.error, ValueError, OverflowError, RecursionError, SfgenError):
        return ()


def groups(pattern: str, text: str, *, seconds: float = 0.25) -> tuple[Group, ...] | None:
    """Find the named groups of ``re.fullmatch(pattern, text, re.ASCII)``, in order; ``None`` as :func:`fullmatch`.

    >>> [group.span for group in groups("(?P<letters>[a-z]*)(?P<digit>[0-9])?", "ab")]
    [(0, 2), None]
    """
    names, read = group_names(pattern), read_pattern(pattern)
    if not names:
        return ()
    if read is None:
        return None
    oracle, tree = read
    match = in_time(lambda: oracle.fullmatch(text), seconds, lambda: ways(tree, len(text)) * (len(text) + 1))
    if match is None:
        return None
    return tuple(Group(name, *(match.span(name) if match[name] is not None else (None, None))) for name in names)


# ---- a limit of time -------------------------------------------------------------------------------------------------


def who_refuses(pattern: str, text: bytes) -> str | None:
    r"""Name the judge that refuses a finished text: ``re.fullmatch`` or UTF-8; ``None`` where neither does.

    >>> who_refuses("[0-9]+", b"12"), who_refuses("[0-9]+", b"1x"), who_refuses(".", b"\xff")
    (None, 're.fullmatch', 'UTF-8')
    """
    try:
        matches = fullmatch(pattern, text.decode())
    except UnicodeDecodeError:
        return "UTF-8"
    return "re.fullmatch" if matches is False else None


def in_time(question: Callable[[], Answer], seconds: float, steps: Callable[[], int]) -> Answer | None:
    """Ask ``re`` with a limit of time, or of steps (:func:`ways`) where there are no timers; ``None``: no answer."""
    if _can_set_an_alarm():
        return _within(seconds, question)
    return question() if steps() <= _MOST_STEPS else None


class _TimeUp(Exception):
    """Raised by the alarm, through ``re``, which looks for signals every few thousand steps."""


def _can_set_an_alarm() -> bool:
    """Whether this is the main thread, on a system whose alarms are free."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    )


def _within(seconds: float, question: Callable[[], Answer]) -> Answer | None:
    waiting = True

    def ring(number: int, frame: object) -> None:
        if waiting:  # an alarm that comes late must not disturb what follows
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            answer = question()
        finally:
            waiting = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeUp:
        return None
    finally:
        signal.signal(signal.SIGALRM, before)
    return answer


def ways(tree: Tree, length: int) -> int:
    """Bound the number of ways that ``re`` can backtrack on a text.

    Counting stops above ``_MOST_STEPS``.

    >>> [ways(re_tree(pattern), 9) for pattern in ("abc", "a|b*", "a{2,4}(b?c)*")]
    [1, 11, 3069]
    """
    product = 1
    for operator, argument in tree:
        if operator is sre.BRANCH:
            here = sum(ways(branch, length) for branch in argument[1])
        elif operator is sre.SUBPATTERN:
            here = ways(argument[3], length)
        elif operator is sre.ATOMIC_GROUP:
            here = ways(argument, length)
        elif operator in (sre.ASSERT, sre.ASSERT_NOT):
            here = ways(argument[1], length)
        elif operator in _REPEATS:
            minimum, maximum, repeated = argument
            each = ways(repeated, length)
            longest = max(int(minimum), min(int(maximum), length))
            here = 0
            for count in range(int(minimum), longest + 1):
                here += each ** min(count, 20)  # with twenty rounds it is 0, 1, or above the limit
                if here > _MOST_STEPS:
                    break
        elif operator in _CHARACTERS:
            here = 1
        else:
            here = _MOST_STEPS + 1
        product *= here
        if product > _MOST_STEPS:
            return _MOST_STEPS + 1
    return product


# ---- the pattern -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def read_pattern(pattern: str, *, ascii_only: bool = True) -> tuple[re.Pattern[str], Tree] | None:
    """Compile a pattern with ``re``, and parse it; ``None`` where it cannot be read."""
    try:
        text, sets = _without_properties(pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = re_tree(text, ascii_only)
            _put_sets(tree, tree.state.flags, sets)
            oracle: re.Pattern[str] = sre_compiler.compile(tree)
    except (re.error, regex.error, ValueError, OverflowError, RecursionError, SfgenError):
        return None
    return oracle, tree


def _without_properties(pattern: str) -> tuple[str, dict[int, str]]:
    """Replace each Unicode property by a private-use character; also the property of each."""
    properties = scan(pattern).properties if "\\p" in pattern or "\\P" in pattern else []
    source, meaning = replace_properties(pattern, properties)
    return source.text, {code: construct.text for code, construct in meaning.items()}


def _put_sets(tree: Tree, flags: int, sets: dict[int, str]) -> None:
    """Put the sets of the properties into the tree; under ``(?i)``, ``re`` would fold them anew: ``ValueError``."""
    for position, (operator, argument) in enumerate(tree):
        if operator is sre.SUBPATTERN:
            _, added, removed, inner = argument
            _put_sets(inner, (flags | added) & ~removed, sets)
        elif operator in (sre.LITERAL, sre.NOT_LITERAL, sre.IN):
            members = argument if operator is sre.IN else [(sre.LITERAL, argument)]
            if not any(kind is sre.LITERAL and value in sets for kind, value in members):
                continue
            if flags & re.IGNORECASE:
                raise ValueError("a property under (?i)")
            negation = [(sre.NEGATE, None)] if operator is sre.NOT_LITERAL else []
            tree[position] = (sre.IN, [*negation, *(new for member in members for new in _members(member, sets))])
        else:
            for inner in _inner(operator, argument):
                _put_sets(inner, flags, sets)


def _inner(operator: Any, argument: Any) -> list[Tree]:
    if operator is sre.BRANCH:
        return list(argument[1])
    if operator in _REPEATS:
        return [argument[2]]
    if operator in (sre.ASSERT, sre.ASSERT_NOT):
        return [argument[1]]
    return [argument] if operator is sre.ATOMIC_GROUP else []


def _members(member: tuple[Any, Any], sets: dict[int, str]) -> list[tuple[Any, Any]]:
    kind, value = member
    if kind is not sre.LITERAL or value not in sets:
        return [member]
    return [(sre.RANGE, pair) for pair in property_ranges(sets[value], ignore_case=False)]
