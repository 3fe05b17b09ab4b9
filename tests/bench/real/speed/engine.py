"""One way to write texts with the model, and what was measured of a text."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .passes import Passes
from .tasks import Task


class Text(NamedTuple):
    """A text.

    Attributes:
        text: Without the prompt.
        tokens: How many tokens write it; ``None``: as many as there were forward passes, each of which made one.
    """

    text: str
    tokens: int | None = None


@dataclass(frozen=True)
class Measured:
    """The cost of a text; seconds of the processor unless said otherwise.

    Attributes:
        text: The text.
        tokens: Its tokens.
        passes: Forward passes, the one of the prompt too.
        whole: From the compiled constraint to the text.
        first: To the first token: until the second forward pass begins.
        prompt: The first forward pass, which reads the prompt.
        forward: All forward passes.
        wall: As ``whole``, by the clock.
    """

    text: str
    tokens: int
    passes: int
    whole: float
    first: float
    prompt: float
    forward: float
    wall: float

    @property
    def writing(self) -> float:
        """Without reading the prompt."""
        return self.whole - self.prompt

    @property
    def own(self) -> float:
        """Without the forward passes."""
        return self.whole - self.forward


class Engine(ABC):
    """An engine with the model loaded.

    Attributes:
        name: Unique among all engines.
        package: What is installed, for its version.
        interface: What is called, for the report.
        kinds: What it can write.
        rounds: In how many rounds it writes at most.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    interface: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    rounds: ClassVar[int] = 9

    @abstractmethod
    def compile(self, task: Task) -> Any:
        """Make all that is made of a constraint once."""

    @abstractmethod
    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        """Write one text."""

    @abstractmethod
    def watched(self) -> AbstractContextManager[Passes]:
        """Watch its forward passes."""

    def measured(self, task: Task, constraint: Any, seed: int) -> Measured:
        """Write one text and measure it."""
        with self.watched() as passes:
            wall, started = time.perf_counter(), time.process_time()
            found = self.write(task, constraint, seed)
            whole, wall = time.process_time() - started, time.perf_counter() - wall
        first = passes.second_begins - started if passes.second_begins else whole
        tokens = len(passes.seconds) if found.tokens is None else found.tokens
        return Measured(
            found.text, tokens, len(passes.seconds), whole, first, passes.seconds[0], sum(passes.seconds), wall
        )
