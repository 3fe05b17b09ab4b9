"""JSON Schemas inside of grammars in Lark's language, as llguidance writes them: ``%json {"type": "object"}``.

``with_schemas`` replaces each schema by a token symbol of the same length, so that positions in errors stay right. lark
reads the result as a grammar with token symbols (``lark_tokens``). The codes of these symbols are the *schema
terminals* of ``sfgen.grammar.mixed``, each of which matches all texts that ``JsonSchema`` writes.

Two packages check a finished text: lark reads it with a terminal in place of each schema's text, and jsonschema reads
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
from sfgen.grammar.lalr.compiled_grammar import CompiledGrammar, compile_lark
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
    lark_language,
    located_errors,
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
_MOST = 10  # different schemas in a grammar
_SHOWN = 24  # characters of a schema in the name of its terminal


class WithSchemas(NamedTuple):
    """A grammar in Lark's language without its schemas.

    Attributes:
        written: The text of the grammar.
        text: The text with a token symbol in place of each schema.
        sources: The JSON of each schema.
        offsets: The offsets of ``sources`` in ``written``.
    """

    written: str
    text: str
    sources: tuple[str, ...]
    offsets: tuple[int, ...]

    def translated(self, error: GrammarError) -> GrammarError:
        """Convert an error of the replaced text to one of the written text."""
        reason = _PLACEHOLDER.sub(lambda match: shown(self.sources[int(match[1])]), error.reason)
        hint = error.hint
        if reason.endswith("different tokens"):
            reason, hint = f"{reason} and schemas", f"{hint} Join several schemas to one: anyOf."
        if reason.endswith(TOKEN_INSIDE) and _PLACEHOLDER.search(self.text[error.position :].split("\n", 1)[0]):
            reason = reason.removesuffix(TOKEN_INSIDE) + "contains %json"
            hint = "Schemas are allowed in rules only; make the terminal a rule."
        return GrammarError(reason, self.written, error.position, hint=hint, origin=error.origin)


def with_schemas(text: str) -> WithSchemas:
    """Replace the schemas of a grammar by token symbols.

    >>> replaced = with_schemas('start: "a" %json {"enum": [1]}')
    >>> replaced.sources, len(replaced.text) == len(replaced.written)
    (('{"enum": [1]}',), True)
    """
    written, replaced, offset = dict[str, tuple[int, str, int]](), list[str](), 0
    while match := SCHEMA.search(text, offset):
        replaced.append(text[offset : match.start()])
        offset = match.end()
        if not match["schema"]:
            replaced.append(match[0])
            continue
        end = _end_of_json(text, offset)
        whole = text[match.start() : end]
        if whole not in written:
            if len(written) == _MOST:
                hint = 'Write several as one: %json {"anyOf": [...]}.'
                raise GrammarError(f"the grammar has more than {_MOST} schemas", text, match.start(), hint=hint)
            written[whole] = len(written), text[offset:end], offset
        replaced.append(f"<\0{written[whole][0]}".ljust(len(whole) - 1) + ">")
        offset = end
    replaced.append(text[offset:])
    sources, offsets = [source for _, source, _ in written.values()], [at for *_, at in written.values()]
    return WithSchemas(text, "".join(replaced), tuple(sources), tuple(offsets))


def _end_of_json(text: str, offset: int) -> int:
    """Return the end of the JSON object that begins at an offset."""
    hint = 'Write %json {"type": "object", ...}.'
    if text[offset : offset + 1] != "{":
        raise GrammarError("%json must be followed by a JSON Schema, which begins with {", text, offset, hint=hint)
    try:
        return read_json(text, offset)[1]
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


def _read_schemas(replaced: WithSchemas) -> tuple[JsonSchema, ...]:
    """Read and compile the schemas of a grammar; errors contain their positions in it."""
    from sfgen.schema.json_schema import JsonSchema

    schemas = list[JsonSchema]()
    for source, offset in zip(replaced.sources, replaced.offsets, strict=True):
        try:
            schema = JsonSchema(source)
            _ = schema.network
        except SchemaError as error:
            position = offset
            if error.position is not None:
                line, column = error.position
                position += sum(len(each) for each in source.splitlines(keepends=True)[: line - 1]) + column - 1
            pointer = f" at {error.pointer}" if error.pointer else ""
            hint = error.hint
            if isinstance(hint, ParameterText) and "schema_dir" in hint.parameters:
                hint = 'Copy it into this schema, under "$defs".'
            raise GrammarError(f"%json: {error.fault}{pointer}", replaced.written, position, hint=hint) from None
        schemas.append(schema)
    return tuple(schemas)


class LarkOfSchemas(LarkOfTokens):
    """The texts of a grammar in Lark's language with schemas, and perhaps token symbols."""

    def __init__(
        self,
        compiled: CompiledGrammar,
        max_blanks: int,
        origin: str | None,
        replaced: WithSchemas,
        schemas: tuple[JsonSchema, ...],
    ) -> None:
        self._replaced = replaced
        self._schemas = schemas
        self._lengths = [len(schema.shortest()) for schema in schemas]
        symbols = with_tokens(replaced.text).symbols
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
        names = {pattern_of(code): shown(source) for code, source in zip(self._codes, replaced.sources, strict=True)}
        terminals = [each._replace(shown=names.get(each.pattern, each.shown)) for each in tables.terminals]
        compiled.grammar.tables = tables._replace(terminals=tuple(terminals))
        super().__init__(compiled, max_blanks, origin)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(lark_with_schemas, **self._options()), (self.text, self.start)

    def __compiled__(self) -> tuple[Any, ...]:
        grammar = self._grammar
        source = grammar.text, grammar.start, dict(grammar.imported), grammar.tables
        return _of_compiled, (*source, self._lexer, self.max_blanks, self.origin, self._replaced, self._schemas)

    def _begin(self, lexer: Lexer) -> None:
        self.text = self._replaced.written
        self._lexer = lexer
        self._reader = self._outer(lexer, self._lengths)
        self._open_rules = OpenRules(self._reader)
        self._mixed = MixedReader(self._reader, [schema.reader for schema in self._schemas], self._repeated)
        self._positions = KeptByVocabulary[PositionMasks[Any]]()
        self._written = KeptByVocabulary[Mapping[int, bytes]]()

    @property
    def _repeated(self) -> list[bytes]:
        """The code of each schema, repeated to the length of the schema's shortest text."""
        return [code * length for code, length in zip(self._codes, self._lengths, strict=True)]

    def _outer(self, lexer: Lexer, lengths: Sequence[int]) -> LalrReader:
        """Make the reader of the text outside of schemas, for given lengths of their shortest texts."""
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
        """The reader of the texts that guides write, byte by byte."""
        return self._mixed

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with jsonschema and, if there are no tokens and quotations, with lark."""
        spans = self._spans(arguments.data("data", data))
        if spans is None:
            return None if self.tokens else self._refused_by("sfgen", "the grammar allows no division of the text")
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
        parts, offset = list[tuple[str, str]](), 0
        for span in spans:
            parts.append((data[offset : span.begin].decode(), self._spellings[span.schema]))
            offset = span.end
        return [*parts, (data[offset:].decode(), "")]

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
        line_of = {shown(source): line_and_column(self.text, offset)[0] for source, offset in
                   zip(self._replaced.sources, self._replaced.offsets, strict=True)}  # fmt: skip
        return tuple([replace(rule, line=line_of.get(rule.name, rule.line)) for rule in super().rules()])

    def _expected(self, rules: OpenRules, position: MixedPosition) -> tuple[str, ...]:
        """Name the terminals that may follow, or the open schemas if none of them may end."""
        inside = position.inside
        if position.outer or any(self._schemas[each.schema].reader.accepts(each.inner) for each in inside):
            return super()._expected(rules, position)
        return tuple(dict.fromkeys(shown(self._replaced.sources[each.schema]) for each in inside))

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
    replaced: WithSchemas,
    schemas: tuple[JsonSchema, ...],
) -> LarkOfSchemas:
    """Return the language of a compiled form."""
    grammar = LarkGrammar.of_tables(text, start, files, tables)
    return LarkOfSchemas(CompiledGrammar(grammar, lexer), max_blanks, origin, replaced, schemas)


def outer_of(position: MixedPosition) -> LalrPosition:
    """Return the outer position that determines the open rules."""
    return position.outer or position.inside[0].after


class TextRead(NamedTuple):
    """The state of reading a text with schemas.

    Attributes:
        position: The position after the text so far.
        texts: The text so far of each open schema.
    """

    position: MixedPosition
    texts: tuple[bytes, ...] = ()


class SchemasTeller(Teller[TextRead]):
    """Names the open rules and the open schema."""

    def __init__(
        self, symbols: SymbolPositions[MixedPosition], open_rules: OpenRules, schemas: tuple[JsonSchema, ...]
    ) -> None:
        self._symbols, self._open_rules, self._schemas = symbols, open_rules, schemas
        self._reader = cast("MixedReader", symbols.reader)
        self.start = TextRead(self._reader.start)

    def read(self, reading: TextRead, data: bytes) -> TextRead | None:
        """Return the state after some bytes, or after a token; ``None`` if they are refused."""
        token = token_read(data)
        text = data if token is None else self._symbols.vocabulary.tokens[token]
        by_bytes: TextRead | None = None if text is None else reading
        for byte in text or b"":
            by_bytes = None if by_bytes is None else self._after_byte(by_bytes, bytes([byte]))
        if by_bytes is not None or token is None:
            return by_bytes
        after = self._symbols.after(self._reader, reading.position, token)
        return None if after is None else TextRead(after, tuple(b"" for _ in after.inside))

    def _after_byte(self, reading: TextRead, byte: bytes) -> TextRead | None:
        after = self._reader.read(reading.position, byte)
        if after is None:
            return None
        begun = list(zip(reading.position.inside, reading.texts, strict=True))
        texts = (
            next((text for before, text in begun if self._leads_to(before, byte, each)), b"") for each in after.inside
        )
        return TextRead(after, tuple(text + byte for text in texts))

    def _leads_to(self, before: Inside, byte: bytes, after: Inside) -> bool:
        """Return whether a byte leads from one position in a schema to another."""
        return (
            before.schema == after.schema and self._reader.inner[before.schema].read(before.inner, byte) == after.inner
        )

    def describe(self, reading: TextRead, position: MixedPosition) -> str:
        """Name the open rules, and the open terminal or the position in a schema, of the first configuration."""
        names, terminal = self._open_rules.at(outer_of(position))
        if position.outer:
            return where(names, terminal)
        from sfgen.schema.inspection.position import START
        from sfgen.schema.json_schema import described

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
    with located_errors(text, origin):
        replaced = with_schemas(text)
        try:
            if not replaced.sources:
                return lark_language(
                    text, start, max_blanks=max_blanks, directory=directory, files=files, origin=origin,
                    indenter=indenter,
                )  # fmt: skip
            if indenter is not None or Indentation.declared_in(text) is not None:
                offset = replaced.text.index("<\0")
                raise GrammarError(
                    "a grammar with indentation cannot contain %json", text, offset, hint="Leave one of them out."
                )
            schemas = _read_schemas(replaced)
            compiled = compile_lark(replaced.text, start, max_blanks=max_blanks, directory=directory, files=files)
            return LarkOfSchemas(compiled, max_blanks, origin, replaced, schemas)
        except GrammarError as error:
            raise replaced.translated(error) from None
