"""One run of ``gen`` or ``ban``: load what is needed, generate the samples, write them."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from sfgen.errors import NotAnInstance, SfgenError, UsageError
from sfgen.kernels import told_of_compiling
from sfgen.printable import on_one_line, size_in_words, visible
from sfgen_cli.options.generation import GenerationOptions
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.keyboard import is_watched
from sfgen_cli.shell.output import note, stderr_is_a_terminal, stdout_is_a_terminal, write, write_json
from sfgen_cli.shell.progress import Say, progress
from sfgen_cli.shell.usage import in_options, worded

if TYPE_CHECKING:
    from sfgen import BannedWords, Dfa, Grammar, JsonSchema, Result, Sampler, Substring, Template, ToolCalls
    from sfgen.decoding.loop import Loop
    from sfgen.jobs.loaded_job import LoadedJob
    from sfgen.trace import TraceFile
    from sfgen.trace.lines import Scene, View

    Made: TypeAlias = Dfa | JsonSchema | Grammar | Substring | Template | ToolCalls
    Text: TypeAlias = tuple[Sampler, Loop]

_WORDS_SHOWN = 5  # in the summary


def run(request: Request) -> None:
    """Generate and write all samples."""
    with trace_file(request.options) as trace:
        loaded, texts = load(request)
        process.at_work()
        for number, (sampler, loop) in enumerate(texts, 1):
            if has_headings(request):
                seed = "" if sampler.seed is None else f", seed {sampler.seed}"
                write(f"--- {number} of {request.options.samples}{seed} ---\n")
            _write_sample(request, loaded, sampler, loop, trace)


def has_headings(request: Request) -> bool:
    """Return whether each text is written under a line of its own.

    Free texts have lines, so that a person could not tell several of them apart. A program that reads a pipe gets the
    texts alone.
    """
    options = request.options
    is_free = not request.constraint or options.when is not None
    return options.samples > 1 and is_free and not options.json and stdout_is_a_terminal()


@contextlib.contextmanager
def trace_file(options: GenerationOptions) -> Iterator[TraceFile | None]:
    """Open the trace of all samples of the run."""
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


def load(request: Request) -> tuple[LoadedJob, Iterator[Text]]:
    """Load what a request needs."""
    # Check the options first: a fault in them is told before seconds of loading.
    request.check()
    process.import_numpy()
    process.let_threads_sleep(request.options.model)
    with progress(quiet=request.options.quiet) as say:
        compiled: list[bool] = []
        with told_of_compiling(compiled.append):
            loaded = without_weights(request, say, check_beforehand(request, say))
            texts = _texts(request, loaded)
            first = next(texts)
            tell_of_tools(loaded, quiet=request.options.quiet)
        if compiled:  # then others will be, and while the text is written nobody says why nothing happens
            loaded.rehearse()
        load_weights(loaded, say)
    return loaded, itertools.chain([first], texts)


def _texts(request: Request, loaded: LoadedJob) -> Iterator[Text]:
    """Yield each sample's sampler and loop."""
    observe = wants_live(request) or request.options.trace is not None
    for sampler in loaded.job.samplers():
        yield sampler, loaded.loop(request.prompt, sampler, hold=not streams(request), observe=observe)


def load_weights(loaded: LoadedJob, say: Say) -> None:
    """Load what the first text would have to wait for."""
    size = getattr(loaded.model, "weights_size", None)
    if hasattr(loaded.model, "weights_size"):
        say(f"loading the weights of {loaded.job.model_name}" + (f" ({size_in_words(size)})" if size else ""))
    loaded.load_weights()


def tell_of_tools(loaded: LoadedJob, *, quiet: bool) -> None:
    """Tell a person that a chat template leaves the tools out; without a template nobody can tell."""
    with contextlib.suppress(SfgenError):  # each prompt will tell
        if loaded.job.is_chat and not loaded.shows_tools:
            note("sfgen: the model sees none of the tools: its chat template does not know tools", quiet=quiet)


