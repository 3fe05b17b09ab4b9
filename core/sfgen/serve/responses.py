"""``/v1/responses``: OpenAI's newer protocol, without a memory: each request has the whole conversation.

A request is read as a chat that asks for the same (``ResponsesRequest.as_chat``), so that each field means what it does
there. Here is what the protocol has of its own: items in place of messages, ``text.format``, custom tools, and events.

A custom tool is called with a text of any form, which a grammar or a pattern may bound. The request says that it is
called (``tool_choice``): the text is its input from the first character on. Whether one is called, and which, is
written in a form that the model was trained on; that is not read here, and such a request is refused, as functions are
(``_tool_of`` is where they would come in).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, StrictStr, Tag

from sfgen.errors import InternalError, SfgenError
from sfgen.models.messages import Tools
from sfgen.serve.bodies import (
    MOST_LOGPROBS,
    Body,
    ChatMessage,
    ChatRequest,
    JsonSchemaFormat,
    Refused,
    ResponseFormat,
    TextRequest,
    refuse_unknown,
)
from sfgen.serve.engine import RunningText
from sfgen.serve.replies import Choice, Reply, stream_line, usage_of
from sfgen.serve.wish import Wish, wish_of

_LOG = logging.getLogger("sfgen.serve")

LOGPROBS = "message.output_text.logprobs"
"""What ``include`` names to have log-probabilities told."""


# ---- what is asked for -----------------------------------------------------------------------------------------------


class Part(Body):
    """A part of a message: only text is known."""

    type: Literal["input_text", "output_text", "text"]
    text: StrictStr
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None


class InputMessage(Body):
    """A message; a last one of the assistant is gone on with."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: StrictStr | list[Part]
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class CustomCall(Body):
    """A call of a custom tool, which the model has written before."""

    type: Literal["custom_tool_call"]
    name: str
    input: StrictStr
    call_id: str
    id: str | None = None
    status: str | None = None


class CustomCallOutput(Body):
    """What that tool has answered."""

    type: Literal["custom_tool_call_output"]
    output: StrictStr | list[Part]
    call_id: str
    id: str | None = None
    status: str | None = None


def _kind_of(item: Any) -> str:
    kind = (item.get("type") or "message") if isinstance(item, dict) else getattr(item, "type", None)
    return f"item {kind}"  # with a blank: paths in errors leave it out


_ITEMS = Discriminator(
    _kind_of,
    custom_error_type="item",
    custom_error_message="Only messages are known, and calls of custom tools with their outputs",
)

Item: TypeAlias = Annotated[
    Annotated[InputMessage, Tag("item message")]
    | Annotated[CustomCall, Tag("item custom_tool_call")]
    | Annotated[CustomCallOutput, Tag("item custom_tool_call_output")],
    _ITEMS,
]


class TextFormat(JsonSchemaFormat):
    """The form of an answer."""

    type: Literal["text", "json_object", "json_schema"]


class TextConfig(Body):
    """How an answer is written."""

    format: TextFormat | None = None
    verbosity: Literal["medium"] | None = None


