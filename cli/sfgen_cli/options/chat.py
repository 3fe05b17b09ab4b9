"""``--system`` and ``--chat-file``: what a conversation begins with before the prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen.errors import InputError, UsageError
from sfgen_cli.options.generation import GenerationOptions
from sfgen_cli.options.prompts import argument_text, read_text

if TYPE_CHECKING:
    from sfgen.models.messages import Message


def read_messages(options: GenerationOptions) -> tuple[Message, ...]:
    """Read the messages before the prompt; none if none are given.

    Raises:
        UsageError: The file is not a list of messages, or it and ``--system`` both say what the system says; or
            ``--heal`` beside them.
        InputError: The file cannot be read, or is not JSON.
    """
    messages = () if options.chat_file is None else _messages_of(options.chat_file)
    if options.heal and not (messages and messages[-1]["role"] == "assistant"):
        _refuse_healing(options)
    if options.chat_file is not None and not messages:
        raise UsageError(
            f"{_name(options.chat_file)} has no message", hint="Leave --chat-file out, or write messages into it."
        )
    if options.system is None:
        return messages
    if any(message["role"] == "system" for message in messages):
        raise UsageError(
            f"--system and --chat-file cannot be used together here: {options.chat_file} has a message of the system",
            hint="Leave --system out.",
        )
    return ({"role": "system", "content": argument_text(options.system)}, *messages)


def _refuse_healing(options: GenerationOptions) -> None:
    for name, given in (("--system", options.system), ("--chat-file", options.chat_file)):
        if given is not None:
            raise UsageError(
                f"{name} and --heal cannot be used together: a template writes the end of a chat",
                hint="Leave --heal out, or let the conversation end with a message of the assistant.",
            )


def _messages_of(file: Path) -> tuple[Message, ...]:
    from sfgen.models.messages import checked_messages

    name = _name(file)
    try:
        listed: Any = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name} is not JSON: {error.msg}, line {error.lineno}, column {error.colno}",
            hint='--chat-file has a list: [{"role": "user", "content": "Hi!"}]',
        ) from None
    except (RecursionError, ValueError):  # also a whole number of thousands of digits
        raise InputError(f"{name} is JSON that cannot be kept") from None
    try:
        return checked_messages(listed)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from None


def _name(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)
