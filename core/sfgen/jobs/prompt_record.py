"""One record of the input: its prompt, what it says of how it is done, and what is only passed on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfgen.errors import UsageError
from sfgen.jobs.instructions import Instructions
from sfgen.models.messages import check_conversation, user_message

OUR_KEYS = ("prompt", "id", "sfgen")
"""The keys of a record that mean something here; all others come out again under ``input``."""

_KEYS_SHOWN = 3
_DEPTH = 100
_KINDS = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}  # else a number
_TOO_DEEP = "JSON that is nested too deeply"


@dataclass(frozen=True)
class PromptRecord:
    """A record of the input.

    Attributes:
        line: The number of its line, from 1 on.
        prompt: The prompt; ``None``: it has none.
        id: Its ``id`` under that key, any JSON value; empty if it has none.
        fault: Why it has no prompt.
        is_object: False where its line is not a JSON object: perhaps all lines are plain text.
        input: Its other keys, under the key ``input``; empty if it has none.
        own: What it says of how it is done; ``None``: nothing.
    """

    line: int
    prompt: str | None
    id: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    is_object: bool = True
    input: Mapping[str, Any] = field(default_factory=dict)
    own: Instructions | None = None

    @property
    def hint(self) -> str:
        """What to do about the fault; empty if nothing is known."""
        return "" if self.is_object else "Each line is a JSON object; where lines are plain text, say so: plain=True."


def record_of(number: int, value: object) -> PromptRecord:
    """Read the record of a value of JSON.

    Args:
        number: The number of its line.
        value: The value.
    """
    if not isinstance(value, Mapping):
        fault = f"{_KINDS.get(type(value), 'a number')}, not a JSON object"
        return PromptRecord(number, None, fault=fault, is_object=False)
    name = {"id": value["id"]} if "id" in value else {}
    others = {key: item for key, item in value.items() if key not in OUR_KEYS}
    passed_on = {"input": others} if others else {}
    if _is_deep(name):
        return PromptRecord(number, None, fault=_TOO_DEEP)
    if _is_deep(passed_on):
        return PromptRecord(number, None, name, _TOO_DEEP)
    own, fault = None, ""
    if value.get("sfgen") is not None:
        try:
            own = Instructions.of(value["sfgen"])
        except UsageError as error:
            fault = error.message
    prompt = value.get("prompt", "" if own is not None and own.messages else None)
    fault = fault or _fault(value, own, prompt)
    return PromptRecord(number, None if fault else prompt, name, fault, input=passed_on, own=own)


def _fault(value: Mapping[str, Any], own: Instructions | None, prompt: object) -> str:
    """What is wrong with the prompt of a record, or its messages; empty if nothing is."""
    if "prompt" not in value and prompt is None:
        keys = ", ".join(json.dumps(key) for key in list(value)[:_KEYS_SHOWN])
        more = ", …" if len(value) > _KEYS_SHOWN else ""
        return f'no "prompt" in the object{", which has " + keys + more if keys else ""}'
    if not isinstance(prompt, str):
        kind = "an object" if isinstance(prompt, dict) else _KINDS.get(type(prompt), "a number")
        return f'"prompt" is {kind}, not a string'
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        return f'"prompt" has half of a surrogate pair, at character {error.start + 1}'
    if own is not None and own.messages:
        try:
            check_conversation([*own.messages, *([user_message(prompt)] if prompt else [])])
        except UsageError as error:
            return f'messages in "sfgen": {error.message}'
    return ""


def is_writable(value: object) -> bool:
    """Tell whether a value can be written as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_deep(value: Any) -> bool:
    """Whether a value is nested more deeply than can surely be written again."""
    level = [value]
    for _ in range(_DEPTH):
        nested = [inner for inner in level if isinstance(inner, (list, dict))]
        if not nested:
            return False
        level = [part for inner in nested for part in (inner.values() if isinstance(inner, dict) else inner)]
    return True
