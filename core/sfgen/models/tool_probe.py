"""Find out in which form a chat template writes tool calls, by rendering some calls.

This module knows no single model. A template is given names and values that no template has in it, and the texts
between them are the form. A message with two calls distinguishes the texts around each call from the texts around all
calls: the text between both ends with the begin of a call, as the text before the first does, and begins with the end
of one. A form is accepted only if it writes the calls exactly as the template has written them.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from sfgen.models.chat_forms import ANSWER, FIELDS, LAST_MARK, THOUGHT, Probe, Renders, Tools
from sfgen.models.tool_forms import (
    ARGUMENTS,
    ID,
    INDEX,
    JSON_WORDS,
    MARK,
    NAME,
    Arguments,
    Notation,
    Slot,
    Spacing,
    ToolForm,
    written_in,
)

_NUMBER = 7310042
_QUOTED = 'sfgen"s\\sfgen'
"""A string with characters that JSON escapes."""

_INDEX = "\0"
"""A place of ``INDEX`` in a text that is compared."""

_ATOM = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]|[0-9]+|[^\W\d]+|.", re.DOTALL)
"""A piece that is compared as a whole: ``</call>`` and ``</calls>`` have no common begin."""

_END_OF_THOUGHT = re.compile(rf"\s*{MARK}\s*")


class _Call(NamedTuple):
    """A call that a template is given."""

    name: str
    id: str
    arguments: Mapping[str, Any]

    @property
    def value(self) -> Mapping[str, Any]:
        """The call as ``ToolForm`` takes it."""
        return {"name": self.name, "arguments": self.arguments}


_KEY, _NEXT = "sfgen_ka", "sfgen_kb"
_ONE = _Call("sfgen_first", "sfgenidaa", {_KEY: "sfgen_va", _NEXT: "sfgen_vb"})  # some templates want nine letters
_TWO = _Call("sfgen_other", "sfgenidbb", {"sfgen_kc": "sfgen_vc", "sfgen_kd": "sfgen_vd"})
_TOOLS: Tools = tuple(
    {
        "type": "function",
        "function": {
            "name": call.name,
            "description": "A tool.",
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string", "description": "A text."} for key in call.arguments},
                "required": list(call.arguments),
            },
        },
    }
    for call in (_ONE, _TWO)
)


def tool_form(render: Renders) -> ToolForm | None:
    """Find out how a chat template writes tool calls; ``None`` if it writes none.

    >>> def render(messages, variables, *, begins_answer, tools=None):
    ...     text = ""
    ...     for message in messages:
    ...         text += f"[{message['role']}]{message['content']}"
    ...         for call in message.get("tool_calls", ()):
    ...             text += f"<{call['function']['name']}>{json.dumps(call['function']['arguments'])}</>"
    ...     return text + ("[assistant]" if begins_answer else "")
    >>> form = tool_form(render)
    >>> form.call, form.separator
    (('<', <Slot.NAME: 'name'>, '>', <Slot.ARGUMENTS: 'arguments'>, '</>'), '')
    """
    forms = (_found(way) for way in _ways(Probe(render)))
    return next((form for form in forms if form is not None), None)


# ---- a template is given calls ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
    """A way to give calls to a template; a template may refuse other ways.

    Attributes:
        probe: Renders conversations by the template.
        message: The message of the assistant without its calls.
        tools: The tools that the template is given.
        is_answered: Whether results of the tools follow.
        as_text: Whether arguments are given as JSON text.
        named_ids: Whether identifiers contain the name and the number of the call.
    """

    probe: Probe
    message: Mapping[str, Any]
    tools: Tools | None
    is_answered: bool
    as_text: bool
    named_ids: bool = False

    def told(self, *calls: _Call, **more: str) -> str | None:
        """The text after the question, with calls in a message that may have more fields."""
        message = {**self.message, **more}
        given = [self._given(call, index) for index, call in enumerate(calls)]
        results = [
            {"role": "tool", "name": call.name, "tool_call_id": each["id"], "content": "sfgen.result"}
            for call, each in zip(calls, given, strict=True)
        ]
        return self.probe.answered({**message, "tool_calls": given}, self.tools, results if self.is_answered else ())

    def _given(self, call: _Call, index: int) -> Mapping[str, Any]:
        arguments = json.dumps(call.arguments) if self.as_text else dict(call.arguments)
        given = f"functions.{call.name}:{index}" if self.named_ids else call.id
        return {"id": given, "type": "function", "function": {"name": call.name, "arguments": arguments}}

    def body(self, *calls: _Call) -> str:
        """The text of a message with calls after its header; empty if the template does not write them."""
        return self._behind_header(self.told(*calls) or "").removeprefix(self._empty_thought)

    def _behind_header(self, told: str) -> str:
        """A text without the header of its message, which is a prompt or the text before an answer."""
        texts = self._headers
        begins = [text for text in (*texts, *(text.rstrip() for text in texts)) if told.startswith(text)]
        return told.removeprefix(begins[0] if begins else max((_common(told, text) for text in texts), key=len))

    @cached_property
    def _empty_thought(self) -> str:
        """The text for an empty thought before the calls; empty if there is none."""
        told = self._behind_header(self.told(_ONE, **dict.fromkeys((*FIELDS, "tool_plan"), THOUGHT)) or "")
        before, _, behind = told.partition(THOUGHT)
        end = _END_OF_THOUGHT.match(behind)
        return before + end[0] if end else ""

    @cached_property
    def _headers(self) -> list[str]:
        return sorted({*self.probe.prompts(self.tools), self._answer[0]}, key=len, reverse=True)

    @property
    def end(self) -> str:
        """The text that ends an answer, without blanks around it."""
        return self._answer[1].strip()

    @cached_property
    def _answer(self) -> tuple[str, str]:
        before, _, behind = (self.probe.answered({"content": ANSWER}, self.tools) or "").partition(ANSWER)
        return before, behind


def _ways(probe: Probe) -> Iterator[_Way]:
    """Yield the ways in which a template accepts calls and writes their arguments, the most usual first."""
    messages: tuple[Mapping[str, Any], ...] = ({"content": ""}, {"content": None}, {})
    for as_text, is_answered, tools, message in itertools.product(
        (False, True), (False, True), (_TOOLS, None), messages
    ):
        way = _Way(probe, message, tools, is_answered, as_text)
        told = way.told(_ONE)
        if told is not None and all(value in told for value in _ONE.arguments.values()):
            # A template that writes no name relies on identifiers that contain the name.
            yield way if _ONE.name in told else replace(way, named_ids=True)


# ---- the form of what it writes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Style:
    """The style of arguments, as ``ToolForm`` has it."""

    arguments: Arguments | None
    spacing: Spacing = "spaced"


class _Place(NamedTuple):
    """A slot in a text."""

    start: int
    end: int
    slot: Slot


@dataclass(frozen=True)
class _Written:
    """A text with calls.

    Attributes:
        text: The text, up to the end of its message.
        calls: The slots of each call, in order.
        is_ended: Whether it ends as an answer does.
    """

    text: str
    calls: tuple[tuple[_Place, ...], ...]
    is_ended: bool

    @property
    def before(self) -> str:
        """The text before the first slot."""
        return self.text[: self.calls[0][0].start]

    @property
    def behind(self) -> str:
        """The text behind the last slot."""
        return self.text[self.calls[-1][-1].end :]

    @property
    def between(self) -> str:
        """The text between the slots of the first call and those of the second."""
        return self.text[self.calls[0][-1].end : self.calls[1][0].start]

    def inner(self, call: int) -> list[str]:
        """The texts between the slots of a call."""
        return [self.text[one.end : other.start] for one, other in itertools.pairwise(self.calls[call])]


def _found(way: _Way) -> ToolForm | None:
    """The form of the calls that a template writes, given calls in one way; ``None`` if it has no form."""
    style = _style(way)
    if style is None:
        return None
    one = _written(way, style, _ONE)
    if one is None:
        return None
    two = _written(way, style, _ONE, _TWO)
    form = _of_two(two, style) if two is not None and two.before == one.before else None
    if form is None or (two is not None and way.end and way.end in two.between):
        form = _of_one(one, style)
    return form and replace(form, lead=_lead(way, style, one.before))


def _written(way: _Way, style: _Style, *calls: _Call) -> _Written | None:
    """The text that a template writes for calls; ``None`` unless it has name and arguments of each call once."""
    text = way.body(*calls)
    places = [sorted(_places(text, call, style)) for call in calls]
    if any(
        sorted(place.slot.value for place in each if place.slot is not ID) != ["arguments", "name"] for each in places
    ):
        return None
    if any(before[-1].end > behind[0].start for before, behind in itertools.pairwise(places)):
        return None
    last, end = places[-1][-1].end, way.end
    at = text.find(end, last) if way.is_answered else text.rfind(end, last)
    is_ended = bool(end) and at >= 0 and (way.is_answered or not text[at + len(end) :].strip())
    if way.is_answered and not is_ended:
        return None
    return _Written(text[:at] if is_ended else text, tuple(map(tuple, places)), is_ended or not end)


def _places(text: str, call: _Call, style: _Style) -> Iterator[_Place]:
    """Yield the slots of a call."""
    if style.arguments is None:
        spans = list(_spans_of_json(text, call.arguments))
    else:
        spans = list(_spans(text, style.arguments.text(call.arguments)))
    yield from (_Place(*span, ARGUMENTS) for span in spans)
    for word, slot in ((call.name, NAME), (call.id, ID)):
        yield from (_Place(*span, slot) for span in _spans(text, word))


def _spans(text: str, word: str) -> Iterable[tuple[int, int]]:
    return (found.span() for found in re.finditer(re.escape(word), text))


def _spans_of_json(text: str, value: Any) -> Iterator[tuple[int, int]]:
    """Yield the spans at which a text has a value as JSON."""
    for found in re.finditer("{", text):
        try:
            decoded, end = json.JSONDecoder().raw_decode(text, found.start())
        except ValueError:
            continue
        if decoded == value:
            yield found.start(), end


def _of_two(two: _Written, style: _Style) -> ToolForm | None:
    """The form in which two calls are written; ``None`` if they are not written alike."""
    split = _split(two.before, two.between, two.behind)
    if re.search("[0-9]", split.separator):  # calls are counted, and not from 0
        return None
    inner = ["".join(_alike(one, other)) for one, other in zip(two.inner(0), two.inner(1), strict=False)]
    slots = [place.slot for place in two.calls[0]]
    call = _parts([split.begin, *inner, split.end], slots)
    behind, stop = split.behind, ""
    if not two.is_ended and not split.before:  # texts around all calls come in pairs
        behind, stop = _without_last_mark(behind)
    form = ToolForm(call, split.before, split.separator, behind, style.arguments, style.spacing, stop=stop)
    return form if _is_written_by(form, two, (_ONE, _TWO)) else None


def _of_one(one: _Written, style: _Style) -> ToolForm | None:
    """The form in which one call is written."""
    end, stop = (one.behind, "") if one.is_ended else _without_last_mark(one.behind)
    call = _parts([one.before, *one.inner(0), end], [place.slot for place in one.calls[0]])
    form = ToolForm(call, arguments=style.arguments, spacing=style.spacing, stop=stop)
    return form if _is_written_by(form, one, (_ONE,)) else None


def _without_last_mark(text: str) -> tuple[str, str]:
    """A text, and the mark that ends it."""
    found = LAST_MARK.search(text)
    return (text[: found.start()], found[0].strip()) if found else (text, "")


def _is_written_by(form: ToolForm, written: _Written, calls: Sequence[_Call]) -> bool:
    """Whether a form writes a text, blanks in the JSON of arguments and identifiers aside."""
    text, at = "", 0
    for number, (places, call) in enumerate(zip(written.calls, calls, strict=True)):
        told = {NAME: call.name, ARGUMENTS: form.arguments_text(call.arguments), ID: f"{number + 1:09}"}
        for place in places:
            text, at = text + written.text[at : place.start] + told[place.slot], place.end
    whole = form.text([call.value for call in calls]) + form.stop
    return whole.rstrip() == (text + written.text[at:]).rstrip()


def _lead(way: _Way, style: _Style, begin: str) -> str:
    """The text between free text of an answer and the begin of a call."""
    behind = (way.told(_ONE, content=ANSWER) or "").partition(ANSWER)[2]
    before = behind[: min((place.start for place in _places(behind, _ONE, style)), default=0)]
    begins = [each for each in (begin, begin.lstrip()) if before.endswith(each)]
    return before.removesuffix(begins[0]) if begins else ""


# ---- texts that are compared -----------------------------------------------------------------------------------------


class _Split(NamedTuple):
    """The texts around two things in a row: around both, around each, and between them."""

    before: str
    begin: str
    end: str
    separator: str
    behind: str


def _split(before: str, between: str, behind: str) -> _Split:
    """Divide the texts around two things: around both, around each, and between them."""
    first, middle, last = (_ATOM.findall(text) for text in (before, between, behind))
    end = _alike(middle, last)
    rest = middle[len(end) :]
    begin = _alike(first[::-1], rest[::-1])[::-1]
    texts = first[: len(first) - len(begin)], begin, end, rest[: len(rest) - len(begin)], last[len(end) :]
    return _Split(*map("".join, texts))


def _alike(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The common first atoms of two texts; the numbers 0 and 1 of the two calls count as equal."""
    one, other = (_ATOM.findall(text) if isinstance(text, str) else text for text in (one, other))
    alike = list[str]()
    for first, second in zip(one, other, strict=False):
        if first != second and (first, second) != ("0", "1"):
            break
        alike.append(first if first == second else _INDEX)
    return alike


