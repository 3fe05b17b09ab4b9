"""What is forced: examples, limits, what came before, half characters, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.spellers import (
    FAMILIES,
    SMALL,
    Ahead,
    Merges,
    Speller,
    forcing_pattern,
    forward,
    speller,
    texts_of,
)
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.decoding import jump_forward as module
from sfgen.decoding.retokenize import Retokenizer
from sfgen.index import DfaIndex
from sfgen.models.uniform import UniformModel
from sfgen.models.zip_model import ZipModel

PEOPLE = r'\{"name":"(John|Paul)","age":(20|30)\}'
REAL = ["gpt2", "llama3", "gemma2"]


def forced(model: Any, pattern: str, before: bytes = b"", tail: Sequence[int] = ()) -> list[bytes]:
    """What is forced where the bytes ``before`` were read."""
    ahead = forward(model, pattern)
    state = ahead.index.dfa.walk(before)
    return texts_of(model.vocabulary, ahead.tokens(state, tail, None))


# ---- examples --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", REAL)
def test_two_questions_are_enough_for_two_choices(family: str, real_tokenizer_directory: Callable[[str], Path]) -> None:
    """Whatever the model answers: all its answers are tried."""
    model = speller(real_tokenizer_directory(family))
    index = Index(Dfa.from_regex(PEOPLE), model.vocabulary)
    ahead, prompt = Ahead(index, model), model.encode("A record: ")
    texts = set()

    def go_on(state: int, tokens: tuple[int, ...], asked: int) -> Iterator[int]:
        while not index.is_final(state):
            run = ahead.tokens(state, [*prompt, *tokens], None)
            allowed = run[:1] or index.allowed_tokens(state).tolist()
            if len(allowed) > 1:
                for token in allowed:
                    yield from go_on(index.next_state(state, token), (*tokens, token), asked + 1)
                return
            state, tokens = index.next_state(state, allowed[0]), (*tokens, allowed[0])
        texts.add(b"".join(texts_of(model.vocabulary, tokens)))
        yield asked

    assert max(go_on(0, (), 0)) == 2
    assert len(texts) == 4


def test_what_could_still_merge_is_held_back() -> None:
    pattern = r'\{"(orderId|orderName)":1'
    without = Merges("o|r", "or|d", "e|r", "ord|er", "I|d", "N|a", "m|e", "Na|me", '{|"')
    merging = Merges("o|r", "or|d", "e|r", "ord|er", "I|d", "order|Id", "N|a", "m|e", "Na|me", '{|"')
    assert forced(without, pattern) == [b'{"', b"order"]
    assert forced(merging, pattern) == [b'{"']
    # The model has chosen: by a part of it, or all of it.
    assert forced(merging, pattern, b'{"orderI') == [b"d", b'"', b":", b"1"]
    assert forced(merging, pattern, b'{"orderI', merging.encode('{"orderI')[-3:]) == [b"d", b'"', b":", b"1"]
    assert forced(merging, pattern, b'{"orderId', merging.encode('{"orderId')) == [b'"', b":", b"1"]


def test_a_token_may_begin_in_the_middle_of_another() -> None:
    """``abc`` is ``ab c``, and ``abcd`` is ``a bcd``: not even the first token stays."""
    model = Merges("c|d", "b|cd", "a|b")
    assert texts_of(model.vocabulary, model.encode("abc")) == [b"ab", b"c"]
    assert forced(model, "abc[ce]") == [b"ab", b"c"]
    assert forced(model, "abc[cd]") == []
    assert forced(model, "xabc[cd]") == [b"x"]


def test_tokens_that_are_not_allowed_hold_nothing_back() -> None:
    model = Merges("a|b", "ab|c")
    assert forced(model, "ab[cd]") == []
    assert forced(model, "ab[de]") == [b"ab"]
    assert forced(model, "ab(c|d)?") == []  # an end is a choice, too
    assert forced(model, "ab(d)?") == [b"ab"]


def test_where_the_text_ends_nothing_is_held_back() -> None:
    model = Merges("a|b", "ab|c", "ab| ", specials=1)
    assert forced(model, "ab") == [b"ab"]
    assert forced(model, "xab ") == [b"x", b"ab "]
    assert forced(model, "xab \n") == [b"x", b"ab ", b"\n"]


def test_white_space_at_the_end_is_held_back() -> None:
    model = Merges("a|b")
    assert forced(model, "ab \n(c|d)") == [b"ab"]
    assert forced(model, "ab\u00a0(c|d)") == [b"ab"]
    assert forced(model, " \n(c|d)") == []
    assert forced(Merges("a|b", "ab| "), "xab (c|d)") == [b"x"]


def test_no_choice_no_bytes_and_no_tokens() -> None:
    model = Merges("a|b")
    assert forced(model, "[ab]c") == []
    assert forced(model, "(abc)?") == []
    assert forced(model, "ab", b"ab") == []


def test_long_text_comes_in_parts() -> None:
    """No part ends within a token."""
    model = Merges("a|b", "ab|c")
    ahead = forward(model, "(?:abc){500}[de]")
    state, tokens = 0, list[int]()
    while run := ahead.tokens(state, tokens, None):
        for token in run:
            state = ahead.index.next_state(state, token)
        tokens += run
    assert texts_of(model.vocabulary, tokens) == [b"abc"] * 500


def test_what_the_text_is_written_behind_does_not_merge_with_it() -> None:
    assert forced(Merges("\n|x"), "xy(a|b)") == [b"x", b"y"]
    assert forced(Merges("\n|x", "a|x"), "xy(a|b)") == [b"x", b"y"]


# ---- what came before ------------------------------------------------------------------------------------------------


def test_the_tail_decides_how_forced_text_is_cut() -> None:
    """``aab`` is ``aa b``; but behind the token ``a``, which stays, the rest is cut by itself."""
    model = Merges("a|a", "a|b")
    a, aa = model.ids[b"a"], model.ids[b"aa"]
    assert forced(model, "(a|c)ab!", b"a", [a]) == [b"ab", b"!"]
    assert forced(model, "(a|c)(a|c)ab!", b"aa", [aa]) == [b"ab", b"!"]
    digits = Merges("1|2", "12|3")
    assert forced(digits, "12(3|4)5", b"123", [digits.ids[b"123"]]) == [b"5"]


@pytest.mark.parametrize("family", ["llama3", "qwen", "gpt2"])
def test_forced_text_is_cut_as_behind_the_tail(family: str) -> None:
    """Behind a letter ``'s`` is one token, and behind ``@`` it is two."""
    model = speller(SMALL / family)
    letter, sign = model.encode_inside("n"), model.encode_inside("@")
    assert len(letter) == len(sign) == 1
    assert forced(model, "(n|@)'s!", b"n", letter) == [b"'s", b"!"]
    assert forced(model, "(n|@)'s!", b"@", sign) == [b"'", b"s", b"!"]


