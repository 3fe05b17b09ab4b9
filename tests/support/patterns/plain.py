"""Random patterns in the part of Python's dialect that other parsers know, too; and vocabularies to write them with."""

from __future__ import annotations

import re
import unicodedata
from random import Random

from tests.support.models.byte_tokens import BYTES
from tests.support.patterns.random_patterns import RandomPattern
from tests.support.patterns.texts import LanguageSampler

from sfgen import Dfa, Vocabulary

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
