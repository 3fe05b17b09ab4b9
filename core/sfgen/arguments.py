"""Checks of the arguments of public functions: a value of a wrong type is an error that says what is wanted.

Each function takes the name of an argument and its value, and returns the value in one form. None of them is called for
each token: a method that is called per token checks its argument itself, and calls a function of this module only for
an unusual one.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sfgen.errors import SfgenError, UnknownParameter, UsageError

Kind = TypeVar("Kind")
Parameters = ParamSpec("Parameters")
Made = TypeVar("Made")

_SHOWN = 60  # characters of a value in a message


def refusal(
    name: str, wanted: str, value: object, *, hint: str = "", error: type[SfgenError] = UsageError
) -> SfgenError:
    """Return the error for an argument of a wrong type.

    >>> refusal("stop", "a text or a list of texts", 7).message
    'stop must be a text or a list of texts, not 7'
    """
    return error(f"{name} must be {wanted}, not {_shown(value)}", hint=hint)


def whole_number(
    name: str, value: object, least: int | None = None, *, hint: str = "", error: type[SfgenError] = UsageError
) -> int:
    """Check a whole number: an ``int`` or numpy integer, not a ``bool``.

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
    """Check a finite number within bounds.

    >>> number("top-p", 0.9, "a number from 0 to 1", most=1)
    0.9
    """
    try:
        if isinstance(value, (str, bytes, bytearray)) or type(value).__name__ in ("bool", "bool_"):
            raise TypeError
        checked = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise refusal(name, wanted, value) from None
    if not least <= checked <= most or checked == math.inf:  # nor is NaN between them
        raise refusal(name, wanted, value)
    return value if isinstance(value, (int, float)) else checked


def flag(name: str, value: object) -> bool:
    """Check a ``bool``; other values that count as true are refused."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise refusal(name, "True or False", value)
    return bool(value)


def text(name: str, value: object, *, hint: str = "", error: type[SfgenError] = UsageError) -> str:
    """Check a text."""
    if isinstance(value, str):
        return value
    raise refusal(name, "a text (str)", value, hint=hint or _decoded(value), error=error)


def texts(name: str, value: object, *, error: type[SfgenError] = UsageError) -> tuple[str, ...]:
    """Check a list of texts; one text becomes a list.

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


def text_list(name: str, value: object) -> tuple[str, ...]:
    """Check a list of texts, where one text could be meant as several.

    >>> text_list("choices", "hot,cold")
    Traceback (most recent call last):
    sfgen.errors.UsageError: choices must be a list of texts, not 'hot,cold'
    Give ['hot', 'cold'].
    """
    if isinstance(value, str):
        listed = [each.strip() for each in value.split(",")]
        raise refusal(name, "a list of texts", value, hint=f"Give {listed!r:.80}." if value else "")
    return texts(name, value)


def items(
    name: str, value: object, wanted: str, *, hint: str = "", error: type[SfgenError] = UsageError
) -> Iterator[Any]:
    """Iterate over a list, or any iterable but texts, bytes and dictionaries."""
    if not isinstance(value, (str, bytes, bytearray, Mapping)):
        with suppress(TypeError):  # nothing to go through, or an array without dimensions
            return iter(value)  # type: ignore[call-overload,no-any-return]
    raise refusal(name, wanted, value, hint=hint or _decoded(value), error=error)


def data(name: str, value: object, *, error: type[SfgenError] = UsageError) -> bytes:
    """Check bytes."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    hint = "Write text as bytes: 'talk'.encode()" if isinstance(value, str) else ""
    raise refusal(name, "bytes", value, hint=hint, error=error)


def utf8(name: str, value: object, *, error: type[SfgenError] = UsageError) -> bytes | None:
    """Return bytes as they are, or the UTF-8 of a text.

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
    """Check token ids: a list, or another iterable such as an array.

    >>> token_ids("prompt", (3, 1))
    [3, 1]
    """
    listed = items(name, value, wanted, error=error)
    return [whole_number(f"{name}: each token id", each, error=error) for each in listed]


def mapping(name: str, value: object, *, error: type[SfgenError] = UsageError) -> Mapping[Any, Any]:
    """Check a dictionary."""
    if isinstance(value, Mapping):
        return value
    raise refusal(name, "a dictionary", value, error=error)


def path(name: str, value: object, *, error: type[SfgenError] = UsageError) -> Path:
    """Check a path of a file or directory, which may not exist."""
    if not isinstance(value, (str, PathLike)):
        raise refusal(name, "a name or a path", value, error=error)
    if "\0" in str(value):
        raise error(f"there is no {str(value)!r:.80}: a name cannot contain a null byte")
    return Path(value)


