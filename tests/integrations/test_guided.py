"""Texts that ``generate`` writes under a pattern match it: ``re`` is asked of every one."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.generated import END, OTHER_END, PAD, prompts, small_model, small_vocabulary, written
from tests.support.patterns.random_patterns import language, small_patterns
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Index, Vocabulary
from sfgen.ban import scan
from sfgen.errors import BannedWordsError, DeadEnd, LimitTooSmall, PatternError, UsageError
from sfgen.index import Chain, DfaIndex, Marker, Thought
from sfgen.integrations.transformers import BannedWordsLogitsProcessor, GuidedLogitsProcessor
from sfgen.reference import FsmIndex, NaiveIndex

VOCABULARY = small_vocabulary()
TEXTS = [b"a", b"we talk. ", b"", b"0.12-3, talking"]
DATE = r"[0-3]{1,3}(\.[0-3]+)?-(talk|list(en)?|é|聊)!?"


def index_of(pattern: str, vocabulary: Vocabulary = VOCABULARY) -> DfaIndex:
    return Index(Dfa.from_regex(pattern), vocabulary)


def matches(pattern: str, data: bytes) -> bool:
    return re.fullmatch(pattern, data.decode(), re.ASCII) is not None


def generate(processor: Any, texts: list[bytes], model: Any = None, **options: Any) -> list[bytes]:
    inputs = prompts(VOCABULARY, texts, padding=options.pop("padding", "left"))
    torch.manual_seed(options.pop("seed", 0))
    options = {"do_sample": False, "max_new_tokens": 12, **options}
    ids = (model or small_model()).generate(**inputs, logits_processor=[processor], **options)
    return written(VOCABULARY, ids, inputs["input_ids"].shape[1])


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("sample", [False, True])
def test_every_row_of_a_batch_matches(padding: str, sample: bool) -> None:
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    seen = set()
    for seed in range(4 if sample else 1):
        texts = generate(processor, TEXTS, padding=padding, do_sample=sample, seed=seed)
        assert len(texts) == len(TEXTS)
        assert [text for text in texts if not matches(DATE, text)] == []
        seen.update(texts)
    assert len(seen) > (8 if sample else 0)


def test_a_thought_before_the_pattern() -> None:
    source = Thought(Marker(b"-"), index_of("[0-3]{2}!"), 5)
    processor = GuidedLogitsProcessor(source, max_tokens=4)
    for seed in range(3):
        for text in generate(processor, TEXTS, do_sample=True, seed=seed):
            thought, marker, rest = text.partition(b"-")
            assert marker
            assert matches("[0-3]{2}!", rest)
            assert len(thought.decode("utf-8", "replace")) <= 5 * 10
    with pytest.raises(UsageError, match="cannot keep banned words out of a text with a thought"):
        generate(GuidedLogitsProcessor(source, banned=["talk"]), TEXTS)


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma2", "mamba"])
def test_architectures(architecture: str) -> None:
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    model = small_model(architecture)
    for options in ({"do_sample": True}, {"num_beams": 3, "num_return_sequences": 3}):
        if architecture == "mamba" and "num_beams" in options:
            continue  # transformers has no beam search for it
        texts = generate(processor, TEXTS, model, **options)
        assert texts
        assert all(matches(DATE, text) for text in texts)


def test_no_limit_is_needed_where_generate_goes_on_long_enough() -> None:
    processor = GuidedLogitsProcessor(index_of("(ab|ta)lk(0|1)"))
    assert all(matches("(ab|ta)lk(0|1)", text) for text in generate(processor, TEXTS))


@pytest.mark.parametrize("limit", [4, 5, 7, 12])
def test_four_beams_are_complete_within_the_limit(limit: int) -> None:
    pattern = r"(ab|t|0)(k|lk|x)*\.[0-3]{1,6}"
    processor = GuidedLogitsProcessor(index_of(pattern), max_tokens=limit)
    for options in (
        {"num_return_sequences": 4},
        {"num_return_sequences": 2, "do_sample": True, "early_stopping": True},
    ):
        texts = generate(processor, TEXTS, num_beams=4, max_new_tokens=limit, **options)
        assert len(texts) == len(TEXTS) * int(options["num_return_sequences"])
        assert [text for text in texts if not matches(pattern, text)] == []
        each = len(texts) // len(TEXTS)
        several = [set(texts[row * each : (row + 1) * each]) for row in range(len(TEXTS))]
        assert any(len(found) > 1 for found in several)  # beams differ in their tokens, though not all in their texts


def test_several_sequences_for_each_prompt() -> None:
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    texts = generate(processor, TEXTS, do_sample=True, num_return_sequences=5)
    assert len(texts) == 5 * len(TEXTS)
    assert all(matches(DATE, text) for text in texts)
    assert len(set(texts)) > len(TEXTS)


@pytest.mark.parametrize("ends", [[END], [END, OTHER_END], [OTHER_END]])
def test_either_end_token_may_end_a_text(ends: list[int]) -> None:
    processor = GuidedLogitsProcessor(index_of("a+"), max_tokens=20)
    texts = generate(processor, TEXTS, do_sample=True, num_return_sequences=4, eos_token_id=ends, max_new_tokens=20)
    assert all(matches("a+", text) for text in texts)
    assert len({len(text) for text in texts}) > 1  # not only the limit ends them


def test_rows_that_are_over_wait_for_the_others() -> None:
    model = small_model()
    for pad in (PAD, END, 7):  # 7 is text
        inputs = prompts(VOCABULARY, TEXTS)
        processor = GuidedLogitsProcessor(index_of("a|(ab){5}"), max_tokens=11)
        torch.manual_seed(3)
        ids = model.generate(
            **inputs,
            do_sample=True,
            max_new_tokens=11,
            num_return_sequences=4,
            pad_token_id=pad,
            logits_processor=[processor],
        )
        rows = ids[:, inputs["input_ids"].shape[1] :].tolist()
        texts = []
        for row in rows:
            end = next((place for place, token in enumerate(row) if token in (END, OTHER_END)), len(row))
            texts.append(b"".join(VOCABULARY.tokens[token] or b"" for token in row[:end]))
            assert set(row[end + 1 :]) <= {pad}
        assert set(texts) == {b"a", b"ababababab"}


def test_a_row_that_something_else_stops_does_not_disturb_the_others() -> None:
    from transformers import StoppingCriteriaList

    def stop(input_ids: Any, scores: Any, **_: Any) -> Any:
        return torch.tensor([number == 0 and input_ids.shape[1] > 14 for number in range(len(input_ids))])

    processor = GuidedLogitsProcessor(index_of("(ab|[0-3]){8,12}"), max_tokens=12)
    texts = generate(processor, TEXTS, stopping_criteria=StoppingCriteriaList([stop]))
    assert all(matches("(ab|[0-3]){8,12}", text) for text in texts[1:])


def test_any_source_of_guides() -> None:
    """Engines for comparison, and one index after the other."""
    pattern = "(ab|[0-3]|é){2,3}talk"
    halves = [index_of("(ab|[0-3]|é){2,3}"), index_of("talk")]
    for source in (NaiveIndex(pattern, VOCABULARY), FsmIndex(pattern, VOCABULARY), Chain(halves)):
        for options in ({"do_sample": True}, {"num_beams": 3, "num_return_sequences": 3}):
            texts = generate(GuidedLogitsProcessor(source, max_tokens=12), TEXTS, **options)
            assert texts
            assert [text for text in texts if not matches(pattern, text)] == []
        banned = BannedWords(["0*", "abtalk"], match="substring")
        texts = generate(GuidedLogitsProcessor(source, banned=banned, max_tokens=12), TEXTS, do_sample=True)
        assert [text for text in texts if not matches(pattern, text) or scan(text, banned)] == []


# ---- the scores ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("width", [64, 61, 80])
def test_scores_are_those_of_the_guide_and_nothing_else(dtype: torch.dtype, width: int) -> None:
    """Brute force: a guide for each row, its mask bit by bit; scores of allowed tokens are not touched."""
    vocabulary = Vocabulary([*small_vocabulary(61).tokens, None, None, None], end_token_ids=[2, 3])
    index = index_of(DATE, vocabulary)
    random = np.random.default_rng(5)
    for max_tokens in (None, 7):
        processor = GuidedLogitsProcessor(index, max_tokens=max_tokens)
        guides = [index.guide(max_tokens) for _ in range(3)]
        ids = torch.tensor([[0, 1, 8], [1, 5, 9], [1, 5, 9]])
        for _ in range(5):
            scores = torch.from_numpy(random.normal(size=(3, width))).to(dtype)
            before = scores.clone()
            after = processor(ids, scores)
            assert torch.equal(scores, before)
            assert after.dtype == dtype
            chosen = []
            for row, guide in enumerate(guides):
                allowed = guide.allowed_tokens().tolist()
                assert [token for token in range(width) if after[row, token] != -torch.inf] == allowed
                assert torch.equal(after[row, allowed], before[row, allowed])
                token = int(random.choice([token for token in allowed if token > OTHER_END] or [END]))
                if not guide.is_finished:
                    guide.advance(token)
                chosen.append(token)
            if any(guide.is_finished for guide in guides):
                break
            ids = torch.cat([ids, torch.tensor(chosen)[:, None]], dim=1)


def test_scores_on_another_device_than_the_ids() -> None:
    processor = GuidedLogitsProcessor(index_of("ab"))
    scores = torch.zeros(2, 64, device="meta")
    with pytest.raises(RuntimeError, match="meta"):  # a tensor without data: nothing can be read from it
        processor(torch.tensor([[1, 5], [1, 6]]), scores)
    assert processor._masks is not None
    assert processor._masks.device.type == "meta"


def test_the_raw_scores_stay_as_they_were() -> None:
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    inputs = prompts(VOCABULARY, TEXTS)
    out = small_model().generate(
        **inputs, do_sample=False, max_new_tokens=12, logits_processor=[processor], output_logits=True,
        output_scores=True, return_dict_in_generate=True,
    )  # fmt: skip
    assert all(torch.isfinite(logits).all() for logits in out.logits)
    assert all((scores == -torch.inf).any() for scores in out.scores)


# ---- one call after another ----------------------------------------------------------------------------------------


def test_the_same_processor_for_other_prompts() -> None:
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    for texts in (TEXTS, TEXTS, TEXTS[:1], [b"we talk. a"], TEXTS[::-1], [b"a", b"a"], [b"", b""]):
        for options in ({}, {"num_beams": 2}):
            assert all(matches(DATE, text) for text in generate(processor, texts, **options))


def test_a_prompt_that_grows_as_in_a_conversation() -> None:
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    inputs = prompts(VOCABULARY, [b"we talk. "])
    ids = inputs["input_ids"]
    for number in range(5):
        torch.manual_seed(number)
        out = small_model().generate(ids, do_sample=True, max_new_tokens=12, logits_processor=[processor])
        (text,) = written(VOCABULARY, out, ids.shape[1])
        assert matches(DATE, text)
        ids = torch.cat([out, torch.tensor([[8, 9, 10]])], dim=1)


def test_what_generate_returned_goes_on_with_the_same_text_until_reset() -> None:
    pattern = "(ab){2,9}"
    processor = GuidedLogitsProcessor(index_of(pattern))
    ids = prompts(VOCABULARY, [b"a"])["input_ids"]
    first = small_model().generate(ids, do_sample=False, max_new_tokens=3, logits_processor=[processor])
    second = small_model().generate(first, do_sample=False, max_new_tokens=40, logits_processor=[processor])
    assert matches(pattern, written(VOCABULARY, second, ids.shape[1])[0])
    processor.reset()
    third = small_model().generate(second, do_sample=False, max_new_tokens=40, logits_processor=[processor])
    assert matches(pattern, written(VOCABULARY, third, second.shape[1])[0])


def test_a_prompt_with_one_more_token_that_the_pattern_refuses_is_a_prompt() -> None:
    processor = GuidedLogitsProcessor(index_of("ab"))
    for text in (b"t", b"tl", b"tlk"):
        assert generate(processor, [text], max_new_tokens=1) in ([b"a"], [b"ab"])


def test_going_back_into_the_same_text_is_refused() -> None:
    processor = GuidedLogitsProcessor(index_of("a{5}"))
    scores, ids = torch.zeros(1, 64), torch.tensor([[1, 4, 4, 4]])
    for length in (1, 2, 3, 4):
        processor(ids[:, :length], scores)
    with pytest.raises(UsageError, match="cannot be determined whether a new text begins"):
        processor(ids[:, :3], scores)
    processor.reset()
    processor(ids[:, :3], scores)
    processor(ids[:, :2], scores)  # shorter than the last prompt: a prompt
    processor(torch.tensor([[1, 5]]), scores)


def test_assisted_generation_is_refused() -> None:
    processor = GuidedLogitsProcessor(index_of("(ab|[0-3]|é){8,12}"), max_tokens=12)
    inputs = prompts(VOCABULARY, [b"abababababab"])
    with pytest.raises(UsageError, match="Assisted generation"):
        small_model().generate(
            **inputs, do_sample=False, max_new_tokens=12, prompt_lookup_num_tokens=3, logits_processor=[processor]
        )


def test_an_encoder_decoder_model() -> None:
    import transformers

    t5: Any = transformers  # its types are not those of its arguments
    config = t5.T5Config(
        vocab_size=64, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=PAD,
        pad_token_id=PAD, eos_token_id=END,
    )  # fmt: skip
    torch.manual_seed(0)
    model = t5.T5ForConditionalGeneration(config).eval()
    processor = GuidedLogitsProcessor(index_of(DATE), max_tokens=12)
    inputs = prompts(VOCABULARY, TEXTS)
    for options in ({}, {"num_beams": 4, "num_return_sequences": 4}, {"do_sample": True}):
        ids = model.generate(**inputs, max_new_tokens=12, logits_processor=[processor], **options)
        texts = written(VOCABULARY, ids, 1)
        assert texts
        assert all(matches(DATE, text) for text in texts)


# ---- banned words beside a pattern ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"num_beams": 4, "num_return_sequences": 4}, {"do_sample": True}], ids=str)
def test_matches_without_the_banned_words(options: dict[str, Any]) -> None:
    pattern, banned = r"[a-z]{2,4}( [a-z]{1,4}){1,2}", BannedWords(["talk", "ab", "a", "en"])
    processor = GuidedLogitsProcessor(index_of(pattern), banned=banned, max_tokens=12)
    prompts_ = [b"", b"t", b"we ta", b"ab "]
    texts = generate(processor, prompts_, **options)
    each = len(texts) // len(prompts_)
    for number, text in enumerate(texts):
        assert matches(pattern, text)
        assert scan(text.decode(), banned, prompt=prompts_[number // each].decode()) == []


def test_the_prompt_may_begin_a_banned_word() -> None:
    processor = GuidedLogitsProcessor(index_of("lk|x"), banned=BannedWords(["talk"]))
    assert generate(processor, [b"ta", b"lis"], max_new_tokens=3) in ([b"x", b"x"], [b"x", b"lk"])
    with pytest.raises(BannedWordsError, match="every text"):
        generate(GuidedLogitsProcessor(index_of("lk"), banned=BannedWords(["talk"])), [b"ta"])


def test_a_prompt_that_ends_inside_a_character() -> None:
    banned = BannedWords(["聊", "ta*"])
    for text in ("a|talk", "a|b"):
        processor = GuidedLogitsProcessor(index_of(text), banned=banned, max_tokens=3)
        assert set(generate(processor, [b"\xe8\x81"], do_sample=True, num_return_sequences=4)) <= {b"a", b"b"}


# ---- errors --------------------------------------------------------------------------------------------------------


def test_a_dead_end_is_an_error() -> None:
    endless = small_vocabulary(ends=[])
    processor = GuidedLogitsProcessor(Index(Dfa.from_regex("ab"), endless))
    with pytest.raises(DeadEnd, match=r"after 'ab' \(row 0\): the text is complete, and the model has no end token"):
        generate(processor, [b"a"])


def test_what_other_processors_leave_nothing_of_is_an_error() -> None:
    processor = GuidedLogitsProcessor(index_of("(ab)+|talk"))
    with pytest.raises(DeadEnd, match="of 2 allowed tokens none has a score"):
        generate(GuidedLogitsProcessor(index_of("ab")), [b"a"], min_new_tokens=8)
    with pytest.raises(DeadEnd, match="none has a score"):
        generate(processor, [b"a"], bad_words_ids=[[token] for token in range(4, 64)])
    with pytest.raises(DeadEnd, match="none has a score"):
        generate(processor, [b"a"], do_sample=True, suppress_tokens=list(range(4, 64)))


def test_another_vocabulary_is_an_error() -> None:
    for size, width in ((64, 40), (64, 6000)):
        processor = GuidedLogitsProcessor(index_of("ab", small_vocabulary(size)))
        with pytest.raises(UsageError, match=f"the model scores {width:,} tokens, but the vocabulary has {size}"):
            processor(torch.tensor([[1]]), torch.zeros(1, width))


def test_arguments_that_mean_nothing() -> None:
    index = index_of("ab{3}")
    with pytest.raises(UsageError, match=r"index must be an sfgen.Index, not Dfa\("):
        GuidedLogitsProcessor(index.dfa)  # type: ignore[arg-type]
    with pytest.raises(BannedWordsError, match=r"banned words must be a text or a list of texts, not 7"):
        GuidedLogitsProcessor(index, banned=7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="max_tokens must be at least 0, not -1"):
        GuidedLogitsProcessor(index, max_tokens=-1)
    with pytest.raises(LimitTooSmall):
        GuidedLogitsProcessor(index, max_tokens=2)
    with pytest.raises(UsageError, match="not those of a batch"):
        GuidedLogitsProcessor(index)(torch.tensor([1]), torch.zeros(1, 64))
    with pytest.raises(UsageError, match="not those of a batch"):
        GuidedLogitsProcessor(index)(torch.tensor([[1], [1]]), torch.zeros(1, 64))


def test_without_transformers_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import sfgen.integrations.transformers as module

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UsageError, match="transformers cannot be imported"):
        runpy.run_path(str(module.__file__))


def test_sfgen_alone_does_not_import_torch() -> None:
    code = "import sys, sfgen, sfgen.integrations; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_it_is_a_logits_processor() -> None:
    import transformers

    processor = GuidedLogitsProcessor(index_of("ab"))
    assert isinstance(processor, transformers.LogitsProcessor)
    assert processor.supports_continuous_batching is False


# ---- random patterns -----------------------------------------------------------------------------------------------


@tried("handful")
@given(
    small_patterns("a", "b", "[a-c]", "ta", "talk", "é", "聊", ".", r"\d", "[^a]", "0"),
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    st.sampled_from([{}, {"do_sample": True}, {"num_beams": 3, "num_return_sequences": 2}]),
    st.integers(0, 4),
)
def test_random_patterns(pattern: str, texts: list[bytes], options: dict[str, Any], more: int) -> None:
    try:
        dfa = language(pattern)
    except PatternError:
        return
    if dfa is None:
        return
    index = Index(dfa, VOCABULARY)
    limit = len(index.shortest_tokens()) + more
    if limit == 0:  # `generate` wants to write one token at least
        limit = 1
    processor = GuidedLogitsProcessor(index, max_tokens=limit)
    found = generate(processor, texts, max_new_tokens=limit, **options)
    assert [text for text in found if not matches(pattern, text)] == []


def test_healing_is_refused_by_name() -> None:
    """The tokens of a prompt are read before a processor is asked."""
    vocabulary = Vocabulary([b"a", None], end_token_ids=[1])
    index = Index(Dfa.from_regex("a"), vocabulary)
    with pytest.raises(UsageError, match="heal cannot be used with a logits processor"):
        GuidedLogitsProcessor(index, heal=True)
    with pytest.raises(UsageError, match="heal cannot be used with a logits processor"):
        BannedWordsLogitsProcessor(["b"], vocabulary, heal=True)
    GuidedLogitsProcessor(index, heal=False)
