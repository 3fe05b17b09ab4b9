"""Read the plain forms of a generation's arguments: a model's name, a pattern, a schema, a temperature, a list of
words.

Each argument is accepted in its full form, too: a model, an index or a sampler stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sfgen import arguments
from sfgen.decoding.sampler import Sampler
from sfgen.errors import InputError, UsageError
from sfgen.protocols import Constraint, GuideSource, GuidingConstraint, Model
from sfgen.vocabulary import Vocabulary
from sfgen.whole_file import read_file

if TYPE_CHECKING:
    from sfgen.automata import Dfa
    from sfgen.ban import BannedWords, WordBias
    from sfgen.grammar.language.grammar import Grammar
    from sfgen.schema.json_schema import JsonSchema
    from sfgen.template.template import Template

_GRAMMAR_FILES = (".gbnf", ".lark")

DRAWING = ("seed", "top_k", "top_p", "min_p")
"""Fields of a ``Sampler`` that mean something only where tokens are drawn."""


def model_of(model: Model | str | Path) -> Model:
    """Return a model as it is, or load one by name."""
    if isinstance(model, (str, Path)):
        from sfgen.models import load_model

        return load_model(model)
    hint = 'Give what sfgen.load_model returns, or a name: "tiny", a directory, a hub id.'
    arguments.given("model", model, "a model or the name of one", "vocabulary", "encode", "session", hint=hint)
    vocabulary_of(model)
    return model


def vocabulary_of(model: Model) -> Vocabulary:
    """Return the vocabulary of a model."""
    return arguments.instance("model.vocabulary", model.vocabulary, Vocabulary)


def prompt_tokens(model: Model, prompt: str | Sequence[int]) -> Sequence[int]:
    """Return the tokens that the model reads of a prompt."""
    if isinstance(prompt, str):
        return model.encode(prompt)
    ids = arguments.token_ids("prompt", prompt, "a text or a list of token ids")
    size = len(vocabulary_of(model))
    unknown = [token for token in ids if not 0 <= token < size]
    if unknown:
        raise UsageError(f"the prompt has token {unknown[0]}, but the vocabulary has only {size} tokens")
    return ids


def check_index(index: object, name: str = "index") -> None:
    """Refuse a value that cannot constrain a text."""
    if index is None or isinstance(index, str):
        return
    hint = _what_to_give_for(index)
    arguments.given(name, index, "an index, a Dfa or a pattern", "refusal", hint=hint)
    if hasattr(index, "vocabulary"):
        arguments.given(name, index, "an index, a Dfa or a pattern", "guide", hint=hint)


def _what_to_give_for(index: object) -> str:
    """Return the hint for a value that is not an index."""
    if isinstance(index, re.Pattern):
        return "Of a compiled pattern give its .pattern."
    if isinstance(index, PathLike):
        return "A saved index is read with sfgen.Index.load(path, model.vocabulary)."
    if isinstance(index, Mapping):
        return "A JSON Schema is given as schema={…}."
    if isinstance(index, type) or hasattr(index, "__origin__"):  # list[Person]
        return f"A type that pydantic reads is given as schema={getattr(index, '__name__', index)!s:.60}."
    if isinstance(index, list | tuple | set | frozenset):
        return "Texts of which one is written are given as choices=[…]."
    return "A pattern is a str; for other constraints there are choices=, schema=, grammar= and template=."


def index_from(given: Mapping[str, Any]) -> GuideSource | Constraint | str | None:
    """Return the ``index`` of a configuration."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} cannot be used together", hint="Leave one of them out.")
    for name in names:
        if name in READ_BY_NAME:
            return READ_BY_NAME[name](given[name])
        check_index(given[name], name)
        return cast("GuideSource | Constraint | str", given[name])
    return None


def _pattern(regex: Any) -> str:
    return arguments.text("regex", regex, hint=_what_to_give_for(regex) if isinstance(regex, re.Pattern) else "")


def _choices(choices: Any) -> Dfa:
    return _dfa_of(arguments.text_list("choices", choices))


@lru_cache(maxsize=16)
def _dfa_of(choices: tuple[str, ...]) -> Dfa:
    """The same automaton each time, so that its index is made once."""
    from sfgen.automata import Dfa

    return Dfa.from_choices(choices)


def _schema(schema: Any) -> JsonSchema:
    from sfgen.schema.json_schema import JsonSchema

    return schema if isinstance(schema, JsonSchema) else JsonSchema(schema)


def _grammar(grammar: Any) -> Grammar:
    from sfgen.grammar.language.grammar import Grammar, GrammarSource

    if isinstance(grammar, Grammar):
        return grammar
    if not isinstance(grammar, PathLike):
        text = arguments.text("grammar", grammar)
        if text.endswith(_GRAMMAR_FILES) and "\n" not in text:
            raise UsageError(f"grammar is the name of a file: {text!r:.80}", hint="Give it as pathlib.Path(…).")
        return GrammarSource(text).grammar()
    path = arguments.path("grammar", grammar)
    return GrammarSource(_read(path), origin=fspath(path), directory=path.parent).grammar()


def _template(template: Any) -> Template:
    from sfgen.template.template import Template

    if isinstance(template, Template):
        return template
    if not isinstance(template, PathLike):
        return Template(arguments.text("template", template))
    path = arguments.path("template", template)
    return Template(_read(path).removesuffix("\n"), directory=path.parent, origin=fspath(path))


def _read(path: Path) -> str:
    try:
        return read_file(path).decode()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8: byte {error.start + 1}") from error


READ_BY_NAME: Mapping[str, Callable[[Any], Constraint | str]] = {
    "regex": _pattern,
    "choices": _choices,
    "schema": _schema,
    "grammar": _grammar,
    "template": _template,
}
"""The parameters that each take one kind of constraint in its plain form."""


def sampler_from(sampler: Sampler | None, given: Mapping[str, Any]) -> Sampler | None:
    """Return a sampler with some of its fields given by name."""
    if sampler is not None:
        arguments.instance("sampler", sampler, Sampler)
    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        return sampler
    if sampler is not None:
        return replace(sampler, **named)
    if any(name in named for name in DRAWING):
        named = {"temperature": 1.0, **named}
    return Sampler(**named)


def source_of(index: GuideSource | Constraint | str | None, vocabulary: Vocabulary) -> GuideSource | None:
    """Return an index as it is, or index another constraint."""
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
    """Return whether parts of the texts have their own temperature."""
    constraint = getattr(index, "constraint", index)
    return bool(getattr(constraint, "temperatures", ()))  # see HasTemperatures


def banned_of(banned: BannedWords | Iterable[str] | None) -> BannedWords | None:
    """Return banned words as they are, or make them from a list; an empty list bans nothing."""
    if banned is None or (isinstance(banned, list | tuple | set | frozenset) and not banned):
        return None
    from sfgen.ban import BannedWords

    return BannedWords.of(banned)


def word_bias_of(biases: WordBias | Mapping[str, float] | None) -> WordBias | None:
    """Return words with a bias as they are, or make them from a dictionary; an empty one is none."""
    if biases is None or (isinstance(biases, Mapping) and not biases):
        return None
    from sfgen.ban import WordBias

    return WordBias.of(biases)
