"""JSON Schemas inside of grammars in Lark's language, as llguidance writes them: ``%json {"type": "object"}``.

``with_schemas`` puts a token symbol in the place of each schema, as long as it, so that places in errors stay right.
lark reads the grammar as one that asks for tokens (``lark_tokens``); the codes of these symbols are the *schema
terminals* of ``sfgen.grammar.mixed``, which stand for all texts that ``JsonSchema`` writes.

Two judges check a finished text: lark reads it with a terminal in place of each schema's text, and jsonschema reads
these texts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sfgen import arguments
from sfgen.errors import GrammarError, SchemaError
from sfgen.grammar.lalr.compiled import CompiledGrammar, compile_lark
from sfgen.grammar.lalr.completion import LalrCompletion
from sfgen.grammar.lalr.distances import TextDistances
from sfgen.grammar.lalr.indentation import Indentation
from sfgen.grammar.lalr.lark_package import TOKEN_INSIDE, LarkGrammar
from sfgen.grammar.lalr.lark_quotations import read_json
from sfgen.grammar.lalr.lark_tokens import SCHEMA, with_tokens
from sfgen.grammar.lalr.lexer import make_lexer
from sfgen.grammar.lalr.read import LalrPosition, LalrReader
from sfgen.grammar.lalr.stack import StateStacks
from sfgen.grammar.lalr.tables import Lexer, ParseTables
from sfgen.grammar.language.language import RuleOutline, where
from sfgen.grammar.language.lark_language import (
    MOST_NODES,
    LarkLanguage,
    LarkOfTokens,
    checked_options,
    errors_told,
    lark_language,
)
from sfgen.grammar.language.open_rules import OpenRules
from sfgen.grammar.mixed.positions import MixedPositions
from sfgen.grammar.mixed.reader import Inside, MixedPosition, MixedReader, Span, lengthened
from sfgen.grammar.shell.guide import KeptByVocabulary
from sfgen.grammar.shell.token_symbols import (
    SymbolGuide,
    SymbolPositions,
    SymbolTokens,
    pattern_of,
    token_read,
)
from sfgen.index.guide import Teller
from sfgen.index.readers import PositionMasks
from sfgen.parameter_text import ParameterText
from sfgen.printable import line_and_column
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.schema.json_schema import JsonSchema

_PLACEHOLDER = re.compile("<\0([0-9]) *>")
_MOST = 10
_SHOWN = 24  # characters of a schema in the name of its terminal


class WithSchemas(NamedTuple):
    """A grammar in Lark's language without its schemas.

    Attributes:
        written: The text of the grammar.
        text: The text with a token symbol in place of each schema.
        sources: The JSON of each schema.
        places: The offsets of ``sources`` in ``written``.
    """

    written: str
    text: str
    sources: tuple[str, ...]
    places: tuple[int, ...]

    def told(self, error: GrammarError) -> GrammarError:
        """Return an error of the replaced text as one of the grammar's own."""
        reason = _PLACEHOLDER.sub(lambda found: shown(self.sources[int(found[1])]), error.reason)
        hint = error.hint
        if reason.endswith("different tokens"):
            reason, hint = f"{reason} and schemas", f"{hint} One schema may be several: anyOf."
        if reason.endswith(TOKEN_INSIDE) and _PLACEHOLDER.search(self.text[error.position :].split("\n", 1)[0]):
            reason = reason.removesuffix(TOKEN_INSIDE) + "has %json inside"
            hint = "Schemas stand in rules; a rule may take the terminal's place."
        return GrammarError(reason, self.written, error.position, hint=hint, origin=error.origin)


def with_schemas(text: str) -> WithSchemas:
    """Put token symbols in place of the schemas of a grammar.

    >>> found = with_schemas('start: "a" %json {"enum": [1]}')
    >>> found.sources, len(found.text) == len(found.written)
    (('{"enum": [1]}',), True)
    """
    written, replaced, place = dict[str, tuple[int, str, int]](), list[str](), 0
    while found := SCHEMA.search(text, place):
        replaced.append(text[place : found.start()])
        place = found.end()
        if not found["schema"]:
            replaced.append(found[0])
            continue
        end = _end_of_json(text, place)
        whole = text[found.start() : end]
        if whole not in written:
            if len(written) == _MOST:
                hint = 'Write several as one: %json {"anyOf": [...]}.'
                raise GrammarError(f"the grammar has more than {_MOST} schemas", text, found.start(), hint=hint)
            written[whole] = len(written), text[place:end], place
        replaced.append(f"<\0{written[whole][0]}".ljust(len(whole) - 1) + ">")
        place = end
    replaced.append(text[place:])
    sources, places = [source for _, source, _ in written.values()], [at for *_, at in written.values()]
    return WithSchemas(text, "".join(replaced), tuple(sources), tuple(places))


