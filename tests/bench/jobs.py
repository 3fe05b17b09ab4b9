"""Records a second and memory of jobs: one by one, in batches, with workers, on Ray; beside transformers and outlines.

Usage: ``python -m tests.bench.jobs [--records N] [--models tiny gpt2 gguf gemma] [--ways NAME ...] [--rounds N]``. Each
figure is that of a process of its own, which writes all records and notes when each was written; the first tenth is
left out, so that loading counts for nothing. The ways take turns, and of all rounds the fastest counts. Memory is the
most that the process had, and its workers together; actors of Ray are not seen. The models: the embedded one, read by
sfgen itself; two of the size of GPT-2 with random weights, one read by transformers and one by llama.cpp, from a GGUF
file; and the file of ``make real-model``.
"""

from __future__ import annotations

import argparse
import json
import resource
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATTERN = r"[A-Z][a-z]{2,9} is [1-9][0-9] years old and lives in [A-Z][a-z]{2,9}\."
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "maximum": 99, "minimum": 0},
    },
    "required": ["name", "age"],
}
BANNED = ("the", "is", "and")
MAX_TOKENS = 32
MODELS = ("tiny", "gpt2", "gguf", "gemma")
EXAMPLES = "A sentence about a person. "


@dataclass(frozen=True)
class Way:
    """How the records of a job are made.

    Attributes:
        task: ``"pattern"``, ``"patterns"`` (100 different ones), ``"schema"``, ``"free"``, ``"banned"`` or ``"both"``.
        batch_size: Texts at once.
        workers: Processes.
        on_ray: Whether they are actors of Ray.
        other: Another program: ``"transformers"`` or ``"outlines"``.
    """

    task: str
    batch_size: int = 1
    workers: int = 1
    on_ray: bool = False
    other: str = ""


WAYS = {
    "one by one": Way("pattern"),
    **{f"batches of {size}": Way("pattern", size) for size in (4, 8, 16, 64)},
    "2 workers": Way("pattern", 1, 2),
    "2 workers, batches of 16": Way("pattern", 16, 2),
    **{f"Ray, {count} actor{'s' * (count > 1)}": Way("pattern", 1, count, on_ray=True) for count in (1, 2, 4)},
    "100 patterns": Way("patterns"),
    "100 patterns, batches of 16": Way("patterns", 16),
    "a schema": Way("schema"),
    "a schema, batches of 16": Way("schema", 16),
    "banned words, free text": Way("banned"),
    "banned words, batches of 16": Way("banned", 16),
    "free text": Way("free"),
    **{f"free text, batches of {size}": Way("free", size) for size in (8, 16)},
    "transformers, free text, batches of 16": Way("free", 16, other="transformers"),
    "outlines, batches of 16": Way("pattern", 16, other="outlines"),
}


