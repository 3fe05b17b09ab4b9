"""The index of a constraint over a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from os import PathLike
from typing import Any, overload

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.automata.graph import STATES_DRAWN
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.protocols import Constraint, Guide, GuidingConstraint, Tokens
from sfgen.vocabulary import Vocabulary


class Index:
    """The index of a constraint over a vocabulary.

    It is immutable and lazy, and threads may share it. ``Index(dfa, vocabulary)`` is a ``DfaIndex``; any other
    constraint makes its guides itself (see ``sfgen.protocols.GuidingConstraint``). Its pickle has the constraint and
    the vocabulary; masks are made anew.

    Args:
        constraint: What a text must satisfy.
        vocabulary: The tokens.

    Attributes:
        constraint: What a text must satisfy.
        vocabulary: The tokens.

    Raises:
        UsageError: An argument has another type, or the automaton accepts no text at all.
        DeadEnd: No sequence of tokens writes any text that the automaton accepts.

    >>> vocabulary = Vocabulary([b"1", b"12", b".", b".5", b"a", None], end_token_ids=[5])
    >>> index = Index(Dfa.from_regex(r"[0-9]+\\.[0-9]"), vocabulary)
    >>> index.guide().allowed_tokens().tolist()
    [0, 1]
    """

    constraint: Constraint
    vocabulary: Vocabulary

    @overload
    def __new__(cls, constraint: Dfa, vocabulary: Tokens) -> DfaIndex: ...
    @overload
    def __new__(cls, constraint: GuidingConstraint, vocabulary: Tokens) -> Index: ...
    def __new__(cls, constraint: Dfa | GuidingConstraint, vocabulary: Tokens) -> Index:
        """The index of this kind of constraint."""
        wanted = ("accepts", "shortest", "to_dict", "refusal", "guide")
        if not issubclass(cls, DfaIndex) and not all(hasattr(constraint, name) for name in wanted):
            cls = DfaIndex
        index = object.__new__(cls)
        index.constraint = constraint
        hint = "A model has one: model.vocabulary."
        index.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary, hint=hint)
        return index

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.constraint, self.vocabulary)

    def __repr__(self) -> str:
        return f"Index({self.constraint!r}, vocabulary of {len(self.vocabulary):,} tokens)"

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text satisfies the constraint; bytes are its UTF-8."""
        return self.constraint.accepts(text)

    def guide(self, max_tokens: int | None = None) -> Guide:
        """Return a new guide at the start, for one sequence.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
        """
        guiding: Any = self.constraint  # a constraint that is not an automaton makes its guides itself
        guide: Guide = guiding.guide(self.vocabulary, max_tokens)
        return guide

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with the index and the constraint's judges.

        For a pattern, ``re`` is such a judge.

        Args:
            data: The text as UTF-8.

        Returns:
            ``None`` if no judge refuses the text; else which constraint it is and which judge refuses, for a report.
        """
        if self.accepts(arguments.data("data", data)):
            return self.constraint.refusal(data)
        return {"constraint": repr(self.constraint), "refused by": "the index itself"}

    @classmethod
    def load(cls, path: str | PathLike[str], vocabulary: Tokens) -> DfaIndex:
        """Read an index that was saved for the same vocabulary.

        Args:
            path: The file.
            vocabulary: The tokens that the index was saved for.

        Raises:
            IndexFileError: As for :func:`sfgen.index.file.load`.
        """
        from sfgen.index import file

        return file.load(path, vocabulary, DfaIndex)


@lru_cache(maxsize=16)
def index_of(constraint: Any, vocabulary: Vocabulary) -> Index:
    """Return the index of a constraint or a pattern.

    The last few are cached, since many texts have the same one.

    Args:
        constraint: A constraint, or a pattern as text.
        vocabulary: The tokens.

    Raises:
        PatternError: The pattern is invalid, or no finite automaton can match it.
        DeadEnd: No sequence of tokens writes any text of the constraint.
    """
    index: Index = Index(Dfa.from_regex(constraint) if isinstance(constraint, str) else constraint, vocabulary)
    return index


class DfaIndex(TokenAutomaton, Index):
    """The index of an automaton; it can be drawn, saved and listed.

    See ``TokenAutomaton``.

    Args:
        constraint: The automaton; also ``dfa``.
        vocabulary: The tokens.

    >>> vocabulary = Vocabulary([b"1", b"12", b".", b".5", b"a", None], end_token_ids=[5])
    >>> index = DfaIndex(Dfa.from_regex(r"[0-9]+\\.[0-9]"), vocabulary)
    >>> index.allowed_tokens(0).tolist()
    [0, 1]
    """

    def __init__(self, constraint: Dfa, vocabulary: Tokens) -> None:
        super().__init__(constraint, vocabulary)

    def __repr__(self) -> str:
        """One line.

        >>> DfaIndex(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b"]))
        Index(Dfa(pattern='ab?', states=3, accepting=2), vocabulary of 2 tokens)
        """
        return f"Index({self.dfa!r}, vocabulary of {len(self.vocabulary):,} tokens)"

    @property
    def pattern(self) -> str | None:
        """The pattern; ``None`` where the automaton was made of something else."""
        return self.dfa.pattern

    def guide(self, max_tokens: int | None = None) -> DfaGuide:
        """Return a new guide at the start, for one sequence.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: No match can be written with ``max_tokens`` tokens.
        """
        return DfaGuide(self, max_tokens)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the index to a safetensors file; see ``sfgen.index.file``.

        Args:
            path: The file.
            force: Whether a file with other content is replaced.

        Raises:
            IndexFileError: As for :func:`sfgen.index.file.save`.
        """
        from sfgen.index import file

        file.save(self, path, force=force)

    def to_dict(self, *, ids: bool = False) -> dict[str, Any]:
        """Convert the index to plain data for JSON; see ``sfgen.index.export``.

        Args:
            ids: Whether tokens are named by their ids instead of their text.

        Returns:
            States, transitions and end states, by name.
        """
        from sfgen.index import export

        return export.to_dict(self, ids=ids)

    def to_dot(self, *, tokens: bool = False, ids: bool = False, max_states: int = STATES_DRAWN) -> str:
        """Draw the automaton in the language of Graphviz.

        Args:
            tokens: Whether edges are tokens instead of characters.
            ids: Whether tokens are named by their ids instead of their text.
            max_states: The most states to draw; those further from the start are left out, and a note says so.

        >>> index = Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"]))
        >>> print(index.to_dot(tokens=True).splitlines()[9].strip())
        0 -> 1 [label="\\"a\\""];
        """
        from sfgen.automata.pictures import to_dot
        from sfgen.index.export import graph

        return to_dot(graph(self, tokens=tokens, ids=ids, max_states=max_states))

    def to_mermaid(self, *, tokens: bool = False, ids: bool = False, max_states: int = STATES_DRAWN) -> str:
        """Draw the automaton as a Mermaid flowchart.

        Args:
            tokens: Whether edges are tokens instead of characters.
            ids: Whether tokens are named by their ids instead of their text.
            max_states: The most states to draw, as for :meth:`to_dot`.

        >>> index = Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"]))
        >>> print(index.to_mermaid().splitlines()[4].strip())
        s0 -->|"a"| s1
        """
        from sfgen.automata.pictures import to_mermaid
        from sfgen.index.export import graph

        return to_mermaid(graph(self, tokens=tokens, ids=ids, max_states=max_states))

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, str]:
        """What a notebook shows; see ``sfgen.automata.pictures``."""
        from sfgen.automata.pictures import mimebundle

        return mimebundle(self.dfa, repr(self), include, exclude)
