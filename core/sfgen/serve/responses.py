"""Requests to ``/v1/responses``: OpenAI's newer protocol. Nothing is stored: each request has the whole conversation.

A request is converted to a chat that asks for the same (``ResponsesRequest.as_chat``), so each field has the same
meaning, functions included. This module has the parts that only this protocol has: items instead of messages,
``text.format``, and custom tools; ``response_output`` writes the answers.

A custom tool is called with a text of any form, or of a grammar or a pattern. The request must name it
(``tool_choice``): then the whole text is its input. A choice by the model is refused, since the forms in which models
write calls have only functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, StrictStr, Tag

from sfgen.models.messages import Tools
from sfgen.serve.bodies import (
    MOST_LOGPROBS,
    AllowedTools,
    Body,
    CalledFunction,
    ChatMessage,
    ChatRequest,
    Effort,
    FunctionFacts,
    FunctionTool,
    JsonSchemaFormat,
    MessageCall,
    NamedTool,
    Refused,
    ResponseFormat,
    TextRequest,
    ToolName,
    ToolSet,
    arguments_of,
    choice_kind,
    refuse_unknown,
)
from sfgen.serve.generation_request import GenerationRequest, read_request

LOGPROBS = "message.output_text.logprobs"
"""The name in ``include`` that asks for log-probabilities."""


# ---- the request -----------------------------------------------------------------------------------------------------


class ContentPart(Body):
    """A part of the content of a message: only text is supported."""

    type: Literal["input_text", "output_text", "text"]
    text: StrictStr
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None


class ItemBody(Body):
    """An item of a conversation; its identifier and state come from an earlier answer."""

    id: str | None = None
    status: str | None = None


class InputMessage(ItemBody):
    """A message; if the last one is of the assistant, the answer continues it."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: StrictStr | list[ContentPart]
    phase: str | None = None


class FunctionCall(ItemBody):
    """A call of a function in an earlier answer."""

    type: Literal["function_call"]
    name: str
    arguments: StrictStr
    call_id: str

    def as_call(self, path: str) -> MessageCall:
        """Return it in the form of a chat's message.

        Raises:
            Refused: Its arguments are not the JSON of an object.
        """
        arguments_of(self.arguments, f"{path}.arguments")
        function = CalledFunction(name=self.name, arguments=self.arguments)
        return MessageCall(id=self.call_id, function=function)


class FunctionCallOutput(ItemBody):
    """The result of that call."""

    type: Literal["function_call_output"]
    output: StrictStr | list[ContentPart]
    call_id: str


class CustomCall(ItemBody):
    """A call of a custom tool in an earlier answer."""

    type: Literal["custom_tool_call"]
    name: str
    input: StrictStr
    call_id: str


class CustomCallOutput(ItemBody):
    """The result of that call of a custom tool."""

    type: Literal["custom_tool_call_output"]
    output: StrictStr | list[ContentPart]
    call_id: str


class ThoughtPart(Body):
    """A part of a thought, or of its summary."""

    type: Literal["reasoning_text", "summary_text"]
    text: StrictStr


class ThoughtItem(ItemBody):
    """The thought before a message or a call, in full or as a summary."""

    type: Literal["reasoning"]
    summary: list[ThoughtPart] | None = None
    content: list[ThoughtPart] | None = None

    @property
    def text(self) -> str:
        """The text of the thought."""
        return "\n".join(part.text for part in self.content or self.summary or ())


def _kind_of(item: Any) -> str:
    kind = (item.get("type") or "message") if isinstance(item, dict) else getattr(item, "type", None)
    return f"item {kind}"  # with a blank: paths in errors leave it out


_ITEMS = Discriminator(
    _kind_of,
    custom_error_type="item",
    custom_error_message="only messages, thoughts and tool calls with their outputs are supported",
)

Item: TypeAlias = Annotated[
    Annotated[InputMessage, Tag("item message")]
    | Annotated[ThoughtItem, Tag("item reasoning")]
    | Annotated[FunctionCall, Tag("item function_call")]
    | Annotated[FunctionCallOutput, Tag("item function_call_output")]
    | Annotated[CustomCall, Tag("item custom_tool_call")]
    | Annotated[CustomCallOutput, Tag("item custom_tool_call_output")],
    _ITEMS,
]


class TextFormat(JsonSchemaFormat):
    """The form of an answer."""

    type: Literal["text", "json_object", "json_schema"]


