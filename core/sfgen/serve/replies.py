"""Answers in OpenAI's form: whole ones, chunks of a stream, and errors.

A stream tells only text that is released: it is never taken back. The log-probabilities of a token follow as soon as
both its text is released and the model has scored it, in order.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfgen.decoding.events import Event, Finished, Result, RolledBack, TextReleased, TokenChosen
from sfgen.errors import GenerationError, InternalError, ModelError, SfgenError
from sfgen.protocols import Scores
from sfgen.serve.constraints import CompileTimeout
from sfgen.serve.engine import Busy, Stopping, TooSlow
from sfgen.serve.requests import Refused
from sfgen.vocabulary import Vocabulary

REASONS = {"complete": "stop", "end_token": "stop", "stop": "stop", "limit": "length"}


def status_of(error: SfgenError) -> int:
    """The status of an answer that is an error."""
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
    """An error in OpenAI's form; its message has everything that a person needs, the caret too."""
    status = status_of(error)
    if isinstance(error, Refused):
        param, code = error.param or param, error.code
    elif isinstance(error, Busy):
        code = "rate_limit_exceeded"
    elif isinstance(error, CompileTimeout):
        code = "compile_timeout"
    elif isinstance(error, GenerationError):
        code = _snake(type(error).__name__)
    else:
        code = _snake(type(error).__name__) if status == 400 else "server_error"
    kind = "invalid_request_error" if status == 400 else "server_error" if status >= 500 else "rate_limit_error"
    return {"error": {"message": str(error), "type": kind, "param": param, "code": code}}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


@dataclass(frozen=True)
class Reply:
    """What all choices of an answer have in common.

    Attributes:
        model: The name of the model.
        is_chat: Whether it answers a conversation.
        id: Its id.
        created: When it was asked for, in seconds since 1970.
    """

    model: str
    is_chat: bool
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, choices: Sequence[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
        """The whole answer."""
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {**self._head(kind), "choices": list(choices), "usage": usage}

    def chunk(self, choices: Sequence[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, Any]:
        """One chunk of a stream."""
        kind = "chat.completion.chunk" if self.is_chat else "text_completion"
        told = {**self._head(kind), "choices": list(choices)}
        return told if usage is None else {**told, "usage": usage}

    def _head(self, kind: str) -> dict[str, Any]:
        prefix = "chatcmpl" if self.is_chat else "cmpl"
        return {"id": f"{prefix}-{self.id}", "object": kind, "created": self.created, "model": self.model}


class Logprobs:
    """The log-probabilities of the tokens of one text, before any mask.

    Args:
        vocabulary: The tokens.
        count: How many of the likeliest are told at each.
    """

    def __init__(self, vocabulary: Vocabulary, count: int) -> None:
        self._vocabulary = vocabulary
        self._count = count
        self._scored: dict[int, tuple[Scores, float]] = {}

    def observe(self, index: int, scores: Scores) -> None:
        """Note the model's scores at the place of a token; the last ones for a place count."""
        exact = np.asarray(scores, np.float64)
        highest = float(exact.max())
        self._scored[index] = scores, highest + float(np.log(np.exp(exact - highest).sum()))

    def has(self, index: int) -> bool:
        """Whether the place of a token was scored."""
        return index in self._scored

    def told(self, index: int, token: int) -> dict[str, Any]:
        """What is told of a token, in the form of chat; the place is not told again."""
        scores, total = self._scored.pop(index)
        best = np.argsort(-scores, kind="stable")[: self._count]
        top = [self._entry(int(other), float(scores[other]) - total) for other in best]
        return {**self._entry(token, float(scores[token]) - total), "top_logprobs": top}

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        data = self._vocabulary.tokens[token]
        text = self._vocabulary.text(token) if data is None else data.decode("utf-8", "replace")
        return {"token": text, "logprob": max(logprob, -9999.0), "bytes": None if data is None else list(data)}


class Choice:
    """One text of an answer, from its events.

    Args:
        reply: The answer.
        index: The number of the text in it.
        logprobs: The log-probabilities that are told; ``None``: none.
    """

    def __init__(self, reply: Reply, index: int, logprobs: Logprobs | None) -> None:
        self._reply = reply
        self._index = index
        self._logprobs = logprobs
        self._tokens: list[tuple[int, int]] = []  # each with the bytes of the text up to its end
        self._told = 0  # of them
        self._released = 0  # bytes
        self.result: Result | None = None

    def chunks(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield what a stream tells after an event."""
        text = ""
        if isinstance(event, TokenChosen):
            before = self._tokens[-1][1] if self._tokens else 0
            self._tokens.append((event.token_id, before + len(event.data)))
        elif isinstance(event, RolledBack):
            del self._tokens[event.position :]
        elif isinstance(event, TextReleased):
            text = event.text
            self._released += len(text.encode())
        elif isinstance(event, Finished):
            self.result = event.result
            self._released = self._tokens[-1][1] if self._tokens else 0
        is_last = self.result is not None
        logprobs = None if self._logprobs is None else self._new_logprobs()
        if text or logprobs or is_last:
            yield self._choice(text, logprobs, is_last)

    def whole(self, logprobs: list[dict[str, Any]] | None) -> dict[str, Any]:
        """The whole text.

        Args:
            logprobs: Those that the chunks have told.
        """
        assert self.result is not None, "it has finished"
        told = self._logprobs_of(logprobs) if logprobs is not None else None
        reason = REASONS[self.result.finish_reason]
        if self._reply.is_chat:
            message = {"role": "assistant", "content": self.result.text, "refusal": None}
            return {"index": self._index, "message": message, "logprobs": told, "finish_reason": reason}
        return {"index": self._index, "text": self.result.text, "logprobs": told, "finish_reason": reason}

    def _choice(self, text: str, logprobs: list[dict[str, Any]] | None, is_last: bool) -> dict[str, Any]:
        reason = REASONS[self.result.finish_reason] if self.result is not None and is_last else None
        told = self._logprobs_of(logprobs) if logprobs is not None else None
        if self._reply.is_chat:
            delta = {"content": text} if text else {}
            return {"index": self._index, "delta": delta, "logprobs": told, "finish_reason": reason}
        return {"index": self._index, "text": text, "logprobs": told, "finish_reason": reason}

    def _new_logprobs(self) -> list[dict[str, Any]]:
        """Of the tokens whose text is released and that were scored, as far as they were not told before."""
        assert self._logprobs is not None
        found = []
        while self._told < len(self._tokens):
            token, end = self._tokens[self._told]
            if end > self._released or not self._logprobs.has(self._told):
                break
            found.append(self._logprobs.told(self._told, token))
            self._told += 1
        return found

    def _logprobs_of(self, entries: list[dict[str, Any]]) -> dict[str, Any]:
        """Log-probabilities in the form of the endpoint."""
        if self._reply.is_chat:
            return {"content": entries, "refusal": None}
        return {
            "tokens": [entry["token"] for entry in entries],
            "token_logprobs": [entry["logprob"] for entry in entries],
            "top_logprobs": [{top["token"]: top["logprob"] for top in entry["top_logprobs"]} for entry in entries],
        }


def usage_of(prompt_tokens: int, results: Sequence[Result]) -> dict[str, Any]:
    """The tokens of an answer."""
    written = sum(len(result.token_ids) for result in results)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": written,
        "total_tokens": prompt_tokens + written,
    }
