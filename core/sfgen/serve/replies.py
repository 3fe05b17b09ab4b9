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
from sfgen.protocols import Scores
from sfgen.serve.constraints import CompileTimeout
from sfgen.serve.engine import Busy, Stopping, TooSlow
from sfgen.serve.requests import Refused
from sfgen.vocabulary import Vocabulary

LEAST_LOGPROB = -9999.0
"""What stands for minus infinity, which JSON has not."""

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
        param, code = param if error.param is None else error.param, error.code
    elif isinstance(error, Busy):
        code = "rate_limit_exceeded"
    elif isinstance(error, InputError):
        code = "context_length_exceeded"  # nothing else is read here
    elif isinstance(error, CompileTimeout):
        code = "compile_timeout"
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

    The engine's thread observes while another one tells. So the scores of a place are kept with the tokens before it:
    those of a text that was taken back since are never told.

    Args:
        vocabulary: The tokens.
        count: How many of the likeliest are told at each.
        loop: What is observed.
    """

    def __init__(self, vocabulary: Vocabulary, count: int, loop: Loop) -> None:
        self._vocabulary = vocabulary
        self._count = count
        self._path = loop.path
        self._scored: dict[int, tuple[int, Scores]] = {}
        loop.observe_scores(self._observe)

    def _observe(self, index: int, scores: Scores) -> None:
        """Note the model's scores at the place of a token; all behind it were taken back."""
        for later in [place for place in list(self._scored) if place > index]:
            self._scored.pop(later, None)
        self._scored[index] = hash(tuple(self._path.token_ids[:index])), np.array(scores)

    def told(self, index: int, tokens: Sequence[int]) -> dict[str, Any] | None:
        """Tell of the token at a place, in the form of chat; once. ``None``: it is not scored yet.

        Args:
            index: The place.
            tokens: The tokens before it, and it.
        """
        kept = self._scored.get(index)
        if kept is None or kept[0] != hash(tuple(tokens[:index])):
            return None
        self._scored.pop(index, None)
        scores = kept[1].astype(np.float64)
        highest = float(scores.max())
        logprobs = scores - (highest + float(np.log(np.exp(scores - highest).sum())))
        best = np.argsort(-logprobs, kind="stable")[: self._count]
        top = [self._entry(int(other), float(logprobs[other])) for other in best]
        return {**self._entry(tokens[index], float(logprobs[tokens[index]])), "top_logprobs": top}

    def _entry(self, token: int, logprob: float) -> dict[str, Any]:
        data = self._vocabulary.tokens[token]
        text = self._vocabulary.text(token) if data is None else data.decode("utf-8", "replace")
        return {"token": text, "logprob": max(logprob, LEAST_LOGPROB), "bytes": None if data is None else list(data)}


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
        self._tokens: list[int] = []
        self._ends: list[int] = []  # of each token, the bytes of the text up to its end
        self._entries: list[dict[str, Any]] = []  # what was told of the first tokens
        self._released = 0  # bytes
        self.result: Result | None = None

    def chunks(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield what a stream tells after an event."""
        text = ""
        if isinstance(event, TokenChosen):
            self._tokens.append(event.token_id)
            self._ends.append((self._ends[-1] if self._ends else 0) + len(event.data))
        elif isinstance(event, RolledBack):
            del self._tokens[event.position :], self._ends[event.position :]
        elif isinstance(event, TextReleased):
            text = event.text
            self._released += len(text.encode())
        elif isinstance(event, Finished):
            self.result = event.result
        new = self._told_now()
        if text or new or self.result is not None:
            yield self._chunk(text, new)

    @property
    def written(self) -> int:
        """The tokens of the text, without those that write the end of the prompt again: no limit counts them."""
        if self.result is None:
            return 0
        again = sum(end == 0 for end in self._ends) if self.result.healed else 0
        return len(self.result.token_ids) - again

    def whole(self) -> dict[str, Any]:
        """The whole text, of which the chunks have told."""
        assert self.result is not None, "it has finished"
        logprobs = None if self._logprobs is None else self._form_of(self._entries, 0)
        reason = REASONS[self.result.finish_reason]
        if self._reply.is_chat:
            message = {"role": "assistant", "content": self.result.text, "refusal": None}
            return {"index": self._index, "message": message, "logprobs": logprobs, "finish_reason": reason}
        return {"index": self._index, "text": self.result.text, "logprobs": logprobs, "finish_reason": reason}

    def _chunk(self, text: str, new: list[dict[str, Any]]) -> dict[str, Any]:
        reason = None if self.result is None else REASONS[self.result.finish_reason]
        logprobs = self._form_of(new, len(self._entries) - len(new)) if new else None
        if self._reply.is_chat:
            delta = {"content": text} if text else {}
            return {"index": self._index, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return {"index": self._index, "text": text, "logprobs": logprobs, "finish_reason": reason}

    def _told_now(self) -> list[dict[str, Any]]:
        """Of the tokens whose text is released and that were scored, those that were not told before."""
        if self._logprobs is None:
            return []
        first = place = len(self._entries)
        while place < len(self._tokens):
            begin = self._ends[place - 1] if place else 0
            if self.result is None and self._ends[place] > self._released:
                break
            if self.result is not None and self.result.finish_reason == "stop" and begin >= self._released:
                break  # of the stop string, or behind it
            entry = self._logprobs.told(place, self._tokens)
            if entry is None:
                break
            self._entries.append(entry)
            place += 1
        return self._entries[first:]

    def _form_of(self, entries: Sequence[dict[str, Any]], first: int) -> dict[str, Any]:
        """Log-probabilities of the tokens from the first one on, in the form of the endpoint."""
        if self._reply.is_chat:
            return {"content": entries, "refusal": None}
        return {
            "tokens": [entry["token"] for entry in entries],
            "token_logprobs": [entry["logprob"] for entry in entries],
            "top_logprobs": [
                {each["token"]: each["logprob"] for each in (entry, *reversed(entry["top_logprobs"]))}
                for entry in entries
            ],
            "text_offset": [self._ends[place - 1] if place else 0 for place in range(first, first + len(entries))],
        }


def usage_of(prompt_tokens: int, choices: Sequence[Choice]) -> dict[str, Any]:
    """The tokens of an answer."""
    written = sum(choice.written for choice in choices)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": written,
        "total_tokens": prompt_tokens + written,
    }
