"""Answers in OpenAI's form: whole ones, chunks of a stream, and errors.

A stream has only released text, which is never taken back. The log-probabilities of a token follow, in order, as soon
as its text is released and the model has scored it.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from sfgen.decoding.events import Event, Finished, Result, RolledBack, TextReleased, ThoughtReleased, TokenChosen
from sfgen.decoding.forward_passes import ScoredToken
from sfgen.decoding.loop import Loop
from sfgen.errors import (
    ErrorInText,
    GenerationError,
    InputError,
    InternalError,
    ModelError,
    PatternError,
    SchemaError,
    SfgenError,
)
from sfgen.serve.bodies import Refused
from sfgen.serve.calls import CallStream, joined
from sfgen.serve.engine import Busy, RunningText, Stopping, TooSlow
from sfgen.serve.guards import log_fault
from sfgen.tools.tool_calls import ToolCalls
from sfgen.vocabulary import Vocabulary

LEAST_LOGPROB = -9999.0
"""The number for minus infinity, which JSON does not have."""

REASONS = {"complete": "stop", "end_token": "stop", "stop": "stop", "limit": "length"}


def status_of(error: SfgenError) -> int:
    """The HTTP status for an error."""
    if isinstance(error, Busy):
        return 429
    if isinstance(error, Stopping):
        return 503
    if isinstance(error, TooSlow):
        return 504
    if isinstance(error, InternalError | ModelError):
        return 500
    return 400


def error_body(error: SfgenError, param: str | None = None) -> dict[str, Any]:
    """An error in OpenAI's form; its message has the details, with the caret, and the hint."""
    status = status_of(error)
    if isinstance(error, Refused):
        param, code = param if error.param is None else error.param, error.code
    elif isinstance(error, Busy):
        code = "rate_limit_exceeded"
    elif isinstance(error, InputError):
        code = "context_length_exceeded"  # this code is about the text of the prompt
    elif isinstance(error, GenerationError):
        code = _snake(type(error).__name__)
    else:
        code = _snake(type(error).__name__) if status == 400 else "server_error"
    kind = "invalid_request_error" if status == 400 else "server_error" if status >= 500 else "rate_limit_error"
    told: dict[str, Any] = {"message": str(error), "type": kind, "param": param, "code": code}
    place = getattr(error, "position", None)
    if isinstance(error, ErrorInText) and error.line is not None:
        told |= {"line": error.line, "column": error.column}
    elif isinstance(place, tuple):  # of a schema that came as text
        told |= {"line": place[0], "column": place[1]}
    elif isinstance(error, PatternError) and place is not None:
        before = error.pattern[:place]
        told |= {"line": before.count("\n") + 1, "column": place - before.rfind("\n")}
    if isinstance(error, SchemaError) and error.pointer is not None:
        told["pointer"] = error.pointer
    return {"error": told}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


