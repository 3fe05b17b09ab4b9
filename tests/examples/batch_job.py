"""Run a job over many prompts: records in a file, stopped half-way and resumed.

A seed belongs to each line, so a record does not depend on what was done before it, or on how often the job was
stopped. What it prints:

    Anna 7 a good from Zagrebetna
    Bruno 8 an old from Warsawajav
    Clara 9 an old from Warsaw
    David 10 an ambitious from Buenoskla
    2 kept, 2 written; the same as in one run: True
"""

import json
from pathlib import Path

import sfgen

config = sfgen.GenerationConfig(regex="an? [a-z]{3,12} from [A-Z][a-z]{3,9}", temperature=0.7, seed=7, max_tokens=16)
job = sfgen.Job("tiny", config)
prompts = [{"id": name, "prompt": f"{name}, who is "} for name in ("Anna", "Bruno", "Clara", "David")]

sfgen.run_job(job, prompts, "whole.jsonl")
whole = Path("whole.jsonl").read_text(encoding="utf-8")
for line in whole.splitlines():
    record = json.loads(line)
    print(record["id"], record["seed"], record["text"])

half = "".join(whole.splitlines(keepends=True)[:2])
Path("stopped.jsonl").write_text(half, encoding="utf-8")  # as if the job had been stopped here
done = sfgen.run_job(job, prompts, "stopped.jsonl", resume=True)
resumed = Path("stopped.jsonl").read_text(encoding="utf-8")
print(f"{done.kept} kept, {done.written} written; the same as in one run: {resumed == whole}")
