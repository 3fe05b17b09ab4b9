"""Read JSON (RFC 8259) strictly: exact numbers, no repeated names, no lone surrogates, limits of depth and numbers.

Texts, files and Python objects become the same values. Errors in texts have a line and a column. The reader keeps its
own stack, so that a deep text gets an error with a message and not Python's ``RecursionError``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.printable import caret_lines

_CONTEXT = 400  # characters on either side of a caret, more than the width of a screen

MAX_DEPTH = 400
"""The deepest nesting of arrays and objects."""

MAX_NUMBER_LENGTH = 4000
"""The most characters of a number."""

MAX_EXPONENT = 9999
"""The largest absolute value of an exponent."""

MAX_VALUES = 1_000_000
"""The most values of a schema; a Python object is counted at each of its occurrences."""

MAX_BYTES = 1 << 22
"""The most bytes of a schema's text."""

_LONGEST_NAME = 100  # characters of a file's name in a message
_BLANKS = re.compile(r"[ \t\n\r]*")
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
_ESCAPED = re.compile(r'[^"\\\x00-\x1f]+|\\u([0-9a-fA-F]{4})|\\(["\\/bfnrt])')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")
_WORD = re.compile(r"-?\w+")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NAMED_VALUES = {"true": True, "false": False, "null": None}
_CLOSING = {"[": "]", "{": "}"}

_MISTAKES = {
    "NaN": "NaN is not a number in JSON",
    "Infinity": "Infinity is not a number in JSON",
    "-Infinity": "-Infinity is not a number in JSON",
    "True": "true is written in small letters",
    "False": "false is written in small letters",
    "None": "null is JSON's word for None",
    "undefined": "null is JSON's word for undefined",
}

_PENDING: Any = object()
"""A placeholder for a value whose parts are not read yet."""


class NotJsonError(ValueError):
    """A text that is not JSON."""

    def __init__(self, reason: str, position: Position, details: tuple[str, ...] = ()) -> None:
        super().__init__(f"line {position.line}, column {position.column}: {reason}")
        self.reason = reason
        self.position = position
        self.details = details


class JsonLimitError(NotJsonError):
    """A text, possibly valid JSON, that passes a limit of this reader."""


def parse(text: str | bytes) -> Any:
    r"""Read a JSON text, without a byte order mark.

    >>> parse('{"a": [1, 1.50, "\\u00e9"]}')
    {'a': [1, Decimal('1.50'), 'é']}
    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    sfgen.schema.reading.strict_json.NotJsonError: line 1, column 10: not valid JSON: "a" occurs twice in this object
    """
    return _Reader(decoded(text)).read()


def decoded(text: str | bytes) -> str:
    """Decode UTF-8, without a byte order mark."""
    try:
        if isinstance(text, str):
            text.encode()  # refuses lone surrogates
            return text.removeprefix("\ufeff")
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        data = error.object[: error.start]
        start = data.rfind(b"\n") + 1
        position = Position(data.count(b"\n") + 1, len(data[start:].decode("utf-8", "replace")) + 1)
        raise NotJsonError(f"not valid JSON: byte {error.start}, counted from 0, is not UTF-8", position) from None
    except UnicodeEncodeError as error:
        position = Lines(error.object).position(error.start)
        raise NotJsonError("not valid JSON: half of a surrogate pair, or a byte that is not UTF-8", position) from None


@dataclass
class _Open:
    """An array or an object that is being read.

    Attributes:
        value: The parts that were read.
        pointer: Its JSON pointer; empty if positions are not recorded.
        name: The name of the member that is being read.
    """

    value: dict[str, Any] | list[Any]
    pointer: str
    name: str = ""