@dataclass(frozen=True)
class Reply:
    """The fields that all choices of an answer share.

    Attributes:
        model: The name of the model.
        is_chat: Whether it answers a conversation.
        id: Its id.
        created: The time of the request, in seconds since 1970.
    """

    model: str
    is_chat: bool
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, choices: Sequence[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        """The whole answer."""
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {**self._head(kind), "choices": [choice.whole() for choice in choices], "usage": usage}

    def chunk(self, choices: Sequence[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, Any]:
        """One chunk of a stream."""
        kind = "chat.completion.chunk" if self.is_chat else "text_completion"
        told = {**self._head(kind), "choices": list(choices)}
        return told if usage is None else {**told, "usage": usage}

    def _head(self, kind: str) -> dict[str, Any]:
        prefix = "chatcmpl" if self.is_chat else "cmpl"
        return {"id": f"{prefix}-{self.id}", "object": kind, "created": self.created, "model": self.model}


class Choice:
    """One text of an answer, made from its events.

    Args:
        reply: The answer.
        index: The number of the text in it.
        vocabulary: The tokens, for log-probabilities.
        scored: The list that ``Loop.scored_tokens`` returns, which grows; ``None``: no log-probabilities.
        calls: The tool calls that it may have.
        thinking: The loop that writes it after a thought; ``None`` without a thought.
        tells_thought: Whether the answer includes the thought.
    """

    def __init__(
        self,
        reply: Reply,
        index: int,
        vocabulary: Vocabulary,
        scored: Sequence[ScoredToken] | None = None,
        calls: ToolCalls | None = None,
        thinking: Loop | None = None,
        tells_thought: bool = True,
    ) -> None:
        self._reply = reply
        self._index = index
        self._vocabulary = vocabulary
        self._scored = scored
        self._calls = None if calls is None else CallStream(calls)
        self._thinking, self._tells_thought = thinking, tells_thought
        self._told = 0  # the number of them that were sent
        self._released = bytearray()
        self._counted, self._characters = 0, 0  # bytes whose characters were counted, and their number
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._again = 0  # the first tokens without text
        self.result: Result | None = None

    def read(self, event: Event) -> str:
        """Take an event; return the text that it releases."""
        if isinstance(event, TokenChosen) and event.position == self._again and not event.data:
            self._again += 1
        elif isinstance(event, RolledBack):
            self._again = min(self._again, event.position)
        elif isinstance(event, TextReleased):
            self._released += event.text.encode()
            return event.text
        elif isinstance(event, Finished):
            self.result = event.result
        return ""

    def chunks(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the chunks of a stream after an event."""
        if isinstance(event, ThoughtReleased):
            if self._tells_thought:
                yield self._chunk({"reasoning_content": event.text}, (), is_last=False)
            return
        text = self.read(event)
        new = self._told_now()
        if self._calls is None:
            parts = [{"content": text}] if text else []
        else:
            parts = list(self._calls.read(text, is_last=self.result is not None))
        for place, part in enumerate(parts or ([{}] if new or self.result is not None else [])):
            yield self._chunk(part, new if place == 0 else (), is_last=place + 1 >= len(parts))

    @property
    def written(self) -> int:
        """The number of tokens of the text, without those that rewrite the end of the prompt, which no limit counts."""
        if self.result is None:
            return 0
        return len(self.result.token_ids) - (self._again if self.result.healed else 0)

    @property
    def thought_tokens(self) -> int | None:
        """The number of these that belong to the thought before the text; ``None`` without a thought."""
        if self._thinking is None:
            return None
        return 0 if self.result is None else self._thinking.thought_tokens

    def whole(self) -> dict[str, Any]:
        """The whole text, after all events."""
        told: dict[str, Any]
        if self._reply.is_chat:
            told = {"message": {"role": "assistant", "refusal": None, **joined(self.parts())}}
        else:
            told = {"text": self._ended.text}
        return {"index": self._index, **told, "logprobs": self.logprobs, "finish_reason": self.reason}

    def parts(self) -> Iterator[dict[str, Any]]:
        """Yield the parts of the whole message, after all events."""
        if self._thinking is not None and self._tells_thought:
            yield {"reasoning_content": self._ended.thought}
        if self._calls is None:
            yield {"content": self._ended.text}
        else:
            yield from self._calls.read(self._ended.text, is_last=True)

    @property
    def logprobs(self) -> dict[str, Any] | None:
        """The log-probabilities of the whole text."""
        return None if self._scored is None else self._form_of(self._scored)

    @property
    def reason(self) -> str:
        """The reason why the text has ended; for calls, known only after ``parts``."""
        reason = REASONS[self._ended.finish_reason]
        return "tool_calls" if reason == "stop" and self._calls is not None and self._calls.count else reason

    @property
    def _ended(self) -> Result:
        assert self.result is not None, "it has finished"
        return self.result

    def _chunk(self, part: dict[str, Any], new: Sequence[ScoredToken], *, is_last: bool) -> dict[str, Any]:
        reason = None if self.result is None or not is_last else self.reason
        told = {"logprobs": self._form_of(new) if new else None, "finish_reason": reason}
        if self._reply.is_chat:
            return {"index": self._index, "delta": part, **told}
        return {"index": self._index, "text": part.get("content", ""), **told}

    def _told_now(self) -> Sequence[ScoredToken]:
        """The scored tokens that were not sent before, none before its text."""
        if self._scored is None:
            return ()
        first, ready = self._told, len(self._scored)  # the engine's thread may add more
        while self._told < ready and (self.result is not None or self._scored[self._told].offset < len(self._released)):
            self._told += 1
        return self._scored[first : self._told]

    def _form_of(self, scored: Sequence[ScoredToken]) -> dict[str, Any]:
        """The log-probabilities of tokens, in the form of the endpoint."""
        entries = []
        for token in scored:
            likeliest = token.likeliest
            top = [self._entry(*each) for each in zip(likeliest.best, likeliest.log_probabilities, strict=True)]
            entries.append({**self._entry(token.token_id, token.logprob), "top_logprobs": top})
        if self._reply.is_chat:
            return {"content": entries, "refusal": None}
        return {
            "tokens": [entry["token"] for entry in entries],
            "token_logprobs": [entry["logprob"] for entry in entries],
            "top_logprobs": [
                {each["token"]: each["logprob"] for each in (entry, *reversed(entry["top_logprobs"]))}
                for entry in entries
            ],
            "text_offset": [self._characters_before(token.offset) for token in scored],
        }

    def _characters_before(self, offset: int) -> int:
        """Count the characters before a byte of the text; called for ascending bytes."""
        self._characters += len(self._decoder.decode(self._released[self._counted : offset]))
        self._counted = offset
        return self._characters

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        data = self._vocabulary.tokens[token]
        text = self._vocabulary.text(token) if data is None else data.decode("utf-8", "replace")
        if data is not None and "\ufffd" in text and not self._reply.is_chat:  # as OpenAI has it: here names tell all
            text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
        told = max(LEAST_LOGPROB, logprob)  # in this order, what is not a number counts as the least
        return {"token": text, "logprob": told, "bytes": None if data is None else list(data)}


def usage_of(prompt_tokens: int, choices: Sequence[Choice]) -> dict[str, Any]:
    """The numbers of tokens of an answer."""
    written = sum(choice.written for choice in choices)
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": written,
        "total_tokens": prompt_tokens + written,
    }
    thoughts = [choice.thought_tokens for choice in choices if choice.thought_tokens is not None]
    return usage | ({"completion_tokens_details": {"reasoning_tokens": sum(thoughts)}} if thoughts else {})


def stream_line(content: Mapping[str, Any]) -> str:
    """Return a chunk as a line of a stream."""
    return f"data: {json.dumps(content, ensure_ascii=False, separators=(',', ':'))}\n\n"


async def read_all(texts: Sequence[RunningText], choices: Sequence[Choice]) -> None:
    """Read the events of all choices of a whole answer.

    Raises:
        SfgenError: One of the texts has failed; the others are abandoned.
    """

    async def follow(text: RunningText, choice: Choice) -> None:
        async for event in text.events():
            choice.read(event)

    tasks = [asyncio.create_task(follow(*pair)) for pair in zip(texts, choices, strict=True)]
    try:
        await asyncio.gather(*tasks)
    finally:
        leave(tasks, texts)


async def chunk_lines(
    reply: Reply,
    texts: Sequence[RunningText],
    choices: Sequence[Choice],
    prompt_tokens: int | None,
    error_of: Callable[[SfgenError], dict[str, Any]],
) -> AsyncIterator[str]:
    """The lines of a stream, in the order of the events of all texts.

    With ``prompt_tokens`` the last line has the numbers of tokens, and the others have ``usage: null``.
    """
    usage = {} if prompt_tokens is None else {"usage": None}
    told: asyncio.Queue[dict[str, Any] | SfgenError | None] = asyncio.Queue()

    async def follow(text: RunningText, choice: Choice) -> None:
        try:
            async for event in text.events():
                for chunk in choice.chunks(event):
                    await told.put(chunk)
        except Exception as error:
            await told.put(told_of(error))
        await told.put(None)

    tasks = [asyncio.create_task(follow(*pair)) for pair in zip(texts, choices, strict=True)]
    try:
        if reply.is_chat:
            first = [{"index": n, "delta": {"role": "assistant", "content": ""}, "logprobs": None,
                      "finish_reason": None} for n in range(len(texts))]  # fmt: skip
            yield stream_line(reply.chunk(first) | usage)
        left = len(texts)
        while left:
            chunk = await told.get()
            if chunk is None:
                left -= 1
            elif isinstance(chunk, SfgenError):
                yield f"event: error\n{stream_line(error_of(chunk))}"
                return
            else:
                yield stream_line(reply.chunk([chunk]) | usage)
        if prompt_tokens is not None:
            yield stream_line(reply.chunk([], usage_of(prompt_tokens, choices)))
        yield "data: [DONE]\n\n"
    finally:
        leave(tasks, texts)


def told_of(error: Exception) -> SfgenError:
    """The error of a text for its client; a fault of sfgen becomes an error, too, so that no client waits for ever."""
    if isinstance(error, SfgenError):
        return error
    log_fault(error)
    return InternalError(type(error).__name__)


def leave(tasks: Sequence[asyncio.Task[None]], texts: Sequence[RunningText]) -> None:
    """Close the readers of abandoned texts, which would else wait for ever."""
    for task in tasks:
        task.cancel()
    for text in texts:
        text.leave()


class Stream(StreamingResponse):
    """A streamed response; when it ends, for any reason, its texts are abandoned."""

    def __init__(
        self, lines: AsyncIterator[str | bytes], texts: Sequence[RunningText], media_type: str = "text/event-stream"
    ) -> None:
        super().__init__(lines, media_type=media_type, headers={"Cache-Control": "no-cache"})
        self._texts = texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            for text in self._texts:
                text.leave()
