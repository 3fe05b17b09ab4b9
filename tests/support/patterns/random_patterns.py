"""Random patterns that use every construct of the dialect.

Everything is drawn from a ``random.Random`` that the caller seeds. Each pattern has a few letters of its own, chosen so
that they are related (the cases of a letter, a newline, a digit of another script, characters of every length in
UTF-8): what the pattern says and what the texts of :mod:`pattern_texts` say then meet often enough.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st
from tests.support.models.vocabularies import BYTES
from tests.support.patterns.texts import LanguageSampler

from sfgen import Dfa, Vocabulary
from sfgen.errors import PatternError

THEMES = [
    "ab", "ab", "aA", "a\n", "a-", "a_1", "a ", "01", "1\u0660\u0967", "kK\u212a", "sS\u017f", "s\u00df\u1e9e",
    "iI\u0130\u0131", "\u00b5\u03bc\u039c", "\u00e9\u00c9e", "\u03c3\u03c2\u03a3", "\u01c4\u01c5\u01c6", "\u65e5\u672c",
    "\u0436\u0416", "\u2022a", "\U0001f600\U0001f601", "\U00010400\U00010428", " \u00a0\u3000", "\n\r\u2028",
    "\x00\x7f", "\\]", "^$", "{}", "\ud7ff\ue000", "\U0010ffff\uffff", "\u0301e", "\x07\x0c", "\t\v\x1c",
]  # fmt: skip

CATEGORIES = [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]
ANCHORS = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
GLOBAL_FLAGS = [
    "(?i)",
    "(?s)",
    "(?m)",
    "(?x)",
    "(?a)",
    "(?u)",
    "(?iu)",
    "(?ms)",
    "(?ai)",
    "(?ims)",
    "(?mu)",
    "(?i)(?s)",
]
SCOPED_FLAGS = ["(?i:", "(?s:", "(?m:", "(?x:", "(?a:", "(?u:", "(?-i:", "(?-s:", "(?-m:", "(?iu:", "(?i-s:", "(?sm:"]
COUNTS = ["*", "+", "?", "*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "{0}", "{0,1}", "{3}", "{1}", "{2,3}", "{0,}"]
NOT_COUNTS = ["{", "{,", "{x}", "}", "{ 2}", "{2,x}", "]"]
SIMPLE_ESCAPES = {
    "\n": r"\n",
    "\t": r"\t",
    "\r": r"\r",
    "\v": r"\v",
    "\f": r"\f",
    "\a": r"\a",
    "\\": r"\\",
    "\0": r"\0",
}


def compiled(pattern: str, *, ascii_only: bool = True) -> re.Pattern[str]:
    """The oracle: ``re.ASCII``, or not where the pattern says ``(?u)`` or is banned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not ascii_only:
            return re.compile(pattern)
        try:
            return re.compile(pattern, re.ASCII)
        except ValueError as error:
            if isinstance(error, re.error):
                raise
            return re.compile(pattern)


