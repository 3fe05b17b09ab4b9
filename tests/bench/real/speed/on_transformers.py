"""The engines that run the float32 copy of the weights with transformers.

sfgen runs its own loop or takes part in that of transformers; others take part in it, by a logits processor. All of
them share one model, and none keeps what it has read for the next text.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ClassVar

from tests.support.real.model import DIRECTORY

from ...engines import LlGuidance, XGrammar
from ...generation_processors import MaskProcessor
from ...schema_engines import LlGuidanceSchemas, XGrammarSchemas
from .engine import Engine, Text
from .on_llama_cpp import by_sfgen, gbnf_of, index_of, pattern_of
from .passes import Passes, of_network
from .tasks import KINDS, Task


@cache
def loaded() -> Any:
    """The model, one for all."""
    import torch

    from sfgen import load_model

    torch.set_num_threads(1)
    return load_model(DIRECTORY, device="cpu", dtype="float32", threads=1)


@cache
def tokenizer_json() -> str:
    """The tokenizer as JSON."""
    return (DIRECTORY / "tokenizer.json").read_text(encoding="utf-8")


class OnTransformers(Engine):
    """An engine that takes part in the loop of transformers."""

    kinds: ClassVar[tuple[str, ...]] = KINDS[:3]

    def __init__(self) -> None:
        self.model = loaded()

    def watched(self) -> AbstractContextManager[Passes]:
        return of_network(self.model.model)

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        import torch

        model, ends = self.model, list(self.model.vocabulary.end_token_ids)
        torch.manual_seed(seed)
        ids = torch.tensor([model.encode(task.prompt)])
        draws: dict[str, Any] = (
            {"do_sample": True, "temperature": task.temperature, "top_k": 0, "top_p": 1.0}
            if task.temperature
            else {"do_sample": False, "top_k": None, "top_p": None}
        )
        out = model.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=task.limit, eos_token_id=ends,
            pad_token_id=ends[0], logits_processor=self.processors(task, constraint), **draws,
        )[0, ids.shape[1] :].tolist()  # fmt: skip
        kept = [token for token in out if token not in ends]
        pieces = (model.vocabulary.tokens[token] or b"" for token in kept)
        return Text(b"".join(pieces).decode("utf-8", "replace"), len(kept))

    def processors(self, task: Task, constraint: Any) -> list[Any]:
        """Its logits processors for one text."""
        return []


class SfgenOnTransformers(OnTransformers):
    name = "sfgen on transformers"
    package = "sfgen"
    interface = "`generate(model, prompt, index=…)`"
    kinds = KINDS

    def compile(self, task: Task) -> Any:
        return index_of(task, self.model.vocabulary)

    def write(self, task: Task, constraint: Any, seed: int) -> Text:
        return by_sfgen(self.model, task, constraint, seed)


class SfgenProcessor(OnTransformers):
    name = "sfgen in transformers"
    package = "sfgen"
    interface = "`GuidedLogitsProcessor(index, max_tokens=…)`"

    def compile(self, task: Task) -> Any:
        return index_of(task, self.model.vocabulary)

    def processors(self, task: Task, constraint: Any) -> list[Any]:
        from sfgen.integrations.transformers import GuidedLogitsProcessor

        return [GuidedLogitsProcessor(constraint, max_tokens=task.limit)]


class Transformers(OnTransformers):
    name = package = "transformers"
    interface = "`model.generate(…)`"
    kinds = KINDS[3:]

    def compile(self, task: Task) -> None:
        return None


class LlGuidanceProcessor(OnTransformers):
    name = package = "llguidance"
    interface = "`LLMatcher` in a logits processor of ours: it brings none for transformers"

    def __init__(self) -> None:
        super().__init__()
        vocabulary = self.model.vocabulary
        self.by_schema = LlGuidanceSchemas(vocabulary, tokenizer_json())
        self.by_lark = _Lark(vocabulary, tokenizer_json())
        self.by_pattern = LlGuidance(vocabulary, tokenizer_json())

    def compile(self, task: Task) -> Any:
        engine, text = self._chosen(task)
        return engine, engine.compile(text)

    def _chosen(self, task: Task) -> tuple[LlGuidance, str]:
        if task.schema:
            return self.by_schema, task.schema
        return (self.by_lark, task.lark) if task.lark else (self.by_pattern, pattern_of(task))

    def processors(self, task: Task, constraint: Any) -> list[Any]:
        engine, compiled = constraint
        return [MaskProcessor([compiled.start()], engine.buffer, self.model.vocabulary.end_token_ids)]


class _Lark(LlGuidance):
    def grammar(self, pattern: str) -> str:
        return str(self.library.LLMatcher.grammar_from_lark(pattern))


class XGrammarProcessor(OnTransformers):
    name = package = "xgrammar"
    interface = "`xgrammar.contrib.hf.LogitsProcessor(compiled)`"

    def __init__(self) -> None:
        super().__init__()
        self.by_schema = XGrammarSchemas(self.model.vocabulary, tokenizer_json())
        self.by_grammar = _Ebnf(self.model.vocabulary, tokenizer_json())

    def compile(self, task: Task) -> Any:
        engine: XGrammar = self.by_schema if task.schema else self.by_grammar
        return engine.compile(task.schema or str(gbnf_of(task))).compiled

    def processors(self, task: Task, constraint: Any) -> list[Any]:
        from xgrammar.contrib.hf import LogitsProcessor

        return [LogitsProcessor(constraint)]


class _Ebnf(XGrammar):
    def compiled(self, compiler: Any, pattern: str) -> Any:
        return compiler.compile_grammar(self.library.Grammar.from_ebnf(pattern))


ENGINES: tuple[type[Engine], ...] = (
    SfgenOnTransformers, SfgenProcessor, Transformers, LlGuidanceProcessor, XGrammarProcessor
)  # fmt: skip
