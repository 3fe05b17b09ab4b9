"""Convert values of a run to JSON and back: the keys of an object are the compared fields of its dataclass.

Text is a string, and so are bytes that are UTF-8. Not every reader of JSON accepts a string of other bytes, or of text
with lone surrogates: these are an object with one key, ``hex``, their bytes as hexadecimal digits. So every value is
read exactly as it was written.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any, TypeVar, assert_never, cast

from sfgen.trace.errors import MalformedError, wrong
from sfgen.trace.kinds import (
    BytesKind,
    Json,
    Kind,
    ListOf,
    Nullable,
    Number,
    OneOf,
    Record,
    TextKind,
    Truth,
    kind_of,
    recorded_fields,
)

T = TypeVar("T")


def to_json(value: object) -> Any:
    r"""Convert a value to what ``json`` can write.

    >>> to_json((b"talk", b"\xe8\xa9", None, 0.5))
    ['talk', {'hex': 'e8a9'}, None, 0.5]
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in recorded_fields(value)}
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"hex": value.hex()}
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return to_json(data) if max(value, default="") >= "\ud800" else value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):  # numpy's too
        return int(value)
    if not isinstance(value, numbers.Real):
        raise TypeError(f"a trace has no {type(value).__name__}")
    number = float(value)
    return number if math.isfinite(number) else 0.0  # a model may score a token infinite; JSON has no such number


def from_json(type_: type[T], value: object) -> T:
    r"""Convert what ``json`` read back to a value of a type.

    >>> from_json(bytes, {"hex": "e8a9"})
    b'\xe8\xa9'
    """
    hint: Any = type_
    return cast(T, read(kind_of(hint), value, ""))


def take(fields: dict[str, Any], name: str, hint: Any) -> Any:
    """Read one value of an object, which must be there."""
    if name not in fields:
        raise MalformedError(name, "is missing")
    return read(kind_of(hint), fields[name], name)


def read(kind: Kind, value: object, path: str) -> Any:
    """Convert what ``json`` read back to a value of a kind."""
    match kind:
        case Number():
            return _read_number(kind, value, path)
        case BytesKind():
            return _read_bytes(value, path)
        case TextKind():
            return _read_text(value, path)
        case Truth():
            if not isinstance(value, bool):
                raise wrong(path, "true or false", value)
            return value
        case Nullable():
            return None if value is None else read(kind.kind, value, path)
        case ListOf():
            if not isinstance(value, list):
                raise wrong(path, "a list", value)
            return tuple(read(kind.kind, item, f"{path}[{index}]") for index, item in enumerate(value))
        case Record():
            return _read_record(kind, value, path)
        case OneOf():
            if not any(type(value) is type(each) and value == each for each in kind.values):  # true is not 1
                raise wrong(path, "one of " + ", ".join(map(str, kind.values)), value)
            return value
        case Json():
            return value
        case _:
            assert_never(kind)


def _read_record(kind: Record, value: object, path: str) -> object:
    """Read an object as its dataclass."""
    if not isinstance(value, dict):
        raise wrong(path, "an object", value)
    fields = {}
    for key in kind.keys:
        where = f"{path}.{key.name}" if path else key.name
        if key.name in value:
            fields[key.name] = read(key.kind, value[key.name], where)
        elif key.is_needed:
            raise MalformedError(where, "is missing")
    return kind.type(**fields)


def _read_number(kind: Number, value: object, path: str) -> float:
    """Read a number of a range."""
    expected = int if kind.type is int else int | float
    # Neither NaN nor a whole number that is too large for a float is in a range of floats.
    if (
        not isinstance(value, expected)
        or isinstance(value, bool)
        or not value >= kind.range.least
        or not (kind.range.most is None or value <= kind.range.most)
    ):
        raise wrong(path, kind.range.words, value)
    return kind.type(value)


def _read_bytes(value: object, path: str) -> bytes:
    """Read bytes, from a string or hexadecimal digits."""
    if isinstance(value, dict) and isinstance(digits := value.get("hex"), str):
        try:
            return bytes.fromhex(digits)
        except ValueError:
            raise wrong(f"{path}.hex" if path else "hex", "pairs of hexadecimal digits", digits) from None
    if not isinstance(value, str):
        raise wrong(path, "text", value)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise wrong(path, "text without lone surrogates", value) from None


def _read_text(value: object, path: str) -> str:
    """Read text, from a string or hexadecimal digits."""
    if isinstance(value, str):  # in a foreign file it may have surrogates
        return value
    try:
        return _read_bytes(value, path).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise wrong(path, "text", value) from None
