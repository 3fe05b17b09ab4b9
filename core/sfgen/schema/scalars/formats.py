"""The formats of JSON Schema: patterns from the grammars of their RFCs, and automata of decoded texts.

Each automaton accepts only texts that both the format's RFC and the package jsonschema with its extra
``format-nongpl`` allow, and enough of them for practical values. If a format has no bound, or a bound that an automaton
cannot check, it gets one here:

* ``date-time``, ``time``: fractions of up to 9 digits; capital T and Z; no leap seconds. Years 0001 to 9999.
* ``duration``: numbers of up to 9 digits, no fractions (as RFC 3339, appendix A).
* ``hostname``: labels of up to 63 characters. A label with its dot fills blocks of 16 characters, and a name has 15
  blocks: up to 15 labels of 15 characters, or 3 of 63 and 3 of 15. There is no dot at the end. ``idn-hostname``: the
  same in ASCII, without labels that encode other scripts.
* ``email``: an atom with dots of up to 64 characters, and a host name of 11 blocks: no quoted names, no addresses in
  brackets. ``idn-email``: the part before the @ may have letters and signs of all scripts, up to 64 bytes.
* ``uri``, ``uri-reference``, ``iri``, ``iri-reference``: ports of up to 5 digits. Brackets contain IPv6 addresses only,
  and IRIs have no brackets, since jsonschema's parser and the RFC disagree on them.
* ``relative-json-pointer``: no digit after a zero (jsonschema refuses 100), up to 9 digits.
* ``uri-template``: names without percent escapes, prefixes of up to 3 digits, as in jsonschema.
* ``regex``: patterns that both ECMA-262 and Python's ``re`` compile, with groups at most 2 deep: literals, escapes of
  signs and of ``d D w W s S n r t f v``, the dot, classes of letters, digits, escapes and plain ranges, quantifiers,
  anchors at the ends of a branch.
* Formats of pydantic, which jsonschema does not check: ``uuid1`` to ``uuid8``, addresses, interfaces and networks (with
  prefixes of whole octets or groups), ``base64``, ``base64url``, ``fraction``, ``multi-host-uri`` (host names without
  signs that the URL standard rewrites), ``name-email``, ``zoneinfo``; ``binary``, ``password`` and ``path`` allow any
  text.

Host names (RFC 1123) have up to 253 characters and their labels up to 63. An automaton that counted both would have a
state for each pair of counts; so the length of a name is counted in blocks, and each label with its dot fills one to
four of them.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import UsageError

_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
TIME = rf"{_CLOCK}:[0-5][0-9](?:\.[0-9]{{1,9}})?(?:Z|[+-]{_CLOCK})"
YEAR_ZERO = "(?!0000)"
_NUMBER = "[0-9]{1,9}"
_DURATION_TIME = f"T(?:{_NUMBER}H(?:{_NUMBER}M(?:{_NUMBER}S)?)?|{_NUMBER}M(?:{_NUMBER}S)?|{_NUMBER}S)"
_DURATION_DATE = f"(?:{_NUMBER}Y(?:{_NUMBER}M(?:{_NUMBER}D)?)?|{_NUMBER}M(?:{_NUMBER}D)?|{_NUMBER}D)"
DURATION = f"P(?:{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME}|{_NUMBER}W)"


# ---- addresses: RFC 791, 4291, 5954 ------------------------------------------------------------------------------

_OCTET = "(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_H16 = "[0-9A-Fa-f]{1,4}"
_LAST_32 = f"(?:{_H16}:{_H16}|{IPV4})"
IPV6 = "(?:" + "|".join(
    [
        f"(?:{_H16}:){{6}}{_LAST_32}",
        *(f"(?:(?:{_H16}:){{0,{4 - more}}}{_H16})?::(?:{_H16}:){{{more}}}{_LAST_32}" for more in range(5)),
        f"::(?:{_H16}:){{5}}{_LAST_32}",
        f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        f"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    ]
) + ")"  # fmt: skip


# ---- RFC 3986 and 3987 ----------------------------------------------------------------------------------------------

BEYOND_ASCII = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
_PRIVATE = r"\ue000-\uf8ff"


def _reference(more: str, private: str, literal: str, port: str = "{0,5}") -> tuple[str, str]:
    """Return the patterns of a URI and of a relative reference."""

    def some(signs: str) -> str:
        return f"(?:[A-Za-z0-9._~!$&'()*+,;={signs}{more}-]|%[0-9A-Fa-f]{{2}})"

    segment = some(":@")
    authority = f"(?:{some(':')}*@)?(?:{literal}{some('')}*)(?::[0-9]{port})?"
    path = f"(?:/{segment}*)*"
    query_and_fragment = rf"(?:\?{some(':@/?' + private)}*)?(?:#{some(':@/?')}*)?"
    rooted = f"//{authority}{path}|/(?:{segment}+{path})?"
    absolute = f"[A-Za-z][A-Za-z0-9+.-]*:(?:{rooted}|{segment}+{path}|){query_and_fragment}"
    relative = f"(?:{rooted}|{some('@')}+{path}|){query_and_fragment}"
    return absolute, relative


URI, RELATIVE = _reference("", "", rf"\[{IPV6}\]|")
IRI, RELATIVE_IRI = _reference(BEYOND_ASCII, _PRIVATE, "")
IRI_OF_ANY_PORT, _RELATIVE_OF_ANY_PORT = _reference(BEYOND_ASCII, _PRIVATE, "", "*")
IRI_REFERENCE_OF_ANY_PORT = f"{IRI_OF_ANY_PORT}|{_RELATIVE_OF_ANY_PORT}"


# ---- the others ---------------------------------------------------------------------------------------------------

UUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
JSON_POINTER = "(?s:(?:/(?:[^/~]|~[01])*)*)"  # RFC 6901
RELATIVE_POINTER = f"(?:0|[1-9]{{1,8}}0?)(?:#|{JSON_POINTER})"
_NAME = r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*"
_VARIABLE = rf"{_NAME}(?::[1-9][0-9]{{0,2}}|\*)?"
URI_TEMPLATE = (  # RFC 6570
    rf"(?:[!#$&()*+,./0-9:;=?@A-Z\[\]_a-z~{BEYOND_ASCII}{_PRIVATE}-]|%[0-9A-Fa-f]{{2}}"
    rf"|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
)


# ---- formats of pydantic ------------------------------------------------------------------------------------------


def _uuid_of(version: int) -> str:
    """Write the pattern of the UUIDs of a version (RFC 9562)."""
    return f"[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-{version}[0-9A-Fa-f]{{3}}-[89ABab][0-9A-Fa-f]{{3}}-[0-9A-Fa-f]{{12}}"


_UP_TO_128 = "(?:[0-9]|[1-9][0-9]|1[01][0-9]|12[0-8])"
IPV4_INTERFACE = f"{IPV4}(?:/(?:[0-9]|[12][0-9]|3[0-2]))?"
IPV6_INTERFACE = f"{IPV6}(?:/{_UP_TO_128})?"


# All bits of a network after its prefix are zero; prefixes have whole octets, or whole groups.
IPV4_NETWORK = rf"{_OCTET}(?:\.0\.0\.0/8|\.{_OCTET}(?:\.0\.0/16|\.{_OCTET}(?:\.0/24|\.{_OCTET}(?:/32)?)))|0\.0\.0\.0/0"
IPV6_NETWORK = f"{_H16}::/16|{_H16}:{_H16}::/32|{_H16}:{_H16}:{_H16}::/48|{IPV6}(?:/128)?|::/0"


def _base64(more: str) -> str:
    """Write the pattern of base64 with two signs in addition to letters and digits (RFC 4648)."""
    sign = f"[A-Za-z0-9{more}]"
    return f"(?:{sign}{{4}})*(?:{sign}[AQgw]==|{sign}{{2}}[AEIMQUYcgkosw048]=)?"


BASE64, BASE64_URL = _base64("+/"), _base64("_-")


def _base64_of_ascii() -> str:
    """Write the pattern of base64 of ASCII, without the signs in which the two alphabets differ."""
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    def some(zeros: int) -> str:
        return f"[{''.join(sign for value, sign in enumerate(signs) if not value & zeros)}]"

    first, second, third, fourth = some(0b100000), some(0b001000), some(0b000010), some(0)
    ends = f"{first}{some(0b001111)}==|{first}{second}{some(0b000011)}="
    return f"(?:{first}{second}{third}{fourth})*(?:{ends})?"


BASE64_OF_ASCII = _base64_of_ascii()


# Host names that the URL standard does not rewrite: no punycode, and no number at the end.
_LABEL = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_PORT = "(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?"
_HOST = rf"(?:(?:{_LABEL}\.)*[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*|{IPV4}){_PORT}"
_PLAIN = "[A-Za-z0-9._~-]"
_OF_PATH = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_AFTER_HOST = rf"(?:/{_OF_PATH}*)*(?:\?(?:{_OF_PATH}|[/?])*)?(?:#(?:{_OF_PATH}|[/?])*)?"
_USER = f"(?:{_PLAIN}+(?::{_PLAIN}+)?@)?"
URL_AFTER_SCHEME = f"{_USER}{_HOST}{_AFTER_HOST}"
MULTI_HOST_URI = f"[a-z][a-z0-9+.-]{{1,30}}://{_USER}{_HOST}(?:,{_HOST})*{_AFTER_HOST}"
FRACTION = "-?[0-9]{1,15}(?:/[1-9][0-9]{0,14})?"


# Addresses that the package email-validator accepts: without names reserved by RFC 6761, all longer than three letters.
_NAME_OF_HOST = r"(?:[A-Za-z0-9]{1,24}(?:-[A-Za-z0-9]{1,24})?\.){1,3}"
_LAST_NAME = "(?:[a-z]{2,3}|info|name|shop|store|site|tech|cloud|email|online|travel|museum|agency)"
MAILBOX = rf"[A-Za-z0-9_]{{1,20}}(?:[.+-][A-Za-z0-9_]{{1,20}}){{0,2}}@{_NAME_OF_HOST}{_LAST_NAME}"
NAME_EMAIL = f"[A-Z][a-z]{{0,30}}(?: [A-Z][a-z]{{0,30}}){{0,3}} <{MAILBOX}>"
_NOTHING = "(?!)"


def between(low: str, high: str) -> str:
    """Write the pattern of the texts of one length between two others, in the order of texts.

    >>> between("07", "12")
    '(?:0[7-9]|1[0-2])'
    """
    if low >= high:
        return re.escape(low) if low == high else _NOTHING
    if low[0] == high[0]:
        return re.escape(low[0]) + between(low[1:], high[1:])
    least, most = re.sub("[0-9]", "0", low[1:]), re.sub("[0-9]", "9", low[1:])
    if low[1:] == least and high[1:] == most:
        return f"[{low[0]}-{high[0]}]" + re.sub("[0-9]", "[0-9]", re.escape(least))
    first, last = int(low[0]), int(high[0])
    parts = [low[0] + between(low[1:], most)]
    if last - first > 1:
        parts.append(between(f"{first + 1}{least}", f"{last - 1}{most}"))
    parts.append(high[0] + between(least, high[1:]))
    return f"(?:{'|'.join(parts)})"


def whole_numbers(least: int, most: int) -> str:
    """Write the pattern of whole numbers in a range of 0 or more, without leading zeros.

    >>> whole_numbers(8, 120)
    '(?:[8-9]|[1-9][0-9]|1(?:0[0-9]|1[0-9]|20))'
    """
    if least > most:
        return _NOTHING
    lengths = range(len(str(least)), len(str(most)) + 1)
    ranges = [(max(least, 10 ** (n - 1) if n > 1 else 0), min(most, 10**n - 1)) for n in lengths]
    return f"(?:{'|'.join(between(str(low), str(high)) for low, high in ranges)})"


ATOM_SIGNS = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"


def _pattern_of_patterns(depth: int) -> str:
    """Write a pattern of patterns whose groups are nested to a depth."""
    escape = r"\\[][\\^$.|?*+(){}/dDwWsSnrtfv]"
    # Inside a class a hyphen would make a range; &, ~, | and [ have a meaning in newer dialects.
    member = r"(?:[^][\\^&~|-]|\\[][\\^$.|?*+(){}/dDwWsSnrtfv-]|[a-z]-z|[A-Z]-Z|[0-9]-9|a-[a-z]|A-[A-Z]|0-[0-9])"
    quantifier = _quantifier()
    single = rf"[^][\\^$.|?*+(){{}}]|{escape}|\.|\[\^?{member}+\]"
    pattern = ""
    for level in range(depth + 1):
        group = rf"|\((?:\?:)?{pattern}\)" if level else ""
        branch = rf"\^?(?:(?:{single}{group})(?:{quantifier})?)*\$?"
        pattern = rf"{branch}(?:\|{branch})*"
    return f"(?s:{pattern})"


def _quantifier() -> str:
    """Write the pattern of quantifiers whose minimum is not above their maximum."""
    one_digit = "|".join(f"{least},[{least}-9]" for least in range(10))
    return rf"(?:[*+?]|\{{(?:[0-9]{{1,3}},?|{one_digit}|[0-9],[1-9][0-9]{{1,2}}|[1-9][0-9],[1-9][0-9]{{2}})\}})\??"


_HOST_BLOCKS, _EMAIL_BLOCKS = 15, 11
_LOCAL_PART = 64  # bytes before the @
_GROUPS = 2  # nested groups


# ---- automata --------------------------------------------------------------------------------------------------------


def _of(pattern: str) -> Callable[[], Dfa]:
    return lambda: Dfa.from_regex(pattern)


def _email(more: str) -> Dfa:
    """Build the automaton of addresses; ``more``: characters of the first part, as in a class."""
    atom = f"[{more}{ATOM_SIGNS}]+"
    local = Dfa.from_regex(rf"{atom}(?:\.{atom})*") & _up_to(_LOCAL_PART)
    return local + Dfa.from_choices(["@"]) + host_names(_EMAIL_BLOCKS)


def _up_to(length: int) -> Dfa:
    """Build the automaton of texts of up to a number of bytes."""
    following = np.append(np.arange(1, length + 1), -1)
    return Dfa(following[:, None], np.zeros(256, dtype=np.uint8), np.ones(length + 1, dtype=np.bool_))


def _time_zones() -> Dfa:
    from zoneinfo import available_timezones

    return Dfa.from_choices(sorted(available_timezones() or {"UTC"}))


FORMATS: Mapping[str, Callable[[], Dfa]] = MappingProxyType(
    {
        "date-time": _of(f"{YEAR_ZERO}{DATE}T{TIME}"),
        "date": _of(f"{YEAR_ZERO}{DATE}"),
        "time": _of(TIME),
        "duration": _of(DURATION),
        "email": lambda: _email(""),
        "idn-email": lambda: _email(BEYOND_ASCII),
        "hostname": lambda: host_names(_HOST_BLOCKS),
        "idn-hostname": lambda: host_names(_HOST_BLOCKS, encoded=False),
        "ipv4": _of(IPV4),
        "ipv6": _of(IPV6),
        "uri": _of(URI),
        "uri-reference": _of(f"{URI}|{RELATIVE}"),
        "iri": _of(IRI),
        "iri-reference": _of(f"{IRI}|{RELATIVE_IRI}"),
        "uri-template": _of(URI_TEMPLATE),
        "uuid": _of(UUID),
        "json-pointer": _of(JSON_POINTER),
        "relative-json-pointer": _of(RELATIVE_POINTER),
        "regex": lambda: Dfa.from_regex(_pattern_of_patterns(_GROUPS)),
        # Formats of pydantic.
        **{f"uuid{version}": _of(_uuid_of(version)) for version in range(1, 9)},
        "ipv4interface": _of(IPV4_INTERFACE),
        "ipv6interface": _of(IPV6_INTERFACE),
        "ipvanyinterface": _of(f"{IPV4_INTERFACE}|{IPV6_INTERFACE}"),
        "ipv4network": _of(IPV4_NETWORK),
        "ipv6network": _of(IPV6_NETWORK),
        "ipvanynetwork": _of(f"{IPV4_NETWORK}|{IPV6_NETWORK}"),
        "ipvanyaddress": _of(f"{IPV4}|{IPV6}"),
        "base64": _of(BASE64),
        "base64url": _of(BASE64_URL),
        "fraction": _of(FRACTION),
        "multi-host-uri": _of(MULTI_HOST_URI),
        "name-email": _of(NAME_EMAIL),
        "zoneinfo": _time_zones,
        **dict.fromkeys(("binary", "password", "path"), _of("(?s:.*)")),
    }
)
"""The known formats, each with a function that builds its decoded automaton."""

FORMATS_ELSEWHERE = {"url": "uri", "guid": "uuid", "ip": "ipv4", "timestamp": "date-time", "domain": "hostname"}
"""Names of formats in other systems, and the format that they mean here."""

_AT_MOST = {"uuid": r"[\s\S]{8}-[\s\S]{4}-[\s\S]{4}-[\s\S]{4}-[\s\S]*"}  # jsonschema accepts 7_7 as hexadecimal


@cache
def at_most(name: str) -> Dfa:
    """Build a decoded automaton that accepts all texts that jsonschema accepts as a format, and possibly others."""
    return Dfa.from_regex(_AT_MOST[name]) if name in _AT_MOST else format_texts(name)


@cache
def format_texts(name: str) -> Dfa:
    """Build the decoded automaton of a format's texts.

    >>> format_texts("date").accepts("2024-02-29"), format_texts("date").accepts("2023-02-29")
    (True, False)
    """
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", hint=f"Known formats: {', '.join(FORMATS)}.")
    return FORMATS[name]()


# ---- host names ------------------------------------------------------------------------------------------------------


BLOCK = 16
"""Characters of a block."""

_LONGEST_LABEL = 63
_OTHER, _ALPHANUMERIC, _HYPHEN, _DOT = range(4)  # classes of bytes


def host_names(blocks: int, *, encoded: bool = True) -> Dfa:
    """Build the automaton of host names without a dot at the end.

    They have less than ``16 * blocks`` characters.

    >>> names = host_names(2)
    >>> names.accepts("a-1.example"), names.accepts("a-.example"), names.accepts("a.b.example")
    (True, False, False)
    """
    # A state is the number of full blocks, the characters of the label so far, and whether the last one is a hyphen.
    shape = blocks, _LONGEST_LABEL + 1, 2
    number = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    table = np.full((number.size, 4), -1, dtype=np.int32)
    accepting = np.zeros(number.size, dtype=np.bool_)
    for full in range(blocks):
        for length in range(_LONGEST_LABEL + 1):
            letter, hyphen = number[full, length]
            if length:
                accepting[letter] = True
                after_dot = full + length // BLOCK + 1
                if after_dot < blocks:
                    table[letter, _DOT] = number[after_dot, 0, 0]
            # One more character, if there is room for it and a dot after it.
            if length < _LONGEST_LABEL and full + (length + 1) // BLOCK < blocks:
                table[[letter, hyphen], _ALPHANUMERIC] = number[full, length + 1, 0]
                if length:
                    table[[letter, hyphen], _HYPHEN] = number[full, length + 1, 1]
                if length == 3 and not encoded:
                    table[hyphen, _HYPHEN] = -1
    byte_classes = np.full(256, _OTHER, dtype=np.uint8)
    byte_classes[list(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] = _ALPHANUMERIC
    byte_classes[list(b"-.")] = _HYPHEN, _DOT
    return Dfa(*minimize(Deterministic(table, byte_classes, accepting)))


# ---- formats in jsonschema -------------------------------------------------------------------------------------------


_SLOW = "rfc3987_syntax"
_PATTERNS = {"iri": IRI_OF_ANY_PORT, "iri_reference": IRI_REFERENCE_OF_ANY_PORT}


@cache
def jsonschema() -> Any:
    """Import the package jsonschema, but not its slow dependency ``rfc3987_syntax``."""
    if "jsonschema" in sys.modules or _SLOW in sys.modules or find_spec(_SLOW) is None:
        return importlib.import_module("jsonschema")
    stand_in: Any = ModuleType(_SLOW)
    stand_in.is_valid_syntax = is_valid_syntax
    sys.modules[_SLOW] = stand_in
    try:
        return importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]


def is_valid_syntax(term: str, value: str) -> Any:
    """Return whether a text satisfies a rule of RFC 3987."""
    if term in _PATTERNS and "[" not in value:
        return re.fullmatch(_PATTERNS[term], value) is not None
    return importlib.import_module(_SLOW).is_valid_syntax(term, value)
