"""The events of the decode loop: each step as a value. Views, traces and tests all read the same events.

A trace is these classes as JSON: its keys are the fields, its types and ranges the type hints, and its documentation
the sentences below (``sfgen.trace``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.groups import Group, Spans, Texts, spans_by_name, texts_by_name
from sfgen.number_ranges import Count, LogProbability, Probability, Signed

FinishReason: TypeAlias = Literal["complete", "end_token", "stop", "limit"]
"""The reason why generation stopped; ``Result`` defines each."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The loop's request for scores to a session; not an event.

    Attributes:
        token_ids: Tokens to read next, at least one unless the prompt is empty.
        keep: Rewind the session to this many tokens first; ``None``: nothing to take back.
        rows: The only tokens whose scores are needed, few of them, int32; ``None``: all. The answer may be either.
        positions: The number of the last positions of ``token_ids`` to score. 1: the scores of the next token, float
            ``[len(vocabulary)]``; more: float ``[positions, len(vocabulary)]``.
        choose: Returns the choice of the next token, to be called once ``token_ids`` are read; it returns ``None`` if
            the scores alone do not decide. A driver may answer with tokens that are chosen for all rows at once.
            ``None``: the answer is scores.
    """

    token_ids: Sequence[int]
    keep: int | None = None
    rows: NDArray[np.int32] | None = field(default=None, compare=False)
    positions: int = field(default=1, repr=False)
    choose: Callable[[], Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AskAgain:
    """A request for other scores at the last position, reading nothing.

    A token is chosen by the scores of few tokens wherever few are allowed, whatever else is requested: one number of a
    product over few rows may differ in its last bit from the same number of a product over all of them.

    Attributes:
        rows: The tokens whose scores are wanted, int32; ``None``: all. The answer is ``None`` where the last answer
            already had all scores.
    """

    rows: NDArray[np.int32] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that the model finds likely at some position.

    Attributes:
        token_id: The token.
        data: Its bytes; ``None`` for a token without text.
        is_end: Whether it ends the text.
        before: The model's probability of it among all tokens, at temperature 1.
        after: The same among the tokens that may stand there; 0 if it may not.
    """

    token_id: Count
    data: bytes | None
    is_end: bool
    before: Probability
    after: Probability


@dataclass(frozen=True, slots=True)
class Outlook:
    """The likeliest tokens at a position, before and after the mask.

    They are the model's own: biases and penalties come after them.

    Attributes:
        before: The likeliest of all tokens, the likeliest first.
        after: The likeliest of those that may stand there.
        removed: The probability that the model gave to the tokens that may not stand there.
    """

    before: tuple[Candidate, ...]
    after: tuple[Candidate, ...]
    removed: Probability


@dataclass(frozen=True, slots=True)
class Watch:
    """The partial matches of a ban after a token.

    Attributes:
        open_from: The byte of the generated text where the earliest match begins that may still become complete;
            negative if that is in the prompt; ``None`` if none may.
        words: Some of the banned words and patterns that may become complete.
    """

    open_from: Signed | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenChosen:
    """A token was appended.

    Attributes:
        position: Index of the token in the generated sequence: the number of those that stand before it.
        token_id: The token, below the size of the vocabulary.
        data: Its bytes, as far as they are text; empty for an end token, and where it writes only the healed end of the
            prompt.
        state: The guide's state before it; may be negative.
        next_state: The guide's state after it; may be negative.
        allowed: How many tokens were allowed here, at most the size of the vocabulary.
        forced: Whether it is a jump-forward token, which needed no forward pass: it was the only allowed token, or
            writes the beginning of text that must follow, as the tokenizer would.
        probability: The probability with which it was drawn: among the allowed tokens, after biases, penalties,
            temperature and truncation (top-k, top-p, min-p). ``None`` if it was forced or chosen greedily, or if the
            text was drawn as a whole.
        forward_passes: The number of forward passes until now; 0 if it is not known.
        outlook: The likeliest tokens here; ``None`` if there was no forward pass, it scored a few tokens only, or
            nobody observes.
        watch: The partial matches of the ban after the token; ``None`` without a ban, or if nobody observes.
        described: The guide's description of its position after the token; ``None`` if that is just the number of the
            state, or if nobody observes.
        healed: Its first bytes where they belong to the prompt, whose end was taken back; ``data`` follows them.
    """

    position: Count
    token_id: Count
    data: bytes
    state: Signed
    next_state: Signed
    allowed: Count
    forced: bool
    probability: Probability | None
    forward_passes: Count = 0
    outlook: Outlook | None = None
    watch: Watch | None = None
    described: str | None = None
    healed: bytes = b""


