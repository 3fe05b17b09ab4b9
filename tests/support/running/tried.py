"""How many examples hypothesis tries of a property: the profile in use says, and a test that needs others says a word.

Loops over random inputs of their own follow with :func:`rounds`.

``quick`` is for a first sign within seconds, ``default`` for every change, ``thorough`` for a release. A profile is
chosen by ``--hypothesis-profile``, or by ``--quick`` of ``tests/conftest.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

Amount: TypeAlias = Literal["handful", "few", "some", "usual", "many"]

_SHARES: dict[Amount, float] = {"handful": 0.06, "few": 0.16, "some": 0.4, "usual": 1.0, "many": 2.4}
"""Of the examples of a profile. A handful: each takes a good part of a second."""

_PROFILES = {"quick": 5, "default": 12, "thorough": 250}

_ROUNDS = {"quick": 0.02, "default": 0.16, "thorough": 1.0}
"""Of the rounds of a loop."""

# What depends on the machine says nothing about a property; files that are written anew by each example may be shared.
_UNCHECKED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.function_scoped_fixture,
)


def register_profiles() -> None:
    """Make the profiles known to hypothesis; ``default`` is in use from now on."""
    for name, count in _PROFILES.items():
        settings.register_profile(name, max_examples=count, deadline=None, suppress_health_check=_UNCHECKED)
    settings.load_profile("default")


def rounds(most: int) -> int:
    """How often a loop over random inputs is gone through: ``most`` under ``thorough``, else its share of that."""
    return max(1, round(most * _ROUNDS[settings.get_current_profile_name()]))


def some_of(cases: Iterable[T], most: int) -> list[T]:
    """A few cases at equal distances; all of them under ``thorough``.

    For cases that are alike, each of which takes long. What only one of them would find belongs to all profiles.
    """
    found = list(cases)
    return found if settings.get_current_profile_name() == "thorough" else spread(found, most)


def spread(cases: Sequence[T], most: int) -> list[T]:
    """The first case, the last, and others between them at equal distances."""
    count = min(most, len(cases))
    return [cases[number * (len(cases) - 1) // max(count - 1, 1)] for number in range(count)]


def tried(amount: Amount = "usual", *, mostly_assumed_away: bool = False) -> settings:
    """A decorator of a property that wants more or fewer examples than others.

    Args:
        amount: How many, beside the ``usual`` number, which needs no decorator.
        mostly_assumed_away: It is no sign of a fault that few of the inputs that are drawn fit the test.
    """
    count = max(1, round(settings().max_examples * _SHARES[amount]))
    filtered = (HealthCheck.filter_too_much,) if mostly_assumed_away else ()
    return settings(max_examples=count, suppress_health_check=(*_UNCHECKED, *filtered))
