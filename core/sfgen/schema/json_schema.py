"""A JSON Schema as a constraint: it generates texts and validates documents."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.compiled_form import Later
from sfgen.errors import BannedWordsError, SchemaError, SchemaTooLarge, UsageError
from sfgen.grammar.network.completion import shortest_text
from sfgen.grammar.network.distances import RuleDistances, portable, with_distances
from sfgen.grammar.network.network import Network, network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.regular import regular_superset
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.guide import GrammarGuide, KeptByVocabulary
from sfgen.index.guide import Teller
from sfgen.schema.inspection.position import START, JsonPosition, expected_at
from sfgen.schema.inspection.validity import Fault, Validity, json_path
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.from_pydantic import PydanticType, pydantic_type
from sfgen.schema.reading.read import read_schema
from sfgen.schema.reading.strict_json import with_floats
from sfgen.schema.writing.compile import Compiled, compile_schema
from sfgen.schema.writing.layout import WritingOptions
from sfgen.substring.substring import Substring, quoted_documents
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords
    from sfgen.protocols import Guide, Superset

_SHOWN = 60  # characters of a schema in a repr
_KEPT = 16  # the most schemas without banned words in the cache
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class JsonSchema:
    """The texts of a JSON Schema: a ``sfgen.protocols.GuidingConstraint``.

    A *written* text has the form that the options fix, and is always valid. A *valid* text may have any white space,
    any order and any spelling of numbers. :meth:`accepts` returns whether a text is written, :meth:`validate` the
    errors of a document.

    Rules are compiled on demand. Threads can share a schema. Two schemas are equal if their content, their options and
    their Python types are equal.

    Args:
        schema: A dict, a bool, JSON text, the short form (``"name, age? int"``, see
            :mod:`sfgen.schema.reading.short_form`), the path of a file, or a result of
            :func:`sfgen.schema.read_schema`; or a Python type that pydantic reads (a model, a dataclass,
            ``list[Model]``), for its schema. ``sfgen.schema_of`` makes a schema of examples, ``sfgen.tools_schema`` one
            of tools.
        order: The order of properties: ``"schema"`` is that of the schema, ``"any"`` allows all orders.
        extra_properties: Whether an object with ``properties``, but without ``additionalProperties``, may have others.
        spacing: ``"spaced"`` writes ``", "`` and ``": "``, ``"compact"`` no blanks; ``"any"`` allows both.
        indent: Blanks for each depth, one member or item a line, as ``json.dumps(indent=...)``; ``None``: one line.
        require_all: Whether all declared properties are required.
        infer_types: Whether a schema without ``type`` whose keywords apply to one type only, such as ``items`` and
            ``minItems``, is written as that type; see :mod:`sfgen.schema.meaning.groups`. A note lists these schemas.
        numbers: The spelling of numbers of ``enum`` and ``const``: ``"schema"`` is that of the schema, ``"any"`` also
            ``1.0`` and ``1.00`` for 1. In draft 04, where 1.0 is not an integer, whole numbers are not changed.
        schema_dir: The directory of other documents that it may refer to, by their ``$id`` or by their path; as
            ``"URL=DIRECTORY"`` also by the path after a URL. They become a part of the schema; no document is fetched.
            References to the metaschemas of the drafts need no directory.
        documents: The documents for quotations, by name: texts, or a ``sfgen.Substring``, which also has the unit. A
            string with the keyword ``"x-substring-of": "NAME"`` is a quotation from the document of that name.

    Raises:
        SchemaError: The source is not a schema.
        SchemaTooLarge: The schema passes a limit.
        InputError: The file, or the directory, cannot be read.
        UsageError: An option is not valid.

    >>> schema = JsonSchema("name, age int")
    >>> schema.accepts('{"name": "Ada", "age": 36}'), schema.accepts('{"age": 36, "name": "Ada"}')
    (True, False)
    >>> schema.validate('{"age": 36, "name": "Ada"}')
    []
    """

    @arguments.with_known_names
    def __init__(
        self,
        schema: Mapping[str, Any] | bool | str | PathLike[str] | SchemaDocument | type[Any] | Any,
        *,
        order: str = "schema",
        extra_properties: bool = False,
        spacing: str = "spaced",
        indent: int | None = None,
        require_all: bool = False,
        infer_types: bool = True,
        numbers: str = "schema",
        schema_dir: str | PathLike[str] | None = None,
        documents: Mapping[str, str | Substring] | None = None,
    ) -> None:
        source = pydantic_type(schema) or schema
        if not isinstance(source, Mapping | bool | str | PathLike | SchemaDocument | PydanticType):
            hint = "Give the class, not an instance." if hasattr(schema, "__dict__") else ""
            raise arguments.refusal("schema", "a dictionary, a bool, a text, a path or a class", schema, hint=hint)
        options = WritingOptions(
            spacing, indent, extra_properties, require_all, order, infer_types=infer_types, numbers=numbers
        )
        document = read_schema(source, schema_dir).quoting(quoted_documents(documents))
        self._set(document, options, source if isinstance(source, PydanticType) else None)

    def _set(self, document: SchemaDocument, options: WritingOptions, python_type: PydanticType | None) -> None:
        self._document = document
        self._python_type = python_type
        self._options = options
        self._lock = threading.RLock()
        self._compiled: Compiled | Later[Compiled] | None = None
        self._network: Network | None = None
        self._reader: NetworkReader | None = None
        self._positions = KeptByVocabulary[NetworkPositions]()

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonSchema._of, (self._document, self._options, self._python_type)

    def __compiled__(self) -> tuple[Any, ...]:
        return JsonSchema._of_compiled, (*self.__reduce__()[1], Later(self.compiled), *portable(self.network))

    @classmethod
    def _of_compiled(
        cls,
        document: SchemaDocument,
        options: WritingOptions,
        python_type: PydanticType | None,
        rules: Later[Compiled],
        network: Network,
        distances: RuleDistances,
    ) -> JsonSchema:
        """Return the schema of a compiled form."""
        made = cls._of(document, options, python_type)
        made._compiled, made._network = rules, with_distances(network, distances)
        return made

    @classmethod
    def _of(cls, document: SchemaDocument, options: WritingOptions, python_type: PydanticType | None) -> JsonSchema:
        """Return the schema of a parsed document."""
        made = object.__new__(cls)
        made._set(document, options, python_type)
        return made

    def __repr__(self) -> str:
        """Return one line with the beginning of the schema.

        >>> JsonSchema({"type": "integer"})
        JsonSchema({'type': 'integer'})
        """
        shown = repr(self.to_dict()["schema"])
        return f"JsonSchema({shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + '…'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSchema) and self._key == other._key and self._python_type == other._python_type

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[str, WritingOptions, frozenset[tuple[str, Substring]]]:
        return repr(self._document.root), self._options, frozenset(self.documents.items())

    @property
    def document(self) -> SchemaDocument:
        """The parsed schema."""
        return self._document

    @property
    def options(self) -> WritingOptions:
        """The options of written values."""
        return self._options

    @property
    def compiled(self) -> Compiled:
        """The rules, with their descriptions in words.

        Raises:
            SchemaError: A keyword is not supported, or no text satisfies the schema.
            SchemaTooLarge: A limit is passed.
            BannedWordsError: Every text has a banned word.
        """
        with self._lock:
            if self._compiled is None:
                self._compiled = self._compile(self._options)
            elif isinstance(self._compiled, Later):
                self._compiled = self._compiled.value
            return self._compiled

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the schema for its user, one line each.

        It raises the errors of :attr:`compiled`.
        """
        return self.compiled.notes

    @property
    def network(self) -> Network:
        """The automata of the rules; raises the errors of :attr:`compiled`."""
        with self._lock:
            if self._network is None:
                self._network = self._made_network(self.compiled)
            return self._network

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is written under the options.

        Bytes are its UTF-8.
        """
        return self.reader.reads(text)

    def shortest(self) -> bytes:
        """Find a shortest written text.

        >>> JsonSchema("name, age int").shortest()
        b'{"name": "", "age": 0}'
        """
        return shortest_text(self.reader)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema and the options as plain data for JSON."""
        options, documents = self._options, self.documents
        quoted = {name: document.to_dict()["substring"] for name, document in documents.items()}
        return {
            "schema": with_floats(self._document.root),
            "spacing": options.spacing,
            "indent": options.indent,
            "extra_properties": options.extra_properties,
            "require_all": options.require_all,
            "infer_types": options.infer_types,
            "order": options.order,
            **({} if options.numbers == "schema" else {"numbers": options.numbers}),
            **({"documents": quoted} if quoted else {}),
        }

    @property
    def documents(self) -> Mapping[str, Substring]:
        """The documents for quotations, by name."""
        return self._document.quoted

    def validate(self, data: object) -> list[Fault]:
        """List the errors of a document; none if it is valid.

        Args:
            data: JSON as text or bytes, or a value: a dict, a list, a number, a bool, ``None``.

        >>> [fault.path for fault in JsonSchema("name, age int").validate({"name": 1, "age": 36})]
        ['$.name']
        """
        if isinstance(data, str | bytes):
            return self._validity.errors(data)
        return self._validity.errors_of_value(data)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with a strict parser and the package jsonschema.

        Returns:
            ``None`` if the text is valid, or nested too deep for the checks; else the schema, the checker, the path and
            the reason.
        """
        data = arguments.data("data", data)
        if self._validity.is_valid(data) or self._validity.is_too_deep(data):
            return None
        fault = self._validity.errors(data)[0]
        return {"schema": repr(self), "refused by": "jsonschema", "path": fault.path, "expected": fault.expected}

    def value(self, text: str | bytes) -> Any:
        """Parse the JSON of a text.

        The value is also ``None`` if the text is nested too deep for Python's parser.

        Raises:
            UsageError: The text is not JSON.

        >>> JsonSchema("name, age int").value('{"name": "Ada", "age": 36}')["age"]
        36
        """
        try:
            return json.loads(_text_or_bytes(text))
        except RecursionError:
            return None
        except ValueError as error:
            raise UsageError(f"text is not JSON: {error}") from None

    @property
    def parser(self) -> Callable[[str | bytes], Any] | None:
        """The function that parses a text to the Python type.

        ``None`` if the schema was not made from a type.
        """
        return None if self._python_type is None else self._python_type.parse

    def parsed(self, text: str | bytes) -> Any:
        """Parse a text to an instance of the Python type.

        Returns:
            The instance; without a Python type the result of :meth:`value`.

        Raises:
            NotAnInstance: pydantic refuses the text.
            UsageError: The text is not JSON.

        >>> JsonSchema(list[int]).parsed("[1, 2]")
        [1, 2]
        """
        return self.value(text) if self.parser is None else self.parser(_text_or_bytes(text))

    def readings(self, text: bytes) -> list[str]:
        r"""List the strings and names in a text, with escapes decoded.

        Raises:
            UsageError: A string in it is not JSON.

        >>> JsonSchema("name").readings(b'{"name": "say \\"hi\\""}')
        ['name', 'say "hi"']
        """
        try:
            return [json.loads(found) for found in _STRING.findall(arguments.data("text", text))]
        except ValueError as error:
            raise UsageError(f"text is not JSON: {error}") from None

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence of tokens.

        See ``sfgen.protocols.GuideSource.guide``.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The most tokens of the sequence, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text fits into ``max_tokens`` tokens.
            DeadEnd: The vocabulary has no tokens for any text.
        """
        positions = self._positions.of(vocabulary, lambda each: NetworkPositions(self.network, each))
        return GrammarGuide(positions, max_tokens)._told_by(JsonTeller(self.network, lambda: self.compiled))

    def without_banned(self, banned: BannedWords, prompt: bytes = b"") -> JsonSchema | None:
        """Exclude banned words from strings and undeclared names.

        Each string is decoded and treated by itself. The prompt has no effect, as no string begins in it.

        Args:
            banned: The banned words.
            prompt: The text before it.

        Returns:
            ``None`` if the banned words cannot be excluded, so that a matcher must check the text.

        Raises:
            BannedWordsError: Every text has a banned match.
        """
        from sfgen.ban import BannedWords

        arguments.instance("banned", banned, BannedWords)
        arguments.data("prompt", prompt)
        return _without_banned(self, banned)

    def superset(self) -> Superset | None:
        """Return an automaton that accepts all texts, and possibly others.

        ``None`` if no such automaton is small enough.

        Raises:
            SfgenError: The errors of :attr:`compiled`.
        """
        return self._superset

    @cached_property
    def _superset(self) -> Superset | None:
        return regular_superset(self.compiled.grammar, self.compiled.analysis)

    @cached_property
    def _validity(self) -> Validity:
        return Validity(self._document)

    @property
    def reader(self) -> NetworkReader:
        """The reader of bytes through the network; raises the errors of :attr:`compiled`."""
        with self._lock:
            if self._reader is None:
                self._reader = NetworkReader(self.network)
            return self._reader

    def _compile(self, options: WritingOptions) -> Compiled:
        try:
            return compile_schema(self._document, options)
        except SchemaError as error:
            if options.banned is None or isinstance(error, SchemaTooLarge):
                raise
            # If the banned words are not the reason, this raises the same error.
            compile_schema(self._document, replace(options, banned=None))
            raise BannedWordsError(
                "every text that the schema allows has a banned word",
                details=(f"  {error.message}",),
                hint="Change the schema, or remove a word from the list.",
            ) from None

    def _made_network(self, compiled: Compiled) -> Network:
        try:
            return network_of(compiled.grammar, compiled.analysis)
        except GrammarTooLarge as error:
            rule = error.rule.partition(": items")[0].partition(": members")[0]
            pointer = compiled.pointers.get(rule, "")
            reason = f"the automaton of {rule!r} passes the limit of {error.limit}"
            raise self._document.error(reason, pointer, hint=error.hint, kind=SchemaTooLarge) from None


