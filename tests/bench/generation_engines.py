"""The engines that generate side by side, each through what it offers for transformers' ``generate``.

All get the same model, the same tokens of the prompt, the same seed and the same limit, and sample at temperature 1
from the whole vocabulary. Libraries are imported by the engine that needs them.
"""

from __future__ import annotations

import itertools
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from sfgen import Dfa, Finished, Index, Sampler, TextReleased, stream

from .bans import counted
from .engines import LlGuidance, OutlinesCore, Walk, XGrammar
from .generation_models import Subject
from .generation_processors import AllowedTokens, MaskProcessor


@dataclass(frozen=True)
class Task:
    """What to write.

    Args:
        name: The name of the pattern.
        pattern: The pattern.
        limit: The most tokens, without the end token.
    """

    name: str
    pattern: str
    limit: int

    def is_met_by(self, text: str) -> bool:
        """The one oracle."""
        return re.fullmatch(self.pattern, text, re.ASCII) is not None


WARM_UP = Task("warm-up", "(ab|ac)[bc]{1,3}", 8)


@dataclass(frozen=True)
class Written:
    """A text, and what it took.

    Args:
        text: Without the end.
        tokens: How many tokens that is.
        seconds: From the call to the text.
        first: Seconds from the call to the first character.
        passes: Forward passes of the model.
    """

    text: str
    tokens: int
    seconds: float
    first: float
    passes: int

    @property
    def speed(self) -> float:
        """Characters a second."""
        return len(self.text) / self.seconds


Write = Callable[[Any, int], Written]
"""Write a text with a model (sfgen's object) and a seed."""
WriteMany = Callable[[Any, int, int], list[str]]
"""Write so many texts with a model and a seed."""


class GenerationEngine(ABC):
    """An engine with the vocabulary of a model loaded."""

    name: ClassVar[str]
    package: ClassVar[str]
    interface: ClassVar[str]
    """What is called, for the report."""
    warm_up: ClassVar[Task] = WARM_UP
    """What is written before anything is measured."""
    note: str = ""
    """What went otherwise than documented, for the report."""

    @abstractmethod
    def __init__(self, subject: Subject) -> None:
        """Import the library and load the vocabulary."""

    @abstractmethod
    def prepare(self, task: Task) -> tuple[Write, WriteMany]:
        """All that is made of a pattern once; with what writes its texts."""


class SfgenEngine(GenerationEngine):
    name = package = "sfgen"
    interface = "`stream(model, prompt, index=Index(Dfa.from_regex(pattern), model.vocabulary), ...)`"
    fast_forward: ClassVar[bool] = True

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        subject.model.vocabulary.trie  # noqa: B018 - built once for a vocabulary

    def prepare(self, task: Task) -> tuple[Write, WriteMany]:
        write = partial(self._write, self.index(task), task.limit)
        return write, lambda model, count, seed: [write(model, count * seed + n).text for n in range(count)]

    def index(self, task: Task) -> Index:
        """The index over the model's vocabulary."""
        return Index(Dfa.from_regex(task.pattern), self.subject.model.vocabulary)

    def _write(self, index: Index, limit: int, model: Any, seed: int) -> Written:
        ids = self.subject.prompt_ids()
        first = 0.0
        started = time.perf_counter()
        events = stream(
            model, ids, index=index, sampler=Sampler(1.0, seed), max_tokens=limit, fast_forward=self.fast_forward
        )
        for event in events:
            if isinstance(event, TextReleased):
                first = first or time.perf_counter() - started
            elif isinstance(event, Finished):
                result = event.result
        seconds = time.perf_counter() - started
        return Written(result.text, len(result.token_ids), seconds, first, result.forward_passes)


class PlainSfgen(SfgenEngine):
    name = "sfgen, no jump-forward tokens"
    interface = "the same with `fast_forward=False`"
    fast_forward = False


