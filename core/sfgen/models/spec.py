"""A model by its name, with its options: it can be kept, sent to another process, and loaded there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.errors import ModelError, VocabularyError
from sfgen.models.cpu_threads import checked_threads
from sfgen.models.device import check_names

if TYPE_CHECKING:
    from sfgen.protocols import Model


@arguments.class_with_known_names
@dataclass(frozen=True)
class ModelSpec:
    """A model that is named and not loaded.

    Args:
        name: As for ``sfgen.load_model``, and so are all others.
        tokenizer: The tokenizer directory whose vocabulary ``uniform`` scores; ``None``: it scores characters.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        threads: The threads of the processor that the model may use; ``None``: one if it is small, else one
            for each core.
        trust_remote_code: Whether code that comes with the model may run.
        offline: Whether the hub may not be asked: only files on this machine are used.

    Raises:
        ModelError: ``name`` is not a text, or there is no such device or dtype.
        UsageError: Another argument is of a wrong kind.

    >>> ModelSpec("uniform").load().name
    'uniform'
    """

    name: str = "tiny"
    tokenizer: str | Path | None = None
    device: str = "auto"
    dtype: str = "auto"
    threads: int | None = None
    trust_remote_code: bool = False
    offline: bool = False

    def __post_init__(self) -> None:
        arguments.text("name", self.name, error=ModelError)
        if self.tokenizer is not None:
            arguments.path("tokenizer", self.tokenizer, error=VocabularyError)
        check_names(self.device, self.dtype)
        checked_threads(self.threads)
        arguments.flag("trust_remote_code", self.trust_remote_code)
        arguments.flag("offline", self.offline)

    def check(self, *, chat: bool = False) -> None:
        """Refuse an unusable model without importing torch or transformers.

        Args:
            chat: Whether a chat template is needed.

        Raises:
            ModelError: There is no such model, device or dtype, or the model lacks files.
            VocabularyError: Its directory has no tokenizer.
            UsageError: It has no chat template.
        """
        from sfgen.models.location import check_model

        arguments.flag("chat", chat)
        check_model(self.name, device=self.device, dtype=self.dtype, chat=chat, offline=self.offline)

    def load(self) -> Model:
        """Load the model; its weights may be read when first needed.

        Returns:
            The model, as ``load_model``.

        Raises:
            SfgenError: As ``load_model``.
        """
        from sfgen.models import load_model

        return load_model(**asdict(self))
