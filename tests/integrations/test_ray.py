"""Jobs and pipelines on a real cluster of Ray, which this machine is."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfgen import GenerationConfig, Job, Sampler, job_records
from sfgen.errors import ModelError, UsageError
from sfgen.integrations.ray import RayCluster, SfgenPredictor, connected, open_journal
from sfgen.integrations.ray.actor import Journal
from sfgen.jobs.loaded_job import load
from sfgen.jobs.output import OutputFile
from sfgen.jobs.prompts import PromptList
from sfgen.jobs.record_format import Fields
from sfgen.jobs.run import JobRun

ray = pytest.importorskip("ray", reason="Ray is not installed: make ray installs it")

CONFIG = GenerationConfig(index="[a-z]{40}", sampler=Sampler(1.0, seed=7))
JOB = Job("uniform", CONFIG)
PROMPTS = [{"prompt": f"Prompt {number}", "id": number} for number in range(200)]


@pytest.fixture
def cluster(ray_cluster: RayCluster) -> RayCluster:
    return ray_cluster


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    return [timeless(record) for record in job_records(JOB, PROMPTS)]


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in ("seconds", "run")}


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [timeless(json.loads(line)) for line in file.read_text().splitlines()]


def run(prompts: list[Any], file: Path, cluster: RayCluster, *, resume: bool = False, actors: int = 2) -> None:
    output = OutputFile(file, keep=resume, replace=False)
    try:
        job_run = JobRun(
            JOB, PromptList(prompts), output, batch_size=4, workers=actors, crew=cluster, fields=Fields(None)
        )
        if resume:
            job_run.resume()
        for _ in job_run.write():
            pass
    finally:
        output.close()


def actors() -> list[int]:
    """The processes that make texts."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            name = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"ray::" in name and b"_Places" in name:
            found.append(int(folder.name))
    return found


