"""The fields of other servers that are not supported, with the values that switch them off.

Clients such as SillyTavern send every field that some server knows, most of them with values that switch them off. Such
values are accepted. Any other value would change the text, so the request is refused. ``null`` switches any field off.

The names are those of OpenAI, vLLM, SGLang, llama.cpp's server, koboldcpp, tabbyAPI and text-generation-webui.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ABOUT_THE_ASKER = """user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention
    prompt_cache_options request_id rid priority cache_salt chat_id session_id genkey quiet extra_key routing_key
    include_obfuscation cache_control"""
_ABOUT_SPEED = """prediction cache_prompt id_slot n_keep n_discard n_cache_reuse keep_alive slot_id speculative_ngram
    timings_per_token return_progress generate_window max_context_length truncation_length num_ctx
    guided_decoding_backend disable_fallback"""
_ABOUT_PARTS_OF_ANSWERS = """spaces_between_special_tokens separate_reasoning stream_reasoning include_reasoning
    parse_tool_calls parallel_tool_calls preserved_tokens grammar_triggers"""
_ABOUT_WHAT_IS_OFF = """xtc_threshold dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers dry_range
    mirostat_tau mirostat_eta smoothing_curve dynatemp_exponent dynatemp_low dynatemp_high min_temp max_temp
    temp_exponent adaptive_decay rep_pen_slope max_tool_calls truncation"""  # or the request is refused

HARMLESS = frozenset(" ".join([_ABOUT_THE_ASKER, _ABOUT_SPEED, _ABOUT_PARTS_OF_ANSWERS, _ABOUT_WHAT_IS_OFF]).split())
"""Fields that do not change the text, with any value."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    # OpenAI
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "tool_calls": ([],),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "moderation": (False,),
    "annotations": ([],),
    "background": (False,),
    "conversation": (),
    "previous_response_id": (),
    "refusal": ("",),
    "reasoning": (),
    "encrypted_content": (),
    # vLLM and SGLang
    "use_beam_search": (False,),
    "length_penalty": (1,),
    "early_stopping": (False,),
    "ignore_eos": (False,),
    "min_tokens": (0,),
    "stop_token_ids": ([],),
    "stop_regex": ([],),
    "include_stop_str_in_output": (False,),
    "no_stop_trim": (False,),
    "prompt_logprobs": (0, False),
    "truncate_prompt_tokens": (),
    "skip_special_tokens": (True,),
    "allowed_token_ids": (),
    "logits_processors": ([],),
    "return_tokens_as_token_ids": (False,),
    "return_token_ids": (False,),
    "return_hidden_states": (False,),
    "continuous_usage_stats": (False,),
    "documents": ([],),
    "chat_template": ("",),
    "structural_tag": (),
    "whitespace_pattern": (),
    "guided_whitespace_pattern": (),
    "disable_any_whitespace": (False,),
    "disable_additional_properties": (False,),
    "lora_path": (),
    # llama.cpp's server
    "n_indent": (0,),
    "n_probs": (0,),
    "min_keep": (0,),
    "post_sampling_probs": (False,),
    "return_tokens": (False,),
    "t_max_predict_ms": (0, -1),
    "response_fields": ([],),
    "lora": ([],),
    "grammar_lazy": (False,),
    "reasoning_in_content": (False,),
    "thinking_forced_open": (False,),
    "reasoning_format": ("none", "auto"),
    "typical_p": (1, 0),
    "top_n_sigma": (-1, 0),
    "dynatemp_range": (0,),
    "mirostat": (0,),
    "dry_multiplier": (0,),
    "xtc_probability": (0,),
    "repeat_penalty": (1,),
    # koboldcpp, tabbyAPI, text-generation-webui
    "typical": (1, 0),
    "tfs_z": (1,),
    "tfs": (1,),
    "top_a": (0,),
    "nsigma": (0, -1),
    "top_nsigma": (-1, 0),
    "skew": (0,),
    "smoothing_factor": (0,),
    "dynamic_temperature": (False,),
    "adaptive_target": (0, -1),
    "mirostat_mode": (0,),
    "rep_pen": (1,),
    "memory": ("",),
    "images": ([],),
    "bypass_eos": (False,),
    "ban_eos_token": (False,),
    "use_default_badwordsids": (False,),
    "render_special": (False,),
    "trim_stop": (True,),
    "allowed_tokens": ([],),
    "cfg_scale": (1,),
    "guidance_scale": (1,),
    "negative_prompt": ("",),
    "penalty_alpha": (0,),
    "epsilon_cutoff": (0,),
    "eta_cutoff": (0,),
    "num_beams": (1,),
    "no_repeat_ngram_size": (0,),
    "encoder_repetition_penalty": (1,),
    "min_length": (0,),
    "do_sample": (True,),
    "prompt_template": (),
}
"""Unsupported fields, each with the values that switch it off; ``null`` always does."""

_SPAN = ("repeat_last_n", "repetition_penalty_range", "rep_pen_range", "penalty_range", "repetition_range")
_ORDER = ("samplers", "sampler_priority", "sampler_order", "sampler_seq", "temperature_last")
_TRUNCATING = (("top_k", (None, 0, -1)), ("top_p", (None, 1)), ("min_p", (None, 0)), ("temperature", (None, 1, 0)))


@dataclass(frozen=True)
class Fault:
    """The reason why a request is refused because of a field.

    Attributes:
        why: The rest of a sentence that begins with the field.
        hint: The advice.
        is_unknown: Whether it is a field of no known server.
    """

    why: str
    hint: str = "Leave it out."
    is_unknown: bool = False


def fault_of(name: str, value: Any, settings: Mapping[str, Any]) -> Fault | None:
    """Return the fault of an unsupported field; ``None`` if its value switches it off.

    >>> fault_of("dry_multiplier", 0, {}), fault_of("dry_multiplier", 0.8, {}).hint
    (None, 'Leave it out, or give 0.')

    Args:
        name: A field that is not supported.
        value: Its value.
        settings: The supported fields of the request, and for a chat whether the answer continues its last message
            (``goes_on``).
    """
    if value is None or name in HARMLESS:
        return None
    if name in _SPAN:  # the repetition penalty here counts all tokens
        idle = settings.get("repetition_penalty", 1) == 1 or (value == -1 and type(value) is int)
        return None if idle else Fault("bounds the repetition penalty, which counts all tokens here")
    if name in _ORDER:
        active = [each for each, idle in _TRUNCATING if settings.get(each) not in idle]
        idle = len(active) < 2 or value in ([], False)
        return None if idle else Fault(f"orders samplers, and the order here is fixed for {' and '.join(active)}")
    if name in ("add_generation_prompt", "continue_final_message"):
        goes_on = settings.get("goes_on", False)
        wanted = goes_on == (name == "continue_final_message")
        end = "a last message of the assistant is continued" if goes_on else "the assistant begins an answer"
        return None if value is wanted else Fault(f"is not supported: {end}", f"Leave it out, or give {_json(wanted)}.")
    if name == "add_special_tokens":  # a chat template writes them itself
        wanted = "goes_on" not in settings
        return None if value is wanted else Fault("is not supported", f"Leave it out, or give {_json(wanted)}.")
    neutral = NEUTRAL.get(name)
    if neutral is None:
        return Fault("is not a field that this server knows", is_unknown=True)
    if any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in neutral):
        return None
    return Fault("is not supported", f"Leave it out, or give {' or '.join(map(_json, neutral)) or 'null'}.")


def _json(value: Any) -> str:
    return json.dumps(value)