@dataclass
class _Reader:
    """Reads one text from left to right.

    Attributes:
        text: The text.
        values: The offset of each value by its pointer; ``None``: positions are not recorded.
        names: The offset of each name by the pointer of its value.
        at: The offset of the next character.
        stack: The arrays and objects that are open.
    """

    text: str
    values: dict[str, int] | None = None
    names: dict[str, int] | None = None
    at: int = 0
    stack: list[_Open] = field(default_factory=list)

    def read(self) -> Any:
        """Return the value of the text."""
        while True:
            self._blanks()
            self._keep_position()
            value = self._opened() if self.text[self.at : self.at + 1] in ("{", "[") else self._scalar()
            while value is not _PENDING:
                if not self.stack:
                    self._blanks()
                    if self.at < len(self.text):
                        raise self._error("something follows the end of the value")
                    return value
                value = self._added(value)

    def _opened(self) -> Any:
        """Return an empty array or object; push any other onto the stack, and return ``_PENDING``."""
        if len(self.stack) >= MAX_DEPTH:
            raise self._limit(f"nested deeper than {MAX_DEPTH} arrays and objects")
        opening = self.text[self.at]
        pointer = self._pointer() if self.values is not None else ""
        self.at += 1
        self._blanks()
        value: dict[str, Any] | list[Any] = {} if opening == "{" else []
        if self.text.startswith(_CLOSING[opening], self.at):
            self.at += 1
            return value
        self.stack.append(_Open(value, pointer))
        if opening == "{":
            self._name()
        return _PENDING

    def _added(self, value: Any) -> Any:
        """Add a value to the array or object around it; return that if it ends here, else ``_PENDING``."""
        top = self.stack[-1]
        if isinstance(top.value, dict):
            top.value[top.name] = value
        else:
            top.value.append(value)
        self._blanks()
        closing = "}" if isinstance(top.value, dict) else "]"
        if self.text.startswith(closing, self.at):
            self.at += 1
            self.stack.pop()
            return top.value
        if not self.text.startswith(",", self.at):
            raise self._error(f"expected , or {closing}{self._instead()}")
        comma = self.at
        self.at += 1
        self._blanks()
        if self.text.startswith(closing, self.at):
            self.at = comma
            raise self._error(f"nothing follows this comma but {closing}")
        if isinstance(top.value, dict):
            self._name()
        return _PENDING

    def _name(self) -> None:
        """Read the name of a member and the colon after it."""
        top, start = self.stack[-1], self.at
        if not self.text.startswith('"', start):
            raise self._error(f"expected a name in double quotes{self._instead()}")
        top.name = self._string()
        if top.name in top.value:
            self.at = start
            raise self._error(f"{_short(top.name)} occurs twice in this object")
        self._blanks()
        if not self.text.startswith(":", self.at):
            raise self._error(f"expected : after the name {_short(top.name)}{self._instead()}")
        self.at += 1
        if self.names is not None:
            self.names[self._pointer()] = start

    def _scalar(self) -> Any:
        if self.text.startswith('"', self.at):
            return self._string()
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            return self._number(number)
        word = _WORD.match(self.text, self.at)
        name = word[0] if word else ""
        if name not in _NAMED_VALUES:
            raise self._error(_MISTAKES.get(name, f"expected a value{self._instead()}"))
        self.at += len(name)
        return _NAMED_VALUES[name]

    def _number(self, number: re.Match[str]) -> int | Decimal:
        digits, exponent = number[0], number[2]
        if len(digits) > MAX_NUMBER_LENGTH:
            raise self._limit(f"a number of more than {MAX_NUMBER_LENGTH} characters")
        if exponent and abs(int(exponent)) > MAX_EXPONENT:
            raise self._limit(f"a number with an exponent beyond {MAX_EXPONENT}")
        following = self.text[number.end() : number.end() + 1]
        if following.isalnum() or following in ("_", "."):
            leading = digits in ("0", "-0") and following.isdigit()
            raise self._error("a number does not begin with 0" if leading else "this is not a number of JSON")
        self.at = number.end()
        return int(digits) if number[1] is None and exponent is None else Decimal(digits)

    def _string(self) -> str:
        plain = _PLAIN_STRING.match(self.text, self.at)
        if plain is not None:
            self.at = plain.end()
            return plain[1]
        start = self.at
        self.at += 1
        pieces: list[str] = []
        while not self.text.startswith('"', self.at):
            piece = _ESCAPED.match(self.text, self.at)
            if piece is None:
                raise self._bad_string(start)
            pieces.append(self._unescaped(piece))
        self.at += 1
        return "".join(pieces)

    def _unescaped(self, piece: re.Match[str]) -> str:
        """Return the decoded characters of a piece of a string; a surrogate pair is read as a whole."""
        start, self.at = self.at, piece.end()
        if piece[2] is not None:
            return _ESCAPES[piece[2]]
        if piece[1] is None:
            return piece[0]
        code = int(piece[1], 16)
        if not 0xD800 <= code < 0xE000:
            return chr(code)
        low = _ESCAPED.match(self.text, self.at)
        second = int(low[1], 16) if low is not None and low[1] is not None else 0
        if code >= 0xDC00 or not 0xDC00 <= second < 0xE000:
            self.at = start
            raise self._error(f"{piece[0]} is half of a surrogate pair")
        self.at += len("\\uXXXX")
        return chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00))

    def _bad_string(self, start: int) -> NotJsonError:
        character = self.text[self.at : self.at + 1]
        if character == "\\":
            escape = self.text[self.at : self.at + 2]
            return self._error(f"{escape} is not an escape of JSON" if escape != "\\u" else r"\u needs four hex digits")
        if character:
            code = f"\\u{ord(character):04x}"
            return self._error(f"a control character in a string is written as an escape: {code}")
        self.at = start
        return self._error("this string has no closing quote")

    def _blanks(self) -> None:
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at

    def _pointer(self) -> str:
        """Return the pointer of the value that begins here."""
        if not self.stack:
            return ""
        top = self.stack[-1]
        return top.pointer + escaped(top.name if isinstance(top.value, dict) else len(top.value))

    def _keep_position(self) -> None:
        if self.values is not None:
            self.values[self._pointer()] = self.at

    def _instead(self) -> str:
        """Describe a common mistake at this position for the end of a message."""
        if self.at >= len(self.text):
            return ", and the text ends" if self.text.strip() else ", and the text is empty"
        if self.text.startswith("'", self.at):
            return "; strings have double quotes"
        if self.text.startswith(("//", "/*", "#"), self.at):
            return "; JSON has no comments"
        return ""

    def _error(self, reason: str) -> NotJsonError:
        lines = Lines(self.text)
        return NotJsonError(f"not valid JSON: {reason}", lines.position(self.at), lines.caret(self.at))

    def _limit(self, reason: str) -> JsonLimitError:
        lines = Lines(self.text)
        return JsonLimitError(f"the limit is passed: {reason}", lines.position(self.at), lines.caret(self.at))


