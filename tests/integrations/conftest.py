"""One cluster of Ray for all tests that need it: to begin one takes ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sfgen.integrations.ray import RayCluster, connected

QUICK_START = Path(__file__).resolve().parent.parent / "data" / "ray_processes"


@pytest.fixture(scope="package")
def ray_cluster() -> Iterator[RayCluster]:
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:  # all processes of the cluster have the environment of this call
            patch.setenv("PYTHONPATH", str(QUICK_START))
            cluster = stack.enter_context(connected("local"))
        yield cluster
