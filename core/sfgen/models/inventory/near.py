"""What a name that leads to no model may have meant."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from pathlib import Path

from sfgen.models.inventory.found import FoundModel
from sfgen.models.inventory.here import models_here
from sfgen.models.inventory.hub_cache import cache_folder
from sfgen.models.inventory.ollama import SOURCE as OLLAMA
from sfgen.parameter_text import ParameterText
from sfgen.vocabulary.hub import is_named_gguf

_FAMILIES = (
    "llama", "codellama", "tinyllama", "qwen", "qwq", "gemma", "codegemma", "mistral", "mixtral", "ministral", "phi",
    "deepseek", "gpt-oss", "granite", "smollm", "olmo", "falcon", "command-r", "starcoder", "vicuna", "yi", "dolphin",
)  # fmt: skip
"""How the names of much-used models begin in Ollama's library."""
_NEAR = 0.6
_MOST = 3  # names that are shown; of long ones the first
_LONG = 60  # characters
_LONGEST = 200  # characters of a name that are compared


def looked_for(name: str) -> str:
    """Say in one line where a model was looked for."""
    path = os.path.abspath(os.path.expanduser(name))
    if is_named_gguf(name):
        return f"Looked for the file {path}"
    return f"Looked for a directory or a GGUF file {path}; the hub's cache is {cache_folder()}"


def advice(name: str) -> str:
    """Suggest what a name may have meant that leads to no model.

    Args:
        name: The name.

    Returns:
        A hint; empty if nothing is known.
    """
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
            "A name like this is Ollama's. Its models are GGUF files, which lie in ~/.ollama/models/blobs: give the "
            "file, name=FILE (models_here() lists them)."
        )
    return ParameterText(" ".join(parts), "name=", "models_here()")


def _is_called(name: str, called: str) -> bool:
    """Whether Ollama means this model by a name, whose tag is ``latest`` if it has none, or whose only model it may be.

    >>> _is_called("llama3.2", "llama3.2:1b"), _is_called("llama3.2:3b", "llama3.2:1b")
    (True, False)
    """
    return called == name or (":" not in name and called.rpartition(":")[0] == name)


def _is_of_ollama(name: str) -> bool:
    """Whether a name has the shape of Ollama's: with a tag, or that of a family alone.

    >>> [_is_of_ollama(name) for name in ("llama3.2:1b", "llama3.2", "mario/qwen:7b", "llama3.gguf", "C:/x", "gpt2")]
    [True, True, True, False, False, False]
    """
    if re.fullmatch(r"[\w.-]{2,}(/[\w.-]+)*:[\w.-]+", name):
        return True
    is_word = re.fullmatch(r"[\w.-]+", name) is not None and not is_named_gguf(name)
    return is_word and name.casefold().startswith(_FAMILIES)


def _near(name: str, found: list[FoundModel]) -> list[str]:
    """The models whose name, or the last part of it, is much like another."""
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
