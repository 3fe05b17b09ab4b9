"""Read lists of words: files, and lists on one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TextIO

from sfgen import arguments
from sfgen.ban.entries import check_word, unstar
from sfgen.errors import InputError, NothingBanned
from sfgen.printable import shown_name
from sfgen.whole_file import read_file, read_stream

_SEPARATORS: Final = ",，、"


def split_words(text: str) -> list[str]:
    r"""Split a list of words on one line.

    ``,`` ``，`` and ``、`` separate; a backslash before one makes it literal. White space around a word and empty
    pieces are dropped. Other backslashes stay.

    Returns:
        The words, in their order.

    >>> split_words(r"talk, fuck you，聊天、,1\,000,c\*")
    ['talk', 'fuck you', '聊天', '1,000', 'c\\*']
    """
    pieces = [""]
    escaped = False
    arguments.text("text", text)
    for character in text:
        if character in _SEPARATORS and escaped:
            pieces[-1] = pieces[-1][:-1] + character
        elif character in _SEPARATORS:
            pieces.append("")
        else:
            pieces[-1] += character
        escaped = character == "\\" and not escaped
    return [stripped for piece in pieces if (stripped := piece.strip())]


def read_words(
    source: str | Path | TextIO, warn: Callable[[str], object] | None = None, *, title: str | None = None
) -> list[str]:
    r"""Read the words of a file in UTF-8, one a line.

    A line that begins with ``#`` is a comment, and so is what follows a ``#`` between white space; ``\#`` is the
    character itself. Blank lines are skipped. Everything else is literal: commas, quotes, stars but one at the end.

    Args:
        source: A path, or an open text stream.
        warn: Called with a sentence about each entry that may mean something else to its author than it does here.
        title: What messages call it; its path, or the name of the stream, if not given.

    Raises:
        UsageError: ``warn`` is not a function, or ``title`` is not a text.
        InputError: It cannot be read, or is not UTF-8 (with the line).
        NothingBanned: It has no word.
        BannedWordsError: It has a word that bans nothing (with the line).
    """
    if warn is not None:
        arguments.function("warn", warn)
    if title is not None:
        arguments.text("title", title)
    name, text = _read(source, title)
    words: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        word = _COMMENT.split(line, maxsplit=1)[0].strip()
        if warn is not None:
            for doubt in _doubts(word or line.strip()):
                warn(f"{shown_name(name)}, line {number}: {doubt}")
        if not word:
            continue
        word = word.replace(r"\#", "#")
        check_word(word, f"{name}, line {number}: the banned word")
        words.append(word)
    if not words:
        raise NothingBanned(f"{name} has no banned word", hint="Write one on each line.")
    return words


_COMMENT: Final = re.compile(r"^\s*#|\s#(?=\s|$)")
_QUOTES: Final = ('""', "''", "``", "“”", "‘’", "«»", "„“", "「」")


def _doubts(entry: str) -> Iterator[str]:
    """What the author of an entry may have meant otherwise: how it is read, and what to write instead.

    Args:
        entry: A line without its comment; the comment itself if there is nothing else.

    >>> list(_doubts("talk,"))
    ["'talk,' is read with its comma; leave the comma out"]
    """
    if entry.startswith("#"):
        if entry[1:2].strip("#! \t"):  # no blank, no rule of ####
            yield rf"{entry!r} is read as a comment; for a word that begins with #, write \{entry}"
        return
    if re.search(r"\s#", entry):
        yield rf"{entry!r} is read as one phrase; a comment needs a blank behind its #"
    if len(entry) > 2 and any(entry[0] == left and entry[-1] == right for left, right in _QUOTES):
        yield f"{entry!r} is read with its quotes; for the word alone, leave the quotes out"
    if len(entry) > 1 and entry[-1] in _SEPARATORS:
        yield f"{entry!r} is read with its comma; leave the comma out"
    text, starred = unstar(entry.replace(r"\*", ""))
    if "*" in text:
        how = f"as all words that begin with {text!r}" if starred else "with its stars as they are"
        yield rf"{entry!r} is read {how}; write \* for a star to say so"


def _read(source: str | Path | TextIO, title: str | None) -> tuple[str, str]:
    """The name and the text of a source."""
    if isinstance(source, (str, Path)):
        name = title or str(source)
        try:
            data = read_file(source, name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot read the banned words in {name}: {reason}", hint="Check the path.") from None
    else:
        name = title or str(getattr(source, "name", "the stream"))
        arguments.given("source", source, "a path or an open file", "read")
        buffer = getattr(source, "buffer", None)  # a stream that was opened as another encoding is read as UTF-8 too
        if buffer is None:
            return name, source.read().removeprefix("\ufeff")
        data = read_stream(buffer, name)
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8", hint="Save the file as UTF-8.") from None
