"""The bodies of requests: OpenAI's fields, those that clients of other servers send, and ours.

A field either is kept to, or has a value that asks for nothing, or is harmless, or refuses the request: nothing that
would change the text is ever ignored. ``Wish`` is what a request asks for, in the library's words.

The names of others: ``guided_*`` and ``structured_outputs`` are vLLM's, ``grammar`` and ``json_schema`` llama-server's,
``regex`` and ``ebnf`` SGLang's, ``banned_strings`` and ``banned_tokens`` koboldcpp's and tabbyAPI's, ``banned_regex``
ik_llama.cpp's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfgen.errors import SfgenError
from sfgen.jobs.prompt_record import Instructions, OwnConstraint

MOST_SAMPLES = 128
MOST_LOGPROBS = 20


class Refused(SfgenError):
    """A request that is not kept to.

    Attributes:
        param: The field, as a path.
        code: What is wrong with it, in one word.
    """

    def __init__(self, message: str, param: str | None, code: str = "unsupported_value", hint: str = "") -> None:
        self.param, self.code = param, code
        super().__init__(message, hint=hint)


class _Body(BaseModel):
    model_config = ConfigDict(extra="allow")


class StreamOptions(_Body):
    """How a stream is told."""

    include_usage: bool = False


class JsonSchemaFormat(_Body):
    """A schema by name, as OpenAI's ``response_format`` has it."""

    name: str = "schema"
    description: str | None = None
    schema_: dict[str, Any] | bool | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseFormat(_Body):
    """The form of an answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaFormat | None = None


class StructuredOutputs(_Body):
    """What the text must match, as vLLM names it."""

    json_: dict[str, Any] | bool | str | None = Field(default=None, alias="json")
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None


class TextRequest(_Body):
    """The fields that completions and chat have in common."""

    model: str | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = Field(default=1, ge=1, le=MOST_SAMPLES)
    seed: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = Field(default=None, ge=0)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = None
    min_p: float | None = Field(default=None, ge=0, le=1)
    repetition_penalty: float | None = Field(default=None, gt=0)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    logit_bias: dict[str, float] | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | bool | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    json_schema: dict[str, Any] | bool | None = None
    regex: str | None = None
    ebnf: str | None = None
    banned_strings: list[str] | str | None = None
    banned_tokens: list[str | int] | str | None = None
    banned_regex: list[str] | str | None = None
    sfgen: dict[str, Any] | None = None


class CompletionRequest(TextRequest):
    """A request to ``/v1/completions``."""

    prompt: str | list[str] | list[int] | list[list[int]] = ""
    logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)


class TextPart(_Body):
    """A part of a message: only text is known."""

    type: Literal["text"]
    text: str


class ChatMessage(_Body):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    name: str | None = None


class ChatRequest(TextRequest):
    """A request to ``/v1/chat/completions``."""

    messages: list[ChatMessage] = Field(min_length=1)
    max_completion_tokens: int | None = Field(default=None, ge=0)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=MOST_LOGPROBS)
    chat_template_kwargs: dict[str, Any] | None = None


HARMLESS = frozenset(
    [
        "user",
        "metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "cache_prompt",
        "request_id",
        "skip_special_tokens",
        "add_special_tokens",
        "id_slot",
        "timings_per_token",
        "return_progress",
    ]
)
"""Fields that change no text here, whatever their value."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "parallel_tool_calls": (True, False),
    "modalities": (["text"],),
    "use_beam_search": (False,),
    "length_penalty": (1,),
    "early_stopping": (False,),
    "ignore_eos": (False,),
    "min_tokens": (0,),
    "typical_p": (1, 0),
    "typical": (1, 0),
    "tfs_z": (1,),
    "tfs": (1,),
    "top_a": (0,),
    "top_nsigma": (-1, 0),
    "smoothing_factor": (0,),
    "dynatemp_range": (0,),
    "dynatemp_exponent": (1,),
    "mirostat": (0,),
    "mirostat_mode": (0,),
    "dry_multiplier": (0,),
    "xtc_probability": (0,),
    "repeat_penalty": (1,),
    "rep_pen": (1,),
    "logits_processors": ([],),
    "prompt_logprobs": (0,),
    "truncate_prompt_tokens": (),
    "stop_token_ids": ([],),
    "include_stop_str_in_output": (False,),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
}
"""Fields that are not kept to, and the values that ask for nothing; ``null`` is one of each."""


@dataclass(frozen=True)
class Wish:
    """What a request asks of each of its texts.

    Attributes:
        constraint: What the text must match.
        config: Parameters of ``GenerationConfig`` besides.
        max_tokens: The most tokens; ``None``: what the context leaves.
        samples: How many texts.
        top_logprobs: How many likeliest tokens are told at each; ``None``: no log-probabilities.
        fields: The field that each part came from, for errors.
    """

    constraint: OwnConstraint | None
    config: dict[str, Any]
    max_tokens: int | None
    samples: int
    top_logprobs: int | None
    fields: dict[str, str] = field(default_factory=dict)


