"""The engines side by side, each through the fastest Python interface that it documents.

All get the same bytes for the same token ids. A mask is asked for in the engine's own packed form; where the engine
fills a buffer, the buffer is made once. Libraries are imported by the engine that needs them.
"""

from __future__ import annotations

import codecs
import os
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfgen import Vocabulary


class CannotRead(Exception):
    """The engine refuses the pattern."""


@dataclass(slots=True)
class Walk:
    """One sequence of tokens through one pattern.

    Args:
        mask: Make the mask of the tokens that may come next.
        advance: Take a token.
        allows: Whether a token is allowed here; not for timing.
    """

    mask: Callable[[], object]
    advance: Callable[[int], object]
    allows: Callable[[int], bool]


class Compiled(Protocol):
    """A pattern, ready for one vocabulary."""

    def start(self) -> Walk:
        """A walk at its beginning."""


class Engine(ABC):
    """An engine with one vocabulary loaded."""

    name: ClassVar[str]
    package: ClassVar[str]
    interface: ClassVar[str]
    """What is timed, for the report."""
    rows_are_compiled: ClassVar[bool] = False
    """Whether compiling makes the rows of all states."""
    is_slow: ClassVar[bool] = False
    """Whether to measure fewer masks, since each takes long."""

    @abstractmethod
    def __init__(self, vocabulary: Vocabulary, tokenizer: str) -> None:
        """Import the library and load the vocabulary; ``tokenizer`` is its tokenizer as JSON."""

    @abstractmethod
    def compile(self, pattern: str) -> Compiled:
        """The engine's object for a pattern; ``CannotRead`` if it is refused."""


class Sfgen(Engine):
    name = package = "sfgen"
    interface = "Index(Dfa.from_regex(pattern), vocabulary); Guide.mask, a shared read-only mask; Index.build"

    def __init__(self, vocabulary: Vocabulary, tokenizer: str) -> None:
        self.vocabulary = vocabulary
        vocabulary.trie  # noqa: B018 - built once for a vocabulary

    def compile(self, pattern: str) -> _SfgenPattern:
        from sfgen.errors import SfgenError

        try:
            return _SfgenPattern(self.index(pattern))
        except SfgenError as error:
            raise CannotRead(str(error)) from error

    def index(self, pattern: str) -> Any:
        """The index of a pattern over the vocabulary."""
        from sfgen import Dfa, Index

        return Index(Dfa.from_regex(pattern), self.vocabulary)


class _SfgenPattern:
    def __init__(self, index: Any) -> None:
        self.index = index

    def start(self) -> Walk:
        guide = self.index.guide()
        return Walk(guide.mask, guide.advance, lambda token: _bit(guide.mask(), token))

    def build(self) -> int:
        """Make the rows of all states; how many there are."""
        self.index.build()
        return len(self.index.dfa)


class OutlinesCore(Engine):
    name = package = "outlines-core"
    interface = "Index(pattern, vocabulary); Guide.write_mask_into with the address of a numpy buffer"
    rows_are_compiled = True

    def __init__(self, vocabulary: Vocabulary, tokenizer: str) -> None:
        import outlines_core

        tokens: dict[bytes, list[int]] = defaultdict(list)
        for token_id in vocabulary.text_token_ids.tolist():
            tokens[vocabulary.tokens[token_id] or b""].append(token_id)
        self.library = outlines_core
        self.vocabulary = outlines_core.Vocabulary(vocabulary.end_token_ids[0], dict(tokens))
        self.buffer = _buffer(vocabulary)

    def compile(self, pattern: str) -> _OutlinesPattern:
        try:
            return _OutlinesPattern(self, self.library.Index(pattern, self.vocabulary))
        except ValueError as error:
            raise CannotRead(str(error)) from error


class _OutlinesPattern:
    def __init__(self, engine: OutlinesCore, index: Any) -> None:
        self.engine = engine
        self.index = index

    def start(self) -> Walk:
        guide = self.engine.library.Guide(self.index)
        buffer = self.engine.buffer
        mask = partial(guide.write_mask_into, buffer.ctypes.data, buffer.size, buffer.itemsize)
        return Walk(mask, partial(guide.advance, return_tokens=False), _asks(mask, buffer))


class LlGuidance(Engine):
    name = package = "llguidance"
    interface = "LLMatcher(tokenizer, grammar_from('regex', pattern)); unsafe_compute_mask_ptr on a numpy buffer"

    def __init__(self, vocabulary: Vocabulary, tokenizer: str) -> None:
        import llguidance

        self.library = llguidance
        # It needs the tokenizer too: where the text is forced, it allows only the tokens that would be cut out of it.
        self.tokenizer = llguidance.LLTokenizer(
            tokenizer, n_vocab=len(vocabulary), eos_token=list(vocabulary.end_token_ids)
        )
        self.end = vocabulary.end_token_ids
        self.buffer = _buffer(vocabulary)

    def compile(self, pattern: str) -> _LlGuidancePattern:
        matcher = self.library.LLMatcher(self.tokenizer, self.grammar(pattern))
        if matcher.is_error():
            raise CannotRead(matcher.get_error())
        return _LlGuidancePattern(self, matcher)

    def grammar(self, pattern: str) -> str:
        """What it is told of a pattern."""
        grammar: str = self.library.grammar_from("regex", pattern)
        return grammar


