"""``/metrics``: the counters of a server, in Prometheus's form.

Each server has a registry of its own, so several servers in one process count separately. Names begin with ``sfgen_``.
No prompt, text or client can be seen in the counters: paths are those of routes, models have the names that clients
use.

>>> metrics = Metrics(lambda: {"tiny": (1, 2)}, lambda: 0)
>>> metrics.answered("/v1/completions", 200)
>>> answer, _ = metrics.exposed("")
>>> [line for line in answer.decode().splitlines() if line.startswith(("sfgen_requests_total", "sfgen_texts_w"))]
['sfgen_texts_waiting{model="tiny"} 2.0', 'sfgen_requests_total{path="/v1/completions",status="200"} 1.0']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from sfgen.decoding.events import Event, Finished, TextReleased, ThoughtReleased
from sfgen.errors import SfgenError

_WAITS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_GAPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_TEXTS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The counters of one server.

    Args:
        loads: Returns for each model how many texts have rows, and how many wait.
        kept: Returns the bytes of kept constraints.
    """

    def __init__(self, loads: Callable[[], Mapping[str, tuple[int, int]]], kept: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Loads(loads, kept))
        ProcessCollector(registry=self._registry)
        count = partial(Counter, registry=self._registry)
        measure = partial(Histogram, registry=self._registry)
        model = ["model"]
        self._requests = count("sfgen_requests", "Requests that were answered.", ["path", "status"])
        self._texts = count("sfgen_texts", "Texts, by how they ended.", ["model", "end"])
        self._prompt_tokens = count("sfgen_prompt_tokens", "Tokens of the prompts of finished texts.", model)
        self._tokens = count("sfgen_tokens", "Tokens of finished texts.", model)
        self._forced = count("sfgen_forced_tokens", "Tokens of these that took no forward pass.", model)
        self._rollbacks = count("sfgen_rollbacks", "How often banned text was taken back.", model)
        self._first = measure("sfgen_first_text_seconds", "From the line to the first text.", model, buckets=_WAITS)
        self._gap = measure("sfgen_text_gap_seconds", "Between two parts of a streamed text.", model, buckets=_GAPS)
        self._whole = measure("sfgen_text_seconds", "From the line to the end of a text.", model, buckets=_TEXTS)
        self._compile = measure(
            "sfgen_compile_seconds", "Until a constraint or a ban was compiled, or refused.", buckets=_WAITS
        )

    def exposed(self, accept: str) -> tuple[bytes, str]:
        """Return all counters in the form that a client accepts, and the content type."""
        try:
            encode, kind = choose_encoder(accept)
        except TypeError:  # the version that it names is not a number
            encode, kind = choose_encoder("")
        return encode(self._registry), kind

    def answered(self, path: str, status: int) -> None:
        """Count a request."""
        self._requests.labels(path, str(status)).inc()

    def compiled(self, seconds: float) -> None:
        """Record the time of a compilation."""
        self._compile.observe(seconds)

    def of_text(self, model: str) -> TextMetrics:
        """Return the counters of a text that begins to wait now."""
        return TextMetrics(self, model)


class TextMetrics:
    """The counters of one text."""

    def __init__(self, metrics: Metrics, model: str) -> None:
        self._metrics = metrics
        self._model = model
        self._begun = time.monotonic()
        self._last: float | None = None  # the time of the last released text

    def told(self, event: Event) -> None:
        """Count an event."""
        now = time.monotonic()
        if isinstance(event, TextReleased | ThoughtReleased):
            if self._last is None:
                self._metrics._first.labels(self._model).observe(now - self._begun)
            else:
                self._metrics._gap.labels(self._model).observe(now - self._last)
            self._last = now
        elif isinstance(event, Finished):
            result = event.result
            self._metrics._whole.labels(self._model).observe(now - self._begun)
            self._metrics._prompt_tokens.labels(self._model).inc(result.prompt_tokens)
            self._metrics._tokens.labels(self._model).inc(len(result.token_ids))
            self._metrics._forced.labels(self._model).inc(result.forced_tokens)
            self._metrics._rollbacks.labels(self._model).inc(len(result.rollbacks))
            self._metrics._texts.labels(self._model, result.finish_reason).inc()

    def failed(self, error: SfgenError | None) -> None:
        """Count a text that did not finish; ``None``: its client has left."""
        self._metrics._texts.labels(self._model, "left" if error is None else "error").inc()


class _Loads(Collector):
    """The gauges that are read when metrics are collected."""

    def __init__(self, loads: Callable[[], Mapping[str, tuple[int, int]]], kept: Callable[[], int]) -> None:
        self._loads, self._kept = loads, kept

    def collect(self) -> Iterable[Metric]:
        running = GaugeMetricFamily("sfgen_texts_running", "Texts that have rows.", labels=["model"])
        waiting = GaugeMetricFamily("sfgen_texts_waiting", "Texts that wait for rows.", labels=["model"])
        for model, (rows, line) in self._loads().items():
            running.add_metric([model], rows)
            waiting.add_metric([model], line)
        return [running, waiting, GaugeMetricFamily("sfgen_kept_bytes", "Memory of kept constraints.", self._kept())]
