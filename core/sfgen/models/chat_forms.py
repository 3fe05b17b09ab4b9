"""How a model's chat template writes a thought, and a call of a tool, found by what it makes of some messages.

Nothing is known of any model here. A template that writes the thought of an answer shows what stands between both; one
that can switch thinking off writes an empty thought where the answer begins; and one that begins the thought itself
leaves out of an answer what stands before the end of the thought. A call shows what stands before its JSON.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_QUESTION, _THOUGHT, _ANSWER = "sfgen.question", "sfgen.thought", "sfgen.answer"
_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The names by which templates know the thought of a message."""

_ID = "sfgencall"  # some templates want nine letters
_CALL: Mapping[str, Any] = {"name": "sfgen_tool", "arguments": {"key": "value"}}
_TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "sfgen_tool",
            "description": "A tool.",
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
        },
    },
)

_VARIABLES: tuple[Mapping[str, Any], ...] = (
    {},
    {"enable_thinking": False},
    {"enable_thinking": True},
    {"thinking": False},
    {"thinking": True},
)
"""The variables by which templates are told whether the model is to think."""

_LAST_MARK = re.compile(r"(?:<[^<>\s]+>|\[[^\[\]\s]+\])\s*\Z")
"""A mark such as ``</think>`` or ``[/THINK]`` at the end of a text."""


@dataclass(frozen=True)
class ThoughtForm:
    """How a thought is written.

    Attributes:
        end: The text behind it, without blanks around it.
        is_off: Whether the prompt has an empty thought, so that none is written.
        begin: The text that begins it behind the prompt; empty where the prompt has begun it, or that is not known.
    """

    end: str
    is_off: bool
    begin: str = ""


def call_marker(render: Renders) -> str | None:
    """Find the text before the JSON of a call, ``{"name": …, "arguments": {…}}``, without blanks around it.

    ``None`` where a chat template writes no such text, or calls in another form.
    """
    probe = _Probe(render)
    before = (probe.answered({"content": _ANSWER}, _TOOLS) or "").partition(_ANSWER)[0]
    for arguments in (_CALL["arguments"], json.dumps(_CALL["arguments"])):
        called = {"id": _ID, "type": "function", "function": {**_CALL, "arguments": arguments}}
        told = probe.answered({"content": "", "tool_calls": [called]}, _TOOLS) or ""
        if before and told.startswith(before):
            told = told.removeprefix(before)
        for found in re.finditer("{", told):
            if _decoded(told, found.start()) == _CALL:
                return told[: found.start()].strip() or None
    return None


def _decoded(text: str, start: int) -> Any:
    """The JSON that begins at an offset; ``None``: there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except ValueError:
        return None


def thought_of(model: object) -> ThoughtForm | None:
    """Return how a model's chat template writes a thought; ``None`` where it writes none, or there is no template."""
    return getattr(model, "thought", None)


def call_marker_of(model: object) -> str | None:
    """Return the text before the JSON of a call, as a model's chat template writes it; ``None`` where it does not."""
    return getattr(model, "call_marker", None)


class Renders(Protocol):
    """Renders a conversation by a chat template; ``None`` where the template refuses it."""

    def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        begins_answer: bool,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> str | None:
        """Return the conversation as one text."""


def thought_form(render: Renders) -> ThoughtForm | None:
    """Find out how a chat template writes a thought; ``None`` where it does not.

    >>> def render(messages, variables, *, begins_answer, tools=None):
    ...     text = "".join(f"[{each['role']}]{each['content']}" for each in messages)
    ...     off = "<think></think>" if variables.get("enable_thinking") is False else ""
    ...     return text + ("[me]" + off if begins_answer else "")
    >>> thought_form(render)
    ThoughtForm(end='</think>', is_off=False, begin='')
    """
    probe = _Probe(render)
    prompts = [text for text in map(probe.prompt, _VARIABLES) if text is not None]
    end = next((found for found in probe.ends(prompts) if found), None)
    if end is None:
        return None
    return ThoughtForm(end, bool(prompts) and end in prompts[0], probe.begin(prompts[0]) if prompts else "")


@dataclass(frozen=True)
class _Probe:
    """Asks a template for a question with its answer."""

    render: Renders

    def prompt(self, variables: Mapping[str, Any]) -> str | None:
        """What is behind the question, up to where the answer begins."""
        return self._behind_question([], variables, begins_answer=True)

    def begin(self, prompt: str) -> str:
        """What stands between the prompt and a thought."""
        before, thought, _ = (self._thought(_ANSWER) or "").partition(_THOUGHT)
        return before.removeprefix(prompt) if thought and before.startswith(prompt) else ""

    def _thought(self, content: object) -> str | None:
        """What is behind the question, with an answer that has a thought."""
        return self.answered({"content": content, **dict.fromkeys(_FIELDS, _THOUGHT)})

    def ends(self, prompts: Sequence[str]) -> Iterator[str | None]:
        """Each end of a thought that shows itself, the surest first."""
        yield self._between()
        yield self._of_empty(prompts)
        yield self._of_begun(prompts)

    def _between(self) -> str | None:
        """What stands between a thought and its answer."""
        parts = [{"type": "thinking", "thinking": _THOUGHT}, {"type": "text", "text": _ANSWER}]
        for told in (self._thought(_ANSWER) or "", self.answered({"content": parts}) or ""):
            _, thought, rest = told.partition(_THOUGHT)
            between, found, _ = rest.partition(_ANSWER)
            if thought and found and _LAST_MARK.search(between):
                return between.strip()
        return None

    def _of_empty(self, prompts: Sequence[str]) -> str | None:
        """The end of an empty thought by which one prompt is longer than another."""
        pairs = itertools.permutations(dict.fromkeys(prompts), 2)
        more = [longer.removeprefix(shorter) for shorter, longer in pairs if longer.startswith(shorter)]
        found = _LAST_MARK.search(max(more, key=len, default=""))
        return found[0].strip() if found else None

    def _of_begun(self, prompts: Sequence[str]) -> str | None:
        """The end that belongs to a thought which the prompt begins, if a template leaves out what is before it."""
        before = (self.answered({"content": _ANSWER}) or "").partition(_ANSWER)[0]
        if not prompts or not prompts[0].startswith(before):
            return None
        found = _LAST_MARK.search(prompts[0].removeprefix(before))
        if not found:
            return None
        mark = found[0].strip()
        end = f"{mark[0]}/{mark[1:]}"
        told = self.answered({"content": f"{mark}{_THOUGHT}{end}{_ANSWER}"}) or ""
        return end if _ANSWER in told and _THOUGHT not in told else None

    def answered(self, answer: Mapping[str, Any], tools: Sequence[Mapping[str, Any]] | None = None) -> str | None:
        """What is behind the question, with an answer."""
        return self._behind_question([{"role": "assistant", **answer}], {}, begins_answer=False, tools=tools)

    def _behind_question(
        self,
        more: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        begins_answer: bool,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> str | None:
        messages = [{"role": "user", "content": _QUESTION}, *more]
        text = self.render(messages, variables, begins_answer=begins_answer, tools=tools)
        return None if text is None or _QUESTION not in text else text.partition(_QUESTION)[2]
