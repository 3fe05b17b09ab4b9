"""The kinds of values that a trace has, made from type hints and docstrings: the one description of the format.

``kind_of`` makes a kind from the type hint of a dataclass's field (``Count``, ``tuple[Candidate, ...]``, ``Probability
| None``); the docstring has the meaning of the field. The reader of values (``values``), the JSON Schema (``lines``)
and the documentation all follow these kinds.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from sfgen.number_ranges import Range


@dataclass(frozen=True)
class Truth:
    """True and false."""


@dataclass(frozen=True)
class Number:
    """Numbers of a range.

    Attributes:
        type: ``int`` or ``float``.
        range: The numbers that it allows.
    """

    type: type[int] | type[float]
    range: Range


@dataclass(frozen=True)
class BytesKind:
    """Bytes: a string if they are UTF-8, else an object with hexadecimal digits under the key ``hex``."""


@dataclass(frozen=True)
class TextKind:
    """Text: a string, or like bytes if it has lone surrogates."""


@dataclass(frozen=True)
class Json:
    """Any value of JSON."""


@dataclass(frozen=True)
class OneOf:
    """A few strings or whole numbers.

    Attributes:
        values: Each of them.
    """

    values: tuple[str | int, ...]


@dataclass(frozen=True)
class Nullable:
    """Values of a kind, or null.

    Attributes:
        kind: The kind.
    """

    kind: Kind


@dataclass(frozen=True)
class ListOf:
    """Lists of values of a kind; tuples in Python.

    Attributes:
        kind: The kind.
    """

    kind: Kind


@dataclass(frozen=True)
class Key:
    """A key of an object.

    Attributes:
        name: The key.
        kind: Its values.
        default: Its value if the key is missing; ``dataclasses.MISSING``: the key must be there.
        meaning: Its description in the docstring.
    """

    name: str
    kind: Kind
    default: Any
    meaning: str

    @property
    def is_needed(self) -> bool:
        """Whether the key must be there."""
        return self.default is dataclasses.MISSING


@dataclass(frozen=True)
class Record:
    """Objects whose keys are the fields of a dataclass; a reader ignores other keys.

    Attributes:
        type: The dataclass.
        keys: Its keys, in order.
    """

    type: type
    keys: tuple[Key, ...]

    @property
    def meaning(self) -> str:
        """The first paragraph of the docstring of the dataclass."""
        return summary(self.type)


Kind: TypeAlias = Truth | Number | BytesKind | TextKind | Json | OneOf | Nullable | ListOf | Record

_PLAIN: dict[Any, Kind] = {bool: Truth(), bytes: BytesKind(), str: TextKind(), Any: Json()}


@cache
def kind_of(hint: Any) -> Kind:
    """Derive the kind of the values that a type hint allows.

    >>> kind_of(tuple[bytes | None, ...])
    ListOf(kind=Nullable(kind=BytesKind()))
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated and isinstance(arguments[1], Range):
        return Number(*arguments)
    if origin in (Union, types.UnionType) and arguments[1:] == (types.NoneType,):
        return Nullable(kind_of(arguments[0]))
    if origin is tuple and arguments[1:] == (...,):
        return ListOf(kind_of(arguments[0]))
    if origin is Literal:
        return OneOf(arguments)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return record_of(hint)
    if hint not in _PLAIN:
        raise TypeError(f"{hint} has no range of values: a number in a trace needs one")
    return _PLAIN[hint]


@cache
def record_of(type_: type) -> Record:
    """Derive the kind of the objects of a dataclass."""
    hints, meanings = get_type_hints(type_, include_extras=True), attributes(type_)
    return Record(
        type_,
        tuple(
            Key(field.name, kind_of(hints[field.name]), field.default, meanings.get(field.name, ""))
            for field in recorded_fields(type_)
        ),
    )


def recorded_fields(value: Any) -> Iterable[dataclasses.Field[Any]]:
    """Return the fields of a dataclass that a trace has: those that are compared."""
    return (field for field in dataclasses.fields(value) if field.compare)


_IN_JSON = {"None": "null", "True": "true", "False": "false", "()": "[]"}
_CODE = re.compile("``(.+?)``")
_ENTRY = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


def summary(type_: type) -> str:
    """Return a docstring's first paragraph on one line; empty without a docstring (``python -OO``)."""
    return " ".join((inspect.getdoc(type_) or "").partition("\n\n")[0].split())


@cache
def attributes(type_: type) -> dict[str, str]:
    """Map the names under ``Attributes:`` to their texts, each on one line.

    >>> from sfgen.decoding import BlockClosed
    >>> attributes(BlockClosed)
    {'position': 'The number of tokens that stay.'}
    """
    _, _, section = (inspect.getdoc(type_) or "").partition("\nAttributes:\n")
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(section.partition("\n\n")[0])}


def in_json_words(text: str) -> str:
    """Write a docstring's text as Markdown, Python's constants as in JSON.

    >>> in_json_words("The word; ``None``: no ``word``.")
    'The word; `null`: no `word`.'
    """
    return _CODE.sub(lambda found: f"`{_IN_JSON.get(found[1], found[1])}`", text)
