"""sfgen's models in ``llm``, with constraints as its schemas and options.

``llm install sfgen`` (or ``pip install sfgen`` beside ``llm``) makes ``llm`` find this module by its entry point:

    llm -m sfgen/tiny --schema 'name, age int' 'A person: '
    llm -m sfgen/tiny -o regex '[0-9]{4}-[0-9]{2}' 'The date: '
    llm chat -m sfgen/gemma.gguf -o ban 'talk, listen'

The models are the built-in ones and those of this machine (``sfgen.models.inventory``), by their names; each is loaded
when it is first used. A model without a chat template, such as ``tiny``, continues the text of the conversation so far.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from functools import lru_cache
from typing import Any

import llm
from llm import ModelError as LlmError
from pydantic import Field

import sfgen
from sfgen.ban.words import split_words
from sfgen.decoding.events import Event, Finished, TextReleased
from sfgen.errors import SfgenError, UsageError
from sfgen.models.inventory import built_in_models, models_here
from sfgen.models.messages import Message, chat_ids
from sfgen.models.prompt import WITHOUT_CHAT
from sfgen.protocols import Model

PREFIX = "sfgen/"
"""The prefix of the models' names in ``llm``."""

_KEPT = 2  # the most models that stay loaded


@llm.hookimpl
def register_models(register: Callable[..., None]) -> None:
    """Register the models of this machine."""
    for found in [*built_in_models(), *models_here()]:
        if not found.problem and not found.name.startswith("zip:"):
            register(SfgenModel(found.name), AsyncSfgenModel(found.name))


class SfgenOptions(llm.Options):
    """The options of a prompt: constraint, banned words and sampling."""

    regex: str | None = Field(default=None, description="A pattern that the whole text must match.")
    choices: str | None = Field(default=None, description="Texts of which it must be one, with commas between.")
    grammar: str | None = Field(default=None, description="A grammar of Lark or GBNF that it must match.")
    template: str | None = Field(default=None, description="Text with holes, such as '{{name: regex [A-Z][a-z]+}}'.")
    ban: str | None = Field(default=None, description="Words that it must not contain, with commas between.")
    temperature: float | None = Field(default=None, ge=0, description="0 is greedy, the default without a seed.")
    seed: int | None = Field(default=None, ge=0, description="The same seed gives the same text.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="The likeliest tokens of this probability.")
    top_k: int | None = Field(default=None, ge=1, description="The likeliest tokens of this number.")
    max_tokens: int | None = Field(default=None, ge=1, description="The most tokens; 256 by default.")


class _Asked:
    """The common part of both classes: turns a prompt into parameters, and events into text."""

    can_stream = True
    supports_schema = True

    def __init__(self, name: str) -> None:
        self.model_id = f"{PREFIX}{name}"
        self._name = name

    def _parameters(self, prompt: llm.Prompt) -> dict[str, Any]:
        """The parameters of ``sfgen.stream``."""
        options: dict[str, Any] = prompt.options.model_dump(exclude_none=True)
        for name, parameter in (("choices", "choices"), ("ban", "banned")):
            if name in options:
                options[parameter] = split_words(options.pop(name))
        return options | ({} if prompt.schema is None else {"schema": prompt.schema})

    def _prompt(self, model: Model, prompt: llm.Prompt) -> Any:
        """The conversation, as a chat template or, without one, as one text."""
        messages: list[Message] = [
            {"role": message.role, "content": "\n".join(getattr(part, "text", "") for part in message.parts)}
            for message in prompt.messages
        ]
        try:
            return chat_ids(model, messages)
        except UsageError as error:
            if error.hint != WITHOUT_CHAT:
                raise
            return "\n\n".join(message["content"] for message in messages)

    def _text(self, event: Event, response: Any) -> str:
        """The text of an event; the last event has the number of tokens."""
        if isinstance(event, Finished):
            response.set_usage(input=event.result.prompt_tokens, output=len(event.result.token_ids))
        return event.text if isinstance(event, TextReleased) else ""


class SfgenModel(_Asked, llm.Model):
    """A model of sfgen."""

    class Options(SfgenOptions, llm.Model.Options):
        """The options of a prompt."""

    def execute(
        self, prompt: llm.Prompt, stream: bool, response: llm.Response, conversation: llm.Conversation | None
    ) -> Iterator[str]:
        """Write a text."""
        try:
            model = _loaded(self._name)
            for event in sfgen.stream(model, self._prompt(model, prompt), **self._parameters(prompt)):
                if text := self._text(event, response):
                    yield text
        except SfgenError as error:
            raise LlmError(str(error)) from error


class AsyncSfgenModel(_Asked, llm.AsyncModel):
    """A model of sfgen for an event loop: the text is generated in a thread."""

    class Options(SfgenOptions, llm.AsyncModel.Options):
        """The options of a prompt."""

    async def execute(
        self, prompt: llm.Prompt, stream: bool, response: llm.AsyncResponse, conversation: llm.AsyncConversation | None
    ) -> AsyncGenerator[str, None]:
        """Write a text."""
        try:
            model = await asyncio.to_thread(_loaded, self._name)
            async for event in sfgen.astream(model, self._prompt(model, prompt), **self._parameters(prompt)):
                if text := self._text(event, response):
                    yield text
        except SfgenError as error:
            raise LlmError(str(error)) from error


@lru_cache(maxsize=_KEPT)
def _loaded(name: str) -> Model:
    """A model, loaded once."""
    return sfgen.load_model(name)
