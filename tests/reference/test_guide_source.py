"""What ``stream`` and ``generate`` take for a pattern: anything of the right shape, and it is looked at in the end."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.vocabularies import byte_vocabulary
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Finished, Index, Sampler, TextReleased, Vocabulary, generate, stream
from sfgen.ban import scan
from sfgen.errors import GenerationError, InternalError, LimitTooSmall, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.protocols import Guide, GuideSource, Tokens
from sfgen.reference import FsmIndex, NaiveIndex
from sfgen.regex.oracle import who_refuses

VOCABULARY = byte_vocabulary()
MODEL = UniformModel(VOCABULARY)


@dataclass
class Claiming:
    """Guides through one language that are said to be those of another."""

    language: GuideSource
    pattern: str | None
    accepting: bool = True
    least: int = 0

    @property
    def vocabulary(self) -> Tokens:
        return self.language.vocabulary

    def refusal(self, text: bytes) -> dict[str, str] | None:
        refused_by = who_refuses(self.pattern or "(?s:.*)", text) if self.accepting else "the index itself"
        return None if refused_by is None else {"pattern": self.pattern or "", "refused by": refused_by}

    def guide(self, max_tokens: int | None = None) -> Guide:
        if max_tokens is not None and max_tokens < self.least:
            raise LimitTooSmall("it does not fit")
        return self.language.guide(max_tokens)


SOURCES = [
    lambda pattern: Index(Dfa.from_regex(pattern), VOCABULARY),
    lambda pattern: FsmIndex(pattern, VOCABULARY),
    lambda pattern: NaiveIndex(pattern, VOCABULARY),
]


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_of_guides(source: object) -> None:
    index = source("[x-z]é")  # type: ignore[operator]
    assert index.vocabulary is VOCABULARY
    assert index.pattern == "[x-z]é"
    assert index.accepts("xé".encode())
    assert not index.accepts(b"x\xc3")
    assert generate(MODEL, index=index).text == "xé"
    assert generate(MODEL, index=Claiming(index, None)).text == "xé"
    events = list(stream(MODEL, index=index))
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == "xé"
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("source", SOURCES)
def test_the_finished_text_is_looked_at(source: object) -> None:
    index = source("[x-z]é")  # type: ignore[operator]
    with pytest.raises(InternalError, match=r"(?s)\[a-c\].*refused by  re\.fullmatch"):
        generate(MODEL, index=Claiming(index, "[a-c]é"))
    with pytest.raises(InternalError, match="refused by  the index itself"):
        generate(MODEL, index=Claiming(index, "[x-z]é", accepting=False))


def test_a_reference_index_refuses_what_is_no_match() -> None:
    for index in (NaiveIndex("a+", VOCABULARY), FsmIndex("a+", VOCABULARY)):
        assert index.refusal(b"aa") is None
        for text in (b"", b"ab", b"a\xc3"):
            assert index.refusal(text) == {"pattern": "a+", "refused by": "the index itself"}
        index.pattern = "b+"  # a machine of another pattern: a fault that ``re`` finds
        assert index.refusal(b"aa") == {"pattern": "b+", "refused by": "re.fullmatch"}


def test_what_has_no_meaning_with_an_engine_that_does_not_look_ahead() -> None:
    for index in (NaiveIndex("a+", VOCABULARY), FsmIndex("a+", VOCABULARY)):
        with pytest.raises(UsageError, match="stop strings"):
            stream(MODEL, index=index, stop=["a"])
        with pytest.raises(UsageError, match="another vocabulary"):
            stream(UniformModel(Vocabulary([b"a"])), index=index)


PIECES = Vocabulary(
    [*(bytes([byte]) for byte in b"abctalk ."), b"ta", b"lk", b"talk", b"ab", "é".encode(), b"\xc3", b"\xa9", None],
    end_token_ids=[16],
)
outcomes: Counter[str] = Counter()


@tried("some")
@given(
    st.sampled_from(
        ["[a-c]{1,4}", "(ta|é)(lk|b)?[ .]?", "[a-z ]{2,6}[.]", "(talk|ab)( (talk|ab)){0,2}", "a*b", ".{3}"]
    ),
    st.lists(st.sampled_from(["talk", "a", "ta*", "ab", "é", "b"]), min_size=1, max_size=3),
    st.sampled_from(["word", "substring"]),
    st.sampled_from(["resample", "first-token", "mask"]),
    st.sampled_from(["", "ta", "ab "]),
    st.integers(0, 99),
)
def check_texts_with_bans(pattern: str, words: list[str], match: Any, strategy: Any, prompt: str, seed: int) -> None:
    banned, model = BannedWords(words, match=match), UniformModel(PIECES)
    for index in (NaiveIndex(pattern, PIECES), FsmIndex(pattern, PIECES)):
        try:
            text = generate(
                model, prompt, index=index, banned=banned, strategy=strategy, sampler=Sampler(1.0, seed), max_tokens=9,
                max_rollbacks=200,
            ).text  # fmt: skip
        except GenerationError:
            outcomes["error"] += 1
            continue
        assert re.fullmatch(pattern, text, re.ASCII)
        assert scan(text, banned, prompt=prompt) == []
        outcomes["text"] += 1


def test_words_are_banned_beside_an_engine_that_does_not_look_ahead() -> None:
    outcomes.clear()
    check_texts_with_bans()
    print(outcomes)
    assert outcomes["text"] > outcomes.total() / 3


class Short(UniformModel):
    """It can read few tokens."""

    context_length = 6


def test_a_context_that_is_too_small() -> None:
    model = Short(VOCABULARY)
    with pytest.raises(LimitTooSmall, match="leaves room for 4, and no match fits"):
        stream(model, [1, 2, 3], index=Claiming(NaiveIndex("a{9}", VOCABULARY), None, least=9))
    for index in (NaiveIndex("a{9}", VOCABULARY), FsmIndex("a{9}", VOCABULARY)):
        with pytest.raises(GenerationError, match="the limit of 4 tokens is reached"):
            generate(model, [1, 2, 3], index=index)
