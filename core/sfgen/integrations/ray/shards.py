"""Make texts in one folder from prompts in another with Ray Data; a run that was killed can be resumed.

A shard is a file of JSON Lines. Each record has, beside ``prompt`` and the like, ``line``: a whole number from 1 on
that no other record of any shard has. The seed of a text depends on it, and by it Ray knows which texts are done, so it
must be in the input. ``CheckpointConfig`` of Ray notes the lines of each shard of texts when it is written; shards that
a killed driver has left incomplete are made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfgen import arguments
from sfgen.errors import ForeignOutput, InputError, OutputError, UsageError
from sfgen.integrations.ray.actor import installed_ray, open_journal
from sfgen.integrations.ray.cluster import RayCluster, be_quiet, check_cluster, failure_of
from sfgen.integrations.ray.predictor import SfgenPredictor, check_model_is_named
from sfgen.jobs.job import Job
from sfgen.jobs.prompt_record import record_of
from sfgen.jobs.record import Lines

_ENDINGS = ("*.jsonl", "*.json")
_FACTS = "job.json"
_TEXTS = "texts"
_DONE = "done"
_TASK_CPUS = 0.25  # processors of a task that reads or writes a shard
_BESIDE = 1.5  # processors: for Ray's filter of what is done, whose one cannot be chosen, and to read and write


def write_shards(
    cluster: RayCluster, job: Job, prompts: str | Path, output: str | Path, *, actors: int = 2, batch_size: int = 1
) -> None:
    """Write the texts of all shards, or those that are missing.

    All machines of the cluster must have both folders under the same names. Texts are saved a shard at a time:
    some hundred prompts in each are a good size. Only one run may write at a time.

    Args:
        cluster: The cluster, from ``connected``.
        job: The job for each prompt. Its model is a name, and its seed given: a later run must have the same.
        prompts: The folder of the prompts, in files that end in ``.jsonl`` or ``.json``. Each record has a ``line``.
        output: The folder of the texts. Its files must be of this job and these prompts.
        actors: The number of processes that make texts.
        batch_size: The number of texts that each of them generates at once.

    Raises:
        UsageError: An argument of a wrong type, a loaded model, or a cluster with too few processors or GPUs.
        InputError: The prompts cannot be read, or a record has no ``line`` of its own. Nothing has been written then.
        ForeignOutput: The folder holds texts of another job or of other prompts.
        OutputError: The folder cannot be written.
        ModelError: The model cannot be loaded there, or Ray has given up.
    """
    arguments.instance("cluster", cluster, RayCluster)
    check_model_is_named(job)
    actors = arguments.whole_number("actors", actors, least=1)
    batch_size = arguments.whole_number("batch_size", batch_size, least=1)
    prompts, folder = arguments.path("prompts", prompts), arguments.path("output", output).absolute()
    check_cluster(cluster, actors, beside=_BESIDE)
    files = _files(prompts)
    digest = _checked(files)
    ray = installed_ray()
    _begin(folder, {"seed": job.sampler.seed, "samples": job.samples, "prompts": digest, **Lines.of(job).facts})
    journal = open_journal()
    context = ray.data.DataContext.get_current()
    before = context.checkpoint_config, context.enable_progress_bars
    checkpoints = ray.data.checkpoint.CheckpointConfig("line", str(folder / _DONE), delete_checkpoint_on_success=False)
    checkpoints.checkpoint_actor_pool_max_size = 1
    context.checkpoint_config = checkpoints
    be_quiet()
    try:
        rows = ray.data.read_datasource(_shard_source([str(file.absolute()) for file in files]), num_cpus=_TASK_CPUS)
        rows.map_batches(
            _ShardPredictor,
            fn_constructor_kwargs={"job": job, "batch_size": batch_size, "journal": journal, "folder": str(folder)},
            compute=ray.data.ActorPoolStrategy(size=min(actors, len(files))),
            batch_size=None,
            num_cpus=cluster.cpus,
            num_gpus=cluster.gpus,
        ).write_json(str(folder / _TEXTS), ray_remote_args={"num_cpus": _TASK_CPUS})
    except Exception as error:  # of Ray, which has its own for what an actor raises
        raise failure_of(error, journal) from error
    finally:
        context.checkpoint_config, context.enable_progress_bars = before


def read_shards(output: str | Path) -> Iterator[dict[str, Any]]:
    """Read the records that ``write_shards`` has written.

    They are not ordered. A record that was written twice is yielded once: no two have the same line and sample.

    Args:
        output: The folder of the texts.

    Raises:
        InputError: There are no texts, or a file is not one that ``write_shards`` writes.
    """
    return _records(arguments.path("output", output))


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    if not (folder / _FACTS).is_file():
        raise InputError(f"{folder} has no texts of write_shards", hint="Name the folder that write_shards wrote to.")
    seen: set[tuple[int, int]] = set()
    for file in sorted((folder / _TEXTS).glob("*")):
        for number, line in enumerate(_lines(file), 1):
            try:
                records = json.loads(json.loads(line)["records"])
            except (ValueError, KeyError, TypeError):
                if not line.endswith(b"\n"):
                    break  # the run that wrote it was killed
                raise InputError(f"{file}, line {number}: no texts of write_shards", hint="Take it away.") from None
            for record in records:
                key = record["line"], record.get("sample", 0)
                if key not in seen:
                    seen.add(key)
                    yield record


# ---- in the process that starts it ---------------------------------------------------------------------------------


def _files(folder: Path) -> list[Path]:
    files = sorted({file for ending in _ENDINGS for file in folder.glob(ending) if file.is_file()})
    if not files:
        raise InputError(
            f"{folder} has no shards of prompts", hint="Name a folder with files that end in .jsonl or .json."
        )
    return files


def _checked(files: Sequence[Path]) -> str:
    """Check that each record has a line of its own; a digest of all of them."""
    seen: set[int] = set()
    digest = sha256()
    for file in files:
        for number, data in enumerate(_lines(file), 1):
            if not data.strip():
                continue
            digest.update(data.strip() + b"\n")
            try:
                value = json.loads(data)
            except (ValueError, RecursionError):
                raise InputError(f"{file}, line {number}: not valid JSON", hint=_NUMBERED) from None
            line = value.get("line") if isinstance(value, dict) else None
            if not isinstance(line, int) or isinstance(line, bool) or not 1 <= line < 2**63:
                raise InputError(f"{file}, line {number}: no whole number from 1 on as line", hint=_NUMBERED)
            if line in seen:
                raise InputError(f"{file}, line {number}: line {line} was there before", hint=_NUMBERED)
            seen.add(line)
    return digest.hexdigest()[:16]


_NUMBERED = 'Number all records, over all shards: {"line": 1, "prompt": "A person: "}'


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with open(file, "rb") as stream:
            yield from stream
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error


def _begin(folder: Path, facts: Mapping[str, Any]) -> None:
    """Record the job of the folder, or compare it."""
    file, written = folder / _FACTS, json.loads(json.dumps(facts))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists() and any(folder.iterdir()):
            raise ForeignOutput(f"{folder} holds something else already", hint="Name another folder.", path=folder)
        if not file.exists():
            whole = folder.with_name(f"{folder.name}.{_FACTS}")
            whole.write_text(json.dumps(written), encoding="utf-8")
            whole.replace(file)
        known = json.loads(file.read_bytes())
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}", path=folder) from error
    except ValueError:
        known = None
    keys = [*written, *(known if isinstance(known, dict) else ())]
    other = [key for key in keys if not isinstance(known, dict) or known.get(key) != written.get(key)]
    if other:
        raise ForeignOutput(
            f"{folder} is not of this run: its {other[0]} differs",
            hint="Go on with the same job, seed and prompts, or name another folder.",
            path=folder,
        )


# ---- in processes of Ray -------------------------------------------------------------------------------------------


def _shard_source(files: list[str]) -> Any:
    """Make the source of the shards: a row for each record, with its number and its JSON as it is."""
    import pyarrow
    from ray.data.datasource import FileBasedDatasource

    class ShardSource(FileBasedDatasource):  # type: ignore[misc, unused-ignore]
        def _read_stream(self, f: Any, path: str) -> Iterator[Any]:
            written = [data.strip() for data in f.readall().splitlines() if data.strip()]
            lines = [json.loads(data)["line"] for data in written]
            yield pyarrow.table({"line": pyarrow.array(lines, pyarrow.int64()), "json": written})

    return ShardSource(files)


class _ShardPredictor(SfgenPredictor):
    """A predictor for rows of shards: all samples of a row become one row of JSON, so that none is lost."""

    def __init__(self, job: Job, batch_size: int, journal: Any, folder: str) -> None:
        if not Path(folder, _FACTS).is_file():
            error = UsageError(
                f"a machine of the cluster has no folder {folder}", hint="Name a folder that all machines share."
            )
            if journal is not None:
                installed_ray().get(journal.refuse.remote(error))
            raise error
        super().__init__(job, batch_size, journal)

    def __call__(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Write the texts of a shard."""
        records: dict[int, list[dict[str, Any]]] = {int(line): [] for line in columns["line"]}
        prompts = []
        for line, data in zip(records, columns["json"], strict=True):
            value = json.loads(data)
            del value["line"]
            prompts.append(record_of(line, value))
        for outcome in self._texts.fill(list(self._lines.slots(prompts))):
            records[outcome.slot.key[0]].append(outcome.record)
        return {"line": list(records), "records": [json.dumps(of_line) for of_line in records.values()]}
