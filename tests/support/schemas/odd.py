"""Schemas that nobody should write, and mutants of those that people wrote: each with a name, as text or as bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.support.schemas.combined import combined_schemas
from tests.support.schemas.published import real_schemas

from sfgen.schema.reading.keywords import ANY_DRAFT, TYPES

_LARGEST_MUTANT = 40_000  # bytes of most real schemas that are mutated
_LARGE_SHARE = 0.01  # of those that may be larger

KINDS = ("combined", "combined mutants", "real mutants", "broken texts", "wrong values", "bytes", "special")
_SHARES = (0.2, 0.12, 0.4, 0.04, 0.04, 0.02, 0.18)
_FEW: tuple[Any, ...] = (
    *(True, False, None, 0, 1, -1, 2.5, "", "a", [], {}, ["a"], {"a": 1}, [1, "a", None], {"type": "string"}),
)
_NUMBERS = (0, 1, -1, 2, 3, 10, 100, 10**6, 10**9, 2**31, 2**63, 10**400, 0.1, 1e-7, 1.5, 1e300, -0.0)
_PATTERNS = (
    "^a+$", "^(a+)+$", "(a|a)*b", "(", "[z-a]", "a{2,1}", "\\", "^(?=a)b", "(?<n>a)\\k<n>", "\\1", "^.{0,1000}$",
    "^(a{1,100}){1,100}$", "\\p{L}", "^\\u{1F600}$", "\\cA", "(?i)a", "a**", "^(([a-z])+.)+[A-Z]([a-z])+$", "^$", "$^",
    "^(?!a).*$", "\\bword\\b", "^[\\s\\S]*$", "\\ud83d", "^\\d{1,9}$", "x" * 5000, "(" * 500 + ")" * 500, "[" * 300,
    "^(\\w+\\s?)*$", "(?:a?){50}a{50}", ".*.*.*.*=.*", "^[^\\x00-\\x7f]+$", "(.*a){20}", "\x00", "é+", "a{1000000}",
)  # fmt: skip


_ODD_NUMBERS = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "1e99999999", "0x1", "01", "1.", ".5", "+1", "9" * 400,
    "9" * 5000, "0." + "1" * 1000, "1e9999", "-0", "-0.0", "1_000", "1E+2",
)  # fmt: skip


@dataclass(frozen=True)
class OddSchema:
    """A schema to be read.

    Args:
        kind: One of ``KINDS``.
        name: What it is.
        source: Its JSON text; bytes stand in a file.
        options: How its values are written.
    """

    kind: str
    name: str
    source: str | bytes = field(repr=False)
    options: dict[str, Any] = field(default_factory=dict)


def odd_schemas(count: int, number: int, *, with_large: bool = True) -> list[OddSchema]:
    """Random ones of all kinds, in no order.

    Args:
        count: How many.
        number: The same ones come for the same number.
        with_large: Whether there are some of up to 5 MB.
    """
    rng = random.Random(f"odd schemas {number}")
    counts = [max(1, round(count * share)) for share in _SHARES]
    random_ones = list(map(_text, _combined(counts[0] + counts[1], number)))
    small = [(name, text) for name, text in _real() if len(text) <= _LARGEST_MUTANT]

    def mutant(kind: str, pool: list[tuple[str, str]]) -> OddSchema:
        name, text = rng.choice(pool)
        schema = json.loads(text)
        for _ in range(rng.choice((1, 1, 2, 3, 5))):
            schema = _mutated(schema, rng)
        return OddSchema(kind, f"mutant of {name}", _text(schema), _options(rng))

    def broken() -> OddSchema:
        name, text = rng.choice(small)
        return OddSchema("broken texts", f"broken {name}", _broken(text[:5000], rng))

    named = [("a random schema", text) for text in random_ones]
    makers: list[Callable[[], OddSchema]] = [
        lambda: OddSchema("combined", "a random schema", random_ones.pop(), _options(rng)),
        lambda: mutant("combined mutants", named),
        lambda: mutant("real mutants", _real() if rng.random() < _LARGE_SHARE else small),
        broken,
        lambda: OddSchema("wrong values", *_wrong_value(rng)),
        lambda: OddSchema("bytes", "random bytes", _random_bytes(rng)),
    ]
    found = [maker() for maker, wanted in zip(makers, counts[:-1], strict=True) for _ in range(wanted)]
    special = [OddSchema("special", name, source) for name, source in special_schemas(with_large)]
    found += special if counts[-1] >= len(special) else rng.sample(special, counts[-1])
    rng.shuffle(found)
    return found[:count]


def _options(rng: random.Random) -> dict[str, Any]:
    return rng.choice(
        [{}, {}, {"extra_properties": True}, {"extra_properties": True}, {"indent": 2}, {"spacing": "compact"},
         {"spacing": "any"}, {"require_all": True}]
    )  # fmt: skip


def _text(schema: Any) -> str:
    return json.dumps(schema, ensure_ascii=False)


def _combined(count: int, number: int) -> list[Any]:
    """Random schemas in which all keywords meet."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(combined_schemas())
    def collect(schema: Any) -> None:
        found.append(schema)

    collect()
    return [schema if isinstance(schema, dict) else {"allOf": [schema]} for schema in found] + [{}] * (
        count - len(found)
    )


