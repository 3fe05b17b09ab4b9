"""A compressor as a language model: the text that compresses best after FILE is the likeliest.

After the ``ZipModel`` of Louf, Klett and Simpson 2023: the score of a character is minus the compressed length of FILE,
prompt, text and that character, times log 256 a byte, so in nats. It is a very bad language model, but it needs nothing
more than a text file. It differs from theirs in five ways:

* The state of the compressor is copied for each character (``zlib.compressobj().copy()``), not made again from FILE.
* The length is counted in bits. zlib gives a length in whole bytes, which is the same for most characters. But with
  fixed codes the byte 0xFF, used for this purpose only, is written as nine ones, and only zeros follow: the last one in
  the stream marks the end of the text.
* zlib looks back 32 KB, so of a longer FILE only the end would count. It is cut into passages of that length, each of
  which begins in the middle of the one before, with a compressor for each. The compressor that has compressed prompt
  and text best so far gives the scores.
* The longest match hides the statistics of shorter ones. So each length is the mean of two: after the whole text, and
  after its last four characters alone.
* The compressor does not read UTF-8: FILE's 125 most frequent characters are one byte each, the others three, whatever
  the script. All these bytes are below 144, where a fixed code has eight bits. So no coded text is longer than the text
  itself, and zlib never stores it uncoded.
"""

from __future__ import annotations

import math
import os
import string
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sfgen import arguments
from sfgen.errors import InputError, ModelError, UsageError
from sfgen.models.sessions import last_in_parts, not_pickled
from sfgen.printable import caret_lines
from sfgen.protocols import Scores
from sfgen.vocabulary import Vocabulary

_LIMIT = 4 << 20  # bytes of FILE: 250 passages, 40 MB of compressors for each session
WINDOW = 32768 - 263  # bytes that zlib looks back: its window, less the room of the longest match
_SHORT = 4  # characters of the short context
_END = 0  # the id of the end token
_SINGLE = 0x7E  # the number of tokens that are one byte for the compressor
_CHARACTERS = 16 << 14  # the number of those that are three, which bounds the alphabet
_BEGIN = bytes.fromhex("7e7e7e7f7e7f7f7f")  # before FILE; long enough for zlib to find it again, and without a repeat
_ESCAPE = b"\x7f"  # before a character that FILE does not hold, so that it costs more than one that FILE holds
_MARK = b"\xff"  # where the text ends, for the count of bits
_HINT = "zip:FILE takes a text file in UTF-8."


