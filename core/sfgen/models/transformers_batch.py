"""Several sequences inside a transformers model, read in one forward pass.

Most of the time of a pass over one token goes into reading the weights; with several texts they are read once for all.
This works for known models only: those with plain attention over the whole text that take positions and a mask. Any
other model reads its texts one after the other, each in a session of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.configuration import tokens_known
from sfgen.models.cpu_threads import CpuThreads
from sfgen.models.sessions import check_readable, without_unreadable
from sfgen.models.transformers_forward import (
    PartialLmHead,
    cache_name,
    depends_on_length,
    has_rows,
    is_misread,
    joined_parts,
    not_read,
    on_host,
    parameters_of,
    positions_at_a_time,
    scores_in_parts,
    without_plans,
)
from sfgen.models.transformers_internals import attention_kind
from sfgen.protocols import Answer, Int32, Scores
from sfgen.vocabulary.pretrained import without_warnings

if TYPE_CHECKING:
    from sfgen.models.batched_kv_cache import BatchedKvCache
    from sfgen.models.recorded_pass import RecordedPass

KNOWN = frozenset({
    "codegen", "cohere", "deepseek_v3", "falcon", "gemma", "glm", "gpt2", "gpt_bigcode", "gpt_neox", "gptj", "granite",
    "llama", "mistral", "mixtral", "olmo", "olmo2", "olmoe", "opt", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3",
    "qwen3_moe", "smollm3", "stablelm", "starcoder2",
})  # fmt: skip
"""Architectures that were tested: each is in the tests. Some of their configurations are excluded all the same."""
_PASS = 32
"""One more pass takes about as long as this many more tokens in a pass."""
_PASS_ON_GPU = 256
"""The same on a GPU of NVIDIA, where reading one weight takes about the time of this many operations."""
MANY = 1024
"""The most tokens in one pass: more need more memory and are not faster."""


def reads_rows_at_once(config: Any) -> bool:
    """Return whether texts can share a forward pass of a model."""
    from transformers import DynamicLayer

    if config.model_type not in KNOWN or not type(config).__module__.startswith("transformers.models."):
        return False
    if getattr(config, "auto_map", None) or depends_on_length(config):  # code of its own; frequencies of one length
        return False
    if getattr(config, "alibi", False) or attention_kind(config) not in (None, "eager", "sdpa"):
        return False
    layers = _layers(config)
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def stays_there(device: Any) -> bool:
    """Return whether scores stay on a device, and tokens are chosen there."""
    return bool(device.type == "cuda")


class TransformersBatch:
    """The sequences of a transformers model that share forward passes."""

    def __init__(
        self,
        load: Callable[[], Any],
        rows: int,
        context_length: int | None = None,
        *,
        name: str = "the model",
        threads: int | None = None,
    ) -> None:
        self._load = load
        self._name = name
        self._context_length = context_length
        self._lengths = [0] * rows
        self._cache: BatchedKvCache | None = None
        self._rows: list[int] = []  # the row that each lane holds
        self._threads = threads
        self._cpu_threads: CpuThreads | None = None
        self._lm_head: PartialLmHead | None = None
        self._hidden: dict[int, Any] = {}  # the hidden state of the last scores of each row
        self._keeps_logits = False
        self._cache_name = ""
        self._recorded: RecordedPass | None = None
        self._texts = 0  # the number of texts in the last such pass
        self._steady = 0  # consecutive passes over one token of each text; below 0: none can be recorded

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return the next scores of each, or its ``ModelError``."""
        return self.extend_rows(rows, {})

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """Read tokens for some rows and score only the wanted ones, or all of them."""
        read, table, others = self._extend(rows, wanted)
        return {**others, **dict(zip(read, on_host(table), strict=True))}

    def extend_together(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> tuple[Sequence[int], Any, Mapping[int, Answer]]:
        """Read tokens for some rows; return rows and their scores in one table, and the answers of others.

        On a GPU all tokens are scored, and the table stays there: a product for all rows at once takes less time than
        few rows of the output layer for each.
        """
        stays = stays_there(self._load().device)
        read, table, others = self._extend(rows, {} if stays else wanted, stays=stays)
        if not stays:
            return read, on_host(table), others
        for row in read:  # no other scores are made on such a device
            self._hidden.pop(row, None)
        return read, table, others

    def _extend(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None], *, stays: bool = False
    ) -> tuple[Sequence[int], Any, Mapping[int, Answer]]:
        """Read tokens for some rows; return rows, a tensor of all their scores, and the answers of others."""
        import torch

        model = self._load()
        known = tokens_known(model)
        rows, others = without_unreadable(rows, lambda row, token_ids: self._check(row, token_ids, known))
        order, states = list[int](), list[Any]()
        one_pass = _PASS_ON_GPU if model.device.type == "cuda" else _PASS
        with self._reading(rows, model):
            if stays and (scores := self._steady_scores(rows, model)) is not None:
                return list(self._rows), scores, others
            for group in _groups({row: len(token_ids) for row, token_ids in rows.items()}, one_pass):
                lanes = {row: lane for lane, row in enumerate(self._rows)}
                together = {row: rows[row] for row in sorted(group, key=lanes.__getitem__)}
                states.append(self._read(together, model))
                order += together
            if not order:
                return [], torch.empty((0, tokens_known(model))), others
            return self._scored(order, states[0] if len(states) == 1 else torch.cat(states), wanted, others)

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores, or a ``ModelError``."""
        return self.extend_last(row, token_ids, len(token_ids))

    def extend_last(self, row: int, token_ids: Sequence[int], positions: int) -> Answer:
        """Read tokens for one row and return the scores after the last of them, or a ``ModelError``."""
        # It takes one forward pass, or several where the output layer cannot be called by itself and too many scores
        # would be made at a time: see TransformersSession.extend_all. Other rows stay as they are.
        model = self._load()
        try:
            self._check(row, token_ids, tokens_known(model))
            with self._reading({row: token_ids}, model):
                return joined_parts(self._parts(row, token_ids, positions, model), positions)
        except ModelError as error:
            return error

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """Score other tokens at a row's last position, reading nothing."""
        import torch

        if row not in self._hidden or self._lm_head is None or self._cpu_threads is None:
            return None
        try:
            with torch.inference_mode(), self._cpu_threads.bounded():
                return on_host(self._lm_head.scores(self._hidden[row], wanted)[0, -1])
        except (RuntimeError, MemoryError) as error:
            return not_read(error, self._load(), self._name, "scores", "Give a smaller batch_size")

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        self._lengths[row] = min(length, self._lengths[row])
        if not length:
            self._hidden.pop(row, None)
        if not any(self._lengths):
            self._cache, self._rows, self._recorded, self._steady = None, [], None, min(self._steady, 0)

    def _check(self, row: int, token_ids: Sequence[int], known: int) -> None:
        check_readable(token_ids, self._lengths[row], known, self._context_length, self._name)

    @contextmanager
    def _reading(self, rows: Mapping[int, Sequence[int]], model: Any) -> Iterator[None]:
        """Read rows that have lanes; after an error all rows hold the same tokens as before."""
        import torch

        threads = self._cpu_threads = self._cpu_threads or CpuThreads(model, self._threads)
        before = list(self._lengths)
        try:
            with torch.inference_mode(), without_warnings(), without_plans(model.device), threads.bounded():
                self._arrange(rows, model)
                yield
        except (RuntimeError, MemoryError) as error:  # torch raises hardly anything else
            self._lengths = before
            what = f"{sum(before) + sum(map(len, rows.values()))} tokens in {len(rows)} texts"
            raise not_read(error, model, self._name, what, "Give a smaller batch_size or shorter prompts") from error

    def _arrange(self, asked: Mapping[int, Sequence[int]], model: Any) -> None:
        """Give a lane to each row that holds or reads something, without free lanes between."""
        if self._cache is None:
            from sfgen.models.batched_kv_cache import BatchedKvCache

            self._cache, self._rows = BatchedKvCache(len(_layers(model.config))), []
            self._lm_head = PartialLmHead(model) if has_rows(model) else None
            parameters = parameters_of(model)
            name = cache_name(parameters)
            assert name is not None, "each of the known architectures keeps a cache"
            self._keeps_logits = self._lm_head is None and "logits_to_keep" in parameters
            self._cache_name = name
        for lane in reversed(range(len(self._rows))):
            if not self._lengths[self._rows[lane]] and self._rows[lane] not in asked:
                last = len(self._rows) - 1
                if self._lengths[self._rows[last]]:
                    self._cache.move(last, lane)
                self._rows[lane] = self._rows[last]
                del self._rows[last]
        for row in asked:
            if not self._lengths[row]:
                if row not in self._rows:
                    self._rows.append(row)
                self._cache.clear(self._rows.index(row))

    def _parts(self, row: int, token_ids: Sequence[int], positions: int, model: Any) -> Iterator[Scores]:
        """Read tokens of a row; yield the scores after the last of them in parts, float32 ``[some tokens, rows]``."""
        at_a_time = positions_at_a_time(model)
        if self._lm_head is not None:
            hidden = self._read({row: token_ids}, model, positions)
            yield from scores_in_parts(hidden, self._lm_head, at_a_time)
            self._hidden[row] = hidden[:, -1:]
            return
        first = len(token_ids) - positions
        for start in range(first, len(token_ids), at_a_time):
            stop = min(start + at_a_time, len(token_ids))
            part = token_ids[start if start > first else 0 : stop]  # tokens before it are read with the first part
            yield on_host(self._read({row: part}, model, stop - start)[0])

    def _read(self, rows: Mapping[int, Sequence[int]], model: Any, positions: int = 1) -> Any:
        """Run one forward pass; return a tensor ``[rows, positions, size]``."""
        # Hidden states of the last token of each row, or of the last ones of a single row; scores where the output
        # layer cannot be called by itself.
        import torch

        assert self._cache is not None
        counts = [len(token_ids) for token_ids in rows.values()]
        longest = max(counts)
        if len(rows) == 1 and is_misread(longest, model.device):
            ((row, tokens),) = rows.items()
            read = [self._read({row: tokens[:-1]}, model, max(1, positions - 1)), self._read({row: tokens[-1:]}, model)]
            return torch.cat(read, dim=1)[:, -positions:]
        width = longest + is_misread(longest, model.device)
        lanes = {row: lane for lane, row in enumerate(self._rows)}
        self._cache.begin(
            [lanes[row] for row in rows], [self._lengths[row] for row in rows], counts, width, model.device
        )
        padded = [[*token_ids, *[token_ids[-1]] * (width - len(token_ids))] for token_ids in rows.values()]
        options: dict[str, Any] = {}
        if len(rows) > 1 and not self._cache.is_even:  # texts of one length need no mask, as in a session
            options["attention_mask"] = self._cache.mask(self._mask_dtype(model))
        if self._keeps_logits:
            options["logits_to_keep"] = positions
        inputs = {
            "input_ids": torch.tensor(padded, device=model.device),
            "position_ids": self._cache.positions,
            self._cache_name: self._cache.value,
            "use_cache": True,
            **options,
        }
        states = model(**inputs).logits if self._lm_head is None else self._lm_head.read(inputs).last_hidden_state
        for row, count in zip(rows, counts, strict=True):
            self._lengths[row] += count
        # Padding, of which a single row has none, is the last token once more: see the cache.
        return states[:, -positions:]

    def _steady_scores(self, rows: Mapping[int, Sequence[int]], model: Any) -> Any | None:
        """Read one token of each text by a recorded pass; ``None`` if there is none for these rows."""
        from sfgen.models import recorded_pass

        cache, lm_head, texts = self._cache, self._lm_head, len(rows)
        if self._steady < 0 or cache is None or lm_head is None:
            return None
        slots = 1 + max((self._lengths[row] for row in rows), default=0)
        has_one_each = texts == len(self._rows) and all(len(token_ids) == 1 for token_ids in rows.values())
        if not has_one_each or texts * slots > recorded_pass.MOST_SLOTS:
            self._steady = 0
            return None
        self._steady = self._steady + 1 if texts == self._texts else 0
        self._texts = texts
        if self._recorded is None or not self._recorded.fits(texts, slots):
            if self._steady <= recorded_pass.STEADY:
                return None
            self._recorded = None  # frees its memory
            if slots > cache.slots:
                cache.make_room(texts, -(-slots // recorded_pass.SLOTS) * recorded_pass.SLOTS)

            def read(inputs: dict[str, Any]) -> Any:
                inputs = {**inputs, self._cache_name: cache.value, "use_cache": True}
                return lm_head.scores(lm_head.read(inputs).last_hidden_state, None)[:, -1]

            self._recorded = recorded_pass.RecordedPass(read, cache, texts, self._mask_dtype(model), model.device)
        try:
            scores = self._recorded.scores(
                [rows[row][0] for row in self._rows], [self._lengths[row] for row in self._rows]
            )
        except RuntimeError:  # some models have operations that cannot be recorded
            self._recorded, self._steady = None, -1
            return None
        for row in rows:
            self._lengths[row] += 1
        return scores

    def _mask_dtype(self, model: Any) -> Any:
        """Return the dtype of the mask: numbers that are added, or booleans."""
        import torch

        return model.dtype if attention_kind(model.config) != "sdpa" else torch.bool

    def _scored(
        self, order: Sequence[int], states: Any, wanted: Mapping[int, Int32 | None], others: dict[int, Answer]
    ) -> tuple[Sequence[int], Any, Mapping[int, Answer]]:
        """Turn the result of ``_read`` into a tensor of scores; rows with few wanted scores go to ``others``."""
        import torch

        lm_head = self._lm_head
        if lm_head is None:
            return order, states[:, -1], others
        self._hidden.update({row: states[number : number + 1] for number, row in enumerate(order)})
        whole = [row for row in order if wanted.get(row) is None]
        few = [row for row in order if wanted.get(row) is not None]
        if few:  # each by itself, as in a session; the wait is for all together
            found = [lm_head.scores(self._hidden[row], wanted[row])[0, -1] for row in few]
            ends = np.cumsum([len(each) for each in found])[:-1]
            others.update(zip(few, np.split(on_host(torch.cat(found)), ends), strict=True))
            if not whole:
                return [], torch.empty((0, tokens_known(self._load()))), others
            states = torch.cat([self._hidden[row] for row in whole])
        return whole, lm_head.scores(states, None)[:, -1], others


def _layers(config: Any) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=config).layers


def _groups(counts: Mapping[int, int], one_pass: int) -> list[list[int]]:
    """Choose the rows that are read together, for the least time in all."""
    # Padding is read like tokens, so a row with few tokens beside one with many may cost more than a pass of its own.
    # One more pass costs as much as `one_pass` tokens.
    if len(set(counts.values())) == 1 and sum(counts.values()) <= MANY:
        return [list(counts)]
    rows = sorted(counts, key=lambda row: -counts[row])
    cost = [0.0] * (len(rows) + 1)  # of the rows before
    first = [0] * (len(rows) + 1)  # of the last group of these
    for end in range(1, len(rows) + 1):
        cost[end] = math.inf
        for start in range(end - 1, -1, -1):
            size = (end - start) * counts[rows[start]]
            if size > MANY and end - start > 1:
                break
            if cost[start] + one_pass + size < cost[end]:
                cost[end], first[end] = cost[start] + one_pass + size, start
    groups: list[list[int]] = []
    end = len(rows)
    while end:
        groups.append(rows[first[end] : end])
        end = first[end]
    return groups[::-1]
