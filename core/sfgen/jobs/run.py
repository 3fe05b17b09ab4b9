"""Run a job: texts in order, several at once, written as soon as they and all before them are done.

The guide ``cli/guides/equal-results.md`` says when results are equal for every size of a batch and after a resume.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfgen import arguments
from sfgen.errors import GenerationError, InputError, SfgenError, UsageError
from sfgen.jobs.job import Job
from sfgen.jobs.loaded_job import LoadedJob, load
from sfgen.jobs.output import Kept, Output, OutputFile
from sfgen.jobs.prompts import PromptList, PromptSource, opened
from sfgen.jobs.record import Lines, Slot
from sfgen.jobs.record_format import Fields, JsonLines, RecordFormat, check_resumable, written_as
from sfgen.jobs.resume import EarlierLines
from sfgen.jobs.texts import InOrder, Outcome, Texts
from sfgen.parameter_text import ParameterText
from sfgen.whole_file import is_same_file

if TYPE_CHECKING:
    from sfgen.jobs.workers import Assignment
    from sfgen.trace import TraceFile


MAX_BATCH = 2**16
"""The most texts that are worked on at once."""

MAX_WORKERS = 1024
"""Processes, at most."""


@dataclass
class Summary:
    """The counts of a run: what was written, and what failed.

    Attributes:
        lines: Lines of the input that are finished.
        written: The number of texts that this run has written.
        failed: The number of records and samples for which this run has written an error.
        tokens: The number of tokens of these texts.
        rollbacks: The number of rollbacks in these texts.
        kept: The number of texts and errors that an earlier run has written.
        kept_failed: The number of errors among them.
    """

    lines: int = 0
    written: int = 0
    failed: int = 0
    tokens: int = 0
    rollbacks: int = 0
    kept: int = 0
    kept_failed: int = 0

    @property
    def done(self) -> int:
        """The number of texts and errors in the output."""
        return self.written + self.failed + self.kept


class FillsPlaces(Protocol):
    """Makes the texts of slots, in other processes than those of this machine."""

    def steps(self, slots: Iterable[Slot]) -> Iterator[None]:
        """Fill all slots; yield whenever outcomes of some have come."""


@dataclass
class JobRun:
    """One run of a job over its prompts.

    Attributes:
        summary: What has been written until now.
    """

    job: Job
    source: PromptSource
    output: Output
    batch_size: int = 1  # texts that each worker generates at once
    workers: int = 1  # processes that make texts; 1: this one. Others load the model by its name.
    strict: bool = False
    trace: TraceFile | None = None
    # makes the texts elsewhere than on this machine; then ``workers=1`` is another process, too
    crew: Callable[[Assignment, int, InOrder], FillsPlaces] | None = None
    # the keys of a record that are written; ``None``: all but ``run``, for records in memory
    fields: Fields | None = field(default_factory=Fields)
    format: RecordFormat = field(default_factory=JsonLines)
    # called with the outcome of each slot, in their order, as soon as it is written
    told: Callable[[Outcome], None] | None = None
    summary: Summary = field(default_factory=Summary)

    def __post_init__(self) -> None:
        self.batch_size = arguments.whole_number("batch_size", self.batch_size, least=1)
        if self.batch_size > MAX_BATCH:
            raise UsageError(
                ParameterText(f"batch_size must be at most {MAX_BATCH:,}, not {self.batch_size}", "batch_size")
            )
        self.workers = arguments.whole_number("workers", self.workers, least=1)
        if not self.is_here:
            self._check_workers()
        self._lines = Lines.of(self.job, self.fields)
        self._slots: Iterator[Slot] | None = None  # ``None``: from the beginning

    @property
    def is_here(self) -> bool:
        """Whether this process makes the texts."""
        return self.workers == 1 and self.crew is None

    def _check_workers(self) -> None:
        if self.workers > MAX_WORKERS:
            raise UsageError(ParameterText(f"workers must be at most {MAX_WORKERS:,}, not {self.workers}", "workers"))
        if self.job.spec is None:
            raise UsageError(
                ParameterText("workers cannot be sent a model that is loaded: each loads its own", "workers"),
                hint="Name the model, or give an sfgen.ModelSpec.",
            )
        if self.trace is not None:
            raise UsageError(
                ParameterText("workers and trace cannot be used together", "workers", "trace"),
                hint="Leave one of them out.",
            )

    def resume(self, *, is_seed_given: bool = True) -> None:
        """Compare the existing output with the job, and go on after it."""
        output = self.output
        assert isinstance(output, OutputFile), "there is a file to resume"
        check_resumable(self.job, self.fields or Fields())
        earlier = EarlierLines(output, self.format, self._lines)
        prompts = self.source.records()
        if not is_seed_given:
            prompts, first = itertools.tee(prompts)
            earlier.take_seed(first)
            del first
            self._lines = earlier.lines
        self._slots = earlier.continued(self._lines.slots(prompts), self._keep)

    def has_more(self) -> bool:
        """Return whether something is left to write."""
        # This waits for the next prompt.
        if self._slots is None:
            return True
        following = next(self._slots, None)
        if following is not None:
            self._slots = itertools.chain([following], self._slots)
        return following is not None

    def write(self, loaded: LoadedJob | None = None) -> Iterator[Outcome]:
        """Make all missing texts and write their records."""
        if loaded is None and self.has_more():
            loaded = load(self.job)
            loaded.check()
        self._begin()
        if loaded is None:
            return
        slots = self._lines.slots(self.source.records()) if self._slots is None else self._slots
        written: deque[Outcome] = deque()
        order = InOrder(lambda outcome: written.append(self._write(outcome)))
        for _ in self._steps(loaded, order, slots):
            while written:
                yield written.popleft()
        yield from written

    def _steps(self, loaded: LoadedJob, order: InOrder, slots: Iterator[Slot]) -> Iterator[None]:
        """Fill the slots, here or in other processes; yields now and then."""
        if self.is_here:
            texts = Texts(loaded, self._lines, self.trace, order.add)
            return texts.steps(order.noted(slots), self.batch_size)
        from sfgen.jobs.workers import Assignment, Workers

        job = replace(self.job, config=replace(self.job.config, index=loaded.index))  # compiled only once, here
        make = self.crew or Workers
        return make(Assignment(job, self._lines, self.batch_size), self.workers, order).steps(slots)

    def _begin(self) -> None:
        """Cut away the end of the output that is not kept."""
        if isinstance(self.output, OutputFile):
            self.output.begin(self.format.header)

    def _write(self, outcome: Outcome) -> Outcome:
        if outcome.error is not None and self.strict:
            raise self._fatal(outcome.error, outcome.slot)
        self.output.append(self.format.line({**outcome.record, **self._said_once()}))
        self.summary.lines = outcome.slot.prompt.line
        if outcome.error is None:
            self.summary.written += 1
            self.summary.tokens += outcome.tokens
            self.summary.rollbacks += outcome.rollbacks
        else:
            self.summary.failed += 1
        if self.told is not None:
            self.told(outcome)
        return outcome

    def _said_once(self) -> dict[str, Any]:
        """Return the keys that only the first line of a file has."""
        # They are the same for all lines, and serve the run that resumes the file.
        is_first = not (self.summary.written or self.summary.failed or self.summary.kept)
        is_usual = (
            isinstance(self.output, OutputFile) and isinstance(self.format, JsonLines) and self.fields == Fields()
        )
        return {"job": self._lines.facts} if is_first and is_usual else {}

    def _keep(self, slot: Slot, error: str | None) -> None:
        if error is not None and self.strict:
            raise self._fatal(GenerationError(error), slot)
        self.summary.lines = slot.prompt.line
        self.summary.kept += 1
        self.summary.kept_failed += error is not None

    def _fatal(self, error: SfgenError, slot: Slot) -> SfgenError:
        kind = InputError if slot.prompt.prompt is None else GenerationError
        return kind(f"{self.source.name}, {slot.place}: {error.message}", details=error.details, hint=error.hint)


@arguments.with_known_names
def job_records(
    job: Job, prompts: Iterable[str | Mapping[str, Any]], *, batch_size: int = 1
) -> Iterator[dict[str, Any]]:
    """Make the texts of some prompts, one record after the other.

    Nothing is written to a file.

    Args:
        job: The job for each prompt.
        prompts: Texts, or dictionaries with ``prompt`` and, if you like, ``id``, ``sfgen`` (instructions for this
            prompt) and keys of your own; see ``sfgen.jobs.prompt_record``.
        batch_size: The number of texts that are generated at once.

    Returns:
        A record for each text with all its keys, in the order of the prompts, as soon as it is made; the record of a
        text that failed has ``error`` and no ``text``.

    Raises:
        SfgenError: The job cannot begin.

    >>> from sfgen import GenerationConfig, Job, Sampler
    >>> job = Job("uniform", GenerationConfig(index="[0-9]{3}", sampler=Sampler(1.0, seed=7)))
    >>> [record["text"] for record in job_records(job, ["Number: ", "Another: "])]
    ['034', '888']
    """
    run = JobRun(_checked(job), PromptList(prompts, job.prompts_by), Kept(), batch_size, fields=None)
    return (outcome.record for outcome in run.write())


@arguments.with_known_names
def run_job(
    job: Job,
    prompts: str | Path | Iterable[str | Mapping[str, Any]],
    output: str | Path,
    *,
    resume: bool = False,
    replace: bool = False,
    batch_size: int = 1,
    workers: int = 1,
    strict: bool = False,
    plain: bool = False,
    trace: str | Path | None = None,
    fields: str | Iterable[str] | None = None,
) -> Summary:
    """Make the texts of all prompts, and write their records.

    The records are in the order of the prompts. If the file's name ends in ``.csv``, it is a table, else JSON Lines; if
    it ends in ``.gz``, it is compressed.

    Args:
        job: The job for each prompt.
        prompts: A file with ``prompt`` in each line or row, and, if you like, ``id``, ``sfgen`` (instructions for this
            prompt) and keys of your own; or a list of texts and of dictionaries with these keys.
        output: The file.
        resume: Whether to continue after the records in the file, which are compared with the prompts, the job and its
            seed.
        replace: Whether the content of the file may be replaced.
        batch_size: The number of texts that each worker generates at once.
        workers: The number of processes that make texts; each loads the model.
        strict: Whether to stop at the first record that is not a prompt, or fails.
        plain: Whether each line of the file of prompts is a prompt, not a record.
        trace: The file for a trace of every step; see ``sfgen.trace``.
        fields: The keys of a record that are written, such as ``"text,value.age,id"``, or ``"all"``; ``None``: prompt,
            results, and the keys that a resume needs; see ``sfgen.jobs.record_format``.

    Returns:
        The numbers of records that were written, that failed, and that were there before.

    Raises:
        UsageError: An argument of a wrong type, ``resume`` together with ``replace`` or ``trace`` or without the fields
            that it compares, ``trace`` with a job that scores choices or with several workers, ``plain`` with a table,
            or several workers and a loaded model.
        InputError: The prompts cannot be read; or, with ``strict``, a record is not a prompt.
        OutputError: The file cannot be written, has content that may not be replaced, or is not of this job.
        GenerationError: With ``strict``, a text failed.
        SfgenError: The job cannot begin.
    """
    _checked(job)
    path, chosen = arguments.path("output", output), Fields.of(fields)
    for name, value in (("resume", resume), ("replace", replace), ("strict", strict), ("plain", plain)):
        arguments.flag(name, value)
    for name, other in (("replace", replace), ("trace", trace is not None)):
        if resume and other:
            raise UsageError(f"resume and {name} cannot be used together", hint="Leave one of them out.")
    if trace is not None and job.scored is not None:
        raise UsageError(
            "choices and trace cannot be used together: no text is written step by step", hint="Leave one of them out."
        )
    _check_files(prompts, path, trace)
    with ExitStack() as stack:
        source: PromptSource
        if isinstance(prompts, str | Path):
            file_of_prompts = arguments.path("prompts", prompts)
            source = stack.enter_context(opened(file_of_prompts, plain=plain, template=job.prompts_by))
        else:
            source = PromptList(prompts, job.prompts_by)
        format, chosen = written_as(path, job, source, chosen)
        if resume:
            check_resumable(job, chosen)
        file = OutputFile(path, keep=resume, replace=replace)
        stack.enter_context(closing(file))
        tracing = None
        if trace is not None:
            from sfgen.trace import TraceFile

            tracing = stack.enter_context(TraceFile(arguments.path("trace", trace)))
        run = JobRun(job, source, file, batch_size, workers, strict, tracing, None, chosen, format)
        if resume:
            run.resume()
        for _ in run.write():
            pass
    return run.summary


def _check_files(prompts: object, output: Path, trace: str | Path | None) -> None:
    """Refuse to write over a file that is read, or two outputs to one file."""
    named = {"prompts": prompts, "output": output, "trace": trace}
    files = {name: file for name, file in named.items() if isinstance(file, str | Path)}
    for (one, first), (other, second) in itertools.combinations(files.items(), 2):
        if is_same_file(first, second):
            raise UsageError(f"{one} and {other} name the same file", hint="Give another one.")


def _checked(job: Job) -> Job:
    return arguments.instance("job", job, Job)
