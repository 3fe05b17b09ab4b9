"""One record of the input: its prompt, its own instructions, and the keys that are only passed on.

The key ``sfgen`` of a record holds the instructions: a constraint, banned words, a seed, a limit of tokens or messages
in place of those of all records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, TypeAlias, get_args

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.models.messages import Message, check_conversation, checked_messages, user_message
from sfgen.parameter_text import ParameterText
from sfgen.printable import json_text, visible

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_SHOWN = 40  # characters that are shown around a wrong brace

OUR_KEYS = ("prompt", "id", "sfgen")
"""The keys of a record that have a meaning; all others are passed on under ``input``."""

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
        id: The key ``id`` with its value, any JSON value; empty if it has none.
        fault: The reason why it has no prompt.
        is_object: False where its line is not a JSON object: perhaps all lines are plain text.
        input: Its other keys, under the key ``input``; empty if it has none.
        own: Its own instructions; ``None`` if it has none.
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
        """The hint for the fault; empty if there is none."""
        return "" if self.is_object else "Each line is a JSON object; if lines are plain text, use plain=True."


@dataclass(frozen=True)
class PromptTemplate:
    """A text with keys of records in braces; each stands for its value.

    >>> template = PromptTemplate("{{{prompt}}} has {stars} of {of.most}.")
    >>> template.filled({"prompt": "Nice!", "stars": 4, "of": {"most": 5}})
    '{Nice!} has 4 of 5.'
    """

    text: str  # ``{{`` and ``}}`` are braces in the text

    def __post_init__(self) -> None:
        if arguments.utf8("prompt_template", arguments.text("prompt_template", self.text)) is None:
            raise UsageError(ParameterText("prompt_template has half of a surrogate pair", "prompt_template"))
        if not self.names:
            two = "{{prompt}} is that text in braces: write {prompt}." if "{{prompt}}" in self.text else ""
            raise UsageError(
                ParameterText("prompt_template names no key: all prompts would be the same", "prompt_template"),
                hint=two or "{prompt} stands for the prompt of each record.",
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The keys that it needs."""
        return tuple(dict.fromkeys(piece for piece, is_key in self._pieces if is_key))

    @cached_property
    def _pieces(self) -> list[tuple[str, bool]]:
        """The pieces of the text, each with a flag that tells whether it is a key."""
        pieces: list[tuple[str, bool]] = []
        end = 0
        for found in _BRACES.finditer(self.text):
            written, key = found[0], found[1]
            if (key is None and len(written) == 1) or (key is not None and not key.strip()):
                raise self._error(found.start(), "names no key" if key is not None else "has no pair")
            if key is not None and key.strip().startswith('"'):  # usually an example for the model
                raise self._error(found.start(), "begins JSON, not a key")
            pieces += [(self.text[end : found.start()], False), (key.strip(), True) if key else (written[0], False)]
            end = found.end()
        return [*pieces, (self.text[end:], False)]

    def _error(self, place: int, why: str) -> UsageError:
        line = self.text.count("\n", 0, place) + 1
        start = self.text.rfind("\n", 0, place) + 1
        shown = visible(self.text[max(start, place - _SHOWN) : place])
        rest = visible(self.text[place:].partition("\n")[0][:_SHOWN])
        return UsageError(
            ParameterText(
                f"a brace of prompt_template {why}: line {line}, column {place - start + 1}", "prompt_template"
            ),
            details=(f"  {shown}{rest}", f"  {' ' * len(shown)}^"),
            hint="A key stands in braces, as {prompt}; a brace itself is {{ or }}.",
        )

    def filled(self, values: Mapping[str, Any]) -> str:
        """Return the prompt of a record."""
        # A text is inserted as it is, any other value as JSON; ``a.b`` is the key b inside of a.
        return "".join(_text_of(values, piece) if is_key else piece for piece, is_key in self._pieces)


def _text_of(values: Mapping[str, Any], key: str) -> str:
    """Return the text of a key's value in a prompt."""
    there, value = find_value(values, key)
    if not there:
        raise UsageError(f"no {json.dumps(key, ensure_ascii=False)} in the object{_keys_of(values)}")
    if value is None:
        raise UsageError(f"{json.dumps(key, ensure_ascii=False)} is null, and the prompt needs it")
    if isinstance(value, str):
        return value
    try:
        return json_text(value)
    except (TypeError, ValueError, RecursionError):
        raise UsageError(f"{json.dumps(key, ensure_ascii=False)} cannot be written as JSON") from None


