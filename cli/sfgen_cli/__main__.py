"""The entry point: runs a command and turns every error into a message and an exit code."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Sequence

import typer
from typer import Abort

from sfgen.errors import SfgenError
from sfgen_cli.shell import completion, process, quick_end, usage
from sfgen_cli.shell.hints import told
from sfgen_cli.shell.output import CannotWrite, ReaderGone, complain
from sfgen_cli.shell.typer_internals import NoArgsIsHelpError, UsageError, command_of, commands_of

_ANSWERING = "check"  # the command whose exit code 1 is an answer, as grep's, so that what failed has 2


class ExitCode(enum.IntEnum):
    """What the shell is told."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Args:
        arguments: What is typed behind ``sfgen``; ``None``: it was typed, and nothing comes after this call.
    """
    process.prepare()
    code = run(arguments)
    if arguments is None:
        quick_end.end(code)
    sys.exit(code)


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
    except SfgenError as error:
        complain(*told(error))
        return max(error.exit_code, failed)
    except NoArgsIsHelpError as error:
        typer.echo(error.message, color=error.ctx.color)
        return ExitCode.USAGE
    except UsageError as error:
        complain(usage.what_was_wrong(error), [usage.what_was_meant(error, commands_of(app), given)])
        return ExitCode.USAGE
    except (Abort, KeyboardInterrupt):
        complain("interrupted", [])
        return ExitCode.INTERRUPTED
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
    except Exception as error:
        if os.environ.get("SFGEN_DEBUG"):
            raise
        complain(
            f"internal error: {type(error).__name__}: {error}",
            ["This is a fault of sfgen. Please report it; SFGEN_DEBUG=1 shows where it happened."],
        )
        return failed
    return int(code or 0)


if __name__ == "__main__":
    main()
