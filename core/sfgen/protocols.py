"""What the parts of sfgen ask of each other. Anything of the right shape will do; nothing is inherited.

This is below everything else. ``sfgen.index.BaseGuide`` has a default for what a guide
lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import SfgenError
from sfgen.groups import Group

Int32: TypeAlias = NDArray[np.int32]
"""Token ids, states: int32, one dimension."""

Mask: TypeAlias = NDArray[np.uint32]
"""A token mask: uint32 ``[ceil(len(vocabulary) / 32)]``. Bit ``t % 32`` of word ``t // 32`` is set where token ``t`` is
allowed. Read-only."""

Scores: TypeAlias = NDArray[np.floating]
"""The scores (logits) of the next token: floating point, ``[len(vocabulary)]``, any scale, no softmax taken."""

Answer: TypeAlias = Scores | SfgenError
"""The scores of a sequence's next token, or why there are none."""


class Tokens(Protocol):
    """The bytes of each token id. ``sfgen.Vocabulary`` is one."""

    @property
    def tokens(self) -> Sequence[bytes | None]:
        """The bytes of each token; ``None`` for a special token."""

    @property
    def end_token_ids(self) -> Sequence[int]:
        """The tokens that end a text."""

    @property
    def text_token_ids(self) -> Int32:
        """The tokens that are text, ascending, int32."""

    @property
    def fingerprint(self) -> str:
        """Equal for equal vocabularies."""

    def __len__(self) -> int:
        """The number of token ids."""


# ---- models ------------------------------------------------------------------------------------------------------


class Session(Protocol):
    """One sequence inside a model: it remembers what it has read."""

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read ``token_ids`` (at least one) and return the scores of the token after them."""

    def rewind(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens read."""


@runtime_checkable
class ScoresEverywhere(Protocol):
    """What a session may have besides: it tells the scores at every position of what it reads."""

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read ``token_ids`` (at least one) as ``extend`` does; return float ``[len(token_ids), len(vocabulary)]``.

        Position ``i`` has the scores of the token after ``token_ids[i]``.
        """


@runtime_checkable
class ScoresRows(Protocol):
    """What a session may have besides: it can score a few tokens without all others."""

    def extend_rows(self, token_ids: Sequence[int], rows: Int32) -> Scores:
        """As ``Session.extend``, but the scores of the tokens ``rows`` only, ``[len(rows)]``; or those of all."""

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Other scores of the token that was scored last: of the tokens ``rows``, or of all. Nothing is read.

        Scores of the same rows are the same to the last bit, whichever way they were asked for. ``None``: the session
        scores all tokens at once, so that the last scores were all that there is.
        """


class Model(Protocol):
    """A language model: a vocabulary, an encoder of prompts, and sessions."""

    @property
    def vocabulary(self) -> Tokens:
        """The bytes of each token id that the model scores: a ``sfgen.Vocabulary``."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a prompt, with the model's begin token where it has one."""

    def session(self) -> Session:
        """A new, empty session."""


class Batch(Protocol):
    """Several sequences inside a model, by row number from 0 on: each remembers what it has read."""

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens, at least one for each row named, and return the scores of the token after them.

        A row that cannot be read has an error in place of scores. What raises is the error of every row named; none of
        them has read anything then.
        """

    def rewind(self, row: int, length: int) -> None:
        """Forget everything of a row after the first ``length`` tokens read.

        With 0, the row is over or begins anew, and what is kept for it may be freed.
        """


@runtime_checkable
class BatchScoresRows(Protocol):
    """What a batch may have besides: it can score a few tokens without all others."""

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """As ``Batch.extend``, but of each row only the scores of the tokens ``wanted``, or those of all."""

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """Other scores of the token of a row that was scored last; see ``ScoresRows.score_again``."""


@runtime_checkable
class BatchScoresEverywhere(Protocol):
    """What a batch may have besides: it tells the scores at every position of what a row reads."""

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """As ``ScoresEverywhere.extend_all``, for one row."""


@runtime_checkable
class HasBatch(Protocol):
    """A model that reads several sequences in one forward pass."""

    def batch(self, rows: int) -> Batch:
        """A new batch of empty rows."""


# ---- constraints -------------------------------------------------------------------------------------------------


class Constraint(Protocol):
    """What a text must satisfy, as a user gives it, whatever the vocabulary. ``sfgen.Dfa`` is one."""

    def accepts(self, text: str | bytes) -> bool:
        """Whether a whole text satisfies it; bytes are its UTF-8."""

    def shortest(self) -> bytes:
        """A shortest text that does."""

    def to_dict(self) -> dict[str, Any]:
        """The constraint as plain data for JSON."""

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask other judges than those that guide, such as ``re``, about a finished text.

        Returns:
            ``None`` if nobody refuses the text; else what a report says: which constraint it is and who refuses.
        """


