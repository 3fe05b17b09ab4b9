"""The JSON Schema of a call of one of several tools: ``{"name": …, "arguments": {…}}``.

Tools are given in any of these forms, which are common for language models::

    {"type": "function", "function": {"name", "description", "parameters", "strict"}}    OpenAI, chat completions
    {"type": "function", "name", "parameters"}                                           OpenAI, responses
    {"name", "parameters"}                                                               a function alone
    {"name", "input_schema"}                                                             Anthropic
    {"name", "inputSchema"}                                                              MCP

in a list, or in an object with the list ``tools``, as in answers of MCP. Without a schema, or with one that declares no
property (``{}``, or an object with empty ``properties`` and nothing else), the arguments are ``{}``. The other fields
of a tool are for the model, and have no effect on the text: ``described_tools`` returns them in the form of chat
templates.

Each schema is put under ``arguments`` unchanged. References in it are relative to its own root, so it gets an
identifier (``$id``) if it has references and no identifier. All schemas have one draft: the newest one that a
``$schema`` names, else the one inferred from their keywords.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from sfgen.errors import InputError, SchemaError
from sfgen.schema.reading.document import SchemaDocument, is_reference_alone
from sfgen.schema.reading.keywords import DEFINITIONS, LATEST, URIS, Draft, draft_of_uri, guessed_draft
from sfgen.schema.reading.strict_json import NotJsonError, decoded, escaped, file_data, from_python, parse, with_floats
from sfgen.schema.reading.well_formed import well_formed
from sfgen.schema.reading.words import as_json, shown, type_of

MAX_BYTES = 1 << 22
"""The most bytes of a list of tools."""

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_OF_NO_ARGUMENTS = {*("type", "properties", "required", "title", "description", "$schema", "$id", "$comment")}
_OF_NO_ARGUMENTS |= {*DEFINITIONS}
_REFERS = {"$ref", "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$id"}
_FORMS = 'A tool is {"name": …, "parameters": {…}}, or that in {"type": "function", "function": {…}}.'
_ARGUMENTS = "/anyOf/{}/properties/arguments"
_IN_ARGUMENTS = re.compile(_ARGUMENTS.format("([0-9]+)"))


def tools_schema(tools: list[Any] | tuple[Any, ...] | Mapping[str, Any] | PathLike[str]) -> dict[str, Any]:
    """Build a JSON Schema of the calls of some tools.

    Each tool has a schema for its arguments.

    Args:
        tools: The tools in any form at the head of this module, or a ``pathlib.Path`` with them as JSON.

    Returns:
        The schema, as plain data for JSON.

    Raises:
        SchemaError: The tools have none of these forms, two have the same name, or a schema is wrong. The pointer is
            relative to ``tools``.
        InputError: The file cannot be read, or is not JSON.

    >>> from sfgen import JsonSchema
    >>> add = {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    >>> schema = JsonSchema(tools_schema([add, {"name": "stop"}]))
    >>> schema.accepts('{"name": "add", "arguments": {"a": 1}}'), schema.accepts('{"name": "stop", "arguments": {}}')
    (True, True)
    """
    schema: dict[str, Any] = with_floats(tools_document(tools).root)
    return schema


def tools_document(tools: Sequence[Any] | Mapping[str, Any] | PathLike[str]) -> ToolsDocument:
    """Read tools as the schema of their calls; see :func:`tools_schema`."""
    return read_tools_file(tools) if isinstance(tools, PathLike) else _document(from_python(tools))


def described_tools(tools: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return tools in the form of chat templates.

    A function that is under ``function`` already is not changed.

    >>> described_tools([{"name": "stop", "inputSchema": {"type": "object"}}])
    [{'type': 'function', 'function': {'name': 'stop', 'parameters': {'type': 'object'}}}]
    """
    listed = from_python(tools)
    return _described(_tools(listed, SchemaDocument(listed, LATEST)))


def read_tools(data: bytes | str, name: str) -> ToolsDocument:
    """Read tools from JSON as the schema of their calls; errors have positions in that text."""
    if len(data) > MAX_BYTES:
        raise InputError(f"{name} passes the limit of {MAX_BYTES:,} bytes")
    try:
        text = decoded(data)
        return _document(parse(data), name, text)
    except NotJsonError as error:
        line, column = error.position
        where = f"{name}, line {line}, column {column}"
        raise InputError(f"{where}: {error.reason}", details=error.details, hint=_FORMS) from None


def read_tools_file(path: PathLike[str]) -> ToolsDocument:
    """Read tools from a file as the schema of their calls."""
    name = fspath(path)
    return read_tools(file_data(name, what="tools", most=MAX_BYTES), name)


@dataclass(frozen=True)
class _Tool:
    """A tool.

    Attributes:
        name: Its name.
        schema: The schema of its arguments; empty if it has none.
        pointer: The pointer of the schema in the list of tools.
        function: Its description for chat templates.
    """

    name: str
    schema: dict[str, Any]
    pointer: str
    function: dict[str, Any]


@dataclass(frozen=True)
class ToolsDocument(SchemaDocument):
    """The schema of calls, whose errors have positions in the list of tools.

    Attributes:
        tools: The tools, in the order of their branches.
    """

    tools: tuple[_Tool, ...] = ()

    @property
    def described(self) -> list[dict[str, Any]]:
        """The tools in the form of chat templates."""
        return _described(self.tools)

    def error(
        self, reason: str, pointer: str, *, hint: str = "", kind: type[SchemaError] = SchemaError, of_name: bool = False
    ) -> SchemaError:
        """Make an error about a part of a tool's own schema, or of the schema of calls."""
        found = _IN_ARGUMENTS.match(pointer)
        if found is not None:
            tool = self.tools[int(found[1])]
            reason, pointer = f"the tool {shown(tool.name)}: {reason}", tool.pointer + pointer[found.end() :]
        return super().error(reason, pointer, hint=hint, kind=kind, of_name=of_name)


def _document(listed: Any, name: str = "", text: str = "") -> ToolsDocument:
    source = SchemaDocument(listed, LATEST, name, text)
    tools = tuple(_tools(listed, source))
    root = _calls(tools)
    try:
        read = well_formed(root)
    except SchemaError as error:
        if error.pointer is None:
            raise
        told = ToolsDocument(root, LATEST, name, text, tools=tools)
        raise told.error(error.reason, error.pointer, hint=error.hint, kind=type(error)) from None
    notes = tuple(_IN_ARGUMENTS.sub(lambda found: tools[int(found[1])].pointer, note) for note in read.notes)
    return ToolsDocument(root, read.draft, name, text, notes, read.identifiers, read.pointers, tools=tools)


def _tools(listed: Any, source: SchemaDocument) -> Iterator[_Tool]:
    """Yield the tools of a list in one form; ``source`` makes the errors."""
    pointer = ""
    if isinstance(listed, dict) and "tools" in listed:
        listed, pointer = listed["tools"], "/tools"
    if not isinstance(listed, list):
        raise source.error(f"tools must be a list, not {type_of(listed)}", pointer, hint=_FORMS)
    if not listed:
        raise source.error("there is no tool in the list", pointer, hint=_FORMS)
    seen: dict[str, str] = {}
    for number, each in enumerate(listed):
        tool = _tool(each, pointer + escaped(number), source)
        if tool.name in seen:
            reason = f"two tools have the name {shown(tool.name)}: the other one is at {seen[tool.name]}"
            raise source.error(reason, pointer + escaped(number), hint="Give each tool its own name.")
        seen[tool.name] = pointer + escaped(number)
        yield tool


def _tool(tool: Any, pointer: str, source: SchemaDocument) -> _Tool:
    is_function = isinstance(tool, dict) and "function" in tool
    if is_function:
        tool, pointer = tool["function"], f"{pointer}/function"
    if not isinstance(tool, dict):
        raise source.error(f"a tool must be an object, not {type_of(tool)}", pointer, hint=_FORMS)
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise source.error("a tool without a name", pointer, hint=_FORMS)
    keyword = next((keyword for keyword in _SCHEMAS if tool.get(keyword) is not None), "")
    schema = tool.get(keyword, {})
    if not isinstance(schema, dict):
        reason = f"the tool {shown(name)}: its {keyword} must be a JSON Schema, an object, not {type_of(schema)}"
        raise source.error(reason, pointer + escaped(keyword))
    if schema.get("type", "object") not in ("object", ["object"]):
        reason = f"the tool {shown(name)}: its arguments must be an object, not {shown(schema['type'])}"
        raise source.error(reason, f"{pointer}{escaped(keyword)}/type")
    told = {key: tool[key] for key in ("name", "description") if tool.get(key) is not None}
    told["parameters"] = schema or {"type": "object", "properties": {}}
    return _Tool(name, schema, pointer + escaped(keyword) if keyword else pointer, tool if is_function else told)


def _described(tools: Iterable[_Tool]) -> list[dict[str, Any]]:
    """Return the tools as plain data for JSON."""
    made: list[dict[str, Any]] = json.loads(
        as_json([{"type": "function", "function": tool.function} for tool in tools])
    )
    return made


def _calls(tools: tuple[_Tool, ...]) -> dict[str, Any]:
    """Return the schema of the calls of tools."""
    named = [draft_of_uri(uri) for tool in tools if isinstance(uri := tool.schema.get("$schema"), str)]
    newest = max((draft for draft in named if draft is not None), default=None)
    draft = newest or guessed_draft({"anyOf": [tool.schema for tool in tools]})
    branches = [
        {
            "type": "object",
            "properties": {
                "name": {"enum": [tool.name]} if draft is Draft.DRAFT_04 else {"const": tool.name},
                "arguments": _arguments(tool.schema, f"tool-{number}", draft),
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for number, tool in enumerate(tools, 1)
    ]
    return {**({"$schema": URIS[draft]} if newest or draft is not LATEST else {}), "anyOf": branches}


def _arguments(schema: dict[str, Any], identifier: str, draft: Draft) -> dict[str, Any]:
    """Return the schema of a tool's arguments, for use inside another one."""
    if _has_no_property(schema):
        return {"type": "object", "properties": {}, "additionalProperties": False}
    made = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    if is_reference_alone(schema, draft):  # beside a $ref the identifier would be ignored
        made = {keyword: schema[keyword] for keyword in DEFINITIONS if keyword in schema}
        made["allOf"] = [{"$ref": schema["$ref"]}]
    keyword = "id" if draft is Draft.DRAFT_04 else "$id"
    own = made.get(keyword)
    if _refers(made) and not (isinstance(own, str) and own.partition("#")[0]):
        made = {keyword: identifier} | {name: value for name, value in made.items() if name != keyword}
    return {"type": "object"} | made


def _has_no_property(schema: dict[str, Any]) -> bool:
    """Return whether a tool has no arguments; ``{"type": "object"}`` alone allows any object."""
    is_explicit = "properties" in schema or "type" not in schema
    has_names = schema.get("properties") or schema.get("required")
    return is_explicit and schema.keys() <= _OF_NO_ARGUMENTS and not has_names


def _refers(value: Any) -> bool:
    """Return whether a schema may contain references, anchors or identifiers."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if not _REFERS.isdisjoint(value):
                return True
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return False
