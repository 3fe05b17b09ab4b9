"""Measure the server: requests and tokens a second, beside llama.cpp's server, and the first token of later turns.

Usage: ``python -m tests.bench.serve [--seconds N] [--output tests/docs/serve.md]``. Real models are found in ``.real``
(``make real-model``); without Gemma's file llama.cpp's server, which is that of llama-cpp-python, is left out, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from .machine import machine

GEMMA = Path(".real/gemma-3-270m-q4_k_m.gguf")
STREAMS = (1, 8, 32)
TOKENS = 32
ROWS = 32
THREADS = "1"  # of a model: more wait for each other, and on a machine with other work that tells nothing
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 130}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
KINDS: dict[str, dict[str, Any]] = {
    "free": {"max_tokens": TOKENS},
    "schema": {"json_schema": SCHEMA, "max_tokens": 256},
    "ban": {"max_tokens": TOKENS, "banned_strings": ["the", "and", "of course", "very"]},
}
TURNS = 10
ASKED = " Then tell me what happened on the next day, in a few words, and who was there with them that time."


@dataclass(frozen=True)
class Rate:
    """What came of one kind of requests in a while."""

    server: str
    kind: str
    streams: int
    requests: float  # a second
    tokens: float  # a second
    first: float  # seconds to the first text, the median
    faults: int


@contextlib.contextmanager
def serving(command: Sequence[str], port: int) -> Iterator[str]:
    """Run a server until it is not needed any more."""
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 120
        while True:
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"{url}/v1/models", timeout=5).status_code == 200:
                    break
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} does not start")
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def sfgen_serving(model: str, port: int, rows: int = ROWS) -> Any:
    """``sfgen serve`` with a model."""
    return serving(
        ["sfgen_cli", "serve", "-m", model, "--port", str(port), "--batch-size", str(rows), "--threads", THREADS, "-q"],
        port,
    )


def llama_serving(port: int) -> Any:
    """llama.cpp's server with Gemma."""
    command = ["llama_cpp.server", "--model", str(GEMMA), "--port", str(port), "--n_ctx", "4096"]
    # Else a further request ends the one before it, in mid-text.
    return serving([*command, "--n_threads", THREADS, "--interrupt_requests", "false"], port)


