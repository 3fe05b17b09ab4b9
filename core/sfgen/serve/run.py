"""Run the application under uvicorn until a signal ends it.

uvicorn reads HTTP. This module adds: time limits for clients that send a request or read an answer, a limit of
connections, errors in the usual form for data that is not HTTP, and time for the texts of running requests at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import multiprocessing
import multiprocessing.util
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from sfgen.errors import SfgenError
from sfgen.parameter_text import ParameterText
from sfgen.serve.guards import Guard, error_object

MOST_CONNECTIONS = 4096
"""The most connections; further ones are refused."""

_UNREAD_SECONDS = 60  # the longest time that a client may leave its answer unread
_LINGER_SECONDS = 3  # the time for which a refused client's data is still read, so that it can read the refusal
_AFTER_GRACE_SECONDS = 5  # the time for threads that cannot be ended
_OWN_FILES = 256  # files that are not connections


def run(
    application: Guard,
    listener: socket.socket,
    *,
    told: Callable[[str], None] | None = None,
    ending: Callable[[int], None] | None = None,
) -> None:
    """Serve an application until SIGINT or SIGTERM.

    After the first signal no more requests are accepted, and running ones have the application's ``grace`` to finish; a
    second signal ends the process at once. Faults are logged to stderr.

    Args:
        application: The application, made by ``sfgen.serve.app``.
        listener: The socket, made by :func:`listening`.
        told: Called with the address, once it listens.
        ending: Called after SIGINT with the number of running requests, if any.

    Raises:
        KeyboardInterrupt: SIGINT has ended it.
    """
    _log_to_stderr()
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    server = HttpServer(application, listener, None if told is None else lambda: told(url), _allow_files(), ending)
    server.run()
    if server.ended_by == signal.SIGINT:
        raise KeyboardInterrupt


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address.

    Raises:
        SfgenError: The address cannot be bound.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "the host name is not valid"
        raise SfgenError(
            f"cannot listen at {host}, port {port}: {reason}",
            hint=ParameterText("Give another port (0 is any free one), or another host.", "port", "host"),
        ) from None
    return listener


class HttpServer(uvicorn.Server):
    """uvicorn with an application, from its start to the end of running requests.

    Args:
        application: The application.
        listener: A bound socket.
        told: Called once it listens.
        most: The most connections at once.
        ending: Called after SIGINT with the number of running requests.

    Attributes:
        ended_by: The signal that has ended it; 0: none.
    """

    def __init__(
        self,
        application: Guard,
        listener: socket.socket,
        told: Callable[[], None] | None = None,
        most: int = MOST_CONNECTIONS,
        ending: Callable[[int], None] | None = None,
    ) -> None:
        self.application = application
        self.ended_by = 0
        self._listener = listener
        self._told = told
        self._ending = ending

        class Bounded(Connection):
            most_connections = most

        config = uvicorn.Config(
            application,
            http=Bounded,
            ws="none",
            lifespan="off",  # its errors would be logged by uvicorn, not reported by the command
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=round(application.grace) + _AFTER_GRACE_SECONDS,
        )
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # faults of clients are answered, not logged
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until ``should_exit`` or a signal."""
        asyncio.run(self._whole())

    async def _whole(self) -> None:
        async with self.application.started():
            await self.serve([self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and call ``told``."""
        await super().startup(sockets)
        if self._told is not None:
            self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let running requests finish; after the time is over the others end with an error."""
        grace = self.application.grace
        going_on = len(self.server_state.tasks)
        if self._ending is not None and going_on and self.ended_by == signal.SIGINT:
            self._ending(going_on)
        threading.Thread(target=self.application.stop, args=[grace], name="sfgen-stop", daemon=True).start()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server; uvicorn would raise them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the end at the first signal, and end at once at the second."""
        if self.ended_by:
            self._leave()
        self.ended_by, self.should_exit = sig, True
        # A thread in the middle of a long computation cannot be ended, and would keep the process.
        watch = threading.Timer(self.application.grace + 2 * _AFTER_GRACE_SECONDS, self._leave)
        watch.daemon = True
        watch.start()

    def _leave(self) -> None:
        for process in multiprocessing.active_children():
            process.kill()
        ending = threading.Thread(target=self.application.end_processes, name="sfgen-leave", daemon=True)
        ending.start()  # those that still start, too
        ending.join(_AFTER_GRACE_SECONDS)
        finalize = getattr(multiprocessing.util, "_run_finalizers", None)
        if finalize is not None:
            finalize(0)  # else Python warns of semaphores of the pool
        os._exit(130 if self.ended_by == signal.SIGINT else 0)


class Connection(H11Protocol):
    """A connection with a client that may be slow, send any data, and read nothing."""

    most_connections = MOST_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or refuse a connection that is one too many."""
        super().connection_made(cast(asyncio.Transport, _Transport(transport, self)))
        self._arrival: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._is_refused = False
        if len(self.connections) > self.most_connections:
            self.refuse(503, "there are too many connections\nAsk again.", "overloaded")
        else:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        for timer in (self._arrival, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; the data of a refused client is ignored."""
        if self._is_refused:
            return
        super().data_received(data)
        if self._is_refused:
            return
        is_expected = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_expected and self._arrival is None:
            self._expect()
        elif not is_expected and self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _expect(self) -> None:
        self._arrival = self.loop.call_later(self.config.app.access.receive_seconds, self._on_late)  # type: ignore[union-attr]

    def _on_late(self) -> None:
        """End a request that was not received in time."""
        self._arrival = None
        if self.transport.is_closing():
            return
        has_begun = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
        if has_begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.refuse(408, "the request was not received in time", "request_timeout")
        elif not has_begun:
            self.transport.close()
        else:  # it was answered before its end, and its end never comes
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is not HTTP."""
        error = sys.exc_info()[1]
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        message = "the request's line and headers are too long" if status == 431 else "the request is not valid HTTP"
        self.refuse(status, message, "invalid_request")

    def refuse(self, status: int, message: str, code: str) -> None:
        """Answer with an error, and end the connection after some time for reading it."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self._is_refused = True
            self.transport.abort()
            return
        body = json.dumps(error_object(message, code, status)).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        response = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.linger(self.transport)

    def linger(self, transport: asyncio.Transport) -> None:
        """Go on reading a client's data for a while: else it might not get its answer."""
        self._is_refused = True
        transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(_LINGER_SECONDS, transport.abort)

    def pause_writing(self) -> None:
        """Limit the time for which a client does not read."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(_UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class _Transport:
    """The transport of a connection; it closes only when the client has stopped sending.

    If data arrives on a closed connection, the system drops answers that were not yet delivered.
    """

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        if self._connection.conn.their_state is h11.SEND_BODY and not self._transport.is_closing():
            self._connection.linger(self._transport)
        else:
            self._transport.close()


def _log_to_stderr() -> None:
    """Write the server's own log to stderr, one line for each record."""
    log = logging.getLogger("sfgen.serve")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("sfgen: %(message)s"))
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(logging.INFO)


def _allow_files() -> int:
    """Raise the limit of open files as far as allowed; return the number of connections."""
    try:
        import resource
    except ImportError:  # not on Windows
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OWN_FILES
    more: Any = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < more:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, soft - _OWN_FILES))
