"""The last check of a finished text: the guarantees are checked by other means than those that kept them.

The constraint's own judges are asked (``re`` for a pattern). Banned words and stop strings are searched for in the
plain text, and banned words also in decoded parts of it, such as the strings of JSON. A broken guarantee is a fault of
sfgen, and an error with all that a report needs; the text is never a result.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import sfgen
from sfgen.decoding.detokenizer import StopStrings
from sfgen.decoding.sampler import Sampler
from sfgen.errors import InternalError
from sfgen.index.marker import Marker
from sfgen.protocols import GuideSource, HasReadings, Model

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

_SHOWN = 2000  # characters of a pattern or a text in a report


class BannedPart(NamedTuple):
    """A banned word in a text."""

    word: str
    reading: str | None = None  # the text in which it is read, such as a string of JSON; ``None``: the text itself


@dataclass(frozen=True)
class Guarantees:
    """The guarantees about one text, and its origin for the report."""

    source: GuideSource | None  # the text must match it
    banned: BannedWords | None  # and contain none of these
    stops: StopStrings  # and have ended before these
    prompt: bytes  # the bytes before the text
    model: Model
    sampler: Sampler
    max_tokens: int  # the most tokens of the text
    marker: Marker | None = None  # between the thought, if there is one, and the text

    def check(self, data: bytes, thought: bytes | None = None, *, in_thought: bool = False) -> None:
        """Check a finished text, and the thought before it; ``in_thought``: the limit has ended it in the thought."""
        refusal = None if self.source is None or in_thought else self.source.refusal(data)
        if refusal is not None:
            refused_by = refusal.pop("refused by")
            facts = {name: _shown(fact) for name, fact in refusal.items()}
            raise self._broken("the text does not match the pattern", data, {**facts, "refused by": refused_by})
        if thought is not None and self.marker is not None:
            self._check_thought(thought, self.marker, in_thought)
        banned = self.banned_in(data, thought)
        if banned is not None and banned.reading is None:
            raise self._broken(f"the text contains the banned word {banned.word!r}", data, {})
        if banned is not None:
            facts = {"reading": _shown(banned.reading or "")}
            raise self._broken(f"what is read in the text has the banned word {banned.word!r}", data, facts)
        for string in self.stops.strings:
            if string in data:
                raise self._broken(f"the text contains the stop string {string.decode()!r}", data, {})

    def _check_thought(self, thought: bytes, marker: Marker, in_thought: bool) -> None:
        if marker.data in (thought if in_thought else (thought + marker.data)[:-1]):
            raise self._broken("the thought contains the text that ends it", thought, {})
        if self.banned is None or not thought:
            return
        from sfgen.ban import scan

        matches = scan(thought, self.banned, prompt=self.prompt)
        if matches:
            raise self._broken(f"the thought contains the banned word {matches[0].word!r}", thought, {})

    def banned_in(self, data: bytes, thought: bytes | None = None) -> BannedPart | None:
        """Find the first banned word of a finished text, or of what is read in it."""
        if self.banned is None or not data:
            return None
        from sfgen.ban import scan

        before = self.prompt
        if thought is not None and self.marker is not None:
            before += thought + self.marker.data
        matches = scan(data, self.banned, prompt=before)
        if matches:
            return BannedPart(matches[0].word)
        constraint = getattr(self.source, "constraint", None)
        if not isinstance(constraint, HasReadings):
            return None
        for reading in constraint.readings(data):
            matches = scan(reading.encode("utf-8", "replace"), self.banned)
            if matches:
                return BannedPart(matches[0].word, reading)
        return None

    def _broken(self, what: str, data: bytes, more: dict[str, str]) -> InternalError:
        vocabulary, sampler = self.model.vocabulary, self.sampler
        facts = {
            **more,
            "text": _shown(data.decode("utf-8", "backslashreplace")),
            "model": str(getattr(self.model, "name", type(self.model).__name__)),
            "vocabulary": f"{len(vocabulary)} tokens, fingerprint {vocabulary.fingerprint[:16]}",
            "sampling": f"temperature {sampler.temperature}, seed {sampler.seed}, at most {self.max_tokens} tokens",
            "versions": f"sfgen {sfgen.__version__}, Python {platform.python_version()}",
        }
        return InternalError(
            f"internal error: {what}",
            details=tuple(f"  {name:<10}  {fact}" for name, fact in facts.items()),
            hint="This is a fault of sfgen, so there is no result. Please report it with these lines.",
        )


def _shown(text: str) -> str:
    return repr(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")
