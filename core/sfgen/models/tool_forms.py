"""Forms of tool calls: the text that a model writes around the name and the arguments of each call.

::

    before   call   separator   call   behind
             └─ texts around NAME, ARGUMENTS, ID, INDEX

A JSON object is treated as text like any other. ``<tool_call>{"name": "`` stands before a name, ``", "arguments": ``
between it and the arguments, and ``}</tool_call>`` behind them; a list of all calls is a ``[`` before them, a comma
between them, and a ``]`` behind them. The arguments are one JSON object, or each stands by itself (``Arguments``).

Special tokens stand in these texts as they are written: ``<|call|>`` is the token where the vocabulary has it.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal

from sfgen import arguments
from sfgen.errors import UsageError


class Slot(enum.Enum):
    """A place in the text of a call."""

    NAME = "name"
    ARGUMENTS = "arguments"
    ID = "id"
    """The identifier of the call: nine letters or digits, chosen by the model."""
    INDEX = "index"
    """The number of calls before this one in the message, in decimal digits."""


NAME, ARGUMENTS, ID, INDEX = Slot  # as they stand in ``ToolForm.call``

MARK = r"(?:<[^<>\s]+>|\[[^\[\]\s]+\])"
"""A pattern of marks such as ``<tool_call>`` or ``[/THINK]``."""

ID_PATTERN = "[a-zA-Z0-9]{9}"
"""The pattern of an ``ID``."""

INDEX_PATTERN = "0|[1-9][0-9]{0,2}"
"""The pattern of an ``INDEX``."""

JSON_WORDS, PYTHON_WORDS = ("true", "false", "null"), ("True", "False", "None")
"""True, false and null as they are written."""

Notation = Literal["json", "python", "bare"]
Spacing = Literal["spaced", "compact", "any"]


@dataclass(frozen=True)
class Arguments:
    """The form of arguments that are written one by one, not as one JSON object.

    An argument is ``before``, its name, ``between``, its value, ``behind``. Strings are written as they are; other
    values as JSON, spaced as by ``json.dumps``, unless the attributes say otherwise.

    Attributes:
        before: The text before the name of an argument.
        between: The text between its name and its value.
        behind: The text behind its value.
        separator: The text between two arguments.
        quotes: The texts before and behind a string, inside of ``between`` and ``behind``.
        escaped: Whether the characters of strings are escaped as in JSON.
        unquoted: The text before a value that is no string.
        words: The words for true, false and null as the value of an argument.
        objects: The notation of an object and of the values in it. ``"json"``: as JSON; ``"python"``: Python's
            ``repr``; ``"bare"``: names without quotes, strings in ``quotes``, no blanks.
        lists: The same of a list.
    """

    before: str
    between: str
    behind: str = ""
    separator: str = ""
    quotes: tuple[str, str] = ("", "")
    escaped: bool = False
    unquoted: str = ""
    words: tuple[str, str, str] = JSON_WORDS
    objects: Notation = "json"
    lists: Notation = "json"

    def text(self, arguments: Mapping[str, Any]) -> str:
        """Write arguments."""
        written = (
            f"{self.before}{name}{self.between}{self._value(arguments[name])}{self.behind}" for name in arguments
        )
        return self.separator.join(written)

    def _value(self, value: Any) -> str:
        """Write the value of an argument."""
        if isinstance(value, str):
            return (_json(value)[1:-1] if self.escaped else value).join(self.quotes)
        if value is None or isinstance(value, bool):
            return self.unquoted + self.words[(True, False, None).index(value)]
        notation = self.objects if isinstance(value, Mapping) else self.lists
        return self.unquoted + written_in(notation, value, self.quotes)


def written_in(notation: Notation, value: Any, quotes: tuple[str, str] = ("", "")) -> str:
    """Write a value in a notation.

    >>> written_in("bare", {"a": ["b", True]}, ("<", ">")), written_in("python", [None])
    ('{a:[<b>,true]}', '[None]')
    """
    if notation == "python":
        return repr(value)
    if notation == "bare" and isinstance(value, str):
        return value.join(quotes)
    if notation == "bare" and isinstance(value, Mapping):
        return f"{{{','.join(f'{name}:{written_in(notation, value[name], quotes)}' for name in value)}}}"
    if notation == "bare" and isinstance(value, Sequence):
        return f"[{','.join(written_in(notation, item, quotes) for item in value)}]"
    return _json(value)


_FIRST_MARK = re.compile(rf"\s*{MARK}")
_PLAIN_CALL = re.compile(r'([^\0]*)\{\s*"name":\s*"\0NAME\0",\s*"arguments":\s*\0ARGUMENTS\0\s*\}')


@dataclass(frozen=True)
class ToolForm:
    """The form of calls of tools.

    The text of all calls is ``before``, the calls with ``separator`` between two, ``behind``. If the name stands in
    quotes (``"name": "`` and ``"``), it is escaped as in JSON, by ``name_text``.

    Attributes:
        call: A call: texts, and slots between them. ``NAME`` and ``ARGUMENTS`` are in it once each.
        before: The text before all calls.
        separator: The text between two calls; ``None``: there is one call at most.
        behind: The text behind all calls.
        arguments: The form of arguments that are written one by one; ``None``: they are one JSON object.
        spacing: The blanks of the JSON of arguments, as ``JsonSchema`` calls them: ``"spaced"``, ``"compact"``,
            ``"any"``.
        lead: The text between free text of the same answer and ``before``.
        stop: The text after ``behind`` that ends a message with calls; empty if it is the same that ends an answer.
    """

    call: tuple[str | Slot, ...]
    before: str = ""
    separator: str | None = None
    behind: str = ""
    arguments: Arguments | None = None
    spacing: Spacing = "spaced"
    lead: str = ""
    stop: str = ""

    @property
    def begin(self) -> str:
        """The text that every text of calls begins with.

        >>> NAMED["hermes"].begin, NAMED["llama3"].begin
        ('<tool_call>\\n{"name": "', '{"name": "')
        """
        first = self.call[0]
        return self.before + (first if isinstance(first, str) else "")

    @property
    def first_mark(self) -> str:
        """The text after which a call has begun: the mark at the begin of ``begin``, or all of ``begin``.

        >>> NAMED["hermes"].first_mark, NAMED["llama3"].first_mark
        ('<tool_call>', '{"name": "')
        """
        mark = _FIRST_MARK.match(self.begin)
        return mark[0] if mark else self.begin

    @property
    def marker(self) -> str | None:
        """The text before a call that is ``{"name": …, "arguments": {…}}``, without blanks around it.

        ``None`` if there is no such text, or if calls have another form.

        >>> NAMED["hermes"].marker, NAMED["llama3"].marker
        ('<tool_call>', None)
        """
        shown = self.before + "".join(part if isinstance(part, str) else f"\0{part.name}\0" for part in self.call)
        found = _PLAIN_CALL.match(shown) if self.arguments is None else None
        return found[1].strip() or None if found else None

    def text(self, calls: Sequence[Mapping[str, Any]]) -> str:
        """Write calls, each of which is ``{"name": …, "arguments": {…}}``.

        >>> NAMED["hermes"].text([{"name": "add", "arguments": {"a": 1}}])
        '<tool_call>\\n{"name": "add", "arguments": {"a": 1}}\\n</tool_call>'
        """
        written = (self._call(call["name"], call["arguments"], index) for index, call in enumerate(calls))
        return f"{self.before}{(self.separator or '').join(written)}{self.behind}"

    def _call(self, name: str, arguments: Mapping[str, Any], index: int) -> str:
        """Write a call."""
        told = {
            NAME: self.name_text(name),
            ARGUMENTS: self.arguments_text(arguments),
            ID: f"{index + 1:09}",
            INDEX: str(index),
        }
        return "".join(part if isinstance(part, str) else told[part] for part in self.call)

    def arguments_text(self, arguments: Mapping[str, Any]) -> str:
        """Write the arguments of a call."""
        if self.arguments is not None:
            return self.arguments.text(arguments)
        return _json(arguments, compact=self.spacing == "compact")

    def name_text(self, name: str) -> str:
        """Write the name of a tool as it stands in a call."""
        at = self.call.index(NAME)
        before, behind = "".join(map(str, self.call[:at])), "".join(map(str, self.call[at + 1 :]))
        is_in_quotes = before.endswith('"') and behind.startswith('"')
        return _json(name)[1:-1] if is_in_quotes else name


def _json(value: Any, *, compact: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None)


def _object(
    before: str = "", behind: str = "", *, name: str = "name", key: str = "arguments"
) -> tuple[str | Slot, ...]:
    """A call that is one JSON object."""
    return (f'{before}{{"{name}": "', NAME, f'", "{key}": ', ARGUMENTS, f"}}{behind}")


_PYTHON = Arguments("", "=", separator=", ", quotes=('"', '"'), escaped=True, words=PYTHON_WORDS)

NAMED: Mapping[str, ToolForm] = MappingProxyType(
    {
        "json": ToolForm(_object()),
        "hermes": ToolForm(_object("<tool_call>\n", "\n</tool_call>"), separator="\n"),
        "llama3": ToolForm(_object(key="parameters")),
        "mistral": ToolForm(_object(), "[TOOL_CALLS][", ", ", "]"),
        "mistral-nemo": ToolForm((*_object()[:-1], ', "id": "', ID, '"}'), "[TOOL_CALLS][", ", ", "]"),
        "mistral-small": ToolForm(("[TOOL_CALLS]", NAME, "[CALL_ID]", ID, "[ARGS]", ARGUMENTS), separator=""),
        "ministral": ToolForm(("[TOOL_CALLS]", NAME, "[ARGS]", ARGUMENTS), separator=""),
        "harmony": ToolForm(
            (" to=functions.", NAME, "<|channel|>commentary json<|message|>", ARGUMENTS),
            lead="<|end|><|start|>assistant",
            stop="<|call|>",
        ),
        "harmony-channel": ToolForm(
            ("<|channel|>commentary to=functions.", NAME, " <|constrain|>json<|message|>", ARGUMENTS),
            lead="<|end|><|start|>assistant",
            stop="<|call|>",
        ),
        "deepseek-r1": ToolForm(
            (
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                NAME,
                "\n```json\n",
                ARGUMENTS,
                "\n```<｜tool▁call▁end｜>",
            ),
            "<｜tool▁calls▁begin｜>",
            "\n",
            "<｜tool▁calls▁end｜>",
        ),
        "deepseek-v3.1": ToolForm(
            ("<｜tool▁call▁begin｜>", NAME, "<｜tool▁sep｜>", ARGUMENTS, "<｜tool▁call▁end｜>"),
            "<｜tool▁calls▁begin｜>",
            "",
            "<｜tool▁calls▁end｜>",
        ),
        "kimi-k2": ToolForm(
            (
                "<|tool_call_begin|>functions.",
                NAME,
                ":",
                INDEX,
                "<|tool_call_argument_begin|>",
                ARGUMENTS,
                "<|tool_call_end|>",
            ),
            "<|tool_calls_section_begin|>",
            "",
            "<|tool_calls_section_end|>",
        ),
        "functionary": ToolForm(("<function=", NAME, ">", ARGUMENTS, "</function>"), separator=""),
        "granite": ToolForm(_object(), "<|tool_call|>[", ", ", "]"),
        "phi4-mini": ToolForm(_object(), "<|tool_call|>[", ", ", "]<|/tool_call|>"),
        "nemotron": ToolForm(_object(), "<TOOLCALL>[", ", ", "]</TOOLCALL>"),
        "command-r7b": ToolForm(
            (
                '    {"tool_call_id": "',
                INDEX,
                '", "tool_name": "',
                NAME,
                '", "parameters": ',
                ARGUMENTS,
                "}",
            ),
            "<|START_ACTION|>[\n",
            ",\n",
            "\n]<|END_ACTION|>",
        ),
        "qwen3-coder": ToolForm(
            ("<tool_call>\n<function=", NAME, ">\n", ARGUMENTS, "</function>\n</tool_call>"),
            separator="\n",
            arguments=Arguments("<parameter=", ">\n", "\n</parameter>\n", words=PYTHON_WORDS),
        ),
        "seed-oss": ToolForm(
            ("<seed:tool_call>\n<function=", NAME, ">\n", ARGUMENTS, "</function>\n</seed:tool_call>"),
            separator="\n",
            arguments=Arguments(
                "<parameter=", ">", "</parameter>\n", words=PYTHON_WORDS, objects="python", lists="python"
            ),
        ),
        "glm-4.5": ToolForm(
            ("<tool_call>", NAME, "\n", ARGUMENTS, "</tool_call>"),
            separator="\n",
            arguments=Arguments("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"),
        ),
        "minimax-m2": ToolForm(
            ('<invoke name="', NAME, '">\n', ARGUMENTS, "</invoke>\n"),
            "<minimax:tool_call>\n",
            "",
            "</minimax:tool_call>",
            Arguments('<parameter name="', '">', "</parameter>\n"),
        ),
        "gemma-4": ToolForm(
            ("<|tool_call>call:", NAME, "{", ARGUMENTS, "}<tool_call|>"),
            separator="",
            arguments=Arguments(
                "",
                ":",
                separator=",",
                quotes=('<|"|>', '<|"|>'),
                words=("true", "false", "None"),
                objects="bare",
                lists="bare",
            ),
            stop="<|tool_response>",
        ),
        "pythonic": ToolForm((NAME, "(", ARGUMENTS, ")"), "[", ", ", "]", _PYTHON),
        "lfm2": ToolForm((NAME, "(", ARGUMENTS, ")"), "<|tool_call_start|>[", ", ", "]<|tool_call_end|>", _PYTHON),
    }
)
"""The forms of well-known models, by the names that other engines give them."""


def form_named(form: str | ToolForm) -> ToolForm:
    """Return a form by its name.

    Raises:
        UsageError: There is none of this name.
    """
    if isinstance(form, ToolForm):
        return form
    name = arguments.text("form", form)
    if name not in NAMED:
        near = get_close_matches(name, NAMED, 2)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(NAMED)}."
        raise UsageError(f"no form of calls is named {name!r:.60}", hint=hint)
    return NAMED[name]


def plain_form(form: ToolForm) -> dict[str, Any]:
    """Return a form as plain data for JSON; a slot is a list with its name."""
    return asdict(form) | {"call": [[piece.value] if isinstance(piece, Slot) else piece for piece in form.call]}


def form_of_plain(told: Mapping[str, Any]) -> ToolForm:
    """Make a form of the data of :func:`plain_form`."""
    facts = dict(told)
    facts["call"] = tuple(piece if isinstance(piece, str) else Slot(piece[0]) for piece in facts["call"])
    if facts["arguments"] is not None:
        each = dict(facts["arguments"])
        facts["arguments"] = Arguments(**each | {name: tuple(each[name]) for name in ("quotes", "words")})
    return ToolForm(**facts)


def name_of(form: ToolForm) -> str | None:
    """Return the name of a form; ``None`` if no named form writes the same, blanks around calls aside."""
    for name, named in NAMED.items():
        numbers = (1,) if None in (form.separator, named.separator) else (1, 2)
        if all(_skeleton(form, number) == _skeleton(named, number) for number in numbers):
            return name
    return None


def _skeleton(form: ToolForm, number: int) -> tuple[Any, ...]:
    """The texts and traits by which forms are compared: some calls without arguments, and the form of arguments."""
    call = "".join(part if isinstance(part, str) else f"\0{part.name}\0" for part in form.call)
    text = f"{form.before}{(form.separator or '').join([call] * number)}{form.behind}"
    return text.strip(), form.arguments, form.spacing


def tool_form_of(model: object) -> ToolForm | None:
    """Return the form of calls in a model's chat template.

    ``None`` if it writes none, or if there is no template.
    """
    return getattr(model, "tool_form", None)
