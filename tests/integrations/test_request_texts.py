"""The texts of a server's requests, without a server: what is asked for, what is refused, and what may follow."""

from __future__ import annotations

import builtins
import logging
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from unittest import TestCase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.recogniser import Recogniser
from tests.oracles.schema_oracle import Oracle
from tests.support.models.generated import END, OTHER_END, cut, json_vocabulary
from tests.support.running.tried import tried
from tests.support.schemas.named import INTEGER, STRING, a_list, an_object

from sfgen import BannedWords, Vocabulary, integrations
from sfgen.ban import scan
from sfgen.ban.completing_tokens import ForbiddenTokens
from sfgen.errors import (
    BannedWordsError,
    GrammarError,
    NothingBanned,
    PatternError,
    SchemaError,
    SfgenError,
    UsageError,
)
from sfgen.grammar.language.gbnf import read_gbnf
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.index.mask_ids import bits_of_row
from sfgen.integrations.request import ConstraintRequest, MasksTokens, RequestTexts
from sfgen.protocols import Mask

VOCABULARY = json_vocabulary()
SIZE = len(VOCABULARY)
ENDS = [END, OTHER_END]
NODE = an_object({"value": INTEGER, "children": a_list({"$ref": "#/$defs/n"}, maxItems=2)})
TREE = {"$ref": "#/$defs/n", "$defs": {"n": NODE}}
PAIRS = 'root ::= "{" word ":" root? "}"\nword ::= "na" | "name" | [1-3]{1,2} | "é" word'
ASKED: dict[str, dict[str, Any]] = {
    "regex": {"regex": r"[0-3]{2,4}(ab|é)*"},
    "choices": {"choices": ["name", "names", "é 聊"]},
    "schema": {"schema": TREE},
    "short form": {"schema": "name, age int"},
    "different items": {"schema": a_list({"enum": ["na", "name", 10]}, uniqueItems=True, minItems=2)},
    "grammar": {"grammar": PAIRS},
    "start of a grammar": {"grammar": PAIRS, "grammar_start": "word", "grammar_format": "gbnf"},
    "ban": {"ban": ["name", "ab"]},
    "regex and ban": {"regex": "[a-z]{3,7}( [a-z]{2})?", "ban": ["name", "ab"]},
    "schema and ban": {"schema": an_object({"a": {**STRING, "maxLength": 9}}), "ban": ["name"]},
    "grammar and ban": {"grammar": PAIRS, "ban": ["1", "22", "na"]},
    "recursion and ban": {"schema": TREE, "ban": ["10", "value 2", "children 25"]},
}


Logged: TypeAlias = list[logging.LogRecord]


@pytest.fixture
def logged() -> Iterator[Logged]:
    """What sfgen tells the log, which is something."""
    with TestCase().assertLogs("sfgen") as told:
        yield told.records


def request(given: dict[str, Any]) -> ConstraintRequest:
    found = ConstraintRequest.read(given)
    assert found is not None
    return found


def valid(given: dict[str, Any], text: str) -> bool:
    """Whether a text is what was asked for, as others see it."""
    if "regex" in given and re.fullmatch(given["regex"], text, re.ASCII) is None:
        return False
    if "choices" in given and text not in given["choices"]:
        return False
    if given.get("schema") == "name, age int":
        given = {**given, "schema": an_object({"name": STRING, "age": INTEGER}, additionalProperties=False)}
    if "schema" in given and Oracle(given["schema"]).fault(text):
        return False
    if "grammar" in given:
        grammar = read_gbnf(given["grammar"], given.get("grammar_start", "root")).grammar
        if not Recogniser(grammar).accepts(text):
            return False
    return not scan(text, BannedWords(given["ban"])) if "ban" in given else True


def ids(mask: Mask | None) -> list[int]:
    return list(range(SIZE)) if mask is None else np.flatnonzero(bits_of_row(mask)[:SIZE]).tolist()


def write(text: MasksTokens, random: np.random.Generator, limit: int) -> tuple[str, bool]:
    """What a server with random scores makes of a text: it ends at an end token, or is cut at the limit."""
    written: list[int] = []
    while len(written) < limit:
        allowed = ids(text.mask(written))
        token = int(
            random.choice([token for token in allowed if VOCABULARY.tokens[token] or token in (END, OTHER_END)])
        )
        if token in (END, OTHER_END):
            break
        written.append(token)
    data = b"".join(VOCABULARY.tokens[token] or b"" for token in written)
    return data.decode("utf-8", "replace"), len(written) < limit


