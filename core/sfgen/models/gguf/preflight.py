"""What is wrong with a GGUF file, told before llama.cpp sees it."""

from __future__ import annotations

from pathlib import Path

from sfgen.errors import ModelError
from sfgen.models.gguf.files import GgufFiles, read_files
from sfgen.models.gguf.library import check_installed
from sfgen.models.gguf.vocabulary import check_tokenizer
from sfgen.models.memory import physical_memory
from sfgen.parameter_text import ParameterText
from sfgen.sizes import size_in_words


def check_gguf(path: Path, name: str, *, device: str = "auto", dtype: str = "auto") -> GgufFiles:
    """Read the headers of a model, and refuse what cannot be used.

    Args:
        path: A GGUF file.
        name: What messages call it.
        device: Where the model is to run.
        dtype: ``auto``: the file has its own types.

    Raises:
        ModelError: A file is damaged, cut short or missing; the model needs more memory than there is; another type is
            wanted; the package that reads it is missing.
        VocabularyError: The tokenizer is of a kind that is not supported.
    """
    files = read_files(path, name)
    check_tokenizer(files.first.tokenizer, name)
    if dtype != "auto":
        raise ModelError(
            f"{name} cannot be used in {dtype}: the numbers in a GGUF file stay as they are",
            hint=ParameterText("Leave dtype out, or use the model in the format of transformers.", "dtype"),
        )
    memory = physical_memory()
    if memory is not None and files.size > memory and device in ("auto", "cpu"):
        raise ModelError(
            f"not enough memory for {name}: it is {size_in_words(files.size)}, and this machine has "
            f"{size_in_words(memory)}",
            hint="Use a smaller model, or one with smaller numbers, such as Q4_K_M.",
        )
    check_installed()
    return files
