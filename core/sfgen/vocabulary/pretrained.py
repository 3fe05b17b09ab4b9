"""Loading a tokenizer from a directory or from the hub, with errors that say what is missing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfgen.errors import VocabularyError

_TOKENIZER_FILES = (
    "tokenizer.json", "*.model", "vocab.json", "vocab.txt", "tekken.json", "*.tiktoken", "tokenizer_config.json",
)  # fmt: skip
_HUB_TIMEOUT = 5.0  # seconds; transformers by itself retries for most of a minute


def load_tokenizer(
    name_or_path: str | Path, *, trust_remote_code: bool = False, located: tuple[str, bool] | None = None
) -> Any:
    """``AutoTokenizer.from_pretrained``, quiet, and quick to fail.

    Args:
        name_or_path: A directory with the tokenizer's files, or a hub id.
        trust_remote_code: Run Python code that comes with the tokenizer.
        located: What :func:`locate` said of the name, if it was asked before.

    Raises:
        VocabularyError: There is no such directory or hub id, the hub cannot be reached, or the files are damaged.
    """
    source, local_files_only = located or locate(name_or_path)
    if Path(source).exists():
        _check_directory(Path(source))
    return _load(source, str(name_or_path), trust_remote_code=trust_remote_code, local_files_only=local_files_only)


def configured(located: tuple[str, bool], *, trust_remote_code: bool = False) -> tuple[list[int] | None, int | None]:
    """What a model's configuration says of its vocabulary, where one lies beside the tokenizer.

    Args:
        located: What :func:`locate` said of the name.
        trust_remote_code: Run Python code that comes with the model.

    Returns:
        The ids that end a text (the generation configuration's, else the model's; ``None``: not said), and the number
        of output rows (``None``: not said).
    """
    source, local_files_only = located
    with quiet_transformers():
        from transformers import AutoConfig, GenerationConfig

        automatic: Any = AutoConfig  # untyped, like the next
        generation: Any = GenerationConfig
        try:
            config = automatic.from_pretrained(
                source, trust_remote_code=trust_remote_code, local_files_only=local_files_only
            )
            size = getattr(config.get_text_config(decoder=True), "vocab_size", None)
        except Exception:  # none, or one that only the model's own code understands
            return None, None
        end_token_ids = getattr(config, "eos_token_id", None)
        # A model may come without a generation configuration.
        with suppress(OSError):
            loaded = generation.from_pretrained(source, local_files_only=local_files_only)
            end_token_ids = end_token_ids if loaded.eos_token_id is None else loaded.eos_token_id
    return [end_token_ids] if isinstance(end_token_ids, int) else end_token_ids, size


def locate(name_or_path: str | Path) -> tuple[str, bool]:
    """What to name to transformers, and whether it may look at local files only.

    A hub that cannot be reached is asked once, quickly: transformers by itself would retry for most of a minute.

    Raises:
        VocabularyError: There is no such directory, and no such name on the hub.
    """
    name = str(name_or_path)
    directory = Path(name).expanduser()
    if name and directory.exists():
        return str(directory), True
    if isinstance(name_or_path, Path) or not _could_be_hub_id(name):
        raise VocabularyError(
            f"no directory {name or repr(name)}", hint="give a directory that holds a tokenizer, or a hub id"
        )
    return name, not _is_hub_reachable(name)


def _check_directory(directory: Path) -> None:
    if not directory.is_dir():
        raise VocabularyError(
            f"{directory} is a file, and a tokenizer is a directory",
            hint=f"give the directory {directory.parent}"
            if directory.name.startswith("tokenizer")
            else "a JSON file with a list of tokens is read by Vocabulary.from_file (--vocabulary FILE)",
        )
    if not any(next(directory.glob(pattern), None) for pattern in _TOKENIZER_FILES):
        raise VocabularyError(
            f"no tokenizer in {directory}: it has no tokenizer.json, nor any other tokenizer file",
            hint="save one there: AutoTokenizer.from_pretrained(NAME).save_pretrained(DIRECTORY)",
        )


def _could_be_hub_id(name: str) -> bool:
    """Hub ids are ``name`` or ``owner/name`` in letters, digits, ``-``, ``_`` and ``.``."""
    return re.fullmatch(r"(?:[\w.-]*\w[\w.-]*/)?[\w.-]*\w[\w.-]*", name, re.ASCII) is not None


def _is_hub_reachable(name: str) -> bool:
    """One question to the hub, with a time limit; a hub id that it does not know is an error at once."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        HfApi().model_info(name, timeout=_HUB_TIMEOUT)
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise VocabularyError(
            f"no directory {name}, and no model of that name on the hub",
            hint="check the spelling; a private model needs a login (hf auth login)",
        ) from error
    except Exception:  # no network, a time-out, offline mode, a server error: only the cache can help
        return False
    return True


def _load(source: str, name: str, *, trust_remote_code: bool, local_files_only: bool) -> Any:
    with quiet_transformers():
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(
                source, trust_remote_code=trust_remote_code, local_files_only=local_files_only
            )
        except Exception as error:  # transformers raises whatever its parts raise
            if source == name and local_files_only and not Path(source).exists():
                raise VocabularyError(
                    f"no directory {name}, and the hub cannot be reached to look for it there",
                    hint="give a directory that holds a tokenizer, or go online once: the hub's files are kept",
                ) from error
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].strip()
            raise VocabularyError(
                f"the tokenizer {name} cannot be loaded: {reason}", hint=_hint(str(error), trust_remote_code)
            ) from error


def _hint(message: str, trust_remote_code: bool) -> str:
    if "trust_remote_code" in message and not trust_remote_code:
        return (
            "it comes with Python code of its own; if you trust it, allow it: trust_remote_code (--trust-remote-code)"
        )
    if "sentencepiece" in message or "tiktoken" in message:
        return "a directory with a tokenizer.json needs no further package"
    return ""


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep the notes and the progress bars of transformers off the terminal."""
    from transformers.utils import logging

    transformers_logging: Any = logging  # its functions are untyped
    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(transformers_logging.CRITICAL)
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
