"""Records that say themselves how they are done, and keys that are only passed on."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import SmallModel, timeless, written
from tests.support.running.tried import tried

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import ForeignOutput, SfgenError
from sfgen.jobs.own_jobs import LastUsed
from sfgen.jobs.prompt_record import Instructions

SAMPLER = Sampler(1.0, seed=5)
JOB = Job("uniform", GenerationConfig(index="[0-9]{4}", sampler=SAMPLER, max_tokens=40))

OWN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"regex": "[a-f]{3}"}, {"index": "[a-f]{3}"}),
    ({"choices": ["hot", "cold", "hot"]}, {"index": sfgen.Dfa.from_choices(["hot", "cold"])}),
    ({"schema": {"enum": ["a", {"b": 1}]}}, {"index": sfgen.JsonSchema({"enum": ["a", {"b": 1}]})}),
    ({"schema": "age (1 | 2)"}, {"index": sfgen.JsonSchema("age (1 | 2)")}),
    ({"grammar": 'root ::= "a" root | "b"'}, {"index": sfgen.Grammar.from_gbnf('root ::= "a" root | "b"')}),
    ({"grammar": 'start: "a" start | "b"'}, {"index": sfgen.Grammar.from_lark('start: "a" start | "b"')}),
    ({"ban": ["7*"]}, {"banned": ["7*"]}),
    ({"seed": 99}, {"sampler": Sampler(1.0, seed=99)}),
    ({"max_tokens": 30}, {"max_tokens": 30}),
    (
        {"regex": "[a-f]{3}", "ban": ["a*"], "seed": 3},
        {"index": "[a-f]{3}", "banned": ["a*"], "sampler": Sampler(1.0, 3)},
    ),
    ({}, {}),
    ({"regex": "[a-f]{3}", "schema": None, "seed": None}, {"index": "[a-f]{3}"}),
    ({"substring": "to be or"}, {"index": sfgen.Substring("to be or")}),
    ({"substring": {"text": "to be or", "unit": "word"}}, {"index": sfgen.Substring("to be or", "word")}),
]
"""What a record says, and the same as parameters."""


def alone(prompt: str, line: int, changes: dict[str, Any]) -> str:
    """The text of a run of its own."""
    config = {"sampler": Sampler(1.0, seed=5 + line - 1), **changes}
    return sfgen.generate("uniform", prompt, replace(JOB.config, **config)).text


@pytest.mark.parametrize("batch_size", [1, 4])
def test_each_record_is_done_as_it_says(batch_size: int) -> None:
    prompts: list[Any] = [{"prompt": "P ", "sfgen": own} for own, _ in OWN] + ["P "]
    records = list(sfgen.job_records(JOB, prompts, batch_size=batch_size))
    changes = [changes for _, changes in OWN] + [{}]
    assert [record.get("error") for record in records] == [None] * len(records)
    assert [record["text"] for record in records] == [alone("P ", line, one) for line, one in enumerate(changes, 1)]
    assert [record.get("pattern") for record in records[:2]] == ["[a-f]{3}", None]
    assert records[1]["choices"] == ["hot", "cold", "hot"]
    assert records[2]["value"] == json.loads(records[2]["text"])
    assert records[6]["banned"]["words"] == ["7*"]
    assert (records[7]["seed"], records[8]["options"]["max_tokens"]) == (99, 30)


def test_the_files_of_one_process_and_of_two_are_the_same(tmp_path: Path) -> None:
    prompts = [{"prompt": f"P {number} ", "sfgen": OWN[number % len(OWN)][0], "n": number} for number in range(40)]
    for workers in (1, 2):
        sfgen.run_job(JOB, prompts, tmp_path / f"{workers}", workers=workers, batch_size=3)
    assert timeless((tmp_path / "1").read_bytes()) == timeless((tmp_path / "2").read_bytes())
    assert all("text" in record for record in written((tmp_path / "1").read_bytes()))


def test_free_text_where_nobody_asks_for_anything() -> None:
    job = Job(SmallModel(), GenerationConfig(sampler=SAMPLER, max_tokens=6))
    free, own = sfgen.job_records(job, ["a", {"prompt": "a", "sfgen": {"regex": "[ab]{2}"}}])
    assert len(free["token_ids"]) == 6 or free["finish_reason"] == "end_token"
    assert sfgen.Dfa.from_regex("[ab]{2}").accepts(own["text"])


def test_ban_takes_the_place_of_that_of_all_and_is_compared_in_the_same_way() -> None:
    usual = sfgen.BannedWords(["1*"], match="substring", ignore_case=False)
    job = Job("uniform", GenerationConfig(index="[1aA]{6}", banned=usual, sampler=SAMPLER))
    prompts: list[Any] = [{"prompt": "x", "sfgen": {"ban": ban}} for ban in (["a"], []) for _ in range(8)]
    records = list(sfgen.job_records(job, prompts))
    assert all("a" not in record["text"] for record in records[:8])
    assert {"1", "A"} <= set("".join(record["text"] for record in records[:8]))
    assert records[0]["banned"]["match"] == "substring"
    assert {"1", "a", "A"} <= set("".join(record["text"] for record in records[8:]))
    assert "banned" not in records[8]


def test_samples_of_a_record_with_a_seed_are_drawn_from_it_on() -> None:
    job = replace(JOB, samples=3)
    records = list(sfgen.job_records(job, ["a", {"prompt": "a", "sfgen": {"seed": 50}}, "a"]))
    assert [record["seed"] for record in records] == [5, 6, 7, 50, 51, 52, 11, 12, 13]


def test_choices_of_a_record_are_scored() -> None:
    job = Job(SmallModel(), choices=["a", "b"])
    prompts: list[Any] = [
        "a",
        {"prompt": "a", "sfgen": {"choices": ["h", "ab"]}},
        {"prompt": "a", "sfgen": {"regex": "a"}},
    ]
    first, own, refused = sfgen.job_records(job, prompts)
    assert first["choices"] == ["a", "b"]
    assert own["choices"] == ["h", "ab"]
    assert [score["text"] for score in own["scores"]] == [
        one.text for one in sfgen.score(SmallModel(), "a", ["h", "ab"])
    ]
    assert "choices are scored" in refused["error"]


class Chatting(SmallModel):
    """A model with a chat template that is easy to see."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def chat(self, messages: Any) -> list[int]:
        self.asked.append(
            messages if isinstance(messages, str) else [(one["role"], one["content"]) for one in messages]
        )
        return [0]


