"""Python types that pydantic reads: those that take every text of their schema, and those that are stricter."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypeVar,
    Union,
)

import annotated_types
import pydantic
from pydantic import BaseModel, ConfigDict, Discriminator, Field, RootModel, Tag, TypeAdapter
from pydantic.alias_generators import to_camel
from typing_extensions import ReadOnly, TypeAliasType, TypedDict

T = TypeVar("T")
UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    GREEN = 'gr"ü\n'


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 10


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"
    NONE = None
    HALF = 0.5


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(min_length=1, max_length=12, description="with the number")
    zip: str = Field(pattern=r"^[0-9]{5}$")
    country: Literal["DE", "FR"] | None = None


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0, lt=150)]
    address: Address
    friends: list[Person] = []
    color: Color = Color.RED


class Node(BaseModel):
    value: int
    children: list[Node] = Field(default_factory=list, max_length=2)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=1, le=9)


class Dog(BaseModel):
    kind: Literal["dog", "hound"]
    barks: bool


class Fish(BaseModel):
    kind: Literal["fish"] = "fish"
    depth: float = Field(gt=0, le=1)


class Owner(BaseModel):
    pet: Annotated[Cat | Dog | Fish, Field(discriminator="kind")]


def _kind(value: Any) -> str:
    return "old" if isinstance(value, dict) and "lives" in value else "young"


class Tagged(BaseModel):
    pet: Annotated[Annotated[Cat, Tag("old")] | Annotated[Dog, Tag("young")], Discriminator(_kind)]


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    first: int = Field(alias="firstName")
    second: int = Field(validation_alias="secondName", serialization_alias="other")
    third: int = Field(1, validation_alias=pydantic.AliasChoices("thirdName", "third"))


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    given_name: str
    of_age: bool = False


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    first: int = Field(alias="firstName")


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", title="none else")
    a: int = 1
    b: str | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)
    a: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    n: int
    x: float
    b: bool
    s: str
    when: datetime.date
    at: datetime.datetime
    u: uuid.UUID
    color: Color
    pair: tuple[int, str]
    some: set[str]
    raw: bytes


class Defaults(BaseModel):
    limit: float = float("inf")
    nothing: float = Field(float("nan"), examples=[float("inf"), 1.0])
    default: dict[str, float] = {"default": float("inf")}
    day: datetime.date = datetime.date(2026, 1, 1)
    price: float = Field(1, le=9.99, multiple_of=0.01)


class Box(BaseModel, Generic[T]):
    content: T
    more: list[T] = []


class Numbers(RootModel[list[int]]):
    pass


class Computed(BaseModel):
    width: int
    _hidden: int = 0

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.width**2


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Movie(TypedDict):
    title: Required[str]
    year: NotRequired[int]
    id: ReadOnly[UserId]


class Loose(TypedDict, total=False):
    a: int
    b: list[str]


@dataclass
class Track:
    name: str
    seconds: float = 0.0
    tags: list[str] = field(default_factory=list)
    loudness: int = field(default=0, kw_only=True)


@pydantic.dataclasses.dataclass
class Album:
    tracks: list[Track]
    label: str | None = None
    secret: int = Field(3, init=False)


Tree = TypeAliasType("Tree", "dict[str, Tree] | int")


class Paths(BaseModel):
    first: int = Field(validation_alias=pydantic.AliasPath("names", 0))
    second: int = Field(1, validation_alias=pydantic.AliasChoices(pydantic.AliasPath("a", "b"), "c"))


class Checked(BaseModel):
    low: int
    high: int

    @pydantic.model_validator(mode="after")
    def in_order(self) -> Checked:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Base64(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    raw: bytes


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    a: int = 1


class Frozens(BaseModel):
    some: set[Frozen] = Field(min_length=2)


class Recursion(BaseModel):
    either: Recursion | list[Recursion] | None = None


class Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, use_enum_values=True)
    size: Size = Field(Size.SMALL, validate_default=True)
    names: dict[str, Rule] = {}
    at: datetime.time | None
    choices: list[Literal["x"] | Color] = Field(min_length=1)


TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "bytes": bytes,
    "None": TypeAdapter(None),
    "Any": Any,
    "object": object,
    "optional": Optional[int],  # noqa: UP045
    "union": Union[int, str, None],  # noqa: UP007
    "union of models": Cat | Dog,
    "literal": Literal["a", 1, True, None, 'é"\\'],
    "enum": Color,
    "int enum": Size,
    "mixed enum": Mixed,
    "flag": Rights,
    "new type": UserId,
    "alias": Tree,
    "adapter": TypeAdapter(list[int]),
    "list": list,
    "list of models": list[Address],
    "list of bounded length": Annotated[list[int], annotated_types.Len(1, 3)],
    "tuple": tuple[int, str, bool],
    "tuple of any length": tuple[int, ...],
    "empty tuple": tuple[()],
    "named tuple": Point,
    "set": set[str],
    "set of integers": Annotated[set[int], Field(min_length=2, max_length=3)],
    "frozenset": frozenset[Literal["a", "b", "c"]],
    "deque": collections.deque[int],
    "sequence": Sequence[int],
    "dict": dict,
    "dict of integers": dict[str, int],
    "dict by literals": dict[Literal["a", "b"], int],
    "dict by an enum": dict[Color, int],
    "dict by pattern": dict[Annotated[str, Field(pattern="^[a-z]{1,3}$")], int],
    "dict by short names": dict[Annotated[str, Field(min_length=1, max_length=3)], None],
    "dict of bounded size": Annotated[dict[str, bool], Field(min_length=1, max_length=2)],
    "mapping": Mapping[str, float],
    "default dict": collections.defaultdict[str, list[int]],
    "ordered dict": collections.OrderedDict[str, int],
    "counter": collections.Counter[str],
    "bounded integer": Annotated[int, Field(gt=-5, le=1000, multiple_of=5)],
    "bounded number": Annotated[float, Field(gt=0, lt=1)],
    "narrow number": Annotated[float, Field(gt=0.1, lt=0.100000001)],
    "cents": Annotated[float, Field(ge=0, multiple_of=0.01)],
    "finite": pydantic.FiniteFloat,
    "positive": pydantic.PositiveInt,
    "short string": Annotated[str, Field(min_length=2, max_length=4)],
    "pattern": Annotated[str, Field(pattern=r"^\d{3}-[A-Z]\w*$")],
    "part of a pattern": Annotated[str, Field(pattern="b+a?")],
    "date": datetime.date,
    "datetime": datetime.datetime,
    "aware datetime": pydantic.AwareDatetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "uuid": uuid.UUID,
    "uuid1": pydantic.UUID1,
    "uuid4": pydantic.UUID4,
    "uuid7": pydantic.UUID7,
    "decimal": decimal.Decimal,
    "decimal with places": Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)],
    "decimal in a range": Annotated[decimal.Decimal, Field(ge=0, lt=10)],
    "complex": complex,
    "path": pathlib.Path,
    "file path": pydantic.FilePath,
    "regex": re.Pattern,
    "secret": pydantic.SecretStr,
    "secret bytes": pydantic.SecretBytes,
    "byte size": pydantic.ByteSize,
    "base64": pydantic.Base64Bytes,
    "base64 url": pydantic.Base64UrlStr,
    "json": pydantic.Json[list[int]],
    "url": pydantic.AnyUrl,
    "http url": pydantic.HttpUrl,
    "postgres": pydantic.PostgresDsn,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "ip network": ipaddress.IPv4Network,
    "ip": pydantic.IPvAnyAddress,
    "past date": pydantic.PastDate,
    "future datetime": pydantic.FutureDatetime,
    "naive datetime": pydantic.NaiveDatetime,
    "dict by integers": dict[int, str],
    "dict by dates": dict[datetime.date, int],
    "dict by bool": dict[bool, int],
    "set of mixed": Annotated[set[int | bool | str], Field(min_length=2)],
    "set of dates": Annotated[set[datetime.datetime], Field(min_length=2)],
    "set of floats": Annotated[set[float], Field(min_length=2)],
    "stripped": Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)],
    "lower": Annotated[str, pydantic.StringConstraints(to_lower=True, max_length=3)],
    "no word characters": Annotated[str, Field(pattern=r"^\W\D\S$")],
    "boundary": Annotated[str, Field(pattern=r"^.\b.$")],
    "dot": Annotated[str, Field(pattern=r"^.$")],
    "spaces": Annotated[str, Field(pattern=r"^\s$")],
    "enum of tuples": enum.Enum("Pairs", {"A": (1, 2), "B": (3, 4)}),
    "after validator": Annotated[int, pydantic.AfterValidator(lambda value: value + 1)],
    "before validator": Annotated[int, pydantic.BeforeValidator(int, json_schema_input_type=str)],
    "date in a range": Annotated[datetime.date, Field(ge=datetime.date(2020, 1, 1))],
    "predicate": Annotated[int, annotated_types.Predicate(lambda value: value % 2 == 0)],
    "bytes of bounded length": Annotated[bytes, Field(max_length=2)],
    "bytes in base64": Base64,
    "json value": pydantic.JsonValue,
    "iterable": collections.abc.Iterable[int],
    "bounded deque": Annotated[collections.deque[int], Field(max_length=2)],
    "secret of bounded length": Annotated[pydantic.SecretStr, Field(min_length=2, max_length=3)],
    "left to right": Annotated[int | str | bool, Field(union_mode="left_to_right")],
    "past datetime": pydantic.PastDatetime,
    "mac address": pydantic.networks.IPvAnyInterface,
    "strict integer": pydantic.StrictInt,
    "strict bool or string": pydantic.StrictBool | pydantic.StrictStr,
    "set of models": Frozens,
    "alias paths": Paths,
    "checked": Checked,
    "recursion": Recursion,
    "rule": Rule,
    "big multiples": Annotated[int, Field(multiple_of=7, ge=10**30)],
    "number in a range": Annotated[float, Field(ge=-1.5, le=2.25)],
    "multiples of a half": Annotated[float, Field(multiple_of=0.5, ge=-10, le=10)],
    "timedelta in a range": Annotated[datetime.timedelta, Field(ge=datetime.timedelta(hours=1))],
    "address": Address,
    "person": Person,
    "node": Node,
    "owner": Owner,
    "tagged": Tagged,
    "aliased": Aliased,
    "camel": Camel,
    "by name": ByName,
    "closed": Closed,
    "open": Open,
    "strict": Strict,
    "defaults": Defaults,
    "generic": Box[Address],
    "generic of int": Box[int],
    "root model": Numbers,
    "computed": Computed,
    "typed dict": Movie,
    "loose typed dict": Loose,
    "dataclass": Track,
    "pydantic dataclass": Album,
}
