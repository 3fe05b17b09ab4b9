"""Turn a prompt into token ids: with the tokens that the tokenizer puts around it, or by its chat template.

A chat template is a program in Jinja that writes a conversation as one text. A tokenizer of transformers renders its
own template; ``render`` is for templates without such a tokenizer. A template is not trusted: it runs in Jinja's
sandbox, with the functions that transformers documents for templates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any, Protocol

from sfgen.errors import ModelError, UsageError, first_line
from sfgen.models.chat_forms import FIELDS, ThoughtForm, thought_form
from sfgen.models.messages import (
    ChatPrompt,
    Message,
    TemplateVariables,
    Tools,
    begun_answer,
    checked_messages,
    checked_tools,
    checked_variables,
    user_message,
)
from sfgen.models.tool_forms import ToolForm
from sfgen.models.tool_probe import tool_form
from sfgen.parameter_text import ParameterText
from sfgen.printable import json_text

WITHOUT_CHAT = ParameterText("Leave chat out, and the options that need it, or use an instruction-tuned model.", "chat")
"""The advice for a model without a chat template."""

_NO_CHAT = ParameterText("Leave chat out.", "chat")
_WITH_TOOLS = ParameterText("Give it tools, without which it cannot be used; or leave chat out.", "tools", "chat")
_NO_TOOLS = ParameterText("If it asks for descriptions, give each tool and parameter one; or leave chat out.", "chat")
_ANY_TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "f", "parameters": {"type": "object", "properties": {}}},
}
_MARK = "sfgen.goes.on.here"
_OTHER_ROLE = "Write its text into the message of the user, or use a model that was trained with this role."


class PromptTokenizer(Protocol):
    """The methods of a tokenizer that encode prompts."""

    @property
    def begin_token(self) -> int | None:
        """The token that begins a text; ``None`` if there is none."""

    @property
    def end_token(self) -> int | None:
        """The token that ends a text; ``None`` if there is none."""

    @property
    def has_chat_template(self) -> bool:
        """Whether there is a chat template."""

    def before(self) -> list[int]:
        """Return the tokens that the tokenizer writes before each text."""

    def inside(self, text: str) -> list[int]:
        """Tokenize a text alone, reading the names of special tokens."""

    def rendered(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Tools | None,
        variables: TemplateVariables | None = None,
        *,
        begins_answer: bool,
    ) -> str:
        """Render a conversation."""


class Prompts:
    """The encoder of one model's prompts."""

    def __init__(self, tokenizer: PromptTokenizer, name: str) -> None:
        self._tokenizer = tokenizer
        self._name = name

    def encode(self, text: str) -> list[int]:
        """Tokenize a text that a model is to continue."""
        # The begin token that the tokenizer writes before each text comes first, once. The end token that it writes
        # after each text is left out: it would end the text before its continuation. The empty text is the first
        # tokens alone, else the begin token, else the end token.
        ids, before = self.inside(text), self._before
        if ids and ids[0] in before:  # a begin token after it is part of the text
            before = before[: before.index(ids[0])]
        ids = [*before, *ids]
        if not ids:
            first = next(
                (token for token in (self._tokenizer.begin_token, self._tokenizer.end_token) if token is not None), None
            )
            if first is None:
                raise ModelError(
                    f"{self._name} has no begin token and no end token to start an empty prompt from",
                    hint="Give a prompt.",
                )
            ids = [first]
        return ids

    def chat(
        self,
        messages: str | Sequence[Message],
        tools: Tools | None = None,
        variables: TemplateVariables | None = None,
    ) -> ChatPrompt:
        """Tokenize a conversation, up to where the answer begins or goes on."""
        # The chat template writes all special tokens that it wants; the tokenizer adds none.
        messages = [user_message(messages)] if isinstance(messages, str) else checked_messages(messages)
        if not self._tokenizer.has_chat_template:
            raise UsageError(
                f"{self._name} has no chat template",
                hint=WITHOUT_CHAT,
            )
        begun = begun_answer(messages)
        variables = checked_variables(variables)
        text = _Written(self._tokenizer, self._name, checked_tools(tools), begun, variables).text(messages)
        ids = self.inside(text)
        if not ids:
            raise ModelError(f"the chat template of {self._name} writes nothing", hint=_NO_CHAT)
        begin = self._tokenizer.begin_token
        ids = ids[1:] if begin is not None and ids[:2] == [begin, begin] else ids
        return ChatPrompt(ids, text=text, begun=None if begun is None else _common_end(text, begun))

    @cached_property
    def thought(self) -> ThoughtForm | None:
        """The form of thoughts in the chat template; ``None``: it has none."""
        return thought_form(self._tried) if self._tokenizer.has_chat_template else None

    @cached_property
    def tool_form(self) -> ToolForm | None:
        """The form of calls in the chat template; ``None``: it has none."""
        return tool_form(self._tried) if self._tokenizer.has_chat_template else None

    def _tried(
        self,
        messages: Sequence[Mapping[str, Any]],
        variables: TemplateVariables,
        *,
        begins_answer: bool,
        tools: Tools | None = None,
    ) -> str | None:
        try:
            return self._tokenizer.rendered(messages, tools, variables, begins_answer=begins_answer)
        except Exception:  # a template is a program of its own: it raises whatever it likes
            return None

    def inside(self, text: str) -> list[int]:
        """Tokenize a text inside another one, adding nothing around it."""
        # Half characters, which no tokenizer takes, become question marks.
        return self._tokenizer.inside(text.encode("utf-8", "replace").decode())

    @cached_property
    def _before(self) -> list[int]:
        return self._tokenizer.before()