class ZipModel:
    """A compression model of a text.

    A token is one character: first the characters of the text, the most frequent first, then the other printable
    characters of ASCII, which cost at least eight bits more (the compressor reads an escape before them). Upper and
    lower case are different characters, as they are in a pattern. The end token stands after the text and nowhere else.
    Its id is 0, so that a greedy text also ends where the model's text has no continuation and all characters are
    equally likely.

    Args:
        text: The text that the model knows.
        name: The name in messages and records.

    Attributes:
        vocabulary: The characters.
        context_length: ``None``; a text may be of any length, but after 32 KB the compressor forgets its beginning.

    Raises:
        ModelError: The text is empty, or has too many different characters.

    >>> from sfgen import Dfa, Index, generate
    >>> model = ZipModel("the old captain sought vengeance against moby dick, and told ishmael so.")
    >>> index = Index(Dfa.from_regex("(ishmael|moby dick)"), model.vocabulary)
    >>> generate(model, "Ahab is seeking vengeance against", index=index).text
    'moby dick'
    """

    def __init__(self, text: str, *, name: str = "zip") -> None:
        if not arguments.text("text", text) or not arguments.text("name", name):
            raise ModelError(f"no model {name}: the text is empty", hint=_HINT)
        self.name = name
        self.context_length: int | None = None
        text = _without_surrogates(text)
        counts = Counter(text)
        known = sorted(counts, key=lambda character: (-counts[character], character))
        others = sorted(set(string.printable) - counts.keys())
        if len(known) + len(others) > _CHARACTERS:
            raise ModelError(f"no model {name}: it has {len(known):,} different characters", hint=_HINT)
        self._ids = {character: token for token, character in enumerate([*known, *others], 1)}
        self._begin = len(self._ids) + 1
        self.vocabulary = Vocabulary(
            [None, *(character.encode() for character in self._ids), None],
            end_token_ids=[_END],
            names={_END: "<end>", self._begin: "<begin>"},
        )
        codes = [_code(token) for token in range(self._begin)]
        self._codes = [*codes[: len(known) + 1], *(_ESCAPE + code for code in codes[len(known) + 1 :]), _BEGIN]
        coded = text.translate(
            {ord(character): codes[token].decode("latin-1") for character, token in self._ids.items()}
        )
        data = _BEGIN + coded.encode("latin-1") + codes[_END]
        last = max(0, len(data) - WINDOW)
        starts = sorted({*range(0, last, WINDOW // 2), last})
        self._streams = [_Stream.after(data[start : start + WINDOW]) for start in starts]

    @classmethod
    def from_file(cls, file: str | Path) -> ZipModel:
        """Read the model ``zip:FILE`` from a text file.

        The file is UTF-8 of at most 4 MB.

        Raises:
            UsageError: No file is named.
            ModelError: It cannot be read, is empty, too long, or not UTF-8.
        """
        arguments.path("file", file, error=ModelError)
        if not str(file):
            raise UsageError("zip: names no file", hint="Write zip:FILE, for example zip:book.txt.")
        name = f"zip:{file}"
        try:
            with Path(os.path.expanduser(file)).open("rb") as source:
                data = source.read(_LIMIT + 1)  # a device may have no end
        except OSError as error:
            raise ModelError(f"no model {name}: {error.strerror}", hint=_HINT) from error
        if len(data) > _LIMIT:
            raise ModelError(
                f"no model {name}: the file is longer than {_LIMIT:,} bytes",
                hint="Take a part of it (head -c 4000000).",
            )
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise ModelError(f"no model {name}: not UTF-8: line {line}, byte {error.start}", hint=_HINT) from error
        return cls(text.removeprefix("\ufeff"), name=name)

    def __reduce__(self) -> NoReturn:
        raise not_pickled(self.name)

    def __repr__(self) -> str:
        return f"ZipModel({self.name!r})"

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt, adding a space unless it ends in white space.

        The space separates prompt and answer, as in Louf, Klett and Simpson 2023, so that neither needs to have one. An
        empty prompt is the position before the first character of the model's text.

        Raises:
            InputError: A character that is neither in the model's text nor printable ASCII.
        """
        if not arguments.text("text", text):
            return [self._begin]
        text = _without_surrogates(text)
        joined = text if text[-1].isspace() else f"{text} "
        try:
            return self.encode_inside(joined)
        except KeyError as error:
            character: str = error.args[0]
            raise InputError(
                f"the model {self.name} cannot read {character!r} (U+{ord(character):04X}): it is not in its text",
                details=caret_lines(text, text.index(character)),
                hint="Leave it out of the prompt: the model reads the characters of its text and printable ASCII.",
            ) from None

    def encode_inside(self, text: str) -> list[int]:
        """Tokenize a text inside another one: its characters, nothing else.

        Raises:
            KeyError: A character that the model cannot read.
        """
        return [self._ids[character] for character in arguments.text("text", text)]

    def session(self) -> ZipSession:
        """Return a new, empty session."""
        return ZipSession(self._streams, self._codes)


class ZipSession:
    """One text that the compressors have read after their passages."""

    def __init__(self, streams: Sequence[_Stream], codes: Sequence[bytes]) -> None:
        self._fresh, self._codes = streams, codes
        self._tokens: list[int] = []
        self._streams = _copies(streams)
        # A rewind starts from the state after the tokens that were read first, which are the prompt's.
        self._prompt_length, self._prompt = 0, streams

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the next scores, float32 ``[len(vocabulary)]``."""
        # Minus the compressed length that each token would add, in nats.
        self._read(token_ids)
        self._keep_prompt()
        return self._scores()

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens one after the other; return all scores, float32 ``[tokens, len(vocabulary)]``."""
        return self.extend_last(token_ids, len(token_ids))

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        """Read tokens; return the scores after the last of them, float32 ``[positions, len(vocabulary)]``."""
        scores = []
        for part in last_in_parts(token_ids, positions):
            self._read(part)
            scores.append(self._scores())
        self._keep_prompt()
        return np.stack(scores)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        # The tokens after the prompt are read again.
        if length >= len(self._tokens):
            return
        if length < self._prompt_length:
            self._prompt_length, self._prompt = 0, self._fresh
        kept = self._tokens[self._prompt_length : length]
        del self._tokens[self._prompt_length :]
        self._streams = _copies(self._prompt)
        self._read(kept)

    def _keep_prompt(self) -> None:
        if self._prompt_length == 0:
            self._prompt_length, self._prompt = len(self._tokens), _copies(self._streams)

    def _scores(self) -> Scores:
        """Compute minus the length that each token would add now."""
        lengths = [stream.bits() for stream in self._streams]
        passage = lengths.index(min(lengths))
        short = self._fresh[passage].copy()
        short.read(self._coded(self._tokens[-_SHORT:]))
        lengths_with = [_lengths_with(stream, self._codes) for stream in (self._streams[passage], short)]
        scores: Scores = np.array(lengths_with, dtype=np.float32).mean(axis=0) * np.float32(-math.log(256) / 8)
        return scores

    def _read(self, token_ids: Sequence[int]) -> None:
        data = self._coded(token_ids)
        self._tokens += token_ids
        for stream in self._streams:
            stream.read(data)

    def _coded(self, token_ids: Sequence[int]) -> bytes:
        return b"".join([self._codes[token] for token in token_ids])


class _Stream:
    """A compressor, and how many bytes it has written."""

    def __init__(self, compressor: Any, written: int) -> None:
        self._compressor, self._written = compressor, written

    @classmethod
    def after(cls, passage: bytes) -> _Stream:
        """Return a compressor that has only a passage to look back to."""
        # Fixed codes: the cost of a character then depends on the matches alone, not on the rest of the text. (Codes
        # made for each block predict worse, measured on English: 3.75 bits a character against 3.56.) Level 6 predicts
        # as level 9 does, in half the time; a copy takes less time with the memory of level 6 than with more.
        return cls(zlib.compressobj(6, zlib.DEFLATED, -15, 6, zlib.Z_FIXED, zdict=passage), 0)

    def copy(self) -> _Stream:
        return _Stream(self._compressor.copy(), self._written)

    def read(self, data: bytes) -> None:
        self._written += len(self._compressor.compress(data))

    def bits(self, more: bytes = b"") -> int:
        """Return the compressed bits of the text read so far and ``more``, plus a small constant."""
        compressor = self._compressor.copy()
        out = compressor.compress(more + _MARK) + compressor.flush()
        tail = out[-3:]  # behind the mark: the seven zeros of the end of the block, and at most seven to fill the byte
        return 8 * (self._written + len(out) - len(tail)) + int.from_bytes(tail, "little").bit_length()


def _code(token: int) -> bytes:
    """Return the bytes that the compressors read for a token of FILE."""
    if token < _SINGLE:
        return bytes([token])
    rest = token - _SINGLE
    return bytes([0x80 + (rest >> 14), rest >> 7 & 0x7F, rest & 0x7F])


def _without_surrogates(text: str) -> str:
    """Replace half surrogate pairs by question marks, as the decode loop does."""
    return text.encode("utf-8", "replace").decode()


def _lengths_with(stream: _Stream, codes: Sequence[bytes]) -> list[int]:
    """Count the bits that each code adds."""
    before = stream.bits()
    return [stream.bits(code) - before for code in codes]


def _copies(streams: Sequence[_Stream]) -> list[_Stream]:
    return [stream.copy() for stream in streams]