def _common(one: str, other: str) -> str:
    """The longest common prefix of two texts, of whole atoms."""
    return "".join(_alike(one, other)).partition(_INDEX)[0]


def _parts(texts: Sequence[str], slots: Sequence[Slot]) -> tuple[str | Slot, ...]:
    """A call: texts with slots between them."""
    parts = list[str | Slot]()
    for text, slot in itertools.zip_longest(texts, slots):
        for number, piece in enumerate(text.split(_INDEX)):
            parts += [INDEX, piece] if number else [piece]
        parts += [slot] if slot else []
    return tuple(part for part in parts if part)


# ---- arguments -------------------------------------------------------------------------------------------------------


def _style(way: _Way) -> _Style | None:
    """Find out how a template writes arguments."""
    text = way.body(_ONE)
    for start, end in _spans_of_json(text, _ONE.arguments):
        told = text[start:end]
        compact = json.dumps(_ONE.arguments, separators=(",", ":"))
        return _Style(None, "spaced" if told == json.dumps(_ONE.arguments) else "compact" if told == compact else "any")
    if way.as_text or repr(_ONE.arguments) in text:  # it wants JSON text, and has written its input unchanged
        return None
    arguments = _Values(way, text).arguments()
    return None if arguments is None else _Style(arguments)


@dataclass(frozen=True)
class _Values:
    """Finds out how a template writes arguments one by one.

    Attributes:
        way: The way to give calls to the template.
        text: The text of a call with two strings.
    """

    way: _Way
    text: str

    def arguments(self) -> Arguments | None:
        """The form in which it writes them; ``None`` if they do not follow one another."""
        found = re.search("(.*?)".join(itertools.chain(*_ONE.arguments.items())), self.text, re.DOTALL)
        if found is None:
            return None
        opening, closing, _ = found.groups()
        number = self._around(_NUMBER, str(_NUMBER)) or (opening, closing)
        between = _common(opening, number[0])
        quotes, unquoted = (opening[len(between) :], closing.removesuffix(number[1])), number[0][len(between) :]
        if not closing.endswith(number[1]):
            return None
        before, behind = self.text[: found.start()].rpartition(_ONE.name)[2], self.text[found.end() :]
        _, last, other = self.way.body(_ONE, _TWO).partition(_ONE.arguments[_NEXT])
        behind = _common(behind, other) if last else behind  # common to the last call and to one before another
        split = _split(before, number[1], behind.removeprefix(quotes[1]))
        true, false, null = (self._value(value, *number) for value in (True, False, None))
        return Arguments(
            split.begin,
            between,
            split.end,
            split.separator,
            quotes,
            self._value(_QUOTED, opening, closing) == json.dumps(_QUOTED)[1:-1],
            unquoted,
            (true, false, null) if true and false and null else JSON_WORDS,
            self._notation({"sfgen_deep": ["sfgen_item", _NUMBER, True]}, number, quotes),
            self._notation(["sfgen_item", {"sfgen_deep": _NUMBER}, False], number, quotes),
        )

    def _between(self, value: Any) -> str | None:
        """The text between the first name and the second, if the first has a given value."""
        body = self.way.body(_ONE._replace(arguments={**_ONE.arguments, _KEY: value}))
        found = re.search(f"{_KEY}(.*){_NEXT}", body, re.DOTALL)
        return found[1] if found else None

    def _around(self, value: Any, text: str) -> tuple[str, str] | None:
        """The texts before and after a value between both names."""
        before, found, behind = (self._between(value) or "").partition(text)
        return (before, behind) if found else None

    def _value(self, value: Any, before: str, behind: str) -> str:
        """The text of a value; empty if unknown."""
        between = self._between(value) or ""
        is_between = len(between) > len(before + behind) and between.startswith(before) and between.endswith(behind)
        return between[len(before) : len(between) - len(behind)] if is_between else ""

    def _notation(self, value: Any, around: tuple[str, str], quotes: tuple[str, str]) -> Notation:
        """The notation in which a list or an object is written; JSON if unknown."""
        told = self._value(value, *around)
        notations: tuple[Notation, ...] = ("json", "python", "bare")
        for notation in notations:
            if told == written_in(notation, value, quotes):
                return notation
        try:
            return "python" if ast.literal_eval(told) == value else "json"
        except (ValueError, SyntaxError):
            return "json"
