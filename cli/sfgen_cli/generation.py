"""One run of ``gen`` or ``ban``: load what is needed, generate the samples, write them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfgen_cli.constraints import Constraint
from sfgen_cli.output import note, stderr_is_a_terminal, write, write_json
from sfgen_cli.record import record

if TYPE_CHECKING:
    from sfgen import BannedWords, Index, Result, Sampler
    from sfgen.decoding import Model


@dataclass(frozen=True)
class Request:
    """What the options of a generating command ask for."""

    prompt: str
    constraint: Constraint
    banned: BannedWords | None
    model: str
    tokenizer: str | None
    device: str
    dtype: str
    trust_remote_code: bool
    temperature: float | None
    seed: int | None
    samples: int
    max_tokens: int
    json: bool
    echo: bool
    quiet: bool
    live: bool | None
    max_rollbacks: int = 10_000

    def samplers(self) -> list[Sampler]:
        """How each sample is drawn: sample i uses seed + i."""
        from sfgen import Sampler

        temperature = self.temperature
        if temperature is None:
            temperature = 1.0 if self.seed is not None or self.samples > 1 else 0.0
        first = Sampler(temperature=temperature, seed=self.seed)
        return [
            Sampler(temperature=temperature, seed=None if first.seed is None else first.seed + number)
            for number in range(self.samples)
        ]


def run(request: Request) -> None:
    """Generate and write all samples."""
    # What can be wrong in the options first: it is told before seconds of loading.
    samplers = request.samplers()
    constraint = request.constraint
    dfa = constraint.dfa() if constraint and constraint.index_file is None else None
    with _busy(f"loading {request.model}", request):
        from sfgen import load_model

        model = load_model(
            request.model,
            tokenizer=request.tokenizer,
            device=request.device,
            dtype=request.dtype,
            trust_remote_code=request.trust_remote_code,
        )
        index = constraint.index(model.vocabulary, dfa)
        if index is not None:
            index.check_limit(request.max_tokens)
        model.session()  # loads the weights now, under the progress message
    for sampler in samplers:
        _sample(request, model, index, sampler)


def _sample(request: Request, model: Model, index: Index | None, sampler: Sampler) -> None:
    from sfgen.decoding import Finished, TextReleased, stream
    from sfgen_cli.live import live_view

    started = time.perf_counter()
    # A match is written whole or not at all; free text is written as it comes, unless it is shown live.
    view_wanted = wants_live(request)
    streams = not request.json and not view_wanted and index is None
    before = request.prompt if request.echo else ""
    if streams:
        write(before)
    result: Result | None = None
    with live_view(request, len(model.vocabulary), wanted=view_wanted) as view:
        for event in stream(
            model,
            request.prompt,
            index=index,
            banned=request.banned,
            sampler=sampler,
            max_tokens=request.max_tokens,
            max_rollbacks=request.max_rollbacks,
        ):
            view.show(event)
            if isinstance(event, TextReleased) and streams:
                write(event.text)
            elif isinstance(event, Finished):
                result = event.result
    assert result is not None, "the last event carries the result"
    seconds = time.perf_counter() - started
    if request.json:
        write_json(
            record(
                result,
                prompt=request.prompt,
                model=request.model,
                seed=sampler.seed,
                seconds=seconds,
                constraint=request.constraint,
                pattern=index.dfa.pattern if index is not None else None,
                banned=request.banned,
            )
        )
    else:
        write("\n" if streams else f"{before}{result.text}\n")
    if result.rollbacks:
        note(_summary(result), quiet=request.quiet)


def wants_live(request: Request) -> bool:
    """Whether the live view is shown: on a terminal only, and there unless it was refused."""
    if request.quiet or request.live is False or not stderr_is_a_terminal():
        return False
    return request.live is True or (sys.stdout is not None and sys.stdout.isatty())


def _summary(result: Result) -> str:
    words = sorted({event.word for event in result.rollbacks if event.word is not None})
    count = len(result.rollbacks)
    return f"sfgen: {count} rollback{'s' if count > 1 else ''} ({', '.join(words)})"


@contextlib.contextmanager
def _busy(message: str, request: Request) -> Iterator[None]:
    """Show on a terminal that something takes a while."""
    if request.quiet or not stderr_is_a_terminal():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{message}…"):
        yield