def one_of(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that a text is one of a few words."""
    listed = tuple(choices)
    if not (isinstance(value, str) and value in listed):
        raise UsageError(f"{name} is {_shown(value)}", hint=f"Use one of {', '.join(map(repr, listed))}.")


def instance(
    name: str, value: object, kind: type[Kind], *, hint: str = "", error: type[SfgenError] = UsageError
) -> Kind:
    """Check an object of a class, of sfgen or of another package."""
    if isinstance(value, kind):
        return value
    raise refusal(name, f"an {_called(kind)}", value, hint=hint, error=error)


def function(name: str, value: object) -> None:
    """Check something that can be called."""
    if not callable(value):
        raise refusal(name, "a function", value)


def given(name: str, value: object, wanted: str, *members: str, hint: str = "") -> None:
    """Check an object by its attributes, whatever its class."""
    if isinstance(value, type) or not all(hasattr(value, member) for member in members):
        raise refusal(name, wanted, value, hint=hint or f"It must have {', '.join(members)}.")


_CALLED_ELSEWHERE = {
    "bad_words": "banned",
    "banned_words": "banned",
    "do_sample": "temperature",
    "json_schema": "schema",
    "max_length": "max_tokens",
    "max_new_tokens": "max_tokens",
    "output_type": "schema",
    "pattern": "regex",
    "response_format": "schema",
    "response_model": "schema",
    "stop_sequences": "stop",
    "stop_strings": "stop",
}
"""The parameters of sfgen, by the names that other packages give them."""


def check_names(
    function: str, given: Iterable[str], known: Iterable[str], elsewhere: Mapping[str, str] | None = None
) -> None:
    """Refuse keywords that no parameter has.

    >>> check_names("generate", ["temprature"], ["temperature", "seed"])
    Traceback (most recent call last):
    sfgen.errors.UnknownParameter: generate has no parameter temprature
    Did you mean temperature? The parameters: temperature, seed.
    """
    names = tuple(known)
    for name in given:
        if name not in names:
            usual = _CALLED_ELSEWHERE.get(name, "")
            near = [usual] if usual in names else get_close_matches(name, names, 1)
            meant = f"Did you mean {near[0]}? " if near else ""
            hint = (elsewhere or {}).get(name, f"{meant}The parameters: {', '.join(names)}.")
            raise UnknownParameter(f"{function} has no parameter {name}", hint=hint)


def check_count(function: str, count: int, most: int) -> None:
    """Refuse surplus arguments by position."""
    if count > most:
        few = f"at most {most} argument{'s' * (most > 1)}" if most else "no arguments"
        raise UnknownParameter(f"{function} takes {few} by position, not {count}", hint="Give the others by name.")


def with_known_names(
    function: Callable[Parameters, Made], elsewhere: Mapping[str, str] | None = None
) -> Callable[Parameters, Made]:
    """Let a function refuse unknown keywords as ``check_names`` does.

    >>> with_known_names(refusal)("stop", wantd="a text")
    Traceback (most recent call last):
    sfgen.errors.UnknownParameter: refusal has no parameter wantd
    Did you mean wanted? The parameters: name, wanted, value, hint, error.
    """
    called = function.__qualname__.removesuffix(".__init__")
    listed = list(inspect.signature(function).parameters.values())
    is_method = listed[0].name == "self"
    known = [each.name for each in listed[is_method:] if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    places = [each for each in listed if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    takes_any = any(each.kind == each.VAR_POSITIONAL for each in listed)

    @functools.wraps(function)
    def checked(*args: Parameters.args, **named: Parameters.kwargs) -> Made:
        check_names(called, named, known, elsewhere)
        if not takes_any:
            check_count(called, len(args) - is_method, len(places) - is_method)
        return function(*args, **named)

    return checked


def class_with_known_names(kind: type[Kind], elsewhere: Mapping[str, str] | None = None) -> type[Kind]:
    """Let a dataclass, whose constructor is generated, refuse unknown keywords as ``check_names`` does."""
    kind.__init__ = with_known_names(kind.__init__, elsewhere)  # type: ignore[method-assign]
    return kind


_TEXT_HINT = "Give texts as str."


def _called(kind: type[Any]) -> str:
    """The name under which a class is imported: ``sfgen.Dfa``, ``sfgen.ban.Mark``, ``torch.Tensor``."""
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
