"""Random templates over few letters, with what ``re`` makes of them: groups for holes, references for copies."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

PATTERNS = ["a*", "b+", "[ab]", "(ab|ba)?", "a{1,2}", "ab*", "(a|bb)*", ""]
CHOICES = [("a",), ("a", "b"), ("ab", "a"), ("aa", "b", "ba")]
LITERALS = ["a", "b", "ab", "ba", "aab"]


@dataclass
class RandomTemplate:
    """A template of literals, holes, copies and blocks.

    Args:
        random: Where the choices come from.
        copies: Whether holes are written once more.
    """

    random: Random
    copies: bool = True
    names: list[str] = field(default_factory=list)
    pieces: list[tuple[str, str]] = field(default_factory=list)
    """The parts with blocks repeated: ``("literal", text)``, ``("hole", name)``, ``("copy", name)``."""
    patterns: dict[str, str] = field(default_factory=dict)
    """What ``re`` reads of each hole; those of blocks have a name for each repetition."""

    def __post_init__(self) -> None:
        self.text = "".join(self._item(top=True) for _ in range(self.random.randint(1, 5))) + self._hole("", [])

    def _item(self, *, top: bool) -> str:
        way = self.random.randrange(5 if self.copies else 4)
        if way == 0 and top:
            return self._block()
        if way <= 1:
            return self._literal()
        if way == 4 and self.names:
            name = self.random.choice(self.names)
            self.pieces.append(("copy", name))
            return f"{{{{{name}}}}}"
        return self._hole("", self.names)

    def _literal(self) -> str:
        text = self.random.choice(LITERALS)
        self.pieces.append(("literal", text))
        return text

    def _hole(self, suffix: str, names: list[str]) -> str:
        name = f"h{len(self.patterns)}"
        if self.random.random() < 0.5:
            pattern = self.random.choice(PATTERNS)
            written = f"regex {pattern}"
        else:
            choices = self.random.choice(CHOICES)
            pattern, written = "|".join(choices), f"choices {', '.join(choices)}"
        self.patterns[name + suffix] = pattern
        self.pieces.append(("hole", name + suffix))
        names.append(name + suffix)
        return f"{{{{{name}: {written}}}}}"

    def _block(self) -> str:
        """A block with its item and a hole in it."""
        items = self.random.choice([("a", "b"), ("b",), ("ab", "a", "b")])
        number = len(self.patterns)
        inside = f"h{number}"
        pattern = self.random.choice(PATTERNS)
        again = self.copies and self.random.random() < 0.5
        for item in items:
            name = f"{inside}_{item}"
            self.patterns[name] = pattern
            self.pieces += [("literal", item), ("hole", name), *([("copy", name)] if again else [])]
        body = f"{{{{i{number}}}}}{{{{{inside}: regex {pattern}}}}}" + (f"{{{{{inside}}}}}" if again else "")
        return f"{{% for i{number} in {', '.join(items)} %}}{body}{{% endfor %}}"

    @property
    def pattern(self) -> str:
        """The whole template for ``re``."""
        return "".join(self._for_re(kind, what) for kind, what in self.pieces)

    def _for_re(self, kind: str, what: str) -> str:
        if kind == "literal":
            return re.escape(what)
        return f"(?P<{what}>{self.patterns[what]})" if kind == "hole" else f"(?P={what})"

    def divided(self, text: str) -> list[tuple[int, int]] | None:
        """Where each hole is in a text: the first one as long as it can be, then the second, by trying all ways."""
        return next(self._ways(text, 0, 0, {}), None)

    def _ways(self, text: str, piece: int, at: int, given: dict[str, str]) -> Iterator[list[tuple[int, int]]]:
        if piece == len(self.pieces):
            if at == len(text):
                yield []
            return
        kind, what = self.pieces[piece]
        if kind != "hole":
            literal = what if kind == "literal" else given[what]
            if text.startswith(literal, at):
                yield from self._ways(text, piece + 1, at + len(literal), given)
            return
        for end in range(len(text), at - 1, -1):
            if re.fullmatch(self.patterns[what], text[at:end]):
                for rest in self._ways(text, piece + 1, end, {**given, what: text[at:end]}):
                    yield [(at, end), *rest]


def short_texts(longest: int) -> Iterator[str]:
    """Every text of the letters up to a length."""
    for length in range(longest + 1):
        yield from map("".join, itertools.product("ab", repeat=length))
