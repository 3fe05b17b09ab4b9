"""Cold start: what the first pattern or schema costs in a new process, and what the second one costs after it.

``python -m tests.bench.cold PART ENGINE FILE`` measures one process and prints JSON: the part is ``patterns`` or
``schemas``, the file holds a pickled vocabulary.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfgen import Vocabulary

FIRST_AND_SECOND = {
    "patterns": ("[0-9]{4}-[0-9]{2}-[0-9]{2}", "(yes|no), [a-z]{1,12}"),
    "schemas": (
        '{"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}',
        '{"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}',
    ),
}
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ColdStart:
    """Seconds in one new process.

    Args:
        title: The engine and, for sfgen, whether its compiled kernels were kept on disk.
        load: Importing the library and building its object for the vocabulary.
        first: From the first pattern or schema to its first mask.
        second: The same for another one.
    """

    title: str
    load: float
    first: float
    second: float


def cold_starts(
    vocabulary: Vocabulary, tokenizer: str, engines: Sequence[str], *, schemas: bool = False
) -> list[ColdStart]:
    """One process for each engine, and two for sfgen: without and with kernels kept from an earlier process."""
    part = "schemas" if schemas else "patterns"
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vocabulary")
        path.write_bytes(pickle.dumps((vocabulary.tokens, vocabulary.end_token_ids, tokenizer)))
        kernels = {"NUMBA_CACHE_DIR": str(Path(folder, "kernels"))}
        for engine in engines:
            if engine == "sfgen":
                found.append(_new_process("sfgen, kernels to be compiled", part, engine, path, kernels))
                found.append(_new_process("sfgen, kernels kept", part, engine, path, kernels))
            elif engine != "naive":
                found.append(_new_process(engine, part, engine, path, {}))
    return found


def _new_process(title: str, part: str, engine: str, path: Path, environment: dict[str, str]) -> ColdStart:
    command = [sys.executable, "-m", "tests.bench.cold", part, engine, str(path)]
    result = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return ColdStart(title, **json.loads(result.stdout))


def main() -> None:
    """Measure this process."""
    import numpy  # noqa: F401 - every engine uses it; it is nobody's own cost

    part, name, path = sys.argv[1:]
    tokens, end_token_ids, tokenizer = pickle.loads(Path(path).read_bytes())
    times = [time.perf_counter()]
    from sfgen import Vocabulary

    from .engines import ENGINES
    from .schema_engines import ENGINES as BY_SCHEMA

    vocabulary = Vocabulary(tokens, end_token_ids)
    if name != "sfgen":
        times = [time.perf_counter()]
    engine = (BY_SCHEMA if part == "schemas" else ENGINES)[name](vocabulary, tokenizer)
    times.append(time.perf_counter())
    for pattern in FIRST_AND_SECOND[part]:
        engine.compile(pattern).start().mask()
        times.append(time.perf_counter())
    load, first, second = (end - start for start, end in itertools.pairwise(times))
    print(json.dumps({"load": load, "first": first, "second": second}))


if __name__ == "__main__":
    main()
