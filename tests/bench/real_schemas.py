"""Measure JSON schemas that other people wrote side by side with llguidance, in one run.

Usage: ``python -m tests.bench.real_schemas``, for a part of it ``--schemas 5``. A hundred schemas of installed packages
(``tests/support/schemas/published.py``): whole files, and definitions with what they refer to. Both engines walk the
same tokens: those of texts that both accept, and those of random walks on which both agree. They take turns in each
round, and of each step the fastest round counts. What llguidance refuses it is asked to read leniently, which is told
apart. Writes ``real_schemas.md`` into ``tests/docs``. Tokenizers are found through SFGEN_TOKENIZERS, as for the other
benchmarks.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .engines import CannotRead, Engine
from .isolation import Send, run
from .machine import machine
from .real_schemas_report import Refusal, Run, report
from .schema_cases import WARM_UP
from .schema_engines import LlGuidanceSchemas, SfgenSchemas
from .vocabularies import EMBEDDED, NAMES, Cutter, find
from .walk_measure import MEMORY, Measurement, Walks, measure, walk_together, warm_up

DOCS = Path(__file__).parent.parent / "docs"
PARTS = 6
"""Definitions of each file that are schemas of their own, as in the tests."""
_STEPS = 150
"""The most tokens of a random walk."""
_LONGEST = 400
"""The most tokens of a text that are walked."""


def main() -> None:
    """Measure, print the report and write it."""
    options = _options()
    found = report(_measure(options))
    print(found)
    if options.output or options.schemas >= 100:
        folder = options.output or DOCS
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "real_schemas.md").write_text(found, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.real_schemas", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--vocabulary", default="llama3", choices=[*NAMES, EMBEDDED], help="default: llama3")
    add("--schemas", type=int, default=100, metavar="N", help="how many (default: 100)")
    add("--only", metavar="TEXT", help="only schemas with this in their name")
    add("--texts", type=int, default=8, metavar="N", help="written texts of each schema (default: 8)")
    add("--walks", type=int, default=8, metavar="N", help="random walks through each (default: 8)")
    add("--rounds", type=int, default=3, metavar="N", help="interleaved rounds (default: 3)")
    add("--limit", type=float, default=20, metavar="SECONDS", help="how long a phase may take (default: 20)")
    add("--minutes", type=float, default=9, metavar="N", help="after which no further schema is begun (default: 9)")
    add("--output", type=Path, metavar="FOLDER", help="write real_schemas.md there")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> Run:
    begun, spent = time.monotonic(), _processor_time()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would not outlive a fork
    schemas, count = _chosen(options)
    refusals = _refusals(options)
    ((name, folder),) = list(find([options.vocabulary]).items())[:1]
    cutter = Cutter(name, folder)
    ours, peer = SfgenSchemas(cutter.vocabulary, cutter.json), LlGuidanceSchemas(cutter.vocabulary, cutter.json)
    for engine in (ours, peer):
        warm_up(engine, cutter.vocabulary, WARM_UP)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    measurements: list[Measurement] = []
    left_out, lenient = [], dict[str, str]()
    for case, schema in schemas.items():
        if time.monotonic() - begun > 60 * options.minutes:
            left_out.append(case)
        else:
            measurements += _measure_schema(cutter, ours, peer, case, schema, options, lenient)
    return Run(
        measurements, lenient, refusals, count, left_out, name, len(cutter.vocabulary), options.texts, options.walks,
        options.rounds, time.monotonic() - begun, _processor_time() - spent, machine(),
        {engine.name: version(engine.package) for engine in (ours, peer)},
    )  # fmt: skip


def _chosen(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The schemas that are measured, whole files first, and how many there are in all."""
    from tests.support.schemas.published import real_schemas

    every = dict(real_schemas(PARTS))
    names = [name for name in every if "#" not in name]
    parts = [name for name in every if "#" in name]
    names += random.Random("parts").sample(parts, max(0, min(len(parts), options.schemas - len(names))))
    if options.only:
        names = [name for name in every if options.only in name]
    return {name: every[name] for name in names[: options.schemas]}, len(every)


def _refusals(options: argparse.Namespace) -> list[Refusal]:
    """All real schemas that sfgen does not read, measured or not, and why; found in a fork."""
    if options.only or options.schemas < 100:
        return []
    outcome = run(_find_refusals, seconds=300, memory=MEMORY)
    if outcome.failed or outcome.stopped:
        raise RuntimeError(f"the real schemas could not be read: {outcome.failed or outcome.stopped}")
    found: list[Refusal] = outcome.results["refusals"]
    return found