def _end_of_json(text: str, place: int) -> int:
    """Return the end of the JSON object that begins at an offset."""
    hint = 'Write %json {"type": "object", ...}.'
    if text[place : place + 1] != "{":
        raise GrammarError("%json must be followed by a JSON Schema, which begins with {", text, place, hint=hint)
    try:
        return read_json(text, place)[1]
    except json.JSONDecodeError as error:
        reason = f"%json must be followed by a JSON Schema, and this is not valid JSON: {error.msg}"
        raise GrammarError(reason, text, error.pos, hint=hint) from None


def shown(source: str) -> str:
    """Name the terminal of a schema.

    >>> shown('{"enum": [1]}')
    '%json {"enum": [1]}'
    """
    line = " ".join(source.split())
    return "%json " + (line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")


def _read_schemas(found: WithSchemas) -> tuple[JsonSchema, ...]:
    """Read and compile the schemas of a grammar; errors tell their places in it."""
    from sfgen.schema.json_schema import JsonSchema

    schemas = list[JsonSchema]()
    for source, place in zip(found.sources, found.places, strict=True):
        try:
            schema = JsonSchema(source)
            _ = schema.network
        except SchemaError as error:
            where = place
            if error.position is not None:
                line, column = error.position
                where += sum(len(each) for each in source.splitlines(keepends=True)[: line - 1]) + column - 1
            pointer = f" at {error.pointer}" if error.pointer else ""
            hint = error.hint
            if isinstance(hint, ParameterText) and "schema_dir" in hint.parameters:
                hint = 'Copy it into this schema, under "$defs".'
            raise GrammarError(f"%json: {error.fault}{pointer}", found.written, where, hint=hint) from None
        schemas.append(schema)
    return tuple(schemas)


class LarkOfSchemas(LarkOfTokens):
    """The texts of a grammar in Lark's language with schemas, and perhaps token symbols."""

    def __init__(
        self,
        compiled: CompiledGrammar,
        max_blanks: int,
        origin: str | None,
        found: WithSchemas,
        schemas: tuple[JsonSchema, ...],
    ) -> None:
        self._found = found
        self._schemas = schemas
        self._lengths = [len(schema.shortest()) for schema in schemas]
        symbols = with_tokens(found.text).symbols
        self._symbols = SymbolTokens(
            {symbol: code for symbol, code in symbols.items() if not _PLACEHOLDER.fullmatch(symbol.spelling)}
        )
        of_schemas = [
            (int(number[1]), symbol.spelling, code) for symbol, code in symbols.items()
            if (number := _PLACEHOLDER.fullmatch(symbol.spelling))
        ]  # fmt: skip
        self._spellings = [spelling for _, spelling, _ in sorted(of_schemas)]
        self._codes = [code for *_, code in sorted(of_schemas)]
        tables = compiled.grammar.tables
        names = {pattern_of(code): shown(source) for code, source in zip(self._codes, found.sources, strict=True)}
        terminals = [each._replace(shown=names.get(each.pattern, each.shown)) for each in tables.terminals]
        compiled.grammar.tables = tables._replace(terminals=tuple(terminals))
        super().__init__(compiled, max_blanks, origin)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(lark_with_schemas, **self._options()), (self.text, self.start)

    def __compiled__(self) -> tuple[Any, ...]:
        grammar = self._grammar
        told = grammar.text, grammar.start, dict(grammar.imported), grammar.tables
        return _of_compiled, (*told, self._lexer, self.max_blanks, self.origin, self._found, self._schemas)

    def _begin(self, lexer: Lexer) -> None:
        self.text = self._found.written
        self._lexer = lexer
        self._reader = self._outer(lexer, self._lengths)
        self._open_rules = OpenRules(self._reader)
        self._mixed = MixedReader(self._reader, [schema.reader for schema in self._schemas], self._repeated)
        self._positions = KeptByVocabulary[PositionMasks[Any]]()
        self._written = KeptByVocabulary[Mapping[int, bytes]]()

    @property
    def _repeated(self) -> list[bytes]:
        """The codes of the schemas, as they are repeated."""
        return [code * length for code, length in zip(self._codes, self._lengths, strict=True)]

    def _outer(self, lexer: Lexer, lengths: Sequence[int]) -> LalrReader:
        """Make the reader outside of schemas, by the lengths of their shortest texts."""
        longer = lengthened(lexer, {code[0]: length for code, length in zip(self._codes, lengths, strict=True)})
        tables = self._grammar.tables
        stacks = StateStacks(tables)
        return LalrReader(tables, longer, stacks, TextDistances(tables, longer, stacks))

    def _make_unlimited(self) -> LalrReader:
        return self._outer(make_lexer(self._grammar.tables, None), self._lengths)

    @cached_property
    def _unlimited_mixed(self) -> MixedReader:
        return MixedReader(self._unlimited, [schema.reader for schema in self._schemas], self._repeated)

    @property
    def reader(self) -> MixedReader:  # type: ignore[override]
        """The reader of the guiding texts, byte by byte."""
        return self._mixed

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask lark and jsonschema about a finished text; of one with tokens or quotations only jsonschema."""
        spans = self._spans(arguments.data("data", data))
        if spans is None:
            return None if self.tokens else self._refused_by("sfgen", "no way to divide the text fits the grammar")
        for span in spans:
            refused = self._schemas[span.schema].refusal(data[span.begin : span.end])
            if refused is not None:
                return refused
        if self.tokens or self._grammar.tables.quotations:
            return None
        try:
            refusal = self._grammar.refusal_of_parts(self._parts(data, spans))
        except UnicodeDecodeError:
            return self._refused_by("lark", "it is not valid UTF-8")
        return None if refusal is None else self._refused_by("lark", refusal.reason)

    def _refused_by(self, judge: str, reason: str) -> dict[str, str]:
        return {"grammar": self.start, "refused by": judge, "reason": reason}

    def _spans(self, data: bytes) -> list[Span] | None:
        """Find the texts of schemas in a whole text."""
        spans = self._mixed.spans(data)
        return self._unlimited_mixed.spans(data) if spans is None else spans

    def _parts(self, data: bytes, spans: Sequence[Span]) -> list[tuple[str, str]]:
        """Divide a text as lark reads it: the text before each schema's text, and the spelling of the schema."""
        parts, place = list[tuple[str, str]](), 0
        for span in spans:
            parts.append((data[place : span.begin].decode(), self._spellings[span.schema]))
            place = span.end
        return [*parts, (data[place:].decode(), "")]

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Make a guide for one sequence of tokens."""
        with self._lock:
            if len(self._reader.stacks) > MOST_NODES:
                self._begin(self._lexer)
            positions, make, open_rules = self._positions, self._make_positions(), self._open_rules
            stacks = self._reader.stacks
        tokens = cast("SymbolPositions[MixedPosition]", positions.of(vocabulary, make))
        outer = cast("MixedReader", tokens.reader).outer
        if outer.stacks is not stacks:  # in this vocabulary the shortest texts of schemas are longer
            open_rules = OpenRules(outer)
        return SymbolGuide(tokens, max_tokens)._told_by(SchemasTeller(tokens, open_rules, self._schemas))

    def _make_positions(self) -> Callable[[Vocabulary], PositionMasks[Any]]:
        networks, lexer = [schema.network for schema in self._schemas], self._lexer
        reader, own = self._reader, self._lengths

        def outer(lengths: Sequence[int]) -> LalrReader:
            return reader if list(lengths) == own else self._outer(lexer, lengths)

        make = partial(MixedPositions, networks, self._codes, outer)
        return lambda vocabulary: SymbolPositions(vocabulary, self._symbols, self.text, make, self.origin)

    def _plain(self, position: MixedPosition) -> LalrPosition:
        return outer_of(position)

    def rules(self) -> tuple[RuleOutline, ...]:
        """List all rules in the order of the text, then the reachable terminals."""
        line_of = {shown(source): line_and_column(self.text, place)[0] for source, place in
                   zip(self._found.sources, self._found.places, strict=True)}  # fmt: skip
        return tuple([replace(rule, line=line_of.get(rule.name, rule.line)) for rule in super().rules()])

    def _expected(self, rules: OpenRules, position: MixedPosition) -> tuple[str, ...]:
        """Name what may follow; where only schemas are open, these."""
        inside = position.inside
        if position.outer or any(self._schemas[each.schema].reader.accepts(each.inner) for each in inside):
            return super()._expected(rules, position)
        return tuple(dict.fromkeys(shown(self._found.sources[each.schema]) for each in inside))

    def shortest(self) -> bytes:
        """Find a shortest text, with the symbols as they are spelled."""
        return self._spelled(LalrCompletion(self._reader, None).text(self._reader.start))

    def _spelled(self, coded: bytes) -> bytes:
        for code, schema in zip(self._repeated, self._schemas, strict=True):
            coded = coded.replace(code, schema.shortest())
        return self._symbols.spelled(coded)

    def _reader_of_any_blanks(self) -> MixedReader:
        return self._unlimited_mixed


def _of_compiled(
    text: str,
    start: str,
    files: Mapping[str, str],
    tables: ParseTables,
    lexer: Lexer,
    max_blanks: int,
    origin: str | None,
    found: WithSchemas,
    schemas: tuple[JsonSchema, ...],
) -> LarkOfSchemas:
    """Return the language of a compiled form."""
    grammar = LarkGrammar.of_tables(text, start, files, tables)
    return LarkOfSchemas(CompiledGrammar(grammar, lexer), max_blanks, origin, found, schemas)


def outer_of(position: MixedPosition) -> LalrPosition:
    """Return an outer position that tells the open rules."""
    return position.outer or position.inside[0].behind


class TextRead(NamedTuple):
    """A text as far as it was read.

    Attributes:
        position: Its position.
        texts: The texts so far of the open schemas.
    """

    position: MixedPosition
    texts: tuple[bytes, ...] = ()


class SchemasTeller(Teller[TextRead]):
    """Tells which rules and which schema are open."""

    def __init__(
        self, symbols: SymbolPositions[MixedPosition], open_rules: OpenRules, schemas: tuple[JsonSchema, ...]
    ) -> None:
        self._symbols, self._open_rules, self._schemas = symbols, open_rules, schemas
        self._reader = cast("MixedReader", symbols.reader)
        self.start = TextRead(self._reader.start)

    def read(self, reading: TextRead, data: bytes) -> TextRead | None:
        """Return what was read after some bytes, or after a token."""
        token = token_read(data)
        text = data if token is None else self._symbols.vocabulary.tokens[token]
        told: TextRead | None = None if text is None else reading
        for byte in text or b"":
            told = None if told is None else self._after_byte(told, bytes([byte]))
        if told is not None or token is None:
            return told
        after = self._symbols.after(self._reader, reading.position, token)
        return None if after is None else TextRead(after, tuple(b"" for _ in after.inside))

    def _after_byte(self, reading: TextRead, byte: bytes) -> TextRead | None:
        after = self._reader.read(reading.position, byte)
        if after is None:
            return None
        begun = list(zip(reading.position.inside, reading.texts, strict=True))
        texts = (next((text for way, text in begun if self._leads_to(way, byte, each)), b"") for each in after.inside)
        return TextRead(after, tuple(text + byte for text in texts))

    def _leads_to(self, way: Inside, byte: bytes, after: Inside) -> bool:
        """Whether a byte leads from one place in a schema to another."""
        return way.schema == after.schema and self._reader.inner[way.schema].read(way.inner, byte) == after.inner

    def describe(self, reading: TextRead, position: MixedPosition) -> str:
        """Name the open rules, and the open terminal or the place in a schema; of several ways the first."""
        names, terminal = self._open_rules.at(outer_of(position))
        if position.outer:
            return where(names, terminal)
        from sfgen.schema.json_schema import described
        from sfgen.schema.telling.position import START

        inside = position.inside[0]
        schema, there = self._schemas[inside.schema], START.read(reading.texts[0])
        return where([*names, described(there, inside.inner, schema.network, schema.compiled)])


def lark_with_schemas(
    text: str,
    start: str = "start",
    *,
    max_blanks: int = 1,
    directory: str | os.PathLike[str] | None = None,
    files: Mapping[str, str] | None = None,
    origin: str | None = None,
    indenter: Any = None,
) -> LarkLanguage:
    """Read a grammar in Lark's language, which may have schemas; see ``lark_language``."""
    text, start, max_blanks, directory, files = checked_options(text, start, max_blanks, directory, files, origin)
    with errors_told(text, origin):
        found = with_schemas(text)
        try:
            if not found.sources:
                return lark_language(
                    text, start, max_blanks=max_blanks, directory=directory, files=files, origin=origin,
                    indenter=indenter,
                )  # fmt: skip
            if indenter is not None or Indentation.declared_in(text) is not None:
                place = found.text.index("<\0")
                raise GrammarError(
                    "a grammar with indentation has no %json", text, place, hint="Leave one of them out."
                )
            schemas = _read_schemas(found)
            compiled = compile_lark(found.text, start, max_blanks=max_blanks, directory=directory, files=files)
            return LarkOfSchemas(compiled, max_blanks, origin, found, schemas)
        except GrammarError as error:
            raise found.told(error) from None
