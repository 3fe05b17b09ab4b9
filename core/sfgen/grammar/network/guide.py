"""Guides of networks."""

from __future__ import annotations

from typing import Generic, TypeVar

from sfgen import arguments
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.guide import GrammarGuide
from sfgen.index.guide import ReadBeside

Reading = TypeVar("Reading")


class NetworkGuide(GrammarGuide[NetworkPosition]):
    """Guides one sequence through a network.

    A guide belongs to one sequence; the network is shared.

    >>> from sfgen.grammar.network.network import network_of
    >>> from sfgen.grammar.network.rules import Call, Concatenation, GrammarRules, Literal, Repeat
    >>> from sfgen.vocabulary import Vocabulary
    >>> pairs = Concatenation((Literal(b"("), Repeat(Call("pairs"), 0, None), Literal(b")")))
    >>> vocabulary = Vocabulary([b"(", b")", b"))", b"()", None], end_token_ids=[4])
    >>> guide = NetworkGuide(NetworkPositions(network_of(GrammarRules({"pairs": pairs}, "pairs")), vocabulary))
    >>> guide.allowed_tokens().tolist()
    [0, 3]
    >>> guide.advance(0)
    >>> guide.advance(0)
    >>> guide.allowed_tokens().tolist(), guide.tokens_left()
    ([0, 1, 2, 3], 1)
    """

    tokens: NetworkPositions

    def __init__(self, tokens: NetworkPositions, max_tokens: int | None = None) -> None:
        super().__init__(arguments.instance("tokens", tokens, NetworkPositions), max_tokens)

    def _describe(self, position: NetworkPosition) -> str:
        """Name the rules on the stack, the outermost first; of several ways the first."""
        network, names = self.tokens.network, list[str]()
        state, _, node = position[0]
        while True:
            name = network.names[network.rule_of[state]]
            if not names or names[-1] != name:
                names.append(name)
            if not node.frames:
                return " › ".join(reversed(names))
            state, _, node = node.frames[0]


class NetworkReadBeside(ReadBeside[NetworkPosition, Reading], NetworkGuide, Generic[Reading]):
    """Guides a sequence through a network beside another reader; see ``ReadBeside``."""

    def __init__(self, tokens: NetworkPositions, start: Reading, max_tokens: int | None = None) -> None:
        NetworkGuide.__init__(self, tokens, max_tokens)
        self._begin_beside(start)
