"""The interfaces between the parts of sfgen, as protocols: anything of the right shape will do; nothing is inherited.

This module is below all others. First come the arrays over a vocabulary and the vocabulary itself, then a *constraint*
(any vocabulary), its *source* of guides (one vocabulary) and its *guides* (one sequence), then a *model* with its
sessions and batches, then the matcher of a *ban*. Each has optional abilities: classes whose names begin with ``Has``,
``Takes`` or ``Scores``, which are asked for by ``isinstance``. ``sfgen.index.BaseGuide`` has a default for each method
that a guide lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import SfgenError
from sfgen.groups import Group

__all__ = [
    "Answer",
    "BannedText",
    "Batch",
    "BatchScoresEverywhere",
    "BatchScoresLast",
    "BatchScoresRows",
    "BatchScoresTogether",
    "Constraint",
    "FindsTokens",
    "Guide",
    "GuideSource",
    "GuidingConstraint",
    "HasBatch",
    "HasGroups",
    "HasParser",
    "HasReadings",
    "HasSuperset",
    "HasTemperatures",
    "HasValue",
    "Int32",
    "Mask",
    "Matcher",
    "Model",
    "Scores",
    "ScoresEverywhere",
    "ScoresLast",
    "ScoresRows",
    "Session",
    "Superset",
    "TakesOutBans",
    "Tokens",
]

Int32: TypeAlias = NDArray[np.int32]
"""Token ids, states: int32, one dimension."""

Mask: TypeAlias = NDArray[np.uint32]
"""A token mask: uint32 ``[ceil(len(vocabulary) / 32)]``. Bit ``t % 32`` of word ``t // 32`` is set where token ``t`` is
allowed. Read-only."""

Scores: TypeAlias = NDArray[np.floating]
"""The scores (logits) of the next token: floating point, ``[len(vocabulary)]``, any scale, no softmax taken."""

Answer: TypeAlias = Scores | SfgenError
"""The scores of a sequence's next token, or the error that tells why there are none."""


class Tokens(Protocol):
    """A vocabulary: the bytes of each token id. ``sfgen.Vocabulary`` is one."""

    @property
    def tokens(self) -> Sequence[bytes | None]:
        """The bytes of each token; ``None`` for a special token."""

    @property
    def end_token_ids(self) -> Sequence[int]:
        """The tokens that end a text."""

    @property
    def text_token_ids(self) -> Int32:
        """The tokens that are text, ascending, int32 ``[k]``."""

    @property
    def fingerprint(self) -> str:
        """A digest that is equal for equal vocabularies."""

    def __len__(self) -> int:
        """The number of token ids."""


class Constraint(Protocol):
    """What a text must satisfy, for any vocabulary. ``sfgen.Dfa`` is one."""

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text satisfies it; bytes are its UTF-8."""

    def shortest(self) -> bytes:
        """Return a shortest text that satisfies it, as UTF-8."""

    def to_dict(self) -> dict[str, Any]:
        """Return the constraint as plain data for JSON."""

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with independent judges, such as ``re``.

        Args:
            data: The text as UTF-8.

        Returns:
            ``None`` if no judge refuses the text; else which constraint it is and which judge refuses, for a report.
        """


