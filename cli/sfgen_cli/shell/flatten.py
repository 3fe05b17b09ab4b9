"""Options that belong together as one dataclass, although Typer wants every option as a parameter of its own."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_type_hints


@dataclasses.dataclass(frozen=True)
class Named:
    """The names of a group's options in one command.

    It stands beside the type of the group.

    Attributes:
        prefix: What stands before each name: with ``ban-`` the field ``words`` is ``--ban-words``.
        short: Whether the name without the prefix is the option's, too.

    >>> import typer
    >>> width = Annotated[int, typer.Option(help="In metres.")]
    >>> get_args(Named("box-", short=True).option("width", width))[1].param_decls
    ('--width', '--box-width')
    """

    prefix: str
    short: bool = False

    def option(self, field: str, hint: Any) -> Any:
        """Return the type of a field with its option named so.

        Args:
            field: The name of the field.
            hint: Its type, ``Annotated`` with the option.
        """
        kind, option = get_args(hint)
        named = copy.copy(option)
        names = (*(() if option.default is ... else (option.default,)), *(option.param_decls or ()))  # as Typer has it
        names = names or (f"--{field.replace('_', '-')}",)
        prefixed = [f"--{self.prefix}{name.removeprefix('--')}" for name in names if name.startswith("--")]
        named.default, named.param_decls = ..., (*(names if self.short else ()), *prefixed)
        return Annotated[kind, named]


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Spell out each dataclass among a command's parameters as its fields.

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
    plain = get_type_hints(command)
    groups: dict[str, Any] = {name: hint for name, hint in plain.items() if dataclasses.is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        types = get_type_hints(group, include_extras=True)
        for named in getattr(hints[parameter.name], "__metadata__", ()):
            types |= {field.name: named.option(field.name, types[field.name]) for field in dataclasses.fields(group)}
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
