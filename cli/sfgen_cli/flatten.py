"""Options that belong together as one dataclass, although Typer wants every option as a parameter of its own."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass spelled out as the parameters that its fields are.

    >>> @dataclasses.dataclass
    ... class Size:
    ...     width: int = 1
    ...     height: int = 2
    >>> def draw(name: str, size: Size, colour: str = "red") -> None:
    ...     print(name, size, colour)
    >>> inspect.signature(flattened(draw))
    <Signature (name: str, width: int = 1, height: int = 2, colour: str = 'red')>
    >>> flattened(draw)(name="box", height=5)
    box Size(width=1, height=5) red
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        types = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(field.name, parameter.kind, default=field.default, annotation=types[field.name])
            for field in dataclasses.fields(group)
        ]

    @functools.wraps(command)
    def flat(**values: Any) -> None:
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group) if field.name in values]
            values[name] = group(**{field: values.pop(field) for field in fields})
        command(**values)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat
