"""The JSON record of one generated text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfgen import BannedWords, Result
    from sfgen_cli.constraints import Constraint


def record(
    result: Result,
    *,
    prompt: str,
    model: str,
    seed: int | None,
    seconds: float,
    constraint: Constraint,
    pattern: str | None,
    banned: BannedWords | None,
) -> dict[str, Any]:
    """What ``--json`` prints for one text. Keys stay; more may be added."""
    fields: dict[str, Any] = {
        "text": result.text,
        "prompt": prompt,
        "model": model,
        "finish_reason": result.finish_reason,
        "token_ids": list(result.token_ids),
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": len(result.token_ids),
        "forward_passes": result.forward_passes,
        "forced_tokens": result.forced_tokens,
        "seed": seed,
        "seconds": round(seconds, 6),
    }
    if pattern is not None:
        fields["pattern"] = pattern
    if constraint.choices is not None:
        fields["choices"] = list(constraint.choices)
    if banned is not None:
        fields["banned"] = {"words": list(banned.words), "match": banned.match, "ignore_case": banned.ignore_case}
        fields["rollbacks"] = [
            {
                "position": event.position,
                "word": event.word,
                "text": event.text,
                "tokens": list(event.token_ids),
                "probability": event.probability,
            }
            for event in result.rollbacks
        ]
    return fields
