"""Random grammars with their recogniser and a vocabulary, as the tests of masks and limits need them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st
from tests.oracles.bounded_recogniser import BoundedRecogniser
from tests.oracles.recogniser import Position, Recogniser
from tests.support.grammars.random_grammars import ENDLESS_NAMES, KNOWN, grammars, random_vocabulary

from sfgen import Vocabulary
from sfgen.errors import DeadEnd, UsageError
from sfgen.grammar.guide import NetworkGuide
from sfgen.grammar.network import network_of
from sfgen.grammar.positions import TokenPositions
from sfgen.grammar.rules import Grammar


class TokenNetwork(TokenPositions):
    """Which tokens a network allows, and guides through it, as the tests need them."""

    def guide(self, max_tokens: int | None = None) -> NetworkGuide:
        """A guide at the start, for one sequence of at most ``max_tokens`` tokens."""
        return NetworkGuide(self, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """What refuses a finished text; ``None`` where the network reads it."""
        if self.reader.reads(data):
            return None
        return {"grammar": repr(self.network), "refused by": "the network itself"}


@dataclass
class Pair:
    """A network over a vocabulary, and the recogniser of the same grammar."""

    grammar: Grammar
    recogniser: Recogniser
    tokens: TokenNetwork

    @property
    def vocabulary(self) -> Vocabulary:
        return self.tokens.vocabulary

    def readable(self, position: Position) -> list[int]:
        """The text tokens that a text can go on with, by trying each; and the end tokens where it may end."""
        vocabulary, read = self.vocabulary, self.recogniser.read
        found = [
            token
            for token in vocabulary.text_token_ids.tolist()
            if read(position, vocabulary.tokens[token] or b"") is not None
        ]
        ends = vocabulary.end_token_ids if self.recogniser.accepts_at(position) else ()
        return sorted([*found, *ends])


@st.composite
def pairs(draw: st.DrawFn, every_byte: bool = True) -> Pair:
    """Grammars that both can read, over a vocabulary that can write a text.

    Where bytes are missing, the texts that must differ may run out.
    """
    grammar = draw(st.sampled_from([*KNOWN, None, None, None, None, None])) or draw(grammars(names=ENDLESS_NAMES))
    try:
        recogniser, network = BoundedRecogniser(grammar), network_of(grammar)
        vocabulary = random_vocabulary(draw, grammar, every_byte)
        return Pair(grammar, recogniser, TokenNetwork(network, vocabulary))
    except (UsageError, DeadEnd):  # see test_network, and test_limits
        assume(False)
        raise