@cache
def _real() -> list[tuple[str, str]]:
    return [(name.rpartition("/schemas/")[2], _text(schema)) for name, schema in real_schemas(3)]


# ---- mutants -------------------------------------------------------------------------------------------------------


def _places(schema: Any) -> list[tuple[Any, Any]]:
    """Each container with each of its keys or indices."""
    found: list[tuple[Any, Any]] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for key in keys:
            found.append((value, key))
            waiting.append(value[key])
    return found


def _mutated(schema: Any, rng: random.Random) -> Any:
    """The schema with one change; the value is its own."""
    places = _places(schema)
    if not places:
        return {rng.choice([*ANY_DRAFT]): rng.choice(_FEW)}
    container, key = rng.choice(places)
    other, other_key = rng.choice(places)
    copy = json.loads(json.dumps(other[other_key]))
    match rng.choice(
        ("delete", "twice", "swap", "type", "number", "keyword", "wrap", "ref", "pattern", "rename", "drop")
    ):
        case "delete":
            del container[key]
        case "twice":
            if isinstance(container, list):
                container.append(copy)
            else:
                container[rng.choice((*container, "a", "$ref", "items", "not"))] = copy
        case "swap":
            container[key] = copy
        case "type":
            container[key] = json.loads(json.dumps(rng.choice(_FEW)))
        case "number":
            numbers = [place for place in places if type(place[0][place[1]]) in (int, float)]
            container, key = rng.choice(numbers or places)
            container[key] = rng.choice(_NUMBERS)
        case "keyword" if isinstance(container, dict):
            container[rng.choice([*ANY_DRAFT])] = copy if rng.random() < 0.5 else rng.choice((*_FEW, *_NUMBERS))
        case "wrap":
            word = rng.choice(("not", "anyOf", "oneOf", "allOf", "if", "items", "contains", "propertyNames"))
            inner = container[key]
            container[key] = {word: [inner, copy] if word.endswith("Of") else inner}
        case "ref":
            names = [f"/{other_key}", "/$defs/a", "", *(f"/{word}" for word in schema if isinstance(schema, dict))]
            container[key] = {"$ref": "#" + rng.choice(names)}
        case "pattern":
            container[key] = {"type": "string", "pattern": rng.choice(_PATTERNS)}
        case "rename" if isinstance(container, dict):
            container[rng.choice([*ANY_DRAFT])] = container.pop(key)
        case _:
            types = [place for place in places if place[1] == "type"]
            if types:
                container, key = rng.choice(types)
                container[key] = rng.choice((*TYPES, [*TYPES], "any", 1))
    return schema


