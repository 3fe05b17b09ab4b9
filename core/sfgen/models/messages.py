"""Conversations: the messages that a chat template writes as one text."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Model

Message: TypeAlias = Mapping[str, Any]
"""A message: its ``role`` and its ``content``, and maybe the ``name`` of its writer, for templates that write it.

The assistant's may have ``reasoning_content``, the thought before it, and ``tool_calls``, each ``{"type": "function",
"id": …, "function": {"name": …, "arguments": {…}}}``, and a tool's answer the ``tool_call_id`` of its call.
"""

Tools: TypeAlias = Sequence[Mapping[str, Any]]
"""Tools that a model may call, as chat templates take them: ``{"type": "function", "function": {"name": …}}``."""

TemplateVariables: TypeAlias = Mapping[str, Any]
"""Further variables of a chat template, such as ``enable_thinking``."""

Prompt: TypeAlias = str | Sequence[int] | Sequence[Message]
"""A prompt that a model continues: text, token ids, or the messages of a conversation."""

ROLES = ("system", "developer", "user", "assistant", "tool")
"""The roles of messages. A chat template may know fewer."""

_SET_HERE = frozenset(
    {
        *("conversation", "messages", "tools", "documents", "chat_template", "add_generation_prompt"),
        *("continue_final_message", "tokenize", "padding", "truncation", "max_length", "return_tensors"),
        *("return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs", "processor_kwargs", "self"),
        *("bos_token", "eos_token"),
    }
)
"""Names that a caller may not use for variables: they are set when a template is rendered."""

_TOOL = 'A tool is {"type": "function", "function": {"name": "…", "description": "…", "parameters": {…}}}.'
_CALL = 'A call is {"type": "function", "id": "…", "function": {"name": "…", "arguments": {…}}}.'
_FORM = 'A conversation is a list of {"role": "user", "content": "…"}.'


def user_message(content: str) -> Message:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def checked_messages(messages: object) -> tuple[Message, ...]:
    """Check the form of some messages.

    >>> checked_messages([{"role": "user", "content": "Hi!"}])
    ({'role': 'user', 'content': 'Hi!'},)
    >>> checked_messages([{"role": "robot", "content": "Hi!"}])
    Traceback (most recent call last):
    sfgen.errors.UsageError: $[0].role is 'robot'
    Use one of 'system', 'developer', 'user', 'assistant', 'tool'.
    """
    listed = arguments.items("messages", messages, "a list of messages", hint=_FORM)
    return tuple(_checked(place, message) for place, message in enumerate(listed))


def check_conversation(messages: Sequence[Message]) -> None:
    """Refuse messages without one of a user: the prompt was probably forgotten."""
    if not any(message["role"] == "user" for message in messages):
        raise UsageError(
            "the conversation has no message of a user", hint="Give a prompt, or a message with the role user."
        )


def checked_tools(tools: object) -> Tools | None:
    """Check the form of tools for a chat template; ``None``: there are none."""
    if tools is None:
        return None
    listed = list(arguments.items("tools", tools, "a list of tools", hint=_TOOL))
    for place, tool in enumerate(listed):
        if not isinstance(tool, Mapping):
            raise arguments.refusal(f"$[{place}]", "a tool", tool, hint=_TOOL)
    return [dict(tool) for tool in listed]


def checked_variables(variables: object) -> TemplateVariables | None:
    """Check variables for a chat template; ``None``: there are none.

    >>> checked_variables({"tools": []})
    Traceback (most recent call last):
    sfgen.errors.UsageError: the variable 'tools' of a chat template is set by sfgen itself
    Leave it out.
    """
    if variables is None:
        return None
    named = arguments.mapping("variables", variables)
    for name in named:
        arguments.text("variables: each name", name)
        if name in _SET_HERE or not name.isidentifier():
            why = "is set by sfgen itself" if name in _SET_HERE else "has no name of a variable"
            raise UsageError(f"the variable {name!r:.60} of a chat template {why}", hint="Leave it out.")
    return dict(named) or None


def begun_answer(messages: Sequence[Message]) -> str | None:
    """Return the beginning of an answer that a conversation ends with, or ``None``."""
    is_begun = len(messages) > 0 and messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls")
    return messages[-1]["content"] if is_begun else None


class ChatPrompt(list[int]):
    """The tokens of a conversation, as a chat template writes it.

    Attributes:
        text: What the template has written.
        begun: The end of ``text`` that is an answer which the assistant has begun; ``None`` if the model begins an
            answer.
    """

    def __init__(self, ids: Iterable[int], *, text: str, begun: str | None = None) -> None:
        super().__init__(ids)
        self.text = text
        self.begun = begun


def is_conversation(prompt: object) -> bool:
    """Return whether a prompt is messages, rather than text or token ids."""
    return isinstance(prompt, Sequence) and not isinstance(prompt, str | bytes) and isinstance(_first(prompt), Mapping)


def chat_ids(
    model: Model, messages: Iterable[Message], tools: Tools | None = None, variables: TemplateVariables | None = None
) -> Sequence[int]:
    """Tokenize a conversation with a model's chat template."""
    # It ends where the answer begins, or after a last message of the assistant, which the model continues.
    checked = checked_messages(messages)
    chat = getattr(model, "chat", None)
    if chat is None:
        raise UsageError(
            f"the model {getattr(model, 'name', type(model).__name__)} has no chat template",
            hint=ParameterText("Leave chat out, or name another model.", "chat"),
        )
    alone = len(checked) == 1 and checked[0]["role"] == "user" and "name" not in checked[0]
    known = inspect.signature(chat).parameters
    told: dict[str, Any] = {"tools": tools} if tools is not None and "tools" in known else {}
    if variables:
        if "variables" not in known:
            raise UsageError(
                f"the chat template of {getattr(model, 'name', type(model).__name__)} takes no variables",
                hint="Leave the variables out, or use a model whose chat template takes them.",
            )
        told["variables"] = variables
    ids: Sequence[int] = chat(checked[0]["content"] if alone else checked, **told)
    return ids


