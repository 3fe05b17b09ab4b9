"""A constraint of your own: brackets that close, which no pattern can say.

It says how a position in the text reads bytes, and whether the text may end there. All else has a default, and works
with it: bans, limits, batches, the live view. What it prints:

    (())
    Answer: (())
"""

from typing import Any

import sfgen
from sfgen.index import BaseGuide, Chain


def read(position: int, data: bytes) -> int | None:
    """How many brackets are open after these bytes; -1 when the first one is closed again."""
    for byte in data:
        if position < 0 or byte not in b"()" or (position == 0 and byte == ord(")")):
            return None
        position += 1 if byte == ord("(") else -1
        position = position or -1
    return position


class Depth(BaseGuide[int]):
    def _read(self, position: int, data: bytes) -> int | None:
        return read(position, data)

    def _accepts(self, position: int) -> bool:
        return position == -1

    def _tokens_left(self, position: int) -> int:  # at most: a token may close several
        return 2 if position == 0 else max(position, 0)


class Brackets:
    def guide(self, vocabulary: sfgen.Vocabulary, max_tokens: int | None = None) -> Depth:
        return Depth(vocabulary, 0, max_tokens)

    def accepts(self, text: str | bytes) -> bool:
        return read(0, text.encode() if isinstance(text, str) else text) == -1

    def shortest(self) -> bytes:
        return b"()"

    def to_dict(self) -> dict[str, Any]:
        return {"brackets": "()"}

    def refusal(self, data: bytes) -> None:  # who else says that a text is wrong: nobody
        return None


model = sfgen.load_model("tiny")
index = sfgen.Index(Brackets(), model.vocabulary)
answer = Chain([sfgen.Index(sfgen.Dfa.from_choices(["Answer: "]), model.vocabulary), index])
for source in (index, answer):
    print(sfgen.generate(model, "It is very ", index=source, temperature=1.0, seed=14, max_tokens=20).text)
