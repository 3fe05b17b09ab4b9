"""What ``stream`` and ``generate`` take for a pattern: anything of the right shape, and it is looked at in the end."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sfgen import BannedWords, Dfa, Finished, Index, TextReleased, Vocabulary, generate, stream
from sfgen.decoding import Guide, GuideSource
from sfgen.errors import GenerationError, InternalError, LimitTooSmall, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.reference import FsmIndex, NaiveIndex

VOCABULARY = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
MODEL = UniformModel(VOCABULARY)


@dataclass
class Claiming:
    """Guides through one language that are said to be those of another."""

    language: GuideSource
    pattern: str | None
    accepting: bool = True
    least: int = 0

    @property
    def vocabulary(self) -> Vocabulary:
        return self.language.vocabulary

    def accepts(self, data: bytes) -> bool:
        return self.accepting

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


def test_what_has_no_meaning_with_an_engine_that_does_not_look_ahead() -> None:
    for index in (NaiveIndex("a+", VOCABULARY), FsmIndex("a+", VOCABULARY)):
        with pytest.raises(UsageError, match="banned beside an Index only") as caught:
            stream(MODEL, index=index, banned=BannedWords(["a"]))
        assert caught.value.hint
        with pytest.raises(UsageError, match="stop strings"):
            stream(MODEL, index=index, stop=["a"])
        with pytest.raises(UsageError, match="another vocabulary"):
            stream(UniformModel(Vocabulary([b"a"])), index=index)


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
