"""Loading a tokenizer from a directory or from the hub, with errors that say what is missing."""

from __future__ import annotations

import logging
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
GATED = "its owner gives it to those only who asked for it (a gated model)"
GATED_HINT = "Ask for access on its page on the hub, then log in: hf auth login"
_LINE = 200  # characters of somebody else's message that are shown
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
        What :func:`end_tokens_and_rows` says of that configuration.
    """
    source, local_files_only = located
    with quiet_transformers():
        from transformers import AutoConfig

        automatic: Any = AutoConfig  # untyped
        try:
            config = automatic.from_pretrained(
                source, trust_remote_code=trust_remote_code, local_files_only=local_files_only
            )
        except Exception:  # none, or one that only the model's own code understands
            return None, None
    return end_tokens_and_rows(config, located)


def end_tokens_and_rows(config: Any, located: tuple[str, bool]) -> tuple[list[int] | None, int | None]:
    """What a model says of its vocabulary.

    Args:
        config: The model's configuration, read by transformers.
        located: Where it lies, as :func:`locate` said.

    Returns:
        The ids that end a text (the generation configuration's, else the model's; ``None``: not said), and the number
        of output rows (``None``: not said).
    """
    from transformers import GenerationConfig

    source, local_files_only = located
    generation: Any = GenerationConfig  # untyped
    text = config.get_text_config(decoder=True)
    said = [getattr(config, "eos_token_id", None), getattr(text, "eos_token_id", None)]
    # A model may come without a generation configuration.
    with quiet_transformers(), suppress(OSError):
        said.insert(0, generation.from_pretrained(source, local_files_only=local_files_only).eos_token_id)
    ids = next((ids for ids in said if ids is not None), None)
    if ids is not None:
        ids = [token_id for token_id in ([ids] if isinstance(ids, int) else ids) if token_id >= 0]  # -1: none
    return ids, getattr(text, "vocab_size", None) or getattr(text, "padded_vocab_size", None)


def locate(name_or_path: str | Path, *, what: str = "tokenizer") -> tuple[str, bool]:
    """What to name to transformers, and whether it may look at local files only.

    A hub that cannot be reached is asked once, quickly: transformers by itself would retry for most of a minute.

    Args:
        name_or_path: A directory, or a hub id.
        what: What is looked for there, for messages.

    Raises:
        VocabularyError: There is no such directory, and no such name on the hub.
    """
    name = str(name_or_path)
    directory = Path(name).expanduser()
    if name and directory.exists():
        return str(directory), True
    if isinstance(name_or_path, Path) or not _could_be_hub_id(name):
        raise VocabularyError(
            f"no directory {name or repr(name)}",
            hint=f"Give a directory that holds a {what}, or a hub id",
        )
    return name, not _is_hub_reachable(name)


def cached_directory(source: str) -> Path | None:
    """Where the files of a directory or of a hub id lie on this machine; ``None`` if they were never downloaded."""
    if Path(source).is_dir():
        return Path(source)
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(source, "config.json")
    return Path(found).parent if isinstance(found, str) else None


def _check_directory(directory: Path) -> None:
    if not directory.is_dir():
        raise VocabularyError(
            f"{directory} is a file, and a tokenizer is a directory",
            hint=f"Give the directory {directory.parent}"
            if directory.name.startswith("tokenizer")
            else "A JSON file with a list of tokens is read by Vocabulary.from_file (--vocabulary FILE)",
        )
    if not any(next(directory.glob(pattern), None) for pattern in _TOKENIZER_FILES):
        raise VocabularyError(
            f"no tokenizer in {directory}: it has no tokenizer.json, nor any other tokenizer file",
            hint="Save one there: AutoTokenizer.from_pretrained(NAME).save_pretrained(DIRECTORY)",
        )


def _could_be_hub_id(name: str) -> bool:
    """Hub ids are ``name`` or ``owner/name`` in letters, digits, ``-``, ``_`` and ``.``."""
    return re.fullmatch(r"(?:[\w.-]*\w[\w.-]*/)?[\w.-]*\w[\w.-]*", name, re.ASCII) is not None


def _is_hub_reachable(name: str) -> bool:
    """One question to the hub, with a time limit; a hub id that it does not know is an error at once."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        HfApi().model_info(name, timeout=_HUB_TIMEOUT)
    except GatedRepoError as error:
        raise VocabularyError(GATED, hint=GATED_HINT) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise VocabularyError(
            f"no directory {name}, and no model of that name on the hub",
            hint="Check the spelling; a private model needs a login (hf auth login)",
        ) from error
    except HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            raise VocabularyError(
                f"the hub does not let you see {name}", hint="Log in, or renew the token: hf auth login"
            ) from error
        return False
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
            if is_gated(error):
                raise VocabularyError(f"no tokenizer {name}: {GATED}", hint=GATED_HINT) from error
            if source == name and local_files_only and not Path(source).exists():
                raise VocabularyError(
                    f"no directory {name}, and the hub cannot be reached to look for it there",
                    hint="Give a directory that holds a tokenizer, or go online once: the hub's files are kept",
                ) from error
            raise VocabularyError(
                f"the tokenizer {name} cannot be loaded: {first_line(error)}", hint=_hint(str(error), trust_remote_code)
            ) from error


def _hint(message: str, trust_remote_code: bool) -> str:
    if "trust_remote_code" in message and not trust_remote_code:
        return (
            "It comes with Python code of its own; if you trust it, allow it: trust_remote_code (--trust-remote-code)"
        )
    if "sentencepiece" in message or "tiktoken" in message:
        return "A directory with a tokenizer.json needs no further package"
    return ""


def is_gated(error: BaseException) -> bool:
    """Whether transformers failed because the owner of a model on the hub wants to be asked for it."""
    return "gated repo" in str(error)


def first_line(error: object) -> str:
    """What there is room for of an error: the first line of its message, of a long one the first sentence.

    >>> first_line(ValueError("It does not fit:\\n  hidden_size\\nand so on"))
    'It does not fit: hidden_size'
    >>> first_line(KeyError())
    'KeyError'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    line = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    if len(line) <= _LINE:
        return line
    sentence, stop, _ = line.partition(". ")
    return sentence + stop.strip() if stop and len(sentence) < _LINE else f"{line[:_LINE]}…"


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep the notes and the progress bars of transformers off the terminal."""
    from transformers.utils import logging as transformers_logging

    notes: Any = transformers_logging  # its functions are untyped
    bars = notes.is_progress_bar_enabled()
    notes.disable_progress_bar()
    try:
        with without_warnings():
            yield
    finally:
        if bars:
            notes.enable_progress_bar()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep the notes of transformers off the terminal, at a cost that a single question to a model can bear."""
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
