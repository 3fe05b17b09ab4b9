"""The decode loop: a model, a guide and a ban make a text, event by event.

``protocols`` says what the loop asks of each; ``loop`` is the generator; ``path`` the tokens and the trie of what was
tried; ``ban`` and ``strategies`` how banned text is undone; ``sampler`` the choice; ``stops`` the stop strings;
``release`` what may be written; ``events`` what is told; ``promises`` the last look at the text; ``drive`` runs the
loop for one text.
"""

from sfgen.decoding.drive import generate, stream
from sfgen.decoding.events import (
    Ask,
    BlockClosed,
    BlockMoved,
    Candidate,
    Event,
    Finished,
    Outlook,
    Result,
    RolledBack,
    TextReleased,
    TokenChosen,
    Watch,
)
from sfgen.decoding.protocols import Guide, GuideSource, Model, Session
from sfgen.decoding.sampler import Sampler

__all__ = [
    "Ask",
    "BlockClosed",
    "BlockMoved",
    "Candidate",
    "Event",
    "Finished",
    "Guide",
    "GuideSource",
    "Model",
    "Outlook",
    "Result",
    "RolledBack",
    "Sampler",
    "Session",
    "TextReleased",
    "TokenChosen",
    "Watch",
    "generate",
    "stream",
]
