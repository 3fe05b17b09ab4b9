"""Stream a trace of a request's texts while they are written: each token with the likeliest others, the effect of the
mask, jump-forward tokens and rollbacks.

The lines have the format of a trace (``sfgen/trace/FORMAT.md``), so they can be saved and replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Tag

from sfgen.decoding.loop import Loop
from sfgen.errors import SfgenError
from sfgen.index import Index
from sfgen.jobs.constraint_facts import ConstraintFacts
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.serve.bodies import ChatRequest, CompletionRequest, Refused
from sfgen.serve.engine import RunningText
from sfgen.serve.generation_request import GenerationRequest
from sfgen.serve.replies import leave, told_of
from sfgen.serve.thoughts import Thought
from sfgen.trace import Scene, TraceFile, Tracer
from sfgen.vocabulary import Vocabulary

MEDIA_TYPE = "application/jsonl"

_LONGEST_NAME = 80  # the most characters of a schema, grammar or template whose text is its own name

_CHAT, _PROMPT = "of a conversation", "of a prompt"  # with blanks: errors leave them out of paths

TraceRequest: TypeAlias = Annotated[
    Annotated[ChatRequest, Tag(_CHAT)] | Annotated[CompletionRequest, Tag(_PROMPT)],
    Discriminator(lambda body: _CHAT if isinstance(body, dict) and "messages" in body else _PROMPT),
]
"""A request to ``/v1/trace``: as to ``/v1/chat/completions`` if it has ``messages``, else as to ``/v1/completions``."""


def refuse_untraced(body: TraceRequest) -> None:
    """Refuse fields that make no sense with a trace.

    Raises:
        Refused: The request asks for log-probabilities, which a trace always has, or for a whole answer.
    """
    if body.logprobs is not None and body.logprobs is not False:  # 0 asks for those of the tokens alone
        raise Refused(
            "logprobs is for other endpoints", "logprobs", hint="Leave it out: a trace has the likeliest tokens."
        )
    if body.stream is False:
        raise Refused("a trace is always a stream", "stream", hint="Leave it out.")


def scenes_of(
    model: str,
    vocabulary: Vocabulary,
    body: TraceRequest,
    request: GenerationRequest,
    index: Index | None,
    prompts: Sequence[str | Sequence[int]],
    thought: Thought | None,
    loops: Sequence[Loop],
) -> list[Scene]:
    """Describe the texts of a request before they begin, those of each prompt together."""
    facts = ConstraintFacts() if index is None or request.constraint is None else _facts(request.constraint, index)
    plain = Scene(
        prompt="",
        model=model,
        vocabulary_size=len(vocabulary),
        words=request.ban.words if request.ban else (),
        banned_patterns=request.ban.patterns if request.ban else (),
        after=None if thought is None else thought.end,
        **facts.in_scene(),
    )
    if isinstance(body, ChatRequest):
        asked = next((each["content"] for each in reversed(request.messages) if each["role"] == "user"), "")
        scenes = [replace(plain, prompt=asked, rendered=getattr(prompts[0], "text", None))]
    else:
        scenes = [replace(plain, prompt=_text_of(vocabulary, each)) for each in prompts]
    every = [scene for scene in scenes for _ in range(request.samples)]
    return [replace(scene, seed=loop.draws.sampler.seed) for scene, loop in zip(every, loops, strict=True)]


def _text_of(vocabulary: Vocabulary, prompt: str | Sequence[int]) -> str:
    """The text of a prompt; special tokens are written by their names."""
    if isinstance(prompt, str):
        return prompt
    tokens = ((vocabulary.tokens[token], token) for token in prompt)
    data = (vocabulary.text(token).encode() if text is None else text for text, token in tokens)
    return b"".join(data).decode("utf-8", "backslashreplace")


def _facts(own: OwnConstraint, index: Index) -> ConstraintFacts:
    """The description of a constraint; a short text is its own name."""
    facts, value = ConstraintFacts.of(index), own.value
    if own.kind in ("schema", "grammar", "template") and isinstance(value, str) and len(value) <= _LONGEST_NAME:
        named: dict[str, Any] = {f"{own.kind}_name": value}
        return replace(facts, **named)
    return facts


async def trace_lines(
    texts: Sequence[RunningText], scenes: Sequence[Scene], told: Callable[[SfgenError], SfgenError]
) -> AsyncIterator[bytes]:
    """The lines of some texts while they are written; ``told`` turns an error into the one for clients."""
    written = _Written()

    async def follow(text: RunningText, tracer: Tracer) -> None:
        try:
            async for event in text.events():
                tracer.show(event)
        except Exception as error:
            tracer.fail(told(told_of(error)))
        written.ended()

    with TraceFile(written) as file:  # type: ignore[arg-type]  # it writes, and no more
        tasks = [asyncio.create_task(follow(*pair)) for pair in zip(texts, map(file.begin, scenes), strict=True)]
        try:
            left = len(tasks)
            while left:
                lines, ended = await written.taken()
                left -= ended
                yield lines
        finally:
            leave(tasks, texts)


class _Written:
    """A file for writing whose lines wait until they are taken."""

    def __init__(self) -> None:
        self._lines = bytearray()
        self._ended = 0
        self._has_more = asyncio.Event()

    def write(self, data: bytes) -> int:
        """Add a part of a line."""
        self._lines += data
        self._has_more.set()
        return len(data)

    def flush(self) -> None:
        """Do nothing: lines are taken at once."""

    def ended(self) -> None:
        """Note the end of a text."""
        self._ended += 1
        self._has_more.set()

    async def taken(self) -> tuple[bytes, int]:
        """Wait for lines or ends, and take them."""
        await self._has_more.wait()
        found = bytes(self._lines), self._ended
        self._lines.clear()
        self._ended = 0
        self._has_more.clear()
        return found
