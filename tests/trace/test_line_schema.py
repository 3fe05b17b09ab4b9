"""The JSON Schema of a line: it takes the lines that the reader takes, and no others, as far as a schema can tell."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.running.tried import tried

from sfgen.trace import schema
from sfgen.trace.errors import MalformedError
from sfgen.trace.events import EVENTS
from sfgen.trace.lines import FAILURE, HEADING, lines, read_event, read_heading
from sfgen.trace.values import take

TRACES = Path(__file__).parents[1] / "data" / "traces"
SCHEMA = Draft202012Validator(schema())


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def distinct() -> list[dict[str, Any]]:
    """Lines of real runs: of those of an event with the same keys all the way down, the first two."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(TRACES.glob("*.jsonl")):
        for line in written(path):
            found.setdefault(repr([line.get("event"), *(path for path, _ in parts(line))]), []).append(line)
    return [line for alike in found.values() for line in alike[:2]]


def parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value in a value, itself too, and where it is."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from parts(item, (*path, key))


LINES = distinct()


def refusal(line: dict[str, Any]) -> str | None:
    """What the reader says of a line by itself; ``None`` if it takes it."""
    try:
        if "trace" in line:
            read_heading(line)
        else:
            read_event(line)
    except MalformedError as error:
        return str(error)
    return None


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == Draft202012Validator.META_SCHEMA["$id"]


def test_whoever_changes_a_schema_changes_their_own() -> None:
    changed = schema()
    changed["$defs"]["text"].clear()
    assert schema() != changed


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_lines_of_real_runs_are_valid(path: Path) -> None:
    for line in written(path):
        SCHEMA.validate(line)
        assert refusal(line) is None


def test_all_lines_occur_in_these() -> None:
    names = {line.get("event", HEADING) for line in LINES}
    assert names == {HEADING, *EVENTS, FAILURE} == set(lines())


def clear(value: Any) -> bool:
    """Whether schema and reader can say the same of a value: the tests below have what they cannot."""
    if isinstance(value, float):
        return not value.is_integer()
    if isinstance(value, dict) and isinstance(digits := value.get("hex"), str):
        try:
            bytes.fromhex(digits).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        except ValueError:
            pass
    return True


TEXTS = st.text(max_size=4) | st.sampled_from([*lines(), "complete", "limit", "\x1b[2J"])
DIGITS = st.one_of(
    st.text("0123456789abcdefABCDEF \t\n\v\f\r\u00a0٣g", max_size=7),
    st.binary(max_size=4).map(lambda data: data.hex(" ")),
)
NUMBERS = st.one_of(
    st.integers(-2, 2),
    st.integers(),
    st.sampled_from([2**63 - 1, 2**63, 1 - 2**63, -(2**63), 10**9, 10**9 + 1, 10**400]),
    st.floats(-0.5, 1.5),
    st.sampled_from([1.000001, 1.0000011, -5e-324, 999999999.5, 1000000000.5]),
)
PLAIN = st.none() | st.booleans() | NUMBERS | TEXTS | st.builds(lambda digits: {"hex": digits}, DIGITS)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS | st.just("hex"), inner, max_size=2)
)


@st.composite
def changed_lines(draw: st.DrawFn) -> dict[str, Any]:
    """A line of a real run that has another value in one or two places, or one more key, or one less."""
    line: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(LINES)))
    for _ in range(draw(st.integers(1, 2))):
        places = [(path, value) for path, value in parts(line) if path or isinstance(value, dict)]
        path, value = draw(st.sampled_from(places))
        change = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        new = draw(VALUES)
        assume(all(clear(inner) for _, inner in parts(new)))
        outer: Any = line
        for key in path[:-1]:
            outer = outer[key]
        if change == "add" and isinstance(value, dict):
            value[draw(st.sampled_from(["trace", "sample", "event", "hex", "more", "words", "value"]))] = new
        elif path and change == "remove":
            del outer[path[-1]]
        elif path:
            outer[path[-1]] = new
    return line


@given(changed_lines())
@tried("many")
def test_the_schema_and_the_reader_take_the_same_lines(line: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(line) == (refusal(line) is None), refusal(line)


@given(DIGITS)
def test_the_schema_and_the_reader_take_the_same_digits(digits: str) -> None:
    line = next(line for line in LINES if line.get("event") == "token_chosen") | {"data": {"hex": digits}}
    assert SCHEMA.is_valid(line) == (refusal(line) is None)


@pytest.mark.parametrize("value", [True, 1.0, "1", [1], None])
def test_one_of_a_few_values_is_of_the_same_type(value: Any) -> None:
    assert take({"trace": 1}, "trace", Literal[1]) == 1
    with pytest.raises(MalformedError):
        take({"trace": value}, "trace", Literal[1])


@given(st.sampled_from(LINES), st.data())
def test_every_key_is_looked_at(line: dict[str, Any], data: st.DataObject) -> None:
    """No key that the format has takes everything, but the parsed JSON of a result."""
    parsed = [("result", "value"), ("result", "calls")]
    keys = [path for path, _ in parts(line) if path and isinstance(path[-1], str) and path[:2] not in parsed]
    *path, last = data.draw(st.sampled_from(keys))
    line = copy.deepcopy(line)
    outer: Any = line
    for key in path:
        outer = outer[key]
    outer[last] = [[1]]
    assert not SCHEMA.is_valid(line)
    assert refusal(line) is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"position": 1.0}, "position: expected a whole number of at least 0, found 1.0"),
        ({"data": "\ud800"}, "data: expected text without lone surrogates"),
        ({"described": {"hex": "ff"}}, "described: expected text, found an object"),
        ({"probability": float("nan")}, "probability: expected a number from 0 to 1, found nan"),
    ],
)
def test_what_only_the_reader_can_tell(change: dict[str, Any], said: str) -> None:
    """JSON Schema calls 1.0 a whole number, and cannot tell of text that is none; NaN is not JSON."""
    line = next(line for line in LINES if line.get("event") == "token_chosen") | change
    assert SCHEMA.is_valid(line)
    assert str(refusal(line)).startswith(said)


def test_keys_that_are_not_known_are_passed_over() -> None:
    for line in LINES:
        more = line | {"more": {"a": [None]}}
        assert SCHEMA.is_valid(more)
        assert refusal(more) is None