def test_messages_take_the_place_of_those_of_all() -> None:
    model = Chatting()
    system, user = ({"role": role, "content": f"{role} a"} for role in ("system", "user"))
    job = Job(model, GenerationConfig(index="[ab]"), messages=[{"role": "system", "content": "all"}])
    prompts: list[Any] = [
        "a",
        {"prompt": "b", "sfgen": {"messages": [system]}},
        {"sfgen": {"messages": [system, user]}},
        {"prompt": "c", "sfgen": {"messages": [user, {"role": "assistant", "content": "d"}]}},
    ]
    assert [record.get("error") for record in sfgen.job_records(job, prompts)] == [None] * 4
    assert model.asked == [
        [("system", "all"), ("user", "a")],
        [("system", "system a"), ("user", "b")],
        [("system", "system a"), ("user", "user a")],
        [("user", "user a"), ("assistant", "d"), ("user", "c")],
    ]


@pytest.mark.parametrize(
    ("own", "what"),
    [
        (7, '"sfgen" must be an object'),
        ([], '"sfgen" must be an object'),
        ({"regx": "a"}, "has the key 'regx'"),
        ({"index": "a.safetensors"}, "has the key 'index'"),
        ({"regex": "a", "choices": ["a"]}, "regex and choices cannot be used together"),
        ({"regex": 7}, 'regex in "sfgen" must be a text'),
        ({"regex": "a("}, "pattern"),
        ({"choices": "a"}, 'choices in "sfgen" must be a list'),
        ({"choices": []}, "is an empty list"),
        ({"choices": ["a", 7]}, "which is not text"),
        ({"schema": 7}, 'schema in "sfgen" must be'),
        ({"schema": {"type": "nonsense"}}, "nonsense"),
        ({"schema": {"$ref": "other.json"}}, "other.json"),
        ({"schema": "person.json"}, "schema: it is the name of a file"),
        ({"grammar": "root ::= ("}, "grammar"),
        ({"grammar": "%import .other (rule)\nstart: rule"}, "import"),
        ({"substring": 7}, 'substring in "sfgen" must be a document'),
        ({"substring": {"unit": "word"}}, 'substring in "sfgen" must be a document'),
        ({"substring": {"text": "a", "file": "b"}}, "has the key 'file'"),
        ({"substring": ""}, "the document has no characters"),
        ({"ban": "talk"}, 'ban in "sfgen" must be a list'),
        ({"ban": [""]}, "empty"),
        ({"seed": -1}, 'seed in "sfgen" must be at least 0'),
        ({"seed": True}, 'seed in "sfgen" must be a whole number'),
        ({"max_tokens": 1.5}, 'max_tokens in "sfgen" must be a whole number'),
        ({"max_tokens": 1}, "shortest match"),
        ({"messages": []}, "is an empty list"),
        ({"messages": [{"role": "robot", "content": "a"}]}, "$[0].role is 'robot'"),
        ({"messages": [{"role": "user", "content": "a"}]}, "no chat template"),
    ],
)
def test_what_means_nothing_is_an_error_of_its_record(own: Any, what: str, tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text("{}")
    prompts: list[Any] = ["a", {"prompt": "b", "id": 7, "sfgen": own}, "c"]
    summary = sfgen.run_job(JOB, prompts, tmp_path / "texts")
    assert (summary.written, summary.failed) == (2, 1)
    first, failed, last = written((tmp_path / "texts").read_bytes())
    assert what in failed["error"]
    assert (failed["id"], failed["line"], last["text"]) == (7, 2, alone("c", 3, {}))
    assert "text" in first
    again = sfgen.run_job(JOB, prompts, tmp_path / "texts", resume=True)
    assert (again.kept, again.kept_failed, again.written) == (3, 1, 0)


def test_messages_without_a_user_and_seeds_where_nothing_is_drawn() -> None:
    system = [{"role": "system", "content": "a"}]
    prompts: list[Any] = [{"sfgen": {"messages": system}}, {"prompt": "a", "sfgen": {"seed": 7}}]
    first, second = sfgen.job_records(Job("uniform", GenerationConfig(index="a")), prompts)
    assert "no message of a user" in first["error"]
    assert "nothing is drawn" in second["error"]


def test_stop_and_a_constraint_of_a_record_cannot_both_say_where_to_end() -> None:
    job = Job("uniform", GenerationConfig(stop=["x"], max_tokens=3))
    free, own = sfgen.job_records(job, ["a", {"prompt": "a", "sfgen": {"regex": "a"}}])
    assert "text" in free
    assert "stop strings" in own["error"]


# ---- going on ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"regex": "[a-f]{4}"},
        {"regex": "[a-f]{3}", "seed": 1},
        {"regex": "[a-f]{3}", "max_tokens": 9},
        {"ban": ["b"]},
        {},
    ],
)
def test_what_a_record_says_is_compared(tmp_path: Path, other: dict[str, Any]) -> None:
    prompts: list[Any] = ["a", {"prompt": "b", "sfgen": {"regex": "[a-f]{3}"}}]
    sfgen.run_job(JOB, prompts, tmp_path / "texts")
    data = (tmp_path / "texts").read_bytes()
    assert sfgen.run_job(JOB, prompts, tmp_path / "texts", resume=True).kept == 2
    with pytest.raises(ForeignOutput, match="line 2, is not of this run: "):
        sfgen.run_job(JOB, ["a", {"prompt": "b", "sfgen": other}], tmp_path / "texts", resume=True)
    assert (tmp_path / "texts").read_bytes() == data


