"""Banned words found by a plain search: what a person would do who looks through a text with an editor."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LETTER = r"[^\W_]"
_NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff]")  # Japanese and Chinese, which put no spaces between words


def banned_words_in(text: str, words: Iterable[str], match: str = "word", prompt: str = "") -> list[str]:
    """The words that stand in a text, read by itself or behind its prompt, in any case, over any white space.

    >>> banned_words_in("We TALK.", ["talk"]), banned_words_in("talking", ["talk"])
    (['talk'], [])
    >>> banned_words_in("lk", ["talk"], prompt="ta")
    ['talk']
    """
    return [
        word for word in words if _ends_in(text, 0, word, match) or _ends_in(prompt + text, len(prompt), word, match)
    ]


def _ends_in(whole: str, begin: int, word: str, match: str) -> bool:
    """Whether the word stands in the text and ends behind ``begin``."""
    plain = match == "substring" or _NO_SPACES.search(word)
    left = f"(?<!{_LETTER})" if not plain and re.match(_LETTER, word) else ""
    right = f"(?!{_LETTER})" if not plain and match == "word" and re.match(_LETTER, word[-1]) else ""
    pattern = left + r"\s+".join(map(re.escape, word.split())) + right
    return any(hit.end() > begin for hit in re.finditer(pattern, whole, re.IGNORECASE))
