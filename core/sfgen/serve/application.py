"""The application: OpenAI's endpoints over the engines of some models.

>>> from fastapi.testclient import TestClient
>>> with TestClient(app("tiny"), base_url="http://localhost") as client:
...     answer = client.post("/v1/completions", json={"prompt": "Year: ", "regex": "[0-9]{4}", "seed": 1}).json()
>>> len(answer["choices"][0]["text"]), answer["choices"][0]["finish_reason"]
(4, 'stop')
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from sfgen import arguments
from sfgen.ban import BannedWords
from sfgen.ban.difference import Start
from sfgen.decoding import GenerationConfig
from sfgen.decoding.loop import Loop
from sfgen.decoding.plain_forms import model_of, vocabulary_of
from sfgen.decoding.prepare import bytes_of, loop_of
from sfgen.errors import InternalError, SfgenError
from sfgen.index import Index
from sfgen.models.messages import sees_tools
from sfgen.models.prompt import WITHOUT_CHAT
from sfgen.models.tool_forms import tool_form_of
from sfgen.printable import json_text
from sfgen.protocols import GuideSource, Model
from sfgen.serve.bodies import ChatRequest, CompletionRequest, Refused
from sfgen.serve.constraints import Constraints, WithoutTokens
from sfgen.serve.engine import Engine, RunningText
from sfgen.serve.generation_request import AS_MANY_AS_FIT, GenerationRequest, read_request
from sfgen.serve.guards import BODY, HAS_KEY, Access, Guard, fault
from sfgen.serve.metrics import Metrics
from sfgen.serve.page import page_to_try
from sfgen.serve.refusals import refused_address, refused_types
from sfgen.serve.replies import Choice, Reply, Stream, chunk_lines, error_body, read_all, status_of, usage_of
from sfgen.serve.request_threads import in_request_thread
from sfgen.serve.response_output import ResponseReply, response_lines
from sfgen.serve.responses import Asked, ResponsesRequest
from sfgen.serve.thoughts import Thought, conversation, thought_before
from sfgen.serve.traces import MEDIA_TYPE, TraceRequest, refuse_untraced, scenes_of, trace_lines
from sfgen.serve.warm_up import warm_up
from sfgen.tools.tool_calls import ToolCalls
from sfgen.vocabulary import Vocabulary

_LOG = logging.getLogger("sfgen.serve")

DEFAULT_TOKENS = 16
"""The most tokens of a free completion that names no limit, as OpenAI has it."""

LONGEST_SHRINKING = 4
"""The most times that a tokenizer may shorten a text before it divides it into tokens."""

WITHOUT_KEPT = 8
"""The number of vocabularies without banned tokens that are kept."""

WITHOUT_CONTEXT = 4096
"""The most tokens if neither the request nor the model has a limit."""


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Attributes:
        batch_size: The most texts of a model that are written at once.
        max_waiting: The most texts of a model that wait.
        max_prompt: The most tokens of a prompt; ``None``: as many as fit into the context.
        max_tokens: The most tokens of a text; ``None``: as many as fit into the context.
        max_body: The most bytes of a body.
        receive_seconds: The time in which a request must be received.
        request_seconds: The time of a request; ``None``: no limit.
        mask_seconds: The time of one step outside of the model, such as a token mask; ``None``: no limit.
        compile_seconds: The time of compiling a constraint, and of taking banned words out of it.
        constraint_bytes: The memory of constraints that are kept.
    """

    batch_size: int = 8
    max_waiting: int = 256
    max_prompt: int | None = None
    max_tokens: int | None = None
    max_body: int = 2**23
    receive_seconds: float = 30
    request_seconds: float | None = 600
    mask_seconds: float | None = 30
    compile_seconds: float = 20
    constraint_bytes: int = 2**30