def test_a_special_token_ends_the_tail() -> None:
    model = Merges("a|a", "a|b", specials=2)
    special = len(model.vocabulary) - 2
    ahead = forward(model, "ab!")
    assert ahead.tokens(0, [model.ids[b"a"], special], None) == ahead.tokens(0, [], None)
    assert ahead.fast_forward._end_of([model.ids[b"a"], special, model.ids[b"b"]], b"a") == (model.ids[b"b"],)
    assert ahead.fast_forward._end_of([model.ids[b"a"], len(model.vocabulary) - 1], b"a") == ()
    assert ahead.fast_forward._end_of([10**6, -1], b"a") == ()


def test_the_begin_token_and_the_first_space_are_left_out() -> None:
    """A model that has only ``encode`` says the same as one with the quick way."""
    for family in FAMILIES:
        plain, quick = Speller(SMALL / family), speller(SMALL / family)
        for pattern in (PEOPLE, r"The (lake|boat)s? turned", r"é日本(a|b)", r"\n\n(a|b)"):
            assert forced(plain, pattern) == forced(quick, pattern), family
        assert any("\n" in text for text in plain.asked)


# ---- half characters -------------------------------------------------------------------------------------------------


def test_half_a_character_at_the_end_is_held_back() -> None:
    model = Merges("a|b")
    assert "é"[:1].encode()[:1] == "è".encode()[:1]
    assert forced(model, "ab(é|è)") == [b"ab"]
    assert forced(model, "(é|è)") == []
    assert forced(model, "ab(日本|日曜)") == [b"ab", *(bytes([byte]) for byte in "日".encode())]
    assert forced(model, "ab(😀|😁)") == [b"ab"]


