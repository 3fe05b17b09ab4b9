"""The parameters of a generation, written down once, and functions that take them by name.

``GenerationConfig`` describes each parameter. ``generate``, ``stream`` and similar functions take a configuration or
its parameters as keywords; the decorators ``by_config`` and ``takes_fields`` give them that signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, get_args

from sfgen import arguments
from sfgen.decoding.detokenizer import StopStrings
from sfgen.decoding.exact import MAX_MEMORY, MAX_PASSES
from sfgen.decoding.plain_forms import (
    READ_BY_NAME,
    banned_of,
    has_temperatures,
    index_from,
    model_of,
    sampler_from,
    word_bias_of,
)
from sfgen.decoding.rollback_decision import MAX_BLOCK, AnyStrategyName
from sfgen.decoding.sampler import Sampler
from sfgen.errors import UsageError
from sfgen.models.messages import Prompt, prompt_of
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Constraint, GuideSource, Model

if TYPE_CHECKING:
    from sfgen.ban import BannedWords, WordBias
    from sfgen.grammar.language.grammar import Grammar
    from sfgen.schema.json_schema import JsonSchema
    from sfgen.template.template import Template


CONSTRAINTS = ("index", "constraint", *READ_BY_NAME)
"""The parameters for a constraint, of which at most one may be given."""


@arguments.class_with_known_names
@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """The parameters of a generation.

    ``generate``, ``stream``, jobs, records and traces all read this one description. Plain forms are converted once: a
    list of words becomes ``BannedWords``, a single stop string a list; ``schema`` and the other constraints become
    ``index``, ``temperature`` and the other parameters of a sampler become a part of ``sampler``, and are read there.
    Configurations with equal parameters are equal. A configuration can be pickled if its values can.

    Args:
        index: The constraint of the text: an ``Index``, or another source of guides (``sfgen.index.Chain``, an engine
            of ``sfgen.reference``), or a constraint without vocabulary (a pattern, a ``Dfa``, a ``JsonSchema``, a
            ``Grammar``), which becomes an ``Index`` over the model's vocabulary. If neither it nor one of the next six
            is given, the text is free; only one of them can be given.
        constraint: Another name of ``index``.
        regex: A pattern of Python's ``re`` that the whole text must match.
        choices: Texts of which the text must be one.
        schema: The schema of the JSON to write: a ``JsonSchema``, or an argument of it (a dict, a type that pydantic
            reads, JSON, the short form ``"name, age int"``, a path).
        grammar: A grammar of Lark or GBNF as text, its file as a ``Path``, or a ``Grammar``.
        template: Literal text with holes, its file as a ``Path``, or a ``Template``.
        banned: Words that the text must not contain, read by itself and read after the prompt: a ``BannedWords``, or a
            list of words; an empty list bans nothing.
        word_bias: Words and phrases that are less likely, with a bias of at most 0 for each: a text with n occurrences
            of a word of bias b has exp(b · n) times its weight. It needs the strategy ``resample``, which draws blocks
            in this way; see ``sfgen.decoding.ban``. A ``WordBias``, or a dictionary.
        sampler: A ``Sampler``, which chooses tokens; without, the choice is greedy. The next parameters override it.
        temperature: As of ``Sampler``: 0 is greedy. Default: 0; 1 where one of the next four is given, and no sampler.
        seed: As of ``Sampler``.
        top_k: As of ``Sampler``.
        top_p: As of ``Sampler``.
        min_p: As of ``Sampler``.
        logit_bias: As of ``Sampler``.
        frequency_penalty: As of ``Sampler``.
        presence_penalty: As of ``Sampler``.
        repetition_penalty: As of ``Sampler``.
        stop: The text ends before the first of these that would be in it, or before this one text; see
            ``sfgen.decoding.detokenizer``. Not with an index.
        max_tokens: The most tokens to generate, without the end token and those that write only the healed end of the
            prompt: the prompt had as many.
        after: Free text comes first, a thought, which ends with this marker; the text begins after it, and neither is a
            part of the text. The marker may be the name of a special token. The thought has no banned word either, nor
            has the text, read by itself and read after all that precedes it. ``max_tokens`` counts the tokens that
            write some of the text.
        after_tokens: The most tokens of the thought; then ``after`` must follow, whose own tokens are not counted.
            Where the model's context is too small, the thought becomes shorter first. ``None``: it has no limit of its
            own.
        after_counts: Whether ``max_tokens`` counts the thought and ``after``, too. A thought then leaves room for the
            shortest text of the constraint; without one the limit may end the text before the thought has ended.
        when: The text is free, and each of these markers is followed by a text of ``index``, as long as it can be, and
            then by free text again, until the model ends. A marker may be the name of a special token. ``max_tokens``
            counts all.
        strategy: The reaction to a banned word: ``"resample"``, ``"first-token"`` or ``"mask"``; see
            ``sfgen.decoding.rollback_decision``. Or ``"exact"``, with an index or without: the text is drawn as a
            whole, on condition that all of it is allowed and complete; see ``sfgen.decoding.exact``. At temperature 0
            that is the likeliest text of the index.
        max_rollbacks: The most rollbacks; after them generation fails. It also fails after a tenth of them, 300 at
            least, in a row in which the text has not grown.
        max_block: Under ``resample``, the most tokens that are drawn again as one; a longer block is not an exact draw.
        max_passes: Under ``exact``, the most prefixes that the model scores for a text; after them generation fails.
        max_memory: Under ``exact``, the most bytes of scores that are kept for later texts and for returning to a
            prefix. No text depends on it.
        fast_forward: Whether text that must follow needs no forward pass: its tokens are those that the tokenizer would
            write, and are read together with the next forward pass. Without it the model chooses among all
            tokenizations of such text, token by token, as it always does under ``exact``.
        heal: Whether the last tokens of a prompt that is text are taken back as far as a longer token could cover them.
            Their bytes are then written again before the text, and are not a part of it; see
            ``sfgen.decoding.healing``. ``None``: if the prompt ends in white space. Prompts of token ids, and all
            prompts under ``exact``, are taken as they are.
        hold: Whether no text is released before the end, so that a rollback may go back as far as it takes. Without it,
            released text stays, and it is an error if nothing clean can follow it. Under ``exact`` it is always on.
        observe: Whether somebody observes: then ``TokenChosen`` events have the model's likeliest tokens and the
            partial matches of banned words, which takes all scores of every step. The text stays the same.
        logprobs: Whether the result has the log-probabilities of each token (``Result.logprobs``), jump-forward tokens
            too, which takes the model's scores of all tokens at every step. The text stays the same.

    Raises:
        UsageError: An argument has another type or is out of range; a stop string is empty; there are stop strings
            beside an index, or two constraints; or no strategy has that name.
        UnknownParameter: A keyword is none of these; the message names the right ones.
        SfgenError: As ``BannedWords`` for a list of words, and as the readers of schemas, grammars and templates.

    >>> GenerationConfig(stop=".", max_tokens=9).stop
    ('.',)
    >>> GenerationConfig(regex="[0-9]+", top_k=5, seed=7).sampler == Sampler(1.0, seed=7, top_k=5)
    True
    """

    index: GuideSource | Constraint | str | None = None
    constraint: InitVar[GuideSource | Constraint | str | None] = None
    regex: InitVar[str | None] = None
    choices: InitVar[Iterable[str] | None] = None
    schema: InitVar[JsonSchema | Mapping[str, Any] | bool | str | PathLike[str] | type[Any] | Any | None] = None
    grammar: InitVar[Grammar | str | PathLike[str] | None] = None
    template: InitVar[Template | str | PathLike[str] | None] = None
    banned: BannedWords | Iterable[str] | None = None
    word_bias: WordBias | Mapping[str, float] | None = None
    sampler: Sampler | None = None
    temperature: InitVar[float | None] = None
    seed: InitVar[int | None] = None
    top_k: InitVar[int | None] = None
    top_p: InitVar[float | None] = None
    min_p: InitVar[float | None] = None
    logit_bias: InitVar[Mapping[int, float] | None] = None
    frequency_penalty: InitVar[float | None] = None
    presence_penalty: InitVar[float | None] = None
    repetition_penalty: InitVar[float | None] = None
    stop: str | Iterable[str] = ()
    max_tokens: int = 256
    after: str | None = None
    after_tokens: int | None = 1024
    after_counts: bool = False
    when: str | None = None
    strategy: AnyStrategyName = "resample"
    max_rollbacks: int = 10_000
    max_block: int = MAX_BLOCK
    max_passes: int = MAX_PASSES
    max_memory: int = MAX_MEMORY
    fast_forward: bool = True
    heal: bool | None = None
    hold: bool = False
    observe: bool = False
    logprobs: bool = False

    def __post_init__(self, *plain: Any) -> None:
        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        named = dict(zip(PLAIN_FORMS, plain, strict=True))
        constraints = {name: named.pop(name) for name in CONSTRAINTS if name in named}
        keep("index", index_from({"index": self.index, **constraints}))
        keep("sampler", sampler_from(self.sampler, named))
        keep("banned", banned_of(self.banned))
        keep("word_bias", word_bias_of(self.word_bias))
        keep("stop", arguments.texts("stop", self.stop))
        arguments.one_of("strategy", self.strategy, get_args(AnyStrategyName))
        keep("max_block", arguments.whole_number("max_block", self.max_block, least=1))
        keep("max_passes", arguments.whole_number("max_passes", self.max_passes, least=1))
        keep("max_memory", arguments.whole_number("max_memory", self.max_memory, least=0))
        keep("max_tokens", arguments.whole_number("max_tokens", self.max_tokens, least=0))
        if self.after_tokens is not None:
            keep("after_tokens", arguments.whole_number("after_tokens", self.after_tokens, least=0))
        keep("max_rollbacks", arguments.whole_number("max_rollbacks", self.max_rollbacks, least=0))
        if self.heal is not None:
            keep("heal", arguments.flag("heal", self.heal))
        for name in ("after_counts", "fast_forward", "hold", "observe", "logprobs"):
            keep(name, arguments.flag(name, getattr(self, name)))
        if self.heal and self.strategy == "exact":
            raise UsageError(
                ParameterText(
                    "heal and the exact strategy cannot be used together: it takes prompts as they are", "heal"
                ),
                hint=ParameterText("Leave heal out, or take another strategy.", "heal"),
            )
        if self.word_bias is not None and self.strategy != "resample":
            raise UsageError(
                ParameterText(
                    f"word_bias and the strategy {self.strategy} cannot be used together: words with a bias are "
                    "accepted or drawn again, as resample does",
                    "word_bias",
                ),
                hint="Leave one of them out.",
            )
        for name in ("after", "when"):
            if getattr(self, name) is not None:
                self._check_marker(name)
        if self.logprobs and self.strategy == "exact":
            raise UsageError(
                "logprobs are of tokens that are chosen one by one, and the exact strategy chooses whole texts",
                hint=ParameterText("Leave logprobs out, or take another strategy.", "logprobs"),
            )
        if self.strategy == "exact" and has_temperatures(self.index):
            raise UsageError(
                "the exact strategy draws a whole text at one temperature, and parts of it have their own",
                hint=ParameterText("Leave the temperatures of the parts out, or take another strategy.", "strategy"),
            )
        if StopStrings.of(self.stop).strings and self.index is not None:
            why = "a pattern already says where to end" if self.when is None else "one could end it inside a call"
            raise UsageError(f"stop strings are for text without a pattern: {why}")

    def _check_marker(self, name: str) -> None:
        text = arguments.text(name, getattr(self, name))
        if not text:
            raise UsageError(
                ParameterText(
                    f"{name} is empty: it must be the text after which something else begins", "after", "when"
                ),
                hint=ParameterText(f"Leave {name} out.", "after", "when"),
            )
        if arguments.utf8(name, text) is None:
            raise UsageError(
                ParameterText(f"{name} contains a surrogate code point, which is not text", "after", "when")
            )
        if self.strategy == "exact":
            raise UsageError(
                ParameterText(
                    f"{name} and the exact strategy cannot be used together: it draws one part only", "after", "when"
                ),
                hint=ParameterText(f"Leave {name} out, or take another strategy.", "after", "when"),
            )


def _plain_forms() -> tuple[str, ...]:
    """Return the parameters that are not fields, in order, and mend their annotations."""
    # Those of the function itself: from Python 3.14 on a wrapper makes its own.
    annotations: dict[str, str] = inspect.unwrap(GenerationConfig.__init__).__annotations__
    kept = {field.name for field in fields(GenerationConfig)}
    names = tuple(name for name in annotations if name not in kept and name != "return")
    for name in names:
        annotations[name] = annotations[name].removeprefix("InitVar[").removesuffix("]")
    return names


PLAIN_FORMS = _plain_forms()
"""The parameters of ``GenerationConfig`` that are plain forms of ``index`` and of the fields of ``sampler``."""


Fields = ParamSpec("Fields")
Made = TypeVar("Made")
Given = TypeVar("Given", covariant=True)


class ByConfig(Protocol[Fields, Given]):
    """A function of model, prompt and configuration, or its fields."""

    def __call__(
        self,
        model: Model | str | Path,
        prompt: Prompt = "",
        config: GenerationConfig | None = None,
        *args: Fields.args,
        **changes: Fields.kwargs,
    ) -> Given:
        """Call it; fields given by name take precedence over ``config``."""


def by_config(
    make: Callable[Fields, GenerationConfig],
) -> Callable[[Callable[[Model, str | Sequence[int], GenerationConfig], Made]], ByConfig[Fields, Made]]:
    """Let a function take a model by its name, and the fields of its configuration as keywords."""

    def decorate(
        function: Callable[[Model, str | Sequence[int], GenerationConfig], Made],
    ) -> ByConfig[Fields, Made]:
        @takes_fields(make)
        @functools.wraps(function)
        def call(
            model: Model | str | Path, prompt: Prompt, config: GenerationConfig | None, changes: Mapping[str, Any]
        ) -> Made:
            model = model_of(model)
            config = configured(config, changes)
            return function(model, prompt_of(model, prompt), config)

        return call

    return decorate


def takes_fields(
    make: Callable[Fields, GenerationConfig],
) -> Callable[
    [Callable[[Model | str | Path, Prompt, GenerationConfig | None, Mapping[str, Any]], Made]], ByConfig[Fields, Made]
]:
    """Let a function take the fields of its configuration by name; refuse other keywords."""
    parameters = list(inspect.signature(make).parameters.values())

    def decorate(
        function: Callable[[Model | str | Path, Prompt, GenerationConfig | None, Mapping[str, Any]], Made],
    ) -> ByConfig[Fields, Made]:
        @functools.wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def call(
            model: Model | str | Path,
            prompt: Prompt = "",
            config: GenerationConfig | None = None,
            *args: Fields.args,
            **changes: Fields.kwargs,
        ) -> Made:
            arguments.check_count(function.__name__, 3 + len(args), 3)
            arguments.check_names(function.__name__, changes, names)
            return function(model, prompt, config, changes)

        own = inspect.signature(call, follow_wrapped=False).parameters
        shown = [own["model"], own["prompt"], own["config"], *parameters]
        names = [parameter.name for parameter in shown]
        call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return call

    return decorate


def configured(config: GenerationConfig | None, changes: Mapping[str, Any]) -> GenerationConfig:
    """Return a configuration with some parameters changed; a constraint replaces the one before."""
    if config is None:
        return GenerationConfig(**changes)
    hint = "Its parameters can be given by name: max_tokens=60."
    config = arguments.instance("config", config, GenerationConfig, hint=hint)
    if not changes:
        return config
    if any(name in changes for name in CONSTRAINTS):
        changes = {"index": None, **changes}
    return replace(config, **changes)