def _find_refusals(send: Send) -> None:
    from tests.support.schemas.published import real_schemas

    from sfgen import JsonSchema
    from sfgen.errors import SchemaError

    warnings.simplefilter("ignore")
    found = []
    for name, schema in real_schemas(PARTS):
        try:
            assert JsonSchema(schema).network  # made when it is first asked for
        except SchemaError as error:
            found.append(Refusal(name, error.pointer or "", error.reason))
    send("refusals", found)


def _measure_schema(
    cutter: Cutter,
    ours: Engine,
    peer: LlGuidanceSchemas,
    case: str,
    schema: Any,
    options: argparse.Namespace,
    lenient: dict[str, str],
) -> list[Measurement]:
    """One schema by both engines; in ``lenient`` goes why the other one read it leniently only."""
    vocabulary, limit = cutter.vocabulary, options.limit
    found = {engine.name: Measurement(engine.name, cutter.name, case) for engine in (ours, peer)}
    written: list[str] = run(partial(_texts, case, schema, options.texts), seconds=limit, memory=MEMORY).results.get(
        "texts", []
    )
    end = vocabulary.end_token_ids[0]
    texts = [[*cutter.cut(text), end][:_LONGEST] for text in written]
    own, failure = _accepted(ours, schema, texts, limit)
    found[ours.name].failure = failure
    peer.is_lenient = False
    others, failure = _accepted(peer, schema, texts, limit)
    if failure:
        peer.is_lenient, refused = True, failure
        others, failure = _accepted(peer, schema, texts, limit)
        if not failure:
            lenient[case] = refused
    found[peer.name].failure = failure
    able: list[Engine] = [engine for engine in (ours, peer) if not found[engine.name].failure]
    if able:
        text = json.dumps(schema)
        together, _ = walk_together(able, vocabulary, cutter.name, case, text, options.walks, steps=_STEPS, limit=limit)
        kept = [tokens for index, tokens in enumerate(texts) if index in own & others or len(able) == 1]
        for _round in range(options.rounds):
            for engine in able:
                measure(engine, vocabulary, text, WARM_UP, Walks(kept, together), found[engine.name], limit)
    for name, one in found.items():
        compiled = f"{1e3 * min(one.compiles):.1f} ms to compile, {len(one.masks)} masks" if one.compiles else ""
        print(f"{case} {name}: {compiled}{one.failure}"[:200], file=sys.stderr, flush=True)
    return list(found.values())


def _texts(case: str, schema: Any, count: int, send: Send) -> None:
    """Texts of a schema that jsonschema finds valid, drawn from sfgen's rules."""
    from tests.oracles.schema_oracle import Oracle
    from tests.support.grammars.rule_texts import RuleTexts

    from sfgen import JsonSchema
    from sfgen.errors import SchemaError

    warnings.simplefilter("ignore")
    try:
        grammar = JsonSchema(schema).compiled.grammar
    except SchemaError:
        return
    oracle, drawn = Oracle(schema), RuleTexts(grammar, random.Random(case))
    texts = [drawn.draw().decode() for _ in range(count)]
    send("texts", [text for text in dict.fromkeys(texts) if not oracle.fault(text)])


def _accepted(engine: Engine, schema: Any, texts: Sequence[Sequence[int]], limit: float) -> tuple[set[int], str]:
    """Which texts an engine accepts, by their positions, and why it does not read the schema."""
    outcome = run(partial(_accept, engine, schema, texts), seconds=limit, memory=MEMORY)
    failure = outcome.results.get("failure", "") or outcome.failed
    if outcome.stopped:
        failure = f"> {limit:.0f} s" if outcome.stopped.endswith(" s") else outcome.stopped
    return set(outcome.results.get("accepted", ())), failure


def _accept(engine: Engine, schema: Any, texts: Sequence[Sequence[int]], send: Send) -> None:
    try:
        compiled = engine.compile(json.dumps(schema))
    except CannotRead as error:
        send("failure", f"refused: {error}"[:200])
        return
    accepted = []
    for index, tokens in enumerate(texts):
        walk = compiled.start()
        try:
            if all(walk.advance(token) is not False for token in tokens[:-1]) and walk.allows(tokens[-1]):
                accepted.append(index)
        except Exception:  # what an engine raises where it does not take a token
            continue
    send("accepted", accepted)


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