def test_a_file_that_was_cut_off_is_that_of_one_process_though_an_actor_dies(
    ray_cluster: RayCluster, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Four actors load at once, and one of them is killed."""
    file, over, killed = tmp_path / "texts.jsonl", threading.Event(), list[int]()
    whole = "".join(json.dumps(record) + "\n" for record in job_records(JOB, PROMPTS[:30]))
    file.write_text(whole[:-100])

    def kill_one() -> None:
        while not over.wait(0.005):
            if file.stat().st_size > len(whole) and (found := actors()):
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
                return

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        run(PROMPTS, file, replace(ray_cluster, cpus=0.25), resume=True, actors=4)
    finally:
        over.set()
        killer.join()
    assert killed
    assert lines_of(file) == expected


def test_what_kills_its_process_twice_is_an_error_and_nothing_else_is(cluster: RayCluster) -> None:
    prompts = [{"prompt": "deadly" if number in (5, 17) else f"Prompt {number}"} for number in range(24)]
    rows = ray.data.from_items(
        [{"line": line, "city": f"C{line}", **row} for line, row in reversed(list(enumerate(prompts, 1)))],
        override_num_blocks=3,
    )

    class DeadlyPredictor(SfgenPredictor):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            from sfgen.jobs.loaded_job import LoadedJob

            real = LoadedJob.loop

            def loop(self: LoadedJob, prompt: str, *rest: Any, **others: Any) -> Any:
                if prompt == "deadly":
                    time.sleep(0.2)
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(self, prompt, *rest, **others)

            LoadedJob.loop = loop  # type: ignore[method-assign]

    made = rows.map_batches(
        DeadlyPredictor,
        fn_constructor_kwargs={"job": JOB, "batch_size": 4, "journal": open_journal()},
        compute=ray.data.ActorPoolStrategy(size=2),
        num_cpus=0.5,
        batch_size=8,
    ).take_all()
    by_line = {row["line"]: row for row in made}
    assert sorted(by_line) == list(range(1, 25))
    assert len(made) == 24
    failed = {line for line, row in by_line.items() if row["error"] is not None}
    assert failed == {6, 18}
    assert "a second one" in by_line[6]["error"]
    alone = {record["line"]: timeless(record) for record in job_records(JOB, [row["prompt"] for row in prompts])}
    for line in by_line.keys() - failed:
        assert timeless(json.loads(by_line[line]["record"])) == alone[line]
        assert by_line[line]["text"] == alone[line]["text"]
    assert {line: row["city"] for line, row in by_line.items()} == {line: f"C{line}" for line in range(1, 25)}


def test_what_the_cluster_lacks_is_told(cluster: RayCluster, tmp_path: Path) -> None:
    much = RayCluster(cpus=1000)
    with pytest.raises(UsageError, match="2 actors of 1000 ask for 2000"):
        run(PROMPTS[:1], tmp_path / "a.jsonl", much)
    with pytest.raises(UsageError, match=r"has 0 GPUs, and 3 actors of 0\.5"):
        run(PROMPTS[:1], tmp_path / "b.jsonl", RayCluster(gpus=0.5), actors=3)


def test_a_model_that_cannot_be_loaded_there_is_told(cluster: RayCluster, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the cat sat on the mat. " * 9)
    job = Job(f"zip:{tmp_path / 'text'}", GenerationConfig(max_tokens=3))
    job_run = JobRun(job, PromptList(["a", "b"]), OutputFile(tmp_path / "out", keep=False, replace=False), crew=cluster)
    loaded = load(job)
    (tmp_path / "text").unlink()
    with pytest.raises(ModelError, match="no model zip:"):
        list(job_run.write(loaded))


def test_nobody_answers() -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"no cluster of Ray answers at '127\.0\.0\.1:1'"), connected("127.0.0.1:1"):
        pass
    assert time.monotonic() - began < 60  # it says so at once; Ray itself waits for minutes


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n"])
def test_what_listens_and_is_not_ray(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.integrations.ray.cluster._ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(said)
                time.sleep(1)

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        why = "is not Ray" if said else "timed out"
        with pytest.raises(UsageError, match=f"no cluster of Ray answers at '{address}': .*{why}"), connected(address):
            pass
        thread.join()


def test_the_journal_counts_the_dead() -> None:
    journal, keys = Journal(), [(1, 0), (2, 0), (3, 0)]
    assert journal.start("a")
    journal.loaded("a")
    assert journal.deaths(keys, "first") == [0, 0, 0]
    for key in keys[:2]:
        journal.begin(key, "first")
    journal.done(keys[:1])
    assert journal.deaths(keys, "first") == [0, 0, 0]  # the same process, asked again
    assert journal.deaths(keys, "second") == [0, 1, 0]
    assert journal.deaths(keys, "third") == [0, 1, 0]  # the second has begun nothing
    journal.begin((2, 0), "third")
    assert journal.deaths(keys, "fourth") == [0, 2, 0]
    assert [journal.start("a") for _ in range(4)] == [True, True, True, False]
    journal.loaded("a")
    assert journal.start("a")


def test_the_first_reason_stays() -> None:
    """Those who are told to give up say so as well, and do not know why."""
    journal, first = Journal(), ModelError("cannot load it")
    assert journal.start("a")
    journal.refuse(first)
    assert not journal.start("b")
    journal.refuse(ModelError("others have died"))
    assert journal.why() is first


def test_many_actors_may_load_at_once() -> None:
    """None of them has died."""
    journal = Journal()
    assert all(journal.start(f"actor {number}") for number in range(100))


def test_each_sample_is_a_row_of_its_own() -> None:
    """Whatever the order of the lines; what else a row has is kept."""
    job = Job("uniform", CONFIG, samples=2)
    made = SfgenPredictor(job)(
        {"line": [3, 1, 2], "prompt": ["Prompt 3", "Prompt 1", "Prompt 2"], "city": ["C3", "C1", "C2"]}
    )
    keys = list(zip(made["line"], made["sample"], made["city"], strict=True))
    assert keys == [(line, sample, f"C{line}") for line in (3, 1, 2) for sample in (0, 1)]
    alone = job_records(job, [f"Prompt {number}" for number in (1, 2, 3)])
    records = {(record["line"], record["sample"]): timeless(record) for record in alone}
    for (line, sample, _), text, record in zip(keys, made["text"], made["record"], strict=True):
        assert timeless(json.loads(record)) == records[line, sample]
        assert text == records[line, sample]["text"]


def test_rows_that_cannot_be_answered_say_why() -> None:
    predictor = SfgenPredictor(JOB)
    with pytest.raises(UsageError, match="no column 'prompt'"):
        predictor({"line": [1]})
    with pytest.raises(UsageError, match="a column 'text' already"):
        predictor({"line": [1], "prompt": ["a"], "text": ["b"]})
    with pytest.raises(UsageError, match="line"):
        predictor({"line": [0], "prompt": ["a"]})
    own = [{"regex": "[ab]", "schema": None}, None]
    made = predictor({"line": [1, 2], "prompt": ["a", "b"], "sfgen": own})
    assert [len(text) for text in made["text"]] == [1, 40]
    made = predictor({"line": [1, 2], "prompt": ["a", 7]})
    assert made["error"] == [None, '"prompt" is a number, not a string']
    assert made["text"][0] is not None