def test_a_token_that_ends_within_a_character_holds_back() -> None:
    """Nobody knows whether the tokenizer writes it before it knows the character."""
    model = Merges("a|b")
    half = Vocabulary([*model.vocabulary.tokens[:-1], b"b\xc3", None], end_token_ids=[len(model.vocabulary)])
    model.vocabulary = half
    assert forced(model, "xab(é|è)") == [b"x"]
    assert forced(model, "xab(c|d)") == [b"x", b"ab"]


def test_the_rest_of_a_character_is_known_with_its_beginning() -> None:
    model = Merges()
    first, second, third = "日".encode()
    assert forced(model, "(日|月)a!", bytes([first, second]), [first, second]) == [bytes([third]), b"a", b"!"]
    assert forced(model, "(日|月)a!", bytes([first, second]), [65, first, second]) == [bytes([third]), b"a", b"!"]
    assert forced(model, "(日|月)a!", bytes([first, second]), [second]) == []
    assert forced(model, "(日|月)a!", bytes([first, second]), []) == []


def test_the_tail_goes_back_to_where_its_first_character_begins() -> None:
    model = Merges()
    ahead = forward(model, "a!")
    tail = [65, 66, *"😀".encode()]
    assert ahead.fast_forward._end_of(tail, b"a") == tuple("😀".encode())
    assert len(ahead.fast_forward._end_of([65] * 20, b"a")) < module.TAIL
    assert ahead.fast_forward._end_of([*tail, 65], b"a") == (*"😀".encode(), 65)


# ---- models that are of no help --------------------------------------------------------------------------------------


class Odd(Merges):
    """A model whose ``encode`` is a given function of the text and of what it should be."""

    def __init__(self, answer: Callable[[str, list[int]], Any]) -> None:
        super().__init__("a|b")
        self.answer = answer

    def encode(self, text: str) -> list[int]:
        answer: list[int] = self.answer(text, super().encode(text))
        return answer


def fails(text: str, ids: list[int]) -> list[int]:
    raise RuntimeError(text)


@pytest.mark.parametrize(
    "answer",
    [
        fails,
        lambda text, ids: [],
        lambda text, ids: None,
        lambda text, ids: [10**9],
        lambda text, ids: [*ids[:-1], -1],
        lambda text, ids: [*ids, ord("?")],
        lambda text, ids: list(text.upper().encode()),
        lambda text, ids: ids[::-1],
    ],
)
def test_an_encode_that_is_of_no_use_forces_nothing(answer: Callable[[str, list[int]], Any]) -> None:
    assert forced(Odd(answer), "xab(c|d)") == []


def test_characters_are_not_cut_otherwise_by_what_follows() -> None:
    model = ZipModel("the old captain")
    assert forced(model, "the (old|captain)") == [b"t", b"h", b"e"]
    assert forced(model, "old captain") == [bytes([byte]) for byte in b"old captain"]
    assert forced(UniformModel(), "the é(old|captain)") == [b"t", b"h", b"e", b" ", "é".encode()]


# ---- limits ----------------------------------------------------------------------------------------------------------


