"""Forward passes watched from outside, alike for all that run one model: how many, and what they take.

The time is that of the calling thread: with one thread for the model, all of a forward pass runs in it, while what an
engine does beside it in other threads is its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Passes:
    """The forward passes of one text.

    Attributes:
        seconds: Of the processor, for each.
        second_begins: The process's processor time when the second one begins; 0: there was none.
    """

    seconds: list[float] = field(default_factory=list)
    second_begins: float = 0.0

    def add(self, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run what belongs to the pass before."""
        started = time.thread_time()
        try:
            return run(*args, **kwargs)
        finally:
            self.seconds[-1] += time.thread_time() - started

    def call(self, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run one of them."""
        if len(self.seconds) == 1:
            self.second_begins = time.process_time()
        started = time.thread_time()
        try:
            return run(*args, **kwargs)
        finally:
            self.seconds.append(time.thread_time() - started)


@contextlib.contextmanager
def of_llama_cpp() -> Iterator[Passes]:
    """Watch ``llama_decode``, which each engine takes from llama-cpp-python when it calls it."""
    import llama_cpp

    passes, decode = Passes(), llama_cpp.llama_cpp.llama_decode

    def watched(context: Any, batch: Any) -> Any:
        return passes.call(decode, context, batch)

    modules: tuple[Any, ...] = (llama_cpp, llama_cpp.llama_cpp)
    for module in modules:
        module.llama_decode = watched
    try:
        yield passes
    finally:
        for module in modules:
            module.llama_decode = decode


@contextlib.contextmanager
def of_network(network: Any) -> Iterator[Passes]:
    """Watch the layers of a network of transformers, and its output layer, which sfgen calls apart from them."""
    passes, layers, head = Passes(), network.base_model, network.get_output_embeddings()
    read, score = layers.forward, head.forward
    layers.forward = lambda *args, **kwargs: passes.call(read, *args, **kwargs)
    head.forward = lambda *args, **kwargs: passes.add(score, *args, **kwargs)
    try:
        yield passes
    finally:
        del layers.forward, head.forward
