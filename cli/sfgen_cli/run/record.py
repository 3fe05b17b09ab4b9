"""The JSON record of one generated text."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfgen import Grammar, JsonSchema, Result
    from sfgen_cli.run.request import Request

RESULT_KEYS = frozenset(
    (
        *("text", "finish_reason", "token_ids", "prompt_tokens", "completion_tokens", "forward_passes"),
        *("forced_tokens", "seconds", "rollbacks", "moved_blocks", "value"),
    )
)
"""What a record has that was not known before the text was."""


def asked(request: Request, *, seed: int | None) -> dict[str, Any]:
    """What is known of a record before the text is: all of its keys but ``RESULT_KEYS``.

    Args:
        request: What was asked for.
        seed: What the text is drawn from; ``None`` where nothing is drawn.
    """
    fields: dict[str, Any] = {"prompt": request.prompt, "model": request.options.model, "seed": seed}
    if request.pattern is not None:
        fields["pattern"] = request.pattern
    if request.constraint.choices is not None:
        fields["choices"] = list(request.constraint.choices)
    if request.schema_name is not None:
        fields["schema"] = request.schema_name
    if request.grammar_name is not None:
        fields["grammar"] = request.grammar_name
    if (banned := request.banned) is not None:
        fields["banned"] = {
            "words": list(banned.words),
            "patterns": list(banned.patterns),
            "match": banned.match,
            "ignore_case": banned.ignore_case,
            "normalize": banned.normalize,
            "allow": list(banned.allow),
            "strategy": request.options.strategy,
        }
    if request.options.stop:
        fields["stop"] = list(request.options.stop)
    if request.reference:
        fields["engine"] = request.reference
    if not request.fast_forward:
        fields["fast_forward"] = False
    return fields


def schema_facts(schema: JsonSchema) -> dict[str, Any]:
    """How a schema is written, and by what it is known again, whatever the name of its file."""
    from sfgen.schema.words import as_json

    facts = schema.to_dict()
    facts["schema"] = sha256(as_json(schema.document.root).encode()).hexdigest()[:16]
    return facts


def grammar_facts(grammar: Grammar) -> dict[str, Any]:
    """How a grammar is read, and by what it is known again, whatever the name of its file."""
    facts = grammar.to_dict()
    files = facts.pop("files", {})
    told = "\0".join([grammar.text, *(part for file in sorted(files.items()) for part in file)])
    facts["grammar"] = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return facts


def record(request: Request, result: Result, *, seed: int | None, seconds: float) -> dict[str, Any]:
    """What ``--json`` prints for one text. Keys stay; more may be added.

    Args:
        request: What was asked for.
        result: What came out.
        seed: What the text was drawn from; ``None`` where nothing was drawn.
        seconds: How long it took.
    """
    fields: dict[str, Any] = {
        "text": result.text,
        "prompt": request.prompt,
        "model": request.options.model,
        "finish_reason": result.finish_reason,
        "token_ids": list(result.token_ids),
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": len(result.token_ids),
        "forward_passes": result.forward_passes,
        "forced_tokens": result.forced_tokens,
        "seed": seed,
        "seconds": round(seconds, 6),
        **asked(request, seed=seed),  # those of them that are above stay where they are
    }
    if request.schema_name is not None:
        fields["value"] = result.value
    if request.banned is not None:
        fields["rollbacks"] = [
            {
                "position": event.position,
                "word": event.word,
                "text": event.text,
                "tokens": list(event.token_ids),
                "probability": event.probability,
                "ruled_out": {"position": event.place, "tokens": event.ruled_out},
            }
            for event in result.rollbacks
        ]
        fields["moved_blocks"] = result.moved_blocks
    return fields
