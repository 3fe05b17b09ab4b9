"""What is sent to another process is the same there: constraints, vocabularies, bans, samplers, errors."""

from __future__ import annotations

import copy
import gc
import math
import multiprocessing
import pickle
import re
import weakref
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.random_models import save
from tests.support.patterns.random_patterns import small_patterns
from tests.support.processes.pickled import fields, masks_along, told

import sfgen
from sfgen import BannedWords, Dfa, Grammar, Index, JsonSchema, Sampler, Substring, Vocabulary
from sfgen.errors import ModelError, SfgenError, VocabularyError
from sfgen.grammar.language.language import Language
from sfgen.models.tiny.model import TinyModel
from sfgen.models.uniform import UniformModel
from sfgen.models.zip_model import ZipModel
from sfgen.trace import read_trace

WORDS = [b"ab", b"abc", b'": "', b'", "', b"12", b"3.1", b"true", b'{"', b"((", b"\xc3", b"\xa9", "é".encode()]
TOKENS = [*(bytes([byte]) for byte in range(256)), *WORDS, None, None]
VOCABULARY = Vocabulary(TOKENS, [len(TOKENS) - 2], names={len(TOKENS) - 1: "<pad>"})
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[a-c]+$"}, "size": {"type": "number", "multipleOf": 0.1}},
    "required": ["name"],
}
LARK = 'start: NAME "(" [start ("," start)*] ")" | NAME\nNAME: /[a-z]+/\n%ignore " "'


@dataclass(frozen=True)
class Point:
    """A type that pydantic makes a schema of."""

    x: int
    label: str


def imported(folder: Path) -> Grammar:
    """A grammar with a part in a file that is gone when it is unpickled."""
    (folder / "names.lark").write_text("NAME: /[a-d]+/\n")
    grammar = Grammar.from_lark('%import .names (NAME)\nstart: NAME ("," NAME)*', directory=folder, origin="x.lark")
    (folder / "names.lark").unlink()
    return grammar


CONSTRAINTS: dict[str, Callable[[Path], Any]] = {
    "pattern": lambda _: Dfa.from_regex(r"(?i)[a-c]{1,5}é?(, [0-9]+)*"),
    "choices": lambda _: Dfa.from_choices(["hot", "cold", "hotel"]),
    "of automata": lambda _: Dfa.from_regex("[a-z]+") - Dfa.from_choices(["ab"]),
    "schema": lambda _: JsonSchema(SCHEMA, order="any", spacing="any"),
    "schema, recursive": lambda _: JsonSchema({"type": "array", "items": {"$ref": "#"}}, spacing="compact"),
    "schema of a type": lambda _: JsonSchema(Point),
    "schema without words": lambda _: JsonSchema("name").without_banned(BannedWords(["ab"])),
    "GBNF": lambda _: Grammar.from_gbnf('list ::= "(" (list | [0-9]+)* ")"', "list", origin="list.gbnf"),
    "Lark": lambda _: Grammar.from_lark(LARK, max_blanks=2),
    "Lark, imports": imported,
    "quotation": lambda _: Substring("ab a\r\nba é", "word", most=2),
}


