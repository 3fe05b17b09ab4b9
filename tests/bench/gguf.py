"""GGUF files through llama.cpp beside the same model in transformers: speed, time to the first text, memory.

Usage: ``python -m tests.bench.gguf [--rounds N] [--tokens N] [--threads N] [--sketch]``. The model is a Llama of 124
million random weights with GPT-2's tokenizer, written once in the format of transformers and once for each type of
numbers as a GGUF file. Each measurement is a process of its own, which imports, loads, writes free text and text by a
pattern; the rounds go around all of them, so that whatever else the machine does meets all alike; and one thread does
not wait for others that have lost their processor. Writes ``gguf.md`` into ``tests/docs``. The tokenizer is found
through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfgen.vocabulary.pretrained import load_tokenizer

from .machine import machine
from .vocabularies import find

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "tests" / "docs"
PROMPT = "Here it is, as was asked for:\n"
PATTERN = r"([A-Z][a-z]* )*"
SHAPE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 2048}
"""124 million parameters with GPT-2's vocabulary, as GPT-2 has."""
SKETCH = {**SHAPE, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
_WARM = 8  # tokens that are written before time is taken


@dataclass(frozen=True)
class Subject:
    """One way to run the model.

    Attributes:
        engine: What runs it.
        numbers: What its weights are.
        name: The directory, or the file.
        dtype: What it is computed in; ``auto``: in what the file has.
        size: Of its files, in bytes.
    """

    engine: str
    numbers: str
    name: str
    dtype: str
    size: int


def subjects(folder: Path, *, sketch: bool) -> list[Subject]:
    """Write the model in all forms."""
    import torch
    from tests.support.models.gguf import NUMBERS, write_gguf
    from transformers import LlamaConfig, LlamaForCausalLM

    source, directory = next(iter(find(("gpt2",)).values())), folder / "llama"
    tokenizer = load_tokenizer(source)
    shape: dict[str, Any] = SKETCH if sketch else SHAPE
    torch.manual_seed(0)
    config = LlamaConfig(
        **shape, vocab_size=len(tokenizer), max_position_embeddings=2048, tie_word_embeddings=True,
        initializer_range=0.1, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    network: Any = LlamaForCausalLM(config)
    network.save_pretrained(directory)
    for file in source.glob("*token*"):
        (directory / file.name).write_bytes(file.read_bytes())
    weights = (directory / "model.safetensors").stat().st_size
    found = [
        Subject("transformers", "float32", str(directory), "float32", weights),
        Subject("transformers", "float16", str(directory), "float16", weights),
    ]
    for numbers in NUMBERS:
        file = write_gguf(directory, folder / f"llama.{numbers}.gguf", numbers=numbers)
        found.append(Subject("llama.cpp", numbers, str(file), "auto", file.stat().st_size))
    order = {"float32": 0, "f32": 0, "float16": 1, "f16": 1, "q8_0": 2, "q4_0": 3}
    return sorted(found, key=lambda each: (order[each.numbers], each.engine != "transformers"))


# ---- in a process of its own ---------------------------------------------------------------------------------------


def measured(name: str, dtype: str, tokens: int, threads: int, started: float) -> dict[str, float]:
    """Import, load and write; seconds, seconds of the processor for a token, bytes.

    Args:
        name: The model.
        dtype: What it is computed in.
        tokens: How many are written.
        threads: How many the model uses.
        started: When the process was started: ``time.time()``.
    """
    from sfgen import Dfa, Index, Sampler, generate, load_model

    model: Any = load_model(name, device="cpu", dtype=dtype, threads=threads)
    greedy = Sampler(0.0)
    generate(model, PROMPT, sampler=greedy, max_tokens=1)
    found = {"first": time.time() - started}
    index = Index(Dfa.from_regex(PATTERN), model.vocabulary)
    for kind, guide in (("free", None), ("guided", index)):
        generate(model, PROMPT, index=guide, sampler=greedy, max_tokens=_WARM)
        begin, begin_of_processor = time.perf_counter(), time.process_time()
        result = generate(model, PROMPT, index=guide, sampler=greedy, max_tokens=tokens)
        count = len(result.token_ids)
        found[kind] = count / (time.perf_counter() - begin)
        found[f"{kind} processor"] = (time.process_time() - begin_of_processor) / count
    found["memory"] = _most_resident()
    return found


def _most_resident() -> int:
    """The most memory that this process has had, in bytes; ``getrusage`` would begin with that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def in_new_process(subject: Subject, tokens: int, threads: int) -> dict[str, float]:
    """What ``measured`` finds there."""
    line = [sys.executable, "-m", "tests.bench.gguf", "--measure", subject.name, subject.dtype]
    line += [str(tokens), str(threads), str(time.time())]
    done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


# ---- the report ----------------------------------------------------------------------------------------------------

COLUMNS: list[tuple[str, Callable[[dict[str, float]], str]]] = [
    ("tokens a second, free", lambda row: f"{row['free']:.1f}"),
    ("by a pattern", lambda row: f"{row['guided']:.1f}"),
    ("processor time a token, free", lambda row: f"{row['free processor'] * 1e3:.1f} ms"),
    ("by a pattern", lambda row: f"{row['guided processor'] * 1e3:.1f} ms"),
    ("first text", lambda row: f"{row['first']:.1f} s"),
    ("memory", lambda row: f"{row['memory'] / 1e6:.0f} MB"),
]


def report(rows: list[tuple[Subject, dict[str, float]]], rounds: int, tokens: int, threads: int) -> str:
    """The table, and how it came about."""
    versions = ", ".join(
        f"{package} {importlib.metadata.version(package)}" for package in ("llama-cpp-python", "torch", "transformers")
    )
    head = ["run by", "numbers", "files", *(title for title, _ in COLUMNS)]
    lines = [
        "# GGUF files beside transformers",
        "",
        f"Written by `python -m tests.bench.gguf` on {machine()}, with {versions}. A Llama of 124 million random "
        f"weights with GPT-2's tokenizer; {tokens} tokens after a prompt of {len(PROMPT)} characters, greedy, the "
        f"pattern `{PATTERN}`; threads: {threads}. Each figure is the median of {rounds} processes, taken in turns. "
        "*First text*: from the start of the process to the first token of a text, imports and loading included. "
        "*Memory*: the most that was resident, Python and its packages included.",
        "",
        f"| {' | '.join(head)} |",
        f"| --- | --- | ---: | {' | '.join(['---:'] * len(COLUMNS))} |",
    ]
    for subject, row in rows:
        cells = [subject.engine, subject.numbers, f"{subject.size / 1e6:.0f} MB", *(show(row) for _, show in COLUMNS)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gguf", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="processes for each figure")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of a text")
    parser.add_argument("--threads", type=int, default=1, help="threads of a model")
    parser.add_argument("--sketch", action="store_true", help="a small model, to try this out; writes no report")
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, dtype, tokens, threads, started = arguments.measure
        print(json.dumps(measured(name, dtype, int(tokens), int(threads), float(started))))
        return
    with tempfile.TemporaryDirectory() as folder:
        tried = subjects(Path(folder), sketch=arguments.sketch)
        found: dict[Subject, list[dict[str, float]]] = {subject: [] for subject in tried}
        for number in range(arguments.rounds):
            for subject in tried:
                found[subject].append(in_new_process(subject, arguments.tokens, arguments.threads))
                print(f"round {number + 1}: {subject.engine} {subject.numbers}", file=sys.stderr, flush=True)
    rows = [
        (subject, {name: statistics.median(run[name] for run in runs) for name in runs[0]})
        for subject, runs in found.items()
    ]
    text = report(rows, arguments.rounds, arguments.tokens, arguments.threads)
    print(text)
    if not arguments.sketch:
        (DOCS / "gguf.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
