"""Read the calls in a finished text of a form as values: ``{"name": …, "arguments": {…}}``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sfgen.models.tool_forms import ID_PATTERN, INDEX_PATTERN, JSON_WORDS, PYTHON_WORDS, Arguments, Slot, ToolForm
from sfgen.schema.writing.arguments import Argument, ArgumentList

_ID, _INDEX = re.compile(ID_PATTERN), re.compile(INDEX_PATTERN)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BARE_NAME = re.compile(r"[^:{},\[\]]*")


class NoCallError(ValueError):
    """A text that is no call of the form."""


class CallReader:
    """Reads tool calls.

    Args:
        form: The form.
        lists: The arguments of each tool by its name, if they are written one by one.
    """

    def __init__(self, form: ToolForm, lists: Mapping[str, Sequence[ArgumentList]]) -> None:
        self._form = form
        written = sorted(((form.name_text(name), name) for name in lists), key=lambda pair: len(pair[0]), reverse=True)
        self._names = written
        self._arguments = {
            name: {argument.name: argument for each in given for argument in each.arguments}
            for name, given in lists.items()
        }

    def calls(self, text: str) -> list[dict[str, Any]]:
        """Read a text of calls.

        Raises:
            NoCallError: It is not a text of calls.
        """
        calls, end = self._group(text, 0)
        if end != len(text):
            raise NoCallError(text[end:])
        return calls

    def spans(self, text: str) -> list[tuple[int, int, list[dict[str, Any]]]]:
        """Read the calls in free text: for each run of calls its start and end, and the calls.

        Raises:
            NoCallError: The text before calls is not followed by a call.
        """
        form, marker = self._form, self._form.first_mark
        found, at = list[tuple[int, int, list[dict[str, Any]]]](), 0
        while (start := text.find(marker, at)) >= 0:
            is_led = text.endswith(form.lead, 0, start) if form.lead and start else True
            if not is_led:
                raise NoCallError(text[start:])
            calls, at = self._group(text, start)
            found.append((start, at, calls))
        return found

    def _group(self, text: str, at: int) -> tuple[list[dict[str, Any]], int]:
        """Read consecutive calls, with the texts around them."""
        form, calls = self._form, list[dict[str, Any]]()
        at = _after(text, at, form.before)
        while True:
            call, at = self._call(text, at)
            calls.append(call)
            if form.separator is None or not self.begins_call(text, at):
                return calls, _after(text, at, form.behind)
            at += len(form.separator)

    def begins_call(self, text: str, at: int) -> bool:
        """Whether another call follows directly."""
        return any(text.startswith(begin, at) for begin in self._further)

    def may_go_on(self, text: str, at: int) -> bool:
        """Whether the text ends too early to tell whether another call follows."""
        rest = text[at:]
        return any(len(rest) < len(begin) and begin.startswith(rest) for begin in self._further)

    @property
    def _further(self) -> list[str]:
        """The texts with which another call may begin, the separator first."""
        first, separator = self._form.call[0], self._form.separator or ""
        firsts = [first] if isinstance(first, str) else [name for name, _ in self._names]
        return [separator + each for each in firsts]

    def call(self, text: str, at: int) -> tuple[dict[str, Any], int]:
        """Read the call at an offset; return it and the offset after it.

        Raises:
            NoCallError: There is none, or it has not ended.
        """
        return self._call(text, at)

    def slot(self, slot: Slot, text: str, at: int, behind: str) -> tuple[str, int] | None:
        """Read a name, an identifier or a number and the text after it; ``None`` if it has not ended.

        The offset that is returned with it is the one before that text.
        """
        if slot is Slot.NAME:
            found = next((name for written, name in self._names if text.startswith(written + behind, at)), None)
            return None if found is None else (found, at + len(self._form.name_text(found)))
        read = (_ID if slot is Slot.ID else _INDEX).match(text, at)
        return (read[0], read.end()) if read is not None and text.startswith(behind, read.end()) else None

    def _call(self, text: str, at: int) -> tuple[dict[str, Any], int]:
        form = self._form
        if form.arguments is None or form.call.index(Slot.NAME) < form.call.index(Slot.ARGUMENTS):
            return self._call_of(text, at, None)
        for _, name in self._names:  # the name of the tool comes after the arguments
            try:
                return self._call_of(text, at, name)
            except NoCallError:
                continue
        raise NoCallError(text[at:])

    def _call_of(self, text: str, at: int, tool: str | None) -> tuple[dict[str, Any], int]:
        """Read a call of a tool; ``None``: the tool is known from the name in the call."""
        name, given = tool or "", dict[str, Any]()
        for place, piece in enumerate(self._form.call):
            match piece:
                case str():
                    at = _after(text, at, piece)
                case Slot.NAME:
                    behind = self._form.call[place + 1] if place + 1 < len(self._form.call) else ""
                    name, at = self._name(text, at, behind if isinstance(behind, str) else "")
                    if tool not in (None, name):
                        raise NoCallError(text[at:])
                case Slot.ARGUMENTS if self._form.arguments is None:
                    given, at = _decoded(text, at)
                case Slot.ARGUMENTS if self._form.arguments is not None:
                    given, at = self._each(text, at, self._form.arguments, self._arguments[name])
                case Slot.ID | Slot.INDEX:
                    found = (_ID if piece is Slot.ID else _INDEX).match(text, at)
                    if found is None:
                        raise NoCallError(text[at:])
                    at = found.end()
        return {"name": name, "arguments": given}, at

    def arguments(self, name: str) -> Mapping[str, Argument]:
        """The arguments of a tool that are written one by one, by their names."""
        return self._arguments[name]

    def value(self, text: str, at: int, argument: Argument) -> tuple[Any, int]:
        """Read the value of an argument that is written by itself; return it and the offset after it.

        Raises:
            NoCallError: There is none, or it has not ended.
        """
        assert self._form.arguments is not None, "arguments are written one by one"
        return self._value(text, at, self._form.arguments, argument)

    def _name(self, text: str, at: int, behind: str) -> tuple[str, int]:
        for written, name in self._names:
            if text.startswith(written + behind, at):
                return name, at + len(written)
        raise NoCallError(text[at:])

    # ---- arguments one by one --------------------------------------------------------------------------------------

    def _each(self, text: str, at: int, each: Arguments, known: Mapping[str, Argument]) -> tuple[dict[str, Any], int]:
        """Read arguments."""
        given = dict[str, Any]()
        while True:
            start = at + (len(each.separator) if given else 0)
            if given and not text.startswith(each.separator, at):
                return given, at
            found = next((name for name in known if text.startswith(f"{each.before}{name}{each.between}", start)), None)
            if found is None:
                return given, at
            at = start + len(each.before) + len(found) + len(each.between)
            given[found], at = self._value(text, at, each, known[found])
            at = _after(text, at, each.behind)

    def _value(self, text: str, at: int, each: Arguments, argument: Argument) -> tuple[Any, int]:
        before, behind = each.quotes
        if argument.texts is None or (before and not text.startswith(before, at)):
            return Values(text, each).single(_after(text, at, each.unquoted))
        if each.escaped:
            return _decoded(text, at)
        start, marker = at + len(before), behind or each.behind.strip() or each.behind
        end = text.find(marker, start)
        if end < 0:
            raise NoCallError(text[at:])
        end -= 0 if behind else each.behind.index(marker)
        if before or not (argument.rules or argument.values):
            return text[start:end], end + len(behind)
        try:
            value, last = Values(text, each).single(_after(text, at, each.unquoted))
        except NoCallError:
            return text[start:end], end
        is_listed = any(value is one or (type(value) is type(one) and value == one) for one in argument.values)
        return (
            (value, end)
            if last == end and (is_listed or _type(value) in argument.rules.values())
            else (text[start:end], end)
        )


class Values:
    """Reads values other than unquoted strings."""

    def __init__(self, text: str, each: Arguments) -> None:
        self._text, self._each = text, each
        self._notation = "json"

    def single(self, at: int) -> tuple[Any, int]:
        """Read the value of an argument."""
        for word, value in zip(self._each.words, (True, False, None), strict=True):
            if self._text.startswith(word, at):
                return value, at + len(word)
        first = self._text[at : at + 1]
        self._notation = self._each.objects if first == "{" else self._each.lists if first == "[" else "json"
        return _decoded(self._text, at) if self._notation == "json" else self._nested(at)

    def _nested(self, at: int) -> tuple[Any, int]:
        text = self._text
        words = PYTHON_WORDS if self._notation == "python" else JSON_WORDS
        for word, value in zip(words, (True, False, None), strict=True):
            if text.startswith(word, at):
                return value, at + len(word)
        if text.startswith(self._each.quotes[0] if self._notation == "bare" else '"', at):
            return self._string(at)
        if text[at : at + 1] == "[":
            return self._list(at)
        if text[at : at + 1] == "{":
            return self._dict(at)
        number = _NUMBER.match(text, at)
        if number is None:
            raise NoCallError(text[at:])
        return json.loads(number[0]), number.end()

    def _string(self, at: int) -> tuple[str, int]:
        before, behind = self._each.quotes
        if self._notation != "bare":
            return _decoded(self._text, at)
        end = self._text.find(behind, at + len(before))
        if end < 0:
            raise NoCallError(self._text[at:])
        return self._text[at + len(before) : end], end + len(behind)

    def _list(self, at: int) -> tuple[list[Any], int]:
        items, at = list[Any](), at + 1
        while not self._text.startswith("]", at):
            item, at = self._nested(self._behind_comma(at) if items else at)
            items.append(item)
        return items, at + 1

    def _dict(self, at: int) -> tuple[dict[str, Any], int]:
        members, at = dict[str, Any](), at + 1
        while not self._text.startswith("}", at):
            at = self._behind_comma(at) if members else at
            if self._notation == "bare":
                found = _BARE_NAME.match(self._text, at)
                assert found is not None, "it may be empty"
                name, at = found[0], found.end()
            else:
                name, at = _decoded(self._text, at)
            at = _after(self._text, at, ":")
            members[name], at = self._nested(at + (self._text[at : at + 1] == " "))
        return members, at + 1

    def _behind_comma(self, at: int) -> int:
        at = _after(self._text, at, ",")
        return at + (self._text[at : at + 1] == " ")


def _after(text: str, at: int, piece: str) -> int:
    """The offset after a piece of a text."""
    if not text.startswith(piece, at):
        raise NoCallError(text[at:])
    return at + len(piece)


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The JSON at an offset, and the offset after it."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        raise NoCallError(text[at:]) from None


def _type(value: Any) -> str:
    """The type of a value that is not true, false or null."""
    if isinstance(value, bool) or value is None:
        return ""
    kinds = {dict: "object", list: "array", str: "string", int: "number", float: "number"}
    return kinds[type(value)]
