"""Location of a model's files: a directory, the hub's cache, or the hub.

A name is a directory if there is one. Else it is an id on the hub: files in the cache are taken without asking the
network, and the others are downloaded, which listeners are told before it begins (see :mod:`sfgen.delays`). A
name close to that of a model that comes with sfgen is refused with a question: a typing error must not load another
model.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfgen.delays import Delay, delayed
from sfgen.errors import VocabularyError, first_line

BUILT_IN = ("tiny", "uniform", "zip:")
"""The models that come with sfgen; after ``zip:`` a file is named."""

TOKENIZER_FILES = (
    "tokenizer.json", "*.model", "vocab.json", "vocab.txt", "tekken.json", "*.tiktoken", "tokenizer_config.json",
)  # fmt: skip
"""A directory with a tokenizer has at least one of these."""

_SMALL = (".json", ".jinja", ".model", ".txt", ".py", ".tiktoken")
"""The endings of the files beside the weights."""
_CONFIGURATIONS = ("config.json", "generation_config.json")
_WEIGHTS = ("*.safetensors", "*.bin")
_NEAR = 0.75
TIMEOUT = 5.0  # seconds; transformers itself retries for most of a minute
_GATED = "its owner gives it to those only who asked for it (a gated model)"
_GATED_HINT = "Ask for access on its page on the hub, then log in: hf auth login"
_GO_ONLINE = "Give a directory that holds it, or go online once: the hub's files are kept."


_lock = threading.Lock()
_sections = 0  # that are running and want no network
_was_offline: list[bool] = []  # what was set before the first of them


class NotFound(VocabularyError):
    """A name that is neither a directory nor in the cache nor on the hub.

    Perhaps the hub does not answer.
    """


@dataclass(frozen=True)
class Located:
    """The location of a model.

    Attributes:
        source: The name for transformers: a directory, or an id on the hub.
        directory: The folder of all its files but the weights; ``None`` if the cache has nothing of it.
        is_offline: Whether the hub must not be asked, or cannot be.
    """

    source: str
    directory: Path | None
    is_offline: bool

    @property
    def is_on_hub(self) -> bool:
        """Whether it is named by its id on the hub."""
        return not Path(self.source).exists()

    def local_files_only(self, *, trust_remote_code: bool) -> bool:
        """Return whether transformers must not ask the hub.

        All files are here, except code that may belong to another model.
        """
        return self.is_offline or not trust_remote_code


def locate(name_or_path: str | Path, *, what: str = "tokenizer", offline: bool = False) -> Located:
    """Locate a model or a tokenizer.

    What the cache lacks of it, except the weights, is downloaded. A hub that cannot be reached is asked once, quickly:
    transformers by itself would retry for most of a minute.
    """
    name = str(name_or_path)
    directory = Path(os.path.expanduser(name))  # it leaves the home of an unknown user as it is
    if name and os.path.exists(directory):  # Path.exists raises where a name is too long
        return Located(str(directory), directory, is_offline=True)
    if is_named_gguf(name):
        raise NotFound(f"no file {name}", hint="Check the path and the spelling.")
    if not isinstance(name_or_path, Path):
        _ask_back(name)
    if isinstance(name_or_path, Path) or not _could_be_hub_id(name):
        raise NotFound(f"no directory {name or repr(name)}", hint=f"Give a directory that holds a {what}, or a hub id")
    cached = _cached_directory(name)
    if cached is not None and _is_whole(name, cached):
        return Located(name, cached, is_offline=offline or _is_offline_mode())
    if offline or _is_offline_mode():
        if cached is None:
            raise NotFound(
                f"{name} is not in the hub's cache on this machine, and the hub is not asked (offline)",
                hint="Check the spelling, give a directory, or go online once: the hub's files are kept.",
            )
        return Located(name, cached, is_offline=True)
    is_reached = _download_small(name)
    return Located(name, _cached_directory(name), is_offline=not is_reached)


def is_named_gguf(name: str) -> bool:
    """Return whether a name is that of a GGUF file, which is never looked for on the hub."""
    return name.casefold().endswith(".gguf")


@contextlib.contextmanager
def without_network(*, wanted: bool = True) -> Iterator[None]:
    """Keep this process from the hub inside the ``with`` statement.

    ``local_files_only`` does not say so to all of huggingface_hub: it looks once a day for a list of agents.
    """
    from huggingface_hub import constants

    global _sections
    with _lock:
        if wanted and _sections == 0:
            _was_offline.append(constants.HF_HUB_OFFLINE)
            constants.HF_HUB_OFFLINE = True
        _sections += wanted
    try:
        yield
    finally:
        with _lock:
            _sections -= wanted
            if wanted and _sections == 0:
                constants.HF_HUB_OFFLINE = _was_offline.pop()


def fetch_weights(located: Located, choose: Callable[[Iterable[str]], list[str]]) -> None:
    """Download the weights of a model that the cache lacks."""
    if located.is_offline or not located.is_on_hub:
        return
    listing = _listing(located.source)
    if listing is not None:
        wanted = choose(listing)
        _download(located.source, {name: listing[name] for name in wanted if name in listing}, "the weights")


# ---- names -----------------------------------------------------------------------------------------------------------


def _ask_back(name: str) -> None:
    """Refuse a name that is nearly a built-in one."""
    near = _near_built_in(name)
    if near is not None:
        meant = f"{near}FILE" if near.endswith(":") else near
        others = f" A model on the hub is named with its owner (org/{name}), a directory by its path (./{name})."
        raise VocabularyError(
            f"no directory {name}",
            hint=f"Did you mean {meant}, which comes with sfgen?" + (others if _could_be_hub_id(name) else ""),
        )


def _near_built_in(name: str) -> str | None:
    """The built-in model that was perhaps meant.

    >>> [_near_built_in(name) for name in ("tinny", "TYNI", "unifrom", "zpi:book.txt", "Zip", "gpt2", "org/tiny")]
    ['tiny', 'tiny', 'uniform', 'zip:', 'zip:', None, None]
    """
    head, colon, _ = name.casefold().partition(":")
    if "/" in head:
        return None
    swapped = [built_in for built_in in BUILT_IN if sorted(built_in) == sorted(head + colon)]
    return next(iter([*swapped, *difflib.get_close_matches(head + colon, BUILT_IN, n=1, cutoff=_NEAR)]), None)


def _could_be_hub_id(name: str) -> bool:
    """Hub ids are ``name`` or ``owner/name`` in letters, digits, ``-``, ``_`` and ``.``, as the hub's own rules say."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # it is, at run time

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return name.isascii()


