"""Where a transformers model lies, and what else may lie there instead."""

from __future__ import annotations

from pathlib import Path

from sfgen.errors import ModelError, VocabularyError
from sfgen.models import weights
from sfgen.models.inventory.near import advice, looked_for
from sfgen.vocabulary.hub import Located, NotFound, locate

HINT = "Name a directory that save_pretrained() wrote, a hub id, or tiny, the embedded model."


def locate_model(name: str | Path, *, offline: bool = False) -> Located:
    """Locate a model: a directory, the hub's cache, or the hub.

    Args:
        name: A directory, or the id of a model on the hub.
        offline: Whether the hub must not be asked, also not for what its cache lacks.

    Raises:
        ModelError: There is none, or something else.
    """
    try:
        located = locate(name, what="model", offline=offline)
    except NotFound as error:
        raise ModelError(
            f"no model {name or repr(name)}: {error.message}",
            details=(looked_for(str(name)),) if str(name) else (),
            hint=advice(str(name)) or error.hint,
        ) from error
    except VocabularyError as error:
        raise ModelError(f"no model {name or repr(name)}: {error.message}", hint=error.hint) from error
    path = Path(located.source)
    if path.is_file():
        reason, hint = "it is a file, and a model is a directory", f"Give the directory: {path.parent}"
        if path.suffix == ".gguf":  # one that is GGUF by its content does not come here
            reason, hint = "it is no GGUF file: it does not begin with GGUF", "Copy or download the file again."
        raise ModelError(f"no model in {name}: {reason}", hint=hint)
    if path.is_dir() and not (path / "config.json").is_file():
        reason, hint = weights.other_contents(path) or ("it has no config.json", HINT)
        raise ModelError(f"no model in {name}: {reason}", hint=hint)
    return located
