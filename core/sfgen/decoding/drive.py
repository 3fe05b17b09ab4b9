"""Drivers: run the loop for one text against one session."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from sfgen.decoding.events import Ask, Event, Finished, Result
from sfgen.decoding.loop import Loop, Steps
from sfgen.decoding.promises import Promises
from sfgen.decoding.protocols import Guide, Model, Session
from sfgen.decoding.sampler import Sampler
from sfgen.decoding.stops import StopStrings
from sfgen.errors import InputError, InternalError, LimitTooSmall, UsageError

if TYPE_CHECKING:
    from sfgen.ban import BannedWords
    from sfgen.index import Index


def stream(
    model: Model,
    prompt: str | Sequence[int] = "",
    *,
    index: Index | None = None,
    banned: BannedWords | None = None,
    sampler: Sampler | None = None,
    stop: Sequence[str] = (),
    max_tokens: int = 256,
    max_rollbacks: int = 10_000,
) -> Iterator[Event]:
    """Generate one text, event by event.

    Args:
        model: Anything with ``vocabulary``, ``encode(text)`` and ``session()``. If it has a ``context_length``, that
            bounds the prompt and ``max_tokens``.
        prompt: Text, or the ids of its tokens.
        index: What the text must match; free text without.
        banned: Words that the text must not contain.
        sampler: How tokens are chosen; greedy without.
        stop: The text ends before the first of these that would be in it; see ``sfgen.decoding.stops``. Not with an
            index.
        max_tokens: The most tokens to generate; the end token does not count.
        max_rollbacks: After so many rollbacks generation fails.

    Yields:
        Events; the last is ``Finished`` with the result. The texts of the ``TextReleased`` events, joined, are the
        result's text, and nothing in them is ever taken back.

    Raises:
        InputError: The prompt is longer than the model's context.
        LimitTooSmall: ``max_tokens``, or what the context leaves, is below what the shortest match needs.
        UsageError: The index belongs to another vocabulary, ``max_tokens`` is negative, a stop string is empty, or
            there are stop strings beside an index. All of these are raised by the call itself, before there is a
            session.
        DeadEnd: Nothing that is allowed can follow.
        GenerationError: More rollbacks than ``max_rollbacks``.
        ModelError: The model's scores cannot be used.
        InternalError: The finished text does not keep a promise: a fault of sfgen. There is no result then, but the
            ``TextReleased`` events of a stream were before it.
    """
    loop = _loop(model, prompt, index, banned, sampler or Sampler(), StopStrings.of(stop), max_tokens, max_rollbacks)
    return drive(loop.run(), model.session)


def generate(
    model: Model,
    prompt: str | Sequence[int] = "",
    *,
    index: Index | None = None,
    banned: BannedWords | None = None,
    sampler: Sampler | None = None,
    stop: Sequence[str] = (),
    max_tokens: int = 256,
    max_rollbacks: int = 10_000,
) -> Result:
    """Generate one text; arguments and errors are those of ``stream``."""
    for event in stream(
        model,
        prompt,
        index=index,
        banned=banned,
        sampler=sampler,
        stop=stop,
        max_tokens=max_tokens,
        max_rollbacks=max_rollbacks,
    ):
        if isinstance(event, Finished):
            return event.result
    raise InternalError("generation ended without a result")


def drive(steps: Steps, new_session: Callable[[], Session]) -> Generator[Event, None, Result]:
    """Answer the loop's questions from one session, and pass its events on.

    The session is opened at the first question, so that a text that needs none costs no model.
    """
    session: Session | None = None
    answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        answer = None
        if isinstance(step, Ask):
            session = session or new_session()
            if step.keep is not None:
                session.rewind(step.keep)
            answer = session.extend(step.token_ids)
        else:
            yield step


def _loop(
    model: Model,
    prompt: str | Sequence[int],
    index: Index | None,
    banned: BannedWords | None,
    sampler: Sampler,
    stops: StopStrings,
    max_tokens: int,
    max_rollbacks: int,
) -> Loop:
    if max_tokens < 0:
        raise UsageError(f"max_tokens must be at least 0, not {max_tokens}")
    if index is not None and stops.strings:
        raise UsageError("stop strings are for text without a pattern: a pattern already says where to end")
    vocabulary = model.vocabulary
    if index is not None and index.vocabulary.fingerprint != vocabulary.fingerprint:
        raise UsageError("the index was made for another vocabulary than the model's")
    if isinstance(prompt, str):
        prompt_ids, prompt_bytes = model.encode(prompt), prompt.encode("utf-8", "replace")
    else:
        prompt_ids = list(prompt)
        unknown = [token for token in prompt_ids if not 0 <= token < len(vocabulary)]
        if unknown:
            raise UsageError(f"the prompt has token {unknown[0]}, but the vocabulary has only {len(vocabulary)} tokens")
        prompt_bytes = b"".join(vocabulary.tokens[token] or b"" for token in prompt_ids)
    guide, max_tokens = _guide(model, len(prompt_ids), index, max_tokens)
    return Loop(
        prompt_ids,
        vocabulary,
        guide,
        sampler.start(),
        max_tokens=max_tokens,
        constrained=index is not None,
        matcher=banned.matcher(prompt_bytes) if banned is not None else None,
        stops=stops if stops.strings else None,
        max_rollbacks=max_rollbacks,
        check=Promises(index, banned, stops, prompt_bytes, model, sampler, max_tokens).check,
    )


def _guide(model: Model, prompt_tokens: int, index: Index | None, max_tokens: int) -> tuple[Guide, int]:
    """The guide, and the limit that the model's context leaves of ``max_tokens``."""
    from sfgen.index import FreeGuide

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
        raise LimitTooSmall(
            f"the context of {name}, {context} tokens, is too small: after a prompt of {prompt_tokens} it leaves room "
            f"for {limit}, and the shortest match takes {len(index.shortest_tokens())}",
            details=error.details,
            hint="Give a shorter prompt, or use a model with a longer context.",
        ) from None
