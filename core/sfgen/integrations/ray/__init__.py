"""Jobs on a cluster of Ray.

:class:`~sfgen.integrations.ray.predictor.SfgenPredictor` writes texts in a pipeline of Ray Data; ``shards`` reads and
writes folders of files with it. ``cluster`` runs a whole job, whose file is that of one process. ``actor`` makes the
texts of either, and has the journal, which knows the slots that have killed their processes: Ray itself makes a whole
block again, and would for ever.

Nothing here imports Ray before it is needed.
"""

from sfgen.integrations.ray.actor import open_journal
from sfgen.integrations.ray.cluster import RayCluster, connected
from sfgen.integrations.ray.predictor import SfgenPredictor
from sfgen.integrations.ray.shards import read_shards, write_shards

__all__ = ["RayCluster", "SfgenPredictor", "connected", "open_journal", "read_shards", "write_shards"]
