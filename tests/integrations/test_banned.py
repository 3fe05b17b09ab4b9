"""Texts that ``generate`` writes under a ban have no banned word: a plain scan looks at every one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.generated import (
    BEGIN,
    END,
    OTHER_END,
    PAD,
    cut,
    prompts,
    small_model,
    small_vocabulary,
    written,
)
from tests.support.running.tried import tried

from sfgen import BannedWords, Vocabulary
from sfgen.ban import scan
from sfgen.errors import BannedWordsError, DeadEnd, UsageError
from sfgen.integrations.guided import Banned
from sfgen.integrations.transformers import BannedWordsLogitsProcessor

VOCABULARY = small_vocabulary()
TEXTS = [b"a", b"we talk. ", b"", b"not a", b"we ta", b"\xe8\x81"]
LISTS = {
    "words": BannedWords(["talk", "a", "listen", "not", "b", "聊", "é"]),
    "prefixes": BannedWords(["ta*", "k", "l*", "not but"]),
    "substrings": BannedWords(["k", "ab", "1", "e"], match="substring", allow=["lk", "abc"]),
    "patterns": BannedWords(["talk"], patterns=[r"[0-3]{2}\b", r"(?<=t)a", r"not \w+", "聊"]),
    "normalized": BannedWords(["talk", "é", "0"], normalize=True),
}


def generate(banned: BannedWords, texts: list[bytes], model: Any = None, **options: Any) -> list[tuple[bytes, bytes]]:
    """What follows each prompt as it is read: padding behind it is a boundary. The limit is told to both."""
    options = {"do_sample": False, "max_new_tokens": 12, "padding": "left", "seed": 0, **options}
    padded = options["padding"] == "right"
    inputs = prompts(VOCABULARY, texts, padding=options.pop("padding"))
    torch.manual_seed(options.pop("seed"))
    processor = BannedWordsLogitsProcessor(banned, VOCABULARY, max_tokens=options["max_new_tokens"])
    ids = (model or small_model()).generate(**inputs, logits_processor=[processor], **options)
    found = written(VOCABULARY, ids, inputs["input_ids"].shape[1])
    each = len(found) // len(texts)
    width = inputs["input_ids"].shape[1]
    before = [text + b"|" if padded and len(cut(VOCABULARY, text)) + 1 < width else text for text in texts]
    return [(before[number // each], text) for number, text in enumerate(found)]


def matches(banned: BannedWords, prompt: bytes, text: bytes) -> list[Any]:
    return scan(text, banned, prompt=prompt)


@pytest.mark.parametrize("name", LISTS)
def test_no_text_has_a_banned_word(name: str) -> None:
    banned = LISTS[name]
    seen = 0
    for options in (
        {"padding": "right"},
        {"do_sample": True, "num_return_sequences": 2},
        {"do_sample": True, "num_return_sequences": 3, "seed": 1, "max_new_tokens": 5},
        {"num_beams": 4, "num_return_sequences": 4},
        {"num_beams": 3, "do_sample": True, "max_new_tokens": 7},
    ):
        for prompt, text in generate(banned, TEXTS, **options):
            assert matches(banned, prompt, text) == [], (prompt, text, options)
            seen += len(text)
    assert seen > 150


def test_without_the_ban_there_are_banned_words() -> None:
    """The tests above are about something."""
    for banned in LISTS.values():
        inputs = prompts(VOCABULARY, TEXTS)
        torch.manual_seed(0)
        ids = small_model().generate(**inputs, do_sample=True, max_new_tokens=12, eos_token_id=END)
        texts = [
            b"".join(VOCABULARY.tokens[token] or b"" for token in row)
            for row in ids[:, inputs["input_ids"].shape[1] :].tolist()
        ]
        assert any(matches(banned, prompt, text) for prompt, text in zip(TEXTS, texts, strict=True))


@pytest.mark.parametrize("architecture", ["gpt2", "gemma2", "mamba"])
def test_architectures(architecture: str) -> None:
    for seed in range(2):
        for prompt, text in generate(LISTS["words"], TEXTS, small_model(architecture), do_sample=True, seed=seed):
            assert matches(LISTS["words"], prompt, text) == []


@pytest.mark.parametrize("name", LISTS)
def test_scores_are_those_of_brute_force(name: str) -> None:
    """Every token is tried at every place; what does not complete a match keeps its score."""
    banned, limit = LISTS[name], 9
    random = np.random.default_rng(7)
    for prompt in TEXTS:
        processor = BannedWordsLogitsProcessor(banned, VOCABULARY, max_tokens=limit)
        ids = prompts(VOCABULARY, [prompt])["input_ids"]
        matcher = banned.matcher(prompt)
        for taken in range(limit + 1):
            scores = torch.from_numpy(random.normal(size=(1, 64)))
            after = processor(ids, scores)
            allowed = [
                token
                for token, data in enumerate(VOCABULARY.tokens)
                if _may_follow(matcher, data, left=limit - taken, end=token in (END, OTHER_END))
            ]
            found = (after[0] != -torch.inf).nonzero()[:, 0].tolist()
            assert found == allowed, (prompt, taken)
            assert torch.equal(after[0, allowed], scores[0, allowed])
            token = int(random.choice([token for token in allowed if VOCABULARY.tokens[token]] or [END]))
            matcher.advance(VOCABULARY.tokens[token] or b"")
            ids = torch.cat([ids, torch.tensor([[token]])], dim=1)


def _may_follow(matcher: Any, data: bytes | None, *, left: int, end: bool) -> bool:
    if data is None:
        return matcher.finish() is None and (left > 0 or end)
    mark = matcher.mark()
    # The vocabulary cannot write every ending of a character, so those that are begun count as cut.
    banned = matcher.advance(data) is not None
    checked = left == 1 or bool(matcher.mark().pending)
    banned = banned or (checked and matcher.finish() is not None)
    matcher.reset(mark)
    return left > 0 and not banned


def test_a_match_may_begin_in_the_prompt_and_one_in_the_prompt_is_no_matter() -> None:
    processor = BannedWordsLogitsProcessor(BannedWords(["talk"]), VOCABULARY)
    lk, ing, dot = (VOCABULARY.tokens.index(data) for data in (b"lk", b"ing", b"."))
    after = processor(prompts(VOCABULARY, [b"we ta", b"we talk", b"talk ta"])["input_ids"], torch.zeros(3, 64))
    assert torch.isfinite(after[:, [lk, ing, dot, END]]).all()  # nothing is complete yet: "talking"
    ids = prompts(VOCABULARY, [b"we ta", b"we talk", b"talk ta"])["input_ids"]
    after = processor(torch.cat([ids, torch.tensor([[lk], [dot], [lk]])], dim=1), torch.zeros(3, 64))
    assert after[:, dot].tolist() == [-torch.inf, 0, -torch.inf]
    assert after[:, END].tolist() == [-torch.inf, 0, -torch.inf]
    assert after[:, PAD].tolist() == [-torch.inf, 0, -torch.inf]  # it might be another end token
    assert after[:, ing].tolist() == [0, 0, 0]


def test_padding_and_other_special_tokens_are_boundaries() -> None:
    named = Vocabulary([b"<pad>", b"ta", b"lk", b"talk", b".", b"</s>", b"x"], end_token_ids=[0, 5])
    processor = BannedWordsLogitsProcessor(BannedWords(["talk", "s", "pad"]), named)
    ids = torch.tensor([[0, 0, 1], [1, 0, 0], [5, 0, 1]])
    after = processor(torch.cat([ids, torch.full((3, 1), 2)], dim=1), torch.zeros(3, 7))  # a prompt: "talk" is in it
    assert torch.isfinite(after).all()
    processor.reset()
    processor(ids, torch.zeros(3, 7))
    after = processor(torch.cat([ids, torch.full((3, 1), 2)], dim=1), torch.zeros(3, 7))
    assert after[:, 4].tolist() == [-torch.inf, 0, -torch.inf]
    assert torch.isfinite(after[:, 6]).all()


def test_the_first_word_of_an_answer_is_a_word() -> None:
    """Whoever has the answer alone reads ``talk``, whatever stands before it; also in beams."""
    talk, dot, x = (VOCABULARY.tokens.index(data) for data in (b"talk", b".", b"x"))
    for prompt in ([BEGIN, x], [BEGIN, x, PAD], [BEGIN, x, OTHER_END, PAD], [BEGIN, talk, talk]):
        processor = BannedWordsLogitsProcessor(BannedWords(["talk"]), VOCABULARY)
        processor(torch.tensor([prompt, prompt]), torch.zeros(2, 64))
        after = processor(torch.tensor([[*prompt, talk], [*prompt, x]]), torch.zeros(2, 64))
        assert after[:, dot].tolist() == [-torch.inf, 0]
        assert after[:, END].tolist() == [-torch.inf, 0]
        assert after[:, x].tolist() == [0, 0]


def test_the_limit_ends_no_text_in_a_banned_word() -> None:
    """``talk`` may be written where more can follow, and not as the last token."""
    talk = VOCABULARY.tokens.index(b"talk")
    scores = torch.full((1, 64), -9.0)
    scores[0, talk] = 0
    for limit, is_allowed in ((None, True), (2, True), (1, False)):
        processor = BannedWordsLogitsProcessor(BannedWords(["talk"]), VOCABULARY, max_tokens=limit)
        assert bool(processor(torch.tensor([[BEGIN]]), scores)[0, talk] == 0) is is_allowed


def test_a_guide_of_a_ban_watches_whatever_comes() -> None:
    """Tokens that the mask leaves out and that complete no match, such as another processor forces."""
    talk, lk, ta, dot = (VOCABULARY.tokens.index(data) for data in (b"talk", b"lk", b"ta", b"."))
    guide = Banned(BannedWords(["talk"]), VOCABULARY, 5).guide([BEGIN])
    assert {talk, dot, END, PAD} <= set(guide.allowed_tokens().tolist())
    assert max(guide.allowed_tokens().tolist()) < len(VOCABULARY)
    guide.advance(ta)
    twin = guide.fork()
    guide.advance(lk)
    assert not guide.is_accepting
    assert not {dot, END, PAD} & set(guide.allowed_tokens().tolist())
    guide.advance(END)
    assert guide.validate([ta, dot, talk]) == 3
    assert guide.validate([dot, ta]) == 0
    with pytest.raises(UsageError, match="completes a banned match"):
        guide.advance(dot)
    guide.rollback(2)
    assert guide.position == twin.position
    assert guide.mask() is twin.mask()
    guide.advance_bytes(b"l")
    guide.advance(VOCABULARY.tokens.index(b"k"))
    assert not guide.is_accepting


def test_output_layers_of_other_sizes() -> None:
    vocabulary = small_vocabulary(61)
    talk, dot = vocabulary.tokens.index(b"talk"), vocabulary.tokens.index(b".")
    for width in (61, 64, 90, 60):
        wide = Vocabulary([*vocabulary.tokens, None], end_token_ids=[END]) if width > 61 else vocabulary
        if width == 60:
            wide = Vocabulary([*vocabulary.tokens[:60], None], end_token_ids=[END])
        processor = BannedWordsLogitsProcessor(BannedWords(["talk"]), wide)
        processor(torch.tensor([[BEGIN]]), torch.zeros(1, width))
        after = processor(torch.tensor([[BEGIN, talk]]), torch.zeros(1, width))
        assert after.shape == (1, width)
        assert after[0, dot] == -torch.inf
        assert (after[0, 61:] == -torch.inf).all()


def test_a_dead_end_is_an_error() -> None:
    few = Vocabulary([b"talk", b".", b" ", None], end_token_ids=[3])
    processor = BannedWordsLogitsProcessor(BannedWords(["talk"], patterns=["talktalk"]), few)
    processor(torch.tensor([[3]]), torch.zeros(1, 4))
    with pytest.raises(DeadEnd, match=r"after 'talk' \(row 0\): only banned text could follow"):
        processor(torch.tensor([[3, 0]]), torch.zeros(1, 4))
    endless = Vocabulary([b"talk", b"."])
    processor = BannedWordsLogitsProcessor(BannedWords(["talk"]), endless, max_tokens=1)
    processor(torch.tensor([[1]]), torch.zeros(1, 2))
    with pytest.raises(DeadEnd, match="the limit is reached"):
        processor(torch.tensor([[1, 1]]), torch.zeros(1, 2))


def test_rows_that_are_over_are_not_looked_at() -> None:
    """Padding that is text could complete anything."""
    talk, space = VOCABULARY.tokens.index(b"talk"), VOCABULARY.tokens.index(b" ")
    processor = BannedWordsLogitsProcessor(BannedWords(["talk"]), VOCABULARY, max_tokens=3)
    row = [BEGIN]
    for token in (space, END, talk, space, talk, talk):
        after = processor(torch.tensor([row, [BEGIN, *[space] * (len(row) - 1)]]), torch.zeros(2, 64))
        assert bool((after != -torch.inf).any(dim=1).all())
        row = [*row, token]


def test_many_states_are_forgotten_between_two_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.ban.completing_tokens._MOST_CELLS", 1)
    monkeypatch.setattr("sfgen.ban.completing_tokens._BYTES_KEPT", 100)
    banned = LISTS["words"]
    processor = BannedWordsLogitsProcessor(banned, VOCABULARY, max_tokens=12)
    for seed in range(2):
        inputs = prompts(VOCABULARY, TEXTS)
        torch.manual_seed(seed)
        ids = small_model().generate(**inputs, do_sample=True, max_new_tokens=12, logits_processor=[processor])
        texts = written(VOCABULARY, ids, inputs["input_ids"].shape[1])
        assert all(matches(banned, prompt, text) == [] for prompt, text in zip(TEXTS, texts, strict=True))


def test_arguments_that_mean_nothing() -> None:
    banned = BannedWords(["a"])
    with pytest.raises(BannedWordsError, match=r"banned words must be a text or a list of texts, not 7"):
        BannedWordsLogitsProcessor(7, VOCABULARY)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"vocabulary must be an sfgen.Vocabulary, not 3"):
        BannedWordsLogitsProcessor(banned, 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="max_tokens must be at least 0"):
        BannedWordsLogitsProcessor(banned, VOCABULARY, max_tokens=-1)


@tried("handful")
@given(
    st.lists(
        st.sampled_from(["a", "ta", "talk", "lk*", "k", "not but", "é", "01", "聊", "listen"]), min_size=1, max_size=4
    ),
    st.sampled_from(["word", "prefix", "substring"]),
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    st.sampled_from([{"do_sample": True}, {"num_beams": 3, "num_return_sequences": 2}, {"padding": "right"}]),
    st.integers(1, 9),
)
def test_random_lists(words: list[str], match: Any, texts: list[bytes], options: dict[str, Any], limit: int) -> None:
    banned = BannedWords(words, match=match)
    try:
        found = generate(banned, texts, max_new_tokens=limit, **options)
    except DeadEnd:
        return
    assert [pair for pair in found if matches(banned, *pair)] == []