def _broken(text: str, rng: random.Random) -> str:
    """A text with some characters changed."""
    for _ in range(rng.choice((1, 1, 2, 10))):
        at, end = sorted((rng.randrange(len(text) + 1), min(len(text), rng.randrange(len(text) + 1))))
        more = rng.choice(
            ['"', "{", "}", "[", "]", ",", ":", "\\", "\\u", "\\ud800", "1e", "-", "NaN", "\x00", "\ufeff", "//", "'"]
        )
        text = rng.choice([text[:at] + more + text[at:], text[:at] + text[at + 1 :], text[:at], text[:at] + text[end:]])
    return "{" + text.lstrip("{")


def _wrong_value(rng: random.Random) -> tuple[str, str]:
    """A keyword with a value that it may not have, alone or within."""
    word, value = rng.choice([*ANY_DRAFT]), rng.choice((*_FEW, *_NUMBERS))
    inner = {"type": ["object", "array"], word: value}
    return f"{word} is {str(value)[:20]}", _text(rng.choice([{word: value}, {"properties": {"a": inner}}]))


def _random_bytes(rng: random.Random) -> bytes:
    data = rng.randbytes(rng.choice((0, 1, 3, 100, 10_000)))
    return rng.choice((b"", b"{", b'{"type":"', b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) + data


# ---- special ones --------------------------------------------------------------------------------------------------


def special_schemas(with_large: bool) -> Iterator[tuple[str, str | bytes]]:
    """Deep, long, wide and wrong ones, by name."""
    yield from _deep(with_large)
    yield from _wide(with_large)
    yield from _wrong()
    yield from _encoded()
    if with_large:
        yield "5 MB", b'{"const": "' + b"a" * 5_000_000 + b'"}'
    for pattern in _PATTERNS:
        yield f"pattern {pattern[:40]!r}", _text({"type": "string", "pattern": pattern})
        yield f"name {pattern[:40]!r}", _text({"type": "object", "patternProperties": {pattern: {"const": 1}}})
        yield f"no name {pattern[:40]!r}", _text({"not": {"pattern": pattern}, "maxLength": 20})


def _nested(count: int, *words: str) -> str:
    """A schema in a schema, so many times."""
    opening = "".join(f'{{"{word}": ' + ("[" if word.endswith("Of") else "") for word in words)
    closing = "".join(("]" if word.endswith("Of") else "") + "}" for word in reversed(words))
    return opening * count + '{"type": "integer"}' + closing * count


def _deep(with_large: bool) -> Iterator[tuple[str, str]]:
    for count in (50, 100, 190, 1000, *([100_000] if with_large else [])):
        for word in ("items", "not", "allOf", "anyOf", "oneOf", "additionalProperties", "contains", "if"):
            yield f"{count} {word} in each other", _nested(count, word)
        yield f"{count} properties in each other", '{"properties": {"a": ' * count + "true" + "}}" * count
        yield f"{count} arrays in a constant", '{"const": ' + "[" * count + "]" * count + "}"
    for count in (50, 150):
        yield f"{count} not and anyOf", _nested(count, "not", "anyOf")
        yield f"{count} oneOf and items", _nested(count, "oneOf", "items")
    for count in (10, 99, *([1000, 5000] if with_large else [])):
        chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(count)}
        yield (
            f"{count} references on end",
            _text({"$ref": "#/$defs/d0", "$defs": {**chain, f"d{count}": {"type": "null"}}}),
        )
        yield (
            f"{count} references round",
            _text({"$ref": "#/$defs/d0", "$defs": {**chain, f"d{count}": {"$ref": "#/$defs/d0"}}}),
        )
        holds = {f"d{number}": {"properties": {"a": {"$ref": f"#/$defs/d{number + 1}"}}} for number in range(count)}
        yield (
            f"{count} objects on end",
            _text({"$ref": "#/$defs/d0", "$defs": {**holds, f"d{count}": {"type": "null"}}}),
        )
        needs = {name: {**schema, "type": "object", "required": ["a"]} for name, schema in holds.items()}
        yield (
            f"{count} needed objects",
            _text({"$ref": "#/$defs/d0", "$defs": {**needs, f"d{count}": {"type": "null"}}}),
        )
        yield (
            f"{count} needed round",
            _text({"$ref": "#/$defs/d0", "$defs": {**needs, f"d{count}": {"$ref": "#/$defs/d0"}}}),
        )
        alls = {
            f"d{number}": {"allOf": [{"minimum": number}, {"$ref": f"#/$defs/d{number + 1}"}]}
            for number in range(count)
        }
        yield (
            f"{count} allOf on end",
            _text({"$ref": "#/$defs/d0", "$defs": {**alls, f"d{count}": {"type": "integer"}}}),
        )
        yield (
            f"{count} allOf round",
            _text({"$ref": "#/$defs/d0", "$defs": {**alls, f"d{count}": {"$ref": "#/$defs/d0"}}}),
        )
        twice = {f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2} for number in range(count)}
        yield f"{count} doubled", _text({"$ref": "#/$defs/d0", "$defs": {**twice, f"d{count}": {"type": "null"}}})
        pairs = {
            f"d{number}": {"properties": {name: {"$ref": f"#/$defs/d{number + 1}"} for name in "ab"}, "type": "object"}
            for number in range(count)
        }
        yield f"{count} pairs on end", _text({"$ref": "#/$defs/d0", "$defs": {**pairs, f"d{count}": {"type": "null"}}})


