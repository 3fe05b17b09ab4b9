"""Sampling, stop strings, chat templates and the record, from the command line."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.terminal import in_a_terminal

from sfgen.models.uniform import UniformModel

Sfgen = Callable[..., Any]
UNIFORM = ["gen", "-m", "uniform"]
WORD = [*UNIFORM, "-r", "[a-z]{12}", "--json"]
KEYS = [
    "text", "prompt", "model", "finish_reason", "token_ids", "prompt_tokens", "completion_tokens", "forward_passes",
    "forced_tokens", "healed", "seed", "seconds",
]  # fmt: skip


def texts(sfgen: Sfgen, *arguments: str) -> list[str]:
    done = sfgen(*arguments)
    assert done.code == 0, done.err
    return [record["text"] for record in done.records]


# ---- temperature, truncation, seeds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "drawn"),
    [
        ([], False),
        (["--seed", "5"], True),
        (["-n", "2"], True),
        (["-n", "1"], False),
        (["--top-k", "20"], True),
        (["--top-p", "0.9"], True),
        (["--min-p", "0.1"], True),
        (["-t", "1"], True),
        (["-t", "0"], False),
        (["-t", "0", "--seed", "5", "-n", "2", "--top-k", "3", "--top-p", "0.5", "--min-p", "0.1"], False),
    ],
)
def test_what_makes_chance_decide(sfgen: Sfgen, options: list[str], drawn: bool) -> None:
    for record in sfgen(*WORD, *options).records:
        assert (record["text"] != "a" * 12) == drawn
        assert drawn or record["seed"] in (None, 5, 6)
        assert not drawn or isinstance(record["seed"], int)


def test_penalties_and_biases_hold_where_the_likeliest_token_is_taken(sfgen: Sfgen) -> None:
    first = sfgen(*WORD).records[0]
    assert first["text"] == "a" * 12
    assert texts(sfgen, *WORD, "--frequency-penalty", "1") == ["abcdefghijkl"]
    assert texts(sfgen, *WORD, "--presence-penalty", "1") == ["abcdefghijkl"]
    a, b = sfgen(*UNIFORM, "-r", "ab", "--json", "--no-fast-forward").records[0]["token_ids"]
    assert texts(sfgen, *WORD, "--logit-bias", f"{b}=1", "--logit-bias", f"{a}=-1") == ["b" * 12]
    banned = ["ban", "-m", "uniform", "--words", "talk", "--max-tokens", "3", "--json"]
    assert texts(sfgen, *banned, "--logit-bias", f"{b}=1.5") == ["bbb"]
    (record,) = sfgen(
        *WORD, "--fields", "all", "--logit-bias", f"{b}=1", "--input", "-", stdin='{"prompt": "x"}'
    ).records
    assert record["options"]["logit_bias"] == {str(b): 1.0}


def test_samples_count_up_from_the_seed(sfgen: Sfgen) -> None:
    together = sfgen(*WORD, "--seed", "5", "-n", "3").records
    assert [record["seed"] for record in together] == [5, 6, 7]
    apart = [text for seed in "567" for text in texts(sfgen, *WORD, "--seed", seed)]
    assert [record["text"] for record in together] == apart
    assert len(set(apart)) == 3


def test_a_drawn_seed_writes_the_same_texts_again(sfgen: Sfgen) -> None:
    for options in ([], ["-t", "3"], ["--top-k", "9"], ["--top-p", "0.7"], ["--min-p", "0.5"]):
        first = sfgen(*WORD, "-n", "2", *options).records
        assert first[1]["seed"] == first[0]["seed"] + 1
        again = sfgen(*WORD, "-n", "2", *options, "--seed", str(first[0]["seed"])).records
        assert [record["text"] for record in again] == [record["text"] for record in first]
    assert texts(sfgen, *WORD, "-n", "2") != texts(sfgen, *WORD, "-n", "2")


def test_greedy_text_has_no_seed_that_would_change_it(sfgen: Sfgen) -> None:
    """With `--seed` the default temperature is 1: a seed in the record of a greedy run would not repeat it."""
    assert sfgen(*WORD).records[0]["seed"] is None


def test_the_seed_of_the_environment(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = texts(sfgen, *WORD, "--seed", "9")
    monkeypatch.setenv("SFGEN_SEED", "9")
    assert texts(sfgen, *WORD) == expected
    assert texts(sfgen, *WORD, "--seed", "10") != expected
    monkeypatch.setenv("SFGEN_SEED", "")
    assert sfgen(*WORD).records[0]["seed"] is None
    monkeypatch.setenv("SFGEN_SEED", "soon")
    done = sfgen(*WORD)
    assert done.code == 2
    assert "SFGEN_SEED" in done.err.splitlines()[0]


def letters(sfgen: Sfgen, *options: str) -> set[str]:
    return set("".join(texts(sfgen, *UNIFORM, "-r", "[a-z]{60}", "--json", "--seed", "1", "-n", "4", *options)))


def test_truncation_limits_the_choice(sfgen: Sfgen) -> None:
    """All 26 letters are equally likely, and the lower ids stay."""
    assert letters(sfgen) == set(string.ascii_lowercase)
    assert letters(sfgen, "--top-k", "3") == set("abc")
    assert letters(sfgen, "--top-p", "0.5") == set(string.ascii_lowercase[:13])
    assert letters(sfgen, "--top-p", "0") == set("a")
    assert letters(sfgen, "--min-p", "1") == set(string.ascii_lowercase)
    assert letters(sfgen, "--top-k", "4", "--top-p", "0.5") == set("ab")


# ---- stop strings ---------------------------------------------------------------------------------------------------


def test_text_ends_before_a_stop_string(sfgen: Sfgen) -> None:
    free = sfgen("gen", "--max-tokens", "40", "Good morning", "--json").records[0]["text"]
    assert len(free) > 12, "the test needs a model that goes on"
    stop = free[5:9]
    expected = free[: free.index(stop)]
    command = ["gen", "--max-tokens", "40", "--stop", stop, "--stop", "\0", "Good morning"]
    done = sfgen(*command, "--json").records[0]
    assert (done["text"], done["finish_reason"], done["stop"]) == (expected, "stop", [stop, "\0"])
    assert done["completion_tokens"] == len(done["token_ids"]) > 0
    assert sfgen(*command).out == expected + "\n"


def test_stop_strings_beside_a_ban(sfgen: Sfgen) -> None:
    for seed in range(4):
        done = sfgen(
            "ban",
            "--words",
            "talk,listen",
            "--stop",
            ".",
            "--seed",
            str(seed),
            "--max-tokens",
            "30",
            "--json",
            "Can we talk?",
        )
        assert done.code == 0
        text = done.records[0]["text"]
        assert "." not in text
        assert not re.search(r"\b(talk|listen)\b", text, re.IGNORECASE)


# ---- chat -----------------------------------------------------------------------------------------------------------


class Chatting(UniformModel):
    """Equal scores, with a chat template."""

    def chat(self, text: str) -> list[int]:
        return self.encode(f"<{text}>")


@pytest.mark.parametrize("model", ["uniform", "zip"])
def test_a_model_without_a_chat_template(sfgen: Sfgen, tmp_path: Path, model: str) -> None:
    if model == "zip":
        (tmp_path / "text").write_text("hello there " * 9)
        model = f"zip:{tmp_path / 'text'}"
    done = sfgen("gen", "-m", model, "--chat", "hello")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        f"sfgen: the model {model} has no chat template",
        "Leave --chat out, or name another model.",
    ]


def test_chat_gives_the_model_the_template_and_the_record_the_text(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: Chatting())
    plain, chat = (sfgen(*UNIFORM, "-r", "a", "--json", *more, "hello").records[0] for more in ([], ["--chat"]))
    assert (plain["prompt"], plain["prompt_tokens"]) == ("hello", 5)
    assert (chat["prompt"], chat["prompt_tokens"]) == ("hello", 7)
    assert sfgen(*UNIFORM, "-r", "a", "--chat", "--echo", "hello").out == "helloa\n"


def test_the_seam_of_a_ban_is_that_of_the_template(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    """``we tal`` is followed by ``>``, so a ``k`` after it makes no banned word."""
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: Chatting())
    command = [*UNIFORM, "--choices", "k", "--ban-words", "talk"]
    assert sfgen(*command, "we tal").code == 1
    assert sfgen(*command, "--chat", "we tal").out == "k\n"


# ---- records --------------------------------------------------------------------------------------------------------


def test_the_keys_of_every_record_and_their_order(sfgen: Sfgen) -> None:
    limit = ["--max-tokens", "4", "--json"]
    assert list(sfgen(*UNIFORM, *limit).records[0]) == KEYS
    assert list(sfgen(*UNIFORM, "-r", "a+", *limit).records[0]) == [*KEYS, "pattern"]
    assert list(sfgen(*UNIFORM, "--choices", "a,b", *limit).records[0]) == [*KEYS, "choices"]
    assert list(sfgen(*UNIFORM, "--stop", "b", *limit).records[0]) == [*KEYS, "stop"]
    banned = ["banned", "rollbacks", "moved_blocks"]
    assert list(sfgen("ban", "-m", "uniform", "--words", "b", *limit).records[0]) == KEYS + banned
    both = sfgen(*UNIFORM, "-r", "a+", "--ban-words", "b", *limit).records[0]
    assert list(both) == [*KEYS, "pattern", *banned]
    assert both["banned"].keys() >= {"words", "match"}


def test_the_record_counts_what_happened(sfgen: Sfgen) -> None:
    record = sfgen(*UNIFORM, "-r", r"a[bc]d", "--seed", "3", "--json", "xyz").records[0]
    assert (record["prompt_tokens"], record["completion_tokens"]) == (3, 3)
    assert (record["forward_passes"], record["forced_tokens"]) == (1, 2)
    assert (record["pattern"], record["model"], record["seed"]) == ("a[bc]d", "uniform", 3)
    assert 0 < record["seconds"] < 60


def test_each_sample_is_a_line(sfgen: Sfgen) -> None:
    done = sfgen(*UNIFORM, "-r", '[a\\n\u2028é\\\\"]{6}', "--seed", "1", "-n", "20", "--json")
    lines = done.out.removesuffix("\n").split("\n")
    assert [json.loads(line)["seed"] for line in lines] == list(range(1, 21))


@pytest.mark.parametrize(
    "character", [chr(code) for code in (0, 7, 0x1B, 0x22, 0x5C, 0x7F, 0x85, 0x9B, 0x2028, 0x2029)]
)
def test_no_character_breaks_a_line_of_json(sfgen: Sfgen, character: str) -> None:
    """Also not for readers that split lines as `str.splitlines` does."""
    done = sfgen(*UNIFORM, "-r", f"a{re.escape(character)}b", "--json", f"x{character}y")
    (line,) = done.out.splitlines()
    assert (json.loads(line)["text"], json.loads(line)["prompt"]) == (f"a{character}b", f"x{character}y")
    assert character not in line or character in '"\\'


@pytest.mark.parametrize("more", [["--no-live"], []])
@pytest.mark.parametrize("command", [["gen"], ["ban", "--words", "talk"]])
def test_free_texts_are_told_apart_on_a_terminal(sfgen: Sfgen, command: list[str], more: list[str]) -> None:
    arguments = [*command, "-n", "2", "--seed", "5", "--max-tokens", "3", "--stop", "\n", *more, "Good morning"]
    piped = sfgen(*arguments)
    first, second = piped.out.splitlines()
    seen = in_a_terminal(*arguments)
    rows = [row.rstrip() for row in ("--- 1 of 2, seed 5 ---", first, "--- 2 of 2, seed 6 ---", second) if row.strip()]
    assert [row for row in seen.screen if "rollback" not in row] == rows


def test_lines_that_are_texts_and_one_text_have_no_heading(sfgen: Sfgen) -> None:
    for arguments in (["-r", "[ab]", "-n", "3"], ["--stop", "a", "x"], ["-n", "2", "--json"]):
        assert "---" not in in_a_terminal("gen", "--no-live", "--seed", "1", "--max-tokens", "3", *arguments).raw