@lru_cache(maxsize=_KEPT)
def _without_banned(schema: JsonSchema, banned: BannedWords) -> JsonSchema | None:
    """Return the schema without banned words, from a cache."""
    options = replace(schema.options, banned=banned, infer_types=schema.compiled.has_inferred)
    made = JsonSchema._of(schema.document, options, schema._python_type)
    return None if made.compiled.watches_banned else made


def _text_or_bytes(text: object) -> str | bytes:
    if isinstance(text, str | bytes | bytearray):
        return bytes(text) if isinstance(text, bytearray) else text
    raise arguments.refusal("text", "a text or bytes", text)


class JsonTeller(Teller[JsonPosition]):
    """Describes the position of a guide in JSON, and the value that the schema expects there."""

    start = START

    def __init__(self, network: Network, compiled: Callable[[], Compiled]) -> None:
        self._network, self._compiled = network, compiled

    def read(self, reading: JsonPosition, data: bytes) -> JsonPosition:
        """Return the position in the JSON after some bytes."""
        return reading.read(data)

    def describe(self, reading: JsonPosition, position: NetworkPosition) -> str:
        """Describe the position and the expected value: ``$.address.street: a string``."""
        return described(reading, position, self._network, self._compiled())


def described(there: JsonPosition, position: NetworkPosition, network: Network, compiled: Compiled) -> str:
    """Describe a position in a text of a schema, and the expected value."""
    running = {network.names[network.rule_of[state]] for state, _, _ in position}
    return f"{json_path(there.way)}: {expected_at(compiled, there, running)}"
