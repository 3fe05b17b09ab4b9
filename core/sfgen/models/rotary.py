"""Rotary positions whose frequencies depend on the length of the text.

Two ways of stretching a model's context turn the keys differently once the text is longer than what the model was
trained on, and leave that in the model itself, where the next text would find it:

* ``longrope`` (Phi-3) has two sets of frequencies, for short and for long texts. Where the text passes the border, in
  either direction, all its keys are wrong: the cache is thrown away and the text read again, as ``generate()`` of
  transformers does for Phi-3.
* ``dynamic`` widens the frequencies with each token beyond the border. As in ``generate()``, keys that are in the cache
  stay as they are: the scores are those of a text written token by token, not those of the same text read at once.
  The model is set back before each forward pass, so that no text sees how long another one was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Rotary:
    """An observer of the length of one sequence.

    Args:
        model: The transformers model that reads it.
    """

    def __init__(self, model: Any) -> None:
        kinds = dict(_kinds(model.config.get_text_config(decoder=True)))
        self._border: int | None = kinds.get("longrope")
        self._was_long: bool | None = None
        self._growing = [module for module in model.modules() if _grows(module)] if "dynamic" in kinds else []

    def ends(self, start: int, stop: int) -> list[int]:
        """Return the lengths at which reading must pause.

        So no token's scores depend on what follows it. In one forward pass all positions are turned for the length of
        the whole: a text is read up to the border of ``longrope`` and then beyond it, and beyond the border of
        ``dynamic`` one token at a time.

        Args:
            start: The tokens read before.
            stop: The tokens read afterwards.

        Returns:
            Ascending, the last one ``stop``.
        """
        ends = {stop}
        if self._border is not None and start < self._border < stop:
            ends.add(self._border)
        for module in self._growing:
            ends.update(range(max(start + 1, module.original_max_seq_len), stop))
        return sorted(ends)

    def prepare(self, length: int) -> bool:
        """Prepare the model to read up to ``length`` tokens in all.

        Returns:
            Whether what was read before has to be read again.
        """
        for module in self._growing:
            _set_back(module)
        if self._border is None:
            return False
        is_long, was_long = length > self._border, self._was_long
        self._was_long = is_long
        return was_long is not None and is_long != was_long


def depends_on_length(config: Any) -> bool:
    """Tell whether rotary frequencies depend on the text's length.

    Two texts then cannot share a pass.
    """
    return any(kind in ("longrope", "dynamic") for kind, _ in _kinds(config.get_text_config(decoder=True)))


def _kinds(config: Any) -> Iterator[tuple[str, int | None]]:
    """The kinds of scaling, each with the length at which it begins; some models have one for each kind of layer."""
    parameters = getattr(config, "rope_parameters", None) or {}
    for each in (parameters, *parameters.values()):
        if isinstance(each, dict) and isinstance(each.get("rope_type"), str):
            kind = "dynamic" if "dynamic" in each["rope_type"] else each["rope_type"]
            yield kind, each.get("original_max_position_embeddings")


def _grows(module: Any) -> bool:
    return hasattr(module, "original_max_seq_len") and hasattr(module, "max_seq_len_cached")


def _set_back(module: Any) -> None:
    """Give a module the frequencies back that it was made with."""
    for name, original in list(module.named_buffers(recurse=False)):
        if name.endswith("original_inv_freq"):
            used = name.removesuffix("original_inv_freq") + "inv_freq"
            module.register_buffer(used, original.to(getattr(module, used).device), persistent=False)
    for name in [name for name in vars(module) if name.endswith("max_seq_len_cached")]:
        setattr(module, name, module.original_max_seq_len)
