"""The engines side by side on grammars, each through the fastest Python interface that it documents.

A grammar is handed over as the name of its files; each engine reads its own form of it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .engines import Engine, LlGuidance, Sfgen, XGrammar
from .grammar_cases import CASES, WARM_UP, Case

_CASES = {case.file: case for case in (*CASES, WARM_UP)}


def case_of(pattern: str) -> Case:
    """The grammar with these files."""
    return _CASES[pattern]


class SfgenLark(Sfgen):
    interface = "`Index(Grammar.from_lark(text), vocabulary)`; `Guide.mask`, a shared read-only mask"

    def index(self, pattern: str) -> Any:
        from sfgen import Grammar, Index

        return Index(Grammar.from_lark(case_of(pattern).lark), self.vocabulary)


class SfgenGbnf(Sfgen):
    name: ClassVar[str] = "sfgen, GBNF"
    interface = "`Index(Grammar.from_gbnf(text), vocabulary)`"

    def index(self, pattern: str) -> Any:
        from sfgen import Grammar, Index

        return Index(Grammar.from_gbnf(case_of(pattern).gbnf), self.vocabulary)


class LlGuidanceGrammars(LlGuidance):
    interface = "`LLMatcher(tokenizer, LLMatcher.grammar_from_lark(text))`; `unsafe_compute_mask_ptr` on a numpy buffer"

    def grammar(self, pattern: str) -> str:
        grammar: str = self.library.LLMatcher.grammar_from_lark(case_of(pattern).llguidance)
        return grammar


class XGrammarGrammars(XGrammar):
    interface = (
        "`GrammarCompiler(cache_enabled=False).compile_grammar(Grammar.from_ebnf(text))`, on up to 8 threads; "
        "`GrammarMatcher.fill_next_token_bitmask`"
    )

    def compiled(self, compiler: Any, pattern: str) -> Any:
        return compiler.compile_grammar(self.library.Grammar.from_ebnf(case_of(pattern).gbnf))


ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (SfgenLark, SfgenGbnf, LlGuidanceGrammars, XGrammarGrammars)
}
"""In the order of the report."""
