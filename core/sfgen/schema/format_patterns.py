"""The formats of JSON Schema as patterns of Python's ``re``, after the grammars of their RFCs.

Names and numbers follow the RFCs; what is left out is told in :mod:`sfgen.schema.formats`.
"""

from __future__ import annotations

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
