"""A tokenizer by transformers, from a directory or the hub's cache, with errors that say what is missing."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfgen.delays import Delay, delayed
from sfgen.errors import SfgenError, VocabularyError, first_line
from sfgen.parameter_text import ParameterText
from sfgen.vocabulary.hub import Located, has_tokenizer, locate, without_network
from sfgen.vocabulary.tokenizer_files import json_object, read_directory, said_in_config, union_of_ends

INSTALL = "Install them: pip install 'sfgen[transformers]'"

CODE_OF_ITS_OWN = ParameterText(
    "It comes with Python code of its own; if you trust it, allow it: trust_remote_code=True", "trust_remote_code"
)
"""The hint for a tokenizer or a model that cannot be loaded without its code."""


def read_pretrained(
    name_or_path: str | Path, *, trust_remote_code: bool = False, offline: bool = False
) -> tuple[Any, list[int] | None, int | None]:
    """Read a tokenizer, and of the model beside it the end tokens and the number of output rows (``None``: not said).

    transformers is imported only where the result depends on it.
    """
    located = locate(name_or_path, offline=offline)
    if located.directory is not None and (read := read_directory(located.directory, located.source)) is not None:
        return read.tokenizer, read.end_token_ids, read.rows
    tokenizer = load_tokenizer(name_or_path, trust_remote_code=trust_remote_code, located=located)
    return tokenizer, *_configured(located, tokenizer, trust_remote_code=trust_remote_code)


def load_tokenizer(name_or_path: str | Path, *, trust_remote_code: bool = False, located: Located | None = None) -> Any:
    """Load a tokenizer as ``AutoTokenizer.from_pretrained``, without its output.

    It fails quickly where there is none.
    """
    located = located or locate(name_or_path)
    if located.is_on_hub:
        _check_cache(located)
    else:
        check_directory(Path(located.source))
    import_transformers()
    local = located.local_files_only(trust_remote_code=trust_remote_code)
    with quiet_transformers(offline=local):
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(
                located.source, trust_remote_code=trust_remote_code, local_files_only=local
            )
        except Exception as error:  # transformers raises whatever its parts raise
            raise VocabularyError(
                f"the tokenizer {name_or_path} cannot be loaded: {first_line(error)}",
                hint=_hint(str(error), trust_remote_code),
            ) from error


def _configured(located: Located, tokenizer: Any, *, trust_remote_code: bool) -> tuple[list[int] | None, int | None]:
    """Return ``end_tokens_and_rows`` of a tokenizer and the configuration beside it, if there is one."""
    local = located.local_files_only(trust_remote_code=trust_remote_code)
    with quiet_transformers(offline=local):
        from transformers import AutoConfig

        automatic: Any = AutoConfig  # untyped
        try:
            config = automatic.from_pretrained(
                located.source, trust_remote_code=trust_remote_code, local_files_only=local
            )
        except Exception:  # none, or one that only the model's own code understands
            return None, None
    return end_tokens_and_rows(config, generation_config(located), tokenizer, located)


def end_tokens_and_rows(
    config: Any, generation: Any, tokenizer: Any, located: Located | None = None
) -> tuple[list[int] | None, int | None]:
    """Return the end tokens of a model and its number of output rows; ``None``: not said.

    End tokens are all that the two configurations and the tokenizer name.
    """
    text = config.get_text_config(decoder=True)
    generating, end = getattr(generation, "eos_token_id", None), getattr(tokenizer, "eos_token_id", None)
    ids = union_of_ends(generating, *_said_by_config(config, text, located, is_alone=generating is None), end)
    if ids is None:  # then the defaults of its class count
        ids = union_of_ends(getattr(config, "eos_token_id", None) or getattr(text, "eos_token_id", None))
    return ids, getattr(text, "vocab_size", None) or getattr(text, "padded_vocab_size", None)


def _said_by_config(config: Any, text: Any, located: Located | None, *, is_alone: bool) -> list[Any]:
    """List the end tokens that a configuration names, without those that are a default of its class only."""
    with suppress(ValueError):
        if located is not None and located.directory is not None:
            return said_in_config(json_object(located.directory / "config.json") or {})
    return [getattr(part, "eos_token_id", None) for part in (config, text) if is_alone or not _is_default(part)]


def _is_default(config: Any) -> bool:
    """Whether the end tokens of a configuration are those of its class, so that perhaps nobody named them."""
    try:
        return bool(type(config)().eos_token_id == config.eos_token_id)
    except Exception:  # a class that is not made without arguments
        return False


def generation_config(located: Located) -> Any:
    """Load the generation configuration beside a model, or return ``None``."""
    from transformers import GenerationConfig

    generation: Any = GenerationConfig  # untyped
    with quiet_transformers(offline=True), suppress(OSError):
        return generation.from_pretrained(located.source, local_files_only=True)
    return None


def _check_cache(located: Located) -> None:
    if located.directory is None or not has_tokenizer(located.directory):
        reason = "the hub cannot be asked" if located.is_offline else "it has none on the hub"
        raise VocabularyError(
            f"there is no tokenizer of {located.source} on this machine, and {reason}",
            hint="Give a directory that holds a tokenizer, or go online once: the hub's files are kept.",
        )


def check_directory(directory: Path) -> None:
    """Refuse a directory without a tokenizer."""
    if not directory.is_dir():
        raise VocabularyError(
            f"{directory} is a file, and a tokenizer is a directory",
            hint=f"Give the directory {directory.parent}"
            if directory.name.startswith("tokenizer")
            else ParameterText(
                "A JSON file with a list of tokens is read by Vocabulary.from_file", "Vocabulary.from_file"
            ),
        )
    if not has_tokenizer(directory):
        raise VocabularyError(
            f"no tokenizer in {directory}: it has no tokenizer.json, nor any other tokenizer file",
            hint="Save one there: AutoTokenizer.from_pretrained(NAME).save_pretrained(DIRECTORY)",
        )


def _hint(message: str, trust_remote_code: bool) -> str:
    if "trust_remote_code" in message and not trust_remote_code:
        return CODE_OF_ITS_OWN
    if "sentencepiece" in message or "tiktoken" in message:
        return "A directory with a tokenizer.json needs no further package"
    return ""


def import_transformers(error: type[SfgenError] = VocabularyError) -> None:
    """Import torch and what a model needs of transformers.

    That takes seconds, which would else count as the loading time of the first model.
    """
    if "transformers.models.auto.modeling_auto" in sys.modules:
        return
    with delayed(Delay("importing torch and transformers")):
        try:
            import torch  # noqa: F401
            from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401
        except ImportError as reason:
            raise error(f"this needs torch and transformers: {first_line(reason)}", hint=INSTALL) from reason


@contextmanager
def quiet_transformers(*, offline: bool = False) -> Iterator[None]:
    """Keep the notes and progress bars of transformers off the terminal."""
    from transformers.utils import logging as transformers_logging

    notes: Any = transformers_logging  # its functions are untyped
    bars = notes.is_progress_bar_enabled()
    notes.disable_progress_bar()
    try:
        with without_warnings(), without_network(wanted=offline):
            yield
    finally:
        if bars:
            notes.enable_progress_bar()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep the notes of transformers off the terminal, at a cost that a single forward pass can bear."""
    # Its verbosity would do, too, but each change of that empties caches of the whole logging system.
    handlers = list(logging.getLogger("transformers").handlers)

    def reject(record: logging.LogRecord) -> bool:  # one of its own for each use: uses may overlap
        return False

    for handler in handlers:
        handler.addFilter(reject)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(reject)
