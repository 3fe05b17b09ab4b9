"""What must be right about the process before anything else is done."""

from __future__ import annotations

import codecs
import contextlib
import errno
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def prepare() -> None:
    """Prepare the process for the commands, whatever started it."""
    hold_standard_streams()
    speak_utf8()
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)


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
