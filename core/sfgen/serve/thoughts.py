"""The thought before an answer: whether a model writes one behind a conversation, and what ends it.

A chat template tells how a thought begins and ends (``sfgen.models.chat_forms``). Where the model is to think, the
prompt begins the thought, if the template has not done so, and the constraint holds behind its end. The prompt as it is
written for this request tells whether thinking is switched off: by a variable, by what a message of the system says, or
by default. An answer that has been begun has no thought before it any more.
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
from sfgen.serve.wish import Wish

SWITCHES: tuple[Mapping[str, bool], ...] = ({"enable_thinking": False}, {"thinking": False})
"""The variables by which templates switch a thought off."""

_USUAL_EFFORT = "medium"
_EFFORTS = ("low", "high")


@dataclass(frozen=True)
class Thought:
    """A thought that is written before an answer.

    Attributes:
        prompt: The conversation, up to where the thought has begun.
        end: What ends it.
    """

    prompt: Sequence[int]
    end: str


def conversation(model: Model, wish: Wish) -> Sequence[int]:
    """Return the conversation of a request as the chat template writes it.

    Raises:
        Refused: The template does not know of an effort to think, or cannot switch a thought off.
        SfgenError: It cannot write the conversation.
    """
    effort, field = wish.thought.effort, wish.fields["effort"]
    if effort is None:
        return _rendered(model, wish)
    if effort == "none":
        return _without_thought(model, wish)
    if (wish.variables or {}).get("reasoning_effort", effort) != effort:
        raise Refused(f"{field} and chat_template_kwargs differ", field, "conflict", "Leave one out.")
    if _knows_effort(model, wish):
        return _rendered(model, wish, reasoning_effort=effort)
    if effort == _USUAL_EFFORT:
        return _rendered(model, wish)
    why = "the chat template of this model tells it nothing of an effort"
    raise Refused(f"{field} is not supported: {why}", field, hint='Leave it out, or give "none".')


def thought_before(
    model: Model, prompt: Sequence[int], wish: Wish, lead: str | None, banned: BannedWords | None
) -> Thought | None:
    """Return the thought that a model writes before its answer; ``None``: it writes none, or none is told apart.

    Args:
        model: The model, with all its tokens.
        prompt: The conversation.
        wish: What is asked for.
        lead: What the form of calls writes before them in place of an answer, where calls alone are written.
        banned: What neither the thought nor the answer may contain.

    Raises:
        Refused: The request cannot have a thought.
    """
    form = None if wish.thought.is_apart is False else _form(model, prompt, wish)
    if form is None:
        return None
    off = 'Switch the thought off: "chat_template_kwargs": {"enable_thinking": false}.'
    if wish.config.get("strategy") == "exact":
        why = "the strategy exact draws an answer as a whole, and this model thinks before it"
        raise Refused(why, "sfgen.strategy", "conflict", off)
    end = form.end_before(lead)
    encode = getattr(model, "encode_inside", None)
    if encode is not None and not wish.never.isdisjoint(encode(end)):
        raise Refused("a token that ends the thought is banned", wish.fields.get("never"), "conflict", off)
    matches = [] if banned is None else scan(end.encode(), banned)
    if matches:
        why = f"the thought of this model ends with {end!r}, in which {matches[0].word!r:.60} is banned"
        raise Refused(
            why, wish.fields["banned"], "conflict", "Let sfgen.allow have this text, or switch the thought off."
        )
    return Thought(with_thought_begun(model, prompt, form), end)


def _form(model: Model, prompt: Sequence[int], wish: Wish) -> ThoughtForm | None:
    """The form of the thought that is written behind a prompt; ``None``: none is."""
    form = thought_of(model)
    if form is None or getattr(prompt, "begun", None) is not None or form.is_off_in(getattr(prompt, "text", "")):
        return None
    # Else the template may only pass on the thoughts of earlier answers.
    thinks = form.is_usual or special_in(model, form.begin) or special_in(model, form.end)
    return form if thinks or wish.thought.is_apart else None


def _without_thought(model: Model, wish: Wish) -> Sequence[int]:
    """The conversation with thinking switched off."""
    for switched in ({}, *SWITCHES):
        prompt = _rendered(model, wish, **switched)
        if _form(model, prompt, wish) is None:
            return prompt
    raise Refused("the chat template of this model cannot switch its thought off", wish.fields["effort"])


def _knows_effort(model: Model, wish: Wish) -> bool:
    """Whether a chat template writes how much the model is to think."""
    try:
        return len({tuple(_rendered(model, wish, reasoning_effort=each)) for each in _EFFORTS}) > 1
    except SfgenError:
        return False


def _rendered(model: Model, wish: Wish, **variables: object) -> Sequence[int]:
    return chat_ids(model, wish.messages, wish.tools or None, {**(wish.variables or {}), **variables} or None)
