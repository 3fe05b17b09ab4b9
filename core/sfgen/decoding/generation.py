"""Drivers: run the loop for one text against one session."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.decoding.ban import Ban
from sfgen.decoding.events import Ask, AskAgain, Event, Finished, Result
from sfgen.decoding.fast_forward import Forward
from sfgen.decoding.loop import Loop, Steps
from sfgen.decoding.plain_forms import banned_of, constraint_of, index_of, model_of
from sfgen.decoding.sampler import Sampler
from sfgen.decoding.sequence import Text
from sfgen.decoding.stops import StopStrings
from sfgen.decoding.strategies import MAX_BLOCK, StrategyName
from sfgen.decoding.strategies import strategy as make_strategy
from sfgen.decoding.verify import Promises
from sfgen.errors import InputError, InternalError, LimitTooSmall, UsageError
from sfgen.protocols import Guide, GuideSource, Model, ScoresRows, Session

if TYPE_CHECKING:
    from sfgen.automata import Dfa
    from sfgen.ban import BannedWords
    from sfgen.index import Index


def stream(
    model: Model | str | Path,
    prompt: str | Sequence[int] = "",
    *,
    index: GuideSource | Dfa | str | None = None,
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
        index: What the text must match: an ``Index``, or another engine (``sfgen.reference``), or a pattern or a
            ``Dfa``, which becomes an ``Index`` over the model's vocabulary; free text without.
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
            are read together with the next question. Without it, or beside another engine than an ``Index``, the model
            chooses among all spellings of such text, token by token.
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
            string is empty, there are stop strings beside an index, words are banned beside an engine without an
            automaton, or no strategy has that name.
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
    return drive(loop.run(), model.session)


def prepare(
    model: Model | str | Path,
    prompt: str | Sequence[int] = "",
    *,
    index: GuideSource | Dfa | str | None = None,
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
) -> Loop:
    """The loop of one text, for a driver to run; arguments and errors are those of ``stream``."""
    model, banned, stops = model_of(model), banned_of(banned), StopStrings.of(stop)
    index = constraint_of(index, model.vocabulary)
    sampler = Sampler() if sampler is None else arguments.instance("sampler", sampler, Sampler)
    chosen = make_strategy(strategy, sampler, max_block)
    max_tokens = arguments.whole_number("max_tokens", max_tokens, least=0)
    max_rollbacks = arguments.whole_number("max_rollbacks", max_rollbacks, least=0)
    for name, value in (("fast_forward", fast_forward), ("hold", hold), ("look", look)):
        arguments.flag(name, value)
    if index is not None and stops.strings:
        raise UsageError("stop strings are for text without a pattern: a pattern already says where to end")
    if index is not None and index.vocabulary.fingerprint != model.vocabulary.fingerprint:
        raise UsageError("the index was made for another vocabulary than the model's")
    prompt_ids, prompt_bytes = _encoded(model, prompt)
    guide, max_tokens = _guide(model, len(prompt_ids), index, max_tokens)
    ban = None
    if banned is not None:
        from sfgen.ban.completing_tokens import completing
        from sfgen.ban.half_character import dead_tokens, is_dead

        clean = None if index is None else _clean_index(index, banned, prompt_bytes)
        matcher = banned.matcher(prompt_bytes)
        ban = Ban(
            matcher,
            chosen,
            partial(completing, matcher, model.vocabulary.trie),
            partial(is_dead, matcher),
            partial(dead_tokens, matcher, model.vocabulary),
            max_rollbacks=max_rollbacks,
        )
        if clean is not None:
            clean_guide, _ = _guide(model, len(prompt_ids), clean, max_tokens)
            if chosen.is_silent:
                guide = clean_guide
            else:
                ban.clean = clean_guide
    forward = _forward(guide, model) if fast_forward else None
    return Loop(
        Text(prompt_ids, model.vocabulary, guide, max_tokens, forward, ban, stops),
        sampler.start(),
        constrained=index is not None,
        hold=hold,
        look=look,
        check=Promises(index, banned, stops, prompt_bytes, model, sampler, max_tokens).check,
    )


def _forward(guide: Guide, model: Model) -> Forward | None:
    """What tells the text that must follow, beside a guide that can."""
    from sfgen.index import Guide as IndexGuide

    return Forward(guide.index, model) if isinstance(guide, IndexGuide) else None


def generate(
    model: Model | str | Path,
    prompt: str | Sequence[int] = "",
    *,
    index: GuideSource | Dfa | str | None = None,
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


def drive(steps: Steps, new_session: Callable[[], Session]) -> Generator[Event, None, Result]:
    """Answer the loop's questions from one session, and pass its events on.

    The session is opened at the first question, so that a text that needs none costs no model.
    """
    session: Session | None = None
    narrow: ScoresRows | None = None
    answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        answer = None
        if isinstance(step, Ask):
            if session is None:
                session = new_session()
                narrow = session if isinstance(session, ScoresRows) else None
            if step.keep is not None:
                session.rewind(step.keep)
            if step.rows is None or narrow is None:
                answer = session.extend(step.token_ids)
            else:
                answer = narrow.extend_rows(step.token_ids, step.rows)
        elif isinstance(step, AskAgain):
            answer = narrow.score_again(step.rows) if narrow is not None else None
        else:
            yield step


def _encoded(model: Model, prompt: str | Sequence[int]) -> tuple[Sequence[int], bytes]:
    """The tokens of a prompt, and its bytes."""
    if isinstance(prompt, str):
        return model.encode(prompt), prompt.encode("utf-8", "replace")
    prompt_ids, vocabulary = arguments.token_ids("prompt", prompt, "a text or a list of token ids"), model.vocabulary
    unknown = [token for token in prompt_ids if not 0 <= token < len(vocabulary)]
    if unknown:
        raise UsageError(f"the prompt has token {unknown[0]}, but the vocabulary has only {len(vocabulary)} tokens")
    from sfgen.ban.seam import read_prompt

    return prompt_ids, read_prompt(vocabulary, prompt_ids)


def _clean_index(index: GuideSource, banned: BannedWords, prompt: bytes) -> Index | None:
    """The index of the matches that have no banned word; ``None`` if its automaton would be too large."""
    from sfgen.ban.difference import without
    from sfgen.index import Index

    if not isinstance(index, Index):
        raise UsageError(
            "words can be banned beside an Index only: the matches without them are found in its automaton",
            hint="Use the default engine, an sfgen.Index, or ban nothing.",
        )
    dfa = without(index.dfa, banned, prompt)
    return None if dfa is None else index_of(dfa, index.vocabulary)


def _guide(model: Model, prompt_tokens: int, index: GuideSource | None, max_tokens: int) -> tuple[Guide, int]:
    """The guide, and the limit that the model's context leaves of ``max_tokens``."""
    from sfgen.index import FreeGuide, Index

    context: int | None = getattr(model, "context_length", None)
    name = getattr(model, "name", "the model")
    limit = max_tokens
    if context is not None:
        if prompt_tokens > context:
            raise InputError(
                f"the prompt is longer than {name} can read: {prompt_tokens} tokens, its context holds {context}",
                hint="Give a shorter prompt, or use a model with a longer context.",
            )
        limit = min(max_tokens, context - prompt_tokens + 1)  # the last token need not be read
    if index is None:
        return FreeGuide(model.vocabulary), limit
    try:
        return index.guide(limit), limit
    except LimitTooSmall as error:
        if limit == max_tokens:
            raise
        least = (
            f"the shortest match takes {len(index.shortest_tokens())}" if isinstance(index, Index) else "no match fits"
        )
        raise LimitTooSmall(
            f"the context of {name}, {context} tokens, is too small: after a prompt of {prompt_tokens} it leaves room "
            f"for {limit}, and {least}",
            details=error.details,
            hint="Give a shorter prompt, or use a model with a longer context.",
        ) from None
