"""The engines that run the GGUF file with llama.cpp, each by what it offers for that.

Each text begins with nothing read: what a library keeps of earlier prompts is dropped, as not all of them keep any.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from tests.support.real.model import FILE, gguf_model

from .engine import Engine, Text
from .passes import Passes, of_llama_cpp
from .tasks import KINDS, Task

CELLS = 1024
"""How many tokens a prompt and its text may have together."""
_FREE = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "repeat_penalty": 1.0}
"""llama-cpp-python draws from the whole vocabulary."""


class OnLlamaCpp(Engine):
    """An engine on llama.cpp, which one thread runs."""

    kinds: ClassVar[tuple[str, ...]] = KINDS

    def watched(self) -> AbstractContextManager[Passes]:
        return of_llama_cpp()


class Sfgen(OnLlamaCpp):
    name = package = "sfgen"
    interface = "`generate(model, prompt, index=Index(JsonSchema(…) or Grammar.from_gbnf(…) or …, vocabulary), …)`"

    def __init__(self) -> None:
        self.model: Any = gguf_model()

    def compile(self, task: Task) -> Any:
        return index_of(task, self.model.vocabulary)

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        return by_sfgen(self.model, task, constraint, seed)


def index_of(task: Task, vocabulary: Any) -> Any:
    """sfgen's constraint of a task; ``None``: free."""
    from sfgen import Dfa, Grammar, Index, JsonSchema

    if task.schema:
        return Index(JsonSchema(task.schema), vocabulary)
    if task.gbnf:
        return Index(Grammar.from_gbnf(task.gbnf), vocabulary)
    return Index(Dfa.from_choices(task.labels), vocabulary) if task.labels else None


def by_sfgen(model: Any, task: Task, constraint: Any, seed: int) -> Text:
    """One text of sfgen's own loop."""
    from sfgen import Sampler, generate

    sampler = Sampler(task.temperature, seed)
    result = generate(model, model.encode(task.prompt), index=constraint, sampler=sampler, max_tokens=task.limit)
    return Text(result.text, len(result.token_ids))


class LlamaCppLoop(OnLlamaCpp):
    name = "llama.cpp"
    package = "llama-cpp-python"
    interface = (
        "`llama_decode`, `llama_sampler_sample` and its grammar from C, called as its programs call them: a token is "
        "drawn freely, and only where the grammar refuses it, all are given to the grammar; JSON Schema through "
        "`json_schema_to_gbnf`"
    )

    def __init__(self) -> None:
        from ..ctypes_loop import LlamaLoop

        self.loop = LlamaLoop(FILE, threads=1, cells=CELLS)

    def compile(self, task: Task) -> str | None:
        return gbnf_of(task)

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        ids = self.loop.encode(task.prompt)
        found = self.loop.write(ids, task.limit, temperature=task.temperature, seed=seed, grammar=constraint)
        return Text(self.loop.text(found.token_ids), len(found.token_ids))


def gbnf_of(task: Task) -> str | None:
    """llama.cpp's grammar of a task; ``None``: free."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    if task.schema:
        return str(json_schema_to_gbnf(task.schema))
    return task.gbnf or ("root ::= " + " | ".join(map(json.dumps, task.labels)) if task.labels else None)


class _OnLlama(OnLlamaCpp):
    """An engine that has a ``Llama`` of llama-cpp-python."""

    def __init__(self) -> None:
        self.llama = llama()


def llama(**options: Any) -> Any:
    """The model as llama-cpp-python runs it."""
    import llama_cpp

    return llama_cpp.Llama(str(FILE), n_ctx=CELLS, n_threads=1, n_threads_batch=1, verbose=False, **options)


class LlamaCppPython(_OnLlama):
    name = package = "llama-cpp-python"
    interface = "`Llama(…)(prompt, grammar=LlamaGrammar.from_json_schema(…) or from_string(…))`"
    rounds = 1  # it takes as long as all others together

    def compile(self, task: Task) -> Any:
        from llama_cpp import LlamaGrammar

        if task.schema:
            return LlamaGrammar.from_json_schema(task.schema, verbose=False)
        text = gbnf_of(task)
        return None if text is None else LlamaGrammar.from_string(text, verbose=False)

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        self.llama.reset()  # so that nothing of an earlier prompt is kept
        found = self.llama(
            task.prompt, grammar=constraint, max_tokens=task.limit, temperature=task.temperature, seed=seed, **_FREE
        )
        return Text(found["choices"][0]["text"], found["usage"]["completion_tokens"])


class Outlines(_OnLlama):
    name = package = "outlines"
    interface = "`from_llamacpp(Llama(…))`, its own backend for schemas and patterns, llguidance for grammars"
    kinds: ClassVar[tuple[str, ...]] = KINDS[:3]
    backend: ClassVar[str | None] = None

    def __init__(self) -> None:
        import outlines

        super().__init__()
        self.model = outlines.from_llamacpp(self.llama, chat_mode=False)

    def compile(self, task: Task) -> Any:
        from outlines import backends

        if task.schema:
            return backends.get_json_schema_logits_processor(self.backend, self.model, task.schema)
        if task.lark:
            return backends.get_cfg_logits_processor(None, self.model, task.lark)
        return backends.get_regex_logits_processor(self.backend, self.model, pattern_of(task))

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        constraint.reset()
        options: dict[str, Any] = {"max_tokens": task.limit, "temperature": task.temperature, "seed": seed, **_FREE}
        return Text(self.model.generate(task.prompt, constraint, **options))


class OutlinesLlGuidance(Outlines):
    name = "outlines, llguidance"
    interface = "the same with llguidance as the backend of all"
    kinds = (KINDS[0], KINDS[2])
    backend = "llguidance"


def pattern_of(task: Task) -> str:
    """The labels as a pattern."""
    return "|".join(map(re.escape, task.labels)).replace("\\ ", " ")


class Guidance(OnLlamaCpp):
    name = package = "guidance"
    interface = "`models.LlamaCpp(Llama(…)) + prompt + json(schema=…)`, `lark(…)`, `select(…)`, `gen(…)`"
    kinds = KINDS[:4]

    def __init__(self) -> None:
        from guidance import models

        self.model: Any = models.LlamaCpp(llama(logits_all=True), echo=False)

    def compile(self, task: Task) -> Any:
        import guidance

        options: dict[str, Any] = {"name": "text", "max_tokens": task.limit, "temperature": task.temperature}
        if task.schema:
            return guidance.json(schema=json.loads(task.schema), **options)
        if task.lark:
            return guidance.lark(task.lark, **options)
        if task.labels:
            return guidance.with_temperature(guidance.select(list(task.labels), name="text"), task.temperature)
        return guidance.gen(**options)

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        written = self.model + task.prompt + constraint
        return Text(str(written["text"]), written._get_usage().output_tokens)


ENGINES: tuple[type[Engine], ...] = (Sfgen, LlamaCppLoop, LlamaCppPython, Outlines, OutlinesLlGuidance, Guidance)
