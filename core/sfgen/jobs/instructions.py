"""How one record is done: what it says itself, under the key ``sfgen`` of the input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, TypeAlias, get_args

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.models.messages import Message, checked_messages

ConstraintKind: TypeAlias = Literal["regex", "choices", "schema", "grammar", "substring"]
"""What a record can say that its text must match."""

KINDS: tuple[ConstraintKind, ...] = get_args(ConstraintKind)
_QUOTED_HOW = ("text", "unit", "least", "most")
_KEYS = (*KINDS, "ban", "seed", "max_tokens", "messages")


@dataclass(frozen=True)
class OwnConstraint:
    """The constraint of one record, as the record says it.

    It is the thing itself, never the name of a file.

    Attributes:
        kind: What it is.
        written: It, as JSON: equal ones are the same constraint.
    """

    kind: ConstraintKind
    written: str

    @property
    def value(self) -> Any:
        """The constraint as it stands in the record."""
        return json.loads(self.written)


@dataclass(frozen=True)
class Instructions:
    """The instructions of a record: how its text is made.

    What it leaves out is as for all records.

    Attributes:
        constraint: What its text must match, in place of what all must.
        ban: The words that it must not contain, in place of those of all; empty: none.
        seed: What its first sample is drawn from.
        max_tokens: The most tokens of its text.
        messages: What its conversation begins with, in place of what all do.
    """

    constraint: OwnConstraint | None = None
    ban: tuple[str, ...] | None = None
    seed: int | None = None
    max_tokens: int | None = None
    messages: tuple[Message, ...] | None = None

    @classmethod
    def of(cls, value: object) -> Instructions:
        """Read the value of ``sfgen`` in a record.

        Its constraint is not compiled.

        Raises:
            UsageError: It is of another form; says where and what is wanted.

        >>> Instructions.of({"regex": "[0-9]+", "seed": 7}).seed
        7
        >>> Instructions.of({"regex": "[0-9]+", "schema": True})
        Traceback (most recent call last):
        sfgen.errors.UsageError: regex and schema cannot be used together in "sfgen"
        Leave one of them out.
        """
        if not isinstance(value, Mapping):
            raise arguments.refusal('"sfgen"', "an object", value, hint=_FORM)
        for key in value:
            if key not in _KEYS:
                raise UsageError(f'"sfgen" has the key {key!r:.60}', hint=f"It may have {', '.join(_KEYS)}.")
        value = {key: item for key, item in value.items() if item is not None}  # some write null for what is not there
        kinds = [kind for kind in KINDS if kind in value]
        if len(kinds) > 1:
            raise UsageError(f'{" and ".join(kinds)} cannot be used together in "sfgen"', hint="Leave one of them out.")
        return cls(
            constraint=_constraint(kinds[0], value[kinds[0]]) if kinds else None,
            ban=tuple(_texts("ban", value["ban"])) if "ban" in value else None,
            seed=_number("seed", value),
            max_tokens=_number("max_tokens", value),
            messages=_messages(value["messages"]) if "messages" in value else None,
        )

    @cached_property
    def digest(self) -> str:
        """A digest by which the instructions are recognized."""
        constraint = self.constraint and (self.constraint.kind, self.constraint.written)
        told = (constraint, self.ban, self.seed, self.max_tokens, self.messages)
        return sha256(json.dumps(told).encode()).hexdigest()


_FORM = 'For example: {"prompt": "Date: ", "sfgen": {"regex": "20[0-9]{2}"}}'


def _constraint(kind: ConstraintKind, value: Any) -> OwnConstraint:
    if kind == "choices":
        value = _texts(kind, value)
        if not value:
            raise UsageError('choices in "sfgen" is an empty list', hint="Leave it out, or give a text.")
    elif kind == "schema":
        if not isinstance(value, Mapping | bool | str):
            raise arguments.refusal('schema in "sfgen"', "an object, true, false or names and types", value)
    elif kind == "substring":
        if not isinstance(value, Mapping | str) or (isinstance(value, Mapping) and "text" not in value):
            raise arguments.refusal('substring in "sfgen"', "a document, or an object with its text", value)
        for key in value if isinstance(value, Mapping) else ():
            if key not in _QUOTED_HOW:
                raise UsageError(
                    f'substring in "sfgen" has the key {key!r:.60}', hint=f"It may have {', '.join(_QUOTED_HOW)}."
                )
    else:
        arguments.text(f'{kind} in "sfgen"', value)
    try:
        return OwnConstraint(kind, json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f'{kind} in "sfgen" is not JSON: {error!s:.60}') from None


def _texts(key: str, value: object) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list | tuple):
        raise arguments.refusal(f'{key} in "sfgen"', "a list of texts", value)
    return list(arguments.texts(f'{key} in "sfgen"', value))


def _number(key: str, value: Mapping[Any, Any]) -> int | None:
    return arguments.whole_number(f'{key} in "sfgen"', value[key], least=0) if key in value else None


def _messages(value: object) -> tuple[Message, ...]:
    try:
        messages = checked_messages(value)
    except UsageError as error:
        raise UsageError(f'messages in "sfgen": {error.message}', hint=error.hint) from None
    if not messages:
        raise UsageError('messages in "sfgen" is an empty list', hint="Leave it out, or give a message.")
    return messages
