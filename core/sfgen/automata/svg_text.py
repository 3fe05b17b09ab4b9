"""Text in SVG that every reader takes: only characters that XML has, and blanks that stay where they are."""

from __future__ import annotations

import re

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document can hold, not even by number."""


def for_any_reader(picture: str) -> str:
    """SVG that any XML parser takes, and whose blanks every renderer shows.

    A character that XML does not have becomes U+FFFD. Without ``xml:space`` blanks at the start and end of a text are
    dropped, no-break spaces too in some renderers (librsvg).

    >>> for_any_reader("<svg><text>  a\\x01</text></svg>")
    '<svg xml:space="preserve"><text>  a\ufffd</text></svg>'
    """
    return NOT_IN_XML.sub("\ufffd", re.sub(r"<svg\b", '<svg xml:space="preserve"', picture, count=1))
