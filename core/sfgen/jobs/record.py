"""The JSON record of one generated text, or of the scores of some choices."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sfgen.decoding.plain_forms import word_bias_of

if TYPE_CHECKING:
    from sfgen.decoding import Result
    from sfgen.jobs.job import Job
    from sfgen.scoring.loop import Scored

_KEPT = 16  # hexadecimal digits of a digest

RESULT_KEYS = frozenset(
    (
        *("text", "finish_reason", "token_ids", "prompt_tokens", "completion_tokens", "forward_passes"),
        *("forced_tokens", "seconds", "healed", "thought", "calls", "rollbacks", "moved_blocks", "value", "groups"),
        "logprobs",
        *("scores", "total_probability", "rendered"),
    )
)
"""What a record has that was not known before the text was."""


def asked(job: Job, prompt: str, *, seed: int | None) -> dict[str, Any]:
    """Return the keys of a record that are known before the text.

    These are all of its keys but ``RESULT_KEYS``.

    Args:
        job: The job.
        prompt: The user's text.
        seed: What the text is drawn from; ``None`` where nothing is drawn.
    """
    config, facts = job.config, job.constraint
    messages = {"messages": list(job.messages)} if job.messages else {}
    if job.scored is not None:
        return {"prompt": prompt, **messages, "model": job.model_name, **facts.named()}
    fields: dict[str, Any] = {"prompt": prompt, **messages, "model": job.model_name, "seed": seed, **facts.named()}
    if (banned := job.banned) is not None:
        fields["banned"] = {
            "words": list(banned.words),
            "patterns": list(banned.patterns),
            "match": banned.match,
            "ignore_case": banned.ignore_case,
            "normalize": banned.normalize,
            "allow": list(banned.allow),
            "strategy": config.strategy,
        }
    if (biases := word_bias_of(config.word_bias)) is not None:
        fields["word_bias"] = {
            "words": biases.biases,
            "match": biases.match,
            "ignore_case": biases.ignore_case,
            "normalize": biases.normalize,
        }
    if config.after is not None:
        fields["after"] = config.after
    if config.when is not None:
        fields["when"] = config.when
    if config.stop:
        fields["stop"] = list(config.stop)
    if facts.engine is not None:
        fields["engine"] = facts.engine
    if not config.fast_forward:
        fields["fast_forward"] = False
    if config.heal is not None:
        fields["heal"] = config.heal
    return fields


def options(job: Job) -> dict[str, Any]:
    """Return the options of a text that no other key tells.

    Numbers that need not be whole are floats: lines are compared as they are written, and 1 is the option 1.0.
    """
    config, sampler, spec = job.config, job.sampler, job.spec
    named: dict[str, Any] = {"scores": True}
    if job.scored is None:
        named = {"temperature": float(sampler.temperature), "max_tokens": config.max_tokens}
        if sampler.top_k is not None:
            named["top_k"] = sampler.top_k
        for name in ("top_p", "min_p"):
            if (value := getattr(sampler, name)) is not None:
                named[name] = float(value)
        for name, without in (("frequency_penalty", 0), ("presence_penalty", 0), ("repetition_penalty", 1)):
            if (value := getattr(sampler, name)) != without:
                named[name] = float(value)
        if sampler.logit_bias:
            named["logit_bias"] = {str(token): float(bias) for token, bias in sampler.logit_bias.items()}
    if spec is not None and spec.tokenizer is not None:
        named["tokenizer"] = str(spec.tokenizer)
    if spec is not None and spec.dtype != "auto":
        named["dtype"] = spec.dtype
    if job.chat:
        named["chat"] = True
    if job.prompt_template is not None:
        named["prompt_template"] = job.prompt_template
    if job.is_chat and job.tools is not None:
        named["tools"] = sha256(json.dumps(job.tools).encode()).hexdigest()[:_KEPT]
    if config.after is not None:
        named["after_tokens"] = config.after_tokens
    if config.logprobs:
        named["logprobs"] = True
    named |= job.constraint.known_again()
    if config.strategy == "exact":
        named |= {"strategy": config.strategy, "max_passes": config.max_passes}
    if job.takes_back:
        named |= {"max_block": config.max_block, "max_rollbacks": config.max_rollbacks}
    return named


def record(
    job: Job, prompt: str, result: Result, *, seed: int | None, seconds: float, rendered: str | None = None
) -> dict[str, Any]:
    """Return the record of one text.

    Keys stay; more may be added.

    Args:
        job: The job.
        prompt: The user's text.
        result: What came out.
        seed: What the text was drawn from; ``None`` where nothing was drawn.
        seconds: How long it took.
        rendered: The prompt as the chat template writes it; ``None``: there is no chat.
    """
    fields: dict[str, Any] = {
        "text": result.text,
        "prompt": prompt,
        "model": job.model_name,
        "finish_reason": result.finish_reason,
        "token_ids": list(result.token_ids),
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": len(result.token_ids),
        "forward_passes": result.forward_passes,
        "forced_tokens": result.forced_tokens,
        "healed": result.healed,
        "seed": seed,
        "seconds": round(seconds, 6),
        **asked(job, prompt, seed=seed),  # those of them that are above stay where they are
    }
    if rendered is not None:
        fields["rendered"] = rendered
    if result.thought is not None:
        fields["thought"] = result.thought
    if result.calls is not None:
        fields["calls"] = list(result.calls)
    elif job.constraint.has_values:
        fields["value"] = result.value
    if result.calls is None and (result.named or job.constraint.has_groups):
        fields["groups"] = None if result.named is None else result.groups
    if result.logprobs is not None:
        fields["logprobs"] = [
            {"token_id": token, "model": logprob.model, "mask": logprob.mask}
            for token, logprob in zip(result.token_ids, result.logprobs, strict=True)
        ]
    if job.takes_back:
        fields["rollbacks"] = [
            {
                "position": event.position,
                "word": event.word,
                "text": event.text,
                "tokens": list(event.token_ids),
                "probability": event.probability,
                "ruled_out": {"position": event.place, "tokens": event.ruled_out},
                **({} if event.bias is None else {"bias": event.bias}),
            }
            for event in result.rollbacks
        ]
        fields["moved_blocks"] = result.moved_blocks
    return fields


def scores_record(
    job: Job, prompt: str, scored: Scored, *, seconds: float, rendered: str | None = None
) -> dict[str, Any]:
    """Return the record of the scores after one prompt.

    Keys stay; more may be added.

    Args:
        job: The job.
        prompt: The user's text.
        scored: What came out.
        seconds: How long it took.
        rendered: The prompt as the chat template writes it; ``None``: there is no chat.
    """
    return {
        "text": scored.scores[0].text,
        "scores": [
            {
                "text": score.text,
                "probability": score.probability,
                "logprob": score.logprob if math.isfinite(score.logprob) else None,
                "tokens": list(score.tokens),
            }
            for score in scored.scores
        ],
        "total_probability": scored.total_probability,
        "prompt_tokens": scored.prompt_tokens,
        "forward_passes": scored.forward_passes,
        "seconds": round(seconds, 6),
        **asked(job, prompt, seed=None),
        **({} if rendered is None else {"rendered": rendered}),
    }