def test_what_is_passed_on_is_compared(tmp_path: Path) -> None:
    sfgen.run_job(JOB, [{"prompt": "a", "city": "Oslo"}], tmp_path / "texts")
    assert written((tmp_path / "texts").read_bytes())[0]["input"] == {"city": "Oslo"}
    with pytest.raises(ForeignOutput, match=r'its input is \{"city": "Oslo"\}, and now it would be'):
        sfgen.run_job(JOB, [{"prompt": "a", "city": "Rome"}], tmp_path / "texts", resume=True)


def test_the_seed_of_a_run_is_not_taken_from_a_record_with_its_own(tmp_path: Path) -> None:
    from sfgen_cli.shell.ending import run

    lines = [{"prompt": "a", "sfgen": {"seed": 77}}, {"prompt": 7}, {"prompt": "b"}, {"prompt": "c"}]
    (tmp_path / "prompts").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = ["--input", str(tmp_path / "prompts"), "--output", str(tmp_path / "texts"), "-q"]
    command = ["gen", "-m", "uniform", "-r", "[a-z]{9}", "-t", "1", *files]
    assert run(command) == 1
    whole = (tmp_path / "texts").read_bytes()
    first = written(whole)[2]["seed"]
    (tmp_path / "texts").write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    assert run([*command, "--resume"]) == 1
    assert (tmp_path / "texts").read_bytes() == whole
    assert written(whole)[3]["seed"] == first + 1