def _wide(with_large: bool) -> Iterator[tuple[str, str]]:
    for count in (1000, *([10_000, 100_000] if with_large else [])):
        yield f"enum of {count} numbers", _text({"enum": list(range(count))})
        yield f"enum of {count} names", _text({"enum": [f"name{number * 7919 % count}" for number in range(count)]})
        yield f"enum of {count} kinds", _text({"enum": [[n, str(n), {"a": n}, None][n % 4] for n in range(count)]})
        yield f"not of {count} values", _text({"type": "string", "not": {"enum": [f"n{n}" for n in range(count)]}})
        yield f"required {count}", _text({"type": "object", "required": [f"n{number}" for number in range(count)]})
    for count in (100, *([500, 5000, 20_000] if with_large else [])):
        properties = {f"property{number}": {"type": "integer"} for number in range(count)}
        yield f"{count} properties", _text({"type": "object", "properties": properties})
        closed = {"type": "object", "properties": properties, "additionalProperties": False}
        yield f"{count} needed properties", _text({**closed, "required": list(properties)})
        yield f"at most 3 of {count} properties", _text({**closed, "maxProperties": 3})
        yield f"half of {count} properties", _text({**closed, "minProperties": count // 2})
        yield (
            f"{count} properties of objects",
            _text({"properties": {name: {"properties": {"a": {}}} for name in properties}}),
        )
        for word in ("anyOf", "oneOf", "allOf"):
            yield f"{word} of {count} constants", _text({word: [{"const": number} for number in range(count)]})
            yield (
                f"{word} of {count} objects",
                _text({word: [{"required": [f"n{n}"], "type": "object"} for n in range(count)]}),
            )
            yield (
                f"{word} of {count} lengths",
                _text({word: [{"type": "string", "minLength": n} for n in range(count)]}),
            )
        yield f"{count} dependent", _text({"dependentRequired": {f"n{n}": [f"n{n + 1}"] for n in range(count)}})
        yield f"prefix of {count}", _text({"prefixItems": [{"const": n} for n in range(count)], "minItems": count})
        yield f"{count} patterns of names", _text({"patternProperties": {f"^a{n}": {} for n in range(count)}})
    for size in (10**3, *([10**5, 3 * 10**6] if with_large else [])):
        name = "n" * size
        yield f"a name of {size}", _text({"type": "object", "properties": {name: {}}, "required": [name]})
        yield f"a constant of {size}", _text({"const": name})
        yield f"a pattern of {size}", _text({"pattern": name})
        yield f"a reference of {size}", _text({"$ref": "#/$defs/" + name, "$defs": {name: {"type": "null"}}})
        yield f"a keyword of {size}", _text({name: 1})
        yield f"a type of {size}", _text({"type": name})
        yield f"a format of {size}", _text({"type": "string", "format": name})
    for number in (10**3, 10**5, 10**9, 10**18, 10**400):
        for word in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "multipleOf"):
            yield f"{word} {len(str(number))} digits", _text({word: number})
            kind = {"h": "string", "s": "array"}.get(word[-1], "number")
            kind = "object" if "Properties" in word else kind
            yield f"{kind} {word} {len(str(number))} digits", _text({"type": kind, word: number})
        yield (
            f"unique {len(str(number))} digits",
            _text({"items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": number}),
        )
        yield (
            f"contains {len(str(number))} digits",
            _text({"contains": {"const": 1}, "minContains": number, "type": "array"}),
        )
        yield f"both {len(str(number))} digits", _text({"type": "string", "minLength": number, "maxLength": number})
        yield f"items {len(str(number))} digits", _text({"type": "array", "minItems": number, "maxItems": number})
        yield f"above {len(str(number))} digits", _text({"type": "integer", "exclusiveMinimum": number})
        yield f"multiples {len(str(number))} digits", _text({"type": "integer", "multipleOf": number, "minimum": 1})
    inner = {"type": "array", "maxItems": 999, "items": {"type": "string", "maxLength": 999, "pattern": "^[ab]*$"}}
    yield "arrays of arrays, counted", _text({"type": "array", "maxItems": 999, "items": inner})


def _wrong() -> Iterator[tuple[str, str | bytes]]:
    for text in (
        "",
        " ",
        "null",
        "1",
        '"a"',
        "[]",
        "[{}]",
        "tru",
        "{",
        "}",
        "{}{}",
        "{} x",
        "{,}",
        '{"a"}',
        "{'a': 1}",
    ):
        yield f"the text {text!r}", text.encode()
    for number in _ODD_NUMBERS:
        for word in ("minimum", "multipleOf", "const", "maxLength", "minItems"):
            yield f"{word} {number[:20]}", f'{{"{word}": {number}}}'
        yield f"a number, minimum {number[:20]}", f'{{"type": "number", "minimum": {number}}}'
        yield f"range {number[:20]}", f'{{"type": "integer", "minimum": {number}, "maximum": {number}}}'
    yield "a keyword twice", '{"type": "string", "type": "integer"}'
    yield "a property twice", '{"properties": {"a": true, "\\u0061": false}}'
    yield "an empty keyword", '{"": {"type": "string"}, "properties": {"": {"const": ""}}}'
    for escape in (
        "\\u0000",
        "\\ud800",
        "\\udfff",
        "\\ud83d\\ude00",
        "\\\\",
        '\\"',
        "\\/",
        "\\n",
        "\\u007f",
        "\\x41",
        "\\u12",
        "\\uFEFF",
    ):
        yield f"constant {escape}", f'{{"const": "a{escape}b"}}'
        yield (
            f"property {escape}",
            f'{{"type": "object", "properties": {{"a{escape}b": true}}, "required": ["a{escape}b"]}}',
        )
        yield f"enum {escape}", f'{{"enum": ["{escape}", "{escape}{escape}"]}}'
        yield f"pattern {escape}", f'{{"type": "string", "pattern": "{escape}"}}'
        yield f"escaped keyword {escape}", f'{{"{escape}": 1}}'
    for uri in (
        "http://a",
        "#",
        "##",
        "#a",
        "#/",
        "#/%",
        "#/%ff",
        "#/a~2",
        "other.json",
        "http://[",
        "//",
        "urn:a:b",
        "?",
        "\x00",
    ):
        for word in ("$ref", "$id", "$schema", "$anchor", "$dynamicRef", "$recursiveRef", "id"):
            yield f"{word} {uri!r}", _text({word: uri, "type": "null"})


def _encoded() -> Iterator[tuple[str, bytes]]:
    text = '{"const": "é😀"}'
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"):
        yield f"in {encoding}", text.encode(encoding)
    yield "in EBCDIC", text.encode("cp037", "ignore")
    yield "in latin-1", '{"const": "é"}'.encode("latin-1")
    yield "two byte order marks", b"\xef\xbb\xbf" * 2 + text.encode()
    yield "surrogates in UTF-8", b'{"const": "\xed\xa0\x80"}'
    yield "overlong", b'{"const": "\xc0\x80"}'
    yield "broken off", text.encode()[:-4]
    yield "nothing", b""
    yield "zeros", bytes(1000)