def record_of(number: int, value: object, template: PromptTemplate | None = None) -> PromptRecord:
    """Read the record of a value of JSON."""
    if not isinstance(value, Mapping):
        fault = f"{_KINDS.get(type(value), 'a number')}, not a JSON object"
        return PromptRecord(number, None, fault=fault, is_object=False)
    name = {"id": value["id"]} if "id" in value else {}
    ours = OUR_KEYS if template is None else OUR_KEYS[1:]
    others = {key: item for key, item in value.items() if key not in ours}
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
    if template is not None and not fault:
        try:
            prompt = template.filled(value)
        except UsageError as error:
            fault = error.message
    fault = fault or _fault(value, own, prompt)
    return PromptRecord(number, None if fault else prompt, name, fault, input=passed_on, own=own)


def text_record(number: int, text: str, template: PromptTemplate | None) -> PromptRecord:
    """Return the record of a text: a prompt, or the key ``prompt`` of a template."""
    return PromptRecord(number, text) if template is None else record_of(number, {"prompt": text}, template)


def _fault(value: Mapping[str, Any], own: Instructions | None, prompt: object) -> str:
    """Describe the fault of a prompt or its messages; empty if there is none."""
    if "prompt" not in value and prompt is None:
        return f'no "prompt" in the object{_keys_of(value)}'
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


def find_value(record: Any, name: str) -> tuple[bool, Any]:
    """Find a value by its name: ``a.b`` is the key b inside of a."""
    if not isinstance(record, Mapping):
        return False, None
    if name in record:
        return True, record[name]
    first, dot, rest = name.partition(".")
    return find_value(record.get(first), rest) if dot else (False, None)


def _keys_of(value: Mapping[str, Any]) -> str:
    """Name the first keys of an object."""
    keys = ", ".join(json.dumps(key) for key in list(value)[:_KEYS_SHOWN])
    more = ", …" if len(value) > _KEYS_SHOWN else ""
    return f", which has {keys}{more}" if keys else ""


def is_writable(value: object) -> bool:
    """Return whether a value can be written as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_deep(value: Any) -> bool:
    """Return whether a value is nested too deeply to be written again."""
    level = [value]
    for _ in range(_DEPTH):
        nested = [inner for inner in level if isinstance(inner, (list, dict))]
        if not nested:
            return False
        level = [part for inner in nested for part in (inner.values() if isinstance(inner, dict) else inner)]
    return True


ConstraintKind: TypeAlias = Literal["regex", "choices", "schema", "grammar", "substring", "template", "tools"]
"""The kinds of constraints as data; a record may have all but the last two."""

KINDS: tuple[ConstraintKind, ...] = get_args(ConstraintKind)[:-2]
_QUOTED_HOW = ("text", "unit", "least", "most")
_KEYS = (*KINDS, "ban", "seed", "max_tokens", "messages")


@dataclass(frozen=True)
class OwnConstraint:
    """The constraint of one record: its content, never the name of a file.

    Attributes:
        kind: The kind of constraint.
        written: The constraint as JSON; equal texts are the same constraint.
        numbers: The spelling of numbers of a schema's ``enum`` and ``const``, as of :class:`sfgen.JsonSchema`;
            ``None``: that of all records.
    """

    kind: ConstraintKind
    written: str
    numbers: str | None = None

    @property
    def value(self) -> Any:
        """The constraint as it stands in the record."""
        return json.loads(self.written)


@dataclass(frozen=True)
class Instructions:
    """The own instructions of a record; whatever they leave out is as for all records.

    Attributes:
        constraint: The constraint of its text, instead of that of all records.
        ban: The words that it must not contain, instead of those of all records; empty: none.
        seed: The seed of its first sample.
        max_tokens: The most tokens of its text.
        messages: The first messages of its conversation, instead of those of all records.
    """

    constraint: OwnConstraint | None = None
    ban: tuple[str, ...] | None = None
    seed: int | None = None
    max_tokens: int | None = None
    messages: tuple[Message, ...] | None = None

    @classmethod
    def of(cls, value: object) -> Instructions:
        """Read the value of ``sfgen`` in a record; its constraint is not compiled.

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
        value = {key: item for key, item in value.items() if item is not None}  # some write null for a missing key
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
    """Check a list of texts."""
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
