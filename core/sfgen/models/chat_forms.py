"""Find out in which form a chat template writes a thought, by rendering some messages.

This module knows no single model. A template that writes the thought of an answer shows the text between both; a
template that can switch thinking off writes an empty thought where the answer begins; and a template that begins the
thought itself leaves out of an answer all text before the end of the thought. ``sfgen.models.tool_probe`` finds the
form of calls in the same way.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sfgen.models.messages import ChatPrompt
from sfgen.models.tool_forms import MARK
from sfgen.protocols import Model

Tools = Sequence[Mapping[str, Any]]

ANSWER, THOUGHT, _QUESTION = "sfgen.answer", "sfgen.thought", "sfgen.question"
FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The names that templates use for the thought of a message."""

_VARIABLES: tuple[Mapping[str, Any], ...] = (
    {},
    {"enable_thinking": False},
    {"enable_thinking": True},
    {"thinking": False},
    {"thinking": True},
)
"""The variables by which templates switch thinking on and off."""

LAST_MARK = re.compile(MARK + r"\s*\Z")
"""A mark at the end of a text."""


@dataclass(frozen=True)
class ThoughtForm:
    """The form of a thought.

    Attributes:
        end: The text after a thought, without blanks around it.
        is_off: Whether the prompt has an empty thought, so that none is written.
        begin: The text that begins a thought after the prompt; empty if the prompt has begun it, or if it is not known.
        is_usual: Whether the template begins thoughts itself or can switch them off, so that the model writes a thought
            unless it is switched off. Else the template may only write the thoughts of earlier answers.
    """

    end: str
    is_off: bool
    begin: str = ""
    is_usual: bool = True

    def end_before(self, lead: str | None) -> str:
        """Return the end of a thought before a call; ``lead`` is the text that the form of calls puts before it."""
        return lead if lead and self.end.startswith(lead) else self.end

    def is_off_in(self, prompt: str) -> bool:
        """Return whether a prompt ends with an empty thought, so that the model writes none."""
        return prompt.rstrip().endswith(self.end)

    def is_begun_in(self, prompt: str) -> bool:
        """Return whether a prompt ends with the beginning of a thought, or that beginning is not known."""
        return not self.begin or prompt.rstrip().endswith(self.begin.rstrip())


def thought_of(model: object) -> ThoughtForm | None:
    """Return the form of thoughts in a model's chat template.

    Args:
        model: The model.

    Returns:
        ``None`` where the template shows none, or there is no template.
    """
    return getattr(model, "thought", None)


def special_in(model: Model, text: str) -> bool:
    """Return whether a model writes a part of a text as special tokens, which free text cannot have."""
    encode = getattr(model, "encode_inside", None)
    return encode is not None and any(model.vocabulary.tokens[token] is None for token in encode(text))


def with_thought_begun(model: Model, prompt: Sequence[int], form: ThoughtForm) -> Sequence[int]:
    """Return a conversation with a thought begun at its end, unless it ends with an empty thought or a begun answer."""
    encode, text = getattr(model, "encode_inside", None), getattr(prompt, "text", "")
    goes_on = getattr(prompt, "begun", None) is not None
    if goes_on or encode is None or form.is_off_in(text) or form.is_begun_in(text):
        return prompt
    return ChatPrompt([*prompt, *encode(form.begin)], text=text + form.begin)


class Renders(Protocol):
    """Renders a conversation by a chat template; ``None`` where the template refuses it."""

    def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        begins_answer: bool,
        tools: Tools | None = None,
    ) -> str | None:
        """Return the conversation as one text."""


def thought_form(render: Renders) -> ThoughtForm | None:
    """Find out how a chat template writes a thought; ``None`` if it writes none.

    >>> def render(messages, variables, *, begins_answer, tools=None):
    ...     text = "".join(f"[{each['role']}]{each['content']}" for each in messages)
    ...     off = "<think></think>" if variables.get("enable_thinking") is False else ""
    ...     return text + ("[me]" + off if begins_answer else "")
    >>> thought_form(render)
    ThoughtForm(end='</think>', is_off=False, begin='<think>', is_usual=True)
    """
    probe = Probe(render)
    prompts = probe.prompts()
    end = next((found for found in probe.ends(prompts) if found), None)
    if end is None:
        return None
    if not prompts:
        return ThoughtForm(end, is_off=False, is_usual=False)
    begin, is_switched = probe.begin(prompts, end), any(end in prompt for prompt in prompts)
    return ThoughtForm(end, end in prompts[0], begin, is_switched or probe.is_begun(prompts[0]))


