"""``--json`` says what the plain output says: for random patterns, and for prompts with every kind of character."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.support.patterns.random_patterns import RandomPattern
from tests.support.running.tried import rounds

Sfgen = Callable[..., Any]
RUNS = rounds(250)
PIECES = [
    *map(chr, range(0x21)),  # controls; a NUL can be in a pipe only
    *"abc \"'\\/`$,{}[]<>&%*",
    *(chr(code) for code in (0x7F, 0x80, 0x85, 0x9B, 0x9F, 0xA0, 0xAD)),
    "\x1b[31m", "\x1b]0;title\x07", "\x1bP", "\r\n", "\\u0041", "\\n", "--", "\ufeff",
    "\u200b", "\u200e", "\u202a", "\u202e", "\u2066", "\u2069",  # directions
    "\u2028", "\u2029", "\u3000",
    "é", "e\u0301", "\u0301", "g\u0308\u0323", "ß", "İ", "你好", "한", "אב", "مرحبا", "🙂", "👩\u200d👩\u200d👧",
    "\U0010ffff", "\ue000", "\ufffd", "\uffff", "\ufdd0",
]  # fmt: skip


def drawn(random: Random) -> str:
    return "".join(random.choices(PIECES, k=random.choice([0, 1, 3, 9, 30])))


def commands(random: Random) -> tuple[list[str], str | bytes, str]:
    """A command that generates, its stdin, and the prompt that it is given."""
    pattern = RandomPattern(random).text
    kind = random.randrange(8)
    model = ["-m", "tiny" if random.random() < 0.1 else "uniform"]
    sampling = ["--seed", str(random.randrange(9)), "--max-tokens", str(random.choice([5, 40]))]
    line = ["gen", *model, *sampling]
    if kind < 5:
        line += ["--regex", pattern.replace("\0", "")]
    elif kind == 5:
        choices = [drawn(random) for _ in range(3)]
        escaped = [choice.replace("\0", "").replace("\\", "\\\\").replace(",", "\\,") for choice in choices]
        line += ["--choices", ",".join([*escaped, "x"])]
    elif kind == 6:
        line = ["ban", *model, *sampling, "--words", "a,e,你好", "--max-tokens", "9"]
    text = drawn(random)
    way = random.randrange(3)
    if way == 0:
        argument = text.replace("\0", "")
        broken = random.choice(["", "\udcff", "\udce4\udcbd"])  # bytes that are no UTF-8
        return [*line, "--", argument + broken], "", argument + "\ufffd" * bool(broken)
    if way == 1 and text != "-":
        return line, text + "\n", text.removeprefix("\ufeff").removesuffix("\r")
    return [*line, "-"], f"{text}\r\n".encode(), text.removeprefix("\ufeff")


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_record_has_the_plain_text_and_the_prompt(sfgen: Sfgen) -> None:
    written = failed = 0
    kinds = set()
    for seed in range(10 * RUNS):
        if written == RUNS:
            break
        line, stdin, prompt = commands(Random(seed))
        command, *options = line
        plain = sfgen(command, *options, stdin=stdin)
        as_json = sfgen(command, "--json", *options, stdin=stdin)
        assert as_json.code == plain.code, (line, plain, as_json)
        assert (plain.out == "") == (plain.code != 0)
        if plain.code:  # a pattern that matches nothing, is not supported, or is too long for the limit
            assert (as_json.out, as_json.err) == ("", plain.err)
            assert plain.code == 1
            failed += 1
            continue
        record = only(as_json.out)
        assert record["text"] + "\n" == plain.out, line
        assert record["prompt"] == prompt, line
        if seed % 4 == 0:
            assert sfgen(command, "--echo", *options, stdin=stdin).out == prompt + plain.out
        written += 1
        kinds |= {(record["model"], command, record["finish_reason"])} | set(record["text"])
    assert written == RUNS
    assert failed < 2 * RUNS
    # All of it was there: both models, both commands, all ends, and many characters.
    assert {kind[:2] for kind in kinds if isinstance(kind, tuple)} == {
        (model, command) for model in ("tiny", "uniform") for command in ("gen", "ban")
    }
    assert {kind[2] for kind in kinds if isinstance(kind, tuple)} == {"complete", "end_token", "limit"}
    assert len([kind for kind in kinds if isinstance(kind, str)]) > 1.5 * RUNS


def only(out: str) -> Any:
    """The one record of an output: one line, whatever a reader takes for the end of a line."""
    assert out.endswith("\n")
    assert len(out.splitlines()) == 1
    record = json.loads(out)
    assert json.loads(json.dumps(record)) == record
    # Nothing in it drives a terminal.
    assert not [character for character in out[:-1] if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0]
    return record


@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_every_piece_comes_back_from_a_pipe(sfgen: Sfgen, piece: str) -> None:
    done = sfgen("gen", "-m", "uniform", "-r", "ab", "--json", stdin=f"x{piece}y\n")
    assert (only(done.out)["prompt"], only(done.out)["text"]) == (f"x{piece}y", "ab")


def test_every_sample_is_one_line(sfgen: Sfgen) -> None:
    line = ["gen", "-m", "uniform", "--max-tokens", "30", "--seed", "1", "-n", "50", "--json", "x\u2028y"]
    records = [only(record + "\n") for record in sfgen(*line).out.split("\n")[:-1]]
    assert len(records) == 50
    assert len({record["text"] for record in records}) == 50
