"""What ``check`` reads: files, stdin, and texts on the command line; each as one text, or line by line."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from sfgen.errors import InputError, UsageError
from sfgen.printable import shown_name
from sfgen_cli.shell.usage import quoted

_STDIN = "-"
_JSON_LINES = ".jsonl"

LONGEST_TEXT = 64 * 2**20
"""Bytes of a text that is compared as a whole, and of a line: a device may have no end."""


@dataclass(frozen=True)
class Source:
    """Something that holds texts.

    Attributes:
        file: The file as the user named it, ``-`` for stdin; ``None``: the text was on the command line.
        text: That text.
    """

    file: str | None
    text: str = ""

    @property
    def name(self) -> str:
        """The file, for people; empty for a text."""
        return "stdin" if self.file == _STDIN else shown_name(self.file or "")

    def is_read_by_line(self, *, asked_for: bool) -> bool:
        """Tell whether each of its lines is a text.

        ``asked_for`` says that lines are to be, where there are any.
        """
        return self.file is not None and (asked_for or self.is_json_lines)

    @property
    def is_json_lines(self) -> bool:
        """Whether the name says that each line is JSON."""
        return PurePath(self.file or "").suffix == _JSON_LINES

    @contextlib.contextmanager
    def opened(self) -> Iterator[Iterable[bytes]]:
        """Open it, and yield its bytes, cut after their newlines.

        Of a pipe each line comes as soon as it is there.

        Raises:
            InputError: It cannot be read.
        """
        if self.file is None:
            # The locale may have told Python of another encoding.
            yield io.BytesIO(os.fsencode(self.text))
            return
        if self.file == _STDIN:
            yield self._lines(_stdin())
            return
        try:
            stream = open(self.file, "rb")  # noqa: SIM115
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
                raise InputError(f"cannot read {self.name}: {error.strerror}") from error
            hint = f"If it is the text itself: sfgen check … --text {quoted(self.file, instead='TEXT')}"
            raise InputError(f"no such file: {self.name or quoted('')}", hint=hint) from error
        with stream:
            yield self._lines(stream)

    def whole(self, lines: Iterable[bytes]) -> bytes:
        """Join the lines of a text.

        Raises:
            InputError: It is too long.
        """
        pieces: list[bytes] = []
        size = 0
        for line in lines:
            size += len(line)
            if size > LONGEST_TEXT:
                raise InputError(
                    f"{self.name} is longer than {LONGEST_TEXT:,} bytes", hint="Does --lines make texts of its lines?"
                )
            pieces.append(line)
        return b"".join(pieces)

    def _lines(self, stream: BinaryIO) -> Iterator[bytes]:
        number = 0
        try:
            while line := stream.readline(LONGEST_TEXT + 1):
                number += 1
                if len(line) > LONGEST_TEXT:
                    raise InputError(f"{self.name}, line {number} is longer than {LONGEST_TEXT:,} bytes")
                yield line
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror}") from error


def sources(files: Sequence[str], texts: Sequence[str], *, reader: str) -> list[Source]:
    """List what there is to read: the files, then the texts.

    Without either it is stdin.

    Args:
        files: Names; ``-`` is stdin.
        texts: Texts of the command line.
        reader: The option that reads stdin for something else; empty if none does.

    Raises:
        UsageError: Stdin is a terminal that was not named, or is wanted twice.
    """
    if not files and not texts:
        if not reader and sys.stdin is not None and sys.stdin.isatty():
            raise UsageError(
                "no text to look at: no file, no --text and nothing piped in",
                hint="For example: sfgen check --words talk,listen --text 'Can we talk?'",
            )
        files = [_STDIN]
    if list(files).count(_STDIN) + bool(reader) > 1:
        raise UsageError(
            f"stdin can be read once only{f', and {reader} reads it' if reader else ''}",
            hint="Name a file, or give the text itself with --text.",
        )
    return [*(Source(name) for name in files), *(Source(None, text) for text in texts)]


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        return io.BytesIO()
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    return io.BytesIO(sys.stdin.read().encode()) if stream is None else stream
