"""Answers to ``/v1/responses``: items instead of a message, and the events of a stream."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from sfgen.errors import SfgenError
from sfgen.serve.engine import RunningText
from sfgen.serve.replies import Choice, Reply, stream_line, told_of, usage_of
from sfgen.serve.responses import Asked

Told: TypeAlias = tuple[str, dict[str, Any]]
"""An event of a stream: its type and its fields."""


@dataclass(frozen=True, kw_only=True)
class ResponseReply(Reply):
    """A response, made from the answer to a chat.

    Attributes:
        asked: The request.
    """

    asked: Asked

    def whole(self, choices: Sequence[Choice], usage: dict[str, Any]) -> dict[str, Any]:
        """The whole answer."""
        (choice,) = choices
        output = Output(self, thinks=choice.thought_tokens is not None)
        logprobs = [] if choice.logprobs is None else choice.logprobs["content"]
        pass_over = deque[Told](maxlen=0).extend
        pass_over(output.begin())
        for part in choice.parts():
            pass_over(output.read(part, logprobs))
        pass_over(output.end(choice.reason))
        return self.ended(output, choice.reason, usage)

    def ended(self, output: Output, reason: str, usage: dict[str, Any]) -> dict[str, Any]:
        """The answer after the end of its text."""
        status = status_of_reason(reason)
        told = {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": usage.get("completion_tokens_details", {"reasoning_tokens": 0}),
            "total_tokens": usage["total_tokens"],
        }
        details = None if status == "completed" else {"reason": "max_output_tokens"}
        return self.response(status, output.items, incomplete_details=details, usage=told)

    def response(self, status: str, output: list[Any], **others: Any) -> dict[str, Any]:
        """The answer as far as it is known."""
        body = self.asked.body
        echoed = body.model_dump(by_alias=True, exclude_none=True, include={"text", "tools", "tool_choice"})
        return {
            "id": f"resp_{self.id}",
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": body.metadata or {},
            "model": self.model,
            "output": output,
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "previous_response_id": None,
            "reasoning": {"effort": None if body.reasoning is None else body.reasoning.effort, "summary": None},
            "store": False,
            "temperature": 1.0 if body.temperature is None else body.temperature,
            "text": {"format": {"type": "text"}} | echoed.get("text", {}),
            "tool_choice": echoed.get("tool_choice", "auto"),
            "tools": echoed.get("tools", []),
            "top_p": 1.0 if body.top_p is None else body.top_p,
            "truncation": "disabled",
            "usage": None,
            **others,
        }


def status_of_reason(reason: str) -> str:
    """The status of an answer, by the reason why its text has ended."""
    return "incomplete" if reason == "length" else "completed"


class Output:
    """The items of an answer, from the parts of a message.

    A part that continues the last item is added to it; any other part begins a new item. Each method yields the events
    of the change for a stream.

    Args:
        reply: The answer.
        thinks: Whether a thought comes before it.

    Attributes:
        items: The items so far.
    """

    def __init__(self, reply: ResponseReply, *, thinks: bool = False) -> None:
        self.items: list[dict[str, Any]] = []
        self._reply = reply
        self._is_open = False
        self._thinks = thinks

    def begin(self) -> Iterator[Told]:
        """Begin the first item, if its kind is known."""
        if self._thinks:
            yield from self._open("reasoning", "rs", {"summary": [], "content": []})
            yield from self._open_content({"type": "reasoning_text", "text": ""})
        elif self._reply.asked.request.calling is None:
            yield from self._open_text()

    def read(self, part: dict[str, Any], logprobs: list[Any]) -> Iterator[Told]:
        """Add a part of a message, as ``CallStream`` yields it, and the log-probabilities of its tokens.

        A thought has none.
        """
        if "reasoning_content" in part:
            self.items[0]["content"][0]["text"] += part["reasoning_content"]
            yield "response.reasoning_text.delta", {**self._place, "delta": part["reasoning_content"]}
            return
        text = part.get("content", "")
        if text or logprobs:
            yield from self._text(text, logprobs)
        for call in part.get("tool_calls", ()):
            function = call["function"]
            if "id" in call:
                told = {"call_id": call["id"], "name": function["name"], "arguments": ""}
                yield from self._open("function_call", "fc", told)
            if function["arguments"]:
                self.items[-1]["arguments"] += function["arguments"]
                yield "response.function_call_arguments.delta", {**self._place, "delta": function["arguments"]}

    def end(self, reason: str) -> Iterator[Told]:
        """End the last item; if there is no text and the thought was not cut, add an empty message."""
        if not self.items or (self.items[-1]["type"] == "reasoning" and reason != "length"):
            yield from self._open_text()
        yield from self._close(status_of_reason(reason))

    # ---- items -----------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> dict[str, Any]:
        """The fields by which events name the last item; the text of a message is the first of its contents."""
        item = self.items[-1]
        content = {"content_index": 0} if "content" in item else {}
        return {"item_id": item["id"], "output_index": len(self.items) - 1, **content}

    def _open(self, kind: str, prefix: str, told: dict[str, Any]) -> Iterator[Told]:
        """Begin an item, and end the one before it."""
        yield from self._close("completed")
        identifier = f"{prefix}_{self._reply.id}" + (f"_{len(self.items)}" if self.items else "")
        self.items.append({"type": kind, "id": identifier, "status": "in_progress", **told})
        self._is_open = True
        yield "response.output_item.added", {"output_index": len(self.items) - 1, "item": self.items[-1]}

    def _open_text(self) -> Iterator[Told]:
        """Begin a message, or the call of a custom tool."""
        tool = self._reply.asked.tool
        if tool is not None:
            call = {"call_id": f"call_{self._reply.id}", "name": tool.name, "input": ""}
            yield from self._open("custom_tool_call", "ctc", call)
        else:
            yield from self._open("message", "msg", {"role": "assistant", "content": []})
            yield from self._open_content({"type": "output_text", "text": "", "annotations": [], "logprobs": []})

    def _open_content(self, part: dict[str, Any]) -> Iterator[Told]:
        """Begin the text of a message or a thought."""
        yield "response.content_part.added", {**self._place, "part": part}
        self.items[-1]["content"].append(part)

    def _text(self, text: str, logprobs: list[Any]) -> Iterator[Told]:
        """Add to a message, or to the input of a custom tool."""
        if not self.items or self.items[-1]["type"] in ("function_call", "reasoning"):
            yield from self._open_text()
        item = self.items[-1]
        if item["type"] == "custom_tool_call":
            item["input"] += text
            yield "response.custom_tool_call_input.delta", {**self._place, "delta": text}
        else:
            item["content"][0]["text"] += text
            item["content"][0]["logprobs"] += logprobs
            yield "response.output_text.delta", {**self._place, "delta": text, "logprobs": logprobs}

    def _close(self, status: str) -> Iterator[Told]:
        """End the last item."""
        if not self._is_open:
            return
        self._is_open, item = False, self.items[-1]
        item["status"] = status
        match item["type"]:
            case "function_call":
                told = {"name": item["name"], "arguments": item["arguments"]}
                yield "response.function_call_arguments.done", {**self._place, **told}
            case "custom_tool_call":
                yield "response.custom_tool_call_input.done", {**self._place, "input": item["input"]}
            case _:
                part = item["content"][0]
                told = {name: part[name] for name in ("text", "logprobs") if name in part}
                yield f"response.{part['type']}.done", {**self._place, **told}
                yield "response.content_part.done", {**self._place, "part": part}
        yield "response.output_item.done", {"output_index": len(self.items) - 1, "item": item}


async def response_lines(
    reply: ResponseReply,
    text: RunningText,
    choice: Choice,
    prompt_tokens: int,
    error_of: Callable[[SfgenError], dict[str, Any]],
) -> AsyncIterator[str]:
    """The lines of a stream: events, each with its number."""
    numbers = count()

    def line(kind: str, content: dict[str, Any]) -> str:
        told = {"type": kind, "sequence_number": next(numbers), **content}
        return f"event: {kind}\n{stream_line(told)}"

    output = Output(reply, thinks=choice.thought_tokens is not None)
    try:
        begun = reply.response("in_progress", [])
        yield line("response.created", {"response": begun})
        yield line("response.in_progress", {"response": begun})
        for told in output.begin():
            yield line(*told)
        async for event in text.events():
            for chunk in choice.chunks(event):
                entries = chunk["logprobs"]["content"] if chunk["logprobs"] else []
                for told in output.read(chunk["delta"], entries):
                    yield line(*told)
        for told in output.end(choice.reason):
            yield line(*told)
        whole = reply.ended(output, choice.reason, usage_of(prompt_tokens, [choice]))
        yield line(f"response.{whole['status']}", {"response": whole})
    except Exception as error:
        failure = error_of(told_of(error))["error"]
        yield line("error", {**{name: failure[name] for name in ("code", "message", "param")}, "error": failure})
        code = "server_error" if failure["type"] == "server_error" else "invalid_prompt"
        yield line("response.failed", {"response": reply.response("failed", [], error=failure | {"code": code})})
    finally:
        text.leave()
