"""The formats of JSON Schema as patterns of Python's ``re``, after the grammars of their RFCs.

Names and numbers follow the RFCs; what is left out is told in :mod:`sfgen.schema.formats`.
"""

from __future__ import annotations

import re

# ---- dates and times: RFC 3339 ----------------------------------------------------------------------------------

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
    """The patterns of a URI and of a relative reference.

    Args:
        more: The unreserved characters beside those of ASCII, as in a class.
        private: What a query may have beside.
        literal: The hosts that stand in brackets, with a bar behind.
        port: How many digits a port has.
    """

    def some(signs: str) -> str:
        return f"(?:[A-Za-z0-9._~!$&'()*+,;={signs}{more}-]|%[0-9A-Fa-f]{{2}})"

    segment = some(":@")
    authority = f"(?:{some(':')}*@)?(?:{literal}{some('')}*)(?::[0-9]{port})?"
    path = f"(?:/{segment}*)*"
    behind = rf"(?:\?{some(':@/?' + private)}*)?(?:#{some(':@/?')}*)?"
    rooted = f"//{authority}{path}|/(?:{segment}+{path})?"
    absolute = f"[A-Za-z][A-Za-z0-9+.-]*:(?:{rooted}|{segment}+{path}|){behind}"
    relative = f"(?:{rooted}|{some('@')}+{path}|){behind}"
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

# ---- what pydantic names as formats -------------------------------------------------------------------------------


def uuid_of(version: int) -> str:
    """Write the pattern of the UUIDs of a version (RFC 9562)."""
    return f"[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-{version}[0-9A-Fa-f]{{3}}-[89ABab][0-9A-Fa-f]{{3}}-[0-9A-Fa-f]{{12}}"


_UP_TO_128 = "(?:[0-9]|[1-9][0-9]|1[01][0-9]|12[0-8])"
IPV4_INTERFACE = f"{IPV4}(?:/(?:[0-9]|[12][0-9]|3[0-2]))?"
IPV6_INTERFACE = f"{IPV6}(?:/{_UP_TO_128})?"
# Of a network all bits behind the prefix are zero: prefixes of whole octets, or of whole groups.
IPV4_NETWORK = rf"{_OCTET}(?:\.0\.0\.0/8|\.{_OCTET}(?:\.0\.0/16|\.{_OCTET}(?:\.0/24|\.{_OCTET}(?:/32)?)))|0\.0\.0\.0/0"
IPV6_NETWORK = f"{_H16}::/16|{_H16}:{_H16}::/32|{_H16}:{_H16}:{_H16}::/48|{IPV6}(?:/128)?|::/0"


def _base64(more: str) -> str:
    """Bytes in base64 with these two signs beside letters and digits (RFC 4648)."""
    sign = f"[A-Za-z0-9{more}]"
    return f"(?:{sign}{{4}})*(?:{sign}[AQgw]==|{sign}{{2}}[AEIMQUYcgkosw048]=)?"


BASE64, BASE64_URL = _base64("+/"), _base64("_-")


def _base64_of_ascii() -> str:
    """Base64 of characters of ASCII, without the signs that differ between its two alphabets."""
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    def some(zeros: int) -> str:
        return f"[{''.join(sign for value, sign in enumerate(signs) if not value & zeros)}]"

    first, second, third, fourth = some(0b100000), some(0b001000), some(0b000010), some(0)
    ends = f"{first}{some(0b001111)}==|{first}{second}{some(0b000011)}="
    return f"(?:{first}{second}{third}{fourth})*(?:{ends})?"


BASE64_OF_ASCII = _base64_of_ascii()

# Host names that the standard of URLs reads as they are: no punycode, and no number at their end.
_LABEL = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_PORT = "(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?"
_HOST = rf"(?:(?:{_LABEL}\.)*[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*|{IPV4}){_PORT}"
_PLAIN = "[A-Za-z0-9._~-]"
_OF_PATH = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_BEHIND_HOST = rf"(?:/{_OF_PATH}*)*(?:\?(?:{_OF_PATH}|[/?])*)?(?:#(?:{_OF_PATH}|[/?])*)?"
_USER = f"(?:{_PLAIN}+(?::{_PLAIN}+)?@)?"
URL_BEHIND_SCHEME = f"{_USER}{_HOST}{_BEHIND_HOST}"
MULTI_HOST_URI = f"[a-z][a-z0-9+.-]{{1,30}}://{_USER}{_HOST}(?:,{_HOST})*{_BEHIND_HOST}"
FRACTION = "-?[0-9]{1,15}(?:/[1-9][0-9]{0,14})?"
# What the package email-validator takes: no names that RFC 6761 reserves, which all have more than three letters.
_NAME_OF_HOST = r"(?:[A-Za-z0-9]{1,24}(?:-[A-Za-z0-9]{1,24})?\.){1,3}"
_LAST_NAME = "(?:[a-z]{2,3}|info|name|shop|store|site|tech|cloud|email|online|travel|museum|agency)"
MAILBOX = rf"[A-Za-z0-9_]{{1,20}}(?:[.+-][A-Za-z0-9_]{{1,20}}){{0,2}}@{_NAME_OF_HOST}{_LAST_NAME}"
NAME_EMAIL = f"[A-Z][a-z]{{0,30}}(?: [A-Z][a-z]{{0,30}}){{0,3}} <{MAILBOX}>"


_NOTHING = "(?!)"


def between(low: str, high: str) -> str:
    """Write the pattern of texts from one to another, as texts are sorted.

    Args:
        low: The first.
        high: The last: as long, with digits in the same places, and the same signs between them. Where it comes before
            the first, the pattern matches nothing.

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
    """Write the pattern of whole numbers in a range, both from 0 on, without zeros before them.

    >>> whole_numbers(8, 120)
    '(?:[8-9]|[1-9][0-9]|1(?:0[0-9]|1[0-9]|20))'
    """
    if least > most:
        return _NOTHING
    lengths = range(len(str(least)), len(str(most)) + 1)
    ranges = [(max(least, 10 ** (n - 1) if n > 1 else 0), min(most, 10**n - 1)) for n in lengths]
    return f"(?:{'|'.join(between(str(low), str(high)) for low, high in ranges)})"


ATOM_SIGNS = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"


def pattern_of_patterns(depth: int) -> str:
    """Write a pattern of patterns whose groups are nested to a depth."""
    escape = r"\\[][\\^$.|?*+(){}/dDwWsSnrtfv]"
    # Between the members of a class a hyphen would make a range; &, ~, | and [ mean something in newer dialects.
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
    """How often something comes, in order: the least is not above the most."""
    one_digit = "|".join(f"{least},[{least}-9]" for least in range(10))
    return rf"(?:[*+?]|\{{(?:[0-9]{{1,3}},?|{one_digit}|[0-9],[1-9][0-9]{{1,2}}|[1-9][0-9],[1-9][0-9]{{2}})\}})\??"
