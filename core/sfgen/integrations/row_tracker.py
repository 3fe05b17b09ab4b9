"""The rows of a batch from call to call of a processor.

``generate`` calls a processor before each token with the ids of all rows: the prompt, and what was written. It does not
say where the prompt ends, nor when a new text begins, and a beam search copies and exchanges the rows of a prompt. So
the place of a row is looked up by what it has written: its ids but for the last are those of a row of the call before.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sfgen.errors import UsageError
from sfgen.integrations.state import Place, Rule, Stage

_Key = tuple[int, bytes]
"""The number of the prompt, and the ids written after it."""


class Rows:
    """The places of all rows.

    A call belongs to the same texts as the call before if each of its rows is one of those rows with one more token.
    Else new texts begin, and all that is there is their prompt. Two cases are not clear by themselves:

    * Rows that go on with a prompt that was there before, but are not longer than what was written last: texts that
      begin anew in the middle of the old ones, or candidates that were thrown away (assisted generation). It is an
      error.
    * Texts that begin with exactly what the last call of ``generate`` returned: they count as the same texts, which go
      on.

    Args:
        rule: Knows how a place follows from another.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.reset()

    def reset(self) -> None:
        """Forget everything: new texts begin with the next call."""
        self._prompts: Tensor | None = None  # int64 [rows, length]
        self._groups: list[int] = []  # for each row, the number of the first one with the same prompt
        self._length = 0  # ids of a row at the last call
        self._places: dict[_Key, Place] = {}  # of the rows of the last call

    def places(self, input_ids: Tensor) -> list[Place]:
        """The place of each row.

        Args:
            input_ids: int ``[rows, length]``: the prompts, padded to one length on either side, and what was written.

        Raises:
            UsageError: It cannot be told whether new texts begin.
        """
        keys = self._continued(input_ids)
        if keys is None:
            return self._begin(input_ids)
        known: dict[_Key, Place] = {}
        last = input_ids[:, -1].tolist()
        went_on = False
        for (group, before), key, token in zip(self._before(keys, input_ids), keys, last, strict=True):
            if key not in known:
                parent = self._places[group, before]
                known[key] = self._rule.step(parent, token)
                went_on |= parent.stage is not Stage.OPEN or known[key].stage is not Stage.STRAYED
        if not went_on:  # no text took what it was allowed to take: these are prompts, one token longer than the rows
            return self._begin(input_ids)
        self._places, self._length = known, input_ids.shape[1]
        return [known[key] for key in keys]

    def _begin(self, input_ids: Tensor) -> list[Place]:
        self._rule.new_texts()
        prompts = input_ids.tolist()
        first: dict[tuple[int, ...], int] = {}
        self._groups = [first.setdefault(tuple(prompt), number) for number, prompt in enumerate(prompts)]
        self._prompts = input_ids.detach().clone()  # its owner may change it
        self._length = input_ids.shape[1]
        places = {number: self._rule.begin(prompts[number]) for number in first.values()}
        self._places = {(number, b""): place for number, place in places.items()}
        return [places[number] for number in self._groups]

    def _continued(self, input_ids: Tensor) -> list[_Key] | None:
        """The keys of the rows if they go on with the texts of the last call; ``None``: new texts begin."""
        prompts, (count, length) = self._prompts, input_ids.shape
        if prompts is None or count != len(prompts):
            return None
        start = prompts.shape[1]
        if not start < length <= self._length + 1 or prompts.dtype != input_ids.dtype:
            return None
        if not torch.equal(input_ids[:, :start], prompts.to(input_ids.device)):
            return None
        written = input_ids[:, start:].cpu().numpy()
        keys = [(group, row.tobytes()) for group, row in zip(self._groups, written, strict=True)]
        before = self._before(keys, input_ids)
        if length == self._length + 1:
            return keys if all(key in self._places for key in before) else None
        if all(self._is_prefix(key) for key in before):
            raise UsageError(
                "it cannot be told whether a new text begins: these ids go on with the last prompt, "
                "and are not longer than what was written last",
                hint="Call reset() before a generate() whose prompt is a part of what was written before. "
                "Assisted generation (assistant_model, prompt_lookup_num_tokens) is not supported.",
            )
        return None

    @staticmethod
    def _before(keys: Sequence[_Key], input_ids: Tensor) -> list[_Key]:
        """The keys without their last token."""
        size = input_ids.element_size()
        return [(group, written[:-size]) for group, written in keys]

    def _is_prefix(self, key: _Key) -> bool:
        group, written = key
        return any(other == group and longer.startswith(written) for other, longer in self._places)