@dataclass(frozen=True, slots=True)
class PrefixScored:
    """Under ``exact``: the model scored the continuations of a prefix.

    No token is chosen before the end.

    Attributes:
        position: The number of its tokens.
        data: Its bytes.
        probability: The model's probability of it, after temperature and truncation.
        allowed: How many tokens the constraint allows after it.
        known: The probability of the allowed texts that are known by now.
        unknown: The probability of the texts that are not known to be allowed, nor to be refused.
        forward_passes: How many prefixes were scored until now.
    """

    position: Count
    data: bytes
    probability: Probability
    allowed: Count
    known: Probability
    unknown: Probability
    forward_passes: Count


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Tokens were rolled back.

    Attributes:
        position: Index of the first token that was taken back; all from there on were.
        word: The banned word whose match was complete; or, where all ways lead to banned text, a banned word in the
            shortest way to an end; or the word with a bias that was not accepted. ``None`` if no token was left.
        token_ids: The tokens that were taken back, at least one.
        data: Their bytes, as far as they are text.
        state: The guide's state after the rollback; may be negative.
        probability: The model's probability of the first of them among the tokens that the guide allows there, at
            temperature 1; ``None`` if there was no forward pass.
        place: Index at which tokens were ruled out, at least ``position``; they may not stand there again while the
            tokens before it stay. ``position`` under ``first-token``, the position of the last token or of the end
            under ``resample``.
        ruled_out: The number of tokens that were ruled out there: all that are known to lead to banned text. 0 for a
            word with a bias.
        bias: The bias that was not accepted; ``None``: the word is banned.
    """

    position: Count
    word: str | None
    token_ids: tuple[Count, ...]
    data: bytes
    state: Signed
    probability: Probability | None
    place: Count
    ruled_out: Count
    bias: LogProbability | None = None

    @property
    def forbidden(self) -> int | None:
        """The undone token among those ruled out at ``place``.

        ``None`` for the end. For a word with a bias, the token that completes it, which may stand there again.
        """
        index = self.place - self.position
        return self.token_ids[index] if index < len(self.token_ids) else None

    @property
    def text(self) -> str:
        """The bytes as text; bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class BlockMoved:
    """Under ``resample``: a block's start moved, being too long.

    It is not an exact draw any more.

    Attributes:
        position: Index of the token where it begins now; a rollback goes back no further.
        tokens: How many tokens it had.
    """

    position: Count
    tokens: Count


@dataclass(frozen=True, slots=True)
class BlockClosed:
    """No partial match is left: the text so far stays.

    It is rolled back only if nothing clean at all can follow it.

    Attributes:
        position: The number of tokens that stay.
    """

    position: Count


