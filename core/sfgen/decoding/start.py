"""Where a text begins: what the model reads before it, and the guides that lead on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfgen.decoding.allowed import Allowed, ThoughtBefore
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.healing import seams
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.errors import InputError, LimitTooSmall
from sfgen.index import Unconstrained, UnconstrainedGuide
from sfgen.index.literal_guide import LiteralGuide
from sfgen.index.marker import Marker
from sfgen.protocols import Guide, GuideSource, Model
from sfgen.vocabulary import Vocabulary


@dataclass(frozen=True)
class Limits:
    """The bounds on the tokens of a text.

    Attributes:
        model: The model, whose context is one of them.
        config: How the text is generated.
        marker: What ends the thought before the text; ``None``: there is none.
        keeps_limit: Whether guides keep the limit; if not, it is only checked whether any text fits.
    """

    model: Model
    config: GenerationConfig
    marker: Marker | None = None
    keeps_limit: bool = True

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return vocabulary_of(self.model)

    def behind(self, prompt_tokens: int) -> TokenBudget:
        """Return the token budget after a prompt."""
        room = self._room(prompt_tokens)
        if self.marker is not None:
            after, most = self.config.after_tokens, self.config.max_tokens
            thought = ThoughtBefore.within(room, self.marker, after, most)
            return TokenBudget(self, prompt_tokens, thought.max_tokens, thought)
        limit = self.config.max_tokens if room is None else min(self.config.max_tokens, room)
        return TokenBudget(self, prompt_tokens, limit)

    def _room(self, prompt_tokens: int) -> int | None:
        """How many tokens the context leaves; ``None``: any number."""
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
    """The token budget of a text after a prompt.

    Attributes:
        limits: Where it comes from.
        prompt_tokens: The tokens of the prompt.
        limit: The most tokens of the text.
        thought: What comes before it; ``None``: nothing.
    """

    limits: Limits
    prompt_tokens: int
    limit: int
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
    """The start of a text: prompt tokens, limit and guides.

    Attributes:
        prompt_ids: The tokens that the model reads before it.
        limit: The most tokens that it may have.
        guide: What may follow.
        clean: What may follow without banned words, where another guide walks beside it.
        healed: The end of the prompt that the guides lead through first.
    """

    prompt_ids: Sequence[int]
    limit: int
    guide: Guide
    clean: Guide | None
    healed: bytes = b""


def start(limits: Limits, prompt_ids: Sequence[int], allowed: Allowed) -> Start:
    """Return the start after a whole prompt."""
    budget = limits.behind(len(prompt_ids))
    is_free = allowed.guided is None and allowed.marker is None
    guide = UnconstrainedGuide(limits.vocabulary) if is_free else budget.guide(allowed.guided)
    return Start(prompt_ids, budget.limit, guide, None if allowed.clean is None else budget.guide(allowed.clean))


def healed(whole: Start, prompt: bytes, limits: Limits, allowed: Allowed) -> Start:
    """Return the start with the end of the prompt healed.

    It is the start without where no token may reach across, or there is no room.
    """
    for seam in seams(limits.vocabulary, whole.prompt_ids, prompt):
        # Each byte may be written by a token of its own.
        try:
            budget = limits.behind(len(seam.prompt_ids) + len(seam.healed))
            behind = budget.source(allowed.guided)
            # Free text is cut by the loop.
            guide = LiteralGuide(seam.healed, behind, None if allowed.guided is None else budget.limit)
            clean = allowed.clean
            beside = None if clean is None else LiteralGuide(seam.healed, budget.source(clean), budget.limit)
            if (budget.limit or budget.thought) and guide.crosses:
                return Start(seam.prompt_ids, budget.limit, guide, beside, seam.healed)
        except (InputError, LimitTooSmall):  # the context is too small for it
            continue
    return whole
