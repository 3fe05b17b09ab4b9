"""Generate a text: from what a user gives to the loop of one text, and its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.decoding.ban import Ban
from sfgen.decoding.batch import drive
from sfgen.decoding.events import Event, Finished, Result
from sfgen.decoding.fast_forward import FastForward
from sfgen.decoding.loop import Loop
from sfgen.decoding.plain_forms import banned_of, model_of, source_of, vocabulary_of
from sfgen.decoding.sampler import Sampler
from sfgen.decoding.sequence import Text
from sfgen.decoding.stops import StopStrings
from sfgen.decoding.strategies import MAX_BLOCK, StrategyName
from sfgen.decoding.strategies import strategy as make_strategy
from sfgen.decoding.verify import Promises
from sfgen.errors import InputError, InternalError, LimitTooSmall, UsageError
from sfgen.index import UnconstrainedGuide
from sfgen.protocols import Constraint, Guide, GuideSource, HasParser, HasValue, Model, Scores
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords


def stream(
    model: Model | str | Path,
    prompt: str | Sequence[int] = "",
    *,
    index: GuideSource | Constraint | str | None = None,
    banned: BannedWords | Iterable[str] | None = None,
    sampler: Sampler | None = None,
    stop: str | Iterable[str] = (),
    max_tokens: int = 256,
    strategy: StrategyName = "resample",
    max_rollbacks: int = 10_000,
    max_block: int = MAX_BLOCK,
    fast_forward: bool = True,
    hold: bool = False,
    look: bool = False,
) -> Iterator[Event]:
    """Generate one text, event by event.

    Args:
        model: Anything with ``vocabulary``, ``encode(text)`` and ``session()``. If it has a ``context_length``, that
            bounds the prompt and ``max_tokens``. Or the name of one, which ``load_model`` loads at each call anew.
        prompt: Text, or the ids of its tokens.
        index: What the text must match: an ``Index``, or another source of guides (``sfgen.index.Chain``, an engine of
            ``sfgen.reference``), or a constraint (a pattern, a ``Dfa``), which becomes an ``Index`` over the model's
            vocabulary; free text without.
        banned: Words that the text must not contain, read by itself and read after the prompt: a ``BannedWords``, or a
            list of words.
        sampler: How tokens are chosen; greedy without.
        stop: The text ends before the first of these that would be in it, or before this one text; see
            ``sfgen.decoding.stops``. Not with an index.
        max_tokens: The most tokens to generate; the end token does not count.
        strategy: How to go on after a banned word: ``"resample"``, ``"first-token"`` or ``"mask"``; see
            ``sfgen.decoding.strategies``.
        max_rollbacks: After so many rollbacks generation fails.
        max_block: Under ``resample``, the tokens that are drawn again as one; what is longer is no exact draw.
        fast_forward: Text that must follow is not asked for: its tokens are those that the tokenizer would write, and
            are read together with the next question. Without it the model chooses among all spellings of such text,
            token by token.
        hold: Release no text before the end, so that a rollback may go back as far as it takes. Without it, text that
            was released stays, and if nothing clean can follow it, that is an error.
        look: Somebody looks on: the ``TokenChosen`` events tell what the model found likely and what the ban has under
            way, which takes a look at all scores of every step. The text is the same as without.

    Yields:
        Events; the last is ``Finished`` with the result. The texts of the ``TextReleased`` events, joined, are the
        result's text, and nothing in them is ever taken back.

    Raises:
        InputError: The prompt is longer than the model's context.
        LimitTooSmall: ``max_tokens``, or what the context leaves, is below what the shortest match needs.
        UsageError: An argument of another kind, or out of its range; the index belongs to another vocabulary, a stop
            string is empty, there are stop strings beside an index, or no strategy has that name.
        SfgenError: As ``load_model``, ``Dfa.from_regex``, ``Index`` and ``BannedWords`` for what is given in a plain
            form.
        BannedWordsError: Every match of the index has a banned word. All of these are raised by the call itself, before
            there is a session.
        DeadEnd: Nothing that is allowed can follow.
        GenerationError: More rollbacks than ``max_rollbacks``; or, with an engine that does not look ahead,
            ``max_tokens`` is reached before the text is a match.
        ModelError: The model's scores cannot be used.
        InternalError: The finished text does not keep a promise: a fault of sfgen. There is no result then, but the
            ``TextReleased`` events of a stream were before it.
    """
    model = model_of(model)
    loop = prepare(
        model,
        prompt,
        index=index,
        banned=banned,
        sampler=sampler,
        stop=stop,
        max_tokens=max_tokens,
        strategy=strategy,
        max_rollbacks=max_rollbacks,
        max_block=max_block,
        fast_forward=fast_forward,
        hold=hold,
        look=look,
    )
    return drive(loop, model)


def prepare(
    model: Model | str | Path,
    prompt: str | Sequence[int] = "",
    *,
    index: GuideSource | Constraint | str | None = None,
    banned: BannedWords | Iterable[str] | None = None,
    sampler: Sampler | None = None,
    stop: str | Iterable[str] = (),
    max_tokens: int = 256,
    strategy: StrategyName = "resample",
    max_rollbacks: int = 10_000,
    max_block: int = MAX_BLOCK,
    fast_forward: bool = True,
    hold: bool = False,
    look: bool = False,
    observe_scores: Callable[[int, Scores], None] | None = None,
) -> Loop:
    """The loop of one text, for a driver to run; arguments and errors are those of ``stream``.

    Args:
        observe_scores: Called with the index of each token of the text, forced ones too, and the model's scores of all
            tokens there, unmasked, float ``[len(vocabulary)]``. Of several calls for an index the last one counts:
            tokens may be taken back.
    """
    model, banned, stops = model_of(model), banned_of(banned), StopStrings.of(stop)
    vocabulary = vocabulary_of(model)
    source = source_of(index, vocabulary)
    sampler = Sampler() if sampler is None else arguments.instance("sampler", sampler, Sampler)
    chosen = make_strategy(strategy, sampler, max_block)
    max_tokens = arguments.whole_number("max_tokens", max_tokens, least=0)
    max_rollbacks = arguments.whole_number("max_rollbacks", max_rollbacks, least=0)
    if observe_scores is not None:
        arguments.function("observe_scores", observe_scores)
    for name, value in (("fast_forward", fast_forward), ("hold", hold), ("look", look)):
        arguments.flag(name, value)
    if source is not None and stops.strings:
        raise UsageError("stop strings are for text without a pattern: a pattern already says where to end")
    if source is not None and source.vocabulary.fingerprint != vocabulary.fingerprint:
        raise UsageError("the index was made for another vocabulary than the model's")
    prompt_ids, prompt_bytes = _encoded(model, vocabulary, prompt)
    limit = _limit(model, len(prompt_ids), max_tokens)
    if source is None:
        guide: Guide = UnconstrainedGuide(vocabulary)  # the loop cuts free text
    else:
        guide = _guide(model, len(prompt_ids), source, limit, max_tokens)
    ban, source_of_guide = None, source
    if banned is not None:
        from sfgen.ban.completing_tokens import completing_tokens
        from sfgen.ban.difference import without_banned

        matcher = banned.matcher(prompt_bytes)
        ban = Ban(
            matcher,
            chosen,
            completing_tokens(banned.automata, vocabulary.trie),
            max_rollbacks=max_rollbacks,
        )
        clean = None if source is None else without_banned(source, banned, prompt_bytes)
        if clean is not None:
            clean_guide = _guide(model, len(prompt_ids), clean, limit, max_tokens)
            if chosen.is_silent:
                source_of_guide, guide = clean, clean_guide
            else:
                ban.clean = clean_guide
    constraint = getattr(source, "constraint", None)
    forward = FastForward(source_of_guide, model) if fast_forward and source_of_guide is not None else None
    return Loop(
        Text(prompt_ids, vocabulary, guide, limit, forward, ban, stops),
        sampler.start(),
        constrained=source is not None,
        hold=hold,
        look=look,
        check=Promises(source, banned, stops, prompt_bytes, model, sampler, limit).check,
        observe_scores=observe_scores,
        value=constraint.value if isinstance(constraint, HasValue) else None,
        parser=constraint.parser if isinstance(constraint, HasParser) else None,
    )


def generate(
    model: Model | str | Path,
    prompt: str | Sequence[int] = "",
    *,
    index: GuideSource | Constraint | str | None = None,
    banned: BannedWords | Iterable[str] | None = None,
    sampler: Sampler | None = None,
    stop: str | Iterable[str] = (),
    max_tokens: int = 256,
    strategy: StrategyName = "resample",
    max_rollbacks: int = 10_000,
    max_block: int = MAX_BLOCK,
    fast_forward: bool = True,
) -> Result:
    """Generate one text; arguments and errors are those of ``stream`` with ``hold``."""
    for event in stream(
        model,
        prompt,
        index=index,
        banned=banned,
        sampler=sampler,
        stop=stop,
        max_tokens=max_tokens,
        strategy=strategy,
        max_rollbacks=max_rollbacks,
        max_block=max_block,
        fast_forward=fast_forward,
        hold=True,
    ):
        if isinstance(event, Finished):
            return event.result
    raise InternalError("generation ended without a result")


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


def _limit(model: Model, prompt_tokens: int, max_tokens: int) -> int:
    """The limit that the model's context leaves of ``max_tokens``."""
    context: int | None = getattr(model, "context_length", None)
    if context is None:
        return max_tokens
    if prompt_tokens > context:
        raise InputError(
            f"the prompt is longer than {_name(model)} can read: {prompt_tokens} tokens, its context holds {context}",
            hint="Give a shorter prompt, or use a model with a longer context.",
        )
    return min(max_tokens, context - prompt_tokens + 1)  # the last token need not be read


def _guide(model: Model, prompt_tokens: int, source: GuideSource, limit: int, max_tokens: int) -> Guide:
    """A guide within the limit that is left of ``max_tokens``."""
    try:
        return source.guide(limit)
    except LimitTooSmall as error:
        if limit == max_tokens:
            raise
        raise LimitTooSmall(
            f"the context of {_name(model)}, {getattr(model, 'context_length', None)} tokens, is too small: after a "
            f"prompt of {prompt_tokens} it leaves room for {limit}, and {_least(source)}",
            details=error.details,
            hint="Give a shorter prompt, or use a model with a longer context.",
        ) from None


def _least(source: GuideSource) -> str:
    least = source.guide().tokens_left()
    return f"the shortest match takes {least}" if least else "no match fits"


def _name(model: Model) -> str:
    return str(getattr(model, "name", "the model"))
