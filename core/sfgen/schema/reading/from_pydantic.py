"""Python types that pydantic supports: the schema of their JSON, and instances parsed from texts.

Supported are all types of pydantic's ``TypeAdapter``: a model, a dataclass, a ``TypedDict``, an ``Enum``,
``list[Model]``, ``Literal["a", "b"]``. pydantic is imported when the first type is read.

A text of the schema is an instance of the type, unless the type has requirements that a schema cannot express.
pydantic's own generator omits digits, bounds, versions and encodings from its schemas, or writes its own names as
``format``; they are added here. As of pydantic 2.14 texts of these types may still be refused, with the reason in
``NotAnInstance``:

* Types with their own validators, predicates, or their own schema.
* Paths that must or must not exist, ``ImportString``, ``Json`` of a class that refers to others or has limits.
* ``float`` with ``multiple_of``: sfgen's numbers are exact, and a large float may not be a multiple.
* Sets of a minimum size, since JSON distinguishes values that Python does not: 1 and ``true``, one instant with two
  offsets.
* Enums of tuples, an ``AliasPath``.
* Dates in the past or the future, if they are validated long after the schema was read: their bounds are a day or two
  from the day of reading.

Parsing runs the code of the type on the text of a language model: an ``ImportString`` imports the name in the text.
"""

from __future__ import annotations

import math
import re
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache, cached_property
from inspect import signature
from typing import Any, NewType

from sfgen.errors import NotAnInstance, SchemaError, first_line
from sfgen.schema.scalars.formats import (
    BASE64_OF_ASCII,
    DATE,
    MAILBOX,
    URL_AFTER_SCHEME,
    YEAR_ZERO,
    between,
    whole_numbers,
)

INSTALL = "Install it: pip install 'sfgen[pydantic]'"
_MOST_FAULTS = 5  # errors of a text in one message
_SHOWN = 60  # characters of the name of a type
_ANNOTATIONS = ("default", "examples")  # keywords that do not affect validity
Schema = dict[str, Any]
_MOST_DIGITS = 15  # of a number that pydantic converts to a float
_MOST_SECONDS = 2**32 - 1  # the largest number that pydantic reads in a duration
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]{1,6})?"
_ASCII = r"^[\x00-\x7f]*$"
_TRIMMED = r"^(?:\S(?:[\s\S]*\S)?)?$"

_OTHER_IN_RUST = re.compile(r"\\[WDSbB]|\[\^[^\]]*\\[wds]")
"""Escapes that match fewer characters in pydantic, where they cover all scripts, than in a schema."""

_UNITS = r"^[0-9]{1,9}(?:\.[0-9]{1,3})? ?(?:[KMGTPE]?B|[KMGTPE]iB)?$"
_COMPLEX = r"^-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[+-][0-9]{1,15}(?:\.[0-9]{1,15})?j)?$"
_EMAIL = f"^{MAILBOX}$"
_PAIRS = "00|18|26|42|59|67|75|83|91"  # each adds a multiple of ten to Luhn's sum
_CARD = f"^(?:{_PAIRS})(?:{_PAIRS}|34){{7}}$"  # 16 digits; a first digit 3 would be of a card with another length
_FIXED_LENGTH = r"^(?:[A-Za-z0-9]{4}){%d,%s}$"