def show_prompt(request: Request) -> None:
    """Write the prompt as the model reads it."""
    request.check()
    process.import_numpy()
    options, job = request.options, request.job
    assert job.spec is not None, "a command names its model"
    with progress(quiet=options.quiet) as say:
        say(_reading(options))
        if job.is_chat:
            job.conversation(request.prompt)  # tells what is missing
        job.spec.check(chat=job.is_chat)
        from sfgen.decoding.plain_forms import prompt_tokens
        from sfgen.jobs.loaded_job import LoadedJob

        loaded = LoadedJob(job, job.spec.load(), None)
        rendered = loaded.rendered(request.prompt)
        text = request.prompt if rendered is None else rendered
        ids = list(prompt_tokens(loaded.model, loaded.encoded(request.prompt))) if options.json else []
        tell_of_tools(loaded, quiet=options.quiet)
    if options.json:
        messages = {"messages": list(request.messages)} if request.messages else {}
        told = {"prompt": request.prompt, **messages, "rendered": text, "model": job.model_name}
        write_json({**told, "token_ids": ids, "prompt_tokens": len(ids)})
    else:
        write(f"{text}\n")


def streams(request: Request) -> bool:
    """Return whether text is written as it comes.

    A match is written whole or not at all, and so is what is shown live.
    """
    return not request.options.json and not wants_live(request) and not request.constraint


def check_beforehand(request: Request, say: Say, *, has_prompt: bool = True) -> Made | None:
    """Refuse what is wrong before torch is imported, which takes seconds."""
    constraint, options = request.constraint, request.options
    if constraint.index_file is not None:
        say(f"looking at {constraint.index_file}")
    elif constraint:
        say(f"reading the {constraint.kind}")
    _ = request.pattern  # tells what is wrong with a saved index
    made: Made | None = constraint.guiding
    if constraint.json_schema is not None:
        _check_schema(constraint.json_schema, quiet=options.quiet)
    elif made is None and request.reference is None and not request.scores:
        made = constraint.dfa() if constraint and constraint.index_file is None else None
    elif made is None and constraint.pattern is not None:
        from sfgen.regex import parse

        parse(constraint.pattern)  # tells what is wrong with it
    if has_prompt and request.job.is_chat:
        request.job.conversation(request.prompt)  # tells what is missing
    if made is not None and request.banned is not None and has_prompt and not request.job.is_chat:
        before = options.when or options.after or request.prompt
        _check_banned(made, request.banned, before.encode("utf-8", "replace"))
    say(f"looking for the model {options.model}")
    spec = request.job.spec
    assert spec is not None, "a command names its model"
    spec.check(chat=request.job.is_chat)
    return made


def _check_schema(schema: JsonSchema, *, quiet: bool) -> None:
    """Compile a schema, and tell a person its warnings."""
    _ = schema.network
    for line in schema.notes:
        note(f"sfgen: {on_one_line(in_options(line))}", quiet=quiet)


def _check_banned(made: Made, banned: BannedWords, prompt: bytes) -> None:
    """Tell if every text has a banned word: raise ``BannedWordsError``. Of a grammar that cannot be known."""
    from sfgen import Dfa, JsonSchema, Template, ToolCalls

    if isinstance(made, JsonSchema | Template | ToolCalls):
        made.without_banned(banned, prompt)
    elif isinstance(made, Dfa):
        from sfgen.ban.difference import without

        without(made, banned, prompt)


def without_weights(request: Request, say: Say, made: Made | None) -> LoadedJob:
    """Load what a request needs besides the weights of the model."""
    constraint, job = request.constraint, request.job
    say(_reading(request.options))
    from sfgen.decoding.plain_forms import vocabulary_of
    from sfgen.jobs.loaded_job import LoadedJob

    assert job.spec is not None, "a command names its model"
    model = request.model
    if request.scores:
        return LoadedJob(job, model, None)
    vocabulary = vocabulary_of(model)
    if constraint:
        say("preparing the index")
    if request.reference is not None:
        return LoadedJob(job, model, constraint.reference_index(vocabulary, request.reference))
    return LoadedJob(job, model, constraint.index(vocabulary, made))


