"""The thought before an answer: decide whether the model writes one after a conversation, and find its end.

A chat template shows how a thought begins and ends (``sfgen.models.chat_forms``). If the model is to think, the prompt
ends with the begin of the thought, added if the template has not written it, and the constraint holds after the end of
the thought. The prompt of this request shows whether thinking is switched off: by a variable, by a system message, or
by default. If the assistant has begun its answer, there is no thought before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfgen.ban import BannedWords, scan
from sfgen.errors import SfgenError
from sfgen.models.chat_forms import ThoughtForm, special_in, thought_of, with_thought_begun
from sfgen.models.messages import chat_ids
from sfgen.protocols import Model
from sfgen.serve.bodies import Refused
from sfgen.serve.generation_request import GenerationRequest

SWITCHES: tuple[Mapping[str, bool], ...] = ({"enable_thinking": False}, {"thinking": False})
"""The variables by which templates switch thinking off."""

_USUAL_EFFORT = "medium"
_EFFORTS = ("low", "high")


@dataclass(frozen=True)
class Thought:
    """The thought before an answer.

    Attributes:
        prompt: The conversation, with the begin of the thought.
        end: The text that ends the thought.
    """

    prompt: Sequence[int]
    end: str


def conversation(model: Model, request: GenerationRequest) -> Sequence[int]:
    """Return the tokens of a conversation, as written by the chat template.

    Raises:
        Refused: The template has no variable for the effort, or cannot switch thinking off.
        SfgenError: It cannot write the conversation.
    """
    effort, field = request.thought.effort, request.fields["effort"]
    if effort is None:
        return _rendered(model, request)
    if effort == "none":
        return _without_thought(model, request)
    if (request.variables or {}).get("reasoning_effort", effort) != effort:
        raise Refused(f"{field} and chat_template_kwargs differ", field, "conflict", "Leave one out.")
    if _knows_effort(model, request):
        return _rendered(model, request, reasoning_effort=effort)
    if effort == _USUAL_EFFORT:
        return _rendered(model, request)
    why = "the chat template of this model has no variable for an effort"
    raise Refused(f"{field} is not supported: {why}", field, hint='Leave it out, or give "none".')


def thought_before(
    model: Model, prompt: Sequence[int], request: GenerationRequest, lead: str | None, banned: BannedWords | None
) -> Thought | None:
    """Return the thought before an answer; ``None`` if there is none, or if it is not separated from the answer.

    Args:
        model: The model, with all its tokens.
        prompt: The conversation.
        request: The parsed request.
        lead: The text that the form of calls has before them instead of an answer, if only calls are written.
        banned: The banned words of the thought and the answer.

    Raises:
        Refused: The request cannot have a thought.
    """
    form = None if request.thought.is_apart is False else _form(model, prompt, request)
    if form is None:
        return None
    off = 'Switch the thought off: "chat_template_kwargs": {"enable_thinking": false}.'
    if request.config.get("strategy") == "exact":
        why = "the strategy exact draws an answer as a whole, and this model thinks before it"
        raise Refused(why, "sfgen.strategy", "conflict", off)
    end = form.end_before(lead)
    encode = getattr(model, "encode_inside", None)
    if encode is not None and not request.never.isdisjoint(encode(end)):
        raise Refused("a token that ends the thought is banned", request.fields.get("never"), "conflict", off)
    matches = [] if banned is None else scan(end.encode(), banned)
    if matches:
        why = f"the thought of this model ends with {end!r}, in which {matches[0].word!r:.60} is banned"
        raise Refused(
            why, request.fields["banned"], "conflict", "Let sfgen.allow have this text, or switch the thought off."
        )
    return Thought(with_thought_begun(model, prompt, form), end)


def _form(model: Model, prompt: Sequence[int], request: GenerationRequest) -> ThoughtForm | None:
    """The form of the thought after a prompt; ``None`` if there is none."""
    form = thought_of(model)
    if form is None or getattr(prompt, "begun", None) is not None or form.is_off_in(getattr(prompt, "text", "")):
        return None
    # Else the template may only write the thoughts of earlier answers.
    thinks = form.is_usual or special_in(model, form.begin) or special_in(model, form.end)
    return form if thinks or request.thought.is_apart else None


def _without_thought(model: Model, request: GenerationRequest) -> Sequence[int]:
    """The conversation with thinking switched off."""
    for switched in ({}, *SWITCHES):
        prompt = _rendered(model, request, **switched)
        if _form(model, prompt, request) is None:
            return prompt
    raise Refused("the chat template of this model cannot switch its thought off", request.fields["effort"])


def _knows_effort(model: Model, request: GenerationRequest) -> bool:
    """Whether a chat template writes the effort of thinking."""
    try:
        return len({tuple(_rendered(model, request, reasoning_effort=each)) for each in _EFFORTS}) > 1
    except SfgenError:
        return False


def _rendered(model: Model, request: GenerationRequest, **variables: object) -> Sequence[int]:
    return chat_ids(model, request.messages, request.tools or None, {**(request.variables or {}), **variables} or None)
