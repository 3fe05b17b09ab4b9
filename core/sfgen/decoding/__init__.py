"""The decode loop: a model, a guide and a ban make a text, event by event.

``protocols`` says what the loop asks of each; ``loop`` is the generator; ``sequence`` one text with all that walks
along; ``search_tree`` the tokens and the trie of what was tried; ``ban`` and ``strategies`` how banned text is undone;
``sampler`` the choice; ``stops`` the stop strings; ``detokenizer`` what may be written; ``events`` what is told;
``top_logprobs`` what the model found likely; ``verify`` the last look at the text; ``generation`` runs the loop for one
text, ``batch`` for several in lock-step.
"""

from sfgen.decoding.batch import batch_of, drive_batch
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
from sfgen.decoding.generation import generate, prepare, stream
from sfgen.decoding.sampler import Sampler
from sfgen.protocols import Batch, Guide, GuideSource, Model, Session

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
