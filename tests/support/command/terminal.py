"""Run the command line in a real pseudo-terminal: press keys, change its size, and read its screen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import pyte
from tests.support.command.processes import forked

COLUMNS, LINES = 100, 30
SFGEN = (sys.executable, "-m", "sfgen_cli")

_FRAME_ENDS = "\x1b[?2026l"  # the live view says so
_NOT_FOR_PYTE = re.compile("\u200e|\x1b\\[[<=][0-9;]*u|\x1bP[^\x1b]*\x1b\\\\")
"""A mark that takes no room, after which pyte drops all, and what fish 4 asks a terminal for, which pyte would show."""


class _Screen(pyte.Screen):
    """A screen that answers the program, as a terminal does: fish 4 asks which one it is, and waits for the answer."""

    def __init__(self, columns: int, lines: int, master: int) -> None:
        super().__init__(columns, lines)
        self._master = master

    def write_process_input(self, data: str) -> None:
        os.write(self._master, data.encode())


@dataclass(frozen=True)
class Seen:
    """What a terminal was sent, and the screen at the end; ``piped`` is stdout when it was no terminal.

    ``frames``: the screen after each frame of the live view. ``modes``: whether the terminal's modes were as before.
    """

    code: int
    raw: str
    screen: list[str]
    piped: bytes
    frames: list[list[str]] = field(default_factory=list)
    modes_restored: bool = True

    @property
    def cursor_is_shown(self) -> bool:
        return self.raw.rfind("\x1b[?25h") >= self.raw.rfind("\x1b[?25l")


class Terminal:
    """A run of sfgen in a terminal of its own, which is its controlling terminal.

    Args:
        arguments: What follows ``sfgen``.
        size: Columns and lines.
        stdin: What is piped into it; ``None``: stdin is the terminal.
        stdout_piped: stdout is a pipe.
        command: What is run instead of sfgen, which is forked from the tests.
        environment: Changes of the environment.
    """

    def __init__(
        self,
        *arguments: str,
        size: tuple[int, int] = (COLUMNS, LINES),
        stdin: bytes | None = None,
        stdout_piped: bool = False,
        command: Sequence[str] | None = None,
        **environment: str,
    ) -> None:
        self.master, slave = pty.openpty()
        columns, lines = size
        self.emulator: Any = _Screen(columns, lines, self.master)
        self._stream: Any = pyte.Stream(self.emulator)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.raw, self.frames = "", list[list[str]]()
        self._set_size(columns, lines)
        self._modes = termios.tcgetattr(slave)
        self._slave = slave  # kept open, to look at its modes at the end
        begin: Callable[..., subprocess.Popen[bytes]] = forked if command is None else subprocess.Popen
        self.process = begin(
            [*(command or ()), *arguments],
            stdin=slave if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE if stdout_piped else slave,
            stderr=slave,
            env={**_plain_environment(), "TERM": "xterm-256color", **environment},
            start_new_session=True,
            preexec_fn=_as_a_shell_would,
        )
        if stdin is not None:
            assert self.process.stdin is not None
            self.process.stdin.write(stdin)
            self.process.stdin.close()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stdin):
            if stream is not None:
                stream.close()
        os.close(self.master)
        os.close(self._slave)

    @property
    def screen(self) -> list[str]:
        """The rows that are not blank."""
        return [line.rstrip() for line in self.emulator.display if line.strip()]

    def was_there(self, text: str) -> None:
        """What stood on the screen before."""
        self._stream.feed(text)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def resize(self, columns: int, lines: int, *, breaks_rows: bool) -> None:
        """Change the size. What does not fit any more is broken into several rows, or cut: terminals do either."""
        self.read(0)
        rows = self.screen
        self.emulator.resize(lines, columns)
        if breaks_rows:
            self._stream.feed("\x1b[H\x1b[2J" + "\r\n".join(rows))
        self._set_size(columns, lines)
        os.kill(self.process.pid, signal.SIGWINCH)

    def until(self, wanted: Callable[[list[str]], object], seconds: float = 60) -> list[str]:
        """Read until the screen is as wanted, and give it."""
        deadline = time.monotonic() + seconds
        while not wanted(self.screen):
            assert time.monotonic() < deadline, "\n".join(["never seen; the screen is", *self.screen])
            assert self.process.poll() is None or self.read(0.1), "\n".join(["ended; the screen is", *self.screen])
            self.read(0.05)
        return self.screen

    def until_frame(self) -> None:
        """Read until the view was drawn anew."""
        already = len(self.frames)
        self.until(lambda screen: len(self.frames) > already)

    def read(self, seconds: float) -> bool:
        """Take in what was sent, waiting at most so long for it; whether there was something."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            text = self._decoder.decode(os.read(self.master, 65536))
        except OSError:  # the other end is closed
            return False
        self.raw += text
        *frames, rest = re.split(f"(?<={re.escape(_FRAME_ENDS)})", text)
        for frame in frames:
            self._stream.feed(_NOT_FOR_PYTE.sub("", frame))
            self.frames.append(self.screen)
        self._stream.feed(_NOT_FOR_PYTE.sub("", rest))
        return True

    def finish(self, seconds: float = 120) -> Seen:
        """Read to the end of the run."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "\n".join(["does not end; the screen is", *self.screen])
            self.read(0.05)
        while self.read(0):
            pass
        piped = self.process.stdout.read() if self.process.stdout else b""
        restored = termios.tcgetattr(self._slave) == self._modes
        return Seen(self.process.returncode, self.raw, self.screen, piped, self.frames, restored)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def _plain_environment() -> dict[str, str]:
    """The environment without what tells of the terminal in which the tests run."""
    of_terminals = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "STY", "TMUX", "XTERM_VERSION")
    return {name: value for name, value in os.environ.items() if name not in of_terminals}


def in_a_terminal(
    *arguments: str, stdout_piped: bool = False, size: tuple[int, int] = (COLUMNS, LINES), **environment: str
) -> Seen:
    """Run sfgen with a pseudo-terminal as stdin, stderr and, unless it is piped, stdout."""
    with Terminal(*arguments, size=size, stdin=None, stdout_piped=stdout_piped, **environment) as terminal:
        return terminal.finish()


def plain(raw: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", raw)


def _as_a_shell_would() -> None:
    """Start a command in the foreground of its terminal: tests that run in the background inherit ignored signals."""
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
