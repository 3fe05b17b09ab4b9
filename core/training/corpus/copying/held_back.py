"""Pairs that no training text has: other templates, and words that are drawn for the evaluation alone."""

from __future__ import annotations

import json
from collections.abc import Callable

from .answers import told, with_pair
from .calls import TOOLS, called
from .extraction import Sentence, filled, keys_of
from .labels import LABELS
from .pair import Pair
from .queries import HELD_BACK as HELD_BACK_QUERIES
from .queries import asked
from .templates import HELD_BACK as HELD_BACK_TEMPLATES
from .told_facts import FACTS, HELD_BACK_TOLD
from .words import Words


def held_back_sentence(source: Words) -> Sentence:
    """A sentence of a held-back template."""
    templates = [template for subject in HELD_BACK_TEMPLATES.values() for template in subject]
    return filled(source, source.random.choice(templates))


def _extraction(source: Words) -> Pair:
    """All that the sentence says, in the usual layout, straight after it."""
    sentence = held_back_sentence(source)
    keys = keys_of(source.random, list(sentence.values))
    return Pair(sentence.text, _json({key: sentence.values[slot] for slot, key in keys.items()}))


def _answer(source: Words) -> Pair:
    place, templates = source.random.choice(HELD_BACK_TOLD)
    sentences, drawn = told(source, FACTS[place], source.random.choice((1, 2)), templates)
    chosen = source.random.choice(drawn)
    question = with_pair(source.random.choice(FACTS[place].second), chosen)
    return Pair(f"{' '.join([*sentences, question])} ", chosen["b"])


def _label(source: Words) -> Pair:
    labels = source.random.choice(LABELS)
    right = source.random.choice(list(labels.held_back))
    text = filled(source, source.random.choice(labels.held_back[right])).text
    return Pair(f"{text}\n{labels.titles[0]}: ", right)


def _query(source: Words) -> Pair:
    question, query = asked(source, source.random.choice(HELD_BACK_QUERIES))
    return Pair(question + "\n", query)


def _call(source: Words) -> Pair:
    tool = source.random.choice(TOOLS)
    text, name, arguments, _ = called(source, tool, source.random.choice(tool.held_back))
    return Pair(text, _json({"name": name, "arguments": arguments}))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


HELD_BACK_PAIRS: dict[str, Callable[[Words], Pair]] = {
    "extraction": _extraction,
    "answer": _answer,
    "label": _label,
    "query": _query,
    "call": _call,
}
"""Name of a kind to the function that writes a held-back pair of it."""
