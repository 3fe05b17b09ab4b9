"""How a model's chat template writes a thought, found by what it makes of some messages.

Nothing is known of any model here. A template that writes the thought of an answer shows what stands between both; one
that can switch thinking off writes an empty thought where the answer begins; and one that begins the thought itself
leaves out of an answer what stands before the end of the thought.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_QUESTION, _THOUGHT, _ANSWER = "sfgen.question", "sfgen.thought", "sfgen.answer"
_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The names by which templates know the thought of a message."""

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
    """

    end: str
    is_off: bool


def thought_of(model: object) -> ThoughtForm | None:
    """Return how a model's chat template writes a thought; ``None`` where it writes none, or there is no template."""
    return getattr(model, "thought", None)


class Renders(Protocol):
    """Renders a conversation by a chat template; ``None`` where the template refuses it."""

    def __call__(
        self, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any], *, begins_answer: bool
    ) -> str | None:
        """Return the conversation as one text."""


def thought_form(render: Renders) -> ThoughtForm | None:
    """Find out how a chat template writes a thought; ``None`` where it does not.

    >>> def render(messages, variables, *, begins_answer):
    ...     text = "".join(f"[{each['role']}]{each['content']}" for each in messages)
    ...     off = "<think></think>" if variables.get("enable_thinking") is False else ""
    ...     return text + ("[me]" + off if begins_answer else "")
    >>> thought_form(render)
    ThoughtForm(end='</think>', is_off=False)
    """
    probe = _Probe(render)
    prompts = [text for text in map(probe.prompt, _VARIABLES) if text is not None]
    end = next((found for found in probe.ends(prompts) if found), None)
    return None if end is None else ThoughtForm(end, bool(prompts) and end in prompts[0])


@dataclass(frozen=True)
class _Probe:
    """Asks a template for a question with its answer."""

    render: Renders

    def prompt(self, variables: Mapping[str, Any]) -> str | None:
        """What is behind the question, up to where the answer begins."""
        return self._behind_question([], variables, begins_answer=True)

    def ends(self, prompts: Sequence[str]) -> Iterator[str | None]:
        """Each end of a thought that shows itself, the surest first."""
        yield self._between()
        yield self._of_empty(prompts)
        yield self._of_begun(prompts)

    def _between(self) -> str | None:
        """What stands between a thought and its answer."""
        parts = [{"type": "thinking", "thinking": _THOUGHT}, {"type": "text", "text": _ANSWER}]
        for answer in ({"content": _ANSWER, **dict.fromkeys(_FIELDS, _THOUGHT)}, {"content": parts}):
            told = self._answered(answer) or ""
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
        before = (self._answered({"content": _ANSWER}) or "").partition(_ANSWER)[0]
        if not prompts or not prompts[0].startswith(before):
            return None
        found = _LAST_MARK.search(prompts[0].removeprefix(before))
        if not found:
            return None
        mark = found[0].strip()
        end = f"{mark[0]}/{mark[1:]}"
        told = self._answered({"content": f"{mark}{_THOUGHT}{end}{_ANSWER}"}) or ""
        return end if _ANSWER in told and _THOUGHT not in told else None

    def _answered(self, answer: Mapping[str, Any]) -> str | None:
        return self._behind_question([{"role": "assistant", **answer}], {}, begins_answer=False)

    def _behind_question(
        self, more: Sequence[Mapping[str, Any]], variables: Mapping[str, Any], *, begins_answer: bool
    ) -> str | None:
        messages = [{"role": "user", "content": _QUESTION}, *more]
        text = self.render(messages, variables, begins_answer=begins_answer)
        return None if text is None or _QUESTION not in text else text.partition(_QUESTION)[2]
