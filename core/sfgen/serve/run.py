"""The application behind uvicorn, until a signal ends it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import uvicorn

from sfgen.errors import UsageError
from sfgen.serve.guards import Guard


def run(application: Guard, host: str, port: int, *, told: Callable[[str], None] | None = None) -> None:
    """Serve an application until SIGINT or SIGTERM.

    At the first signal no request is taken any more, and running ones go on as long as the application lets them.

    Args:
        application: What ``sfgen.serve.app`` made.
        host: The address to listen at.
        port: The port; 0: any free one.
        told: Called with the address, once it listens.

    Raises:
        UsageError: Nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise UsageError(
            f"cannot listen at {host}, port {port}: {error.strerror}", hint="Give another --port."
        ) from None
    logging.getLogger("sfgen.serve").setLevel(logging.INFO)
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(1, round(application.grace)),
    )
    shown = f"[{host}]" if ":" in host else host
    if told is not None:
        told(f"http://{shown}:{listener.getsockname()[1]}")
    uvicorn.Server(config).run(sockets=[listener])
