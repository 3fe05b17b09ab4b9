"""What the command line promises, in the order in which it is told: one sentence, one test.

What is promised of ``index`` is in ``test_command_line_index.py``; live views, traces, many prompts, help, completion,
suggestions and errors have files of their own, too.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.errors.case import Terminal

from sfgen.ban import scan
from sfgen_cli.run.request import Request

Sfgen = Callable[..., Any]
GEN = ["gen", "-m", "uniform"]
BAN = ["ban", "-m", "uniform", "--max-tokens", "3"]
WORD = [*GEN, "-r", "[a-z]{9}", "--json"]
TOKENIZER = str(Path(__file__).resolve().parent.parent / "data" / "tokenizers" / "gpt2")


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What would have been generated."""
    found: list[Request] = []
    for command in ("gen", "ban"):
        monkeypatch.setattr(f"sfgen_cli.commands.{command}.run", found.append)
    return found


def record(sfgen: Sfgen, *arguments: str | Path, stdin: Any = "") -> dict[str, Any]:
    done = sfgen(*arguments, "--json", stdin=stdin)
    assert done.code == 0, done.err
    found: dict[str, Any] = done.records[0]
    return found


def is_refused(sfgen: Sfgen, *arguments: str | Path) -> bool:
    done = sfgen(*arguments)
    assert done.out == "" or done.code == 0
    return bool(done.code == 2)


# ---- prompt ---------------------------------------------------------------------------------------------------------


