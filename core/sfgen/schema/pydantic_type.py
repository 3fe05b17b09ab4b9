"""A Python type that pydantic reads: the schema of its texts, and the instances that they stand for.

A model, a dataclass, a ``TypedDict``, an ``Enum``, ``list[Model]``, ``Literal["a", "b"]``: whatever pydantic's
``TypeAdapter`` takes. pydantic is imported when a type is read, and so only by those who use it.

A text that is written by the schema is an instance of the type, unless the type asks for more than can be said of it.
:mod:`sfgen.schema.pydantic_schema` says of types what pydantic's own schemas leave out. As of pydantic 2.14 this is
still refused, and ``NotAnInstance`` tells why:

* What has validators of its own, predicates, or a schema of its own.
* Paths that must exist or must not, ``ImportString``, ``Json`` of a class that refers to others or has limits.
* ``float`` with ``multiple_of``: sfgen's numbers are exact, and a float may be so large that it is no multiple.
* Sets of a least size, where JSON tells apart what Python does not: 1 and ``true``, one instant with two offsets.
* Enums of tuples, an ``AliasPath``.
* Dates in the past or the future, judged long after the schema was read. Their bounds are a day or two from the day
  of reading, on which the schema depends.

The code of a type runs on what a model wrote: an ``ImportString`` imports what the text names.
"""

from __future__ import annotations

import math
import sys
import typing
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, NewType

from sfgen.errors import NotAnInstance, SchemaError, first_line
from sfgen.schema.pydantic_schema import completed, generator

INSTALL = "Install it: pip install 'sfgen[pydantic]'"

_MOST_FAULTS = 5  # of a text that are told one by one
_SHOWN = 60  # characters of the name of a type
_ANNOTATIONS = ("default", "examples")  # keywords that say nothing about what is valid


@dataclass(frozen=True)
class PydanticType:
    """A Python type as pydantic reads it.

    pydantic makes its schema, and instances of the type from texts.

    Args:
        source: What ``pydantic.TypeAdapter`` takes, or a ``TypeAdapter``.
    """

    source: Any

    def __reduce__(self) -> tuple[type[PydanticType], tuple[Any]]:
        return PydanticType, (self.source,)  # what was made of it is made again

    @property
    def name(self) -> str:
        """What messages call it."""
        name = self.source.__qualname__ if isinstance(self.source, type) else repr(self.source)
        return name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…"

    @cached_property
    def _adapter(self) -> Any:
        """A ``pydantic.TypeAdapter``."""
        adapter = _pydantic().TypeAdapter
        return self.source if isinstance(self.source, adapter) else adapter(self.source)

    def json_schema(self) -> dict[str, Any]:
        """Ask pydantic for the schema of validation, names by their aliases.

        Raises:
            SchemaError: pydantic is not installed, or makes no schema of the type.
        """
        _pydantic()
        # A class may have made this method its own.
        of_model = getattr(self.source, "model_json_schema", None) if isinstance(self.source, type) else None
        try:
            if of_model is None:
                schema = self._adapter.json_schema(schema_generator=generator())
            else:
                taken = signature(of_model).parameters.values()
                takes_it = any(one.name == "schema_generator" or one.kind is one.VAR_KEYWORD for one in taken)
                schema = of_model(schema_generator=generator()) if takes_it else of_model()
        except Exception as error:  # the type's own code may have a part in it
            raise SchemaError(
                f"pydantic makes no schema of {self.name}: {first_line(error)}",
                hint="It reads its models, dataclasses, TypedDicts, enums, and annotations made of them.",
            ) from error
        plain: dict[str, Any] = completed(_finite(schema))
        return plain

    def parse(self, text: str | bytes) -> Any:
        """Make the instance that JSON text stands for; pydantic validates it.

        Raises:
            NotAnInstance: pydantic, or a validator of the type, refuses the text.
        """
        try:
            return self._adapter.validate_json(text)
        except _pydantic().ValidationError as error:
            faults = [_told(fault) for fault in error.errors(include_url=False, include_context=False)]
            cause: Exception = error
        except Exception as error:  # what a validator raises that is neither a ValueError nor an AssertionError
            faults = [f"{type(error).__name__}: {first_line(error)}"]
            cause = error
        more = len(faults) - _MOST_FAULTS
        raise NotAnInstance(
            f"{self.name} does not take the text",
            details=(*(f"  {fault}" for fault in faults[:_MOST_FAULTS]), *([f"  and {more} more"] if more > 0 else [])),
            hint="A class may ask for more than its schema can say. The text is result.text, its JSON result.value.",
        ) from cause


def pydantic_type(source: object) -> PydanticType | None:
    """Wrap a Python type for pydantic; ``None`` for anything else.

    >>> [pydantic_type(source) is not None for source in (int, list[int], {"type": "integer"}, "name", None)]
    [True, True, False, False, False]
    """
    return PydanticType(source) if _is_type(source) else None


def _is_type(source: object) -> bool:
    if isinstance(source, type | NewType) or typing.get_origin(source) is not None:
        return True
    # Python's from 3.12 on, or that of typing_extensions.
    return type(source).__name__ == "TypeAliasType" or _is_adapter(source)


def _is_adapter(source: object) -> bool:
    """Whether it is a ``pydantic.TypeAdapter``, which nobody has without having imported pydantic."""
    adapter = getattr(sys.modules.get("pydantic"), "TypeAdapter", None)
    return adapter is not None and isinstance(source, adapter)


def _pydantic() -> Any:
    """The package, version 2.

    Raises:
        SchemaError: It is not there.
    """
    try:
        import pydantic
    except ImportError as error:
        raise SchemaError(f"a Python type needs pydantic: {first_line(error)}", hint=INSTALL) from None
    if not hasattr(pydantic, "TypeAdapter"):
        raise SchemaError(f"a Python type needs pydantic 2, and this is {pydantic.VERSION}", hint=INSTALL)
    return pydantic


def _told(fault: Any) -> str:
    """A fault that pydantic finds, on one line: where, and what."""
    said = " ".join(str(fault["msg"]).split())
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {said}" if where else said


def _finite(value: Any) -> Any:
    """A schema without defaults and examples that JSON cannot write: pydantic leaves infinity and NaN in them."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: _finite(item) for name, item in value.items()}
    return {name: item for name, item in members.items() if name not in _ANNOTATIONS or _is_finite(item)}


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list) or all(map(_is_finite, value))
