"""The probability of each of some choices, as whole texts after a prompt.

``one_prompt`` has the function for one prompt, ``spelling`` finds the tokens of the choices after the prompt, ``loop``
scores the tree of their common prefixes. For many prompts use a ``sfgen.Job`` with ``choices``.
"""

from sfgen.scoring.loop import ChoiceScore
from sfgen.scoring.one_prompt import score

__all__ = ["ChoiceScore", "score"]
