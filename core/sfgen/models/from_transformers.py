"""A model that the caller has loaded with transformers, quantised or spread over several devices."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sfgen import arguments
from sfgen.errors import ModelError, VocabularyError
from sfgen.models import architecture
from sfgen.models.device import is_on_one_device
from sfgen.models.transformers_internals import uncompiled
from sfgen.models.transformers_model import TransformersModel
from sfgen.vocabulary.pretrained import end_tokens_and_rows, import_transformers

_TRAINING = "Call model.eval() first: in training mode dropout draws its scores at random."


@arguments.with_known_names
def from_transformers(model: Any, tokenizer: Any, *, threads: int | None = None) -> TransformersModel:
    """Use a causal language model that transformers has loaded.

    The model is used where it is and as it is: it is neither moved nor copied, it may be quantised, and spread over
    several devices by ``device_map``. It must be in evaluation mode, at each text. Of a model that peft or
    ``torch.compile`` has wrapped, the model inside is used, adapters and all.

    The end tokens are those that the model's generation configuration, its configuration and the tokenizer name, all of
    them.
    Texts share forward passes (``batch``) where the model is a class of transformers on one device, and few rows of the
    output layer are computed alone where that layer is a plain one; other models do the same at full cost.

    Args:
        model: What ``AutoModelForCausalLM.from_pretrained`` gives.
        tokenizer: What ``AutoTokenizer.from_pretrained`` gives for it.
        threads: How many threads of the processor it may use; ``None``: one if it is small, else as many as torch uses.

    Returns:
        The model, for ``generate``, ``stream``, ``score`` and jobs.

    Raises:
        ModelError: It is not a model that continues text, it is in training mode, or the tokenizer has tokens that the
            model has no row for.
        VocabularyError: It is not a tokenizer of transformers, or the bytes of its tokens cannot be determined.

    >>> import sfgen
    >>> from sfgen.models.tiny import DIRECTORY
    >>> from transformers import AutoModelForCausalLM, AutoTokenizer
    >>> network = AutoModelForCausalLM.from_pretrained(DIRECTORY)
    >>> model = sfgen.from_transformers(network, AutoTokenizer.from_pretrained(DIRECTORY))
    >>> sfgen.generate(model, "Year: ", index=sfgen.Index(sfgen.Dfa.from_regex("1[0-9]{3}"), model.vocabulary)).text[0]
    '1'
    """
    return TransformersModel(LoadedModel(model, tokenizer), threads=threads)


class LoadedModel:
    """A ``NetworkSource`` of a model that is loaded already.

    See ``sfgen.models.transformers_model``.

    Args:
        model: A model of transformers.
        tokenizer: Its tokenizer.

    Raises:
        ModelError: The model is not one of transformers, is of another kind, or in training mode; the tokenizer has
            tokens that the model has no row for.
        VocabularyError: The tokenizer is not one of transformers.
    """

    weights_size = None

    def __init__(self, model: Any, tokenizer: Any) -> None:
        network = self._network = _unwrapped(model)
        self.name = str(network.name_or_path or type(network).__name__)
        architecture.check_class(network, self.name)
        self.network()
        self.config = network.config
        self.tokenizer = _checked_tokenizer(tokenizer)
        self.end_token_ids, self.rows = end_tokens_and_rows(self.config, network.generation_config, tokenizer)
        self.rows = getattr(network.get_output_embeddings(), "out_features", None) or self.rows
        if self.rows is not None:
            _check_rows(tokenizer, self.rows, self.name)
        self.is_plain = type(network).__module__.startswith("transformers.models.") and is_on_one_device(network)

    def network(self) -> Any:
        """Return the model of transformers.

        Raises:
            ModelError: It is in training mode.
        """
        if self._network.training:
            raise ModelError(f"{self.name} is in training mode", hint=_TRAINING)
        return self._network


def _unwrapped(model: Any) -> Any:
    """The model of transformers inside what peft or ``torch.compile`` put around it.

    Raises:
        ModelError: There is none.
    """
    import_transformers(ModelError)
    from transformers import PreTrainedModel

    network = uncompiled(model)
    if hasattr(network, "active_peft_config") and hasattr(network, "get_base_model"):
        if network.active_peft_config.is_prompt_learning:
            raise ModelError(
                "the adapter of this model puts tokens of its own before each text, which cannot be taken back",
                hint="Adapters that change weights, such as LoRA, work.",
            )
        network = network.get_base_model()
    if not isinstance(network, PreTrainedModel):
        raise arguments.refusal(
            "model", "a loaded model of transformers", model, hint=_what_to_give_for(model), error=ModelError
        )
    return network


def _what_to_give_for(model: Any) -> str:
    if isinstance(model, str | PathLike):
        return "A model is loaded by its name with sfgen.load_model()."
    if hasattr(model, "model") and hasattr(model, "tokenizer"):
        return "Of a pipeline give pipeline.model and pipeline.tokenizer."
    if hasattr(model, "module"):
        return "Give the model inside: model.module"
    return "AutoModelForCausalLM.from_pretrained() gives one."


def _checked_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer, if it is one of transformers.

    Raises:
        VocabularyError: It is something else.
    """
    from transformers import PreTrainedTokenizerBase

    if isinstance(tokenizer, PreTrainedTokenizerBase):
        return tokenizer
    hint = "AutoTokenizer.from_pretrained() gives one."
    if hasattr(tokenizer, "tokenizer"):
        hint = "Of a processor give processor.tokenizer."
    elif type(tokenizer).__module__.startswith("tokenizers"):
        hint = "Wrap it: PreTrainedTokenizerFast(tokenizer_object=tokenizer)"
    raise arguments.refusal("tokenizer", "a tokenizer of transformers", tokenizer, hint=hint, error=VocabularyError)


def _check_rows(tokenizer: Any, rows: int, name: str) -> None:
    """Refuse a tokenizer that writes tokens which the model has no row for; special tokens need none.

    Raises:
        ModelError: It does.
    """
    special = {token_id for token_id, token in tokenizer.added_tokens_decoder.items() if token.special}
    special |= set(tokenizer.all_special_ids)
    beyond = {token_id for token_id in tokenizer.get_vocab().values() if token_id >= rows} - special
    if beyond:
        raise ModelError(
            f"{name}: the tokenizer has token {max(beyond)}, but the model knows only {rows}",
            hint="The tokenizer belongs to another model; for tokens that were added, call "
            "model.resize_token_embeddings(len(tokenizer)).",
        )
