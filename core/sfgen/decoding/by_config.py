"""Functions that take a configuration, or its fields by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from sfgen import arguments
from sfgen.decoding.config import GenerationConfig
from sfgen.decoding.plain_forms import model_of
from sfgen.models.messages import Prompt, prompt_of
from sfgen.protocols import Model

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
        """Call it; fields that are named stand before those of ``config``."""


def by_config(
    make: Callable[Fields, GenerationConfig],
) -> Callable[[Callable[[Model, str | Sequence[int], GenerationConfig], Made]], ByConfig[Fields, Made]]:
    """Let a function take the fields of its configuration by name.

    It can then take a model by its name, too.

    Args:
        make: The class of the configuration, whose parameters these are.
    """

    def decorate(
        function: Callable[[Model, str | Sequence[int], GenerationConfig], Made],
    ) -> ByConfig[Fields, Made]:
        @functools.wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def call(
            model: Model | str | Path,
            prompt: Prompt = "",
            config: GenerationConfig | None = None,
            *args: Fields.args,
            **changes: Fields.kwargs,
        ) -> Made:
            model = model_of(model)
            if config is None:
                config = make(*args, **changes)
            else:
                named: dict[str, Any] = dict(changes)
                config = arguments.instance("config", config, GenerationConfig)
                config = replace(config, **named) if named else config
            return function(model, prompt_of(model, prompt), config)

        own = inspect.signature(call, follow_wrapped=False).parameters
        fields = inspect.signature(make).parameters
        shown = [own["model"], own["prompt"], own["config"], *fields.values()]
        call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return call

    return decorate