class TextConfig(Body):
    """The options of the text of an answer."""

    format: TextFormat | None = None
    verbosity: Literal["medium"] | None = None


class GrammarFormat(Body):
    """The constraint of a custom tool's input."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: StrictStr | None = None


class CustomTool(Body):
    """A tool that is called with a text."""

    type: Literal["custom"]
    name: Annotated[str, Field(pattern="^[a-zA-Z0-9_-]{1,128}$")]
    description: str | None = None
    format: GrammarFormat | None = None


class Function(FunctionFacts):
    """A function, without the envelope that it has in a chat."""

    type: Literal["function"]

    def as_tool(self) -> FunctionTool:
        """Return it in the form of a chat."""
        facts = {name: getattr(self, name) for name in FunctionFacts.model_fields}
        return FunctionTool(type="function", function=FunctionFacts(**facts))


_TOOLS = Discriminator(
    _kind_of, custom_error_type="tool", custom_error_message="only functions and custom tools are supported"
)

Tool: TypeAlias = Annotated[
    Annotated[Function, Tag("item function")] | Annotated[CustomTool, Tag("item custom")], _TOOLS
]


class ToolReference(Body):
    """A tool, by its name."""

    type: Literal["custom", "function"]
    name: str


class AllowedReferences(Body):
    """The tools of the request that may be called."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: list[ToolReference]


Choice: TypeAlias = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("a word")]
    | Annotated[ToolReference, Tag("one tool")]
    | Annotated[AllowedReferences, Tag("some tools")],
    Discriminator(choice_kind),
]


class Reasoning(Body):
    """The options of the thought; summaries are not supported."""

    effort: Effort | None = None
    summary: Any = None


