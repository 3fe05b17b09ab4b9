"""The loop of one text: made from a model, a prompt and a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.decoding.ban import Ban
from sfgen.decoding.by_config import by_config
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.exact.loop import ExactLoop
from sfgen.decoding.exact.scores import ScoreStore
from sfgen.decoding.fast_forward import FastForward
from sfgen.decoding.loop import Loop
from sfgen.decoding.plain_forms import banned_of, source_of, vocabulary_of
from sfgen.decoding.sampler import Sampler
from sfgen.decoding.sequence import Text
from sfgen.decoding.stops import StopStrings
from sfgen.decoding.strategies import strategy
from sfgen.decoding.verify import Promises
from sfgen.errors import InputError, LimitTooSmall, UsageError
from sfgen.index import UnconstrainedGuide
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Guide, GuideSource, HasParser, HasValue, Model
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords


@by_config(GenerationConfig)
def prepare(model: Model, prompt: str | Sequence[int], config: GenerationConfig) -> Loop:
    """Make the loop of one text, for a driver to run; arguments and errors are those of ``stream``."""
    vocabulary = vocabulary_of(model)
    source = source_of(config.index, vocabulary)
    if source is not None and source.vocabulary.fingerprint != vocabulary.fingerprint:
        raise UsageError("the index was made for another vocabulary than the model's")
    prompt_ids, prompt_bytes = _encoded(model, vocabulary, prompt)
    is_exact = config.strategy == "exact"
    budget = _TokenBudget(model, len(prompt_ids), config.max_tokens, keeps_limit=not is_exact)
    guide: Guide = UnconstrainedGuide(vocabulary) if source is None else budget.guide(source)  # the loop cuts free text
    sampler, banned, stops = config.sampler or Sampler(), banned_of(config.banned), StopStrings.of(config.stop)
    if is_exact and source is None and sampler.temperature == 0:
        raise UsageError(
            "the exact strategy needs a temperature above 0 for free text",
            hint=ParameterText(
                "At temperature 0 it finds the likeliest text of a constraint; of free text that is hardly ever more "
                "than its end. Raise temperature.",
                "temperature",
            ),
        )
    ban, spelled = None, source
    if banned is not None:
        from sfgen.ban.difference import without_banned

        ban = _ban(config, banned, sampler, vocabulary, prompt_bytes)
        clean = None if source is None else without_banned(source, banned, prompt_bytes)
        if clean is not None and ban.strategy.is_silent and not is_exact:
            spelled, guide = clean, budget.guide(clean)
        elif clean is not None:
            ban.clean = budget.guide(clean)
    constraint = getattr(source, "constraint", None)
    forward = FastForward(spelled, model) if config.fast_forward and spelled is not None and not is_exact else None
    kind: Callable[..., Loop] = Loop
    if is_exact:
        kind = partial(ExactLoop, max_passes=config.max_passes, scores=ScoreStore(config.max_memory))
    return kind(
        Text(prompt_ids, vocabulary, guide, budget.limit, forward, ban, stops),
        sampler.start(),
        constrained=source is not None,
        hold=config.hold,
        observe=config.observe,
        logprobs=config.logprobs,
        check=Promises(source, banned, stops, prompt_bytes, model, sampler, budget.limit).check,
        value=constraint.value if isinstance(constraint, HasValue) else None,
        parser=constraint.parser if isinstance(constraint, HasParser) else None,
    )


def _ban(config: GenerationConfig, banned: BannedWords, sampler: Sampler, vocabulary: Vocabulary, prompt: bytes) -> Ban:
    """What watches over one text for banned words."""
    from sfgen.ban.completing_tokens import completing_tokens

    return Ban(
        banned.matcher(prompt),
        # A search takes nothing back, and asks no strategy.
        strategy("mask" if config.strategy == "exact" else config.strategy, sampler, config.max_block),
        completing_tokens(banned.automata, vocabulary.trie),
        max_rollbacks=config.max_rollbacks,
    )


def _encoded(model: Model, vocabulary: Vocabulary, prompt: str | Sequence[int]) -> tuple[Sequence[int], bytes]:
    """The tokens of a prompt, and its bytes."""
    if isinstance(prompt, str):
        return model.encode(prompt), prompt.encode("utf-8", "replace")
    prompt_ids = arguments.token_ids("prompt", prompt, "a text or a list of token ids")
    unknown = [token for token in prompt_ids if not 0 <= token < len(vocabulary)]
    if unknown:
        raise UsageError(f"the prompt has token {unknown[0]}, but the vocabulary has only {len(vocabulary)} tokens")
    from sfgen.ban.seam import read_prompt

    return prompt_ids, read_prompt(vocabulary, prompt_ids)


@dataclass(frozen=True)
class _TokenBudget:
    """How many tokens a text may have: ``max_tokens``, or what the model's context leaves after the prompt.

    Attributes:
        keeps_limit: Whether guides keep the limit; if not, it is only looked whether any text fits.
    """

    model: Model
    prompt_tokens: int
    max_tokens: int
    keeps_limit: bool = True

    @cached_property
    def limit(self) -> int:
        """The most tokens.

        Raises:
            InputError: The prompt alone is longer than the context.
        """
        context: int | None = getattr(self.model, "context_length", None)
        if context is None:
            return self.max_tokens
        if self.prompt_tokens > context:
            raise InputError(
                f"the prompt is longer than {_name(self.model)} can read: {self.prompt_tokens} tokens, its context "
                f"holds {context}",
                hint="Give a shorter prompt, or use a model with a longer context.",
            )
        return min(self.max_tokens, context - self.prompt_tokens + 1)  # the last token need not be read

    def guide(self, source: GuideSource) -> Guide:
        """A guide within the limit, or without one if guides do not keep it.

        Raises:
            LimitTooSmall: No text of the source fits.
        """
        try:
            limited = source.guide(self.limit)
            return limited if self.keeps_limit else source.guide()
        except LimitTooSmall as error:
            if self.limit == self.max_tokens:
                raise
            context = getattr(self.model, "context_length", None)
            raise LimitTooSmall(
                f"the context of {_name(self.model)}, {context} tokens, is too small: after a prompt of "
                f"{self.prompt_tokens} it leaves room for {self.limit}, and {_least(source)}",
                details=error.details,
                hint="Give a shorter prompt, or use a model with a longer context.",
            ) from None


def _least(source: GuideSource) -> str:
    least = source.guide().tokens_left()
    return f"the shortest match takes {least}" if least else "no match fits"


def _name(model: Model) -> str:
    return str(getattr(model, "name", "the model"))