def test_the_pipe_then_the_argument_or_the_file(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "prompt"
    file.write_text("file\n")
    assert record(sfgen, *GEN, "-r", "a", "argument", stdin="pipe")["prompt"] == "pipe\n\nargument"
    assert record(sfgen, *GEN, "-r", "a", "--prompt-file", file, stdin="pipe")["prompt"] == "pipe\n\nfile"
    assert record(sfgen, *GEN, "-r", "a", "argument")["prompt"] == "argument"
    assert record(sfgen, *GEN, "-r", "a", "--prompt-file", file)["prompt"] == "file"
    assert record(sfgen, *GEN, "-r", "a", stdin="pipe")["prompt"] == "pipe"
    assert record(sfgen, *GEN, "-r", "a", "-", stdin="pipe")["prompt"] == "pipe"
    assert is_refused(sfgen, *GEN, "argument", "--prompt-file", file)


def test_on_a_terminal_the_prompt_is_empty(sfgen: Sfgen) -> None:
    assert record(sfgen, *GEN, "-r", "a", stdin=Terminal("never read"))["prompt"] == ""


def test_one_newline_at_the_end_is_removed(sfgen: Sfgen) -> None:
    for data, prompt in (("a\n", "a"), ("a\n\n", "a\n"), ("a\r\n", "a"), (" a ", " a "), ("\n", "")):
        assert record(sfgen, *GEN, "-r", "a", stdin=data)["prompt"] == prompt


def test_the_empty_prompt_starts_from_a_token(sfgen: Sfgen) -> None:
    assert record(sfgen, "gen", "--choices", "hot,cold", "")["prompt_tokens"] == 1


def test_a_prompt_with_a_dash_in_front(sfgen: Sfgen) -> None:
    assert "put -- before it: sfgen gen … -- '-5 degrees'" in sfgen(*GEN, "-5 degrees").err
    done = sfgen(*GEN, "-r", "a", "--json", "--", "-5 degrees")
    assert done.records[0]["prompt"] == "-5 degrees"


def test_options_after_two_dashes_are_text(sfgen: Sfgen) -> None:
    assert sfgen(*GEN, "-r", "a", "--json", "--", "--json").records[0]["prompt"] == "--json"
    assert sfgen("check", "-r", "--[a-z]+", "--text", "--json", "--text", "--quiet").code == 0


def test_without_a_constraint_the_text_is_free(sfgen: Sfgen) -> None:
    done = record(sfgen, *GEN, "--max-tokens", "4", "--seed", "3", "x")
    assert "pattern" not in done
    assert "choices" not in done
    assert done["completion_tokens"] == 4


def test_a_prompt_like_a_pattern_gets_a_hint(sfgen: Sfgen) -> None:
    done = sfgen(*GEN, "--max-tokens", "2", "[0-9]{4}")
    assert (done.code, "--regex '[0-9]{4}'" in done.err) == (0, True)
    assert "--regex" not in done.out


def test_stdout_carries_the_continuation_and_echo_the_prompt_too(sfgen: Sfgen) -> None:
    assert sfgen(*GEN, "-r", "ab", "x: ").out == "ab\n"
    assert sfgen(*GEN, "-r", "ab", "--echo", "x: ").out == "x: ab\n"


def test_a_long_prompt(sfgen: Sfgen) -> None:
    text = "a long prompt " * 5000
    assert record(sfgen, *GEN, "-r", "a", text)["prompt"] == text
    assert record(sfgen, *GEN, "-r", "a", stdin=text)["prompt"] == text


# ---- constraint -----------------------------------------------------------------------------------------------------

CONSTRAINTS = {
    "--regex": "a",
    "--regex-file": "pattern",
    "--choices": "a",
    "--choices-file": "choices",
    "--index": "index",
}


@pytest.mark.parametrize("pair", list(itertools.combinations(CONSTRAINTS, 2)), ids=" ".join)
def test_two_constraints_are_refused(sfgen: Sfgen, pair: tuple[str, str]) -> None:
    first, second = pair
    done = sfgen(*GEN, second, CONSTRAINTS[second], first, CONSTRAINTS[first])
    assert done.code == 2
    assert done.err.startswith(f"sfgen: {first} and {second} cannot be used together\n")


def test_each_constraint(sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pattern").write_text("a\n")
    Path("choices").write_text("a\n\na\n")
    assert sfgen("index", "-m", "uniform", "-r", "a", "--save", "index").code == 0
    for option, value in CONSTRAINTS.items():
        assert sfgen(*GEN, option, value).out == "a\n"
    assert sfgen(*GEN, "-r", "a").out == "a\n"


def test_choices(sfgen: Sfgen, tmp_path: Path) -> None:
    assert record(sfgen, *GEN, "--choices", r"a\,b,c\\", "--choices", "d")["choices"] == ["a,b", "c\\", "d"]
    (tmp_path / "f").write_text("one, two\r\nthree\n")
    assert record(sfgen, *GEN, "--choices-file", tmp_path / "f")["choices"] == ["one, two", "three"]


@pytest.mark.parametrize("ban", [["--ban-words", "b"], ["--ban-words-file", "words"], ["--ban-pattern", "b|cb"]])
def test_bans_beside_a_constraint(
    sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ban: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words").write_text("# not this one\nb\n")
    for constraint in (["-r", "[bc]"], ["--choices", "b,c"]):
        done = sfgen(*GEN, *constraint, *ban, "-n", "8", "--seed", "1")
        assert done.out == "c\n" * 8


# ---- bans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--words", "a,b", "--words", "c"], ["a", "b", "c"]),
        (["--words", "a，b、c"], ["a", "b", "c"]),
        (["--words", r"a\,b,c\，d\、e"], ["a,b", "c，d、e"]),
        (["--words", " a b ,, c"], ["a b", "c"]),
    ],
)
def test_how_words_are_split(sfgen: Sfgen, requests: list[Request], options: list[str], words: list[str]) -> None:
    assert sfgen(*BAN, *options, "x").code == 0
    assert requests[0].banned is not None
    assert list(requests[0].banned.words) == words


def test_words_from_files_and_stdin(sfgen: Sfgen, requests: list[Request], tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a b\n# comment\n\nc\n")
    assert sfgen(*BAN, "--words-file", tmp_path / "f", "x").code == 0
    assert sfgen(*BAN, "--words-file", "-", "x", stdin="a b\n# comment\nc").code == 0
    assert [list(request.banned.words) for request in requests if request.banned] == [["a b", "c"]] * 2


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        (["--words", "talk"], {"talking", "table"}),
        (["--words", "talk", "--match", "word"], {"talking", "table"}),
        (["--words", "talk", "--match", "prefix"], {"table"}),
        (["--words", "talk*"], {"table"}),
        (["--words", r"talk\*"], {"talk", "Talk", "talking", "table", "tаlk"}),
        (["--words", "tal", "--match", "substring"], {"table", "tаlk"}),
        (["--words", "talk", "--case-sensitive"], {"Talk", "talking", "table"}),
        (["--words", "talk", "--normalize"], {"talking", "table"}),
        (["--words", "talk*", "--allow", "talking"], {"talking", "table"}),
        (["--pattern", "l.", "--pattern", "b"], set()),
    ],
)
def test_what_is_banned(sfgen: Sfgen, requests: list[Request], options: list[str], passes: set[str]) -> None:
    assert sfgen(*BAN, *options, "x").code == 0
    banned = requests[0].banned
    assert banned is not None
    texts = {"talk", "Talk", "talking", "table", "tаlk"}  # the last one has a Cyrillic а
    expected = passes | ({"tаlk"} if "--normalize" not in options and "--pattern" not in options else set())
    assert {text for text in texts if not scan(text, banned)} == expected
    assert scan("talk*", banned) or r"talk\*" not in options


