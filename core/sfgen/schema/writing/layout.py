"""The layout of arrays and objects: options, white space, and counted members."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sfgen import arguments
from sfgen.automata.completions import completions
from sfgen.errors import SchemaTooLarge, UsageError
from sfgen.grammar.network.rules import (
    EMPTY,
    Call,
    Concatenation,
    Expression,
    Leaf,
    Literal,
    Member,
    Repeat,
    StateMachine,
    Step,
)
from sfgen.parameter_text import ParameterText

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

ORDERS = ("schema", "any")
SPACINGS = ("spaced", "compact", "any")
NUMBERS = ("schema", "any")

MAX_INDENT = 16
"""The most blanks for each depth."""

BLANK = Repeat(Literal(b" "), 0, 1)
"""An optional blank."""

MAX_STATES = 20_000
"""The most states of the state machine of one array or object."""

MAX_STEPS = 400_000
"""The limit of members² × the greatest count: each member may be followed by any later one."""

MAX_COPIES = 1_000
"""The highest count that states represent."""

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True)
class WritingOptions:
    """The form of written texts, which a schema leaves open."""

    # ``"spaced"`` writes a blank after each comma and colon, as ``json.dumps`` does; ``"compact"`` none; ``"any"``
    # allows both
    spacing: str = "spaced"
    # blanks for each depth, one member or item a line, as ``json.dumps(indent=...)``; ``None``: one line
    indent: int | None = None
    # whether an object that has ``properties``, but no ``additionalProperties``, may have others
    extra_properties: bool = False
    require_all: bool = False
    order: str = "schema"  # ``"schema"`` writes properties in the order of the schema, ``"any"`` allows all orders
    banned: BannedWords | None = None
    # whether a schema without ``type`` whose keywords apply to one type only is written as that type
    infer_types: bool = True
    # the spelling of numbers of ``enum`` and ``const``: ``"schema"`` is that of the schema, ``"any"`` allows trailing
    # zeros
    numbers: str = "schema"

    def __post_init__(self) -> None:
        arguments.one_of("order", self.order, ORDERS)
        arguments.one_of("spacing", self.spacing, SPACINGS)
        arguments.one_of("numbers", self.numbers, NUMBERS)
        arguments.flag("extra_properties", self.extra_properties)
        arguments.flag("require_all", self.require_all)
        arguments.flag("infer_types", self.infer_types)
        if self.indent is None:
            return
        if arguments.whole_number("indent", self.indent, 0) > MAX_INDENT:
            raise UsageError(
                ParameterText(f"indent is at most {MAX_INDENT}, not {self.indent}", "indent"),
                hint="It counts the blanks for each depth.",
            )
        if self.spacing == "any":
            raise UsageError(
                ParameterText("indent fixes the white space, and spacing='any' does not", "indent", "spacing"),
                hint="Leave one of them out.",
            )


class Layout:
    """The white space between the parts of a value, by depth."""

    def __init__(self, options: WritingOptions) -> None:
        self.indent = options.indent
        self.is_open = options.spacing == "any"
        """Whether each blank is optional."""
        self._blank = b" " if options.spacing == "spaced" else b""
        self.colon = self._spaced(b":")
        """The expression after a name."""

    def depth_below(self, depth: int) -> int:
        """Return the depth of the parts of a value at a depth; always 0 without ``indent``."""
        return 0 if self.indent is None else depth + 1

    def comma(self, depth: int) -> Expression:
        """Make the expression between two parts of a value."""
        return self._spaced(b",") if self.indent is None else Literal(self.comma_bytes(depth))

    def comma_bytes(self, depth: int) -> bytes:
        """Write the bytes between two parts, without an optional blank."""
        return b"," + (self._blank if self.indent is None else self._line(depth + 1))

    def opening(self, bracket: bytes, depth: int) -> bytes:
        """Write an opening bracket and the white space after it."""
        return bracket + self._line(depth + 1)

    def closing(self, bracket: bytes, depth: int) -> bytes:
        """Write a closing bracket and the white space before it."""
        return self._line(depth) + bracket

    def name(self, written: bytes) -> Expression:
        """Make the expression of a known name and its colon."""
        if isinstance(self.colon, Literal):
            return Literal(written + self.colon.data)
        return Concatenation((Literal(written), self.colon))

    def _spaced(self, mark: bytes) -> Expression:
        return Concatenation((Literal(mark), BLANK)) if self.is_open else Literal(mark + self._blank)

    def _line(self, depth: int) -> bytes:
        return b"" if self.indent is None else b"\n" + b" " * (self.indent * depth)


def joined(*parts: Expression) -> Expression:
    """Concatenate expressions; adjacent literals become one."""
    found: list[Expression] = []
    for part in _flat(parts):
        if isinstance(part, Literal) and found and isinstance(found[-1], Literal):
            found[-1] = Literal(found[-1].data + part.data)
        elif part != EMPTY:
            found.append(part)
    return found[0] if len(found) == 1 else Concatenation(tuple(found))


def _flat(parts: Iterable[Expression]) -> Iterator[Expression]:
    for part in parts:
        if isinstance(part, Concatenation):
            yield from part.parts
        else:
            yield part


# ---- counted members -------------------------------------------------------------------------------------------------


class ExtraRules:
    """The additional rules of an array or an object, named after its own rule."""

    def __init__(self, name: str, parts: str) -> None:
        self._name = name
        self._parts = parts
        self.rules: dict[str, Expression] = {}

    def add(self, expression: Expression) -> Call:
        """Add a rule, and return a call of it."""
        name = f"{self._name}: {self._parts}" + (f" {len(self.rules) + 1}" if self.rules else "")
        self.rules[name] = expression
        return Call(name)


def texts_of(leaves: Sequence[Leaf]) -> int | None:
    """Count the texts of some leaves together; ``None`` above :data:`MAX_COPIES` or if there are infinitely many."""
    texts = [None if leaf.base is not None else completions(leaf.dfa).get(0) for leaf in leaves]
    total = sum(count for count in texts if count is not None)
    return None if None in texts or total > MAX_COPIES else total


def at_most(maximum: int | None, named: int, others: int | None) -> int | None:
    """Return the most parts of an object with some declared and some other names."""
    return maximum if others is None else _least_of(maximum, named + others)


def _least_of(*limits: int | None) -> int | None:
    """Return the smallest of some limits; ``None`` is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def by_states(
    start: State, branches: Callable[[State], Iterable[tuple[Expression, State | None]]], extra_rules: ExtraRules
) -> Expression:
    """Add a rule with the state machine of all states reachable from a start."""
    numbers = {start: 0}
    machine: list[tuple[Step, ...]] = []
    for state in (queue := [start]):
        steps: list[Step] = []
        for read, after in branches(state):
            if after is not None and after not in numbers:
                numbers[after] = len(numbers)
                queue.append(after)
            steps.append(Step(read, None if after is None else numbers[after]))
        machine.append(tuple(steps))
        if len(queue) > MAX_STATES:
            raise SchemaTooLarge(
                f"counting its parts needs more than {MAX_STATES:,} states",
                hint="Allow fewer parts, or remove the count.",
            )
    return extra_rules.add(StateMachine(tuple(machine)))


