"""The decode loop: a model, a guide and a ban make a text, event by event.

``protocols`` says what the loop asks of each; ``loop`` is the generator; ``sequence`` one text with all that walks
along; ``search_tree`` the tokens and the trie of what was tried; ``ban`` and ``strategies`` how banned text is undone;
``sampler`` the choice; ``stops`` the stop strings; ``detokenizer`` what may be written; ``events`` what is told;
``top_logprobs`` what the model found likely; ``token_logprobs`` how likely each token was; ``verify`` the last look at
the text; ``config`` the parameters of a generation, ``prepare`` makes the loop of them, ``healing`` the seam
between prompt and text, ``exact`` has the loop that draws whole texts; ``generation`` runs one for one text,
``asynchronous`` does so in a thread, ``batch`` runs several in lock-step.
"""

from sfgen.decoding.asynchronous import agenerate, astream
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.events import (
    Ask,
    AskAgain,
    BlockClosed,
    BlockMoved,
    Candidate,
    Event,
    Finished,
    Outlook,
    PrefixScored,
    Result,
    RolledBack,
    TextReleased,
    ThoughtReleased,
    TokenChosen,
    TokenLogprob,
    Watch,
)
from sfgen.decoding.generation import generate, stream
from sfgen.decoding.prepare import prepare
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
    "GenerationConfig",
    "Guide",
    "GuideSource",
    "Model",
    "Outlook",
    "PrefixScored",
    "Result",
    "RolledBack",
    "Sampler",
    "Session",
    "TextReleased",
    "ThoughtReleased",
    "TokenChosen",
    "TokenLogprob",
    "Watch",
    "agenerate",
    "astream",
    "batch_of",
    "drive_batch",
    "generate",
    "prepare",
    "stream",
]
