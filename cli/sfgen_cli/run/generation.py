"""One run of ``gen`` or ``ban``: load what is needed, generate the samples, write them."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from sfgen.errors import NotAnInstance, SfgenError, UsageError
from sfgen.kernels import told_of_compiling
from sfgen.printable import visible
from sfgen.sizes import size_in_words
from sfgen_cli.options.shared import GenerationOptions
from sfgen_cli.run.record import record
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.keyboard import is_watched
from sfgen_cli.shell.output import note, write, write_json
from sfgen_cli.shell.progress import Say, progress

if TYPE_CHECKING:
    from sfgen import BannedWords, Dfa, Event, Grammar, JsonSchema, Result, Sampler
    from sfgen.decoding.loop import Loop
    from sfgen.protocols import GuideSource, Model
    from sfgen.trace import TraceFile
    from sfgen.trace.scene import Scene, View

    Made: TypeAlias = Dfa | JsonSchema | Grammar

_WORDS_SHOWN = 5  # in the summary
_REHEARSED = 48  # events


@dataclass(frozen=True)
class Run:
    """A request with what was loaded for it.

    Attributes:
        request: What was asked for.
        model: The model.
        prompt: The prompt as the model is given it: text, or the tokens that a chat template made of it.
        index: What the text must match.
    """

    request: Request
    model: Model
    prompt: str | Sequence[int]
    index: GuideSource | None

    @property
    def streams(self) -> bool:
        """Whether text is written as it comes: a match is written whole or not at all, and so is what is shown live."""
        return not self.request.options.json and not wants_live(self.request) and self.index is None

    def events(self, sampler: Sampler) -> Iterator[Event]:
        """One sample, event by event. What can be known to be impossible is raised by the call itself."""
        from sfgen.decoding.batch import drive

        return drive(self.loop(sampler), self.model)

    def loop(self, sampler: Sampler) -> Loop:
        """The loop of one sample, for a driver to run. What can be known to be impossible is raised here."""
        from sfgen.decoding import GenerationConfig, prepare

        options = self.request.options
        config = GenerationConfig(
            index=self.index,
            banned=self.request.banned,
            sampler=sampler,
            stop=options.stop or (),
            max_tokens=options.max_tokens,
            strategy=options.strategy,
            max_rollbacks=options.max_rollbacks,
            max_block=options.max_block,
            fast_forward=self.request.fast_forward,
            hold=not self.streams,
            observe=wants_live(self.request) or options.trace is not None,
        )
        return prepare(self.model, self.prompt, config)

    def scene(self, sampler: Sampler) -> Scene:
        """What views are told of one sample before it begins."""
        from sfgen.trace.scene import Scene

        request, banned = self.request, self.request.banned
        return Scene(
            prompt=request.prompt,
            model=request.options.model,
            vocabulary_size=len(self.model.vocabulary),
            pattern=request.pattern,
            choices=request.constraint.choices,
            words=banned.words if banned else (),
            banned_patterns=banned.patterns if banned else (),
            seed=sampler.seed,
            schema=request.schema_name,
            schema_json=_json_of(request.constraint.json_schema),
            grammar=request.grammar_name,
            grammar_json=_grammar_json(request.constraint.read_grammar),
        )

    def of_prompt(self, prompt: str) -> Run:
        """The same for another prompt."""
        request = replace(self.request, prompt=prompt)
        return replace(self, request=request, prompt=_prompt_for(self.model, request))

    def load_weights(self, say: Say) -> None:
        """Load what the first sample would have to wait for."""
        if hasattr(self.model, "weights_size"):
            size = self.model.weights_size
            say(f"loading the weights of {self.request.options.model}" + (f" ({size_in_words(size)})" if size else ""))
        self.model.session()

    def rehearse(self) -> None:
        """Write some tokens of a text for nobody, without the weights, so that the kernels for it are compiled now.

        The engines that are there for comparison have no kernels, and take seconds for a token.
        """
        if self.request.reference is not None:
            return
        from sfgen import Sampler
        from sfgen.decoding.plain_forms import vocabulary_of
        from sfgen.models.uniform import UniformModel

        with contextlib.suppress(SfgenError):  # where there is something to tell, the run itself tells it
            others = replace(self, model=UniformModel(vocabulary_of(self.model)), prompt=[0])
            for _ in itertools.islice(others.events(Sampler(temperature=1.0, seed=0)), _REHEARSED):
                pass


def run(request: Request) -> None:
    """Generate and write all samples."""
    with trace_file(request.options) as trace:
        loaded, samplers = load(request)
        for sampler in samplers:
            _sample(loaded, sampler, trace)


@contextlib.contextmanager
def trace_file(options: GenerationOptions) -> Iterator[TraceFile | None]:
    """The file of ``--trace``, for all samples of the run; ``None`` without one."""
    if options.trace is None:
        yield None
        return
    if str(options.trace) == "-":
        raise UsageError(
            "--trace needs the name of a file: stdout is for the text", hint="For example: --trace run.jsonl"
        )
    from sfgen.trace import TraceFile

    with TraceFile(options.trace) as file:
        yield file


def load(request: Request) -> tuple[Run, list[Sampler]]:
    """Load what a request needs; how each of its samples is drawn."""
    # What can be wrong in the options first: it is told before seconds of loading.
    request.check()
    process.import_numpy()
    samplers = request.samplers()
    with progress(quiet=request.options.quiet) as say:
        compiled: list[bool] = []
        with told_of_compiling(compiled.append):
            loaded = without_weights(request, say, check_beforehand(request, say))
            loaded.loop(samplers[0])  # tells what is impossible, before the weights are loaded
        if compiled:  # then others will be, and while the text is written nobody says why nothing happens
            loaded.rehearse()
        loaded.load_weights(say)
    return loaded, samplers


def check_beforehand(request: Request, say: Say, *, has_prompt: bool = True) -> Made | None:
    """Refuse what can be known to be wrong before torch is imported, which takes seconds.

    Args:
        request: What is asked for.
        say: Is told what is being done.
        has_prompt: Whether its prompt is known already.

    Returns:
        The automaton of the pattern or the choices, the schema or the grammar, where the text has to match one.
    """
    constraint, options = request.constraint, request.options
    if constraint.index_file is not None:
        say(f"looking at {constraint.index_file}")
    elif constraint:
        say(f"reading the {constraint.kind}")
    _ = request.pattern  # tells what is wrong with a saved index
    made: Made | None = constraint.schema_or_grammar
    if constraint.json_schema is not None:
        _check_schema(constraint.json_schema, quiet=options.quiet)
    elif made is None and request.reference is None:
        made = constraint.dfa() if constraint and constraint.index_file is None else None
    elif made is None and constraint.pattern is not None:
        from sfgen.regex import parse

        parse(constraint.pattern)  # tells what is wrong with it
    if made is not None and request.banned is not None and has_prompt and not options.chat:
        _check_banned(made, request.banned, request.prompt.encode("utf-8", "replace"))
    from sfgen.models.preflight import check_model

    say(f"looking for the model {options.model}")
    check_model(options.model, device=options.device, dtype=options.dtype, chat=options.chat, offline=options.offline)
    return made


def _check_schema(schema: JsonSchema, *, quiet: bool) -> None:
    """Make the rules of a schema, and tell a person what should be known of it."""
    from sfgen_cli.options.schema import in_options

    _ = schema.network
    for line in schema.notes:
        note(f"sfgen: {visible(in_options(line))}", quiet=quiet)


def _check_banned(made: Made, banned: BannedWords, prompt: bytes) -> None:
    """Tell if every text has a banned word: raise ``BannedWordsError``. Of a grammar that cannot be known."""
    from sfgen import Dfa, JsonSchema

    if isinstance(made, JsonSchema):
        made.without_banned(banned, prompt)
    elif isinstance(made, Dfa):
        from sfgen.ban.difference import without

        without(made, banned, prompt)


def without_weights(request: Request, say: Say, made: Made | None) -> Run:
    """Load what a request needs, but for the weights of the model. ``made``: what ``check_beforehand`` gave."""
    constraint, options = request.constraint, request.options
    say(_reading(options))
    from sfgen import load_model

    model = load_model(
        options.model,
        tokenizer=options.tokenizer,
        device=options.device,
        dtype=options.dtype,
        threads=options.threads,
        trust_remote_code=options.trust_remote_code,
        offline=options.offline,
    )
    if constraint:
        say("preparing the index")
    from sfgen.decoding.plain_forms import vocabulary_of

    vocabulary = vocabulary_of(model)
    index: GuideSource | None
    if request.reference is None:
        index = constraint.index(vocabulary, made)
    else:
        index = constraint.reference_index(vocabulary, request.reference)
    return Run(request, model, _prompt_for(model, request), index)


def _reading(options: GenerationOptions) -> str:
    """What is read to make a model without its weights."""
    if options.tokenizer is not None:
        return f"reading the tokenizer {options.tokenizer}"
    if options.model.startswith("zip:"):
        return f"compressing {options.model.removeprefix('zip:')}"
    return "listing the characters" if options.model == "uniform" else f"reading the tokenizer of {options.model}"


def _prompt_for(model: Model, request: Request) -> str | Sequence[int]:
    if not request.options.chat:
        return request.prompt
    chat = getattr(model, "chat", None)
    if chat is None:
        raise UsageError(
            f"the model {request.options.model} has no chat template", hint="Leave --chat out, or name another model."
        )
    ids: Sequence[int] = chat(request.prompt)
    return ids


def _sample(loaded: Run, sampler: Sampler, trace: TraceFile | None) -> None:
    from sfgen.decoding import Finished, TextReleased

    request, options = loaded.request, loaded.request.options
    started = time.perf_counter()
    streams = loaded.streams
    before = request.prompt if options.echo else ""
    if streams:
        write(before)
    result: Result | None = None
    with _views(loaded.scene(sampler), options, trace, live=wants_live(request)) as views:
        for event in loaded.events(sampler):
            now = time.perf_counter()
            for view in views:
                view.show(event, now - started)
            started += time.perf_counter() - now  # a view may wait for a person, which is no time of the model
            if isinstance(event, TextReleased) and streams:
                write(event.text)
            elif isinstance(event, Finished):
                result = event.result
    assert result is not None, "the last event carries the result"
    if options.json:
        fields = record(request, result, seed=sampler.seed, seconds=time.perf_counter() - started)
        write_json(fields)
    else:
        write("\n" if streams else f"{before}{result.text}\n")
    _tell_of_refusal(result, quiet=options.quiet)
    if result.rollbacks or result.moved_blocks:
        note(_summary(result), quiet=options.quiet)


def _tell_of_refusal(result: Result, *, quiet: bool) -> None:
    """Tell a person if a class does not take a text that its schema allows."""
    try:
        _ = result.parsed
    except NotAnInstance as error:
        note(f"sfgen: {visible(error.message)}: {visible(error.details[0].strip())}", quiet=quiet)


@contextlib.contextmanager
def _views(scene: Scene, options: GenerationOptions, trace: TraceFile | None, *, live: bool) -> Iterator[list[View]]:
    """Those who look on."""
    with contextlib.ExitStack() as stack:
        views: list[View] = []
        if trace is not None:
            from sfgen.trace import tracing

            views.append(stack.enter_context(tracing(trace, scene)))
        if live:
            from sfgen_cli.live.view import live_view

            views.append(stack.enter_context(live_view(scene, slow=options.slow, step=options.step)))
        yield views


def _json_of(schema: JsonSchema | None) -> str | None:
    """A schema and its options as JSON, for a trace."""
    if schema is None:
        return None
    from sfgen.schema.words import as_json

    return as_json({**schema.to_dict(), "schema": schema.document.root})


def _grammar_json(grammar: Grammar | None) -> str | None:
    """A grammar and its options as JSON, for a trace."""
    return None if grammar is None else json.dumps(grammar.to_dict(), ensure_ascii=False)


def wants_live(request: Request) -> bool:
    """Whether the live view is shown: on a terminal only, and there unless it was refused."""
    options = request.options
    is_refused = options.quiet or options.live is False
    return not is_refused and is_watched(asked_for=options.live is True or options.slow > 0 or options.step)


def _summary(result: Result) -> str:
    """What the ban did, in one line."""
    words = sorted({event.word for event in result.rollbacks if event.word is not None})
    tokens = sum(len(event.token_ids) for event in result.rollbacks)
    parts = [f"{_counted(len(result.rollbacks), 'rollback')} of {_counted(tokens, 'token')}"]
    if words:
        parts[0] += f" ({', '.join(map(visible, words[:_WORDS_SHOWN]))}{', …' if len(words) > _WORDS_SHOWN else ''})"
    if result.moved_blocks:
        parts.append(f"{_counted(result.moved_blocks, 'block')} longer than --max-block, drawn less exactly")
    return "sfgen: " + "; ".join(parts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
