"""The lines that many prompts are answered with: what each of them says, and whether one that is there is of this job.

A line is a record (``sfgen.jobs.record``) that begins with the ``id`` of the prompt, where it has one, with ``line``,
the number of its line in the input, and with ``sample``, from 0 on, where there are several. At its end ``options`` are
those that a text depends on and that no other key tells. What failed has ``error``, and no ``text``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfgen.errors import ForeignOutput
from sfgen.jobs.output import OutputFile
from sfgen.jobs.prompts import PromptRecord
from sfgen.jobs.record import RESULT_KEYS, asked, options, record, scores_record
from sfgen.jobs.seeds import FIRST_SAMPLE, first_seed, sampler_of
from sfgen.printable import json_text, on_one_line

if TYPE_CHECKING:
    from sfgen import Result, Sampler
    from sfgen.jobs.job import Job
    from sfgen.scoring.choice import Scored

_SHOWN = 60  # characters of a value
_OTHER = "Name another file, or give the prompts and the configuration that this one was begun with."


@dataclass(frozen=True)
class Slot:
    """A place in the output: one sample of a record, or what is wrong with it.

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
        """What the line begins with."""
        sample = {} if self.sample is None else {"sample": self.sample}
        return {**self.prompt.id, "line": self.prompt.line, **sample}

    @property
    def key(self) -> tuple[int, int]:
        """What no other place of the output has."""
        return self.prompt.line, 0 if self.sample is None else self.sample

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"line {self.prompt.line}" + ("" if self.sample is None else f", sample {self.sample}")


@dataclass(frozen=True)
class Lines:
    """What the lines of a run say.

    Attributes:
        job: What was asked for.
        sampler: How the first sample of the first line is drawn.
    """

    job: Job
    sampler: Sampler

    @classmethod
    def of(cls, job: Job) -> Lines:
        """The lines of a job that begins."""
        return cls(job, job.sampler)

    def slots(self, prompts: Iterable[PromptRecord]) -> Iterator[Slot]:
        """The places in the output, in order."""
        for prompt in prompts:
            if prompt.prompt is None or self.job.samples == 1:
                yield Slot(prompt, None, self._sampler(prompt, FIRST_SAMPLE))
            else:
                for number in range(self.job.samples):
                    yield Slot(prompt, number, self._sampler(prompt, number))

    def _sampler(self, prompt: PromptRecord, number: int) -> Sampler:
        return sampler_of(self.sampler, line=prompt.line, sample=number, samples=self.job.samples)

    def with_seed_of(self, lines: Iterable[bytes]) -> Lines:
        """The same with the seed that the first of the lines was drawn with, for a run that had to draw one."""
        for line in lines:
            found = _parsed(line)
            seed, number = found.get("seed"), found.get("line")
            if isinstance(seed, int) and isinstance(number, int) and self.sampler.seed is not None:
                sample = found.get("sample")
                sample = sample if isinstance(sample, int) else FIRST_SAMPLE
                first = first_seed(seed, line=number, sample=sample, samples=self.job.samples)
                return self if first is None else replace(self, sampler=replace(self.sampler, seed=first))
        return self

    def written(self, slot: Slot, result: Result, seconds: float) -> dict[str, Any]:
        """The line of a text."""
        prompt = slot.prompt.prompt or ""
        fields = record(self.job, prompt, result, seed=slot.sampler.seed, seconds=seconds)
        return {**slot.head, **fields, "options": options(self.job)}

    def scored(self, slot: Slot, scored: Scored, seconds: float) -> dict[str, Any]:
        """The line of the scores of choices."""
        fields = scores_record(self.job, slot.prompt.prompt or "", scored, seconds=seconds)
        return {**slot.head, **fields, "options": options(self.job)}

    def failed(self, slot: Slot, message: str) -> dict[str, Any]:
        """The line of what has none."""
        return {**self._known(slot), "error": message}

    def _known(self, slot: Slot) -> dict[str, Any]:
        """What a line says that is known beforehand."""
        prompt = slot.prompt.prompt
        if prompt is None:
            return slot.head
        return {**slot.head, **asked(self.job, prompt, seed=slot.sampler.seed), "options": options(self.job)}

    # ---- lines that are there already ------------------------------------------------------------------------------

    def continued(
        self, file: OutputFile, slots: Iterator[Slot], seen: Callable[[Slot, str | None], None]
    ) -> Iterator[Slot]:
        """Compare the lines of an earlier run with the places that they are to fill.

        Args:
            file: Where the lines are.
            slots: The places.
            seen: Is told of each line that is of this run: its place, and its error if it is one.

        Returns:
            The places that are still to be filled.

        Raises:
            ForeignOutput: A line is not of this run; says which and why. Nothing has been changed then.
        """
        number = 0
        for number, line in enumerate(file.lines(), 1):
            slot = next(slots, None)
            if slot is None:
                raise self._foreign(file, number, "the input has no record for it")
            found = _parsed(line)
            self._compare(file, number, slot, found)
            seen(slot, found.get("error"))
        if not file.rest:
            return slots
        slot = next(slots, None)
        self._check_rest(file, number + 1, slot)
        return slots if slot is None else itertools.chain([slot], slots)

    def _compare(self, file: OutputFile, number: int, slot: Slot, found: dict[str, Any]) -> None:
        if not found:
            raise self._foreign(file, number, "it is no record")
        if slot.prompt.prompt is None:
            expected = self.failed(slot, slot.prompt.fault)
        else:
            expected = self._known(slot)
            ours = RESULT_KEYS if "text" in found else {"error"}
            found = {key: value for key, value in found.items() if key not in ours}
        # As JSON, in which 1, 1.0 and true are not the same.
        if json.dumps(expected, sort_keys=True) == json.dumps(found, sort_keys=True):
            return
        for key in [*(key for key in expected if key != "seed"), *found, "seed"]:  # another seed says least
            is_now, was = (json_text(side[key]) if key in side else "none" for side in (expected, found))
            if is_now != was:
                why = f"its {key} is {_short(was)}, and now it would be {_short(is_now)}"
                raise self._foreign(file, number, f"{why} (line {slot.prompt.line} of the input)")

    def _check_rest(self, file: OutputFile, number: int, slot: Slot | None) -> None:
        """Only the beginning of a line that this run would write is cut away."""
        if slot is None:
            raise self._foreign(file, number, "the input has no record for it")
        beginning = (json_text(slot.head)[:-1] + ", ").encode("utf-8", "backslashreplace")
        if not (file.rest.startswith(beginning) or beginning.startswith(file.rest)):
            raise self._foreign(file, number, "it is not the beginning of the record that belongs there")

    def _foreign(self, file: OutputFile, number: int, why: str) -> ForeignOutput:
        return ForeignOutput(f"{file.path}, line {number}, is not of this run: {why}", hint=_OTHER, path=file.path)


def _parsed(line: bytes) -> dict[str, Any]:
    """A line of the output; empty if it is no JSON object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _short(text: str) -> str:
    shown = on_one_line(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
