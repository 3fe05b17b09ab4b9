"""Which process of pytest-xdist runs which files: one file after the other to whoever is free, as ``loadfile`` does.

Files that need a cluster of Ray go to the same process, since each would begin its own, which takes ten seconds. Their
tests take longer than any other file, so they come first.
"""

from __future__ import annotations

from typing import Any

import pytest

_CLUSTER = "tests/integrations/test_ray"


def comes_late(file: str) -> bool:
    """The key by which files are sorted."""
    return not file.startswith(_CLUSTER)


def scheduling(config: pytest.Config, log: Any) -> Any:
    """What pytest-xdist asks for; it need not be installed for anything else."""
    from xdist.scheduler import LoadFileScheduling

    class FileScheduling(LoadFileScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return file if comes_late(file) else _CLUSTER

    return FileScheduling(config, log)
