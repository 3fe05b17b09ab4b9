"""Calls of tools in an answer, told while they are written.

A form of calls (``sfgen.models.tool_forms``) is read piece by piece: text around calls is content, a name is told when
it is whole, and a JSON object of arguments character by character. Arguments that a form writes each by itself are
told as JSON when the call has ended.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from sfgen.models.tool_forms import Slot
from sfgen.tools.reading import NoCallError
from sfgen.tools.tool_calls import ToolCalls


class CallStream:
    """The parts of a message with calls, from the text that is written.

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
        """The calls whose names were told."""
        self._parts = self._read()

    def read(self, text: str, *, is_last: bool = False) -> Iterator[dict[str, Any]]:
        """Yield what a further text adds to the message, ``content`` or ``tool_calls``, as a stream tells it."""
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
            while not self._is_free:  # nothing stands behind calls
                yield None

    def _content(self) -> Iterator[dict[str, Any] | None]:
        """Tell text up to where calls begin."""
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
        """Tell text up to a place."""
        if end > self._at:
            yield {"content": self._text[self._at : end]}
            self._at = end

    def _held(self, mark: str) -> int:
        """The characters at the end of the text that may begin a mark."""
        most = min(len(mark) - 1, len(self._text) - self._at)
        return next((size for size in range(most, 0, -1) if self._text.endswith(mark[:size])), 0)

    def _group(self) -> Iterator[dict[str, Any] | None]:
        """Tell calls in a row."""
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
        """Pass over a text of the form."""
        while len(self._text) - self._at < len(piece) and not self._is_over:
            yield None
        self._at += len(piece)

    def _call(self) -> Iterator[dict[str, Any] | None]:
        """Tell a call."""
        call, begin = self._form.call, self._at
        if call.index(Slot.ARGUMENTS) < call.index(Slot.NAME):  # the name is told first
            yield from self._at_end(begin, has_name=False)
            return
        for place, piece in enumerate(call):
            behind = call[place + 1] if place + 1 < len(call) else ""
            if isinstance(piece, str):
                yield from self._pass(piece)
            elif piece is Slot.ARGUMENTS and self._form.arguments is not None:
                yield from self._at_end(begin, has_name=True)
                return
            elif piece is Slot.ARGUMENTS:
                yield from self._arguments()
            else:
                yield from self._slot(piece, behind if isinstance(behind, str) else "")

    def _slot(self, slot: Slot, behind: str) -> Iterator[dict[str, Any] | None]:
        """Tell the name of a call, or pass over its identifier or number."""
        while (found := self._reader.slot(slot, self._text, self._at, behind)) is None:
            yield None
        written, self._at = found
        if slot is Slot.NAME:
            yield self._head(written)

    def _arguments(self) -> Iterator[dict[str, Any] | None]:
        """Tell a JSON object as it is written."""
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
                elif character in "{}":
                    depth += 1 if character == "{" else -1
                    is_whole = depth == 0
            if self._at > start:
                yield self._part({"arguments": self._text[start : self._at]})
            if not is_whole:
                yield None

    def _at_end(self, begin: int, *, has_name: bool) -> Iterator[dict[str, Any] | None]:
        """Tell the arguments of a call when it has ended, after its name if that was not told."""
        last = next((piece for piece in reversed(self._form.call) if isinstance(piece, str)), "")
        while True:
            if self._text.find(last, self._at) >= 0:
                try:
                    call, self._at = self._reader.call(self._text, begin)
                except NoCallError:
                    pass
                else:
                    if not has_name:
                        yield self._head(call["name"])
                    yield self._part({"arguments": json.dumps(call["arguments"], ensure_ascii=False)})
                    return
            yield None

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _head(self, name: str) -> dict[str, Any]:
        self.count += 1
        return self._part({"name": name, "arguments": ""}, id=self._id(), type="function")

    def _part(self, function: dict[str, str], **head: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": self.count - 1, **head, "function": function}]}

    def _id(self) -> str:
        """A new identifier: templates whose form has one want nine letters or digits."""
        made = uuid.uuid4().hex
        return made[:9] if Slot.ID in self._form.call else f"call_{made[:24]}"


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
