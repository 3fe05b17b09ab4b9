"""Commands beside Typer's: their help, their completion, and the environment's part in an error.

Options that belong together are one dataclass here, although Typer wants each as a parameter of its own.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, get_args, get_type_hints

import typer

from sfgen.errors import SfgenError, UsageError
from sfgen_cli.shell import completion, help, usage
from sfgen_cli.shell.typer_internals import NoSuchOption, ParameterSource, TyperCommand, TyperGroup, TyperOption

_ORDER = "sfgen_cli.order"  # the key under which it is kept
_SETTINGS = frozenset({"after", "device", "model", "ray", "tokenizer", "vocabulary", "when"})
"""Options that take a text and keep the last of several, as numbers and flags do: an alias of a shell sets them."""


class Command(TyperCommand):
    """A command of sfgen."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.params.append(_help_all())

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help into the formatter."""
        _write_help(self, ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of an option."""
        return completion.brief(super().shell_complete(ctx, incomplete))

    def make_parser(self, ctx: Any) -> Any:
        """Make a parser that keeps the order of what was given."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            parsed = parse(args)
            ctx.meta[_ORDER] = parsed[2]
            return parsed

        parser.parse_args = parse_args
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        ``-regex`` is refused, which else would be ``-r egex``, and so is the empty name of a file, which else would be
        that of the current folder. A constraint, a prompt or an output that is given twice is refused: one of them
        would be lost.
        """
        options = usage.options_of(self)
        files = {name for param in self.params if param.type.name == "path" for name in param.opts}
        for before, argument in pairwise(["", *args]):
            if argument == "--":
                break
            option, is_set, value = argument.partition("=")
            named = option if is_set and not value else before if not argument else ""
            if named in files:
                raise UsageError(
                    f"{named} names no file: its value is empty", hint="Is a variable of the shell not set?"
                )
            if usage.one_dash_too_few(argument, options) and not options.get(before):
                raise NoSuchOption(argument, ctx=ctx)
        rest = super().parse_args(ctx, args)
        for param, count in Counter(ctx.meta.get(_ORDER, ())).items():
            if count > 1 and is_given_once(param) and not ctx.resilient_parsing:
                raise UsageError(f"{param.opts[0]} was given twice", hint="Give it once: one of them would be lost.")
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error about the environment names the variable."""
        try:
            return super().invoke(ctx)
        except SfgenError as error:
            for param in self.params:
                _explain(error, param, ctx)
            raise


def is_given_once(param: Any) -> bool:
    """Return whether an option says what is written, from what or to where, and is not a setting.

    It takes a text or the name of a file, and one of several would be lost.
    """
    return (
        param.param_type_name == "option"
        and not param.multiple
        and not param.is_flag
        and param.type.name in ("str", "path")
        and param.name not in _SETTINGS
    )


class Group(TyperGroup):
    """All commands of sfgen."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.params.append(_help_all())

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help into the formatter."""
        _write_help(self, ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command or option."""
        return completion.brief(super().shell_complete(ctx, incomplete))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read ``help`` and ``version`` as the options that they are elsewhere."""
        while args and args[0] == "help":
            args = [*args[1:], "--help"]
        if args and args[0] == "version":
            args = ["--version"]
        return super().parse_args(ctx, args)


def _write_help(command: Any, ctx: Any, formatter: Any) -> None:
    ctx.color = help.in_colour()  # else Typer would take the colours out again where stdout is a pipe
    formatter.write(help.page(command, ctx, whole=False))


def _help_all() -> TyperOption:
    """The option that shows all options; of the group, all of all commands."""
    return TyperOption(
        param_decls=[help.HELP_ALL],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Show all options, and all about them.",
    )


def _show_all(ctx: Any, param: Any, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    pages = [help.page(ctx.command, ctx, whole=True)]
    for name, command in getattr(ctx.command, "commands", {}).items():
        if not command.hidden:
            pages.append(help.page(command, type(ctx)(command, info_name=name, parent=ctx), whole=True))
    typer.echo("\n".join(pages), nl=False, color=help.in_colour())
    ctx.exit()


def _explain(error: SfgenError, param: Any, ctx: Any) -> None:
    value = ctx.params.get(param.name)
    if not isinstance(value, str | int) or f"{value}" not in error.message:
        return
    if ctx.get_parameter_source(param.name) is ParameterSource.ENVIRONMENT and (
        param.name in error.message or param.name == "model"
    ):
        error.message = f"{param.envvar}: {error.message}"


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
        """Return the type of a field with its option named so."""
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
