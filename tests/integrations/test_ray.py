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
from sfgen.integrations.ray.journal import Journal
from sfgen.jobs.fields import Fields
from sfgen.jobs.output import OutputFile
from sfgen.jobs.prompts import PromptList
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


def test_the_file_is_that_of_one_process_though_an_actor_dies(
    cluster: RayCluster, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    file, over, killed = tmp_path / "texts.jsonl", threading.Event(), list[int]()

    def kill_one() -> None:
        while not over.wait(0.01):
            if file.exists() and file.stat().st_size > 5000 and (found := actors()):
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
                return

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        run(PROMPTS, file, cluster)
    finally:
        over.set()
        killer.join()
    assert killed
    assert lines_of(file) == expected


def test_a_file_that_was_cut_off_is_gone_on_with(
    cluster: RayCluster, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    whole = tmp_path / "whole.jsonl"
    whole.write_text("".join(json.dumps(record) + "\n" for record in job_records(JOB, PROMPTS[:150])))
    file = tmp_path / "cut.jsonl"
    file.write_bytes(whole.read_bytes()[:-100])
    run(PROMPTS, file, cluster, resume=True, actors=1)
    assert lines_of(file) == expected


def test_what_kills_its_process_twice_is_an_error_and_nothing_else_is(cluster: RayCluster) -> None:
    prompts = [{"prompt": "deadly" if number in (5, 17) else f"Prompt {number}"} for number in range(24)]
    rows = ray.data.from_items(
        [{"line": number, **row} for number, row in enumerate(prompts, 1)], override_num_blocks=3
    )

    class DeadlyPredictor(SfgenPredictor):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            from sfgen.jobs.loaded import LoadedJob

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
    alone = {record["line"]: record["text"] for record in job_records(JOB, [row["prompt"] for row in prompts])}
    assert all(by_line[line]["text"] == alone[line] for line in by_line if line not in failed)


def test_rows_of_others_keep_their_columns(cluster: RayCluster) -> None:
    job = Job("uniform", CONFIG, samples=2)
    rows = ray.data.from_items([{"line": line, "prompt": f"Prompt {line}", "city": f"C{line}"} for line in (3, 1, 2)])
    made = rows.map_batches(
        SfgenPredictor, fn_constructor_kwargs={"job": job}, compute=ray.data.ActorPoolStrategy(size=1), num_cpus=0.5
    ).take_all()
    assert sorted((row["line"], row["sample"], row["city"]) for row in made) == [
        (line, sample, f"C{line}") for line in (1, 2, 3) for sample in (0, 1)
    ]
    texts = {
        (record["line"], record["sample"]): record for record in job_records(job, [f"Prompt {n}" for n in (1, 2, 3)])
    }
    for row in made:
        assert timeless(json.loads(row["record"])) == timeless(texts[row["line"], row["sample"]])
        assert row["text"] == texts[row["line"], row["sample"]]["text"]


def test_four_actors_make_the_file_of_one_process(
    ray_cluster: RayCluster, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    run(PROMPTS, tmp_path / "texts.jsonl", replace(ray_cluster, cpus=0.25), actors=4)
    assert lines_of(tmp_path / "texts.jsonl") == expected


def test_what_the_cluster_lacks_is_told(cluster: RayCluster, tmp_path: Path) -> None:
    much = RayCluster(cpus=1000)
    with pytest.raises(UsageError, match="2 actors of 1000 ask for 2000"):
        run(PROMPTS[:1], tmp_path / "a.jsonl", much)
    with pytest.raises(UsageError, match=r"has 0 GPUs, and 3 actors of 0\.5"):
        run(PROMPTS[:1], tmp_path / "b.jsonl", RayCluster(gpus=0.5), actors=3)


def test_a_model_that_cannot_be_loaded_there_is_told(cluster: RayCluster, tmp_path: Path) -> None:
    from random_models import save

    model = tmp_path / "model"
    save("llama", model)
    job = Job(str(model), GenerationConfig(max_tokens=3))
    job_run = JobRun(job, PromptList(["a", "b"]), OutputFile(tmp_path / "out", keep=False, replace=False), crew=cluster)
    from sfgen.jobs.loaded import load

    loaded = load(job)
    (model / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="cannot load"):
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
