"""How a schema's values are written: white space, names that are not declared, what must be there, what is banned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.parameter_text import ParameterText

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

ORDERS = ("schema", "any")

SPACINGS = ("spaced", "compact", "any")

MAX_INDENT = 16
"""The most blanks for each depth."""


@dataclass(frozen=True)
class WritingOptions:
    """What a schema leaves open about the texts that are written.

    Args:
        spacing: ``"spaced"`` has a blank after each comma and colon, as ``json.dumps`` has it; ``"compact"`` none;
            ``"any"`` leaves each of them open.
        indent: Blanks for each depth, one member or item a line, as ``json.dumps(indent=...)``; ``None``: one line.
        extra_properties: Whether an object that has ``properties``, but no ``additionalProperties``, may have others.
        require_all: Whether all declared properties are there.
        order: ``"schema"`` writes properties in their order in the schema, ``"any"`` leaves it open.
        banned: What no string and no undeclared name may contain.
        infer_types: Whether a schema without ``type`` whose keywords are all about one type is written as that type.

    Raises:
        UsageError: An option is not one of its choices, or two of them have no meaning together.
    """

    spacing: str = "spaced"
    indent: int | None = None
    extra_properties: bool = False
    require_all: bool = False
    order: str = "schema"
    banned: BannedWords | None = None
    infer_types: bool = True

    def __post_init__(self) -> None:
        arguments.one_of("order", self.order, ORDERS)
        arguments.one_of("spacing", self.spacing, SPACINGS)
        arguments.flag("extra_properties", self.extra_properties)
        arguments.flag("require_all", self.require_all)
        arguments.flag("infer_types", self.infer_types)
        if self.indent is None:
            return
        if arguments.whole_number("indent", self.indent, 0) > MAX_INDENT:
            raise UsageError(
                ParameterText(f"indent is at most {MAX_INDENT}, not {self.indent}", "indent"),
                hint="It counts the blanks for each depth.",
            )
        if self.spacing == "any":
            raise UsageError(
                ParameterText("indent fixes the white space, and spacing='any' leaves it open", "indent", "spacing"),
                hint="Leave one of them out.",
            )