def _reading(options: GenerationOptions) -> str:
    """Say what is read to make a model without its weights."""
    if options.tokenizer is not None:
        return f"reading the tokenizer {options.tokenizer}"
    if options.model.startswith("zip:"):
        return f"compressing {options.model.removeprefix('zip:')}"
    return "listing the characters" if options.model == "uniform" else f"reading the tokenizer of {options.model}"


def _write_sample(request: Request, loaded: LoadedJob, sampler: Sampler, loop: Loop, trace: TraceFile | None) -> None:
    from sfgen.decoding import Finished, TextReleased, ThoughtReleased
    from sfgen.jobs.record import record

    options = request.options
    thought = _ShownThought(not options.quiet and not wants_live(request) and stderr_is_a_terminal())
    started = time.perf_counter()
    is_streamed = streams(request)
    before = request.echoed
    if is_streamed:
        write(before)
    result: Result | None = None
    with _views(loaded.scene(request.prompt, sampler), options, trace, live=wants_live(request)) as views:
        for event in loaded.events(loop):
            now = time.perf_counter()
            for view in views:
                view.show(event, now - started)
            started += time.perf_counter() - now  # a view may wait for a person, which is no time of the model
            if isinstance(event, ThoughtReleased):
                thought.show(event.text)
            elif isinstance(event, TextReleased | Finished):
                thought.end()
            if isinstance(event, TextReleased) and is_streamed:
                write(event.text)
            elif isinstance(event, Finished):
                result = event.result
    assert result is not None, "the last event carries the result"
    if options.json:
        seconds = time.perf_counter() - started
        rendered = loaded.rendered(request.prompt)
        write_json(record(loaded.job, request.prompt, result, seed=sampler.seed, seconds=seconds, rendered=rendered))
    else:
        write("\n" if is_streamed else f"{before}{result.text}\n")
    _tell_of_refusal(result, quiet=options.quiet)
    if result.rollbacks or result.moved_blocks:
        note(_summary(result), quiet=options.quiet)


@dataclass
class _ShownThought:
    """The thought before a text, for a person who watches stderr.

    Attributes:
        is_shown: Whether somebody does.
    """

    is_shown: bool
    _is_open: bool = False

    def show(self, text: str) -> None:
        """Show some more of it."""
        if self.is_shown:
            note(text, end="")
            self._is_open = True

    def end(self) -> None:
        """End its line."""
        if self._is_open:
            note("")
        self._is_open = False


def _tell_of_refusal(result: Result, *, quiet: bool) -> None:
    """Tell a person if a class does not take a text that its schema allows."""
    try:
        _ = result.parsed
    except NotAnInstance as error:
        note(f"sfgen: {error.message}: {error.details[0].strip()}", quiet=quiet)


@contextlib.contextmanager
def _views(scene: Scene, options: GenerationOptions, trace: TraceFile | None, *, live: bool) -> Iterator[list[View]]:
    """Open the views of a run."""
    with contextlib.ExitStack() as stack:
        views: list[View] = []
        if trace is not None:
            from sfgen.trace import tracing

            views.append(stack.enter_context(tracing(trace, scene)))
            stack.enter_context(worded())  # so that a replay tells an error as it was told
        if live:
            from sfgen_cli.live.view import live_view

            views.append(stack.enter_context(live_view(scene, slow=options.slow, step=options.step)))
        yield views


def wants_live(request: Request) -> bool:
    """Return whether the live view is shown.

    It is on a terminal only, unless it was refused.
    """
    options = request.options
    is_refused = options.quiet or options.live is False
    return not is_refused and is_watched(asked_for=options.live is True or options.slow > 0 or options.step)


def _summary(result: Result) -> str:
    """Sum up the work of the ban in one line."""
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