class Guide(Protocol):
    """Where one sequence stands in a constraint, and what may come next. Not shared between sequences.

    A step is a token (``advance``) or some bytes (``advance_bytes``); ``rollback`` takes steps back. End tokens are
    allowed exactly where the text may end.
    """

    @property
    def state(self) -> int:
        """A number that names the position, for people: in events, traces and views."""

    @property
    def position(self) -> Hashable:
        """Where the guide stands. From equal positions of one source the same may follow, limits and end aside."""

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow: an end token was taken, or the text is complete and cannot go on."""

    def describe(self) -> str:
        """What views show of the position: the state of an automaton, the rules on a stack."""

    def mask(self) -> Mask:
        """The tokens that may follow. Read-only."""

    def allowed_tokens(self) -> Int32:
        """The ids of the tokens that may follow, ascending. Read-only."""

    def tokens_left(self) -> int:
        """The fewest tokens to an end, the end token not counted, or a bound above; 0 also where it is not known."""

    def forced_bytes(self, most: int | None = None) -> bytes:
        """The bytes that must follow, at most ``most``: up to the next choice or the first place of an end."""

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
        """

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are part of no token: a guide may stand inside a token. They count nothing to the limit.

        Raises:
            UsageError: No text goes on so.
        """

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` steps.

        Raises:
            UsageError: Fewer steps than that were taken.
        """

    def validate(self, token_ids: Sequence[int]) -> int:
        """How many of these tokens, from the first on, may follow one after the other. The guide stays where it is."""

    def fork(self, *, limited: bool = True) -> Guide:
        """A second guide at the same position, which goes its own way; without ``limited``, without a limit."""

    def is_ready(self) -> bool:
        """Whether the mask here is made; one that takes microseconds is made now."""

    def allows_several(self) -> bool | None:
        """Whether two tokens or more may follow, the end tokens counted as one; ``None``: only the mask tells."""


class GuidingConstraint(Constraint, Protocol):
    """A constraint that makes its own guides: ``sfgen.Index(constraint, vocabulary)`` takes it as it is."""

    def guide(self, vocabulary: Any, max_tokens: int | None = None) -> Guide:
        """A new guide for one sequence of tokens of a ``sfgen.Vocabulary``; see ``GuideSource.guide``."""


@runtime_checkable
class HasValue(Protocol):
    """A constraint whose texts stand for values, as those of JSON do."""

    def value(self, text: str | bytes) -> Any:
        """The value that a finished text stands for."""


@runtime_checkable
class HasGroups(Protocol):
    """A constraint whose texts have named parts, as those of a pattern with named groups do."""

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """The named parts of a finished text, in order; ``None`` where they are not known."""


@runtime_checkable
class HasTemperatures(Protocol):
    """A constraint parts of whose texts have a temperature of their own; its guides tell it as ``temperature``."""

    @property
    def temperatures(self) -> Collection[float]:
        """All temperatures that there are; none where all text is of that of the generation."""


@runtime_checkable
class HasParser(Protocol):
    """A constraint that may know a Python type of which its texts are instances."""

    @property
    def parser(self) -> Callable[[str | bytes], Any] | None:
        """What makes an instance from a finished text; ``None`` if there is no type."""


@runtime_checkable
class HasReadings(Protocol):
    """A constraint whose texts say more than their characters: escapes are undone where they are read."""

    def readings(self, text: bytes) -> Sequence[str]:
        """The texts that a reader of a finished text finds in it, each read alone."""


@runtime_checkable
class TakesOutBans(Protocol):
    """A constraint that can be made without banned words."""

    def without_banned(self, banned: Any, prompt: bytes = b"") -> GuidingConstraint | None:
        """The constraint of the texts that have none of the banned words of a ``sfgen.BannedWords``.

        Args:
            banned: What must not be in a text.
            prompt: What stands before the text.

        Returns:
            ``None`` where they cannot be taken out.

        Raises:
            BannedWordsError: Every text has a banned match.
        """


class GuideSource(Protocol):
    """A constraint over one vocabulary: ``sfgen.Index``, an engine of ``sfgen.reference``, or several in a chain."""

    @property
    def vocabulary(self) -> Tokens:
        """The tokens."""

    def guide(self, max_tokens: int | None = None) -> Guide:
        """A new guide for one sequence. It never lets a text end too early, at the limit of tokens neither.

        Args:
            max_tokens: The tokens that it may take, the end token not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens; one that does not look ahead may say so
                later, with another ``GenerationError``.
        """

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """As ``Constraint.refusal``: what the constraint's own judges say of a finished text."""


# ---- bans --------------------------------------------------------------------------------------------------------


class BannedText(Protocol):
    """A banned match: offsets in bytes from the start of the generated text."""

    @property
    def word(self) -> str:
        """The banned word, as its user wrote it."""

    @property
    def start(self) -> int:
        """The first byte of the match; negative if it lies in the prompt."""

    @property
    def end(self) -> int:
        """The byte after the last one of the match."""


class Matcher(Protocol):
    """Watches one text for banned words; can go back to any earlier mark."""

    def advance(self, data: bytes) -> BannedText | None:
        """Read the bytes of one token; the first banned match that they complete."""

    def begin_text(self) -> None:
        """Read what follows by itself, too, besides after all before it."""

    def finish(self) -> BannedText | None:
        """The banned match that would be complete if the text ended here."""

    def open_from(self) -> int | None:
        """Where the earliest match that is still possible begins; ``None`` if there is none."""

    def under_way(self) -> tuple[str, ...]:
        """Some of the banned words that may become complete, for observers."""

    def mark(self) -> Any:
        """The present position, for ``reset``."""

    def reset(self, mark: Any) -> None:
        """Back to an earlier mark."""


class FindsTokens(Protocol):
    """Finds what to rule out where a matcher stands; the matcher is unchanged afterwards."""

    def of(self, matcher: Any) -> Int32:
        """The tokens that complete a match which is under way, ascending. Read-only."""

    def dead(self, matcher: Any) -> Int32:
        """The tokens behind which the text ends inside a character, and whatever follows completes a match."""

    def is_dead(self, matcher: Any) -> bool:
        """Whether the text ends inside a character, and whatever follows completes a match, as the end would."""
