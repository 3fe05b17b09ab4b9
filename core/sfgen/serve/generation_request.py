"""Read and check a request: its fields become parameters of the library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

from sfgen.ban.entries import MatchMode
from sfgen.errors import BannedWordsError, DeadEnd, InputError, LimitTooSmall, PatternError, SfgenError
from sfgen.jobs.prompt_record import ConstraintKind, Instructions, OwnConstraint
from sfgen.models.messages import Message, Tools, checked_variables
from sfgen.models.tool_forms import NAMED, ToolForm, plain_form
from sfgen.serve.bodies import (
    AllowedTools,
    ChatRequest,
    CompletionRequest,
    NamedTool,
    OwnKeys,
    Refused,
    ResponseFormat,
    StructuredOutputs,
    TextRequest,
    refuse_unknown,
)
from sfgen.serve.compile_worker import Ban
from sfgen.serve.engine import SlowMask

MOST_STOPS = 1024

AS_MANY_AS_FIT = -1
"""The value of ``max_tokens`` that sets no limit, as in llama-server."""

_SPACED = re.compile(r"\S+( \S+)*")


@dataclass(frozen=True)
class Calling:
    """The function calls that a request lets a model write.

    Attributes:
        tools: The functions that may be called.
        is_free: Whether the model may also call none.
        most: The most calls; ``None``: any number.
    """

    tools: Tools
    is_free: bool
    most: int | None

    def constraint(self, form: ToolForm | None) -> OwnConstraint:
        """Return the calls as a constraint, in the form of a model's chat template; ``None`` if it has none.

        Raises:
            Refused: Calls are written between free text, and nothing marks their begin.
        """
        if self.is_free and (form is None or not form.begin):
            why = "the chat template of this model has no form for tool calls"
            raise Refused(why, "tool_choice", hint='Give "required", the name of a function, or "none".')
        form = form or NAMED["json"]
        told = {
            "tools": self.tools,
            "tool_format": plain_form(form),
            "at_most": 1 if form.separator is None and not self.is_free else self.most,
            "in_text": self.is_free,
            "ends_text": self.is_free and self.most is not None,  # else more calls could follow after some text
        }
        return OwnConstraint("tools", json.dumps(told))


@dataclass(frozen=True)
class ThoughtOptions:
    """The part of a request about the thought.

    Attributes:
        is_apart: Whether it is separated from the answer; ``None``: if the chat template shows that the model thinks.
        is_told: Whether the answer includes it.
        effort: The effort of thinking, such as ``none``; ``None``: the default of the template.
        most: The most tokens of the thought; ``None``: all that the answer does not need.
    """

    is_apart: bool | None = None
    is_told: bool = True
    effort: str | None = None
    most: int | None = None

    @classmethod
    def of(cls, body: ChatRequest) -> ThoughtOptions:
        """Read the fields of a chat.

        Raises:
            Refused: Two fields ask for different things.
        """
        forms = {"none": False, "deepseek": True}
        named = {
            "reasoning_format": forms.get(body.reasoning_format or ""),
            "separate_reasoning": False if body.separate_reasoning is False else None,
        }
        asked = {value for value in named.values() if value is not None}
        if len(asked) > 1:
            raise Refused("reasoning_format and separate_reasoning differ", "separate_reasoning", "conflict")
        limits = {
            limit
            for limit in (body.thinking_token_budget, body.thinking_budget_tokens)
            if limit is not None and limit >= 0
        }
        return cls(
            asked.pop() if asked else None,
            body.include_reasoning is not False,
            body.reasoning_effort,
            min(limits, default=None),
        )


@dataclass(frozen=True)
class GenerationRequest:
    """A request that was read and checked: the parameters of all its texts.

    Attributes:
        constraint: The constraint of the text.
        config: Further parameters of ``GenerationConfig``.
        ban: The banned words of the text.
        never: The ids of tokens that are never written.
        max_tokens: The most tokens; ``AS_MANY_AS_FIT``: no limit but the context's; ``None``: the endpoint's default.
        samples: The number of texts.
        top_logprobs: The number of likeliest tokens in the answer at each token; ``None``: no log-probabilities.
        messages: The conversation; empty for completions.
        variables: Variables of the chat template.
        fields: The field of the request for each parameter, for errors.
        tools: The tools for the chat template.
        calling: The calls of these that may be written; ``None``: none.
        thought: The part about the thought before the answer.
    """

    constraint: OwnConstraint | None
    config: dict[str, Any]
    ban: Ban | None
    never: frozenset[int]
    max_tokens: int | None
    samples: int
    top_logprobs: int | None
    messages: tuple[Message, ...] = ()
    variables: Mapping[str, Any] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    tools: Tools = ()
    calling: Calling | None = None
    thought: ThoughtOptions = field(default_factory=ThoughtOptions)

    def field_of(self, error: SfgenError) -> str | None:
        """Return the field that caused an error; ``None`` if unknown."""
        if isinstance(error, Refused):
            return error.param
        for kind, name in (
            (LimitTooSmall, "max_tokens"),
            (BannedWordsError, "banned"),
            (InputError, "prompt"),
            (SlowMask, "index"),
            (PatternError, "patterns"),  # the pattern of the constraint was compiled before
        ):
            if isinstance(error, kind):
                return self.fields.get(name)
        named = (*getattr(error.message, "parameters", ()), *getattr(error.hint, "parameters", ()))
        found = next((self.fields[name] for name in named if name in self.fields), None)
        return self.fields.get("index") if found is None and isinstance(error, DeadEnd) else found


def read_request(body: CompletionRequest | ChatRequest) -> GenerationRequest:
    """Read the fields of a request.

    Raises:
        Refused: A field that would change the text is not supported, or two fields contradict each other.
        SfgenError: A part of it cannot be read.
    """
    refuse_unknown(body, "")
    own = body.sfgen or OwnKeys()
    fields = {"prompt": "messages" if isinstance(body, ChatRequest) else "prompt", "variables": "chat_template_kwargs"}
    fields["effort"] = "reasoning_effort"
    found = list(_constraints(body, own))
    if len(found) > 1:
        names = " and ".join(name for name, _ in found)
        raise Refused(f"{names} cannot be used together", found[-1][0], "conflict", "Leave one out.")
    constraint = None
    if found:
        fields["index"], constraint = found[0]
    if body.numbers is not None and constraint is not None and constraint.kind == "schema":
        constraint = replace(constraint, numbers=body.numbers)
    elif body.numbers == "any":
        raise Refused("numbers needs a schema", "numbers", "conflict", "Leave it out.")
    config = _sampling(body, own) | _writing(body, own, fields)
    if constraint is not None and "stop" in config:
        raise Refused(
            f"stop and {fields['index']} cannot be used together: a constraint itself determines the end of the text",
            "stop",
            "conflict",
            "Leave stop out.",
        )
    tools = _described(body) if isinstance(body, ChatRequest) else ()
    calling = _calling(body, tools) if isinstance(body, ChatRequest) else None
    if calling is not None:
        for name in [*(["stop"] if "stop" in config else []), *([fields["index"]] if constraint is not None else [])]:
            hint = 'Leave it out, or give "tool_choice": "none".'
            raise Refused(f"{name} and tools cannot be used together", name, "conflict", hint)
    ban = _ban(body, own, fields)
    variables = body.chat_template_kwargs if isinstance(body, ChatRequest) else None
    try:
        checked_variables(variables)
    except SfgenError as error:
        raise Refused(error.message, fields["variables"], "invalid_value", error.hint) from None
    top_logprobs = _logprobs(body)
    if top_logprobs is not None and own.strategy == "exact":
        raise Refused("logprobs and the strategy exact cannot be used together", "logprobs", "conflict")
    return GenerationRequest(
        constraint,
        config,
        ban,
        frozenset(_never(body)),
        _limit(body, own, fields),
        body.n or 1,
        top_logprobs,
        _conversation(body, own),
        variables,
        fields,
        tools if calling is not None else (),
        calling,
        ThoughtOptions.of(body) if isinstance(body, ChatRequest) else ThoughtOptions(),
    )


def _described(body: ChatRequest) -> Tools:
    """The tools of a chat, in the form that chat templates take."""
    kept = {"type", "function", "name", "description", "parameters"}
    told = [tool.model_dump(exclude_none=True) for tool in body.tools or ()]
    return [{**tool, "function": {name: tool["function"][name] for name in tool["function"] if name in kept}}
            for tool in told]  # fmt: skip


def _calling(body: ChatRequest, tools: Tools) -> Calling | None:
    """The calls that a chat lets a model write.

    Raises:
        Refused: There is no such tool.
    """
    choice = body.tool_choice
    most = 1 if body.parallel_tool_calls is False else None
    is_free = choice != "required"
    if isinstance(choice, NamedTool):
        tools, is_free, most = _named(tools, [choice], "tool_choice"), False, 1
    elif isinstance(choice, AllowedTools):
        tools = _named(tools, choice.allowed_tools.tools, "tool_choice.allowed_tools.tools")
        is_free = choice.allowed_tools.mode == "auto"
    if not tools and not is_free:
        raise Refused("a call is required, and there are no tools", "tool_choice", hint="Give tools.")
    if not tools or choice == "none":
        return None
    return Calling(tools, is_free, most)


def _named(tools: Tools, choices: Sequence[NamedTool], path: str) -> Tools:
    """The tools with given names.

    Raises:
        Refused: No tool has one of them.
    """
    known, asked = {tool["function"]["name"] for tool in tools}, [each.function.name for each in choices]
    for name in asked:
        if name not in known:
            raise Refused(f"there is no tool {name!r:.60}", f"{path}.function.name", "invalid_value")
    return [tool for tool in tools if tool["function"]["name"] in asked]


def _constraints(body: TextRequest, own: OwnKeys) -> Iterator[tuple[str, OwnConstraint]]:
    """The constraints that a request names, by their fields."""
    form = body.response_format
    if form is not None and form.type != "text":
        yield _of_form(form)
    elif form is not None and (form.json_schema is not None or form.schema_ is not None):
        raise Refused("response_format has a schema and the type text", "response_format.type", "conflict")
    outputs = body.structured_outputs or StructuredOutputs()
    named: list[tuple[str, ConstraintKind, Any]] = [
        ("structured_outputs.json", "schema", outputs.json_),
        ("structured_outputs.regex", "regex", outputs.regex),
        ("structured_outputs.choice", "choices", outputs.choice),
        ("structured_outputs.grammar", "grammar", outputs.grammar),
        ("structured_outputs.json_object", "schema", {"type": "object"} if outputs.json_object else None),
        ("guided_json", "schema", body.guided_json),
        ("guided_regex", "regex", body.guided_regex or None),
        ("guided_choice", "choices", body.guided_choice),
        ("guided_grammar", "grammar", body.guided_grammar or None),
        ("grammar", "grammar", body.grammar or None),
        ("grammar_string", "grammar", body.grammar_string or None),
        ("json_schema", "schema", body.json_schema),
        ("regex", "regex", body.regex),
        ("regex_pattern", "regex", body.regex_pattern or None),
        ("ebnf", "grammar", body.ebnf or None),
    ]
    for name, kind, value in named:
        if value is None:
            continue
        if kind == "schema" and isinstance(value, str) and value.strip()[:1] not in ("{", "t", "f"):
            raise Refused(f"{name} is a text, not a JSON Schema", name, "invalid_value", "Give it as an object.")
        yield name, _data(kind, value)
    record = own.model_dump(by_alias=True, exclude_none=True, include=_OF_RECORDS)
    try:
        told = Instructions.of(record)
    except SfgenError as error:
        raise Refused(error.message, "sfgen", "invalid_value", error.hint) from None
    if told.constraint is not None:
        yield f"sfgen.{told.constraint.kind}", told.constraint
    if own.template is not None:
        yield "sfgen.template", _data("template", own.template)


def _of_form(form: ResponseFormat) -> tuple[str, OwnConstraint]:
    """The constraint of a ``response_format``, by its field."""
    if form.json_schema is not None and (form.type == "json_object" or form.schema_ is not None):
        why = "response_format has json_schema beside " + ("schema" if form.schema_ is not None else "json_object")
        raise Refused(why, "response_format.json_schema", "conflict", "Leave one out.")
    if form.type == "json_object":
        return "response_format", _data("schema", {"type": "object"} if form.schema_ is None else form.schema_)
    given = form.schema_ if form.json_schema is None else form.json_schema.schema_
    if given is None:
        raise Refused("response_format has no schema", "response_format.json_schema.schema", "missing")
    return "response_format.json_schema", _data("schema", given)


_OF_RECORDS = {"regex", "choices", "schema_", "grammar", "substring", "ban", "seed", "max_tokens", "messages"}


def _data(kind: ConstraintKind, value: Any) -> OwnConstraint:
    return OwnConstraint(kind, json.dumps(value))


def _sampling(body: TextRequest, own: OwnKeys) -> dict[str, Any]:
    """The parameters of the sampler."""
    names = ("min_p", "repetition_penalty", "frequency_penalty", "presence_penalty")
    found: dict[str, Any] = {name: getattr(body, name) for name in names}
    found["temperature"] = 1.0 if body.temperature is None else body.temperature
    found["top_k"] = body.top_k if body.top_k is not None and body.top_k > 0 else None
    found["top_p"] = None if body.top_p == 1 else body.top_p
    seeds = {seed for seed in (body.seed, own.seed) if seed not in (None, -1)}
    if len(seeds) > 1:
        raise Refused("seed and sfgen.seed differ", "sfgen.seed", "conflict", "Leave one out.")
    if seeds and found["temperature"] > 0:  # at temperature 0 nothing is drawn
        found["seed"] = seeds.pop()
    biases = {token: bias for token, bias in _biases(body) if bias is not False}
    if biases:
        found["logit_bias"] = biases
    given = body.stop or []
    stop = [given] if isinstance(given, str) else given
    if "" in stop:
        raise Refused("stop has an empty text, which would end the text at once", "stop", "invalid_value")
    if len(stop) > MOST_STOPS:
        raise Refused(f"stop has {len(stop)} texts, and the most is {MOST_STOPS}", "stop", "invalid_value")
    if stop:
        found["stop"] = stop
    return {name: value for name, value in found.items() if value is not None}


def _biases(body: TextRequest) -> Iterator[tuple[int, float | Literal[False]]]:
    """The biases of tokens; ``False`` for a token that is never written."""
    given = body.logit_bias or {}
    for token, bias in given.items() if isinstance(given, dict) else given:
        if isinstance(token, str) and not (token.isascii() and token.isdigit()):
            raise Refused(
                f"logit_bias has the key {token!r:.60}, which is not the id of a token", "logit_bias", "invalid_value"
            )
        if int(token) < 0:
            raise Refused(f"logit_bias names the token {token}, which does not exist", "logit_bias", "invalid_value")
        yield int(token), bias


def _writing(body: TextRequest, own: OwnKeys, fields: dict[str, str]) -> dict[str, Any]:
    """The parameters of the decode loop."""
    tokens = ("banned_tokens", "custom_token_bans")
    fields["never"] = next((name for name in tokens if getattr(body, name)), "logit_bias")
    fields |= {"strategy": "sfgen.strategy", "heal": "sfgen.healing", "stop": "stop"}
    fields |= {"logit_bias": "logit_bias", "temperature": "temperature"}
    found: dict[str, Any] = {} if own.strategy is None else {"strategy": own.strategy}
    heal = own.healing
    if heal is None and body.token_healing is not None:
        heal, fields["heal"] = body.token_healing, "token_healing"
    elif None not in (heal, body.token_healing) and heal != body.token_healing:
        raise Refused("token_healing and sfgen.healing differ", "token_healing", "conflict", "Leave one out.")
    return found if heal is None else {**found, "heal": heal}


def _limit(body: TextRequest, own: OwnKeys, fields: dict[str, str]) -> int | None:
    """Return the smallest of the limits of tokens, and note its field."""
    given = {"max_tokens": body.max_tokens, "n_predict": body.n_predict, "sfgen.max_tokens": own.max_tokens}
    if isinstance(body, ChatRequest):
        given["max_completion_tokens"] = body.max_completion_tokens
    limits = [(limit, name) for name, limit in given.items() if limit is not None and limit != AS_MANY_AS_FIT]
    default = AS_MANY_AS_FIT if AS_MANY_AS_FIT in given.values() else None
    limit, fields["max_tokens"] = min(limits, default=(default, "max_tokens"))
    return limit


def _conversation(body: TextRequest, own: OwnKeys) -> tuple[Message, ...]:
    """The messages of a chat, after those of ``sfgen.messages``."""
    if not isinstance(body, ChatRequest):
        if own.messages is not None:
            raise Refused("sfgen.messages is for a chat", "sfgen.messages", hint="Ask /v1/chat/completions.")
        return ()
    for place, message in enumerate(body.messages):
        is_last = place == len(body.messages) - 1
        if message.content is None and message.role != "assistant":
            raise Refused(f"messages[{place}].content is missing", f"messages[{place}].content", "missing")
        for name in message.model_extra or {}:
            if name in ("prefix", "partial") and not (is_last and message.role == "assistant"):
                where = f"messages[{place}].{name}"
                raise Refused(f"{where} is for a last message of the assistant", where, hint="Leave it out.")
    before = Instructions.of({"messages": own.messages}).messages if own.messages else ()
    return (*(before or ()), *(each.told(f"messages[{place}]") for place, each in enumerate(body.messages)))


# ---- bans ------------------------------------------------------------------------------------------------------------


def _ban(body: TextRequest, own: OwnKeys, fields: dict[str, str]) -> Ban | None:
    """The ban of a request.

    Texts in other servers' fields are banned at any place, in upper and lower case, as in these servers, whatever
    separates their words; those in ``sfgen.ban`` are words. The options hold for all of them.
    """
    given = {
        "banned_strings": body.banned_strings or [],
        "bad_words": body.bad_words or [],
        "banned_tokens": [token for token in _listed_tokens(body.banned_tokens) if isinstance(token, str)],
    }
    texts = list(chain.from_iterable(given.values()))
    words = list(own.ban or ())
    cased, uncased = body.banned_regex or [], body.banned_regex_case_insensitive or []
    patterns = [*cased, *(f"(?i){each}" for each in uncased)]
    given |= {"sfgen.ban": words, "banned_regex": cased, "banned_regex_case_insensitive": uncased}
    fields["banned"] = next((name for name, listed in given.items() if listed), "sfgen.ban")
    fields["max_rollbacks"] = fields["banned"]  # an error about too many rollbacks is about this field
    fields["patterns"] = next((name for name in given if "regex" in name and given[name]), fields["banned"])
    for name, listed in given.items():
        if "" in listed:
            raise Refused(f"{name} has an empty text", name, "invalid_value", "Leave it out.")
    options = ("match", "ignore_case", "normalize", "allow")
    if not words and not texts:
        for option in options:
            if getattr(own, option) is not None:
                raise Refused(f"sfgen.{option} needs banned texts", f"sfgen.{option}")
        if not patterns:
            return None
    match: MatchMode = own.match or ("word" if words else "substring")
    ignore_case = own.ignore_case is not False
    for text in texts:
        if own.match is not None or (match == "substring" and _SPACED.fullmatch(text)):
            words.append(_literal(text))
        else:
            # Such a text may have white space that no word has, and the words of the list beside it are whole words.
            if own.normalize:
                raise Refused(
                    "sfgen.normalize is for words, not for banned texts", "sfgen.normalize", "conflict",
                    "Give sfgen.match, too.",
                )  # fmt: skip
            patterns.append(f"(?i:{re.escape(text)})" if ignore_case else re.escape(text))
    return Ban(tuple(words), tuple(patterns), match, ignore_case, own.normalize is True, tuple(own.allow or ()))


def _literal(text: str) -> str:
    """A text as a word in which a star at the end does not mean any ending."""
    return text.replace("*", r"\*")


def _never(body: TextRequest) -> Iterator[int]:
    """The ids of tokens that are never written."""
    yield from (token for token, bias in _biases(body) if bias is False)
    for name in ("banned_tokens", "custom_token_bans"):
        for token in _listed_tokens(getattr(body, name), name):
            if isinstance(token, int):
                if token < 0:
                    raise Refused(f"{name} has {token}, which is not a token", name, "invalid_value")
                yield token


def _listed_tokens(value: Any, name: str = "banned_tokens") -> Sequence[str | int]:
    """The texts and ids of a list; one text has ids between commas, as tabbyAPI takes it."""
    if not isinstance(value, str):
        return value or ()
    items = [item.strip() for item in value.split(",") if item.strip()]
    if not all(item.isascii() and item.isdigit() for item in items):
        raise Refused(
            f"{name} is one text, not a list", name, "invalid_value", "Give a list of texts, or of the ids of tokens."
        )
    return [int(item) for item in items]


def _logprobs(body: TextRequest) -> int | None:
    """The number of likeliest tokens in the answer."""
    if isinstance(body, CompletionRequest):
        return body.logprobs
    assert isinstance(body, ChatRequest)
    if not body.logprobs:
        if body.top_logprobs:
            raise Refused("top_logprobs needs logprobs", "top_logprobs", "missing", "Give logprobs: true.")
        return None
    return body.top_logprobs or 0
