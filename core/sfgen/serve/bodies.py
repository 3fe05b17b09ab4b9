"""The bodies of requests: OpenAI's fields, those that clients of other servers send, and ours.

A field either is supported, or has a value that switches it off, or does not change the text, or the request is
refused: no field that would change the text is ever ignored (``unsupported_fields`` has the tables).

The names of others: ``guided_*`` and ``structured_outputs`` are vLLM's, ``grammar`` and ``json_schema`` llama-server's,
``regex`` and ``ebnf`` SGLang's, ``regex_pattern`` and ``grammar_string`` tabbyAPI's, ``banned_strings`` and
``banned_tokens`` koboldcpp's and tabbyAPI's, ``banned_regex`` ik_llama.cpp's, ``bad_words`` vLLM's. A single text is no
list of banned ones: to tabbyAPI it is one text, to koboldcpp its characters, and to many people words between commas.
``n_predict`` is llama-server's name for ``max_tokens``. For thoughts:
``chat_template_kwargs``, ``include_reasoning`` and ``thinking_token_budget`` are vLLM's, ``reasoning_format`` and
``thinking_budget_tokens`` llama-server's, ``separate_reasoning`` SGLang's.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, StrictInt, StrictStr, Tag

from sfgen.ban.entries import MatchMode
from sfgen.decoding.rollback_decision import AnyStrategyName
from sfgen.errors import SfgenError
from sfgen.models.messages import Message
from sfgen.serve.unsupported_fields import Fault, fault_of

MOST_SAMPLES = 128
MOST_LOGPROBS = 20

NEAR = 0.75
"""The similarity from which on a field's name counts as a misspelled one."""


Schema: TypeAlias = dict[str, Any] | bool | StrictStr
Texts: TypeAlias = list[StrictStr] | StrictStr
Listed: TypeAlias = Annotated[list[StrictStr], BeforeValidator(lambda value: [] if value == "" else value)]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Bias: TypeAlias = Annotated[float, Field(ge=-100, le=100)] | Literal[False]


class Refused(SfgenError):
    """The refusal of a request.

    Attributes:
        param: The path of the field that caused it.
        code: The fault, in one word.
    """

    def __init__(self, message: str, param: str | None, code: str = "unsupported_value", hint: str = "") -> None:
        self.param, self.code = param, code
        super().__init__(message, hint=hint)


class Body(BaseModel):
    """A body or a part of one, with all fields that it has."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)


class StreamOptions(Body):
    """The options of a stream."""

    include_usage: bool | None = None


class JsonSchemaFormat(Body):
    """A named schema, as in OpenAI's ``response_format``; it always binds the text, with ``strict`` or without."""

    name: str = "schema"
    description: str | None = None
    schema_: dict[str, Any] | bool | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseFormat(Body):
    """The form of an answer; a ``schema`` beside ``json_object`` is llama-server's."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaFormat | None = None
    schema_: dict[str, Any] | bool | None = Field(default=None, alias="schema")


class StructuredOutputs(Body):
    """The constraint of the text, by vLLM's names."""

    json_: Schema | None = Field(default=None, alias="json")
    regex: str | None = None
    choice: list[StrictStr] | None = None
    grammar: str | None = None
    json_object: bool | None = None


class OwnKeys(Body):
    """The key ``sfgen``: instructions as in records of jobs, and options of bans and of decoding."""

    regex: StrictStr | None = None
    choices: list[StrictStr] | None = None
    schema_: Schema | None = Field(default=None, alias="schema")
    grammar: StrictStr | None = None
    substring: dict[str, Any] | StrictStr | None = None
    template: StrictStr | None = None
    ban: list[StrictStr] | None = None
    match: MatchMode | None = None
    ignore_case: bool | None = None
    normalize: bool | None = None
    allow: list[StrictStr] | None = None
    strategy: AnyStrategyName | None = None
    healing: bool | None = None
    seed: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    messages: list[dict[str, Any]] | None = None


