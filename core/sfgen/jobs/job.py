"""A job: one configuration for many prompts, with samples, seeds and records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.plain_forms import banned_of, model_of
from sfgen.decoding.sampler import Sampler
from sfgen.jobs.facts import ConstraintFacts
from sfgen.jobs.seeds import sampler_of
from sfgen.models.spec import ModelSpec
from sfgen.protocols import Model

if TYPE_CHECKING:
    from sfgen.ban import BannedWords
    from sfgen.jobs.loaded import LoadedJob
    from sfgen.jobs.run import Summary


@dataclass(frozen=True)
class Job:
    """What is done with each of many prompts.

    A job whose model is named can be pickled and sent to another process, which loads the model there.

    Args:
        model: The name of a model, a ``ModelSpec`` with the options of how it is loaded, or a model.
        config: How each text is generated. ``hold`` is on: a record is whole or not there.
        samples: How many texts are made of each prompt; see ``sfgen.jobs.seeds`` for how each is drawn.
        chat: Whether each prompt is put into the model's chat template, as the message of a user.
        facts: What records say of the constraint; without, what the configuration's ``index`` tells of itself.

    Raises:
        UsageError: An argument of another kind, or no sample.

    >>> job = Job("uniform", GenerationConfig(index="[0-9]{3}", sampler=Sampler(1.0, seed=7)))
    >>> [record["text"] for record in job.records(["Number: ", "Another: "])]
    ['687', '393']
    """

    model: ModelSpec | str | Path | Model
    config: GenerationConfig = field(default_factory=GenerationConfig)
    samples: int = 1
    chat: bool = False
    facts: ConstraintFacts | None = None

    def __post_init__(self) -> None:
        if isinstance(self.model, str | Path):
            object.__setattr__(self, "model", ModelSpec(str(self.model)))
        elif not isinstance(self.model, ModelSpec):
            model_of(self.model)
        config = arguments.instance("config", self.config, GenerationConfig)
        # Drawn now where it is not given, so that every process and every later run has the same.
        sampler = config.sampler or Sampler()
        object.__setattr__(self, "config", replace(config, hold=True, sampler=sampler))
        object.__setattr__(self, "samples", arguments.whole_number("samples", self.samples, least=1))
        arguments.flag("chat", self.chat)

    @property
    def spec(self) -> ModelSpec | None:
        """The model's name and how it is loaded; ``None`` where it is given loaded."""
        return self.model if isinstance(self.model, ModelSpec) else None

    @property
    def model_name(self) -> str:
        """What records call the model."""
        return self.spec.name if self.spec is not None else str(getattr(self.model, "name", type(self.model).__name__))

    @property
    def sampler(self) -> Sampler:
        """How the first sample of the first prompt is drawn."""
        return self.config.sampler or Sampler()

    @property
    def banned(self) -> BannedWords | None:
        """What no text contains."""
        return banned_of(self.config.banned)

    @cached_property
    def constraint(self) -> ConstraintFacts:
        """What records say of the constraint."""
        return self.facts or ConstraintFacts.of(self.config.index)

    def samplers(self) -> list[Sampler]:
        """How each sample of a single prompt is drawn."""
        return [sampler_of(self.sampler, sample=number, samples=self.samples) for number in range(self.samples)]

    def load(self) -> LoadedJob:
        """Load the model, and index the constraint over its vocabulary.

        Raises:
            SfgenError: As ``load_model`` and ``Index``.
        """
        from sfgen.jobs.loaded import LoadedJob

        model = self.model.load() if isinstance(self.model, ModelSpec) else model_of(self.model)
        return LoadedJob.of(self, model)

    def records(self, prompts: Iterable[str | Mapping[str, Any]], *, batch_size: int = 1) -> Iterator[dict[str, Any]]:
        """Make the texts of some prompts, one record after the other; nothing is written to a file.

        Args:
            prompts: Texts, or dictionaries with ``prompt`` and, if you like, ``id``.
            batch_size: How many texts are worked on at once.

        Yields:
            A record for each text, in the order of the prompts; one that failed has ``error`` and no ``text``.

        Raises:
            SfgenError: Nothing can be done at all.
        """
        from sfgen.jobs.output import Kept
        from sfgen.jobs.prompts import Prompts
        from sfgen.jobs.run import JobRun

        for outcome in JobRun(self, Prompts(prompts), Kept(), batch_size).write():
            yield outcome.record

    def run(
        self,
        prompts: str | Path | Iterable[str | Mapping[str, Any]],
        output: str | Path,
        *,
        resume: bool = False,
        replace: bool = False,
        batch_size: int = 1,
        strict: bool = False,
        plain: bool = False,
        trace: str | Path | None = None,
    ) -> Summary:
        """Make the texts of all prompts, and write their records to a file as JSON Lines, in the order of the prompts.

        Args:
            prompts: A file of JSON Lines, an object with ``prompt`` on each; or texts and dictionaries.
            output: The file.
            resume: Go on after the records that are in the file: they are compared with the prompts and the job, of
                which the seed is a part.
            replace: Whether what is in the file may go.
            batch_size: How many texts are worked on at once.
            strict: Stop at the first record that is no prompt, or fails.
            plain: Each line of the file of prompts is a prompt, as it stands.
            trace: Where every step is written; see ``sfgen.trace``.

        Returns:
            How many records were written, failed, and were there before.

        Raises:
            UsageError: ``resume`` together with ``replace`` or ``trace``.
            InputError: The prompts cannot be read; or, with ``strict``, a record is no prompt.
            OutputError: The file cannot be written, holds something that may not go, or is not of this job.
            GenerationError: With ``strict``, a text failed.
            SfgenError: Nothing can be done at all.
        """
        from sfgen.jobs.run import run_to_file

        return run_to_file(
            self, prompts, output,
            resume=resume, replace=replace, batch_size=batch_size, strict=strict, plain=plain, trace=trace,
        )  # fmt: skip
