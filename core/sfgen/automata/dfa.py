"""The minimal deterministic automaton over bytes, of a pattern or a list of choices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.automata.algebra import Keep, complement, concatenation, product
from sfgen.automata.compile import compile_pattern
from sfgen.automata.determinize import Deterministic
from sfgen.automata.graph import STATES_DRAWN, character_graph, to_dict
from sfgen.automata.minimize import minimize
from sfgen.automata.sources import compile_choices, over_bytes
from sfgen.compiled_form import shares
from sfgen.errors import PatternError, UsageError
from sfgen.groups import Group

if TYPE_CHECKING:
    from interegular.fsm import FSM


_PATTERN_SHOWN = 60  # characters in a repr


_MAKERS = "An automaton is made by Dfa.from_regex, Dfa.from_choices or Dfa.from_fsm."


@shares
@dataclass(frozen=True, eq=False)
class Dfa:
    """A minimal deterministic automaton over bytes; immutable.

    The start is state 0. Every state is reachable from it and can reach an accepting one (except that the empty
    language keeps its start). The numbering is fixed by the language alone (see
    :func:`sfgen.automata.minimize.minimize`); only an automaton of choices is numbered by their order. Make one with
    :meth:`from_regex`, :meth:`from_choices` or :meth:`from_fsm`, or from others with ``&``, ``|``, ``-``, ``~`` and
    ``+`` (one after the other); the constructor takes arrays that have these properties already.

    Args:
        transitions: Next state for each state and byte class, int32, shape [states, classes]; -1 is no transition.
        byte_classes: Class of each byte, uint8, shape [256].
        accepting: Whether the text may end in each state, shape [states].
        pattern: The pattern it was made from, for messages and files; ``None`` if there is none.
        choices: The texts it was made from, for records; ``None`` if there are none.

    >>> dfa = Dfa.from_regex("[0-9]{4}-[0-9]{2}")
    >>> dfa.accepts("2026-11"), dfa.accepts("2026-1"), len(dfa)
    (True, False, 8)
    """

    transitions: NDArray[np.int32]
    byte_classes: NDArray[np.uint8]
    accepting: NDArray[np.bool_]
    pattern: str | None = None
    choices: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_arrays(self)
        for name, kind in (("transitions", np.int32), ("byte_classes", np.uint8), ("accepting", np.bool_)):
            # A view, so that the caller's own array stays as it was.
            array = np.ascontiguousarray(getattr(self, name), dtype=kind).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.choices is not None:
            object.__setattr__(self, "choices", arguments.text_list("choices", self.choices))

    def __reduce__(self) -> tuple[Any, ...]:
        return Dfa, (self.transitions, self.byte_classes, self.accepting, self.pattern, self.choices)  # read-only again

    @cached_property
    def digest(self) -> bytes:
        """A digest of the automaton, equal for equal arrays."""
        told = blake2b(repr(self.transitions.shape).encode(), digest_size=20)
        for array in (self.transitions.reshape(-1), self.byte_classes, self.accepting):
            told.update(array.data)
        return told.digest()

    @classmethod
    def from_regex(cls, pattern: str) -> Dfa:
        """Compile a pattern: the texts that ``re.fullmatch(pattern, text, re.ASCII)`` accepts.

        The automaton reads their UTF-8. The flag is left out where the pattern says ``(?u)``. Unicode properties are
        understood too, with the sets of the ``regex`` package.

        Raises:
            PatternError: The pattern cannot be read, is not supported, or matches no text at all.
            PatternTooLarge: The automaton passes a limit.

        >>> Dfa.from_regex("(?i)yes|no").accepts("YES")
        True
        """
        minimal = compile_pattern(arguments.text("pattern", pattern, hint="Of a compiled one, give its .pattern."))
        if len(minimal.accepting) == 1 and not minimal.accepting[0]:
            raise PatternError(
                "the pattern matches no text at all",
                pattern,
                hint="Look for an anchor that cannot hold where it stands, or for a character class that is empty.",
            )
        return cls(*minimal, pattern)

    @classmethod
    def from_choices(cls, choices: Iterable[str]) -> Dfa:
        """Compile a list of literal texts, in UTF-8.

        A text that occurs twice counts once. The states are numbered in the order in which the texts, read one after
        the other, first reach them.

        Raises:
            UsageError: The list is empty, is one string, contains what is not text, or is too long.

        >>> dfa = Dfa.from_choices(["hot", "cold", "hotel"])
        >>> dfa.accepts("hotel"), dfa.accepts("hote")
        (True, False)
        >>> [dfa.walk(text) for text in (b"h", b"ho", b"hot", b"c")]
        [1, 2, 3, 4]
        """
        listed = arguments.text_list("choices", choices)
        return cls(*compile_choices(listed), choices=listed)

    @classmethod
    def from_fsm(cls, fsm: FSM) -> Dfa:
        """Convert a finite state machine of interegular to one over UTF-8.

        ``anything_else`` stands for every character that is not a symbol of the machine.

        Raises:
            UsageError: It is not an ``interegular.FSM``, or a symbol of its alphabet is not a single character.
            PatternTooLarge: The automaton passes a limit.

        >>> import interegular
        >>> dfa = Dfa.from_fsm(interegular.parse_pattern("(é|[^a-z])+").to_fsm())
        >>> dfa.accepts("éÈ😀"), dfa.accepts("e")
        (True, False)
        """
        return cls(*minimize(over_bytes(fsm)))

    def __len__(self) -> int:
        """Number of states."""
        return len(self.accepting)

    def __repr__(self) -> str:
        """One line, with the beginning of the pattern.

        >>> Dfa.from_regex("[0-9]{4}-[0-9]{2}"), Dfa.from_choices(["yes", "no"])
        (Dfa(pattern='[0-9]{4}-[0-9]{2}', states=8, accepting=1), Dfa(states=5, accepting=1))
        """
        pattern = self.pattern
        if pattern is not None and len(pattern) > _PATTERN_SHOWN:
            pattern = pattern[: _PATTERN_SHOWN - 1] + "…"
        named = "" if pattern is None else f"pattern={pattern!r}, "
        return f"Dfa({named}states={len(self)}, accepting={int(self.accepting.sum())})"

    def step(self, state: int, byte: int) -> int:
        """Return the state after one byte; -1 when it is refused.

        Args:
            state: The state before the byte.
            byte: Its value, 0 to 255.

        Raises:
            UsageError: There is no such state or byte.

        >>> Dfa.from_choices(["a"]).step(0, ord("b"))
        -1
        """
        if not 0 <= arguments.whole_number("byte", byte) < 256:
            raise UsageError(f"there is no byte {byte}: bytes are 0 to 255")
        return int(self.transitions[self._state(state), self.byte_classes[byte]])

    def walk(self, data: bytes, state: int = 0) -> int:
        """Return the state after some bytes; -1 when one is refused.

        Args:
            data: The bytes.
            state: The state before the first of them.

        Raises:
            UsageError: There is no such state, or ``data`` is not bytes.

        >>> Dfa.from_choices(["ab"]).walk(b"ab")
        2
        """
        state, data = self._state(state), arguments.data("data", data)
        classes, transitions = self.byte_classes.item, self.transitions.item
        for byte in data:
            state = transitions(state, classes(byte))
            if state < 0:
                return -1
        return state

    def accepts(self, text: str | bytes) -> bool:
        """Return whether the whole text is in the language.

        A string with a lone surrogate is not text and never is.
        """
        data = arguments.utf8("text", text)
        if data is None:
            return False
        state = self.walk(data)
        return state >= 0 and bool(self.accepting[state])

    def shortest(self) -> bytes:
        """Find a shortest accepted text.

        Of several it is the one with the smaller byte where they first differ.

        Raises:
            ValueError: The language is empty, which that of a pattern or of choices never is.

        >>> Dfa.from_regex("[b-d]+(xy|z)").shortest()
        b'bz'
        """
        # Breadth-first in ascending order of bytes, so each state is first reached by its smallest shortest text.
        _, smallest_byte = np.unique(self.byte_classes, return_index=True)
        steps = sorted(zip(smallest_byte.tolist(), range(len(smallest_byte)), strict=True))
        came_from = {0: (-1, 0)}
        queue = [0]
        for state in queue:
            if self.accepting[state]:
                text = bytearray()
                while state:
                    state, byte = came_from[state]
                    text.append(byte)
                return bytes(text[::-1])
            row = self.transitions[state].tolist()
            for byte, label in steps:
                if row[label] >= 0 and row[label] not in came_from:
                    came_from[row[label]] = (state, byte)
                    queue.append(row[label])
        raise ValueError("the language is empty")

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask ``re`` about an accepted text, where there is a pattern.

        Returns:
            ``None`` if nobody refuses the text; else the pattern, and who refuses.
        """
        from sfgen.regex import oracle

        refused_by = None if self.pattern is None else oracle.who_refuses(self.pattern, arguments.data("data", data))
        return None if refused_by is None else {"pattern": self.pattern or "", "refused by": refused_by}

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Find the pattern's named groups in a matching text, as ``re`` does.

        Returns:
            An empty tuple where the pattern has none; ``None`` where the text does not match, or ``re`` cannot tell in
            a quarter of a second.

        >>> dfa = Dfa.from_regex("(?P<name>[A-Z][a-z]+) is (?P<age>[0-9]+)")
        >>> [(group.name, group.span) for group in dfa.groups("Ada is 36")]
        [('name', (0, 3)), ('age', (7, 9))]
        """
        from sfgen.regex import oracle

        data = arguments.utf8("text", text)
        if data is None or not self.accepts(data):
            return None
        try:
            return () if self.pattern is None else oracle.groups(self.pattern, data.decode())
        except UnicodeDecodeError:
            return None

    @property
    def is_empty(self) -> bool:
        """Whether no text at all is accepted.

        Results of ``& - ~ +`` and of :meth:`from_fsm` can be empty.

        >>> (Dfa.from_regex("[0-9]+") & Dfa.from_regex("[a-z]+")).is_empty
        True
        """
        return not self.accepting.any()

    def equivalent(self, other: Dfa) -> bool:
        """Return whether both accept the same texts.

        >>> Dfa.from_regex("a|b").equivalent(Dfa.from_choices(["b", "a"]))
        True
        """
        arguments.instance("other", other, Dfa)
        mine, others = minimize(self._arrays), minimize(other._arrays)
        return (
            np.array_equal(mine.transitions, others.transitions)
            and np.array_equal(mine.byte_classes, others.byte_classes)
            and np.array_equal(mine.accepting, others.accepting)
        )

    def issubset(self, other: Dfa) -> bool:
        """Return whether ``other`` accepts every text of this one: ``self <= other``.

        Raises:
            PatternTooLarge: The automata are too large to be walked side by side.

        >>> Dfa.from_choices(["2026", "07"]).issubset(Dfa.from_regex("[0-9]+"))
        True
        """
        arguments.instance("other", other, Dfa)
        return not self._product(other, Keep.LEFT_ONLY, "-").accepting.any()

    def __le__(self, other: Dfa) -> bool:
        """:meth:`issubset`.

        >>> Dfa.from_regex("a+") <= Dfa.from_regex("a*"), Dfa.from_regex("a+") >= Dfa.from_regex("a*")
        (True, False)
        """
        return self.issubset(other) if isinstance(other, Dfa) else NotImplemented

    def __and__(self, other: Dfa) -> Dfa:
        """The texts that both accept.

        >>> (Dfa.from_regex("[a-z]+") & Dfa.from_regex(".*x.*")).shortest()
        b'x'
        """
        return Dfa(*minimize(self._product(other, Keep.BOTH, "&"))) if isinstance(other, Dfa) else NotImplemented

    def __or__(self, other: Dfa) -> Dfa:
        """The texts that one of them accepts, or both.

        >>> (Dfa.from_regex("[0-9]+") | Dfa.from_choices(["none"])).accepts("none")
        True
        """
        return Dfa(*minimize(self._product(other, Keep.EITHER, "|"))) if isinstance(other, Dfa) else NotImplemented

    def __sub__(self, other: Dfa) -> Dfa:
        """The texts that this one accepts and ``other`` does not.

        >>> names = Dfa.from_regex("[a-z]+") - Dfa.from_choices(["if", "else"])
        >>> names.accepts("if"), names.accepts("iff")
        (False, True)
        """
        return Dfa(*minimize(self._product(other, Keep.LEFT_ONLY, "-"))) if isinstance(other, Dfa) else NotImplemented

    def __add__(self, other: Dfa) -> Dfa:
        """The texts that are one of this automaton followed by one of ``other``.

        >>> (Dfa.from_choices(["id-"]) + Dfa.from_regex("[0-9]{3}")).accepts("id-042")
        True
        """
        if not isinstance(other, Dfa):
            return NotImplemented
        return Dfa(*minimize(concatenation(self._arrays, other._arrays, f"{self._name} + {other._name}")))

    def __invert__(self) -> Dfa:
        """The texts that this one does not accept. They are text: what is not UTF-8 is never accepted.

        >>> other = ~Dfa.from_regex("[0-9]+")
        >>> other.accepts("x1"), other.accepts(""), other.accepts("12"), other.accepts(b"\\xff")
        (True, True, False, False)
        """
        return Dfa(*minimize(complement(self._arrays, f"~{self._name}")))

    # ---- to be looked at ---------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the automaton over whole characters as plain data for JSON.

        Returns:
            ``pattern``, ``initial``, ``final``, ``states`` (their number, those inside of characters too) and
            ``transitions``: state → characters → next state, for the states between characters. The characters are a
            pattern of a single one.

        >>> Dfa.from_regex("[a-z]+é?").to_dict()["transitions"]
        {'0': {'[a-z]': 1}, '1': {'[a-z]': 1, 'é': 3}, '3': {}}
        """
        return to_dict(self)

    def to_dot(self, *, max_states: int = STATES_DRAWN) -> str:
        """Draw the automaton over whole characters in Graphviz's language.

        See ``sfgen.automata.pictures``.

        >>> print(Dfa.from_regex("[0-9]+").to_dot().splitlines()[-3].strip())
        0 -> 1 [label="[0-9]"];
        """
        from sfgen.automata.pictures import to_dot

        return to_dot(character_graph(self, max_states=max_states))

    def to_mermaid(self, *, max_states: int = STATES_DRAWN) -> str:
        """Draw the automaton over whole characters as a Mermaid flowchart.

        See ``sfgen.automata.pictures``.

        >>> print(Dfa.from_regex("[0-9]+").to_mermaid().splitlines()[3].strip())
        s0 -->|"[0-9]"| s1
        """
        from sfgen.automata.pictures import to_mermaid

        return to_mermaid(character_graph(self, max_states=max_states))

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, str]:
        """Render it for a notebook; see ``sfgen.automata.pictures``."""
        from sfgen.automata.pictures import mimebundle

        return mimebundle(self, repr(self), include, exclude)

    def _product(self, other: Dfa, keep: Keep, operator: str) -> Deterministic:
        return product(self._arrays, other._arrays, keep, f"{self._name} {operator} {other._name}")

    def _state(self, state: int) -> int:
        """Check the number of a state."""
        if not 0 <= (number := arguments.whole_number("state", state)) < len(self):
            raise UsageError(f"there is no state {number}: the automaton has {len(self)}")
        return number

    @property
    def _arrays(self) -> Deterministic:
        return Deterministic(self.transitions, self.byte_classes, self.accepting)

    @property
    def _name(self) -> str:
        """Its name in messages about automata that are made of it."""
        return f"({len(self):,} states)" if self.pattern is None else f"({self.pattern})"


