"""The start of one text: its token budget, the tokens of the prompt, and the guides that lead on from there.

The budget is ``max_tokens``, or what the model's context leaves after the prompt. A thought before the text has a limit
of its own, and becomes shorter first where the context is too small. Where the end of the prompt is healed
(``sfgen.decoding.healing``), the guides first lead through the bytes that were taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.healing import seams
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.decoding.text_constraints import TextConstraints
from sfgen.errors import InputError, LimitTooSmall
from sfgen.index import Unconstrained, UnconstrainedGuide
from sfgen.index.marker import Marker
from sfgen.index.sequence import Chain, SequenceGuide, Thought
from sfgen.index.sequence_parts import Fixed
from sfgen.protocols import Guide, GuideSource, Model
from sfgen.vocabulary import Vocabulary


@dataclass(frozen=True)
class ThoughtBefore:
    """The thought before the text of a constraint, with its limits."""

    marker: Marker  # between thought and text
    max_thought: int | None  # tokens of the thought; ``None``: any number
    max_tokens: int  # tokens of the text
    counts: bool = False  # whether those of the text count the thought and the marker, too

    @classmethod
    def within(
        cls, room: int | None, marker: Marker, max_thought: int | None, max_tokens: int, *, counts: bool
    ) -> ThoughtBefore:
        """Share the tokens that the context leaves; ``None``: any number. The thought becomes shorter first."""
        if room is None:
            return cls(marker, max_thought, max_tokens, counts)
        if counts:
            return cls(marker, max_thought, min(max_tokens, room), counts)
        written = marker.longest  # each byte may be a token of its own
        left = room - written
        if left < 0:
            raise LimitTooSmall(
                f"the context of the model leaves room for {room} tokens, and {written} may be needed for what ends "
                "the thought",
                hint="Give a shorter prompt, or use a model with a longer context.",
            )
        max_tokens = min(max_tokens, left)
        rest = left - max_tokens
        return cls(marker, rest if max_thought is None else min(max_thought, rest), max_tokens)

    def before(self, source: GuideSource | None, vocabulary: Vocabulary) -> Thought:
        """Put the thought before a constraint; ``None``: before free text."""
        return Thought(self.marker, source or Unconstrained(vocabulary), self.max_thought, counts=self.counts)


@dataclass(frozen=True)
class Limits:
    """The bounds on the tokens of a text, whatever its prompt is."""

    model: Model
    config: GenerationConfig
    marker: Marker | None = None  # ends the thought before the text
    keeps_limit: bool = True  # by the guides; if not, it is only checked whether any text fits

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return vocabulary_of(self.model)

    def after_prompt(self, prompt_tokens: int) -> TokenBudget:
        """Return the token budget after a prompt of N tokens."""
        room = self._room(prompt_tokens)
        if self.marker is not None:
            after, most, counts = self.config.after_tokens, self.config.max_tokens, self.config.after_counts
            thought = ThoughtBefore.within(room, self.marker, after, most, counts=counts)
            return TokenBudget(self, prompt_tokens, thought.max_tokens, thought)
        limit = self.config.max_tokens if room is None else min(self.config.max_tokens, room)
        return TokenBudget(self, prompt_tokens, limit)

    def _room(self, prompt_tokens: int) -> int | None:
        """Return the number of tokens that the context leaves; ``None``: any number."""
        context: int | None = getattr(self.model, "context_length", None)
        if context is None:
            return None
        if prompt_tokens > context:
            raise InputError(
                f"the prompt is longer than {_name(self.model)} can read: {prompt_tokens} tokens, its context "
                f"holds {context}",
                hint="Give a shorter prompt, or use a model with a longer context.",
            )
        return context - prompt_tokens + 1  # the last token need not be read


@dataclass(frozen=True)
class TokenBudget:
    """The token budget of a text after a prompt."""

    limits: Limits
    prompt_tokens: int
    limit: int  # the most tokens of the text
    thought: ThoughtBefore | None = None

    def source(self, source: GuideSource | None) -> GuideSource:
        """Return a source, or free text, with the thought before it."""
        if self.thought is not None:
            return self.thought.before(source, self.limits.vocabulary)
        return source or Unconstrained(self.limits.vocabulary)

    def guide(self, source: GuideSource | None) -> Guide:
        """Return a guide within the limit, if guides keep it."""
        if source is None:  # the loop cuts free text
            return self.source(None).guide()
        try:
            limited = self.source(source).guide(self.limit)
            return limited if self.limits.keeps_limit else source.guide()
        except LimitTooSmall as error:
            if self.limit == self.limits.config.max_tokens:
                raise
            model = self.limits.model
            context = getattr(model, "context_length", None)
            raise LimitTooSmall(
                f"the context of {_name(model)}, {context} tokens, is too small: after a prompt of "
                f"{self.prompt_tokens} it leaves room for {self.limit}, and {_least(source)}",
                details=error.details,
                hint="Give a shorter prompt, or use a model with a longer context.",
            ) from None


def _least(source: GuideSource) -> str:
    least = source.guide().tokens_left()
    return f"the shortest match takes {least}" if least else "no match fits"


def _name(model: Model) -> str:
    return str(getattr(model, "name", "the model"))


@dataclass(frozen=True)
class Start:
    """The start of a text: prompt tokens, limit and guides."""

    prompt_ids: Sequence[int]
    limit: int  # the most tokens of the text
    guide: Guide
    clean: Guide | None  # through the texts without banned words, beside ``guide``
    healed: bytes = b""  # the end of the prompt that the guides lead through first


def start(limits: Limits, prompt_ids: Sequence[int], constraints: TextConstraints) -> Start:
    """Return the start after a whole prompt."""
    budget = limits.after_prompt(len(prompt_ids))
    is_free = constraints.guided is None and constraints.marker is None
    guide = UnconstrainedGuide(limits.vocabulary) if is_free else budget.guide(constraints.guided)
    clean = None if constraints.clean is None else budget.guide(constraints.clean)
    return Start(prompt_ids, budget.limit, guide, clean)


def _after(end_of_prompt: bytes, source: GuideSource, limit: int | None) -> SequenceGuide:
    """Return a guide through the end of a prompt that is written again, and then through a source."""
    return Chain([Fixed(end_of_prompt, counts=False), source]).guide(limit)


def healed(whole: Start, prompt: bytes, limits: Limits, constraints: TextConstraints) -> Start:
    """Return the start with the end of the prompt healed; ``whole`` where no token fits across that end."""
    for seam in seams(limits.vocabulary, whole.prompt_ids, prompt):
        # Each byte may be written by a token of its own.
        try:
            budget = limits.after_prompt(len(seam.prompt_ids) + len(seam.healed))
            behind = budget.source(constraints.guided)
            # Free text is cut by the loop.
            guide = _after(seam.healed, behind, None if constraints.guided is None else budget.limit)
            clean = constraints.clean
            beside = None if clean is None else _after(seam.healed, budget.source(clean), budget.limit)
            if (budget.limit or (budget.thought and not budget.thought.counts)) and guide.crosses:
                return Start(seam.prompt_ids, budget.limit, guide, beside, seam.healed)
        except (InputError, LimitTooSmall):  # the context is too small for it
            continue
    return whole
