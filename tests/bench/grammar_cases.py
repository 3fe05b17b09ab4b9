"""The grammars of the benchmark, in the form of each engine, and texts of them.

The Lark grammars are those of the tests. The forms for the other engines have the same texts as far as they can: at
most one blank between two terminals, and no comments; where a word of the grammar could be a name, they take it for
one, and llguidance reads no blanks before the first terminal.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sfgen.grammar.language.gbnf import read_gbnf

from .schema_cases import CASES as SCHEMAS
from .schema_values import texts

if TYPE_CHECKING:
    from tests.oracles.lark_language import LarkLanguage

_SCHEMAS = {case.name: case.schema for case in SCHEMAS}
_HERE = Path(__file__).parent / "grammars"
_LARK = Path(__file__).resolve().parents[1] / "data" / "lark"
_LONGEST = 200
"""Characters of a random text."""


@dataclass(frozen=True)
class Case:
    """A grammar.

    Args:
        name: As the report has it.
        file: The name of its files.
        joint: What puts texts of people together to one.
        together: How many of them.
    """

    name: str
    file: str
    joint: str
    together: int = 3

    @cached_property
    def lark(self) -> str:
        """As lark reads it, and sfgen."""
        return (_LARK / f"{self.file}.lark").read_text(encoding="utf-8")

    @cached_property
    def llguidance(self) -> str:
        """In llguidance's dialect of Lark."""
        return (_HERE / f"{self.file}.llguidance.lark").read_text(encoding="utf-8")

    @cached_property
    def gbnf(self) -> str:
        """In GBNF: for xgrammar, and for sfgen's other engine."""
        return (_HERE / f"{self.file}.gbnf").read_text(encoding="utf-8")

    @cached_property
    def language(self) -> LarkLanguage:
        """Lark's word."""
        from tests.oracles.lark_language import LarkLanguage

        return LarkLanguage(self.lark)

    def texts(self, count: int) -> list[str]:
        """Texts that are right: half of them as people write them, half drawn from the rules; the same in every run."""
        chance = random.Random(f"texts of {self.file}")
        draw, usual = self._drawn(chance), self.usual()
        found = list[str]()
        while len(found) < count // 2:
            text = self.joint.join(chance.sample(usual, self.together))
            if self._is_fit(text):
                found.append(text)
        return [*found, *(draw() for _ in range(count - len(found)))]

    def usual(self) -> list[str]:
        """Texts as people write them, which the joint puts together."""
        right = tomllib.loads((_LARK / f"{self.file}.toml").read_text(encoding="utf-8"))["right"]
        texts = (text for text in right if self.language.is_written(text))
        return [text if self.file == "python" else text.strip(" ;\t\n\r") for text in texts if text.strip()]

    def _is_fit(self, text: str) -> bool:
        """Whether all can read it: llguidance has no blanks before the first terminal and behind the last."""
        return text.strip(" \t") == text and text[:1] != "\n" and self.language.is_written(text)

    def _drawn(self, chance: random.Random) -> Callable[[], str]:
        """Draws random texts of the rules in GBNF; those that lark does not parse are left out."""
        from tests.support.grammars.rule_texts import RuleTexts

        texts = RuleTexts(read_gbnf(self.gbnf).grammar, chance, depth=14)

        def draw() -> str:
            while True:
                try:
                    text = texts.draw().decode()
                except UnicodeDecodeError:
                    continue
                text = text if self.file == "python" else text.strip()
                if 5 < len(text) <= _LONGEST and self._is_fit(text):
                    return text

        return draw


class _Json(Case):
    def usual(self) -> list[str]:
        """Written values of schemas."""
        return [text for name in ("person", "nested", "tools") for text in texts(_SCHEMAS[name], 12)]


CASES = (
    _Json("JSON", "json", "", 1),
    Case("arithmetic", "arithmetic", " * "),
    Case("SQL, a part", "sql", "; "),
    Case("Python without indentation", "python", ""),
)
"""In the order of the report."""

WARM_UP = Case("lists", "lists", "", 1)
"""A grammar that is no item of the benchmark."""