class _LlGuidancePattern:
    def __init__(self, engine: LlGuidance, matcher: Any) -> None:
        self.engine = engine
        self.matcher = matcher

    def start(self) -> Walk:
        # The same matcher again, so that it keeps what it found out about the pattern in earlier walks.
        self.matcher.reset()
        buffer = self.engine.buffer
        mask = partial(self.matcher.unsafe_compute_mask_ptr, buffer.ctypes.data, buffer.nbytes)
        return Walk(mask, self.matcher.consume_token, self.allows)

    def allows(self, token: int) -> bool:
        """By the pattern alone: the mask may be narrower, see above."""
        matcher = self.matcher
        return bool(matcher.is_accepting() if token in self.engine.end else matcher.validate_tokens([token]) == 1)


class XGrammar(Engine):
    name = package = "xgrammar"
    interface = (
        "GrammarCompiler(cache_enabled=False).compile_regex(pattern), on up to 8 threads; "
        "GrammarMatcher.fill_next_token_bitmask"
    )

    def __init__(self, vocabulary: Vocabulary, tokenizer: str) -> None:
        import xgrammar

        self.library = xgrammar
        self.tokenizer = xgrammar.TokenizerInfo(
            [token or b"" for token in vocabulary.tokens],
            xgrammar.VocabType.RAW,
            vocab_size=len(vocabulary),
            stop_token_ids=list(vocabulary.end_token_ids),
        )
        self.tensor = xgrammar.allocate_token_bitmask(1, len(vocabulary))
        self.buffer = self.tensor.numpy()[0]
        self.compilers: dict[int, Any] = {}

    def compile(self, pattern: str) -> _XGrammarPattern:
        process = os.getpid()
        if process not in self.compilers:  # its threads do not outlive a fork
            self.compilers[process] = self.library.GrammarCompiler(self.tokenizer, cache_enabled=False)
        try:
            return _XGrammarPattern(self, self.compiled(self.compilers[process], pattern))
        except RuntimeError as error:
            raise CannotRead(re.sub(r"^\[[\d:]+\] \S+ ", "", str(error))) from error  # without the time of day

    def compiled(self, compiler: Any, pattern: str) -> Any:
        """Its grammar of a pattern."""
        return compiler.compile_regex(pattern)


class _XGrammarPattern:
    def __init__(self, engine: XGrammar, compiled: Any) -> None:
        self.engine = engine
        self.compiled = compiled

    def start(self) -> Walk:
        matcher = self.engine.library.GrammarMatcher(self.compiled)
        tensor = self.engine.tensor
        mask = partial(matcher.fill_next_token_bitmask, tensor)
        return Walk(mask, matcher.accept_token, _asks(mask, self.engine.buffer))


class Naive(Engine):
    """The first algorithm: at every step, every token is tried by a partial match of the whole text."""

    name = "naive"
    package = "regex"
    interface = "regex.compile(pattern); Pattern.fullmatch(text + token, partial=True) for every token"
    is_slow = True

    def __init__(self, vocabulary: Vocabulary, tokenizer: str) -> None:
        self.vocabulary = vocabulary
        self.texts = [_complete(token) if token else None for token in vocabulary.tokens]

    def compile(self, pattern: str) -> _NaivePattern:
        import regex

        return _NaivePattern(self, regex.compile(pattern, regex.ASCII))


class _NaivePattern:
    def __init__(self, engine: Naive, compiled: Any) -> None:
        self.engine = engine
        self.compiled = compiled

    def start(self) -> Walk:
        walk = _NaiveWalk(self.engine, self.compiled)
        return Walk(walk.mask, walk.advance, walk.allows)


class _NaiveWalk:
    def __init__(self, engine: Naive, compiled: Any) -> None:
        self.engine = engine
        self.compiled = compiled
        self.text = ""
        self.rest = b""  # the first bytes of a character that is not complete

    def mask(self) -> object:
        texts: list[str | None] = self.engine.texts
        if self.rest:
            texts = [_complete(self.rest + token) if token else None for token in self.engine.vocabulary.tokens]
        text, fullmatch = self.text, self.compiled.fullmatch
        hits = [more is not None and fullmatch(text + more, partial=True) is not None for more in texts]
        for token_id in self.engine.vocabulary.end_token_ids:
            hits[token_id] = not self.rest and fullmatch(text) is not None
        return np.packbits(np.array(hits), bitorder="little")

    def advance(self, token: int) -> None:
        data = self.rest + (self.engine.vocabulary.tokens[token] or b"")
        more = _complete(data) or ""
        self.text += more
        self.rest = data[len(more.encode()) :]

    def allows(self, token: int) -> bool:
        if token in self.engine.vocabulary.end_token_ids:
            return not self.rest and self.compiled.fullmatch(self.text) is not None
        more = _complete(self.rest + (self.engine.vocabulary.tokens[token] or b""))
        return more is not None and self.compiled.fullmatch(self.text + more, partial=True) is not None


def _complete(data: bytes) -> str | None:
    """The complete characters of UTF-8 that may break off; ``None`` for what is no UTF-8."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return None


def _buffer(vocabulary: Vocabulary) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.zeros((len(vocabulary) + 31) // 32, dtype=np.int32)


def _bit(row: Any, token: int) -> bool:
    return bool(int(row[token >> 5]) >> (token & 31) & 1)


def _asks(mask: Callable[[], object], buffer: Any) -> Callable[[int], bool]:
    """Make the mask in the buffer and look at one bit of it."""

    def allows(token: int) -> bool:
        mask()
        return _bit(buffer, token)

    return allows


ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Sfgen, OutlinesCore, LlGuidance, XGrammar, Naive)
}
"""In the order of the report."""


def allowed(engine: Engine, walk: Walk) -> NDArray[np.bool_]:
    """Which tokens a walk allows next, bool ``[tokens]``, a little longer than the vocabulary; not for timing."""
    made: Any = walk.mask()
    row: Any = made if isinstance(engine, Sfgen) else getattr(engine, "buffer")  # noqa: B009 - each peer has one
    return np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little").astype(np.bool_)
