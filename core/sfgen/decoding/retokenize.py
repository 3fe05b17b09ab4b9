"""Text to tokens as the tokenizer would cut it in the middle of a text.

``encode`` of a model is made for prompts: it writes a begin token, and SentencePiece a space, before the text, and some
write an end token after it. So the text is encoded after another character, whose tokens are then removed. If the
tokenizer cuts the character otherwise, because of the text after it, another character is tried. The result is compared
byte by byte with the text: a tokenizer that changes the text (another form of accents, lower case) gives no result.

A model may also have ``encode_inside(text)``: the token ids of a text with nothing around it. It is asked instead of
``encode`` where there is one, because it is faster, or because ``encode`` adds something after the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sfgen.protocols import Model

Ids = tuple[int, ...]

_BEFORE = ("\n", "a", ".", "1")
"""The characters after which a text is encoded, in the order of trying."""


class Retokenizer:
    """A retokenizer: cuts text into the tokens that the tokenizer writes.

    >>> from sfgen.models.uniform import UniformModel
    >>> from sfgen.vocabulary import Vocabulary
    >>> retokenizer = Retokenizer(UniformModel(Vocabulary([b"\\n", b"a", b"l", b"b", b"al"])))
    >>> retokenizer.after((), b"all"), retokenizer.after((1,), b"b"), retokenizer.after((1,), b"lb")
    ((4, 2), (3,), None)
    >>> retokenizer.ends_in((3,), b"lal", b"al"), retokenizer.ends_in((3,), b"lal", b"l")
    (True, False)
    """

    def __init__(self, model: Model) -> None:
        self._encode: Callable[[str], list[int]] = getattr(model, "encode_inside", None) or model.encode
        self._tokens = model.vocabulary.tokens
        self._before: tuple[tuple[str, list[int]], ...] = ()

    def after(self, tail: Ids, data: bytes) -> Ids | None:
        """Tokenize bytes after other tokens."""
        for tokens in self._cut(tail, data):
            if self._bytes(tokens) == data:
                return tuple(tokens)
        return None

    def ends_in(self, tail: Ids, data: bytes, token: bytes) -> bool | None:
        """Return whether the last token that ``after`` returns has these bytes."""
        for tokens in self._cut(tail, data):
            if tokens and self._bytes(tokens[-1:]) != token:
                return False
            if self._bytes(tokens) == data:
                return True
        return None

    def _cut(self, tail: Ids, data: bytes) -> Iterator[list[int]]:
        """Yield the tokens that the tokenizer may write after the tail, one answer for each context."""
        try:
            text = (self._bytes(tail) + data).decode()
        except UnicodeDecodeError:
            return
        if not self._before:
            self._before = tuple([(before, self._ids(before)) for before in _BEFORE])
        for before, start in self._before:
            whole = [*start, *tail]
            ids = self._ids(before + text)
            if start and ids[: len(whole)] == whole:
                yield ids[len(whole) :]

    def _bytes(self, ids: Ids | list[int]) -> bytes:
        return b"".join([self._tokens[token] or b"" for token in ids])

    def _ids(self, text: str) -> list[int]:
        """Return the model's tokens of a text; none where it fails or returns no token ids."""
        try:
            ids = list(self._encode(text))
        except Exception:  # somebody else's code: it raises whatever it likes, and nothing depends on the answer
            return []
        if not ids or min(ids) < 0 or max(ids) >= len(self._tokens):
            return []
        while ids and self._tokens[ids[-1]] is None:  # an end token, for texts that are complete
            ids.pop()
        return ids


def shared_length(one: Ids, other: Ids) -> int:
    """Count the tokens that two sequences share at their start.

    >>> shared_length((1, 2, 3), (1, 2, 4, 5))
    2
    """
    count = min(len(one), len(other))
    return next((index for index in range(count) if one[index] != other[index]), count)
