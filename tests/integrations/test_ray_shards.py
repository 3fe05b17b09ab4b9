"""Shards of prompts on a real cluster of Ray: the driver is killed in the middle, and another goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sfgen import GenerationConfig, Job, Sampler, job_records
from sfgen.errors import ForeignOutput, InputError, UsageError
from sfgen.integrations.ray import RayCluster, read_shards, write_shards

ray = pytest.importorskip("ray", reason="Ray is not installed: make ray installs it")

JOB = Job("uniform", GenerationConfig(index="[a-z]{40}", sampler=Sampler(1.0, seed=7)), samples=2)
PROMPTS = [{"prompt": f"Prompt {number}", "id": number, "city": "Oslo"} for number in range(100)]

DRIVER = """
import sys
from sfgen import GenerationConfig, Job, Sampler
from sfgen.integrations.ray import connected, write_shards
job = Job("uniform", GenerationConfig(index="[a-z]{40}", sampler=Sampler(1.0, seed=7)), samples=2)
with connected(sys.argv[1], cpus=0.2) as cluster:
    write_shards(cluster, job, sys.argv[2], sys.argv[3], actors=1, batch_size=4)
"""


@pytest.fixture
def cluster(ray_cluster: RayCluster) -> RayCluster:
    return RayCluster(cpus=0.2)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    for first in range(0, len(PROMPTS), 20):
        shard = [{"line": first + number, **row} for number, row in enumerate(PROMPTS[first : first + 20], 1)]
        (folder / f"{first:03}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in shard))
    return folder


def sorted_records(records: Any) -> list[dict[str, Any]]:
    timeless = [{key: value for key, value in record.items() if key not in ("seconds", "run")} for record in records]
    return sorted(timeless, key=lambda record: (record["line"], record["sample"]))


def test_a_killed_driver_is_gone_on_with(cluster: RayCluster, prompts: Path, tmp_path: Path) -> None:
    output = tmp_path / "texts"
    address = ray.get_runtime_context().gcs_address
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, address, str(prompts), str(output)], start_new_session=True
    )
    done: set[Path] = set()
    while not done and driver.poll() is None:
        done = {file for file in output.glob("done/*.parquet") if ".pending" not in file.name}
        time.sleep(0.005)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL, "it was killed before it was over"
    before = sorted_records(read_shards(output))
    assert 0 < len(before) < 200
    write_shards(cluster, JOB, prompts, output, actors=1, batch_size=4)
    assert sorted_records(read_shards(output)) == sorted_records(job_records(JOB, PROMPTS))
    written = sum(len(file.read_bytes().splitlines()) for file in (output / "texts").iterdir())
    assert written == len(PROMPTS), "what was done is not made again"
    other = Job("uniform", GenerationConfig(index="[a-z]{40}", sampler=Sampler(1.0, seed=8)), samples=2)
    with pytest.raises(ForeignOutput, match="its seed differs"):
        write_shards(cluster, other, prompts, output, actors=1)


def test_what_the_cluster_lacks_is_told(cluster: RayCluster, prompts: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"2 actors of 100 ask for 200, beside 1\.5 for others"):
        write_shards(RayCluster(cpus=100), JOB, prompts, tmp_path / "texts")
    assert not (tmp_path / "texts").exists()


@pytest.mark.parametrize(
    ("shard", "says"),
    [
        ('{"prompt": "a"}\n', "line 1: no whole number from 1 on as line"),
        ('{"line": true, "prompt": "a"}\n', "line 1: no whole number"),
        ('{"line": 1}\n\n{"line": 1}\n', "line 3: line 1 was there before"),
        ('{"line": 1}\n{"line"', "line 2: not valid JSON"),
    ],
)
def test_records_without_a_line_of_their_own(cluster: RayCluster, shard: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(shard)
    with pytest.raises(InputError, match=says):
        write_shards(cluster, JOB, tmp_path, tmp_path / "texts")
    assert not (tmp_path / "texts").exists()


def test_folders_of_something_else(cluster: RayCluster, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no shards of prompts"):
        write_shards(cluster, JOB, tmp_path, tmp_path / "texts")
    with pytest.raises(InputError, match="has no texts of write_shards"):
        list(read_shards(tmp_path))
    (tmp_path / "job.json").write_text("{}")
    (tmp_path / "texts").mkdir()
    row = json.dumps({"line": 1, "records": json.dumps([{"line": 1, "text": "a"}])})
    (tmp_path / "texts" / "a.json").write_text(f"{row}\n{row}\n" + row[:9])  # one twice, and one cut off
    assert list(read_shards(tmp_path)) == [{"line": 1, "text": "a"}]
    (tmp_path / "texts" / "b.json").write_text("{}\n")
    with pytest.raises(InputError, match=r"b\.json, line 1: no texts of write_shards"):
        list(read_shards(tmp_path))
