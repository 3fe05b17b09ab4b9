"""Plain forms of what a generation takes: a model's name, a pattern, an automaton, a list of words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.protocols import GuideSource, Model
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.automata import Dfa
    from sfgen.ban import BannedWords
    from sfgen.index import Index


def model_of(model: Model | str | Path) -> Model:
    """Return a model as it is; load one that is named.

    Raises:
        UsageError: It is neither.
        SfgenError: As ``load_model``.
    """
    if isinstance(model, (str, Path)):
        from sfgen.models import load_model

        return load_model(model)
    hint = 'Give what sfgen.load_model returns, or a name: "tiny", a directory, a hub id.'
    arguments.given("model", model, "a model or the name of one", "vocabulary", "encode", "session", hint=hint)
    arguments.instance("model.vocabulary", model.vocabulary, Vocabulary)
    return model


def constraint_of(index: GuideSource | Dfa | str | None, vocabulary: Vocabulary) -> GuideSource | None:
    """Return an index as it is; index a pattern or an automaton over the model's vocabulary.

    Raises:
        UsageError: It is none of these.
        SfgenError: As ``Dfa.from_regex`` and ``Index``.
    """
    from sfgen.automata import Dfa

    if index is None:
        return None
    if isinstance(index, (str, Dfa)):
        return index_of(index, vocabulary)
    hint = (
        "Of a compiled pattern give its .pattern; a saved index is read with sfgen.Index.load(path, model.vocabulary)."
    )
    arguments.given("index", index, "an index, a Dfa or a pattern", "vocabulary", "accepts", "guide", hint=hint)
    return index


def banned_of(banned: BannedWords | Iterable[str] | None) -> BannedWords | None:
    """Return banned words as they are; make them of a list of words.

    Raises:
        SfgenError: As ``BannedWords.of``.
    """
    if banned is None:
        return None
    from sfgen.ban import BannedWords

    return BannedWords.of(banned)


@lru_cache(maxsize=8)
def index_of(source: Dfa | str, vocabulary: Vocabulary) -> Index:
    """Index a pattern or an automaton; many texts ask for the same one."""
    from sfgen.automata import Dfa
    from sfgen.index import Index

    return Index(source if isinstance(source, Dfa) else Dfa.from_regex(source), vocabulary)