# ---- what is asked for ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [None, {}, {"temperature": 3}, {"regex": None, "schema": None, "ban": None}])
def test_nothing_is_asked_for(given: dict[str, Any] | None) -> None:
    assert ConstraintRequest.read(given) is None


@pytest.mark.parametrize("given", ASKED.values(), ids=ASKED)
def test_equal_requests_are_equal_and_their_constraint_is_made_once(given: dict[str, Any]) -> None:
    first, second = request(given), request({**given, "other": 1})
    assert first == second
    assert hash(first) == hash(second)
    assert first.constraint is second.constraint
    assert first.banned_words is second.banned_words
    first.check()


def test_the_order_of_names_in_a_schema_is_kept() -> None:
    forwards = request({"schema": an_object({"a": INTEGER, "b": INTEGER})})
    backwards = request({"schema": an_object({"b": INTEGER, "a": INTEGER}, ["a", "b"])})
    assert forwards != backwards
    assert forwards.constraint is not None
    assert forwards.constraint.accepts('{"a": 1, "b": 2}')
    assert not forwards.constraint.accepts('{"b": 2, "a": 1}')


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"regex": "a", "schema": True}, UsageError, "regex and schema cannot be used together"),
        ({"regex": 7}, UsageError, "regex must be a text"),
        ({"choices": 7}, UsageError, "choices must be a text or a list of texts"),
        ({"choices": ["a", 7]}, UsageError, "number 2 of 2 is 7"),
        ({"schema": 7}, UsageError, "schema must be a dictionary, a bool or a text, not 7"),
        ({"schema": {"const": object()}}, UsageError, "schema cannot be written as JSON"),
        ({"schema": {"const": float("nan")}}, UsageError, "schema cannot be written as JSON"),
        ({"ban": {"a": 1}}, UsageError, "ban must be a text or a list of texts"),
        ({"regex": "a("}, PatternError, "missing ), unterminated"),
        ({"regex": "a[^\\s\\S]"}, SfgenError, "the pattern matches no text at all"),
        ({"choices": []}, UsageError, "choices"),
        ({"schema": '{"type": "strin"}'}, SchemaError, "strin"),
        ({"schema": {"type": "string", "pattern": "("}}, SchemaError, "pattern: missing )"),
        ({"schema": {"type": "integer", "minimum": 3, "maximum": 2}}, SchemaError, "schema"),
        ({"schema": False}, SchemaError, "schema"),
        ({"schema": "[1, 2]"}, SchemaError, "an object, true or false"),
        ({"schema": ""}, SchemaError, "an object, true or false"),
        ({"grammar": 7}, UsageError, "grammar must be a text (str), not 7"),
        ({"grammar": PAIRS, "regex": "a"}, UsageError, "regex and grammar cannot be used together"),
        ({"grammar_start": "a"}, UsageError, "grammar_start needs a grammar: it says how one is read"),
        ({"grammar_format": "gbnf"}, UsageError, "grammar_format needs a grammar: it says how one is read"),
        ({"max_blanks": 1, "regex": "a"}, UsageError, "max_blanks needs a grammar: it says how one is read"),
        ({"grammar": PAIRS, "grammar_start": 7}, UsageError, "grammar_start must be a text"),
        ({"grammar": PAIRS, "grammar_format": "ebnf"}, UsageError, "grammar_format is 'ebnf'"),
        ({"grammar": PAIRS, "max_blanks": 1}, UsageError, "GBNF ignores no text"),
        ({"grammar": PAIRS, "grammar_start": "nothing"}, GrammarError, "there is no rule 'nothing'"),
        ({"grammar": 'root ::= "a'}, GrammarError, "at line 1, column 10"),
        ({"grammar": 'root ::= "a" root'}, GrammarError, "there is no text at all"),
        ({"grammar": 'root ::= "a"{999999}'}, GrammarTooLarge, "passes the limit"),
        (
            {"grammar": 'root ::= "(" root ")" | [a-z]+ " yes"', "ban": ["yes"]},
            BannedWordsError,
            "'a yes' has the banned",
        ),
        ({"schema": {"const": [36]}, "ban": ["36"]}, BannedWordsError, "'[36]' has the banned word '36'"),
        ({"ban": []}, NothingBanned, "ban"),
        ({"regex": "talk|listen", "ban": ["talk", "listen"]}, BannedWordsError, "every text"),
        ({"schema": {"const": "talk"}, "ban": ["talk"]}, BannedWordsError, "every text"),
    ],
)
def test_what_means_nothing_is_refused_before_there_is_a_text(given: Any, error: type[SfgenError], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)):
        request(given).check()


