"""Functions that take a configuration, or its fields by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from sfgen import arguments
from sfgen.decoding.config import CONSTRAINTS, GenerationConfig
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
    """Let a function take the fields of its configuration by name, as they are.

    Keywords of another name are refused.

    Args:
        make: The class of the configuration, whose parameters these are.
    """
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
    """Return a configuration with some of its parameters changed.

    Args:
        config: The configuration; ``None``: the usual one.
        changes: Parameters by name; a constraint stands in place of that of ``config``.

    Raises:
        SfgenError: As ``GenerationConfig``.
    """
    if config is None:
        return GenerationConfig(**changes)
    hint = "Its parameters can be given by name: max_tokens=60."
    config = arguments.instance("config", config, GenerationConfig, hint=hint)
    if not changes:
        return config
    if any(name in changes for name in CONSTRAINTS):
        changes = {"index": None, **changes}
    return replace(config, **changes)
