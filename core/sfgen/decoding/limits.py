"""How many tokens a text may have: by its limit, the context of the model, and the thought before it."""

from __future__ import annotations

from dataclasses import dataclass

from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.decoding.thought import ThoughtBefore
from sfgen.errors import InputError, LimitTooSmall
from sfgen.index import Unconstrained
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
        """Return the token budget after a prompt.

        Args:
            prompt_tokens: The number of its tokens.

        Raises:
            InputError: The prompt alone is longer than the context.
            LimitTooSmall: The context has no room for what ends the thought.
        """
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
        """Return a guide within the limit, if guides keep it.

        Raises:
            LimitTooSmall: No text of the source fits.
        """
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
