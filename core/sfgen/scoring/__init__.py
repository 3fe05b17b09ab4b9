"""The probability of each of some choices, as whole texts after a prompt.

``spelling`` finds the tokens of the choices behind the prompt, ``prefix_tree`` shares what they begin with, ``loop``
asks the model along the tree, ``choice`` is what comes out, ``one_prompt`` has the function for one
prompt. Many prompts are a ``sfgen.Job`` with ``choices``.
"""

from sfgen.scoring.loop import ChoiceScore
from sfgen.scoring.one_prompt import score

__all__ = ["ChoiceScore", "score"]