def sees_tools(model: Model, tools: Tools) -> bool:
    """Return whether a model's chat template writes the tools that it is given."""
    probe = (user_message("Hi!"),)
    return list(chat_ids(model, probe, tools)) != list(chat_ids(model, probe))


def prompt_of(model: Model, prompt: Prompt) -> str | Sequence[int]:
    """Return a prompt as text or token ids."""
    if is_conversation(prompt):
        return chat_ids(model, cast("Sequence[Message]", prompt))
    if isinstance(prompt, list | tuple) and isinstance(_first(prompt), str | list | tuple):
        raise arguments.refusal(
            "prompt",
            "one text, token ids or one conversation",
            prompt,
            hint="For several prompts: sfgen.job_records(sfgen.Job(model, sfgen.GenerationConfig(…)), prompts)",
        )
    return cast("str | Sequence[int]", prompt)


def _first(items: Sequence[Any]) -> Any:
    return items[0] if len(items) else None


_OF_ROLES = {"reasoning_content": "assistant", "tool_calls": "assistant", "tool_call_id": "tool"}


def _checked(place: int, message: object) -> Message:
    """Check the form of a message."""
    where = f"$[{place}]"
    if not isinstance(message, Mapping):
        raise arguments.refusal(where, "a message", message, hint=_FORM)
    for key in message:
        if key not in ("role", "content", "name", *_OF_ROLES):
            raise UsageError(f"{where} has the key {key!r:.60}", hint=_FORM)
    for key in ("role", "content"):
        if key not in message:
            raise UsageError(f"{where} has no {key}", hint=_FORM)
    arguments.one_of(f"{where}.role", message["role"], ROLES)
    keys = [key for key in ("content", "name", "reasoning_content", "tool_call_id") if key in message]
    texts = {key: arguments.text(f"{where}.{key}", message[key]) for key in keys}
    for key, text in texts.items():
        if arguments.utf8(f"{where}.{key}", text) is None:
            raise UsageError(f"{where}.{key} has half of a surrogate pair, which is not text")
    for key, role in _OF_ROLES.items():
        if key in message and message["role"] != role:
            raise UsageError(f"{where}.{key} is for the role {role}", hint="Leave it out.")
    if "tool_calls" not in message:
        return {"role": message["role"], **texts}
    calls = arguments.items(f"{where}.tool_calls", message["tool_calls"], "a list of calls", hint=_CALL)
    checked = [_checked_call(f"{where}.tool_calls[{number}]", call) for number, call in enumerate(calls)]
    return {"role": message["role"], **texts, "tool_calls": checked}


def _checked_call(where: str, call: object) -> Mapping[str, Any]:
    """Check the form of a call in a message."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise arguments.refusal(where, "a call", call, hint=_CALL)
    told = {"name": arguments.text(f"{where}.function.name", function.get("name"))}
    given = arguments.mapping(f"{where}.function.arguments", function.get("arguments"))
    made = {"id": arguments.text(f"{where}.id", call["id"])} if "id" in call else {}
    return {**made, "type": "function", "function": {**told, "arguments": dict(given)}}
