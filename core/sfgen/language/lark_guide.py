"""The guide of a Lark grammar: a position is a control of the lexer and a stack of the parser."""

from __future__ import annotations

from sfgen import arguments
from sfgen.grammar.guide import GrammarGuide
from sfgen.lalr.open_rules import OpenRules
from sfgen.lalr.positions import LalrPositions
from sfgen.lalr.read import Position
from sfgen.language.language import where


class LalrGuide(GrammarGuide[Position]):
    """Walks one sequence through a Lark grammar; see ``GrammarGuide``.

    Args:
        tokens: The grammar over a vocabulary.
        open_rules: Names the rules that are open at a position.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    tokens: LalrPositions

    def __init__(self, tokens: LalrPositions, open_rules: OpenRules, max_tokens: int | None = None) -> None:
        self._open_rules = arguments.instance("open_rules", open_rules, OpenRules)
        super().__init__(arguments.instance("tokens", tokens, LalrPositions), max_tokens)

    def _describe(self, position: Position) -> str:
        """The open rules, the outermost first, and the terminal that is being written; of several ways the first."""
        return where(*self._open_rules.at(position))