class GrammarFormat(Body):
    """What the input of a custom tool must match."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: StrictStr | None = None


class CustomTool(Body):
    """A tool that is called with a text."""

    type: Literal["custom"]
    name: Annotated[str, Field(pattern="^[a-zA-Z0-9_-]{1,128}$")]
    description: str | None = None
    format: GrammarFormat | None = None


class ToolChoice(Body):
    """The tool that is called."""

    type: Literal["custom"]
    name: str


class Reasoning(Body):
    """How long a model thinks: not at all."""

    effort: Literal["none"] | None = None
    summary: Any = None


class ResponsesRequest(TextRequest):
    """A request to ``/v1/responses``."""

    input: StrictStr | list[Item] = Field(min_length=1)
    instructions: StrictStr | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    text: TextConfig | None = None
    tools: list[CustomTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    include: list[str] | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)
    reasoning: Reasoning | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None

    def as_chat(self, tool: CustomTool | None) -> ChatRequest:
        """Return the chat that asks for the same."""
        shared = {name: getattr(self, name) for name in TextRequest.model_fields}
        has_logprobs = LOGPROBS in (self.include or ())
        if tool is not None:
            shared |= _constraint_of(tool)
        elif self.text is not None and self.text.format is not None:
            shared["response_format"] = self._form(self.text.format)
        return ChatRequest.model_construct(
            **shared,
            messages=list(self._messages()),
            max_completion_tokens=self.max_output_tokens,
            chat_template_kwargs=self.chat_template_kwargs,
            logprobs=has_logprobs,
            top_logprobs=self.top_logprobs if has_logprobs else None,
        )

    def _form(self, given: TextFormat) -> ResponseFormat:
        """The form of an answer, as a chat has it."""
        if self.response_format is not None:
            raise Refused("text.format and response_format cannot be used together", "response_format", "conflict")
        if given.type == "json_schema":
            return ResponseFormat(type=given.type, json_schema=JsonSchemaFormat(schema=given.schema_))
        return ResponseFormat(type=given.type, schema=given.schema_)

    def _messages(self) -> Iterator[ChatMessage]:
        """The conversation, as a chat has it."""
        if self.instructions is not None:
            yield ChatMessage(role="system", content=self.instructions)
        for item in [InputMessage(role="user", content=self.input)] if isinstance(self.input, str) else self.input:
            match item:
                case InputMessage():
                    yield ChatMessage(role=item.role, content=_text_of(item.content))
                case CustomCall():
                    yield ChatMessage(role="assistant", content=item.input)
                case CustomCallOutput():
                    yield ChatMessage(role="tool", content=_text_of(item.output))


def _text_of(content: str | list[Part]) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)  # as in a chat


def _tool_of(body: ResponsesRequest) -> CustomTool | None:
    """Return the tool that is called; ``None``: none is.

    Raises:
        Refused: The model would have to say so in a form of its own.
    """
    tools, choice = body.tools or [], body.tool_choice
    if isinstance(choice, ToolChoice):
        found = [tool for tool in tools if tool.name == choice.name]
        if not found:
            raise Refused(f"there is no custom tool {choice.name!r:.60}", "tool_choice.name", "invalid_value")
        return found[0]
    if choice == "required" and len(tools) == 1:
        return tools[0]
    if choice == "required" or (tools and choice != "none"):
        hint = 'Name one: "tool_choice": {"type": "custom", "name": …}, or give "none".' if tools else "Give tools."
        raise Refused("the model cannot choose a tool", "tool_choice", hint=hint)
    return None


def _constraint_of(tool: CustomTool) -> dict[str, Any]:
    """What the input of a tool must match, as a field of a chat."""
    given = tool.format
    if given is None or given.type == "text":
        return {}
    for name in ("syntax", "definition"):
        if getattr(given, name) is None:
            raise Refused(f"the format of the tool {tool.name} has no {name}", f"tools.format.{name}", "missing")
    return {"ebnf" if given.syntax == "lark" else "regex": given.definition}


@dataclass(frozen=True)
class Asked:
    """A request as a chat that asks for the same.

    Attributes:
        body: The request.
        chat: The chat.
        tool: The tool that is called; ``None``: a message is written.
        wish: What is asked for; its fields are those of the request.
    """

    body: ResponsesRequest
    chat: ChatRequest
    tool: CustomTool | None
    wish: Wish

    @classmethod
    def of(cls, body: ResponsesRequest) -> Asked:
        """Read a request.

        Raises:
            Refused: A field that would change the text is not kept to.
            SfgenError: A part of it cannot be read.
        """
        refuse_unknown(body, "")
        if (body.n or 1) > 1:
            raise Refused("a response is one text", "n", hint="Ask several times.")
        tool = _tool_of(body)
        chat = body.as_chat(tool)
        names = _NAMES
        if tool is not None and tool.format is not None:
            place = f"tools[{(body.tools or []).index(tool)}].format.definition"
            names = {**_NAMES, "ebnf": place, "regex": place}
        try:
            wish = wish_of(chat)
        except Refused as error:
            for name in sorted(names, key=len, reverse=True):
                error.message = error.message.replace(name, names[name])
            error.param = names.get(error.param or "", error.param)
            raise
        fields = {name: names.get(field, field) for name, field in wish.fields.items()}
        return cls(body, chat, tool, replace(wish, fields=fields, tools=_told(tool)))


_NAMES: Mapping[str, str] = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "response_format.json_schema": "text.format",
    "response_format.json_schema.schema": "text.format.schema",
}
"""Fields of a chat by the names that they have here."""


def _told(tool: CustomTool | None) -> Tools:
    """What a chat template is told of a tool, in the only form that templates know."""
    if tool is None or tool.description is None:
        return ()
    text = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    told = {"name": tool.name, "description": tool.description, "parameters": text}
    return ({"type": "function", "function": told},)


# ---- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ResponseReply(Reply):
    """A response; it is made of what a chat would be told.

    Attributes:
        asked: What was asked for.
    """

    asked: Asked

    def whole(self, choices: Sequence[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
        """The whole answer."""
        (choice,) = choices
        logprobs = choice["logprobs"]["content"] if choice["logprobs"] else []
        return self.ended(choice["message"]["content"], logprobs, choice["finish_reason"], usage)

    def ended(self, text: str, logprobs: list[Any], reason: str, usage: dict[str, Any]) -> dict[str, Any]:
        """The answer with a text that has ended."""
        status = "completed" if reason == "stop" else "incomplete"
        told = {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        }
        details = None if status == "completed" else {"reason": "max_output_tokens"}
        item = self.item(status, text, logprobs)
        return self.response(status, [item], incomplete_details=details, usage=told)

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
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
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

    def item(self, status: str, text: str, logprobs: list[Any]) -> dict[str, Any]:
        """The one item of the output: a message, or the call of a tool."""
        if self.asked.tool is not None:
            call = {"call_id": f"call_{self.id}", "name": self.asked.tool.name, "input": text}
            return {"type": "custom_tool_call", "id": f"ctc_{self.id}", "status": status, **call}
        content = [] if status == "in_progress" else [part_of(text, logprobs)]
        return {"type": "message", "id": f"msg_{self.id}", "status": status, "role": "assistant", "content": content}


def part_of(text: str, logprobs: list[Any]) -> dict[str, Any]:
    """The text of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


