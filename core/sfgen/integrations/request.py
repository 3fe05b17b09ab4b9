"""The constraint of a request to a server, and its text: a pattern, choices, a schema or a grammar, and banned words.

A request comes from a client that may not read the server's files: so a schema is JSON or the short form, and a grammar
is its text, never the name of a file.

A server cannot let one request of a batch fail: an error there ends them all. So faults of a request are reported
before (``ConstraintRequest.check``), and faults that depend on the vocabulary or the prompt are logged:

* The limit is too small for any text: the text is written all the same, and the server cuts it at the limit.
* Only banned text could follow, which was not known before: the text ends incomplete.
* Any other fault, such as a pattern that no token can write: the text ends at once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, Protocol

import numpy as np

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.ban import BannedWords
from sfgen.ban.difference import clean_superset, without
from sfgen.errors import LimitTooSmall, SchemaError, SfgenError, UsageError
from sfgen.grammar.language.grammar import Grammar, GrammarSource
from sfgen.index import Index
from sfgen.index.mask_ids import packed
from sfgen.integrations.guided import Banned, Guided, WatchedGuide, check_strings
from sfgen.integrations.state import BatchRow, Rule, Stage, refuse_healing
from sfgen.protocols import Int32, Mask
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.short_form import read_short_form
from sfgen.vocabulary import Vocabulary

CONSTRAINTS = ("regex", "choices", "schema", "grammar")
BAN = "ban"

_OF_GRAMMARS = ("grammar_start", "grammar_format", "max_blanks")

_KEPT = 64  # the number of constraints that are cached, and of lists of banned words


@dataclass(frozen=True, slots=True)
class ConstraintRequest:
    """The constraint of a request, as plain values.

    Equal requests are equal.

    Attributes:
        regex: A pattern.
        choices: Texts, one of which it must be.
        schema: A JSON Schema as JSON text, or the short form.
        banned: Words that must not be in it.
        grammar: A grammar, with the start rule of the text.
    """

    regex: str | None = None
    choices: tuple[str, ...] | None = None
    schema: str | None = None
    banned: tuple[str, ...] | None = None
    grammar: GrammarSource | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any] | None) -> ConstraintRequest | None:
        """Read the constraint from the arguments of a request; ``None`` if they have none.

        >>> ConstraintRequest.read({"regex": "[0-9]+", "ban": ["13"], "seed": 1})
        ConstraintRequest(regex='[0-9]+', choices=None, schema=None, banned=('13',), grammar=None)
        """
        wanted = {name: value for name, value in (given or {}).items() if value is not None}
        refuse_healing(wanted.get("heal"))
        constraints = [name for name in CONSTRAINTS if name in wanted]
        if len(constraints) > 1:
            raise UsageError(f"{' and '.join(constraints)} cannot be used together", hint="Give one of them.")
        options = {name: wanted[name] for name in _OF_GRAMMARS if name in wanted}
        if options and "grammar" not in wanted:
            name = next(iter(options))
            raise UsageError(f"{name} needs a grammar: it says how one is read", hint="Give one as grammar.")
        request = cls(
            arguments.text("regex", wanted["regex"]) if "regex" in wanted else None,
            arguments.text_list("choices", wanted["choices"]) if "choices" in wanted else None,
            _schema_text(wanted["schema"]) if "schema" in wanted else None,
            arguments.text_list(BAN, wanted[BAN]) if BAN in wanted else None,
            _grammar_source(wanted["grammar"], **options) if "grammar" in wanted else None,
        )
        return None if request == cls() else request

    @property
    def constraint(self) -> Dfa | JsonSchema | Grammar | None:
        """The constraint without the ban; the last few are cached."""
        return _constraint(self.regex, self.choices, self.schema, self.grammar)

    @property
    def banned_words(self) -> BannedWords | None:
        """The banned words; the last few lists are cached."""
        return None if self.banned is None else _banned_words(self.banned)

    def check(self) -> None:
        """Check all that depends neither on the vocabulary nor on the prompt."""
        constraint, banned = self.constraint, self.banned_words
        if isinstance(constraint, JsonSchema):
            _ = constraint.network
        if constraint is None or banned is None:
            return
        if isinstance(constraint, Dfa):
            without(constraint, banned)
            return
        clean = constraint.without_banned(banned) if isinstance(constraint, JsonSchema) else None
        if clean is None:
            check_strings(constraint)
        clean_superset(clean or constraint, banned)


def _schema_text(schema: object) -> str:
    """A schema as text, in one form; its names keep their order, which is that of the output."""
    if isinstance(schema, str):
        return schema.strip(" \t\r\n")
    if not isinstance(schema, Mapping | bool):
        raise arguments.refusal("schema", "a dictionary, a bool or a text", schema)
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"schema cannot be written as JSON: {error}") from None


def _grammar_source(
    grammar: object, grammar_start: Any = None, grammar_format: Any = None, max_blanks: Any = None
) -> GrammarSource:
    """A grammar that may import no file."""
    return GrammarSource(arguments.text("grammar", grammar), grammar_format, grammar_start, max_blanks)


@lru_cache(maxsize=_KEPT)
def _constraint(
    regex: str | None, choices: tuple[str, ...] | None, schema: str | None, grammar: GrammarSource | None
) -> Dfa | JsonSchema | Grammar | None:
    if regex is not None:
        return Dfa.from_regex(regex)
    if choices is not None:
        return Dfa.from_choices(choices)
    if grammar is not None:
        return grammar.grammar()
    if schema is None:
        return None
    if schema.startswith("{") or schema in ("true", "false"):
        return JsonSchema(schema)
    if schema[:1] in ("", "[", '"') or schema == "null":
        raise SchemaError("a schema is an object, true or false", hint="Or names and types: 'name, age int'.")
    return JsonSchema(read_short_form(schema))


@lru_cache(maxsize=_KEPT)
def _banned_words(words: tuple[str, ...]) -> BannedWords:
    return BannedWords(words)


_INDEXES_KEPT = 32  # indexes, and bans

_log = logging.getLogger(__name__)


class MasksTokens(Protocol):
    """The masks of one text, for the loop that writes it."""

    def mask(self, written: Sequence[int], drafted: Sequence[int] = ()) -> Mask | None:
        """Return the token mask after some tokens, uint32 ``[words]``; ``None``: everything is allowed."""


class RequestText:
    """One text of a request.

    It follows the given tokens, forward or back.
    """

    def __init__(self, rule: Rule, prompt: Sequence[int], ends: Mask) -> None:
        self._rule = rule
        self._end_tokens = frozenset(rule.vocabulary.end_token_ids)
        self._ends = ends
        self._row = BatchRow(rule.guide(prompt))
        self._tokens: list[int] = []
        self._taken = 0  # number of tokens that the guide has read: all, or those before a refused one
        self._told = False

    def mask(self, written: Sequence[int], drafted: Sequence[int] = ()) -> Mask | None:
        """Return the token mask after some tokens.

        End tokens are allowed if these tokens are not; if no token is allowed, a token after which the text may end
        clean.
        """
        self._go_to([*written, *drafted])
        if self._row.stage is Stage.STRAYED and self._taken < len(written) and not self._told:
            self._told = True
            token, place = self._tokens[self._taken], self._taken
            _log.warning("sfgen: token %d was written behind %d tokens, and is not allowed there", token, place)
        mask = self._rule.mask(self._row)
        if mask is None or self._row.stage is not Stage.OPEN or mask.any():
            return mask
        if not self._told and not drafted:
            self._told = True
            reason = self._rule.dead_end(self._row.guide)
            _log.error("sfgen: the text ends behind %d tokens, and is not complete: %s", len(written), reason)
        way_out = self._row.guide.way_out() if isinstance(self._row.guide, WatchedGuide) else None
        return self._ends if way_out is None else way_out

    def _go_to(self, tokens: list[int]) -> None:
        """Move the guide to the position after these tokens."""
        known = len(self._tokens)
        if tokens[:known] != self._tokens:
            pairs = zip(tokens, self._tokens, strict=False)
            known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            self._go_back(known)
        for token in tokens[known:]:
            self._row = self._row.after(token, self._end_tokens)
            self._tokens.append(token)
            self._taken += self._row.stage is not Stage.STRAYED

    def _go_back(self, count: int) -> None:
        """Keep the first ``count`` tokens."""
        del self._tokens[count:]
        if count > self._taken:
            return  # the refused token is still in the text
        self._row.guide.rollback(self._taken - count)
        self._taken = count
        ended = not self._end_tokens.isdisjoint(self._tokens)
        self._row = BatchRow(self._row.guide, Stage.ENDED if ended else Stage.OPEN)


class EndedText:
    """A text that ends at once."""

    def __init__(self, ends: Mask) -> None:
        self._ends = ends

    def mask(self, written: Sequence[int], drafted: Sequence[int] = ()) -> Mask:
        """Return the mask of the end tokens."""
        return self._ends


class RequestTexts:
    """The texts of requests over one vocabulary.

    The indexes of the last few constraints and bans are cached.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        if not vocabulary.end_token_ids:
            raise UsageError("the vocabulary has no end token, so that no text could end where it is complete")
        self._vocabulary = vocabulary
        self.ends = ends_of(vocabulary.end_token_ids, len(vocabulary))
        self._index = lru_cache(maxsize=_INDEXES_KEPT)(self._make_index)
        self._ban = lru_cache(maxsize=_INDEXES_KEPT)(self._make_ban)

    def begin(self, request: ConstraintRequest, prompt: Sequence[int], limit: int | None) -> MasksTokens:
        """Begin a text."""
        for is_cut in (False, True):
            try:
                return RequestText(self._rule(request, limit, is_cut=is_cut), prompt, self.ends)
            except LimitTooSmall as error:
                _log.warning("sfgen: the text of a request will be cut: %s", error)
            except SfgenError as error:
                _log.error("sfgen: the text of a request cannot be written, so it ends at once: %s", error)
                break
        return EndedText(self.ends)

    def _rule(self, request: ConstraintRequest, limit: int | None, *, is_cut: bool) -> Rule:
        if request.constraint is not None:
            index, banned = self._index(replace(request, banned=None)), request.banned_words
            return Guided(index, banned, None, cut_at=limit) if is_cut else Guided(index, banned, limit)
        ban = self._ban(request)
        if ban.is_full:  # unfinished texts keep the old one
            self._ban.cache_clear()
            ban = self._ban(request)
        return ban.limited(limit)

    def _make_index(self, request: ConstraintRequest) -> Index:
        constraint = request.constraint
        assert constraint is not None
        index: Index = Index(constraint, self._vocabulary)
        return index

    def _make_ban(self, request: ConstraintRequest) -> Banned:
        banned = request.banned_words
        assert banned is not None  # a request has a constraint or a ban
        return Banned(banned, self._vocabulary, None)


def ends_of(token_ids: Sequence[int], size: int) -> Mask:
    """Return the mask of some tokens, uint32 ``[ceil(size / 32)]``."""
    ids: Int32 = np.array(token_ids, dtype=np.int32)
    return packed(ids, size)
