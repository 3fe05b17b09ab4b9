"""Where the prompt comes from: the argument, a file, a pipe, or nowhere."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from sfgen.errors import InputError, UsageError

_STDIN = "-"


def read_prompt(argument: str | None, file: Path | None, *, stdin_taken: bool = False) -> str:
    """The prompt: the argument; else the file; else stdin when it is piped (``-`` asks for it); else empty.

    ``stdin_taken``: stdin is wanted for something else.

    Raises:
        UsageError: Both an argument and a file; or stdin is asked for and taken.
        InputError: The file or stdin cannot be read, or is no UTF-8.
    """
    if argument is not None and file is not None:
        raise UsageError("the prompt was given twice: as an argument and as --prompt-file", hint="Give one of them.")
    if argument is not None and argument != _STDIN:
        return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if file is not None and str(file) != _STDIN:
        return without_newline(read_text(file))
    asked_for = argument == _STDIN or file is not None
    if asked_for and stdin_taken:
        raise UsageError("the prompt and the words cannot both come from stdin", hint="Give the prompt as argument.")
    if stdin_taken:
        return ""
    if asked_for or (sys.stdin is not None and not sys.stdin.isatty()):
        return without_newline(read_stdin())
    return ""


def read_text(file: Path) -> str:
    """The text of a UTF-8 file (a byte order mark is dropped).

    Raises:
        InputError: It cannot be read, or is no UTF-8.
    """
    try:
        return _decoded(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error


def read_stdin() -> str:
    """All of stdin as text; empty if it is closed."""
    if sys.stdin is None:
        return ""
    stream = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if stream is None else _decoded(stream.read(), "stdin")


def looks_like_a_pattern(prompt: str) -> bool:
    """Whether a prompt was perhaps meant as a pattern.

    >>> [looks_like_a_pattern(text) for text in ("[0-9]{4}", r"\\d+", "It is (very) hot.", "What? No!")]
    [True, True, False, False]
    """
    return bool(re.search(r"\\[dwsDWSbpP.]|\[[^\]\s]+\][+*?{]|\)[+*?{]|\w\{\d+(,\d*)?\}|\.[*+]", prompt))


def pattern_hint(prompt: str) -> str:
    """What to type if the prompt was meant as a pattern; empty if it does not look like one.

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
    """The text without the newline at its end, if it has one."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