def wish_of(body: CompletionRequest | ChatRequest) -> Wish:
    """Read what a request asks for.

    Raises:
        Refused: A field that would change the text is not known, or two ask for different things.
        SfgenError: A part of it cannot be read.
    """
    _refuse_unknown(body, "")
    own = Instructions.of(body.sfgen) if body.sfgen else Instructions()
    kinds = dict(_constraints(body))
    if own.constraint is not None:
        kinds["sfgen"] = own.constraint
    if len(kinds) > 1:
        raise Refused(f"{' and '.join(kinds)} cannot be used together", next(iter(kinds)), "conflict", "Leave one out.")
    field_name, constraint = next(iter(kinds.items()), (None, None))
    config = _sampling(body) | _banned(body, own)
    limits = [body.max_tokens, own.max_tokens, getattr(body, "max_completion_tokens", None)]
    given = [limit for limit in limits if limit is not None]
    fields = {} if field_name is None else {"constraint": field_name}
    return Wish(constraint, config, min(given, default=None), body.n, _logprobs(body), fields)


def _refuse_unknown(body: _Body, path: str) -> None:
    """Refuse what is not known here, at any depth, unless its value asks for nothing."""
    for name, value in (body.model_extra or {}).items():
        neutral = NEUTRAL.get(name)
        if value is None or name in HARMLESS or (neutral is not None and any(value == item for item in neutral)):
            continue
        where = f"{path}{name}"
        if neutral is None:
            raise Refused(f"{where} is not a field that this server knows", where, "unknown_parameter", "Leave it out.")
        wanted = " or ".join(json.dumps(item) for item in neutral)
        raise Refused(f"{where} is not supported", where, hint=f"Leave it out, or give {wanted or 'null'}.")
    for name in type(body).model_fields:
        value = getattr(body, name)
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, _Body):
                place = f"[{number}]" if isinstance(value, list) else ""
                _refuse_unknown(item, f"{path}{name}{place}.")


def _constraints(body: TextRequest) -> Sequence[tuple[str, OwnConstraint]]:
    """The constraints that a request names, by their fields."""
    found: list[tuple[str, OwnConstraint]] = []

    def add(name: str, kind: Any, value: Any) -> None:
        if value is not None:
            found.append((name, OwnConstraint(kind, json.dumps(value))))

    form = body.response_format
    if form is not None and form.type == "json_object":
        add("response_format", "schema", {"type": "object"})
    if form is not None and form.type == "json_schema":
        if form.json_schema is None or form.json_schema.schema_ is None:
            raise Refused("response_format has no schema", "response_format.json_schema.schema", "missing")
        add("response_format", "schema", form.json_schema.schema_)
    given = body.structured_outputs
    if given is not None:
        add("structured_outputs.json", "schema", _schema(given.json_))
        add("structured_outputs.regex", "regex", given.regex)
        add("structured_outputs.choice", "choices", given.choice)
        add("structured_outputs.grammar", "grammar", given.grammar)
        add("structured_outputs.json_object", "schema", {"type": "object"} if given.json_object else None)
    add("guided_json", "schema", _schema(body.guided_json))
    add("guided_regex", "regex", body.guided_regex)
    add("guided_choice", "choices", body.guided_choice)
    add("guided_grammar", "grammar", body.guided_grammar)
    add("grammar", "grammar", body.grammar or None)
    add("json_schema", "schema", body.json_schema)
    add("regex", "regex", body.regex)
    add("ebnf", "grammar", body.ebnf)
    return found


def _schema(value: Any) -> Any:
    """A schema as an object: vLLM takes its text, too."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise Refused(f"the schema is not valid JSON: {error}", "json", "invalid_json") from None


def _sampling(body: TextRequest) -> dict[str, Any]:
    """The parameters of the sampler."""
    names = ("seed", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty")
    found: dict[str, Any] = {name: getattr(body, name) for name in names}
    found["temperature"] = 1.0 if body.temperature is None else body.temperature
    found["top_k"] = None if body.top_k in (None, 0, -1) else body.top_k
    found["top_p"] = None if body.top_p == 1 else body.top_p
    if body.logit_bias:
        found["logit_bias"] = {_token("logit_bias", token): bias for token, bias in body.logit_bias.items()}
    if found["temperature"] == 0:
        found["seed"] = None  # nothing is drawn
    stop = [body.stop] if isinstance(body.stop, str) else body.stop
    if stop:
        found["stop"] = stop
    return {name: value for name, value in found.items() if value is not None}


def _token(name: str, token: str) -> int:
    if not token.lstrip("-").isdigit():
        raise Refused(f"{name} has the key {token!r}, which is not the id of a token", name, "invalid_value")
    return int(token)


def _banned(body: TextRequest, own: Instructions) -> dict[str, Any]:
    """What the text must not contain."""
    words = [*_listed(body.banned_strings), *(own.ban or ())]
    ids: list[int] = []
    for token in _listed(body.banned_tokens):
        if isinstance(token, int):
            ids.append(token)
        else:
            words.append(token)
    patterns = _listed(body.banned_regex)
    found: dict[str, Any] = {}
    if words or patterns:
        found["banned"] = {"words": words, "patterns": patterns, "match": "word" if own.ban else "substring"}
    if ids:
        found["banned_ids"] = ids
    return found


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _logprobs(body: TextRequest) -> int | None:
    """How many likeliest tokens are told."""
    if isinstance(body, CompletionRequest):
        return body.logprobs
    assert isinstance(body, ChatRequest)
    if not body.logprobs:
        if body.top_logprobs:
            raise Refused("top_logprobs needs logprobs", "top_logprobs", "missing", "Give logprobs: true.")
        return None
    return body.top_logprobs or 0
