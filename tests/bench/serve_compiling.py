"""Measure streams of the server while it compiles the schemas of others: the time between two tokens.

Usage: ``python -m tests.bench.serve_compiling [--seconds N] [--rounds N] [--output FILE]``. Eight streams of ``tiny``
write free text, alone and while one schema after the other is compiled, each of them once; or while twenty short, but
nasty constraints come at once, or twenty with banned words or patterns. Servers take turns:

* ``form``: as ``sfgen serve`` does it, a process of its pool compiles, and hands a compiled form over.
* ``again``: the same, but what passed is compiled once more by the process that writes, and so is what is short, and
  bans, also where they are taken out of constraints.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import http.client
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .machine import machine
from .maskbench_cases import chain, dependencies_in_itself, many_tools
from .serve import THREADS, free_port, serving

STREAMS = 8
HOW = ("again", "form")
"""As it was, with processes of the pool that do not stand back; and as it is."""
COPIES = 3


def tools() -> Any:
    """1 200 tools: three times those of MaskBench's cases, under other names."""
    schema = many_tools().schema
    branches = schema["items"]["anyOf"]
    for copy in range(1, COPIES):
        for branch in json.loads(json.dumps(branches[:400])):
            branch["properties"]["name"]["const"] += f"_{copy}"
            branches.append(branch)
    return schema


SCHEMAS: dict[str, Callable[[], Any]] = {
    f"{400 * COPIES} tools": tools,
    "itself, with four dependencies": lambda: dependencies_in_itself().schema,
    "5 000 rules in a chain": lambda: chain().schema,
}

SHORT = "20 short ones at once"
BANS = "20 with banned words at once"
PATTERNS = "20 with banned patterns at once"
NASTY: tuple[Any, ...] = (
    {"regex": "(a|b)*a(a|b){14}%s"},
    {"regex": ".*é.{12}%s"},
    {"regex": "(.{0,50}x){0,40}%s"},
    {"json_schema": {"patternProperties": {"a.{8}$": True, "b.{8}%s$": True, "c.{7}$": True}, "minProperties": 2}},
    {"ebnf": "start: /(a|b)*a(a|b){12}%s/"},
    {"json_schema": {"type": "array", "minItems": 2, "items": {"format": "email", "pattern": "a.{4}%s$"}}},
)
"""Constraints of less than 256 characters, with a place for what makes each of them another one."""


def short_bodies(turn: str) -> list[dict[str, Any]]:
    """Twenty short, nasty constraints."""
    return [json.loads(json.dumps(NASTY[at % len(NASTY)]).replace("%s", f"{turn}{at}")) for at in range(20)]


def banning_bodies(turn: str) -> list[dict[str, Any]]:
    """Twenty constraints from which banned words are taken out, the words of some of them many."""
    words = [f"{number:x}ly{turn}" for number in range(16, 1016)]
    kinds: list[Any] = [
        ({"regex": r"\w{2,300}"}, words),
        ({"regex": "(.*a.*b.*c.*d.*e.*f|.{2,200})"}, ["talk", "the" + turn]),
        ({"json_schema": {"type": "array", "items": {"properties": {"a": {"maxLength": 20}}}}}, words[:40]),
        ({"json_schema": dependencies_in_itself().schema}, ["talk" + turn]),
    ]
    bodies = [{**kinds[at % 4][0], "banned_strings": [*kinds[at % 4][1], f"none of {at}"]} for at in range(20)]
    return [body | {"max_tokens": 1, "prompt": f"{at}"} for at, body in enumerate(bodies)]


def pattern_bodies(turn: str) -> list[dict[str, Any]]:
    """Twenty free texts without patterns of a hundred thousand states."""
    patterns = ("a[ab]{16}", "c[cd]{16}")
    return [{"banned_regex": [f"{patterns[at % 2]}{turn}{at}"]} for at in range(20)]


AT_ONCE: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    SHORT: short_bodies, BANS: banning_bodies, PATTERNS: pattern_bodies
}  # fmt: skip


@dataclass
class Told:
    """What was measured of one server: gaps between tokens in seconds, and how long schemas took."""

    gaps: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


