"""Jobs: many prompts in one run, with records, seeds and resume.

``job`` says what is done with each prompt; ``prompts`` reads them, also from a ``csv_table``; ``prompt_record`` is one
of them, with the ``instructions`` that it may have for itself, of which ``own_jobs`` makes a job. ``lines`` says what
each line of the output is, ``fields`` which of its keys are written, ``record_format`` how it stands in the file;
``output`` takes it, compressed by ``gzip_members`` perhaps; ``earlier_lines`` compares those of an earlier run.
``seeds`` is the formula of the seeds, ``facts`` what is said of a constraint, ``record`` the record of one text;
``loaded`` is a job with its model, ``texts`` works on several texts at once, ``run`` writes them. What is promised
about equal results is in the library's guide, ``core/README.md``.
"""

from sfgen.jobs.job import Job
from sfgen.jobs.run import job_records, run_job

__all__ = ["Job", "job_records", "run_job"]
