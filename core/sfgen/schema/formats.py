"""The formats of JSON Schema as automata over decoded texts.

Each automaton is a subset of what the format's RFC allows and of what the package jsonschema, asked with its extra
``format-nongpl``, accepts; and wide enough for the values that people have. Where a format has no bound, or one that
an automaton cannot keep, it gets one here:

* ``date-time``, ``time``: fractions of up to 9 digits; capital T and Z; no leap seconds. Years 0001 to 9999.
* ``duration``: numbers of up to 9 digits, no fractions (as RFC 3339, appendix A).
* ``hostname``: labels of up to 63 characters, each of which with its dot is counted in blocks of 16, 15 blocks in all:
  up to 15 labels of 15 characters, or 3 of 63 and 3 of 15; no dot at the end. ``idn-hostname``: the same in ASCII,
  without what stands for a label in other scripts.
* ``email``: an atom with dots of up to 64 characters, and a host name of 11 blocks: no quoted names, no addresses in
  brackets. ``idn-email``: the part before the @ may have letters and signs of all scripts, up to 64 bytes.
* ``uri``, ``uri-reference``, ``iri``, ``iri-reference``: ports of up to 5 digits. In brackets stand IPv6 addresses
  alone, in IRIs nothing: jsonschema's reader takes others for them than the RFC.
* ``relative-json-pointer``: no digit behind a zero (jsonschema refuses 100), up to 9 digits.
* ``uri-template``: names without percent escapes, prefixes of up to 3 digits, as jsonschema has them.
* ``regex``: what both ECMA-262 and Python's ``re`` compile, with groups at most 2 deep: literals, escapes of signs and
  of ``d D w W s S n r t f v``, the dot, classes of letters, digits, escapes and plain ranges, quantifiers, anchors at
  the ends of a branch.
* Those of pydantic, of which jsonschema asks nothing: ``uuid1`` to ``uuid8``, addresses, interfaces and networks (with
  prefixes of whole octets or groups), ``base64``, ``base64url``, ``fraction``, ``multi-host-uri`` (host names without
  signs that the standard of URLs reads otherwise), ``name-email``, ``zoneinfo``; ``binary``, ``password`` and ``path``
  say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from sfgen.automata import Dfa
from sfgen.errors import UsageError
from sfgen.schema import format_patterns as patterns
from sfgen.schema.host_names import host_names
from sfgen.schema.keywords import Draft

_HOST_BLOCKS, _EMAIL_BLOCKS = 15, 11
_LOCAL_PART = 64  # bytes of what stands before the @
_GROUPS = 2  # inside one another


def _of(pattern: str) -> Callable[[], Dfa]:
    return lambda: Dfa.from_regex(pattern)


def _email(more: str) -> Dfa:
    """Addresses whose first part may have more characters than those of ASCII, written as in a class."""
    atom = f"[{more}{patterns.ATOM_SIGNS}]+"
    local = Dfa.from_regex(rf"{atom}(?:\.{atom})*") & _up_to(_LOCAL_PART)
    return local + Dfa.from_choices(["@"]) + host_names(_EMAIL_BLOCKS)


def _up_to(length: int) -> Dfa:
    """Up to a number of bytes, whatever they are."""
    following = np.append(np.arange(1, length + 1), -1)
    return Dfa(following[:, None], np.zeros(256, dtype=np.uint8), np.ones(length + 1, dtype=np.bool_))


def _time_zones() -> Dfa:
    from zoneinfo import available_timezones

    return Dfa.from_choices(sorted(available_timezones() or {"UTC"}))


FORMATS: Mapping[str, Callable[[], Dfa]] = MappingProxyType(
    {
        "date-time": _of(f"{patterns.YEAR_ZERO}{patterns.DATE}T{patterns.TIME}"),
        "date": _of(f"{patterns.YEAR_ZERO}{patterns.DATE}"),
        "time": _of(patterns.TIME),
        "duration": _of(patterns.DURATION),
        "email": lambda: _email(""),
        "idn-email": lambda: _email(patterns.BEYOND_ASCII),
        "hostname": lambda: host_names(_HOST_BLOCKS),
        "idn-hostname": lambda: host_names(_HOST_BLOCKS, encoded=False),
        "ipv4": _of(patterns.IPV4),
        "ipv6": _of(patterns.IPV6),
        "uri": _of(patterns.URI),
        "uri-reference": _of(f"{patterns.URI}|{patterns.RELATIVE}"),
        "iri": _of(patterns.IRI),
        "iri-reference": _of(f"{patterns.IRI}|{patterns.RELATIVE_IRI}"),
        "uri-template": _of(patterns.URI_TEMPLATE),
        "uuid": _of(patterns.UUID),
        "json-pointer": _of(patterns.JSON_POINTER),
        "relative-json-pointer": _of(patterns.RELATIVE_POINTER),
        "regex": lambda: Dfa.from_regex(patterns.pattern_of_patterns(_GROUPS)),
        # Those of pydantic.
        **{f"uuid{version}": _of(patterns.uuid_of(version)) for version in range(1, 9)},
        "ipv4interface": _of(patterns.IPV4_INTERFACE),
        "ipv6interface": _of(patterns.IPV6_INTERFACE),
        "ipvanyinterface": _of(f"{patterns.IPV4_INTERFACE}|{patterns.IPV6_INTERFACE}"),
        "ipv4network": _of(patterns.IPV4_NETWORK),
        "ipv6network": _of(patterns.IPV6_NETWORK),
        "ipvanynetwork": _of(f"{patterns.IPV4_NETWORK}|{patterns.IPV6_NETWORK}"),
        "ipvanyaddress": _of(f"{patterns.IPV4}|{patterns.IPV6}"),
        "base64": _of(patterns.BASE64),
        "base64url": _of(patterns.BASE64_URL),
        "fraction": _of(patterns.FRACTION),
        "multi-host-uri": _of(patterns.MULTI_HOST_URI),
        "name-email": _of(patterns.NAME_EMAIL),
        "zoneinfo": _time_zones,
        **dict.fromkeys(("binary", "password", "path"), _of("(?s:.*)")),
    }
)
"""The formats that are known, and what makes the decoded automaton of each."""

FORMATS_ELSEWHERE = {"url": "uri", "guid": "uuid", "ip": "ipv4", "timestamp": "date-time", "domain": "hostname"}
"""Words for formats that people have elsewhere."""

_AT_MOST = {"uuid": r"[\s\S]{8}-[\s\S]{4}-[\s\S]{4}-[\s\S]{4}-[\s\S]*"}  # jsonschema takes 7_7 for hexadecimal

CHECKED_SINCE: Mapping[str, Draft] = MappingProxyType(
    {"date": Draft.DRAFT_07, "ipv4": Draft.DRAFT_04, "uuid": Draft.DRAFT_2019_09}
)
"""The formats that :func:`at_most` knows, and the first draft in which the package jsonschema asks for them."""


@cache
def at_most(name: str) -> Dfa:
    """Return the decoded automaton of all that jsonschema takes for a format.

    It may accept other texts, too.

    Args:
        name: One of :data:`CHECKED_SINCE`. Of ``date`` and ``ipv4`` they are the texts of the format.
    """
    return Dfa.from_regex(_AT_MOST[name]) if name in _AT_MOST else format_texts(name)


@cache
def format_texts(name: str) -> Dfa:
    """Return the decoded automaton of a format's texts.

    Raises:
        UsageError: The format is not known.

    >>> format_texts("date").accepts("2024-02-29"), format_texts("date").accepts("2023-02-29")
    (True, False)
    """
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", hint=f"Known ones: {', '.join(FORMATS)}.")
    return FORMATS[name]()