@dataclass(frozen=True)
class _Written:
    """Writes a conversation by a chat template.

    Attributes:
        tokenizer: The tokenizer with the template.
        name: What messages call the model.
        tools: The tools that the model may call.
        begun: The answer that the assistant has begun, the last message; ``None``: there is none.
        variables: Further variables of the template.
    """

    tokenizer: PromptTokenizer
    name: str
    tools: Tools | None
    begun: str | None
    variables: TemplateVariables | None = None

    def text(self, messages: Sequence[Message]) -> str:
        """Write the conversation as one text; refuse a template that leaves a message out."""
        if self.begun is None:
            return self._whole(messages)
        # The template adds an end to the begun message: a mark shows where that end begins.
        mark = _MARK
        while any(mark in message["content"] for message in messages):
            mark += "."
        text = self._whole([*messages[:-1], {**messages[-1], "content": self.begun + mark}])
        before, found, _ = text.rpartition(mark)
        if not found:
            raise ModelError(
                f"the chat template of {self.name} leaves the end of the message $[{len(messages) - 1}] out, where the "
                "text should go on",
                hint="End with a message of the user.",
            )
        return before

    def _whole(self, messages: Sequence[Message]) -> str:
        users = [message for message in messages if message["role"] == "user"] or messages
        try:
            rendered = self._rendered(messages)
            if any(message["content"].strip() not in rendered for message in users):
                # Templates of models that see pictures go through a message part by part, and find no text in a string.
                messages = [
                    {**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages
                ]
                rendered = self._rendered(messages)
        except ModelError as error:
            # If the conversation can be written without a role, the template refuses that role.
            for role in dict.fromkeys(message["role"] for message in messages):
                if role not in ("user", "assistant") and self._is_written([m for m in messages if m["role"] != role]):
                    raise self._without_role(role, error.message) from error
            raise
        for place, message in enumerate(messages):
            self._check_written(rendered, messages, place, message["role"])
        return rendered

    def _check_written(self, rendered: str, messages: Sequence[Message], place: int, role: str) -> None:
        """Refuse a template that leaves a message out."""
        content: Any = messages[place]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        called = [call["function"]["name"] for call in messages[place].get("tool_calls", ())]
        if text.strip() in rendered and all(name in rendered for name in called):
            return
        if called and text.strip() in rendered:
            raise UsageError(
                f"the chat template of {self.name} leaves the calls of the message $[{place}] out",
                hint="Leave tool_calls out, or use a model whose chat template writes calls.",
            )
        if role == "user":
            raise ModelError(
                f"the chat template of {self.name} leaves the message out",
                hint=_NO_CHAT,
            )
        # A part of a message may be left out, such as an earlier thought.
        try:
            is_left_out = self._rendered([*messages[:place], *messages[place + 1 :]]) == rendered
        except ModelError:  # the template wants the message
            return
        if is_left_out:
            raise self._without_role(role, f"the chat template of {self.name} leaves the message $[{place}] out")

    def _without_role(self, role: str, why: str) -> UsageError:
        return UsageError(
            f"the chat template of {self.name} has no role {role}", details=(f"  {why}",), hint=_OTHER_ROLE
        )

    def _is_written(self, messages: Sequence[Message]) -> bool:
        try:
            self._rendered(messages)
        except ModelError:
            return False
        return True

    def _rendered(self, messages: Sequence[Message]) -> str:
        try:
            return self._told_in_some_way(messages)
        except ImportError as error:
            raise ModelError("chat templates need the package jinja2", hint="Install it: pip install jinja2") from error
        except Exception as error:  # a template is a program of its own: it raises whatever it likes
            raise ModelError(
                f"the chat template of {self.name} fails: {first_line(error)}",
                hint=_NO_TOOLS if self.tools is not None else _WITH_TOOLS if self._needs_tools(messages) else _NO_CHAT,
            ) from error

    def _needs_tools(self, messages: Sequence[Message]) -> bool:
        """Return whether a template that fails without tools can be used with one."""
        with suppress(Exception):
            return bool(replace(self, tools=[_ANY_TOOL])._told_in_some_way(messages))
        return False

    def _told_in_some_way(self, messages: Sequence[Message]) -> str:
        """Render messages; if the template refuses them, in other forms that mean the same."""
        ways = [list(messages)]
        for change in (_with_arguments_as_text, _without_thought_beside_calls):
            ways += [changed for way in ways if (changed := [change(message) for message in way]) != way]
        try:
            return self._told(messages)
        except Exception:
            for way in ways[1:]:
                with suppress(Exception):
                    return self._told(way)
            raise

    def _told(self, messages: Sequence[Message]) -> str:
        told = [_with_thought_named(message) for message in messages]
        return self.tokenizer.rendered(told, self.tools, self.variables, begins_answer=self.begun is None)


def _with_thought_named(message: Message) -> Message:
    """A message that gives its thought under all names that templates use."""
    if "reasoning_content" not in message:
        return message
    return {**message, **dict.fromkeys(FIELDS, message["reasoning_content"])}


def _without_thought_beside_calls(message: Message) -> Message:
    """A message with calls and a text, without its thought: some templates write only one of the two before calls."""
    if not (message.get("tool_calls") and message["content"]):
        return message
    return {name: value for name, value in message.items() if name != "reasoning_content"}


def _with_arguments_as_text(message: Message) -> Message:
    """A message whose calls have their arguments as JSON text: some templates take no other form."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json_text(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def _common_end(text: str, other: str) -> str:
    """Return the longest common suffix of two texts, blanks around them aside.

    >>> _common_end("[me]Sure: ", "  Sure: "), _common_end("a", "b")
    ('Sure: ', '')
    """
    pairs = zip(reversed(text), reversed(other), strict=False)
    size = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return text[len(text) - size :]


def render(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    special: Mapping[str, str],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    variables: TemplateVariables | None = None,
    begins_answer: bool = True,
) -> str:
    """Render a conversation by a chat template, up to where the answer begins.

    >>> template = "{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}"
    >>> render(template, [{"role": "user", "content": "Hi!"}], {"bos_token": "<s>"})
    '<s>[user] Hi!'
    """
    set_here = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": begins_answer}
    return str(_compiled(template).render({**(variables or {}), **set_here, **special}))


@lru_cache(maxsize=4)
def _compiled(template: str) -> Any:
    """Compile a chat template, which takes longer than to render it."""
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """``{% generation %}``, which marks the text of an answer for training, and writes nothing itself."""

        tags = {"generation"}  # noqa: RUF012 - as its base has it

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(template)


def _to_json(value: Any, **options: Any) -> str:
    """Write JSON with plain characters, not with escapes for web pages."""
    # Jinja's own filter writes it for web pages.
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _refuse(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)
