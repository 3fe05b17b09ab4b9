"""Those who write an answer behind a prompt, greedily: nobody in their way, other libraries' constraints, and sfgen's.

Each library gets the schema with the options that it has where nobody gives any. All choose from the same scores, in
one loop; sfgen has its own.
"""

from __future__ import annotations

import ctypes
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import sfgen
from sfgen.protocols import Scores

from .remembered import RememberedModel
from .tasks import Value

MOST_TOKENS = 80
"""Of an answer."""
MOST_THOUGHT = 40
"""Tokens of a thought."""
MARKER = "JSON: "
"""Between a thought and an answer."""

Step = Callable[[Sequence[int], Scores], int]
"""The next token, from all tokens before it and the scores."""


class Writer(ABC):
    """Who writes answers.

    Attributes:
        name: For records.
        title: For people.
    """

    name: str
    title: str

    @abstractmethod
    def write(self, model: RememberedModel, prompt: str, schema: Value) -> str:
        """The text behind a prompt."""


@dataclass(frozen=True)
class Free(Writer):
    """The model alone, until it ends, or leaves a line empty as between examples."""

    name: str = "free"
    title: str = "no constraint"

    def write(self, model: RememberedModel, prompt: str, schema: Value) -> str:
        return by_steps(model, prompt, lambda _, scores: int(np.argmax(scores)), MOST_TOKENS + MOST_THOUGHT, "\n\n")


@dataclass(frozen=True)
class Ours(Writer):
    """sfgen.

    Attributes:
        heal: As of ``sfgen.generate``.
        options: Of ``JsonSchema``.
        thinks: Whether a thought comes first, up to ``MARKER``.
    """

    name: str
    title: str
    heal: bool | None = None
    options: dict[str, Any] = field(default_factory=dict)
    thinks: bool = False
    _indexes: dict[tuple[str, int], Any] = field(default_factory=dict)

    def write(self, model: RememberedModel, prompt: str, schema: Value) -> str:
        key = (json.dumps(schema), id(model.vocabulary))
        if key not in self._indexes:
            self._indexes[key] = sfgen.Index(sfgen.JsonSchema(schema, **self.options), model.vocabulary)
        after: dict[str, Any] = {"after": MARKER, "after_tokens": MOST_THOUGHT} if self.thinks else {}
        result = sfgen.generate(
            model, prompt, index=self._indexes[key], heal=self.heal, max_tokens=MOST_TOKENS, **after
        )
        return result.text


class Peer(Writer):
    """Another library, over the vocabulary of a GGUF file.

    Args:
        file: The GGUF file.
    """

    package: ClassVar[str]

    def __init__(self, file: Path) -> None:
        self.file = file
        self._made: dict[str, Any] = {}

    def write(self, model: RememberedModel, prompt: str, schema: Value) -> str:
        text = json.dumps(schema)
        if text not in self._made:
            self._made[text] = self.compiled(text, model)
        return by_steps(model, prompt, self.start(self._made[text], model), MOST_TOKENS)

    @cached_property
    def llama(self) -> Any:
        """llama-cpp-python's object of the file, without its weights."""
        return import_module("llama_cpp").Llama(str(self.file), vocab_only=True, verbose=False)

    @abstractmethod
    def compiled(self, schema: str, model: RememberedModel) -> Any:
        """All that is made of a schema once."""

    @abstractmethod
    def start(self, compiled: Any, model: RememberedModel) -> Step:
        """Begin a text."""


