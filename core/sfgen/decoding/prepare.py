"""From a configuration to the loop of one text.

The prompt is read as tokens and as bytes (``plain_forms``), the constraints are settled (``text_constraints``), then
the limits and guides (``start``), then the ban; ``loop_of`` puts them together. All errors that need no session are
raised here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sfgen.decoding.ban import Ban, BannedTokens, Bias, BiasedMatcher
from sfgen.decoding.config import GenerationConfig, by_config
from sfgen.decoding.detokenizer import StopStrings
from sfgen.decoding.exact import ExactLoop, ScoreStore
from sfgen.decoding.healing import end_of_text, is_healed
from sfgen.decoding.jump_forward import FastForward
from sfgen.decoding.loop import Loop
from sfgen.decoding.plain_forms import banned_of, has_temperatures, prompt_tokens, vocabulary_of, word_bias_of
from sfgen.decoding.rollback_decision import Resample, strategy
from sfgen.decoding.sampler import Sampler, check_tokens
from sfgen.decoding.sequence import Text
from sfgen.decoding.start import Limits, healed, start
from sfgen.decoding.text_constraints import TakesOut, TextConstraints, constraints_of_text
from sfgen.decoding.verify import Guarantees
from sfgen.errors import UsageError
from sfgen.index import Unconstrained
from sfgen.parameter_text import ParameterText
from sfgen.protocols import FindsTokens, Guide, Matcher, Model
from sfgen.vocabulary import Vocabulary


@by_config(GenerationConfig)
def prepare(model: Model, prompt: str | Sequence[int], config: GenerationConfig) -> Loop:
    """Make the loop of one text, for a driver to run.

    Args:
        model: As of ``stream``.
        prompt: As of ``stream``.
        config: As of ``stream``; its fields can be given by name, too.

    Returns:
        The loop; ``sfgen.decoding.drive_batch`` runs several at once.

    Raises:
        SfgenError: As ``stream``, for what it raises before there is a session.
    """
    return loop_of(model, prompt, config)


def loop_of(
    model: Model,
    prompt: str | Sequence[int],
    config: GenerationConfig,
    scores: ScoreStore | None = None,
    without: TakesOut | None = None,
) -> Loop:
    """Make the loop of one text; under ``exact``, ``scores`` are shared with other texts.

    ``without`` takes banned words out of constraints, where that was done before.
    """
    vocabulary, is_exact = vocabulary_of(model), config.strategy == "exact"
    prompt_ids = prompt_tokens(model, prompt)
    prompt_bytes = bytes_of(vocabulary, prompt, prompt_ids)
    constraints = constraints_of_text(model, config, prompt_bytes, without)
    sampler = config.sampler or Sampler()
    if has_temperatures(constraints.constraint):
        sampler = sampler.seeded()
    check_tokens(sampler, len(vocabulary))
    if is_exact and constraints.source is None and sampler.temperature == 0:
        raise UsageError(
            "the exact strategy needs a temperature above 0 for free text",
            hint=ParameterText(
                "At temperature 0 it finds the likeliest text of a constraint; of free text that is hardly ever more "
                "than its end. Raise temperature.",
                "temperature",
            ),
        )
    limits = Limits(model, config, constraints.marker, keeps_limit=not is_exact)
    begin = start(limits, prompt_ids, constraints)
    if is_healed(config.heal, prompt) and not is_exact:
        begin = healed(begin, (end_of_text(prompt) or "").encode("utf-8", "replace"), limits, constraints)
    jumps = config.fast_forward and not is_exact and (constraints.guided is not None or constraints.marker is not None)
    banned, stops = banned_of(config.banned), StopStrings.of(config.stop)
    judge = getattr(constraints.source, "constraint", None)
    divided = judge or constraints.source
    guarantees = Guarantees(
        constraints.source, banned, stops, prompt_bytes, model, sampler, begin.limit, constraints.marker
    )
    kind: Callable[..., Loop] = Loop
    if is_exact:
        scores = ScoreStore(config.max_memory) if scores is None else scores
        kind = partial(ExactLoop, max_passes=config.max_passes, scores=scores)
    return kind(
        Text(
            begin.prompt_ids,
            vocabulary,
            begin.guide,
            begin.limit,
            FastForward(constraints.spelled or Unconstrained(vocabulary), model) if jumps else None,
            _ban(config, sampler, vocabulary, prompt_bytes, constraints, begin.clean),
            stops,
            begin.healed,
            has_temperatures(constraints.constraint),
            constraints.marker,
            constraints.written,
            config.after_counts,
        ),
        sampler.start(),
        constrained=constraints.source is not None and constraints.calls is None,
        hold=config.hold,
        observe=config.observe,
        logprobs=config.logprobs,
        check=guarantees.check,
        banned_in=guarantees.banned_in,
        # HasValue, HasParser, HasGroups: to ask isinstance of a protocol is slow in Python 3.11.
        value=getattr(judge, "value", None),
        parser=getattr(judge, "parser", None),
        groups=getattr(divided, "groups", None),
        calls=constraints.values_of_calls,
    )


def _ban(
    config: GenerationConfig,
    sampler: Sampler,
    vocabulary: Vocabulary,
    prompt: bytes,
    constraints: TextConstraints,
    clean: Guide | None,
) -> Ban | None:
    """Make the ban over one text: of banned words, and of words with a bias."""
    banned, biases = banned_of(config.banned), word_bias_of(config.word_bias)
    if banned is None and biases is None:
        return None
    from sfgen.ban.completing_tokens import completing_tokens

    matcher: Matcher | None = None
    tokens: FindsTokens | None = None
    if banned is not None:
        of_text, tokens = banned.matcher(prompt), completing_tokens(banned.automata, vocabulary.trie)
        with_strings = constraints.watch_strings(of_text)
        matcher, tokens = (of_text, tokens) if with_strings is None else (with_strings, BannedTokens(tokens))
    if biases is not None:
        both, resample = BiasedMatcher(biases, prompt, matcher), Resample(sampler, config.max_block)
        bias = Bias(both, completing_tokens(biases.automata, vocabulary.trie), biases, resample)
        return Ban(both, resample, BannedTokens(tokens), clean, config.max_rollbacks, bias)
    assert matcher is not None, "something is banned"
    assert tokens is not None, "as well"
    # A search takes nothing back, and asks no strategy.
    how = strategy("mask" if config.strategy == "exact" else config.strategy, sampler, config.max_block)
    return Ban(matcher, how, tokens, clean, config.max_rollbacks)


def bytes_of(vocabulary: Vocabulary, prompt: str | Sequence[int], prompt_ids: Sequence[int]) -> bytes:
    """Return the text of a prompt as UTF-8."""
    if isinstance(prompt, str):
        return prompt.encode("utf-8", "replace")
    from sfgen.ban.seam import read_prompt

    return read_prompt(vocabulary, prompt_ids)
