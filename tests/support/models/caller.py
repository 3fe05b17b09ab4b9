"""A model over bytes that calls tools in the form of Hermes, and has a chat template that tells it of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel

from sfgen import Vocabulary
from sfgen.models.prompt import Prompts
from sfgen.models.tool_forms import NAMED, ToolForm

BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
"""Bytes, and the end of a text."""

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
"""A call as Hermes writes it."""


class Template:
    """A chat template over bytes that writes calls as Hermes does."""

    has_chat_template, begin_token, end_token = True, None, 256

    def before(self) -> list[int]:
        return []

    def inside(self, text: str) -> list[int]:
        return list(text.encode())

    def rendered(self, messages: Any, tools: Any, variables: Any = None, *, begins_answer: bool) -> str:
        text = f"[tools]{json.dumps(tools)}[/]" if tools else ""
        for each in messages:
            text += f"[{each['role']} {each.get('tool_call_id', '')}]{each['content']}"
            given = [call["function"] for call in each.get("tool_calls", ())]
            text += (NAMED["hermes"].text(given) if given else "") + "[/]"
        return text + ("[assistant]" if begins_answer else "")


class Caller(ScriptedModel):
    """A model that wants to write a text, and has a chat template that is told of tools.

    Args:
        wished: The text.
        form: The form of calls that its template has.
        later: What it wants to write after its first answer in a conversation; ``None``: the same.
    """

    def __init__(self, wished: str, form: ToolForm | None = NAMED["hermes"], later: str | None = None) -> None:
        super().__init__(BYTES, self.wish)
        self.wished = wished.encode()
        self.later = None if later is None else later.encode()
        self.tool_form = form
        self.asked: list[str] = []

    def chat(self, messages: Any, tools: Any = None) -> Sequence[int]:
        ids = Prompts(Template(), "caller").chat(messages, tools)
        self.asked.append(ids.text)
        return ids

    def wish(self, tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = np.linspace(1, 0, len(BYTES), dtype=np.float32)
        before, _, written = bytes(token for token in tokens if token < 256).rpartition(b"[assistant]")
        whole = self.wished if self.later is None or b"[assistant ]" not in before else self.later
        _, mark, calls = whole.partition(b"<tool_call>")  # without the text before them where that is not allowed
        wished = next((text for text in (whole, mark + calls) if text.startswith(written)), b"")
        scores[[*wished[len(written) :], 256][0]] = 9
        return scores