def counted_members(
    members: Sequence[Member],
    more: Expression | None,
    separator: Expression,
    closing: Expression,
    counts: tuple[int, int | None],
    extra_rules: ExtraRules,
    most: int | None = None,
) -> Expression:
    """Build the expression of counted members in a fixed order, with the closing bracket."""
    # The state is the number of the next member, and the count of written ones up to ``top``.
    minimum, maximum = counts
    top = max(1, minimum) if maximum is None else maximum  # at least 1: after a member comes a separator
    if max(top, minimum) > MAX_COPIES:
        raise SchemaTooLarge(
            f"its members are counted up to {max(top, minimum):,}, above the limit of {MAX_COPIES:,}",
            hint="Allow fewer, or remove the count.",
        )

    # Above MAX_STATES, by_states raises the error.
    if len(members) ** 2 * top > MAX_STEPS and len(members) * top <= MAX_STATES:
        raise SchemaTooLarge(
            f"it has {len(members):,} properties and counts them up to {top:,}, which is too much together",
            hint="Remove the count, or some properties.",
        )

    def branches(state: tuple[int, int]) -> Iterable[tuple[Expression, tuple[int, int] | None]]:
        place, count = state
        before = separator if count else EMPTY
        if place < len(members):
            if count < top or maximum is None:
                yield joined(before, members[place].expression), (place + 1, min(count + 1, top))
            if not members[place].is_needed:
                yield EMPTY, (place + 1, count)
            return
        if count >= minimum:
            yield closing, None
        if more is not None and (maximum is None or count < maximum):
            least, room = max(0, minimum - count - 1), _least_of(most, None if maximum is None else maximum - count)
            if room is None or room > least:
                again = Repeat(joined(separator, more), least, None if room is None else room - 1)
                yield joined(before, more, again, closing), None

    return by_states((0, 0), branches, extra_rules)
