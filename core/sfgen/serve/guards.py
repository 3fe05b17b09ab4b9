"""Check requests before the application: API key, host and origin, the size of the body and its time.

Every web page that a user opens can reach a server on the user's machine. Without a key three checks keep pages out:

- the Host header must be an address or a name of this machine: if a page of ``evil.example`` lets its name point to
  127.0.0.1 (DNS rebinding), the browser sends that name;
- the Origin header, which browsers send with each POST of a page, must be the server's own or a listed one (``cors``);
- the content type must be JSON: a page can post text or a form to any server without a preflight request.

With a key the first two are not checked: no foreign page has the key, and behind a proxy the server may have any name.
The server's own page (``/``) needs no key: it has no data of the server, and its user enters the key.

The body is read here to its end, in bounded time and bytes. It must be one JSON text without features that JSON readers
interpret differently: duplicate names, ``NaN``, and very deep nesting.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse

from sfgen import arguments
from sfgen.serve.request_threads import in_request_thread

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/", "/health")
"""The paths that need no key."""

HAS_KEY = "sfgen.has_key"
"""Key in the scope of a request: whether it may see data that only clients with a key may see."""

BODY = "sfgen.body"
"""Key in the scope of a request: its parsed body."""

MAX_DEPTH = 512
"""The deepest nesting of arrays and objects in a body."""

_BODIES = 32  # the number of bodies of the largest size that fit into memory at once
_LARGE = 2**16  # the size in bytes from which on a body is parsed in a thread
_WITH_BODY = ("POST", "PUT", "PATCH")

_LOG = logging.getLogger("sfgen.serve")


@dataclass(frozen=True)
class Access:
    """The requests that are allowed.

    Attributes:
        keys: The keys; a request must have one of them. None: everybody may ask.
        hosts: Without a key, the names that the Host header may have besides addresses; ``None``: any.
        cors: The origins of web pages that may ask; ``*``: all.
        max_body: The most bytes of a body.
        receive_seconds: The time in which a body must be received.
    """

    keys: Sequence[str] = ()
    hosts: Collection[str] | None = ()
    cors: Sequence[str] = ()
    max_body: int = 2**23
    receive_seconds: float = 30

    def __post_init__(self) -> None:
        # Keys are not shown in messages, which are kept in logs.
        if isinstance(self.keys, str):
            raise arguments.refusal("api_keys", "a list of texts", len(self.keys) * "*")
        hosts = () if self.hosts is None else self.hosts
        for name, texts in (("api_keys", self.keys), ("hosts", hosts), ("cors", self.cors)):
            if isinstance(texts, str):
                raise arguments.refusal(name, "a list of texts", texts)
            arguments.texts(name, texts)
        for key in self.keys:
            if not key or not key.isascii() or not key.isprintable() or " " in key:
                raise arguments.refusal("a key", "of printable ASCII characters without a space", len(key) * "*")
        for origin in self.cors:
            if origin != "*" and (not _place_in(origin) or origin.partition("://")[2].lower() != _place_in(origin)):
                raise arguments.refusal("cors", "an origin such as https://chat.example.org", origin)


class Guard:
    """An ASGI application that checks requests before another one.

    Args:
        application: The application.
        access: The allowed requests.
        started: Starts the application's engines, and ends them.
        stop: Stops the engines; running texts have a number of seconds to finish. It may be called twice.
        end_processes: Ends the processes that compile constraints, at once.
        grace: The seconds that running texts have to finish at the end.
        answered: Called with the route's path and the status of each answer.
        check: Raises an error if the application cannot answer any more.

    Attributes:
        access: As given.
        check: As given.
        grace: As given.
        stop: As given.
        end_processes: As given.
    """

    def __init__(
        self,
        application: Application,
        access: Access,
        started: Callable[[], AbstractAsyncContextManager[Any]],
        stop: Callable[[float], object],
        end_processes: Callable[[], None],
        grace: float,
        answered: Callable[[str, int], None] = lambda path, status: None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.check = check
        self._counted = answered
        self.access, self.grace, self.stop, self.end_processes = access, grace, stop, end_processes
        self._application = application
        self._started = started
        self._keys = [hashlib.sha256(key.encode()).digest() for key in access.keys]
        self._hosts = None if access.hosts is None else {name.lower() for name in access.hosts}
        self._held = 0  # bytes of bodies in memory
        self._checked: Application = self._check
        if access.cors:
            # CORS is outside of the checks: a preflight has no key, and a page may read why it was refused.
            self._checked = CORSMiddleware(
                self._check,
                allow_origins=list(access.cors),
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=["Retry-After"],
                allow_private_network=True,
            )

    def started(self) -> AbstractAsyncContextManager[Any]:
        """Start the engines, and end them with the context: for an application that mounts this one."""
        return self._started()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD":  # as in health checks; the server itself leaves the body out
                scope = {**scope, "method": "GET"}

            async def counted(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    self._counted(getattr(scope.get("route"), "path", "other"), message["status"])
                await send(message)

            await self._checked(scope, receive, counted)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._application(scope, receive, send)

    # ---- one request -----------------------------------------------------------------------------------------------

    async def _check(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        scope[HAS_KEY] = self._has_key(headers)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        if scope["method"] not in _WITH_BODY:
            await self._answered(scope, receive, send)
            return
        held = _Held(self)
        try:
            refusal = await held.read(receive)
            if held.is_gone:
                return
            if refusal is not None:
                await refusal(scope, receive, send)
            else:
                scope[BODY], held.value = held.value, None  # freed when the application has read it
                await self._answered(scope, held.again(receive), send)
        finally:
            self._held -= held.size

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; a fault in it is answered and logged."""
        has_begun = is_whole = False

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal has_begun, is_whole
            has_begun = True
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self._application(scope, receive, noted)
        except Exception as error:
            log_fault(error)
            if not has_begun:
                await fault()(scope, receive, send)
            elif not is_whole:
                raise  # the server cuts the connection, so that the client notices that the answer is incomplete

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> JSONResponse | None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if self._keys:
            if not scope[HAS_KEY] and path not in OPEN:
                why = "the API key is missing or wrong\nSend it as Authorization: Bearer KEY."
                return refused(401, why, "invalid_api_key", {"WWW-Authenticate": "Bearer"})
        elif (refusal := self._not_from_here(headers)) is not None:
            return refusal
        if scope["method"] not in _WITH_BODY:
            return None
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
            why = (
                f"the content type of the body is {kind.decode('latin-1')!a:.60}"
                if kind
                else "the body has no content type"
            )
            return refused(415, f"{why}\nSend Content-Type: application/json.", "unsupported_media_type")
        length = headers.get(b"content-length", b"0")
        if len(length) > 18 or int(length) > self.access.max_body:  # the server has seen that it is a number
            return self._too_large()
        return None

    def _has_key(self, headers: dict[bytes, bytes]) -> bool:
        """Whether one of the keys was sent, or none is needed. All keys are compared, in constant time."""
        kind, _, key = headers.get(b"authorization", b"").partition(b" ")
        sent = hashlib.sha256(key.strip()).digest()
        found = [hmac.compare_digest(sent, each) for each in self._keys]
        return not self._keys or (kind.lower() == b"bearer" and any(found))

    def _not_from_here(self, headers: dict[bytes, bytes]) -> JSONResponse | None:
        """Return the refusal of a request that a foreign web page may have sent, or ``None``."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and not _is_address(name := _name_of(host)) and name not in self._hosts:
            return refused(
                403, f"{host!a:.80} is not a name of this server\nThe server must allow this host.", "host_not_allowed"
            )
        origin = headers.get(b"origin")
        if origin is None or "*" in self.access.cors:
            return None
        text = origin.decode("latin-1")
        if text in self.access.cors or _place_in(text) == host:
            return None
        return refused(
            403, f"pages of {text!a:.80} may not ask\nThe server must allow their origin (CORS).", "origin_not_allowed"
        )

    def _too_large(self) -> JSONResponse:
        return refused(413, f"the body has more than {self.access.max_body:,} bytes", "body_too_large")


class _Held:
    """The body of one request, while it is in memory.

    Attributes:
        size: The number of its bytes so far.
        value: Its parsed content, when it was read.
        is_gone: Whether the client has disconnected before its end.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._body = bytearray()
        self.size = 0
        self.value: Any = None
        self.is_gone = False

    async def read(self, receive: Receive) -> JSONResponse | None:
        """Read it; return the refusal if it is too large, too slow, or not JSON."""
        access = self._guard.access
        try:
            async with asyncio.timeout(access.receive_seconds):
                has_more = True
                while has_more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        self.is_gone = True
                        return None
                    part = message.get("body", b"")
                    self.size += len(part)
                    self._guard._held += len(part)
                    if self.size > access.max_body:
                        return self._guard._too_large()
                    if self._guard._held > _BODIES * access.max_body:
                        return refused(
                            503, "too many large requests at once\nAsk again.", "overloaded", {"Retry-After": "1"}
                        )
                    self._body += part
                    has_more = message.get("more_body", False)
        except TimeoutError:
            return refused(
                408, f"the body was not received in {access.receive_seconds:g} seconds", "request_timeout",
                {"Connection": "close"},
            )  # fmt: skip
        try:
            is_large = self.size >= _LARGE
            self.value = await in_request_thread(json_of, self._body) if is_large else json_of(self._body)
        except MistakeError as error:
            return refused(400, f"the body {error}", "invalid_json")
        return None

    def again(self, receive: Receive) -> Receive:
        """The application's ``receive``: first the body, then further messages of the server."""
        body: bytes | None = bytes(self._body)
        self._body.clear()

        async def received() -> MutableMapping[str, Any]:
            nonlocal body
            if body is None:
                return await receive()
            message = {"type": "http.request", "body": body, "more_body": False}
            body = None
            return message

        return received


