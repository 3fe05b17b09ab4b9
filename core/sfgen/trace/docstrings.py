"""What docstrings say of dataclasses and their fields, so that it is written down once."""

from __future__ import annotations

import inspect
import re
from functools import cache

_IN_JSON = {"None": "null", "True": "true", "False": "false", "()": "[]"}
_CODE = re.compile("``(.+?)``")
_ENTRY = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


def summary(type_: type) -> str:
    """Return a docstring's first paragraph on one line.

    It is empty without a docstring (``python -OO``).
    """
    return " ".join((inspect.getdoc(type_) or "").partition("\n\n")[0].split())


@cache
def attributes(type_: type) -> dict[str, str]:
    """Map the names under ``Attributes:`` to their texts, each on one line.

    >>> from sfgen.decoding import BlockClosed
    >>> attributes(BlockClosed)
    {'position': 'The number of tokens that stay.'}
    """
    _, _, section = (inspect.getdoc(type_) or "").partition("\nAttributes:\n")
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(section.partition("\n\n")[0])}


def in_json_words(text: str) -> str:
    """Write a docstring's text as Markdown, Python's constants as in JSON.

    >>> in_json_words("The word; ``None``: no ``word``.")
    'The word; `null`: no `word`.'
    """
    return _CODE.sub(lambda found: f"`{_IN_JSON.get(found[1], found[1])}`", text)
