"""How a chat template writes a thought, found by what it makes of messages: small templates of each shape; real ones.

The real ones are read where they lie (``SFGEN_CHAT_TEMPLATES``), and the tests of them are skipped without.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sfgen.models.chat_forms import Renders, ThoughtForm, thought_form, thought_of
from sfgen.models.prompt import render
from sfgen.models.uniform import UniformModel

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(os.environ.get("SFGEN_CHAT_TEMPLATES") or REPOSITORY.parent / "shared" / "chat-templates")
REAL: dict[str, ThoughtForm | None] = {
    "Qwen-Qwen3-0.6B": ThoughtForm("</think>", False, "<think>\n"),
    "HuggingFaceTB-SmolLM3-3B": ThoughtForm("</think>", False, "<think>\n"),
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": ThoughtForm("</think>", False),
    "deepseek-ai-DeepSeek-V3.1": ThoughtForm("</think>", True),
    "google-gemma-4-31B-it": ThoughtForm("<channel|>", True, "<|channel>thought\n"),
    "openai-gpt-oss-120b": ThoughtForm(
        "<|end|><|start|>assistant<|channel|>final<|message|>", False, "<|channel|>analysis<|message|>", False
    ),
    "meta-llama-Llama-3.1-8B-Instruct": None,
    "Qwen-Qwen2.5-7B-Instruct": None,
    "google-gemma-2-2b-it": None,
}
BEGIN = "{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}{% else %}"
END = "{% endif %}{% endfor %}"
PROMPT = "{% if add_generation_prompt %}[me]{% endif %}"
SHAPES: dict[str, tuple[str, ThoughtForm | None]] = {
    "no thought": (BEGIN + "[me]{{ m.content }}" + END + PROMPT, None),
    "a field of the message": (
        BEGIN + "[me]<think>\n{{ m.reasoning_content }}\n</think>\n\n{{ m.content }}" + END + PROMPT,
        ThoughtForm("</think>", False, "<think>\n", False),
    ),
    "begun by the prompt, and a field of the message": (
        BEGIN
        + "[me]<think>\n{{ m.reasoning_content }}\n</think>\n\n{{ m.content }}"
        + END
        + PROMPT
        + "{% if add_generation_prompt %}<think>\n{% endif %}",
        ThoughtForm("</think>", False),
    ),
    "channels": (
        BEGIN + "[me]<|c|>hm<|m|>{{ m.thinking }}<|e|><|s|>a<|c|>end<|m|>{{ m.content }}" + END + PROMPT,
        ThoughtForm("<|e|><|s|>a<|c|>end<|m|>", False, "<|c|>hm<|m|>", False),
    ),
    "parts of the message": (
        BEGIN + "[me]{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
        "{% if p.type == 'text' %}{{ p.text }}{% else %}[THINK]{{ p.thinking }}[/THINK]{% endif %}{% endfor %}"
        "{% endif %}" + END + PROMPT,
        ThoughtForm("[/THINK]", False, "[THINK]", False),
    ),
    "switched off by a variable": (
        BEGIN + "[me]{{ m.content }}" + END + PROMPT + "{% if enable_thinking is false %}<t>\n\n</t>\n{% endif %}",
        ThoughtForm("</t>", False, "<t>\n"),
    ),
    "off, and switched on by a variable": (
        BEGIN + "[me]{{ m.content }}" + END + PROMPT + "<t>{% if not thinking %}</t>{% endif %}",
        ThoughtForm("</t>", True),
    ),
    "begun by the prompt": (
        BEGIN
        + "[me]{{ m.content.split('[/HM]')[-1] }}"
        + END
        + PROMPT
        + "{% if add_generation_prompt %}[HM]\n{% endif %}",
        ThoughtForm("[/HM]", False),
    ),
    "begun by the prompt with something else": (
        BEGIN + "[me]{{ m.content }}" + END + PROMPT + "{% if add_generation_prompt %}<b>{% endif %}",
        None,
    ),
    "fails": ("{{ raise_exception('no') }}", None),
}


def form_of(template: str) -> ThoughtForm | None:
    return thought_form(rendering(template))


def rendering(template: str) -> Renders:
    def tried(
        messages: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        begins_answer: bool,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> str | None:
        try:
            return render(
                template,
                messages,
                {"bos_token": "<s>"},
                tools=tools,
                variables=dict(variables),
                begins_answer=begins_answer,
            )
        except Exception:
            return None

    return tried


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape(name: str) -> None:
    template, form = SHAPES[name]
    assert form_of(template) == form


@pytest.mark.parametrize("name", REAL)
def test_published_templates(name: str) -> None:
    file = FOLDER / f"{name}.jinja"
    if not file.exists():  # pragma: no cover
        pytest.skip(f"there is no {file} (set SFGEN_CHAT_TEMPLATES)")
    assert form_of(file.read_text(encoding="utf-8")) == REAL[name]


def test_a_model_without_a_chat_template() -> None:
    assert thought_of(UniformModel()) is None