class TextRequest(Body):
    """The fields that all endpoints have in common.

    Attributes:
        endpoint: The path of the endpoint.
    """

    endpoint: ClassVar[str]

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1, le=MOST_SAMPLES)
    seed: int | None = Field(default=None, ge=-1)
    stop: Texts | None = None
    max_tokens: int | None = Field(default=None, ge=-1)
    n_predict: int | None = Field(default=None, ge=-1)
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=-1)
    min_p: float | None = Field(default=None, ge=0, le=1)
    repetition_penalty: float | None = Field(default=None, ge=0.01, le=100)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    logit_bias: dict[str, Bias] | list[tuple[StrictInt, Bias]] | None = None
    response_format: ResponseFormat | None = None
    numbers: Literal["schema", "any"] | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: Schema | None = None
    guided_regex: str | None = None
    guided_choice: list[StrictStr] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    grammar_string: str | None = None
    json_schema: Schema | None = None
    regex: str | None = None
    regex_pattern: str | None = None
    ebnf: str | None = None
    banned_strings: Listed | None = None
    bad_words: Listed | None = None
    banned_tokens: list[StrictStr | StrictInt] | StrictStr | None = None
    custom_token_bans: list[StrictInt] | StrictStr | None = None
    banned_regex: Listed | None = None
    banned_regex_case_insensitive: Listed | None = None
    token_healing: bool | None = None
    sfgen: OwnKeys | None = None


class CompletionRequest(TextRequest):
    """A request to ``/v1/completions``."""

    endpoint = "/v1/completions"

    prompt: StrictStr | list[StrictStr] | list[StrictInt] | list[list[StrictInt]] = ""
    logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)


class TextPart(Body):
    """A part of a message: only text is supported."""

    type: Literal["text"]
    text: str


class CalledFunction(Body):
    """A function that was called, and its arguments as JSON."""

    name: StrictStr
    arguments: StrictStr


class MessageCall(Body):
    """A call in a message of the assistant."""

    id: StrictStr | None = None
    type: Literal["function"] = "function"
    function: CalledFunction

    def told(self, path: str) -> dict[str, Any]:
        """Return it in the form that chat templates take."""
        given = arguments_of(self.function.arguments, f"{path}.function.arguments")
        named = {} if self.id is None else {"id": self.id}
        return {**named, "type": "function", "function": {"name": self.function.name, "arguments": given}}


def arguments_of(text: str, place: str) -> dict[str, Any]:
    """Read the arguments of a call.

    Raises:
        Refused: They are not the JSON of an object.
    """
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refused(f"{place} is not the JSON of an object", place, "invalid_value")
    return given