class LlamaCpp(Peer):
    """llama.cpp's grammar of the schema, as llama-cpp-python writes it.

    The likeliest token of all is tried alone, as llama.cpp does, and the others only where the grammar refuses it.
    """

    name = "llama.cpp"
    title = "llama.cpp's grammar (`LlamaGrammar.from_json_schema`)"
    package = "llama-cpp-python"

    def compiled(self, schema: str, model: RememberedModel) -> Any:
        return import_module("llama_cpp.llama_grammar").json_schema_to_gbnf(schema).encode()

    def start(self, compiled: Any, model: RememberedModel) -> Step:
        library = import_module("llama_cpp")
        vocabulary = library.llama_model_get_vocab(self.llama.model)
        sampler = library.llama_sampler_init_grammar(vocabulary, compiled, b"root")
        if not sampler:
            raise RuntimeError("llama.cpp does not read its grammar")
        ends = model.vocabulary.end_token_ids

        def allowed(tokens: NDArray[np.intp]) -> int | None:
            """The first token that the grammar allows."""
            candidates = np.zeros(len(tokens), dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
            candidates["id"] = tokens
            data = candidates.ctypes.data_as(ctypes.POINTER(library.llama_token_data))
            array = library.llama_token_data_array(data, len(tokens), -1, False)
            library.llama_sampler_apply(sampler, ctypes.byref(array))
            found = candidates["id"][candidates["logit"] > -np.inf]
            return int(found[0]) if len(found) else None

        def step(before: Sequence[int], scores: Scores) -> int:
            for most in (1, 64, len(scores)):
                part = np.argpartition(-scores, most - 1)[:most]
                found = allowed(part[np.argsort(-scores[part])])
                if found is not None:
                    break
            else:
                raise RuntimeError("llama.cpp's grammar allows no token")
            if found in ends:
                library.llama_sampler_free(sampler)
            else:
                library.llama_sampler_accept(sampler, found)
            return found

        return step


class Outlines(Peer):
    """outlines' logits processor for llama.cpp, which is that of outlines-core."""

    name = package = "outlines"
    title = "outlines on llama.cpp (`get_json_schema_logits_processor`)"

    @cached_property
    def backend(self) -> Any:
        """The maker of processors."""
        model = import_module("outlines").from_llamacpp(self.llama)
        return import_module("outlines.backends.outlines_core").OutlinesCoreBackend(model)

    def compiled(self, schema: str, model: RememberedModel) -> Any:
        return self.backend.get_json_schema_logits_processor(schema)

    def start(self, compiled: Any, model: RememberedModel) -> Step:
        compiled.reset()
        return lambda before, scores: int(np.argmax(compiled(np.asarray(before), scores)))


class LlGuidance(Peer):
    """llguidance's matcher over llama.cpp's vocabulary."""

    name = package = "llguidance"
    title = "llguidance (`LLMatcher`, `grammar_from('json_schema', …)`)"

    @cached_property
    def tokenizer(self) -> Any:
        """Its tokenizer."""
        vocabulary = import_module("llama_cpp").llama_model_get_vocab(self.llama.model)
        return import_module("llguidance.llamacpp").lltokenizer_from_vocab(vocabulary)

    def compiled(self, schema: str, model: RememberedModel) -> Any:
        return import_module("llguidance").grammar_from("json_schema", schema)

    def start(self, compiled: Any, model: RememberedModel) -> Step:
        library = import_module("llguidance.numpy")
        matcher = import_module("llguidance").LLMatcher(self.tokenizer, compiled)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        mask = library.allocate_token_bitmask(1, self.tokenizer.vocab_size)

        def step(before: Sequence[int], scores: Scores) -> int:
            library.fill_next_token_bitmask(matcher, mask)
            token = _likeliest(scores, mask)
            matcher.consume_token(token)
            return token

        return step


class XGrammar(Peer):
    """xgrammar's matcher over the vocabulary's bytes: it has no interface for llama.cpp."""

    name = package = "xgrammar"
    title = "xgrammar (`compile_json_schema`, `GrammarMatcher`)"

    def compiled(self, schema: str, model: RememberedModel) -> Any:
        library, vocabulary = import_module("xgrammar"), model.vocabulary
        tokens = library.TokenizerInfo(
            [token or b"" for token in vocabulary.tokens], library.VocabType.RAW, vocab_size=len(vocabulary),
            stop_token_ids=list(vocabulary.end_token_ids),
        )  # fmt: skip
        return library.GrammarCompiler(tokens, max_threads=1).compile_json_schema(schema)

    def start(self, compiled: Any, model: RememberedModel) -> Step:
        library = import_module("xgrammar")
        matcher = library.GrammarMatcher(compiled)
        mask = library.allocate_token_bitmask(1, len(model.vocabulary))

        def step(before: Sequence[int], scores: Scores) -> int:
            matcher.fill_next_token_bitmask(mask)
            token = _likeliest(scores, mask.numpy())
            matcher.accept_token(token)
            return token

        return step


PEERS: tuple[type[Peer], ...] = (LlamaCpp, Outlines, LlGuidance, XGrammar)


def _likeliest(scores: Scores, mask: Any) -> int:
    """The likeliest token of a mask, a bit for each token."""
    allowed = np.unpackbits(mask.view(np.uint8).reshape(-1), count=len(scores), bitorder="little").astype(bool)
    return int(np.argmax(np.where(allowed, scores, -np.inf)))


def by_steps(model: RememberedModel, prompt: str, step: Step, most: int, stop: str | None = None) -> str:
    """The text that steps lead to, until an end token, a stop string or the limit."""
    session, before, data = model.session(), model.encode(prompt), b""
    unread: Sequence[int] = list(before)
    for _ in range(most):
        token = step(before, session.extend(unread))
        if token in model.vocabulary.end_token_ids:
            break
        data += model.vocabulary.tokens[token] or b""
        if stop is not None and stop.encode() in data:
            break
        before.append(token)
        unread = [token]
    return data.decode("utf-8", "replace")
