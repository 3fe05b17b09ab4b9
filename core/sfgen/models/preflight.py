"""What is wrong with a request can often be told in a moment, before seconds go into importing torch for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfgen.errors import UsageError
from sfgen.models import weights
from sfgen.models.chat_template import WITHOUT_CHAT
from sfgen.models.device import check_names
from sfgen.models.gguf.files import gguf_path
from sfgen.models.gguf.preflight import check_gguf
from sfgen.models.location import locate_model
from sfgen.vocabulary.pretrained import check_directory


def check_model(
    name: str, *, device: str = "auto", dtype: str = "auto", chat: bool = False, offline: bool = False
) -> None:
    """Refuse an unusable model without importing torch or transformers.

    Args:
        name: As for ``load_model``, like the next two and the last.
        device: Any that some machine has.
        dtype: Any that some machine has.
        chat: Whether a chat template is needed.
        offline: Whether the hub must not be asked.

    Raises:
        ModelError: There is no such model, device or type, or the model lacks files.
        VocabularyError: Its directory has no tokenizer.
        UsageError: It has no chat template.
    """
    if name == "uniform" or name.startswith("zip:"):  # these import neither
        return
    check_names(device, dtype)
    lacks_template = _lacks_chat_template(name, device=device, dtype=dtype, offline=offline)
    if chat and lacks_template:
        raise UsageError(
            f"the model {name} has no chat template",
            hint=WITHOUT_CHAT,
        )


def _lacks_chat_template(name: str, *, device: str, dtype: str, offline: bool) -> bool:
    """Look at the files of a model; whether there is surely no chat template among them."""
    if name == "tiny":
        from sfgen.models.tiny import DIRECTORY

        return lacks_chat_template(DIRECTORY)
    file = gguf_path(name)
    if file is not None:
        return not check_gguf(file, name, device=device, dtype=dtype).first.chat_template
    located = locate_model(name, offline=offline)
    if not located.is_on_hub:
        check_directory(Path(located.source))
        weights.check_files(Path(located.source))
    return located.directory is not None and lacks_chat_template(located.directory)


def lacks_chat_template(directory: Path) -> bool:
    """Tell whether a directory certainly has no chat template.

    All files in which transformers looks for one are then without it.
    """
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
