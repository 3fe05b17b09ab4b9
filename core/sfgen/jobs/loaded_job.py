"""A job with its loaded model, and with its constraint over the model's vocabulary."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sfgen.decoding.batch import drive
from sfgen.decoding.exact import ScoreStore
from sfgen.decoding.plain_forms import source_of, vocabulary_of, word_bias_of
from sfgen.decoding.prepare import loop_of
from sfgen.decoding.sampler import Sampler
from sfgen.errors import SfgenError
from sfgen.jobs.record import version_of_draws
from sfgen.models.chat_forms import special_in, thought_of, with_thought_begun
from sfgen.models.messages import ChatPrompt, Tools, chat_ids, sees_tools
from sfgen.models.spec import ModelSpec
from sfgen.protocols import GuideSource, Model
from sfgen.scoring.loop import Scored, ScoringLoop
from sfgen.scoring.one_prompt import drive_scoring, prepare_scoring
from sfgen.trace.lines import Scene

if TYPE_CHECKING:
    from sfgen.decoding import Event
    from sfgen.decoding.loop import Loop
    from sfgen.jobs.job import Job

_REHEARSED = 48  # the number of events


def load(job: Job) -> LoadedJob:
    """Load a job's model, and index its constraint."""
    model = job.model.load() if isinstance(job.model, ModelSpec) else job.model
    assert not isinstance(model, str | Path), "a name has become a spec"
    return LoadedJob(job, model, source_of(job.config.index, vocabulary_of(model)))


@dataclass(frozen=True)
class LoadedJob:
    """A job with its model; the weights may be read when they are first needed.

    Attributes:
        job: The job.
        model: The model.
        index: The constraint of each text; ``None``: free text.
    """

    job: Job
    model: Model
    index: GuideSource | None

    def like(self, job: Job, index: GuideSource | None) -> LoadedJob:
        """Return another job with the same model and cached scores."""
        other = LoadedJob(job, self.model, index)
        if job.config.strategy == "exact":
            vars(other)["scores"] = self.scores
        return other

    def loop(self, prompt: str, sampler: Sampler, *, hold: bool = True, observe: bool = False) -> Loop:
        """Return the decode loop of one text; raise if it is known to be impossible."""
        config = replace(self.job.config, index=self.index, sampler=sampler, hold=hold, observe=observe)
        return loop_of(self.model, self.encoded(prompt), config, self.scores)

    @cached_property
    def scores(self) -> ScoreStore:
        """The scores by prefix, for all texts drawn as a whole."""
        return ScoreStore(self.job.config.max_memory)

    def scoring_loop(self, prompt: str) -> ScoringLoop:
        """Return the scoring loop of one prompt; raise if it is known to be impossible."""
        return prepare_scoring(self.model, self.encoded(prompt), self.job.scored or ())

    def score(self, loop: ScoringLoop) -> Scored:
        """Run a scoring loop."""
        return drive_scoring(loop, self.model)

    def events(self, loop: Loop) -> Iterator[Event]:
        """Run the loop of one text."""
        return drive(loop, self.model)

    def encoded(self, prompt: str) -> str | Sequence[int]:
        """Return the prompt as text, or as tokens of the chat template."""
        if not self.job.is_chat:
            return prompt
        if prompt not in self._last_encoded:  # one result serves all samples of a prompt, and its scene
            self._last_encoded.clear()
            ids = chat_ids(self.model, self.job.conversation(prompt), self._tools)
            self._last_encoded[prompt] = self._with_thought_begun(ids)
        return self._last_encoded[prompt]

    def _with_thought_begun(self, ids: Sequence[int]) -> Sequence[int]:
        """A conversation, with the special tokens that begin a thought: free text cannot write them."""
        after = self.job.config.after
        form = None if after is None else thought_of(self.model)
        # After a thought tool calls may follow directly, where else its end is followed by the begin of an answer.
        calls = getattr(getattr(self.index, "constraint", None), "form", None)
        if form is None or after not in (form.end, form.end_before(getattr(calls, "lead", None))):
            return ids
        return with_thought_begun(self.model, ids, form) if special_in(self.model, form.begin) else ids

    @cached_property
    def _last_encoded(self) -> dict[str, Sequence[int]]:
        return {}

    @property
    def _tools(self) -> Tools | None:
        return cast("Tools | None", self.job.tools)  # the job has brought them into this form

    def rendered(self, prompt: str) -> str | None:
        """Return the text of the chat template for a prompt; ``None`` without a chat."""
        if not self.job.is_chat:
            return None
        encoded = self.encoded(prompt)
        if isinstance(encoded, ChatPrompt):
            return encoded.text
        return "".join(map(vocabulary_of(self.model).text, cast("Sequence[int]", encoded)))

    @property
    def shows_tools(self) -> bool:
        """Whether the chat template writes the tools of the job; true if there are none."""
        return self._tools is None or (self.job.is_chat and sees_tools(self.model, self._tools))

    def scene(self, prompt: str, sampler: Sampler, *, line: int | None = None) -> Scene:
        """Describe one text before it begins, for a trace or a view."""
        facts, banned = self.job.constraint, self.job.banned
        biases = word_bias_of(self.job.config.word_bias)
        return Scene(
            prompt=prompt,
            rendered=self.rendered(prompt),
            model=self.job.model_name,
            vocabulary_size=len(self.model.vocabulary),
            words=banned.words if banned else (),
            banned_patterns=banned.patterns if banned else (),
            word_bias=biases.written if biases else (),
            seed=sampler.seed,
            draws=version_of_draws(self.job),
            line=line,
            after=self.job.config.after,
            when=self.job.config.when,
            **facts.in_scene(),
        )

    def check(self) -> None:
        """Check that some text fits into the limits, for any prompt."""
        if self.index is not None:
            self.index.guide(self.job.config.max_tokens)

    def load_weights(self) -> None:
        """Load the weights and kernels before the first text."""
        self.model.session()

    def rehearse(self) -> None:
        """Compile the kernels by writing some tokens without the weights."""
        # The reference engines have no kernels, and take seconds per token.
        if self.job.constraint.engine is not None or self.job.scored is not None:
            return
        from sfgen.models.uniform import UniformModel

        config = replace(self.job.config, index=self.index, sampler=Sampler(temperature=1.0, seed=0), heal=None)
        with contextlib.suppress(SfgenError):  # the run itself will report such an error
            model = UniformModel(vocabulary_of(self.model))
            for _ in itertools.islice(drive(loop_of(model, [0], config), model), _REHEARSED):
                pass
