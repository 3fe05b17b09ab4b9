"""A model by its name: files in a directory or on the hub, of which the weights are loaded when they are first used."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from sfgen import arguments
from sfgen.errors import ModelError, VocabularyError, first_line
from sfgen.models import architecture, weights
from sfgen.models.device import check_names, find_device, find_dtype
from sfgen.models.location import HINT, locate_model
from sfgen.models.weight_files import checkpoint_files, files_among
from sfgen.vocabulary.hub import fetch_weights
from sfgen.vocabulary.pretrained import (
    CODE_OF_ITS_OWN,
    end_tokens_and_rows,
    generation_config,
    import_transformers,
    load_tokenizer,
    quiet_transformers,
)


class Checkpoint:
    """A ``NetworkSource`` of model files in a directory or on the hub.

    See ``sfgen.models.transformers_model``. The tokenizer and the configuration are read at once; the weights at their
    first use, so that an impossible request fails before minutes of loading.

    Args:
        name, device, dtype, trust_remote_code, offline, title: As for ``TransformersModel.from_pretrained``.

    Raises:
        ModelError: The model is missing, cannot be read, or continues no text; the device is not there.
        VocabularyError: Its tokenizer is missing or not understood.
    """

    is_plain = True

    def __init__(
        self,
        name: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        trust_remote_code: bool = False,
        offline: bool = False,
        title: str | None = None,
    ) -> None:
        self.name = (
            str(arguments.path("name", name, error=ModelError)) if title is None else arguments.text("title", title)
        )
        self._trust = arguments.flag("trust_remote_code", trust_remote_code)
        arguments.flag("offline", offline)
        check_names(device, dtype)
        self._located = locate_model(name, offline=offline)
        import_transformers(ModelError)
        self.config = self._load_config()
        self._device = find_device(device)
        self._dtype = find_dtype(dtype, self._device)
        self._class = architecture.auto_class(self.config, self.name)
        self.tokenizer = load_tokenizer(name, trust_remote_code=trust_remote_code, located=self._located)
        self.end_token_ids, self.rows = end_tokens_and_rows(
            self.config, generation_config(self._located), self.tokenizer, self._located
        )

    @property
    def weights_size(self) -> int | None:
        """The size of the weight files in bytes.

        ``None`` if not all of them are on this machine.
        """
        files = checkpoint_files(self._located.directory) if self._located.directory is not None else []
        return sum(file.stat().st_size for file in files) if files and all(file.is_file() for file in files) else None

    def network(self) -> Any:
        """Return the ``transformers`` model, loading it at the first call.

        It is on its device and in evaluation mode.

        Raises:
            ModelError: Its weights are missing, damaged or do not fit, or there is not enough memory.
        """
        return self._loaded

    @cached_property
    def _loaded(self) -> Any:
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
            fetch_weights(self._located, lambda names: files_among(names, self._located.directory))
        except VocabularyError as error:
            raise ModelError(f"no weights of {self.name}: {error.message}", hint=error.hint) from error
        if self.weights_size is None:
            raise ModelError(
                f"the weights of {self.name} were never downloaded, and the hub cannot be asked",
                hint="Go online once: the files are kept.",
            )

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
            return CODE_OF_ITS_OWN
        if "does not recognize this architecture" in str(error):
            return "A newer transformers may know it: pip install --upgrade transformers"
        return HINT
