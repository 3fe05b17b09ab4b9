"""The last look at a finished text: what was promised is checked by somebody else than the automaton."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

import numpy as np
import pytest
from tests.support.models.vocabularies import byte_vocabulary

from sfgen import BannedWords, Dfa, Event, Finished, Index, Sampler, TextReleased, Vocabulary, generate, stream
from sfgen.errors import InternalError
from sfgen.models.uniform import UniformModel
from sfgen.protocols import Guide

MODEL = UniformModel(byte_vocabulary())


def index(language: str, pattern: str | None) -> Index:
    """The index of a language that claims to be that of another pattern."""
    return Index(dataclasses.replace(Dfa.from_regex(language), pattern=pattern), MODEL.vocabulary)


def in_a_thread(work: Callable[[], object]) -> BaseException | None:
    """What the work raises when another thread does it."""
    raised: list[BaseException] = []

    def catch() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=catch)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def test_a_text_that_re_refuses_is_a_report_and_no_result() -> None:
    wrong = index("[a-c]{5}", "[x-z]{5}")
    with pytest.raises(InternalError, match="does not match the pattern") as caught:
        generate(MODEL, "Hello", index=wrong, sampler=Sampler(temperature=1, seed=11), max_tokens=9)
    report = str(caught.value)
    facts = ["'[x-z]{5}'", "re.fullmatch", "uniform", MODEL.vocabulary.fingerprint[:16], "257 tokens", "seed 11"]
    assert [fact for fact in [*facts, "at most 9 tokens", "sfgen 0."] if fact not in report] == []


def test_another_thread_looks_too() -> None:
    wrong, right = index("[a-c]{5}", "[x-z]{5}"), index("[a-c]{5}", "[a-z]{5}")
    assert isinstance(in_a_thread(lambda: generate(MODEL, index=wrong)), InternalError)
    assert in_a_thread(lambda: generate(MODEL, index=right)) is None


def test_a_stream_ends_without_a_result() -> None:
    seen: list[Event] = []
    with pytest.raises(InternalError):
        seen.extend(stream(MODEL, index=index("[a-c]{5}", "[x-z]{5}")))
    assert any(isinstance(event, TextReleased) for event in seen)
    assert not any(isinstance(event, Finished) for event in seen)


def test_without_a_pattern_the_automaton_has_the_last_word() -> None:
    assert generate(MODEL, index=index("[a-c]{5}", None)).text == "aaaaa"


@pytest.mark.parametrize("pattern", ["(a+)+b|a+c", "(?:a|aa)+$b|a{40}c"])
def test_a_pattern_that_keeps_re_for_ever_holds_nothing_up(pattern: str) -> None:
    hard = index("a{40}c", pattern)
    assert generate(MODEL, index=hard).text == "a" * 40 + "c"
    assert in_a_thread(lambda: generate(MODEL, index=hard)) is None


def test_a_pattern_that_re_cannot_read_is_left_to_the_automaton() -> None:
    assert generate(MODEL, index=index("[a-c]{5}", "(?P<n")).text == "aaaaa"


def test_bytes_that_are_no_text_are_no_match() -> None:
    right = Dfa.from_regex("[a-b]")
    states = right.transitions[:, right.byte_classes]  # a class for each byte
    swapped = states.copy()
    swapped[:, 0xC3], swapped[:, ord("a")], swapped[:, ord("b")] = states[:, ord("a")], -1, -1
    broken = Dfa(swapped, np.arange(256, dtype=np.uint8), right.accepting, "[a-b]")
    with pytest.raises(InternalError, match=r"(?s)refused by  UTF-8.*\\xc3"):
        generate(MODEL, index=Index(broken, MODEL.vocabulary))


def test_a_banned_word_that_slipped_through_is_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    banned = BannedWords(["ab"], match="substring")
    other = BannedWords(["zz"], match="substring")
    monkeypatch.setattr(BannedWords, "matcher", lambda self, prompt, make=BannedWords.matcher: make(other, prompt))
    with pytest.raises(InternalError, match="the text contains the banned word 'ab'") as caught:
        generate(MODEL, index=index("cabc", "cabc"), banned=banned)
    assert "'cabc'" in str(caught.value)


@dataclasses.dataclass(frozen=True)
class Quoting:
    """A constraint whose texts say more than their characters: ``~`` is read as ``a``."""

    dfa: Dfa

    def accepts(self, text: str | bytes) -> bool:
        return self.dfa.accepts(text)

    def shortest(self) -> bytes:
        return self.dfa.shortest()

    def to_dict(self) -> dict[str, object]:
        return self.dfa.to_dict()

    def refusal(self, data: bytes) -> dict[str, str] | None:
        return self.dfa.refusal(data)

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        return Index(self.dfa, vocabulary).guide(max_tokens)

    def readings(self, text: bytes) -> list[str]:
        return [text.decode().replace("~", "a")]

    def value(self, text: str | bytes) -> int:
        return len(text)


def test_banned_words_are_looked_for_in_what_a_reader_finds() -> None:
    constraint = Quoting(Dfa.from_regex("t~lk|w~lk"))
    result = generate(MODEL, index=constraint, banned=["talk!"], sampler=Sampler(temperature=1, seed=1))
    assert result.value == 4
    alone = Quoting(Dfa.from_regex("t~lk"))
    with pytest.raises(InternalError, match="what is read in the text has the banned word 'talk'"):
        generate(MODEL, index=alone, banned=["talk"])


def test_without_a_constraint_that_tells_there_is_no_value() -> None:
    assert generate(MODEL, index="[0-9]").value is None
    assert generate(MODEL, max_tokens=2).value is None