@dataclass(frozen=True)
class PydanticType:
    """A Python type of which pydantic makes a schema, and instances from texts."""

    source: Any  # a type that ``pydantic.TypeAdapter`` supports, or a ``TypeAdapter``

    def __reduce__(self) -> tuple[type[PydanticType], tuple[Any]]:
        return PydanticType, (self.source,)  # without the cached adapter

    @property
    def name(self) -> str:
        """The name in messages."""
        name = self.source.__qualname__ if isinstance(self.source, type) else repr(self.source)
        return name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…"

    @cached_property
    def _adapter(self) -> Any:
        """The ``pydantic.TypeAdapter``."""
        adapter = _pydantic().TypeAdapter
        return self.source if isinstance(self.source, adapter) else adapter(self.source)

    def json_schema(self) -> dict[str, Any]:
        """Return pydantic's schema for validation, with names by alias."""
        _pydantic()
        # A class may override this method.
        of_model = getattr(self.source, "model_json_schema", None) if isinstance(self.source, type) else None
        try:
            if of_model is None:
                schema = self._adapter.json_schema(schema_generator=generator())
            else:
                taken = signature(of_model).parameters.values()
                takes_it = any(one.name == "schema_generator" or one.kind is one.VAR_KEYWORD for one in taken)
                schema = of_model(schema_generator=generator()) if takes_it else of_model()
        except Exception as error:  # of pydantic, or of the type's own code
            raise SchemaError(
                f"pydantic makes no schema of {self.name}: {first_line(error)}",
                hint="It supports its models, dataclasses, TypedDicts, enums, and annotations made of them.",
            ) from error
        plain: dict[str, Any] = completed(_finite(schema))
        return plain

    def parse(self, text: str | bytes) -> Any:
        """Parse and validate JSON text into an instance by pydantic."""
        try:
            return self._adapter.validate_json(text)
        except _pydantic().ValidationError as error:
            faults = [_error_line(fault) for fault in error.errors(include_url=False, include_context=False)]
            cause: Exception = error
        except Exception as error:  # an error of a validator that pydantic does not convert to a ValidationError
            faults = [f"{type(error).__name__}: {first_line(error)}"]
            cause = error
        more = len(faults) - _MOST_FAULTS
        raise NotAnInstance(
            f"{self.name} refuses the text",
            details=(*(f"  {fault}" for fault in faults[:_MOST_FAULTS]), *([f"  and {more} more"] if more > 0 else [])),
            hint="A class may require more than its schema expresses. The text is result.text, its JSON result.value.",
        ) from cause


def pydantic_type(source: object) -> PydanticType | None:
    """Wrap a Python type for pydantic; ``None`` for anything else.

    >>> [pydantic_type(source) is not None for source in (int, list[int], {"type": "integer"}, "name", None)]
    [True, True, False, False, False]
    """
    return PydanticType(source) if _is_type(source) else None


def _is_type(source: object) -> bool:
    if isinstance(source, type | NewType) or typing.get_origin(source) is not None:
        return True
    # ``TypeAliasType`` is in ``typing`` from Python 3.12 on, else in ``typing_extensions``.
    return type(source).__name__ == "TypeAliasType" or _is_adapter(source)


def _is_adapter(source: object) -> bool:
    """Return whether an object is a ``pydantic.TypeAdapter``, without importing pydantic."""
    adapter = getattr(sys.modules.get("pydantic"), "TypeAdapter", None)
    return adapter is not None and isinstance(source, adapter)


def _pydantic() -> Any:
    """Import pydantic 2."""
    try:
        import pydantic
    except ImportError as error:
        raise SchemaError(f"a Python type needs pydantic: {first_line(error)}", hint=INSTALL) from None
    if not hasattr(pydantic, "TypeAdapter"):
        raise SchemaError(f"a Python type needs pydantic 2, and this is {pydantic.VERSION}", hint=INSTALL)
    return pydantic


def _error_line(fault: Any) -> str:
    """Write an error of pydantic on one line: the path and the message."""
    message = " ".join(str(fault["msg"]).split())
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {message}" if where else message


