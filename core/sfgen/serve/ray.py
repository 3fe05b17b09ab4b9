"""The server on many machines: replicas of one application behind Ray Serve.

``serve run file:served`` starts the server of a file with two lines::

    import sfgen.serve.ray
    served = sfgen.serve.ray.deployment("org/model", replicas=2, ray_actor_options={"num_gpus": 1})

Each replica is a process with its own models, engines and compiling processes, and its own constraints. Ray passes each
request to a replica with a free place, and replaces a replica whose health check fails. A client whose replica has died
notices that: its connection ends in the middle of its answer, or the answer has the status 500; no request is repeated
silently. ``/metrics`` has the counters of the replica that answers it, so use Ray's own metrics for several.

It needs the extra ``serve-ray``: ``pip install 'sfgen[serve-ray]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.errors import ModelError
from sfgen.serve import Limits, app
from sfgen.serve.guards import Access, Guard

if TYPE_CHECKING:
    from ray import serve

_LEEWAY = 5  # seconds that Ray waits for a replica beyond its own grace


class Replica:
    """The application in a process of Ray.

    Args:
        models: As of ``sfgen.serve.app``.
        options: Its other arguments.
    """

    def __init__(self, models: Any, options: Mapping[str, Any]) -> None:
        self._served = app(models, **options)

    def __serve_build_asgi_app__(self) -> Guard:  # as Ray calls it
        return self._served

    def check_health(self) -> None:
        """Fail if an engine has failed: Ray calls it, and starts another replica.

        Raises:
            InternalError: An engine has failed.
        """
        self._served.check()


def deployment(
    models: Any = "tiny",
    *,
    replicas: int = 1,
    limits: Limits | None = None,
    api_keys: Sequence[str] = (),
    hosts: Sequence[str] | None = ("127.0.0.1", "localhost", "::1"),
    cors: Sequence[str] = (),
    log_prompts: bool = False,
    grace: float = 30,
    **options: Any,
) -> serve.Application:
    """Make an application of Ray Serve, for ``serve.run`` and the command ``serve``.

    Args:
        models: As of ``sfgen.serve.app``; each replica loads them itself, so names and paths rather than loaded ones.
        replicas: The number of replicas, unless ``autoscaling_config`` is given.
        limits: The limits of each replica.
        api_keys: As of ``sfgen.serve.app``.
        hosts: As of ``sfgen.serve.app``.
        cors: As of ``sfgen.serve.app``.
        log_prompts: As of ``sfgen.serve.app``.
        grace: The seconds that running texts of a replica have to finish when it is ended.
        options: Options of ``ray.serve.deployment``, such as ``ray_actor_options`` and ``autoscaling_config``.

    Returns:
        The application, bound to its arguments.

    Raises:
        UsageError: An argument of a wrong type, or a key or an origin with characters that no client can send.
        ModelError: Ray Serve is not installed.
    """
    limits = Limits() if limits is None else arguments.instance("limits", limits, Limits)
    arguments.whole_number("replicas", replicas, least=1)
    Access(api_keys, hosts, cors)  # refuses wrong arguments here, not in each replica
    given = {"limits": limits, "api_keys": api_keys, "hosts": hosts, "cors": cors, "grace": grace}
    usual = {
        "name": "sfgen",
        "max_ongoing_requests": limits.batch_size + limits.max_waiting,  # one more is refused by the engine itself
        "graceful_shutdown_timeout_s": grace + _LEEWAY,
    }
    if "autoscaling_config" not in options:
        usual["num_replicas"] = replicas
    try:
        from ray import serve
    except ImportError as error:
        raise ModelError(f"Ray Serve is not installed: {error}", hint="pip install 'sfgen[serve-ray]'") from error
    made = serve.deployment(serve.ingress()(Replica), **usual | options)
    return made.bind(models, {**given, "log_prompts": log_prompts})