@dataclass(frozen=True)
class Probe:
    """Renders a question with its answer by a template."""

    render: Renders

    def prompts(self, tools: Tools | None = None) -> list[str]:
        """The texts between question and answer for all variables; the usual one first."""
        told = (self._behind_question([], each, begins_answer=True, tools=tools) for each in _VARIABLES)
        return [text for text in told if text is not None]

    def begin(self, prompts: Sequence[str], end: str) -> str:
        """The text between the usual prompt and a thought: from an answer with a thought, or from an empty thought."""
        before, _ = self._around_thought
        if before and before.startswith(prompts[0]):
            return before.removeprefix(prompts[0])
        empty, found, _ = self._empty(prompts).partition(end)
        return empty.rstrip() + ("\n" if "\n" in empty[len(empty.rstrip()) :] else "") if found else ""

    def is_begun(self, prompt: str) -> bool:
        """Whether the usual prompt begins a thought."""
        before, _ = self._around_thought
        return before.rstrip() == prompt.rstrip() if before else self._of_begun([prompt]) is not None

    def _thought(self, content: object) -> str | None:
        """The text after the question, with an answer that has a thought."""
        return self.answered({"content": content, **dict.fromkeys(FIELDS, THOUGHT)})

    def ends(self, prompts: Sequence[str]) -> Iterator[str | None]:
        """The possible ends of a thought, the surest first."""
        yield self._around_thought[1] or None
        yield self._of_empty(prompts)
        yield self._of_begun(prompts)

    @cached_property
    def _around_thought(self) -> tuple[str, str]:
        """The text before a thought, and that between it and its answer; empty if the template writes none."""
        parts = [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": ANSWER}]
        for told in (self._thought(ANSWER) or "", self.answered({"content": parts}) or ""):
            before, thought, rest = told.partition(THOUGHT)
            between, found, _ = rest.partition(ANSWER)
            if thought and found and LAST_MARK.search(between):
                return before, between.strip()
        return "", ""

    def _of_empty(self, prompts: Sequence[str]) -> str | None:
        """The end of the empty thought that one prompt has and another has not."""
        found = LAST_MARK.search(self._empty(prompts))
        return found[0].strip() if found else None

    def _empty(self, prompts: Sequence[str]) -> str:
        """The text that one prompt has at its end and another has not."""
        pairs = itertools.permutations(dict.fromkeys(prompts), 2)
        more = [longer.removeprefix(shorter) for shorter, longer in pairs if longer.startswith(shorter)]
        return max(more, key=len, default="")

    def _of_begun(self, prompts: Sequence[str]) -> str | None:
        """The end of a thought that the prompt begins, if the template leaves the thoughts of answers out."""
        before = (self.answered({"content": ANSWER}) or "").partition(ANSWER)[0]
        if not prompts or not prompts[0].startswith(before):
            return None
        found = LAST_MARK.search(prompts[0].removeprefix(before))
        if not found:
            return None
        mark = found[0].strip()
        end = f"{mark[0]}/{mark[1:]}"
        told = self.answered({"content": f"{mark}{THOUGHT}{end}{ANSWER}"}) or ""
        return end if ANSWER in told and THOUGHT not in told else None

    def answered(
        self, answer: Mapping[str, Any], tools: Tools | None = None, more: Sequence[Mapping[str, Any]] = ()
    ) -> str | None:
        """The text after the question, with an answer and more messages."""
        return self._behind_question([{"role": "assistant", **answer}, *more], {}, begins_answer=False, tools=tools)

    def _behind_question(
        self,
        more: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        begins_answer: bool,
        tools: Tools | None = None,
    ) -> str | None:
        messages = [{"role": "user", "content": _QUESTION}, *more]
        text = self.render(messages, variables, begins_answer=begins_answer, tools=tools)
        return None if text is None or _QUESTION not in text else text.partition(_QUESTION)[2]
