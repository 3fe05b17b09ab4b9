"""Generate texts in a pipeline of Ray Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.integrations.ray.actor import ActorTexts, check_journal
from sfgen.jobs.job import Job
from sfgen.jobs.prompt_record import OUR_KEYS, record_of
from sfgen.jobs.record import Lines, Slot
from sfgen.jobs.workers import Assignment
from sfgen.printable import json_text

_OWN_COLUMNS = ("sample", "text", "error", "record")
"""The columns that a row gets."""


class SfgenPredictor:
    """A predictor for ``Dataset.map_batches``: one text for each row.

    A row has ``prompt`` and ``line``, a whole number from 1 on that no other row has: the seed of a text depends on it,
    so it must be set before the rows are divided among processes. It may have ``id``, and ``sfgen``, the instructions
    of this row (``sfgen.jobs.prompt_record``). Give it a journal: without one a record that kills its process ends the
    job, or kills processes as long as Ray starts others.

    Args:
        job: The job for each prompt. Its model is a name, which each process loads.
        batch_size: The number of texts that a process generates at once.
        journal: The journal, made by ``open_journal``.

    Raises:
        UsageError: An argument of a wrong type, or a loaded model.
        SfgenError: As ``load_model``.

    A pipeline, with ``import ray`` and rows that are numbered as they are read::

        rows = ray.data.from_items([{"line": 1, "prompt": "A person: "}, {"line": 2, "prompt": "Another: "}])
        texts = rows.map_batches(
            SfgenPredictor,
            fn_constructor_kwargs={"job": Job("tiny", GenerationConfig(index="[a-z]+")), "journal": open_journal()},
            compute=ray.data.ActorPoolStrategy(size=2),
            num_cpus=0.5,
            batch_size=16,
        )
    """

    def __init__(self, job: Job, batch_size: int = 1, journal: object | None = None) -> None:
        check_model_is_named(job)
        batch_size = arguments.whole_number("batch_size", batch_size, least=1)
        self._lines = Lines.of(job)
        if journal is not None:
            check_journal(journal)
        self._texts = ActorTexts(Assignment(job, self._lines, batch_size), journal)

    def __call__(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Write the texts of a batch.

        Args:
            columns: The columns, of equal length.

        Returns:
            The same columns, with a row for each sample, then ``sample``, ``text`` or ``error``, and ``record``, which
            is the whole record as JSON.

        Raises:
            UsageError: There is no column ``prompt`` or ``line``, a column that this class writes exists already, or a
                line is not a whole number from 1 on.
        """
        plain = {name: _plain(name, values) for name, values in arguments.mapping("columns", columns).items()}
        places = self._numbered(plain)
        outcomes = self._texts.fill([slot for _, slot in places])
        answered: dict[str, list[Any]] = {name: [values[row] for row, _ in places] for name, values in plain.items()}
        for outcome in outcomes:
            record = outcome.record
            for name, value in (
                ("sample", outcome.slot.key[1]),
                ("text", record.get("text")),
                ("error", record.get("error")),
                ("record", json_text(record)),
            ):
                answered.setdefault(name, []).append(value)
        return answered

    def _numbered(self, columns: Mapping[str, list[Any]]) -> list[tuple[int, Slot]]:
        """List the slots of the rows, each with the number of its row."""
        for name in ("prompt", "line"):
            if name not in columns:
                raise UsageError(
                    f"the rows have no column {name!r}, but {', '.join(map(repr, columns)) or 'none'}",
                    hint="Each row needs its prompt, and as line a number from 1 on, given before rows are divided.",
                )
        taken = [name for name in _OWN_COLUMNS if name in columns]
        if taken:
            raise UsageError(f"the rows have a column {taken[0]!r} already", hint="Give it another name.")
        numbered = []
        for row, line in enumerate(columns["line"]):
            number = arguments.whole_number("line", line, least=1)
            prompt = record_of(number, {name: columns[name][row] for name in OUR_KEYS if name in columns})
            numbered += [(row, slot) for slot in self._lines.slots([prompt])]
        return numbered


def check_model_is_named(job: Job) -> None:
    """Refuse a job with a loaded model."""
    if arguments.instance("job", job, Job).spec is None:
        raise UsageError(
            "processes of Ray cannot be sent a model that is loaded: each loads its own",
            hint="Name the model, or give an sfgen.ModelSpec.",
        )


def _plain(name: str, values: Any) -> list[Any]:
    """A column as Python's own values: numpy's cannot be written as JSON."""
    return list(values.tolist() if hasattr(values, "tolist") else arguments.items(name, values, "a column"))
