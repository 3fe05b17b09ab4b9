"""Plain forms of what a generation takes: a model's name, a pattern, an automaton, a list of words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sfgen import arguments
from sfgen.protocols import Constraint, GuideSource, GuidingConstraint, Model
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords


def model_of(model: Model | str | Path) -> Model:
    """Return a model as it is, or load one by name.

    Raises:
        UsageError: It is neither a model nor a name.
        SfgenError: As ``load_model``.
    """
    if isinstance(model, (str, Path)):
        from sfgen.models import load_model

        return load_model(model)
    hint = 'Give what sfgen.load_model returns, or a name: "tiny", a directory, a hub id.'
    arguments.given("model", model, "a model or the name of one", "vocabulary", "encode", "session", hint=hint)
    vocabulary_of(model)
    return model


def vocabulary_of(model: Model) -> Vocabulary:
    """Return the vocabulary of a model.

    Raises:
        UsageError: It is not a ``sfgen.Vocabulary``.
    """
    return arguments.instance("model.vocabulary", model.vocabulary, Vocabulary)


def check_index(index: object) -> None:
    """Refuse what cannot constrain a text.

    Raises:
        UsageError: It is not an index, a constraint or a pattern.
    """
    if index is None or isinstance(index, str):
        return
    hint = (
        "Of a compiled pattern give its .pattern; a saved index is read with sfgen.Index.load(path, model.vocabulary)."
    )
    arguments.given("index", index, "an index, a Dfa or a pattern", "refusal", hint=hint)
    if hasattr(index, "vocabulary"):
        arguments.given("index", index, "an index, a Dfa or a pattern", "guide", hint=hint)


def source_of(index: GuideSource | Constraint | str | None, vocabulary: Vocabulary) -> GuideSource | None:
    """Return an index as it is, or index another constraint.

    Args:
        index: An index or another source of guides; a constraint or a pattern; ``None``: free text.
        vocabulary: The model's.

    Raises:
        SfgenError: As ``Dfa.from_regex`` and ``Index``.
    """
    if index is None:
        return None
    if hasattr(index, "vocabulary"):
        return cast("GuideSource", index)
    from sfgen.index import Index, index_of

    try:
        hash(index)
    except TypeError:  # a constraint of somebody's own
        return Index(cast("GuidingConstraint", index), vocabulary)
    return index_of(cast("Hashable", index), vocabulary)


def has_temperatures(index: GuideSource | Constraint | str | None) -> bool:
    """Tell whether parts of the texts have their own temperature."""
    constraint = getattr(index, "constraint", index)
    return bool(getattr(constraint, "temperatures", ()))  # see HasTemperatures


def banned_of(banned: BannedWords | Iterable[str] | None) -> BannedWords | None:
    """Return banned words as they are, or make them from a list.

    Raises:
        SfgenError: As ``BannedWords.of``.
    """
    if banned is None:
        return None
    from sfgen.ban import BannedWords

    return BannedWords.of(banned)
