"""The terminal's own keys, one at a time, also while stdin is a pipe; and the terminal as it was, whatever happens."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from sfgen.errors import UsageError
from sfgen_cli.shell import process
from sfgen_cli.shell.output import stderr_is_a_terminal, stdout_is_a_terminal

_CURSOR_SHOWN, _CURSOR_HIDDEN = b"\x1b[?25h", b"\x1b[?25l"
_LEAVING = ("SIGHUP", "SIGTSTP")


class Keyboard:
    """The keys of a terminal that gives each as it is pressed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[str] = []

    def key(self) -> str:
        """Wait for a key, and return its character or sequence.

        Arrows and function keys send a sequence. It is empty when the terminal has gone.
        """
        if not self._waiting:
            select.select([self._descriptor], [], [])
            pressed = os.read(self._descriptor, 1024).decode("utf-8", "replace")
            self._waiting = [pressed] if pressed.startswith("\x1b") else list(pressed)
        return self._waiting.pop(0) if self._waiting else ""


def check_stepping() -> None:
    """Refuse to wait for keys that cannot come."""
    with contextlib.ExitStack() as stack:
        found = _terminal(stack)
        in_background = found is not None and _is_in_background(found)
    if found is None or not can_be_drawn_on():
        raise UsageError(
            "--step needs a terminal: it shows a step there and waits for a key",
            hint="Use --slow MS to see the steps one after the other, or --trace FILE and sfgen replay FILE --step.",
        )
    if in_background:
        raise UsageError(
            "--step waits for keys, which a process in the background of its terminal does not get",
            hint="Start it without & at its end, and by timeout --foreground; or use --slow MS.",
        )


def can_be_drawn_on() -> bool:
    """Return whether stderr is a terminal that can move its cursor.

    A picture that changes needs that.
    """
    return stderr_is_a_terminal() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def is_watched(*, asked_for: bool) -> bool:
    """Return whether a view is drawn.

    That is on a terminal that can do it; without a request for it, only where stdout goes there, too.
    """
    return can_be_drawn_on() and (asked_for or stdout_is_a_terminal())


@contextlib.contextmanager
def quiet_terminal(*, keys: bool) -> Iterator[Keyboard | None]:
    """Switch the terminal's echo off until the end of the context.

    So what is typed does not tear the picture. It stays for the program that reads it next, unless it was read as a
    key.
    """
    process.at_work()
    with contextlib.ExitStack() as stack:
        found = _terminal(stack)
        if found is None or _is_in_background(found):
            yield None
            return
        import termios

        before = termios.tcgetattr(found)
        wanted = termios.tcgetattr(found)
        wanted[3] &= ~termios.ECHO
        if keys:
            wanted[3] &= ~termios.ICANON
            wanted[6][termios.VMIN], wanted[6][termios.VTIME] = 1, 0

        def enter() -> None:
            termios.tcsetattr(found, termios.TCSADRAIN, wanted)

        def leave() -> None:
            if _is_in_background(found):  # another program has the terminal, with modes of its own
                return
            termios.tcsetattr(found, termios.TCSADRAIN, before)

        stack.callback(leave)
        enter()
        stack.enter_context(_restored_on_signals(found, enter, leave))
        yield Keyboard(found) if keys else None


def _terminal(stack: contextlib.ExitStack) -> int | None:
    """The terminal that the program was started from, else the one at stderr, open until the stack is left."""
    try:
        import termios  # noqa: F401  (there are systems without)
    except ImportError:
        return None
    for of_stderr in (False, True):
        with contextlib.suppress(OSError):
            name = os.ttyname(2) if of_stderr else "/dev/tty"
            descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
            stack.callback(os.close, descriptor)
            return descriptor
    return None


def _is_in_background(terminal: int) -> bool:
    """Whether the program would be stopped if it changed the terminal's modes, or read its keys."""
    try:
        return os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:  # it is not the terminal that the program was started from: nobody stops it there
        return False


@contextlib.contextmanager
def _restored_on_signals(terminal: int, enter: Callable[[], None], leave: Callable[[], None]) -> Iterator[None]:
    """Give the terminal back before a signal ends or suspends the program, and take it again when it goes on.

    Ctrl-C and SIGTERM are not among them: they are exceptions, and pass through everything that cleans up.
    """
    before: dict[int, signal.Handlers] = {}

    def left(number: int, frame: FrameType | None) -> None:
        leave()
        os.write(terminal, _CURSOR_SHOWN + b"\r\n")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # Only a program that was suspended comes here, when it goes on.
        signal.signal(number, left)
        enter()
        os.write(terminal, _CURSOR_HIDDEN)

    try:
        for name in _LEAVING:
            number = getattr(signal, name)
            if signal.getsignal(number) == signal.SIG_DFL:  # what somebody ignores stays ignored
                with contextlib.suppress(ValueError):  # only the main thread may
                    signal.signal(number, left)
                    before[number] = signal.SIG_DFL
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