def one_of_many(number: int) -> str:
    """A pattern like that of all, whose names and ages lack a letter and a digit: texts are as long.

    Args:
        number: From 0 to 103; each has another pattern.
    """
    letters = string.ascii_uppercase.replace(string.ascii_uppercase[number % 26], "")
    digits = "123456789".replace("6789"[number // 26], "")
    return PATTERN.replace("[A-Z]", f"[{letters}]", 1).replace("[1-9]", f"[{digits}]", 1)


def prompts(way: Way, count: int) -> Iterator[dict[str, Any]]:
    """The records of the input."""
    for number in range(count):
        record: dict[str, Any] = {"prompt": f"{EXAMPLES}Number {number}: "}
        if way.task == "patterns":
            record["sfgen"] = {"regex": one_of_many(number % 100)}
        yield record


def times_of_sfgen(way: Way, model: str, count: int) -> list[float]:
    """When each record was written."""
    from sfgen import GenerationConfig, Job, JsonSchema, Sampler
    from sfgen.jobs.output import Kept
    from sfgen.jobs.prompts import PromptList
    from sfgen.jobs.run import JobRun

    index: Any = {"pattern": PATTERN, "schema": JsonSchema(SCHEMA)}.get(way.task)
    banned = list(BANNED) if way.task == "banned" else None
    sampler = Sampler(1.0, seed=7)
    job = Job(model, GenerationConfig(index=index, banned=banned, sampler=sampler, max_tokens=MAX_TOKENS))
    crew: Any = None
    if way.on_ray:
        from sfgen.integrations.ray import connected

        cluster = connected("local", cpus=0.25)  # four of them leave one of two processors to read and write
        crew = cluster.__enter__()
    source = PromptList(prompts(way, count))
    run = JobRun(job, source, Kept(), way.batch_size, way.workers, strict=True, crew=crew)
    return [time.perf_counter() for _ in run.write()]


def times_of_transformers(way: Way, model: str, count: int) -> list[float]:
    """When each text of ``model.generate`` was there, in batches."""
    import torch

    from sfgen.models.tiny import DIRECTORY

    network, tokenizer = _loaded(str(DIRECTORY) if model == "tiny" else model)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.eos_token
    times: list[float] = []
    torch.manual_seed(7)
    for batch in _batches([record["prompt"] for record in prompts(way, count)], way.batch_size):
        inputs = tokenizer(batch, return_tensors="pt", padding=True)
        network.generate(
            input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, do_sample=True, top_k=0,
            max_new_tokens=MAX_TOKENS, pad_token_id=tokenizer.eos_token_id,
        )  # fmt: skip
        times += [time.perf_counter()] * len(batch)
    return times


def times_of_outlines(way: Way, model: str, count: int) -> list[float]:
    """When each text of outlines was there, in batches."""
    import outlines
    from outlines.types import Regex

    from sfgen.models.tiny import DIRECTORY

    network, tokenizer = _loaded(str(DIRECTORY) if model == "tiny" else model)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.eos_token
    generator = outlines.Generator(outlines.from_transformers(network, tokenizer), Regex(PATTERN))
    times: list[float] = []
    for batch in _batches([record["prompt"] for record in prompts(way, count)], way.batch_size):
        generator.batch(batch, max_new_tokens=MAX_TOKENS, do_sample=True, top_k=0)
        times += [time.perf_counter()] * len(batch)
    return times


def _loaded(directory: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network: Any = AutoModelForCausalLM.from_pretrained(directory)
    return network.eval(), AutoTokenizer.from_pretrained(directory)


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(texts), size):
        yield list(texts[start : start + size])


def measure(name: str, model: str, count: int) -> dict[str, float]:
    """Records a second of one way, and the memory that it took, in MB; in this process."""
    way = WAYS[name]
    kinds: dict[str, Callable[[Way, str, int], list[float]]] = {
        "": times_of_sfgen, "transformers": times_of_transformers, "outlines": times_of_outlines,
    }  # fmt: skip
    times = kinds[way.other](way, model, count)
    first = len(times) // 10
    own, others = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    workers = way.workers if way.workers > 1 and not way.on_ray else 0
    return {
        "rate": (len(times) - 1 - first) / (times[-1] - times[first]),
        "memory": (own + others * workers) / 1024,
    }


def in_a_process(name: str, model: str, count: int) -> dict[str, float] | None:
    """The same in a process of its own; ``None``: it failed, and has said why."""
    command = [sys.executable, "-m", "tests.bench.jobs", "--one", name, "--directory", model, "--records", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(model: str, directory: str, names: Sequence[str], count: int, rounds: int) -> None:
    """Measure some ways with one model, and print a table."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for name in names:
            found = in_a_process(name, directory, count)
            if found is not None and found["rate"] > best.get(name, found)["rate"] * 0.999_999:
                best[name] = found
    base = best.get("one by one", {}).get("rate")
    print(f"| {model}, {count} records | records/s | times one by one | memory, MB |\n| --- | ---: | ---: | ---: |")
    for name in names:
        if name not in best:
            print(f"| {name} | failed | | |")
            continue
        ratio = f"{best[name]['rate'] / base:.2f}" if base else ""
        print(f"| {name} | {best[name]['rate']:.1f} | {ratio} | {best[name]['memory']:.0f} |", flush=True)


def written(model: str, folder: Path) -> str:
    """Write a model, if it is not the embedded one.

    Args:
        model: Which one.
        folder: Where to.

    Returns:
        By what name it is loaded.
    """
    if model == "tiny":
        return model
    if model == "gemma":
        from tests.support.real.model import FILE

        return str(FILE)
    if model == "gguf":
        from .gguf import subjects

        return next(each.name for each in subjects(folder, sketch=False) if each.numbers == "f32")
    from .generation_models import random_gpt2

    subject, directory = random_gpt2(), str(folder / "gpt2")
    subject.model.model.save_pretrained(directory)
    subject.tokenizer.save_pretrained(directory)
    return directory


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.jobs", description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=400, metavar="N", help="records of each run (default: 400)")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="how often each is done (default: 2)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), metavar="NAME")
    parser.add_argument("--one", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--directory", default="tiny", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.directory, options.records)))
        return
    from .machine import machine

    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            directory = written(model, Path(folder))
            # A GGUF file is read by llama.cpp alone.
            names = [name for name in options.ways if model not in {"gguf", "gemma"} or not WAYS[name].other]
            # The large models are some twenty times slower.
            count = options.records if model == "tiny" else max(40, options.records // 8)
            report(model, directory, names, count, options.rounds)


if __name__ == "__main__":
    main()
