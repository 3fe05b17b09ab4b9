"""The end of a command: with a message and an exit code, and without taking apart what Python has loaded."""

from __future__ import annotations

import atexit
import contextlib
import enum
import os
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

import typer
from typer import Abort

from sfgen.errors import OutOfMemory, SfgenError
from sfgen_cli.shell import completion, process, usage
from sfgen_cli.shell.output import CannotWrite, ReaderGone, complain
from sfgen_cli.shell.typer_internals import NoArgsIsHelpError, UsageError, command_of, commands_of
from sfgen_cli.shell.usage import told

_ANSWERING = "check"  # the command whose exit code 1 is an answer, as grep's, so that what failed has 2


class ExitCode(enum.IntEnum):
    """The exit codes of commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = process.INTERRUPTED


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    ``arguments`` is ``sys.argv[1:]`` if not given.
    """
    given = sys.argv[1:] if arguments is None else arguments
    failed = ExitCode.USAGE if given and given[0] == _ANSWERING else ExitCode.FAILED
    try:
        from sfgen_cli.app import app

        completion.prepare()
        code = command_of(app)(args=list(given), prog_name="sfgen", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
    except _interrupts():
        complain("interrupted", [])
        return ExitCode.INTERRUPTED
    except SfgenError as error:
        complain(*told(error))
        return max(error.exit_code, failed)
    except NoArgsIsHelpError as error:
        typer.echo(error.message, color=error.ctx.color)
        return ExitCode.USAGE
    except UsageError as error:
        complain(usage.what_was_wrong(error), [usage.what_was_meant(error, commands_of(app), given)])
        return ExitCode.USAGE
    except SystemExit as exit_:
        # Rich leaves in this way when the reader of its output has gone, and Typer when a shell has been answered.
        if isinstance(exit_.__context__, BrokenPipeError) or exit_.code is None:
            return ExitCode.DONE
        return exit_.code if isinstance(exit_.code, int) else failed
    except BrokenPipeError as error:
        # The reader has seen enough. Python flushes stdout once more at exit; that must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return error.exit_code if isinstance(error, ReaderGone) else ExitCode.DONE
    except CannotWrite as error:
        complain(f"cannot write the output: {error.strerror}", [])
        return failed
    except OSError as error:
        complain(f"cannot read or write: {error.strerror or error}", [str(error.filename or "")])
        return failed
    except MemoryError:
        complain(*told(OutOfMemory("that")))
        return failed
    except Exception as error:
        if os.environ.get("SFGEN_DEBUG"):
            raise
        complain(
            f"internal error: {type(error).__name__}: {error}",
            ["This is a fault of sfgen. Please report it; SFGEN_DEBUG=1 shows where it happened."],
        )
        return failed
    return int(code or 0)


def _interrupts() -> tuple[type[BaseException], ...]:
    """List the errors that Ctrl-C comes as; after it has come all errors, since an import may have failed for it."""
    return (BaseException,) if process.was_interrupted() else (Abort, KeyboardInterrupt)


def end(code: int) -> NoReturn:
    """End this process.

    Python would free first what it has loaded, which takes a fifth of the time of a short command. What is registered
    for the exit is done. Python ends in its own way where a profiler or a debugger observes, and where a thread still
    has work.
    """
    handlers = getattr(atexit, "_run_exitfuncs", None)  # what Python's own multiprocessing calls in forked processes
    if handlers is None or sys.flags.inspect or _is_watched() or _has_work():
        sys.exit(code)
    handlers()
    flush_streams()
    os._exit(code)


def flush_streams() -> None:
    """Write what the standard streams still hold, as far as it can be written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # what was to be told of that is told
            if stream is not None:
                stream.flush()


def _has_work() -> bool:
    """Whether a thread still has work that the end must wait for."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())


def _is_watched() -> bool:
    """Whether a profiler or a debugger goes on after the end of the command."""
    monitoring = getattr(sys, "monitoring", None)  # of Python 3.12
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    return bool(sys.gettrace() or sys.getprofile() or any(tools))
