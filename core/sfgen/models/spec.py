"""A model by its name: what can be kept, sent to another process, and loaded there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfgen.protocols import Model


@dataclass(frozen=True)
class ModelSpec:
    """A model that is named and not loaded; the fields are the arguments of ``sfgen.load_model``, where they are told.

    >>> ModelSpec("uniform").load().name
    'uniform'
    """

    name: str = "tiny"
    tokenizer: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    threads: int | None = None
    trust_remote_code: bool = False
    offline: bool = False

    def check(self, *, chat: bool = False) -> None:
        """Refuse a model that cannot be used, as far as that is known without torch and transformers.

        Args:
            chat: Whether a chat template is needed.

        Raises:
            ModelError: There is no such model, it lacks files, or an unknown name of a device or type.
            VocabularyError: Its directory has no tokenizer.
            UsageError: It has no chat template.
        """
        from sfgen.models.preflight import check_model

        check_model(self.name, device=self.device, dtype=self.dtype, chat=chat, offline=self.offline)

    def load(self) -> Model:
        """Load it; its weights may be read when they are first needed. Errors are those of ``load_model``."""
        from sfgen.models import load_model

        return load_model(**asdict(self))
