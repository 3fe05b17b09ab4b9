"""The records of a job: the slots of its output, and the keys of each record, before the text and after it.

A line of the output is a record. Its first keys are ``id``, if the prompt has one; ``line``, the number of its line in
the input; and ``sample``, from 0 on, if there are several. ``input`` has the keys of the prompt's record that sfgen
only passes on. ``options`` has the options that a text depends on and that have no key of their own. ``run`` is a
digest of all that a text depends on but its prompt and its seed. A failed text has ``error`` and no ``text``.
:mod:`sfgen.jobs.record_format` chooses the keys that are written, and their format.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sfgen.decoding.plain_forms import has_temperatures, word_bias_of
from sfgen.decoding.sampler import DRAWS
from sfgen.jobs.job import FIRST_SAMPLE, sampler_of
from sfgen.jobs.prompt_record import PromptRecord
from sfgen.jobs.record_format import Fields

if TYPE_CHECKING:
    from sfgen import Sampler
    from sfgen.decoding import Result
    from sfgen.jobs.job import Job
    from sfgen.scoring.loop import Scored

_TOOL_DIGITS = 16  # hexadecimal

RESULT_KEYS = frozenset(
    (
        *("text", "finish_reason", "token_ids", "prompt_tokens", "completion_tokens", "forward_passes"),
        *("forced_tokens", "seconds", "healed", "thought", "calls", "rollbacks", "moved_blocks", "value", "groups"),
        "logprobs",
        *("scores", "total_probability", "rendered"),
    )
)
"""The keys of a record that depend on the text."""


def asked(job: Job, prompt: str, *, seed: int | None) -> dict[str, Any]:
    """Return the keys of a record that are known before the text: all but ``RESULT_KEYS``."""
    config, facts = job.config, job.constraint
    messages = {"messages": list(job.messages)} if job.messages else {}
    if job.scored is not None:
        return {"prompt": prompt, **messages, "model": job.model_name, **facts.named()}
    fields: dict[str, Any] = {"prompt": prompt, **messages, "model": job.model_name, "seed": seed, **facts.named()}
    if (banned := job.banned) is not None:
        fields["banned"] = {
            "words": list(banned.words),
            "patterns": list(banned.patterns),
            "match": banned.match,
            "ignore_case": banned.ignore_case,
            "normalize": banned.normalize,
            "allow": list(banned.allow),
            "strategy": config.strategy,
        }
    if (biases := word_bias_of(config.word_bias)) is not None:
        fields["word_bias"] = {
            "words": biases.biases,
            "match": biases.match,
            "ignore_case": biases.ignore_case,
            "normalize": biases.normalize,
        }
    if config.after is not None:
        fields["after"] = config.after
    if config.when is not None:
        fields["when"] = config.when
    if config.stop:
        fields["stop"] = list(config.stop)
    if facts.engine is not None:
        fields["engine"] = facts.engine
    if not config.fast_forward:
        fields["fast_forward"] = False
    if config.heal is not None:
        fields["heal"] = config.heal
    return fields


def options(job: Job) -> dict[str, Any]:
    """Return the options of a text that have no key of their own."""
    # Numbers that need not be whole are written as floats: lines are compared as text, so 1 and 1.0 must be the same.
    config, sampler, spec = job.config, job.sampler, job.spec
    named: dict[str, Any] = {"scores": True}
    if job.scored is None:
        named = {"temperature": float(sampler.temperature), "max_tokens": config.max_tokens}
        if (draws := version_of_draws(job)) is not None:
            named["draws"] = draws
        if sampler.top_k is not None:
            named["top_k"] = sampler.top_k
        for name in ("top_p", "min_p"):
            if (value := getattr(sampler, name)) is not None:
                named[name] = float(value)
        for name, without in (("frequency_penalty", 0), ("presence_penalty", 0), ("repetition_penalty", 1)):
            if (value := getattr(sampler, name)) != without:
                named[name] = float(value)
        if sampler.logit_bias:
            named["logit_bias"] = {str(token): float(bias) for token, bias in sampler.logit_bias.items()}
    if spec is not None and spec.tokenizer is not None:
        named["tokenizer"] = str(spec.tokenizer)
    if spec is not None and spec.dtype != "auto":
        named["dtype"] = spec.dtype
    if job.chat:
        named["chat"] = True
    if job.prompt_template is not None:
        named["prompt_template"] = job.prompt_template
    if job.is_chat and job.tools is not None:
        named["tools"] = sha256(json.dumps(job.tools).encode()).hexdigest()[:_TOOL_DIGITS]
    if config.after is not None:
        named["after_tokens"] = config.after_tokens
        if config.after_counts:
            named["after_counts"] = True
    if config.logprobs:
        named["logprobs"] = True
    named |= job.constraint.known_again()
    if config.strategy == "exact":
        named |= {"strategy": config.strategy, "max_passes": config.max_passes}
    if job.takes_back:
        named |= {"max_block": config.max_block, "max_rollbacks": config.max_rollbacks}
    return named


def version_of_draws(job: Job) -> int | None:
    """Return the version of the method by which tokens are drawn; ``None`` if none are."""
    draws = job.sampler.temperature > 0 or has_temperatures(job.config.index)
    return DRAWS if draws and job.config.strategy != "exact" else None


def record(
    job: Job, prompt: str, result: Result, *, seed: int | None, seconds: float, rendered: str | None = None
) -> dict[str, Any]:
    """Return the record of one text."""
    # Keys stay; more may be added.
    fields: dict[str, Any] = {
        "text": result.text,
        "prompt": prompt,
        "model": job.model_name,
        "finish_reason": result.finish_reason,
        "token_ids": list(result.token_ids),
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": len(result.token_ids),
        "forward_passes": result.forward_passes,
        "forced_tokens": result.forced_tokens,
        "healed": result.healed,
        "seed": seed,
        "seconds": round(seconds, 6),
        **asked(job, prompt, seed=seed),  # keys that are above keep their place
    }
    if rendered is not None:
        fields["rendered"] = rendered
    if result.thought is not None:
        fields["thought"] = result.thought
    if result.calls is not None:
        fields["calls"] = list(result.calls)
    elif job.constraint.has_values:
        fields["value"] = result.value
    if result.calls is None and (result.named or job.constraint.has_groups):
        fields["groups"] = None if result.named is None else result.groups
    if result.logprobs is not None:
        fields["logprobs"] = [
            {"token_id": token, "model": logprob.model, "mask": logprob.mask}
            for token, logprob in zip(result.token_ids, result.logprobs, strict=True)
        ]
    if job.takes_back:
        fields["rollbacks"] = [
            {
                "position": event.position,
                "word": event.word,
                "text": event.text,
                "tokens": list(event.token_ids),
                "probability": event.probability,
                "ruled_out": {"position": event.place, "tokens": event.ruled_out},
                **({} if event.bias is None else {"bias": event.bias}),
            }
            for event in result.rollbacks
        ]
        fields["moved_blocks"] = result.moved_blocks
    return fields


def scores_record(
    job: Job, prompt: str, scored: Scored, *, seconds: float, rendered: str | None = None
) -> dict[str, Any]:
    """Return the record of the scores after one prompt."""
    # Keys stay; more may be added.
    return {
        "text": scored.scores[0].text,
        "scores": [
            {
                "text": score.text,
                "probability": score.probability,
                "logprob": score.logprob if math.isfinite(score.logprob) else None,
                "tokens": list(score.tokens),
            }
            for score in scored.scores
        ],
        "total_probability": scored.total_probability,
        "prompt_tokens": scored.prompt_tokens,
        "forward_passes": scored.forward_passes,
        "seconds": round(seconds, 6),
        **asked(job, prompt, seed=None),
        **({} if rendered is None else {"rendered": rendered}),
    }


VERSION = 1
"""The version of the lines; a file of another version is never resumed."""

_RUN_DIGITS = 12  # hexadecimal


@dataclass(frozen=True)
class Slot:
    """A slot in the output: one sample of a record. A record with a fault has one slot.

    Attributes:
        prompt: The record of the input.
        sample: The number of the sample, from 0 on; ``None`` if there is only one.
        sampler: Its sampler, with its seed.
    """

    prompt: PromptRecord
    sample: int | None
    sampler: Sampler

    @property
    def head(self) -> dict[str, Any]:
        """The first keys of the line."""
        sample = {} if self.sample is None else {"sample": self.sample}
        return {**self.prompt.id, "line": self.prompt.line, **sample}

    @property
    def key(self) -> tuple[int, int]:
        """A key that no other slot of the output has."""
        return self.prompt.line, 0 if self.sample is None else self.sample

    @property
    def place(self) -> str:
        """The name of the slot, for people."""
        return f"line {self.prompt.line}" + ("" if self.sample is None else f", sample {self.sample}")


@dataclass(frozen=True)
class Lines:
    """The content of the lines of a run.

    Attributes:
        job: The job.
        sampler: The sampler of the first sample of the first line.
        fields: The keys that are written; ``None``: all but ``run``, for records in memory.
    """

    job: Job
    sampler: Sampler
    fields: Fields | None = field(default_factory=Fields)

    @classmethod
    def of(cls, job: Job, fields: Fields | None = None) -> Lines:
        """Return the lines of a new run of a job."""
        return cls(job, job.sampler, fields)

    def slots(self, prompts: Iterable[PromptRecord]) -> Iterator[Slot]:
        """Yield the slots in the output, in order."""
        for prompt in prompts:
            if prompt.prompt is None or self.job.samples == 1:
                yield Slot(prompt, None, self._sampler(prompt, FIRST_SAMPLE))
            else:
                for number in range(self.job.samples):
                    yield Slot(prompt, number, self._sampler(prompt, number))

    def _sampler(self, prompt: PromptRecord, number: int) -> Sampler:
        own = None if prompt.own is None else prompt.own.seed
        if own is None:
            return sampler_of(self.sampler, line=prompt.line, sample=number, samples=self.job.samples)
        first = self.sampler if self.sampler.seed is None else replace(self.sampler, seed=own)
        return sampler_of(first, sample=number, samples=self.job.samples)

    # ---- their content ---------------------------------------------------------------------------------------------

    def written(
        self, slot: Slot, job: Job, result: Result, seconds: float, rendered: str | None = None
    ) -> dict[str, Any]:
        """Return the line of a text."""
        prompt = slot.prompt.prompt or ""
        fields = record(job, prompt, result, seed=slot.sampler.seed, seconds=seconds, rendered=rendered)
        return self._line(slot, {**slot.head, **fields, **self._passed_on(slot), "options": options(job)})

    def scored(
        self, slot: Slot, job: Job, scored: Scored, seconds: float, rendered: str | None = None
    ) -> dict[str, Any]:
        """Return the line of the scores of choices."""
        fields = scores_record(job, slot.prompt.prompt or "", scored, seconds=seconds, rendered=rendered)
        return self._line(slot, {**slot.head, **fields, **self._passed_on(slot), "options": options(job)})

    def failed(self, slot: Slot, message: str) -> dict[str, Any]:
        """Return the line of a failed text."""
        fields = {} if slot.prompt.own is not None else self.asked(slot)
        if fields == {} and slot.prompt.prompt is not None:
            fields = {"prompt": slot.prompt.prompt, "model": self.job.model_name, **self._seed(slot)}
        return self._line(slot, {**slot.head, **fields, **self._passed_on(slot), "error": message})

    def asked(self, slot: Slot) -> dict[str, Any]:
        """Return the keys of a line that are known beforehand; none without a prompt."""
        if slot.prompt.prompt is None:
            return {}
        return {**asked(self.job, slot.prompt.prompt, seed=slot.sampler.seed), "options": options(self.job)}

    def known(self, slot: Slot) -> dict[str, Any]:
        """Return the keys by which a line is recognized."""
        # Differences are reported in this order.
        prompt = slot.prompt.prompt
        told = {"error": slot.prompt.fault} if prompt is None else {"prompt": prompt}
        seed = {} if prompt is None else self._seed(slot)
        return {**slot.head, **told, **self._passed_on(slot), "run": self._run_of(slot), **seed}

    def _line(self, slot: Slot, fields: dict[str, Any]) -> dict[str, Any]:
        if self.fields is None:
            return fields
        return self.fields.chosen({**fields, "run": self._run_of(slot)})

    def _seed(self, slot: Slot) -> dict[str, Any]:
        return {} if self.job.scored is not None else {"seed": slot.sampler.seed}

    def _passed_on(self, slot: Slot) -> dict[str, Any]:
        return dict(slot.prompt.input)

    # ---- common to all of them ------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that the texts of the run depend on, and the keys that are written."""
        known = asked(self.job, "", seed=None)
        same = {key: value for key, value in known.items() if key not in ("prompt", "seed")}
        chosen = {}
        if self.fields is not None and not self.fields.is_usual:
            chosen["fields"] = "all" if self.fields.names is None else list(self.fields.names)
        return {"version": VERSION, **same, "options": options(self.job), **chosen}

    @cached_property
    def run(self) -> str:
        """A digest of these facts."""
        return _digest(json.dumps(self.facts, sort_keys=True))

    def _run_of(self, slot: Slot) -> str:
        """Digest all that a text depends on but its prompt and its seed."""
        return self.run if slot.prompt.own is None else _digest(f"{self.run} {slot.prompt.own.digest}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_RUN_DIGITS]