class ChatMessage(Body):
    """One message of a conversation; if the last one is of the assistant, the answer continues it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: StrictStr | list[TextPart] | None = None
    name: StrictStr | None = None  # most chat templates leave it out
    reasoning_content: StrictStr | None = None
    reasoning: StrictStr | None = None  # the same by another name
    tool_calls: list[MessageCall] | None = None
    tool_call_id: StrictStr | None = None

    def told(self, path: str) -> Message:
        """Return it in the form that chat templates take, with its content as one text.

        Raises:
            Refused: It has a field of another role, or arguments of a call that are not valid JSON.
        """
        of_roles = {"reasoning_content": "assistant", "reasoning": "assistant", "tool_calls": "assistant"}
        for key, role in {**of_roles, "tool_call_id": "tool"}.items():
            if getattr(self, key) and self.role != role:
                raise Refused(f"{path}.{key} is for the role {role}", f"{path}.{key}", hint="Leave it out.")
        content = self.content or ""
        text = content if isinstance(content, str) else "\n".join(part.text for part in content)  # as vLLM joins them
        told: dict[str, Any] = {"role": self.role, "content": text}
        told |= {key: value for key in ("name", "tool_call_id") if (value := getattr(self, key))}
        if thought := self.reasoning_content or self.reasoning:
            if self.reasoning not in (None, "", thought):
                where = f"{path}.reasoning"
                raise Refused(f"{where} and reasoning_content differ", where, "conflict", "Leave one out.")
            told["reasoning_content"] = thought
        if self.tool_calls:
            told["tool_calls"] = [
                call.told(f"{path}.tool_calls[{place}]") for place, call in enumerate(self.tool_calls)
            ]
        return told


class FunctionFacts(Body):
    """The name of a function and the schema of its arguments, which always binds them, with ``strict`` or without."""

    name: StrictStr = Field(min_length=1)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(Body):
    """A tool that a model may call."""

    type: Literal["function"]
    function: FunctionFacts


class ToolName(Body):
    """The name of a tool."""

    name: StrictStr


class NamedTool(Body):
    """The tool that is called."""

    type: Literal["function"]
    function: ToolName


class ToolSet(Body):
    """Some of the tools, and whether one must be called."""

    mode: Literal["auto", "required"]
    tools: list[NamedTool]


class AllowedTools(Body):
    """The tools of the request that may be called."""

    type: Literal["allowed_tools"]
    allowed_tools: ToolSet


def choice_kind(choice: Any) -> str:
    """Return the form of a ``tool_choice``; its name has a blank, by which paths in errors leave it out."""
    if isinstance(choice, str):
        return "a word"
    kind = choice.get("type") if isinstance(choice, dict) else getattr(choice, "type", None)
    return "some tools" if kind == "allowed_tools" else "one tool"


ToolChoice: TypeAlias = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("a word")]
    | Annotated[NamedTool, Tag("one tool")]
    | Annotated[AllowedTools, Tag("some tools")],
    Discriminator(choice_kind),
]


class ChatRequest(TextRequest):
    """A request to ``/v1/chat/completions``."""

    endpoint = "/v1/chat/completions"

    messages: list[ChatMessage] = Field(min_length=1)
    max_completion_tokens: int | None = Field(default=None, ge=-1)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)
    chat_template_kwargs: dict[str, Any] | None = None
    tools: list[FunctionTool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Effort | None = None
    reasoning_format: Literal["none", "auto", "deepseek"] | None = None
    separate_reasoning: bool | None = None
    include_reasoning: bool | None = None
    thinking_token_budget: int | None = Field(default=None, ge=-1)
    thinking_budget_tokens: int | None = Field(default=None, ge=-1)


def refuse_unknown(body: Body, path: str) -> None:
    """Refuse unknown fields, at any depth, unless their values switch them off."""
    is_asked = body.model_extra and isinstance(body, TextRequest)  # a schema of a megabyte is not copied without need
    settings = body.model_dump(exclude_none=True) if is_asked else {}
    if isinstance(body, ChatRequest):
        settings["goes_on"] = body.messages[-1].role == "assistant" and not body.messages[-1].tool_calls
    for name, value in (body.model_extra or {}).items():
        where = f"{path}{name}"
        if isinstance(body, ChatMessage) and name in ("prefix", "partial") and value is True:
            continue  # DeepSeek's and Qwen's names for a begun answer; see _conversation
        fault = fault_of(name, value, settings)
        if fault is not None:
            code = "unknown_parameter" if fault.is_unknown else "unsupported_value"
            fault = _unknown(body, name, fault) if fault.is_unknown else fault
            raise Refused(f"{where:.100} {fault.why}", where, code, fault.hint)
    for name, kind in type(body).model_fields.items():
        value = getattr(body, name)
        told = kind.alias or name
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, Body):
                refuse_unknown(item, f"{path}{told}[{number}]." if isinstance(value, list) else f"{path}{told}.")


def _unknown(body: Body, name: str, fault: Fault) -> Fault:
    """Say which endpoint has this field, or which field may be meant."""
    others = endpoints_of(name) if isinstance(body, TextRequest) else []
    if others:
        return Fault(f"is a field of {' and '.join(others)}", "Ask there, or leave it out.")
    own = [field.alias or each for each, field in type(body).model_fields.items()]
    near = get_close_matches(name[:100], own, 1, NEAR)
    return Fault(fault.why, f"Did you mean {near[0]}?") if near else fault


def endpoints_of(name: str) -> list[str]:
    """The endpoints whose requests have a field."""
    return [kind.endpoint for kind in TextRequest.__subclasses__() if name in kind.model_fields]
