"""Which keys of a record are written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.jobs.prompt_record import find_value
from sfgen.parameter_text import ParameterText

if TYPE_CHECKING:
    from sfgen.jobs.job import Job

_ABOUT = ("id", "line", "sample")
_MADE = ("text", "prompt", "value", "groups", "calls", "thought", "scores", "total_probability", "logprobs")
_COMPARED = ("seed", "run")

SLIM = (*_ABOUT, *_MADE, "input", "finish_reason", *_COMPARED, "error")
"""The keys that are usually written of a record, in this order."""

KNOWN = (
    *SLIM,
    *("messages", "rendered", "model", "pattern", "choices", "schema", "grammar", "template", "substring"),
    *("constraint", "banned", "word_bias", "after", "when", "stop", "engine", "fast_forward", "heal", "token_ids"),
    *("prompt_tokens", "completion_tokens", "forward_passes", "forced_tokens", "healed", "seconds", "rollbacks"),
    *("moved_blocks", "options"),
)
"""All keys that a record may have."""

_NESTED = ("input", "value", "groups", "banned", "word_bias", "options", "id")
"""Keys with keys of their own, which can be named behind a dot."""

EVERYTHING = "all"


@dataclass(frozen=True)
class Fields:
    """A choice of the keys that are written.

    ``error`` is always written where there is one.

    Attributes:
        names: The keys, in the order in which they are written; ``None``: all that there are.
    """

    names: tuple[str, ...] | None = SLIM

    @classmethod
    def of(cls, given: str | Iterable[str] | None) -> Fields:
        """Read a choice of keys.

        Args:
            given: The names, as a list or with commas between them; ``"all"``; ``None``: the usual ones. A dot leads to
                a key within: ``value.age``.

        Raises:
            UsageError: There is no such key, or none is named.

        >>> Fields.of("text, value.age").chosen({"text": "…", "value": {"age": 36}, "error": "…", "line": 1})
        {'text': '…', 'value.age': 36, 'error': '…'}
        """
        if given is None:
            return cls()
        listed = given.split(",") if isinstance(given, str) else arguments.texts("fields", given)
        names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
        if not names:
            raise UsageError(
                ParameterText("fields names no field", "fields"), hint="For example: text,value,id; or: all"
            )
        if names == (EVERYTHING,):
            return cls(None)
        for name in names:
            _check(name)
        return cls(names)

    @property
    def is_usual(self) -> bool:
        """Whether it is the usual choice."""
        return self.names == SLIM

    def has(self, name: str) -> bool:
        """Tell whether a key is written where a record has it."""
        return self.names is None or name in self.names

    def chosen(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the chosen keys of a record."""
        if self.names is None:
            return dict(record)
        found = {}
        for name in (*self.names, "error"):
            there, value = find_value(record, name)
            if there:
                found[name] = value
        return found


def table_columns(job: Job, passed_on: tuple[str, ...]) -> tuple[str, ...]:
    """Return the usual columns of a table: those with content.

    Args:
        job: The job of its records.
        passed_on: The columns of the input that are only passed on, each of which is one here.
    """
    constraint, scored = job.constraint, job.scored is not None
    is_there = {
        "sample": job.samples > 1,
        "value": constraint.has_values and job.config.when is None,
        "groups": constraint.has_groups and job.config.when is None,
        "calls": job.config.when is not None,
        "thought": job.config.after is not None,
        "scores": scored,
        "total_probability": scored,
        "logprobs": job.config.logprobs,
        "finish_reason": not scored,
        "seed": not scored,
    }
    names: list[str] = []
    for name in SLIM:
        if name == "input" and passed_on:
            names += [f"input.{column}" for column in passed_on]
        elif is_there.get(name, True):
            names.append(name)
    return tuple(names)


def _check(name: str) -> None:
    first, dot, _ = name.partition(".")
    if name in KNOWN or (dot and first in _NESTED):
        return
    if name == EVERYTHING:
        raise UsageError(
            ParameterText("fields has all beside other names", "fields"), hint="Leave the others out, or all."
        )
    if dot and first in KNOWN:
        raise UsageError(ParameterText(f"fields has {name!r:.60}, and nothing is within {first}", "fields"))
    close = difflib.get_close_matches(first, KNOWN, 1)
    meant = f"Did you mean {close[0]}? " if close else ""
    raise UsageError(
        ParameterText(f"fields has {name!r:.60}, which no record has", "fields"),
        hint=f"{meant}There are {', '.join(KNOWN)}; what is within is named behind a dot: value.age.",
    )
