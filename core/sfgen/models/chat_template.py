"""Chat templates: programs in Jinja that write a conversation as one text.

Where a tokenizer of transformers is at hand, it renders its own template. This is for templates that come without one.
A template is somebody else's program: it runs in Jinja's sandbox, with what transformers documents for templates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sfgen.parameter_text import ParameterText

WITHOUT_CHAT = ParameterText("Leave chat out, and what needs it, or use a model trained on instructions.", "chat")
"""What to do with a model that has none."""


def render(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    special: Mapping[str, str],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    begins_answer: bool = True,
) -> str:
    """Render a conversation, up to where the answer begins.

    Args:
        template: The template.
        messages: Each with a ``role`` and a ``content``.
        special: The texts of special tokens, by names such as ``bos_token``.
        tools: The tools that the model may call.
        begins_answer: Whether the beginning of an answer is written behind the messages.

    Raises:
        ImportError: The package jinja2 is missing.
        jinja2.TemplateError: The template is wrong, or refuses the conversation.
        Exception: Whatever else it raises.

    >>> template = "{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}"
    >>> render(template, [{"role": "user", "content": "Hi!"}], {"bos_token": "<s>"})
    '<s>[user] Hi!'
    """
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(template).render(
        messages=messages, tools=tools, documents=None, add_generation_prompt=begins_answer, **special
    )


def _to_json(value: Any, **options: Any) -> str:
    """As people write JSON; Jinja's own filter writes it for web pages."""
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _refuse(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)
