"""A network seen through a vocabulary, as a source of guides."""

from __future__ import annotations

from sfgen.grammar.guide import NetworkGuide
from sfgen.grammar.token_positions import TokenPositions


class TokenNetwork(TokenPositions):
    """Which tokens a network allows, and guides through it; see ``TokenPositions``.

    >>> from sfgen.grammar.network import network_of
    >>> from sfgen.grammar.rules import Grammar, Literal
    >>> from sfgen.vocabulary import Vocabulary
    >>> tokens = TokenNetwork(network_of(Grammar({"yes": Literal(b"yes")}, "yes")), Vocabulary([b"y", b"e", b"s"]))
    >>> tokens.guide().forced_bytes()
    b'yes'
    """

    def guide(self, max_tokens: int | None = None) -> NetworkGuide:
        """Make a guide at the start, for one sequence.

        ``max_tokens`` is the number of tokens that it may take.

        Raises:
            LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
        """
        return NetworkGuide(self, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Report a finished text that the network does not read.

        The answer is ``None`` if it does.
        """
        if self.reader.reads(data):
            return None
        return {"grammar": repr(self.network), "refused by": "the network itself"}
