"""Find a model's files by its name, and check the name and the files before torch is imported.

A check takes a moment; to import torch and transformers takes seconds.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

from sfgen.errors import ModelError, UsageError, VocabularyError
from sfgen.models.device import check_names
from sfgen.models.gguf.header import check_gguf, gguf_path
from sfgen.models.inventory import OLLAMA, FoundModel, cache_folder, models_here
from sfgen.models.prompt import WITHOUT_CHAT
from sfgen.models.weight_files import check_files, other_contents
from sfgen.parameter_text import ParameterText
from sfgen.vocabulary.hub import Located, NotFound, is_named_gguf, locate
from sfgen.vocabulary.pretrained import check_directory

HINT = "Name a directory that save_pretrained() wrote, a hub id, or tiny, the embedded model."

_FAMILIES = (
    "llama", "codellama", "tinyllama", "qwen", "qwq", "gemma", "codegemma", "mistral", "mixtral", "ministral", "phi",
    "deepseek", "gpt-oss", "granite", "smollm", "olmo", "falcon", "command-r", "starcoder", "vicuna", "yi", "dolphin",
)  # fmt: skip
"""The beginnings of the names of much-used models in Ollama's library."""
_NEAR = 0.6
_MOST = 3  # names that are shown; only the first one if that is long
_LONG = 60  # characters
_LONGEST = 200  # characters of a name that are compared


def locate_model(name: str | Path, *, offline: bool = False) -> Located:
    """Locate a model: a directory, the hub's cache, or the hub."""
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
        if path.suffix == ".gguf":  # but its content is not GGUF
            reason, hint = "it is not a GGUF file: it does not begin with GGUF", "Copy or download the file again."
        raise ModelError(f"no model in {name}: {reason}", hint=hint)
    if path.is_dir() and not (path / "config.json").is_file():
        reason, hint = other_contents(path) or ("it has no config.json", HINT)
        raise ModelError(f"no model in {name}: {reason}", hint=hint)
    return located


def check_model(
    name: str, *, device: str = "auto", dtype: str = "auto", chat: bool = False, offline: bool = False
) -> None:
    """Refuse an unusable model without importing torch or transformers."""
    if name == "uniform" or name.startswith("zip:"):  # neither torch nor transformers is imported for these
        return
    check_names(device, dtype)
    lacks_template = _lacks_chat_template(name, device=device, dtype=dtype, offline=offline)
    if chat and lacks_template:
        raise UsageError(
            f"the model {name} has no chat template",
            hint=WITHOUT_CHAT,
        )


def _lacks_chat_template(name: str, *, device: str, dtype: str, offline: bool) -> bool:
    """Check the files of a model; tell whether they certainly have no chat template."""
    if name == "tiny":
        from sfgen.models.tiny import DIRECTORY

        return lacks_chat_template(DIRECTORY)
    file = gguf_path(name)
    if file is not None:
        return not check_gguf(file, name, device=device, dtype=dtype).first.chat_template
    located = locate_model(name, offline=offline)
    if not located.is_on_hub:
        check_directory(Path(located.source))
        check_files(Path(located.source))
    return located.directory is not None and lacks_chat_template(located.directory)


def lacks_chat_template(directory: Path) -> bool:
    """Return whether a directory certainly has no chat template."""
    # All files in which transformers looks for one are then without it.
    if (directory / "chat_template.jinja").exists() or (directory / "additional_chat_templates").is_dir():
        return False
    if (directory / "tekken.json").exists():  # another package makes the template of this file
        return False
    try:
        settings: Any = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return (directory / "tokenizer.json").exists()
    except (OSError, ValueError):  # transformers will report the fault
        return False
    return isinstance(settings, dict) and not settings.get("chat_template") and "auto_map" not in settings


def looked_for(name: str) -> str:
    """Say in one line where a model was looked for."""
    path = os.path.abspath(os.path.expanduser(name))
    if is_named_gguf(name):
        return f"Looked for the file {path}"
    return f"Looked for a directory or a GGUF file {path}; the hub's cache is {cache_folder()}"


def advice(name: str) -> str:
    """Suggest models for a name that no model has."""
    found = [model for model in models_here() if not model.problem]
    of_ollama = [model for model in found if model.source == OLLAMA and _is_called(name, model.about)]
    if of_ollama:
        return ParameterText(f"Ollama has {of_ollama[0].about}, in this file: name={of_ollama[0].name!r}", "name=")
    parts = []
    near = _near(name, found)
    if near:
        parts.append(f"Did you mean {' or '.join(near)}?")
    if _is_of_ollama(name):
        parts.append(
            "Ollama's models have such names. They are GGUF files in ~/.ollama/models/blobs: give the file, "
            "name=FILE (models_here() lists them)."
        )
    return ParameterText(" ".join(parts), "name=", "models_here()")


def _is_called(name: str, called: str) -> bool:
    """Return whether a name is that of a model in Ollama.

    >>> _is_called("llama3.2", "llama3.2:1b"), _is_called("llama3.2:3b", "llama3.2:1b")
    (True, False)
    """
    # A name without a tag means the tag latest, or the only tag.
    return called == name or (":" not in name and called.rpartition(":")[0] == name)


def _is_of_ollama(name: str) -> bool:
    """Return whether a name looks like one of Ollama's: with a tag, or the name of a family.

    >>> [_is_of_ollama(name) for name in ("llama3.2:1b", "llama3.2", "mario/qwen:7b", "llama3.gguf", "C:/x", "gpt2")]
    [True, True, True, False, False, False]
    """
    if re.fullmatch(r"[\w.-]{2,}(/[\w.-]+)*:[\w.-]+", name):
        return True
    is_word = re.fullmatch(r"[\w.-]+", name) is not None and not is_named_gguf(name)
    return is_word and name.casefold().startswith(_FAMILIES)


def _near(name: str, found: list[FoundModel]) -> list[str]:
    """List the models whose name, or the last part of it, is similar to a name."""
    wanted = name.casefold()[:_LONGEST]
    likeness: list[tuple[float, str]] = []
    for model in found:
        called = [model.name, Path(model.name).stem, Path(model.name).name]
        shown = shlex.quote(model.name)
        if model.kind == "GGUF" and model.about:
            called, shown = [*called, model.about, model.about.rpartition("/")[2]], f"{model.about} ({shown})"
        ratio = max(difflib.SequenceMatcher(None, wanted, each.casefold()[:_LONGEST]).ratio() for each in called)
        if ratio >= _NEAR:
            likeness.append((-ratio, shown))
    best = [shown for _, shown in sorted(likeness)]
    return best[: 1 if best and len(best[0]) > _LONG else _MOST]