def _finite(value: Any) -> Any:
    """Remove defaults and examples with infinity or NaN, which are not JSON."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: _finite(item) for name, item in value.items()}
    return {name: item for name, item in members.items() if name not in _ANNOTATIONS or _is_finite(item)}


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list) or all(map(_is_finite, value))


# ---- additions to pydantic's schemas ---------------------------------------------------------------------------------


@cache
def generator() -> Any:
    """Make the class of the schema generator, for pydantic's ``schema_generator``."""
    from pydantic.json_schema import GenerateJsonSchema

    base: Any = GenerateJsonSchema

    class Completing(base):  # type: ignore[misc]
        """Completes the schemas that pydantic writes for core schemas."""

        def decimal_schema(self, schema: Mapping[str, Any]) -> Schema:
            return _decimal(schema, self.float_schema(_bounds_of(schema)))

        def bytes_schema(self, schema: Mapping[str, Any]) -> Schema:
            return _bytes(super().bytes_schema(schema), schema, self._config.config_dict.get("val_json_bytes", "utf8"))

        def str_schema(self, schema: Mapping[str, Any]) -> Schema:
            return _str(super().str_schema(schema), schema, self._config.config_dict)

    def completing(name: str, complete: Callable[[Schema, Mapping[str, Any]], Schema]) -> Any:
        written_by = getattr(base, name)
        return lambda self, schema: complete(written_by(self, schema), schema)

    for kind, complete in _COMPLETIONS.items():
        if hasattr(base, f"{kind}_schema"):  # some versions lack ordered_dict
            setattr(Completing, f"{kind}_schema", completing(f"{kind}_schema", complete))
    return Completing


def completed(schema: Schema) -> Schema:
    """Complete a finished schema: patterns of e-mail addresses, and of JSON in texts, which may need references."""
    made: Schema = _completed(schema, schema.get("$defs", {}))
    return made


