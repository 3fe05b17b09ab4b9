"""A grammar as a constraint: the texts of its start rule."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

from sfgen import arguments
from sfgen.errors import GrammarError, UsageError
from sfgen.grammar.completion import shortest_text
from sfgen.grammar.gbnf import Gbnf, read_gbnf
from sfgen.grammar.guide import NetworkGuide
from sfgen.grammar.network import Network, network_of
from sfgen.grammar.openings import LeftRecursion
from sfgen.grammar.read import Reader
from sfgen.grammar.simplify import calls, productive
from sfgen.grammar.thompson import GrammarTooLarge
from sfgen.grammar.token_positions import TokenPositions
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

_SHOWN = 60  # characters of a grammar in a repr


class Grammar:
    """Texts of a context-free grammar: a ``sfgen.protocols.GuidingConstraint``. Made by :meth:`from_gbnf`.

    It may be ambiguous. Safe to share between threads. Equal texts with equal start rules are equal. The rules as
    expressions, ``sfgen.grammar.rules.Grammar``, are what it is made of.

    >>> grammar = Grammar.from_gbnf('root ::= "(" root ")" | [0-9]+')
    >>> grammar.accepts("((42))"), grammar.accepts("((42)")
    (True, False)
    >>> grammar.shortest()
    b'0'
    """

    def __init__(self, source: Gbnf) -> None:
        self._source = arguments.instance("source", source, Gbnf, hint="Grammar.from_gbnf(text) makes a grammar.")
        self._reader = Reader(_network(source))
        self._lock = threading.Lock()
        self._networks: WeakKeyDictionary[Vocabulary, TokenPositions] = WeakKeyDictionary()

    @classmethod
    def from_gbnf(cls, text: str, start: str = "root") -> Grammar:
        r"""Read a grammar in GBNF, the format of llama.cpp.

        Args:
            text: The grammar.
            start: The rule that a whole text is a text of.

        Raises:
            GrammarError: It cannot be read, a rule that is called is missing, a rule calls itself through others before
                it has read anything, or there is no text at all.
            GrammarTooLarge: It passes a limit.

        >>> Grammar.from_gbnf('root ::= item+\nitem ::= "- " [^\\n]+ "\\n"').accepts("- eggs\n- milk\n")
        True
        """
        try:
            return cls(read_gbnf(text, start))
        except RecursionError:
            hint = "Give what is inside rules of its own."
            raise GrammarError("brackets and repetitions are nested too deep", text, hint=hint) from None

    def __repr__(self) -> str:
        """One line, with the beginning of the grammar.

        >>> Grammar.from_gbnf('root ::= "yes" | "no"')
        Grammar.from_gbnf('root ::= "yes" | "no"')
        """
        text = self._source.text
        shown = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
        start = "" if self.start == "root" else f", start={self.start!r}"
        return f"Grammar.from_gbnf({shown}{start})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and (self._source.text, self.start) == (other._source.text, other.start)

    def __hash__(self) -> int:
        return hash((self._source.text, self.start))

    @property
    def start(self) -> str:
        """The rule that a whole text is a text of."""
        return self._source.grammar.start

    @property
    def network(self) -> Network:
        """The automata of the rules."""
        return self._reader.network

    def accepts(self, text: str | bytes) -> bool:
        """Whether a whole text is one of the grammar; bytes are its UTF-8."""
        return self._reader.reads(text)

    def shortest(self) -> bytes:
        """A shortest text."""
        return shortest_text(self._reader)

    def to_dict(self) -> dict[str, Any]:
        """The grammar as plain data for JSON.

        >>> Grammar.from_gbnf('answer ::= "yes"', start="answer").to_dict()
        {'grammar': 'answer ::= "yes"', 'format': 'gbnf', 'start': 'answer'}
        """
        return {"grammar": self._source.text, "format": "gbnf", "start": self.start}

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Say nothing of a finished text: there is no judge of GBNF but the rules that guide."""
        arguments.data("data", data)
        return None

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """A new guide for one sequence of tokens; see ``sfgen.protocols.GuideSource.guide``.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        arguments.instance("vocabulary", vocabulary, Vocabulary, hint="A model has one: model.vocabulary.")
        with self._lock:
            tokens = self._networks.get(vocabulary)
            if tokens is None:
                tokens = self._networks[vocabulary] = TokenPositions(self.network, vocabulary)
        return NetworkGuide(tokens, max_tokens)


def _network(source: Gbnf) -> Network:
    """The automata of rules that were read; what is wrong with a rule is shown where it begins."""
    try:
        return network_of(source.grammar)
    except GrammarTooLarge as error:
        error.details = source.error("", error.rule).details
        raise
    except LeftRecursion as error:
        hint = "Write such a list as a repetition, as in: item (separator item)*"
        raise source.error(error.message, error.rules[0], hint=hint) from None
    except UsageError:
        circle = _without_end(source)
        reason = f"there is no text at all: the rule {circle[0]!r} never ends, {' → '.join([*circle, circle[0]])}"
        raise source.error(reason, circle[0], hint="Give it an alternative that does not call itself.") from None


def _without_end(source: Gbnf) -> list[str]:
    """Rules that call each other and have no text, so that the start has none; each calls the next."""
    rules = source.grammar.rules
    with_text = productive(rules)
    rule, seen = source.grammar.start, list[str]()
    while rule not in seen:
        seen.append(rule)
        rule = next(call.rule for call in calls(rules[rule]) if call.rule not in with_text)
    return seen[seen.index(rule) :]
