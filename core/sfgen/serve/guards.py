"""The guards before the application: who may ask, under which name of the host, and how much at a time."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from typing import Any, TypeAlias

from starlette.responses import JSONResponse

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/health",)
"""Paths that need no key."""


class Guard:
    """An application behind checks of the key, the host and the size of the body.

    Args:
        application: The application.
        keys: The keys that may ask; none: everybody.
        hosts: The names that the Host header may have; ``None``: any. It keeps a page of somebody else's from asking a
            server on this machine by a name that it has turned to here (DNS rebinding).
        max_body: The most bytes of a body.
        grace: The seconds that whoever runs it should wait for requests at the end.
    """

    def __init__(
        self, application: Application, keys: Sequence[str], hosts: Collection[str] | None, max_body: int, grace: float
    ) -> None:
        self.grace = grace
        self._application = application
        self._keys = [key.encode() for key in keys]
        self._hosts = hosts
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._application(scope, self._bounded(receive), send)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> JSONResponse | None:
        if self._hosts is not None:
            host = headers.get(b"host", b"").decode("latin-1")
            if _name_of(host) not in self._hosts:
                return _error(403, f"the host {host!r:.60} is not one of this server's", "host_not_allowed")
        if self._keys and path not in OPEN:
            kind, _, key = headers.get(b"authorization", b"").partition(b" ")
            known = [hmac.compare_digest(key.strip(), each) for each in self._keys]  # all of them, in constant time
            if kind.lower() != b"bearer" or not any(known):
                return _error(401, "the API key is missing or wrong", "invalid_api_key")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._max_body:
            return _too_large(self._max_body)
        return None

    def _bounded(self, receive: Receive) -> Receive:
        """Refuse a body that grows over the limit without saying so."""
        size = 0

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._max_body:
                raise BodyTooLarge(self._max_body)
            return message

        return bounded


class BodyTooLarge(Exception):
    """A body that passes the limit."""

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(f"the body has more than {most:,} bytes")


def _name_of(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _too_large(most: int) -> JSONResponse:
    return _error(413, str(BodyTooLarge(most)), "body_too_large")


def _error(status: int, message: str, code: str) -> JSONResponse:
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return JSONResponse({"error": body}, status)
