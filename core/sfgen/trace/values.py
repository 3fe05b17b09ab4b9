"""Values of a run as JSON, and back: an object has as keys what its dataclass has as fields that are compared.

Text is a string, and so are bytes that are UTF-8. What no string of JSON can carry whatever reads it, other bytes and
text with lone surrogates, is an object with one key, ``hex``: its bytes as hexadecimal digits. So every value comes
back exactly as it was.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sfgen.printable import on_one_line

T = TypeVar("T")

_LARGEST = 2**63 - 1
_SHOWN = 40  # characters of a value in a message

# What numbers may be, by field, where it is not a count, an index or an id.
_RANGES: dict[str, tuple[int, int | None]] = {
    "state": (-_LARGEST, _LARGEST),
    "next_state": (-_LARGEST, _LARGEST),
    "open_from": (-_LARGEST, _LARGEST),  # negative in the prompt
    "vocabulary_size": (1, _LARGEST),
    "seed": (0, None),
}
_ABOVE_ONE = 1e-6  # what rounding may add to a probability


class MalformedError(Exception):
    """A value that does not belong where it stands.

    Args:
        path: Where, as keys and indices; empty for the whole.
        problem: What is wrong there.
        hint: What to do about it.
    """

    def __init__(self, path: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.hint = hint


def to_json(value: object) -> Any:
    """The value as what ``json`` can write.

    >>> to_json((b"talk", b"\\xe8\\xa9", None, 0.5))
    ['talk', {'hex': 'e8a9'}, None, 0.5]
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value) if field.compare}
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
    assert isinstance(value, numbers.Real), f"no JSON for {type(value).__name__}"
    number = float(value)
    return number if math.isfinite(number) else 0.0  # a model that scores a token infinite; JSON has no such number


def from_json(kind: type[T], value: object) -> T:
    """The value of a type again. Unknown keys are passed over; what has a default may be missing.

    Raises:
        MalformedError: It is none of that type.

    >>> from_json(bytes, {"hex": "e8a9"})
    b'\\xe8\\xa9'
    """
    return cast(T, _read(kind, value, ""))


def take(fields: dict[str, Any], name: str, kind: type[T]) -> T:
    """One value of an object, which must be there.

    Raises:
        MalformedError: It is missing, or none of that type.
    """
    if name not in fields:
        raise MalformedError(name, "is missing")
    return cast(T, _read(kind, fields[name], name))


def _read(kind: Any, value: object, path: str) -> object:
    if kind is Any:  # it was JSON before
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (some,) = (argument for argument in arguments if argument is not type(None))
        return None if value is None else _read(some, value, path)
    if origin is tuple:
        if not isinstance(value, list):
            raise wrong(path, "a list", value)
        return tuple(_read(arguments[0], item, f"{path}[{index}]") for index, item in enumerate(value))
    if origin is Literal:
        if not isinstance(value, str) or value not in arguments:
            raise wrong(path, "one of " + ", ".join(arguments), value)
        return value
    if dataclasses.is_dataclass(kind):
        return _read_object(cast(type, kind), value, path)
    return _PLAIN[kind](value, path)


def _read_object(kind: type, value: object, path: str) -> object:
    if not isinstance(value, dict):
        raise wrong(path, "an object", value)
    fields = {}
    for name, field_type, is_needed in _fields(kind):
        place = f"{path}.{name}" if path else name
        if name in value:
            fields[name] = _read(field_type, value[name], place)
        elif is_needed:
            raise MalformedError(place, "is missing")
    return kind(**fields)


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Name, type, and whether it has no default."""
    hints = get_type_hints(kind)
    missing = dataclasses.MISSING
    return tuple(
        (field.name, hints[field.name], field.default is missing and field.default_factory is missing)
        for field in dataclasses.fields(kind)
        if field.compare
    )


def _read_truth(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(path, "true or false", value)
    return value


def _read_whole(value: object, path: str) -> int:
    least, most = _RANGES.get(path.rpartition(".")[2], (0, _LARGEST))
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None or least in (0, 1) else "of 64 bits"
        raise wrong(path, f"a whole number {span}", value)
    return value


def _read_probability(value: object, path: str) -> float:
    # Neither NaN nor a whole number that is too large for a float is in the range.
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1 + _ABOVE_ONE:
        raise wrong(path, "a number from 0 to 1", value)
    return float(value)


def _read_bytes(value: object, path: str) -> bytes:
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
    if isinstance(value, str):  # from another hand it may have surrogates
        return value
    try:
        return _read_bytes(value, path).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise wrong(path, "text", value) from None


_PLAIN: dict[type, Any] = {
    bool: _read_truth,
    int: _read_whole,
    float: _read_probability,
    bytes: _read_bytes,
    str: _read_text,
}


def wrong(path: str, expected: str, value: object) -> MalformedError:
    """The error for a value of another type or range."""
    return MalformedError(path, f"expected {expected}, found {found(value)}")


def found(value: object) -> str:
    """A value of JSON in a few words, whatever is in it.

    >>> found({"a": 1}), found("\\x1b[2J"), found(True), found(None), found(3)
    ('an object', "'\\\\x1b[2J'", 'true', 'null', '3')
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return "a huge number"
    if isinstance(value, str):
        value = value[: _SHOWN + 1]  # a long one is not escaped whole
    shown = on_one_line(repr(value))
    return shown if len(shown) <= _SHOWN + 2 else shown[:_SHOWN] + "…"
