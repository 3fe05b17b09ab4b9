r"""The short form of a schema: names and types, as ``name, age int, tags str[], address {street, zip}``.

The notation and its meaning are those of the tool ``llm`` (Simon Willison, 2025: "concise schema syntax"), with
additions: optional properties, enums, formats, records, and lists of all these::

    name, age int, height float, member bool    a string without a type; string, integer, … are allowed, too
    tags str[], tags[]                          a list
    nick?, age? int                             an optional property
    size (S|M|L), stars int (1|2|3)             one of some texts, of some numbers; \| \) \\ are these characters
    born date, site uri                         a format of JSON Schema
    address {street, zip}                       a record
    items[] {name, n int}                       a list of records
    age int: in years                           a description, up to the next comma

If the text has several lines, newlines separate properties as commas do, and descriptions end with their line. Inside
braces they end at a comma, a newline or the brace.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, NoReturn

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.printable import caret_lines
from sfgen.schema.reading.strict_json import NotJsonError, parse
from sfgen.schema.reading.words import TYPES_ELSEWHERE, meant
from sfgen.schema.scalars.formats import FORMATS, FORMATS_ELSEWHERE

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_TYPES |= {name: name for name in _TYPES.values()}
_KNOWN: dict[str, dict[str, str]] = {
    **{name: {"type": "string", "format": name} for name in FORMATS},
    "datetime": {"type": "string", "format": "date-time"},
    "url": {"type": "string", "format": "uri"},
    **{name: {"type": kind} for name, kind in _TYPES.items()},
}

_MOST_NESTED = 50  # nested records

_NAME = re.compile(r"[\w$-]+")
_MARKS = re.compile(r"\?(?:\[\])?|\[\]\??")
_WORD = re.compile(r"[^\s:,(){}]+")
_VALUE = re.compile(r"(?:[^|)\\]|\\.)*", re.DOTALL)
_NULLABLE = re.compile(r"Optional\[(?P<first>.+)\]|(?P<second>.+?)\s*\|\s*(?:None|null)")
_LIST = re.compile(r"(?:[Ll]ist|[Aa]rray)(?:\[(?P<item>.+)\])?")
_ENUM = re.compile(r"\([^()|]+(?:\|[^()|]+)+\)(?:\[\])?")

_BARE_ENUM = re.compile(r"[\w.+-]+(?:\s*\|\s*[\w.+-]+)+")

_EXAMPLE = "For example: 'name, age int, tags str[]'; or give a file or JSON."
_SHORT_TYPES = (
    "The types are str, int, float, bool, formats such as date, (S|M|L), {name, n int}, and str[] for a list."
)
_OPTIONAL = "An optional property has a ? after its name: 'age? int'."
_RECORD = "A record has no colon: 'address {street, zip}'."


def read_short_form(text: str) -> dict[str, Any]:
    """Read the short form of an object, which has only these properties; see the head of the module.

    >>> read_short_form("name, age? int: in years")["properties"]
    {'name': {'type': 'string'}, 'age': {'type': 'integer', 'description': 'in years'}}
    >>> read_short_form("size (S|M)[]")["properties"]["size"]
    {'type': 'array', 'items': {'type': 'string', 'enum': ['S', 'M']}}
    """
    return _Reader(text).read()


class _Reader:
    """A recursive descent parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._has_lines = "\n" in text.strip()
        self._typed: list[tuple[int, int, str]] = []
        """Descriptions that are the names of types: the end of the name before, their own end, the right form."""

    def read(self) -> dict[str, Any]:
        try:
            schema = self._record(0)
        except SchemaError:
            self._refuse_typed(is_whole=False)
            raise
        self._refuse_typed(is_whole=True)
        return schema

    def _record(self, depth: int) -> dict[str, Any]:
        """Return the schema of the properties up to the end of the text, or up to the closing brace."""
        start = self._at
        if depth > _MOST_NESTED:
            raise SchemaTooLarge(
                f"short form: records are nested deeper than {_MOST_NESTED}",
                details=caret_lines(self._text, start - 1),
                hint="Write it as JSON, with $defs.",
            )
        properties: dict[str, Any] = {}
        required: list[str] = []
        while self._has_next(depth):
            begin = self._at
            name, schema, is_required = self._property(depth)
            if name in properties:
                self._fail(f'"{name}" occurs twice', begin, "Give each name once.")
            properties[name] = schema
            required += [name] if is_required else []
        if not properties:
            self._fail("there is no name in it", start if depth else None, _EXAMPLE)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _has_next(self, depth: int) -> bool:
        """Skip separators; return whether another property follows."""
        separators = re.compile(r"[\s,]*").match(self._text, self._at)
        assert separators is not None
        self._at = separators.end()
        return self._at < len(self._text) and not (depth and self._text[self._at] == "}")

    def _property(self, depth: int) -> tuple[str, dict[str, Any], bool]:
        """Return the name and the schema of a property, and whether it is required."""
        found = _NAME.match(self._text, self._at)
        if found is None:
            self._fail_at_a_name()
        name, self._at = found[0], found.end()
        marks = self._take(_MARKS)
        name_end = self._at
        schema = self._type(depth)
        has_type = schema is not None
        schema = {"type": "string"} if schema is None else schema
        if "[]" in marks:
            schema = {"type": "array", "items": schema}
        self._blanks()
        description = self._description(depth)
        if description and not has_type and (typed := _type_meant(description)):
            is_optional, meant_type = typed
            added = "?" if is_optional and "?" not in marks else ""
            self._typed.append((name_end, self._at, f"{added} {meant_type}"))
        if self._at < len(self._text) and self._text[self._at] not in ",\n" + "}" * bool(depth):
            self._fail_at_a_name()
        return name, {**schema, **({"description": description} if description else {})}, "?" not in marks

    def _type(self, depth: int) -> dict[str, Any] | None:
        """Return the schema of the type that comes next; ``None`` if there is none."""
        has_blank = self._blanks()
        start = self._at
        schema: dict[str, Any] | None = None
        word = self._take(_WORD) if has_blank else ""
        if word:
            item = word.removesuffix("[]")
            if item not in _KNOWN:
                self._fail_at_a_type(word, start)
            schema = dict(_KNOWN[item])
            if item != word:
                return {"type": "array", "items": schema}
            self._blanks()
        if self._text.startswith("(", self._at):
            schema = schema or {"type": "string"}
            schema = {**schema, "enum": self._values(schema["type"])}
        elif schema is None and self._text.startswith("{", self._at):
            self._at += 1
            opened = self._at - 1
            schema = self._record(depth + 1)
            if not self._text.startswith("}", self._at):
                self._fail("a record is not closed", opened, "For example: 'address {street, zip}'.")
            self._at += 1
        else:
            return schema
        return {"type": "array", "items": schema} if self._take(re.compile(r"\[\]")) else schema

    def _values(self, kind: str) -> list[Any]:
        """Return the values between parentheses."""
        opened, values = self._at, list[Any]()
        while self._text[self._at] != ")":
            self._at += 1
            place, raw = self._at, self._take(_VALUE)
            if self._at == len(self._text):
                self._fail("a parenthesis is not closed", opened, r"For example: 'size (S|M|L)'; \) is the sign.")
            value = self._value(re.sub(r"\\(.)", r"\1", raw.strip(), flags=re.DOTALL), kind, place)
            if value in values:
                self._fail(f'"{raw.strip()}" occurs twice', place, "Give each value once.")
            values.append(value)
        self._at += 1
        return values

    def _value(self, text: str, kind: str, place: int) -> Any:
        """Return a value of an enum."""
        if not text:
            self._fail("a value is empty", place, "For example: 'size (S|M|L)'.")
        if kind == "string":
            return text
        try:
            value = parse(text)
        except NotJsonError:
            value = None
        right = int | Decimal if kind == "number" else int if kind == "integer" else bool
        if not isinstance(value, right) or (isinstance(value, bool) and kind != "boolean"):
            self._fail(f'"{text}" is not of the type {kind}', place, "Without a type before them values are texts.")
        return value

    def _description(self, depth: int) -> str:
        if not self._text.startswith(":", self._at):
            return ""
        ends = ",\n}" if depth else "\n" if self._has_lines else ","
        text = self._take(re.compile(f"[^{ends}]*"))
        return text[1:].strip().rstrip(",").strip()

    def _blanks(self) -> str:
        return self._take(re.compile(r"[^\S\n]*"))

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Read and return the match of a pattern at this position; empty if there is none."""
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _fail_at_a_name(self) -> NoReturn:
        hint = _EXAMPLE
        if re.search(r":\s*\{", self._text[: self._at]):
            hint = _RECORD
        elif re.match(r"\?|optional\b", self._text[self._at :]):
            hint = _OPTIONAL
        self._fail("expected a name, a type, and perhaps a colon and a description", self._at, hint)

    def _fail_at_a_type(self, word: str, start: int) -> NoReturn:
        near = meant(word.removesuffix("[]"), _KNOWN, {**FORMATS_ELSEWHERE, **_AS_TYPES})
        typed = _type_meant(word)
        if word.endswith("?") or (typed and typed[0]):
            hint = _OPTIONAL
        elif typed:
            hint = f"Did you mean {typed[1]}? {_SHORT_TYPES}"
        elif near:
            hint = f"Did you mean {near}? {_SHORT_TYPES}"
        else:
            name = _NAME.findall(self._text[:start])[-1]
            hint = f"{_SHORT_TYPES} A name has no blanks: '{name}_{word}'." if _NAME.fullmatch(word) else _SHORT_TYPES
        self._fail(f'unknown type "{word}"', start, hint)

    def _refuse_typed(self, *, is_whole: bool) -> None:
        """Refuse descriptions that are the names of types, with the right form."""
        if not self._typed:
            return
        right, end = "", 0
        for begin, until, typed in self._typed:
            right += self._text[end:begin] + typed
            end = until
        right = right + self._text[end:] if is_whole else f"{right}, …"
        begin, until, _ = self._typed[0]
        description = self._text[begin:until].lstrip(": \t")
        place = until - len(description)
        self._fail(
            f'"{description.strip()}" is a description here, and looks like a type',
            place,
            f"Write {right.strip()!r}: a type follows a blank. If it is a description, write more words.",
        )

    def _fail(self, reason: str, place: int | None, hint: str) -> NoReturn:
        if place is not None:
            place = min(place, max(len(self._text) - 1, 0))
        raise SchemaError(f"short form: {reason}", details=caret_lines(self._text, place), hint=hint)


_SHORT = {kind: name for name, kind in reversed(_TYPES.items())}
_AS_TYPES = {name: _SHORT.get(kind, "") for name, kind in TYPES_ELSEWHERE.items()}
"""Names of types in programming languages, and the type of the short form."""


def _type_meant(description: str) -> tuple[bool, str] | None:
    """Return whether a description means an optional type, and the type in the short form.

    >>> _type_meant("list[int]"), _type_meant("Optional[str]"), _type_meant("(S|M)"), _type_meant("in years")
    ((False, 'int[]'), (True, 'str'), (False, '(S|M)'), None)
    """
    nullable = _NULLABLE.fullmatch(description)
    if nullable is not None:
        inner = _type_meant((nullable["first"] or nullable["second"]).strip())
        return None if inner is None else (True, inner[1])
    listed = _LIST.fullmatch(description)
    if listed is not None:
        inner = _type_meant(listed["item"]) if listed["item"] else (False, "str")
        return None if inner is None or inner[1].endswith("[]") else (False, f"{inner[1]}[]")
    if _BARE_ENUM.fullmatch(description):
        values = re.split(r"\s*\|\s*", description)
        return None if any(map(_type_meant, values)) else (False, f"({'|'.join(values)})")
    item = description.removesuffix("[]")
    if item in _KNOWN or _ENUM.fullmatch(description):
        return False, description
    return (False, description.lower()) if item.lower() in _TYPES else None
