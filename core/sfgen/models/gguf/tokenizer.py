"""The tokenizer of a GGUF file, as prompts ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfgen.models.chat_template import render
from sfgen.models.gguf.loaded import LoadedModel
from sfgen.models.messages import Tools


class GgufTokenizer:
    """The tokenizer of a GGUF file as a ``sfgen.models.prompt.PromptTokenizer``.

    Args:
        model: The model, or its tokenizer alone.
        chat_template: The chat template of the file; empty if it has none.
        tool_template: That for conversations with tools; empty if it has no other.
    """

    def __init__(self, model: LoadedModel, chat_template: str, tool_template: str = "") -> None:
        self._model = model
        self._chat_template = chat_template
        self._tool_template = tool_template
        self.begin_token = model.begin_token()
        self.end_token = model.end_token()

    @property
    def has_chat_template(self) -> bool:
        """Whether the file has a chat template."""
        return bool(self._chat_template)

    def before(self) -> list[int]:
        """Return the tokens before each text: a begin token or none."""
        return [self.begin_token] if self.begin_token is not None and self._model.writes_begin_token() else []

    def inside(self, text: str) -> list[int]:
        """Tokenize a text alone, reading the names of special tokens."""
        return self._model.tokenize(text)

    def rendered(self, messages: Sequence[Mapping[str, Any]], tools: Tools | None, *, begins_answer: bool) -> str:
        """Render a conversation."""
        named = {"bos_token": self.begin_token, "eos_token": self.end_token}
        special = {name: self._model.text(token) for name, token in named.items() if token is not None}
        template = self._tool_template if tools is not None and self._tool_template else self._chat_template
        return render(template, messages, special, tools=tools, begins_answer=begins_answer)