class Streams:
    """Clients that read one stream after the other, and note the time between two tokens."""

    def __init__(self, url: str, count: int = STREAMS) -> None:
        self.gaps: list[float] = []
        self._place = urlsplit(url)
        self._is_over = threading.Event()
        self.faults: list[str] = []
        self._threads = [threading.Thread(target=self._read, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _read(self, number: int) -> None:
        connection = http.client.HTTPConnection(self._place.hostname or "", self._place.port, timeout=120)
        turn = 0
        try:
            while not self._is_over.is_set():
                turn += 1
                body = {"prompt": f"Once upon a time, {number} friends", "max_tokens": 400, "stream": True}
                asked = json.dumps(body | {"seed": 1000 * number + turn})
                connection.request("POST", "/v1/completions", asked, {"Content-Type": "application/json"})
                answer, last = connection.getresponse(), 0.0
                for line in answer:
                    if line.startswith(b"data: {"):
                        now = time.monotonic()
                        if last:
                            self.gaps.append(now - last)
                        last = now
        except Exception as error:
            self.faults.append(repr(error))

    def stop(self) -> None:
        """End all."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(120)
        if self.faults:
            raise RuntimeError(self.faults[0])


def compile_once(url: str, schema: Any, name: str) -> float:
    """Ask for one token by a schema, which is refused once it is compiled; return the seconds."""
    return ask(url, {"json_schema": {"title": name, **schema}})


def ask(url: str, body: dict[str, Any]) -> float:
    """Ask for one token by a constraint, which is refused as a rule; return the seconds."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=300)
    asked = json.dumps({"prompt": "x", "max_tokens": 1} | body)
    begun = time.monotonic()
    connection.request("POST", "/v1/completions", asked, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    if answer.status != 200 and not (answer.status == 400 and any(word in told for word in (b"limit", b"banned"))):
        raise RuntimeError(told[:300].decode())
    return time.monotonic() - begun


def ask_at_once(url: str, bodies: list[dict[str, Any]]) -> list[float]:
    """Ask for one token by each of some constraints; return the seconds that each took."""
    with ThreadPoolExecutor(len(bodies)) as clients:
        return list(clients.map(lambda body: ask(url, body), bodies))


def measured(how: str, seconds: float, schemas: dict[str, Any]) -> dict[str, Told]:
    """Measure one server: alone, and beside each kind of schemas."""
    port, found = free_port(), dict[str, Told]()
    command = ["tests.bench.serve_compiling", "--as-server", how, "--port", str(port)]
    with serving(command, port) as url:
        for name, schema in schemas.items():
            compile_once(url, schema, f"{name}, before")  # the pool has begun
            break
        streams = Streams(url)
        try:
            time.sleep(1)
            for name in ("alone", *schemas, *AT_ONCE):
                told = found[name] = Told()
                streams.gaps = []
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    if name == "alone":
                        time.sleep(0.1)
                    elif name in AT_ONCE:
                        told.took += ask_at_once(url, AT_ONCE[name](f"{len(told.took)}"))
                        time.sleep(0.2)
                    else:
                        told.took.append(compile_once(url, schemas[name], f"{how} {end}"))
                        end -= 1e-6
                told.gaps = streams.gaps
        finally:
            streams.stop()
    return found


def _compile_here(kind: Any) -> None:
    """Let a server compile in its own threads what is short or has passed, and bans, also taken out of constraints."""
    from sfgen.ban.difference import without_banned
    from sfgen.serve import compile_worker, constraints

    ask, take = kind._in_worker, compile_worker.compile_index

    async def asked(self: Any, is_large: bool, making: Any, work: Any, own: Any) -> Any:
        if is_large:
            await ask(self, is_large, making, work, own)
        making.needs_worker = False
        return own

    async def without(self: Any, own: Any, ban: Any, start: Any, index: Any) -> Any:
        return await asyncio.to_thread(without_banned, index, ban.compiled(), start.prompt)

    async def banned(self: Any, ban: Any) -> Any:
        return await asyncio.to_thread(ban.compiled)

    kind._in_worker, kind.without, kind.banned = asked, without, banned
    setattr(compile_worker, "index_of_form", take)  # noqa: B010
    constraints.NICE = 0


def as_server(how: str, port: int) -> None:
    """Serve tiny as ``sfgen serve`` does; ``again`` compiles once more what passed."""
    import uvicorn

    from sfgen import load_model
    from sfgen.serve import Limits, app, constraints

    if how == "again":
        _compile_here(constraints.Constraints)
    loaded = load_model("tiny", threads=int(THREADS))
    limits = Limits(batch_size=STREAMS + 1, compile_seconds=120)
    gc.freeze()  # as commands do
    uvicorn.run(app({"tiny": loaded}, limits=limits), port=port, log_level="error")


def quantile(values: list[float], share: float) -> float:
    """The value below which a share of some values lies, in milliseconds."""
    ordered = sorted(values)
    return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(rounds: dict[str, list[dict[str, Told]]], seconds: float) -> str:
    """The figures as a page."""
    lines = [
        "# Streams while schemas are compiled",
        "",
        f"Made by `python -m tests.bench.serve_compiling`; {machine()}, where clients and the pool run as well."
        f" {STREAMS} streams of free text by tiny, {seconds:g} s for each line; milliseconds between two tokens of a"
        " stream. *again*: what passed in the pool was compiled once more by the process that writes, as it was"
        " before. *form*: that process takes the compiled form. Servers took turns.",
        "",
        "| server | beside | gaps | p50 | p99 | p99 over that alone | longest | a schema takes, median |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for how, told in rounds.items():
        alone = quantile([gap for each in told for gap in each["alone"].gaps], 0.99)
        for name in told[0]:
            gaps = [gap for each in told for gap in each[name].gaps]
            took = [seconds for each in told for seconds in each[name].took]
            p99 = quantile(gaps, 0.99)
            lines.append(
                f"| {how} | {name} | {len(gaps):,} | {quantile(gaps, 0.5):.1f} | {p99:.1f} | {p99 / alone:.1f}"
                f" | {1e3 * max(gaps):.0f} | {f'{statistics.median(took):.1f} s' if took else ''} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.serve_compiling", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=10, metavar="N", help="how long each line is measured")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="how often each server is started")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--as-server", choices=HOW, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_server:
        as_server(options.as_server, options.port)
        return
    schemas = {name: make() for name, make in SCHEMAS.items()}
    rounds: dict[str, list[dict[str, Told]]] = {how: [] for how in HOW}
    for _ in range(options.rounds):
        for how in HOW:
            rounds[how].append(measured(how, options.seconds, schemas))
            print(report({how: rounds[how]}, options.seconds).rpartition("--:|\n")[2], file=sys.stderr, flush=True)
    page = report(rounds, options.seconds)
    print(page)
    if options.output:
        options.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