# ---- the cache -------------------------------------------------------------------------------------------------------


def has_tokenizer(directory: Path) -> bool:
    """Return whether a directory has any file of a tokenizer."""
    return any(next(directory.glob(pattern), None) for pattern in TOKENIZER_FILES)


def _cached_directory(name: str) -> Path | None:
    """Return the folder in the cache with files of a hub id; ``None`` if there is none."""
    from huggingface_hub import try_to_load_from_cache

    for file in (*_CONFIGURATIONS, "tokenizer.json", "tokenizer_config.json"):
        cached = try_to_load_from_cache(name, file)
        if isinstance(cached, str):
            return Path(cached).parent
    return None


def _is_whole(name: str, directory: Path) -> bool:
    """Whether the cache has all of a model but the weights.

    A configuration may be missing from the model itself. The cache remembers that, if it was asked for; and whoever has
    downloaded the weights has asked for it.
    """
    from huggingface_hub import try_to_load_from_cache

    if not has_tokenizer(directory):
        return False
    is_known = all(try_to_load_from_cache(name, file) is not None for file in _CONFIGURATIONS)
    return is_known or any(next(directory.glob(pattern), None) for pattern in _WEIGHTS)


# ---- the hub ---------------------------------------------------------------------------------------------------------


def _is_offline_mode() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _listing(name: str) -> dict[str, int | None] | None:
    """The files of a model on the hub with their sizes in bytes; ``None`` if the hub cannot be reached.

    It is one request, with a time limit.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        info = HfApi().model_info(name, timeout=TIMEOUT, files_metadata=True)
    except GatedRepoError as error:
        raise VocabularyError(_GATED, hint=_GATED_HINT) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise NotFound(
            f"no directory {name}, and no model of that name on the hub",
            hint="Check the spelling; a private model needs a login (hf auth login)",
        ) from error
    except HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            raise VocabularyError(
                f"the hub does not let you see {name}", hint="Log in, or renew the token: hf auth login"
            ) from error
        return None
    except Exception:  # no network, a time-out, a server error: only the cache can help
        return None
    return {file.rfilename: file.size for file in info.siblings or ()}


def _download_small(name: str) -> bool:
    """Download all but the weights; whether the hub could be reached."""
    listing = _listing(name)
    if listing is None:
        if _cached_directory(name) is None:
            raise NotFound(f"there is no directory {name}, and the hub cannot be reached", hint=_GO_ONLINE)
        return False
    small: dict[str, int | None] = dict.fromkeys(_CONFIGURATIONS, 0)
    small |= {file: size for file, size in listing.items() if "/" not in file and file.endswith(_SMALL)}
    # Files that the model lacks are asked for as well: the cache then remembers that there are none.
    _download(name, small, "the tokenizer and the configuration")
    return True


def _download(name: str, files: dict[str, int | None], what: str) -> None:
    """Download those of the files that the cache lacks. ``files``: their sizes in bytes by their names."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError

    missing = {file: size for file, size in files.items() if try_to_load_from_cache(name, file) is None}
    if not missing:
        return
    sizes = [size for size in missing.values() if size is not None]
    size = sum(sizes) if len(sizes) == len(missing) else None
    is_something = size != 0  # else it is known that the model has none of them
    delay = Delay(f"downloading {what} of {name}", is_download=True, size=size)
    with delayed(delay) if is_something else contextlib.nullcontext(), _without_bars():
        for file in missing:
            try:
                hf_hub_download(name, file)
            except GatedRepoError as error:
                raise VocabularyError(_GATED, hint=_GATED_HINT) from error
            except EntryNotFoundError:
                continue  # whoever needs it will say so
            except Exception as error:
                raise VocabularyError(
                    f"the download of {file} of {name} failed: {first_line(error)}",
                    hint="Try again: what has come is kept.",
                ) from error


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    from huggingface_hub import utils

    bars: Any = utils
    are_off = bars.are_progress_bars_disabled()
    bars.disable_progress_bars()
    try:
        yield
    finally:
        if not are_off:
            bars.enable_progress_bars()
