"""Oracle of ``sfgen.Substring``: the texts of a document, by trying all beginnings and ends.

Independent of sfgen.
"""

from __future__ import annotations

from hypothesis import strategies as st

from sfgen.substring.document import Unit

DOCUMENTS: list[tuple[str, Unit, int, int | None]] = [
    ("abaab", "character", 1, None),
    ("ab\0é😀é", "character", 1, None),
    ("ab aé b", "word", 1, None),
    ("ab", "character", 0, None),
    ("ab a\r\nb\n\na", "line", 1, None),
    ("b a  ab\u2003ab a“", "word", 0, 1),
    ("aabaab", "character", 2, 1),
    ("a ba ab a ba", "word", 2, None),
    ("a\nab\na\nb", "line", 2, 0),
    ("éaéé", "character", 3, None),
]
"""A document, its unit, the fewest units, and how many more may be written."""

documents = st.text(st.sampled_from('aab \n\r\0é😀\u2003“"'), min_size=1, max_size=12)


def quotations(document: str, unit: Unit, least: int, most: int | None) -> frozenset[bytes]:
    """All texts, by the definition alone."""
    found = {""} if least == 0 else set()
    for start in range(len(document)):
        for end in range(start + 1, len(document) + 1):
            text = document[start:end]
            if unit == "character":
                count, is_whole = len(text), True
            else:
                outside = str.isspace if unit == "word" else "\r\n".__contains__
                is_whole = not (
                    outside(text[0])
                    or outside(text[-1])
                    or (start > 0 and not outside(document[start - 1]))
                    or (end < len(document) and not outside(document[end]))
                )
                count = len(text.split() if unit == "word" else [line for line in text.splitlines() if line])
            if is_whole and least <= count and (most is None or count <= most):
                found.add(text)
    return frozenset(text.encode() for text in found)
