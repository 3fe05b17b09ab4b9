"""The links and anchors of a Markdown text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token


def links(text: str) -> Iterator[str]:
    """Where the links and pictures of a text lead."""
    for token in _tokens(text):
        for each in token.children or ():
            where = each.attrGet("href") if each.type == "link_open" else each.attrGet("src")
            if where is not None:
                yield str(where)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a text.

    >>> sorted(anchors("# A text\\n## `--ban`: what, and why?\\n## A text"))
    ['--ban-what-and-why', 'a-text', 'a-text-1']
    """
    found: set[str] = set()
    for token, inline in pairwise(_tokens(text)):
        if token.type == "heading_open":
            title = "".join(each.content for each in inline.children or () if each.type in ("text", "code_inline"))
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            number = next(n for n in range(len(found) + 1) if (f"{anchor}-{n}" if n else anchor) not in found)
            found.add(f"{anchor}-{number}" if number else anchor)
    return found


def _tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)
