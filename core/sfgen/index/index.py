"""The index: a constraint seen through a vocabulary."""

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
    """A constraint seen through a vocabulary. Immutable, lazy, safe to share between threads.

    ``Index(dfa, vocabulary)`` is a ``DfaIndex``; any other constraint makes its guides itself (see
    ``sfgen.protocols.GuidingConstraint``). Its pickle has the constraint and the vocabulary; masks are made anew.

    Args:
        constraint: What a text must satisfy.
        vocabulary: The tokens.

    Attributes:
        constraint: What a text must satisfy.
        vocabulary: The tokens.

    Raises:
        UsageError: An argument of another kind, or the automaton accepts no text at all.
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
        """Whether a whole text satisfies the constraint; bytes are its UTF-8."""
        return self.constraint.accepts(text)

    def guide(self, max_tokens: int | None = None) -> Guide:
        """A new guide at the start, for one sequence. ``max_tokens`` is the number of tokens that it may take.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
        """
        guiding: Any = self.constraint  # what is no automaton makes its guides itself
        guide: Guide = guiding.guide(self.vocabulary, max_tokens)
        return guide

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """What a report says of a finished text that breaks the constraint; ``None`` if nobody refuses it.

        The index itself is asked, and what the constraint can ask besides (``re`` for a pattern).
        """
        if self.accepts(arguments.data("data", data)):
            return self.constraint.refusal(data)
        return {"constraint": repr(self.constraint), "refused by": "the index itself"}

    @classmethod
    def load(cls, path: str | PathLike[str], vocabulary: Tokens) -> DfaIndex:
        """Read an index that was saved for the same vocabulary; see ``sfgen.index.file``."""
        from sfgen.index import file

        return file.load(path, vocabulary, DfaIndex)


@lru_cache(maxsize=16)
def index_of(constraint: Any, vocabulary: Vocabulary) -> Index:
    """The index of a constraint or a pattern; the last few are kept, for many texts ask for the same one."""
    index: Index = Index(Dfa.from_regex(constraint) if isinstance(constraint, str) else constraint, vocabulary)
    return index


class DfaIndex(TokenAutomaton, Index):
    """Which tokens each state of an automaton allows; see ``TokenAutomaton``. It can be drawn, saved and listed.

    Attributes:
        constraint: The automaton; also ``dfa``.

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
        """A new guide at the start, for one sequence. ``max_tokens`` is the number of tokens that it may take.

        Raises:
            LimitTooSmall: No match can be written with ``max_tokens`` tokens.
        """
        return DfaGuide(self, max_tokens)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the index to a safetensors file; see ``sfgen.index.file``."""
        from sfgen.index import file

        file.save(self, path, force=force)

    def to_dict(self, *, ids: bool = False) -> dict[str, Any]:
        """The whole index as plain data for JSON; see ``sfgen.index.export``."""
        from sfgen.index import export

        return export.to_dict(self, ids=ids)

    def to_dot(self, *, tokens: bool = False, ids: bool = False, max_states: int = STATES_DRAWN) -> str:
        """The automaton in the language of Graphviz.

        Args:
            tokens: Draw what tokens read, and not what characters do.
            ids: Whether these tokens are named by their ids instead of their text.
            max_states: States that are drawn; what is further from the start is left out, and a note says so.

        >>> index = Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"]))
        >>> print(index.to_dot(tokens=True).splitlines()[9].strip())
        0 -> 1 [label="\\"a\\""];
        """
        from sfgen.automata.dot import to_dot
        from sfgen.index.graph import graph

        return to_dot(graph(self, tokens=tokens, ids=ids, max_states=max_states))

    def to_mermaid(self, *, tokens: bool = False, ids: bool = False, max_states: int = STATES_DRAWN) -> str:
        """The automaton as a Mermaid flowchart; the arguments are those of :meth:`to_dot`.

        >>> index = Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"]))
        >>> print(index.to_mermaid().splitlines()[4].strip())
        s0 -->|"a"| s1
        """
        from sfgen.automata.mermaid import to_mermaid
        from sfgen.index.graph import graph

        return to_mermaid(graph(self, tokens=tokens, ids=ids, max_states=max_states))

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, str]:
        """What a notebook shows; see ``sfgen.automata.notebook``."""
        from sfgen.automata.notebook import mimebundle

        return mimebundle(self.dfa, repr(self), include, exclude)