def test_old_lines_are_not_taken_for_those_of_a_record_that_says_how_it_is_done(tmp_path: Path) -> None:
    sfgen.run_job(JOB, ["a"], tmp_path / "texts", fields="all")
    line = written((tmp_path / "texts").read_bytes())[0]
    del line["run"]
    (tmp_path / "texts").write_text(json.dumps(line) + "\n")
    assert sfgen.run_job(JOB, ["a"], tmp_path / "texts", resume=True).kept == 1
    with pytest.raises(ForeignOutput, match="before records could have instructions"):
        sfgen.run_job(JOB, [{"prompt": "a", "sfgen": {}}], tmp_path / "texts", resume=True)


# ---- once each -----------------------------------------------------------------------------------------------------


@tried("many")
@given(
    keys=st.lists(st.integers(0, 5), min_size=20, max_size=60),
    most=st.integers(1, 5),
    most_bytes=st.sampled_from([1, 20, 30, 2**20]),
)
def test_what_was_used_last_is_kept(keys: list[int], most: int, most_bytes: int) -> None:
    """As a list does it that is searched from its end."""

    def make(key: int) -> int:
        if key == 3:
            raise SfgenError("three")
        return -key

    cache = LastUsed(make, lambda value: 5 - value, most=most, most_bytes=most_bytes)
    kept: list[int] = []
    made = 0
    for key in keys:
        if key in kept:
            kept.remove(key)
        else:
            made += 1
        kept.append(key)
        while len(kept) > 1 and (len(kept) > most or sum(2**14 if one == 3 else 5 + one for one in kept) > most_bytes):
            kept.pop(0)
        if key == 3:
            with pytest.raises(SfgenError, match="three"):
                cache.of(key)
        else:
            assert cache.of(key) == -key
        assert cache.made == made


