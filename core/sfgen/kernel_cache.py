"""Where compiled kernels are kept: the first folder of these that can be written to.

1. The folder that NUMBA_CACHE_DIR names.
2. ``__pycache__`` beside this file, where Python keeps what it compiled itself.
3. The folders of :mod:`sfgen.user_folders`: where the package was installed by somebody else.

Where there is none of them, kernels are compiled in each process. A file that is damaged, or cannot be read or written,
is as good as none: nothing here is worth a message, since all of it can be made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sfgen.user_folders import is_usable, user_folders


@cache
def cache_folder(chosen: str) -> Path | None:
    """Return the folder of the compiled kernels; ``None`` if none is writable.

    Args:
        chosen: The value of NUMBA_CACHE_DIR.
    """
    return next((folder for folder in _candidates(chosen) if is_usable(folder)), None)


def _candidates(chosen: str) -> Iterator[Path]:
    if chosen:
        yield Path(chosen) / "sfgen"
    yield Path(__file__).parent / "__pycache__"
    yield from user_folders()