@dataclass(frozen=True, slots=True)
class TextReleased:
    """Text that will never be taken back.

    Attributes:
        text: The text that a stream may write now; never half a character.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtReleased:
    """Part of the thought before the text, never taken back.

    Attributes:
        text: The part of the thought that a reader may see now; never half a character.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the text, with the result.

    Attributes:
        result: The result.
    """

    result: Result


@dataclass(frozen=True)
class Instance:
    """The instance a finished text parses to, made at first use by the parser."""

    parser: Callable[[bytes], Any]
    data: bytes

    @cached_property
    def made(self) -> Any:
        """The instance."""
        return self.parser(self.data)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """The log-probabilities of one token of the text.

    Attributes:
        model: The natural logarithm of the model's probability of it: temperature 1, among all tokens, before biases
            and penalties. ``None`` for the probability 0, and where the model scores some token infinite.
        mask: The logarithm of the probability with which it was drawn: among the tokens that may stand there, after
            biases, penalties, temperature and truncation, with the weights that a ban has learnt. At temperature 0,
            where nothing is drawn, the logarithm of its probability after biases and penalties among the tokens that
            may stand there; 0 if no other could.
    """

    model: LogProbability | None
    mask: LogProbability


@dataclass(frozen=True, slots=True)
class Result:
    """A finished generation.

    Attributes:
        text: The joined bytes of the tokens, as text; without the stop string and what came after it.
        token_ids: The generated tokens, without the end token. If a stop string ended the text, they include the tokens
            of the stop string, and the last may reach beyond it: they write more than the text. So do the first of them
            if the end of the prompt was healed.
        finish_reason: The reason why it stopped. ``complete``: only the end could follow. ``end_token``: the model
            chose to end. ``stop``: a stop string was whole. ``limit``: the token limit, or the end of the model's
            context. The last two are for free text and bans only: with a pattern the limit never cuts.
        prompt_tokens: Number of tokens of the prompt, without those that were taken back to heal its end.
        forward_passes: The number of forward passes. Under ``exact``: the number of prefixes that this text needed
            scores of, even if another text of the job had them scored.
        forced_tokens: Number of jump-forward tokens, which needed no forward pass.
        rollbacks: Every rollback again, in order.
        moved_blocks: The number of times that a block's start moved since the block got too long: then it is not an
            exact draw.
        value: The value of the text, if the constraint defines one: the parsed JSON of a ``sfgen.JsonSchema``.
        logprobs: The log-probabilities of each of ``token_ids``, if ``logprobs`` is on.
        instance: Makes the value of ``parsed``, if the schema was made from a Python type.
        healed: The end of the prompt that was taken back: ``token_ids`` write it again before the text, and the text
            does not include it. ``None``: the prompt was taken as it is.
        named: The named groups of the pattern, or the holes of the template, in order; none where there are none.
            ``None`` where they are not known: ``re``, which divides the text, took too long.
        thought: The thought before the marker and the text; ``token_ids`` include it. ``None``: no thought was asked
            for.
        calls: The values of the calls in the text, in order: parsed JSON if a schema defines them, else texts.
            ``None``: none were asked for.
    """

    text: str
    token_ids: tuple[Count, ...]
    finish_reason: FinishReason
    prompt_tokens: Count
    forward_passes: Count
    forced_tokens: Count
    rollbacks: tuple[RolledBack, ...] = field(default=())
    moved_blocks: Count = 0
    value: Any = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    instance: Instance | None = field(default=None, repr=False, compare=False)
    healed: str | None = None
    named: tuple[Group, ...] | None = ()
    thought: str | None = None
    calls: tuple[Any, ...] | None = None

    @property
    def groups(self) -> Texts:
        """The text of each named group, by name.

        ``None`` for a group that matched nothing. Empty if the groups are not known.
        """
        return texts_by_name(self.named or (), self.text)

    @property
    def spans(self) -> Spans:
        """The position of each named group, by name, in characters.

        It is the first character and the one after the last.
        """
        return spans_by_name(self.named or ())

    @property
    def parsed(self) -> Any:
        """The instance of the schema's Python type, else ``value``.

        Raises:
            NotAnInstance: The type has conditions that its schema cannot express, and refuses the text.
        """
        return self.value if self.instance is None else self.instance.made


Event: TypeAlias = (
    TokenChosen | PrefixScored | RolledBack | BlockMoved | BlockClosed | ThoughtReleased | TextReleased | Finished
)
