"""Masks made while the model reads: the same texts, made on a thread of their own, and nothing is lost on the way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from itertools import product
from random import Random

import pytest
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.models.vocabularies import BYTES
from tests.support.patterns.random_patterns import RandomPattern, compiled, every_byte

from sfgen import BannedWords, Dfa, Index, Result, Sampler, Vocabulary, generate
from sfgen.errors import IndexFileError, PatternError, SfgenError
from sfgen.index import DfaGuide
from sfgen.protocols import Mask

LETTERS = Vocabulary([*BYTES, b"the", b"talk", b"and", None, None], [259, 260])
MANY = Vocabulary([*LETTERS.tokens[:256], *(bytes(word) for word in product(b"abcdefghijklmnopqrst", repeat=3)), None])


def texts(seed: int, index: Index, banned: BannedWords | None) -> list[Result | str]:
    model = ScriptedModel(index.vocabulary, random_scores(len(index.vocabulary), seed))
    found: list[Result | str] = []
    for number in range(3):
        try:
            sampler = Sampler(1, number)
            found.append(generate(model, [0], index=index, banned=banned, sampler=sampler, max_tokens=30))
        except SfgenError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("seed", range(80))
def test_texts_and_questions_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    pattern = RandomPattern(random).text
    try:
        compiled(pattern)
        dfa = Dfa.from_regex(pattern)
    except (re.error, PatternError):
        return
    vocabulary = every_byte(dfa, random)
    banned = BannedWords(["a", "bc"], match="substring") if random.random() < 0.4 else None
    beside = texts(seed, Index(dfa, vocabulary), banned)
    again = Index(dfa, vocabulary)
    for state in range(len(dfa)):
        again.row(state)
    monkeypatch.setattr("sfgen.decoding.sequence.is_worth_it", lambda *_: False)
    assert beside == texts(seed, Index(dfa, vocabulary), banned)
    monkeypatch.undo()
    assert beside == texts(seed, again, banned)  # also where all masks are there before


def test_a_mask_that_takes_time_is_made_on_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(Dfa.from_regex("[a-z]{1,20} [0-9]{1,5}"), MANY)
    names: dict[int, str] = {}
    mask = DfaGuide.mask

    def recorded(guide: DfaGuide) -> Mask:
        if guide.allows_several() and not guide.is_ready():
            names[guide.state] = threading.current_thread().name
        return mask(guide)

    monkeypatch.setattr(DfaGuide, "mask", recorded)
    model = ScriptedModel(MANY, random_scores(len(MANY), 1))
    result = generate(model, [0], index=index, max_tokens=60)
    assert re.fullmatch("[a-z]{1,20} [0-9]{1,5}", result.text)
    assert names
    assert all(name.startswith("sfgen-masks") for name in names.values())


def test_what_goes_wrong_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(guide: DfaGuide) -> Mask:
        raise IndexFileError("a row of the file is damaged")

    monkeypatch.setattr(DfaGuide, "mask", broken)
    model = ScriptedModel(LETTERS, random_scores(len(LETTERS), 1))
    with pytest.raises(IndexFileError, match="damaged"):
        generate(model, [0], index=Index(Dfa.from_regex("[a-z]{1,20}"), LETTERS))


def test_a_text_that_is_given_up_leaves_the_next_one_alone() -> None:
    class Failing(ScriptedModel):
        def session(self):  # type: ignore[no-untyped-def]
            raise RuntimeError("no such model")

    index = Index(Dfa.from_regex("[a-z]{1,20}"), LETTERS)
    with pytest.raises(RuntimeError, match="no such model"):
        generate(Failing(LETTERS, random_scores(len(LETTERS), 1)), [0], index=index)
    assert generate(ScriptedModel(LETTERS, random_scores(len(LETTERS), 1)), [0], index=index).text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    code = """
import os, sys
from sfgen import Dfa, Index, generate, Vocabulary
from sfgen.models.uniform import UniformModel
model = UniformModel(Vocabulary([bytes([byte]) for byte in range(256)]))
def text(pattern):
    return generate(model, "x", index=Index(Dfa.from_regex(pattern), model.vocabulary)).text
assert text("[a-z]{3}")
if (child := os.fork()) == 0:
    os._exit(0 if text("[0-9]{3}") else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=120, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
