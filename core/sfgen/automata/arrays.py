"""The arrays that an automaton is: what those that read one need of it, and the check of arrays from outside."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import UsageError

_MAKERS = "An automaton is made by Dfa.from_regex, Dfa.from_choices or Dfa.from_fsm."


class Automaton(Protocol):
    """A deterministic automaton to be read; state 0 is the start.

    :class:`sfgen.automata.dfa.Dfa` is one.
    """

    @property
    def transitions(self) -> NDArray[np.int32]:
        """The next states, int32 ``[states, classes]``; -1 is no transition."""

    @property
    def byte_classes(self) -> NDArray[np.uint8]:
        """Class of each byte, uint8, shape [256]."""

    @property
    def accepting(self) -> NDArray[np.bool_]:
        """Whether the text may end in each state, bool, shape [states]."""

    @property
    def pattern(self) -> str | None:
        """The pattern that it was made from; ``None`` if there is none."""


def check_arrays(automaton: Automaton) -> None:
    """Check the shapes and ranges of an automaton's arrays.

    A transition to a state that does not exist would be read beyond the end of an array.

    Raises:
        UsageError: An array of another kind or shape, or with a number outside its range.
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
