"""The options of ``--schema``: how its values are written; records that it is inferred from, lists of tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfgen.errors import UsageError
from sfgen_cli.options.constraint import CONSTRAINT
from sfgen_cli.options.prompts import read_stdin
from sfgen_cli.shell import process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfgen import JsonSchema, Substring
    from sfgen.schema.reading.document import SchemaDocument
    from sfgen.schema.reading.from_pydantic import PydanticType


@dataclass(frozen=True)
class SchemaOptions:
    """The options of how a schema's values are written.

    Each field is one.
    """

    spacing: Annotated[
        Literal["spaced", "compact", "any"] | None,
        typer.Option(
            help="With --schema. spaced: a space after each comma and colon; compact: none; any: the model chooses. "
            "Default: spaced.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None
    indent: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="With --schema: each property and item on a line of its own, N spaces further in at each depth.",
            rich_help_panel=CONSTRAINT,
        ),
    ] = None
    property_order: Annotated[
        Literal["schema", "any"] | None,
        typer.Option(
            help="With --schema. schema: properties stand in the order of the schema; any: the model chooses. "
            "Default: schema.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None
    extra_properties: Annotated[
        bool,
        typer.Option(
            "--extra-properties",
            help="With --schema: let objects have properties that it neither names nor rules out. Without this an "
            "object with properties has others only where additionalProperties allows them.",
            rich_help_panel=CONSTRAINT,
        ),
    ] = False
    require_all: Annotated[
        bool,
        typer.Option(
            "--require-all", help="With --schema: write all properties that it names.", rich_help_panel=CONSTRAINT
        ),
    ] = False
    infer_types: Annotated[
        bool | None,
        typer.Option(
            "--infer-types/--no-infer-types",
            help="With --schema: where a schema has no type, and its keywords are all about one type (items and "
            "minItems about arrays), write values of that type alone. All that is written stays valid. Default: infer.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None

    numbers: Annotated[
        Literal["schema", "any"] | None,
        typer.Option(
            help="With --schema. schema: numbers of enum and const are spelled as the schema has them; any: the model "
            "chooses, 1.0 or 1.00 for 1. Default: schema.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None

    def check(self, schema: str | None) -> None:
        """Refuse these options where there is no schema to write by."""
        if self.given and schema is None:
            name = next(iter(self.given)).replace("_", "-").replace("order", "property-order")
            name = "no-infer-types" if name == "infer-types" and not self.infer_types else name
            raise UsageError(
                f"--{name} needs a schema: it says how values are written",
                hint="Leave it out, or give a schema: --schema, --pydantic, --like or --tools.",
            )

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by the names that ``JsonSchema`` has for them."""
        every = {
            "spacing": self.spacing,
            "indent": self.indent,
            "order": self.property_order,
            "extra_properties": self.extra_properties or None,
            "require_all": self.require_all or None,
            "infer_types": self.infer_types,
            "numbers": self.numbers,
        }
        return {name: value for name, value in every.items() if value is not None}

    def read(
        self,
        schema: str | PydanticType | SchemaDocument,
        schema_dir: str | None = None,
        documents: Mapping[str, Substring] | None = None,
    ) -> JsonSchema:
        """Read a schema with these options."""
        from sfgen import JsonSchema

        return JsonSchema(schema, schema_dir=schema_dir, documents=documents, **self.given)


_STDIN = "-"


def inferred(file: Path) -> SchemaDocument:
    """Infer the schema of records in a file, or stdin for ``-``."""
    process.import_numpy()
    from sfgen import schema_of
    from sfgen.schema import read_schema
    from sfgen.schema.reading.from_examples import records_of

    if str(file) == _STDIN:
        return read_schema(schema_of(*records_of(read_stdin(), "stdin")))
    return read_schema(schema_of(file))


def of_tools(file: Path) -> SchemaDocument:
    """Read the schema of tools from a file, or ``-``: stdin.

    It is that of their calls.
    """
    process.import_numpy()
    from sfgen.schema.reading.from_tools import read_tools, read_tools_file

    return read_tools(read_stdin(), "stdin") if str(file) == _STDIN else read_tools_file(file)
