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
from sfgen.template.reader import Position, TemplateReader

Inner = TypeVar("Inner", bound=Hashable)

_BETWEEN = "the template's text"
"""The description of a position where no hole is open."""


def described(reader: TemplateReader, position: Position) -> str:
    """Describe a position for views: the hole, and which repetition."""
    hole = reader.hole(position)
    if hole is None:
        return _BETWEEN
    if not hole.name:
        return f"part {position[0].part + 1}"
    return hole.name if hole.repetition is None else f"{hole.name} {hole.repetition + 1}"


class TellsHole(ReadBeside[Inner, Position]):
    """The common part of the guides of templates: the open hole.

    It stands before the class of the guide.
    """

    _template: TemplateReader

    def _begin_template(self, template: TemplateReader) -> None:
        self._template = template
        self._begin_beside(template.start)

    def _read_on(self, reading: Position, piece: bytes) -> Position:
        after = self._template.read(reading, piece)
        assert after is not None, "the guide has read it"
        return after

    def describe(self) -> str:
        """Name the hole that is open; of several, the first."""
        return described(self._template, self._reading())

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
