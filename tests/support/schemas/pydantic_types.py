"""Python types that pydantic reads: those that take all texts of their schemas, and those that ask for more."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import uuid
import zoneinfo
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
from typing_extensions import TypeAliasType, TypedDict

T = TypeVar("T")
_UTC = datetime.UTC
UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    GREEN = 'gr"een\n'


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
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Diver(BaseModel):
    pet: Annotated[Cat | Fish, Field(discriminator="kind")]


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
    id: UserId


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


class Hex(BaseModel):
    model_config = ConfigDict(val_json_bytes="hex")
    raw: Annotated[bytes, Field(max_length=3)]


class Trimmed(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    text: Annotated[str, Field(min_length=1, max_length=3)]


class Pair(BaseModel):
    x: int
    y: float


class Recursion(BaseModel):
    either: Recursion | list[Recursion] | None = None


class Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, use_enum_values=True)
    size: Size = Field(Size.SMALL, validate_default=True)
    names: dict[str, Rule] = {}
    at: datetime.time | None
    choices: list[Literal["x"] | Color] = Field(min_length=1)


TAKES_ALL: dict[str, Any] = {
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
    "dict by short names": dict[Annotated[str, Field(min_length=1, max_length=3)], None],
    "dict of bounded size": Annotated[dict[str, bool], Field(min_length=1, max_length=2)],
    "mapping": Mapping[str, float],
    "default dict": collections.defaultdict[str, list[int]],
    "ordered dict": collections.OrderedDict[str, int],
    "counter": collections.Counter[str],
    "bounded integer": Annotated[int, Field(gt=-5, le=1000, multiple_of=5)],
    "bounded number": Annotated[float, Field(gt=0, lt=1)],
    "finite": pydantic.FiniteFloat,
    "positive": pydantic.PositiveInt,
    "short string": Annotated[str, Field(min_length=2, max_length=4)],
    "pattern": Annotated[str, Field(pattern=r"^\d{3}-[A-Z]\w*$")],
    "part of a pattern": Annotated[str, Field(pattern="b+a?")],
    "date": datetime.date,
    "datetime": datetime.datetime,
    "aware datetime": pydantic.AwareDatetime,
    "time": datetime.time,
    "uuid": uuid.UUID,
    "path": pathlib.Path,
    "regex": re.Pattern,
    "secret": pydantic.SecretStr,
    "secret bytes": pydantic.SecretBytes,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "dict by dates": dict[datetime.date, int],
    "set of floats": Annotated[set[float], Field(min_length=2)],
    "lower": Annotated[str, pydantic.StringConstraints(to_lower=True, max_length=3)],
    "dot": Annotated[str, Field(pattern=r"^.$")],
    "spaces": Annotated[str, Field(pattern=r"^\s$")],
    "after validator": Annotated[int, pydantic.AfterValidator(lambda value: value + 1)],
    "json value": pydantic.JsonValue,
    "iterable": collections.abc.Iterable[int],
    "bounded deque": Annotated[collections.deque[int], Field(max_length=2)],
    "secret of bounded length": Annotated[pydantic.SecretStr, Field(min_length=2, max_length=3)],
    "left to right": Annotated[int | str | bool, Field(union_mode="left_to_right")],
    "strict integer": pydantic.StrictInt,
    "strict bool or string": pydantic.StrictBool | pydantic.StrictStr,
    "recursion": Recursion,
    "rule": Rule,
    "big multiples": Annotated[int, Field(multiple_of=7, ge=10**30)],
    "number in a range": Annotated[float, Field(ge=-1.5, le=2.25)],
    "multiples of a half": Annotated[float, Field(multiple_of=0.5, ge=-10, le=10)],
    "address": Address,
    "person": Person,
    "node": Node,
    "owner": Owner,
    "discriminator with a default": Diver,
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
"""Types that take each text that sfgen writes by their schema."""


@dataclass(frozen=True)
class Stricter:
    """A type that asks for more than its schema says.

    Attributes:
        source: The type.
        text: What its schema allows, and it does not take.
        says: What pydantic says of it.
    """

    source: Any
    text: str
    says: str


COMPLETED: dict[str, Stricter] = {
    "narrow number": Stricter(
        Annotated[float, Field(gt=0.1, lt=0.100000001)], "0.100000000000000007", "greater than 0.1"
    ),
    "timedelta": Stricter(datetime.timedelta, '"P5455Y67371090M880294612D"', "999,999,999 days"),
    "timedelta in a range": Stricter(
        Annotated[datetime.timedelta, Field(ge=datetime.timedelta(hours=1))], '"P0D"', "greater than or equal to 1 hour"
    ),
    "uuid1": Stricter(pydantic.UUID1, '""', "valid UUID"),
    "uuid4": Stricter(pydantic.UUID4, '"a"', "valid UUID"),
    "uuid7": Stricter(pydantic.UUID7, '"0"', "valid UUID"),
    "decimal": Stricter(decimal.Decimal, '"abc"', "valid decimal"),
    "decimal with places": Stricter(
        Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)], "0.125", "2 decimal places"
    ),
    "decimal in a range": Stricter(Annotated[decimal.Decimal, Field(ge=0, lt=10)], '"11"', "less than 10"),
    "complex": Stricter(complex, '"i"', "valid complex string"),
    "byte size": Stricter(pydantic.ByteSize, '"3 talks"', "could not interpret byte unit"),
    "base64": Stricter(pydantic.Base64Bytes, '"b"', "Base64 decoding error"),
    "base64 url": Stricter(pydantic.Base64UrlStr, '"b"', "Base64 decoding error"),
    "bytes in base64": Stricter(Base64, '{"raw": "b"}', "valid base64"),
    "bytes of bounded length": Stricter(Annotated[bytes, Field(max_length=2)], '"éé"', "at most 2 bytes"),
    "json": Stricter(pydantic.Json[list[int]], '"["', "Invalid JSON"),
    "url": Stricter(pydantic.AnyUrl, '"p://:"', "valid URL"),
    "http url": Stricter(pydantic.HttpUrl, '"A:"', "URL scheme"),
    "postgres": Stricter(pydantic.PostgresDsn, '" "', "valid URL"),
    "ip network": Stricter(ipaddress.IPv4Network, '"x"', "valid IPv4 network"),
    "ip": Stricter(pydantic.IPvAnyAddress, '"x"', "valid IPv4 or IPv6 address"),
    "ip interface": Stricter(pydantic.networks.IPvAnyInterface, '"x"', "valid IPv4 or IPv6 interface"),
    "past date": Stricter(pydantic.PastDate, '"8267-12-31"', "in the past"),
    "past datetime": Stricter(pydantic.PastDatetime, '"8267-12-31T04:20:08Z"', "in the past"),
    "future datetime": Stricter(pydantic.FutureDatetime, '"0001-01-01T00:00:00Z"', "in the future"),
    "naive datetime": Stricter(pydantic.NaiveDatetime, '"2026-01-01T00:00:00Z"', "timezone info"),
    "date in a range": Stricter(
        Annotated[datetime.date, Field(ge=datetime.date(2020, 1, 1))], '"2019-12-31"', "2020-01-01"
    ),
    "dict by integers": Stricter(dict[int, str], '{"a": ""}', "valid integer"),
    "dict by bool": Stricter(dict[bool, int], '{"a": 0}', "valid boolean"),
    "dict by pattern": Stricter(dict[Annotated[str, Field(pattern="^[a-z]{1,3}$")], int], '{"": 0}', "match pattern"),
    "stripped": Stricter(
        Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)], '" "', "at least 1 character"
    ),
    "no word characters": Stricter(Annotated[str, Field(pattern=r"^\W\D\S$")], '"ᰲQ)"', "match pattern"),
    "boundary": Stricter(Annotated[str, Field(pattern=r"^.\b.$")], '"݃a"', "match pattern"),
    "number next to a bound": Stricter(Annotated[float, Field(lt=1)], "0.99999999999999999999", "less than 1"),
    "few digits": Stricter(Annotated[decimal.Decimal, Field(max_digits=3)], "12345", "3 digits"),
}
"""Types of which sfgen says what pydantic's schemas leave out; the texts are such that pydantic refuses."""

