"""From a prompt to token ids: what the tokenizer puts around it, and what its chat template makes of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

from sfgen.errors import ModelError, UsageError, first_line
from sfgen.models.chat_template import WITHOUT_CHAT
from sfgen.parameter_text import ParameterText

_NO_CHAT = ParameterText("Leave chat out.", "chat")


class PromptTokenizer(Protocol):
    """What is asked of a tokenizer to make token ids of prompts."""

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
        """What the tokenizer writes before each text."""

    def inside(self, text: str) -> list[int]:
        """The token ids of a text alone; the text of a special token becomes that token."""

    def rendered(self, content: Any) -> str:
        """What the chat template makes of a message from a user, up to where the answer begins.

        Args:
            content: The message: a text, or a list of parts.

        Raises:
            ImportError: A package is missing.
            Exception: Whatever the template raises.
        """


class Prompts:
    """Encodes the prompts of one model.

    Args:
        tokenizer: Its tokenizer.
        name: What messages call the model.
    """

    def __init__(self, tokenizer: PromptTokenizer, name: str) -> None:
        self._tokenizer = tokenizer
        self._name = name

    def encode(self, text: str) -> list[int]:
        """The token ids of a text that a model is to continue.

        What the tokenizer writes before each text (a begin token) comes first, once; what it writes after each text (an
        end token) is left out, since it would end the text before its continuation. The empty text is what comes
        first; else the begin token, else the end token.

        Raises:
            ModelError: The empty text, and there is nothing to start from.
        """
        ids, before = self.inside(text), self._before
        if ids and ids[0] in before:  # from there on it is written in the text itself
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

    def chat(self, text: str) -> list[int]:
        """The token ids of a message from a user, up to where the answer begins.

        The chat template writes all special tokens that it wants; the tokenizer adds none.

        Raises:
            UsageError: The tokenizer has no chat template.
            ModelError: The template cannot be used.
        """
        if not self._tokenizer.has_chat_template:
            raise UsageError(
                f"{self._name} has no chat template",
                hint=WITHOUT_CHAT,
            )
        rendered = self._rendered(text)
        if text.strip() not in rendered:
            # Templates of models that see pictures go through a message part by part, and find no text in a string.
            rendered = self._rendered([{"type": "text", "text": text}])
        if text.strip() not in rendered:
            raise ModelError(
                f"the chat template of {self._name} leaves the message out",
                hint=_NO_CHAT,
            )
        ids = self.inside(rendered)
        if not ids:
            raise ModelError(f"the chat template of {self._name} writes nothing", hint=_NO_CHAT)
        begin = self._tokenizer.begin_token
        return ids[1:] if begin is not None and ids[:2] == [begin, begin] else ids

    def inside(self, text: str) -> list[int]:
        """The token ids of the text alone, as it stands in another one: nothing is added around it.

        Half characters, which no tokenizer takes, become question marks.
        """
        return self._tokenizer.inside(text.encode("utf-8", "replace").decode())

    def _rendered(self, content: Any) -> str:
        try:
            return self._tokenizer.rendered(content)
        except ImportError as error:
            raise ModelError("chat templates need the package jinja2", hint="Install it: pip install jinja2") from error
        except Exception as error:  # a template is a program of its own: it raises whatever it likes
            raise ModelError(
                f"the chat template of {self._name} fails: {first_line(error)}",
                hint=_NO_CHAT,
            ) from error

    @cached_property
    def _before(self) -> list[int]:
        return self._tokenizer.before()
