"""A schema that was read: what it says, by which draft, and where its references lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from sfgen.errors import SchemaError
from sfgen.parameter_text import ParameterText
from sfgen.schema.dynamic_scope import STATIC, DynamicScope
from sfgen.schema.keywords import SUBSTRING_OF, Draft
from sfgen.schema.references import (
    Identifiers,
    UnresolvedError,
    dynamic_anchors,
    dynamic_name,
    references_of,
    value_at,
)
from sfgen.schema.strict_json import escaped, positions
from sfgen.schema.words import type_of
from sfgen.substring.substring import Substring


@dataclass(frozen=True)
class SourceFile:
    """A text that a part of a document was read from.

    Attributes:
        pointer: The part of the document.
        name: The file, or the URI; empty if from none.
        text: The JSON text; empty if there was none.
    """

    pointer: str
    name: str
    text: str = field(default="", repr=False)

    def error(
        self, reason: str, pointer: str, *, hint: str = "", kind: type[SchemaError] = SchemaError, of_name: bool = False
    ) -> SchemaError:
        """Make an error about a part of the file.

        It has line, column and caret where the file came as text.

        Args:
            reason: What is wrong, in one line, with the keyword.
            pointer: The part, from the root of this file.
            hint: What to write instead.
            kind: The class of the error.
            of_name: Whether the caret stands under the name of the part and not under its value.
        """
        where = positions(self.text) if self.text else None
        offset = where.offset(pointer, of_name=of_name) if where else None
        if where is None or offset is None:
            return kind(reason, pointer, hint=hint, origin=self.name)
        position, details = where.lines.position(offset), where.lines.caret(offset)
        return kind(reason, pointer, details=details, hint=hint, origin=self.name, position=position)


@dataclass(frozen=True)
class SchemaDocument:
    """A well-formed schema.

    Each keyword has a value that it can have, and each reference leads somewhere.

    Attributes:
        root: The schema: a ``dict`` or ``bool``, numbers as ``int`` or ``Decimal``.
        draft: The draft that it is read by.
        name: The file it comes from; empty if from none.
        text: The JSON text; empty if there was none.
        notes: What a person should know of it, a line each.
        identifiers: What the schemas in it call themselves.
        pointers: The pointers of all schemas in it, of each before those inside it.
        files: The files that other documents in it come from.
        quoted: The documents that strings are quoted from, by the names that the schema has for them.
    """

    root: dict[str, Any] | bool
    draft: Draft
    name: str = ""
    text: str = field(default="", repr=False)
    notes: tuple[str, ...] = ()
    identifiers: Identifiers = field(default_factory=Identifiers.empty, repr=False)
    pointers: tuple[str, ...] = field(default=("",), repr=False)
    files: tuple[SourceFile, ...] = ()
    quoted: Mapping[str, Substring] = field(default_factory=dict, repr=False)

    def quoting(self, documents: Mapping[str, Substring]) -> SchemaDocument:
        """Return the same with documents to quote from.

        Args:
            documents: By their names.

        Raises:
            SchemaError: The schema names another document, or none.
        """
        quoted, named = {**self.quoted, **documents}, set[str]()
        for pointer in self.pointers:
            schema = value_at(self.root, pointer)
            if not isinstance(schema, dict) or SUBSTRING_OF not in schema:
                continue
            name = schema[SUBSTRING_OF]
            if not isinstance(name, str):
                reason = f'"{SUBSTRING_OF}" must be the name of a document, not {type_of(name)}'
            elif name in quoted:
                named.add(name)
                continue
            else:
                reason = f'"{SUBSTRING_OF}" names the document {name[:60]!r}, which is not given'
            hint = ParameterText("Give the document beside the schema, by its name, with documents.", "documents")
            raise self.error(reason, pointer + escaped(SUBSTRING_OF), hint=hint)
        unused = (
            f'No string is quoted from the document {name[:60]!r}: no "{SUBSTRING_OF}" names it.'
            for name in quoted
            if name not in named
        )
        return replace(self, quoted=quoted, notes=tuple(dict.fromkeys((*self.notes, *unused))))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # what was found in them is found again

    def resolve(self, reference: str, base_pointer: str, keyword: str = "$ref") -> tuple[str, Any]:
        """Find the schema that a reference leads to.

        Args:
            reference: The value of ``$ref``.
            base_pointer: The pointer of the schema that has it.
            keyword: The keyword that has it, for the message.

        Returns:
            The pointer of the schema, and the schema.

        Raises:
            SchemaError: It leads nowhere, to something else than a schema, or out of the document.
        """
        pointer = base_pointer + escaped(keyword)
        try:
            target, schema = self.identifiers.resolve(self.root, reference, base_pointer)
        except UnresolvedError as error:
            raise self.error(f'"{keyword}": {error.reason}', pointer, hint=error.hint) from None
        if not isinstance(schema, dict | bool):
            reason = f'"{keyword}" must lead to a schema: at {target} there is {type_of(schema)}'
            raise self.error(reason, pointer)
        return target, schema

    def referred(self, reference: str, base_pointer: str, keyword: str, scope: DynamicScope) -> tuple[str, Any]:
        """Find the schema that a reference by any keyword leads to.

        Args:
            reference: The value of the keyword.
            base_pointer: The pointer of the schema that has it.
            keyword: The keyword.
            scope: The dynamic scope of that schema.

        Raises:
            SchemaError: As for :meth:`resolve`.
        """
        target, schema = self.resolve(reference, base_pointer, keyword)
        name = dynamic_name(keyword, reference)
        if name is not None and name in scope.targets and name in dynamic_anchors(schema, self.draft):
            target = scope.targets[name]
            schema = value_at(self.root, target)
        return target, schema

    @cached_property
    def repeated_anchors(self) -> frozenset[str]:
        """The dynamic anchors that more than one resource has."""
        counts = Counter(name for anchors in self.identifiers.dynamic.values() for name in anchors)
        return frozenset(name for name, count in counts.items() if count > 1)

    @cached_property
    def scope(self) -> DynamicScope:
        """The dynamic scope around the root.

        Nothing is ever added to it where no reference can move.
        """
        used = {
            dynamic_name(keyword, reference)
            for pointer in (self.pointers if self.repeated_anchors else ())
            for keyword, reference in references_of(value_at(self.root, pointer), self.draft)
        }
        moving = self.repeated_anchors & used
        if not moving:
            return STATIC
        found = self.identifiers.dynamic
        return DynamicScope(
            {
                pointer: {name: target for name, target in found.get(pointer, {}).items() if name in moving}
                for pointer in self.identifiers.bases
            }
        )

    def error(
        self, reason: str, pointer: str, *, hint: str = "", kind: type[SchemaError] = SchemaError, of_name: bool = False
    ) -> SchemaError:
        """Make an error about a part of the schema.

        It has the file, line, column and caret where the schema came as text.

        Args:
            reason: What is wrong, in one line, with the keyword.
            pointer: The part.
            hint: What to write instead.
            kind: The class of the error.
            of_name: Whether the caret stands under the name of the part and not under its value.
        """
        file = self.file_of(pointer)
        return file.error(reason, pointer[len(file.pointer) :], hint=hint, kind=kind, of_name=of_name)

    def file_of(self, pointer: str) -> SourceFile:
        """Return the file that a part of the document comes from."""
        found = [file for file in self.files if f"{pointer}/".startswith(f"{file.pointer}/")]
        return found[0] if found else SourceFile("", self.name, self.text)

    def shown_place(self, pointer: str) -> str:
        """Name a part of the document for people.

        It is the pointer, and the file where it is another one than the root's.

        >>> SchemaDocument(True, Draft.DRAFT_07, files=(SourceFile("/$defs/a", "a.json"),)).shown_place("/$defs/a/not")
        '/not of a.json'
        """
        file = self.file_of(pointer)
        inner = pointer[len(file.pointer) :] or "the top"
        return f"{inner} of {file.name}" if file.pointer else inner