class InTransformers(GenerationEngine):
    """An engine that takes part in transformers' own loop."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.ends = list(subject.model.vocabulary.end_token_ids)

    def prepare(self, task: Task) -> tuple[Write, WriteMany]:
        options = self.options(task)

        def write(model: Any, seed: int) -> Written:
            return by_transformers(self.subject, model, task.limit + 1, seed, options(1))

        def write_many(model: Any, count: int, seed: int) -> list[str]:
            return _batch(self.subject, model, task.limit + 1, count, seed, options(count))

        return write, write_many

    @abstractmethod
    def options(self, task: Task) -> Callable[[int], dict[str, Any]]:
        """What makes the options of ``generate`` for one generation of so many rows."""


class Outlines(InTransformers):
    name = package = "outlines"
    interface = "`OutlinesCoreBackend(model).get_regex_logits_processor(pattern)`"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        model = import_module("outlines").from_transformers(subject.model.model, subject.tokenizer)
        self.backend = import_module("outlines.backends.outlines_core").OutlinesCoreBackend(model)

    def options(self, task: Task) -> Callable[[int], dict[str, Any]]:
        processor = self.processor(task)

        def options(_: int) -> dict[str, Any]:
            processor.reset()
            return {"logits_processor": [processor]}

        return options

    def processor(self, task: Task) -> Any:
        """Its logits processor."""
        return self.backend.get_regex_logits_processor(task.pattern)


class OutlinesCoreEngine(InTransformers):
    name = package = "outlines-core"
    interface = "`Guide.write_mask_into` in a logits processor of ours"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.engine = OutlinesCore(subject.model.vocabulary, subject.json)

    def options(self, task: Task) -> Callable[[int], dict[str, Any]]:
        compiled = self.engine.compile(task.pattern)
        return lambda rows: _masked([compiled.start() for _ in range(rows)], self.engine.buffer, self.ends)


class LmFormatEnforcer(InTransformers):
    name = package = "lm-format-enforcer"
    interface = "`build_transformers_prefix_allowed_tokens_fn(tokenizer data, RegexParser(pattern))`"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.library = import_module("lmformatenforcer")
        tokenizer, size = subject.tokenizer, len(subject.model.vocabulary)
        try:
            module = import_module("lmformatenforcer.integrations.transformers")
            self.data = module.build_token_enforcer_tokenizer_data(tokenizer, vocab_size=size)
        except ImportError as error:
            reason = str(error.__cause__ or error.__context__ or error).partition(" (")[0]
            self.note = (
                f"its integration for transformers fails ({reason}); measured is its `TokenEnforcer` in a function of "
                "ours for `prefix_allowed_tokens_fn`"
            )
            self.data = self._data(tokenizer, size)

    def _data(self, tokenizer: Any, size: int) -> Any:
        """What its integration makes of a tokenizer: each token's text, alone and behind another."""
        zero = tokenizer.encode("0", add_special_tokens=False)[-1]
        tokens = []
        for token in range(size):
            if token not in tokenizer.all_special_ids:
                behind, alone = tokenizer.decode([zero, token])[1:], tokenizer.decode([token])
                tokens.append((token, behind, len(behind) > len(alone)))

        def decode(ids: list[int]) -> str:
            text: str = tokenizer.decode(ids)
            return text.rstrip("\ufffd")

        return self.library.TokenEnforcerTokenizerData(tokens, decode, self.ends, False, size)

    def options(self, task: Task) -> Callable[[int], dict[str, Any]]:
        enforcer = self.library.TokenEnforcer(self.data, self.library.RegexParser(task.pattern))
        prompt = len(self.subject.prompt_ids())

        def allowed(tokens: list[int]) -> list[int]:
            found: list[int] = enforcer.get_allowed_tokens(tokens).allowed_tokens
            return found

        function = AllowedTokens(allowed, prompt, self.ends)
        return lambda _: {"prefix_allowed_tokens_fn": function}


class XGrammarEngine(InTransformers):
    name = package = "xgrammar"
    interface = "`xgrammar.contrib.hf.LogitsProcessor(compiled)`"
    engine_type: ClassVar[type[XGrammar]] = XGrammar

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.engine = self.engine_type(subject.model.vocabulary, subject.json)
        self.processor = import_module("xgrammar.contrib.hf").LogitsProcessor

    def options(self, task: Task) -> Callable[[int], dict[str, Any]]:
        compiled = self.engine.compile(task.pattern).compiled
        return lambda _: {"logits_processor": [self.processor(compiled)]}