def test_a_request_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends a request may not read what lies beside the server, nor learn of it."""
    (tmp_path / "person.json").write_text('{"type": "integer"}', encoding="utf-8")
    (tmp_path / "name").write_text('{"type": "integer"}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    opened: list[Any] = []
    really_open = builtins.open

    def noted(name: Any, *rest: Any, **more: Any) -> Any:
        opened.append(name)
        return really_open(name, *rest, **more)

    monkeypatch.setattr(builtins, "open", noted)
    for name in (str(tmp_path / "person.json"), "./person.json", "name", "secrets.json"):
        try:
            asked = request({"schema": name})
            asked.check()
        except SchemaError:
            continue
        assert asked.constraint is not None
        assert not asked.constraint.accepts("7")
    assert opened == []


# ---- what may follow -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASKED)
def test_texts_that_come_and_go_are_what_was_asked_for(name: str) -> None:
    """Many at once, in different places, over one vocabulary and one index."""
    given, texts = ASKED[name], RequestTexts(VOCABULARY)
    seen = set()
    for seed in range(12):
        text, _ = write(texts.begin(request(given), [], 50), np.random.default_rng(seed), 50)
        assert valid(given, text), text
        seen.add(text)
    assert len(seen) > 2


@pytest.mark.parametrize("name", ASKED)
@tried("few")
@given(data=st.data())
def test_wherever_a_text_goes_its_mask_is_that_of_a_new_one(name: str, data: st.DataObject) -> None:
    """Steps, several at once, proposed ones, ones that are not allowed, and back to any place before."""
    asked, limit = request(ASKED[name]), data.draw(st.sampled_from([None, 40]))
    texts = RequestTexts(VOCABULARY)
    text, written = texts.begin(asked, [], limit), list[int]()
    for _ in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(["more", "more", "more", "back", "any"]))
        if kind == "back":
            written = written[: data.draw(st.integers(0, len(written)))]
        elif kind == "any":
            written = [*written, data.draw(st.integers(0, SIZE - 1))]
        else:
            for _ in range(data.draw(st.integers(1, 3))):
                written = [*written, data.draw(st.sampled_from(ids(text.mask(written)) or [END]))]
        drafted = data.draw(st.lists(st.integers(4, SIZE - 1), max_size=2))
        fresh = RequestTexts(VOCABULARY).begin(asked, [], limit)
        assert ids(text.mask(written, drafted)) == ids(fresh.mask([*written, *drafted]))
        fresh = RequestTexts(VOCABULARY).begin(asked, [], limit)
        assert ids(text.mask(written)) == ids(fresh.mask(written))


def test_texts_of_one_constraint_share_an_index_and_few_are_kept() -> None:
    texts = RequestTexts(VOCABULARY)
    for number in range(100):
        texts.begin(request({"regex": f"a{{{number + 1}}}"}), [], 200)
        texts.begin(request({"regex": f"a{{{number + 1}}}"}), [], 300)
        texts.begin(request({"ban": [f"word{number}"]}), [], 300)
    indexes, bans = texts._index.cache_info(), texts._ban.cache_info()
    assert (indexes.hits, indexes.currsize) == (100, indexes.maxsize)
    assert bans.currsize == bans.maxsize


def test_the_prompt_may_begin_a_banned_word() -> None:
    texts, prompt = RequestTexts(VOCABULARY), cut(VOCABULARY, b"we ta")
    asked = {"choices": ["lk", "ll"], "ban": ["talk"]}
    assert {write(texts.begin(request(asked), prompt, 9), np.random.default_rng(n), 9)[0] for n in range(9)} == {"ll"}
    for seed in range(20):
        found, _ = write(texts.begin(request({"ban": ["talk", "tab"]}), prompt, 9), np.random.default_rng(seed), 9)
        assert scan(found, BannedWords(["talk", "tab"]), prompt="we ta") == []


def test_a_ban_that_knows_too_much_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, asked = RequestTexts(VOCABULARY), request({"ban": ["name"]})
    old = texts.begin(asked, [], 30)
    monkeypatch.setattr(ForbiddenTokens, "is_full", property(lambda _: True))
    new = texts.begin(asked, [], 30)
    assert texts._ban.cache_info().currsize == 1
    assert ids(old.mask([])) == ids(new.mask([]))


# ---- what only vocabulary and prompt can tell ------------------------------------------------------------------------


def test_a_text_for_which_there_is_no_room_is_begun_and_said_to_be_cut(logged: Logged) -> None:
    text = RequestTexts(VOCABULARY).begin(request({"regex": "x{20}"}), [], 5)
    assert write(text, np.random.default_rng(0), 5) == ("xxxxx", False)
    (record,) = logged
    assert record.levelno == logging.WARNING
    assert "will be cut: a limit of 5 tokens is too small" in record.getMessage()


def test_what_no_token_can_write_ends_at_once_and_the_others_go_on(logged: Logged) -> None:
    letters = Vocabulary([b"a", b"b", None], end_token_ids=[2])
    texts = RequestTexts(letters)
    dead = texts.begin(request({"regex": "abc"}), [], 5)
    assert [np.flatnonzero(bits_of_row(mask)).tolist() for mask in (dead.mask([]), dead.mask([0]))] == [[2], [2]]  # type: ignore[arg-type]
    assert "ends at once" in logged[-1].getMessage()
    lives = texts.begin(request({"regex": "ab"}), [], 5)
    assert np.flatnonzero(bits_of_row(lives.mask([0]))).tolist() == [1]  # type: ignore[arg-type]


def test_a_prompt_that_leaves_nothing_ends_the_text(logged: Logged) -> None:
    asked = request({"regex": "lk", "ban": ["talk"]})
    asked.check()
    text = RequestTexts(VOCABULARY).begin(asked, cut(VOCABULARY, b"ta"), 9)
    assert ids(text.mask([])) == ENDS
    assert "every text" in logged[-1].getMessage()


def test_a_token_that_something_else_forced_is_told_once(logged: Logged) -> None:
    text = RequestTexts(VOCABULARY).begin(request({"regex": "ab"}), [], 9)
    (x,) = cut(VOCABULARY, b"x")
    text.mask([], [x])
    assert logged == []  # it was only proposed
    for written in ([x], [x, x], [x, x, x]):
        assert ids(text.mask(written)) == ENDS
    assert [record.getMessage() for record in logged] == [
        f"sfgen: token {x} was written behind 0 tokens, and is not allowed there"
    ]


def test_a_vocabulary_without_an_end_is_refused() -> None:
    with pytest.raises(UsageError, match="has no end token"):
        RequestTexts(Vocabulary([b"a", b"b"]))


# ---- the module that knows vLLM --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["none", "without logits processors", "without a check of requests"])
def test_without_a_vllm_that_fits_it_says_so(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vllm", "vllm.tokenizers", "vllm.v1", "vllm.v1.sample", "vllm.v1.sample.logits_processor"):
        monkeypatch.setitem(sys.modules, name, None if version == "none" else ModuleType(name))
    if version != "none":
        sys.modules["vllm.tokenizers"].cached_tokenizer_from_config = None  # type: ignore[attr-defined]
    if version == "without a check of requests":
        sys.modules["vllm.v1.sample.logits_processor"].AdapterLogitsProcessor = object  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=r"(?s)vLLM cannot be used: .*Install vLLM 0\.32"):
        runpy.run_path(str(Path(integrations.__file__).parent / "vllm.py"))


def test_nothing_else_imports_vllm() -> None:
    code = "import sys, sfgen, sfgen.integrations.request; sys.exit(any('vllm' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


@pytest.mark.parametrize("name", ["choices", "ban"])
def test_a_text_in_place_of_a_list_is_refused(name: str) -> None:
    """As one banned text the words would be allowed."""
    with pytest.raises(UsageError, match=rf"(?s){name} must be a list of texts.*Give \['talk', 'listen'\]"):
        ConstraintRequest.read({name: "talk,listen"})


def test_healing_is_refused_by_name() -> None:
    """The tokens of a prompt are read before a mask is asked for."""
    with pytest.raises(UsageError, match="heal cannot be used with a logits processor"):
        ConstraintRequest.read({"regex": "a", "heal": True})
    with pytest.raises(UsageError, match="heal"):
        ConstraintRequest.read({"regex": "a", "heal": "yes"})
    assert ConstraintRequest.read({"regex": "a", "heal": False}) == ConstraintRequest(regex="a")
