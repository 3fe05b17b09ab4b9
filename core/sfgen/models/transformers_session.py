"""One sequence inside a transformers model: read tokens, score the next, take tokens back.

:mod:`sfgen.models.kv_cache_rewind` takes tokens back out of the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sfgen.models.configuration import tokens_known
from sfgen.models.cpu_threads import CpuThreads
from sfgen.models.device import input_device
from sfgen.models.kv_cache_rewind import Past
from sfgen.models.sessions import check_readable
from sfgen.models.transformers_forward import (
    PartialLmHead,
    Rotary,
    cache_in,
    cache_name,
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
from sfgen.protocols import Int32, Scores
from sfgen.vocabulary.pretrained import without_warnings


class TransformersSession:
    """One sequence that a transformers model has read."""

    # The model keeps no state of it, so several sessions of one model are independent.

    def __init__(
        self, model: Any, context_length: int | None = None, *, name: str = "the model", threads: int | None = None
    ) -> None:
        self._model = model
        self._name = name
        self._context_length = context_length
        self._tokens: list[int] = []
        self._past = Past()
        self._rotary = Rotary(model)
        self._cpu_threads = CpuThreads(model, threads)
        self._device = input_device(model)
        self._lm_head = PartialLmHead(model) if has_rows(model) else None
        self._hidden: Any = None  # the hidden state of the last scores
        parameters = parameters_of(model)
        self._cache_name = cache_name(parameters)
        # Given each time, since a configuration may have use_cache: false.
        self._options: dict[str, Any] = {"use_cache": True} if self._cache_name else {}
        self._keeps_logits = self._lm_head is None and "logits_to_keep" in parameters
        self._takes_positions = "position_ids" in parameters

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the next scores, float32 ``[rows of the output layer]``."""
        # After an error the session holds what it held before.
        return self._extend(token_ids, None)

    def extend_rows(self, token_ids: Sequence[int], rows: Int32) -> Scores:
        """Read tokens and score only some of the vocabulary, float32 ``[rows]``, if possible."""
        return self._extend(token_ids, rows)

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return all their scores, float32 ``[len(token_ids), rows]``."""
        # It takes one forward pass, or several where a cache is continued one token at a time, where rotary positions
        # depend on the length, and where too many scores would be made at a time: the device holds MOST_SCORES of them
        # at most (unless one position has more, or the architecture always gives those of the whole text), the host
        # all. The scores of the last position equal those of `extend` to the last bit if the output layer is called by
        # itself (KNOWN_LM_HEADS) and the tokens are read at once. After an error the session holds what it held before.
        return self.extend_last(token_ids, len(token_ids))

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        """Read tokens as ``extend_all``; return the scores after the last of them, float32 ``[positions, rows]``."""
        with self._reading(token_ids):
            return joined_parts(self._parts(token_ids, positions), positions)

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Score other tokens at the last position, reading nothing."""
        import torch

        if self._lm_head is None or self._hidden is None:
            return None
        try:
            with torch.inference_mode(), self._cpu_threads.bounded():
                scores = on_host(self._lm_head.scores(self._hidden, rows)[0, -1])
        except (RuntimeError, MemoryError) as error:
            raise not_read(error, self._model, self._name, "scores", "Give a shorter prompt") from error
        return scores

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        del self._tokens[length:]
        self._past.rewind(length)

    @contextmanager
    def _reading(self, token_ids: Sequence[int]) -> Iterator[None]:
        """Read tokens; after an error the session holds what it held before."""
        import torch

        check_readable(token_ids, len(self._tokens), tokens_known(self._model), self._context_length, self._name)
        before = len(self._tokens)
        try:
            with torch.inference_mode(), without_warnings(), without_plans(self._device), self._cpu_threads.bounded():
                yield
        except (RuntimeError, MemoryError) as error:  # torch raises hardly anything else
            del self._tokens[before:]
            self._past.clear()  # it may be partly written
            what = f"{before + len(token_ids)} tokens"
            raise not_read(error, self._model, self._name, what, "Give a shorter prompt") from error

    def _extend(self, token_ids: Sequence[int], rows: Int32 | None) -> Scores:
        with self._reading(token_ids):
            self._tokens += token_ids
            states = self._read(1)
            if self._lm_head is None:
                return on_host(states[0, -1])
            scores = on_host(self._lm_head.scores(states, rows)[0, -1])
            self._hidden = states
            return scores

    def _parts(self, token_ids: Sequence[int], positions: int) -> Iterator[Scores]:
        """Read tokens; yield the scores after the last of them in parts, float32 ``[some tokens, rows]``."""
        before, at_a_time = len(self._tokens), positions_at_a_time(self._model)
        length = before + len(token_ids)
        hidden = None
        for end in self._rotary.ends(length - positions, length):
            while len(self._tokens) < end:
                read = len(self._tokens)
                start = max(read, length - positions)  # tokens before it are read with the first part
                # Hidden states are small beside scores, so as many as possible are computed at once.
                stop = end if self._lm_head is not None else min(end, start + at_a_time)
                self._tokens += token_ids[read - before : stop - before]
                states = self._read(stop - start)
                if self._lm_head is None:
                    yield on_host(states[0])
                else:
                    yield from scores_in_parts(states, self._lm_head, at_a_time)
                    hidden = states[:, -1:]
        self._hidden = hidden

    def _pieces(self, tokens: list[int]) -> list[list[int]]:
        """Divide tokens into those of one forward pass each."""
        if not self._past.reads_at_once:
            return [[token] for token in tokens]
        return [tokens[:-1], tokens[-1:]] if is_misread(len(tokens), self._device) else [tokens]

    def _read(self, count: int) -> Any:
        """Read what the cache lacks; return a tensor ``[1, count, size]``."""
        # Hidden states where the output layer is called by itself, else scores.
        import torch

        if self._rotary.prepare(len(self._tokens)):
            self._past.clear()
        new = self._tokens[self._past.length :]
        surplus = len(new) - count  # read again, after a rewind
        found = []
        for piece in self._pieces(new):
            wanted = max(0, min(len(piece), len(piece) - surplus))
            surplus -= len(piece)
            inputs = {"input_ids": torch.tensor([piece], device=self._device), **self._options}
            if self._takes_positions:  # not every model counts the tokens in its cache (Bamba does not)
                start = self._past.length
                inputs["position_ids"] = torch.arange(start, start + len(piece), device=self._device)[None]
            if self._keeps_logits:
                inputs["logits_to_keep"] = max(1, wanted)  # 0 means all
            if self._cache_name:
                inputs[self._cache_name] = self._past.value
            output = self._model(**inputs) if self._lm_head is None else self._lm_head.read(inputs)
            if self._cache_name:
                self._past.keep(cache_in(output), len(piece))
            states = output.logits if self._lm_head is None else output.last_hidden_state
            if states.shape[1] < wanted:
                raise RuntimeError(f"it scores {states.shape[1]} of {wanted} positions")
            if wanted:
                found.append(states[:, -wanted:])
        return found[0] if len(found) == 1 else torch.cat(found, dim=1)
