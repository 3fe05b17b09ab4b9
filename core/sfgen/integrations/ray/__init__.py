"""Jobs on a cluster of Ray.

:class:`~sfgen.integrations.ray.predictor.SfgenPredictor` writes texts in a pipeline of Ray Data; ``shards`` reads and
writes folders of files with it. ``cluster`` runs a whole job, with the same file as a run in one process. ``actor``
makes the texts of both, and has the journal, which records slots that have killed their processes: Ray itself would
repeat a whole block for ever.

Ray is imported only when it is needed.
"""

from sfgen.integrations.ray.actor import open_journal
from sfgen.integrations.ray.cluster import RayCluster, connected
from sfgen.integrations.ray.predictor import SfgenPredictor
from sfgen.integrations.ray.shards import read_shards, write_shards

__all__ = ["RayCluster", "SfgenPredictor", "connected", "open_journal", "read_shards", "write_shards"]