def again(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("copied", [again, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_an_index_allows_the_same_after_it_was_pickled(kind: str, copied: Callable[[Any], Any], tmp_path: Path) -> None:
    index = Index(CONSTRAINTS[kind](tmp_path), VOCABULARY)
    twin = copied(index)
    assert type(twin) is type(index)
    assert twin is not index
    assert twin.vocabulary is VOCABULARY
    assert repr(twin) == repr(index)
    for seed in range(10):
        assert masks_along(twin, seed) == masks_along(index, seed)


def test_indexes_are_the_same_in_another_process(tmp_path: Path) -> None:
    indexes = [Index(make(tmp_path), VOCABULARY) for kind, make in CONSTRAINTS.items()]
    pickles = [pickle.dumps(index) for index in indexes]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        met, vocabularies = pool.submit(told, pickles, pickle.dumps(VOCABULARY)).result()
        error = pool.submit(Dfa.from_regex, "a(").exception()
    assert met == [[step for seed in range(6) for step in masks_along(index, seed)] for index in indexes]
    assert all(len(steps) > 6 for steps in met)
    assert vocabularies == 1
    assert isinstance(error, sfgen.errors.PatternError)
    assert error.position == 1


@given(small_patterns("a", "[b-d]", "é", ".", r"\b"))
def test_an_automaton_is_the_same(pattern: str) -> None:
    try:
        dfa = Dfa.from_regex(pattern)
    except SfgenError:
        return
    twin = again(dfa)
    assert twin.pattern == pattern
    for name in ("transitions", "byte_classes", "accepting"):
        array, other = getattr(twin, name), getattr(dfa, name)
        assert array.dtype == other.dtype
        assert np.array_equal(array, other)
        assert not array.flags.writeable


@pytest.mark.parametrize("kind", ["schema", "schema, recursive", "schema of a type", "GBNF", "Lark", "Lark, imports"])
def test_a_constraint_is_equal(kind: str, tmp_path: Path) -> None:
    constraint = CONSTRAINTS[kind](tmp_path)
    twin = again(constraint)
    assert twin == constraint
    assert hash(twin) == hash(constraint)
    assert twin.to_dict() == constraint.to_dict()
    assert twin.shortest() == constraint.shortest()
    if isinstance(constraint, Grammar):
        assert twin.origin == constraint.origin
        assert twin.failure("!!") == constraint.failure("!!")
    else:
        assert twin.validate("[1, 2") == constraint.validate("[1, 2")
        assert twin.document == constraint.document


def test_a_schema_of_a_type_still_makes_instances() -> None:
    assert again(JsonSchema(Point)).parsed('{"x": 1, "label": "a"}') == Point(1, "a")


def test_a_saved_index_is_pickled_without_its_file(tmp_path: Path) -> None:
    path = tmp_path / "index"
    Index(Dfa.from_regex("[ab]{2,6}"), VOCABULARY).save(path)
    index = Index.load(path, VOCABULARY)
    twin = again(index)
    path.unlink()
    assert masks_along(twin, 1) == masks_along(index, 1)


def test_no_masks_are_in_a_pickle(tmp_path: Path) -> None:
    for make in CONSTRAINTS.values():
        index: Any = Index(make(tmp_path), VOCABULARY)
        size = len(pickle.dumps(index))
        if hasattr(index, "build"):
            index.build()
        for seed in range(10):
            masks_along(index, seed)
        assert len(pickle.dumps(index)) == size
        assert size < sum(map(len, filter(None, TOKENS))) + 10_000


# ---- vocabularies --------------------------------------------------------------------------------------------------


@given(st.lists(st.none() | st.binary(max_size=3), min_size=1), st.data())
def test_a_vocabulary_is_equal(tokens: list[bytes | None], data: Any) -> None:
    ends = data.draw(st.sets(st.integers(0, len(tokens) - 1)))
    vocabulary = Vocabulary(tokens, ends, names={0: "<first>"})
    pickled = pickle.dumps(vocabulary)
    assert pickle.loads(pickled) is vocabulary  # the one that is alive
    expected = vocabulary.tokens, vocabulary.end_token_ids, dict(vocabulary.names), vocabulary.fingerprint
    del vocabulary
    gc.collect(0)
    twin = pickle.loads(pickled)
    assert (twin.tokens, twin.end_token_ids, dict(twin.names), twin.fingerprint) == expected


def test_one_that_is_alive_is_taken_if_its_names_are_the_same() -> None:
    named = Vocabulary([b"of this test", None], [1], names={1: "<eos>"})  # other tests' may still be alive
    pickled = pickle.dumps(named)
    other = Vocabulary([b"of this test", None], [1])
    assert pickle.loads(pickled) is named
    assert pickle.loads(pickle.dumps(other)) is other


def test_a_vocabulary_goes_when_nobody_has_it() -> None:
    vocabulary = again(Vocabulary([b"only", b"here"]))
    gone = weakref.ref(vocabulary)
    del vocabulary
    gc.collect()
    assert gone() is None


def test_a_damaged_pickle_of_a_vocabulary_is_refused() -> None:
    pickled = pickle.dumps(Vocabulary([b"spam", b"eggs"]))
    with pytest.raises(VocabularyError, match="do not have its fingerprint"):
        pickle.loads(pickled.replace(b"spam", b"scam"))


# ---- what else a job needs -----------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["ab", "b a", "c*", "é"]), min_size=1), st.text("abcé !", max_size=12))
def test_bans_find_the_same(words: list[str], text: str) -> None:
    banned = BannedWords(words, ["a.c"], "prefix", ignore_case=False, normalize=True, allow=["ab c"])
    twin = again(banned)
    assert repr(twin) == repr(banned)
    assert twin.matcher().advance(text.encode()) == banned.matcher().advance(text.encode())
    assert (twin.words, twin.patterns, twin.allow) == (banned.words, banned.patterns, banned.allow)


def test_a_seed_that_was_drawn_is_kept() -> None:
    sampler = Sampler(temperature=0.7, top_k=3)
    assert again(sampler) == sampler
    assert again(sampler).seed == sampler.seed is not None


@pytest.mark.parametrize("model", [TinyModel(), UniformModel(VOCABULARY)], ids=["tiny", "uniform"])
def test_small_models_give_the_same_scores(model: Any) -> None:
    expected = model.session().extend(model.encode("The sea"))  # which reads the weights
    pickled = pickle.dumps(model)
    assert len(pickled) < 10_000
    twin = pickle.loads(pickled)
    assert np.array_equal(twin.session().extend(twin.encode("The sea")), expected)
    assert twin.vocabulary == model.vocabulary


def test_other_models_say_what_to_send_instead(tmp_path: Path) -> None:
    for model in (ZipModel("the old captain", name="zip:captain.txt"), sfgen.load_model(save("llama", tmp_path))):
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(ModelError, match=re.escape(f"the model {model.name} cannot be pickled")) as caught:
                copied(model)
            assert "load_model(name)" in caught.value.hint


@pytest.mark.parametrize(
    "cause",
    [
        lambda: Dfa.from_regex("a(b"),
        lambda: Dfa.from_regex("(a{1000}){1000}"),
        lambda: Dfa.from_choices([]),
        lambda: JsonSchema('{"type": "strin"}'),
        lambda: JsonSchema({"type": "integer", "minimum": 2, "maximum": 1}).shortest(),
        lambda: JsonSchema("x int").parsed("{"),
        lambda: JsonSchema(Point).parsed("{}"),
        lambda: Grammar.from_gbnf("root ::= other", origin="a.gbnf"),
        lambda: Grammar.from_gbnf('root ::= one\none ::= root "a"'),
        lambda: Grammar.from_gbnf("root ::= [a-z]{4000000}"),
        lambda: Grammar.from_lark("start: NAME"),
        lambda: BannedWords([]),
        lambda: Index(Dfa.from_regex("a{9}"), VOCABULARY).guide(2),
        lambda: Index(Dfa.from_regex("b"), Vocabulary([b"a"])),
        lambda: Index.load("no-such-file", VOCABULARY),
        lambda: sfgen.load_model("/no/such/model"),
        lambda: Sampler(temperature=math.nan),
        lambda: read_trace("no-such-file"),
    ],
)
def test_errors_say_the_same(cause: Callable[[], object]) -> None:
    with pytest.raises(SfgenError) as caught:
        cause()
    for copied in (again, copy.copy, copy.deepcopy):
        assert fields(copied(caught.value)) == fields(caught.value)


def test_a_language_of_somebody_else_is_pickled_as_it_is() -> None:
    language: Language = Grammar.from_gbnf('root ::= "a"')._language
    assert again(Grammar(language)).accepts("a")