def app(
    models: Model | str | Path | Sequence[Model | str | Path] | Mapping[str, Model | str | Path] = "tiny",
    *,
    limits: Limits | None = None,
    api_keys: Sequence[str] = (),
    hosts: Collection[str] | None = ("127.0.0.1", "localhost", "::1"),
    cors: Sequence[str] = (),
    log_prompts: bool = False,
    grace: float = 30,
) -> Guard:
    """Make an ASGI application that speaks OpenAI's protocol.

    A server of its own starts and ends the threads. An application that mounts it does that by the context
    ``started()`` in its own lifespan.

    Args:
        models: A model or its name, a list of these, or a dictionary of them by the names that clients use. The first
            is the default.
        limits: The limits of requests.
        api_keys: The accepted API keys; none: everybody may ask.
        hosts: The names that the Host header may have besides addresses, so that no web page reaches the server by its
            own name (DNS rebinding); ``None``: any name. With keys every name is accepted.
        cors: The origins of web pages that may ask; none: only the server's own page.
        log_prompts: Whether prompts are logged, by the logger ``sfgen.serve``.
        grace: The seconds that running texts have to finish when the application is ended.

    Returns:
        The application, with the checks of keys, hosts and origins.

    Raises:
        SfgenError: A model cannot be loaded.
        UsageError: A key or an origin has characters that no client can send.
    """
    limits = Limits() if limits is None else arguments.instance("limits", limits, Limits)
    arguments.flag("log_prompts", log_prompts)
    grace = arguments.number("grace", grace, "a number of seconds, at least 0")
    access = Access(api_keys, hosts, cors, limits.max_body, limits.receive_seconds)
    server = Server(_named(models), limits, log_prompts, grace)
    api = server.application()
    started = partial(api.router.lifespan_context, api)
    return Guard(api, access, started, server.stop, server.end_processes, grace, server.metrics.answered, server.check)


def _named(models: Any) -> dict[str, Model]:
    """The models by the names that clients use."""
    if isinstance(models, Mapping):
        named = dict(models)
    else:
        listed = models if isinstance(models, list | tuple) else [models]
        named = {_name_of(model): model for model in listed}
    if not named:
        raise arguments.refusal("models", "at least one model", models)
    return {arguments.text("models: each name", name): model_of(model) for name, model in named.items()}


def _name_of(model: Model | str | Path) -> str:
    return Path(model).name if isinstance(model, str | Path) else getattr(model, "name", type(model).__name__)


