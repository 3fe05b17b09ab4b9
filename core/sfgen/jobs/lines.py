"""The lines that many prompts are answered with: which there are, and what each of them says.

A line is a record (``sfgen.jobs.record``) that begins with the ``id`` of the prompt, where it has one, with ``line``,
the number of its line in the input, and with ``sample``, from 0 on, where there are several. Under ``input`` are the
keys of the prompt's record that mean nothing here. ``options`` are those that a text depends on and that no other key
tells; ``run`` stands for all that a text depends on but its prompt and its seed. What failed has ``error``, and no
``text``. Which of the keys are written says ``sfgen.jobs.fields``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sfgen.jobs.fields import Fields
from sfgen.jobs.prompt_record import PromptRecord
from sfgen.jobs.record import asked, options, record, scores_record
from sfgen.jobs.seeds import FIRST_SAMPLE, sampler_of

if TYPE_CHECKING:
    from sfgen import Result, Sampler
    from sfgen.jobs.job import Job
    from sfgen.scoring.loop import Scored

VERSION = 1
"""Of what lines say; another one is never gone on with."""

_KEPT = 12  # hexadecimal digits of a digest


@dataclass(frozen=True)
class Slot:
    """A slot in the output: one sample of a record.

    A record with a fault has one slot, too.

    Attributes:
        prompt: The record of the input.
        sample: The number of the sample, from 0 on; ``None`` where there is one only.
        sampler: How it is drawn.
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
        sampler: How the first sample of the first line is drawn.
        fields: Which keys are written; ``None``: all but ``run``, for whoever keeps the records in memory.
    """

    job: Job
    sampler: Sampler
    fields: Fields | None = field(default_factory=Fields)

    @classmethod
    def of(cls, job: Job, fields: Fields | None = None) -> Lines:
        """Return the lines of a job that begins.

        Args:
            job: The job.
            fields: Which keys are written; ``None``: all but ``run``.
        """
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

    # ---- what they say ---------------------------------------------------------------------------------------------

    def written(
        self, slot: Slot, job: Job, result: Result, seconds: float, rendered: str | None = None
    ) -> dict[str, Any]:
        """Return the line of a text.

        Args:
            slot: Its slot.
            job: The job of its record.
            result: The text.
            seconds: How long it took.
            rendered: Its prompt as the chat template writes it; ``None``: there is no chat.
        """
        prompt = slot.prompt.prompt or ""
        fields = record(job, prompt, result, seed=slot.sampler.seed, seconds=seconds, rendered=rendered)
        return self._line(slot, {**slot.head, **fields, **self._passed_on(slot), "options": options(job)})

    def scored(
        self, slot: Slot, job: Job, scored: Scored, seconds: float, rendered: str | None = None
    ) -> dict[str, Any]:
        """Return the line of the scores of choices.

        Args:
            slot: Its slot.
            job: The job of its record.
            scored: The scores.
            seconds: How long they took.
            rendered: Its prompt as the chat template writes it; ``None``: there is no chat.
        """
        fields = scores_record(job, slot.prompt.prompt or "", scored, seconds=seconds, rendered=rendered)
        return self._line(slot, {**slot.head, **fields, **self._passed_on(slot), "options": options(job)})

    def failed(self, slot: Slot, message: str) -> dict[str, Any]:
        """Return the line of a failed text.

        Args:
            slot: Its slot.
            message: Why it failed.
        """
        fields = {} if slot.prompt.own is not None else self.asked(slot)
        if fields == {} and slot.prompt.prompt is not None:
            fields = {"prompt": slot.prompt.prompt, "model": self.job.model_name, **self._seed(slot)}
        return self._line(slot, {**slot.head, **fields, **self._passed_on(slot), "error": message})

    def asked(self, slot: Slot) -> dict[str, Any]:
        """Return the keys of a line that are known beforehand.

        There are none where there is no prompt.
        """
        if slot.prompt.prompt is None:
            return {}
        return {**asked(self.job, slot.prompt.prompt, seed=slot.sampler.seed), "options": options(self.job)}

    def known(self, slot: Slot) -> dict[str, Any]:
        """Return the keys by which a line is recognized.

        Differences are told in their order.
        """
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

    # ---- what is the same in all of them ---------------------------------------------------------------------------

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts that all texts of the run depend on.

        The keys that are written are among them.
        """
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
        """What stands for all that a text depends on but its prompt and its seed."""
        return self.run if slot.prompt.own is None else _digest(f"{self.run} {slot.prompt.own.digest}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_KEPT]
