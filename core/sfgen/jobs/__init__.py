"""Jobs: many prompts in one run, with records, seeds and resume.

``job`` is the configuration of all prompts, and has the formula of the seeds. ``prompts`` reads the prompts;
``prompt_record`` is one of them, which may have instructions of its own: ``own_jobs`` makes a job of these. ``record``
makes the record of one text, ``constraint_facts`` describes its constraint in it, ``record_format`` formats it as a
line, ``output`` writes the line, and ``resume`` compares the lines of an earlier run when a job is resumed.
``loaded_job`` is a job with its model, ``texts`` generates several texts at once, ``workers`` does so in several
processes, each a ``worker``; ``run`` puts all of it together. The guide ``cli/guides/equal-results.md`` says when two
runs give equal results.
"""

from sfgen.jobs.job import Job
from sfgen.jobs.run import job_records, run_job

__all__ = ["Job", "job_records", "run_job"]
