"""Stream the tool calls of an answer while they are written.

A form of calls (``sfgen.models.tool_forms``) is read piece by piece: text around calls is content, a name is sent when
it is complete, and a JSON object of arguments character by character. Arguments that a form writes one by one are sent
as the members of one object: strings character by character, too, and other values that are not JSON when they are
complete.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

from sfgen.models.tool_forms import Arguments, Notation, Slot
from sfgen.schema.writing.arguments import Argument
from sfgen.tools.reading import NoCallError
from sfgen.tools.tool_calls import ToolCalls

_SCALAR = re.compile(r"[\w.+-]*")


class CallStream:
    """Divides the text of an answer into the parts of a message with calls.

    >>> stream = CallStream(ToolCalls([{"name": "stop"}], "hermes", in_text=True))
    >>> list(stream.read("Well: <tool"))
    [{'content': 'Well: '}]
    >>> [told] = stream.read('_call>\\n{"name": "stop", "arguments": ')
    >>> told["tool_calls"][0]["index"], told["tool_calls"][0]["function"]
    (0, {'name': 'stop', 'arguments': ''})
    >>> [told["tool_calls"][0]["function"] for told in stream.read('{}}\\n</tool_call>', is_last=True)]
    [{'arguments': '{}'}]

    Args:
        calls: The calls that the text may have.
    """

    def __init__(self, calls: ToolCalls) -> None:
        self._form = calls.form
        self._reader = calls.reader
        self._is_free = calls.in_text
        self._text, self._at, self._is_over = "", 0, False
        self.count = 0
        """The number of calls whose names were sent."""
        self._parts = self._read()
        self._name = ""  # the name of the current call

    def read(self, text: str, *, is_last: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the parts that a further text adds to the message: ``content`` or ``tool_calls``, as in a stream."""
        self._text += text
        self._is_over = self._is_over or is_last
        while (part := next(self._parts, None)) is not None:
            yield part

    # ---- the text; each method yields parts, and None where it waits for more text ----------------------------------

    def _read(self) -> Iterator[dict[str, Any] | None]:
        while True:
            if self._is_free:
                yield from self._content()
            yield from self._group()
            while not self._is_free:  # no text may follow the calls
                yield None

    def _content(self) -> Iterator[dict[str, Any] | None]:
        """Yield free text up to the begin of calls."""
        mark, lead = self._form.first_mark, self._form.lead
        while (start := self._text.find(mark, self._at)) < 0:
            held = 0 if self._is_over else max(self._held(mark), self._held(lead + mark))
            yield from self._told(len(self._text) - held)
            yield None
        end = start - len(lead)
        is_led = bool(lead) and end >= self._at and self._text.startswith(lead, end)
        yield from self._told(end if is_led else start)
        self._at = start

    def _told(self, end: int) -> Iterator[dict[str, Any]]:
        """Yield free text up to a position."""
        if end > self._at:
            yield {"content": self._text[self._at : end]}
            self._at = end

    def _held(self, mark: str) -> int:
        """The characters at the end of the text that may begin a mark."""
        most = min(len(mark) - 1, len(self._text) - self._at)
        return next((size for size in range(most, 0, -1) if self._text.endswith(mark[:size])), 0)

    def _group(self) -> Iterator[dict[str, Any] | None]:
        """Yield consecutive calls."""
        form = self._form
        yield from self._pass(form.before)
        while True:
            yield from self._call()
            if form.separator is None:
                break
            while not self._is_over and self._reader.may_go_on(self._text, self._at):
                yield None
            if not self._reader.begins_call(self._text, self._at):
                break
            self._at += len(form.separator)
        yield from self._pass(form.behind)

    def _pass(self, piece: str) -> Iterator[None]:
        """Skip a fixed text of the form."""
        while len(self._text) - self._at < len(piece) and not self._is_over:
            yield None
        self._at += len(piece)

    def _call(self) -> Iterator[dict[str, Any] | None]:
        """Yield the parts of a call."""
        call, begin = self._form.call, self._at
        if call.index(Slot.ARGUMENTS) < call.index(Slot.NAME):  # the name must be sent first
            yield from self._at_end(begin)
            return
        for place, piece in enumerate(call):
            behind = call[place + 1] if place + 1 < len(call) else ""
            if isinstance(piece, str):
                yield from self._pass(piece)
            elif piece is Slot.ARGUMENTS and self._form.arguments is not None:
                yield from self._one_by_one(self._form.arguments)
            elif piece is Slot.ARGUMENTS:
                yield from self._json()
            else:
                yield from self._slot(piece, behind if isinstance(behind, str) else "")

    def _slot(self, slot: Slot, behind: str) -> Iterator[dict[str, Any] | None]:
        """Yield the name of a call, or skip its identifier or number."""
        while (found := self._reader.slot(slot, self._text, self._at, behind)) is None:
            yield None
        written, self._at = found
        if slot is Slot.NAME:
            yield self._head(written)

    def _json(self) -> Iterator[dict[str, Any] | None]:
        """Yield a JSON object, list or string while it is written."""
        depth, in_string, escaped, is_whole = 0, False, False, False
        while not is_whole:
            start = self._at
            while self._at < len(self._text) and not is_whole:
                character = self._text[self._at]
                self._at += 1
                if in_string:
                    in_string, escaped = escaped or character != '"', not escaped and character == "\\"
                elif character == '"':
                    in_string = True
                elif character in "{[]}":
                    depth += 1 if character in "{[" else -1
                is_whole = depth == 0 and not in_string and character in '}]"'
            if self._at > start:
                yield self._given(self._text[start : self._at])
            if not is_whole:
                yield None

    def _at_end(self, begin: int) -> Iterator[dict[str, Any] | None]:
        """Yield a call when it is complete."""
        last = next((piece for piece in reversed(self._form.call) if isinstance(piece, str)), "")
        while True:
            if self._text.find(last, self._at) >= 0:
                try:
                    call, self._at = self._reader.call(self._text, begin)
                except NoCallError:
                    pass
                else:
                    yield self._head(call["name"])
                    yield self._given(_as_json(call["arguments"]))
                    return
            yield None

    # ---- arguments one by one: the members of an object ------------------------------------------------------------

    def _one_by_one(self, each: Arguments) -> Iterator[dict[str, Any] | None]:
        """Yield arguments."""
        opening, separator, known = "{", "", self._reader.arguments(self._name)
        while True:
            heads = {f"{separator}{each.before}{name}{each.between}": name for name in known}
            while (head := next((head for head in heads if self._text.startswith(head, self._at)), None)) is None:
                rest = self._text[self._at :]
                if self._is_over or not any(len(rest) < len(head) and head.startswith(rest) for head in heads):
                    yield self._given("{}" if opening == "{" else "}")
                    return
                yield None
            self._at += len(head)
            yield self._given(f"{opening}{_as_json(heads[head])}: ")
            yield from self._value(each, known[heads[head]])
            yield from self._pass(each.behind)
            opening, separator = ", ", each.separator

    def _value(self, each: Arguments, argument: Argument) -> Iterator[dict[str, Any] | None]:
        """Yield the value of an argument; ``CallReader`` reads the same from a whole text."""
        before, begin = each.quotes[0], self._at
        while len(rest := self._text[begin : begin + len(before)]) < len(before) and before.startswith(rest):
            yield None
        is_text = argument.texts is not None and self._text.startswith(before, begin)
        if is_text and each.escaped:
            yield from self._json()
            return
        if is_text and (before or not (argument.rules or argument.values)):
            self._at += len(before)
            yield from self._text_as_it_stands(each)
            return
        if is_text:  # only its end shows whether it is a text
            marker = each.behind.strip() or each.behind
            while self._text.find(marker, self._at) < 0:
                self._at = max(begin, len(self._text) - len(marker) + 1)
                yield None
        else:
            yield from self._pass(each.unquoted)
            while self._at >= len(self._text):
                yield None
            first = self._text[self._at]
            notation = each.objects if first == "{" else each.lists
            if first in "{[" and notation == "json":
                yield from self._json()
                return
            yield from self._pass_nested(each, notation) if first in "{[" else self._pass_scalar()
        value, self._at = self._reader.value(self._text, begin, argument)
        yield self._given(_as_json(value))

    def _text_as_it_stands(self, each: Arguments) -> Iterator[dict[str, Any] | None]:
        """Yield a string up to the text after it."""
        behind, marker = each.quotes[1], each.quotes[1] or each.behind.strip() or each.behind
        lead = "" if behind else each.behind[: each.behind.index(marker)]
        yield self._given('"')
        while (end := self._text.find(marker, self._at)) < 0:
            yield from self._characters(len(self._text) - self._held(lead + marker))
            yield None
        yield from self._characters(end - len(lead))
        yield self._given('"')
        self._at += len(behind)

    def _characters(self, end: int) -> Iterator[dict[str, Any]]:
        """Yield characters of a string up to a position."""
        if end > self._at:
            yield self._given(_as_json(self._text[self._at : end])[1:-1])
            self._at = end

    def _pass_nested(self, each: Arguments, notation: Notation) -> Iterator[None]:
        """Skip a list or an object that is not written as JSON."""
        before, behind = each.quotes if notation == "bare" else ('"', '"')
        outside = re.compile(rf"[{{[\]}}]|{re.escape(before)}")
        inside = re.compile(re.escape(behind) if notation == "bare" else r'\\.|"', re.DOTALL)
        longest, depth, in_string = max(len(before), len(behind), 2), 0, False
        while True:
            found = (inside if in_string else outside).search(self._text, self._at)
            if found is None:
                self._at = max(self._at, len(self._text) - longest + 1)
                yield None
                continue
            self._at = found.end()
            if in_string:
                in_string = found[0] != behind
            elif found[0] == before:
                in_string = True
            else:
                depth += 1 if found[0] in "{[" else -1
                if depth == 0:
                    return

    def _pass_scalar(self) -> Iterator[None]:
        """Skip a number or a word."""
        while not self._is_over and _SCALAR.fullmatch(self._text, self._at):
            yield None

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _head(self, name: str) -> dict[str, Any]:
        self._name = name
        self.count += 1
        return self._part({"name": name, "arguments": ""}, id=self._id(), type="function")

    def _given(self, text: str) -> dict[str, Any]:
        return self._part({"arguments": text})

    def _part(self, function: dict[str, str], **head: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": self.count - 1, **head, "function": function}]}

    def _id(self) -> str:
        """A new identifier of nine letters or digits, as templates with identifiers require."""
        made = uuid.uuid4().hex
        return made[:9] if Slot.ID in self._form.call else f"call_{made[:24]}"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def joined(parts: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Put the parts of a message together: its ``content``, a thought before it and ``tool_calls`` if it has any."""
    content, calls, thought = list[str](), list[dict[str, Any]](), dict[str, Any]()
    for part in parts:
        if "reasoning_content" in part:
            thought = part
            continue
        content.append(part.get("content", ""))
        for call in part.get("tool_calls", ()):
            if call["index"] == len(calls):
                calls.append({"id": call["id"], "type": "function", "function": dict(call["function"])})
            else:
                calls[-1]["function"]["arguments"] += call["function"]["arguments"]
    text = "".join(content)
    return {**thought, **({"content": text or None, "tool_calls": calls} if calls else {"content": text})}