def llama_kinds() -> dict[str, dict[str, Any]]:
    """The requests that llama.cpp's server knows: it has no bans, and a schema is the grammar that is made of it."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    return {"free": KINDS["free"], "schema": {"grammar": json_schema_to_gbnf(json.dumps(SCHEMA)), "max_tokens": 256}}


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def stream(url: str, body: dict[str, Any]) -> tuple[float, int, str]:
    """Ask for one text; return the seconds to its first part, its tokens, and it."""
    begun, first, text, tokens = time.monotonic(), 0.0, "", 0
    asked: Any = {"stream": True, "stream_options": {"include_usage": True}} | body
    with requests.post(f"{url}/v1/completions", json=asked, stream=True, timeout=300) as answer:
        if answer.status_code != 200:
            raise RuntimeError(answer.text)
        for line in answer.iter_lines():
            if line.startswith(b"data: {"):
                told = json.loads(line[6:])
                for choice in told["choices"]:
                    if choice["text"]:
                        first = first or time.monotonic() - begun
                        tokens += 1
                        text += choice["text"]
                tokens = (told.get("usage") or {}).get("completion_tokens", tokens)
    return first, tokens, text


def rate(server: str, url: str, kind: str, asked: dict[str, Any], streams: int, seconds: float) -> Rate:
    """Keep so many streams running for a while."""
    told: list[tuple[float, int]] = []
    faults: list[str] = []
    end = 0.0

    def ask(number: int) -> None:
        turn = 0
        while time.monotonic() < end:
            turn += 1
            body = {"prompt": f"Once upon a time, {number} friends", "seed": 100 * number + turn, **asked}
            try:
                first, tokens, _ = stream(url, body)
                told.append((first, tokens))
            except Exception as error:
                faults.append(str(error))
                return

    stream(url, {"prompt": "Once", **asked})  # what is compiled is compiled
    begun = time.monotonic()
    end = begun + seconds
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - begun
    found = Rate(
        server,
        kind,
        streams,
        len(told) / took,
        sum(tokens for _, tokens in told) / took,
        statistics.median([first for first, _ in told] or [0]),
        len(faults),
    )
    print(found, faults[:1], file=sys.stderr, flush=True)
    return found


def rates_of(server: str, url: str, kinds: Mapping[str, dict[str, Any]], seconds: float) -> list[Rate]:
    """Measure each kind of requests with few and with many streams."""
    return [rate(server, url, kind, asked, n, seconds) for kind, asked in kinds.items() for n in STREAMS]


def turns(url: str) -> list[float]:
    """The seconds to the first token of each turn of a conversation that grows."""
    text, found = "A story about two people who travel." + ASKED, []
    for _ in range(TURNS):
        first, _, written = stream(url, {"prompt": text, "max_tokens": 48, "temperature": 0, "regex": "[a-z ,.]{40}"})
        found.append(first)
        text += written + ASKED
    return found


def first_tokens(model: str) -> dict[str, list[float]]:
    """The turns with rows that keep what they have read, and with ones that do not."""
    found = {}
    for name, value in (("kept", "1"), ("read again", "0")):
        os.environ["SFGEN_BENCH_KEEP"] = value
        port = free_port()
        with serving(["tests.bench.serve", "--as-server", model, "--port", str(port)], port) as url:
            turns(url)
            rounds = [turns(url) for _ in range(3)]
            found[name] = [min(each) for each in zip(*rounds, strict=True)]
        print(model, name, [f"{1e3 * each:.0f}" for each in found[name]], file=sys.stderr, flush=True)
    return found


def as_server(model: str, port: int) -> None:
    """Serve, as ``sfgen serve`` does; without keeping where the environment says so."""
    import uvicorn

    from sfgen import load_model
    from sfgen.serve import Limits, app, engine

    if os.environ.get("SFGEN_BENCH_KEEP") == "0":
        drive: Any = vars(engine)["drive_batch"]

        def forgetting(texts: Any, batch: Any, rows: int, keep: bool) -> Any:
            return drive(texts, batch, rows)

        setattr(engine, "drive_batch", forgetting)  # noqa: B010
    loaded = load_model(model, threads=int(THREADS))
    uvicorn.run(app({model: loaded}, limits=Limits(batch_size=4)), port=port, log_level="error")


def report(rates: Sequence[Rate], firsts: dict[str, dict[str, list[float]]], seconds: float) -> str:
    """The figures as a page."""
    lines = [
        "# The server",
        "",
        f"Made by `python -m tests.bench.serve`; {machine()}. The clients run on the same machine. Each cell is"
        f" {seconds:g} s of so many streams, one request after the other in each, on {ROWS} rows and"
        f" {THREADS} thread of the model; free texts and those with a ban have at most {TOKENS} tokens. llama.cpp's"
        " server is that of llama-cpp-python, with the same file; it writes one text at a time, knows no bans, and"
        " reads a schema as the grammar that llama.cpp makes of it, without its maximum. tokens/s counts what is"
        " told under `usage`, or else the chunks with text.",
        "",
        "| server | request | streams | requests/s | tokens/s | first text, median | faults |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {each.server} | {each.kind} | {each.streams} | {each.requests:.1f} | {each.tokens:.0f}"
        f" | {1e3 * each.first:.0f} ms | {each.faults} |"
        for each in rates
    ]
    lines += [
        "",
        "## The next turn of a conversation",
        "",
        f"Milliseconds to the first token, in a conversation where each turn adds {len(ASKED)} characters and 40"
        " of an answer; the least of three. *Kept*: rows keep what they have read. *Read again*: the same without."
        " The conversation was held once before: in *kept* turn 1 is in a row already.",
        "",
        "| model | rows | " + " | ".join(f"turn {number}" for number in range(1, TURNS + 1)) + " |",
        "|---|---|" + "--:|" * TURNS,
    ]
    lines += [
        f"| {model} | {name} | " + " | ".join(f"{1e3 * each:.0f}" for each in found) + " |"
        for model, both in firsts.items()
        for name, found in both.items()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.serve", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5, metavar="N", help="how long each cell is measured")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--as-server", metavar="MODEL", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_server:
        as_server(options.as_server, options.port)
        return
    models = {"tiny": "tiny"} | ({"Gemma 3 270M": str(GEMMA)} if GEMMA.exists() else {})
    rates: list[Rate] = []
    for title, model in models.items():
        port = free_port()
        with sfgen_serving(model, port) as url:
            rates += rates_of(f"sfgen, {title}", url, KINDS, options.seconds)
    if GEMMA.exists():
        port = free_port()
        with llama_serving(port) as url:
            rates += rates_of("llama.cpp, Gemma 3 270M", url, llama_kinds(), options.seconds)
    firsts = {title: first_tokens(model) for title, model in models.items()}
    page = report(rates, firsts, options.seconds)
    print(page)
    if options.output:
        options.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
