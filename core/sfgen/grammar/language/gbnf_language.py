"""The texts of a grammar in GBNF, as a ``language.Language`` on a network of automata.

Two networks are made of a grammar. The network for guides contains copies of small rules inside of others, and pushes
no frame for a call at the end of a rule. The network of ``AsWritten`` contains every rule, to name the open ones.

A text does not determine its tokens. If a grammar has token symbols (see ``token_symbols``), guides read tokens, and
``GbnfOfTokens`` reads texts: ``<think>`` matches its own spelling, a token by number and a negated token match one byte
or more. So it accepts every text that guides write, and perhaps others; ``guide.validate`` is exact.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from sfgen import arguments
from sfgen.compiled_form import Later
from sfgen.errors import GrammarError, UsageError
from sfgen.grammar.lalr.indentation import Indentation
from sfgen.grammar.language.as_written import AsWritten, with_terminals
from sfgen.grammar.language.gbnf import Gbnf, read_gbnf
from sfgen.grammar.language.language import Failure, Format, RuleOutline, StateOutline, Walk, where
from sfgen.grammar.network.analysis import Analysis, calls
from sfgen.grammar.network.completion import shortest_text
from sfgen.grammar.network.distances import RuleDistances, portable, with_distances
from sfgen.grammar.network.examples import every_text, most_new_rules_first
from sfgen.grammar.network.network import Network, network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.rules import (
    Bytes,
    Expression,
    GrammarRules,
    GrammarTooLarge,
    Literal,
    Repeat,
)
from sfgen.grammar.network.simplify import LeftRecursion
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.guide import GrammarGuide, KeptByVocabulary
from sfgen.grammar.shell.token_symbols import SymbolGuide, SymbolPositions, TokenSymbol, token_read
from sfgen.index.guide import Teller
from sfgen.index.readers import PositionMasks
from sfgen.printable import line_numbers
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

_COMPARED, _CHARACTERS_COMPARED = 400, 50_000
"""The most examples, and characters of examples, that are compared by the rules that they use."""


class RulesTeller(Teller[NetworkPosition | None]):
    """Names the open rules, as they are written.

    Args:
        as_written: A function that returns the rules; the first call makes them.
        symbols: The reader of the token symbols; ``None`` if the grammar has none.
    """

    start = None  # the start position of rules that are not made yet

    def __init__(
        self, as_written: Callable[[], AsWritten], symbols: SymbolPositions[NetworkPosition] | None = None
    ) -> None:
        self._as_written, self._symbols = as_written, symbols

    def read(self, reading: NetworkPosition | None, data: bytes) -> NetworkPosition | None:
        """Return the position after some bytes, or after a token."""
        reader = self._as_written().reader
        before, token = reader.start if reading is None else reading, token_read(data)
        if token is None or self._symbols is None:
            return reader.read(before, data)
        return self._symbols.after(reader, before, token)

    def describe(self, reading: NetworkPosition | None, position: NetworkPosition) -> str:
        """Name the open rules and the open terminal: ``list › item: [a-z]``.

        The outermost rule comes first.
        """
        written = self._as_written()
        return where(*written.rules_at(reading or written.reader.start))


class GbnfLanguage:
    """The texts of a grammar in GBNF; its members are those of ``language.Language``."""

    def __init__(self, source: Gbnf, origin: str | None = None) -> None:
        arguments.instance("source", source, Gbnf)
        self._set(source.text, source.grammar.start, Later(source), _network(source), origin)

    def _set(self, text: str, start: str, source: Later[Gbnf], network: Network, origin: str | None) -> None:
        self.text = text
        self.start = start
        self._read = source
        self._reader = NetworkReader(network)
        self._positions = KeptByVocabulary[Any]()
        self._written = KeptByVocabulary[Mapping[int, bytes]]()
        self.origin = origin
        self.format: Format = "gbnf"
        self.max_blanks: int | None = None
        self.indentation: Indentation | None = None
        self.files: Mapping[str, str] = MappingProxyType({})

    def __reduce__(self) -> tuple[Any, ...]:
        return gbnf_language, (self.text, self.start, self.origin)

    def __compiled__(self) -> tuple[Any, ...]:
        return type(self)._of_compiled, (
            self.text, self.start, Later(self._source), *portable(self.network), self.origin,
        )  # fmt: skip

    @classmethod
    def _of_compiled(
        cls,
        text: str,
        start: str,
        source: Later[Gbnf],
        network: Network,
        distances: RuleDistances,
        origin: str | None,
    ) -> GbnfLanguage:
        """Return the language of a compiled form."""
        made = cls.__new__(cls)
        made._set(text, start, source, with_distances(network, distances), origin)
        return made

    @property
    def _source(self) -> Gbnf:
        """The content of the grammar's text."""
        return self._read.value

    @property
    def tokens(self) -> tuple[str, ...]:
        """The token symbols, as they are spelled."""
        return tuple(symbol.spelling for symbol in self._source.symbols.codes)

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the text written for each special token that the grammar allows."""
        return self._written.of(vocabulary, lambda each: self._source.symbols.written(each, self.text))

    @property
    def network(self) -> Network:
        """The automata of the rules."""
        return self._reader.network

    @property
    def reader(self) -> NetworkReader:
        """The reader of the texts that guides write, byte by byte."""
        return self._reader

    @property
    def expressions(self) -> GrammarRules | None:
        """The rules as expressions over bytes."""
        return self._source.grammar

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is one of the grammar; bytes are UTF-8."""
        return self.reader.reads(text)

    def shortest(self) -> bytes:
        """Find a shortest text."""
        return shortest_text(self.reader)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Return ``None``: there is no other implementation to check a text with."""
        arguments.data("data", data)
        return None

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Make a guide for one sequence of tokens."""
        positions = self._positions.of(vocabulary, self._make_positions)
        if isinstance(positions, SymbolPositions):
            return SymbolGuide(positions, max_tokens)._told_by(RulesTeller(lambda: self._outlined, positions))
        return GrammarGuide(positions, max_tokens)._told_by(RulesTeller(lambda: self._outlined))

    def _make_positions(self, vocabulary: Vocabulary) -> PositionMasks[NetworkPosition]:
        return NetworkPositions(self.network, vocabulary)

    def rules(self) -> tuple[RuleOutline, ...]:
        """List all rules in the order of the text, then the reachable terminals."""
        source, written = self._source, self._outlined
        states, line_of = written.states_of(), line_numbers(self.text)
        outlines = [
            RuleOutline(name, line_of(position), "rule", states.get(name, 0), _called(written, name))
            for name, position in sorted(source.positions.items(), key=lambda each: each[1])
        ]
        for name, position in dict(source.terminals.values()).items():
            if name in states:
                outlines.append(RuleOutline(name, line_of(position), "terminal", states[name]))
        return tuple(outlines)

    def states(self) -> int:
        """Count the states; they are numbered from 0."""
        return len(self._outlined.network)

    def state(self, number: int) -> StateOutline:
        """Describe one of the states, by a number that exists."""
        return self._outlined.state(number)

    def walk(self, text: str) -> Walk:
        """Read a text as far as the grammar allows."""
        return self._as_written.walk(text)

    def failure(self, text: str) -> Failure | None:
        """Find the failure of a text; ``None`` if the grammar accepts it."""
        return None if self.accepts(text) else self._as_written.failure(text)

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first; they reach every rule if ``count`` suffices."""
        every = every_text(self._spelled)
        first = dict.fromkeys([self.shortest().decode(), *filter(self.accepts, _compared(every))])
        ordered = most_new_rules_first({text: self._as_written.reached(text) for text in first})
        rest = filter(self.accepts, every)
        return list(itertools.islice(itertools.chain(ordered, rest), min(count, sys.maxsize)))

    @cached_property
    def _as_written(self) -> AsWritten:
        """The rules as they are written, to read texts."""
        return AsWritten.of(self._source, self.network)

    @property
    def _outlined(self) -> AsWritten:
        """The rules as they are written, to describe their states."""
        return self._as_written

    @property
    def _spelled(self) -> GrammarRules:
        """The rules as they are written, to make examples."""
        return GrammarRules(self._as_written.rules, self.start)


class GbnfOfTokens(GbnfLanguage):
    """The texts of a grammar in GBNF with token symbols."""

    def _make_positions(self, vocabulary: Vocabulary) -> PositionMasks[NetworkPosition]:
        make = super()._make_positions
        return SymbolPositions(vocabulary, self._source.symbols, self.text, make, self.origin)

    @property
    def expressions(self) -> GrammarRules:
        """The rules as expressions over bytes, with texts in place of the symbols."""
        return self._of_text

    @property
    def reader(self) -> NetworkReader:
        """The reader of texts, byte by byte."""
        return self._text_reader

    def shortest(self) -> bytes:
        """Find a shortest text, with the symbols as they are spelled."""
        return shortest_text(NetworkReader(network_of(self._spelled)))

    @cached_property
    def _of_text(self) -> GrammarRules:
        return self._with_texts(
            lambda symbol: _ANYTHING if symbol.name is None or symbol.is_negated else Literal(symbol.name.encode())
        )

    @cached_property
    def _spelled(self) -> GrammarRules:
        return self._with_texts(lambda symbol: Literal(symbol.spelling.encode()))

    def _with_texts(self, text_of: Callable[[TokenSymbol], Expression]) -> GrammarRules:
        """Return the rules with texts in place of the symbols."""
        rules = with_terminals(self._source).rules
        return GrammarRules(
            {**rules, **{each.spelling: text_of(each) for each in self._source.symbols.codes}}, self.start
        )

    @cached_property
    def _text_reader(self) -> NetworkReader:
        return NetworkReader(network_of(self._of_text))

    @cached_property
    def _as_written(self) -> AsWritten:
        return AsWritten.of(self._source, self.reader.network, self._of_text)

    @property
    def _outlined(self) -> AsWritten:
        return self._written_by_tokens

    @cached_property
    def _written_by_tokens(self) -> AsWritten:
        return AsWritten.of(self._source, self.network)


_ANYTHING = Repeat(Bytes(((0, 0xFF),)), 1, None)
"""The bytes that match a token without a known text; the token may be a part of a character."""


def gbnf_language(text: str, start: str = "root", origin: str | None = None) -> GbnfLanguage:
    """Read a grammar in GBNF."""
    try:
        source = read_gbnf(text, start)
        return (GbnfOfTokens if source.symbols.codes else GbnfLanguage)(source, origin)
    except GrammarError as error:
        raise error.of_file(origin) from None
    except GrammarTooLarge as error:
        error.tell_where(text, origin)
        raise
    except RecursionError:
        hint = "Move inner parts into rules of their own."
        raise GrammarError("brackets and repetitions are nested too deep", text, hint=hint, origin=origin) from None


def _compared(texts: Iterator[str]) -> Iterator[str]:
    """Yield the texts to compare."""
    size = 0
    for text in itertools.islice(texts, _COMPARED):
        yield text
        size += len(text)
        if size > _CHARACTERS_COMPARED:
            return


def _called(written: AsWritten, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.rule for call in calls(written.rules[name])))


def _network(source: Gbnf) -> Network:
    """Make the network of a grammar; an error contains the position of the rule."""
    try:
        return network_of(source.grammar)
    except GrammarTooLarge as error:
        error.position = source.positions.get(error.rule)
        raise
    except LeftRecursion as error:
        hint = "Write such a list as a repetition, as in: item (separator item)*"
        raise source.error(error.message, error.rules[0], hint=hint) from None
    except UsageError:
        cycle = _without_end(source)
        reason = f"there is no text at all: the rule {cycle[0]!r} never ends, {' → '.join([*cycle, cycle[0]])}"
        raise source.error(reason, cycle[0], hint="Give it an alternative that does not call itself.") from None


def _without_end(source: Gbnf) -> list[str]:
    """Return a cycle of rules without a text that the start rule needs; each rule calls the next."""
    rules = source.grammar.rules
    with_text = Analysis(rules).lengths
    rule, seen = source.grammar.start, list[str]()
    while rule not in seen:
        seen.append(rule)
        rule = next(call.rule for call in calls(rules[rule]) if call.rule not in with_text)
    return seen[seen.index(rule) :]
