"""The settings of the process before all else, and its reaction to Ctrl-C.

While a command starts (imports, reads, loads) there is nothing to be kept: Ctrl-C ends it at once and without a word,
since an exception in the middle of somebody's import may come out as another one. ``at_work`` begins the second part,
in which Ctrl-C is ``KeyboardInterrupt``: files are closed, processes ended, a text that was begun is kept.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_WAITING = "OMP_WAIT_POLICY"
_SPINS = "GOMP_SPINCOUNT"
_FEW_SPINS = "300"
"""Some microseconds. None at all doubles the time on an idle machine, where most waits are that short."""

_SOON = 0.01  # seconds until a signal is sent once more


class _Interruption:
    """The state of an interruption by Ctrl-C.

    Attributes:
        has_come: Whether it has come while a command was at work.
        farewell: What a terminal is sent where it ends a command at once: another line, behind ``^C``.
    """

    has_come = False
    farewell = b"\n"


_INTERRUPTION = _Interruption()


def prepare(starting: Callable[[int, Any], object] | None = None) -> None:
    """Prepare the process for the commands, whatever started it."""
    if starting is not None:
        if signal.getsignal(signal.SIGINT) is starting:
            signal.signal(signal.SIGINT, _leave_at_once)
        sys.unraisablehook = _send_again
    hold_standard_streams()
    speak_utf8()
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)


def at_work() -> None:
    """Let Ctrl-C be an exception from now on: there is something to be cleaned up, or kept.

    What was loaded stays until the end: the collector need not walk it in the middle of a text.
    """
    gc.freeze()
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is _leave_at_once:
        signal.signal(signal.SIGINT, _interrupt)


def done() -> None:
    """Let Ctrl-C end the process at once again: all is written."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, _leave_at_once)


def was_interrupted() -> bool:
    """Return whether Ctrl-C has come while the command was at work."""
    return _INTERRUPTION.has_come


@contextlib.contextmanager
def farewell(to_terminal: bytes) -> Iterator[None]:
    """Send the terminal something else where Ctrl-C ends the process at once in this context."""
    before, _INTERRUPTION.farewell = _INTERRUPTION.farewell, to_terminal
    try:
        yield
    finally:
        _INTERRUPTION.farewell = before


def _leave_at_once(number: int, frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, _INTERRUPTION.farewell)
    os._exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _INTERRUPTION.has_come = True
    raise KeyboardInterrupt


def _send_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Send a signal once more whose exception came where none can be raised.

    Python drops an exception while it frees something, or while a C library calls back, as LLVM does.
    """
    number = _signal_of(unraisable.exc_value)
    if number is None:
        sys.__unraisablehook__(unraisable)
        return
    timer = threading.Timer(_SOON, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


def _signal_of(error: BaseException | None) -> int | None:
    """The signal that was made this exception; ``None``: it is another one."""
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    return signal.SIGTERM if isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM else None


def hold_standard_streams() -> None:
    """Open the null device where standard streams were closed.

    Otherwise a file that is opened later would take their place: what a library writes to stderr would go into, say,
    the index that is saved.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError as error:
            if error.errno == errno.EBADF:
                os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def speak_utf8() -> None:
    """Begin again in Python's UTF-8 mode where the locale knows ASCII only.

    Python by itself does so in the locales C and POSIX, if it was not told otherwise. In ASCII the arguments have come
    as bytes in disguise, and no file could be opened whose name has other letters.
    """
    if sys.flags.utf8_mode or codecs.lookup(sys.getfilesystemencoding()).name != "ascii":
        return
    with contextlib.suppress(OSError):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def import_numpy() -> None:
    """Import numpy with a single thread for products of matrices.

    Its OpenBLAS starts a thread for each processor while it is imported, which takes as long as all else in numpy; the
    products here are too small for several. Other libraries, which read the same variable, are not told.
    """
    if "numpy" in sys.modules or _BLAS_THREADS in os.environ:
        return
    os.environ[_BLAS_THREADS] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_BLAS_THREADS]


def let_threads_sleep(model: str) -> None:
    """Let the threads of llama.cpp sleep where they wait for each other for more than some microseconds.

    They would keep their processors busy, which beside other load takes twice the time and more: all wait for the one
    that has lost its processor. OpenMP (GNU's) reads the variable when it is loaded, also in the processes of a batch.
    What the user has set stays.
    """
    from sfgen.models.gguf.header import gguf_path

    if _WAITING not in os.environ and gguf_path(model) is not None:
        os.environ.setdefault(_SPINS, _FEW_SPINS)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the end of the context.

    They end in an exception: what is half written would be written once more. Only the main thread is interrupted by
    them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for signal_number in received:
            signal.raise_signal(signal_number)


def _leave(number: int, frame: FrameType | None) -> None:
    """End as after an error, so that the terminal is left as it was found."""
    sys.exit(128 + number)