# ---- JSON ------------------------------------------------------------------------------------------------------------


class MistakeError(ValueError):
    """A text that is not JSON, or that JSON readers interpret differently."""


def json_of(body: bytes | bytearray) -> Any:
    """Parse a body as strict JSON.

    >>> json_of(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    sfgen.serve.guards.MistakeError: has the name 'a' twice in an object

    Raises:
        MistakeError: It is not JSON, or JSON readers interpret it differently.
    """
    try:
        text = body.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise MistakeError(f"is not UTF-8: byte {error.start}") from None
    except UnicodeEncodeError as error:
        raise MistakeError(f"has half of a surrogate pair: {error.object[error.start]!a}") from None
    except json.JSONDecodeError as error:
        raise MistakeError(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise _too_deep() from None
    except MistakeError:
        raise
    except ValueError:  # Python refuses an integer with thousands of digits
        raise MistakeError("has a number that is too long") from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        parts = (part for each in level for part in (each.values() if isinstance(each, dict) else each))
        level = [part for part in parts if isinstance(part, dict | list)]
        if not level:
            return value
    raise _too_deep()


def _too_deep() -> MistakeError:
    return MistakeError(f"has arrays and objects nested deeper than {MAX_DEPTH}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise MistakeError(f"has the name {twice!a:.60} twice in an object")
    return found


def _no_number(name: str) -> Any:
    raise MistakeError(f"has {name}, which is not a number in JSON")


# ---- names and answers -----------------------------------------------------------------------------------------------


def _name_of(host: str) -> str:
    """The name in a Host header, without the port and a final dot."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def _place_in(origin: str) -> str:
    """Name and port of an origin, as in a Host header; empty if it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    """Whether it is an address: no foreign name can point here then."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def error_object(message: str, code: str, status: int) -> dict[str, Any]:
    """An error of the server itself in OpenAI's form."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def refused(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer for a refusal."""
    return JSONResponse(error_object(message, code, status), status, headers)


def log_fault(error: Exception) -> None:
    """Log the kind of a fault; with ``SFGEN_DEBUG`` the whole traceback, which may contain parts of prompts."""
    is_wanted = bool(os.environ.get("SFGEN_DEBUG"))
    _LOG.error("internal error: %s", type(error).__name__, exc_info=error if is_wanted else None)


def fault() -> JSONResponse:
    """The answer for a fault of sfgen, without details, which may contain parts of prompts."""
    return refused(500, "a fault of sfgen; the server's log names it", "internal_error")