class ResponsesRequest(TextRequest):
    """A request to ``/v1/responses``."""

    endpoint = "/v1/responses"

    input: StrictStr | list[Item] = Field(min_length=1)
    instructions: StrictStr | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    text: TextConfig | None = None
    tools: list[Tool] | None = None
    tool_choice: Choice | None = None
    parallel_tool_calls: bool | None = None
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
        else:
            functions = [each.as_tool() for each in self.tools or () if isinstance(each, Function)]
            shared |= {"tools": functions, "tool_choice": self._chat_choice()}
            shared["parallel_tool_calls"] = self.parallel_tool_calls
        if tool is None and self.text is not None and self.text.format is not None:
            shared["response_format"] = self._form(self.text.format)
        messages = list(self._messages())
        if not messages:
            raise Refused("the input has no message", "input", "missing", "Give one.")
        return ChatRequest.model_construct(
            **shared,
            messages=messages,
            max_completion_tokens=self.max_output_tokens,
            chat_template_kwargs=self.chat_template_kwargs,
            reasoning_effort=None if self.reasoning is None else self.reasoning.effort,
            logprobs=has_logprobs,
            top_logprobs=self.top_logprobs if has_logprobs else None,
        )

    def _form(self, given: TextFormat) -> ResponseFormat:
        """The form of an answer, as a field of a chat."""
        if self.response_format is not None:
            raise Refused("text.format and response_format cannot be used together", "response_format", "conflict")
        if given.type == "json_schema":
            return ResponseFormat(type=given.type, json_schema=JsonSchemaFormat(schema=given.schema_))
        return ResponseFormat(type=given.type, schema=given.schema_)

    def _chat_choice(self) -> Literal["none", "auto", "required"] | NamedTool | AllowedTools | None:
        """The choice of functions, as a field of a chat."""
        match self.tool_choice:
            case ToolReference(name=name):
                return _named(name)
            case AllowedReferences(mode=mode, tools=tools):
                allowed = ToolSet(mode=mode, tools=[_named(each.name) for each in tools])
                return AllowedTools(type="allowed_tools", allowed_tools=allowed)
            case choice:
                return choice

    def _messages(self) -> Iterator[ChatMessage]:
        """The conversation, as messages of a chat.

        A thought becomes part of the assistant's next message, a call part of the message before it.
        """
        if self.instructions is not None:
            yield ChatMessage(role="system", content=self.instructions)
        begun: ChatMessage | None = None  # a message of the assistant that may get further calls
        items = [InputMessage(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        for place, item in enumerate(items):
            if isinstance(item, FunctionCall):
                begun = begun or ChatMessage(role="assistant", content="")
                begun.tool_calls = [*(begun.tool_calls or ()), item.as_call(f"input[{place}]")]
                continue
            if isinstance(item, ThoughtItem) and not item.text:
                continue
            message = _message_of(item)
            goes_on = message.role == "assistant" and not isinstance(item, ThoughtItem)
            if goes_on and begun is not None and begun.reasoning_content and not (begun.content or begun.tool_calls):
                message.reasoning_content, begun = begun.reasoning_content, None
            if begun is not None:
                yield begun
            begun = message if message.role == "assistant" and not isinstance(item, CustomCall) else None
            if begun is None:
                yield message
        if begun is not None:
            yield begun


def _message_of(item: InputMessage | ThoughtItem | FunctionCallOutput | CustomCall | CustomCallOutput) -> ChatMessage:
    """The message of a chat for an item."""
    match item:
        case ThoughtItem():
            return ChatMessage(role="assistant", content="", reasoning_content=item.text)
        case InputMessage():
            return ChatMessage(role=item.role, content=_text_of(item.content))
        case FunctionCallOutput():
            return ChatMessage(role="tool", content=_text_of(item.output), tool_call_id=item.call_id)
        case CustomCall():
            return ChatMessage(role="assistant", content=item.input)
        case CustomCallOutput():
            return ChatMessage(role="tool", content=_text_of(item.output))


def _text_of(content: str | list[ContentPart]) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)  # as in a chat


def _named(name: str) -> NamedTool:
    return NamedTool(type="function", function=ToolName(name=name))


def _tool_of(body: ResponsesRequest) -> CustomTool | None:
    """Return the custom tool that is called; ``None``: none is.

    Raises:
        Refused: There is no such tool, or the model would have to choose a custom tool.
    """
    offered, choice = body.tools or [], body.tool_choice
    must = choice == "required"
    if isinstance(choice, ToolReference):
        offered, must = [_found(body, choice, "tool_choice")], True
    elif isinstance(choice, AllowedReferences):
        offered = [_found(body, each, f"tool_choice.tools[{place}]") for place, each in enumerate(choice.tools)]
        must = choice.mode == "required"
    custom = next((tool for tool in offered if isinstance(tool, CustomTool)), None)
    if custom is None or choice == "none":
        return None
    if not must or len(offered) > 1:
        hint = 'Name one: "tool_choice": {"type": "custom", "name": …}, or allow functions alone.'
        raise Refused("the model cannot choose a custom tool", "tool_choice", hint=hint)
    return custom


def _found(body: ResponsesRequest, given: ToolReference, path: str) -> Function | CustomTool:
    """The tool with a name.

    Raises:
        Refused: There is none.
    """
    for tool in body.tools or ():
        if (tool.type, tool.name) == (given.type, given.name):
            return tool
    kind = "function" if given.type == "function" else "custom tool"
    raise Refused(f"there is no {kind} {given.name!r:.60}", f"{path}.name", "invalid_value")


def _constraint_of(tool: CustomTool) -> dict[str, Any]:
    """The constraint of a tool's input, as a field of a chat."""
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
        tool: The custom tool that is called; ``None``: the answer has messages and calls of functions.
        request: The parsed request; its fields are those of the request.
    """

    body: ResponsesRequest
    chat: ChatRequest
    tool: CustomTool | None
    request: GenerationRequest

    @classmethod
    def of(cls, body: ResponsesRequest) -> Asked:
        """Read a request.

        Raises:
            Refused: A field that would change the text is not supported.
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
            request = read_request(chat)
        except Refused as error:
            for name in sorted(names, key=len, reverse=True):
                error.message = error.message.replace(name, names[name])
            error.param = names.get(error.param or "", error.param)
            raise
        fields = {name: names.get(field, field) for name, field in request.fields.items()}
        if request.calling is not None and request.top_logprobs is not None:
            hint = f'Leave {LOGPROBS} out, or give "tool_choice": "none".'
            raise Refused("log-probabilities are told of texts without calls", "include", "conflict", hint)
        return cls(
            body, chat, tool, replace(request, fields=fields, tools=request.tools if tool is None else _told(tool))
        )


_NAMES: Mapping[str, str] = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "response_format.json_schema": "text.format",
    "response_format.json_schema.schema": "text.format.schema",
}
"""Fields of a chat by the names that they have here."""


def _told(tool: CustomTool | None) -> Tools:
    """A tool in the form that chat templates take."""
    if tool is None or tool.description is None:
        return ()
    text = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    told = {"name": tool.name, "description": tool.description, "parameters": text}
    return ({"type": "function", "function": told},)
