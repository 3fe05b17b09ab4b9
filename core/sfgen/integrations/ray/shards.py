"""Prompts and texts in shards, which Ray Data reads, writes and resumes by itself.

For jobs that are too large for one process to read or write. ``write_prompts`` numbers the prompts, before anything is
divided, so that a text is drawn from the same seed whichever actor makes it. ``write_texts`` makes the texts, with Ray
Data's checkpoints: a later call skips the lines whose texts are on disk. ``read_texts`` reads them, each once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfgen import arguments
from sfgen.errors import ForeignOutput, InputError, OutputExists, UsageError
from sfgen.integrations.ray.actor import ActorTexts
from sfgen.integrations.ray.cluster import RayCluster, be_quiet, check_resources
from sfgen.integrations.ray.installed import installed_ray
from sfgen.integrations.ray.journal import open_journal
from sfgen.jobs.assignment import Assignment
from sfgen.jobs.job import Job
from sfgen.jobs.lines import Lines
from sfgen.jobs.prompt_record import is_writable, record_of
from sfgen.printable import json_text

_JOB = "job.facts"  # in the folder of texts: what they depend on
_TEXTS, _CHECKPOINTS = "texts", "checkpoints"


def write_prompts(prompts: Iterable[str | Mapping[str, Any]], folder: str | Path, *, rows: int = 10_000) -> int:
    """Write prompts as shards of numbered rows.

    Args:
        prompts: A text or a record each, as for ``job_records``.
        folder: Where the shards go, a new or an empty one, which all machines of the cluster share.
        rows: The most prompts of a shard.

    Returns:
        The number of prompts.

    Raises:
        OutputExists: The folder holds something.
        UsageError: An argument of another kind.
    """
    rows = arguments.whole_number("rows", rows, least=1)
    if isinstance(prompts, str | bytes | Mapping) or not isinstance(prompts, Iterable):
        raise arguments.refusal("prompts", "texts or dictionaries with a prompt", prompts)
    target = arguments.path("folder", folder)
    if target.exists() and any(target.iterdir()):
        raise OutputExists(f"{target} holds something already", hint="Name a new folder.", path=target)
    target.mkdir(parents=True, exist_ok=True)
    line, shard = 0, list[str]()
    for line, prompt in enumerate(prompts, 1):
        value = {"prompt": prompt} if isinstance(prompt, str) else arguments.mapping(f"prompt {line}", prompt)
        if not is_writable(value):
            raise UsageError(f"prompt {line} has a value that cannot be written as JSON", hint="Give plain values.")
        # A column of JSON: Arrow would make one type of all records, and fill what one lacks.
        shard.append(json_text({"line": line, "value": json_text(value)}))
        if len(shard) == rows:
            _write(target, line, shard)
            shard = []
    if shard:
        _write(target, line, shard)
    return line


def _write(folder: Path, last: int, shard: Sequence[str]) -> None:
    (folder / f"{last:012}.jsonl").write_text("\n".join(shard) + "\n", encoding="utf-8")


def write_texts(
    job: Job,
    prompts: str | Path,
    folder: str | Path,
    *,
    actors: int = 1,
    batch_size: int = 1,
    cluster: RayCluster | None = None,
) -> None:
    """Write the texts of numbered prompts as shards, or resume writing them.

    What a killed run has written stays; lines of which no checkpoint tells are done again. Connect to a cluster first:
    with ``connected`` or with ``ray.init``.

    Args:
        job: What is done with each prompt. Its model is a name, which each actor loads.
        prompts: What ``write_prompts`` has written.
        folder: Where the texts and the checkpoints go; all machines of the cluster share it, under the same path.
        actors: How many processes make texts.
        batch_size: How many texts each works on at once.
        cluster: What each actor reserves; ``None``: half a processor.

    Raises:
        UsageError: An argument of another kind, no connection to a cluster, or the cluster lacks what actors reserve.
        ForeignOutput: The folder has the texts of another job.
        ModelError: Ray is not installed.
        SfgenError: The model cannot be loaded.
    """
    if arguments.instance("job", job, Job).spec is None:
        raise UsageError(
            "processes of Ray cannot be sent a model that is loaded: each loads its own",
            hint="Name the model, or give an sfgen.ModelSpec.",
        )
    actors = arguments.whole_number("actors", actors, least=1)
    batch_size = arguments.whole_number("batch_size", batch_size, least=1)
    source, target = (
        arguments.path(name, value).resolve() for name, value in (("prompts", prompts), ("folder", folder))
    )
    cluster = RayCluster() if cluster is None else arguments.instance("cluster", cluster, RayCluster)
    ray = installed_ray()
    if not ray.is_initialized():
        raise UsageError("this process is connected to no cluster of Ray", hint="Call connected() or ray.init() first.")
    check_resources(cluster, actors)
    lines = Lines.of(job)
    _same_job(target, lines)
    be_quiet()
    context = ray.data.DataContext.get_current()
    before = context.checkpoint_config
    context.checkpoint_config = ray.data.checkpoint.CheckpointConfig(
        id_column="line", checkpoint_path=str(target / _CHECKPOINTS), delete_checkpoint_on_success=False
    )
    try:
        rows = ray.data.read_json(str(source), file_extensions=["jsonl"])
        texts = rows.map_batches(
            _ShardPredictor,
            fn_constructor_kwargs={"assignment": Assignment(job, lines, batch_size), "journal": open_journal()},
            compute=ray.data.ActorPoolStrategy(size=actors),
            num_cpus=cluster.cpus,
            num_gpus=cluster.gpus,
            batch_size=max(16, 8 * batch_size),
        )
        texts.write_json(str(target / _TEXTS))
    finally:
        context.checkpoint_config = before


def read_texts(folder: str | Path) -> Iterator[dict[str, Any]]:
    """Read the records that ``write_texts`` has written, each once, by line and sample.

    Only their positions are held in memory.

    Args:
        folder: As for ``write_texts``.

    Yields:
        The records, as ``job_records`` has them.

    Raises:
        InputError: The folder has no texts.
    """
    target = arguments.path("folder", folder)
    found: dict[tuple[int, int], tuple[Path, int]] = {}
    for file in sorted((target / _TEXTS).glob("*.json")):
        with file.open("rb") as stream:
            offset = 0
            for data in stream:
                if not data.endswith(b"\n"):
                    break  # a killed run has left half a line, which was written again elsewhere
                row = json.loads(data)
                found.setdefault((row["line"], row["sample"]), (file, offset))
                offset += len(data)
    if not found:
        raise InputError(f"{target} has no texts", hint="Name the folder that write_texts has written to.")
    for _, (file, offset) in sorted(found.items()):
        with file.open("rb") as stream:
            stream.seek(offset)
            yield json.loads(json.loads(stream.readline())["record"])


def _same_job(folder: Path, lines: Lines) -> None:
    """Note the job in its folder, or compare it with the one that is noted there."""
    file, facts = folder / _JOB, json.dumps(lines.facts, sort_keys=True)
    if not file.exists():
        if folder.exists() and any(folder.iterdir()):
            raise OutputExists(f"{folder} holds something that is no job", hint="Name a new folder.", path=folder)
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(facts, encoding="utf-8")
    elif file.read_text(encoding="utf-8") != facts:
        raise ForeignOutput(f"{folder} has the texts of another job", hint="Name a new folder.", path=folder)


class _ShardPredictor:
    """What an actor does with numbered prompts: lines and records in, texts out."""

    def __init__(self, assignment: Assignment, journal: Any) -> None:
        self._lines = assignment.lines
        self._texts = ActorTexts(assignment, journal)

    def __call__(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        prompts = [
            record_of(int(line), json.loads(value))
            for line, value in zip(columns["line"], columns["value"], strict=True)
        ]
        outcomes = self._texts.fill(list(self._lines.slots(prompts)))
        return {
            "line": [outcome.slot.key[0] for outcome in outcomes],
            "sample": [outcome.slot.key[1] for outcome in outcomes],
            "record": [json_text(outcome.record) for outcome in outcomes],
        }
