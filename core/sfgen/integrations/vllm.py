r"""Constraints in vLLM: by request, in its offline ``LLM`` and in its server.

::

    llm = LLM(model, logits_processors=["sfgen.integrations.vllm:ConstraintLogitsProcessor"])
    llm.generate("Date: ", SamplingParams(max_tokens=12, extra_args={"regex": "[0-9]{4}-[0-9]{2}"}))

``extra_args`` (in requests over HTTP: ``vllm_xargs``) are ``regex``, ``choices``, ``schema`` or ``grammar`` (beside it
``grammar_start``, ``grammar_format`` and ``max_blanks``), and ``ban``, a list of words that must not be written; see
``sfgen.integrations.request``. A bad one is refused before it reaches the engine.

This is the only module that uses vLLM. It was made for 0.32 and 0.33, and tested on a CPU only. vLLM has two ways to
run a model, and two interfaces for logits processors, both subject to change; this is a processor of both kinds:

* The first model runner calls an adapter with the tokens of each request.
* The second one (``VLLM_USE_V2_MODEL_RUNNER``), the usual one on GPUs, has a slot for each request. The tokens are read
  from the device in each step, so that scheduling ahead gains less. It takes no processor of the first interface alone.

Notes:

* **Loading.** vLLM finds an installed sfgen by its entry point. Name the class in ``logits_processors`` all the same:
  only then does the first model runner pass the tokens on when it schedules ahead (``async_scheduling``).
* **The limit.** A text is complete within ``max_tokens`` and the model's context. If no text is so short, it is cut,
  and its ``finish_reason`` is ``length``.
* **The log.** Faults that depend on the vocabulary or the prompt are logged; see ``sfgen.integrations.request``.
* **Other options.** If ``min_tokens``, ``logit_bias``, ``bad_words`` or ``allowed_token_ids`` exclude all allowed
  tokens, the text ends. vLLM's own structured output cannot be used in the same request.
* **Speculative decoding.** The first model runner refuses it if the class is named. If vLLM finds the class only by its
  entry point, it ignores the class, and texts have no constraint.
* **CPUs.** vLLM 0.32 does not start in a process that has imported llvmlite, which numba needs and so sfgen: make the
  ``LLM`` first, and name the class by its text.
* **Beam search** of vLLM does not pass ``extra_args`` on: its texts have no constraint.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from sfgen.errors import SfgenError, UsageError, first_line
from sfgen.integrations.masks import Caps
from sfgen.integrations.request import ConstraintRequest, EndedText, MasksTokens, RequestTexts, ends_of
from sfgen.protocols import Mask
from sfgen.vocabulary import Vocabulary

try:
    from vllm.tokenizers import cached_tokenizer_from_config
    from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

    _ = AdapterLogitsProcessor.validate_params  # checks that it exists: without it a bad request would end the engine
except (ImportError, AttributeError) as error:
    raise UsageError(
        f"vLLM cannot be used: {first_line(error)}",
        hint="Install vLLM 0.32 or 0.33, or one whose logits processors are like theirs.",
    ) from error

try:
    from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as SlotLogitsProcessor
except ImportError:  # an older version, without the second model runner

    class SlotLogitsProcessor:  # type: ignore[no-redef]
        """Stands for the missing interface of the second model runner."""


__all__ = ["ConstraintLogitsProcessor"]

_log = logging.getLogger(__name__)

_NOT_YET = -1  # a token that the first model runner has not yet read from the device


@dataclass
class _Slot:
    """A request of the second model runner.

    Attributes:
        params: Its sampling parameters.
        request: The constraint of its text.
        text: Its text, once the prompt is on the device.
        written: The tokens of the text that were read from the device.
    """

    params: Any
    request: ConstraintRequest
    text: MasksTokens | None = None
    written: list[int] = field(default_factory=list)


class ConstraintLogitsProcessor(AdapterLogitsProcessor, SlotLogitsProcessor):  # type: ignore[misc]
    """A vLLM logits processor for the constraints in ``extra_args``.

    Args:
        vllm_config: vLLM's configuration.
        runner: Of the first model runner, the device and whether memory is pinned; of the second one, its state of the
            requests.
    """

    _working: ClassVar[WeakValueDictionary[int, ConstraintLogitsProcessor]] = WeakValueDictionary()
    """The instance in use for each configuration: vLLM makes two if the class is both found and named."""

    def __init__(self, vllm_config: Any, *runner: Any) -> None:
        if len(runner) == 1:
            SlotLogitsProcessor.__init__(self, vllm_config, *runner)
            self._requests = runner[0]
        else:
            AdapterLogitsProcessor.__init__(self, vllm_config, *runner)
        self._config = vllm_config
        self._works = self._working.setdefault(id(vllm_config), self) is self
        self._texts: RequestTexts | None = None
        self._caps: Caps | None = None
        self._slots: dict[int, _Slot] = {}

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request whose constraint cannot be used.

        Args:
            sampling_params: vLLM's ``SamplingParams``.

        Raises:
            ValueError: Its arguments are not valid; the message is that of sfgen.
        """
        try:
            request = ConstraintRequest.read(sampling_params.extra_args)
            if request is None:
                return
            if getattr(sampling_params, "structured_outputs", None) is not None:
                raise UsageError("a constraint of sfgen cannot be used together with vLLM's structured_outputs")
            request.check()
        except SfgenError as error:
            raise ValueError(str(error)) from error

    # ---- the first model runner ------------------------------------------------------------------------------------

    def is_argmax_invariant(self) -> bool:
        """Return false: masks change greedy search, too."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the requests of the batch.

        A prompt that is given as embeddings counts as empty.
        """
        if batch_update is not None:
            added = [(index, params, prompt or [], output) for index, params, prompt, output in batch_update.added]
            batch_update = replace(batch_update, added=added)
        super().update_state(batch_update)

    def new_req_logits_processor(self, params: Any) -> Any:
        """Return the function that masks the scores of one request.

        Args:
            params: vLLM's ``SamplingParams``.

        Returns:
            ``None`` if the request has no constraint.
        """
        request = self._asked(params)
        if request is None:
            return None
        text: MasksTokens | None = None

        def mask_scores(prompt: list[int], written: list[int], scores: Tensor) -> Tensor:
            nonlocal text
            if text is None:
                text = self._begin(params, request, prompt, len(prompt))
            if _NOT_YET in written[-2:]:
                text = self._refused(params, "vLLM does not pass the tokens on: name this class in logits_processors")
            allowed = text.mask(written)
            return scores if allowed is None else self._masked(scores[None], [allowed])[0]

        return mask_scores

    # ---- the second model runner -----------------------------------------------------------------------------------

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Follow a request that enters or re-enters the batch.

        Args:
            req_idx: Its slot.
            sampling_params: vLLM's ``SamplingParams``.

        Returns:
            Whether it has a constraint.
        """
        request = self._asked(sampling_params)
        self._slots.pop(req_idx, None)
        if request is not None:
            self._slots[req_idx] = _Slot(sampling_params, request)
        return request is not None

    def apply(self, logits: Tensor, context: Any = None) -> Tensor:
        """Mask the scores of a batch, in place.

        Args:
            logits: Float ``[rows, tokens]``.
            context: Of the second model runner: which row belongs to which slot.

        Returns:
            The same tensor, minus infinity where a token may not follow.
        """
        if context is None:
            masked: Tensor = super().apply(logits)
            return masked
        if self._slots.keys().isdisjoint(context.idx_mapping_np.tolist()):
            return logits
        columns = (context.expanded_idx_mapping, context.expanded_local_pos, context.input_ids)
        slots, depths, fed = torch.stack([column.long() for column in columns]).tolist()
        self._read_tokens({slot for slot in slots if slot in self._slots})
        drafted: list[int] = []
        masks: dict[int, Mask] = {}  # by row
        for row, (slot, depth) in enumerate(zip(slots, depths, strict=True)):
            # The input of a row is the token before it: the last token of the text, or a proposed one.
            drafted = [*drafted, fed[row]] if depth else []
            if slot in self._slots:
                mask = self._text_of(slot).mask(self._slots[slot].written, drafted)
                masks |= {} if mask is None else {row: mask}
        if masks:
            rows = torch.tensor(list(masks), device=logits.device)
            logits[rows] = self._masked(logits[rows], list(masks.values()))
        return logits

    def _read_tokens(self, slots: set[int]) -> None:
        """Read the new tokens of some slots from the device."""
        state, numbers = self._requests, sorted(slots)
        lengths = state.total_len.gpu[numbers].tolist()
        starts = [int(state.prompt_len.np[slot]) + len(self._slots[slot].written) for slot in numbers]
        pieces = [
            state.all_token_ids.gpu[slot, start:length]
            for slot, start, length in zip(numbers, starts, lengths, strict=True)
        ]
        tokens = iter(torch.cat(pieces).tolist())
        for slot, piece in zip(numbers, pieces, strict=True):
            self._slots[slot].written += [next(tokens) for _ in range(len(piece))]

    def _text_of(self, number: int) -> MasksTokens:
        slot = self._slots[number]
        if slot.text is None:
            length = int(self._requests.prompt_len.np[number])
            needed = slot.request.banned is not None
            prompt = self._requests.all_token_ids.gpu[number, :length].tolist() if needed else []
            slot.text = self._begin(slot.params, slot.request, prompt, length)
        return slot.text

    # ---- both ------------------------------------------------------------------------------------------------------

    def _asked(self, params: Any) -> ConstraintRequest | None:
        return ConstraintRequest.read(params.extra_args) if self._works else None

    def _begin(self, params: Any, request: ConstraintRequest, prompt: Sequence[int], length: int) -> MasksTokens:
        """The text of a request after a prompt of ``length`` tokens."""
        model = self._config.model_config
        room = model.max_model_len - length
        try:
            if self._texts is None:
                self._texts = RequestTexts(_vocabulary(model))
        except SfgenError as error:
            return self._refused(params, str(error))
        limit = room if params.max_tokens is None else min(params.max_tokens, room)
        return self._texts.begin(request, prompt, limit)

    def _refused(self, params: Any, reason: str) -> MasksTokens:
        """A text that ends at once, by vLLM's own end token."""
        _log.error("sfgen: constraints cannot be used, so texts that have one end at once: %s", reason)
        return EndedText(ends_of(sorted(params.all_stop_token_ids), self._config.model_config.get_vocab_size()))

    def _masked(self, scores: Tensor, masks: Sequence[Mask]) -> Tensor:
        """The scores of allowed tokens; if other options have excluded all of them, those of end tokens."""
        if self._caps is None or not self._caps.fit(scores):
            self._caps = Caps(scores)
        left = torch.minimum(scores, torch.stack([self._caps.cap(mask) for mask in masks]))
        ends = self._caps.cap(masks[0] if self._texts is None else self._texts.ends).clamp(max=0)
        return torch.where(left.amax(dim=1, keepdim=True) == -torch.inf, ends, left)  # no wait for the device


def _vocabulary(model_config: Any) -> Vocabulary:
    """The tokens of the model, with the end tokens of vLLM."""
    tokenizer = cached_tokenizer_from_config(model_config)
    if tokenizer is None:
        raise UsageError("vLLM was started without a tokenizer (skip_tokenizer_init)")
    ends = model_config.try_get_generation_config().get("eos_token_id") or []
    ends = {ends} if isinstance(ends, int) else set(ends)
    if tokenizer.eos_token_id is not None:
        ends.add(tokenizer.eos_token_id)
    return Vocabulary.from_tokenizer(tokenizer, end_token_ids=sorted(ends), size=model_config.get_vocab_size())
