"""What a page says of a run before its first step."""

from __future__ import annotations

import json
from typing import Any

from sfgen.trace.lines import Scene
from sfgen_cli.page.columns import clean

_MOST_CHOICES = 200


def facts(scene: Scene) -> dict[str, Any]:
    """Gather the facts of a scene, as ``json`` can write them."""
    return {
        "prompt": clean(scene.prompt),
        "about": about(scene),
        "constraint": _constraint(scene),
        "banned": [clean(word) for word in (*scene.words, *scene.banned_patterns, *scene.word_bias)],
        "after": None if scene.after is None else clean(scene.after),
        "when": None if scene.when is None else clean(scene.when),
        "isConstrained": scene.is_constrained,
        "hasStates": scene.is_guided and not scene.tells_where,
    }


def about(scene: Scene) -> list[str]:
    """Name the model, the size of its vocabulary, the seed, and the line of the prompt."""
    named = [clean(scene.model), f"{scene.vocabulary_size:,} tokens in the vocabulary"]
    if scene.seed is not None:
        named.append(f"seed {scene.seed}")
    if scene.line is not None:
        named.append(f"line {scene.line}")
    return named


def _constraint(scene: Scene) -> dict[str, Any] | None:
    """What the text is written by: its kind, its text or name, and its source where that is another text."""
    if scene.pattern is not None:
        return {"kind": "pattern", "text": clean(scene.pattern), "source": None}
    if scene.choices is not None:
        shown = [clean(choice) for choice in scene.choices[:_MOST_CHOICES]]
        return {"kind": "choices", "choices": shown, "more": len(scene.choices) - len(shown)}
    for kind, name, source in (
        ("schema", scene.schema, scene.schema_json),
        ("grammar", scene.grammar, scene.grammar_json),
        ("template", scene.template, scene.template_json),
        ("substring", scene.substring, None),
    ):
        if name is not None:
            return {"kind": kind, "text": clean(name), "source": _source(kind, source)}
    return None


def _source(kind: str, source: str | None) -> str | None:
    """The text of a schema, grammar or template, without the options of how it is read."""
    if source is None:
        return None
    try:
        value = json.loads(source)
    except (ValueError, RecursionError):  # a trace may come from anybody
        return clean(source)
    inner = value.get(kind, value) if isinstance(value, dict) else value
    return clean(inner if isinstance(inner, str) else json.dumps(inner, indent=2, ensure_ascii=False))
