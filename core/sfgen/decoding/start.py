"""Where a text begins: what the model reads before it, and the guides that lead on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfgen.decoding.allowed import Allowed
from sfgen.decoding.healing import seams
from sfgen.decoding.limits import Limits
from sfgen.errors import InputError, LimitTooSmall
from sfgen.index import UnconstrainedGuide
from sfgen.index.literal_guide import LiteralGuide
from sfgen.protocols import Guide


@dataclass(frozen=True)
class Start:
    """The start of a text: prompt tokens, limit and guides.

    Attributes:
        prompt_ids: The tokens that the model reads before it.
        limit: The most tokens that it may have.
        guide: What may follow.
        clean: What may follow without banned words, where another guide walks beside it.
        healed: The end of the prompt that the guides lead through first.
    """

    prompt_ids: Sequence[int]
    limit: int
    guide: Guide
    clean: Guide | None
    healed: bytes = b""


def start(limits: Limits, prompt_ids: Sequence[int], allowed: Allowed) -> Start:
    """Return the start after a whole prompt.

    Args:
        limits: The bounds on the tokens.
        prompt_ids: The tokens of the prompt.
        allowed: The constraints of the text.

    Raises:
        InputError: The prompt alone is longer than the context.
        LimitTooSmall: No text fits.
    """
    budget = limits.behind(len(prompt_ids))
    is_free = allowed.guided is None and allowed.marker is None
    guide = UnconstrainedGuide(limits.vocabulary) if is_free else budget.guide(allowed.guided)
    return Start(prompt_ids, budget.limit, guide, None if allowed.clean is None else budget.guide(allowed.clean))


def healed(whole: Start, prompt: bytes, limits: Limits, allowed: Allowed) -> Start:
    """Return the start with the end of the prompt healed.

    It is the start without where no token may reach across, or there is no room.

    Args:
        whole: The start without.
        prompt: The bytes of the text that the prompt ends with.
        limits: The bounds on the tokens.
        allowed: The constraints of the text.
    """
    for seam in seams(limits.vocabulary, whole.prompt_ids, prompt):
        # Each byte may be written by a token of its own.
        try:
            budget = limits.behind(len(seam.prompt_ids) + len(seam.healed))
            behind = budget.source(allowed.guided)
            # Free text is cut by the loop.
            guide = LiteralGuide(seam.healed, behind, None if allowed.guided is None else budget.limit)
            clean = allowed.clean
            beside = None if clean is None else LiteralGuide(seam.healed, budget.source(clean), budget.limit)
            if (budget.limit or budget.thought) and guide.crosses:
                return Start(seam.prompt_ids, budget.limit, guide, beside, seam.healed)
        except (InputError, LimitTooSmall):  # the context is too small for it
            continue
    return whole
