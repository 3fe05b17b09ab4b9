"""Random Lark grammars of few terminals and rules."""

from __future__ import annotations

import lark
from hypothesis import assume
from hypothesis import strategies as st
from tests.oracles.lark_language import LarkLanguage

ALPHABET = "abc "
LITERALS = ['"a"', '"b"', '"ab"', '"ba"', '"aa"', '"abc"', '"c"', '"c"i', '"AB"i']
PATTERNS = [
    "/a+/", "/[ab]+/", "/ab?/", "/a|ab/", "/a*?b/", "/b+?/", "/[ab]{2}/", "/[a-c]/", "/(ab)+/", "/c[^c]*c/", "/c.*?c/",
    "/b a/", "/[^c ]+/", "/aa|a/", "/a?b/", "/(?i:A)b*/", "/a{1,2}/", "/[abc]+?c/",
]  # fmt: skip
LOOKING_AROUND = ["/a(?=b)/", "/a+(?!b)/", "/(?<!a)b/", "/(?<=b)a/", r"/\bab?\b/", "/a(?=b|$)/"]
IGNORED = ['" "', "/ +/", "/[ c]/", r"/\s/", "/c[^b]*b/", '" " | "c"']


@st.composite
def lark_grammars(draw: st.DrawFn, looking_around: bool = False) -> str:
    """The text of a grammar that lark reads, with the rule ``start``."""
    number = st.integers
    patterns = PATTERNS + (LOOKING_AROUND if looking_around else [])
    names = [f"T{index}" for index in range(draw(number(1, 4)))]
    lines = []
    for name in names:
        priority = draw(st.sampled_from(["", "", "", ".1", ".2", ".-1"]))
        lines.append(f"{name}{priority}: {draw(st.sampled_from(LITERALS) | st.sampled_from(patterns))}")
    rules = ["start", "x", "y"][: draw(number(1, 3))]
    atom = st.sampled_from([*names, *names, *names, *rules]) | st.sampled_from(LITERALS[:4])
    operator = st.sampled_from(["", "", "", "", "?", "*", "+"])

    def symbol() -> str:
        if draw(number(0, 9)) == 0:
            return f"({alternatives(2)}){draw(st.sampled_from(['?', '*', '+']))}"
        return draw(atom) + draw(operator)

    def branch(least: int) -> str:
        return " ".join(symbol() for _ in range(draw(number(least, 3))))

    def alternatives(most: int, least: int = 1) -> str:
        return " | ".join(branch(least) for _ in range(draw(number(1, most))))

    for rule in rules:
        inlined = "?" if rule != "start" and draw(st.booleans()) else ""
        lines.append(f"{inlined}{rule}: {alternatives(3, draw(number(0, 1)))}")
    for ignored in draw(st.lists(st.sampled_from(IGNORED), max_size=2)):
        lines.append(f"%ignore {ignored}")
    text = "\n".join(lines)
    try:
        LarkLanguage(text)
    except lark.exceptions.LarkError:  # conflicts of reductions, terminals that match nothing, rules written twice
        assume(False)
    return text
