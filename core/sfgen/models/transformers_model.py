"""Any transformers causal language model, from a directory or a hub id."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.errors import ModelError, VocabularyError, first_line
from sfgen.models import architecture, weights
from sfgen.models.device import check_names, find_device, find_dtype
from sfgen.models.location import HINT, locate_model
from sfgen.models.prompt import Prompts
from sfgen.models.transformers_session import TransformersSession
from sfgen.models.transformers_tokenizer import TransformersTokenizer
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.hub import fetch_weights
from sfgen.vocabulary.pretrained import (
    end_tokens_and_rows,
    import_transformers,
    load_tokenizer,
    quiet_transformers,
)

if TYPE_CHECKING:
    from sfgen.protocols import Batch

_CODE_HINT = "It comes with Python code of its own; if you trust it, add --trust-remote-code."


class TransformersModel:
    """A transformers causal language model.

    The tokenizer and the configuration are read at once; the weights at the first session, so that an impossible
    request fails before minutes of loading.

    Args:
        name: A directory, or the id of a model on the hub.
        device: ``auto`` (cuda, then mps, then cpu), ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        dtype: ``auto`` (the checkpoint's own, but float32 on a CPU), ``float32``, ``bfloat16`` or ``float16``.
        trust_remote_code: Whether code that comes with the model may run.
        offline: Whether the hub must not be asked, also not for what its cache lacks.
        threads: How many threads of the processor it may use; ``None``: one if it is small, else as many as torch uses.
        title: What messages and records call it; ``name`` if not given.

    Attributes:
        name: What messages and records call it.
        vocabulary: The bytes of each token, one for each row of the output layer.
        context_length: The most tokens that it can read; ``None`` where nothing limits them.

    Raises:
        ModelError: The model is missing, cannot be read, or continues no text; the device is not there.
        VocabularyError: Its tokenizer is missing or not understood.
    """

    def __init__(
        self,
        name: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        trust_remote_code: bool = False,
        offline: bool = False,
        threads: int | None = None,
        title: str | None = None,
    ) -> None:
        self.name = (
            str(arguments.path("name", name, error=ModelError)) if title is None else arguments.text("title", title)
        )
        arguments.flag("trust_remote_code", trust_remote_code)
        arguments.flag("offline", offline)
        check_names(device, dtype)
        self._threads = None if threads is None else arguments.whole_number("threads", threads, least=1)
        self._trust = trust_remote_code
        self._located = locate_model(name, offline=offline)
        import_transformers()
        self._config = self._load_config()
        self._device = find_device(device)
        self._dtype = find_dtype(dtype, self._device)
        self._class = architecture.auto_class(self._config, self.name)
        self.context_length: int | None = architecture.context_length(self._config)
        tokenizer = load_tokenizer(name, trust_remote_code=trust_remote_code, located=self._located)
        end_token_ids, rows = end_tokens_and_rows(self._config, self._located)
        self.vocabulary = Vocabulary.from_tokenizer(tokenizer, end_token_ids=end_token_ids, size=rows)
        self._prompts = Prompts(TransformersTokenizer(tokenizer), self.name)

    def __repr__(self) -> str:
        return f"TransformersModel({self.name!r})"

    @property
    def weights_size(self) -> int | None:
        """The size of the weights' files in bytes; ``None`` if they are not on this machine, or not all of them."""
        files = weights.checkpoint_files(self._located.directory) if self._located.directory is not None else []
        return sum(file.stat().st_size for file in files) if files and all(file.is_file() for file in files) else None

    def encode(self, text: str) -> list[int]:
        """The token ids of a prompt, with the begin token where the tokenizer writes one, and without an end token.

        The empty prompt is the begin token, or the end token where there is none.

        Raises:
            ModelError: The empty prompt, and the model has neither; or a token that the model has no row for.
        """
        return self._checked(self._prompts.encode(arguments.text("text", text)))

    def encode_inside(self, text: str) -> list[int]:
        """The token ids of a text that stands in another one: nothing is added around it."""
        return self._prompts.inside(arguments.text("text", text))

    def chat(self, text: str) -> list[int]:
        """The token ids of a user's message in the tokenizer's chat template, up to where the answer begins.

        Raises:
            UsageError: The tokenizer has no chat template.
            ModelError: The template cannot be used; or as for ``encode``.
        """
        return self._checked(self._prompts.chat(arguments.text("text", text)))

    def session(self) -> TransformersSession:
        """A new, empty session with a cache of its own; loads the weights the first time."""
        return TransformersSession(self.model, self.context_length, name=self.name, threads=self._threads)

    def batch(self, rows: int) -> Batch:
        """A new batch of empty rows, read in one forward pass where the architecture is known to allow it.

        As with ``session``, the weights are loaded the first time, but not before the first question.
        """
        from sfgen.models.separate_rows import SeparateRows
        from sfgen.models.transformers_batch import TransformersBatch, reads_rows_at_once

        rows = arguments.whole_number("rows", rows, least=1)
        if rows > 1 and reads_rows_at_once(self._config):
            return TransformersBatch(
                lambda: self.model, rows, self.context_length, name=self.name, threads=self._threads
            )
        return SeparateRows(self, rows)

    @cached_property
    def model(self) -> Any:
        """The ``transformers`` model, on its device, in evaluation mode; loaded at the first use."""
        located = self._located
        if located.is_on_hub:
            self._fetch_weights()
        return weights.load(
            located.source,
            self.name,
            self._class,
            device=self._device,
            dtype=self._dtype,
            options={
                "trust_remote_code": self._trust,
                "local_files_only": located.local_files_only(trust_remote_code=self._trust),
            },
        )

    def _fetch_weights(self) -> None:
        """Download what the hub's cache lacks of the weights.

        Raises:
            ModelError: They are not there, and the hub does not give them away, or cannot be asked.
        """
        if self.weights_size is not None:
            return
        try:
            fetch_weights(self._located, lambda names: weights.files_among(names, self._located.directory))
        except VocabularyError as error:
            raise ModelError(f"no weights of {self.name}: {error.message}", hint=error.hint) from error
        if self.weights_size is None:
            raise ModelError(
                f"the weights of {self.name} were never downloaded, and the hub cannot be asked",
                hint="Go online once: the files are kept.",
            )

    def _checked(self, ids: list[int]) -> list[int]:
        if max(ids) >= len(self.vocabulary):
            raise ModelError(
                f"{self.name}: the tokenizer gives token {max(ids)}, but the model knows only {len(self.vocabulary)}",
                hint="The tokenizer belongs to another model.",
            )
        return ids

    def _load_config(self) -> Any:
        from transformers import AutoConfig

        automatic: Any = AutoConfig  # untyped
        local = self._located.local_files_only(trust_remote_code=self._trust)
        with quiet_transformers(offline=local):
            try:
                return automatic.from_pretrained(
                    self._located.source, trust_remote_code=self._trust, local_files_only=local
                )
            except Exception as error:  # transformers raises whatever its parts and the model's own code raise
                raise ModelError(
                    f"cannot read the model {self.name}: {first_line(error)}", hint=self._hint(error)
                ) from error

    def _hint(self, error: Exception) -> str:
        if isinstance(error, ImportError):
            return "Install the package, and try again."
        if "trust_remote_code" in str(error) and not self._trust:
            return _CODE_HINT
        if "does not recognize this architecture" in str(error):
            return "A newer transformers may know it: pip install --upgrade transformers"
        return HINT
