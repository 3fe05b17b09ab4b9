"""How the records of a job are written to a file, and whether a later run can go on with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfgen.errors import UsageError
from sfgen.jobs.endings import is_csv
from sfgen.jobs.fields import KNOWN, Fields, table_columns
from sfgen.jobs.prompts import PromptFile, PromptSource
from sfgen.jobs.record_format import CsvRows, JsonLines, RecordFormat
from sfgen.parameter_text import ParameterText

if TYPE_CHECKING:
    from sfgen.jobs.job import Job


def check_resumable(job: Job, fields: Fields) -> None:
    """Refuse to resume lines that could not be recognized.

    Args:
        job: What they are of.
        fields: Which keys they have.

    Raises:
        UsageError: Some are missing; says which.
    """
    needed = ["line", *(["sample"] if job.samples > 1 else []), *([] if job.scored is not None else ["seed"]), "run"]
    missing = [name for name in needed if not fields.has(name)]
    if missing:
        raise UsageError(
            ParameterText(
                f"resume compares {', '.join(needed)}, and fields leaves out {', '.join(missing)}", "resume", "fields"
            ),
            hint=ParameterText(f"Write them, too: fields={','.join(needed)!r} and what you like.", "fields="),
        )


def written_as(path: Path | None, job: Job, source: PromptSource, fields: Fields) -> tuple[RecordFormat, Fields]:
    """Choose the format of a file of records, and its keys.

    Args:
        path: The file, whose ending counts; ``None``: no file.
        job: The job of its records.
        source: The source of the prompts; nothing of it was read yet.
        fields: The keys that were chosen.

    Raises:
        InputError: The prompts cannot be read.
    """
    columns = source.columns() if isinstance(source, PromptFile) else ()
    if path is None or not is_csv(path):
        return JsonLines(), fields
    names = table_columns(job, columns) if fields.is_usual else (fields.names or KNOWN)
    names = names if "error" in names else (*names, "error")
    return CsvRows(names), fields if fields.names is None else Fields(names)
