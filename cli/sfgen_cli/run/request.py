"""The request of one ``gen`` or ``ban``, before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sfgen.errors import UsageError
from sfgen.printable import on_one_line, visible
from sfgen_cli.options.constraint import EngineName, ReferenceName
from sfgen_cli.options.generation import GenerationOptions
from sfgen_cli.options.requested_constraint import RequestedConstraint
from sfgen_cli.shell.keyboard import check_stepping
from sfgen_cli.shell.output import note
from sfgen_cli.shell.progress import Say

if TYPE_CHECKING:
    from sfgen import BannedWords, Sampler, WordBias
    from sfgen.jobs import Job
    from sfgen.jobs.constraint_facts import ConstraintFacts
    from sfgen.models.messages import Message
    from sfgen.models.spec import ModelSpec
    from sfgen.protocols import Model

AUTO = "auto"
"""The value of ``--after`` and ``--when`` that leaves it to the chat template."""


def _biases(options: Sequence[str]) -> dict[int, float]:
    """The biases of tokens, written as ``ID=B``.

    >>> _biases(["50256=-100", "11=3"])
    {50256: -100.0, 11: 3.0}
    """
    biases: dict[int, float] = {}
    for option in options:
        token, equals, bias = option.partition("=")
        try:
            token_id, value = int(token), float(bias)
        except ValueError:
            value = math.nan
        if not equals or math.isnan(value):
            raise UsageError(
                f"--logit-bias is {visible(option)!r:.60}: the id of a token, = and a number are wanted",
                hint="For example: sfgen gen --logit-bias 596=-5 'Can we talk?'; sfgen ban --words talk --routes shows "
                "the ids of a word's tokens.",
            )
        if biases.setdefault(token_id, value) != value:
            raise UsageError(f"--logit-bias is given twice for the token {token_id}", hint="Leave one of them out.")
    return biases


@dataclass(frozen=True)
class Request:
    """A request to a generating command.

    Attributes:
        prompt: The user's text.
        constraint: What the text must match.
        banned: What it must not contain.
        options: The rest.
        engine: How the pattern is followed; ``None``: the default.
        fast_forward: Whether text that must follow is added without forward passes.
        scores: Whether the choices are scored, and no text is written.
        messages: What a conversation begins with before the prompt.
        word_bias: Words that are less likely.
        prompt_template: The prompt of each of many records, with its keys in braces; ``None``: it is in the record.
    """

    prompt: str
    constraint: RequestedConstraint
    banned: BannedWords | None
    options: GenerationOptions
    engine: EngineName | None = None
    fast_forward: bool = True
    scores: bool = False
    messages: tuple[Message, ...] = ()
    word_bias: WordBias | None = None
    prompt_template: str | None = None

    def check(self) -> None:
        """Refuse options that have no meaning together."""
        options = self.options
        if self.scores:
            self._check_scores()
        if options.json and options.echo:
            raise UsageError(
                "--json and --echo cannot be used together",
                hint="Leave --echo out: the record has the prompt, as prompt.",
            )
        if options.live and options.quiet:
            raise UsageError("--live and --quiet cannot be used together", hint="Leave one of them out.")
        for name, given in (("--slow", options.slow), ("--step", options.step)):
            if given and (options.quiet or options.live is False):
                other = "--quiet" if options.quiet else "--no-live"
                raise UsageError(f"{name} and {other} cannot be used together", hint="It slows the live view down.")
        if options.step:
            check_stepping()
        if options.stop and options.when is not None:
            raise UsageError(
                "--stop and --when cannot be used together: the text could end inside a call",
                hint="Leave one of them out.",
            )
        if options.stop and self.constraint:
            raise UsageError(
                "--stop cannot be used with a pattern, choices, a schema, a grammar or an index: "
                "they already say where the text ends",
                hint="Leave --stop out, or let the pattern end there.",
            )
        self._check_after()
        self._check_shown_prompt()
        if options.stop:
            from sfgen.decoding.detokenizer import StopStrings

            StopStrings.of(options.stop)
        if options.logprobs and not options.json:
            raise UsageError(
                "--logprobs needs --json or --input: they are written into records",
                hint="For example: sfgen gen --json --logprobs 'Once upon a time'",
            )
        if options.logprobs and options.strategy == "exact":
            raise UsageError(
                "--logprobs and --strategy exact cannot be used together: exact draws whole texts, no tokens",
                hint="Leave one of them out.",
            )
        if options.strategy == "exact" and not self.constraint and self.sampler.temperature == 0:
            raise UsageError(
                "--strategy exact draws free text by chance, and at temperature 0 there is none",
                hint="Give --temperature 1, or --seed S; at 0 it finds the likeliest text of a pattern, a schema or a "
                "grammar.",
            )
        self._check_engine()

    def _check_after(self) -> None:
        options = self.options
        if options.after_tokens is not None and options.after is None:
            raise UsageError(
                "--after-tokens needs --after: it limits the tokens of the thought",
                hint="For example: sfgen gen --after '</think>' --after-tokens 500 --regex '[0-9]+' 'How old is Ada?'",
            )
        if self.constraint.tool_format == AUTO and not self.has_chat:
            raise UsageError(
                "--tool-format auto reads the form of calls from the chat template, and the prompt is written without "
                "one",
                hint="Add --chat, or name the form: --tool-format hermes.",
            )
        if self.constraint.has_form and options.when not in (None, AUTO):
            raise UsageError(
                "--when TEXT and --tool-format cannot be used together: the form says what stands before a call",
                hint="Give --when auto.",
            )
        for name, text, what in (("--after", options.after, "</think>"), ("--when", options.when, "<tool_call>")):
            if text == AUTO and not self.has_chat and not (name == "--when" and self.constraint.has_form):
                raise UsageError(
                    f"{name} auto reads the text from the chat template, and the prompt is written without one",
                    hint=f"Add --chat, or name the text: {name} '{what}'.",
                )
        for name, text in (("--after", options.after), ("--when", options.when)):
            if text is not None and options.strategy == "exact":
                raise UsageError(
                    f"{name} and --strategy exact cannot be used together: exact draws one part only",
                    hint="Leave one of them out.",
                )
        if options.when is not None and not self.constraint:
            raise UsageError(
                "--when needs a constraint, for the text behind it",
                hint="For example: sfgen gen --when '<tool_call>' --tools tools.json 'How warm is it in Rome?'",
            )

    def _check_shown_prompt(self) -> None:
        options = self.options
        others = {
            "--echo": options.echo,
            "--live": bool(options.live),
            "--slow": options.slow > 0,
            "--step": options.step,
            "--trace": options.trace is not None,
        }
        for name, given in others.items():
            if given and options.show_prompt:
                raise UsageError(
                    f"--show-prompt and {name} cannot be used together: no text is written",
                    hint="Leave one of them out.",
                )

    def _check_scores(self) -> None:
        """Refuse options that have no meaning where choices are scored."""
        if self.constraint.choices is None:
            raise UsageError(
                "--scores needs --choices or --choices-file",
                hint="For example: sfgen gen --choices hot,cold --scores 'It is very '",
            )
        options = self.options
        given = {
            "a ban": self.banned is not None,
            "--samples": options.samples > 1,
            "--temperature": options.temperature is not None,
            "--top-k": options.top_k is not None,
            "--top-p": options.top_p is not None,
            "--min-p": options.min_p is not None,
            "--logit-bias": bool(options.logit_bias),
            "--frequency-penalty": options.frequency_penalty != 0,
            "--presence-penalty": options.presence_penalty != 0,
            "--repetition-penalty": options.repetition_penalty != 1,
            "--word-bias": bool(options.word_bias),
            "--max-tokens": options.max_tokens != GenerationOptions().max_tokens,
            "--stop": bool(options.stop),
            "--after": options.after is not None,
            "--when": options.when is not None,
            "--logprobs": options.logprobs,
            "--echo": options.echo,
            "--live": bool(options.live),
            "--slow": options.slow > 0,
            "--step": options.step,
            "--trace": options.trace is not None,
            "--engine": self.engine is not None,
            "--no-fast-forward": not self.fast_forward,
        }
        for name, is_given in given.items():
            if is_given:
                raise UsageError(
                    f"--scores and {name} cannot be used together: choices are scored, and no text is written",
                    hint="Leave one of them out.",
                )

    def _check_engine(self) -> None:
        if self.engine is not None and not self.constraint:
            raise UsageError(
                "--engine needs a pattern: it says how one is followed",
                hint=f"For example: sfgen gen --engine {self.engine} --regex '[0-9]+\\.[0-9]'",
            )
        if not self.fast_forward and not self.constraint:
            raise UsageError(
                "--no-fast-forward needs a pattern: it says how one is followed",
                hint="Leave it out, or give a pattern, choices or an index.",
            )
        if self.reference is None:
            return
        if self.constraint.kind != "pattern":
            option = self.constraint.text_option
            raise UsageError(
                f"--engine {self.engine} and {option} cannot be used together: it follows patterns only",
                hint="Leave --engine out.",
            )
        if self.constraint.index_file is not None:
            raise UsageError(
                f"--engine {self.engine} and --index cannot be used together: a saved index is one of the engine fast",
                hint="Leave --engine out, or give the pattern itself with --regex.",
            )

    @property
    def has_chat(self) -> bool:
        """Whether the prompt is written by a chat template."""
        return self.options.chat or bool(self.messages)

    def with_form(self, say: Say) -> Request:
        """Find the form of calls where the chat template decides, and see to it that calls stand in free text."""
        constraint = replace(self.constraint, calls_in_text=self.options.when is not None)
        if constraint.tool_format != AUTO:
            return replace(self, constraint=constraint) if constraint.has_form else self
        self.check()
        assert constraint.json_schema is not None, "there are tools"
        _ = constraint.json_schema.network  # a fault in the tools is told before the tokenizer is read
        self.spec.check(chat=True)
        say(f"reading the chat template of {self.options.model}")
        from sfgen.models.tool_forms import name_of, tool_form_of

        form = tool_form_of(self.model)
        if form is None:
            raise UsageError(
                f"the chat template of {self.options.model} does not show how tools are called",
                hint="Name the form: --tool-format hermes; or leave --tool-format out, for JSON.",
            )
        name = name_of(form)
        begin = on_one_line(form.begin) or "the name of a tool"
        note(
            f"sfgen: calls are written {'as the chat template has them' if name is None else f'in the form {name}'}: "
            f"each begins with {begin}",
            quiet=self.options.quiet,
        )
        found = replace(self, constraint=replace(constraint, tool_form=form))
        vars(found)["model"] = self.model  # it is read once
        return found

    @property
    def echoed(self) -> str:
        """The text that ``--echo`` puts before each text: the prompt, or the answer that the assistant has begun."""
        from sfgen.models.messages import begun_answer

        return (self.prompt or begun_answer(self.messages) or "") if self.options.echo else ""

    @property
    def reference(self) -> ReferenceName | None:
        """The engine that is there for comparison, if one was asked for."""
        return None if self.engine == "fast" else self.engine

    @cached_property
    def pattern(self) -> str | None:
        """The pattern that the text matches, given or of a saved index."""
        if self.constraint.index_file is None or self.constraint.guiding is not None:
            return self.constraint.pattern
        from sfgen.index.file import pattern_of

        return pattern_of(self.constraint.index_file)

    @property
    def schema_name(self) -> str | None:
        """The name of the schema for people; ``None`` without one."""
        constraint = self.constraint
        if constraint.schema is None and constraint.index_file is not None and constraint.json_schema is not None:
            return str(constraint.index_file)
        return constraint.schema_name

    @property
    def grammar_name(self) -> str | None:
        """The name of the grammar for people; ``None`` without one."""
        constraint = self.constraint
        if constraint.grammar is not None:
            return constraint.grammar.name
        is_saved = constraint.index_file is not None and constraint.read_grammar is not None
        return str(constraint.index_file) if is_saved else None

    @property
    def template_name(self) -> str | None:
        """The name of the template for people; ``None`` without one."""
        constraint = self.constraint
        is_saved = constraint.template is None and constraint.read_template is not None
        return str(constraint.index_file) if is_saved else constraint.template_name

    @property
    def substring_name(self) -> str | None:
        """The name of the document that is quoted, for people; ``None`` without one."""
        constraint = self.constraint
        is_saved = constraint.substring is None and constraint.read_substring is not None
        return str(constraint.index_file) if is_saved else constraint.substring_name

    @property
    def facts(self) -> ConstraintFacts:
        """The constraint as records name it."""
        from sfgen.jobs.constraint_facts import ConstraintFacts

        constraint = self.constraint
        if constraint.tool_calls is not None:
            return ConstraintFacts.of_calls(constraint.tool_calls, self.schema_name or str(constraint.index_file))
        return ConstraintFacts(
            pattern=self.pattern,
            choices=constraint.choices,
            schema=constraint.json_schema,
            schema_name=self.schema_name,
            grammar=constraint.read_grammar,
            grammar_name=self.grammar_name,
            engine=self.reference,
            template=constraint.read_template,
            template_name=self.template_name,
            substring=constraint.read_substring,
            substring_name=self.substring_name,
        )

    @cached_property
    def sampler(self) -> Sampler:
        """The sampler of the first sample."""
        from sfgen import Sampler

        options = self.options
        temperature = options.temperature
        if temperature is None:
            by_chance = (options.seed, options.top_k, options.top_p, options.min_p)
            temperature = 1.0 if options.samples > 1 or any(value is not None for value in by_chance) else 0.0
        sampler = Sampler(
            temperature,
            options.seed,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            logit_bias=_biases(options.logit_bias or ()),
            frequency_penalty=options.frequency_penalty,
            presence_penalty=options.presence_penalty,
            repetition_penalty=options.repetition_penalty,
        )
        template = self.constraint.read_template
        return sampler if template is None or not template.temperatures else sampler.seeded()

    @cached_property
    def spec(self) -> ModelSpec:
        """The model that is named."""
        from sfgen import ModelSpec

        options = asdict(self.options)
        of_model = {field.name: options[field.name] for field in fields(ModelSpec) if field.name in options}
        return ModelSpec(name=self.options.model, **of_model)

    @cached_property
    def model(self) -> Model:
        """The model, whose weights are read when they are first needed."""
        return self.spec.load()

    @cached_property
    def after(self) -> str | None:
        """The text that ends the thought; ``None``: there is no thought."""
        if self.options.after != AUTO:
            return self.options.after
        from sfgen.models.chat_forms import thought_of

        self.spec.check(chat=True)
        form = thought_of(self.model)
        if form is None:
            raise UsageError(
                f"the chat template of {self.options.model} does not show how a thought ends",
                hint="Name the text: --after '</think>'; or leave --after out.",
            )
        if form.is_off:
            note("sfgen: no thought is written: the chat template has an empty one", quiet=self.options.quiet)
            return None
        calls = self.constraint.tool_calls
        end = form.end_before(None if calls is None or calls.in_text else calls.form.lead)
        note(f"sfgen: a thought comes first, up to {visible(end)}", quiet=self.options.quiet)
        return end

    @cached_property
    def when(self) -> str | None:
        """The text behind which a call begins; ``None``: there are no calls in free text."""
        if self.options.when != AUTO:
            return self.options.when
        if self.constraint.has_form:
            return None  # the form has it
        from sfgen.models.tool_forms import tool_form_of

        self.spec.check(chat=True)
        form = tool_form_of(self.model)
        marker = None if form is None else form.marker
        if marker is None:
            named = "Name the text: --when '<tool_call>'; or leave --when out, for a call alone."
            raise UsageError(
                f'the chat template of {self.options.model} writes no text before a call {{"name": …, "arguments": …}}',
                hint=named if form is None or not form.begin else "Add --tool-format auto: it has a form of its own.",
            )
        note(f"sfgen: a call comes behind {visible(marker)}", quiet=self.options.quiet)
        return marker

    @cached_property
    def job(self) -> Job:
        """The library's job, without the index.

        The index needs the model's vocabulary.
        """
        from sfgen import GenerationConfig, Job

        options = asdict(self.options)
        named = {field.name: options[field.name] for field in fields(GenerationConfig) if field.name in options}
        named |= {"stop": options["stop"] or (), "sampler": self.sampler, "banned": self.banned}
        named["word_bias"] = self.word_bias
        named |= {"after": self.after, "when": self.when}
        if self.options.after_tokens is None:
            del named["after_tokens"]
        return Job(
            self.spec,
            GenerationConfig(**named, fast_forward=self.fast_forward),
            samples=self.options.samples,
            chat=self.options.chat,
            messages=self.messages,
            tools=self.constraint.tools,
            prompt_template=self.prompt_template,
            facts=self.facts,
            choices=self.constraint.choices if self.scores else None,
        )
