"""A model over bytes that wants to write a thought and an answer, with a chat template."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.models import caller
from tests.support.models.caller import BYTES
from tests.support.models.scripted import ScriptedModel

from sfgen.models.prompt import Prompts, render
from sfgen.models.tool_forms import NAMED

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n"
    "{% endif %}{{ m.content }}[/]{% endfor %}{% if effort_is_told %}{{ reasoning_effort }}{% endif %}"
    "{% if add_generation_prompt %}[assistant]{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)


class Template(caller.Template):
    """A chat template over bytes that is rendered as Jinja's are."""

    def __init__(self, template: str) -> None:
        self.template = template

    def rendered(self, messages: Any, tools: Any, variables: Any = None, *, begins_answer: bool) -> str:
        text = f"[tools]{json.dumps(tools)}[/]" if tools else ""
        return text + render(self.template, messages, {}, variables=variables, begins_answer=begins_answer)


class Thinker(ScriptedModel):
    """A model that wants to write a text behind the prompt, and has a chat template."""

    def __init__(self, wished: str, template: str = TEMPLATE) -> None:
        super().__init__(BYTES, self.wish)
        self.wished = wished.encode()
        self.encoder = Prompts(Template(template), "thinker")
        self.thought = self.encoder.thought
        self.tool_form = NAMED["hermes"]
        self.asked: list[str] = []

    def encode_inside(self, text: str) -> list[int]:
        return list(text.encode())

    def chat(self, messages: Any, tools: Any = None, variables: Any = None) -> Sequence[int]:
        ids: Any = self.encoder.chat(messages, tools, variables)
        self.asked.append(ids.text)
        return ids  # type: ignore[no-any-return]

    def wish(self, tokens: tuple[int, ...]) -> NDArray[np.floating]:
        """The wished text; of an answer the blanks before it only where they are allowed."""
        scores = np.linspace(1, 0, len(BYTES), dtype=np.float32)
        whole = bytes(token for token in tokens if token < 256)
        written = whole.rpartition(b"[assistant]")[2].removeprefix(b"<think>\n").removeprefix(b"\n</think>\n\n")
        if b"</think>" in written:
            answer, text = (each.rpartition(b"</think>")[2].lstrip() for each in (self.wished, written))
            scores[[*(answer[len(text) :] if answer.startswith(text) else b""), 256][0]] = 8
        if self.wished.startswith(written):
            scores[[*self.wished[len(written) :], 256][0]] = 9
        return scores