def test_a_thousand_constraints_are_compiled_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = sfgen.Dfa.from_regex

    def from_regex(pattern: str) -> sfgen.Dfa:
        made.append(pattern)
        return real(pattern)

    monkeypatch.setattr(sfgen.Dfa, "from_regex", from_regex)
    patterns = [f"{number:03}[ab]" for number in range(1000)]
    order = [pattern for _ in range(3) for pattern in random.Random(7).sample(patterns, 1000)]
    prompts = [{"prompt": "P", "sfgen": {"regex": pattern}} for pattern in order]
    records = list(sfgen.job_records(Job("uniform", GenerationConfig(sampler=SAMPLER)), prompts, batch_size=8))
    assert [record["text"][:3] for record in records] == [pattern[:3] for pattern in order]
    assert sorted(made) == patterns


def test_instructions_are_equal_if_they_say_the_same() -> None:
    one, other = (Instructions.of({"schema": {"type": "string"}, "ban": ["a"]}) for _ in "ab")
    assert one == other
    assert one.digest == other.digest
    assert one.digest != Instructions.of({"schema": {"type": "string"}}).digest


def test_a_trace_tells_what_each_text_had_to_match(tmp_path: Path) -> None:
    prompts: list[Any] = ["a", {"prompt": "b", "sfgen": {"regex": "[ab]", "ban": ["x"]}}]
    sfgen.run_job(JOB, prompts, tmp_path / "texts", trace=tmp_path / "trace")
    scenes = [recording.scene for recording in sfgen.read_trace(tmp_path / "trace").recordings]
    assert [(scene.pattern, scene.words) for scene in scenes] == [("[0-9]{4}", ()), ("[ab]", ("x",))]


def test_values_that_are_no_json_are_an_error_of_their_record(tmp_path: Path) -> None:
    prompts: list[Any] = [
        {"prompt": "a", "x": object()},
        {"prompt": "a", "id": {1}},
        {"prompt": "a", "x": float("nan")},
    ]
    summary = sfgen.run_job(JOB, prompts, tmp_path / "texts")
    assert (summary.written, summary.failed) == (0, 3)


class NoMemory(SmallModel):
    """A model that has no memory for one prompt."""

    def encode(self, text: str) -> list[int]:
        if text == "c":
            raise MemoryError
        return super().encode(text)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_where_memory_runs_out_the_other_records_go_on(batch_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sfgen.Dfa.from_regex

    def from_regex(pattern: str, *args: Any, **options: Any) -> sfgen.Dfa:
        if pattern == "a{9}":
            raise MemoryError
        return real(pattern, *args, **options)

    monkeypatch.setattr(sfgen.Dfa, "from_regex", from_regex)
    job = Job(NoMemory(), GenerationConfig(sampler=SAMPLER, max_tokens=6))
    asked = [{"regex": "a{2}"}, {"regex": "a{9}"}, {"regex": "a{3}"}, {"regex": "a{9}"}, {"regex": "a{4}"}]
    prompts: list[Any] = [*({"prompt": "b", "sfgen": own} for own in asked), {"prompt": "c"}, {"prompt": "a"}]
    records = list(sfgen.job_records(job, prompts, batch_size=batch_size))
    said = "there is not enough memory for "
    demands, record = said + "what the record demands", said + "the record"
    errors = [record.get("error") for record in records]
    assert errors == [None, demands, None, demands, None, record, None]
    assert [record.get("text") for record in records[:5]] == ["aa", None, "aaa", None, "aaaa"]


def test_where_memory_runs_out_in_a_forward_pass_the_next_record_goes_on() -> None:
    model = SmallModel()
    usual = model.score

    def score(token_ids: tuple[int, ...]) -> Any:
        if len(token_ids) > 6:
            raise MemoryError
        return usual(token_ids)

    model.score = score
    job = Job(model, GenerationConfig(index="[ab]{2}", sampler=SAMPLER))
    long = {"prompt": "ab c", "sfgen": {"regex": "[ab]{8}"}}
    records = list(sfgen.job_records(job, ["a", long, "b"], batch_size=1))
    assert ["error" in record for record in records] == [False, True, False]
    assert str(records[1]["error"]).startswith("there is not enough memory")
