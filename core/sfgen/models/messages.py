"""Conversations: the messages that a chat template writes as one text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Model

Message: TypeAlias = Mapping[str, str]
"""A message: its ``role`` and its ``content``."""

Prompt: TypeAlias = str | Sequence[int] | Sequence[Message]
"""What a model is to go on with: text, the ids of its tokens, or the messages of a conversation."""

ROLES = ("system", "developer", "user", "assistant", "tool")
"""Who may write a message. A chat template may know fewer."""

_FORM = 'A conversation is a list of {"role": "user", "content": "…"}.'


def user_message(content: str) -> Message:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def checked_messages(messages: object) -> tuple[Message, ...]:
    """Check the form of some messages.

    Raises:
        UsageError: It is not a list, or a message is of another form; says where, as a JSON path.

    >>> checked_messages([{"role": "user", "content": "Hi!"}])
    ({'role': 'user', 'content': 'Hi!'},)
    >>> checked_messages([{"role": "robot", "content": "Hi!"}])
    Traceback (most recent call last):
    sfgen.errors.UsageError: $[0].role is 'robot'
    It is one of 'system', 'developer', 'user', 'assistant', 'tool'.
    """
    listed = arguments.items("messages", messages, "a list of messages", hint=_FORM)
    return tuple(_checked(place, message) for place, message in enumerate(listed))


def check_conversation(messages: Sequence[Message]) -> None:
    """Refuse messages that a model cannot answer.

    Args:
        messages: As ``checked_messages`` returns them.

    Raises:
        UsageError: No message is by the user, or the last one is by the assistant.
    """
    if not any(message["role"] == "user" for message in messages):
        raise UsageError(
            "the conversation has no message of a user", hint="Give a prompt, or a message with the role user."
        )
    if messages[-1]["role"] == "assistant":
        raise UsageError(
            f"$[{len(messages) - 1}] is a message of the assistant, and there is nothing to answer behind it",
            hint="Give a prompt, or end with a message of the user.",
        )


def is_conversation(prompt: object) -> bool:
    """Tell whether a prompt is messages, rather than text or token ids."""
    return isinstance(prompt, Sequence) and not isinstance(prompt, str | bytes) and isinstance(_first(prompt), Mapping)


def chat_ids(model: Model, messages: Iterable[Message]) -> Sequence[int]:
    """Tokenize a conversation with a model's chat template.

    It ends where the answer begins.

    Args:
        model: The model.
        messages: Each with a ``role`` and a ``content``.

    Raises:
        UsageError: The messages are of another form, or the model has no chat template or not all of the roles.
        ModelError: The template cannot be used.
    """
    checked = checked_messages(messages)
    check_conversation(checked)
    chat = getattr(model, "chat", None)
    if chat is None:
        raise UsageError(
            f"the model {getattr(model, 'name', type(model).__name__)} has no chat template",
            hint=ParameterText("Leave chat out, or name another model.", "chat"),
        )
    alone = len(checked) == 1
    ids: Sequence[int] = chat(checked[0]["content"] if alone else checked)
    return ids


def prompt_of(model: Model, prompt: Prompt) -> str | Sequence[int]:
    """Return a prompt as text or token ids.

    Args:
        model: The model, whose chat template is used for messages.
        prompt: Text and token ids are returned as they are.

    Raises:
        UsageError: It is several prompts.
        SfgenError: As ``chat_ids``.
    """
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


def _checked(place: int, message: object) -> Message:
    """A message, if it has the right form."""
    where = f"$[{place}]"
    if not isinstance(message, Mapping):
        raise arguments.refusal(where, "a message", message, hint=_FORM)
    for key in message:
        if key not in ("role", "content"):
            raise UsageError(f"{where} has the key {key!r:.60}", hint=_FORM)
    for key in ("role", "content"):
        if key not in message:
            raise UsageError(f"{where} has no {key}", hint=_FORM)
    arguments.one_of(f"{where}.role", message["role"], ROLES)
    content = arguments.text(f"{where}.content", message["content"])
    if arguments.utf8(f"{where}.content", content) is None:
        raise UsageError(f"{where}.content has half of a surrogate pair, which is not text")
    return {"role": message["role"], "content": content}
