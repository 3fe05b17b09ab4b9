"""Whether a text is one of a Lark grammar with schemas: every way to divide it is tried.

lark reads what is outside, with a character for private use in place of each schema's text; the schemas' own readers
read these texts. Shared with the engine: what a schema writes, and nothing of how the two are read together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lark import Lark
from lark.exceptions import UnexpectedInput

from sfgen import JsonSchema


class DividedTexts:
    """The texts of a grammar, in which ``J0``, ``J1``, … stand for schemas.

    No pattern of the grammar may match characters for private use.
    """

    def __init__(self, grammar: str, schemas: Sequence[str]) -> None:
        self._schemas = [JsonSchema(schema) for schema in schemas]
        terminals = "".join(f'\nJ{number}: "{chr(0xE000 + number)}"' for number in range(len(schemas)))
        self._lark = Lark(grammar + terminals, parser="lalr", lexer="contextual")

    def has(self, text: str) -> bool:
        """Return whether some division is right."""
        return any(map(self._reads, self._divisions(text)))

    def _reads(self, text: str) -> bool:
        try:
            self._lark.parse(text)
        except UnexpectedInput:
            return False
        return True

    def _divisions(self, text: str) -> Iterator[str]:
        """Yield the text with some parts replaced by the character of a schema that has them."""
        yield text
        for begin in range(len(text)):
            for end in range(begin + 1, len(text) + 1):
                for number, schema in enumerate(self._schemas):
                    if schema.accepts(text[begin:end]):
                        for rest in self._divisions(text[end:]):
                            yield text[:begin] + chr(0xE000 + number) + rest
