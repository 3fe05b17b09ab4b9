"""One cluster of Ray for all tests that need it: to begin one takes ten seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sfgen.integrations.ray import RayCluster, connected


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[RayCluster]:
    with connected("local") as cluster:
        yield cluster
