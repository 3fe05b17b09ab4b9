"""The parts of a generation that thinks first: the marker, and how the limits are shared.

See ``sfgen.index.thought`` for what may follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfgen.errors import BannedWordsError, LimitTooSmall, UsageError
from sfgen.index import Unconstrained
from sfgen.index.marker import Marker
from sfgen.index.thought import Thought
from sfgen.parameter_text import ParameterText
from sfgen.protocols import GuideSource, Model
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords


def marker_of(
    model: Model, vocabulary: Vocabulary, after: str, banned: BannedWords | None, *, name: str = "after"
) -> Marker:
    """Return the marker of a text: its bytes and special token.

    Args:
        model: The model, whose ``encode_inside`` is used.
        vocabulary: Its tokens.
        after: The text.
        banned: What it must not contain; ``None``: nothing is banned.
        name: The parameter that names the text, for messages.

    Raises:
        UsageError: The tokenizer makes an end token of it, or special tokens among others.
        BannedWordsError: It has a banned word, so that nothing clean could be written.
    """
    data = after.encode()
    encode = getattr(model, "encode_inside", None)
    try:
        ids = list(encode(after)) if encode is not None else []
    except Exception:  # somebody else's code: a text that it cannot cut is no special token
        ids = []
    special = [token for token in ids if vocabulary.tokens[token] is None]
    if special and (len(ids) > 1 or special[0] in vocabulary.end_token_ids):
        what = "more than a special token" if len(ids) > 1 else "a token that ends a text"
        raise UsageError(
            ParameterText(f"{name} is {after!r:.60}, of which the tokenizer makes {what}", "after", "when"),
            hint="Name a text, or one special token.",
        )
    if banned is not None:
        from sfgen.ban import scan

        found = scan(data, banned)
        if found:
            word = found[0].word
            raise BannedWordsError(
                ParameterText(f"{after!r:.60}, which {name} says, has the banned word {word!r:.60}", "after", "when"),
                hint="Allow it there, or choose another text.",
            )
    return Marker(data, special[0] if special else None)


@dataclass(frozen=True)
class ThoughtBefore:
    """The thought before the text of a constraint, with its limits.

    Attributes:
        marker: What stands between them.
        max_thought: The most tokens of the thought.
        max_tokens: The most tokens of the text.
    """

    marker: Marker
    max_thought: int
    max_tokens: int

    @classmethod
    def within(cls, room: int | None, marker: Marker, max_thought: int, max_tokens: int) -> ThoughtBefore:
        """Share the room in the model's context.

        The thought becomes shorter first.

        Args:
            room: How many tokens there may be; ``None``: any number.
            marker: What stands between thought and text.
            max_thought: The most tokens of the thought, wherever there is room.
            max_tokens: The same of the text.

        Raises:
            LimitTooSmall: There is no room for the marker.
        """
        if room is None:
            return cls(marker, max_thought, max_tokens)
        written = 1 if marker.token is not None else len(marker.data)  # each byte may be a token of its own
        left = room - written
        if left < 0:
            raise LimitTooSmall(
                f"the context of the model leaves room for {room} tokens, and {written} may be needed for what ends "
                "the thought",
                hint="Give a shorter prompt, or use a model with a longer context.",
            )
        max_tokens = min(max_tokens, left)
        return cls(marker, min(max_thought, left - max_tokens), max_tokens)

    def before(self, source: GuideSource | None, vocabulary: Vocabulary) -> Thought:
        """Put the thought before a constraint.

        Args:
            source: The constraint; ``None``: free text.
            vocabulary: The tokens.
        """
        return Thought(self.marker, source or Unconstrained(vocabulary), self.max_thought)