@dataclass
class RandomPattern:
    """A pattern and the letters that it is about.

    Args:
        random: Where the choices come from.
        atomic: How often the quantifier of a group is possessive, and a group atomic.
        looks: Whether there are anchors and lookarounds.
    """

    random: Random
    atomic: float = 0.005
    looks: bool = True

    def __post_init__(self) -> None:
        theme, other = self.random.sample(THEMES, 2)
        flags = self.random.choice(GLOBAL_FLAGS) if self.random.random() < 0.4 else ""
        more = "\n" if "m" in flags or "s" in flags else self.random.choice(["", other[0], "\n"])
        # Few letters, since a text that matches nowhere tells nothing.
        self.letters = "".join(dict.fromkeys(theme + more))
        self.groups = 0
        self.verbose = "x" in flags
        self.text = flags + self.alternation(self.random.choice([1, 1, 2, 2, 3]))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def alternation(self, depth: int) -> str:
        count = self.random.choice([1, 1, 1, 2, 2, 3])
        return "|".join(self.sequence(depth) for _ in range(count))

    def sequence(self, depth: int) -> str:
        return "".join(self.item(depth) + self.nothing() for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4])))

    def nothing(self) -> str:
        """What means nothing: a comment, or space under ``(?x)``."""
        if self.chance(0.01):
            return "(?#a|(b)"
        if self.verbose and self.chance(0.2):
            return self.random.choice([" ", "\n", "\t", " # (a)|[b\n"])
        return ""

    def item(self, depth: int) -> str:
        way = self.random.random()
        if way < 0.01:
            return self.random.choice(NOT_COUNTS)
        if way < 0.26 and depth:
            inside = self.group(depth)
            return inside + self.nothing() + self.count(self.atomic) if self.chance(0.6) else inside
        if way < 0.36 and self.looks:
            return self.random.choice(ANCHORS)
        if way < 0.48 and self.looks and depth:
            return self.lookaround(depth)
        return self.atom() + (self.count(0.1) if self.chance(0.3) else "")

    def count(self, possessive: float) -> str:
        kind = self.random.choice(["", "", "?"])
        return self.random.choice(COUNTS) + ("+" if self.chance(possessive) else kind)

    def group(self, depth: int) -> str:
        way = self.random.random()
        verbose = self.verbose
        if way < self.atomic:
            opening = "(?>"
        elif way < 0.35:
            opening = "(?:"
        elif way < 0.6:
            opening = "("
        elif way < 0.7:
            self.groups += 1
            opening = f"(?P<g{self.groups}>"
        else:
            opening = self.random.choice(SCOPED_FLAGS)
            self.verbose = verbose or "x" in opening
        inside = self.alternation(depth - 1)
        self.verbose = verbose
        return f"{opening}{inside})"

    def lookaround(self, depth: int) -> str:
        if self.chance(0.6):
            look = f"{self.random.choice(['(?=', '(?!'])}{self.alternation(depth - 1)})"
        else:
            look = self.lookbehind(depth)
        return look + self.random.choice(["?", "*", "{2}", "+?"]) if self.chance(0.05) else look

    def lookbehind(self, depth: int) -> str:
        width = self.random.choice([0, 1, 1, 1, 2, 2, 3])
        opening = self.random.choice(["(?<=", "(?<!"])
        return f"{opening}{'|'.join(self.fixed(width, depth) for _ in range(self.random.choice([1, 1, 2])))})"

    def fixed(self, width: int, depth: int) -> str:
        """What always matches so many characters."""
        pieces = []
        while width:
            here = self.random.randint(1, width)
            width -= here
            if here > 1 and self.chance(0.3):
                pieces.append(f"{self.atom()}{{{here}}}")
            elif depth and self.chance(0.2):
                pieces.append(f"(?:{self.fixed(here, depth - 1)}|{self.fixed(here, depth - 1)})")
            else:
                pieces += [self.atom() for _ in range(here)]
        if self.chance(0.2):
            pieces.insert(self.random.randint(0, len(pieces)), self.random.choice(ANCHORS))
        if depth and self.chance(0.1):
            pieces.insert(self.random.randint(0, len(pieces)), self.lookbehind(depth - 1))
        return "".join(pieces)

    def atom(self) -> str:
        way = self.random.random()
        if way < 0.62:
            return self.literal()
        if way < 0.72:
            return "."
        if way < 0.82:
            return self.random.choice(CATEGORIES)
        return self.character_class()

    def literal(self, *, plain: str = "") -> str:
        """A letter, written in one of the ways to write it."""
        letter = self.random.choice(self.letters)
        if not "\ud800" <= letter <= "\udfff" and self.chance(0.7):
            return letter if letter in plain else re.escape(letter)
        return self.random.choice(list(spellings(letter)))

    def character_class(self) -> str:
        members = []
        for _ in range(self.random.choice([1, 1, 2, 2, 3])):
            way = self.random.random()
            if way < 0.6:
                members.append(self.literal(plain="^${}"))
            elif way < 0.75:
                low, high = sorted(self.random.choices(self.letters, k=2))
                members.append(
                    f"{self.random.choice(list(spellings(low)))}-{self.random.choice(list(spellings(high)))}"
                )
            elif way < 0.95:
                members.append(self.random.choice(CATEGORIES))
            else:
                members.append(self.random.choice([r"\b", ".", "(", "|", "a-z", r"\]", "#"]))
        if self.chance(0.05):
            members.insert(0, "]")
        if self.chance(0.05):
            members.append("-")
        return f"[{'^' if self.chance(0.3) else ''}{''.join(members)}]"


def spellings(letter: str) -> Iterator[str]:
    """The escapes for a character."""
    code = ord(letter)
    yield f"\\U{code:08x}"
    if code <= 0xFFFF:
        yield f"\\u{code:04X}"
    if code <= 0xFF:
        yield f"\\x{code:02x}"
        yield f"\\{code:03o}"
    if letter in SIMPLE_ESCAPES:
        yield SIMPLE_ESCAPES[letter]
    name = unicodedata.name(letter, "")
    if name:
        yield f"\\N{{{name}}}"