# ---- positions in a text ---------------------------------------------------------------------------------------------


class Position(NamedTuple):
    """A line and a column of a text, in code points from 1."""

    line: int
    column: int


class Lines:
    """The lines of a text, to turn offsets into positions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> Position:
        """Return the line and column of an offset in code points from 0."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def caret(self, offset: int) -> tuple[str, ...]:
        """Return the line of an offset with a caret under it; a long line is cut."""
        start = self._starts[bisect_right(self._starts, offset) - 1]
        end = self._text.find("\n", offset)
        line = self._text[start : len(self._text) if end < 0 else end].removesuffix("\r")
        cut = max(0, offset - start - _CONTEXT)
        return caret_lines(line[cut : offset - start + _CONTEXT], offset - start - cut)


@dataclass(frozen=True)
class Positions:
    """The offsets of the values and names of a JSON text.

    Attributes:
        values: The offset of each value, by its JSON pointer.
        names: The offset of the name of each member of an object, by the pointer of its value.
        lines: The lines of the text.
    """

    values: Mapping[str, int]
    names: Mapping[str, int]
    lines: Lines

    def offset(self, pointer: str, *, of_name: bool = False) -> int | None:
        """Return the offset of a value, or of its name."""
        return self.names.get(pointer, self.values.get(pointer)) if of_name else self.values.get(pointer)

    def position(self, pointer: str, *, of_name: bool = False) -> Position | None:
        """Return the line and column of a value, or of its name."""
        offset = self.offset(pointer, of_name=of_name)
        return None if offset is None else self.lines.position(offset)


def positions(text: str | bytes) -> Positions:
    r"""Find the offsets of all values of a JSON text.

    >>> where = positions('{"a": [1,\n  2]}')
    >>> where.position("/a/1"), where.position("/a", of_name=True)
    (Position(line=2, column=3), Position(line=1, column=2))
    """
    characters = decoded(text)
    reader = _Reader(characters, values={}, names={})
    reader.read()
    return Positions(reader.values or {}, reader.names or {}, Lines(characters))


def escaped(name: str | int) -> str:
    """Write a name or an index as part of a JSON pointer, with its slash (RFC 6901).

    >>> escaped("a/b~")
    '/a~1b~0'
    """
    text = str(name)
    return "/" + (text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text)


def unescaped(part: str) -> str:
    """Read a part of a JSON pointer, without its slash."""
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


