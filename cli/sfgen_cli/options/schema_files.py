"""Files that a schema is made of: records that it is inferred from, and lists of tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfgen_cli.options.prompts import read_stdin
from sfgen_cli.shell import process

if TYPE_CHECKING:
    from sfgen.schema.reading.document import SchemaDocument

_STDIN = "-"


def inferred(file: Path) -> SchemaDocument:
    """Infer the schema of records in a file, or stdin for ``-``.

    Raises:
        InputError: It cannot be read, is not JSON, or has no record.
        SchemaTooLarge: A record passes a limit.
    """
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

    Raises:
        InputError: It cannot be read, or is not JSON.
        SchemaError: It is not a list of tools, or a schema is wrong.
    """
    process.import_numpy()
    from sfgen.schema.reading.from_tools import read_tools, read_tools_file

    return read_tools(read_stdin(), "stdin") if str(file) == _STDIN else read_tools_file(file)
