"""Members in a fixed order that are counted: a rule for each member and each count, as a diagram of decisions."""

from __future__ import annotations

from collections.abc import Sequence

from sfgen.errors import SchemaTooLarge
from sfgen.grammar.rules import NOTHING, Alternation, Call, Expression, Member, Repeat
from sfgen.schema.layout import joined

MAX_MEMBERS = 20_000
"""The most rules that one count makes."""

MAX_COPIES = 1_000
"""The most that is counted by copies."""


class Tails:
    """The rules of parts of an array or an object, named after it.

    Args:
        name: The rule of the whole.
        parts: What its parts are called.
    """

    def __init__(self, name: str, parts: str) -> None:
        self._name = name
        self._parts = parts
        self.rules: dict[str, Expression] = {}

    def add(self, expression: Expression) -> Call:
        """A new rule."""
        name = f"{self._name}: {self._parts}" + (f" {len(self.rules) + 1}" if self.rules else "")
        self.rules[name] = expression
        return Call(name)


def counted_members(
    members: Sequence[Member],
    more: Expression | None,
    separator: Expression,
    closing: Expression,
    counts: tuple[int, int | None],
    tails: Tails,
) -> Expression:
    """Members in this order, those that are not needed left out or not, and what closes them.

    Args:
        members: The members.
        more: What may stand behind them any number of times; ``None``: nothing.
        separator: What stands between two.
        closing: What stands behind the last.
        counts: The fewest members and the most; ``None``: any number.
        tails: Where the rules go that are needed.

    Raises:
        SchemaTooLarge: They are too many.
    """
    minimum, maximum = counts
    top = minimum if maximum is None else maximum
    if max(top, minimum) > MAX_COPIES or len(members) * (top + 1) > MAX_MEMBERS:
        raise SchemaTooLarge(
            f"its members are counted up to {max(top, minimum):,}, which passes the limit",
            hint="Ask for fewer, or leave the count out.",
        )

    def next_one(count: int, expression: Expression) -> Expression:
        return joined(separator, expression) if count else expression

    def behind(count: int) -> Expression:
        """What may stand behind all members that have a place of their own, when ``count`` were there."""
        ends = [closing] if count >= minimum else []
        if more is not None and (maximum is None or count < maximum):
            again = Repeat(
                joined(separator, more),
                max(0, minimum - count - 1),
                None if maximum is None else maximum - count - 1,
            )
            ends.append(joined(next_one(count, more), again, closing))
        return ends[0] if len(ends) == 1 else Alternation(tuple(ends)) if ends else NOTHING

    most = top if maximum is not None else max(top, 1)  # 1 tells whether there was one
    following = [behind(count) for count in range(most + 1)]
    for place in reversed(range(len(members))):
        calls = [tails.add(expression) if len(members) > 1 else expression for expression in following]
        following = []
        for count in range(most + 1):
            branches: list[Expression] = [] if members[place].is_needed else [calls[count]]
            if count < most or maximum is None:
                branches.append(joined(next_one(count, members[place].expression), calls[min(count + 1, most)]))
            following.append(branches[0] if len(branches) == 1 else Alternation(tuple(branches)))
    return following[0]
