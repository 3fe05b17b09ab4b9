"""Generate a text, whole or event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sfgen.decoding.batch import drive
from sfgen.decoding.by_config import by_config
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.events import Event, Finished, Result
from sfgen.decoding.prepare import loop_of
from sfgen.errors import InternalError
from sfgen.protocols import Model


@by_config(GenerationConfig)
def stream(model: Model, prompt: str | Sequence[int], config: GenerationConfig) -> Iterator[Event]:
    """Generate one text, event by event.

    Args:
        model: Anything with ``vocabulary``, ``encode(text)`` and ``session()``. If it has a ``context_length``, that
            bounds the prompt and ``max_tokens``. Or the name of one, which ``load_model`` loads at each call anew.
        prompt: Text, or the ids of its tokens; or the messages of a conversation, ``[{"role": "user", "content":
            "Hi!"}]``, which the model's own chat template writes.
        config: How the text is generated. Each field of ``GenerationConfig`` can be given by name instead, or beside
            it: ``stream(model, prompt, index="[0-9]+", max_tokens=9)``.

    Yields:
        Events; the last is ``Finished`` with the result. The texts of the ``TextReleased`` events, joined, are the
        result's text, and nothing in them is ever taken back.

    Raises:
        InputError: The prompt is longer than the model's context.
        LimitTooSmall: ``max_tokens``, or what the context leaves, is below what the shortest match needs.
        UsageError: As ``GenerationConfig``; or the index belongs to another vocabulary, or the model has no chat
            template, or not for all roles.
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
    return drive(loop_of(model, prompt, config), model)


@by_config(GenerationConfig)
def generate(model: Model, prompt: str | Sequence[int], config: GenerationConfig) -> Result:
    """Generate one text.

    ``hold`` is on: nobody reads the text before its end.

    Args:
        model: As of ``stream``.
        prompt: As of ``stream``.
        config: As of ``stream``; its fields can be given by name, too.

    Raises:
        SfgenError: As ``stream``.
        InternalError: As ``stream``: a fault of sfgen.
    """
    config = config if config.hold else replace(config, hold=True)
    for event in drive(loop_of(model, prompt, config), model):
        if isinstance(event, Finished):
            return event.result
    raise InternalError("generation ended without a result")