# ---- failures --------------------------------------------------------------------------------------------------------


def minimised(pattern: str, text: str, differ: Callable[[str, str], bool]) -> tuple[str, str]:
    """A shorter pattern and text on which the engines still differ: pieces are left out as long as they do."""
    size = len(pattern) + len(text) + 1
    while len(pattern) + len(text) < size:
        size = len(pattern) + len(text)
        for shorter in without_a_piece(text):
            if differ(pattern, shorter):
                text = shorter
                break
        for shorter in without_a_piece(pattern):
            if differ(shorter, text):
                pattern = shorter
                break
    return pattern, text


def without_a_piece(text: str) -> Iterator[str]:
    """The text without each of its pieces, longest first, and without each pair of round brackets."""
    for length in range(len(text), 0, -1):
        for start in range(len(text) - length + 1):
            yield text[:start] + text[start + length :]
    for opening in re.finditer(r"\((\?[:=!>]|\?<[=!]|\?P<\w+>|\?[a-z-]+:)?", text):
        for closing in re.finditer(r"\)", text):
            if closing.start() > opening.start():
                yield text[: opening.start()] + text[opening.end() : closing.start()] + text[closing.end() :]


def language(pattern: str) -> Dfa | None:
    """The automaton; ``None`` if no text matches, which is an error of its own."""
    try:
        return Dfa.from_regex(pattern)
    except PatternError as error:
        if "no text at all" in error.reason:
            return None
        raise


def small_patterns(*atoms: str) -> st.SearchStrategy[str]:
    """A few of these pieces one after another, as alternatives, and repeated."""
    return st.recursive(
        st.sampled_from(atoms),
        lambda parts: st.one_of(
            st.lists(parts, max_size=3).map("".join),
            st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"(?:{'|'.join(branches)})"),
            st.builds(
                lambda part, count: f"(?:{part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])
            ),
        ),
        max_leaves=6,
    )


_ESCAPE = re.compile(r"\\(U[0-9a-f]{8}|u[0-9A-F]{4}|x[0-9a-f]{2}|[0-7]{3}|N\{[^}]*\}|.)", re.DOTALL)
_FLAGS = re.compile(r"\(\?([aimsux]+)(-[ims]+)?([:)])")


class PlainPattern(RandomPattern):
    """Without anchors, lookarounds and possessive repeats; every letter as itself; the flags i and s only."""

    def __init__(self, random: Random) -> None:
        super().__init__(random, atomic=0, looks=False)
        self.text = _FLAGS.sub(_known_flags, _ESCAPE.sub(_as_itself, self.text))

    def count(self, possessive: float) -> str:
        return super().count(0)

    def nothing(self) -> str:
        return ""


def _as_itself(escape: re.Match[str]) -> str:
    name = escape[1]
    if name[0] in "Uux" and len(name) > 1:
        return re.escape(chr(int(name[1:], 16)))
    if len(name) == 3:
        return re.escape(chr(int(name, 8)))
    return re.escape(unicodedata.lookup(name[2:-1])) if name[0] == "N" else escape[0]


def _known_flags(flags: re.Match[str]) -> str:
    added, removed = set(flags[1]) & set("is"), set(flags[2] or "") & set("is")
    letters = "".join(sorted(added)) + ("-" + "".join(sorted(removed)) if removed else "")
    if flags[3] == ")":
        return f"(?{letters})" if letters else ""
    return f"(?{letters}:"


def every_byte(dfa: Dfa, random: Random, *, pieces: int = 40) -> Vocabulary:
    """Every byte as a token, so that there are no dead ends; pieces of matches, cut within characters too.

    Some pieces come twice. There is a special token that is no text, and two end tokens, of which one has bytes.
    """
    texts = [LanguageSampler(dfa).text(random).encode() for _ in range(8)]
    tokens: list[bytes | None] = [*BYTES]
    for _ in range(pieces):
        text = random.choice(texts)
        start = random.randrange(len(text) + 1)
        tokens.append(text[start : start + random.randint(2, 5)] or b"\xe2\x80")
    random.shuffle(tokens)
    return Vocabulary([*tokens, None, b"ab", None], end_token_ids=[len(tokens) + 1, len(tokens) + 2])