DOCUMENTED: dict[str, Any] = {
    **{
        name: getattr(pydantic, name)
        for name in [
            "AnyUrl",
            "AnyHttpUrl",
            "FileUrl",
            "HttpUrl",
            "FtpUrl",
            "WebsocketUrl",
            "AnyWebsocketUrl",
            "IPvAnyAddress",
            "IPvAnyInterface",
            "IPvAnyNetwork",
            "PostgresDsn",
            "CockroachDsn",
            "AmqpDsn",
            "RedisDsn",
            "MongoDsn",
            "KafkaDsn",
            "NatsDsn",
            "MySQLDsn",
            "MariaDBDsn",
            "ClickHouseDsn",
            "SnowflakeDsn",
            "UUID1",
            "UUID3",
            "UUID4",
            "UUID5",
            "UUID6",
            "UUID7",
            "UUID8",
            "Json",
            "SecretStr",
            "SecretBytes",
            "StrictBytes",
            "ByteSize",
            "PastDate",
            "FutureDate",
            "PastDatetime",
            "FutureDatetime",
            "AwareDatetime",
            "NaiveDatetime",
            "Base64Bytes",
            "Base64Str",
            "Base64UrlBytes",
            "Base64UrlStr",
            "PositiveFloat",
            "NegativeFloat",
            "NonNegativeFloat",
            "NonPositiveFloat",
            "PositiveInt",
            "NegativeInt",
            "StrictInt",
            "StrictFloat",
            "StrictStr",
            "StrictBool",
            "FiniteFloat",
            "JsonValue",
            "PaymentCardNumber",
            "EmailStr",
            "NameEmail",
        ]
    },
    "int": int,
    "float": float,
    "str": str,
    "bytes": bytes,
    "decimal": decimal.Decimal,
    "fraction": fractions.Fraction,
    "complex": complex,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "uuid": uuid.UUID,
    "path": pathlib.Path,
    "zone": zoneinfo.ZoneInfo,
    "pattern": re.Pattern,
    **{
        name: getattr(ipaddress, name)
        for name in ["IPv4Address", "IPv6Address", "IPv4Interface", "IPv6Interface", "IPv4Network", "IPv6Network"]
    },
    "9 digits, 3 places": Annotated[decimal.Decimal, Field(max_digits=9, decimal_places=3)],
    "2 digits, 2 places": Annotated[decimal.Decimal, Field(max_digits=2, decimal_places=2)],
    "2 digits, 3 places, bound": Annotated[decimal.Decimal, Field(ge=0, max_digits=2, decimal_places=3)],
    "2 places": Annotated[decimal.Decimal, Field(decimal_places=2)],
    "digits, places, bound": Annotated[decimal.Decimal, Field(ge=0, max_digits=6, decimal_places=2)],
    "multiples": Annotated[decimal.Decimal, annotated_types.MultipleOf(decimal.Decimal("0.05")), Field(ge=0, le=100)],
    "decimals in a range": Annotated[decimal.Decimal, Field(gt=decimal.Decimal("0.1"), lt=decimal.Decimal("0.3"))],
    "list of decimals": list[decimal.Decimal | None],
    "moments in a range": Annotated[
        datetime.datetime,
        Field(ge=datetime.datetime(2020, 1, 1, tzinfo=_UTC), lt=datetime.datetime(2020, 3, 1, 5, tzinfo=_UTC)),
    ],
    "naive moments in a range": Annotated[
        pydantic.NaiveDatetime,
        Field(ge=datetime.datetime(2020, 1, 1, 5, 5, 5, 7), lt=datetime.datetime(2020, 2, 3)),
    ],
    "times in a range": Annotated[datetime.time, Field(ge=datetime.time(8), lt=datetime.time(17, 30))],
    "times with a zone": Annotated[datetime.time, Field(gt=datetime.time(8, tzinfo=_UTC))],
    "durations around 0": Annotated[
        datetime.timedelta, Field(ge=datetime.timedelta(hours=-2), le=datetime.timedelta(minutes=5))
    ],
    "long durations": Annotated[datetime.timedelta, Field(gt=datetime.timedelta(days=80_000))],
    "4 to 6 bytes": Annotated[bytes, Field(min_length=4, max_length=6)],
    "bytes as hex": Hex,
    "floats above": Annotated[float, Field(gt=1.5, lt=1.5000001)],
    "any case": Annotated[str, Field(pattern=re.compile("^ab$", re.IGNORECASE))],
    "ascii": Annotated[str, pydantic.StringConstraints(ascii_only=True)],
    "stripped by the class": Trimmed,
    "json object": pydantic.Json[dict[str, int]],
    "json of a class": pydantic.Json[Pair],
    "dict by floats": dict[float, str],
    "dict by decimals": dict[decimal.Decimal, int],
    "dict by a range": dict[Annotated[int, Field(ge=-3, le=12)], int],
    "ordered dict by integers": collections.OrderedDict[int, str],
}
"""The types of pydantic's documentation that texts can be made for, and constraints on them."""

STRICTER: dict[str, Stricter] = {
    "set of mixed": Stricter(Annotated[set[int | bool | str], Field(min_length=2)], "[true, 1]", "at least 2 items"),
    "cents": Stricter(Annotated[float, Field(ge=0, multiple_of=0.01)], "86666666.6", "multiple of 0.01"),
    "file path": Stricter(pydantic.FilePath, '"no such file"', "does not point to a file"),
    "enum of tuples": Stricter(enum.Enum("Pairs", {"A": (1, 2), "B": (3, 4)}), "[1, 2]", "(1, 2) or (3, 4)"),
    "before validator": Stricter(
        Annotated[int, pydantic.BeforeValidator(int, json_schema_input_type=str)], '"x"', "invalid literal"
    ),
    "predicate": Stricter(Annotated[int, annotated_types.Predicate(lambda value: value % 2 == 0)], "1", "Predicate"),
    "alias paths": Stricter(Paths, '{"first": 0}', "names.0: Field required"),
    "checked": Stricter(Checked, '{"low": 1, "high": 0}', "low is above high"),
    "set of dates": Stricter(
        Annotated[set[datetime.datetime], Field(min_length=2)],
        '["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"]',
        "at least 2 items",
    ),
}
