"""What is wrong with a request can often be told in a moment, before seconds go into importing torch for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfgen.errors import UsageError
from sfgen.models import weights
from sfgen.models.device import check_names
from sfgen.models.location import locate_model
from sfgen.vocabulary.pretrained import check_directory


def check_model(
    name: str, *, device: str = "auto", dtype: str = "auto", chat: bool = False, offline: bool = False
) -> None:
    """Refuse a model that cannot be used, as far as that is known without torch and transformers.

    Args:
        name: As for ``load_model``, like the next two and the last.
        device: This and ``dtype``: of any machine.
        dtype: See above.
        chat: Whether a chat template is needed.
        offline: Whether the hub must not be asked.

    Raises:
        ModelError: There is no such model, it lacks files, or an unknown name of a device or type.
        VocabularyError: Its directory has no tokenizer.
        UsageError: It has no chat template.
    """
    if name == "uniform" or name.startswith("zip:"):  # these import neither
        return
    check_names(device, dtype)
    if name == "tiny":
        from sfgen.models.tiny import DIRECTORY

        directory: Path | None = DIRECTORY
    else:
        located = locate_model(name, offline=offline)
        directory = located.directory
        if not located.is_on_hub:
            check_directory(Path(located.source))
            weights.check_files(Path(located.source))
    if chat and directory is not None and lacks_chat_template(directory):
        raise UsageError(
            f"the model {name} has no chat template",
            hint="Leave --chat out, or use a model that was trained on instructions.",
        )


def lacks_chat_template(directory: Path) -> bool:
    """Whether a directory surely has no chat template: all places are empty where transformers looks for one."""
    if (directory / "chat_template.jinja").exists() or (directory / "additional_chat_templates").is_dir():
        return False
    if (directory / "tekken.json").exists():  # made of it by a package of its own
        return False
    try:
        settings: Any = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return (directory / "tokenizer.json").exists()
    except (OSError, ValueError):  # transformers will say what is wrong with it
        return False
    return isinstance(settings, dict) and not settings.get("chat_template") and "auto_map" not in settings