async def response_lines(
    reply: ResponseReply,
    text: RunningText,
    choice: Choice,
    prompt_tokens: int,
    error_of: Callable[[SfgenError], dict[str, Any]],
) -> AsyncIterator[str]:
    """The lines of a stream: events, each with its number."""
    numbers = count()

    def line(kind: str, **content: Any) -> str:
        told = {"type": kind, "sequence_number": next(numbers), **content}
        return f"event: {kind}\n{stream_line(told)}"

    is_call = reply.asked.tool is not None
    empty = reply.item("in_progress", "", [])
    place = {"item_id": empty["id"], "output_index": 0} | ({} if is_call else {"content_index": 0})
    kind = "response.custom_tool_call_input" if is_call else "response.output_text"
    written, logprobs, reason = "", list[Any](), ""
    try:
        begun = reply.response("in_progress", [])
        yield line("response.created", response=begun)
        yield line("response.in_progress", response=begun)
        yield line("response.output_item.added", output_index=0, item=empty)
        if not is_call:
            yield line("response.content_part.added", **place, part=part_of("", []))
        async for event in text.events():
            for chunk in choice.chunks(event):
                new = chunk["delta"].get("content", "")
                entries = chunk["logprobs"]["content"] if chunk["logprobs"] else []
                written, logprobs, reason = written + new, logprobs + entries, chunk["finish_reason"]
                if new or entries:
                    yield line(f"{kind}.delta", **place, delta=new, **({} if is_call else {"logprobs": entries}))
        if is_call:
            yield line(f"{kind}.done", **place, input=written)
        else:
            yield line(f"{kind}.done", **place, text=written, logprobs=logprobs)
            yield line("response.content_part.done", **place, part=part_of(written, logprobs))
        whole = reply.ended(written, logprobs, reason, usage_of(prompt_tokens, [choice]))
        yield line("response.output_item.done", output_index=0, item=whole["output"][0])
        yield line(f"response.{whole['status']}", response=whole)
    except Exception as error:  # a fault of ours, too, must end the stream
        if not isinstance(error, SfgenError):
            _LOG.exception("a stream failed")
            error = InternalError(f"{type(error).__name__}: {error}")
        told = error_of(error)["error"]
        yield line("error", **{name: told[name] for name in ("code", "message", "param")}, error=told)
        code = "server_error" if told["type"] == "server_error" else "invalid_prompt"
        yield line("response.failed", response=reply.response("failed", [], error=told | {"code": code}))
    finally:
        text.leave()
