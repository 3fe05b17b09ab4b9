"""Load at a server's start all that the first requests would load, by writing short texts with made-up scores.

Loading kernels and tables of characters takes a second in all, and parts of it would stop every stream. The processes
of the pool compile the constraints of these texts, as for requests; no model is asked for scores.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import Iterable
from typing import Any

import numpy as np

from sfgen.ban import BannedWords
from sfgen.decoding import GenerationConfig, Sampler
from sfgen.decoding.events import Ask, AskAgain
from sfgen.decoding.plain_forms import vocabulary_of
from sfgen.decoding.prepare import loop_of
from sfgen.errors import SfgenError
from sfgen.index import Index
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.protocols import Model, Scores
from sfgen.serve.compile_worker import Ban
from sfgen.serve.constraints import Constraints

TOKENS = 24
"""The number of tokens of each text."""

_WORDS = Ban(("e", "is not"), (), "substring", ignore_case=True, normalize=False, allow=())
_PATTERN = Ban((), ("[aeiou][a-z]?,",), "substring", ignore_case=True, normalize=False, allow=())
_SCHEMA: Any = {"properties": {"a": {"type": "number"}, "b": {"pattern": "^a+$"}, "c": {"type": "string"}}}
REHEARSED = (
    (OwnConstraint("regex", json.dumps("([a-z]+|[0-9]{2,3})[ .]?")), _WORDS),
    (OwnConstraint("schema", json.dumps(_SCHEMA)), _PATTERN),
    (OwnConstraint("grammar", json.dumps('root ::= "(" root ")" | [a-z]+')), _WORDS),
)

_LOG = logging.getLogger("sfgen.serve")


async def warm_up(constraints: Constraints, models: Iterable[Model]) -> None:
    """Load all that requests to some models need; errors are ignored here, since such a request will report them."""
    for model in models:
        for own, ban in REHEARSED:
            try:
                index, banned, clean = await constraints.rehearsed(own, ban, vocabulary_of(model))
                for given in ((None, banned, None), (index, None, None), (index, banned, clean)):
                    await asyncio.to_thread(_write, model, *given)
            except (SfgenError, MemoryError) as error:
                _LOG.debug("not warm: %s", error)
    gc.freeze()  # else the collector would walk hundreds of thousands of objects in the middle of a text


def _write(model: Model, index: Index | None, banned: BannedWords | None, clean: Index | None) -> None:
    """Write a text of tokens that are all equally likely."""
    config = GenerationConfig(index=index, banned=banned, max_tokens=TOKENS, sampler=Sampler(1.0, seed=0))
    text = loop_of(model, [], config, without=lambda *_: clean).run()
    scores: Scores = np.zeros(len(vocabulary_of(model)), np.float32)
    answer: Scores | None = None
    try:
        while True:
            answer = scores if isinstance(text.send(answer), Ask | AskAgain) else None
    except StopIteration:
        return
