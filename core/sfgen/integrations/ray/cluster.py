"""Run a whole job on a cluster: this process reads the prompts and writes the records, actors of Ray make them."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import pickle
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfgen import arguments
from sfgen.errors import ModelError, SfgenError, UsageError
from sfgen.integrations.ray.actor import ActorTexts, installed_ray, open_journal
from sfgen.jobs.record import Slot
from sfgen.jobs.texts import InOrder
from sfgen.jobs.workers import Assignment
from sfgen.parameter_text import ParameterText

LOCAL = "local"
"""The address that begins a cluster of this machine alone."""

_ANSWER_SECONDS = 10.0
_BATCHES_IN_A_BLOCK = 8
_SETTINGS = b"\x04"  # the kind of frame with which each side of HTTP/2 begins (RFC 9113), which Ray speaks
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + _SETTINGS + bytes(5)


@dataclass(frozen=True)
class RayCluster:
    """A connected cluster; call it to make the crew of a job.

    It is what ``JobRun.crew`` takes.

    Attributes:
        cpus: The processors that each actor reserves; the others are for reading and writing.
        gpus: The GPUs that each reserves.
    """

    cpus: float = 0.5
    gpus: float = 0.0

    def __call__(self, assignment: Assignment, count: int, order: InOrder) -> RayCrew:
        """Return the crew of a job.

        Args:
            assignment: The job of each actor.
            count: The number of actors.
            order: Takes the outcome of each slot.

        Raises:
            UsageError: An argument of a wrong type.
        """
        arguments.instance("assignment", assignment, Assignment)
        arguments.instance("order", order, InOrder)
        return RayCrew(assignment, arguments.whole_number("count", count, least=0), order, self)


def connected(
    address: str = LOCAL, *, cpus: float = 0.5, gpus: float = 0.0
) -> contextlib.AbstractContextManager[RayCluster]:
    """Connect to a cluster; one that was started for this ends afterwards.

    Args:
        address: ``"local"`` starts one on this machine; ``"auto"`` finds the one of this machine; else ``HOST:PORT``,
            or another address that ``ray.init`` takes. If this process is already connected, that cluster is used.
        cpus: The processors that each actor reserves.
        gpus: The GPUs that each reserves.

    Returns:
        A context whose value is the cluster.

    Raises:
        ModelError: Ray is not installed.
        UsageError: There is no answer within 10 seconds; or an argument of a wrong type.
    """
    address = arguments.text("address", address)
    return _connected(
        address, RayCluster(arguments.number("cpus", cpus, "0 or more"), arguments.number("gpus", gpus, "0 or more"))
    )


@contextlib.contextmanager
def _connected(address: str, cluster: RayCluster) -> Iterator[RayCluster]:
    _look(address)
    ray = installed_ray()
    if ray.is_initialized():
        yield cluster
        return
    try:
        ray.init(
            None if address == LOCAL else address,
            log_to_driver=False,
            logging_level="critical",
            configure_logging=True,
            **({"include_dashboard": False} if address == LOCAL else {}),
        )
    except Exception as error:  # each kind of address has its own error
        raise _nobody(address, error) from None
    try:
        yield cluster
    finally:
        ray.shutdown()


def _look(address: str) -> None:
    """Check that Ray answers at ``HOST:PORT``: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                connection.sendall(_HTTP2)
                if connection.makefile("rb").read(9)[3:4] != _SETTINGS:
                    raise OSError("the program that listens there is not Ray")
    except (OSError, OverflowError) as error:
        raise _nobody(address, error) from None


def _nobody(address: str, error: Exception) -> UsageError:
    why = str(error).strip().partition("\n")[0]
    return UsageError(
        f"no cluster of Ray answers at {address!r:.100}: {why:.200}",
        hint="Start one there, with: ray start. Or use the address local, which starts one here.",
    )


