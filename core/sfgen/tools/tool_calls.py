"""Tool calls in a form, as a constraint."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from sfgen import arguments
from sfgen.compiled_form import Later
from sfgen.errors import BannedWordsError, SchemaError, SchemaTooLarge, UsageError
from sfgen.grammar.network.completion import shortest_text
from sfgen.grammar.network.distances import RuleDistances, portable, with_distances
from sfgen.grammar.network.network import Network, network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.regular import regular_superset
from sfgen.grammar.network.rules import GrammarRules, GrammarTooLarge
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.guide import GrammarGuide, KeptByVocabulary
from sfgen.grammar.shell.token_symbols import SymbolGuide, SymbolPositions, SymbolTokens, TokenSymbol, codes_of
from sfgen.index.readers import PositionMasks
from sfgen.models.tool_forms import NAMED, ToolForm, form_named, name_of, plain_form
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Guide, Superset
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.from_tools import ToolsDocument, tools_document
from sfgen.schema.writing.arguments import ArgumentList
from sfgen.schema.writing.layout import WritingOptions
from sfgen.tools.reading import CallReader, NoCallError
from sfgen.tools.writing import CallOptions, CallWriter, checked_form, specials_of
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

_KEPT = 16  # the most constraints without banned words that are kept


class _Made(NamedTuple):
    """The grammar for a set of special tokens, and its automata.

    Attributes:
        grammar: The rules.
        network: Their automata.
        symbols: The special tokens in them.
        is_clean: Whether banned words were taken out of all strings.
        lists: The arguments of each tool by its name, if they are written one by one.
    """

    grammar: Later[GrammarRules]
    network: Network
    symbols: SymbolTokens
    is_clean: bool
    lists: Mapping[str, tuple[ArgumentList, ...]]


class ToolCalls:
    r"""Calls of tools in the form that a model was trained on.

    It is a ``sfgen.protocols.GuidingConstraint``. A text is one call or several, in the form; ``value`` returns them in
    the same way for every form. The texts of a form may contain special tokens, which are written as such if the
    vocabulary has them. Safe to share between threads.

    Args:
        tools: The tools, in any form that ``sfgen.tools_schema`` takes.
        form: The form of calls: the name of a form, or one that ``sfgen.models.tool_forms.tool_form_of`` has found in a
            model's chat template.
        at_most: The most calls; ``None``: any number. In free text the most consecutive ones.
        in_text: Whether the text is free text with any number of calls in it, also none.
        ends_text: Whether free text ends after its first run of calls, so that ``at_most`` bounds all calls.
        spacing: The blanks in JSON, as of ``JsonSchema``; ``None``: those of the form.
        order: The order of arguments in JSON, as of ``JsonSchema``.
        extra_properties: As of ``JsonSchema``; arguments that are written one by one are declared ones.
        require_all: As of ``JsonSchema``.
        infer_types: As of ``JsonSchema``.
        numbers: As of ``JsonSchema``.

    Raises:
        SchemaError: The tools have no known form, or a schema is wrong.
        UsageError: There is no such form, or it cannot write such calls.

    >>> add = {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    >>> calls = ToolCalls([add], "hermes")
    >>> calls.accepts('<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>')
    True
    >>> ToolCalls([add], "qwen3-coder").value(ToolCalls([add], "qwen3-coder").shortest())
    {'name': 'add', 'arguments': {'a': 0}}
    """

    @arguments.with_known_names
    def __init__(
        self,
        tools: Sequence[Any] | Mapping[str, Any] | PathLike[str] | ToolsDocument,
        form: str | ToolForm = "json",
        *,
        at_most: int | None = 1,
        in_text: bool = False,
        ends_text: bool = False,
        spacing: str | None = None,
        order: str = "schema",
        extra_properties: bool = False,
        require_all: bool = False,
        infer_types: bool = True,
        numbers: str = "schema",
    ) -> None:
        document = tools if isinstance(tools, ToolsDocument) else tools_document(tools)
        form = form_named(form)
        if at_most is not None:
            at_most = arguments.whole_number("at_most", at_most, least=1)
        arguments.flag("in_text", in_text)
        if arguments.flag("ends_text", ends_text) and not in_text:
            raise UsageError("ends_text is for calls in free text", hint=ParameterText("Give in_text too.", "in_text"))
        checked_form(form, at_most, in_text=in_text)
        writing = WritingOptions(
            form.spacing if spacing is None else spacing,
            None,
            extra_properties,
            require_all,
            order,
            infer_types=infer_types,
            numbers=numbers,
        )
        self._set(document, form, CallOptions(at_most, in_text, ends_text, writing))

    def _set(self, document: ToolsDocument, form: ToolForm, options: CallOptions) -> None:
        self._document, self._form, self._options = document, form, options
        self._lock = threading.RLock()
        self._made: dict[tuple[str, ...], _Made] = {}
        self._made_of = KeptByVocabulary[_Made]()
        self._positions = KeptByVocabulary[PositionMasks[NetworkPosition]]()
        self._written = KeptByVocabulary[Mapping[int, bytes]]()

    @classmethod
    def _of(cls, document: ToolsDocument, form: ToolForm, options: CallOptions) -> ToolCalls:
        """The calls of tools that were read."""
        made = object.__new__(cls)
        made._set(document, form, options)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return ToolCalls._of, (self._document, self._form, self._options)

    def __compiled__(self) -> tuple[Any, ...]:
        _ = self._of_any
        with self._lock:
            made = dict(self._made)
        forms = [(specials, each, portable(each.network)[1]) for specials, each in made.items()]
        return ToolCalls._of_compiled, (*self.__reduce__()[1], forms)

    @classmethod
    def _of_compiled(
        cls,
        document: ToolsDocument,
        form: ToolForm,
        options: CallOptions,
        forms: Sequence[tuple[tuple[str, ...], _Made, RuleDistances]],
    ) -> ToolCalls:
        """Return the calls of a compiled form."""
        calls = cls._of(document, form, options)
        for specials, made, distances in forms:
            with_distances(made.network, distances)
            calls._made[specials] = made
        return calls

    def __repr__(self) -> str:
        """One line.

        >>> ToolCalls([{"name": "stop"}, {"name": "go"}], "hermes")
        ToolCalls(stop, go; form 'hermes')
        """
        names = [tool.name for tool in self._document.tools]
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        return f"ToolCalls({shown}; form {self.form_name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolCalls) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return repr(self._document.root), repr(self._form), self._options

    # ---- its parts -------------------------------------------------------------------------------------------------

    @property
    def document(self) -> ToolsDocument:
        """The tools that were read: the schema of their calls."""
        return self._document

    @property
    def form(self) -> ToolForm:
        """The form in which calls are written."""
        return self._form

    @property
    def form_name(self) -> str:
        """The name of the form; ``of the template`` if it has none."""
        return name_of(self._form) or "of the template"

    @property
    def in_text(self) -> bool:
        """Whether there is free text around calls."""
        return self._options.in_text

    @property
    def options(self) -> CallOptions:
        """The choices that the form leaves open."""
        return self._options

    @property
    def has_values(self) -> bool:
        """Whether a text as a whole stands for a value."""
        return not self.in_text

    def _of_specials(self, specials: tuple[str, ...]) -> _Made:
        """The grammar in which some pieces of the form's texts are special tokens, with its automata."""
        with self._lock:
            if specials not in self._made:
                self._made[specials] = self._make(specials)
            return self._made[specials]

    def compile_for(self, names: Iterable[str]) -> None:
        """Compile for vocabularies whose special tokens have some names.

        Args:
            names: The names.
        """
        self._of_specials(specials_of(self._form, arguments.texts("names", names), in_text=self.in_text))

    def _make(self, specials: tuple[str, ...]) -> _Made:
        codes = dict(zip(specials, codes_of(len(specials)), strict=True))
        writer = CallWriter(self._form, self._document, self._options, codes)
        try:
            grammar = writer.grammar()
            network = network_of(grammar)
        except GrammarTooLarge as error:
            tool, _, rule = error.rule.partition(": ")
            reason = f"the automaton of {rule!r} passes the limit of {error.limit}"
            raise SchemaTooLarge(f"the tool {tool!r}: {reason}", hint=error.hint) from None
        symbols = SymbolTokens({TokenSymbol(name, 0, name, (), False): code for name, code in codes.items()})
        lists = {name: each.lists for name, each in writer.compiled.items()}
        return _Made(Later(grammar), network, symbols, writer.is_clean, lists)

    @property
    def _of_text(self) -> _Made:
        """The grammar without special tokens, with its automata."""
        return self._of_specials(())

    @property
    def _of_any(self) -> _Made:
        """Any grammar that was made, for properties that all of them share."""
        with self._lock:
            return next(iter(self._made.values()), None) or self._of_text

    @cached_property
    def _reader(self) -> NetworkReader:
        return NetworkReader(self._of_text.network)

    @cached_property
    def reader(self) -> CallReader:
        """The reader of calls in a text."""
        return CallReader(self._form, self._of_any.lists)

    @cached_property
    def schema(self) -> JsonSchema:
        """The schema of one call as a value."""
        return JsonSchema._of(self._document, replace(self._options.writing, banned=None), None)

    # ---- its language ----------------------------------------------------------------------------------------------

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is one of the calls.

        Bytes are its UTF-8; special tokens are written by their names.
        """
        return self._reader.reads(text)

    def read(self, text: str) -> int:
        """Count the characters up to which a text can be a call."""
        position = self._reader.start
        for number, character in enumerate(arguments.text("text", text)):
            after = self._reader.read(position, character.encode("utf-8", "surrogatepass"))
            if after is None:
                return number
            position = after
        return len(text)

    def shortest(self) -> bytes:
        """Find a shortest text, with special tokens by their names."""
        return shortest_text(self._reader)

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        It is ``None`` where none is small enough.
        """
        return self._superset

    @cached_property
    def _superset(self) -> Superset | None:
        return regular_superset(self._of_text.grammar.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the calls as plain data for JSON.

        >>> ToolCalls([{"name": "stop"}], "hermes").to_dict()["tool_format"]
        'hermes'
        """
        writing = self._options.writing
        return {
            "tools": self._document.described,
            "tool_format": self.form_name if NAMED.get(self.form_name) == self._form else plain_form(self._form),
            "at_most": self._options.at_most,
            "in_text": self.in_text,
            "ends_text": self._options.ends_text,
            "spacing": writing.spacing,
            "order": writing.order,
            "extra_properties": writing.extra_properties,
            "require_all": writing.require_all,
            "infer_types": writing.infer_types,
            "numbers": writing.numbers,
        }

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence of tokens.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The tokens that the sequence may take, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        tokens = self._positions.of(vocabulary, self._make_positions)
        network = self._for(vocabulary).network
        guide = SymbolGuide if isinstance(tokens, SymbolPositions) else GrammarGuide
        return guide(tokens, max_tokens, partial(_open_rules, network))

    def _make_positions(self, vocabulary: Vocabulary) -> PositionMasks[NetworkPosition]:
        made = self._for(vocabulary)
        if not made.symbols.codes:
            return NetworkPositions(made.network, vocabulary)
        text = " ".join(symbol.spelling for symbol in made.symbols.codes)
        return SymbolPositions(vocabulary, made.symbols, text, lambda each: NetworkPositions(made.network, each))

    def _for(self, vocabulary: Vocabulary) -> _Made:
        """The grammar for a vocabulary; cached, since its special tokens are searched."""
        return self._made_of.of(vocabulary, lambda each: self._of_specials(self._specials(each)))

    def _specials(self, vocabulary: Vocabulary) -> tuple[str, ...]:
        """The special tokens of a vocabulary in the form's texts, by their names."""
        specials = specials_of(self._form, vocabulary.names.values(), in_text=self.in_text)
        ends = {vocabulary.text(token) for token in vocabulary.end_token_ids} & set(specials)
        if ends:
            raise UsageError(
                f"calls in this form have the token {min(ends)} before their end, and it ends a text of this model",
                hint=ParameterText("Use another form, or leave in_text out.", "in_text"),
            )
        return specials

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the text for special tokens of the form: their names."""
        return self._written.of(vocabulary, self._names)

    def _names(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        return self._for(vocabulary).symbols.written(vocabulary, "")

    def without_banned(self, banned: BannedWords, prompt: bytes = b"") -> ToolCalls | None:
        """Take the banned words out of the arguments.

        Each string and undeclared name is treated by itself. Free text around calls is not changed: a matcher must
        check it.

        Args:
            banned: The banned words.
            prompt: The text before it.

        Returns:
            ``None`` if they cannot be taken out of all arguments.

        Raises:
            BannedWordsError: Every text has a banned match.
        """
        from sfgen.ban import BannedWords

        arguments.instance("banned", banned, BannedWords)
        arguments.data("prompt", prompt)
        return _without_banned(self, banned)

    # ---- a finished text -------------------------------------------------------------------------------------------

    def calls(self, text: str | bytes) -> list[dict[str, Any]]:
        """Read the calls in a text, in order: ``{"name": …, "arguments": {…}}``.

        Raises:
            UsageError: It is no text of the calls.
        """
        data = arguments.utf8("text", text) or b""
        told = data.decode("utf-8", "replace")
        try:
            if self.in_text:
                return [call for _, _, calls in self.reader.spans(told) for call in calls]
            return self.reader.calls(told)
        except NoCallError as error:
            raise UsageError(f"this is not a call in the form of the tools: {str(error)[:60]!r}") from None

    def value(self, text: str | bytes) -> Any:
        """Read the call of a text, or its list of calls.

        It is a list if there may be several, and ``None`` if a call is nested too deep for Python's parser.

        Raises:
            UsageError: It is no text of the calls.
        """
        try:
            calls = self.calls(text)
        except RecursionError:
            return None
        return calls[0] if self._options.at_most == 1 and not self.in_text else calls

    def readings(self, text: bytes) -> list[str]:
        """List the strings and names in the arguments of a text's calls."""
        found, waiting = list[str](), [call["arguments"] for call in self.calls(arguments.data("text", text))]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, dict):
                found += value
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
        return found

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask the package jsonschema about the calls in a finished text.

        Returns:
            ``None`` if all are valid; else the calls, and which judge refuses which.
        """
        data = arguments.data("data", data)
        try:
            calls = self.calls(data)
        except RecursionError:
            return None
        except UsageError:
            return {"tools": repr(self), "refused by": "the reader of calls"}
        for call in calls:
            faults = self.schema.validate(call)
            if faults:
                fault = faults[0]
                told = {"path": fault.path, "expected": fault.expected}
                return {"tools": repr(self), "refused by": "jsonschema", **told}
        return None


def _open_rules(network: Network, position: NetworkPosition) -> str:
    """Name the rules on the stack, the outermost first; of several ways the first."""
    names = list[str]()
    state, _, node = position[0]
    while True:
        name = network.names[network.rule_of[state]]
        if not names or names[-1] != name:
            names.append(name)
        if not node.frames:
            return " › ".join(reversed(names))
        state, _, node = node.frames[0]


@lru_cache(maxsize=_KEPT)
def _without_banned(calls: ToolCalls, banned: BannedWords) -> ToolCalls | None:
    """The calls without banned words, made once for many texts."""
    options = calls.options
    writing = replace(options.writing, banned=banned)
    made = ToolCalls._of(calls.document, calls.form, replace(options, writing=writing))
    try:
        return made if made._of_text.is_clean else None
    except (SchemaTooLarge, BannedWordsError):
        raise
    except (SchemaError, UsageError) as error:
        _ = calls._of_text  # raises if the banned words are not the reason
        raise BannedWordsError(
            "every call of the tools has a banned word",
            details=(f"  {error.message}",),
            hint="Change the tools, or remove a word from the list.",
        ) from None