class Guide(Protocol):
    """The position of one sequence in a constraint, with its token mask.

    A guide belongs to one sequence. A step is a token (``advance``) or some bytes (``advance_bytes``); ``rollback``
    takes steps back. End tokens are allowed exactly where the text may end.
    """

    @property
    def state(self) -> int:
        """A number that identifies the position in events, traces and views."""

    @property
    def position(self) -> Hashable:
        """The present position; what may follow depends on it alone.

        Guides of one source at equal positions allow the same continuations, except for a token limit and the end.
        """

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow the text.

        It is so after an end token, and where the text is complete and cannot continue.
        """

    def describe(self) -> str:
        """Describe the position for views: an automaton state, a stack of rules."""

    def mask(self) -> Mask:
        """Return the mask of the tokens that may follow. Read-only."""

    def allowed_tokens(self) -> Int32:
        """Return the ids of the tokens that may follow, ascending. Read-only."""

    def tokens_left(self) -> int:
        """Return the fewest tokens to an end, without the end token.

        It may be an upper bound, and is 0 where it is not known.
        """

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end.

        Args:
            most: The most bytes to return; ``None``: any number.
        """

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token.

        The position may then be inside a token. The bytes do not count towards a token limit.

        Raises:
            UsageError: No allowed text continues with these bytes.
        """

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps.

        Raises:
            UsageError: Fewer steps than that were taken.
        """

    def validate(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, may follow.

        The guide does not move.
        """

    def fork(self, *, limited: bool = True) -> Guide:
        """Return an independent guide at the same position.

        Args:
            limited: Whether it keeps the token limit.
        """

    def is_ready(self) -> bool:
        """Return whether the mask here is made.

        One that takes microseconds is made now.
        """

    def allows_several(self) -> bool | None:
        """Return whether two tokens or more may follow.

        All end tokens count as one. ``None``: only the mask can tell.
        """


class GuideSource(Protocol):
    """A constraint over one vocabulary: a source of guides.

    ``sfgen.Index`` is one, and so are an engine of ``sfgen.reference`` and a chain of several.
    """

    @property
    def vocabulary(self) -> Tokens:
        """The tokens."""

    def guide(self, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence.

        It never ends a text too early, also not at the token limit.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens; a guide without lookahead may raise
                another ``GenerationError`` later.
        """

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text as ``Constraint.refusal`` does.

        Returns:
            ``None`` if no judge refuses; else the constraint and the judge, for a report.
        """


class GuidingConstraint(Constraint, Protocol):
    """A constraint that makes its own guides.

    ``sfgen.Index(constraint, vocabulary)`` takes it as it is.
    """

    def guide(self, vocabulary: Any, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence.

        Args:
            vocabulary: A ``sfgen.Vocabulary``.
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens; see ``GuideSource.guide``.
        """


@runtime_checkable
class HasValue(Protocol):
    """A constraint whose texts stand for values, as those of JSON do."""

    def value(self, text: str | bytes) -> Any:
        """Return the value that a finished text stands for."""


@runtime_checkable
class HasGroups(Protocol):
    """A constraint whose texts have named parts, such as named groups."""

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Return the named parts of a finished text, in order.

        ``None`` where they are not known.
        """


@runtime_checkable
class HasTemperatures(Protocol):
    """A constraint in which parts of a text have their own temperature.

    Its guides have it as their attribute ``temperature``.
    """

    @property
    def temperatures(self) -> Collection[float]:
        """All temperatures that occur; none if the generation's holds everywhere."""


@runtime_checkable
class HasParser(Protocol):
    """A constraint that may know a Python type for its texts."""

    @property
    def parser(self) -> Callable[[str | bytes], Any] | None:
        """The function that makes an instance from a finished text.

        ``None`` if there is no type.
        """


@runtime_checkable
class HasReadings(Protocol):
    """A constraint whose texts contain escapes that a reader undoes."""

    def readings(self, text: bytes) -> Sequence[str]:
        """Return the texts a reader finds in a finished text, each separately."""


@runtime_checkable
class TakesOutBans(Protocol):
    """A constraint that can be made without banned words."""

    def without_banned(self, banned: Any, prompt: bytes = b"") -> GuidingConstraint | None:
        """Subtract a ``sfgen.BannedWords`` from the constraint's texts.

        Args:
            banned: The banned words: no text of the new constraint has a match of them.
            prompt: What stands before the text, as UTF-8.

        Returns:
            The constraint of the remaining texts; ``None`` where the difference cannot be made.

        Raises:
            BannedWordsError: Every text has a banned match.
        """


class Superset(NamedTuple):
    """A regular superset of the texts of a constraint.

    Attributes:
        dfa: A ``sfgen.Dfa`` that accepts all of them, and perhaps others.
        is_exact: Whether it accepts no others.
    """

    dfa: Any
    is_exact: bool


@runtime_checkable
class HasSuperset(Protocol):
    """A constraint that is not regular, but has a regular superset."""

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        It is ``None`` where none is small enough.
        """


class Model(Protocol):
    """A language model: a vocabulary, an encoder of prompts, and sessions."""

    @property
    def vocabulary(self) -> Tokens:
        """The bytes of each token id that the model scores: a ``sfgen.Vocabulary``."""

    def encode(self, text: str) -> list[int]:
        """Return a prompt's token ids, with the begin token if any."""

    def session(self) -> Session:
        """Return a new, empty session."""


class Session(Protocol):
    """One sequence inside a model, with what it has read."""

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next token.

        Args:
            token_ids: At least one.

        Returns:
            Float ``[len(vocabulary)]``: the scores (logits) of the token after ``token_ids``.
        """

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""


@runtime_checkable
class ScoresEverywhere(Protocol):
    """A session that can return the scores at every position."""

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens as ``extend`` does and return all their scores.

        Args:
            token_ids: At least one.

        Returns:
            Float ``[len(token_ids), len(vocabulary)]``; position ``i`` scores the token after ``token_ids[i]``.
        """


@runtime_checkable
class ScoresLast(Protocol):
    """A session that can return the scores at its last positions alone.

    Log-probabilities need no scores inside the prompt. For a session without this method they are taken from
    ``extend_all``, and all scores are held for a moment: 4 GB for a prompt of 4000 tokens and a vocabulary of 256,000.
    A session that has neither method reads the last tokens one at a time.
    """

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        """Read tokens as ``extend`` does; return the scores at the last.

        Args:
            token_ids: At least one.
            positions: How many of their positions are scored, from 1 to ``len(token_ids)``.

        Returns:
            Float ``[positions, len(vocabulary)]``: the last rows of what ``ScoresEverywhere.extend_all`` returns.
        """


@runtime_checkable
class ScoresRows(Protocol):
    """A session that can score some tokens without the others."""

    def extend_rows(self, token_ids: Sequence[int], rows: Int32) -> Scores:
        """Read tokens and score only some of the vocabulary.

        Args:
            token_ids: At least one.
            rows: The tokens to score, int32 ``[k]``.

        Returns:
            Float ``[k]``, or ``[len(vocabulary)]`` from a session that scored all tokens.
        """

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Score other tokens at the last position, reading nothing.

        Scores of the same tokens are the same to the last bit, whichever way they were computed.

        Args:
            rows: The tokens to score, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            Float ``[k]`` or ``[len(vocabulary)]``; ``None`` if the last scores were already those of the whole
            vocabulary.
        """


class Batch(Protocol):
    """Several sequences inside a model, numbered by row from 0."""

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return their next scores.

        A row that cannot be read has an error in place of scores. An exception means that every row that was named has
        failed, and that none of them has read anything.

        Args:
            rows: The token ids to read by row, at least one for each.

        Returns:
            By row: float ``[len(vocabulary)]``, or an error.
        """

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row.

        Args:
            row: The number of the row.
            length: In tokens. With 0 the row is over or begins anew, and what is kept for it may be freed.
        """


@runtime_checkable
class HasBatch(Protocol):
    """A model that reads several sequences in one forward pass."""

    def batch(self, rows: int) -> Batch:
        """Return a new batch.

        Args:
            rows: How many sequences it has, all empty.
        """


@runtime_checkable
class BatchScoresRows(Protocol):
    """A batch that can score some tokens without the others."""

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """Read tokens for some rows and score only some of the vocabulary.

        Args:
            rows: The token ids to read by row, at least one for each.
            wanted: The tokens to score by row, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            By row: float ``[k]`` or ``[len(vocabulary)]``, or an error.
        """

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """Score other tokens at a row's last position, reading nothing.

        Args:
            row: The number of the row.
            wanted: The tokens to score, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            As ``ScoresRows.score_again``, or an error.
        """


@runtime_checkable
class BatchScoresTogether(Protocol):
    """A batch whose rows lie in one table of scores."""

    def extend_together(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> tuple[Sequence[int], Any, Mapping[int, Answer]]:
        """Read tokens for some rows, as ``Batch.extend``.

        Args:
            rows: The token ids to read by row, at least one for each.
            wanted: The only tokens by row whose scores are needed, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            The rows of a table; the table, float ``[rows, len(vocabulary)]``: an array, or a tensor of torch that stays
            on its device, and that is not written to again; and the results of the rows that are not in it, as of
            ``BatchScoresRows.extend_rows``.
        """


@runtime_checkable
class BatchScoresEverywhere(Protocol):
    """A batch that can return the scores at every position."""

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores.

        Args:
            row: The number of the row.
            token_ids: At least one.

        Returns:
            Float ``[len(token_ids), len(vocabulary)]``, or an error.
        """


@runtime_checkable
class BatchScoresLast(Protocol):
    """A batch that can return the scores at the last positions alone.

    See ``ScoresLast``.
    """

    def extend_last(self, row: int, token_ids: Sequence[int], positions: int) -> Answer:
        """Read tokens for one row; return the scores at the last.

        Args:
            row: The number of the row.
            token_ids: At least one.
            positions: How many of their positions are scored, from 1 to ``len(token_ids)``.

        Returns:
            Float ``[positions, len(vocabulary)]``, or an error.
        """


class BannedText(Protocol):
    """A banned match, with byte offsets into the generated text."""

    @property
    def word(self) -> str:
        """The banned word, as its user wrote it."""

    @property
    def start(self) -> int:
        """The first byte of the match; negative if inside the prompt."""

    @property
    def end(self) -> int:
        """The byte after the last one of the match."""


class Matcher(Protocol):
    """A matcher of banned words that can return to earlier marks."""

    def advance(self, data: bytes) -> BannedText | None:
        """Read the bytes of one token and return the first match completed."""

    def begin_text(self) -> None:
        """Begin a text that is also read without what stands before it."""

    def finish(self) -> BannedText | None:
        """Return the banned match that the end of the text would complete."""

    def open_from(self) -> int | None:
        """Return the start of the earliest partial match, or ``None``."""

    def under_way(self) -> tuple[str, ...]:
        """Return some of the partially matched words, for observers."""

    def mark(self) -> Any:
        """Return the present position, for ``reset``."""

    def reset(self, mark: Any) -> None:
        """Return to an earlier mark."""


class FindsTokens(Protocol):
    """A search for tokens to rule out; it leaves the matcher unchanged."""

    def of(self, matcher: Any) -> Int32:
        """Return the tokens that complete a partial match, ascending. Read-only."""

    def dead(self, matcher: Any) -> Int32:
        """Return the dead tokens: ones after which every continuation is banned.

        After such a token the text ends inside a character, and whatever follows completes a match.
        """

    def is_dead(self, matcher: Any) -> bool:
        """Return whether the text is dead: every continuation completes a match.

        Such a text ends inside a character; its end would complete a match, too.
        """
