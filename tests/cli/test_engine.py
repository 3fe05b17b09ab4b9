"""``gen --engine``: the engines for comparison write the same text, and say what they cannot do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.support.running.tried import some_of

Sfgen = Callable[..., Any]
ENGINES = ["fast", "fsm", "naive"]
PLAIN = "--no-fast-forward"
FLOAT = r"[0-9]+\.[0-9]"


SOURCES = [["-r", r"[0-9]{2,3}\.[0-9]"], ["-r", "[à-ÿ]{2}(x|é)+"], ["--choices", r"hot,cold,hotel,a(b*,é\,"]]


@pytest.mark.parametrize(("source", "plain"), some_of(product(SOURCES, [[], [PLAIN]]), 3), ids=str)
def test_the_same_seed_writes_the_same_text(sfgen: Sfgen, source: list[str], plain: list[str]) -> None:
    records = []
    for engine in ENGINES:
        done = sfgen(
            "gen", "-m", "uniform", "--engine", engine, *plain, *source, "--json", "--seed", "4", "-n", "3", "Hi"
        )
        assert done.code == 0
        records.append(done.records)
        for record in records[-1]:
            assert record.pop("seconds") > 0
            assert record.pop("engine", "fast") == engine
            assert record.pop("fast_forward", True) is (not plain)
    assert records[0] == records[1] == records[2]
    assert len({record["text"] for record in records[0]}) > 1


@pytest.mark.parametrize("engine", ["fsm", "naive"])
@pytest.mark.parametrize("plain", [[], [PLAIN]], ids=str)
def test_the_embedded_model(sfgen: Sfgen, engine: str, plain: list[str]) -> None:
    pattern = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'
    done, fast = (
        sfgen("gen", *more, *plain, "-r", pattern, "--seed", "2", "A person: ") for more in (["--engine", engine], [])
    )
    assert set(json.loads(done.out)) == {"name", "age"}
    assert done.out == fast.out
    assert done.err == ""


def test_the_default_is_fast_and_the_record_does_not_say_so(sfgen: Sfgen) -> None:
    for more in ([], ["--engine", "fast"]):
        assert "engine" not in sfgen("gen", "-m", "uniform", "-r", "ab", "--json", *more).records[0]


def test_files_and_the_prompt(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "pattern").write_text("a\nb\n")
    common = ["gen", "-m", "uniform", "--engine", "naive", "--echo"]
    assert sfgen(*common, "--regex-file", tmp_path / "pattern", "x: ").out == "x: a\nb\n"
    assert sfgen(*common, "-r", "^a(?!c)[bc]$", stdin="y: \n").out == "y: ab\n"


NO_MEANING = {
    "no pattern": ([], "--engine needs a pattern"),
    "free text with fast": (["--engine", "fast", "Hello"], "--engine needs a pattern"),
    "a saved index": (["--index", "my.safetensors"], "--index cannot be used together"),
    "another engine": (["-r", FLOAT, "--engine", "slow"], "slow"),
}


@pytest.mark.parametrize("name", NO_MEANING)
@pytest.mark.parametrize("engine", ["fsm", "naive"])
def test_combinations_without_a_meaning(sfgen: Sfgen, name: str, engine: str) -> None:
    arguments, says = NO_MEANING[name]
    done = sfgen("gen", "-m", "uniform", "--engine", engine, *arguments)
    assert done.code == 2
    assert done.out == ""
    assert says in done.err


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(5))
def test_words_are_banned_beside_every_engine(sfgen: Sfgen, engine: str, seed: int) -> None:
    words = ["--ban-words", "hot,so cold", "--ban-pattern", "e[0-9]"]
    pattern = "(hot|so (hot|cold|warm)|e[a-z0-9])"
    done = sfgen("gen", "-m", "uniform", "--engine", engine, "-r", pattern, *words, "--seed", str(seed))
    assert done.code == 0
    assert re.fullmatch("so warm|e[a-z]", done.out.rstrip("\n"))


@pytest.mark.parametrize("pattern", ["^a$", r"\ba", "(?u)a", "a(?=b)b", r"\N{BULLET}", "[]a]", "a*+"])
def test_what_interegular_does_not_read(sfgen: Sfgen, pattern: str) -> None:
    done = sfgen("gen", "-m", "uniform", "--engine", "fsm", "-r", pattern)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("sfgen: pattern: ")
    assert pattern in done.err
    assert "default engine" in done.err


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mistake_in_the_pattern(sfgen: Sfgen, engine: str) -> None:
    done = sfgen("gen", "-m", "missing-model", "--engine", engine, "-r", "a(b")
    assert done.code == 1
    assert "at position 1" in done.err
    assert "missing-model" not in done.err


@pytest.mark.parametrize("engine", ["fsm", "naive"])
@pytest.mark.parametrize("limit", ["0", "3"])
def test_the_limit_never_cuts(sfgen: Sfgen, engine: str, limit: str) -> None:
    common = ["gen", "-m", "uniform", "--engine", engine, "--max-tokens", limit]
    done = sfgen(*common, "-r", "[a-z]{4}")
    assert (done.code, done.out) == (1, "")
    assert f"the limit of {limit} tokens is reached" in done.err
    assert "use the default engine" in done.err
    done = sfgen(*common, "-r", "[a-z]{4}", "--json", "-n", "2")
    assert (done.code, done.out) == (1, "")
    assert sfgen(*common, "-r", f"[a-z]{{{limit}}}").code == 0
    for seed in range(2):  # the text may end at the limit; or it fails, where fast makes it fit
        done = sfgen(*common, "-r", "(ab)*", "--seed", str(seed))
        assert done.code == 1 if done.err else re.fullmatch("(ab)*\n", done.out)


def test_the_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom sfgen_cli.shell.ending import run\nrun(['gen', '--help-all'])\n"
        "heavy = {'numpy', 'regex', 'interegular', 'numba', 'torch', 'sfgen.reference'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"--engine" in done.stdout
