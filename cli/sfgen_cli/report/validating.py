"""Whether texts are valid documents by a JSON Schema, and in words where and why they are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sfgen.schema import read_schema
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.from_pydantic import PydanticType
from sfgen.schema.telling.validity import Fault, Validity
from sfgen.substring.substring import Substring
from sfgen_cli.report.matching import Complaint


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """What is to be told of one document.

    Attributes:
        faults: What is wrong with it.
    """

    faults: list[Fault]

    @property
    def matches(self) -> bool:
        """Whether it is valid."""
        return not self.faults

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        found = [
            {
                "path": fault.path,
                "pointer": fault.pointer,
                **_places(fault, line),
                "keyword": fault.keyword or None,
                "expected": fault.expected,
            }
            for fault in self.faults
        ]
        return {"matches": self.matches, "faults": found}

    def complaints(self, line: int | None) -> list[Complaint]:
        """List what is not valid in the document, in its order.

        ``line`` is its line in the file, if it is one.
        """
        return [
            Complaint(
                _places(fault, line), f"{fault.path}: {fault.expected}" if fault.path else fault.expected, fault.details
            )
            for fault in self.faults
        ]


class Validating:
    """A schema, ready to check many documents.

    Args:
        schema: As :func:`sfgen.schema.read_schema` takes it.
        schema_dir: The directory of other documents that it refers to.
        documents: What strings are quoted from, by name.

    Raises:
        SchemaError: It cannot be read as a schema.
        InputError: Its file, or the directory, cannot be read.
    """

    said, said_with_bans = "are valid", "are valid and clean"
    each_line = False
    last_newline_may_go = False

    def __init__(
        self,
        schema: str | PydanticType | SchemaDocument,
        schema_dir: str | None = None,
        documents: Mapping[str, Substring] = MappingProxyType({}),
    ) -> None:
        document = read_schema(schema, schema_dir).quoting(documents)
        self.notes = document.notes
        self._validity = Validity(document)

    def matches(self, text: str) -> bool:
        """Tell whether a text is a valid document, without more."""
        return self._validity.is_valid(_bytes(text))

    def check(self, text: str) -> CheckedDocument:
        """Check a text, with all that is to be told of it."""
        return CheckedDocument(self._validity.errors(_bytes(text)))


def _places(fault: Fault, line: int | None) -> dict[str, int | None]:
    """Where a fault is in the file; of a document on one line of it, that line."""
    return {"line": fault.line if line is None else line, "column": fault.column}


def _bytes(text: str) -> bytes:
    """The bytes of a text in which those that are not UTF-8 are lone surrogates."""
    return text.encode("utf-8", "surrogateescape")
