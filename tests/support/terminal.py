"""Run the command line in a real pseudo-terminal, and read the screen that it leaves."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import pyte

COLUMNS, LINES = 100, 30


@dataclass(frozen=True)
class Seen:
    """What a terminal was sent, and the screen at the end; ``piped`` is stdout when it was no terminal."""

    code: int
    raw: str
    screen: list[str]
    piped: bytes


def in_a_terminal(*arguments: str, stdout_piped: bool = False, **environment: str) -> Seen:
    """Run sfgen with a pseudo-terminal as stdin, stderr and, unless it is piped, stdout."""
    master, slave = pty.openpty()
    pty_size(slave)
    process = subprocess.Popen(
        [sys.executable, "-m", "sfgen_cli", *arguments],
        stdin=slave,
        stdout=subprocess.PIPE if stdout_piped else slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES), **environment},
    )
    os.close(slave)
    sent, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.1)[0]:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            sent += chunk
    piped = process.stdout.read() if process.stdout else b""
    code = process.wait(timeout=60)
    if process.stdout:
        process.stdout.close()
    os.close(master)
    screen: Any = pyte.Screen(COLUMNS, LINES)
    terminal: Any = pyte.ByteStream(screen)
    terminal.feed(sent)
    return Seen(code, sent.decode(errors="replace"), [line.rstrip() for line in screen.display if line.strip()], piped)


def pty_size(descriptor: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))


def plain(raw: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", raw)
