"""A thought before the text: parts, limits, bans over the seam, special tokens, batches and streams."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.running.tried import tried

import sfgen
from sfgen import BannedWords, Finished, GenerationConfig, Result, Sampler, TextReleased, ThoughtReleased, Vocabulary
from sfgen.ban import scan
from sfgen.decoding import TokenChosen, batch_of, drive_batch, prepare
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.decoding.text_constraints import marker_of
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall, UsageError
from sfgen.models.uniform import UniformModel

LETTERS = [bytes([byte]) for byte in b"ab.1 "]
PATTERNS = ["1{1,2}", "a.?", "(ab|b1)*", "b a"]
WORDS = ["ab", "b.", "a b", "11"]


class Model(ScriptedModel):
    """Random scores over letters and some longer tokens; may have a special token, and a context."""

    def __init__(self, pieces: list[bytes], seed: int, special: str | None = None, context: int | None = None) -> None:
        tokens = [*dict.fromkeys([*LETTERS, *pieces]), None, None]
        super().__init__(Vocabulary(tokens, [len(tokens) - 1]), random_scores(len(tokens), seed))
        self.special = special
        self.context_length = context

    def encode_inside(self, text: str) -> list[int]:
        return [len(self.vocabulary) - 2] if text == self.special else self.encode(text)


@st.composite
def models(draw: st.DrawFn, context: int | None = None) -> Model:
    pieces = draw(st.lists(st.text("ab.1 ", min_size=2, max_size=4).map(str.encode), max_size=8))
    special = draw(st.sampled_from([None, None, "."]))
    return Model(pieces, draw(st.integers(0, 2**16)), special, context)


@st.composite
def configs(draw: st.DrawFn, *, bans: bool = True) -> GenerationConfig:
    strategy: Any = draw(st.sampled_from(get_args(StrategyName)))
    words = draw(st.lists(st.sampled_from(WORDS), max_size=2)) if bans else []
    index = draw(st.none() | st.sampled_from(PATTERNS))
    return GenerationConfig(
        index=index,
        banned=BannedWords(words, match=draw(st.sampled_from(["word", "substring"]))) if words else None,
        sampler=Sampler(draw(st.sampled_from([0.0, 1.0])), seed=draw(st.integers(0, 99))),
        stop=() if index is not None or draw(st.booleans()) else ("1.",),
        max_tokens=draw(st.integers(3, 6)),
        after=draw(st.sampled_from([".", "..", "a.", "aba"])),
        after_tokens=draw(st.integers(0, 6)),
        strategy=strategy,
        fast_forward=draw(st.booleans()),
        hold=draw(st.booleans()),
        max_rollbacks=300,
    )


def events_of(model: Model, prompt: str, config: GenerationConfig) -> list[Any]:
    try:
        return list(sfgen.stream(model, prompt, config))
    except (DeadEnd, GenerationError, BannedWordsError):
        assume(False)
        raise


def written(model: Model, result: Result, config: GenerationConfig) -> bytes:
    """What the tokens write, the special one too."""
    assert config.after is not None
    special = len(model.vocabulary) - 2
    pieces = [
        config.after.encode() if token == special else model.vocabulary.tokens[token] or b""
        for token in result.token_ids
    ]
    return b"".join(pieces)


@tried("many")
@given(models(), configs(), st.sampled_from(["a", "b ", "1 a "]))
def test_the_parts_of_a_generation(model: Model, config: GenerationConfig, prompt: str) -> None:
    events = events_of(model, prompt, config)
    result = events[-1].result
    after = config.after
    assert after is not None
    assert result.thought is not None
    # The tokens write the end of the prompt that was healed, the thought, the marker, and the text.
    whole = (result.healed or "") + result.thought + after + result.text
    assert written(model, result, config).decode().startswith(whole)
    assert config.stop or written(model, result, config).decode() == whole
    assert after not in (result.thought + after)[:-1]
    if config.index is not None:
        assert sfgen.Dfa.from_regex(str(config.index)).accepts(result.text)
    assert not any(stop in result.text for stop in config.stop)
    if config.banned is not None:
        banned = BannedWords.of(config.banned)
        thought, text = result.thought.encode(), result.text.encode()
        assert not scan(thought, banned, prompt=prompt.encode())
        assert not scan(text, banned)
        assert not scan(text, banned, prompt=prompt.encode() + thought + after.encode())
    # No text is released before it is sure, and each part by itself.
    assert "".join(event.text for event in events if isinstance(event, ThoughtReleased)) == result.thought
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == result.text
    kinds = [type(event) for event in events if isinstance(event, ThoughtReleased | TextReleased)]
    assert kinds == sorted(kinds, key=[ThoughtReleased, TextReleased].index)
    check_limits(model, result, config)


def check_limits(model: Model, result: Result, config: GenerationConfig) -> None:
    """So many tokens write some of the text, and so many of the thought, before the marker must follow."""
    assert config.after is not None
    assert config.after_tokens is not None
    assert result.thought is not None
    start = len((result.healed or "") + result.thought + config.after)
    special, size, written_text, before = len(model.vocabulary) - 2, 0, 0, 0
    for token in result.token_ids:
        piece = config.after.encode() if token == special else model.vocabulary.tokens[token] or b""
        size += len(piece)
        written_text += size > start
        before += size <= start
    assert written_text <= config.max_tokens
    assert before <= config.after_tokens + len(config.after) + len(result.healed or "")


@tried("many")
@given(models(), configs(), st.sampled_from(["a", "b "]), st.integers(0, 12), st.none() | st.integers(0, 4))
def test_one_limit_counts_thought_and_text(
    model: Model, config: GenerationConfig, prompt: str, limit: int, most: int | None
) -> None:
    """It leaves room for a text of the constraint; without a constraint it may end the text in the thought."""
    config = replace(config, after_tokens=most, after_counts=True, max_tokens=limit)
    after, index = config.after or "", config.index
    try:
        loop = prepare(model, prompt, config)
        scored = loop.scored_tokens(1)
        ((_, finished),) = [(0, event) for _, event in drive_batch([loop], batch_of(model, 1), 1)][-1:]
    except LimitTooSmall:
        assert index is not None
        assert limit < len(after) + len(sfgen.Dfa.from_regex(str(index)).shortest())
        return
    except BannedWordsError:
        assume(False)
    assume(isinstance(finished, Finished))
    assert isinstance(finished, Finished)
    result = finished.result
    assert result.thought is not None
    tokens = written(model, result, config).decode()
    healed = sum(1 for _ in tokens[: len(result.healed or "")])
    assert len(result.token_ids) <= limit + healed
    whole = (result.healed or "") + result.thought + after + result.text
    if loop.text.in_thought:
        assert (index, result.text, result.finish_reason) == (None, "", "limit")
        assert tokens == (result.healed or "") + result.thought
        assert not scored
    else:
        assert tokens.startswith(whole)
        assert "".join(bytes_of_scored(model, scored)).endswith(result.text) or config.stop
        assert len(scored) == len(result.token_ids) - loop.thought_tokens or config.stop
    assert after not in result.thought
    if most is not None:  # tokens of the thought, and then those that write the rest of the marker alone
        assert loop.thought_tokens <= most + len(after) + healed
    assert index is None or sfgen.Dfa.from_regex(str(index)).accepts(result.text)
    if config.banned is not None:
        banned = BannedWords.of(config.banned)
        assert not scan(result.thought.encode(), banned, prompt=prompt.encode())
        assert not scan(result.text.encode(), banned)


def bytes_of_scored(model: Model, scored: Any) -> list[str]:
    return [(model.vocabulary.tokens[each.token_id] or b"").decode() for each in scored]


@tried("some")
@given(models(), configs(bans=False), st.sampled_from(["a", "b "]))
def test_what_follows_the_marker_is_what_follows_it_in_a_prompt(
    model: Model, config: GenerationConfig, prompt: str
) -> None:
    """Where no token crosses, the text is that after a prompt that ends with thought and marker, token by token."""
    config = replace(config, index=config.index or PATTERNS[0], stop=(), sampler=Sampler(0.0))
    result = events_of(model, prompt, config)[-1].result
    assert config.after is not None
    assert result.thought is not None
    sizes = np.cumsum([len(model.vocabulary.tokens[t] or config.after.encode()) for t in result.token_ids])
    start = len((result.healed or "") + result.thought + config.after)
    assume(start in sizes)
    known = int(np.flatnonzero(sizes == start)[0]) + 1
    healed = model.encode(result.healed) if result.healed else []
    ids = [*model.encode(prompt)[: len(prompt) - len(healed)], *result.token_ids[:known]]
    again = sfgen.generate(model, ids, config, after=None)
    assert (again.text, again.token_ids) == (result.text, result.token_ids[known:])


@tried("some")
@given(st.lists(st.sampled_from(["a", "b ", "1"]), min_size=1, max_size=4), models(), configs())
def test_batches_write_the_same(prompts: list[str], model: Model, config: GenerationConfig) -> None:
    one_by_one: list[Any] = []
    for prompt in prompts:
        try:
            one_by_one.append(sfgen.generate(model, prompt, config))
        except sfgen.SfgenError as error:
            one_by_one.append(type(error))
    assume(not any(each is BannedWordsError for each in one_by_one))
    together: list[Any] = [None] * len(prompts)
    loops = [prepare(model, prompt, config, hold=True) for prompt in prompts]
    for number, event in drive_batch(loops, batch_of(model, 2), 2):
        if isinstance(event, Finished | sfgen.SfgenError):
            together[number] = event.result if isinstance(event, Finished) else type(event)
    assert together == one_by_one


@tried("few")
@given(models(context=14), configs(bans=False), st.integers(1, 12))
def test_the_context_bounds_the_whole(model: Model, config: GenerationConfig, size: int) -> None:
    """The thought becomes shorter first."""
    prompt = "a" * size
    try:
        result = sfgen.generate(model, prompt, config)
    except LimitTooSmall:
        least = 1 if config.index is None else len(sfgen.Dfa.from_regex(str(config.index)).shortest())
        assert config.after is not None
        assert 15 - size < len(config.after) + least
        return
    assert size + len(result.token_ids) <= 15


def write(*wishes: bytes | None, special: str | None = None, **named: Any) -> Result:
    """The result of a model that wants to write these tokens one after the other."""
    tokens = [*dict.fromkeys([*LETTERS, *(wish for wish in wishes if wish)]), None, None]
    vocabulary = Vocabulary(tokens, [len(tokens) - 1])
    model = Model([wish for wish in wishes if wish], 0, special)
    model.score = preferring(vocabulary, wishes, prompt_length=1)
    return sfgen.generate(model, "a", **named)


def test_a_token_may_hold_the_end_of_the_marker_and_the_beginning_of_the_text() -> None:
    result = write(b"ab", b"b.", b".1", b"1", after="..", index="11|a")
    assert (result.thought, result.text, result.forward_passes) == ("abb", "11", 3)
    assert write(b"b..1", index="1", after="..").thought == "b"
    # What the constraint refuses cannot follow the marker in the same token.
    assert write(b"b..1", b"..", after="..", index="a").text == "a"


def test_the_marker_is_written_at_the_bound() -> None:
    result = write(b"a", b"b", b"a", b"b", b"1", after="..", after_tokens=3, index="1")
    assert (result.thought, result.text, result.forced_tokens) == ("aba", "1", 3)
    result = write(b"a", b".", b"b", after="..", after_tokens=2, index="1")
    assert (result.thought, result.text) == ("a", "1"), "half of the marker is no part of the thought"
    assert write(after=".", after_tokens=0, index="1").thought == ""


def test_the_thought_may_not_be_banned_even_alone() -> None:
    """``talk`` is a part of ``talking`` for a reader of all, and a word for a reader of the thought."""
    banned = BannedWords(["ab"], match="word")
    result = write(b"a", b"b", b"b", b"a", after="ba", after_tokens=5, index="1", banned=banned)
    assert result.thought is not None
    assert not scan(result.thought.encode(), banned)
    assert result.rollbacks


def test_a_banned_word_in_the_marker_is_refused_unless_it_is_allowed() -> None:
    with pytest.raises(BannedWordsError, match=r"'a\.', which after says, has the banned word 'a'"):
        write(b"b", after="a.", index="1", banned=["a"])
    banned = BannedWords(["a"], allow=["a."])
    assert write(b"b", b"a", b".", after="a.", index="1", banned=banned).text == "1"


def test_text_is_read_by_itself_and_after_all_before() -> None:
    together = BannedWords([".a"], match="substring")
    assert write(b"b", b".", b"a", after=".", index="a|b", banned=together).text == "b"
    alone = BannedWords(["a"], match="word")
    assert write(b"1", b"b", b"a", after="b", index="a|1", banned=alone).text == "1"
    # Of free text no automaton knows beforehand what is banned.
    for marker in (b"b", b"1b"):
        result = write(b"1", marker, b"a", b" ", None, after="b", banned=alone, max_tokens=3)
        assert not scan(result.text.encode(), alone)
        assert result.rollbacks
    # A token with the end of the marker and a banned text behind it is refused as such.
    result = write(b"1", b"ba ", None, after="b", banned=alone, max_tokens=3)
    assert not scan(result.text.encode(), alone)
    assert result.rollbacks


def test_free_text_may_follow() -> None:
    result = write(b"b", b".", b"a", b"1", None, after=".")
    assert (result.thought, result.text, result.finish_reason) == ("b", "a1", "end_token")
    result = write(b"b", b".", b"a", b"1", None, after=".", max_tokens=1)
    assert (result.text, result.finish_reason) == ("a", "limit")
    result = write(b"b1", b".", b"a", b"1", None, after=".", stop="1")
    assert (result.thought, result.text, result.finish_reason) == ("b1", "a", "stop")


def test_a_special_token_is_the_marker() -> None:
    model = Model([], 3, special="..")
    special = len(model.vocabulary) - 2
    assert marker_of(model, model.vocabulary, "..", None).token == special
    assert marker_of(model, model.vocabulary, ".", None).token is None
    vocabulary = model.vocabulary

    def wish(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = np.zeros(len(vocabulary), dtype=np.float32)
        scores[special if len(tokens) == 3 else 1] = 9
        return scores

    model.score = wish
    result = sfgen.generate(model, "a", after="..", index="1")
    assert (result.thought, result.text) == ("bb", "1")
    assert special in result.token_ids
    chosen = [event for event in sfgen.stream(model, "a", after="..", index="1") if isinstance(event, TokenChosen)]
    assert [event.data for event in chosen] == [b"b", b"b", b"..", b"1"]
    bound = sfgen.generate(model, "a", after="..", after_tokens=1, index="1")
    assert (bound.thought, bound.token_ids) == ("b", (1, special, 3))


class Channels(ScriptedModel):
    """Letters and three special tokens, as a model has that writes the thought and the text in channels."""

    NAMES = ("<end>", "<start>", "<text>")

    def __init__(self, seed: int, pieces: list[bytes]) -> None:
        tokens = [*dict.fromkeys([*LETTERS, *pieces]), None, None, None, None]
        self.first = first = len(tokens) - 4
        names = {first + number: name for number, name in enumerate(self.NAMES)}
        vocabulary = Vocabulary(tokens, [len(tokens) - 1], names=names)
        super().__init__(vocabulary, random_scores(len(tokens), seed))

    def encode_inside(self, text: str) -> list[int]:
        ids = list[int]()
        for piece in re.split("(<[a-z]+>)", text):
            ids += [self.first + self.NAMES.index(piece)] if piece in self.NAMES else self.encode(piece)
        return ids


@tried("many")
@given(
    st.integers(0, 2**16),
    st.lists(st.text("ab.1 ", min_size=2, max_size=3).map(str.encode), max_size=4),
    configs(),
    st.sampled_from(["<end><start>ab<text>", "<end>b1", ". <end>", "<end><text>"]),
    st.integers(0, 4),
)
def test_a_marker_of_several_special_tokens(
    seed: int, pieces: list[bytes], config: GenerationConfig, after: str, most: int
) -> None:
    """They are written in order and once, behind a thought that has none, and no text of a letter stands for them."""
    model = Channels(seed, pieces)
    try:
        result = sfgen.generate(model, "a", replace(config, after=after, after_tokens=most))
    except (BannedWordsError, GenerationError):
        assume(False)
        raise
    special = [token for token in result.token_ids if model.first <= token < model.first + 3]
    assert special == [token for token in model.encode_inside(after) if token >= model.first]
    assert result.thought is not None
    bytes_of = {model.first + number: name.encode() for number, name in enumerate(model.NAMES)}
    tokens = [token for token in result.token_ids if token not in model.vocabulary.end_token_ids]
    written = b"".join(bytes_of.get(token, model.vocabulary.tokens[token] or b"") for token in tokens)
    whole = (result.thought + after + result.text).encode()
    assert written == whole or (config.stop and written.startswith(whole))
    if isinstance(config.index, str):
        assert re.fullmatch(config.index, result.text)
    *_, finished = sfgen.stream(model, "a", replace(config, after=after, after_tokens=most))
    assert isinstance(finished, Finished)
    assert finished.result.text == result.text


TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"


NAMES = sorted(path.parent.name for path in TOKENIZERS.glob("*/tokenizer.json") if path.parent.name != "wordpiece")


@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_of_tokenizers(name: str) -> None:
    """Every special token that ends no text can be the marker, or be a part of it; of calls it is the whole marker."""
    from sfgen.models.transformers_model import TransformersTokenizer
    from sfgen.vocabulary.pretrained import load_tokenizer

    loaded: Any = load_tokenizer(TOKENIZERS / name)
    vocabulary = Vocabulary.from_pretrained(TOKENIZERS / name)
    model = UniformModel(vocabulary)
    vars(model)["encode_inside"] = TransformersTokenizer(loaded).inside
    special = [token for token in loaded.all_special_ids if vocabulary.tokens[token] is None]
    for token in special:
        text = loaded.convert_ids_to_tokens(token)
        if token in vocabulary.end_token_ids:
            with pytest.raises(UsageError, match="a token that ends a text"):
                marker_of(model, vocabulary, text, None)
            continue
        assert marker_of(model, vocabulary, text, None).token == token
        with pytest.raises(UsageError, match="more than a special token"):
            marker_of(model, vocabulary, f"so{text}", None, name="when")
        several = marker_of(model, vocabulary, f"{text}so{text}", None)
        assert several.special == {token: text.encode()}
        assert [each for _, each in several.pieces] == [token, None, token]
        result = sfgen.generate(
            model, "a", after=f"{text}so{text}", after_tokens=3, index="[0-9]{2}", sampler=Sampler(1.0, seed=1)
        )
        assert result.text.isdigit()
        assert list(result.token_ids).count(token) == 2
        result = sfgen.generate(model, "a", after=text, after_tokens=3, index="[0-9]{2}", sampler=Sampler(1.0, seed=1))
        assert result.text.isdigit()
        assert list(result.token_ids).count(token) == 1
    assert marker_of(model, vocabulary, "so", None).token is None


def test_what_has_no_meaning_is_refused() -> None:
    for named, says in (
        ({"after": ""}, "after is empty"),
        ({"after": "\ud800"}, "surrogate"),
        ({"after": ".", "strategy": "exact"}, "after and the exact strategy"),
        ({"after": 7}, "after must be a text"),
        ({"after_tokens": -1}, "after_tokens must be at least 0"),
        ({"after_counts": 1}, "after_counts must be"),
    ):
        with pytest.raises(UsageError, match=says):
            GenerationConfig(**named)
    with pytest.raises(DeadEnd, match="cannot write 'z'"):
        write(after="z", index="1")
