"""Guides of templates: they also name the open hole and its temperature."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from sfgen.grammar.network.guide import NetworkGuide
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.index import DfaIndex
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.guide import ReadBeside
from sfgen.index.sequence import ThreadsGuide
from sfgen.index.thread_tokens import ThreadTokens
from sfgen.index.threads import Position as Threads
from sfgen.template.reader import TemplateReader

Inner = TypeVar("Inner", bound=Hashable)


class TellsHole(ReadBeside[Inner, Threads]):
    """The common part of the guides of templates: the open hole.

    It stands before the class of the guide.
    """

    _template: TemplateReader

    def _begin_template(self, template: TemplateReader) -> None:
        self._template = template
        self._begin_beside(template.start)

    def _read_on(self, reading: Threads, piece: bytes) -> Threads:
        after = self._template.read(reading, piece)
        assert after is not None, "the guide has read it"
        return after

    def describe(self) -> str:
        """Name the hole that is open; of several, the first."""
        return self._template.described(self._reading())

    @property
    def temperature(self) -> float | None:
        """The temperature of the open hole; ``None``: that of the generation."""
        hole = self._template.hole(self._reading())
        return None if hole is None else hole.hole.temperature


class TemplateDfaGuide(TellsHole[int], DfaGuide):
    """Walks one sequence through a template whose holes are regular; see ``DfaGuide``."""

    def __init__(self, index: DfaIndex, template: TemplateReader, max_tokens: int | None = None) -> None:
        DfaGuide.__init__(self, index, max_tokens)
        self._begin_template(template)


class TemplateSequenceGuide(TellsHole[Threads], ThreadsGuide):
    """Walks one sequence through a template that is neither one automaton nor one grammar; see ``ThreadsGuide``."""

    def __init__(self, tokens: ThreadTokens, template: TemplateReader, max_tokens: int | None = None) -> None:
        ThreadsGuide.__init__(self, tokens, max_tokens)
        self._begin_template(template)


class TemplateNetworkGuide(TellsHole[NetworkPosition], NetworkGuide):
    """Guides one sequence through a template with schemas or grammars.

    See ``NetworkGuide``.
    """

    def __init__(self, tokens: NetworkPositions, template: TemplateReader, max_tokens: int | None = None) -> None:
        NetworkGuide.__init__(self, tokens, max_tokens)
        self._begin_template(template)
