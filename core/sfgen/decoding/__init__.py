"""The decode loop: a model, a guide and a ban make a text, event by event.

From call to result, in reading order:

* ``generation`` runs one text, ``asynchronous`` does so in a thread, ``batch`` runs several in lock-step;
* ``config`` has the parameters, ``plain_forms`` reads them, ``text_constraints`` and ``start`` make constraints, limits
  and guides of them, and ``prepare`` the loop;
* ``loop`` is the generator of requests and events: one token chosen, or tokens rolled back; ``exact`` is the loop that
  draws whole texts;
* ``sequence`` is one text with guide, ban and stop strings, ``search_tree`` its tokens and the tree of what was tried;
* ``sampler`` says how a token is chosen and draws random numbers, ``choice`` chooses for all rows at once, by
  ``choice_kernels`` or ``choice_device``; ``ban`` and ``rollback_decision`` undo banned text, ``json_strings`` finds it
  in strings of JSON;
* ``forward_passes`` asks the model, ``mask_prefetch`` makes a mask meanwhile, ``jump_forward`` finds tokens that need
  no forward pass, with ``retokenize``; ``healing`` mends the seam between prompt and text;
* ``events`` are what the loop tells, with ``likeliest_tokens``; ``detokenizer`` says which bytes may be released;
  ``verify`` checks the finished text.
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
