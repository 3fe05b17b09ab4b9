"""Make jobs of records with instructions of their own; equal constraints and bans are compiled once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sfgen.ban import BannedWords
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.errors import SfgenError, UsageError, as_sfgen_error
from sfgen.index import Index
from sfgen.jobs.constraint_facts import ConstraintFacts
from sfgen.jobs.loaded_job import LoadedJob
from sfgen.jobs.prompt_record import Instructions, OwnConstraint

if TYPE_CHECKING:
    from sfgen.automata import Dfa
    from sfgen.grammar.language.grammar import Grammar
    from sfgen.jobs.job import Job
    from sfgen.schema.json_schema import JsonSchema
    from sfgen.substring.substring import Substring
    from sfgen.template.template import Template
    from sfgen.tools.tool_calls import ToolCalls

MOST_KEPT = 4096
"""The most constraints that are kept."""

MOST_BYTES = 2**31
"""The most bytes of all that are kept, by an estimate."""

_MASKS = 32  # the number of masks that a constraint is assumed to make, if it has as many states
_SMALL = 2**14  # bytes of an automaton without masks, and of an error
_QUOTED = 64  # bytes for each byte of a document, with the masks of short texts
_LARGE = 2**19  # bytes of a schema or a grammar without masks: 370 000 were measured

Made = TypeVar("Made")


class LastUsed(Generic[Made]):
    """A least-recently-used cache that also caches errors.

    >>> squares = LastUsed(lambda number: number**2, lambda square: 8, most=2, most_bytes=99)
    >>> [squares.of(number) for number in (3, 4, 3, 5)], squares.made
    ([9, 16, 9, 25], 3)
    """

    def __init__(self, make: Callable[[Any], Made], size: Callable[[Made], int], *, most: int, most_bytes: int) -> None:
        self._make = make
        self._size = size
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Any, tuple[Made | SfgenError, int]] = OrderedDict()
        self._bytes = 0
        self.made = 0

    def of(self, key: Any) -> Made:
        """Return the value of a key, making it if needed."""
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            self._add(key)
        found = self._kept[key][0]
        if isinstance(found, SfgenError):
            raise found
        return found

    def _add(self, key: Any) -> None:
        self.made += 1
        found: Made | SfgenError
        try:
            found = self._make(key)
            size = self._size(found)
        except (SfgenError, MemoryError) as error:
            found, size = as_sfgen_error(error, "what the record demands"), _SMALL
        self._kept[key] = found, size
        self._bytes += size
        while len(self._kept) > 1 and (len(self._kept) > self._most or self._bytes > self._most_bytes):
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size


class OwnJobs:
    """The jobs of records with instructions of their own."""

    def __init__(self, loaded: LoadedJob) -> None:
        self._loaded = loaded
        self._constraints: LastUsed[LoadedJob] = LastUsed(
            self._compiled, self._size, most=MOST_KEPT, most_bytes=MOST_BYTES
        )
        self._bans: LastUsed[BannedWords] = LastUsed(
            self._banned, lambda banned: _SMALL * len(banned), most=MOST_KEPT, most_bytes=MOST_BYTES
        )

    def of(self, own: Instructions) -> LoadedJob:
        """Return the job of a record."""
        job = self._loaded.job
        if own.seed is not None and job.sampler.seed is None:
            raise UsageError(
                'seed in "sfgen" means nothing here: at temperature 0 nothing is drawn', hint="Give a temperature."
            )
        if job.scored is not None:
            return self._scored(job, own)
        found = self._loaded if own.constraint is None else self._constraint(own.constraint)
        if own.ban is None and own.max_tokens is None and own.messages is None:
            return found
        job, config = found.job, found.job.config
        if own.ban is not None:
            config = replace(config, banned=self._bans.of(own.ban) if own.ban else None)
        if own.max_tokens is not None:
            config = replace(config, max_tokens=own.max_tokens)
        messages = job.messages if own.messages is None else own.messages
        return found.like(replace(job, config=config, messages=messages), found.index)

    def _scored(self, job: Job, own: Instructions) -> LoadedJob:
        """Return the job of a record whose choices are scored."""
        given: dict[str, bool] = {"ban": own.ban is not None, "max_tokens": own.max_tokens is not None}
        if own.constraint is not None:
            given[own.constraint.kind] = own.constraint.kind != "choices"
        for key, is_given in given.items():
            if is_given:
                raise UsageError(
                    f'{key} in "sfgen" means nothing here: choices are scored, and no text is written',
                    hint="Leave it out.",
                )
        choices = job.choices if own.constraint is None else own.constraint.value
        messages = job.messages if own.messages is None else own.messages
        return self._loaded.like(replace(job, choices=choices, facts=None, messages=messages), None)

    def _constraint(self, own: OwnConstraint) -> LoadedJob:
        engine = self._loaded.job.constraint.engine
        if engine is not None:
            raise UsageError(
                f'{own.kind} in "sfgen" cannot be followed by the engine {engine}', hint="Take the usual engine."
            )
        return self._constraints.of(own)

    # ---- what is made once -----------------------------------------------------------------------------------------

    def _compiled(self, own: OwnConstraint) -> LoadedJob:
        """Return the common job with another constraint."""
        job = self._loaded.job
        constraint = read_constraint(own, job.constraint.schema)
        choices = tuple(own.value) if own.kind == "choices" else None
        facts = ConstraintFacts(choices=choices) if choices is not None else ConstraintFacts.of(constraint)
        index = Index(constraint, vocabulary_of(self._loaded.model))
        return self._loaded.like(replace(job, config=replace(job.config, index=index), facts=facts), index)

    def _size(self, compiled: LoadedJob) -> int:
        assert isinstance(compiled.index, Index), "made above"
        return size_of(compiled.index)

    def _banned(self, words: tuple[str, ...]) -> BannedWords:
        """Compile banned words, with the options of the words of all records."""
        usual = self._loaded.job.banned
        if usual is None:
            return BannedWords(words)
        return BannedWords(
            words,
            match=usual.match,
            ignore_case=usual.ignore_case,
            normalize=usual.normalize,
            allow=usual.allow,
        )


def size_of(index: Index) -> int:
    """Estimate the bytes of a constraint: masks are made while texts are written."""
    from sfgen.automata import Dfa
    from sfgen.substring.substring import Substring

    constraint, masks, rest = index.constraint, _MASKS, _LARGE
    if isinstance(constraint, Dfa):
        masks, rest = min(_MASKS, len(constraint)), constraint.transitions.nbytes + _SMALL
    if isinstance(constraint, Substring):
        masks, rest = 0, _QUOTED * len(constraint.document.data) + _SMALL
    return rest + masks * len(index.vocabulary) // 8


def read_constraint(
    own: OwnConstraint, usual: JsonSchema | None = None
) -> Dfa | JsonSchema | Grammar | Substring | Template | ToolCalls:
    """Make the constraint of a record."""
    from sfgen.automata import Dfa
    from sfgen.grammar.language.grammar import GrammarSource
    from sfgen.schema.json_schema import JsonSchema
    from sfgen.schema.reading.read import read_inline
    from sfgen.substring.substring import Substring
    from sfgen.template.template import Template
    from sfgen.tools.file import calls_of

    value = own.value
    if own.kind == "tools":
        return calls_of(value)
    if own.kind == "template":
        return Template.inline(value)
    if own.kind == "regex":
        return Dfa.from_regex(value)
    if own.kind == "choices":
        return Dfa.from_choices(value)
    if own.kind == "grammar":
        return GrammarSource(value).grammar()
    if own.kind == "substring":
        return Substring(value) if isinstance(value, str) else Substring(**value)
    options = {} if usual is None else {key: item for key, item in usual.to_dict().items() if key != "schema"}
    if usual is not None:
        options["documents"] = usual.documents
    if own.numbers is not None:
        options["numbers"] = own.numbers
    return JsonSchema(read_inline(value), **options)
