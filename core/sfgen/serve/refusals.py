"""Refusals of requests that no endpoint accepts: fields of wrong types, missing fields, unknown paths.

>>> faults = [{"type": "missing", "loc": ("body", "messages"), "input": {"prompt": "Hi!"}, "msg": "Field required"}]
>>> print(refused_types(faults))
messages is missing
prompt is a field of /v1/completions: ask there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfgen.serve.bodies import Refused, endpoints_of
from sfgen.serve.guards import refused

_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "a text that matches {pattern}",
}
"""The wanted values, by the types of faults that pydantic reports."""

_EMPTY = ("too_short", "string_too_short")
_KINDS = ("str", "int", "float", "bool", "dict", "list")
_SHOWN = 60  # characters of a value in a message
_MAIN = ("prompt", "messages", "input")  # each endpoint needs one of them


# ---- values of other types -------------------------------------------------------------------------------------------


def refused_types(faults: Sequence[Mapping[str, Any]]) -> Refused:
    """Describe the first part of a body that has a wrong type.

    Args:
        faults: The faults that pydantic reports; for a value that may have several types, one for each of them.
    """
    first = max(faults, key=lambda each: len(each["loc"]))  # of the ways to read a value, the one that failed last
    param = _path(first["loc"][1:])
    if not param:
        return Refused("the body is not a JSON object", None, "invalid_value")
    if first["type"] == "missing":
        other = next((name for name in _MAIN if param in _MAIN and name in first["input"]), None)
        hint = f"{other} is a field of {endpoints_of(other)[0]}: ask there." if other else ""
        return Refused(f"{param} is missing", param, "missing", hint)
    if first["type"] in _EMPTY and not first["input"]:
        return Refused(f"{param} is empty", param, "invalid_value")
    same = [each for each in faults if _path(each["loc"][1:]) == param and each["type"] in _WANTED]
    wanted = [_WANTED[each["type"]].format(**each.get("ctx", {})) for each in same]
    if first["type"] not in _WANTED:
        return Refused(f"{param}: {first['msg']}", param, "invalid_value")
    shown = json.dumps(first["input"], ensure_ascii=False, default=str)
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
    return Refused(f"{param} must be {' or '.join(dict.fromkeys(wanted))}, not {shown}", param, "invalid_value")


def _path(parts: Sequence[Any]) -> str:
    """A path in a body, in the usual notation, without the names of the ways to read a value.

    >>> _path(("messages", 0, "content", "list[TextPart]", 1, "type")), _path(("logit_bias", "dict[str,union[…]]"))
    ('messages[0].content[1].type', 'logit_bias')
    """
    told = ""
    for part in parts:
        if isinstance(part, int):
            told += f"[{part}]"
        elif part.isidentifier() and part not in _KINDS:
            told += f".{part}" if told else part
    return told


# ---- addresses -------------------------------------------------------------------------------------------------------


def refused_address(request: Request, error: HTTPException) -> Response:
    """Describe a request to an unknown path, or with a wrong method."""
    path, status = request.scope["path"], error.status_code
    if status == 404:
        routes = [route for route in request.app.routes if isinstance(route, Route) and route.include_in_schema]
        known = dict.fromkeys(route.path for route in routes if "{" not in route.path)
        return refused(404, f"there is nothing at {path!a:.80}\nThe endpoints are {', '.join(known)}.", "not_found")
    if status == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        message = f"{path!a:.80} takes {allowed}, not {request.method!a:.20}"
        return refused(405, message.replace("'", ""), "method_not_allowed", error.headers)
    return refused(status, str(error.detail), "http_error", error.headers)