def test_the_help_says_that_longer_words_pass(sfgen: Sfgen) -> None:
    assert "talking passes when talk is banned" in " ".join(sfgen("ban", "--help").out.split())


def test_strategies_and_rollbacks(sfgen: Sfgen, requests: list[Request]) -> None:
    for strategy in ("resample", "first-token", "mask"):
        assert sfgen(*BAN, "--words", "a", "--strategy", strategy, "--max-rollbacks", "7", "x").code == 0
    assert sfgen(*BAN, "--words", "a", "x").code == 0
    assert [request.options.strategy for request in requests] == ["resample", "first-token", "mask", "resample"]
    assert [request.options.max_rollbacks for request in requests] == [7, 7, 7, 10_000]


def test_the_record_of_routes(sfgen: Sfgen) -> None:
    routes = record(sfgen, "ban", "--words", "hot", "--routes", "-m", "uniform")
    assert routes["routes"][0] == {
        "word": "hot",
        "tokens": ["h", "o", "t"],
        "ids": routes["routes"][0]["ids"],
    }
    table = routes["transitions"]
    state: Any = 0
    for token in routes["routes"][0]["ids"]:
        assert state != -1
        state = dict(table[str(state)])[token]
    assert state == -1
    assert is_refused(sfgen, "ban", "--pattern", "a", "--routes")


def test_ban_regex_is_refused_with_two_commands(sfgen: Sfgen) -> None:
    done = sfgen("ban", "--regex", "[0-9]{4}", "--words", "hot", "x")
    assert done.code == 2
    assert "sfgen gen --regex '[0-9]{4}' --ban-words hot" in done.err
    assert "sfgen ban --pattern '[0-9]{4}'" in done.err


# ---- model and sampling ---------------------------------------------------------------------------------------------