def _described(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sfgen"}


class UnknownModel(Refused):
    """A request for a model that this server does not have."""


class Server:
    """Answers requests by the engines of some models.

    Args:
        models: The models by name.
        limits: The limits of requests.
        log_prompts: Whether prompts are logged.
        grace: The seconds that running texts have to finish at the end.

    Attributes:
        metrics: The counters.
    """

    def __init__(self, models: Mapping[str, Model], limits: Limits, log_prompts: bool, grace: float) -> None:
        self._models = models
        self._limits = limits
        self._log_prompts = log_prompts
        self._grace = grace
        self._engines: dict[str, Engine] = {}
        self.metrics = Metrics(self.loads, lambda: self._constraints.nbytes)
        self._constraints = Constraints(limits.compile_seconds, limits.constraint_bytes, self.metrics.compiled)
        self._without = lru_cache(WITHOUT_KEPT)(
            lambda name, never: cast("Model", WithoutTokens(models[name], never))  # each of them makes a trie
        )

    def loads(self) -> dict[str, tuple[int, int]]:
        """Return for each model how many texts have rows, and how many wait."""
        return {name: engine.load for name, engine in self._engines.items()}

    def check(self) -> None:
        """Raise the error of an engine that has failed.

        Raises:
            InternalError: An engine has failed.
        """
        for engine in self._engines.values():
            engine.check()

    def application(self) -> FastAPI:
        """Return the routes."""

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            for name, model in self._models.items():
                self._engines[name] = Engine(model, self._limits.batch_size, self._limits.max_waiting)
            self._constraints.begin()
            warming = asyncio.create_task(warm_up(self._constraints, self._models.values()))
            try:
                yield
            finally:
                warming.cancel()
                await asyncio.to_thread(self.stop, self._grace)

        api = FastAPI(title="sfgen", lifespan=lifespan, docs_url=None, redoc_url=None)
        api.router.route_class = _Route
        api.add_exception_handler(RequestValidationError, _on_invalid)
        api.add_exception_handler(HTTPException, _on_http_error)
        api.add_exception_handler(SfgenError, _on_error)
        api.add_exception_handler(Exception, _on_fault)

        @api.get("/health")
        async def health(request: Request) -> Any:
            try:
                self.check()
            except InternalError:
                return fault()
            if not request.scope.get(HAS_KEY, True):
                return {"status": "ok"}  # the names and the use of models are shown only to clients with a key
            loads = self.loads().items()
            return {"status": "ok", "models": {name: {"running": a, "waiting": b} for name, (a, b) in loads}}

        @api.get("/metrics")
        async def metrics(request: Request) -> Response:
            content, kind = self.metrics.exposed(request.headers.get("accept", ""))
            return Response(content, headers={"Content-Type": kind})

        @api.get("/v1/models")
        async def models() -> dict[str, Any]:
            return {"object": "list", "data": [_described(name) for name in self._models]}

        @api.get("/v1/models/{name:path}")
        async def model(name: str) -> dict[str, Any]:
            return _described(self._known(name))

        @api.post("/v1/completions")
        async def completions(body: CompletionRequest, request: Request) -> Response:
            return await self._answer(body, request)

        @api.post("/v1/chat/completions")
        async def chat(body: ChatRequest, request: Request) -> Response:
            return await self._answer(body, request)

        @api.post("/v1/responses")
        async def responses(body: ResponsesRequest, request: Request) -> Response:
            return await self._answer(body, request)

        @api.post("/v1/trace")
        async def trace(body: TraceRequest, request: Request) -> Response:
            return await self._answer(body, request, is_traced=True)

        @api.get("/", include_in_schema=False)
        async def page() -> Response:
            return page_to_try()

        return api

    def stop(self, grace: float) -> bool:
        """End the engines; true if all texts had finished."""
        engines = list(self._engines.values())
        with ThreadPoolExecutor(max(1, len(engines))) as pool:  # all at the same time
            are_over = list(pool.map(lambda engine: engine.stop(grace), engines))
        self.end_processes()
        return all(are_over)

    def end_processes(self) -> None:
        """End the processes that compile constraints, and take no further constraint."""
        self._constraints.close()

    # ---- one request -----------------------------------------------------------------------------------------------

    async def _answer(
        self, body: CompletionRequest | ChatRequest | ResponsesRequest, request: Request, *, is_traced: bool = False
    ) -> Response:
        """Answer a request, unless its client disconnects before."""
        work = asyncio.create_task(self._reply(body, is_traced))
        gone = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            return await work if work.done() else Response(status_code=499)
        finally:
            gone.cancel()
            work.cancel()

    async def _reply(self, body: CompletionRequest | ChatRequest | ResponsesRequest, is_traced: bool) -> Response:
        asked = None
        if isinstance(body, ResponsesRequest):
            asked = Asked.of(body)
            body = asked.chat
        elif is_traced:
            refuse_untraced(body)
        request = read_request(body) if asked is None else asked.request
        if is_traced:
            request = replace(request, config={**request.config, "observe": True})
        name = next(iter(self._models)) if body.model is None else self._known(body.model)
        if self._log_prompts:
            prompt = (
                body.prompt if isinstance(body, CompletionRequest) else [each.model_dump() for each in body.messages]
            )
            _LOG.info("%s: %s", name, json_text(prompt))  # one line, without characters that control a terminal
        model = (
            self._models[name] if not request.never else await in_request_thread(self._without_tokens, name, request)
        )
        if request.tools:
            await in_request_thread(_refuse_untold, model, request)
        if request.calling is not None:
            form = await in_request_thread(tool_form_of, model)
            request = replace(
                request, constraint=request.calling.constraint(form), fields={**request.fields, "index": "tools"}
            )
        index = banned = None
        try:
            if request.constraint is not None:
                index = await self._constraints.of(request.constraint, vocabulary_of(model))
        except SfgenError as error:
            return _refusal(error, request.fields.get("index"))
        try:
            if request.ban is not None:
                banned = await self._constraints.banned(request.ban)
        except SfgenError as error:
            return _refusal(error, request.field_of(error) or request.fields["patterns"])
        try:
            prompts, thought = await in_request_thread(self._prompts, name, model, body, request, index, banned)
            clean = {}
            if index is not None and banned is not None:
                before = prompts if thought is None else [thought.end]
                clean = await self._without_banned(before, request, index, banned)
            # Nothing is released before the end then, so that everything can be taken back.
            is_told_whole = not (body.stream or is_traced)
            config = request.config | {"index": index, "banned": banned, "hold": is_told_whole}
            if thought is not None:
                config |= {"after": thought.end, "after_tokens": request.thought.most, "after_counts": True}
            loops, prompt_tokens = await in_request_thread(self._loops, model, body, request, prompts, config, clean)
        except SfgenError as error:
            return _refusal(self._without_path(error, name), request.field_of(error))
        seconds = self._limits.request_seconds, self._limits.mask_seconds
        texts = [RunningText(loop, *seconds, self.metrics.of_text(name)) for loop in loops]
        vocabulary = vocabulary_of(self._models[name])
        if is_traced:
            scenes = await in_request_thread(scenes_of, name, vocabulary, body, request, index, prompts, thought, loops)
            self._engines[name].put(texts)
            return Stream(trace_lines(texts, scenes, partial(self._without_path, name=name)), texts, MEDIA_TYPE)
        reply = Reply(name, isinstance(body, ChatRequest)) if asked is None else ResponseReply(name, True, asked=asked)
        choices = []
        calls = cast("ToolCalls", index.constraint) if index is not None and request.calling is not None else None
        for number, loop in enumerate(loops):
            scored = None if request.top_logprobs is None else loop.scored_tokens(request.top_logprobs)
            thinking = None if thought is None else loop
            choices.append(Choice(reply, number, vocabulary, scored, calls, thinking, request.thought.is_told))
        self._engines[name].put(texts)
        told = partial(self._told, name=name, request=request)
        if body.stream and isinstance(reply, ResponseReply):
            return Stream(response_lines(reply, texts[0], choices[0], prompt_tokens, told), texts)
        if body.stream:
            usage = body.stream_options is not None and body.stream_options.include_usage
            return Stream(chunk_lines(reply, texts, choices, prompt_tokens if usage else None, told), texts)
        try:
            await read_all(texts, choices)
            return JSONResponse(reply.whole(choices, usage_of(prompt_tokens, choices)))
        except SfgenError as error:
            return _refusal(self._without_path(error, name), request.field_of(error))

    def _without_path(self, error: SfgenError, name: str) -> SfgenError:
        """Replace the path of a model on this machine in an error by the name that clients use."""
        own = getattr(self._models[name], "name", None)
        if isinstance(own, str) and Path(own).name != own:
            error.message = error.message.replace(own, name)
        return error

    def _told(self, error: SfgenError, name: str, request: GenerationRequest) -> dict[str, Any]:
        """The error object for a failure in the middle of a stream."""
        return error_body(self._without_path(error, name), request.field_of(error))

    def _known(self, name: str) -> str:
        """Return the name of a model; refuse an unknown one."""
        if name not in self._models:
            known = ", ".join(self._models)
            raise UnknownModel(f"there is no model {name!r:.60} here; there is {known}", "model", "model_not_found")
        return name

    def _without_tokens(self, name: str, request: GenerationRequest) -> Model:
        """A model without the tokens that a request bans."""
        vocabulary, field = vocabulary_of(self._models[name]), request.fields.get("never")
        beyond = [token for token in request.never if token >= len(vocabulary)]
        if beyond:
            why = f"{beyond[0]} is banned, and the model has {len(vocabulary)} tokens"
            raise Refused(why, field, "invalid_value", f"Ids are from 0 to {len(vocabulary) - 1}.")
        if not request.never.isdisjoint(vocabulary.end_token_ids):
            raise Refused("a token that ends a text is banned", field, hint="Leave it out.")
        return self._without(name, request.never)

    def _prompts(
        self,
        name: str,
        model: Model,
        body: CompletionRequest | ChatRequest,
        request: GenerationRequest,
        index: Index | None,
        banned: BannedWords | None,
    ) -> tuple[list[str | Sequence[int]], Thought | None]:
        """The prompts of a request, and the thought that is written after the prompt of a chat.

        Raises:
            SfgenError: They are too many, too long, or none.
        """
        self._refuse_long(model, body, request)
        prompts, most = _prompts_of(model, body, request), self._limits.batch_size + self._limits.max_waiting
        if len(prompts) * request.samples > most:  # they would be refused however often the client asks
            why = f"{len(prompts) * request.samples} texts are asked for at once, and the most is {most}"
            raise Refused(why, "n" if request.samples > 1 else "prompt", "too_many_texts", "Ask for them one by one.")
        if not isinstance(body, ChatRequest):
            return prompts, None
        is_call = index is not None and request.calling is not None and not request.calling.is_free
        lead = cast("ToolCalls", index.constraint).form.lead if index is not None and is_call else None
        thought = thought_before(self._models[name], cast("Sequence[int]", prompts[0]), request, lead, banned)
        return (prompts if thought is None else [thought.prompt]), thought

    async def _without_banned(
        self, before: Sequence[str | Sequence[int]], request: GenerationRequest, index: Index, banned: BannedWords
    ) -> dict[bytes, Index | None]:
        """The constraint without banned words, for each text before it: a prompt, or the end of a thought.

        Raises:
            SfgenError: As ``Constraints.without``.
        """
        assert request.ban is not None
        assert request.constraint is not None
        starts = await in_request_thread(_starts, index.vocabulary, before, banned)
        return {
            before: await self._constraints.without(request.constraint, request.ban, start, index)
            for before, start in starts.items()
        }

    def _loops(
        self,
        model: Model,
        body: CompletionRequest | ChatRequest,
        request: GenerationRequest,
        prompts: Sequence[str | Sequence[int]],
        config: Mapping[str, Any],
        clean: Mapping[bytes, Index | None],
    ) -> tuple[list[Loop], int]:
        """The loops of all texts of a request, and the tokens of its prompts.

        Raises:
            SfgenError: A text is known to be impossible.
        """
        loops, prompt_tokens = [], 0
        for prompt in prompts:
            ids = model.encode(prompt) if isinstance(prompt, str) else prompt
            prompt_tokens += len(ids)
            limit = self._limit(model, ids, body, request)
            for sample in range(request.samples):
                seed = {} if config.get("seed") is None else {"seed": config["seed"] + sample}
                asked = GenerationConfig(**{**config, **seed}, max_tokens=limit)
                loops.append(loop_of(model, prompt, asked, without=partial(_clean_of, clean)))
        return loops, prompt_tokens

    def _refuse_long(self, model: Model, body: CompletionRequest | ChatRequest, request: GenerationRequest) -> None:
        """Refuse prompts with too many characters for the most tokens, without tokenizing millions of characters."""
        limits = (getattr(model, "context_length", None), self._limits.max_prompt)
        most = min((limit for limit in limits if limit is not None), default=None)
        if isinstance(body, ChatRequest):
            longest = sum(len(message["content"]) for message in request.messages if message["role"] != "assistant")
        else:
            texts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
            longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        if most is None or longest <= most * LONGEST_SHRINKING * vocabulary_of(model).trie.max_depth:
            return
        why = f"the prompt has {longest:,} characters, and the most is {most:,} tokens"
        raise Refused(why, request.fields["prompt"], "context_length_exceeded", "Give a shorter prompt.")

    def _limit(self, model: Model, ids: Sequence[int], body: Any, request: GenerationRequest) -> int:
        """The most tokens of a text."""
        if self._limits.max_prompt is not None and len(ids) > self._limits.max_prompt:
            most = self._limits.max_prompt
            why = f"the prompt has {len(ids)} tokens, and the most is {most}"
            raise Refused(why, request.fields["prompt"], "context_length_exceeded", "Give a shorter prompt.")
        context = getattr(model, "context_length", None)
        room = WITHOUT_CONTEXT if context is None else max(0, context - len(ids) + 1)
        limit = request.max_tokens
        if limit is None and isinstance(body, CompletionRequest) and request.constraint is None:
            limit = DEFAULT_TOKENS
        if limit is None or limit == AS_MANY_AS_FIT:
            limit = room
        return min(limit, self._limits.max_tokens) if self._limits.max_tokens is not None else limit


def _prompts_of(
    model: Model, body: CompletionRequest | ChatRequest, request: GenerationRequest
) -> list[str | Sequence[int]]:
    """The prompts of a request: texts or token ids."""
    if isinstance(body, ChatRequest):
        try:
            return [conversation(model, request)]
        except Refused:
            raise
        except SfgenError as error:
            raise _of_template(error, request) from error
    prompt: Any = body.prompt
    if prompt == []:
        raise Refused("prompt is an empty list", "prompt", "invalid_value", "Give a text.")
    prompts = [prompt] if isinstance(prompt, str) or isinstance(prompt[0], int) else list(prompt)
    size = len(vocabulary_of(model))
    for token in (token for each in prompts if not isinstance(each, str) for token in each):
        if not 0 <= token < size:
            raise Refused(f"the prompt has token {token}, and ids are below {size}", "prompt", "invalid_value")
    return prompts


def _refuse_untold(model: Model, request: GenerationRequest) -> None:
    """Refuse tools that the chat template of a model leaves out of the prompt."""
    try:
        if sees_tools(model, request.tools):
            return
    except SfgenError as error:
        raise _of_template(error, request) from error
    why = "the chat template of this model leaves tools out"
    if request.calling is not None:
        raise Refused(why, "tools", hint="Describe the output in a message, and give its schema.")
    raise Refused(
        f"{why}, and a tool has a description",
        "tools",
        hint="Leave the description out, and describe the tool in a message.",
    )


def _of_template(error: SfgenError, request: GenerationRequest) -> Refused:
    """The refusal if a chat template cannot write a conversation, or if there is none."""
    hint = "Ask /v1/completions, or a model that has one." if error.hint == WITHOUT_CHAT else error.hint
    return Refused(error.message, request.field_of(error) or request.fields["prompt"], "invalid_value", hint)


def _starts(vocabulary: Vocabulary, prompts: Sequence[str | Sequence[int]], banned: BannedWords) -> dict[bytes, Start]:
    """The states of a matcher after some prompts."""
    before = {bytes_of(vocabulary, each, () if isinstance(each, str) else each) for each in prompts}
    return {each: Start(banned, each) for each in before}


def _clean_of(
    clean: Mapping[bytes, Index | None], source: GuideSource, banned: BannedWords, before: bytes
) -> GuideSource | None:
    """Return a constraint without banned words that was made before."""
    return clean[before]


class _ReadRequest(Request):
    """A request whose body was read by the guard."""

    async def json(self) -> Any:
        return self.scope.pop(BODY)  # a stream may take long, and needs no body


class _Route(APIRoute):
    """A route that does not read a body twice."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            return await handler(_ReadRequest(request.scope, request.receive))

        return handled


async def _disconnected(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# ---- errors ----------------------------------------------------------------------------------------------------------


async def _on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, SfgenError)
    return _refusal(error)


def _refusal(error: SfgenError, param: str | None = None) -> Response:
    """The answer to a request that an error has ended; ``param`` is the field that caused it."""
    headers = {"Retry-After": str(error.retry_after)} if hasattr(error, "retry_after") else None
    status = 404 if isinstance(error, UnknownModel) else status_of(error)
    return JSONResponse(error_body(error, param), status, headers)


async def _on_fault(_: Request, error: Exception) -> Response:
    return fault()


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _refusal(refused_types(error.errors()))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refused_address(request, error)
