"""The constraints of one text, from its configuration.

A configuration has a constraint, and may put free text around it: a *thought* before the text, which ends with a marker
(``after``), or free text in which each marker begins a *call* (``when``). Calls of tools with a form of their own
already contain the free text around them (``sfgen.tools``). Banned words are taken out of the automaton of the
constraint where the product of both can be made (``sfgen.ban.difference``); elsewhere the matcher of the ban watches
over the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.plain_forms import banned_of, source_of, vocabulary_of
from sfgen.errors import BannedWordsError, UsageError
from sfgen.index.marker import Marker
from sfgen.index.sequence import Calls
from sfgen.parameter_text import ParameterText
from sfgen.protocols import GuideSource, HasValue, Model
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords, SeamMatcher
    from sfgen.decoding.json_strings import StringsMatcher


TakesOut: TypeAlias = "Callable[[GuideSource, BannedWords, bytes], GuideSource | None]"
"""A function that takes banned words out of a constraint, for texts after a prompt:
``sfgen.ban.difference.without_banned``."""


@dataclass(frozen=True)
class TextConstraints:
    """The constraints of one text; ``None`` for free text."""

    marker: Marker | None  # ends the thought before the text
    constraint: GuideSource | None  # of the text, or of each of its calls
    source: GuideSource | None  # of the whole text
    guided: GuideSource | None  # the source of its guide: ``source``, or ``source`` without banned words
    clean: GuideSource | None = None  # ``source`` without banned words, for a second guide beside the first

    @property
    def calls(self) -> Calls | None:
        """The calls that a free text may contain."""
        return self.source if isinstance(self.source, Calls) else None

    def watch_strings(self, matcher: SeamMatcher) -> StringsMatcher | None:
        """Return a matcher that reads the strings of JSON, too.

        It is ``None`` if the text has no strings of JSON, or banned words were taken out of them.
        """
        constraint = getattr(self.source, "constraint", None)
        if constraint is None or self.guided is not self.source or self.clean is not None:
            return None
        from sfgen.decoding.json_strings import StringsMatcher
        from sfgen.schema.json_schema import JsonSchema
        from sfgen.template.sequence import Sequence

        if isinstance(constraint, Sequence) and constraint.has_values:
            return StringsMatcher(matcher, has_begun=self.marker is None, holes=constraint.reader)
        return StringsMatcher(matcher, has_begun=self.marker is None) if isinstance(constraint, JsonSchema) else None

    @property
    def spelled(self) -> GuideSource | None:
        """The source of the jump-forward tokens; ``None``: all text is free."""
        return self.guided.source if isinstance(self.guided, Calls) else self.guided

    @property
    def written(self) -> dict[int, bytes]:
        """The bytes of special tokens that are written, by token: of markers, and of tokens that a grammar allows."""
        markers = (self.marker, None if self.calls is None else self.calls.marker)
        written = getattr(getattr(self.constraint, "constraint", None), "written", None)
        of_grammar = {} if written is None or self.constraint is None else written(self.constraint.vocabulary)
        of_markers = {token: data for each in markers if each is not None for token, data in each.special.items()}
        return {**of_grammar, **of_markers}

    @property
    def values_of_calls(self) -> Callable[[bytes], tuple[Any, ...]] | None:
        """The function that reads the calls of a finished text; ``None``: there are none."""
        of_tools = getattr(self.constraint, "constraint", None)
        if of_tools is not None and getattr(of_tools, "in_text", False):
            return lambda data: tuple(of_tools.calls(data))
        return None if self.calls is None else partial(_values, self.calls, self.constraint)


def constraints_of_text(
    model: Model, config: GenerationConfig, prompt: bytes, without: TakesOut | None = None
) -> TextConstraints:
    """Determine the constraints of the text after a prompt."""
    without = _without_banned if without is None else without
    vocabulary = vocabulary_of(model)
    constraint = source_of(config.index, vocabulary)
    if constraint is not None and constraint.vocabulary.fingerprint != vocabulary.fingerprint:
        raise UsageError("the index was made for another vocabulary than the model's")
    banned = banned_of(config.banned)
    marker = None if config.after is None else marker_of(model, vocabulary, config.after, banned)
    is_form = hasattr(getattr(constraint, "constraint", None), "in_text")
    if config.when is not None:
        if is_form:
            raise UsageError(
                ParameterText("when cannot be used with these tools: their form has its own text before calls", "when"),
                hint=ParameterText("Leave when out; ToolCalls(in_text=True) has calls in free text.", "when"),
            )
        if constraint is None:
            raise UsageError(
                ParameterText("when needs a constraint: the one of the text after it", "when"),
                hint=ParameterText("Leave when out, or give an index.", "when"),
            )
        calls = _calls(model, config.when, constraint, banned, without)
        return TextConstraints(marker, constraint, calls, calls)
    if banned is None or constraint is None:
        return TextConstraints(marker, constraint, constraint, constraint)
    clean = without(constraint, banned, prompt if marker is None else marker.data)
    if is_form:  # a matcher would not decode the escapes in a call
        if clean is None:
            raise UsageError(
                "banned words cannot be taken out of the arguments of tools", hint="Ban fewer, or nothing."
            )
        if getattr(constraint.constraint, "in_text", False):  # type: ignore[attr-defined]
            return TextConstraints(marker, constraint, constraint, clean)
    if clean is not None and config.strategy == "mask":
        return TextConstraints(marker, constraint, constraint, clean)
    return TextConstraints(marker, constraint, constraint, constraint, clean)


def _calls(model: Model, when: str, constraint: GuideSource, banned: BannedWords | None, without: TakesOut) -> Calls:
    """Return free text with calls of the constraint, none of which has a banned word."""
    from sfgen.grammar.language.grammar import Grammar

    asked = getattr(constraint, "constraint", None)
    if isinstance(asked, Grammar) and asked.tokens:
        raise UsageError(
            ParameterText(
                f"calls after when are written as text, and the grammar asks for the token {asked.tokens[0]}", "when"
            ),
            hint=ParameterText("Write the text of the token in quotes, or leave when out.", "when"),
        )
    marker = marker_of(model, vocabulary_of(model), when, banned, name="when")
    if banned is None:
        return Calls(marker, constraint)
    clean = without(constraint, banned, marker.data)
    if clean is None:
        raise UsageError(
            ParameterText("banned words cannot be taken out of the calls after when", "when"),
            hint=ParameterText("Leave when out, or ban nothing.", "when"),
        )
    return Calls(marker, clean, constraint)


def _without_banned(source: GuideSource, banned: BannedWords, before: bytes) -> GuideSource | None:
    from sfgen.ban.difference import without_banned

    return without_banned(source, banned, before)


def _values(calls: Calls, source: GuideSource | None, data: bytes) -> tuple[Any, ...]:
    """Return the values of the calls in a text, or their texts where the constraint knows no values."""
    constraint = getattr(source, "constraint", None)
    texts = [data[start:end] for start, end in calls.spans(data)]
    if isinstance(constraint, HasValue) and getattr(constraint, "has_values", True):
        return tuple(constraint.value(text) for text in texts)
    return tuple(text.decode("utf-8", "replace") for text in texts)


def marker_of(
    model: Model, vocabulary: Vocabulary, after: str, banned: BannedWords | None, *, name: str = "after"
) -> Marker:
    """Return a marker: its bytes, and its token if it is a special one. ``name`` is the parameter's name."""
    data = after.encode()
    encode = getattr(model, "encode_inside", None)
    try:
        ids = list(encode(after)) if encode is not None else []
    except Exception:  # somebody else's code: a text that it cannot cut is no special token
        ids = []
    special = [token for token in ids if vocabulary.tokens[token] is None]
    pieces = _pieces(data, special, vocabulary) if special and len(ids) > 1 and name == "after" else ()
    if special and ((len(ids) > 1 and not pieces) or set(special) & set(vocabulary.end_token_ids)):
        ends = set(special) & set(vocabulary.end_token_ids)
        what = "a token that ends a text" if ends else "more than a special token"
        raise UsageError(
            ParameterText(f"{name} is {after!r:.60}, of which the tokenizer makes {what}", "after", "when"),
            hint="Name a text, or one special token.",
        )
    if banned is not None:
        from sfgen.ban import scan

        matches = scan(data, banned)
        if matches:
            word = matches[0].word
            raise BannedWordsError(
                ParameterText(f"{after!r:.60}, which {name} says, has the banned word {word!r:.60}", "after", "when"),
                hint="Allow it there, or choose another text.",
            )
    return Marker(data, special[0] if len(ids) == 1 and special else None, pieces)


def _pieces(data: bytes, special: list[int], vocabulary: Vocabulary) -> tuple[tuple[bytes, int | None], ...]:
    """Cut a marker into special tokens and the text between them; return nothing if a name is not in it."""
    pieces, rest = list[tuple[bytes, int | None]](), data
    for token in special:
        name = vocabulary.names.get(token, "").encode()
        text, found, rest = rest.partition(name) if name else (rest, b"", b"")
        if not found:
            return ()
        pieces += [(text, None), (name, token)]
    return tuple(piece for piece in [*pieces, (rest, None)] if piece[0])
