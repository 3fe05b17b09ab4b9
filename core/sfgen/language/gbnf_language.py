"""The texts of a grammar in GBNF: a ``sfgen.language.language.Language`` that stands on a network of automata."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from sfgen import arguments
from sfgen.caret import line_numbers
from sfgen.errors import GrammarError, UsageError
from sfgen.grammar.completion import shortest_text
from sfgen.grammar.examples import every_text, most_telling_first
from sfgen.grammar.guide import KeptByVocabulary
from sfgen.grammar.network import LeftRecursion, Network, network_of
from sfgen.grammar.positions import TokenPositions
from sfgen.grammar.read import Reader
from sfgen.grammar.rules import Grammar, GrammarTooLarge
from sfgen.grammar.simplify import calls, productive
from sfgen.language.as_written import AsWritten
from sfgen.language.gbnf import Gbnf, read_gbnf
from sfgen.language.gbnf_guide import GbnfGuide
from sfgen.language.language import Failure, Format, RuleOutline, StateOutline, Walk
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

_COMPARED, _CHARACTERS_COMPARED = 400, 50_000
"""Examples, and characters of all of them, that are compared by the rules in which they are read."""


class GbnfLanguage:
    """The texts of a grammar in GBNF.

    See ``sfgen.language.language.Language`` for what its members say.

    Args:
        source: The grammar, as ``sfgen.language.gbnf.read_gbnf`` reads it.
        origin: The name of its file; ``None`` where there is none.

    Raises:
        GrammarError: A rule calls itself through others before it has read anything, or there is no text at all.
        GrammarTooLarge: It passes a limit.
    """

    def __init__(self, source: Gbnf, origin: str | None = None) -> None:
        self._source = arguments.instance("source", source, Gbnf)
        self._reader = Reader(_network(source))
        self._positions = KeptByVocabulary(lambda vocabulary: TokenPositions(self.network, vocabulary))
        self.origin = origin
        self.format: Format = "gbnf"
        self.max_blanks: int | None = None
        self.files: Mapping[str, str] = MappingProxyType({})

    def __reduce__(self) -> tuple[Any, ...]:
        return gbnf_language, (self.text, self.start, self.origin)

    @property
    def text(self) -> str:
        """The grammar as it is written."""
        return self._source.text

    @property
    def start(self) -> str:
        """The rule that a whole text is a text of."""
        return self._source.grammar.start

    @property
    def network(self) -> Network:
        """The automata of the rules."""
        return self._reader.network

    @property
    def reader(self) -> Reader:
        """Reads what is written of the grammar, byte by byte."""
        return self._reader

    @property
    def expressions(self) -> Grammar | None:
        """The rules as expressions over bytes."""
        return self._source.grammar

    def accepts(self, text: str | bytes) -> bool:
        """Tell whether a whole text is one of the grammar.

        Bytes are its UTF-8.
        """
        return self._reader.reads(text)

    def shortest(self) -> bytes:
        """Find a shortest text."""
        return shortest_text(self._reader)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Return ``None``: GBNF has no judge besides the rules that guide."""
        arguments.data("data", data)
        return None

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Make a guide for one sequence of tokens.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        return GbnfGuide(self._positions.of(vocabulary), lambda: self._as_written, max_tokens)

    def rules(self) -> tuple[RuleOutline, ...]:
        """List all rules in the order of the text, then the terminals.

        Only the terminals that the start needs are listed.
        """
        source, written = self._source, self._as_written
        states, line_of = written.states_of(), line_numbers(self.text)
        found = [
            RuleOutline(name, line_of(position), "rule", states.get(name, 0), _called(written, name))
            for name, position in sorted(source.positions.items(), key=lambda each: each[1])
        ]
        for name, position in dict(source.terminals.values()).items():
            if name in states:
                found.append(RuleOutline(name, line_of(position), "terminal", states[name]))
        return tuple(found)

    def states(self) -> int:
        """Count the states; they are numbered from 0."""
        return len(self._as_written.network)

    def state(self, number: int) -> StateOutline:
        """Describe one of the states, by a number that exists."""
        return self._as_written.state(number)

    def walk(self, text: str) -> Walk:
        """Read a text as far as it goes."""
        return self._as_written.walk(text)

    def failure(self, text: str) -> Failure | None:
        """Find where a text fails; ``None`` where the grammar has it."""
        return None if self.accepts(text) else self._as_written.failure(text)

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first.

        They reach every rule where the count suffices.
        """
        every = every_text(Grammar(self._as_written.rules, self.start))
        first = dict.fromkeys([self.shortest().decode(), *filter(self.accepts, _beginning(every))])
        telling = most_telling_first({text: self._as_written.reached(text) for text in first})
        rest = filter(self.accepts, every)
        return list(itertools.islice(itertools.chain(telling, rest), min(count, sys.maxsize)))

    @cached_property
    def _as_written(self) -> AsWritten:
        return AsWritten.of(self._source, self.network)


def gbnf_language(text: str, start: str = "root", origin: str | None = None) -> GbnfLanguage:
    """Read a grammar in GBNF.

    Args:
        text: The grammar.
        start: The rule that a whole text is a text of.
        origin: The name of its file, for messages.

    Raises:
        GrammarError: It cannot be read, a rule that is called is missing, a rule calls itself through others before it
            has read anything, or there is no text at all.
        GrammarTooLarge: It passes a limit.
    """
    try:
        return GbnfLanguage(read_gbnf(text, start), origin)
    except GrammarError as error:
        raise error.of_file(origin) from None
    except GrammarTooLarge as error:
        error.tell_where(text, origin)
        raise
    except RecursionError:
        hint = "Give what is inside rules of its own."
        raise GrammarError("brackets and repetitions are nested too deep", text, hint=hint, origin=origin) from None


def _beginning(texts: Iterator[str]) -> Iterator[str]:
    """The texts that are compared."""
    size = 0
    for text in itertools.islice(texts, _COMPARED):
        yield text
        size += len(text)
        if size > _CHARACTERS_COMPARED:
            return


def _called(written: AsWritten, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.rule for call in calls(written.rules[name])))


def _network(source: Gbnf) -> Network:
    """The automata of rules that were read; what is wrong with a rule is shown where it begins."""
    try:
        return network_of(source.grammar)
    except GrammarTooLarge as error:
        error.position = source.positions.get(error.rule)
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