def _completed(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_completed(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _completed(item, definitions) for name, item in schema.items()}
    if made.get("type") != "string":
        return made
    if made.get("contentMediaType") == "application/json" and isinstance(made.get("contentSchema"), dict):
        pattern = _pattern_of_json(made["contentSchema"], definitions, 0)
        return _with(made, f"^{pattern}$") if pattern else made
    return _with(made, _EMAIL) if made.get("format") == "email" else made


def _with(schema: Schema, *patterns: str) -> Schema:
    """Add patterns to a schema, and return it."""
    for pattern in patterns:
        if "pattern" in schema:
            schema.setdefault("allOf", []).append({"pattern": pattern})
        else:
            schema["pattern"] = pattern
    return schema


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _bounds_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the core schema of a float with the bounds of a decimal."""
    names = [name for name in ("multiple_of", "le", "ge", "lt", "gt") if schema.get(name) is not None]
    return {"type": "float", **{name: float(schema[name]) for name in names}}


def _float(written: Schema, schema: Mapping[str, Any]) -> Schema:
    """Replace an exclusive bound by the next float, since nearer numbers are rounded to the bound."""
    for name, word, beyond in (("gt", "minimum", math.inf), ("lt", "maximum", -math.inf)):
        bound = schema.get(name)
        if bound and math.isfinite(bound):
            written[word] = math.nextafter(bound, beyond)
            del written[f"exclusive{word.capitalize()}"]
    return written


def _decimal(schema: Mapping[str, Any], number: Schema) -> Schema:
    digits, places = schema.get("max_digits"), schema.get("decimal_places")
    if digits is not None or places is not None:
        step = 0 if places is None else places if digits is None else min(places, digits)
        whole = _MOST_DIGITS - step if digits is None else min(_MOST_DIGITS, digits) - step
        most = Decimal(10) ** max(whole, 0) - Decimal(1).scaleb(-step)
        number.setdefault("multipleOf", float(Decimal(1).scaleb(-step)) if step else 1)
        if _is_below_one(digits, places):
            number["not"] = {"const": 0}  # pydantic counts the 0 of a zero as a digit before the point
        if not {"maximum", "exclusiveMaximum"} & number.keys():
            number["maximum"] = float(most)
        if not {"minimum", "exclusiveMinimum"} & number.keys():
            number["minimum"] = float(-most)
    if len(number.keys() - {"type"}) > 0 and _bounds_of(schema).keys() > {"type"}:
        return number
    return {"anyOf": [number, {"type": "string", "pattern": f"^-?(?:{_decimals(digits, places)})$"}]}


def _is_below_one(digits: int | None, places: int | None) -> bool:
    """Return whether all digits are after the point."""
    return digits is not None and places is not None and digits <= places


def _decimals(digits: int | None, places: int | None) -> str:
    """Return the pattern of decimals with at most some digits, and some of them after the point."""
    if digits is None:
        fraction = rf"(?:\.[0-9]{{1,{20 if places is None else places}}})?" if places != 0 else ""
        return f"[0-9]{{1,20}}{fraction}"
    if _is_below_one(digits, places):
        return rf"0\.[0-9]{{1,{digits}}}"
    most = digits - 1 if places is None else min(places, digits - 1)
    before = digits if places is None else max(digits - places, 1)
    counts = range(1, most + 1)
    return "|".join([f"[0-9]{{1,{before}}}", *(rf"[0-9]{{1,{min(before, digits - n)}}}\.[0-9]{{{n}}}" for n in counts)])


# ---- dates and times -------------------------------------------------------------------------------------------------


def _date(written: Schema, schema: Mapping[str, Any]) -> Schema:
    day = timedelta(days=1)
    low, high = _limits(schema, day, date.min, date.max, date.today())
    if (low, high) == (date.min, date.max):
        return written
    return _with(written, f"^{between(low.isoformat(), high.isoformat())}$")


def _datetime(written: Schema, schema: Mapping[str, Any]) -> Schema:
    second = timedelta(seconds=1)
    first, last = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)
    now = datetime.combine(date.today(), time.min)  # so that schemas read on one day are equal
    low, high = _limits(schema, second, first, last, now)
    is_naive = schema.get("tz_constraint") == "naive"
    if is_naive:  # RFC 3339 requires an offset
        written = {"type": "string", "pattern": f"^{YEAR_ZERO}{DATE}T{_CLOCK}{_FRACTION}$"}
    if (low, high) == (first, last):
        return written
    texts = between(_second(low, up=True), _second(high, up=False))
    return _with(written, f"^{texts}$" if is_naive else f"^{texts}Z$")


def _time(written: Schema, schema: Mapping[str, Any]) -> Schema:
    given = {name: _in_day(schema[name]) for name in ("ge", "gt", "le", "lt") if schema.get(name) is not None}
    is_naive = schema.get("tz_constraint") == "naive"
    if given:
        low, high = _limits(given, timedelta(seconds=1), _in_day(time.min), _in_day(time(23, 59, 59)), None)
        texts = between(_second(low, up=True)[11:], _second(high, up=False)[11:])
        zone = "Z" if schema.get("tz_constraint") == "aware" else ""
        return _with({"type": "string"}, f"^{texts}{zone}$", f"^{_CLOCK}{zone}$")
    return {"type": "string", "pattern": f"^{_CLOCK}{_FRACTION}$"} if is_naive else written


def _in_day(moment: time) -> datetime:
    return datetime.combine(date(2000, 1, 2), moment.replace(tzinfo=None))


def _second(moment: datetime, *, up: bool) -> str:
    """Round a moment to whole seconds, up or down."""
    moment += timedelta(seconds=1) if up and moment.microsecond else timedelta()
    return moment.replace(microsecond=0).isoformat()


def _limits(schema: Mapping[str, Any], step: timedelta, low: Any, high: Any, now: Any) -> tuple[Any, Any]:
    """Return the first and the last value that a core schema allows."""
    lows, highs = [low], [high]
    for name, found, distance in (("ge", lows, 0), ("gt", lows, 1), ("le", highs, 0), ("lt", highs, -1)):
        bound = schema.get(name)
        if bound is not None:
            zone = getattr(bound, "tzinfo", None)
            bound = bound if zone is None else bound.astimezone(UTC).replace(tzinfo=None)
            found.append(bound + distance * step)
    if schema.get("now_op") == "past":
        highs.append(now - timedelta(days=1))
    if schema.get("now_op") == "future":
        lows.append(now + timedelta(days=2))
    return max(lows), min(highs)


def _timedelta(written: Schema, schema: Mapping[str, Any]) -> Schema:
    bounds = [schema.get(name) for name in ("ge", "gt", "le", "lt")]
    if all(bound is None for bound in bounds):
        return _with(written, "^[^0-9]*(?:[0-9]{1,6}[^0-9]+)*$")  # in total less than 999,999,999 days
    low, high = _limits(schema, timedelta(seconds=1), timedelta.min, timedelta.max, None)
    unit, form = timedelta(seconds=1), "PT{}S"
    if low // unit > _MOST_SECONDS or high // unit < -_MOST_SECONDS:
        unit, form = timedelta(days=1), "P{}D"
    first, last = max(-(-low // unit), -_MOST_SECONDS), min(high // unit, _MOST_SECONDS)
    return {"type": "string", "pattern": f"^(?:{_signed(first, last, form)})$"}


def _signed(first: int, last: int, form: str = "{}") -> str:
    """Return the pattern of whole numbers in a range: a sign, and the format of the absolute value."""
    texts = [form.format(whole_numbers(max(first, 0), last))] if last >= 0 else []
    texts += ["-" + form.format(whole_numbers(max(-last, 1), -first))] if first < 0 else []
    return "|".join(texts)


# ---- texts -----------------------------------------------------------------------------------------------------------


def _str(written: Schema, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Schema:
    pattern: Any = schema.get("pattern")
    flags = getattr(pattern, "flags", 0) & (re.IGNORECASE | re.DOTALL | re.MULTILINE)
    if flags:
        named = {re.IGNORECASE: "i", re.DOTALL: "s", re.MULTILINE: "m"}
        letters = "".join(letter for flag, letter in named.items() if flags & flag)
        written["pattern"] = f"(?{letters}){pattern.pattern}"
    own = written.get("pattern", "")
    if own and own == _pattern_of_sizes():
        written["pattern"] = _UNITS
    elif schema.get("ascii_only") or (own and _OTHER_IN_RUST.search(own)):
        _with(written, _ASCII)
    is_stripped = schema.get("strip_whitespace", config.get("str_strip_whitespace"))
    if is_stripped and {"pattern", "minLength", "maxLength"} & written.keys():
        _with(written, _TRIMMED)
    return written


def _pattern_of_sizes() -> str:
    import pydantic

    return getattr(pydantic.ByteSize, "byte_string_pattern", "")


def _bytes(written: Schema, schema: Mapping[str, Any], encoding: str) -> Schema:
    least, most = schema.get("min_length") or 0, schema.get("max_length")
    if encoding == "utf8":
        return written if not least and most is None else _with(written, _ASCII)
    if encoding == "hex":
        return {"type": "string", "pattern": f"^(?:[0-9a-f]{{2}}){{{least},{'' if most is None else most}}}$"}
    return {"type": "string", "pattern": _FIXED_LENGTH % (-(-least // 3), "" if most is None else most // 3)}


def _decoded(written: Schema, schema: Mapping[str, Any]) -> Schema:
    """Add the pattern of base64 of ASCII, or of card numbers."""
    function = schema["function"]["function"]
    if getattr(function, "__qualname__", "") == "PaymentCardNumber.validate":
        return _with(written, _CARD)
    encoder = getattr(getattr(function, "__self__", None), "encoder", None)
    if getattr(function, "__name__", "") != "decode_str" or encoder is None:
        return written
    kind = encoder.get_json_format()
    return _with(written, f"^{BASE64_OF_ASCII}$") if kind in ("base64", "base64url") else written


def _url(written: Schema, schema: Mapping[str, Any]) -> Schema:
    schemes = schema.get("allowed_schemes") or []
    if schemes == ["file"]:
        return _with(written, r"^file://(?:/[A-Za-z0-9._~-]+)+$")
    if not schemes:
        return _with(written, f"^(?:[a-z]{{2,8}}://{URL_AFTER_SCHEME}|(?:mailto|tel|urn|news):[A-Za-z0-9.@:+_-]+)$")
    listed = "|".join(re.sub("[+.]", r"\\\g<0>", scheme) for scheme in schemes)
    return _with(written, f"^(?:{listed})://{URL_AFTER_SCHEME}$")


# ---- names -----------------------------------------------------------------------------------------------------------


def _dict(written: Schema, schema: Mapping[str, Any]) -> Schema:
    keys = schema.get("keys_schema", {})
    if "patternProperties" in written:
        written.setdefault("additionalProperties", False)
    pattern = _names(keys)
    if pattern:
        written["propertyNames"] = {"pattern": f"^(?:{pattern})$"}
    return written


def _names(keys: Mapping[str, Any]) -> str:
    """Return the pattern of names that are parsed as numbers or bools; empty for other keys."""
    match keys.get("type"):
        case "bool":
            return "true|false"
        case "int":
            low = max(keys.get("ge", -math.inf), keys.get("gt", -math.inf) + 1)
            high = min(keys.get("le", math.inf), keys.get("lt", math.inf) - 1)
            return _signed(int(max(low, -(10**15))), int(min(high, 10**15)))
        case "float" | "decimal":
            digits = _MOST_DIGITS if keys["type"] == "float" else keys.get("max_digits")
            return f"-?(?:{_decimals(digits, keys.get('decimal_places'))})"
        case _:
            return ""


# ---- JSON in a text --------------------------------------------------------------------------------------------------


_SCALARS = {
    "null": "null",
    "boolean": "(?:true|false)",
    "integer": "(?:0|-?[1-9][0-9]{0,14})",
    "number": r"(?:0|-?[1-9][0-9]{0,14}(?:\.[0-9]{1,9})?)",
    "string": '"[^"\\\\\\x00-\\x1f]*"',
}


def _pattern_of_json(schema: Schema, definitions: Mapping[str, Any], depth: int) -> str:
    """Return the pattern of a plain schema's JSON texts; empty if the schema has other keywords."""
    known = schema.keys() - {"title", "description", "default"}
    if depth > 4:
        return ""
    if known == {"$ref"}:
        return _pattern_of_json(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions, depth + 1)
    if not known:
        return f"(?:{'|'.join(_SCALARS.values())})"
    kind = schema.get("type")
    if known == {"type"} and kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array" and known <= {"type", "items"}:
        item = _pattern_of_json(schema.get("items", {}), definitions, depth + 1)
        return rf"\[(?:{item}(?:, {item})*)?\]" if item else ""
    if kind == "object" and known <= {"type", "additionalProperties"}:
        inner = schema.get("additionalProperties", True)
        value = _pattern_of_json({} if inner is True else inner, definitions, depth + 1)
        return rf'\{{(?:"[a-z]+": {value})?\}}' if value else ""
    if kind == "object" and known <= {"type", "properties", "required"}:
        members = [
            (name, _pattern_of_json(part, definitions, depth + 1)) for name, part in schema["properties"].items()
        ]
        if all(member for _, member in members) and all(name.isidentifier() for name, _ in members):
            return r"\{" + ", ".join(f'"{name}": {member}' for name, member in members) + r"\}"
    return ""


_COMPLETIONS: Mapping[str, Callable[[Schema, Mapping[str, Any]], Schema]] = {
    "float": _float,
    "timedelta": _timedelta,
    "date": _date,
    "datetime": _datetime,
    "time": _time,
    "url": _url,
    "multi_host_url": _url,
    "complex": lambda written, schema: _with(written, _COMPLEX),
    "function_after": _decoded,
    "dict": _dict,
    "ordered_dict": _dict,
}
"""The functions that complete pydantic's schemas, by the kinds of core schemas."""
