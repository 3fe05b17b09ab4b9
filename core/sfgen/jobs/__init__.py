"""Jobs: many prompts in one run, with records, seeds and resume.

``job`` says what is done with each prompt, and the formula of the seeds. ``prompts`` reads them, ``prompt_record`` is
one of them, with its instructions for itself, of which ``own_jobs`` makes a job. ``record`` is the record of one text,
``facts`` describe its constraint, ``record_format`` writes it, ``output`` takes it, ``resume`` compares those of
an earlier run. ``loaded`` is a job with its model, ``texts`` works on several texts at once, ``workers`` in several
processes, each a ``worker``; ``run`` puts it together. The promise of equal results is in the guide
``cli/guides/equal-results.md``.
"""

from sfgen.jobs.job import Job
from sfgen.jobs.run import job_records, run_job

__all__ = ["Job", "job_records", "run_job"]
