"""A transformers model by its name: files in a directory or on the hub, whose weights are loaded at their first use.

transformers fills missing weights with random numbers and only warns of it; a model with one random layer writes
nonsense. Here missing weights are an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.errors import ModelError, VocabularyError, first_line
from sfgen.models import configuration
from sfgen.models.device import check_names, find_device, find_dtype
from sfgen.models.location import HINT, locate_model
from sfgen.models.transformers_forward import is_out_of_memory
from sfgen.models.weight_files import check_files, checkpoint_files, files_among
from sfgen.parameter_text import ParameterText
from sfgen.vocabulary.hub import fetch_weights
from sfgen.vocabulary.pretrained import (
    CODE_OF_ITS_OWN,
    end_tokens_and_rows,
    generation_config,
    import_transformers,
    load_tokenizer,
    quiet_transformers,
)

if TYPE_CHECKING:
    import torch

_FIT = "Missing weights would be random numbers. Copy or download the model again, with its own config.json."


class Checkpoint:
    """A ``NetworkSource`` of model files in a directory or on the hub."""

    # Tokenizer and configuration are read at once, the weights at their first use: an impossible request fails before
    # minutes of loading.

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
        self._class = configuration.auto_class(self.config, self.name)
        self.tokenizer = load_tokenizer(name, trust_remote_code=trust_remote_code, located=self._located)
        self.end_token_ids, self.rows = end_tokens_and_rows(
            self.config, generation_config(self._located), self.tokenizer, self._located
        )

    @property
    def weights_size(self) -> int | None:
        """The size of the weight files in bytes; ``None`` if some are not on this machine."""
        files = checkpoint_files(self._located.directory) if self._located.directory is not None else []
        return sum(file.stat().st_size for file in files) if files and all(file.is_file() for file in files) else None

    def network(self) -> Any:
        """Return the model on its device, in evaluation mode; load it at the first call."""
        return self._loaded

    @cached_property
    def _loaded(self) -> Any:
        located = self._located
        if located.is_on_hub:
            self._fetch_weights()
        return _load(
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
        """Download what the hub's cache lacks of the weights."""
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


def _load(source: str, name: str, auto: Any, *, device: torch.device, dtype: Any, options: dict[str, Any]) -> Any:
    """Load a model with all its weights, in evaluation mode."""
    if Path(source).is_dir():
        check_files(Path(source))
    # transformers would ask a public service to convert the weights of other people's models.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    with quiet_transformers(offline=options.get("local_files_only", False)):
        try:
            model, report = auto.from_pretrained(
                source, dtype=dtype, output_loading_info=True, ignore_mismatched_sizes=True, **options
            )
        except Exception as error:  # transformers raises whatever its parts raise
            raise _not_loaded(error, source, name, options) from error
        _check_complete(report, name)
        try:
            model.to(device)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                raise ModelError(
                    f"not enough memory on {device} for the weights of {name}",
                    hint=ParameterText("Try dtype='bfloat16', device='cpu', or a smaller model.", "dtype", "device"),
                ) from error
            raise ModelError(
                f"cannot put {name} on {device}: {first_line(error)}", hint=ParameterText("Try device='cpu'.", "device")
            ) from error
    return model.eval()


def _check_complete(report: dict[str, Any], name: str) -> None:
    """Refuse weights that are incomplete or do not fit the model."""
    # Tied weights are not among the missing ones.
    if report["error_msgs"]:
        raise ModelError(f"cannot load the weights of {name}: {first_line(report['error_msgs'][0])}", hint=_FIT)
    if report["mismatched_keys"]:
        key, in_file, in_config = min(report["mismatched_keys"])
        raise ModelError(
            f"the weights of {name} do not fit its config.json: {key} is {_shape(in_file)}, and should be "
            f"{_shape(in_config)}",
            hint=_FIT,
        )
    if report["missing_keys"]:
        raise ModelError(
            f"the weights of {name} do not fit its config.json: {_some(report['missing_keys'])} missing", hint=_FIT
        )


def _not_loaded(error: Exception, source: str, name: str, options: dict[str, Any]) -> ModelError:
    if is_out_of_memory(error):
        return ModelError(
            f"not enough memory for the weights of {name}",
            hint=ParameterText("Try dtype='bfloat16', or a smaller model.", "dtype"),
        )
    if isinstance(error, ImportError):
        return ModelError(f"{name} needs another package: {first_line(error)}", hint="Install it, and try again.")
    return ModelError(
        f"cannot load the weights of {name}: {first_line(error)}",
        hint="If the files are damaged, copy or download the model again.",
    )


def _some(keys: Iterable[str]) -> str:
    first, *others = sorted(keys)
    return f"{first} and {len(others)} more are" if others else f"{first} is"


def _shape(sizes: Iterable[int]) -> str:
    return " x ".join(map(str, sizes)) or "a single number"
