"""Where compiled kernels are kept: the first folder of these that can be written to.

1. The folder that NUMBA_CACHE_DIR names.
2. ``__pycache__`` beside this file, where Python keeps what it compiled itself.
3. The folders of :mod:`sfgen.user_folders`: where the package was installed by somebody else.

Where there is none of them, kernels are compiled in each process. A file that is damaged, or cannot be read or written,
is as good as none: nothing here is worth a message, since all of it can be made again.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

from sfgen.user_folders import is_usable, user_folders


def cache_of(function: Callable[..., Any], digest: str, missed: Callable[[], None]) -> Any:
    """What numba asks for a kernel before it compiles it, and gives it to afterwards.

    Args:
        function: The kernel as it is written.
        digest: A digest of all that its machine code is made of; what was kept under another one is not taken.
        missed: Called if it is not there.
    """
    settings: Any = config
    folder = cache_folder(settings.CACHE_DIR)
    return _NoCache(missed) if folder is None else _Cache(function, digest, folder, missed)


@cache
def cache_folder(chosen: str) -> Path | None:
    """The folder where kernels are kept.

    Args:
        chosen: What NUMBA_CACHE_DIR says.
    """
    return next((folder for folder in _candidates(chosen) if is_usable(folder)), None)


def _candidates(chosen: str) -> Iterator[Path]:
    if chosen:
        yield Path(chosen) / "sfgen"
    yield Path(__file__).parent / "__pycache__"
    yield from user_folders()


class _Locator:
    """Says to numba's cache where the files of a kernel lie, and what they were made of."""

    def __init__(self, function: Callable[..., Any], digest: str, folder: Path) -> None:
        self._digest = digest
        self._folder = folder
        # Where numba looks when it has to warn.
        self._py_file = function.__code__.co_filename

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return self._digest


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any], digest: str, folder: Path) -> None:
        self._locator = _Locator(function, digest, folder)
        self._lineno = function.__code__.co_firstlineno
        version = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        self._filename_base = f"{function.__module__}.{function.__qualname__}.{version}"


class _Cache(FunctionCache):
    """numba's own cache with another place for its files, and without its complaints."""

    _impl_class: Any

    def __init__(self, function: Callable[..., Any], digest: str, folder: Path, missed: Callable[[], None]) -> None:
        self._impl_class = lambda function: _Implementation(function, digest, folder)
        self._missed = missed
        super().__init__(function)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        # numba's own method fills its tables of all types and functions first, which takes five times as long as to
        # load a kernel. Machine code needs none of them; the compiler fills them for itself.
        with contextlib.suppress(Exception):
            found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            self._missed()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        save: Any = super().save_overload
        try:
            save(sig, data)
        except Exception:
            with contextlib.suppress(Exception):
                self.flush()  # type: ignore[no-untyped-call]  # the index was damaged
                save(sig, data)


class _NoCache(NullCache):
    def __init__(self, missed: Callable[[], None]) -> None:
        self._missed = missed

    def load_overload(self, sig: Any, target_context: Any) -> None:
        self._missed()