def _check_arrays(automaton: Dfa) -> None:
    """Check the shapes and ranges of an automaton's arrays.

    A transition to a state that does not exist would be read beyond the end of an array.
    """
    transitions = _array(automaton.transitions, "transitions", "whole numbers, [states, classes]", "iu", 2)
    classes = _array(automaton.byte_classes, "byte_classes", "whole numbers, [256]", "iu", 1)
    accepting = _array(automaton.accepting, "accepting", "truth values, [states]", "b", 1)
    states, width = transitions.shape
    if not transitions.size or transitions.min() < -1 or transitions.max() >= states:
        raise UsageError(f"transitions must be states from 0 to {states - 1}, or -1", hint=_MAKERS)
    if classes.shape != (256,) or classes.min() < 0 or classes.max() >= width:
        raise UsageError(f"byte_classes must be 256 classes from 0 to {width - 1}", hint=_MAKERS)
    if accepting.shape != (states,):
        raise UsageError(f"accepting must say of {states} states whether the text may end there", hint=_MAKERS)
    if automaton.pattern is not None:
        arguments.text("pattern", automaton.pattern)


def _array(value: object, name: str, content: str, kinds: str, dimensions: int) -> NDArray[Any]:
    """An array of one of these kinds of numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in kinds or array.ndim != dimensions:
        raise arguments.refusal(name, f"an array of {content}", value, hint=_MAKERS)
    return array
