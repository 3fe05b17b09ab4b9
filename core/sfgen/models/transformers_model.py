"""Any transformers causal language model, from a directory or a hub id."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen.errors import ModelError, VocabularyError
from sfgen.models.transformers_session import TransformersSession
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.pretrained import load_tokenizer, locate, quiet_transformers

if TYPE_CHECKING:
    import torch


_HINT = "Name a directory that save_pretrained() wrote, a hub id, or leave --model out for the embedded one."


class TransformersModel:
    """A transformers causal language model.

    The tokenizer and the configuration are read at once; the weights at the first session, so that an impossible
    request fails before minutes of loading.

    Args:
        name: A directory, or the id of a model on the hub.
        device: ``auto`` (cuda, then mps, then cpu), or a torch device such as ``cuda:1``.
        dtype: ``auto`` (the checkpoint's own, but float32 on a CPU), ``float32``, ``bfloat16`` or ``float16``.
        trust_remote_code: Whether code that comes with the model may run.
        title: What messages and records call it; ``name`` if not given.

    Raises:
        ModelError: The model is missing or cannot be read.
        VocabularyError: Its tokenizer is missing or not understood.
    """

    def __init__(
        self,
        name: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        trust_remote_code: bool = False,
        title: str | None = None,
    ) -> None:
        self.name = title or str(name)
        self._device, self._dtype, self._trust = device, dtype, trust_remote_code
        self._source, local_files_only = self._locate(name)
        self._where: dict[str, Any] = {"local_files_only": local_files_only}
        self._config = self._load_config()
        self._tokenizer = load_tokenizer(
            name, trust_remote_code=trust_remote_code, located=(self._source, local_files_only)
        )
        text_config = self._config.get_text_config(decoder=True)
        self.context_length: int | None = getattr(text_config, "max_position_embeddings", None)
        self.vocabulary = Vocabulary.from_tokenizer(
            self._tokenizer, end_token_ids=self._end_token_ids(), size=int(text_config.vocab_size)
        )

    def __repr__(self) -> str:
        return f"TransformersModel({self.name!r})"

    def encode(self, text: str) -> list[int]:
        """The token ids of a prompt, with the begin token where the tokenizer writes one.

        The empty prompt is the begin token, or the end token where there is none.

        Raises:
            ModelError: The empty prompt, and the model has neither; or a token that the model has no row for.
        """
        ids: list[int] = list(self._tokenizer(text)["input_ids"])
        begin, end = self._tokenizer.bos_token_id, self._tokenizer.eos_token_id
        # A tokenizer that closes every text with its end token would end the prompt before the continuation.
        if len(ids) > 1 and ids[-1] == end and not text.endswith(str(self._tokenizer.eos_token)):
            ids.pop()
        if len(ids) > 1 and begin is not None and ids[0] == ids[1] == begin:
            del ids[0]
        if not ids:
            first = begin if begin is not None else end
            if first is None:
                raise ModelError(f"{self.name} has no begin token to start an empty prompt from", hint="Give a prompt.")
            ids = [first]
        if max(ids) >= len(self.vocabulary):
            raise ModelError(
                f"{self.name}: the tokenizer gives token {max(ids)}, but the model knows only {len(self.vocabulary)}",
                hint="The tokenizer belongs to another model.",
            )
        return ids

    def session(self) -> TransformersSession:
        """A new, empty session with a cache of its own; loads the weights the first time."""
        return TransformersSession(self.model, self.context_length)

    @cached_property
    def model(self) -> Any:
        """The ``transformers`` model, on its device, in evaluation mode."""
        from safetensors import SafetensorError
        from transformers import AutoModelForCausalLM

        auto: Any = AutoModelForCausalLM  # untyped
        device = _device(self._device)
        with quiet_transformers():
            try:
                model = auto.from_pretrained(
                    self._source,
                    dtype=_dtype(self._dtype, device),
                    trust_remote_code=self._trust,
                    **self._where,
                )
            except (OSError, ValueError, RuntimeError, ImportError, KeyError, SafetensorError) as error:
                raise ModelError(
                    f"cannot load the weights of {self.name}: {_first_line(error)}",
                    hint="Name a directory that save_pretrained() wrote: config.json, weights and a tokenizer.",
                ) from error
            try:
                model.to(device)
            except (RuntimeError, AssertionError) as error:
                raise ModelError(
                    f"cannot put {self.name} on {device}: {_first_line(error)}", hint="Try --device cpu."
                ) from error
        return model.eval()

    def _locate(self, name: str | Path) -> tuple[str, bool]:
        try:
            source, local_files_only = locate(name)
        except VocabularyError as error:
            raise ModelError(f"no model {name}: {error.message}", hint=_HINT) from error
        if Path(source).exists() and not (Path(source) / "config.json").is_file():
            raise ModelError(f"no model in {name}: it has no config.json", hint=_HINT)
        return source, local_files_only

    def _load_config(self) -> Any:
        from transformers import AutoConfig

        with quiet_transformers():
            try:
                return AutoConfig.from_pretrained(self._source, trust_remote_code=self._trust, **self._where)
            except (OSError, ValueError, KeyError, RuntimeError) as error:
                if self._where["local_files_only"] and not Path(self._source).exists():
                    raise ModelError(
                        f"no model {self.name}: there is no such directory, and the hub cannot be reached", hint=_HINT
                    ) from error
                raise ModelError(
                    f"cannot read the model {self.name}: {_first_line(error)}",
                    hint="If it comes with code of its own that you trust, add --trust-remote-code."
                    if "trust_remote_code" in str(error)
                    else _HINT,
                ) from error

    def _end_token_ids(self) -> list[int]:
        """All end tokens that the generation configuration names; else the model's, else the tokenizer's."""
        generation = self._generation_end_tokens()
        for ids in (generation, getattr(self._config, "eos_token_id", None), self._tokenizer.eos_token_id):
            if ids is not None:
                return [ids] if isinstance(ids, int) else list(ids)
        return []

    def _generation_end_tokens(self) -> int | list[int] | None:
        from transformers import GenerationConfig

        configuration: Any = GenerationConfig  # untyped
        with quiet_transformers():
            try:
                ids: int | list[int] | None = configuration.from_pretrained(self._source, **self._where).eos_token_id
            except OSError:  # a model may come without one
                return None
            return ids


def _device(name: str) -> torch.device:
    import torch

    if name != "auto":
        try:
            return torch.device(name)
        except RuntimeError as error:
            raise ModelError(f"no such device: {name}", hint="Use auto, cpu, cuda, cuda:N or mps.") from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def _dtype(name: str, device: torch.device) -> Any:
    import torch

    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name in known:
        return known[name]
    if name != "auto":
        raise ModelError(f"no such dtype: {name}", hint="Use auto, float32, bfloat16 or float16.")
    # Half precision is slow on a CPU, and some operations are missing there.
    return torch.float32 if device.type == "cpu" else "auto"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
