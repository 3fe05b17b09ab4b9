"""What callers give to public functions, checked: a wrong kind is an error that says what is wanted.

Each function takes the name of an argument and its value, and returns the value in one form. None of them is called for
each token: what is asked per token looks at its argument in place, and comes here with the odd ones only.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from sfgen.errors import SfgenError, UsageError

Kind = TypeVar("Kind")

_SHOWN = 60  # characters of a value in a message


def refusal(
    name: str, wanted: str, value: object, *, hint: str = "", error: type[SfgenError] = UsageError
) -> SfgenError:
    """The error that an argument is not what is wanted.

    >>> refusal("stop", "a text or a list of texts", 7).message
    'stop must be a text or a list of texts, not 7'
    """
    return error(f"{name} must be {wanted}, not {_shown(value)}", hint=hint)


def whole_number(
    name: str, value: object, least: int | None = None, *, hint: str = "", error: type[SfgenError] = UsageError
) -> int:
    """A whole number: an ``int`` or one of numpy's, but no ``bool`` and no float.

    >>> whole_number("max_tokens", 5, least=0)
    5
    >>> whole_number("max_tokens", "x", least=0)
    Traceback (most recent call last):
    sfgen.errors.UsageError: max_tokens must be a whole number of at least 0, not 'x'
    """
    wanted = "a whole number" if least is None else f"a whole number of at least {least}"
    if type(value).__name__ in ("bool", "bool_"):
        raise refusal(name, wanted, value, hint=hint, error=error)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise refusal(name, wanted, value, hint=hint, error=error) from None
    if least is not None and number < least:
        raise error(f"{name} must be at least {least}, not {number}", hint=hint)
    return number


def number(name: str, value: object, wanted: str, least: float = 0.0, most: float = math.inf) -> float:
    """A number from ``least`` to ``most``, finite; ``wanted`` says so in words.

    >>> number("top-p", 0.9, "a number from 0 to 1", most=1)
    0.9
    """
    try:
        if isinstance(value, (str, bytes, bytearray)) or type(value).__name__ in ("bool", "bool_"):
            raise TypeError
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise refusal(name, wanted, value) from None
    if not least <= found <= most or found == math.inf:  # nor is NaN between them
        raise refusal(name, wanted, value)
    return value if isinstance(value, (int, float)) else found


def flag(name: str, value: object) -> bool:
    """True or false, and nothing that merely counts as one: ``"no"`` would be true."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise refusal(name, "True or False", value)
    return bool(value)


def text(name: str, value: object, *, hint: str = "", error: type[SfgenError] = UsageError) -> str:
    """A text."""
    if isinstance(value, str):
        return value
    raise refusal(name, "a text (str)", value, hint=hint or _decoded(value), error=error)


def texts(name: str, value: object, *, error: type[SfgenError] = UsageError) -> tuple[str, ...]:
    """A list of texts; one text stands for the list of it.

    >>> texts("stop", "."), texts("stop", ["a", "b"])
    (('.',), ('a', 'b'))
    """
    if isinstance(value, str):
        return (value,)
    listed = tuple(items(name, value, "a text or a list of texts", error=error))
    for place, each in enumerate(listed, 1):
        if not isinstance(each, str):
            raise error(
                f"{name}: number {place} of {len(listed)} is {_shown(each)}, which is not text", hint=_TEXT_HINT
            )
    return listed


def items(
    name: str, value: object, wanted: str, *, hint: str = "", error: type[SfgenError] = UsageError
) -> Iterator[Any]:
    """What is in a list, or in anything else that is gone through in one order and is no text and no dictionary."""
    if not isinstance(value, (str, bytes, bytearray, Mapping)):
        with suppress(TypeError):  # nothing to go through, or an array without dimensions
            return iter(value)  # type: ignore[call-overload,no-any-return]
    raise refusal(name, wanted, value, hint=hint or _decoded(value), error=error)


def data(name: str, value: object, *, error: type[SfgenError] = UsageError) -> bytes:
    """Bytes."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    hint = "Write text as bytes: 'talk'.encode()" if isinstance(value, str) else ""
    raise refusal(name, "bytes", value, hint=hint, error=error)


def utf8(name: str, value: object, *, error: type[SfgenError] = UsageError) -> bytes | None:
    """Bytes, or the UTF-8 of a text; ``None`` for a text with a lone surrogate, which has none.

    >>> utf8("text", "é"), utf8("text", chr(0xD800))
    (b'\\xc3\\xa9', None)
    """
    if not isinstance(value, str):
        return data(name, value, error=error)
    try:
        return value.encode()
    except UnicodeEncodeError:
        return None


def token_ids(
    name: str, value: object, wanted: str = "a list of token ids", *, error: type[SfgenError] = UsageError
) -> list[int]:
    """A list of token ids; any row of whole numbers, such as an array, is one.

    >>> token_ids("prompt", (3, 1))
    [3, 1]
    """
    listed = items(name, value, wanted, error=error)
    return [whole_number(f"{name}: each token id", each, error=error) for each in listed]


def mapping(name: str, value: object, *, error: type[SfgenError] = UsageError) -> Mapping[Any, Any]:
    """A dictionary."""
    if isinstance(value, Mapping):
        return value
    raise refusal(name, "a dictionary", value, error=error)


def path(name: str, value: object, *, error: type[SfgenError] = UsageError) -> Path:
    """The path of a file or directory, or a name that may be one."""
    if not isinstance(value, (str, PathLike)):
        raise refusal(name, "a name or a path", value, error=error)
    if "\0" in str(value):
        raise error(f"there is no {str(value)!r:.80}: a null byte is part of no name")
    return Path(value)


def one_of(name: str, value: object, choices: Iterable[str]) -> None:
    """One of a few words."""
    listed = tuple(choices)
    if not (isinstance(value, str) and value in listed):
        raise UsageError(f"{name} is {_shown(value)}", hint=f"It is one of {', '.join(map(repr, listed))}.")


def instance(
    name: str, value: object, kind: type[Kind], *, hint: str = "", error: type[SfgenError] = UsageError
) -> Kind:
    """An object of a class, of sfgen or of another package."""
    if isinstance(value, kind):
        return value
    raise refusal(name, f"an {_called(kind)}", value, hint=hint, error=error)


def function(name: str, value: object) -> None:
    """Something that can be called."""
    if not callable(value):
        raise refusal(name, "a function", value)


def given(name: str, value: object, wanted: str, *members: str, hint: str = "") -> None:
    """An object with these attributes, whatever its class."""
    if isinstance(value, type) or not all(hasattr(value, member) for member in members):
        raise refusal(name, wanted, value, hint=hint or f"It has {', '.join(members)}.")


_TEXT_HINT = "Give texts as str."


def _called(kind: type[Any]) -> str:
    """A class by the name under which it is imported: ``sfgen.Dfa``, ``sfgen.ban.Mark``, ``torch.Tensor``."""
    import sfgen

    package = "sfgen" if kind.__name__ in sfgen.__all__ else ".".join(kind.__module__.split(".")[:2])
    return f"{package}.{kind.__name__}"


def _shown(value: object) -> str:
    """A value in a message: short, on one line, whatever it is."""
    try:
        shown = " ".join(repr(value).split())
    except Exception:  # somebody else's __repr__
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"


def _decoded(value: object) -> str:
    return "Bytes become a text with .decode()." if isinstance(value, (bytes, bytearray)) else ""
