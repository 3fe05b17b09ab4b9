"""The entry point: runs a command and turns every error into a message and an exit code."""

from __future__ import annotations

import difflib
import enum
import os
import re
import shlex
import sys
from collections.abc import Sequence

# Typer carries its own copy of click, whose exceptions are not those of the package click.
from typer import Abort
from typer._click.exceptions import NoSuchOption, UsageError

from sfgen.errors import SfgenError
from sfgen_cli.output import complain


class ExitCode(enum.IntEnum):
    """What the shell is told."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. ``arguments``: ``sys.argv[1:]`` if not given."""
    try:
        from sfgen_cli.app import app

        code = app(args=list(arguments) if arguments is not None else None, prog_name="sfgen", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
    except SfgenError as error:
        complain(error.message, [*error.details, error.hint])
        return error.exit_code
    except UsageError as error:
        if error.message:  # without one the help was asked for by naming no command, and has been shown
            # format_message() names the option at fault; for an unknown one it lists guesses, which the hint does.
            what = error.message if isinstance(error, NoSuchOption) else error.format_message()
            complain(what, [_usage_hint(error, sys.argv[1:] if arguments is None else arguments)])
        return ExitCode.USAGE
    except (Abort, KeyboardInterrupt):
        complain("interrupted", [])
        return ExitCode.INTERRUPTED
    except SystemExit as exit_:
        # Rich leaves in this way when the reader of its output has gone.
        return ExitCode.DONE if isinstance(exit_.__context__, BrokenPipeError) else ExitCode.FAILED
    except BrokenPipeError:
        # The reader has seen enough. Python flushes stdout once more at exit; that must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return ExitCode.DONE
    except OSError as error:
        complain(f"cannot read or write: {error.strerror or error}", [str(error.filename or "")])
        return ExitCode.FAILED
    except Exception as error:
        if os.environ.get("SFGEN_DEBUG"):
            raise
        complain(
            f"internal error: {type(error).__name__}: {error}",
            ["This is a fault of sfgen. Please report it; SFGEN_DEBUG=1 shows where it happened."],
        )
        return ExitCode.FAILED
    return int(code or 0)


def _usage_hint(error: UsageError, arguments: Sequence[str]) -> str:
    command = error.ctx.command_path if error.ctx else "sfgen"
    prompt = _prompt_taken_for_an_option(error, arguments) if command in ("sfgen gen", "sfgen ban") else ""
    near: list[str] = []
    if isinstance(error, NoSuchOption) and " " not in prompt:
        near = difflib.get_close_matches(error.option_name, error.possibilities or (), n=1)
    if near:
        return f"Did you mean {near[0]}? See: {command} --help"
    if prompt:
        return f"If it is the prompt, put -- before it: {command} … -- {shlex.quote(prompt)}"
    return f"See: {command} --help"


def _prompt_taken_for_an_option(error: UsageError, arguments: Sequence[str]) -> str:
    """The argument that was perhaps meant as the prompt although it begins with ``-``; empty if there is none."""
    unknown = isinstance(error, NoSuchOption)
    names = (
        [error.option_name] if isinstance(error, NoSuchOption) else getattr(getattr(error, "param", None), "opts", [])
    )
    for argument in arguments:
        if not argument.startswith("-"):
            continue
        # Of short options that were glued together, the error names one.
        glued = unknown and not argument.startswith("--") and names[0].lstrip("-") in argument
        if (glued or argument.startswith(tuple(names))) and (unknown or re.match(r"[^=]*\s", argument)):
            return argument
    return ""


if __name__ == "__main__":
    main()
