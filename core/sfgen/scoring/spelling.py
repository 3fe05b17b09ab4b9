"""Find the tokens of some choices after a prompt, as the tokenizer would write them.

The prompt and a choice are tokenized as one text. If all of these begin with the prompt's tokens, a choice has the
tokens after them, and its probability is conditional on the prompt.

If the tokenizer joins the end of the prompt with a choice (``very `` and ``hot`` are ``very`` and `` hot``), the
prompt's last tokens are taken back, the same number for all choices, so that all of the texts begin with the rest. Then
the end of the prompt is scored together with the choice. The shares of the choices are conditional on the prompt all
the same, since each text begins with it; their own probabilities contain that of the prompt's end as a factor.

No tokens are taken back from a prompt that is given as tokens, such as that of a chat template (unless the assistant
has begun the answer), or if none would be left. Then the choice is tokenized after the prompt's last tokens, or by
itself if the tokenizer would have divided these otherwise: the rule of jump-forward tokens
(``sfgen.decoding.jump_forward``). The same holds if the tokenizer changes the text, or if a model's ``encode`` adds
tokens after it. A choice that the tokenizer cannot write is spelled by the fewest tokens of the vocabulary, the longest
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from sfgen.decoding.jump_forward import TAIL
from sfgen.decoding.retokenize import Ids, Retokenizer, shared_length
from sfgen.errors import SfgenError, UsageError
from sfgen.protocols import Model


@dataclass(frozen=True, slots=True)
class Spelled:
    """The tokens of some choices."""

    root: Ids  # the tokens before all of them
    choices: tuple[Ids, ...]  # the tokens of each choice after the root


@dataclass(frozen=True)
class Spelling:
    """Tokenizes choices after one prompt."""

    model: Model  # its ``vocabulary`` and ``encode`` are used
    prompt: str | Sequence[int]  # text, or token ids
    prompt_ids: Ids

    def spelled(self, choices: Sequence[str]) -> Spelled:
        """Tokenize the choices after the prompt."""
        whole = [self._together(choice) for choice in choices]
        root = self.prompt_ids[: min((shared_length(self.prompt_ids, ids) for ids in whole), default=0)]
        if not root:
            whole = [(*self.prompt_ids, *self._behind(choice)) for choice in choices]
            root = self.prompt_ids
        return Spelled(root, tuple(ids[len(root) :] for ids in whole))

    def _together(self, choice: str) -> Ids:
        """Return the tokens of prompt and choice, as one text if possible."""
        if isinstance(self.prompt, str):
            with suppress(SfgenError):  # a model that does not read each character
                ids = tuple(self.model.encode(self.prompt + choice)) if choice else self.prompt_ids
                if self._bytes(ids) == self._bytes(self.prompt_ids) + choice.encode():
                    return ids
        return (*self.prompt_ids, *self._behind(choice))

    def _behind(self, choice: str) -> Ids:
        """Return the tokens of a choice after the unchanged tokens of the prompt."""
        data = choice.encode()
        for start in range(len(self._tail) + 1):
            tokens = self._retokenizer.after(self._tail[start:], data)
            if tokens is not None:
                return tokens
        return self._fewest(data)

    @cached_property
    def _retokenizer(self) -> Retokenizer:
        return Retokenizer(self.model)

    @cached_property
    def _tail(self) -> Ids:
        """The last tokens of the prompt that are text: a choice is not joined with others."""
        tokens, end = self.model.vocabulary.tokens, list[int]()
        for token in reversed(self.prompt_ids[-TAIL:]):
            if tokens[token] is None:
                break
            end.append(token)
        return tuple(reversed(end))

    def _fewest(self, data: bytes) -> Ids:
        """Return the fewest tokens that write some bytes, the longest first, the lowest id of equal ones."""
        ids: dict[bytes, int] = {}
        for number, text in enumerate(self.model.vocabulary.tokens):
            if text and text in data:
                ids.setdefault(text, number)
        longest = max(map(len, ids), default=0)
        best: list[Ids | None] = [None] * len(data) + [()]
        for start in reversed(range(len(data))):
            for stop in range(min(start + longest, len(data)), start, -1):
                token, rest = ids.get(data[start:stop]), best[stop]
                if token is not None and rest is not None:
                    known = best[start]
                    if known is None or len(rest) + 1 < len(known):
                        best[start] = (token, *rest)
        tokens = best[0]
        if tokens is None:
            raise UsageError(f"the vocabulary has no tokens for the choice {data.decode()!r}")
        return tokens

    def _bytes(self, ids: Ids) -> bytes:
        tokens = self.model.vocabulary.tokens
        return b"".join([tokens[token] or b"" for token in ids])