@tried("few")
@given(seed=st.integers(0, 2**32), family=st.sampled_from(FAMILIES))
def test_what_is_forced_leaves_room_for_an_end(seed: int, family: str) -> None:
    random = Random(seed)
    model = speller(SMALL / family)
    index = Index(Dfa.from_regex(forcing_pattern(random)), model.vocabulary)
    ahead = Ahead(index, model)
    for state in random.sample(range(len(index.dfa)), min(len(index.dfa), 30)):
        whole = ahead.tokens(state, (), None)
        states = [state]
        for token in whole:
            states.append(index.next_state(states[-1], token))
            assert states[-1] >= 0, "a forced token is not allowed"
        need = [count + int(index.distance[target]) for count, target in enumerate(states)]
        for left in range(need[0], max(need) + 2):
            fitting = max(count for count, least in enumerate(need) if least <= left)
            assert ahead.tokens(state, (), left) == whole[:fitting]


def test_a_limit_cuts_a_run_off() -> None:
    """The tokenizer writes ``abcd`` as four tokens, but the vocabulary has it as one."""
    model = Merges()
    model.vocabulary = Vocabulary([*model.vocabulary.tokens[:-1], b"abcd", None], [len(model.vocabulary)])
    ahead = forward(model, "abcd(e|f)")
    assert len(ahead.tokens(0, (), None)) == 4
    assert [len(ahead.tokens(0, (), left)) for left in range(2, 7)] == [0, 0, 0, 4, 4]


# ---- the rule --------------------------------------------------------------------------------------------------------


def by_the_rule(retokenizer: Retokenizer, index: DfaIndex, state: int, tail: tuple[int, ...]) -> tuple[int, ...]:
    """What is forced, by the definition, with every token of the vocabulary tried at every place."""
    data, states = b"", [state]
    while (step := index.only_step(states[-1])) is not None:
        data, states = data + bytes([step[0]]), [*states, step[1]]
    if not index.is_final(states[-1]):
        data = data.decode("utf-8", "ignore").rstrip().encode()
    starts = [start for start in range(len(tail) + 1) if data and retokenizer.after(tail[start:], data) is not None]
    if not starts:
        return ()
    tail = tail[starts[0] :]
    kept = retokenizer.after(tail, data) or ()
    if index.is_final(states[-1]):
        return kept
    for place in range(len(data)):
        for text in set(index.vocabulary.tokens):
            if text is None or len(text) <= len(data) - place or not text.startswith(data[place:]):
                continue
            if index.dfa.walk(text, states[place]) < 0:
                continue
            found = retokenizer.after(tail, data[:place] + text)
            if found is None or index.vocabulary.tokens[found[-1]] == text:
                before = retokenizer.after(tail, data[:place].decode("utf-8", "ignore").encode()) if place else ()
                same = [one == other for one, other in zip(kept, (found or before) or (), strict=False)]
                kept = kept[: [*same, False].index(False)]
    return kept


@tried("few")
@given(seed=st.integers(0, 2**32), family=st.sampled_from(FAMILIES))
def test_it_is_the_rule_that_holds_back(seed: int, family: str) -> None:
    random = Random(seed)
    model = speller(SMALL / family)
    index = Index(Dfa.from_regex(forcing_pattern(random)), model.vocabulary)
    ahead, retokenizer = Ahead(index, model), Retokenizer(model)
    tail = tuple(model.encode_inside(random.choice(["x", "12", ' "', "Ω", "the"])))[-2:]
    for state in random.sample(range(len(index.dfa)), min(len(index.dfa), 4)):
        if (first := index.only_step(state)) is None or first[0] & 0xC0 == 0x80:
            continue
        assert ahead.tokens(state, tail, None) == by_the_rule(retokenizer, index, state, tail)


@pytest.mark.parametrize("most", [0, 5, 10])
def test_with_too_many_spellings_to_try_less_is_forced(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """There are seven of them at each of two places; none is written there."""
    pattern = 'x":"[a-z]*"'
    merges = ['"|:', '":|"', *(f'"|{letter}' for letter in "abcdefg"), *(f':|"{letter}' for letter in "abcdefg")]
    assert forced(Merges(*merges), pattern) == [b"x", b'":"']
    monkeypatch.setattr(module, "MOST_SPELLINGS", most)
    assert forced(Merges(*merges), pattern) == [b"x"]
