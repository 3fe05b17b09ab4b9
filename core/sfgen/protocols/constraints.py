"""What a constraint and its guides must be able to do, and what a constraint may be able to do besides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from sfgen.groups import Group
from sfgen.protocols.tokens import Int32, Mask, Tokens


class Constraint(Protocol):
    """What a text must satisfy, for any vocabulary. ``sfgen.Dfa`` is one."""

    def accepts(self, text: str | bytes) -> bool:
        """Tell whether a whole text satisfies it; bytes are its UTF-8."""

    def shortest(self) -> bytes:
        """Return a shortest text that satisfies it, as UTF-8."""

    def to_dict(self) -> dict[str, Any]:
        """Return the constraint as plain data for JSON."""

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with independent judges, such as ``re``.

        Args:
            data: The text as UTF-8.

        Returns:
            ``None`` if no judge refuses the text; else which constraint it is and which judge refuses, for a report.
        """


class Guide(Protocol):
    """The position of one sequence in a constraint, with its token mask.

    A guide belongs to one sequence. A step is a token (``advance``) or some bytes (``advance_bytes``); ``rollback``
    takes steps back. End tokens are allowed exactly where the text may end.
    """

    @property
    def state(self) -> int:
        """A number that identifies the position in events, traces and views."""

    @property
    def position(self) -> Hashable:
        """The present position; what may follow depends on it alone.

        Guides of one source at equal positions allow the same continuations, except for a token limit and the end.
        """

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow the text.

        It is so after an end token, and where the text is complete and cannot continue.
        """

    def describe(self) -> str:
        """Describe the position for views: an automaton state, a stack of rules."""

    def mask(self) -> Mask:
        """Return the mask of the tokens that may follow. Read-only."""

    def allowed_tokens(self) -> Int32:
        """Return the ids of the tokens that may follow, ascending. Read-only."""

    def tokens_left(self) -> int:
        """Return the fewest tokens to an end, without the end token.

        It may be an upper bound, and is 0 where it is not known.
        """

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end.

        Args:
            most: The most bytes to return; ``None``: any number.
        """

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token.

        The position may then be inside a token. The bytes do not count towards a token limit.

        Raises:
            UsageError: No allowed text continues with these bytes.
        """

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps.

        Raises:
            UsageError: Fewer steps than that were taken.
        """

    def validate(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, may follow.

        The guide does not move.
        """

    def fork(self, *, limited: bool = True) -> Guide:
        """Return an independent guide at the same position.

        Args:
            limited: Whether it keeps the token limit.
        """

    def is_ready(self) -> bool:
        """Tell whether the mask here is made.

        One that takes microseconds is made now.
        """

    def allows_several(self) -> bool | None:
        """Tell whether two tokens or more may follow.

        All end tokens count as one. ``None``: only the mask can tell.
        """


class GuidingConstraint(Constraint, Protocol):
    """A constraint that makes its own guides.

    ``sfgen.Index(constraint, vocabulary)`` takes it as it is.
    """

    def guide(self, vocabulary: Any, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence.

        Args:
            vocabulary: A ``sfgen.Vocabulary``.
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens; see ``GuideSource.guide``.
        """


@runtime_checkable
class HasValue(Protocol):
    """A constraint whose texts stand for values, as those of JSON do."""

    def value(self, text: str | bytes) -> Any:
        """Return the value that a finished text stands for."""


@runtime_checkable
class HasGroups(Protocol):
    """A constraint whose texts have named parts, such as named groups."""

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Return the named parts of a finished text, in order.

        ``None`` where they are not known.
        """


@runtime_checkable
class HasTemperatures(Protocol):
    """A constraint in which parts of a text have their own temperature.

    Its guides have it as their attribute ``temperature``.
    """

    @property
    def temperatures(self) -> Collection[float]:
        """All temperatures that occur; none if the generation's holds everywhere."""


@runtime_checkable
class HasParser(Protocol):
    """A constraint that may know a Python type for its texts."""

    @property
    def parser(self) -> Callable[[str | bytes], Any] | None:
        """The function that makes an instance from a finished text.

        ``None`` if there is no type.
        """


@runtime_checkable
class HasReadings(Protocol):
    """A constraint whose texts contain escapes that a reader undoes."""

    def readings(self, text: bytes) -> Sequence[str]:
        """Return the texts a reader finds in a finished text, each separately."""


@runtime_checkable
class TakesOutBans(Protocol):
    """A constraint that can be made without banned words."""

    def without_banned(self, banned: Any, prompt: bytes = b"") -> GuidingConstraint | None:
        """Subtract a ``sfgen.BannedWords`` from the constraint's texts.

        Args:
            banned: The banned words: no text of the new constraint has a match of them.
            prompt: What stands before the text, as UTF-8.

        Returns:
            The constraint of the remaining texts; ``None`` where the difference cannot be made.

        Raises:
            BannedWordsError: Every text has a banned match.
        """


class Superset(NamedTuple):
    """A regular superset of the texts of a constraint.

    Attributes:
        dfa: A ``sfgen.Dfa`` that accepts all of them, and perhaps others.
        is_exact: Whether it accepts no others.
    """

    dfa: Any
    is_exact: bool


@runtime_checkable
class HasSuperset(Protocol):
    """A constraint that is not regular, but has a regular superset."""

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        It is ``None`` where none is small enough.
        """


class GuideSource(Protocol):
    """A constraint over one vocabulary: a source of guides.

    ``sfgen.Index`` is one, and so are an engine of ``sfgen.reference`` and a chain of several.
    """

    @property
    def vocabulary(self) -> Tokens:
        """The tokens."""

    def guide(self, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence.

        It never ends a text too early, also not at the token limit.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens; a guide without lookahead may raise
                another ``GenerationError`` later.
        """

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text as ``Constraint.refusal`` does.

        Returns:
            ``None`` if no judge refuses; else the constraint and the judge, for a report.
        """
