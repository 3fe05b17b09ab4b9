"""The source of the prompt: the argument, a file, a pipe, several of them, or nowhere.

What is piped in is read to its end, as ``cat`` and ``ssh`` do it, since nobody can know that a pipe that is still open
is not meant: who calls sfgen from a program or in a loop of a shell gives it ``</dev/null``. A regular file that
somebody else has begun to read is the exception: ``while read -r line; do sfgen gen "$line"; done < lines.txt`` is so
common, and reading the rest of the lines into the first prompt so wrong, that it is left alone beside a prompt.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from sfgen.errors import InputError, UsageError
from sfgen.whole_file import is_same_file, read_file, read_stream
from sfgen_cli.shell.output import note

_STDIN = "-"
_PATIENCE = 3.0  # seconds without a byte, until a person is told what is waited for


def reader_of_stdin(files: Mapping[str, Path | str | None], *, prompt: str | None = None) -> str:
    """Name what is read from stdin; empty if nothing is."""
    named = {"the prompt": prompt, **files}
    readers = [name for name, file in named.items() if file is not None and str(file) == _STDIN]
    if len(readers) > 1:
        raise UsageError(
            f"{readers[0]} and {readers[1]} cannot both come from stdin", hint="It is read once: give one as a file."
        )
    return readers[0] if readers else ""


def refuse_overwriting(read: Mapping[str, Path | str | None], written: Mapping[str, Path | str | None]) -> None:
    """Refuse to write over a file that is read, and two things to one file."""
    seen = {
        name: 0 if str(file) == _STDIN else file
        for name, file in read.items()
        if file is not None and not (isinstance(file, str) and file != _STDIN and not os.path.exists(file))
    }
    for name, file in written.items():
        if file is None or str(file) == _STDIN:
            continue
        for other, known in seen.items():
            if is_same_file(known, file):
                raise UsageError(f"{other} and {name} name the same file", hint="Give another one.")
        seen[name] = file


def read_prompt(argument: str | None, file: Path | None, *, reader: str = "", quiet: bool = False) -> str:
    """Read the prompt: the piped-in text, a blank line, then the argument or file.

    What there is of them counts.
    """
    if argument is not None and file is not None:
        raise UsageError("the prompt was given twice: as an argument and as --prompt-file", hint="Give one of them.")
    if _STDIN in (argument, str(file)):
        return _piped(quiet=quiet)
    own = ""
    if argument is not None:
        own = argument_text(argument)
    elif file is not None:
        own = without_newline(read_text(file))
    piped = "" if reader or not _is_piped(beside_prompt=bool(own)) else _piped(quiet=quiet)
    return "\n\n".join(part for part in (piped, own) if part)


def _is_piped(*, beside_prompt: bool) -> bool:
    """Whether stdin is meant for this command; see above."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    with contextlib.suppress(OSError, ValueError):  # a pipe has no position, and a replaced stdin no descriptor
        return not (beside_prompt and os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR) > 0)
    return True


def _piped(*, quiet: bool) -> str:
    if sys.stdin is not None and not sys.stdin.isatty():
        with contextlib.suppress(OSError, ValueError):
            if not select.select([sys.stdin.fileno()], [], [], _PATIENCE)[0]:
                note("sfgen: waiting for the end of stdin, a part of the prompt (none with </dev/null)", quiet=quiet)
    return without_newline(read_stdin())


def argument_text(argument: str) -> str:
    """Return an argument of the command line as text: bytes that are not UTF-8 become U+FFFD."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_text(file: Path) -> str:
    """Read a UTF-8 file, or stdin for ``-``.

    A byte order mark is dropped.
    """
    if str(file) == _STDIN:
        return read_stdin()
    try:
        return _decoded(read_file(file), str(file))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error


def read_stdin() -> str:
    """Read all of stdin as text; empty if it is closed."""
    if sys.stdin is None:
        return ""
    stream = getattr(sys.stdin, "buffer", None)
    try:
        return sys.stdin.read() if stream is None else _decoded(read_stream(stream, "stdin"), "stdin")
    except OSError as error:
        raise InputError(f"cannot read stdin: {error.strerror or error}") from error


def looks_like_a_pattern(prompt: str) -> bool:
    r"""Return whether a prompt was perhaps meant as a pattern.

    >>> [looks_like_a_pattern(text) for text in ("[0-9]{4}", r"\d+", "It is (very) hot.", "What? No!")]
    [True, True, False, False]
    """
    return bool(re.search(r"\\[dwsDWSbpP.]|\[[^\]\s]+\][+*?{]|\)[+*?{]|\w\{\d+(,\d*)?\}|\.[*+]", prompt))


def pattern_hint(prompt: str) -> str:
    """Hint at the command for a prompt that looks like a pattern.

    It is empty for all other prompts.

    >>> pattern_hint("[0-9]{4}")
    "the prompt looks like a pattern; to match it: sfgen gen --regex '[0-9]{4}'"
    """
    if not looks_like_a_pattern(prompt):
        return ""
    shown = shlex.quote(prompt) if len(prompt) <= 60 and prompt.isprintable() else "PATTERN"
    return f"the prompt looks like a pattern; to match it: sfgen gen --regex {shown}"


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{source} is not UTF-8: line {line}, byte {error.start}") from error


def without_newline(text: str) -> str:
    """Remove the newline at the end of a text, if any."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