class LlGuidanceEngine(InTransformers):
    name = package = "llguidance"
    interface = "`LLMatcher` in a logits processor of ours: it brings none for transformers"
    engine_type: ClassVar[type[LlGuidance]] = LlGuidance

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.engine = self.engine_type(subject.model.vocabulary, subject.json)

    def options(self, task: Task) -> Callable[[int], dict[str, Any]]:
        compiled = self.engine.compile(task.pattern)  # kept, with what it found out about the pattern

        def options(rows: int) -> dict[str, Any]:
            each = [compiled] if rows == 1 else [self.engine.compile(task.pattern) for _ in range(rows)]
            walks = [one.start() for one in each]
            return _masked(walks, self.engine.buffer, self.ends)

        return options


ENGINES: dict[str, type[GenerationEngine]] = {
    engine.name: engine
    for engine in (
        SfgenEngine, PlainSfgen, Outlines, OutlinesCoreEngine, LmFormatEnforcer, XGrammarEngine, LlGuidanceEngine
    )
}  # fmt: skip
"""In the order of the report."""


def freely(subject: Subject, tokens: int, seed: int) -> Written:
    """So many tokens by transformers, with nothing that guides it."""
    return by_transformers(subject, subject.model, tokens, seed, {"min_new_tokens": tokens})


def one_by_one(subject: Subject, text: str) -> Written:
    """A text that is known, one canonical token a forward pass, in the session that sfgen uses: the baseline."""
    ids, tokens = subject.prompt_ids(), subject.canonical(text)
    started = time.perf_counter()
    session = subject.model.session()
    session.extend(ids)
    first = time.perf_counter() - started
    for token in tokens[:-1]:  # nobody asks what comes after the last
        session.extend([token])
    return Written(text, len(tokens), time.perf_counter() - started, first, len(tokens))


def by_transformers(subject: Subject, model: Any, tokens: int, seed: int, options: dict[str, Any]) -> Written:
    """One text by ``generate`` of transformers."""
    watch = _Watch(subject.model.vocabulary.tokens)
    with counted(model.model) as counts:
        started = time.perf_counter()
        ids = _generate(subject, model, tokens, seed, {"streamer": watch, **options})[0]
        seconds = time.perf_counter() - started
    kept = _kept(subject, ids)
    return Written(_text(subject, kept), len(kept), seconds, watch.first - started, counts["calls"])


def _batch(subject: Subject, model: Any, tokens: int, rows: int, seed: int, options: dict[str, Any]) -> list[str]:
    """Many texts at once, from one seed."""
    return [_text(subject, _kept(subject, ids)) for ids in _generate(subject, model, tokens, seed, options, rows)]


def _generate(
    subject: Subject, model: Any, tokens: int, seed: int, options: dict[str, Any], rows: int = 1
) -> list[list[int]]:
    """The tokens after the prompt, of each row."""
    import torch
    from transformers import LogitsProcessorList

    ends = list(subject.model.vocabulary.end_token_ids)
    if "logits_processor" in options:
        options = {**options, "logits_processor": LogitsProcessorList(options["logits_processor"])}
    torch.manual_seed(seed)
    ids = torch.tensor([subject.prompt_ids()] * rows)
    out: list[list[int]] = model.model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=True, temperature=1.0, top_k=0,
        top_p=1.0, eos_token_id=ends, pad_token_id=ends[0], **options,
    )[:, ids.shape[1] :].tolist()  # fmt: skip
    return out


def _masked(walks: Sequence[Walk], buffer: Any, ends: Sequence[int]) -> dict[str, Any]:
    return {"logits_processor": [MaskProcessor(walks, buffer, ends)]}


def _kept(subject: Subject, ids: Sequence[int]) -> list[int]:
    """The tokens before the end token."""
    ends = subject.model.vocabulary.end_token_ids
    return list(itertools.takewhile(lambda token: token not in ends, ids))


def _text(subject: Subject, ids: Sequence[int]) -> str:
    tokens = subject.model.vocabulary.tokens
    return b"".join(tokens[token] or b"" for token in ids).decode("utf-8", "replace")


class _Watch:
    """A streamer that sees when the first character is there.

    Args:
        tokens: The bytes of each token.
    """

    def __init__(self, tokens: Sequence[bytes | None]) -> None:
        self.tokens = tokens
        self.first = 0.0
        self.data: bytes | None = None  # until then; None: the prompt has not come yet

    def put(self, value: Any) -> None:
        if self.data is None:
            self.data = b""
        elif not self.first:
            self.data += self.tokens[int(value[0])] or b""
            if self.data.decode("utf-8", "ignore"):
                self.first = time.perf_counter()

    def end(self) -> None:
        pass
