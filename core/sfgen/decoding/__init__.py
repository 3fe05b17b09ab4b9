"""The decode loop: a model, a guide and a ban make a text, event by event.

``protocols`` says what the loop asks of each; ``loop`` is the generator; ``path`` the tokens and the trie of what was
tried; ``ban`` and ``strategies`` how banned text is undone; ``sampler`` the choice; ``stops`` the stop strings;
``release`` what may be written; ``events`` what is told; ``outlook`` what the model found likely; ``promises`` the last
look at the text; ``drive`` runs the loop for one text, ``batch`` for several in lock-step.
"""

from sfgen.decoding.batch import Batch, batch_of, drive_batch
from sfgen.decoding.drive import generate, prepare, stream
from sfgen.decoding.events import (
    Ask,
    AskAgain,
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
    "AskAgain",
    "Batch",
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
    "batch_of",
    "drive_batch",
    "generate",
    "prepare",
    "stream",
]
