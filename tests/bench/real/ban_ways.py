"""The ways of banning phrases that are measured beside each other, each a job over the same prompts and seeds.

* *free*: nothing is banned.
* ``bad_words_ids`` of transformers: the package's own logits processor, on the same scores, with four spellings of each
  phrase: with a blank before it and without, with a capital and without.
* ``logit_bias``: -100 on the first token of these spellings, as it is done with services that offer nothing else.
* the strategies of sfgen.

All write with sfgen's sampler and decode loop, several texts at once, and tell how likely the free model finds each of
their tokens.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfgen import BannedWords, GenerationConfig, Job, job_records
from sfgen.decoding.sampler import log_sum

ROWS = 10
"""Texts at once: on one thread llama.cpp takes less processor time for a token then."""
TEMPERATURE = 0.8
TOKENS = 200
SEED = 10_000
"""That of the first prompt; the second has the next one."""


@dataclass(frozen=True)
class Written:
    """One text, and what it took.

    Attributes:
        prompt: The text before it.
        text: The text.
        logprobs: Of each token, under the free model at temperature 1.
        forward_passes: How many there were.
        rollbacks: The phrases that were taken back.
        moved_blocks: How often the start of a block moved.
        error: Why there is no text; then all else is empty.
    """

    prompt: str
    text: str = ""
    logprobs: Sequence[float] = ()
    forward_passes: int = 0
    rollbacks: Sequence[str | None] = ()
    moved_blocks: int = 0
    error: str | None = None


@dataclass(frozen=True)
class Way:
    """One way of banning.

    Attributes:
        name: What the report calls it.
        model: What is asked for scores.
        config: How it is written.
    """

    name: str
    model: Any
    config: GenerationConfig

    def write(self, prompts: Sequence[str], first: int) -> tuple[list[Written], float]:
        """Write a text after each prompt.

        Args:
            prompts: The prompts.
            first: The number of the first one: so seeds depend on the prompt alone.

        Returns:
            The texts, and the processor time of all in seconds.
        """
        assert self.config.sampler is not None, "each way has one"
        sampler = replace(self.config.sampler, seed=SEED + first)
        job = Job(self.model, replace(self.config, sampler=sampler))
        begun = time.process_time()
        records = list(job_records(job, prompts, batch_size=ROWS))
        seconds = time.process_time() - begun
        return [self._written(record) for record in records], seconds

    def _written(self, record: Mapping[str, Any]) -> Written:
        if "error" in record:
            return Written(record["prompt"], error=str(record["error"]))
        if isinstance(self.model, ProcessedModel):
            logprobs = self.model.logprobs(record["prompt"], record["token_ids"])
        else:
            logprobs = [token["model"] for token in record.get("logprobs", ())]
        return Written(
            record["prompt"],
            record["text"],
            logprobs,
            record["forward_passes"],
            [rollback["word"] for rollback in record.get("rollbacks", ())],
            record.get("moved_blocks", 0),
        )


def ways(model: Any, phrases: Sequence[str], tokens: int) -> list[Way]:
    """All ways of banning some phrases, the free one first.

    Args:
        model: The model.
        phrases: What is banned.
        tokens: The most tokens of a text.
    """
    from transformers import NoBadWordsLogitsProcessor

    spelled = [ids for phrase in phrases for ids in spellings(model, phrase)]
    processor = NoBadWordsLogitsProcessor(spelled, list(model.vocabulary.end_token_ids))
    first_tokens = dict.fromkeys((ids[0] for ids in spelled), -100.0)
    banned = BannedWords(phrases)

    def config(**how: Any) -> GenerationConfig:
        # Prompts are taken as they are: a logits processor knows of no healing.
        how = {"logprobs": True, "temperature": TEMPERATURE, "seed": SEED, **how}
        return GenerationConfig(max_tokens=tokens, heal=False, **how)

    found = [
        Way("free", model, config()),
        Way("`bad_words_ids`", ProcessedModel(model, processor), config(logprobs=False)),
        Way("`logit_bias`", model, config(logit_bias=first_tokens)),
    ]
    for name in ("resample", "first-token", "mask"):
        found.append(Way(f"sfgen, `{name}`", model, config(banned=banned, strategy=name)))
    return found


def exact_config(phrases: Sequence[str], tokens: int, passes: int) -> GenerationConfig:
    """The configuration of texts that are drawn as a whole."""
    return GenerationConfig(
        banned=phrases, strategy="exact", temperature=TEMPERATURE, seed=SEED, max_tokens=tokens, max_passes=passes
    )


def spellings(model: Any, phrase: str) -> list[list[int]]:
    """The token sequences with which people ban a phrase: with a blank before it and a capital, and without."""
    capital = phrase[0].upper() + phrase[1:]
    return [model.encode_inside(blank + form) for form in (phrase, capital) for blank in (" ", "")]


class ProcessedModel:
    """A model whose scores go through a logits processor of transformers.

    Args:
        model: The model.
        processor: The processor.

    Attributes:
        vocabulary: That of the model.
        finished: Of each text that is over, by its tokens as they were read: how likely each was, and the scores at the
            end, of which the last token was chosen.
    """

    def __init__(self, model: Any, processor: Any) -> None:
        self._model, self._processor = model, processor
        self.vocabulary = model.vocabulary
        self.context_length = model.context_length
        self.encode = model.encode
        self.encode_inside = model.encode_inside
        self.finished: dict[tuple[int, ...], tuple[list[float], Any]] = {}

    def session(self) -> Any:
        """Nobody asks for one."""
        raise NotImplementedError

    def batch(self, rows: int) -> ProcessedBatch:
        """Several sequences."""
        return ProcessedBatch(self._model.batch(rows), self._processor, self.finished)

    def logprobs(self, prompt: str, token_ids: Sequence[int]) -> list[float]:
        """How likely the model found each token of a text that is over, before the processor."""
        read = (*self._model.encode(prompt), *token_ids)
        if read in self.finished:  # an end token was chosen, which is no token of the text
            return self.finished.pop(read)[0]
        before, scores = self.finished.pop(read[:-1])
        return [*before, _logprob(scores, read[-1])]


class ProcessedBatch:
    """Sequences whose scores go through a logits processor.

    It is for texts that take nothing back: a row is rewound when its text is over.
    """

    def __init__(self, batch: Any, processor: Any, finished: dict[tuple[int, ...], tuple[list[float], Any]]) -> None:
        self._batch, self._processor, self._finished = batch, processor, finished
        self._read: dict[int, list[int]] = {}
        self._logprobs: dict[int, list[float]] = {}
        self._scores: dict[int, Any] = {}

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Any]:
        """Read tokens, and process the scores of all rows at once, as ``generate`` does."""
        import torch

        answers = self._batch.extend(rows)
        for row, tokens in rows.items():
            if row in self._scores:
                self._logprobs.setdefault(row, []).append(_logprob(self._scores[row], tokens[0]))
            self._read.setdefault(row, []).extend(tokens)
            self._scores[row] = answers[row]
        longest = max(len(self._read[row]) for row in rows)
        ids = torch.full((len(rows), longest), -1)  # to the left of shorter texts, where it spells nothing
        for place, row in enumerate(rows):
            ids[place, longest - len(self._read[row]) :] = torch.tensor(self._read[row])
        processed = self._processor(ids, torch.from_numpy(np.stack([answers[row] for row in rows]))).numpy()
        return dict(zip(rows, processed, strict=True))

    def rewind(self, row: int, length: int) -> None:
        """Forget a text that is over."""
        self._batch.rewind(row, length)
        if row in self._read:
            read = tuple(self._read[row])
            if row in self._scores:
                self._finished[read] = self._logprobs.pop(row, []), self._scores.pop(row)
            self._read[row] = list(read[:length])


def _logprob(scores: Any, token: int) -> float:
    return float(scores[token]) - log_sum(scores.astype(np.float64))
