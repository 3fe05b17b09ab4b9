"""The oracle of banned text: what is banned, told by regular expressions alone. Slow, plain, nothing of sfgen in it."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence

import regex

_SPACED = r"[^\W\u3005\u3040-\u30ff\u3400-\u9fff]"  # a letter of a script that puts spaces between words
_GOES_ON = "z"  # what follows a text that has not ended: a letter that is in none of the tests' words


class BannedText:
    """A list of banned words, and the questions that tests ask of it. A text is read by itself and after its prompt.

    Args:
        words: As ``BannedWords`` takes them, without stars, escapes and punctuation; no ``z`` in them.
        match: As ``BannedWords`` takes it.
        prompt: The text before; what lies in it alone is not banned.
        patterns: As ``BannedWords`` takes them, without anything that looks around.
        allow: As ``BannedWords`` takes it, like words; then only finished texts can be asked about.
    """

    def __init__(
        self,
        words: Sequence[str],
        match: str = "word",
        prompt: bytes = b"",
        patterns: Sequence[str] = (),
        allow: Sequence[str] = (),
    ) -> None:
        self.words, self.match, self.prompt, self.allow = tuple(words), match, prompt, tuple(allow)
        self._patterns = [_pattern_of(word, match) for word in words]
        self._any_length = [regex.compile(pattern) for pattern in patterns]
        self._allowed = [_pattern_of(word, "word" if match == "word" else "substring") for word in allow]

    def __repr__(self) -> str:
        return f"BannedText({list(self.words)}, {self.match!r}, {self.prompt!r})"

    def first(self, data: bytes, *, ended: bool = True) -> tuple[int, int] | None:
        """Where the first match begins and ends, in bytes after the prompt; ``None`` if there is none.

        Args:
            data: What was written after the prompt.
            ended: Whether the text ends here; else only what is a match whatever follows.
        """
        assert ended or not self.allow
        found = [*self._found(b"", data, ended=ended), *self._found(self.prompt, data, ended=ended)]
        return min(found, key=lambda span: span[::-1], default=None)

    def spans(self, data: bytes, *, ended: bool = True) -> set[tuple[int, int]]:
        """Where all matches of either reading begin and end, in bytes after the prompt; see ``first``."""
        return {*self._found(b"", data, ended=ended), *self._found(self.prompt, data, ended=ended)}

    def _found(self, prompt: bytes, data: bytes, *, ended: bool) -> Iterator[tuple[int, int]]:
        """Every match that ends in the data when they are read after a prompt, in bytes after it."""
        text, starts = characters(prompt + data, ended=ended)
        whole = text if ended else text + _GOES_ON
        found = [
            (start, hit.end())
            for pattern in self._patterns
            for start in range(len(text))
            if (hit := pattern.match(whole, start)) and hit.end() <= len(text)
        ]
        found += [
            (start, end)
            for pattern in self._any_length
            for start in range(len(text))
            for end in range(start + 1, len(text) + 1)
            if pattern.fullmatch(text, start, end)
        ]
        allowed = [hit.span() for pattern in self._allowed for hit in pattern.finditer(text, overlapped=True)]
        for start, end in found:
            if starts[end] > len(prompt) and not any(low <= start and end <= high for low, high in allowed):
                yield starts[start] - len(prompt), starts[end] - len(prompt)

    def is_in(self, data: bytes, *, ended: bool = True) -> bool:
        """Whether there is a match; see ``first``."""
        return self.first(data, ended=ended) is not None

    def open_from(self, data: bytes) -> int | None:
        """Where the earliest match begins that may still become whole; ``None`` if there is none under way."""
        places = [self._open_from(prompt, data) for prompt in (b"", self.prompt)]
        return min((place for place in places if place is not None), default=None)

    def _open_from(self, prompt: bytes, data: bytes) -> int | None:
        text, starts = characters(prompt + data, ended=False)
        under_way = (
            start
            for start in range(len(text))
            for pattern in self._patterns
            if (hit := pattern.fullmatch(text, start, partial=True))
            # One that is whole is over, unless it waits for a boundary.
            if hit.partial or pattern.pattern.endswith(")")
        )
        half = None if starts[-1] == len(prompt + data) else len(text)
        start = next(under_way, half)
        return None if start is None else starts[start] - len(prompt)


def banned_words_in(text: str, words: Iterable[str], match: str = "word", prompt: str = "") -> list[str]:
    """The words that stand in a finished text.

    >>> banned_words_in("We TALK.", ["talk"]), banned_words_in("talking", ["talk"])
    (['talk'], [])
    >>> banned_words_in("lk", ["talk"], prompt="ta")
    ['talk']
    """
    return [word for word in words if BannedText([word], match, prompt.encode()).is_in(text.encode())]


def characters(data: bytes, *, ended: bool) -> tuple[str, list[int]]:
    """The whole characters of the data, and where each of them and the rest begins, in bytes.

    >>> characters(b"a\\xc3\\xa9\\xc3", ended=False), characters(b"a\\xc3", ended=True)
    (('aé', [0, 1, 3]), ('a\ufffd', [0, 1, 2]))
    """
    text, starts, begin = "", list[int](), 0
    while True:
        broken = 0
        try:
            new, _ = codecs.utf_8_decode(data[begin:], "strict", ended)
        except UnicodeDecodeError as error:
            new = data[begin : begin + error.start].decode()
            broken = error.end - error.start
        for character in new:
            starts.append(begin)
            begin += len(character.encode())
        text += new
        if not broken:
            return text, [*starts, begin]
        text += "\ufffd"
        starts.append(begin)
        begin += broken


def _pattern_of(word: str, match: str) -> regex.Pattern[str]:
    word = word.strip()
    left = f"(?<!{_SPACED})" if match != "substring" and regex.match(_SPACED, word) else ""
    right = f"(?!{_SPACED})" if match == "word" and regex.match(_SPACED, word[-1]) else ""
    return regex.compile(left + r"\W+".join(map(regex.escape, word.split())) + right, regex.IGNORECASE | regex.FULLCASE)