class RayCrew:
    """A crew that makes texts of slots in actors of a cluster."""

    def __init__(self, assignment: Assignment, count: int, order: InOrder, cluster: RayCluster) -> None:
        self._assignment = assignment
        self._count = count
        self._order = order
        self._cluster = cluster

    def steps(self, slots: Iterable[Slot]) -> Iterator[None]:
        """Fill all slots; yield whenever outcomes of some have come.

        The slots are read to their end first.
        """
        import pyarrow
        import ray
        import ray.data

        check_cluster(self._cluster, self._count)
        rows = max(1, self._assignment.batch_size) * _BATCHES_IN_A_BLOCK
        places = self._order.noted(slots)
        blocks = []
        while chunk := list(itertools.islice(places, rows)):
            data = [pickle.dumps(slot, pickle.HIGHEST_PROTOCOL) for slot in chunk]
            blocks.append(ray.put(pyarrow.table({"slot": pyarrow.array(data, pyarrow.large_binary())})))
        if not blocks:
            return
        be_quiet()
        journal = open_journal()
        outcomes = ray.data.from_arrow_refs(blocks).map_batches(
            _Places,
            fn_constructor_kwargs={
                "assignment": pickle.dumps(self._assignment, pickle.HIGHEST_PROTOCOL),  # not as Ray would
                "journal": journal,
            },
            compute=ray.data.ActorPoolStrategy(size=min(self._count, len(blocks))),
            batch_size=None,
            num_cpus=self._cluster.cpus,
            num_gpus=self._cluster.gpus,
        )
        try:
            for batch in outcomes.iter_batches(batch_size=None, prefetch_batches=0):
                for outcome in batch["outcome"]:
                    self._order.add(pickle.loads(outcome))
                yield
        except SfgenError:  # raised by ``order``
            raise
        except Exception as error:  # Ray has errors of its own for those that an actor raises
            raise failure_of(error, journal) from error


def be_quiet() -> None:
    """Turn Ray Data's progress output off; failures are raised as errors."""
    installed_ray().data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def failure_of(error: Exception, journal: Any) -> SfgenError:
    """Return the error for a failed pipeline of Ray Data."""
    import ray

    refusal: SfgenError | None = ray.get(journal.why.remote())
    if refusal is not None:
        return refusal
    why = str(error).strip().splitlines()[-1:] or [type(error).__name__]
    return ModelError(
        f"Ray has given up: {why[0]:.300}",
        hint="See its logs. Perhaps the memory does not suffice for several models: use fewer actors.",
    )


class _Places:
    """The worker of a crew: pickled slots in, pickled outcomes out."""

    def __init__(self, assignment: bytes, journal: Any) -> None:
        self._texts = ActorTexts(pickle.loads(assignment), journal)

    def __call__(self, batch: Mapping[str, Sequence[bytes]]) -> dict[str, list[bytes]]:
        slots = [pickle.loads(data) for data in batch["slot"]]
        return {"outcome": [pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL) for outcome in self._texts.fill(slots)]}


def check_cluster(cluster: RayCluster, count: int, *, beside: float = 0.0) -> None:
    """Check that the cluster has the processors and GPUs that N actors reserve.

    They would wait for missing ones without end.
    """
    ray = installed_ray()
    if not ray.is_initialized():
        raise UsageError("no cluster of Ray is connected", hint="Use the result of sfgen.integrations.ray.connected.")
    has = ray.cluster_resources()
    for name, each, left in (("CPU", cluster.cpus, beside), ("GPU", cluster.gpus, 0.0)):
        if each * count + left > has.get(name, 0.0) + 1e-9:
            raise UsageError(
                ParameterText(
                    f"the cluster of Ray has {has.get(name, 0.0):g} {name}s, and {count} actors of {each:g} "
                    f"ask for {each * count:g}{f', beside {left:g} for others' if left else ''}",
                    "workers",
                ),
                hint="Use fewer actors, or let each ask for less.",
            )
