"""Every public function, constructor and method of sfgen, found by looking, with arguments that are right."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.sources.public_names import GIVEN_BACK

import sfgen

PROGRAMS = ("__main__", "train")
"""Modules that are run and not imported."""

NOT_HERE = ("sfgen.integrations.vllm",)
"""Modules that need a package that is not installed beside the others."""


@dataclass(frozen=True)
class Call:
    """A public callable.

    Attributes:
        path: Its name from the package on: ``sfgen.index.Index.row``.
        owner: The class that it is a method of; ``None`` for functions, constructors and class methods.
        target: What is called: a function, a class, a bound class method, or a method that wants its object.
        parameters: Those that can be given by name.
    """

    path: str
    owner: type | None
    target: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]

    def __str__(self) -> str:
        return self.path


@cache
def public_calls() -> tuple[Call, ...]:
    """All of them, each once."""
    found: dict[str, Call] = {}
    for thing in _public_things():
        for call in _calls_of(thing):
            found.setdefault(call.path, call)
    return tuple(found.values())


def _public_things() -> Iterator[Any]:
    """What the ``__all__`` of each module names, and what is given back."""
    modules = [sfgen, *map(importlib.import_module, _module_names())]
    for module in modules:
        for name in getattr(module, "__all__", ()):
            yield getattr(module, name)
    for path in GIVEN_BACK:
        module_name, name = path.rsplit(".", 1)
        yield getattr(importlib.import_module(module_name), name)


def _module_names() -> list[str]:
    found = pkgutil.walk_packages(sfgen.__path__, "sfgen.")
    names = [module.name for module in found if module.name not in NOT_HERE]
    return [name for name in names if name.rsplit(".", 1)[-1] not in PROGRAMS]


def _calls_of(thing: Any) -> Iterator[Call]:
    if inspect.isfunction(thing):
        yield _call(f"{thing.__module__}.{thing.__name__}", None, thing)
    elif inspect.isclass(thing) and not _is_shape_only(thing):
        path = f"{thing.__module__}.{thing.__name__}"
        if not _is_record(thing) and not inspect.isabstract(thing):
            yield _call(path, None, thing)
        for name in dir(thing):
            static = inspect.getattr_static(thing, name)
            if (name.startswith("_") and name != "__call__") or not _is_ours(thing, name):
                continue
            if isinstance(static, (classmethod, staticmethod)):
                yield _call(f"{path}.{name}", None, getattr(thing, name))
            elif inspect.isfunction(static):
                yield _call(f"{path}.{name}", thing, static)


def _is_shape_only(kind: type) -> bool:
    """Protocols, which somebody else fills in; errors and enumerations, which have nothing to call."""
    from enum import Enum

    return getattr(kind, "_is_protocol", False) or issubclass(kind, (BaseException, Enum))


def _is_record(kind: type) -> bool:
    """A dataclass or named tuple that only holds what sfgen puts into it, such as an event: it does nothing with it."""
    is_dataclass = hasattr(kind, "__dataclass_fields__") and not hasattr(kind, "__post_init__")
    return is_dataclass or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _is_ours(kind: type, name: str) -> bool:
    """Whether a method was written here, and is not inherited from another package."""
    home = next(base for base in kind.__mro__ if name in vars(base))
    return home.__module__.startswith("sfgen")


def _call(path: str, owner: type | None, target: Callable[..., Any]) -> Call:
    every = inspect.signature(target).parameters.values()
    parameters = [parameter for parameter in every if parameter.kind is not parameter.VAR_POSITIONAL]
    return Call(path, owner, target, tuple(parameters[1:] if owner is not None else parameters))
