"""The rows of a batch from call to call of a processor.

``generate`` calls a processor before each token with the ids of all rows: the prompt, and what was written. It does not
say where the prompt ends, nor when a new text begins, and a beam search copies and exchanges the rows of a prompt. So
where a row stands is looked up by what it has written: its ids but for the last are those of a row of the call before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from sfgen.errors import UsageError
from sfgen.integrations.state import BatchRow, Rule, Stage

_Key = tuple[int, bytes]
"""The number of the prompt, and the ids written after it."""


class RowTracker:
    """A tracker of each row's position, from call to call.

    A call belongs to the same texts as the call before if each of its rows is one of those rows with one more token.
    Else new texts begin, and all that is there is their prompt. Two cases are not clear by themselves:

    * Rows that go on with a prompt that was there before, but are not longer than what was written last: texts that
      begin anew in the middle of the old ones, or candidates that were thrown away (assisted generation). It is an
      error.
    * Texts that begin with exactly what the last call of ``generate`` returned: they count as the same texts, which go
      on.

    Args:
        rule: Where the guides come from.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._end_tokens = frozenset(rule.vocabulary.end_token_ids)
        self.reset()

    def reset(self) -> None:
        """Forget everything: new texts begin with the next call."""
        self._prompts: Tensor | None = None  # int64 [rows, length]
        self._groups: list[int] = []  # for each row, the number of the first one with the same prompt
        self._length = 0  # ids of a row at the last call
        self._rows: dict[_Key, BatchRow] = {}  # of the last call

    def rows(self, input_ids: Tensor) -> list[BatchRow]:
        """Return the state of each row; equal rows are one object.

        Args:
            input_ids: Int ``[rows, length]``: the prompts, padded to one length on either side, and what was written.

        Raises:
            UsageError: It cannot be determined whether a new text begins.
        """
        keys = self._continued(input_ids)
        if keys is None:
            return self._begin(input_ids)
        parents = dict(zip(keys, self._before(keys, input_ids), strict=True))
        children = Counter(parents.values())
        tokens = dict(zip(keys, input_ids[:, -1].tolist(), strict=True))
        rows: dict[_Key, BatchRow] = {}
        went_on = False
        for key, before in parents.items():
            parent = self._rows[before]
            children[before] -= 1
            rows[key] = self._after(parent, tokens[key], fork=children[before] > 0)  # the last one takes its guide over
            went_on |= parent.stage is not Stage.OPEN or rows[key].stage is not Stage.STRAYED
        if not went_on:  # no text took what it was allowed to take: these are prompts, one token longer than the rows
            return self._begin(input_ids)
        self._rows, self._length = rows, input_ids.shape[1]
        return [rows[key] for key in keys]

    @property
    def prompt_length(self) -> int:
        """The length of the prompts, in tokens with padding."""
        return 0 if self._prompts is None else self._prompts.shape[1]

    def _after(self, parent: BatchRow, token_id: int, *, fork: bool) -> BatchRow:
        """A row one token later; without ``fork`` the guide of the parent goes on."""
        if fork and parent.stage is not Stage.STRAYED:
            parent = BatchRow(parent.guide.fork(), parent.stage)
        return parent.after(token_id, self._end_tokens)

    def _begin(self, input_ids: Tensor) -> list[BatchRow]:
        self._rule.new_texts()
        prompts = input_ids.tolist()
        first: dict[tuple[int, ...], int] = {}
        self._groups = [first.setdefault(tuple(prompt), number) for number, prompt in enumerate(prompts)]
        self._prompts = input_ids.detach().clone()  # its owner may change it
        self._length = input_ids.shape[1]
        rows = {number: BatchRow(self._rule.guide(prompts[number])) for number in first.values()}
        self._rows = {(number, b""): row for number, row in rows.items()}
        return [rows[number] for number in self._groups]

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
            return keys if all(key in self._rows for key in before) else None
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
        return any(other == group and longer.startswith(written) for other, longer in self._rows)
