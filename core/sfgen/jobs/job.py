"""A job: one configuration for many prompts, with samples, seeds and records; or choices to be scored.

One formula gives the seed of each text of a run. With the seed S and N samples of each prompt, the seed of sample j of
line i of the input is::

    S + (i - 1) * N + j

Lines are counted from 1, as editors and ``grep -n`` count them, and a single prompt is one line; samples are counted
from 0, as in records, traces and messages. So a text depends on its place in the input alone, and a sampler with the
``seed`` of a record writes the text of that record again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.plain_forms import banned_of, has_temperatures, model_of
from sfgen.decoding.sampler import Sampler
from sfgen.errors import UsageError
from sfgen.jobs.constraint_facts import ConstraintFacts
from sfgen.jobs.prompt_record import PromptTemplate
from sfgen.models.messages import (
    Message,
    begun_answer,
    check_conversation,
    checked_messages,
    user_message,
)
from sfgen.models.spec import ModelSpec
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Model
from sfgen.scoring.one_prompt import checked_choices

if TYPE_CHECKING:
    from sfgen.ban import BannedWords


FIRST_LINE = 1
FIRST_SAMPLE = 0

_OF_ITS_CONFIG = {
    name: f"It is a parameter of its configuration: Job(model, GenerationConfig({name}=…))"
    for name in inspect.signature(GenerationConfig).parameters
}


@partial(arguments.class_with_known_names, elsewhere=_OF_ITS_CONFIG)
@dataclass(frozen=True)
class Job:
    r"""One configuration for many prompts.

    A job whose model is named can be pickled and sent to another process, which loads the model there.

    Args:
        model: The name of a model, a ``ModelSpec`` that also says how it is loaded, or a model.
        config: The configuration of each text. ``hold`` is on: a record is written whole or not at all.
        samples: The number of texts for each prompt; see ``sfgen.jobs.job`` for the seed of each.
        chat: Whether each prompt is put into the model's chat template, as the message of a user.
        messages: The messages before each prompt, such as a system message: each with a ``role`` and a ``content``. The
            prompt is then the last message, one of the user; an empty prompt adds no message. If the last message is
            one of the assistant, the text continues it.
        facts: The description of the constraint in records; ``None``: made from the configuration's ``index``.
        choices: Texts to score after each prompt, as ``sfgen.score`` does, instead of generating texts. A record then
            has ``scores``, and the likeliest choice as its ``text``.
        tools: The tools for the chat template, in any form that ``sfgen.tools_schema`` takes; without a chat the prompt
            does not mention them.
        prompt_template: The prompt of a record, with its keys in braces: ``"Review: {prompt}\nSentiment:"``. ``{{`` is
            a brace. ``None``: the prompt is the key ``prompt``. A record whose key is missing has an error.

    Raises:
        UsageError: An argument of a wrong type, no sample, ``chat`` with ``heal``, or an argument that has no meaning
            beside ``choices``.
        UnknownParameter: A keyword is none of these.
        SchemaError: The tools have no known form.

    >>> Job("tiny", GenerationConfig(max_tokens=9), samples=2).model_name
    'tiny'
    """

    model: ModelSpec | str | Path | Model
    config: GenerationConfig = field(default_factory=GenerationConfig)
    samples: int = 1
    chat: bool = False
    messages: Iterable[Message] = ()
    facts: ConstraintFacts | None = None
    choices: Iterable[str] | None = None
    tools: Sequence[Any] | Mapping[str, Any] | None = None
    prompt_template: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.model, str | Path):
            object.__setattr__(self, "model", ModelSpec(str(self.model)))
        elif not isinstance(self.model, ModelSpec):
            model_of(self.model)
        config = arguments.instance("config", self.config, GenerationConfig)
        # If no seed is given, it is drawn now, so that every process and every later run has the same.
        sampler = config.sampler or Sampler()
        if has_temperatures(config.index):
            sampler = sampler.seeded()
        object.__setattr__(self, "config", replace(config, hold=True, sampler=sampler))
        object.__setattr__(self, "samples", arguments.whole_number("samples", self.samples, least=1))
        object.__setattr__(self, "chat", arguments.flag("chat", self.chat))
        object.__setattr__(self, "messages", checked_messages(self.messages))
        if self.tools is not None:
            from sfgen.schema.reading.from_tools import described_tools

            object.__setattr__(self, "tools", described_tools(self.tools))
        _ = self.prompts_by
        if self.is_chat and config.heal and begun_answer(tuple(self.messages)) is None:
            raise UsageError(
                ParameterText(
                    "chat and heal cannot be used together: the end of a prompt is written by the chat template",
                    "chat",
                    "heal",
                ),
                hint=ParameterText("Leave heal out.", "heal"),
            )
        if self.facts is not None:
            arguments.instance("facts", self.facts, ConstraintFacts)
        if self.choices is not None:
            object.__setattr__(self, "choices", checked_choices(self.choices))
            self._check_beside_choices()

    def _check_beside_choices(self) -> None:
        config = self.config
        given = {
            "index": config.index is not None,
            "banned": config.banned is not None,
            "word_bias": config.word_bias is not None,
            "stop": bool(config.stop),
            "after": config.after is not None,
            "when": config.when is not None,
            "logprobs": config.logprobs,
            "heal": bool(config.heal),
            "samples": self.samples > 1,
        }
        for name, is_given in given.items():
            if is_given:
                raise UsageError(
                    f"choices and {name} cannot be used together: choices are scored, and no text is written",
                    hint="Leave one of them out.",
                )

    @cached_property
    def prompts_by(self) -> PromptTemplate | None:
        """The template of prompts; ``None`` if records have whole prompts."""
        return None if self.prompt_template is None else PromptTemplate(self.prompt_template)

    @property
    def is_chat(self) -> bool:
        """Whether the prompt is written by the model's chat template."""
        return self.chat or bool(self.messages)

    def conversation(self, prompt: str) -> tuple[Message, ...]:
        """Return the messages that the model is to answer, in a chat.

        If the last one is of the assistant, the model continues it.

        Args:
            prompt: The last message, of the user; an empty one adds no message.

        Raises:
            UsageError: They have no message of a user.
        """
        before = tuple(self.messages)
        arguments.text("prompt", prompt)
        conversation = (*before, user_message(prompt)) if prompt or not before else before
        check_conversation(conversation)
        return conversation

    @property
    def scored(self) -> tuple[str, ...] | None:
        """The choices that are scored; ``None`` if texts are generated."""
        return None if self.choices is None else tuple(self.choices)

    @property
    def spec(self) -> ModelSpec | None:
        """The model's name and how it is loaded.

        ``None`` if the model was given loaded.
        """
        return self.model if isinstance(self.model, ModelSpec) else None

    @property
    def model_name(self) -> str:
        """The name of the model in records."""
        return self.spec.name if self.spec is not None else str(getattr(self.model, "name", type(self.model).__name__))

    @property
    def sampler(self) -> Sampler:
        """The sampler of the first sample of the first prompt."""
        return self.config.sampler or Sampler()

    @property
    def banned(self) -> BannedWords | None:
        """The banned words; ``None``: nothing is banned."""
        return banned_of(self.config.banned)

    @property
    def takes_back(self) -> bool:
        """Whether banned or biased words may cause tokens to be taken back."""
        return self.config.banned is not None or self.config.word_bias is not None

    @cached_property
    def constraint(self) -> ConstraintFacts:
        """The description of the constraint in records."""
        return self.facts or ConstraintFacts.of(self.config.index, choices=self.scored)

    def samplers(self) -> list[Sampler]:
        """Return the sampler of each sample of a single prompt."""
        return [sampler_of(self.sampler, sample=number, samples=self.samples) for number in range(self.samples)]


def sampler_of(first: Sampler, *, line: int = FIRST_LINE, sample: int = FIRST_SAMPLE, samples: int) -> Sampler:
    """Return the sampler of one text of a run.

    >>> from sfgen import Sampler
    >>> [sampler_of(Sampler(1.0, 7), line=line, sample=sample, samples=2).seed for line in (1, 2) for sample in (0, 1)]
    [7, 8, 9, 10]
    """
    return first if first.seed is None else replace(first, seed=first.seed + _offset(line, sample, samples))


def first_seed(seed: int, *, line: int, sample: int, samples: int) -> int | None:
    """Return the seed S of a run from a text's seed.

    >>> first_seed(10, line=2, sample=1, samples=2), first_seed(0, line=2, sample=0, samples=2)
    (7, None)
    """
    first = seed - _offset(line, sample, samples)
    return first if first >= 0 else None


def _offset(line: int, sample: int, samples: int) -> int:
    return (line - FIRST_LINE) * samples + sample - FIRST_SAMPLE