def test_the_model(sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert record(sfgen, "gen", "-r", "a")["model"] == "tiny"
    (tmp_path / "book").write_text("hello there " * 9)
    assert record(sfgen, "gen", "-m", f"zip:{tmp_path / 'book'}", "-r", "a")["model"] == f"zip:{tmp_path / 'book'}"
    assert record(sfgen, *GEN, "--tokenizer", TOKENIZER, "-r", "a")["text"] == "a"
    monkeypatch.setenv("SFGEN_MODEL", "uniform")
    assert record(sfgen, "gen", "-r", "a")["model"] == "uniform"
    assert record(sfgen, "gen", "--model", "tiny", "-r", "a")["model"] == "tiny"


def test_devices_types_and_foreign_code(sfgen: Sfgen, requests: list[Request]) -> None:
    assert sfgen("gen", "x").code == 0
    assert sfgen("gen", "--device", "cuda:1", "--dtype", "bfloat16", "--trust-remote-code", "--chat", "x").code == 0
    found = [(each.options.device, each.options.dtype, each.options.trust_remote_code) for each in requests]
    assert found == [("auto", "auto", False), ("cuda:1", "bfloat16", True)]
    assert [each.options.chat for each in requests] == [False, True]


@pytest.mark.parametrize(
    ("options", "drawn"),
    [([], False), (["--seed", "1"], True), (["-n", "2"], True), (["--top-k", "9"], True), (["--top-p", "0.9"], True),
     (["--min-p", "0.1"], True), (["-t", "0", "--seed", "1"], False), (["-t", "0.5"], True)],
    ids=str,
)  # fmt: skip
def test_the_default_temperature(sfgen: Sfgen, options: list[str], drawn: bool) -> None:
    first = sfgen(*WORD, *options).records[0]
    assert (first["text"] != "a" * 9) == drawn  # all are equally likely, and the first one is the likeliest
    assert isinstance(first["seed"], int) == (drawn or "--seed" in options)


def test_sample_i_uses_seed_plus_i(sfgen: Sfgen) -> None:
    together = sfgen(*WORD, "--seed", "7", "-n", "3").records
    assert [each["seed"] for each in together] == [7, 8, 9]
    assert [each["text"] for each in together] == [
        sfgen(*WORD, "--seed", seed).records[0]["text"] for seed in ("7", "8", "9")
    ]


def test_a_seed_is_drawn_and_told(sfgen: Sfgen) -> None:
    first = record(sfgen, *WORD[:-1], "-t", "1")
    assert record(sfgen, *WORD[:-1], "--seed", str(first["seed"]))["text"] == first["text"]


def test_the_default_of_max_tokens(sfgen: Sfgen) -> None:
    done = record(sfgen, *GEN, "--seed", "2", "x")
    assert (done["completion_tokens"], done["finish_reason"]) == (256, "limit")


def test_stop_strings(sfgen: Sfgen) -> None:
    free = record(sfgen, "gen", "--max-tokens", "30", "Good morning")["text"]
    done = record(sfgen, "gen", "--max-tokens", "30", "--stop", "\0", "--stop", free[7:10], "Good morning")
    assert (done["text"], done["finish_reason"]) == (free[: free.index(free[7:10])], "stop")
    for constraint, value in CONSTRAINTS.items():
        if not constraint.endswith("-file"):
            assert is_refused(sfgen, *GEN, constraint, value, "--stop", "x")


@pytest.mark.parametrize(
    ("twice", "out"),
    [
        (["-r", "a", "--json", "--json"], None),
        (["-n", "3", "-r", "a", "-n", "1"], "a\n"),
        (["-m", "/no/such", "--device", "x", "-r", "a", "-m", "uniform", "--device", "cpu"], "a\n"),
        (["--schema", '{"const": []}', "--spacing", "any", "--spacing", "compact"], "[]\n"),
        (["--choices", "a", "--choices", "a"], "a\n"),  # all of them count
    ],
)
def test_of_a_setting_given_twice_the_last_counts(sfgen: Sfgen, twice: list[str], out: str | None) -> None:
    done = sfgen(*GEN, *twice)
    assert done.code == 0
    assert out is None or done.out == out


_GIVEN_ONCE = {
    "gen": "--regex --regex-file --choices-file --index --schema --schema-dir --pydantic --like --tools --grammar "
    "--grammar-start --template --substring-of --ban-words-file --prompt-file --system --chat-file --input --output "
    "--trace --fields",
    "ban": "--words-file --prompt-file --system --chat-file --input --output --trace --fields",
    "index": "--regex --regex-file --choices-file --schema --like --tools --grammar --template --index --path "
    "--against",
    "check": "--regex --regex-file --choices-file --schema --like --tools --grammar --template --words-file",
    "replay": "--svg --html",
}


@pytest.mark.parametrize(
    ("command", "option"), [(command, option) for command, names in _GIVEN_ONCE.items() for option in names.split()]
)
def test_a_constraint_a_prompt_or_an_output_given_twice_is_refused(sfgen: Sfgen, command: str, option: str) -> None:
    """One of them would be lost without a word, also under another of its names."""
    short = {"--regex": "-r", "--words-file": "--ban-words-file"}.get(option, option)
    argument = ["run.jsonl"] if command == "replay" else []
    done = sfgen(command, option, "a", f"{option}=b", short, "c", *argument)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"sfgen: {option} was given twice\nGive it once: one of them would be lost.\n"
    assert sfgen(command, option, "a", option, "b", "--help").code == 0
    assert "given twice" not in sfgen(command, "--", option, option).err  # there they are no options


def test_the_environment_does_not_give_an_option_once_more(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFGEN_MODEL", "/no/such")
    monkeypatch.setenv("SFGEN_SEED", "1")
    assert sfgen("gen", "-m", "uniform", "--seed", "2", "-r", "a").out == "a\n"


def test_values_that_begin_with_a_dash(sfgen: Sfgen) -> None:
    assert sfgen(*GEN, "--regex", "-[0-9]").out[0] == "-"
    assert sfgen(*GEN, "--regex=--x").out == "--x\n"
    assert sfgen(*GEN, "-r", "-r").out == "-r\n"
    assert sfgen(*GEN, "--choices", "-a").out == "-a\n"
    assert "temperature must be" in sfgen(*GEN, "-t", "-1").err


# ---- output ---------------------------------------------------------------------------------------------------------


def test_text_and_a_newline_for_each_sample(sfgen: Sfgen) -> None:
    assert sfgen(*GEN, "-r", "ab", "-n", "3").out == "ab\nab\nab\n"


def test_the_keys_of_a_record(sfgen: Sfgen) -> None:
    always = {
        "text", "prompt", "model", "finish_reason", "token_ids", "prompt_tokens", "completion_tokens",
        "forward_passes", "forced_tokens", "healed", "seed", "seconds",
    }  # fmt: skip
    assert set(record(sfgen, *GEN, "--max-tokens", "2", "x")) == always
    assert set(record(sfgen, *GEN, "-r", "a")) == always | {"pattern"}
    assert set(record(sfgen, *GEN, "--choices", "a")) == always | {"choices"}
    banned = record(sfgen, "ban", "--words", "talk,listen", "--seed", "1", "Can we talk?")
    assert set(banned) >= always | {"banned", "rollbacks"}
    assert set(banned["banned"]) >= {"words", "match"}
    assert set(banned["rollbacks"][0]) >= {"position", "word", "text", "tokens", "probability"}
    assert banned["prompt_tokens"] > 0
    assert banned["completion_tokens"] == len(banned["token_ids"])


def test_finish_reasons(sfgen: Sfgen) -> None:
    assert record(sfgen, *GEN, "-r", "ab")["finish_reason"] == "complete"
    assert {record(sfgen, *GEN, "-r", "a|ab", "--seed", str(seed))["finish_reason"] for seed in range(9)} == {
        "complete",
        "end_token",
    }
    assert record(sfgen, *GEN, "--max-tokens", "2", "--seed", "1")["finish_reason"] == "limit"
    assert record(sfgen, *BAN, "--words", "x", "--seed", "1")["finish_reason"] == "limit"


def test_with_a_pattern_the_limit_never_cuts(sfgen: Sfgen) -> None:
    for limit in range(1, 9):
        done = sfgen(*GEN, "-r", "(abc|defg)+", "--max-tokens", str(limit), "--seed", str(limit), "--json")
        if limit < 3:
            assert done.code == 1
        else:
            assert re.fullmatch("(abc|defg)+", done.records[0]["text"])
            assert done.records[0]["finish_reason"] in ("complete", "end_token")


def test_stdout_is_for_data_and_stderr_for_people(sfgen: Sfgen) -> None:
    done = sfgen("ban", "--words", "talk,listen", "--seed", "1", "--json", "Can we talk?")
    assert len(done.records) == 1
    assert done.err.startswith("sfgen: ")
    assert sfgen("ban", "--words", "talk,listen", "--seed", "1", "--quiet", "Can we talk?").err == ""
    assert sfgen("gen", "-q", "-r", "a(", "x").err != ""


# ---- check, and exit codes ------------------------------------------------------------------------------------------


def test_check_tells_whether_texts_match(sfgen: Sfgen) -> None:
    assert sfgen("check", "--regex", "a+", "--text", "aa", "--text", "a").code == 0
    done = sfgen("check", "--regex", "a+", "--text", "aab")
    assert (done.code, "character 3" in done.out) == (1, True)


def test_exit_codes(sfgen: Sfgen) -> None:
    assert sfgen(*GEN, "-r", "a").code == 0
    assert sfgen(*GEN, "-r", "a(").code == 1
    assert sfgen("gen", "-m", "/no/such/model", "x").code == 1
    assert sfgen(*GEN, "-r", "a{9}", "--max-tokens", "3").code == 1
    assert sfgen(*GEN, "--no-such-option").code == 2


def test_ctrl_c_is_130(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfgen_cli.commands.gen.run", interrupted)
    done = sfgen(*GEN, "x")
    assert (done.code, done.err) == (130, "sfgen: interrupted\n")


def test_the_version_and_python_m(sfgen: Sfgen) -> None:
    from sfgen import __version__

    assert sfgen("--version").out == f"sfgen {__version__}\n"
    command = [sys.executable, "-m", "sfgen_cli", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"sfgen {__version__}\n"