# ---- values ----------------------------------------------------------------------------------------------------------


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal by JSON Schema.

    ``1`` is ``1.0``, and ``true`` is not ``1``.

    >>> is_equal([1, {"a": Decimal("1.50")}], [Decimal("1.0"), {"a": Decimal("1.5")}]), is_equal(True, 1)
    (True, False)
    """
    return bool(key(one) == key(other))


def key(value: Any) -> Any:
    """Return a hashable key; equal values of JSON have equal keys."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", tuple(map(key, value)))
    if isinstance(value, dict):
        return ("object", frozenset(zip(value, map(key, value.values()), strict=True)))
    return value


def _short(name: str) -> str:
    return f'"{name}"' if len(name) <= 40 else f'"{name[:40]}…"'


def as_decimal(value: Any) -> Decimal:
    """Convert a number of a schema to ``Decimal`` without rounding."""
    return value if isinstance(value, Decimal) else Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def with_floats(value: Any) -> Any:
    """Copy a value of a schema with its ``Decimal`` numbers as floats, for Python's ``json``."""
    if isinstance(value, dict):
        return {name: with_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_floats(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int) else float(value)


# ---- Python's objects ------------------------------------------------------------------------------------------------


def from_python(source: Any) -> Any:
    """Copy a schema as plain dicts, lists, strings and exact numbers.

    A float becomes the decimal number of its ``repr``.

    >>> from_python({"minimum": 0.1, "enum": (1, None)})
    {'minimum': Decimal('0.1'), 'enum': [1, None]}
    """
    return _Copy().of(source, "", 0)


class _Copy:
    """Copies one schema, and limits the number of its values."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: Any, pointer: str, depth: int) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise SchemaTooLarge(f"it passes the limit of {MAX_VALUES:,} values", pointer)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _text(str.__str__(value), pointer)
        if isinstance(value, int | float | Decimal):
            return _number(value, pointer)
        if depth >= MAX_DEPTH and isinstance(value, Mapping | list | tuple):
            raise SchemaTooLarge(f"it is nested deeper than {MAX_DEPTH} objects and lists")
        if isinstance(value, list | tuple):
            items = []
            for index, item in enumerate(value):
                items.append(self.of(item, pointer + escaped(index), depth + 1))
            return items
        if not isinstance(value, Mapping):
            raise SchemaError(f"a {type(value).__name__} is not JSON", pointer, hint="A schema is a dict or a bool.")
        members = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise SchemaError(f"a name must be a string, and {name!r:.40} is not", pointer)
            plain = _text(str.__str__(name), pointer)
            members[plain] = self.of(item, pointer + escaped(plain), depth + 1)
        return members


def _text(text: str, pointer: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(f"{text[error.start]!r} is half of a surrogate pair, not a character", pointer) from None
    return text


def _number(value: float | Decimal, pointer: str) -> int | Decimal:
    if isinstance(value, int):
        if value.bit_length() > 3 * MAX_NUMBER_LENGTH:
            raise SchemaTooLarge(f"a number of more than {3 * MAX_NUMBER_LENGTH} bits", pointer)
        return int(value)
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise SchemaError(f"{value} is not a number in JSON", pointer)
    number = Decimal(repr(float(value))) if isinstance(value, float) else value
    _, digits, exponent = number.as_tuple()
    if len(digits) > MAX_NUMBER_LENGTH or abs(int(exponent)) > MAX_EXPONENT:
        raise SchemaTooLarge(f"a number beyond {MAX_NUMBER_LENGTH} digits or the exponent {MAX_EXPONENT}", pointer)
    return number


# ---- files -----------------------------------------------------------------------------------------------------------


def file_data(name: str, hint: str = "", *, what: str = "schema", most: int = MAX_BYTES) -> bytes:
    """Read a file, at most one byte more than the limit."""
    try:
        with open(name, "rb") as file:
            return file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read the {what} {shown_name(name)}: {reason}", hint=hint) from None


def json_of(data: str | bytes, name: str = "") -> tuple[Any, str]:
    """Read the JSON of a schema; return the value and the text."""
    if len(data) > MAX_BYTES:
        raise SchemaTooLarge(f"its text passes the limit of {MAX_BYTES:,} bytes", origin=name)
    try:
        text = decoded(data)
        return parse(data), text
    except NotJsonError as error:
        kind = SchemaTooLarge if isinstance(error, JsonLimitError) else SchemaError
        raise kind(error.reason, details=error.details, origin=name, position=error.position) from None


def shown_name(name: str) -> str:
    """Shorten the name of a file for messages."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
