"""The loop of one text: made from a model, a prompt and a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.decoding.ban import Ban
from sfgen.decoding.by_config import by_config
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.exact.loop import ExactLoop
from sfgen.decoding.exact.scores import ScoreStore
from sfgen.decoding.fast_forward import FastForward
from sfgen.decoding.healing import is_healed, seams
from sfgen.decoding.limits import Limits
from sfgen.decoding.loop import Loop
from sfgen.decoding.plain_forms import banned_of, has_temperatures, source_of, vocabulary_of
from sfgen.decoding.sampler import Sampler
from sfgen.decoding.sequence import Text
from sfgen.decoding.stops import StopStrings
from sfgen.decoding.strategies import strategy
from sfgen.decoding.thought import marker_of
from sfgen.decoding.verify import Promises
from sfgen.errors import InputError, LimitTooSmall, UsageError
from sfgen.index import Unconstrained, UnconstrainedGuide
from sfgen.index.calls import Calls
from sfgen.index.literal_guide import LiteralGuide
from sfgen.index.marker import Marker
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Guide, GuideSource, HasGroups, HasParser, HasValue, Model
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
    heals = is_healed(config.heal, prompt) and not is_exact
    sampler, banned, stops = config.sampler or Sampler(), banned_of(config.banned), StopStrings.of(config.stop)
    is_mixed = has_temperatures(source)
    if is_mixed:
        sampler = sampler.seeded()
    if is_exact and is_mixed:
        raise UsageError(
            "the exact strategy draws a whole text at one temperature, and parts of it have their own",
            hint=ParameterText("Leave the temperatures of the parts out, or take another strategy.", "strategy"),
        )
    marker = None if config.after is None else marker_of(model, vocabulary, config.after, banned)
    inner, calls = source, None
    if config.when is not None:
        if source is None:
            raise UsageError(
                ParameterText("when needs a constraint: what comes behind it", "when"),
                hint=ParameterText("Leave when out, or give an index.", "when"),
            )
        if is_mixed:
            raise UsageError(
                ParameterText("when and parts with temperatures of their own cannot be used together", "when"),
                hint="Leave the temperatures of the parts out.",
            )
        calls = _calls(model, config.when, source, banned)
        source = calls
    limits = Limits(model, config, marker, keeps_limit=not is_exact)
    budget = limits.behind(len(prompt_ids))
    guide: Guide = budget.guide(source) if source is not None or marker is not None else UnconstrainedGuide(vocabulary)
    if is_exact and source is None and sampler.temperature == 0:
        raise UsageError(
            "the exact strategy needs a temperature above 0 for free text",
            hint=ParameterText(
                "At temperature 0 it finds the likeliest text of a constraint; of free text that is hardly ever more "
                "than its end. Raise temperature.",
                "temperature",
            ),
        )
    ban, spelled, clean = None, source, None
    if banned is not None:
        from sfgen.ban.difference import without_banned

        ban = _ban(config, banned, sampler, vocabulary, prompt_bytes)
        before = prompt_bytes if marker is None else marker.data
        clean = None if source is None or calls is not None else without_banned(source, banned, before)
        if clean is not None and ban.strategy.is_silent and not is_exact:
            spelled, guide, clean = clean, budget.guide(clean), None
    start = _Start(prompt_ids, budget.limit, guide, None if clean is None else budget.guide(clean))
    if heals:
        start = _healed(start, prompt_bytes, limits, spelled, clean)
    if ban is not None:
        ban.clean = start.clean
    constraint = getattr(source, "constraint", None)
    jumps = config.fast_forward and not is_exact and (spelled is not None or marker is not None)
    spelled = spelled if calls is None else calls.source
    forward = FastForward(spelled or Unconstrained(vocabulary), model) if jumps else None
    kind: Callable[..., Loop] = Loop
    if is_exact:
        kind = partial(ExactLoop, max_passes=config.max_passes, scores=ScoreStore(config.max_memory))
    return kind(
        Text(
            start.prompt_ids,
            vocabulary,
            start.guide,
            start.limit,
            forward,
            ban,
            stops,
            start.healed,
            is_mixed,
            marker,
            _written(marker, calls),
        ),
        sampler.start(),
        constrained=source is not None and calls is None,
        hold=config.hold,
        observe=config.observe,
        logprobs=config.logprobs,
        check=Promises(source, banned, stops, prompt_bytes, model, sampler, start.limit, marker).check,
        value=constraint.value if isinstance(constraint, HasValue) else None,
        parser=constraint.parser if isinstance(constraint, HasParser) else None,
        groups=divided.groups if isinstance(divided := constraint or source, HasGroups) else None,
        calls=None if calls is None else partial(_values_of, calls, inner),
    )


def _calls(model: Model, when: str, source: GuideSource, banned: BannedWords | None) -> Calls:
    """Free text with calls in it, which have no banned word.

    Raises:
        UsageError: The banned words cannot be taken out of the calls; or as ``marker_of``.
        BannedWordsError: Every call has a banned word; or as ``marker_of``.
    """
    marker = marker_of(model, vocabulary_of(model), when, banned, name="when")
    if banned is None:
        return Calls(marker, source)
    from sfgen.ban.difference import without_banned

    clean = without_banned(source, banned, marker.data)
    if clean is None:
        raise UsageError(
            ParameterText("banned words cannot be taken out of the calls that when asks for", "when"),
            hint=ParameterText("Leave when out, or ban nothing.", "when"),
        )
    return Calls(marker, clean)


def _written(marker: Marker | None, calls: Calls | None) -> dict[int, bytes]:
    """What the special tokens write that are markers."""
    markers = [each for each in (marker, calls.marker if calls is not None else None) if each is not None]
    return {each.token: each.data for each in markers if each.token is not None}


def _values_of(calls: Calls, source: GuideSource | None, data: bytes) -> tuple[Any, ...]:
    """What the calls of a finished text stand for: values where the constraint knows them, else texts."""
    constraint = getattr(source, "constraint", None)
    texts = [data[start:end] for start, end in calls.spans(data)]
    if isinstance(constraint, HasValue):
        return tuple(constraint.value(text) for text in texts)
    return tuple(text.decode("utf-8", "replace") for text in texts)


@dataclass(frozen=True)
class _Start:
    """Where a text begins.

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


def _healed(
    start: _Start, prompt: bytes, limits: Limits, source: GuideSource | None, clean: GuideSource | None
) -> _Start:
    """The start with the end of the prompt taken back; as it is where no token may reach across, or there is no room.

    Args:
        start: The start without.
        prompt: The bytes of the prompt.
        limits: How many tokens the text may have.
        source: Where its guide comes from; ``None``: free text.
        clean: The same of the other one.
    """
    for seam in seams(limits.vocabulary, start.prompt_ids, prompt):
        # Each byte may be written by a token of its own.
        try:
            budget = limits.behind(len(seam.prompt_ids) + len(seam.healed))
            behind = budget.source(source)
            # Free text is cut by the loop.
            guide = LiteralGuide(seam.healed, behind, None if source is None else budget.limit)
            beside = None if clean is None else LiteralGuide(seam.healed, budget.source(clean), budget.limit)
            if (budget.limit or budget.thought) and guide.crosses:
                return _Start(seam.prompt_ids, budget.limit, guide, beside, seam.healed)
        except (InputError, LimitTooSmall):  # the context is too small for it
            continue
    return start


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
