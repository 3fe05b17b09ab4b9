"""Named groups of a pattern: what ``re`` says of the finished text, in results, records and traces."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import RandomPattern, compiled
from tests.support.patterns.texts import short_texts
from tests.support.running.tried import tried

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import PatternError
from sfgen.groups import Group
from sfgen.reference import FsmIndex, NaiveIndex
from sfgen.regex import oracle
from sfgen.trace import Scene, TraceFile, tracing

PERSON = "(?P<name>(?P<first>[A-Z])[a-z]{2,9}) is (?P<age>[1-9][0-9]?)(?P<more> or older)?"
ENDLESS = "(?P<all>(a+)+b|a+c)", "a" * 40 + "c"


def expected(pattern: str, text: str) -> tuple[Group, ...] | None:
    """The groups by ``re`` itself."""
    found = compiled(pattern).fullmatch(text)
    if found is None:
        return None
    spans = {name: found.span(name) if found[name] is not None else (None, None) for name in found.groupdict()}
    return tuple(Group(name, *span) for name, span in spans.items())


@tried("some")
@given(seed=st.integers(0, 2**32))
def test_groups_of_random_patterns_are_those_of_re(seed: int) -> None:
    random = Random(seed)
    random_pattern = RandomPattern(random)
    try:
        dfa = sfgen.Dfa.from_regex(random_pattern.text)
        compiled(random_pattern.text)
    except (PatternError, re.error):
        assume(False)
    letters = random_pattern.letters[:3]
    texts = [*short_texts(letters), dfa.shortest().decode()]
    for text in random.sample(texts, min(len(texts), 20)):
        assert dfa.groups(text) == expected(random_pattern.text, text)


@tried("some")
@given(seed=st.integers(0, 1000), banned=st.booleans())
def test_groups_of_a_generated_text(seed: int, banned: bool) -> None:
    words = ["or", "ab*"] if banned else None
    result = sfgen.generate("uniform", "A person: ", index=PERSON, banned=words, sampler=Sampler(1.0, seed))
    found = re.fullmatch(PERSON, result.text)
    assert found is not None
    assert result.groups == found.groupdict()
    assert result.spans == {
        name: None if found[name] is None else found.span(name) for name in ("name", "first", "age", "more")
    }
    assert {result.text[slice(*span)] for span in result.spans.values() if span} <= {*found.groupdict().values()}


def test_offsets_count_characters_of_the_text() -> None:
    result = sfgen.generate("uniform", "Söte ", index="(?u)ßé(?P<sign>😀)(?P<none>x{0})")
    assert result.spans == {"sign": (2, 3), "none": (3, 3)}
    assert result.groups == {"sign": "😀", "none": ""}


def test_properties_are_divided_too() -> None:
    assert sfgen.Dfa.from_regex(r"(?P<capital>\p{Lu})\p{L}+").groups("Äbc") == (Group("capital", 0, 1),)


@pytest.mark.parametrize("index", [None, "[a-z]{3}", sfgen.Dfa.from_choices(["a", "b"]), sfgen.JsonSchema("a int")])
def test_without_named_groups_there_are_none(index: Any) -> None:
    result = sfgen.generate("uniform", "It is ", index=index, max_tokens=9)
    assert (result.named, result.groups, result.spans) == ((), {}, {})


def test_the_engines_for_comparison_tell_the_same() -> None:
    vocabulary = sfgen.load_model("uniform").vocabulary
    pattern = "(?P<letter>[a-c])(?P<digit>[0-9])?"
    for engine in (FsmIndex, NaiveIndex):
        result = sfgen.generate("uniform", "a", index=engine(pattern, vocabulary))
        assert result.named == expected(pattern, result.text)


def test_what_re_cannot_tell_in_time_is_not_known() -> None:
    pattern, text = ENDLESS
    assert oracle.groups(pattern, text, seconds=0.01) is None
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(oracle.groups(pattern, text)))
    thread.start()
    thread.join()
    assert answers == [None]
    (record,) = sfgen.job_records(Job("uniform", index_only(re.escape(text) + "|" + pattern)), ["x"])
    assert "groups" in record


def index_only(pattern: str) -> GenerationConfig:
    return GenerationConfig(index=pattern, max_tokens=60)


def test_a_text_without_a_division_is_told_as_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "groups", lambda *_: None)
    (record,) = sfgen.job_records(Job("uniform", index_only("(?P<a>a)")), ["x"])
    assert record["groups"] is None
    result = sfgen.generate("uniform", "x", index="(?P<a>a)")
    assert (result.named, result.groups, result.spans) == (None, {}, {})


def test_a_run_goes_on_behind_records_with_groups(tmp_path: Path) -> None:
    job, output = Job("uniform", index_only("(?P<a>[a-z]{3})")), tmp_path / "texts"
    sfgen.run_job(job, ["x", "y"], output)
    whole = output.read_bytes()
    output.write_bytes(whole[: whole.index(b"\n") + 1])
    assert sfgen.run_job(job, ["x", "y"], output, resume=True).kept == 1
    assert [json.loads(line)["groups"] for line in output.read_bytes().splitlines()] == [
        json.loads(line)["groups"] for line in whole.splitlines()
    ]


def test_a_trace_keeps_the_groups(tmp_path: Path) -> None:
    with TraceFile(tmp_path / "t") as file, tracing(file, Scene("A ", "uniform", 9999, pattern=PERSON)) as tracer:
        for event in sfgen.stream("uniform", "A ", index=PERSON, sampler=Sampler(1.0, 4)):
            tracer.show(event)
    (recording,) = sfgen.read_trace(tmp_path / "t").recordings
    assert recording.result is not None
    assert recording.result == event.result  # type: ignore[union-attr]
    assert recording.result.groups["name"] == recording.result.text.split(" is ")[0]
