"""What the decode loop asks of the things around it. Anything of the right shape will do; nothing is inherited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfgen.vocabulary import Vocabulary

Scores: TypeAlias = NDArray[np.floating]
"""The scores (logits) of the next token: floating point, shape ``[len(vocabulary)]``, any scale, no softmax taken."""


class Session(Protocol):
    """One sequence inside a model: it remembers what it has read."""

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read ``token_ids`` (at least one) and return the scores of the token after them."""

    def rewind(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens read."""


@runtime_checkable
class ScoresRows(Protocol):
    """What a session may have besides: it can score a few tokens without all others."""

    def extend_rows(self, token_ids: Sequence[int], rows: NDArray[np.int32]) -> Scores:
        """As ``Session.extend``, but the scores of the tokens ``rows`` only, ``[len(rows)]``; or those of all."""

    def score_again(self, rows: NDArray[np.int32] | None) -> Scores | None:
        """Other scores of the token that was scored last: of the tokens ``rows``, or of all. Nothing is read.

        Scores of the same rows are the same to the last bit, whichever way they were asked for. ``None``: the session
        scores all tokens at once, so that the last scores were all that there is.
        """


class Model(Protocol):
    """A language model: a vocabulary, an encoder of prompts, and sessions."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each token id that the model scores."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a prompt, with the model's begin token where it has one."""

    def session(self) -> Session:
        """A new, empty session."""


class Guide(Protocol):
    """What may come next in one sequence. ``sfgen.index.Guide`` (a DFA) is the first; grammars can follow."""

    @property
    def state(self) -> int:
        """A number that names the current state, for events and views."""

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow."""

    def allowed_tokens(self) -> NDArray[np.int32]:
        """Ids of the tokens that may follow, ascending; end tokens among them exactly in accepting states."""

    def advance(self, token_id: int) -> None:
        """Take a token."""

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens."""


class GuideSource(Protocol):
    """What a text must match, over one vocabulary: ``sfgen.Index``, or an engine of ``sfgen.reference``."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""

    @property
    def pattern(self) -> str | None:
        """The pattern, of which ``re`` is asked in the end; ``None``: it has none."""

    def accepts(self, data: bytes) -> bool:
        """Whether a text is a match."""

    def guide(self, max_tokens: int | None = None) -> Guide:
        """A new guide for one sequence. It never lets a text end that is no match, at the limit of tokens neither.

        Raises:
            LimitTooSmall: No match can be written with ``max_tokens`` tokens; one that does not look ahead may say so
                later, with another ``GenerationError``.
        """


class BannedText(Protocol):
    """What the loop reads of a banned match: offsets in bytes from the start of the generated text."""

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

    def finish(self) -> BannedText | None:
        """The banned match that would be complete if the text ended here."""

    def open_from(self) -> int | None:
        """Where the earliest match that is still possible begins; ``None`` if there is none."""

    def under_way(self) -> tuple[str, ...]:
        """Some of the banned words that may become complete, for those who look on."""

    def mark(self) -> Any:
        """The present position, for ``reset``."""

    def reset(self, mark: Any) -> None:
        """Back to an earlier mark."""
